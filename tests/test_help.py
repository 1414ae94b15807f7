"""What `help`, `dir` and completion tell: formulas that are right, and everything there is."""

from __future__ import annotations

import inspect
import os
import re
import rlcompleter
import subprocess
import sys

import mpmath
import pytest

import minigrad
from minigrad import Value
from minigrad.core.ops import OPS

TOLD = [op for op in OPS.values() if op.says is not None]
OPERANDS = {"atan2": "y x", "hypot": "a b", "maximum": "a b", "minimum": "a b"}
OPERANDS |= {"leaky_relu": "x slope", "clip": "x low high"}
POINTS = {"asin": [(0.3,), (-0.9,)], "acos": [(0.3,), (-0.9,)], "log": [(0.2,), (7.0,)]}
POINTS |= {
    "sqrt": [(0.2,), (7.0,)],
    "clip": [(0.5, -1.0, 2.0), (-3.0, -1.0, 2.0), (5.0, -1.0, 2.0)],
}
PLAIN = {1: [(0.7,), (-0.6,), (2.5,)], 2: [(0.7, -1.2), (-0.6, 0.25), (3.0, 2.0)]}
ARE = {name: getattr(mpmath, name) for name in "exp log sqrt sin cos tan asin acos atan".split()}
ARE |= {name: getattr(mpmath, name) for name in "atan2 sinh cosh tanh erf pi".split()}


def evaluated(text, op, point):
    names = OPERANDS.get(op.name, "x").split()
    return mpmath.mpf(eval(text, {**ARE, **dict(zip(names, point, strict=True))}))


@pytest.mark.parametrize("op", TOLD, ids=lambda op: op.name)
def test_the_formulas_of_the_help_are_right(op):
    """The value is that of the function, and each slope is the limit of its differences."""
    for point in POINTS.get(op.name, PLAIN.get(op.arity)):
        exact = [mpmath.mpf(x) for x in point]
        ours = getattr(minigrad, op.name)(*point)
        assert ours == pytest.approx(float(evaluated(op.says.value, op, exact)), rel=1e-14)
        for k, slope in enumerate(op.says.slopes):

            def along(t, k=k, exact=exact):
                return evaluated(op.says.value, op, [*exact[:k], t, *exact[k + 1 :]])

            wanted = mpmath.diff(along, exact[k])
            assert abs(evaluated(slope, op, exact) - wanted) < 1e-9, (slope, point)


@pytest.mark.parametrize("op", TOLD, ids=lambda op: op.name)
def test_help_tells_value_derivative_and_domain(op):
    for thing in (getattr(Value, op.name), getattr(minigrad, op.name)):
        told = " ".join(inspect.getdoc(thing).split())
        assert told.startswith(op.told())
        assert re.fullmatch(r"Return .+\. Derivative: .+\. Domain: .+\.", op.told())


def test_functions_of_a_list_are_told_too():
    for name in ("mean", "sum", "dot", "logsumexp", "softmax", "log_softmax", "take", "where"):
        assert inspect.getdoc(getattr(minigrad, name))
    for name in ("mean", "logsumexp", "softmax", "log_softmax"):
        told = " ".join(inspect.getdoc(getattr(minigrad, name)).split())
        assert re.fullmatch(r"Return .+\. Derivatives?.*: .+\. Domain: any xs.*", told)


def test_every_method_of_the_table_is_told():
    methods = {name for name in OPS if callable(getattr(Value, name, None))}
    assert methods == {op.name for op in TOLD}
    assert "1 - tanh(x)**2" in inspect.getdoc(Value.tanh)


def test_dir_shows_what_there_is_and_no_helper():
    listed = dir(minigrad)
    for name in ("compile", "vmap", "train_step", "plot", "Value", "tanh", "sum", "padded"):
        assert name in listed
        assert getattr(minigrad, name) is not None
    assert set(minigrad.__all__) <= set(listed)
    assert [name for name in listed if name[0] == "_" and not name.startswith("__")] == []
    assert listed == sorted(listed)


ROOMS = "nn optim loss view check lab datasets distributed plot".split()


@pytest.mark.parametrize("room", ROOMS)
def test_dir_of_a_module_shows_what_it_offers(room):
    module = getattr(minigrad, room)
    assert room in dir(minigrad)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in dir(module))


def test_a_compiled_function_and_a_picture_show_no_name_that_they_do_not_have():
    pytest.importorskip("numpy")
    for thing in (minigrad.compile(abs), minigrad.draw_dot(Value(1.0))):
        assert not {"backward", "gradient", "show"} & set(dir(thing))


def test_completion_finds_what_is_not_loaded_yet():
    completer = rlcompleter.Completer({"minigrad": minigrad})
    found = [completer.complete("minigrad.comp", 0), completer.complete("minigrad.vm", 0)]
    assert [text.rstrip("(") for text in found] == ["minigrad.compile", "minigrad.vmap"]


def test_dir_loads_nothing():
    program = "import sys, minigrad; dir(minigrad); print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
    )
    assert done.stdout.split() == ["False"]
