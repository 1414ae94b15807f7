"""Append an optimiser's step to a program with gradients.

The formula is that of one parameter, in rows of the op table; the parameters are the first inputs.
All of them move once the program has run and its guards hold, and otherwise none: a back end runs
the formula after the guards, and counts the step together with the move.
"""

from __future__ import annotations

from dataclasses import replace

from ...codegen.formula import Formula
from ..ir.program import Program, Update


def update(program: Program, formula: Formula, count: int) -> Program:
    """Have the first `count` inputs move by their gradients."""
    return replace(program, update=Update(formula, count, program.adjoints))
