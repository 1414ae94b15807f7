"""How passes write instructions: slots one after the other, and a slot for each number."""

from __future__ import annotations

import numpy as np

from minigrad.compiler.ir.builder import Builder
from minigrad.compiler.ir.program import Program, verify
from minigrad.compiler.ir.refs import Ref


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
