"""The two engines: which one runs, that they agree to the bit, what the collector sees."""

from __future__ import annotations

import ast
import ctypes
import gc
import importlib.util
import math
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
import weakref
from pathlib import Path

import pytest
from conftest import sources
from test_ops import EDGES, close, samples

import minigrad
from minigrad import Value
from minigrad.codegen.c_rules import header
from minigrad.core.ops import TABLE
from minigrad.maths import floats as ieee
from minigrad.scalar import nodes_alive

native_only = pytest.mark.skipif(
    minigrad.engine() != "native", reason="the native engine is not here"
)


def python(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


ASK = """
import minigrad
from minigrad.compiler.backends import native
print(minigrad.engine(), minigrad.scalar.__file__[-3:], native.available())
"""


def test_the_engine_can_be_asked_and_forced():
    assert python(ASK, MINIGRAD_PURE="1").split() == ["pure", ".py", "False"]
    expected = os.environ.get("MINIGRAD_EXPECT_ENGINE")
    if expected:
        assert minigrad.engine() == expected


BITS = """
import sys
sys.path.insert(0, {tests!r})
from programs import call_minigrad, random_program, run
from minigrad import Value
for seed in range(250):
    program = random_program(seed)
    leaves = [Value(x) for x in program.inputs]
    results = run(program, leaves, call_minigrad)
    results[-1].backward()
    # hypot is Python's own in the one engine and the C library's in the other
    if all(name not in ("hypot", "atan2", "atan") for name, _ in program.steps):
        print([v.data.hex() for v in results], [leaf.grad.hex() for leaf in leaves])
"""


@native_only
def test_both_engines_give_the_same_bits():
    program = BITS.format(tests=os.path.dirname(__file__))
    native, pure = python(program), python(program, MINIGRAD_PURE="1")
    assert native.count("0x") > 500
    assert native == pure


# ---- the header made from the op table ---------------------------------------------------------

PROBE = """
#include <stdint.h>
typedef void PyObject;
#include "minigrad_ops.h"
double call1(int which, int code, double a) {{ (void)which; return value1[code](0, a); }}
double call2(int code, double a, double b) {{ return value2[code](0, a, b); }}
double slope1(int code, double y, double a) {{ return first1[code](0, y, a); }}
double slope2(int place, int code, double y, double a, double b)
{{ return (place ? second2 : first2)[code](0, y, a, b); }}
"""


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """The header of the op table as it is now, built on its own."""
    compiler = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])
    if compiler is None:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("header")
    (folder / "minigrad_ops.h").write_text(header())
    (folder / "probe.c").write_text(PROBE.replace("{{", "{").replace("}}", "}"))
    flags = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC"]
    library = folder / "probe.so"
    subprocess.run([compiler, *flags, "probe.c", "-o", str(library), "-lm"], cwd=folder, check=True)
    loaded = ctypes.CDLL(str(library))
    double, integer = ctypes.c_double, ctypes.c_int
    for name, kinds in {
        "call1": [integer, integer, double],
        "call2": [integer, double, double],
        "slope1": [integer, double, double],
        "slope2": [integer, integer, double, double, double],
    }.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = kinds, double
    return loaded


@pytest.mark.parametrize("op", [op for op in TABLE if op.arity in (1, 2)], ids=lambda op: op.name)
def test_the_header_gives_the_bits_of_the_rules(rules, op):
    # Python's hypot is more careful than the C library's; all else is the same function.
    limit = {"hypot": 2, "atan": 2, "atan2": 2, "hypot_slope": 8, "atan2_slope": 8}.get(op.name, 0)
    cases = [*samples(op, 200), *op.probes]
    cases += [(x,) if op.arity == 1 else (x, y) for x in EDGES for y in EDGES]
    for arguments in cases:
        value = op.value(ieee, *arguments)
        if op.arity == 1:
            got = [rules.call1(0, op.code, *arguments), rules.slope1(op.code, value, *arguments)]
        else:
            got = [rules.call2(op.code, *arguments)]
            got += [rules.slope2(k, op.code, value, *arguments) for k in (0, 1)]
        expected = [value, *op.derivatives(ieee, value, *arguments)]
        for ours, right in zip(got, expected, strict=True):
            assert close(ours, float(right), limit=limit), (arguments, got, expected)
            if right == 0.0:
                assert math.copysign(1.0, ours) == math.copysign(1.0, right), (arguments, got)


