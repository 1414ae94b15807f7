"""What measures the doctor: its oracle tells sound engines from ill ones, without the doctor."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from doctor import ask_oracle, compare, engines_in, is_named, summary  # noqa: E402
from doctor_oracle import differences, run  # noqa: E402
from doctor_speech import Speech, speak  # noqa: E402

SOUND = ROOT / "src/minigrad/check/doctor/sound"
CLOSURE = (SOUND / "closure.py").read_text(encoding="utf-8")


def judged(path):
    """Return what the oracle says of the one engine in a file."""
    (engine,) = ask_oracle(path)["engines"]
    return engine


def with_change(tmp_path, old, new):
    assert CLOSURE.count(old) == 1
    path = tmp_path / "ill.py"
    path.write_text(CLOSURE.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "path",
    [SOUND / "closure.py", SOUND / "local_grads.py", ROOT / "tests/sound/op_codes.py"],
    ids=lambda path: path.stem,
)
def test_sound_engines_are_sound(path):
    engine = judged(path)
    assert engine["faults"] == []
    assert engine["asked"] > 40


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("self.grad += out.grad  # add, left", "self.grad = out.grad", "+ twice"),
        ("in reversed(topo)", "in topo", "* times"),
        ("visited.add", "id", "graph "),
        ('Value(t, (self,), "tanh")', "Value(t)", "tanh of a product"),
    ],
    ids=["overwrite", "order", "visited", "operands"],
)
def test_what_is_planted_is_found(tmp_path, old, new, wrong):
    engine = judged(with_change(tmp_path, old, new))
    assert any(program.startswith(wrong) for program in engine["wrong"])


def test_a_notebook_with_magics_and_an_error_is_read(tmp_path):
    start, cut = CLOSURE.index("import math"), CLOSURE.index("class Value")
    cells = [
        "%matplotlib inline\n!pip install x\n",
        "import not_installed_anywhere as n\n" + CLOSURE[start:cut],
        "1 / 0",
        CLOSURE[cut:],
        "Value(2.0).backward(nonsense",
    ]
    book = {"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    assert engines_in(tmp_path, None) == [path]
    assert judged(path)["faults"] == []


def test_what_never_ends_is_no_engine_and_nothing_waits_for_it(tmp_path):
    path = tmp_path / "endless.py"
    code = """class V:
    def __init__(self, x):
        while True: pass
    def __add__(self, other): return self.grad"""
    path.write_text(code, encoding="utf-8")
    (told,) = ask_oracle(path)["others"]
    assert told["problem"] == "making one does not end"


class Cube:
    """An engine of one operation; its slope is off by `error`."""

    error = 0.0

    def __init__(self, data):
        self.data, self.grad, self.operand = data, 0.0, None

    def __mul__(self, other):
        out = Cube(self.data * other.data)
        out.operand = (self, other)
        return out

    def backward(self):
        for one, other in zip(self.operand, reversed(self.operand), strict=True):
            one.grad += other.data * (1 + self.error)


@given(st.floats(0.2, 3.0), st.floats(-3.0, -0.2))
def test_differences_are_the_derivative(x, y):
    speech = Speech(Cube, Cube, "data")
    slope = differences(speech, lambda v: v[0] * v[1] * v[0], [x, y], 0)
    assert math.isclose(slope, 2 * x * y, rel_tol=1e-6)


@given(st.floats(0.01, 2.0), st.sampled_from([-1, 1]))
def test_a_slope_that_is_off_is_seen(error, sign):
    speech = speak(Cube, {})
    assert (speech.data, speech.grad, speech.back_name) == ("data", "grad", "backward")
    assert run(speech, lambda v: v[0] * v[1], [1.5, -2.0]) == {}
    Cube.error = sign * error
    try:
        assert run(speech, lambda v: v[0] * v[1], [1.5, -2.0])["kind"] == "gradient"
    finally:
        Cube.error = 0.0


def said(*codes, problem=""):
    return {"problem": problem, "class": "Value", "codes": list(codes), "cpu": 1.0}


def engine(*wrong, refused=(), seeded=False):
    found = {"faults": list(wrong), "refused": list(refused), "seeded": seeded}
    return {"engines": [{"class": "Value"} | found]}


@pytest.mark.parametrize(
    ("doctor", "oracle", "truth", "outcome"),
    [
        (said(), engine(), None, "sound"),
        (said("overwrite"), engine("+ twice"), None, "found"),
        (said(), engine("+ twice"), None, "missed"),
        (said("overwrite"), engine(), None, "false alarm"),
        (said("constants"), engine(refused=["a + 2"]), None, "sound"),
        (said("overwrite"), engine(refused=["a + 2"]), None, "false alarm"),
        (said("missing_seed"), engine(seeded=True), None, "sound"),
        (said("missing_seed"), engine(), None, "false alarm"),
        (said(problem="no"), engine(), None, "not examined"),
        (said(problem="no"), {"engines": []}, None, "no engine, not examined"),
        (said(), {"engines": []}, None, "examined, oracle cannot"),
        (said("overwrite"), engine(), "overwrite", "found"),
        (said("overwrite"), engine("+ twice"), "sound", "false alarm"),
        (said("overwrite"), engine("+ twice"), "sound overwrite", "sound"),
        (said("overwrite", "x"), engine("+ twice"), "sound overwrite", "false alarm"),
        (said("overwrite"), engine("+ twice"), "no engine", "examined, oracle cannot"),
    ],
)
def test_outcomes(doctor, oracle, truth, outcome):
    assert compare(doctor, oracle, truth) == outcome


def test_the_summary_counts():
    pairs = [(said("a"), "found"), (said("b"), "found"), (said("a"), "false alarm"),
             (said(), "missed"), (said(problem="no"), "not examined")]  # fmt: skip
    rows = [{"engine": str(k), "doctor": d, "outcome": o} for k, (d, o) in enumerate(pairs)]
    found = summary(rows, {"0": "a c", "1": "a"})
    assert (found["scalar engines"], found["not examined, of engines"]) == (5, 0.2)
    assert (found["precision"], found["recall, of those examined"]) == (0.6667, 0.6667)
    assert found["first cause right, of those told"] == 0.5
    assert is_named(said("a"), None) is None
