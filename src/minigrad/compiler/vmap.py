"""`vmap`: a function of numbers, for a million rows.

    prices = minigrad.vmap(price)                  # or minigrad.compile(price, batch=True)
    prices(spots, strikes, 0.5)                    # arrays in, arrays out; 0.5 serves all rows
    values, grads = prices.value_and_grad(spots, strikes, 0.5)

NumPy arrays are batched along their first axis; everything else is the same for all rows. Rows run
in blocks of lanes, side by side, on all cores. All rows take one way through the function: where a
branch differs between rows, write `where`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.observers import refuse_in_trace
from ..core.writeback import flush_writebacks
from ..errors import GuardError
from ..scalar import Value
from .arguments.structure import Flat, flatten
from .backends.numpy import Batch
from .callables import Made
from .function import Compiled
from .ir.program import NOT_FINITE
from .machine import GuardFailed, Machine, NotFinite
from .reuse import empty
from .specialization import BY_ALL, FORWARD, Specialization
from .tracing.proxies import EXACT

_LONG = 2_000_000  # rows times instructions / 100 from which on a progress bar is shown


class BatchGradients(tuple[Any, ...]):
    """Derivatives by each argument, a row each (a sum over rows for what serves all of them)."""

    parameters: tuple[Value, ...]
    totals: Any  # by what the function closes over, summed over the rows


class Batched(Made):
    """A function for many rows at once. Made by `vmap`."""

    def __init__(self, function: Callable[..., Any], backend: str, audit: Any = None) -> None:
        inner = function
        if isinstance(function, Compiled):
            inner = function.__wrapped__
            audit = function.dispatch.audit.mode if audit is None else audit
        self._given = (function, backend, audit)
        self._compiled = Compiled(inner, backend, audit=audit)
        functools.update_wrapper(self, self._compiled, updated=())

    def _recipe(self) -> tuple[Any, ...]:
        return self._given

    def _told(self) -> tuple[str, str]:
        compiled = self._compiled
        line = f"vmap of {compiled.__name__}: {compiled.dispatch.told()}"
        return line, compiled._explained()

    def __call__(self, *args: Any, threads: int | None = None, progress: bool | None = None) -> Any:
        """Return the results of all rows, an array for each result."""
        return self._run(args, False, threads, progress)[0]

    def value_and_grad(
        self, *args: Any, threads: int | None = None, progress: bool | None = None
    ) -> tuple[Any, BatchGradients]:
        """Return values and derivatives of all rows, by each argument."""
        return self._run(args, True, threads, progress)

    def grad(self, *args: Any, **options: Any) -> BatchGradients:
        """Return the derivatives alone."""
        return self.value_and_grad(*args, **options)[1]

    @property
    def program(self) -> Any:
        """The program of the latest call, for one row."""
        return self._compiled.program

    def explain(self) -> str:
        """Say what was recognised, and what the program is tied to."""
        return self._compiled.explain()

    def cache_info(self) -> Any:
        """Count calls, traces and programs."""
        return self._compiled.cache_info()

    # ---- inside ---------------------------------------------------------------------------------

    def _run(
        self, args: tuple[Any, ...], with_grad: bool, threads: Any, progress: Any
    ) -> tuple[Any, Any]:
        refuse_in_trace("calls a function for many rows")
        args = tuple(a.item() if isinstance(a, np.ndarray) and not a.ndim else a for a in args)
        count = _rows(args, self._compiled.__name__)
        first = tuple(_row(arg) for arg in args)

        def run(spec: Specialization, flat: Flat) -> tuple[Any, Any]:
            if with_grad:
                self._compiled.check_differentiable(spec)
            batch = _Batch(spec, spec.machine(BY_ALL if with_grad else FORWARD), args, count)
            batch.run(self._compiled.__name__, flat, threads, progress)
            return batch.results(), batch.gradients() if with_grad else None

        return self._compiled.dispatch.replay_or_refuse(first, {}, run)


class _Batch:
    """One run over all rows: where the columns lie, and what is read of each row."""

    def __init__(
        self, spec: Specialization, machine: Machine, args: tuple[Any, ...], count: int
    ) -> None:
        self.spec, self.machine, self.args, self.count = spec, machine, args, count
        program = machine.program
        inputs = program.inputs - program.parameters if program.adjoints else 0
        # One large piece of memory comes in large pages, which are cheaper.
        memory, used = empty(count * (len(program.results) + inputs)), 0

        def table(width: int) -> Any:
            nonlocal used
            start, used = used, used + count * width
            return memory[start:used].reshape(count, width)

        self.outputs = [(slot, table(1)[:, 0]) for slot in program.results]
        self.columns: list[tuple[int, Any]] = []  # inputs: the first slot, and a table
        # Derivatives of each argument: a column, or for what serves all rows a part of the sums.
        self.slopes: list[tuple[int, Any] | slice] = []
        self.sums: list[int] = []
        if program.adjoints:
            self.sums += range(program.adjoints, program.adjoints + program.parameters)
        at = program.parameters
        for arg in args:
            row = Flat()
            flatten(_row(arg), row)
            width, start = len(row.numbers), program.adjoints + at
            if isinstance(arg, np.ndarray):
                rows = np.asarray(arg, dtype=np.float64).reshape(count, -1)
                self.columns.append((at, rows if arg.ndim > 1 else rows[:, 0]))
            if program.adjoints and isinstance(arg, np.ndarray):
                self.slopes.append((start, table(width)))
            elif program.adjoints:
                self.slopes.append(slice(len(self.sums), len(self.sums) + width))
                self.sums += range(start, start + width)
            at += width
        self.read = [*self.outputs, *[part for part in self.slopes if isinstance(part, tuple)]]

    def run(self, name: str, flat: Flat, threads: int | None, progress: bool | None) -> None:
        """Run; a guard that fails at the first row means another way for all of them."""
        machine, program, values = self.machine, self.machine.program, self.machine.values
        start = program.parameters
        flush_writebacks()
        with machine.lock, _progress(self.count, len(program.instructions), progress) as bar:
            self.spec.nodes_read.read(values)
            values[start : start + len(flat.numbers)] = flat.numbers
            tables = tuple(self.columns), tuple(self.read), tuple(self.sums)
            rows = Batch(self.count, *tables, machine.guards, threads, bar)
            self.totals, failed = machine.prepared.batch(values, rows)
        if failed is not None:
            guard, row = failed
            if guard == NOT_FINITE:
                raise NotFinite
            if row == 0:
                raise GuardFailed
            raise GuardError(
                f"{name}: row {row} would take another way through the function than row 0 "
                f"({program.guards[guard].what}). Write the choice with where(condition, a, b)."
            )

    def results(self) -> Any:
        """Return what the function returns, with columns for results."""
        if self.slopes and len(self.outputs) == 1:
            return self.outputs[0][1]
        return self.spec.template.filled(lambda k: self.outputs[k][1])

    def gradients(self) -> BatchGradients:
        """Return the derivatives by each argument."""
        self._clear_wholes()
        shaped = []
        for arg, part in zip(self.args, self.slopes, strict=True):
            if isinstance(part, tuple):
                shaped.append(part[1].reshape(arg.shape))
            else:
                numbers = self.totals[part]
                shaped.append(float(numbers[0]) if len(numbers) == 1 else numbers)
        gradients = BatchGradients(shaped)
        gradients.parameters = self.spec.captured
        gradients.totals = self.totals[: self.machine.program.parameters]
        return gradients

    def _clear_wholes(self) -> None:
        """Whole numbers used as such have no derivatives."""
        program = self.machine.program
        for at in self.spec.wholes:
            slot = program.adjoints + program.parameters + at
            for first, table in self.read:
                width = 1 if table.ndim == 1 else table.shape[1]
                if first <= slot < first + width:
                    table.reshape(len(table), -1)[:, slot - first] = 0.0
            if slot in self.sums:
                self.totals[self.sums.index(slot)] = 0.0


def _rows(args: tuple[Any, ...], name: str) -> int:
    lengths = {len(arg) for arg in args if isinstance(arg, np.ndarray) and arg.ndim}
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


def _row(arg: Any) -> Any:
    """What the function gets of an argument for one row: the first."""
    if not isinstance(arg, np.ndarray):
        return arg
    if isinstance(arg, np.ma.MaskedArray):
        raise TypeError("vmap: got a masked array; give the rows that count, array.compressed().")
    if arg.dtype.kind not in "fiu":
        raise TypeError(f"vmap: got an array of {arg.dtype}; give numbers.")
    whole = arg.dtype.kind in "iu" and arg.size > 0
    if whole and max(abs(int(arg.max())), abs(int(arg.min()))) > EXACT:
        raise ValueError(
            "vmap: got whole numbers beyond 2**53, where not each has a float64 of its own. "
            "Give smaller ones, or floats."
        )
    return arg[0] if arg.ndim > 1 else arg[0].item()


@contextmanager
def _progress(
    count: int, instructions: int, wanted: bool | None
) -> Iterator[Callable[[int], None] | None]:
    """Show a bar for long runs on a terminal."""
    if wanted is None:
        wanted = count * instructions > 100 * _LONG and sys.stderr.isatty()
    if not wanted:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=count)
        yield lambda done: bar.update(task, completed=done)


def vmap(
    function: Callable[..., Any], *, backend: str = "auto", audit: bool | str | None = None
) -> Batched:
    """Return the function for many rows: arrays in, arrays out; see the top of this module."""
    return Batched(function, backend, audit)