# ---- memory and the collector ------------------------------------------------------------------


@native_only
def test_ordinary_nodes_are_hidden_from_the_collector_and_custom_ones_are_not():
    a = Value(2.0)
    b = a * 3 + a.tanh()
    many = minigrad.sum([a, b])
    assert not any(map(gc.is_tracked, (a, b, many)))
    custom = Value(1.0, (b,), "mine")
    custom._backward = lambda: None
    after = custom * 2
    assert all(map(gc.is_tracked, (custom, after, minigrad.sum([a, after]), after.exp())))
    assert gc.is_tracked(Value(0.0, (after,), "also"))


def test_a_custom_op_that_refers_to_itself_is_collected():
    class Witness:
        pass

    def build():
        a = Value(2.0)
        out = Value(4.0, (a,), "square")
        witness = out.witness = Witness()

        def _backward():
            a.grad += 2 * a.data * out.grad + 0 * later.grad

        out._backward = _backward
        later = out * 3 + 1
        later.backward()
        return weakref.ref(witness)

    gc.collect()
    before = nodes_alive()
    gone = build()
    gc.collect()
    assert gone() is None
    assert nodes_alive() == before


@native_only
def test_the_count_of_nodes():
    before = nodes_alive()
    xs = [Value(k) for k in range(1000)]
    total = minigrad.sum(xs) * 2
    assert nodes_alive() == before + 1002
    del xs, total
    assert nodes_alive() == before


@native_only
def test_memory_goes_back_to_the_system():
    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if not Path("/proc/self/statm").exists():
        pytest.skip("no /proc here")
    gc.collect()
    before = resident()
    v = Value(0.0)
    for _ in range(3_000_000):
        v = v + 1.0
    assert resident() - before > 200_000_000
    del v
    gc.collect()
    assert resident() - before < 100_000_000  # a reserve of 64 MiB is kept


DEEP = """
import gc, resource
from minigrad import Value
gc.disable()
x = v = Value(1.0)
for _ in range(10_000_000):
    v = v + 1.0
v.backward()
print(x.grad, v.data)
del v
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@native_only
@pytest.mark.heavy
def test_ten_million_deep_within_two_and_a_half_gigabytes():
    grad, data, peak = python(DEEP).split()
    assert (float(grad), float(data)) == (1.0, 10_000_001.0)
    assert int(peak) < 2.5 * 1024**2  # KiB


def build_settings(monkeypatch, **environment):
    """Run setup.py without building anything; returns what it would build."""
    setuptools = pytest.importorskip("setuptools")
    settings = {}
    monkeypatch.setattr(setuptools, "setup", lambda **given: settings.update(given))
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    runpy.run_path(str(Path(__file__).parent.parent / "setup.py"))
    return settings


def test_free_threaded_pythons_get_the_pure_engine(monkeypatch, capsys):
    known = sysconfig.get_config_var

    def without_the_lock(name):
        return 1 if name == "Py_GIL_DISABLED" else known(name)

    monkeypatch.setattr(sysconfig, "get_config_var", without_the_lock)
    monkeypatch.delenv("MINIGRAD_PURE", raising=False)
    assert build_settings(monkeypatch)["ext_modules"] == []
    assert "no global lock" in capsys.readouterr().err
    if known("Py_GIL_DISABLED"):
        assert minigrad.engine() == "pure"


def test_the_native_engine_can_be_left_out(monkeypatch, capsys):
    assert build_settings(monkeypatch, MINIGRAD_PURE="1")["ext_modules"] == []
    assert "the pure engine is installed" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "0"])
def test_empty_and_zero_do_not_ask_for_the_pure_engine(monkeypatch, capsys, text):
    monkeypatch.delenv("MINIGRAD_PURE", raising=False)
    unasked = python(ASK)
    assert python(ASK, MINIGRAD_PURE=text) == unasked
    # Cython may be missing here: then that is the reason that is given.
    build_settings(monkeypatch, MINIGRAD_PURE=text)
    assert "MINIGRAD_PURE" not in capsys.readouterr().err


COMPILER = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0])
MODULE = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tiny"};
PyMODINIT_FUNC PyInit_tiny(void)
{
    PyObject *made = PyModule_Create(&module);
    PyModule_AddIntConstant(made, "ANSWER", ANSWER + EXTRA);
    return made;
}
"""


