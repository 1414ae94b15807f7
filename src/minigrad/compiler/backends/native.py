"""Programs on the native machine, `minigrad._vm`, where that was built.

`prepare(program)` has the methods of the NumPy back end; a step, with inputs, guards and optimiser,
is one call into C, and a batch is spread over threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import numpy as np

from ...core.native_or_pure import native_machine
from ..ir.program import NOT_FINITE, Program
from .encode import Bytecode, encode
from .numpy import Array, Batch, Commit, Failed, Guards, Inputs, fresh

__all__ = [
    "Commit",
    "Guards",
    "Prepared",
    "available",
    "isas",
    "missing",
    "prepare",
    "spread",
    "words",
]

words = "the native machine"
missing = (
    "the native machine was not built with this installation (it needs a C compiler, and "
    "MINIGRAD_PURE not to be set). backend='auto' takes NumPy instead."
)

_CACHE = 200_000  # bytes of a block of lanes that stay near the processor
_LANES = 512, 256  # bytes, and of large programs: what is in use then fits into the nearest cache
_PIECE = 1_000_000  # numbers that a thread computes at once: small, as cores may be busy
_vm = native_machine()


def available() -> bool:
    """Tell whether the machine was built (and MINIGRAD_PURE does not forbid it)."""
    return _vm is not None


def isas() -> list[str]:
    """List the instruction sets that the machine can use here, best first."""
    found: list[str] = _vm.isas() if _vm is not None else []
    return found


class Prepared:
    """A program, loaded into the machine for an instruction set, or for the best that there is.

    `code` are its words, if they are known.
    """

    def __init__(
        self, program: Program, isa: str | None = None, code: Bytecode | None = None
    ) -> None:
        if _vm is None:
            raise RuntimeError("minigrad._vm is not there: minigrad was installed uncompiled.")
        code = code or encode(program)
        self.program = program
        finite = np.array(program.finite, dtype=np.int64).reshape(-1)
        self.loaded = _vm.load(code.words, code.pool, code.numbers, code.size, isa, finite)
        self.run: Callable[[Array], None] = self.loaded.run
        self._update: tuple[Any, ...] = ()
        if (update := program.update) is not None:
            self._update = (_vm.formula(*update.formula.words()), update.count, update.grads)

    def values(self) -> Array:
        """Make a buffer to run in: inputs go to its first slots, results are in the others."""
        return fresh(self.program)

    def step(
        self, values: Array, inputs: Inputs, guards: Guards | None, commit: Commit | None = None
    ) -> int:
        """Do all of a step in one call."""
        pair = None if guards is None else (guards.slots, guards.numbers)
        moved = commit and (*self._update, commit.state, commit.settings, commit.clock)
        failed: int = self.loaded.step(values, inputs, pair, moved)
        return failed

    def batch(self, values: Array, rows: Batch) -> tuple[Array, Failed]:
        """Run rows of data, on several threads.

        Rows are cut into pieces that do not depend on the number of threads, and totals are added
        piece by piece: results are the same for any number.
        """
        count, columns, outputs, sums, guards, threads, progress, single = rows
        chosen = np.ascontiguousarray(sums, dtype=np.int64)
        pair = None if guards is None else (guards.slots, guards.numbers)
        size = max(1, self.program.size)
        lanes = _LANES[size * _LANES[0] > _CACHE] // (4 if single else 8)
        together = lanes * max(1, _PIECE // (size * lanes))
        starts = range(0, count, together)
        totals = np.zeros((len(starts), len(chosen)))

        def work(piece: int) -> Failed:
            start, stop = starts[piece], min(starts[piece] + together, count)
            failed: Failed = self.loaded.batch(
                *(values, start, stop, lanes, columns, outputs),
                *(chosen, totals[piece], pair, single),
            )
            return failed

        found = None
        workers = threads or os.cpu_count() or 1
        with closing(spread(work, len(starts), workers)) as results:
            for piece, failed in enumerate(results):
                if found is None or (failed is not None and found[0] == NOT_FINITE):
                    found = failed or found  # what is not finite counts if no guard has failed
                if progress is not None:
                    progress(min(starts[piece] + together, count))
        total = np.zeros(len(chosen))
        for row in totals:
            total += row
        return total, found


def spread(work: Callable[[int], Any], count: int, workers: int) -> Generator[Any, None, None]:
    """Do all pieces of work, in threads if there are several, and hand on the results in order."""
    if min(count, workers) <= 1:
        yield from map(work, range(count))
        return
    pool = ThreadPoolExecutor(min(count, workers))
    try:
        yield from pool.map(work, range(count))
    finally:
        pool.shutdown(cancel_futures=True)  # somebody interrupted, or all is done


prepare = Prepared
