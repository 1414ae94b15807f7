"""Programs: where operands lie, what `verify` refuses, and how they are printed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.compiler.ir.program import (
    MOST_SLOTS,
    Area,
    Flags,
    Instruction,
    Program,
    Ref,
    ref_of,
    spaces,
    text,
    verify,
)
from minigrad.compiler.passes.grad import grad
from minigrad.compiler.tracing.tape import Guard
from minigrad.errors import TraceError

# ---- where operands lie --------------------------------------------------------------------------

SIZES = st.integers(1, 9)
STRIDES = st.integers(-20, 20)
SLOT = st.integers(0, 300)


def indices(count):
    return st.lists(SLOT, min_size=count, max_size=count).map(lambda x: np.array(x, dtype=np.int32))


@st.composite
def operands(draw):
    """A Ref of any form, its numbers of rows and terms, and its slots in plain arithmetic."""
    rows, terms = draw(SIZES), draw(SIZES)
    base, step = draw(SLOT), draw(STRIDES)
    form = draw(st.sampled_from(["affine", "rows", "cells"]))
    every = [(row, term) for row in range(rows) for term in range(terms)]
    if form == "affine":
        inner, outer_stride, inner_stride = draw(SIZES), draw(STRIDES), draw(STRIDES)
        ref = Ref(base, inner, outer_stride, inner_stride, step)
        slots = []
        for row, term in every:
            outer, rest = divmod(row, inner)
            slots.append(base + outer * outer_stride + rest * inner_stride + term * step)
    elif form == "rows":
        starts = draw(indices(rows))
        ref = Ref(base, term_stride=step, rows=starts)
        slots = [base + int(starts[row]) + term * step for row, term in every]
    else:
        cells = draw(indices(rows * terms))
        ref = Ref(base, cells=cells)
        slots = [base + int(cells[row * terms + term]) for row, term in every]
    return ref, rows, terms, slots


@given(operands())
def test_slots_are_what_the_fields_say(operand):
    ref, rows, terms, slots = operand
    found = ref.slots(rows, terms)
    assert found.shape == (rows, terms)
    assert found.ravel().tolist() == slots
    assert ref.listed(rows, terms) == slots


@given(operands(), st.integers(0, 1000))
def test_shifted_keeps_the_pattern(operand, offset):
    ref, rows, terms, slots = operand
    moved = ref.shifted(offset)
    assert moved.slots(rows, terms).ravel().tolist() == [slot + offset for slot in slots]
    assert ref.slots(rows, terms).ravel().tolist() == slots


def listed(area: Area) -> list[int]:
    if area.slots is None:
        return list(range(area.first, area.last + 1))
    return [int(slot) for slot in area.slots]


@given(operands())
def test_an_area_is_the_set_of_the_slots(operand):
    ref, rows, terms, slots = operand
    area = ref.area(rows, terms)
    assert set(listed(area)) == set(slots)
    assert (area.first, area.last) == (min(slots), max(slots))
    assert area.once == (len(set(slots)) == len(slots))
    if area.slots is not None:
        assert listed(area) == slots
    follow = slots == list(range(slots[0], slots[0] + len(slots)))
    is_affine = ref.rows is None and ref.cells is None
    assert ref.is_range(rows, terms) == (is_affine and follow)


def test_the_latest_area_is_kept_but_asked_for_others_it_is_another():
    ref = Ref(5, inner=4, inner_stride=1)
    assert ref.area(4) is ref.area(4)
    assert listed(ref.area(4)) == [5, 6, 7, 8]
    assert listed(ref.area(3)) == [5, 6, 7]
    assert listed(ref.area(3, 2)) == [5, 6, 7]


def test_the_area_of_a_long_range_in_another_order_is_that_range():
    matrix = Ref(10, inner=50, inner_stride=1, term_stride=50)  # 30 columns of 50
    area = matrix.area(50, 30)
    assert (area.first, area.last, area.slots, area.once) == (10, 1509, None, True)
    assert not matrix.is_range(50, 30)
    shuffled = Ref(0, rows=np.random.default_rng(1).permutation(1000).astype(np.int32))
    assert shuffled.area(1000).slots is None
    gaps = Ref(0, inner=100, inner_stride=2)
    assert listed(gaps.area(100)) == list(range(0, 200, 2))


@pytest.mark.parametrize("ref", [Ref(0, rows=np.arange(3)), Ref(0, cells=np.arange(3))])
def test_an_index_array_must_have_the_right_length(ref):
    with pytest.raises(ValueError, match="has 3 indices"):
        ref.area(2, 2)


@given(operands())
def test_a_stride_is_the_distance_of_rows(operand):
    ref, rows, terms, _ = operand
    stride = ref.stride(rows)
    if stride is not None:
        starts = ref.slots(rows, terms)[:, 0]
        assert (np.diff(starts) == stride).all()


@given(operands())
def test_ref_of_finds_a_ref_with_these_slots(operand):
    _, rows, terms, slots = operand
    table = np.array(slots, dtype=np.int64).reshape(rows, terms)
    assert (ref_of(table).slots(rows, terms) == table).all()


@given(SLOT, SIZES, STRIDES, STRIDES, STRIDES, SIZES, SIZES)
def test_ref_of_finds_strides_where_there_are_some(base, inner, outer, fine, step, times, terms):
    rows = inner * times
    found = ref_of(Ref(base, inner, outer, fine, step).slots(rows, terms))
    assert found.cells is None
    # A row of the outer loop that happens to go on in the inner stride hides where it starts.
    assert found.rows is None or outer == inner * fine or inner == 1 or outer == fine


@given(st.lists(st.tuples(operands(), st.booleans()), max_size=4), operands())
def test_flags_are_a_set_of_slots(changes, asked):
    flags, those = Flags(2000), set()
    for (ref, rows, terms, slots), flag in changes:
        moved = ref.shifted(600)
        flags.set(moved.area(rows, terms), flag)
        those = those | {s + 600 for s in slots} if flag else those - {s + 600 for s in slots}
    assert set(np.flatnonzero(flags.array)) == those
    ref, rows, terms, slots = asked
    area = ref.shifted(600).area(rows, terms)
    assert flags.all(area) == all(slot + 600 in those for slot in slots)
    assert flags.any(area) == any(slot + 600 in those for slot in slots)


# ---- printing ------------------------------------------------------------------------------------


def small() -> Program:
    """Two points in the plane: the sum of exp(x·w + b), and a guard on the first product."""
    return Program(
        size=13,
        inputs=7,  # w, b, and the points
        parameters=3,
        constants=np.array([0.0, 0.5]),
        instructions=(
            Instruction(
                "dot",
                (2, 2),
                Ref(9, 2, 0, 1),
                (Ref(3, 2, 0, 2, 1), Ref(0, term_stride=1), Ref(2)),
            ),
            Instruction("map", (1,), Ref(11), (Ref(9),), "exp"),
            Instruction(
                "sum", (1, 2), Ref(12), (Ref(0, cells=np.array([11, 10], dtype=np.int32)), Ref(7))
            ),
        ),
        results=(12,),
        guards=(Guard(9, 1.0, "if a > b, line 3"),),
    )


def test_text():
    assert text(verify(small())) == str(small())
    assert str(small()).split("\n") == [
        "inputs     v0…6   of these 3 captured",
        "constants  v7…8   0, 0.5",
        "v9…10                        =  dot          2×2        v3…6  v0[2·0, 2·1]  v2[2·0]",
        "v11                          =  exp          1          v9",
        "v12                          =  sum          1×2        v[1×2 gathered]  v7",
        "results    v12",
        "guard      v9 is 1: if a > b, line 3",
    ]


def test_text_of_a_gradient():
    lines = str(verify(grad(small(), range(3)), "grad")).split("\n")
    assert lines[5:-2] == [
        "v13…24                       =  fill         12         0",
        "v25                          =  fill         1          1",
        "v[1×2 gathered]              += add          1×2        v25[2·0]",
        "v22                          += vjp exp/0    1          v24  v11  v9",
        "v13[2·0, 2·1]                += muladd       2×2        v22[2·1, 2·0]  v3…6",
        "v15[2·0]                     += add          2×1        v22…23",
    ]


# ---- checking ------------------------------------------------------------------------------------


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
    for (kind, shape, count), expected in sizes.items():
        args = (a, b, c)[:count]
        found = spaces(Instruction(kind, shape, out, args))
        assert [ref for ref, _, _ in found] == [*args, out], kind
        assert [(rows, terms) for _, rows, terms in found] == expected, kind


def broken(at: int, **changes) -> Program:
    program = small()
    steps = list(program.instructions)
    steps[at] = replace(steps[at], **changes)
    return replace(program, instructions=tuple(steps))


def with_step(step: Instruction) -> Program:
    program = small()
    return replace(program, size=20, instructions=(*program.instructions, step))


SHUFFLED = Ref(0, rows=np.array([13, 15, 13], dtype=np.int32))
LONG = np.arange(3, dtype=np.int32)

PLANTED = {
    "there is no such kind": broken(0, kind="dots"),
    "there is no such operation": broken(1, op="exq"),
    "there is no such partial": with_step(
        Instruction("vjp", (1,), Ref(9), (Ref(9), Ref(11), Ref(9)), "exp", which=1)
    ),
    "1 operands": broken(0, args=(Ref(0),)),
    "2 operands": broken(1, args=(Ref(0), Ref(1))),
    "3 operands": with_step(Instruction("add", (1, 1), Ref(9), (Ref(9), Ref(1), Ref(1)))),
    r"the shape is \(2,\)": broken(0, shape=(2,)),
    r"the shape is \(2, 0\)": broken(0, shape=(2, 0)),
    r"the shape is \(1, 1\)": broken(1, shape=(1, 1)),
    r"the shape is \(2, 2, 2\)": broken(0, shape=(2, 2, 2)),
    "an operand lies outside the buffer": broken(1, args=(Ref(13),)),
    "an operand of 1 rows, 1 terms has 3 indices": broken(1, args=(Ref(0, rows=LONG),)),
    "an operand is read before it is written": broken(1, args=(Ref(12),)),
    "the result lies outside the buffer": broken(1, out=Ref(-1)),
    "it adds to what was never written": with_step(
        Instruction("add", (3, 1), Ref(12, 3, 0, 1), (Ref(0),))
    ),
    "it overwrites what was written before": broken(1, out=Ref(10)),
    "it writes the same slot twice": with_step(
        Instruction("map", (3,), SHUFFLED, (Ref(0),), "exp")
    ),
}


@pytest.mark.parametrize("message", PLANTED)
def test_verify_tells_what_is_wrong(message):
    with pytest.raises(ValueError, match=rf"instruction \d .* after group: {message}$"):
        verify(PLANTED[message], "group")


OUTSIDE = {
    "one past the end": Ref(2, 11, 0, 1),
    "below the start": Ref(9, 11, 0, -1),
    "far": Ref(0, rows=np.array([*range(10), 5_000_000], dtype=np.int32)),
    "negative": Ref(0, rows=np.array([*range(10), -1], dtype=np.int32)),
    "negative cells": Ref(-3, cells=np.arange(11, dtype=np.int32)),
}


@pytest.mark.parametrize("repeats", [1, 20])  # few slots and many are looked at in two ways
@pytest.mark.parametrize("where", OUTSIDE)
def test_verify_sees_slots_outside_in_operands_of_every_form(where, repeats):
    slots = np.repeat(OUTSIDE[where].slots(11).ravel(), repeats)
    for ref in (OUTSIDE[where], ref_of(slots[:, None])):
        count = 11 if ref is OUTSIDE[where] else len(slots)
        program = small()
        step = Instruction("sum", (count, 1), Ref(13, count, 0, 1), (ref,))
        grown = replace(program, size=13 + count, instructions=(*program.instructions, step))
        if where == "one past the end":
            grown = replace(grown, size=12 + count, instructions=(step,))
        with pytest.raises(ValueError, match="outside the buffer|before it is written"):
            verify(grown)


@pytest.mark.parametrize("count", [3, 200])
def test_verify_sees_a_single_hole_and_a_single_repetition(count):
    """One slot among few, or among many, that is not written yet, or written twice."""
    program = Program(3 * count, count, 0, np.zeros(0), (), (0,))
    order = np.arange(count)[::-1].astype(np.int32)

    def run(args: Ref, out: Ref) -> None:
        step = Instruction("map", (count,), out, (args,), "exp")
        verify(replace(program, instructions=(step,)))

    run(Ref(0, rows=order), Ref(count, rows=order))
    hole, twice, odd = order.copy(), order.copy(), (2 * order).astype(np.int32)
    hole[1] = count
    twice[1] = twice[0]
    run(Ref(0, rows=twice), Ref(count, rows=odd))
    with pytest.raises(ValueError, match="an operand is read before it is written"):
        run(Ref(0, rows=hole), Ref(count, rows=odd))
    with pytest.raises(ValueError, match="it writes the same slot twice"):
        run(Ref(0, rows=order), Ref(count, rows=twice))
    with pytest.raises(ValueError, match="it writes the same slot twice"):
        run(Ref(0, rows=order), Ref(count))
    with pytest.raises(ValueError, match="it overwrites what was written before"):
        run(Ref(0, rows=order), Ref(count - 1, inner=count, inner_stride=1))


def test_verify_lets_storing_instructions_write_and_refuses_them_what_was_written():
    step = Instruction("add", (3, 1), Ref(13, 3, 0, 1), (Ref(0),), stores=True)
    verify(with_step(step))
    with pytest.raises(ValueError, match="it overwrites what was written before"):
        verify(with_step(replace(step, out=Ref(12, 3, 0, 1))))


@pytest.mark.parametrize(
    "changes",
    [
        {"results": (8, 13)},
        {"results": (-1,)},
        {"results": (12,), "size": 14, "guards": (Guard(13, 0.0, ""),)},
    ],
)
def test_verify_wants_results_and_guards_that_were_written(changes):
    with pytest.raises(ValueError, match="after making: a result is never written"):
        verify(replace(small(), **changes))


def test_verify_returns_the_program():
    program = small()
    assert verify(program) is program


# ---- beyond 32 bits ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 100])  # by a list, by an array
@pytest.mark.parametrize("terms", [1, 3])
def test_slots_up_to_the_border_of_32_bits_are_kept(count, terms):
    rng = np.random.default_rng(count)
    slots = MOST_SLOTS - 1 - rng.permutation(10 * count * terms)[: count * terms]
    slots[0] = MOST_SLOTS - 1
    table = slots.reshape(count, terms)
    assert (ref_of(table).slots(count, terms) == table).all()


@pytest.mark.parametrize("count", [3, 100])
@pytest.mark.parametrize("terms", [1, 3])
@pytest.mark.parametrize("beyond", [1, 2**31, 2**32])
def test_slots_behind_the_border_are_refused_and_not_wrapped(count, terms, beyond):
    rng = np.random.default_rng(count)
    slots = MOST_SLOTS - rng.permutation(10 * count * terms)[: count * terms]
    slots[-1] = MOST_SLOTS - 1 + beyond
    with pytest.raises(TraceError, match=r"more than 2,147,483,647 slots.*Compile a part"):
        ref_of(slots.reshape(count, terms))


def test_a_program_of_too_many_slots_is_refused_before_it_takes_memory():
    step = Instruction("fill", (1,), Ref(2**31))
    with pytest.raises(TraceError, match="this one has 2,147,483,649, adjoints included"):
        verify(Program(2**31 + 1, 1, 0, np.zeros(0), (step,), (2**31,)))
