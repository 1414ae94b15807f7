"""An optimiser's step as a pass: a formula at the end of a gradient program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_backends import slope_program

from minigrad.codegen.formula import formula_of
from minigrad.compiler.backends import numpy as arrays
from minigrad.compiler.ir.program import verify
from minigrad.compiler.passes.update import update
from minigrad.optim import SGD

PLAIN = formula_of(SGD._rule_without_momentum, 2, 4)


def test_the_formula_comes_at_the_end_and_nothing_else_changes():
    program = replace(slope_program(3), adjoints=4)
    found = update(program, PLAIN, 3)
    assert (found.update.formula, found.update.count, found.update.grads) == (PLAIN, 3, 4)
    assert replace(found, update=None).instructions == program.instructions


def test_a_step_goes_against_the_slope():
    # The gradients of the program are x*x - 1: from 3 a step of 0.1 leads to 3 - 0.8.
    prepared = arrays.prepare(verify(update(replace(slope_program(2), adjoints=3), PLAIN, 2)))
    commit = arrays.Commit(prepared.program.update)
    commit.state, commit.settings = (), (0.1, 0.0, 0.0, 0.0)
    values = prepared.values()
    values[:2] = [3.0, 1.0]
    assert prepared.step(values, (), None, commit) == -1
    assert values[:2] == pytest.approx(np.array([2.2, 1.0]), abs=1e-15)


def test_an_update_of_what_is_not_there():
    program = slope_program(3)
    for adjoints in (0, 2, 5):
        with pytest.raises(ValueError, match="parameters or gradients are not there"):
            verify(update(replace(program, adjoints=adjoints), PLAIN, 3), "update")
    with pytest.raises(ValueError, match="a gradient is never written"):
        verify(update(replace(program, adjoints=4, instructions=()), PLAIN, 3), "update")
