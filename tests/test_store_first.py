"""The first += to reach a slot writes it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from test_backends import MACHINES

from minigrad.compiler.ir.kinds import KINDS
from minigrad.compiler.ir.program import Instruction, Program
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.passes.store_first import store_first


def chain(count=6):
    """Return a program with its adjoints, as `grad` writes one: y = tanh(a*b), summed."""
    n, out, adj = count, 2 * count, 100

    def at(first):
        return Ref(first, 1, 1)

    g = at(adj + out)
    return Program(
        adj + 4 * n + 1, 2 * count, 0, np.zeros(0),
        (
            Instruction("map", (n,), at(out), (at(0), at(n)), "mul"),
            Instruction("map", (n,), at(out + n), (at(out),), "tanh"),
            Instruction("sum", (1, n), Ref(out + 2 * n), (Ref(out + n, term_stride=1),)),
            Instruction("fill", (4 * n,), at(adj)),
            Instruction("fill", (1,), at(adj + 4 * n), number=1.0),
            Instruction("add", (1, n), Ref(adj + out + n, term_stride=1), (Ref(adj + 4 * n),)),
            Instruction("vjp", (n,), g, (at(adj + out + n), at(out + n), at(out)), "tanh"),
            Instruction("vjp", (n,), at(adj), (g, at(out), at(0), at(n)), "mul", which=0),
            Instruction("vjp", (n,), at(adj + n), (g, at(out), at(0), at(n)), "mul", which=1),
            Instruction("vjp", (n,), at(adj + n), (g, at(out), at(0), at(n)), "mul", which=1),
        ),
        (out + 2 * n,), adjoints=adj,
    )  # fmt: skip


def test_first_writers_store():
    program = chain()
    shorter = store_first(program)
    marks = [i.stores for i in shorter.instructions if KINDS[i.kind].adds]
    assert marks == [True, True, True, True, False]
    assert not any(i.kind == "fill" and i.number == 0.0 for i in shorter.instructions)
    assert store_first(shorter).instructions == shorter.instructions


def test_a_slot_that_is_read_early_keeps_its_zero():
    read = Instruction("map", (1,), Ref(50), (Ref(101),), "neg")
    program = chain()
    steps = (*program.instructions[:5], read, *program.instructions[5:])
    kept = store_first(replace(program, instructions=steps))
    fills = [i for i in kept.instructions if i.kind == "fill" and i.number == 0.0]
    assert [(i.out.base, i.shape) for i in fills] == [(100, (6,))]


@pytest.mark.parametrize("prepare", MACHINES)
def test_stores_changes_no_result(prepare):
    program = chain()
    results = []
    for each in (program, store_first(program)):
        prepared = prepare(each)
        values = prepared.values()
        values[:] = math.nan  # whatever was there before must not shine through
        values[:12] = np.linspace(-1, 1, 12)
        prepared.run(values)
        results.append(values[100:])
    np.testing.assert_array_equal(*results)