@pytest.mark.skipif(COMPILER is None, reason="no C compiler is here")
def test_what_was_compiled_is_kept_but_never_stale(monkeypatch, tmp_path, capfd):
    setuptools = pytest.importorskip("setuptools")
    monkeypatch.setattr(setuptools, "setup", lambda **given: None)
    monkeypatch.setenv("MINIGRAD_PURE", "1")  # setup.py itself has nothing to build here
    path = Path(__file__).parent.parent / "setup.py"
    spec = importlib.util.spec_from_file_location("minigrads_setup", path)
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    monkeypatch.setattr(setup, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(setup, "WRITTEN", tmp_path / "written")
    monkeypatch.setattr(setup, "PACKAGE", tmp_path / "package")
    monkeypatch.setattr(setup, "header_texts", lambda: {"answer.h": header_text})
    monkeypatch.syspath_prepend(str(path.parent / "src"))
    source = tmp_path / "tiny.c"
    source.write_text('#include "answer.h"\n' + MODULE)

    def answer(folder, extra=0):
        """Build into a new folder, as pip does: what it says, and whether it was compiled."""
        extension = setuptools.Extension(
            "tiny", [str(source)], extra_compile_args=[f"-DEXTRA={extra}"]
        )
        distribution = setuptools.Distribution({"name": "tiny", "ext_modules": [extension]})
        command = setup.BuildEngine(distribution)
        command.build_lib, command.build_temp = str(tmp_path / folder), str(tmp_path / "temp")
        command.ensure_finalized()
        command.run()
        (made,) = (tmp_path / folder).glob("tiny.*")
        program = (
            f"import sys; sys.path.insert(0, {str(made.parent)!r}); import tiny; print(tiny.ANSWER)"
        )
        return int(python(program)), "tiny compiled in" in capfd.readouterr().err

    header_text = "#define ANSWER 1"
    assert answer("a") == (1, True)
    assert answer("b") == (1, False)
    assert answer("c", extra=10) == (11, True)  # a flag
    header_text = "#define ANSWER 2"
    assert answer("d", extra=10) == (12, True)  # a header, written at build time
    times = source.stat()
    source.write_text(source.read_text().replace("ANSWER + EXTRA", "ANSWER - EXTRA"))
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert answer("e", extra=10) == (-8, True)  # a source, though its time is the same
    assert answer("f", extra=10) == (-8, False)
    assert len(list((tmp_path / "kept").iterdir())) == 1  # those before are gone


def test_what_prints_the_headers_counts_among_the_sources():
    folder = Path(minigrad.__file__).parent
    known = sources(folder)
    assert {path for paths in known.values() for path in paths if not path.exists()} == set()
    for module, printer in (
        ("scalar", "minigrad.codegen.c_rules"),
        ("_vm", "minigrad.codegen.c_kernels"),
    ):
        assert imported_by(printer, folder) <= set(known[module])


def imported_by(name, folder):
    """The files of the package that a module needs, itself included, however far down."""
    path = folder.parent.joinpath(*name.split(".")).with_suffix(".py")
    found = {path}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            package = name.rsplit(".", node.level)[0]
            found |= imported_by(f"{package}.{node.module}", folder)
    return found
