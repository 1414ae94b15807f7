"""Rows of data through a program: in lanes, or in blocks for which a program is made.

`Lanes` runs the program of one row for many at once, a number of each row side by side, in every
instruction. `Blocks` runs another program, which `passes/widen` has made for a block of rows: what
serves all rows, the weights of a model, is there once, and dots with it are matrix products. Blocks
are for functions that multiply by many such numbers, lanes for all others, and for what blocks
leave to them: rows that take another way, and numbers that are not finite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..core.writeback import flush_writebacks
from ..errors import GuardError
from ..scalar import Value
from .arguments.structure import Flat, flatten
from .backends.native import spread
from .backends.numpy import Batch
from .ir.program import NOT_FINITE, Program
from .machine import GuardFailed, Machine, NotFinite
from .passes.widen import Rows
from .reuse import empty
from .specialization import BY_ALL, FORWARD, Purpose, Specialization
from .tracing.proxies import EXACT, EXACT_F32, rewrite_of

Progress = Callable[[int], None] | None
_BLOCK = 2**18  # numbers that differ from row to row in a block: 4 MB with their gradients
_MOST, _LEAST = 1024, 4  # rows of a block
_FEWEST = 2  # rows for which a program is made
# Multiplications by what serves all rows that make blocks quicker than lanes: so many, so many for
# each number of a row, so many for each other operation. Measured on networks: at 2-8-1 and 4-8-2
# lanes win, at 100-1 it is a draw, at 2-16-16-1 and from there on blocks win.
_PRODUCTS, _REUSE, _SHARE = 128, 3, 0.25


class BatchGradients(tuple[Any, ...]):
    """Derivatives by each argument, a row each (a sum over rows for what serves all of them)."""

    parameters: tuple[Value, ...]
    totals: Any  # by what the function closes over, summed over the rows

    def __getitem__(self, key: Any) -> Any:
        """Return the derivatives by an argument, named by its place."""
        if isinstance(key, Value):
            raise TypeError(
                "grads[w]: derivatives of many rows go by places, grads[0] are those by the first "
                "argument. Those by the Values that the function closes over are grads.totals, in "
                "the order of grads.parameters."
            )
        return super().__getitem__(key)


# ---- arguments -----------------------------------------------------------------------------------


class Given:
    """The arguments of a call: arrays have a row for each row, all else serves all of them.

    With `single` the numbers of arrays are rounded to float32, before the function sees the first.
    """

    def __init__(self, args: tuple[Any, ...], name: str, single: bool = False) -> None:
        self.dtype: Any = np.float32 if single else np.float64
        self.single = single
        self.args = tuple([_rounded(arg) if single else _number(arg) for arg in args])
        self.count = _rows(self.args, name)
        self.first = tuple(map(_row, self.args))  # what the function gets for the first row
        self.arguments = tuple(
            [(_width(row), _differs(arg)) for arg, row in zip(self.args, self.first, strict=True)]
        )

    def table(self, at: int) -> Any:
        """The numbers of an argument that differs, a row for each row."""
        found = np.require(self.args[at], self.dtype, ["ALIGNED", "ENSUREARRAY"])
        return found.reshape(self.count, -1)

    def row(self, at: int) -> tuple[Any, ...]:
        """What the function gets for a row."""
        return tuple([_row(arg, at) if _differs(arg) else arg for arg in self.args])


def _number(arg: Any) -> Any:
    if not isinstance(arg, np.ndarray):
        return arg
    if hasattr(arg, "compressed"):  # masked; to import numpy.ma takes longer than a trace
        raise TypeError("vmap: got a masked array; give the rows that count, array.compressed().")
    return arg if arg.ndim else arg.item()


def _rounded(arg: Any) -> Any:
    """The same in float32; whole numbers, which a function may use as such, have to be there."""
    arg = _number(arg)
    if not isinstance(arg, np.ndarray):
        _refuse_beyond(max(map(abs, _wholes(arg)), default=0), EXACT_F32, "2**24", "float32")
        return arg
    if arg.dtype.kind in "iu":
        _refuse_beyond(_largest(arg), EXACT_F32, "2**24", "float32")
    if arg.dtype.kind != "f":
        return arg
    with np.errstate(over="ignore"):  # to inf
        return arg.astype(np.float32, copy=False)


def _wholes(arg: Any) -> Iterator[int]:
    """The whole numbers in what serves all rows."""
    if isinstance(arg, (int, np.integer)):
        yield int(arg)
    elif isinstance(arg, (list, tuple, dict)):
        for part in arg.values() if isinstance(arg, dict) else arg:
            yield from _wholes(part)


def _largest(arg: Any) -> int:
    return max(abs(int(arg.max())), abs(int(arg.min()))) if arg.size else 0


def _refuse_beyond(largest: int, exact: int, written: str, dtype: str) -> None:
    """Refuse whole numbers of which some differ and are the same in floating point."""
    if largest > exact:
        raise ValueError(
            f"vmap: got whole numbers beyond {written}, where not each has a {dtype} of its own. "
            "Give smaller ones, or floats."
        )


def _differs(arg: Any) -> bool:
    return isinstance(arg, np.ndarray)


def _width(row: Any) -> int:
    if isinstance(row, np.ndarray):
        return int(row.size)
    found = Flat()
    flatten(row, found)
    return len(found.numbers)


def _rows(args: tuple[Any, ...], name: str) -> int:
    lengths = {len(arg) for arg in args if _differs(arg)}
    if not lengths:
        raise TypeError(
            f"{name}: no argument is a NumPy array, so there are no rows; give np.array(…) for "
            "what differs from row to row."
        )
    if len(lengths) > 1:
        raise ValueError(
            f"{name}: arrays of {', '.join(map(str, sorted(lengths)))} rows; all must have as many."
        )
    count = lengths.pop()
    if not count:
        raise ValueError(f"{name}: the arrays have no rows.")
    return count


def _row(arg: Any, at: int = 0) -> Any:
    """What the function gets of an argument for one row."""
    if not isinstance(arg, np.ndarray):
        return arg
    if arg.dtype.kind not in "fiu":
        raise TypeError(f"vmap: got an array of {arg.dtype}; give numbers.")
    if arg.dtype.kind in "iu":
        _refuse_beyond(_largest(arg), EXACT, "2**53", "float64")
    return arg[at] if arg.ndim > 1 else arg[at].item()


# ---- what comes out ------------------------------------------------------------------------------


class _Columns:
    """The results of all rows, and where derivatives go."""

    def __init__(self, spec: Specialization, given: Given, with_grad: bool) -> None:
        self.spec, self.given, self.with_grad = spec, given, with_grad
        count, results = given.count, len(spec.program.results)
        widths = sum([width for width, differs in given.arguments if differs]) if with_grad else 0
        # One large piece of memory comes in large pages, which are cheaper.
        memory, used = empty(count * (results + widths), given.dtype), 0

        def table(width: int) -> Any:
            nonlocal used
            start, used = used, used + count * width
            return memory[start:used].reshape(count, width)

        self.outputs = [table(1)[:, 0] for _ in range(results)]
        # Derivatives by each argument: a table, or for what serves all rows a part of the totals.
        self.slopes: list[Any] = []
        self.length = spec.program.parameters  # of the totals
        for width, differs in given.arguments if with_grad else ():
            if differs:
                self.slopes.append(table(width))
            else:
                self.slopes.append(slice(self.length, self.length + width))
                self.length += width
        self.totals: Any = np.zeros(self.length if with_grad else 0, given.dtype)

    def results(self) -> Any:
        """Return what the function returns, with columns for results."""
        if self.slopes and len(self.outputs) == 1:
            return self.outputs[0]
        return self.spec.template.filled(lambda k: self.outputs[k])

    def gradients(self) -> BatchGradients:
        """Return the derivatives by each argument."""
        self._clear_wholes()
        shaped = []
        for arg, part in zip(self.given.args, self.slopes, strict=True):
            if isinstance(part, slice):
                numbers = self.totals[part]
                shaped.append(float(numbers[0]) if len(numbers) == 1 else numbers)
            else:
                shaped.append(part.reshape(arg.shape))
        gradients = BatchGradients(shaped)
        gradients.parameters = self.spec.captured
        gradients.totals = self.totals[: self.spec.program.parameters]
        return gradients

    def _clear_wholes(self) -> None:
        """Whole numbers used as such have no derivatives."""
        start = 0
        for (width, _), part in zip(self.given.arguments, self.slopes, strict=True):
            for at in self.spec.wholes:
                if not start <= at < start + width:
                    continue
                if isinstance(part, slice):
                    self.totals[part.start + at - start] = 0.0
                else:
                    part[:, at - start] = 0.0
            start += width


class Lanes(_Columns):
    """A run of the program of one row, many rows side by side."""

    def run(self, name: str, flat: Flat, threads: int | None, progress: Progress) -> None:
        """Run; a guard that fails at the first row means another way for all of them."""
        machine = self.spec.machine(BY_ALL if self.with_grad else FORWARD)
        program, values, given = machine.program, machine.values, self.given
        if given.single:
            _refuse_too_large(program.constants, name)
        at = program.parameters
        columns, read = [], list(zip(program.results, self.outputs, strict=True))
        sums: list[int] = []
        if self.with_grad:
            sums += range(program.adjoints, program.adjoints + at)
        for k, (width, differs) in enumerate(given.arguments):
            slope = program.adjoints + at
            if differs:
                table = given.table(k)
                columns.append((at, table if given.args[k].ndim > 1 else table[:, 0]))
            if self.with_grad and differs:
                read.append((slope, self.slopes[k]))
            elif self.with_grad:
                sums += range(slope, slope + width)
            at += width
        start = program.parameters
        flush_writebacks()
        with machine.lock:
            self.spec.nodes_read.read(values)
            values[start : start + len(flat.numbers)] = flat.numbers
            tables = tuple(columns), tuple(read), tuple(sums)
            rows = Batch(given.count, *tables, machine.guards, threads, progress, given.single)
            totals, failed = machine.prepared.batch(values, rows)
        if failed is not None:
            guard, row = failed
            if guard == NOT_FINITE:
                raise NotFinite
            what = program.guards[guard].what
            if row == 0 and not (given.single and self._passes_in_double(flat)):
                raise GuardFailed
            other = "in float32 than in float64" if row == 0 else "than row 0"
            raise GuardError(
                f"{name}: row {row} would take another way through the function {other} ({what}). "
                f"{rewrite_of(what)}"
            )
        with np.errstate(over="ignore"):
            self.totals = totals.astype(given.dtype, copy=False)

    def _passes_in_double(self, flat: Flat) -> bool:
        """Tell whether the way is that of the first row, computed as it was traced."""
        try:
            self.spec.forward(flat.numbers)
        except GuardFailed:
            return False
        except NotFinite:
            pass
        return True


def _refuse_too_large(constants: Any, name: str) -> None:
    """Refuse numbers that float32 does not have; some derivatives of derivatives use such."""
    too_large = constants[np.isfinite(constants) & (np.abs(constants) > np.finfo(np.float32).max)]
    if too_large.size:
        raise ValueError(
            f"{name}: it computes with the number {too_large[0]:g}, which is beyond float32. Leave "
            "out dtype='float32'."
        )


# ---- blocks --------------------------------------------------------------------------------------


def blocks_of(own: int, count: int) -> tuple[int, int]:
    """How many rows a block has, and how many blocks there are.

    Of `own` numbers that each row has for itself. It depends on nothing else, so that results do
    not, and has few different values, because each is a program.
    """
    most = min(_MOST, max(_LEAST, _BLOCK // max(1, own)))
    size = -(-count // -(-count // most))
    unit = max(1, 2 ** (size.bit_length() - 4))  # four digits of it, in binary
    size = -(-size // unit) * unit
    return size, -(-count // size)


def block_size(spec: Specialization, given: Given) -> int:
    """How many rows to run at once by a program of their own; 0 if lanes are the better choice.

    Exact programs, which are slow anyhow, are for lanes, and so is a back end that makes matrix
    products of rows by itself.
    """
    if spec.is_exact or given.count < _FEWEST or getattr(spec.backend, "batches_products", False):
        return 0
    if not spec.program.inputs - sum(width for width, differs in given.arguments if differs):
        return 0  # there is nothing to share but numbers that are known
    weight = spec.weight(given.arguments)
    if weight.products < max(_PRODUCTS, _REUSE * weight.own, _SHARE * weight.others):
        return 0
    return blocks_of(weight.own, given.count)[0]


class Feed:
    """Fills the inputs of a program for a block, one block after the other."""

    def __init__(self, given: Given, rows: Rows, parameters: int, weight: float = 1.0) -> None:
        self.rows, self.count, self._weight = rows, given.count, weight
        self._tables: list[tuple[int, Any]] = []  # a slot, and the numbers of all rows
        self._shared: list[tuple[int, int, int]] = []  # a slot, and from where to where in a call
        *starts, self._weights, _ = rows.starts(parameters)
        at = 0
        for k, (width, differs) in enumerate(given.arguments):
            if differs:
                self._tables.append((starts[k], given.table(k)))
            else:
                self._shared.append((starts[k], at, at + width))
            at += width

    def share(self, values: Any, flat: Flat) -> None:
        """Bring in what serves all rows."""
        for slot, start, stop in self._shared:
            values[slot : slot + stop - start] = flat.numbers[start:stop]

    def block(self, number: int) -> tuple[slice, list[tuple[int, Any]]]:
        """The rows of a block, and its inputs; where there are too few, the last is repeated.

        Such copies have no weight.
        """
        size = self.rows.count
        part = slice(number * size, min((number + 1) * size, self.count))
        there = part.stop - part.start
        weights = np.zeros(size)
        weights[:there] = self._weight
        inputs = [(self._weights, weights)]
        for slot, table in self._tables:
            numbers = table[part]
            if there < size:
                numbers = np.concatenate([numbers, np.repeat(numbers[-1:], size - there, axis=0)])
            inputs.append((slot, np.ascontiguousarray(numbers, dtype=np.float64).reshape(-1)))
        return part, inputs


class Blocks(_Columns):
    """A run of a program that was made for a block of rows: in float64, whatever comes out."""

    def run(self, size: int, flat: Flat, threads: int | None, progress: Progress) -> None:
        """Run; raises `GuardFailed` whichever row it is that takes another way."""
        given, spec = self.given, self.spec
        rows = Rows(size, given.arguments)
        machine = spec.machine(Purpose("gradient" if self.with_grad else "forward", rows=rows))
        feed = Feed(given, rows, spec.program.parameters)
        count = -(-given.count // size)
        flush_writebacks()
        with machine.lock:
            spec.nodes_read.read(machine.values)
            feed.share(machine.values, flat)
            workers = min(count, threads or os.cpu_count() or 1)
            buffers: SimpleQueue[Any] = SimpleQueue()
            for values in [machine.values, *[machine.values.copy() for _ in range(workers - 1)]]:
                buffers.put(values)

            def work(number: int) -> Any:
                values = buffers.get()
                try:
                    return self._block(machine, values, feed, number)
                finally:
                    buffers.put(values)

            all_totals = self.totals.astype(np.float64)
            with closing(spread(work, count, workers)) as found:
                for number, totals in enumerate(found):
                    all_totals += totals
                    if progress is not None:
                        progress(min((number + 1) * size, given.count))
            with np.errstate(over="ignore"):
                self.totals = all_totals.astype(given.dtype)

    def _block(self, machine: Machine, values: Any, feed: Feed, number: int) -> Any:
        """Run a block; return its part of the totals."""
        part, inputs = feed.block(number)
        machine.step_on(values, inputs)
        with np.errstate(over="ignore"):  # of what rounds to inf
            return self._read(machine.program, feed.rows, values, part)

    def _read(self, program: Program, rows: Rows, values: Any, part: slice) -> Any:
        """Copy results and derivatives of a block; return its part of the totals."""
        there = part.stop - part.start
        places = np.array(program.results[1:], dtype=np.int64).reshape(-1, rows.count)
        for column, slots in zip(self.outputs, places, strict=True):
            column[part] = values[slots[:there]]
        if not self.with_grad:
            return 0.0
        first, shared = program.adjoints, []
        starts = rows.starts(program.parameters)
        for start, slopes, (width, _) in zip(starts, self.slopes, rows.arguments, strict=False):
            at = first + start
            if isinstance(slopes, slice):
                shared.append(values[at : at + width])
            else:
                slopes[part] = values[at : at + there * width].reshape(there, width)
        return np.concatenate([values[first : first + program.parameters], *shared])
