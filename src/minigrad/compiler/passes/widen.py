"""A program for one row becomes a program for a block of rows: `vmap` on programs.

What differs from row to row, an argument and all that depends on it, gets a copy for each row, side
by side. What does not, weights and all that is computed from them alone, stays as it is. So a dot
of numbers that differ with numbers that do not becomes a row of a matrix product:

    one row        h = dot  128×784        weights  x[128·0, 784·1]
    32 rows        h = mm   32×128×784     x        weights

The result is followed by a weighted sum over the rows, whose gradient is what everybody wants: for
an argument that differs a row of derivatives each, for what serves all rows the sum of them.

    inputs      what the function closes over | its arguments, with as many copies as there are rows
                of those that differ | a weight for each row | (`carries`) a gradient to go on from
    results     the weighted sum of the first result | each result, row after row
    guards      those of the first row, then those of the second …
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np

from ..ir.instructions import Instruction, listing, parts_of
from ..ir.kinds import KINDS
from ..ir.program import Builder, Program
from ..ir.refs import Flags, Ref, Slots, ref_of, runs
from .matrices import Ints, by_key, interned

_PRODUCT = 16  # multiplications of a row from which on they are a matrix product of their own
_APART = 2048  # and from which on a product without weights is one instruction for each row


@dataclass(frozen=True)
class Rows:
    """A block of rows, and in which arguments they differ."""

    count: int
    arguments: tuple[tuple[int, bool], ...]  # numbers of each, and whether rows differ in them
    carries: bool = False  # gradients go on from those of the blocks before

    def starts(self, parameters: int) -> list[int]:
        """The slot of each argument, then that of the weights, then that of a gradient before."""
        found = [parameters]
        for width, differs in self.arguments:
            found.append(found[-1] + width * (self.count if differs else 1))
        return [*found, found[-1] + self.count]

    def inputs(self, parameters: int) -> int:
        """How many inputs the program of a block has."""
        return self.starts(parameters)[-1] + (parameters if self.carries else 0)

    def followed(self, parameters: int) -> range:
        """The inputs that derivatives are wanted by: all but weights and gradients before."""
        return range(self.starts(parameters)[-2])


class Weight(NamedTuple):
    """What a row costs."""

    own: int  # numbers that it has for itself
    products: int  # multiplications by numbers that serve all rows, in sums of products
    others: int  # all other operations on numbers of its own


def weigh(program: Program, arguments: tuple[tuple[int, bool], ...]) -> Weight:
    """Tell what a row costs that differs from others in some of the arguments."""
    differs = Flags(program.size)
    at = program.parameters
    for width, is_own in arguments:
        differs.array[at : at + width] = is_own
        at += width
    own = int(differs.array.sum())
    products = others = 0
    for i in program.instructions:
        *operands, out = i.areas
        if not any(map(differs.any, operands)):
            continue
        differs.set(out)
        own += out.rows * out.terms
        work = prod(i.shape)
        if i.kind in ("dot", "mm") and not all(map(differs.any, operands[:2])):
            products += work
        else:
            others += work
    return Weight(own, products, others)


def widen(program: Program, rows: Rows) -> Program:
    """Return the program of a block of rows."""
    here = _Widened(program, rows)
    for i in program.instructions:
        here.add(i)
    return here.program()


def carry(program: Program, rows: Rows) -> Program:
    """Have gradients by what the function closes over go on from those of the blocks before."""
    count = program.parameters
    if not rows.carries or not count:
        return program
    before = Ref(rows.starts(count)[-1], 1, 1)
    add = Instruction("add", (count, 1), Ref(program.adjoints, 1, 1), (before,))
    return replace(program, instructions=listing([*parts_of(program.instructions), add]))


def forget(program: Program, inputs: range) -> Program:
    """Leave derivatives by some inputs, which nobody asks for, out of the fills with zeros.

    There are as many as there are numbers in the data: clearing them costs as much as reading them.
    """
    first, end = program.adjoints + inputs.start, program.adjoints + inputs.stop
    used = Flags(program.size)
    for i in program.instructions:
        for area in i.areas if i.kind != "fill" else ():
            if area.first < end and area.last >= first:
                used.set(area)
    found: list[Instruction] = []
    for i in program.instructions:
        area = i.areas[-1]
        if i.kind != "fill" or area.slots is not None or area.last < first or area.first >= end:
            found.append(i)
            continue
        kept = np.ones(area.last + 1 - area.first, dtype=bool)
        part = slice(max(first, area.first), min(end, area.last + 1))
        kept[part.start - area.first : part.stop - area.first] = used.array[part]
        for start, stop in runs(area.first + np.flatnonzero(kept)):
            found.append(replace(i, shape=(stop - start,), out=Ref(start, 1, 1)))
    return replace(program, instructions=tuple(found))


class _Widened(Builder):
    """Writes the program of a block; `place` and `step` tell where the copies of a slot are."""

    def __init__(self, program: Program, rows: Rows) -> None:
        count = program.parameters
        self._old, self._rows = program, rows
        self.inputs = rows.inputs(count)
        super().__init__(self.inputs + len(program.constants))
        self.differs = np.zeros(program.size, dtype=bool)
        self.place: Ints = np.arange(program.size, dtype=np.int64)  # of the first copy
        self.step: Ints = np.zeros(program.size, dtype=np.int64)  # from one copy to the next
        at = count
        for (width, differs), start in zip(rows.arguments, rows.starts(count), strict=False):
            slots = slice(at, at + width)
            self.place[slots] = np.arange(start, start + width)
            if differs:
                self.differs[slots], self.step[slots] = True, width
            at += width
        if at != program.inputs:
            raise ValueError(f"widen: {program.inputs} inputs, and arguments for {at}.")
        self.place[at : at + len(program.constants)] += self.inputs - at

    def program(self) -> Program:
        """Return what was written, with the weighted sum behind it."""
        old, count = self._old, self._rows.count
        results = [self.copies(np.array([[slot]])) for slot in old.results]
        ends: list[int] = []
        if results:
            total, weights = self.allocate(1), self._rows.starts(old.parameters)[-2]
            terms = Ref(weights, term_stride=1), ref_of(results[0].reshape(1, count))
            self.emit("dot", (1, count), total, *terms)
            ends = [total.base, *np.concatenate(results).ravel().tolist()]
        guards = [
            replace(guard, at=int(self.place[guard.at] + row * self.step[guard.at]))
            for row in range(count)
            for guard in old.guards
            if not row or self.differs[guard.at]
        ]
        return replace(
            old,
            size=self.size,
            inputs=self.inputs,
            instructions=listing(self.instructions),
            results=tuple(ends),
            guards=tuple(guards),
        )

    def add(self, i: Instruction) -> None:
        """Write an instruction for all rows."""
        kind = KINDS[i.kind]
        if kind.adds:
            raise ValueError(f"widen: {i.kind} adds to slots; widen a program before its gradient.")
        *args, out = [ref.slots(rows, terms) for ref, rows, terms in i.spaces()]
        if i.kind == "mm":
            self._product(i, args, out.ravel())
            return
        differs = np.zeros(len(out), dtype=bool)
        for table in args:
            differs |= self.differs[table].any(axis=1)
        for chosen, write in (
            (~differs, self._once),
            (differs, self._dots if i.kind == "dot" else self._each),
        ):
            if chosen.all():
                write(i, args, out.ravel())
            elif chosen.any():
                write(i, [table[chosen] for table in args], out[chosen].ravel())

    # ---- where things lie -----------------------------------------------------------------------

    def copies(self, table: Slots) -> Slots:
        """The slots of all copies of a table, row after row of the block."""
        rows = np.arange(self._rows.count, dtype=np.int64)[:, None, None]
        found: Slots = self.place[table] + rows * self.step[table]
        return found.reshape(-1, table.shape[1])

    def _made(self, out: Slots, differs: bool) -> Ref:
        """Allocate slots for a result, in this order, and once more for each row if it differs."""
        size = len(out)
        found = self.allocate(size * self._rows.count if differs else size)
        self.place[out] = np.arange(found.base, found.base + size)
        if differs:
            self.differs[out], self.step[out] = True, size
        return found

    # ---- instructions ---------------------------------------------------------------------------

    def _once(self, i: Instruction, args: list[Slots], out: Slots) -> None:
        """Serve all rows."""
        refs = tuple([ref_of(self.place[table]) for table in args])
        shape = (len(out), *i.shape[1:]) if i.kind != "mm" else i.shape
        self._write(replace(i, shape=shape, args=refs, out=self._made(out, differs=False)))

    def _each(self, i: Instruction, args: list[Slots], out: Slots) -> None:
        """Have as many rows of the instruction for each row of the block."""
        refs = tuple([ref_of(self.copies(table)) for table in args])
        shape = (len(out) * self._rows.count, *i.shape[1:])
        self._write(replace(i, shape=shape, args=refs, out=self._made(out, differs=True)))

    def _write(self, i: Instruction) -> None:
        self.instructions.append(i)

    def _dots(self, i: Instruction, args: list[Slots], out: Slots) -> None:
        """Dots with factors that serve all rows become matrix products; others stay dots."""
        a, b, *start = args
        swap = self.differs[b] & ~self.differs[a]
        own, shared = np.where(swap, b, a), np.where(swap, a, b)
        is_plain = (self.differs[own] & self.differs[shared]).any(axis=1)
        rest = np.flatnonzero(is_plain)
        members = np.flatnonzero(~is_plain)
        if len(members):
            # Dots that have one of their factors in common are the rows of one product.
            by_own, by_shared = (interned(table[members])[1] for table in (own, shared))
            many_columns = by_own.max() <= by_shared.max()
            for _, chosen in by_key(by_own if many_columns else by_shared):
                at = members[chosen]
                if len(at) * own.shape[1] < _PRODUCT:
                    rest = np.concatenate([rest, at])
                    continue
                left = self.copies(own[at[:1] if many_columns else at])
                right = self.place[shared[at if many_columns else at[:1]]]
                begin = [self.copies(table[at]) for table in start]
                self._emit_product(left, right, begin, self._made(out[at], differs=True))
        if len(rest):
            rest.sort()
            plain = replace(i, kind="dot", shape=(len(rest), own.shape[1]))
            self._each(plain, [table[rest] for table in (own, shared, *start)], out[rest])

    def _emit_product(self, left: Slots, right: Slots, start: list[Slots], out: Ref) -> None:
        shape = len(left), len(right), left.shape[1]
        self.emit("mm", shape, out, *[ref_of(table) for table in (left, right, *start)])

    def _product(self, i: Instruction, args: list[Slots], out: Slots) -> None:
        """A matrix product of an example."""
        m, n, k = i.shape
        a, b, *start = args
        left, right = (bool(self.differs[table].any()) for table in (a, b))
        if not left and not right and not any(self.differs[table].any() for table in start):
            self._once(i, args, out)
        elif left and not right:
            begin = [self.copies(table) for table in start]
            made = self._made(out, differs=True)
            self._emit_product(self.copies(a), self.place[b], begin, made)
        elif right and not left:  # transposed: what differs is on the left
            begin = [self.copies(table.reshape(m, n).T.reshape(-1, 1)) for table in start]
            made = self._made(out.reshape(m, n).T.ravel(), differs=True)
            self._emit_product(self.copies(b), self.place[a], begin, made)
        elif left and m * n * k >= _APART:
            self._apart(i, args, out)
        else:
            spelled = [np.repeat(a, n, axis=0), np.tile(b, (m, 1)), *start]
            self._dots(replace(i, kind="dot", shape=(m * n, k)), spelled, out)

    def _apart(self, i: Instruction, args: list[Slots], out: Slots) -> None:
        """A product for each row of the block."""
        made, size = self._made(out, differs=True), len(out)
        for row in range(self._rows.count):
            refs = [ref_of(self.place[table] + row * self.step[table]) for table in args]
            self.emit("mm", i.shape, Ref(made.base + row * size, size, 0, 1), *refs)
