"""Requests of the playground: every field of every kind is taken, or refused by its name."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.playground import KINDS, SAFE, answer, answer_json
from minigrad.playground.fields import FIELDS
from minigrad.playground.request import RequestError, read_request

DIAMOND = {"text": "(a*b + c) * (a - c)", "values": {"a": 2, "b": 3, "c": 4}}


def refused(kind, **fields):
    return answer({"kind": kind, **fields})["error"]


@pytest.mark.parametrize(
    ("request_", "fragment"),
    [
        (None, "a request is an object"),
        ([], "a request is an object"),
        ({}, "kind"),
        ({"kind": "eval"}, "is none of"),
        ({"kind": "expression"}, "text: it is missing; a request of the kind expression needs it"),
        ({"kind": "expression", "text": 3}, "text: give a text, not 3."),
        ({"kind": "expression", "text": "a +"}, "is expected"),
        ({"kind": "expression", "text": "2 + 3"}, "there is no variable"),
        ({"kind": "expression", "text": "x" * 10_001}, "10,000 are read"),
        ({"kind": "expression", "text": "+".join("a" * 1_002)}, "1,000 are the most"),
        (
            {"kind": "expression", "text": "a", "values": {"a": None}},
            "values.a: nothing is no number",
        ),
        ({"kind": "expression", "text": "a", "values": {"a": "__import__('os')"}}, "there is no"),
        (
            {"kind": "expression", "text": "a", "values": []},
            "values: give an object with names, not a list",
        ),
        ({"kind": "expression", "text": "a", "lang": "fr"}, "is none of en, es"),
        ({"kind": "expression", "text": "a", "rankdir": "up"}, "is none of LR, TB"),
        ({"kind": "export", "text": "a", "format": "png"}, "is none of"),
        ({"kind": "train", "steps": 10**9}, "from 0 to 50"),
        ({"kind": "lab", "lab": "nothing"}, "is none of"),
        (
            {"kind": "lab-check", "lab": "order", "text": "", "seen": {"a": 3}},
            "seen.a: give an object with names, not 3",
        ),
        ({"kind": "exercise"}, "seed: it is missing"),
        ({"kind": "expression", "text": "a", "values": {"a": 1, "bb": 2}}, "values.bb: the expr"),
        ({"kind": "expression", "text": "a", "valeus": {}}, "valeus: a request of the kind expr"),
        ({"kind": "expression", "text": "a", "faults": ["none"]}, "faults[0]: 'none' is none of"),
        ({"kind": "expression", "text": "a", "values": {"a": 10**400}}, "values.a: the number is"),
        ({"kind": "expression", "text": "a", "along": "a", "to": "inf"}, "to: give a finite"),
        ({"kind": "train", "rate": "nan"}, "rate: give a finite number, not nan"),
        ({"kind": "train", "rate": -1}, "rate: give a number from 0 on, not -1.0"),
        ({"kind": "train-open", "point": 4}, "point: give a whole number from 0 to 3, not 4"),
        ({"kind": "doctor", "text": "\ud800"}, "text: it has halves of characters"),
        ({"kind": "grade", "seed": 1, "answers": {"99": "1"}}, "answers.99: there is no such box"),
    ],
)
def test_mistakes_are_told(request_, fragment):
    assert fragment in answer(request_)["error"]


def wrong(asked):
    """Say what is wrong with the fields of a request; nothing, if they are right."""
    try:
        read_request(asked, FIELDS)
    except RequestError as error:
        return str(error)
    return ""


def nested():
    """A list inside a list inside a list …, deeper than Python can print or compare."""
    whole = []
    for _ in range(100_000):
        whole = [whole]
    return whole


HOSTILE = [
    None, True, -1, 10**400, 1e400, math.nan, "", "\ud800", "x" * 300_000, [], [None], [nested()],
    {}, {"a": None}, {"a": [nested()]}, {"a": 10**5000}, {1: 2}, nested(), object(),
]  # fmt: skip
WHOLE = {
    "expression": DIAMOND | {"along": "a"},
    "check": DIAMOND,
    "export": DIAMOND | {"format": "minigrad"},
    "faults": {"graph": 0},
    "exercise": {"seed": 1},
    "grade": {"seed": 1},
    "python": {"text": "1"},
    "session": {"text": "1"},
    "doctor": {"text": "1"},
    "chapter-check": {"chapter": "1", "text": "1"},
    "lab": {"lab": "order"},
    "lab-check": {"lab": "order", "text": "1"},
}


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_field_that_is_wrong_is_named(kind, lang):
    """Whatever stands in a field: it is taken, or the sentence begins with its name."""
    assert "rankdir" in FIELDS[kind]
    for field in FIELDS[kind]:
        asked = {"kind": kind, "lang": lang, **WHOLE.get(kind, {})}
        errors = [error for x in HOSTILE if (error := wrong(asked | {field: x}))]
        assert len(errors) > len(HOSTILE) / 2  # most are of another type than any field's
        assert all(error.startswith(field) and len(error) < 700 for error in errors), errors
    assert answer({"kind": kind, "zz": 1, "lang": lang})["error"].startswith("zz: ")


def test_every_kind_has_its_fields_in_the_table_and_in_the_document():
    assert set(FIELDS) == set(KINDS)
    page = (Path(__file__).parent.parent / "docs" / "playground.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \|", page, re.MULTILINE)
    told = {kind: set(re.findall(r"`(\w+)`", fields)) for kind, fields in rows}
    assert told == {kind: set(fields) - {"rankdir"} for kind, fields in FIELDS.items()}


def test_a_range_as_wide_as_floats_go_and_numbers_that_json_has_not():
    fields = {"text": "x*1", "along": "x", "from": -1.7e308, "to": 1.7e308}
    points = answer({"kind": "expression", **fields})["plot"]["points"]
    assert (points[0][0], points[30][0], points[-1][0]) == (-1.7e308, 0.0, 1.7e308)
    request = '{"kind": "expression", "text": "a", "values": {"a": %s}}'
    assert "values.a" in json.loads(answer_json(request % ("1" * 5000)))["error"]
    assert "nested too deeply" in json.loads(answer_json(request % ("[" * 100_000)))["error"]
    assert json.loads(answer_json('{"kind": "train", "rate": 1e400}'))["error"].startswith("rate")


def test_mistakes_in_an_expression_are_told_in_spanish():
    said = refused("expression", text="(a + ", lang="es")
    assert said.startswith("la expresión termina donde se espera un número o un nombre\n")
    assert refused("expression", text="softmax(a, b)", lang="es").startswith("el resultado: aquí")
    wrong = refused("expression", text="a", values={"a": "1 +"}, lang="es")
    assert wrong.startswith("values.a: la expresión termina")


def test_what_a_program_does_to_the_depth_of_calls_stays_with_it():
    limit = sys.getrecursionlimit()
    answer({"kind": "python", "text": "import sys\nsys.setrecursionlimit(12345)"})
    assert sys.getrecursionlimit() == limit


def test_what_runs_programs_is_not_safe():
    assert SAFE.isdisjoint({"python", "session", "doctor", "chapter-check", "lab-check"})
    assert set(KINDS) > SAFE


ANY = st.dictionaries(
    st.sampled_from("text values lang rankdir along from to level seed answers steps grid".split()),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["a*b", "a/0", "exp(a)", "log(-a)", "x**y"])
    | st.dictionaries(st.sampled_from("ab"), st.floats() | st.text(max_size=4)),
)  # fmt: skip


@given(st.sampled_from(sorted({*SAFE, "exercise", "grade", "gallery", "lab", "labs"})), ANY)
def test_no_request_raises(kind, fields):
    text = json.dumps({"kind": kind, **fields})
    found = json.loads(answer_json(text))
    assert isinstance(found, dict)


def test_what_is_no_json():
    assert "not JSON" in json.loads(answer_json("{"))["error"]
    assert "not JSON" in json.loads(answer_json("[" * 100_000))["error"]
    assert "not JSON" in json.loads(answer_json('{"kind": "labs"} x'))["error"]
