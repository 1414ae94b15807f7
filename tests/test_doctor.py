"""The doctor: right about every patient, about healthy engines, and about hostile files."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sound_engines import HEALTHY, source
from typer.testing import CliRunner

import minigrad
from minigrad.check import diagnose
from minigrad.check.doctor import clock
from minigrad.check.doctor.answers import examine_here, examine_stranger
from minigrad.check.doctor.catalogue import CATALOGUE, FAULTS
from minigrad.check.doctor.evidence import Evidence
from minigrad.check.doctor.findings import report as report_of
from minigrad.check.doctor.lines import likely_line, marks_of
from minigrad.check.doctor.probes import PROBES, expected
from minigrad.check.doctor.scripts import Script
from minigrad.check.doctor.signatures import STYLES, patient, signatures
from minigrad.cli import app


def examined(tmp_path, text, name="engine.py"):
    path = tmp_path / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return diagnose(path)


def judged(text):
    """Examine a text in this process, where it is not the sandbox that is tested."""
    return report_of("engine.py", examine_here(textwrap.dedent(text)))


def codes(findings):
    return [finding.code for finding in findings]


# ---- the catalogue ------------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_catalogue_is_whole():
    assert len(CATALOGUE) >= 30
    assert len(FAULTS) == len(CATALOGUE)
    for fault in CATALOGUE:
        assert fault.kind in ("fault", "limit", "note")
        assert all([fault.name, fault.sees, fault.why, fault.fix, fault.patches, fault.where])
        assert (fault.kind == "fault") != bool(fault.probe)
        assert patient(fault) != source("closure" if fault.base == "direct" else fault.base)
    assert all((fault.shows is None) == (fault.kind == "fault") for fault in CATALOGUE)


def evidence_of(code):
    text = patient(FAULTS[code])
    return Evidence(marks_of(text), "Value", has_closures=FAULTS[code].base != "local_grads")


def test_no_two_faults_look_the_same():
    plain = {code: styles[0] for code, styles in signatures().items()}
    for (one, p), (other, q) in itertools.combinations(plain.items(), 2):
        common = set(p) & set(q)
        differ = any(p[name] != q[name] for name in common)
        # Where the numbers are the same, the file tells them apart, both ways.
        assert differ or evidence_of(one).speaks_against(FAULTS[other]), (one, other)
        assert differ or evidence_of(other).speaks_against(FAULTS[one]), (one, other)


@pytest.mark.parametrize("code", signatures())
def test_no_patient_speaks_against_itself(code):
    assert not evidence_of(code).speaks_against(FAULTS[code])


def test_broken_speaks_of_the_same_faults():
    # What the player calls "wrong_sub" is "sub_sign" here.
    assert set(minigrad.lab.broken.FAULTS) <= {*FAULTS, "wrong_sub"}


@pytest.mark.parametrize("fault", CATALOGUE, ids=lambda fault: fault.code)
def test_every_patient_is_diagnosed(fault, tmp_path):
    text = patient(fault)
    found = report_of("engine.py", examine_here(text, seed=CATALOGUE.index(fault)))
    is_sampled = CATALOGUE.index(fault) % 12 == 0  # the sandbox says the same
    reports = [found, examined(tmp_path, text)] if is_sampled else [found]
    for report in reports:
        assert report.problem == ""
        assert codes(report.findings)[0] == fault.code
        if fault.kind == "fault":
            assert codes(report.faults) == [fault.code]
            finding = report.faults[0]
            assert finding.program is not None
            assert finding.expected != finding.got != ""
            assert report.exit_code == 1
        else:
            assert codes(report.findings) == [fault.code]
            assert report.exit_code == 0


# What each sound engine cannot do, worked out by reading it.
LIMITS = {
    "closure": ["stale_interior", "recursion", "exponents", "cycles"],
    "local_grads": ["stale_interior", "recursion", "exponents", "cycles"],
    "op_codes": [],
    "data_class": ["stale_interior", "recursion", "cycles"],
    "slots": ["recursion", "missing_neg", "cycles"],
    "tuple_prev": [],
    "functional": ["stale_interior", "recursion", "cycles"],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_sound_engines_have_no_faults_and_their_own_limits(name, tmp_path):
    report = examined(tmp_path, source(name))
    assert report.faults == []
    assert codes(report.limits) == LIMITS[name]
    assert codes(report.notes) == (["zeroing"] if name == "slots" else [])
    assert report.exit_code == 0


def test_every_sound_engine_is_listed():
    assert set(LIMITS) == set(HEALTHY)


@pytest.mark.oracle
def test_micrograd(micrograd):
    report = diagnose("micrograd.engine")
    assert report.faults == []
    assert codes(report.limits) == ["stale_interior", "recursion", "exponents", "cycles"]


@pytest.mark.parametrize("pure", ["", "1"])
def test_minigrad_itself_has_neither_faults_nor_limits(pure, monkeypatch):
    monkeypatch.setenv("MINIGRAD_PURE", pure)
    for report in (diagnose("minigrad.scalar"), diagnose(minigrad.Value)):
        assert report.problem == ""
        assert report.findings == ()
        assert report.probes == len(PROBES)


@pytest.mark.parametrize("version", range(1, 8))
def test_the_seven_versions(version):
    report = diagnose(f"minigrad.lab.versions.v{version}")
    if version < 6:
        assert report.exit_code == 2  # no backward() yet
    elif version == 6:
        assert codes(report.faults) == ["overwrite"]
    else:
        assert report.faults == []
        assert report.limits != []


# ---- strangers ----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_bug_of_the_lessons_in_the_lessons_own_style(tmp_path):
    # With a set of children the wrong numbers depend on where objects lie in memory.
    text = source("closure").replace(".grad += ", ".grad = ")
    assert "set(_children)" in text
    for _ in range(3):
        assert codes(judged(text).faults) == ["overwrite"]
    assert codes(examined(tmp_path, text).faults) == ["overwrite"]


def test_the_same_fault_in_other_styles():
    text = source("data_class").replace(
        "self.grad += out.grad\n            other.grad += out.grad",
        "self.grad = out.grad\n            other.grad = out.grad",
    )
    assert codes(judged(text).faults) == ["overwrite_add"]
    text = source("op_codes").replace("1 - self.value**2", "1 - self.value")
    assert codes(judged(text).faults) == ["tanh_linear"]
    text = source("functional").replace("(b.data, a.data)", "(a.data, b.data)")
    assert codes(judged(text).faults) == ["mul_own"]
    text = source("slots").replace("self.grad += g * out.val", "self.grad += g * self.val")
    assert codes(judged(text).faults) == ["exp_input"]


def test_several_faults_at_once():
    text = patient(FAULTS["tanh_linear"])
    for code in ("pow_not_lowered", "div_sign"):
        for old, new in FAULTS[code].patches:
            text = text.replace(old, new)
    assert sorted(codes(judged(text).faults)) == [
        "div_sign",
        "pow_not_lowered",
        "tanh_linear",
    ]


# Slips that no row has: the line is found by the change that mends it.
NEW = {
    "formula_exp": ("self.grad += out.data * out.grad  # exp", "self.grad += 1.25 * out.grad"),
    "slip_tanh": ("(1 - t**2) * out.grad", "(1 - t**3) * out.grad"),
    "slip_log": ("out.grad / self.data  # log", "out.grad / self.data**2"),
    "slip_mul": ("self.grad += other.data * out.grad", "self.grad += 0.5 * other.data * out.grad"),
    "slip_add": ("self.data + other.data, ", "self.data + 2 * other.data, "),
    "slip_relu": (
        "self.data if self.data > 0 else 0.0",
        "self.data if self.data > 0 else 0.5",
    ),
    "wrong_seed": ("self.grad = 1.0  # seed", "self.grad = 3.0"),
}


@pytest.mark.parametrize("code", NEW)
def test_a_fault_that_nobody_has_seen_before(code):
    text = source("closure")
    assert NEW[code][0] in text
    (finding,) = judged(text.replace(*NEW[code])).faults
    assert finding.code == code
    assert finding.expected != finding.got
    line = text.replace(*NEW[code]).split("\n").index
    changed = [x for x in text.replace(*NEW[code]).split("\n") if x not in text.split("\n")]
    assert code == "wrong_seed" or finding.line == line(changed[0]) + 1


# One slip in an engine that is written otherwise: operations made of others, children in a set.
DERIVED = source("closure") + STYLES["derived"]
PLANTED = {
    "overwrite": (".grad += ", ".grad = "),
    "mul_own": (
        "self.grad += other.data * out.grad  # mul, left\n"
        "            other.grad += self.data * out.grad",
        "self.grad += self.data * out.grad\n            other.grad += other.data * out.grad",
    ),
    "pow_no_factor": ("n * self.data ** (n - 1) * out.grad", "self.data ** (n - 1) * out.grad"),
    "forward_order": ("reversed(topo)", "topo"),
    "missing_seed": ("        self.grad = 1.0  # seed\n", ""),
    "chain_forgotten_mul": (
        "self.grad += other.data * out.grad  # mul, left\n"
        "            other.grad += self.data * out.grad",
        "self.grad += other.data\n            other.grad += self.data",
    ),
    "rsub_swapped": ("(-self) + other", "self - other"),
}


@pytest.mark.parametrize("code", PLANTED)
def test_one_slip_is_one_fault_also_where_operations_are_made_of_others(code):
    old, new = PLANTED[code]
    assert old in DERIVED
    assert codes(judged(DERIVED.replace(old, new)).faults) == [code]


def test_an_order_that_depends_on_a_set_never_passes(tmp_path):
    # Nodes run as they are met, in the order of a set, which lies otherwise in every process.
    text = source("closure").replace(
        "                visited.add(v)\n                for child in v._prev:\n"
        "                    build(child)\n                topo.append(v)",
        "                visited.add(v)\n                topo.append(v)\n"
        "                for child in v._prev:\n                    build(child)",
    )
    text = text.replace("reversed(topo)", "topo")
    for _ in range(3):
        (found,) = codes(examined(tmp_path, text).faults)
        assert found in ("insertion_order", "wrong_order", "breadth_first")


def test_detached_results_of_numbers_on_the_left():
    text = source("tuple_prev").replace(
        "        return Value(other) * self\n", "        return Value(other * self.data)\n"
    )
    assert codes(judged(text).faults) == ["rmul_detached"]
    text = source("tuple_prev").replace("return Value(other) ** self", "return self**other")
    assert codes(judged(text).faults) == ["rpow_swapped"]


# ---- sound engines of other people's taste ------------------------------------------------------

SOUND = {
    "wants a seed": source("tuple_prev")
    .replace("def backward(self):", "def backward(self, seed):")
    .replace("fresh[id(self)] = 1.0", "fresh[id(self)] = seed"),
    "static methods": source("tuple_prev").replace(
        "    def tanh(self):", "    @staticmethod\n    def tanh(self):"
    ),
    "None before the gradient": source("tuple_prev")
    .replace("self.grad = 0.0", "self.tag = None\n        self.dL = 0.0")
    .replace("node.grad += ", "node.dL += "),
    "wants a name": source("tuple_prev")
    .replace('_prev=(), label=""', '_prev, name, label=""')
    .replace("cls(data, operands)", 'cls(data, operands, "")')
    .replace("Value(other)", 'Value(other, (), "")'),
    "whole exponents only": source("tuple_prev").replace(
        "    def __pow__(self, n):\n", "    def __pow__(self, n):\n        assert type(n) is int\n"
    ),
    "a byte order mark": "\ufeff" + source("tuple_prev"),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_engines_of_other_tastes(name, tmp_path):
    report = examined(tmp_path, SOUND[name])
    assert report.problem == ""
    assert report.faults == []
    assert codes(report.limits) == (["exponents"] if name == "whole exponents only" else [])


def test_numpy_numbers():
    text = source("tuple_prev").replace("self.data = data", "self.data = np.float32(data)")
    assert judged("import numpy as np\n" + text).faults == []


def test_a_module_of_a_package(tmp_path):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("from .engine import Value\n", encoding="utf-8")
    (package / "helper.py").write_text("ONE = 1.0\n", encoding="utf-8")
    text = "from .helper import ONE\n" + source("tuple_prev")
    (package / "engine.py").write_text(text.replace("= 1.0\n", "= ONE\n"), encoding="utf-8")
    report = diagnose(package / "engine.py")
    assert (report.problem, report.findings) == ("", ())


def test_a_stranger_is_never_loaded_here(tmp_path, monkeypatch):
    package = tmp_path / "stranger_package"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "engine.py").write_text(source("closure"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    diagnose("stranger_package.engine")
    diagnose(package / "engine.py")
    assert not [name for name in sys.modules if name.startswith("stranger_package")]


def test_what_cannot_be_examined_says_why(tmp_path):
    text = (
        "class Value:\n    def __init__(self, data, *, extra):\n        self.data = data[extra]\n"
    )
    assert "Value cannot be made from one number" in examined(tmp_path, text).problem
    text = "class Value:\n    def __init__(self, data):\n        self.data = data\n"
    assert "has no backward() yet" in examined(tmp_path, text).problem
    text += "    def backward(self):\n        pass\n"
    assert "has no gradient" in examined(tmp_path, text).problem
    text += "    grad = 0.0\n"
    assert "no operations" in examined(tmp_path, text).problem
    with pytest.raises(TypeError, match="got NoneType; give it a class"):
        diagnose(None)
    assert diagnose(int).exit_code == 2
    assert "neither a .py file" in diagnose("C:\\x").problem
    assert "no such file" in diagnose(tmp_path / "no.py").problem


def test_a_finding_tells_the_whole_story():
    report = judged(patient(FAULTS["overwrite"]))
    (finding,) = report.faults
    assert finding.program.text() == "a = Value(3.0); b = a + a; b.backward()"
    assert (finding.expected, finding.got) == ("a.grad = 2", "a.grad = 1")
    assert finding.explanation == (
        "a reaches b twice: 1 + 1 = 2; your engine kept only one of them"
    )
    line = patient(FAULTS["overwrite"]).splitlines()[finding.line - 1]
    assert line.strip() == "self.grad = out.grad  # add, left"
    text = report.text()
    assert "1 fault, 3 limits" in " ".join(text.split())  # wherever the path has it wrapped
    for fragment in (
        "[overwrite]",
        "try      a = Value(3.0); b = a + a",
        "look at",
    ):
        assert fragment in text
    assert text.index("[overwrite]") < text.index("[recursion]")


def test_a_crash_points_at_its_line():
    report = judged(patient(FAULTS["pow_negative_base"]))
    (finding,) = report.faults
    assert "math.log" in finding.text
    assert finding.got.startswith("ValueError")


def test_words_of_the_dialect():
    assert judged(source("op_codes")).words == {
        "class": "Scalar", "data": "value", "grad": "derivative", "backward": "backprop()",
        "children": "parents",
    }  # fmt: skip
    assert judged(source("functional")).words["backward"] == "backward(v)"
    assert judged(source("slots")).words["data"] == "val"


@pytest.mark.parametrize("name", ["slope", "d", "gr"])
def test_a_gradient_may_be_called_anything(name):
    text = re.sub(r"\bgrad\b", name, patient(FAULTS["overwrite"]))
    (finding,) = judged(text).faults
    assert finding.code == "overwrite"
    assert f".{name} = " in finding.text


WRAPPED = "other if isinstance(other, Value) else Value(other)"
PRODUCT = "        out = Value(self.data * other.data"


@pytest.mark.parametrize(
    ("old", "new", "program"),
    [
        (WRAPPED, "Value(other) if isinstance(other, int) else other", "b = a + 2.5"),
        (f"        other = {WRAPPED}\n{PRODUCT}", PRODUCT, "b = a * 2"),
    ],
)
def test_numbers_that_are_not_wrapped_are_shown_where_they_are_not(old, new, program):
    text = source("closure")
    assert old in text
    report = judged(text.replace(old, new))
    finding = next(f for f in report.limits if f.code == "constants")
    assert finding.written({}) == f"a = Value(3.0); {program}; b.backward()"
    assert program.removeprefix("b = ") in finding.got


def test_a_wrong_gradient_is_not_one_that_is_off():
    text = source("closure").replace("self.grad +=", "self.grad =")
    report = judged(text)
    assert [finding.code for finding in report.faults] == ["overwrite"]
    assert "switched_off" not in [finding.code for finding in report.limits]


def test_operations_that_are_not_there_are_no_faults():
    report = judged(source("slots"))
    assert report.missing == ("sub", "div", "pow", "neg", "tanh", "log", "sigmoid")
    assert report.faults == []


def test_a_class_by_name_and_a_class_itself(tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(source("closure") + "\nclass Other:\n    pass\n", encoding="utf-8")
    assert diagnose(path, "Value").faults == []
    assert "no class Nobody" in diagnose(path, "Nobody").problem
    assert "Other can be made" not in diagnose(path).problem
    assert diagnose(path, "Other").exit_code == 2


def test_a_class_that_lives_in_no_file():
    # As in a session or a notebook: examined right here, and without a line.
    program = source("closure").replace(".grad += ", ".grad = ")
    program += "\nfrom minigrad import diagnose\nprint(diagnose(Value).to_json())\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    (fault,) = json.loads(done.stdout)["faults"]
    assert (fault["code"], fault["line"]) == ("overwrite", None)


def test_probes_have_the_right_answers():
    # By hand: the diamond of the lessons, and x**n.
    by_name = {probe.name: probe.script for probe in PROBES}
    assert expected(by_name["diamond"])[1] | {} == {
        "a": 4.0, "b": -4.0, "c": -12.0, "d": -2.0, "e": -2.0, "f": 10.0, "g": 1.0,
    }  # fmt: skip
    assert expected(by_name["pow 3"]) == ({"a": 2.0, "b": 8.0}, {"a": 12.0, "b": 1.0})
    assert expected(by_name["a result inside a larger graph"])[1]["a"] == 3.0


def test_scripts_are_what_they_say():
    script = Script({"a": 2.0}, ("b = a ** (-1)", "c = tanh(b)", "d = -c", "e = d", "e += a"))
    assert [(s.name, s.op, s.operands) for s in script.statements] == [
        ("b", "pow", ("a", -1.0)), ("c", "tanh", ("b",)), ("d", "neg", ("c",)), ("e", "is", ("d",)),
        ("e", "add=", ("e", "a")),
    ]  # fmt: skip
    assert script.text({"make": "V({})", "tanh": "tanh({})", "backward": "run({})"}) == (
        "a = V(2.0); b = a ** (-1); c = tanh(b); d = -c; e = d; e += a; run(e)"
    )
    assert type(script.statements[0].operands[1]) is int
    with pytest.raises(ValueError, match="not a statement"):
        Script({}, ("import os",))


@pytest.mark.parametrize(
    ("where", "fragment"),
    [
        ("tanh", "(1 - t**2) * out.grad"),
        ("backward", "def backward"),
        ("class", "class Value"),
        ("assign", None),
    ],
)
def test_likely_lines(where, fragment):
    line, text = likely_line(source("closure"), where)
    assert (line is None) if fragment is None else fragment in text
    assert likely_line("not python (", where) == (None, "")


# ---- hostile files ------------------------------------------------------------------------------

HOSTILE = {
    "exits": ("import sys; sys.exit(0)", "ends the process: sys.exit"),
    "exits at once": ("import os; os._exit(0)", "ended with code 0"),
    "does not parse": ("class Value:\n    def f(:\n", "line 2 does not parse"),
    "raises": ("1 / 0", "ZeroDivisionError"),
    "is empty": ("", "there is no class in it"),
    "spoils the answers": ("import json; json.dumps = lambda *a, **k: '{}'", "no class in it"),
    "empties the questions": (
        "import sys\nfor m in list(sys.modules.values()):\n"
        "    if hasattr(m, 'PROBES'): m.PROBES.clear()\n" + source("closure"),
        "",
    ),
    "takes all memory": ("x = [0] * 10**11", "MemoryError"),
    "forks": ("import os\nwhile True:\n    os.fork()", "os.fork is not allowed"),
    "kills": ("import os; os.kill(os.getppid(), 9)", "os.kill is not allowed"),
    "starts programs": ("import os; os.system('true')", "os.system is not allowed"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cannot_be_examined(name, tmp_path):
    text, fragment = HOSTILE[name]
    report = examined(tmp_path, text)
    if name == "empties the questions":  # which were read before
        assert (report.problem, report.faults) == ("", [])
        return
    assert fragment in report.problem
    assert report.exit_code == 2
    assert report.faults == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "while True:\n try:\n  while True:\n   pass\n except BaseException:\n  pass",
            "time ran out while loading the file",
        ),
        ("while True:\n    print('No fault.' * 1000)", "line 1 takes long"),
    ],
)
def test_loops_and_floods_end(text, why, tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(text, encoding="utf-8")
    found = examine_stranger(str(path), seconds=1.0)
    assert found.problem == f"it did not come to an end: {why}"


# What hangs, and the smallest expression that shows it.
HANGING = {
    "an operation": ("t = math.tanh(self.data)", "while True: pass", "a.tanh()"),
    "the pass": ("in reversed(topo):", "in iter(lambda: topo[-1], 0):", "b.backward()"),
}


@pytest.mark.parametrize("name", HANGING)
def test_what_hangs_is_a_fault_with_its_line(name, tmp_path):
    old, new, part = HANGING[name]
    text = source("closure")
    assert text.count(old) == 1
    report = examined(tmp_path, text.replace(old, new))
    (finding,) = report.faults
    assert (report.problem, finding.code) == ("", "no_end")
    assert finding.got == "it does not come to an end"
    assert part in finding.written(report.spelling)
    line = text[: text.index(old)].count("\n") + 1
    assert finding.line in (line, line + 1)


def test_the_line_is_that_of_the_loop_and_not_of_what_it_calls():
    text = (
        "def rule(n):\n    return sum(range(n)) + n\n\n"
        "def go():\n    while True:\n        rule(999)\n\ndef outer():\n    return go()\n"
    )
    space = {}
    exec(compile(text, "stranger.py", "exec"), space)
    with pytest.raises(clock.TooLongError) as ended, clock.bounded(0.01, "stranger.py"):
        space["outer"]()
    assert clock.line_of_loop(ended.value, "stranger.py") in (5, 6)
    assert clock.line_of_loop(ended.value, "another.py") is None


def test_an_operation_that_cannot_be_ended_is_named(tmp_path):
    path = tmp_path / "engine.py"
    # Between lines it can be ended; this is one that never is.
    text = source("closure").replace("t = math.tanh(self.data)", "t = sum(iter(int, 1))")
    path.write_text(text, encoding="utf-8")
    found = examine_stranger(str(path), seconds=2.0)
    assert (
        "time ran out while running “a = Value(0.5); b = a.tanh(); b.backward()”" in found.problem
    )
    assert found.outcomes["mul"]["grad"] == {"a": -2.0, "b": 3.0, "c": 1.0}


ENDLESS = {
    "making one": ("self.data = data\n", "Value(2.5) does not come to an end"),
    "adding": (
        "out = Value(self.data + other.data",
        "+ or * of two Values does not come to an end",
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_cannot_even_be_made_or_added_without_end_is_said(name, monkeypatch):
    monkeypatch.setattr("minigrad.check.doctor.finding.LONGEST", 0.1)
    line, said = ENDLESS[name]
    text = source("closure")
    assert line in text
    assert judged(text.replace(line, f"while True: pass\n        {line}")).problem == said


FORGERIES = [
    # A verdict printed, or written to every descriptor there is, without the token.
    """
