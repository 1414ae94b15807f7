"""Kinds of instruction: the rows are complete, and so is what belongs to each of them."""

from __future__ import annotations

import pytest

pytest.importorskip("numpy")

from minigrad.compiler.backends import encode
from minigrad.compiler.backends import numpy as interpreter
from minigrad.compiler.ir.kinds import KINDS
from minigrad.compiler.ir.program import Instruction
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.passes import grad


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_has_a_row_a_runner_a_rule_and_an_encoder(name):
    kind = KINDS[name]
    assert kind.name == name
    assert ("+=" in kind.meaning) == kind.adds
    assert name in interpreter._RUNNERS
    assert name in encode._ENCODERS
    if name != "vjp":  # which `expand` spells out before it is differentiated
        assert kind.is_flat != hasattr(grad._Adjoints, f"_{name}")
    assert kind.may_store <= kind.adds
    assert kind.padding in ("", "zero", "first", "unread")


def test_nothing_is_there_for_a_kind_without_a_row():
    assert set(interpreter._RUNNERS) == set(encode._ENCODERS) == set(KINDS)


def test_an_unknown_kind_is_an_error():
    step = Instruction("dots", (2, 2), Ref(0))
    for ask in (step.spaces, lambda: step.adds, lambda: step.areas):
        with pytest.raises(KeyError, match="dots"):
            ask()


def test_spaces_of_every_kind():
    a, b, c, out = Ref(0), Ref(1), Ref(2), Ref(3)
    sizes = {
        ("map", (5,), 2): [(5, 1), (5, 1), (5, 1)],
        ("vjp", (5,), 3): [(5, 1)] * 4,
        ("fill", (5,), 0): [(5, 1)],
        ("sum", (5, 4), 2): [(5, 4), (5, 1), (5, 1)],
        ("dot", (5, 4), 3): [(5, 4), (5, 4), (5, 1), (5, 1)],
        ("mm", (2, 3, 4), 3): [(2, 4), (3, 4), (6, 1), (6, 1)],
        ("mmadd", (2, 3, 4), 2): [(2, 4), (3, 4), (6, 1)],
        ("max", (5, 4), 1): [(5, 4), (5, 1)],
        ("argmax", (5, 4), 1): [(5, 4), (5, 1)],
        ("take", (5, 4), 2): [(5, 4), (5, 1), (5, 1)],
        ("get", (5, 4), 2): [(5, 4), (5, 1), (5, 1)],
        ("put", (5, 4), 2): [(5, 1), (5, 1), (5, 4)],
        ("add", (5, 4), 1): [(5, 4), (5, 4)],
        ("muladd", (5, 4), 2): [(5, 4), (5, 4), (5, 4)],
    }
    assert {kind for kind, _, _ in sizes} == set(KINDS)
    for (kind, shape, count), expected in sizes.items():
        args = (a, b, c)[:count]
        found = Instruction(kind, shape, out, args).spaces()
        assert [ref for ref, _, _ in found] == [*args, out], kind
        assert [(rows, terms) for _, rows, terms in found] == expected, kind
