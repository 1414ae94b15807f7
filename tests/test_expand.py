"""Every `vjp`, spelled out in maps, gives the same numbers and can be differentiated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minigrad.compiler.backends import numpy as arrays
from minigrad.compiler.ir.program import Instruction, Program, verify
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.passes.expand import expand


def of(op, which, x, y):
    """Return 3 times a slope of op(x, y) and where that lies: an adjoint of 3, and one of 0."""
    operands = (Ref(0), Ref(1))[: 1 if op in ("exp", "tanh") else 2]
    steps = (
        Instruction("map", (1,), Ref(2), operands, op),
        Instruction("fill", (1,), Ref(3), number=3.0),
        Instruction("fill", (1,), Ref(4), number=0.0),
        Instruction("vjp", (1,), Ref(4), (Ref(3), Ref(2), *operands), op, which),
    )
    program = expand(verify(Program(5, 2, 0, np.zeros(0), steps, (4,))))
    assert all(i.kind != "vjp" for i in verify(program, "expand").instructions)
    prepared = arrays.prepare(program)
    values = prepared.values()
    values[:2] = x, y
    prepared.run(values)
    return values[4]


@pytest.mark.parametrize(
    ("op", "which", "slope"),
    [
        ("mul", 0, 0.5),
        ("mul", 1, 2.0),
        ("div", 0, 2.0),  # 1 / y
        ("div", 1, -8.0),  # -x / y²
        ("exp", 0, math.exp(2.0)),
        ("tanh", 0, 1 / math.cosh(2.0) ** 2),
        ("sub", 1, -1.0),
    ],
)
def test_slopes_are_those_of_calculus(op, which, slope):
    assert of(op, which, 2.0, 0.5) == pytest.approx(3.0 * slope, rel=1e-14)


def test_what_is_no_vjp_stays():
    steps = (Instruction("map", (1,), Ref(1), (Ref(0),), "exp"),)
    program = Program(2, 1, 0, np.zeros(0), steps, (1,))
    assert expand(program).instructions == steps
