"""Chains: a table of single instructions is what the instructions are, in every pass."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.backends.encode import encode
from minigrad.compiler.ir.instructions import (
    ADD,
    DOT,
    MAP,
    MULADD,
    VJP,
    Chain,
    Later,
    Listing,
    listing,
    parts_of,
)
from minigrad.compiler.ir.program import Instruction, Program, verify
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.passes import group
from minigrad.compiler.passes.store_first import store_first
from minigrad.compiler.specialization import BY_ALL, BY_VALUES, FORWARD, Purpose

JACOBIAN = Purpose("jacobian")


def chains_of(program):
    return [part for part in parts_of(program.instructions) if isinstance(part, Chain)]


def deep(seed):
    """A long chain of all sorts of operations, most of them on the result of the one before."""
    dice = random.Random(seed)
    parameters = [Value(dice.uniform(0.5, 1.5)) for _ in range(6)]

    def function(x, z):
        dice = random.Random(seed)
        y, known = x, [x, z, *parameters]
        for k in range(60):
            other = dice.choice(known[-10:])
            steps = _STEPS if k > 25 else _STEPS[:-2]  # the last ones end a chain
            y = dice.choice(steps)(y, other, parameters[dice.randrange(6)])
            known.append(y)
        return y

    return minigrad.compile(function), parameters


def stopped(y, other):
    with minigrad.no_grad():
        number = y * 2.0
    return other + number * y


_STEPS = [
    lambda y, o, p: minigrad.sin(y),
    lambda y, o, p: y * o,
    lambda y, o, p: y * o + p,
    lambda y, o, p: o * o + y * p,
    lambda y, o, p: (y + o) * 0.5,
    lambda y, o, p: y - o,
    lambda y, o, p: -y,
    lambda y, o, p: minigrad.tanh(y) / (o * o + 1.0),
    lambda y, o, p: minigrad.dot([y], [o]),
    lambda y, o, p: minigrad.sin(y) * minigrad.cos(y),
    lambda y, o, p: stopped(y, o),
    lambda y, o, p: minigrad.where(o > y, y, o * p),
    lambda y, o, p: minigrad.sum([y, o, p]) * 0.3,
]


def everything(seed):
    """The words for every purpose, and the text, of a deep function."""
    compiled, parameters = deep(seed)
    value, grads = compiled.value_and_grad(0.3, 0.4)
    spec = compiled.dispatch.latest()
    found = [value, *grads.args, *[grads.get(p, 0.0) for p in parameters]]
    found += compiled.hvp((0.3, 0.4), (1.0, 2.0))
    for purpose in (FORWARD, BY_ALL, BY_VALUES, JACOBIAN):
        code = encode(spec.compiled(purpose))
        found += [x.tobytes() for x in (code.words, code.pool, code.numbers)]
    texts = [str(spec.program), str(spec.compiled(BY_ALL)), spec.program.digest()]
    return [repr(x) for x in found] + texts, chains_of(spec.program)


@pytest.mark.parametrize("seed", range(4))
def test_chains_change_nothing(monkeypatch, seed):
    with_chains, chains = everything(seed)
    monkeypatch.setattr(group, "LEAST", 10**9)
    without, none = everything(seed)
    assert (len(chains) > 0, none) == (True, [])
    assert with_chains == without


@pytest.mark.smoke
def test_a_chain_is_one_and_is_right():
    count = 500

    def chain(x):
        for _ in range(count):
            x = minigrad.sin(x) + 0.5
        return x

    compiled = minigrad.compile(chain)
    value, grads = compiled.value_and_grad(1.0)
    x, slope = 1.0, 1.0
    for _ in range(count):
        x, slope = np.sin(x) + 0.5, slope * np.cos(x)
    assert abs(value - x) < 1e-12
    assert abs(grads.args[0] - slope) < 1e-12 * abs(slope) + 1e-300
    (found,) = chains_of(compiled.program)
    assert len(found) == 2 * count == len(compiled.program.instructions)
    (numpy,) = minigrad.compile(chain, backend="numpy").grad(1.0).args
    assert abs(numpy - slope) < 1e-12 * abs(slope) + 1e-300


def test_exact_programs_have_none(monkeypatch):
    """0 * inf in a chain: sqrt at 0, times 0."""

    def chain(x):
        y = minigrad.sqrt(x) * 0.0
        for _ in range(40):
            y = minigrad.sin(y)
        return y + x

    compiled = minigrad.compile(chain)
    x = Value(0.0)
    expected = chain(x)
    expected.backward()
    value, grads = compiled.value_and_grad(0.0)
    assert value == expected.data
    assert repr(grads.args[0]) == repr(x.grad)
    exact = compiled.dispatch.latest().exactly()
    assert chains_of(exact.program) == []


def table(*rows):
    """A chain of rows (kind, op, which, stores, out, operands)."""
    kind, op, which, stores, out, args = zip(*rows, strict=True)
    filled = [(*a, *[-1] * (4 - len(a))) for a in args]
    return Chain(*map(np.array, (kind, op, which, stores, out, filled)))


SIN, MUL = (minigrad.compiler.ir.instructions.MAPS[name].code for name in ("sin", "mul"))
SOUND = (
    (MAP, SIN, 0, False, 2, (0,)),
    (MAP, MUL, 0, False, 3, (2, 1)),
    (DOT, -1, 0, False, 4, (3, 2, 1)),
    (DOT, -1, 0, False, 5, (3, 2)),
    (ADD, -1, 0, True, 6, (5,)),
    (MULADD, -1, 0, False, 6, (5, 4)),
    (VJP, SIN, 0, False, 6, (4, 2, 0)),
    (VJP, MUL, 1, True, 7, (4, 3, 2, 1)),
)


def program_of(*rows, size=8):
    return Program(size, 2, 0, np.zeros(0), listing([table(*rows)]), (2,))


def test_verify_looks_at_every_row():
    verify(program_of(*SOUND))
    spelled = tuple(table(*SOUND).spelled_out())
    verify(replace(program_of(*SOUND), instructions=spelled))


@pytest.mark.parametrize(
    ("at", "row", "words"),
    [
        (0, (MAP, SIN, 0, False, 2, (8,)), "an operand lies outside"),
        (0, (MAP, SIN, 0, False, 8, (0,)), "the result lies outside"),
        (0, (MAP, SIN, 0, False, 2, (3,)), "read before it is written"),
        (0, (MAP, SIN, 0, False, 2, (2,)), "read before it is written"),
        (0, (MAP, SIN, 0, False, 2, (0, 1)), "wrong number of operands"),
        (0, (MAP, SIN, 1, False, 2, (0,)), "no such partial"),
        (0, (MAP, 999, 0, False, 2, (0,)), "no such operation"),
        (0, (MAP, -1, 0, False, 2, (0,)), "no such operation"),
        (1, (MAP, MUL, 0, False, 0, (0, 1)), "overwrites"),
        (1, (MAP, MUL, 0, False, 2, (0, 1)), "overwrites"),
        (2, (DOT, -1, 0, False, 4, (3,)), "wrong number of operands"),
        (4, (ADD, -1, 0, False, 6, (5,)), "adds to what was never written"),
        (5, (MULADD, -1, 0, True, 6, (5, 4)), "overwrites"),
        (7, (VJP, MUL, 2, True, 7, (4, 3, 2, 1)), "no such partial"),
    ],
)
def test_verify_says_what_is_wrong_with_a_row(at, row, words):
    rows = list(SOUND)
    rows[at] = row
    with pytest.raises(ValueError, match=words):
        verify(program_of(*rows), "a pass")
    # One by one, they are as wrong. (An operation of another code has no name to spell it with.)
    if row[1] in (SIN, MUL) or row[0] != MAP:
        spelled = tuple(table(*rows).spelled_out())
        with pytest.raises(ValueError, match="after a pass"):
            verify(replace(program_of(*rows), instructions=spelled), "a pass")


def test_the_first_to_reach_a_slot_stores():
    fill = Instruction("fill", (6,), Ref(2, 1, 1))
    rows = [
        (ADD, -1, 0, False, 2, (0,)),  # stores
        (ADD, -1, 0, False, 2, (1,)),  # adds
        (ADD, -1, 0, False, 4, (3,)),  # stores; 3 is read, and has to be 0
        (ADD, -1, 0, False, 3, (4,)),  # adds
        (ADD, -1, 0, False, 5, (5,)),  # reads what it would write
    ]
    program = Program(8, 2, 0, np.zeros(0), listing([fill, table(*rows)]), (2,))
    plain = replace(program, instructions=(fill, *table(*rows).spelled_out()))
    with_chain, without = store_first(program), store_first(plain)
    assert [i.stores for i in with_chain.instructions] == [i.stores for i in without.instructions]
    assert str(with_chain) == str(without)
    (chain,) = chains_of(with_chain)
    assert chain.stores.tolist() == [True, False, True, False, False]


def test_instructions_of_a_program_with_chains_are_a_sequence():
    chain = table(*SOUND)
    fill = Instruction("fill", (1,), Ref(7))
    found = listing([chain, fill])
    assert isinstance(found, Listing)
    assert len(found) == 9 == len(list(found))
    assert found[-1] is fill
    assert found[0].kind == "map"
    assert [i.kind for i in found[2:4]] == ["dot", "dot"]
    assert listing([fill]) == (fill,)
    assert parts_of((fill,)) == (fill,)
    assert parts_of(found) == (chain, fill)


def test_later_makes_them_once():
    made = []
    fill = Instruction("fill", (1,), Ref(7))

    def make():
        made.append(1)
        return listing([table(*SOUND), fill])

    later = Later(9, make)
    assert len(later) == 9
    assert made == []
    assert later[-1] is fill
    assert len(parts_of(later)) == 2
    assert made == [1]
    with pytest.raises(RuntimeError, match="minigrad cache --clear"):
        Later(3, make)[0]
