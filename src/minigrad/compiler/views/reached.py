"""What the results reach, whatever is chosen on the way."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ..ir.kinds import KINDS
from ..ir.program import Instruction, Program
from ..ir.refs import Flags
from .plan import Table


def surely_reached(program: Program) -> Flags:
    """Flag the slots that the results reach whatever `where` and `take` choose.

    What is not chosen has a gradient of 0, and passes nothing on, even where a slope is inf. What
    every row of a table is made of is reached by whichever row is taken: the sum under a softmax.
    """
    sure = Flags(program.size)
    for slot in program.results:
        sure.array[slot] = True
    makers = {i.areas[-1].first: i for i in program.instructions}
    starts = sorted(makers)
    for i in reversed(program.instructions):
        spaces, out = i.spaces(), i.areas[-1]
        if KINDS[i.kind].is_flat or not sure.any(out):
            continue
        reached = np.ones(1, dtype=bool)
        if not sure.all(out):
            reached = sure.array[i.out.slots(*spaces[-1][1:])].ravel()
        if i.kind == "take":
            slots = i.args[0].slots(*i.shape)
            slots = slots if reached.all() else slots[reached]
            maker = makers[starts[max(bisect_right(starts, int(slots.min())) - 1, 0)]]
            _mark_common(sure, maker, slots)
        elif i.kind == "mm" or reached.all():
            for which, area in enumerate(i.areas[:-1]):
                if i.op != "where" or not which:
                    sure.set(area)
        else:
            for which, (ref, rows, terms) in enumerate(spaces[:-1]):
                if i.op != "where" or not which:
                    sure.array[ref.slots(rows, terms)[reached]] = True
    return sure


def _mark_common(sure: Flags, maker: Instruction, slots: Table) -> None:
    """Flag what all the slots in a row are made of, if one instruction makes them all."""
    first, last = maker.areas[-1].first, maker.areas[-1].last
    if maker.kind != "map" or slots.min() < first or slots.max() > last or maker.op == "where":
        return
    for ref in maker.args:
        operands = ref.slots(maker.shape[0])[slots - first, 0]
        same = (operands == operands[:, :1]).all(axis=1)
        sure.array[operands[same, 0]] = True
