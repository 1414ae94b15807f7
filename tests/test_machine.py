"""A program with its buffer: runs, failed guards, numbers that are not finite, write-backs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minigrad import Value
from minigrad.compiler.backends import backend_of
from minigrad.compiler.ir.program import Instruction, Program
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.machine import GuardFailed, Machine, NotFinite
from minigrad.compiler.tracing.tape import Guard
from minigrad.core.parameters import Nodes, write_data
from minigrad.core.writeback import defer, writebacks

# v0 is captured, v1 an argument, v2 their quotient.
QUOTIENT = Program(
    size=3,
    inputs=2,
    parameters=1,
    constants=np.zeros(0),
    instructions=(Instruction("map", (1,), Ref(2), (Ref(0), Ref(1)), "div"),),
    results=(2,),
)


def result(machine):
    return machine.values.item(2)


@pytest.mark.smoke
def test_a_run_is_on_the_values_and_numbers_of_the_call(backend):
    w = Value(6.0)
    machine, captured = Machine(QUOTIENT, backend_of(backend)), Nodes((w,))
    assert machine.run(captured, [2.0], result) == 3.0
    w.data = 10.0
    assert machine.run(captured, [4.0], result) == 2.5


@pytest.mark.smoke
def test_write_backs_are_flushed_before_a_run(backend):
    w = Value(6.0)
    machine = Machine(QUOTIENT, backend_of(backend))
    defer(lambda: write_data((w,), np.array([8.0])))
    assert machine.run(Nodes((w,)), [2.0], result) == 4.0
    assert not writebacks


@pytest.mark.smoke
def test_a_guard_that_fails_is_told(backend):
    guarded = replace(QUOTIENT, guards=(Guard(2, 3.0, "a branch"),))
    machine, captured = Machine(guarded, backend_of(backend)), Nodes((Value(6.0),))
    assert machine.run(captured, [2.0], result) == 3.0
    with pytest.raises(GuardFailed):
        machine.run(captured, [3.0], result)
    assert machine.probe(captured, [3.0], [2]) == [2.0]  # which looks at no guards


def test_what_is_not_finite_is_told_where_somebody_asks(backend):
    captured = Nodes((Value(6.0),))
    with np.errstate(all="ignore"):
        machine = Machine(QUOTIENT, backend_of(backend))
        assert machine.run(captured, [0.0], result) == np.inf
        machine = Machine(replace(QUOTIENT, finite=((2, 3),)), backend_of(backend))
        with pytest.raises(NotFinite):
            machine.run(captured, [0.0], result)