import json, os
line = json.dumps({"token": "0" * 32, "outcomes": {}, "end": True, "words": {"class": "Good"}})
print(line)
for fd in range(64):
    try:
        os.write(fd, (line + "\\n").encode())
    except OSError:
        pass
os._exit(0)
""",
    """
import sys
print("No fault.")
sys.exit(0)
""",
]


@pytest.mark.parametrize("text", FORGERIES)
def test_a_forged_verdict_is_no_verdict(text, tmp_path):
    report = examined(tmp_path, text)
    assert report.exit_code == 2
    assert report.words == {}


def test_odd_classes_do_not_confuse_the_doctor():
    odd = """

def _raise(*_):
    raise RuntimeError("no")

Value.__repr__ = Value.__str__ = Value.__bool__ = _raise
"""
    assert judged(source("tuple_prev") + odd).findings == ()
    # Equality by number, in an engine that does not rely on it: no fault.
    by_number = "\n\nValue.__eq__ = lambda s, o: s.data == o.data\nValue.__hash__ = lambda s: 0\n"
    assert judged(source("tuple_prev") + by_number).findings == ()


def test_a_patched_math_does_not_change_what_is_right(tmp_path):
    text = "import math\nmath.tanh = lambda x: 0.0\n" + source("closure")
    report = examined(tmp_path, text)
    assert report.faults != []
    assert all("tanh" in finding.program.text() for finding in report.faults)


def test_messages_of_strangers_are_text(tmp_path):
    text = source("closure").replace(
        "t = math.tanh(self.data)", "raise ValueError('\\x1b[31m</script>')"
    )
    report = examined(tmp_path, text)
    assert "\x1b" not in report.text()
    assert "<script" not in report.to_html().split("<iframe")[0].replace("&lt;", "")


# ---- the command --------------------------------------------------------------------------------


def test_exit_codes_and_json(tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(patient(FAULTS["mul_own"]), encoding="utf-8")
    done = CliRunner().invoke(app, ["doctor", str(path), "--json"])
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert [fault["code"] for fault in report["faults"]] == ["mul_own"]
    assert CliRunner().invoke(app, ["doctor", f"{path}:Nobody"]).exit_code == 2
    assert CliRunner().invoke(app, ["doctor", "minigrad.scalar:Value"]).exit_code == 0
    missing = CliRunner().invoke(app, ["doctor", str(tmp_path / "no.py")])
    assert missing.exit_code == 2
    assert "there is no such file" in missing.output


def test_the_page(tmp_path):
    path = tmp_path / "engine.py"
    path.write_text(patient(FAULTS["overwrite"]), encoding="utf-8")
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["doctor", str(path), "--html", str(page)])
    assert done.exit_code == 1
    assert "<iframe" in page.read_text(encoding="utf-8")
    again = CliRunner().invoke(app, ["doctor", str(path), "--html", str(page)])
    assert again.exit_code == 2
    assert "add --force" in again.stderr


@pytest.mark.browser
def test_the_page_in_the_browser(tmp_path, chromium):
    page_path = tmp_path / "report.html"
    report = examined(tmp_path, patient(FAULTS["overwrite"]))
    page_path.write_text(report.to_html(), encoding="utf-8")
    page = chromium.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(page_path.as_uri())
    frame = page.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("main[data-ready=yes]")
    assert frame.input_value('[data-player="fault"]') == "overwrite"  # switched on
    frame.click('[data-player="last"]')
    assert frame.text_content('[data-unit="0"] .mg-grad') == "grad 1"
    frame.select_option('[data-player="fault"]', "")
    frame.click('[data-player="last"]')
    assert frame.text_content('[data-unit="0"] .mg-grad') == "grad 2"
    assert complaints == []


def test_the_source_tree_examines_itself_uninstalled():
    program = "from src.minigrad.check import diagnose; print(diagnose('json').exit_code)"
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout == "2\n"


@pytest.mark.parametrize("name", ["engine.txt", "ENGINE.PY", "engine"])
def test_a_file_is_a_file_whatever_its_name_ends_in(name, tmp_path):
    path = tmp_path / name
    path.write_text(patient(FAULTS["overwrite_add"]), encoding="utf-8")
    report = diagnose(str(path))
    assert [finding.code for finding in report.faults] == ["overwrite_add"]
    assert report.faults[0].text


def test_a_line_without_end_is_not_shown_to_its_end(tmp_path):
    text = patient(FAULTS["overwrite_add"])
    lines = text.splitlines()
    path = tmp_path / "engine.py"
    path.write_text(text, encoding="utf-8")
    (fault,) = diagnose(path).faults
    lines[fault.line - 1] += "  # " + "x" * 500_000
    path.write_text("\n".join(lines), encoding="utf-8")
    report = diagnose(path)
    assert report.faults[0].line == fault.line
    assert len(report.text()) < 20_000
