"""Compiled functions on JAX: the back end of `minigrad.compile(f, backend="jax")`.

Guards are checked on the host, as everywhere, and other ways are traced as ever. Gradients are
JAX's own: a program with gradients says what it is the derivative of. Exact programs, for numbers
that are not finite, are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...ir.program import NOT_FINITE, Derivative, Program
from .. import numpy as host
from ..numpy import Array, Batch, Commit, Failed, Guards
from .to_jax import Lowered

__all__ = ["Commit", "Guards", "Prepared", "batches_products", "enable_x64", "prepare"]

batches_products = True  # rows of a batch become matrix products here, not in a program

_CHUNK = 2**24  # numbers that a chunk of a batch may need: 128 MiB
enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64


class Prepared(host.Prepared):
    """A program, compiled by XLA when it is first run."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._derivative = program.derivative or Derivative("gradient", program, ())
        self._forward = self._derivative.of
        with enable_x64(True):
            self._lowered = Lowered(self._forward, "float64")
        self._one = jax.jit(self._computed)
        self._rows = jax.jit(self._computed_rows, static_argnums=(3,))
        self._separate = jax.jit(self._computed_separately, static_argnums=(2,))
        slots = [*program.results, *(guard.at for guard in program.guards)]
        self._delivered = np.array(slots, dtype=np.int64)
        ranges = [np.arange(first, end) for first, end in program.finite]
        self._finite = np.concatenate([np.zeros(0, dtype=np.int64), *ranges])

    def _ends(self, inputs: Any) -> tuple[Any, Any]:
        """Return the numbers of the slots that are delivered, and those that are differentiated."""
        count = self._forward.inputs
        leaves = self._lowered.from_numbers([inputs[:count]], everything=True)
        results, checks = self._lowered.run(leaves)
        named = dict(zip(self._forward.results, results, strict=True))
        ends = [*results, *checks]
        return jnp.stack(ends) if ends else inputs[:0], [
            named[at] for at in self._derivative.results
        ]

    def _computed(self, inputs: Any) -> tuple[Any, Any]:
        """Return what is delivered, and the derivatives by the first inputs."""
        what, count = self._derivative.what, self._forward.inputs
        if not self.program.adjoints:
            return self._ends(inputs)[0], inputs[:0]

        def total(x: Any) -> tuple[Any, Any]:
            ends, chosen = self._ends(x)
            weights = inputs[count:] if what == "jacobian" else [1.0]
            return sum(w * y for w, y in zip(weights, chosen, strict=True)), ends

        if what != "hvp":
            slopes, ends = jax.grad(total, has_aux=True)(inputs[:count])
            return ends, slopes
        x, along = inputs[:count], inputs[count:]
        slope = jax.grad(total, has_aux=True)
        (_, ends), (product, _) = jax.jvp(slope, (x,), (along,))
        return ends, product

    def run(self, values: Array) -> None:
        """Run on the inputs in a buffer, and put there what somebody may read."""
        with enable_x64(True):
            ends, slopes = self._one(np.array(values[: self.program.inputs]))
            values[self._delivered] = ends
            start = self.program.adjoints
            values[start : start + len(slopes)] = slopes if start else values[:0]

    def batch(self, values: Array, rows: Batch) -> tuple[Array, Failed]:
        """Run rows in chunks that fit the device; the next is sent while one is computed."""
        count, columns, outputs, sums, guards, _, progress, _ = rows
        if self._derivative.what != "gradient":
            return self._each(values, columns, outputs)
        size = max(1, min(count, _CHUNK // max(1, self._forward.size)))
        totals = np.zeros(self.program.inputs)
        tables = [column.reshape(count, -1) for _, column in columns]
        slots = tuple(slot for slot, _ in columns)
        shared = np.array(values[: self.program.inputs])
        sent: list[tuple[int, Any]] = []
        failed: Failed = None
        with enable_x64(True):
            for start in range(0, count, size):
                chunk = [table[start : start + size] for table in tables]
                weights = np.ones(size)
                if start and len(chunk[0]) < size:  # of the same shape: nothing is compiled again
                    weights[len(chunk[0]) :] = 0.0
                    chunk = [np.pad(x, ((0, size - len(x)), (0, 0)), mode="edge") for x in chunk]
                sent.append((start, self._rows(shared, chunk, weights, slots)))
                if len(sent) > 1:
                    found = self._received(*sent.pop(0), count, slots, outputs, totals, guards)
                    if found is not None and found[0] != NOT_FINITE:
                        return totals[: len(sums)], found
                    failed = failed or found  # and the guards of the other rows are looked at
                    if progress is not None:
                        progress(start)
            found = self._received(*sent.pop(0), count, slots, outputs, totals, guards)
            failed = found if found is not None and found[0] != NOT_FINITE else failed or found
        if progress is not None:
            progress(count)
        chosen = np.asarray(sums, dtype=np.int64)
        return totals[chosen - self.program.adjoints], failed

    def _each(
        self,
        values: Array,
        columns: Sequence[tuple[int, Array]],
        outputs: Sequence[tuple[int, Array]],
    ) -> tuple[Array, Failed]:
        """Run a few rows whose derivatives by all inputs are wanted, not their sums."""
        slots = tuple(slot for slot, _ in columns)
        with enable_x64(True):
            shared = np.array(values[: self.program.inputs])
            found = self._separate(shared, [column for _, column in columns], slots)
            ends, slopes = jax.device_get(found)
        for slot, table in outputs:
            table[:] = slopes[:, slot - self.program.adjoints :][:, : table.shape[1]]
        finite = np.isfinite(ends).all() and np.isfinite(slopes).all()
        return np.zeros(0), None if finite or not len(self._finite) else (NOT_FINITE, 0)

    def _computed_separately(
        self, shared: Any, columns: Sequence[Any], slots: tuple[int, ...]
    ) -> tuple[Any, Any]:
        """Return the ends of each row, and its derivatives by all inputs."""
        run = jax.vmap(lambda *row: self._computed(_placed(shared, slots, row)))
        found: tuple[Any, Any] = run(*columns)
        return found

    def _computed_rows(
        self, shared: Any, columns: Sequence[Any], weights: Any, slots: tuple[int, ...]
    ) -> tuple[Any, Any, Any]:
        """Return the ends of each row, and derivatives by its columns and by what is shared."""

        def one(shared: Any, *row: Any) -> tuple[Any, Any]:
            ends, chosen = self._ends(_placed(shared, slots, row))
            return (chosen[0] if chosen else 0.0), ends

        def total(shared: Any, columns: Any) -> tuple[Any, Any]:
            found, ends = jax.vmap(one, (None, *[0] * len(columns)))(shared, *columns)
            return (weights * found).sum(), ends

        if not self.program.adjoints:
            return total(shared, columns)[1], [], shared[:0]
        (by_shared, by_columns), ends = jax.grad(total, (0, 1), has_aux=True)(shared, columns)
        return ends, by_columns, by_shared

    def _received(
        self,
        start: int,
        found: tuple[Any, Any, Any],
        count: int,
        slots: tuple[int, ...],
        outputs: Sequence[tuple[int, Array]],
        totals: Array,
        guards: Guards | None,
    ) -> Failed:
        """Put a chunk's numbers where they belong; (guard, row) of what fails."""
        ends, by_columns, by_shared = jax.device_get(found)
        stop = min(start + len(ends), count)
        ends = ends[: stop - start]
        results, adjoints = len(self.program.results), self.program.adjoints
        if guards is not None:
            bad = ends[:, results:] != guards.numbers
            bad &= ~(np.isnan(ends[:, results:]) & np.isnan(guards.numbers))
            if bad.any():
                guard = int(np.argmax(bad.any(axis=0)))
                return guard, start + int(np.argmax(bad[:, guard]))
        delivered = [ends[:, :results], by_shared, *by_columns]
        if len(self._finite) and not all(np.isfinite(each).all() for each in delivered):
            return NOT_FINITE, start
        if adjoints:
            totals[: len(by_shared)] += by_shared
        for slot, table in outputs:
            where = self.program.results.index(slot) if slot in self.program.results else -1
            numbers = ends[:, where]
            if where < 0:
                numbers = by_columns[slots.index(slot - adjoints)][: stop - start]
            table[start:stop] = numbers.reshape(table[start:stop].shape)
        return None


def _placed(shared: Any, slots: tuple[int, ...], row: Sequence[Any]) -> Any:
    """Put the numbers of a row among those that all rows share."""
    parts, at = [], 0
    for slot, numbers in sorted(zip(slots, row, strict=True), key=lambda pair: pair[0]):
        parts += [shared[at:slot], numbers]
        at = slot + len(numbers)
    return jnp.concatenate([*parts, shared[at:]])


def prepare(program: Program) -> Any:
    """Get a program ready; one that JAX cannot differentiate by itself is run by NumPy."""
    if program.adjoints and program.derivative is None:
        return host.Prepared(program)
    return Prepared(program)
