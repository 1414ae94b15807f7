"""The same answers from Pyodide under Node as here: the engine of the page is the engine.

Arithmetic is the same to the last digit. Functions such as tanh are those of the C library, which
is another one there and may round otherwise: numbers in answers may differ by that, and by what
training makes of it; nothing that is shown does.
"""

from __future__ import annotations

import json
import math

import pytest
from playgrounds import in_node, site
from test_lab import edited, fences

from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.signatures import patient, source
from minigrad.lab import LABS
from minigrad.playground import answer_json
from minigrad.playground.gallery import EXAMPLES

pytestmark = pytest.mark.browser

EXACT = [
    *({"kind": "expression", "text": e.text, "values": e.values, "along": "a"}
      for e in EXAMPLES if e.kind == "expression" and "tanh" not in e.text),
    *({"kind": "check", "text": e.text, "values": e.values}
      for e in EXAMPLES if e.kind == "expression" and "tanh" not in e.text),
    {"kind": "expression", "text": "exp(x)", "values": {"x": 1000}},
    {"kind": "expression", "text": "a/b", "values": {"a": 0, "b": 0}, "lang": "es"},
    {"kind": "expression", "text": "a +"},
    *({"kind": "python", "text": e.text} for e in EXAMPLES if e.kind == "python"),
    *({"kind": "exercise", "level": level, "seed": seed} for level in (1, 2, 3) for seed in (1, 2)),
    {"kind": "grade", "level": 2, "seed": 1, "answers": {"0": "1", "1": "1/2", "2": "x"}},
    {"kind": "export", "format": "pytorch", "text": "a*b", "values": {"a": 2}},
    {"kind": "export", "format": "html", "text": "a*b", "values": {"a": 2}},
]  # fmt: skip
ROUNDED = [
    *({"kind": "expression", "text": e.text, "values": e.values, "along": next(iter(e.values))}
      for e in EXAMPLES if "tanh" in e.text),
    *({"kind": "expression", "text": f"{name}(x*w)", "values": {"x": 0.7, "w": 0.7}}
      for name in ("tanh", "acos", "exp", "log", "sin", "erf")),
    {"kind": "train", "data": "xor", "steps": 50, "grid": 4},
    {"kind": "train", "data": "moons", "steps": 2},
]  # fmt: skip
PATIENTS = ["overwrite", "set_prev", "plain_recursion", "missing_seed", "mul_own"]
BROKEN = {
    name: edited(lab.engine_source(), fences(lab.text(), "diff")[0]) for name, lab in LABS.items()
}
JUDGED = [
    {"kind": "doctor", "text": source("closure"), "seed": 3},
    *({"kind": "doctor", "text": patient(FAULTS[code]), "seed": 4} for code in PATIENTS),
    *(
        {"kind": "lab-check", "lab": name, "text": lab.engine_source()}
        for name, lab in LABS.items()
    ),
    *({"kind": "lab-check", "lab": name, "text": text} for name, text in BROKEN.items()),
]
# Freed from its end, a chain of so many nodes would end that Python.
DEEP = [
    {"kind": "python", "text": "from minigrad import Value\na = b = Value(1.0)\n"
     "for _ in range(20_000):\n    b = b + a\nb"},
    {"kind": "expression", "text": "+".join(["a"] * 1_000)},
    {"kind": "expression", "text": "-" * 1_000 + "a"},
    {"kind": "expression", "text": "a*b", "values": {"a": 2, "b": 3}},  # it is still there
]  # fmt: skip


@pytest.fixture(scope="module")
def answers():
    """What Pyodide answers, by the request."""
    requests = [*EXACT, *ROUNDED, *JUDGED, *DEEP]
    found = in_node(requests, site())
    assert len(found) == len(requests), found[-1:]
    return {json.dumps(request): each for request, each in zip(requests, found, strict=True)}


def here(request):
    return json.loads(answer_json(json.dumps(request)))


def numbers(thing):
    """List all numbers in an answer, in order."""
    if isinstance(thing, dict):
        thing = [each for _, each in sorted(thing.items())]
    if isinstance(thing, list):
        return [number for each in thing for number in numbers(each)]
    return [thing] if isinstance(thing, float) else []


def texts(thing):
    """List all that is text in an answer: the picture, what it says at each step, explanations."""
    if isinstance(thing, dict):
        thing = [each for item in sorted(thing.items()) for each in item]
    if isinstance(thing, list):
        return [text for each in thing for text in texts(each)]
    return [thing] if isinstance(thing, str) else []


@pytest.mark.parametrize("request_", EXACT, ids=lambda r: str(r)[:60])
def test_the_same_to_the_last_digit(answers, request_):
    assert answers[json.dumps(request_)] == here(request_)


@pytest.mark.parametrize("request_", ROUNDED, ids=lambda r: str(r)[:60])
def test_the_same_but_for_the_rounding_of_functions(answers, request_):
    assert texts(answers[json.dumps(request_)]) == texts(here(request_))
    theirs, ours = numbers(answers[json.dumps(request_)]), numbers(here(request_))
    assert len(theirs) == len(ours) > 0
    for a, b in zip(theirs, ours, strict=True):
        assert math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-14)


@pytest.mark.parametrize("request_", JUDGED, ids=lambda r: str(r.get("lab", r["kind"])))
def test_the_doctor_and_the_labs_judge_alike(answers, request_):
    theirs, ours = answers[json.dumps(request_)], here(request_)
    for key in ("exit_code", "heading", "lines", "findings", "state", "engine", "where", "then"):
        assert theirs.get(key) == ours.get(key), key


def test_long_chains_do_not_end_python(answers):
    deep, wide, minus, last = (answers[json.dumps(request)] for request in DEEP)
    assert deep["rows"][0]["grad"] == 20_001.0
    assert wide["rows"][0]["grad"] == 1_000.0
    assert minus["rows"][0]["grad"] == 1.0
    assert [row["grad"] for row in last["rows"]] == [3.0, 2.0]


def test_a_chain_that_a_program_drops_ends_python_and_says_so():
    """Nobody can hold what a program itself lets go of: the page throws that worker away."""
    text = "from minigrad import Value\nfor _ in range(2):\n    b = Value(1.0)\n"
    text += "    for _ in range(100_000):\n        b = b + 1\n"
    (found,) = in_node([{"kind": "python", "text": text}], site())
    assert "Maximum call stack" in found["fatal"]
