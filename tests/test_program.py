"""Programs: what `verify` refuses, and how passes write instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.compiler.ir.program import Builder, Instruction, Program, verify, verify_last
from minigrad.compiler.ir.refs import Ref, ref_of
from minigrad.compiler.tracing.tape import Guard
from minigrad.errors import TraceError


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


# ---- checking ------------------------------------------------------------------------------------


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
    "no such kind": broken(0, kind="dots"),
    "no such operation": broken(1, op="exq"),
    "no such partial": with_step(
        Instruction("vjp", (1,), Ref(9), (Ref(9), Ref(11), Ref(9)), "exp", which=1)
    ),
    "1 operands": broken(0, args=(Ref(0),)),
    "2 operands": broken(1, args=(Ref(0), Ref(1))),
    "3 operands": with_step(Instruction("add", (1, 1), Ref(9), (Ref(9), Ref(1), Ref(1)))),
    r"shape .*\(2,\)": broken(0, shape=(2,)),
    r"shape .*\(2, 0\)": broken(0, shape=(2, 0)),
    r"shape .*\(1, 1\)": broken(1, shape=(1, 1)),
    r"shape .*\(2, 2, 2\)": broken(0, shape=(2, 2, 2)),
    "operand .*outside": broken(1, args=(Ref(13),)),
    "3 indices": broken(1, args=(Ref(0, rows=LONG),)),
    "read before": broken(1, args=(Ref(12),)),
    "result .*outside": broken(1, out=Ref(-1)),
    "adds .*never written": with_step(Instruction("add", (3, 1), Ref(12, 3, 0, 1), (Ref(0),))),
    "overwrites": broken(1, out=Ref(10)),
    "slot twice": with_step(Instruction("map", (3,), SHUFFLED, (Ref(0),), "exp")),
}


@pytest.mark.parametrize("message", PLANTED)
def test_verify_tells_what_is_wrong(message):
    with pytest.raises(ValueError, match=rf"instruction \d .*after group.*{message}"):
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
        with pytest.raises(ValueError, match="outside|read before"):
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
    with pytest.raises(ValueError, match="read before"):
        run(Ref(0, rows=hole), Ref(count, rows=odd))
    with pytest.raises(ValueError, match="slot twice"):
        run(Ref(0, rows=order), Ref(count, rows=twice))
    with pytest.raises(ValueError, match="slot twice"):
        run(Ref(0, rows=order), Ref(count))
    with pytest.raises(ValueError, match="overwrites"):
        run(Ref(0, rows=order), Ref(count - 1, inner=count, inner_stride=1))


def test_verify_lets_storing_instructions_write_and_refuses_them_what_was_written():
    step = Instruction("add", (3, 1), Ref(13, 3, 0, 1), (Ref(0),), stores=True)
    verify(with_step(step))
    with pytest.raises(ValueError, match="overwrites"):
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
    with pytest.raises(ValueError, match="result .*never written"):
        verify(replace(small(), **changes))


def test_verify_returns_the_program():
    program = small()
    assert verify(program) is program


def test_a_program_of_too_many_slots_is_refused_before_it_takes_memory():
    step = Instruction("fill", (1,), Ref(2**31))
    with pytest.raises(TraceError, match="this one has 2,147,483,649, adjoints included"):
        verify(Program(2**31 + 1, 1, 0, np.zeros(0), (step,), (2**31,)))


# ---- how passes write instructions ---------------------------------------------------------------


def test_slots_are_allocated_behind_those_that_are_there():
    builder = Builder(5)
    first, second = builder.allocate(3), builder.allocate(2)
    assert first.slots(3, 1).ravel().tolist() == [5, 6, 7]
    assert second.slots(2, 1).ravel().tolist() == [8, 9]
    assert builder.size == 10


def test_a_number_has_one_slot_by_its_bits():
    builder = Builder(0)
    slots = [builder.number(x).base for x in (0.0, -0.0, 2.0, 0.0, 2.0)]
    assert slots == [0, 1, 2, 0, 2]
    assert [i.kind for i in builder.instructions] == ["fill"] * 3


def test_what_it_emits_is_a_program():
    builder = Builder(1)
    out = builder.allocate(1)
    builder.emit("map", (1,), out, Ref(0), builder.number(2.0), op="mul")
    steps = (builder.instructions[0], builder.instructions[1])
    assert [i.kind for i in steps] == ["fill", "map"]
    verify(Program(builder.size, 1, 0, np.zeros(0), steps, (out.base,)))


def test_the_first_pass_that_went_wrong_is_named():
    sound = small()
    broken = replace(sound, instructions=sound.instructions[1:])  # reads what nobody writes
    assert verify_last([("group", sound), ("grad", sound)]) is sound
    with pytest.raises(ValueError, match="after grad: an operand is read before it is written"):
        verify_last([("group", sound), ("grad", broken), ("store_first", broken)])
    with pytest.raises(ValueError, match="after store_first"):
        verify_last([("grad", sound), ("store_first", broken)])
    assert verify_last([("grad", broken), ("store_first", sound)]) is sound  # it is what runs
