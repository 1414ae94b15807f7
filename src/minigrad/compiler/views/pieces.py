"""The arrays that stand for the slots of a program: inputs in pieces, constants, results."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...errors import TraceError
from ..ir.program import Instruction, Program
from ..ir.refs import Flags, Ref, distinct
from .plan import Leaf, Table

FEW = 8  # up to so many elements that are together by chance, each becomes an array of its own
MOST_INSTRUCTIONS = 4_000  # XLA takes some milliseconds for each
MOST_GATHERED = 500  # arrays to gather from: seconds of compiling grow faster than they do


def irregular(why: str) -> str:
    """Say that a program is not for array libraries."""
    return (
        f"this program is irregular: {why}, and XLA would need minutes to compile it. Run it on "
        "the native machine (backend='native'), over many rows with minigrad.vmap."
    )


def refuse_irregular(program: Program) -> None:
    """Refuse what would become thousands of gathers, at a glance."""
    count = len(program.instructions)
    if count > MOST_INSTRUCTIONS:
        raise TraceError(irregular(f"it has {count:,} instructions"))
    starts = np.array([i.areas[-1].first for i in program.instructions], dtype=np.int64)
    gathered = 0
    for i in program.instructions:
        for ref, rows, terms in i.spaces()[:-1]:
            if ref.rows is None and ref.cells is None:
                continue
            found = distinct(np.searchsorted(starts, ref.slots(rows, terms).ravel(), "right"))
            gathered += len(found) if len(found) > 2 else 0
            if gathered > MOST_GATHERED:
                raise TraceError(
                    irregular(f"its operands are gathered from more than {MOST_GATHERED} arrays")
                )


def taken_apart(program: Program) -> Program:
    """Make single elements of what is one instruction by chance.

    Grouping joins, say, two products of a formula for one option; arrays of two elements would only
    keep XLA from fusing the formula.
    """
    found: list[Instruction] = []
    alone = Flags(program.size)  # slots that are arrays of their own, or may become such
    alone.array[: program.inputs] = True
    for i in program.instructions:
        n = i.shape[0]
        refs = (
            [ref.listed(n) for ref in (*i.args, i.out)] if i.kind == "map" and 1 < n <= FEW else []
        )
        if not any(_is_loose(slots, alone) for slots in refs[:-1]):
            found.append(i)
            continue
        for row in sorted(range(n), key=refs[-1].__getitem__):
            *args, out = [Ref(slots[row]) for slots in refs]
            found.append(replace(i, shape=(1,), args=tuple(args), out=out))
            alone.array[out.base] = True
    return replace(program, instructions=tuple(found))


def _is_loose(slots: list[int], alone: Flags) -> bool:
    """Whether a few elements come from here and there."""
    strides = {b - a for a, b in pairwise(slots)}
    if strides == {0}:
        return False
    return strides != {1} or (len(slots) <= 2 and all(alone.array[slot] for slot in slots))


def is_unrolled(i: Instruction) -> bool:
    """Whether a sum has so few terms that each is an array of its own."""
    return i.kind in ("sum", "dot") and i.shape[0] == 1 and i.shape[1] <= FEW


def read_spaces(i: Instruction) -> list[tuple[Ref, int, int]]:
    """List operands as they are read: those of an unrolled sum element by element."""
    spaces = i.spaces()[:-1]
    if not is_unrolled(i):
        return spaces
    return [(Ref(slot), 1, 1) for ref, _, terms in spaces for slot in ref.listed(1, terms)]


class Pieces:
    """Where the arrays begin and end that stand for the slots."""

    def __init__(self, program: Program) -> None:
        self.program = program
        first = program.inputs
        self.constants = (first, first + len(program.constants))
        cuts = _input_cuts(program)
        numbers, indices = _uses(program)
        self.leaves = [
            Leaf(a, b, bool(indices[a:b].any() and not numbers[a:b].any()))
            for a, b in zip(cuts, [*cuts, first][1:], strict=True)
        ]
        self.parameters = bisect_right(cuts, program.parameters - 1)  # leaves that are captured
        self.starts = [*cuts, *([first] if len(program.constants) else [])]
        self.first_result = len(self.starts)
        self.starts += [i.areas[-1].first for i in program.instructions]
        self.ends = [*self.starts, program.size][1:]
        self.index = np.array(self.starts, dtype=np.int64)
        for i, start, end in zip(
            program.instructions,
            self.starts[self.first_result :],
            self.ends[self.first_result :],
            strict=True,
        ):
            area = i.areas[-1]
            if area.slots is not None or (area.first, area.last) != (start, end - 1):
                raise ValueError(f"plan(program): results of {i.kind} are not a range in order.")

    def at(self, slot: int) -> int:
        """The piece that a slot lies in."""
        return bisect_right(self.starts, slot) - 1

    def length(self, at: int) -> int:
        return self.ends[at] - self.starts[at]

    def is_constant(self, slots: Table) -> Table:
        low, high = self.constants
        found: Table = (slots >= low) & (slots < high)
        return found

    def known(self, slots: Table, constant: Table) -> Table:
        """The numbers of slots that are constants, 0 for others."""
        if not len(self.program.constants):
            return np.zeros(slots.shape)
        numbers = self.program.constants[np.where(constant, slots - self.constants[0], 0)]
        return np.where(constant, numbers, 0.0)


def _input_cuts(program: Program) -> list[int]:
    """Cut the inputs where no operand reaches across, and between captured and given ones."""
    count = program.inputs
    joined = np.zeros(count + 1, dtype=bool)  # slot s belongs to the leaf of slot s - 1
    used = np.zeros(count + 1, dtype=bool)
    for i in program.instructions:
        for ref, rows, terms in read_spaces(i):
            area = ref.area(rows, terms)
            first, last = area.first, area.last
            if first >= count:
                continue
            if last >= count:
                slots = ref.slots(rows, terms)
                last = int(slots[slots < count].max())
            joined[first + 1 : last + 1] = True
            used[first : last + 1] = True
    joined[1:] |= ~used[1:] & ~used[:-1]  # what nobody reads is one leaf
    joined[0] = joined[program.parameters] = False
    return [int(at) for at in np.flatnonzero(~joined[:count])]


def _uses(program: Program) -> tuple[Table, Table]:
    """Flag the inputs that are read as numbers, and those that are read as indices."""
    numbers, indices = Flags(program.size), Flags(program.size)
    for i in program.instructions:
        for which, area in enumerate(i.areas[:-1]):
            (indices if i.kind == "take" and which == 1 else numbers).set(area)
    for slot in (*program.results, *(guard.at for guard in program.guards)):
        numbers.array[slot] = True
    return numbers.array, indices.array
