"""Programs on NumPy arrays: the executable specification, always there.

`prepare(program)` works out once where every operand lies; `.run(values)` then executes all
instructions in an array of shape (size,), or (size, lanes) for many rows at once. The native
machine has the same methods and the same results, sums apart: NumPy adds long ones in pairs. In an
array of float32, each instruction computes in float64 and rounds what it writes; the native machine
may round more often on the way. Start at `_RUNNERS`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...codegen.elementwise import MAPS
from ...maths.arrays import ArrayMath
from ..ir.kinds import KINDS
from ..ir.program import NOT_FINITE, Instruction, Update
from ..ir.refs import Ref

__all__ = [
    "Batch",
    "Commit",
    "Failed",
    "Guards",
    "Inputs",
    "Prepared",
    "available",
    "fresh",
    "missing",
    "prepare",
    "words",
]

words, missing = "NumPy", "NumPy is always there."

Array = np.ndarray[Any, np.dtype[Any]]

_MATH = ArrayMath(np)
_IN_TURN = 64  # up to so many terms, a loop over them is quicker than `accumulate`
_FEW = 40  # up to so many parameters, a loop over them is quicker than arrays
_BLOCK, _PIECE = 4096, 2**24  # rows of a batch that are run at once, and numbers, if not one row
_SINGLE = 4  # bytes of a number in float32


# ---- what a step does besides running ------------------------------------------------------------


class Guards:
    """Numbers that the trace relied on: each slot must hold its number again, nan included."""

    def __init__(self, pairs: Iterable[tuple[int, float]] = ()) -> None:
        listed = list(pairs)
        self.slots = np.array([slot for slot, _ in listed], dtype=np.int64)
        self.numbers = np.array([number for _, number in listed], dtype=np.float64)

    def failed(self, values: Array) -> tuple[int, int] | None:
        """Find the first guard that fails, and in which lane (0 where there are none)."""
        found = values[self.slots].astype(np.float64, copy=False).reshape(len(self.slots), -1)
        wanted = self.numbers[:, None]
        same = found.view(np.int64) == np.ascontiguousarray(wanted).view(np.int64)
        bad = ~(same | (np.isnan(found) & np.isnan(wanted)))
        if not bad.any():
            return None
        guard = int(np.argmax(bad.any(axis=1)))
        return guard, int(np.argmax(bad[guard]))


Inputs: TypeAlias = "Sequence[tuple[int, Any]]"  # pairs (slot, numbers)
Failed: TypeAlias = "tuple[int, int] | None"  # (guard, row), or NOT_FINITE for the guard


class Batch(NamedTuple):
    """Rows of data to run a program for.

    Columns are pairs (slot, array): an array of shape (size,) goes to that slot, one of shape
    (size, width) to that slot and those after it. Outputs, of the same two shapes, are filled in.
    All are float64, or with `single` float32: then so are the numbers of the program.
    """

    size: int
    columns: Sequence[tuple[int, Array]]
    outputs: Sequence[tuple[int, Array]] = ()
    sums: Sequence[int] | Array = ()  # slots whose totals over all rows are wanted
    guards: Guards | None = None
    threads: int | None = None
    progress: Callable[[int], None] | None = None  # called with the number of rows that are done
    single: bool = False


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


def _cells(i: Instruction) -> list[_Cells]:
    """The operands and at last the result, of as many dimensions as their kind says."""
    kind = KINDS[i.kind]
    sizes: tuple[Any, ...] = (*i.shape, None, prod(i.shape[:2]))
    places = (*kind.places[: len(i.args)], kind.out)
    refs = (*i.args, i.out)
    return [_Cells(ref, sizes[r], sizes[t]) for ref, (r, t) in zip(refs, places, strict=True)]


# ---- instructions --------------------------------------------------------------------------------


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


def _product(i: Instruction, a: Array, b: Array, start: Array | None = None) -> Array:
    table: Array = a @ b.T if a.ndim == 2 else np.einsum("ikl,jkl->ijl", a, b)
    new = table.reshape(-1, *table.shape[2:])
    return new if start is None else start + new


def _largest(i: Instruction, a: Array) -> Array:
    # A nan is never greater, so it counts only where the search starts.
    first = np.isnan(a[:, :1])
    found = np.where(np.isnan(a) & ~first, -np.inf, a)
    found = np.where(first, found[:, :1], found)
    places = found.argmax(axis=1)
    return places if i.kind == "argmax" else _chosen(found, places)


def _chosen(table: Array, places: Array) -> Array:
    found: Array = np.take_along_axis(table, places[:, None], axis=1)[:, 0]
    return found


def _places(i: Instruction, index: Array) -> Array:
    """Turn an index that a program computed into whole numbers from 0 to terms - 1."""
    terms = i.shape[1]
    whole = (index >= -terms) & (index < terms) & (index == np.floor(index))
    if not whole.all():
        raise IndexError(f"{i.kind}: index {float(index[~whole][0]):g} of {terms} rows")
    found = index.astype(np.int64)
    places: Array = np.where(found < 0, found + terms, found)
    return places


def _scatter(slots: Array, values: Array, new: tuple[Array, Array]) -> None:
    """Add a number to one slot of each row, by its place there."""
    places, numbers = new
    if values.ndim == 1:
        np.add.at(values, _chosen(slots, places), numbers)
    else:
        lanes = np.arange(values.shape[1])
        np.add.at(values, (_chosen(slots[..., None], places), lanes), numbers)


# What an instruction computes from the numbers of its operands, of shape (rows,) or (rows, terms)
# and with lanes behind that where there are any; `put`: where the numbers go, and the numbers.
_RUNNERS: dict[str, Callable[..., Any]] = {
    "map": lambda i, *xs: MAPS[i.op].value(_MATH, *xs),
    "sum": lambda i, a, start=None: _total(a, start),
    "dot": lambda i, a, b, start=None: _total(a * b, start),
    "mm": _product,
    "max": _largest,
    "argmax": _largest,
    "take": lambda i, a, index: _chosen(a, _places(i, index)),
    "fill": lambda i: i.number,
    "vjp": lambda i, g, y, *xs: g * MAPS[i.op].partials[i.which](_MATH, y, *xs),
    "add": lambda i, a: a,
    "muladd": lambda i, a, b: a * b,
    "mmadd": _product,
    "put": lambda i, a, index: (_places(i, index), a),
    "get": lambda i, a, index: _chosen(a, _places(i, index)),
}


def _prepared(i: Instruction) -> Callable[[Array], None]:
    """Work out where the operands lie; return what runs the instruction."""
    *args, out = _cells(i)
    run: Callable[..., Any] = _RUNNERS[i.kind]
    write = out.add if i.adds else out.write
    if i.kind == "put":
        write = partial(_scatter, i.out.slots(*i.shape))

    def runner(values: Array) -> None:
        operands = [arg.read(values) for arg in args]
        if values.itemsize == _SINGLE:
            operands = [operand.astype(np.float64) for operand in operands]
        write(values, run(i, *operands))

    return runner


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
        self._runners = list(map(_prepared, program.instructions))
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
        self, values: Array, inputs: Inputs, guards: Guards | None, commit: Commit | None = None
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

    def batch(self, values: Array, rows: Batch) -> tuple[Array, Failed]:
        """Run rows of data, many at once."""
        chosen = np.asarray(rows.sums, dtype=np.int64)
        totals, found = np.zeros(len(chosen)), None
        together = max(1, min(_BLOCK, _PIECE // max(1, self.program.size)))
        for start in range(0, rows.size, together):
            stop = min(start + together, rows.size)
            with np.errstate(over="ignore"):
                column = values[:, None].astype(np.float32 if rows.single else np.float64)
            block = np.repeat(column, stop - start, axis=1)
            for slot, column in rows.columns:
                part = column[start:stop].reshape(stop - start, -1)
                block[slot : slot + part.shape[1]] = part.T
            self.run(block)
            failed = rows.guards.failed(block) if rows.guards is not None else None
            if failed is not None:
                return totals, (failed[0], start + failed[1])
            if found is not None or not self._is_finite(block):
                found = NOT_FINITE, start  # the guards of all other rows are looked at all the same
                continue
            for slot, column in rows.outputs:
                part = column[start:stop]
                width = 1 if column.ndim == 1 else column.shape[1]
                part[...] = block[slot : slot + width].T.reshape(part.shape)
            with np.errstate(all="ignore"):
                totals += block[chosen].sum(axis=1, dtype=np.float64)
            if rows.progress is not None:
                rows.progress(stop)
        return totals, found


def available() -> bool:
    """Tell that it can run: without NumPy nobody comes here."""
    return True


prepare = Prepared
