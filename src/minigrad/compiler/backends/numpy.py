"""Programs on NumPy arrays: the executable specification, always there.

`prepare(program)` works out once where every operand lies; `.run(values)` then executes all
instructions in an array of shape (size,), or (size, lanes) for many rows at once. The native
machine has the same methods and the same results, sums apart: NumPy adds long ones in pairs.
Start at `_RUNNERS`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...codegen.elementwise import MAPS
from ...maths.arrays import ArrayMath
from ..ir.kinds import KINDS
from ..ir.program import NOT_FINITE, Instruction, Update
from ..ir.refs import Ref

__all__ = ["Commit", "Guards", "Prepared", "available", "fresh", "missing", "prepare", "words"]

words, missing = "NumPy", "NumPy is always there."

Array = np.ndarray[Any, np.dtype[Any]]
Runner = Callable[[Array], None]

_MATH = ArrayMath(np)
_IN_TURN = 64  # up to so many terms, a loop over them is quicker than `accumulate`
_FEW = 40  # up to so many parameters, a loop over them is quicker than arrays
_BLOCK = 4096  # rows of a batch that are run at once


# ---- what a step does besides running ------------------------------------------------------------


class Guards:
    """Numbers that the trace relied on: each slot must hold its number again, nan included."""

    def __init__(self, pairs: Iterable[tuple[int, float]] = ()) -> None:
        listed = list(pairs)
        self.slots = np.array([slot for slot, _ in listed], dtype=np.int64)
        self.numbers = np.array([number for _, number in listed], dtype=np.float64)

    def failed(self, values: Array) -> tuple[int, int] | None:
        """Find the first guard that fails, and in which lane (0 where there are none)."""
        found = values[self.slots].reshape(len(self.slots), -1)
        wanted = self.numbers[:, None]
        same = found.view(np.int64) == np.ascontiguousarray(wanted).view(np.int64)
        bad = ~(same | (np.isnan(found) & np.isnan(wanted)))
        if not bad.any():
            return None
        guard = int(np.argmax(bad.any(axis=1)))
        return guard, int(np.argmax(bad[guard]))


class Commit:
    """Takes an optimiser's steps as a program's `update` says; has its state, and counts them.

    An exception may come between any two lines of Python: Ctrl-C does. So a step is either taken
    entirely, its count included, or not at all. The native machine takes it in one call. Here all
    new numbers are first written down in one place: from then on the step is taken, and whoever
    comes next calls `finish` and has them written where they belong, if need be again.
    """

    def __init__(self, update: Update) -> None:
        self.update = update
        self.state: tuple[Any, ...] = ()  # float64, `update.count` of each: kept up to date
        self.settings: tuple[float, ...] = ()
        self.clock = array("q", [0])
        self._noted: tuple[Any, ...] | None = None

    @property
    def steps(self) -> int:
        """The steps that it has taken."""
        return self.clock[0]

    @steps.setter
    def steps(self, count: int) -> None:
        self.clock[0] = count

    def apply(self, values: Array) -> None:
        """Take a step."""
        self._noted = (self.steps + 1, *self._moved(values))
        self.finish(values)

    def _moved(self, values: Array) -> list[Any]:
        formula, count, grads = self.update.formula, self.update.count, self.update.grads
        columns = (values[:count], values[grads : grads + count], *map(np.asarray, self.state))
        if len(columns) != formula.columns or {len(column) for column in columns} != {count}:
            raise ValueError("the state of the optimiser has another shape.")
        if count < _FEW:
            copies = [array("d", column.tobytes()) for column in columns]
            formula.apply(copies, self.settings)
            return [copies[0], *copies[2:]]
        with np.errstate(all="ignore"):
            moved = formula.moved(_MATH, columns, self.settings)
        return [np.broadcast_to(new, (count,)) for new in moved]

    def finish(self, values: Array) -> None:
        """Write down what a step has found; a second time, where the first was interrupted."""
        if self._noted is None:
            return
        steps, new, *state = self._noted
        values[: self.update.count] = new
        for kept, numbers in zip(self.state, state, strict=True):
            memoryview(kept)[:] = numbers  # NumPy, short of memory, may write into a copy
        self.steps = steps
        self._noted = None


# ---- operands ------------------------------------------------------------------------------------


class _Cells:
    """The slots of an operand, and how to reach them: by a slice where they follow each other."""

    def __init__(self, ref: Ref, rows: int, terms: int | None = None) -> None:
        self.shape: tuple[int, ...] = (rows,) if terms is None else (rows, terms)
        area = ref.area(rows, terms or 1)
        self.once = area.once
        self.at: Any
        if ref.is_range(rows, terms or 1):
            self.at = slice(area.first, area.last + 1)
        elif area.slots is not None:
            self.at = np.array(area.slots)
        else:
            self.at = ref.slots(rows, terms or 1).reshape(-1)

    def read(self, values: Array) -> Array:
        found: Array = values[self.at]
        return found.reshape(self.shape + values.shape[1:])

    def write(self, values: Array, new: Any) -> None:
        values[self.at] = self._flat(values, new)

    def add(self, values: Array, new: Any) -> None:
        if self.once:
            values[self.at] += self._flat(values, new)
        else:
            np.add.at(values, self.at, self._flat(values, new))

    def _flat(self, values: Array, new: Any) -> Array:
        full: Array = np.broadcast_to(new, self.shape + values.shape[1:])
        return full.reshape((-1, *values.shape[1:]))


def _places(kind: str, index: Array, terms: int) -> Array:
    """Turn an index that a program computed into whole numbers from 0 to terms - 1."""
    whole = (index >= -terms) & (index < terms) & (index == np.floor(index))
    if not whole.all():
        bad = float(index[~whole][0])
        raise IndexError(f"{kind}: index {bad:g} of {terms} rows")
    found = index.astype(np.int64)
    places: Array = np.where(found < 0, found + terms, found)
    return places


# ---- instructions --------------------------------------------------------------------------------


def _map(i: Instruction) -> Runner:
    rule = MAPS[i.op].value
    out, args = _Cells(i.out, i.shape[0]), [_Cells(arg, i.shape[0]) for arg in i.args]

    def run(values: Array) -> None:
        out.write(values, rule(_MATH, *[arg.read(values) for arg in args]))

    return run


def _vjp(i: Instruction) -> Runner:
    op, which = MAPS[i.op], i.which
    args = [_Cells(arg, i.shape[0]) for arg in i.args]
    put = _way_out(i, _Cells(i.out, i.shape[0]))

    def run(values: Array) -> None:
        g, y, *xs = [arg.read(values) for arg in args]
        put(values, g * op.partials[which](_MATH, y, *xs))

    return run


def _way_out(i: Instruction, out: _Cells) -> Callable[[Array, Any], None]:
    return out.add if i.adds else out.write


def _fill(i: Instruction) -> Runner:
    out = _Cells(i.out, i.shape[0])
    return lambda values: out.write(values, i.number)


def _total(terms: Array, start: Array | None) -> Array:
    """Add up axis 1, term after term, as the eager engine does."""
    total: Array = terms[:, 0].copy() if start is None else start + terms[:, 0]
    if terms.shape[1] > _IN_TURN:
        terms = terms.copy()
        terms[:, 0] = total
        last: Array = np.add.accumulate(terms, axis=1)[:, -1]
        return last
    for k in range(1, terms.shape[1]):
        total += terms[:, k]
    return total


def _reduction(i: Instruction) -> Runner:
    rows, terms = i.shape
    factors = KINDS[i.kind].args
    out = _Cells(i.out, rows)
    args = [_Cells(arg, rows, terms) for arg in i.args[:factors]]
    start = [_Cells(arg, rows) for arg in i.args[factors:]]

    def run(values: Array) -> None:
        found = args[0].read(values)
        if factors == 2:
            found = found * args[1].read(values)
        out.write(values, _total(found, start[0].read(values) if start else None))

    return run


def _matrix(i: Instruction) -> Runner:
    m, n, terms = i.shape
    a, b = _Cells(i.args[0], m, terms), _Cells(i.args[1], n, terms)
    start = [_Cells(arg, m * n) for arg in i.args[2:]]
    put = _way_out(i, _Cells(i.out, m * n))

    def run(values: Array) -> None:
        left, right = a.read(values), b.read(values)
        if values.ndim == 1:
            new = (left @ right.T).reshape(m * n)
        else:
            new = np.einsum("ikl,jkl->ijl", left, right).reshape(m * n, -1)
        put(values, start[0].read(values) + new if start else new)

    return run


def _largest(i: Instruction) -> Runner:
    rows, terms = i.shape
    out, a = _Cells(i.out, rows), _Cells(i.args[0], rows, terms)

    def run(values: Array) -> None:
        found = a.read(values)
        # A nan is never greater, so it counts only where the search starts.
        first = np.isnan(found[:, :1])
        found = np.where(np.isnan(found) & ~first, -np.inf, found)
        found = np.where(first, found[:, :1], found)
        places = found.argmax(axis=1)
        largest = np.take_along_axis(found, places[:, None], axis=1)[:, 0]
        out.write(values, places if i.kind == "argmax" else largest)

    return run


def _accumulation(i: Instruction) -> Runner:
    rows, terms = i.shape
    args = [_Cells(arg, rows, terms) for arg in i.args]
    put = _way_out(i, _Cells(i.out, rows, terms))
    if len(args) == 1:
        return lambda values: put(values, args[0].read(values))
    return lambda values: put(values, args[0].read(values) * args[1].read(values))


def _taken(i: Instruction) -> Runner:
    rows, terms = i.shape
    a, index = _Cells(i.args[0], rows, terms), _Cells(i.args[1], rows)
    put = _way_out(i, _Cells(i.out, rows))

    def run(values: Array) -> None:
        places = _places(i.kind, index.read(values), terms)
        put(values, np.take_along_axis(a.read(values), places[:, None], axis=1)[:, 0])

    return run


def _put(i: Instruction) -> Runner:
    rows, terms = i.shape
    slots = i.out.slots(rows, terms)
    a, index = _Cells(i.args[0], rows), _Cells(i.args[1], rows)

    def run(values: Array) -> None:
        places = _places("put", index.read(values), terms)
        if values.ndim == 1:
            np.add.at(values, slots[np.arange(rows), places], a.read(values))
        else:
            lanes = np.arange(values.shape[1])
            chosen = slots[np.arange(rows)[:, None], places]
            np.add.at(values, (chosen, lanes), a.read(values))

    return run


_RUNNERS: dict[str, Callable[[Instruction], Runner]] = {
    "map": _map,
    "sum": _reduction,
    "dot": _reduction,
    "mm": _matrix,
    "max": _largest,
    "argmax": _largest,
    "take": _taken,
    "fill": _fill,
    "vjp": _vjp,
    "add": _accumulation,
    "muladd": _accumulation,
    "mmadd": _matrix,
    "put": _put,
    "get": _taken,
}


# ---- programs ------------------------------------------------------------------------------------


def fresh(program: Any) -> Array:
    """Make the buffer of a program, with its constants in place, at the start of a cache line."""
    raw = np.zeros(program.size + 8)
    skip = (-raw.ctypes.data // 8) % 8
    values = raw[skip : skip + program.size]
    values[program.inputs : program.inputs + len(program.constants)] = program.constants
    return values


class Prepared:
    """A program, ready to run any number of times."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self._runners = [_RUNNERS[i.kind](i) for i in program.instructions]
        ranges = [np.arange(first, end) for first, end in program.finite]
        self._finite = np.concatenate([np.zeros(0, dtype=np.int64), *ranges])

    def values(self) -> Array:
        """Make a buffer to run in: inputs go to its first slots, results are in the others."""
        return fresh(self.program)

    def run(self, values: Array) -> None:
        """Execute all instructions, in values of shape (size,) or (size, lanes)."""
        with np.errstate(all="ignore"):
            for runner in self._runners:
                runner(values)

    def _is_finite(self, values: Array) -> bool:
        return bool(np.isfinite(values[self._finite]).all())

    def step(
        self,
        values: Array,
        inputs: Sequence[tuple[int, Any]] = (),
        guards: Guards | None = None,
        commit: Commit | None = None,
    ) -> int:
        """Do what `backends.Prepared` says, one after the other."""
        for slot, numbers in inputs:
            values[slot : slot + len(numbers)] = numbers
        self.run(values)
        failed = guards.failed(values) if guards is not None else None
        if failed is not None:
            return failed[0]
        if not self._is_finite(values):
            return NOT_FINITE
        if commit is not None:
            commit.apply(values)
        return -1

    def batch(
        self,
        values: Array,
        count: int,
        columns: Sequence[tuple[int, Array]],
        outputs: Sequence[tuple[int, Array]] = (),
        sums: Sequence[int] | Array = (),
        guards: Guards | None = None,
        threads: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[Array, tuple[int, int] | None]:
        """Run rows of data, many at once."""
        chosen = np.asarray(sums, dtype=np.int64)
        totals = np.zeros(len(chosen))
        for start in range(0, count, _BLOCK):
            stop = min(start + _BLOCK, count)
            block = np.repeat(values[:, None], stop - start, axis=1)
            for slot, column in columns:
                rows = column[start:stop].reshape(stop - start, -1)
                block[slot : slot + rows.shape[1]] = rows.T
            self.run(block)
            failed = guards.failed(block) if guards is not None else None
            if failed is not None:
                return totals, (failed[0], start + failed[1])
            if not self._is_finite(block):
                return totals, (NOT_FINITE, start)
            for slot, column in outputs:
                rows = column[start:stop]
                width = 1 if column.ndim == 1 else column.shape[1]
                rows[...] = block[slot : slot + width].T.reshape(rows.shape)
            with np.errstate(all="ignore"):
                totals += block[chosen].sum(axis=1)
            if progress is not None:
                progress(stop)
        return totals, None


def available() -> bool:
    """Tell that it can run: without NumPy nobody comes here."""
    return True


prepare = Prepared
