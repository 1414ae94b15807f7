"""Padding is taken out of instructions whose rows differ in length."""

from __future__ import annotations

import numpy as np
import pytest

from minigrad.compiler.backends import numpy as arrays
from minigrad.compiler.ir.program import Instruction, Program
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.passes.trim import trim


def triangle(kind, n=5):
    """Return rows of 1 … n terms, four of each length, padded as grouping pads them."""
    inputs, adj = 60, 200
    zero, first = inputs, inputs + 1
    rng = np.random.default_rng(5)
    rows = 4 * n
    cells = np.full((rows, n), zero)
    for row in range(rows):
        length = row // 4 + 1
        cells[row, :length] = rng.integers(0, inputs - 10) + np.arange(length)
        if kind == "max":
            cells[row, length:] = cells[row, 0]
    table = Ref(0, cells=cells.ravel().astype(np.int32))
    if kind in ("sum", "dot", "max"):
        args = {"sum": (table, Ref(zero)), "dot": (table, table, Ref(3)), "max": (table,)}[kind]
        steps = (Instruction(kind, (rows, n), Ref(first, 1, 1), args),)
    else:
        adjoint = table.shifted(adj)
        args = (Ref(0, 1, 1),) if kind == "add" else (Ref(0, 1, 1), table)
        fill = Instruction("fill", (inputs + 1,), Ref(adj, 1, 1))
        steps = (fill, Instruction(kind, (rows, n), adjoint, args))
    return Program(adj + inputs + 1, inputs, 0, np.array([0.0]), steps, (), adjoints=adj)


@pytest.mark.parametrize("kind", ["sum", "dot", "max", "add", "muladd"])
def test_padding_is_taken_out(kind):
    program = triangle(kind)
    trimmed = trim(program)
    shapes = [i.shape for i in trimmed.instructions if i.kind == kind]
    assert shapes == [(4, length) for length in range(1, 6)]
    results = []
    for each in (program, trimmed):
        prepared = arrays.prepare(each)
        values = prepared.values()
        values[:60] = np.linspace(-2, 2, 60)
        prepared.run(values)
        values[260] = 0.0  # the adjoint of the constant, which nobody reads
        results.append(values)
    np.testing.assert_allclose(*results, rtol=1e-15, atol=1e-15)
