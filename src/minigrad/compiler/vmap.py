"""`vmap`: a function of numbers, for a million rows.

    prices = minigrad.vmap(price)                  # or minigrad.compile(price, batch=True)
    prices(spots, strikes, 0.5)                    # arrays in, arrays out; 0.5 serves all rows
    values, grads = prices.value_and_grad(spots, strikes, 0.5)

NumPy arrays are batched along their first axis; everything else is the same for all rows. Rows run
side by side, on all cores, see `batches.py`. All rows take one way through the function: where a
branch differs between rows, write `where`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ..core.elsewhere import explained
from ..core.observers import refuse_in_trace
from .arguments.structure import Flat
from .batches import BatchGradients, Blocks, Given, Lanes, Progress, block_size
from .callables import Made
from .function import Compiled
from .machine import GuardFailed, NotFinite
from .specialization import Specialization
from .tracing.proxies import EXACT, EXACT_F32, exact

_LONG = 2_000_000  # rows times instructions / 100 from which on a progress bar is shown


class Batched(Made):
    """A function for many rows at once. Made by `vmap`."""

    def __init__(
        self, function: Callable[..., Any], backend: str, audit: Any = None, dtype: Any = None
    ) -> None:
        inner = function
        self.single = _is_single(dtype, backend)
        if isinstance(function, Compiled):
            inner = function.__wrapped__
            audit = function.dispatch.audit.mode if audit is None else audit
        self._given = (function, backend, audit, dtype)
        self.compiled = Compiled(inner, backend, audit=audit)
        functools.update_wrapper(self, self.compiled, updated=())

    def _recipe(self) -> tuple[Any, ...]:
        return self._given

    def _told(self) -> tuple[str, str]:
        compiled = self.compiled
        kind = " in float32" if self.single else ""
        line = f"vmap of {compiled.__name__}{kind}: {compiled.dispatch.told()}"
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
        return self.compiled.program

    def explain(self) -> str:
        """Say what was recognised, and what the program is tied to."""
        return self.compiled.explain()

    def cache_info(self) -> Any:
        """Count calls, traces and programs."""
        return self.compiled.cache_info()

    # ---- inside ---------------------------------------------------------------------------------

    def _run(
        self, args: tuple[Any, ...], with_grad: bool, threads: Any, progress: Any
    ) -> tuple[Any, Any]:
        refuse_in_trace("calls a function for many rows")
        given = Given(args, self.compiled.__name__, self.single)

        def run(spec: Specialization, flat: Flat) -> tuple[Any, Any]:
            if with_grad:
                self.compiled.check_differentiable(spec)
            with _progress(given.count, len(spec.program.instructions), progress) as bar:
                return self._through(spec, flat, given, with_grad, threads, bar)

        told_apart = exact.set(EXACT_F32 if self.single else EXACT)
        try:
            return self.compiled.dispatch.replay_or_refuse(given.first, {}, run)
        finally:
            exact.reset(told_apart)

    def _through(
        self,
        spec: Specialization,
        flat: Flat,
        given: Given,
        with_grad: bool,
        threads: int | None,
        bar: Progress,
    ) -> tuple[Any, Any]:
        """Run all rows: in blocks where that pays, else in lanes."""
        size = block_size(spec, given)
        if size:
            blocks = Blocks(spec, given, with_grad)
            # A row that takes another way is found by lanes, which know what to say about it. They
            # also look at the guards of all rows before an exact program, without guards, runs.
            with suppress(GuardFailed, NotFinite):
                blocks.run(size, flat, threads, bar)
                return blocks.results(), blocks.gradients() if with_grad else None
        lanes = Lanes(spec, given, with_grad)
        lanes.run(self.compiled.__name__, flat, threads, bar)
        return lanes.results(), lanes.gradients() if with_grad else None


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


def _is_single(dtype: Any, backend: str) -> bool:
    """Tell whether to compute in float32."""
    try:
        name = np.dtype(dtype).name  # of None it is "float64"
    except TypeError:
        name = ""
    if name not in ("float64", "float32"):
        raise ValueError(f"vmap(dtype={dtype!r}): choose 'float64' or 'float32'.")
    if name == "float32" and backend not in ("auto", "native", "numpy"):
        raise ValueError(
            f"vmap(dtype='float32', backend={backend!r}): float32 is for backend='native' and "
            "'numpy'. On JAX take to_jax(function, …, dtype='float32') and jax.vmap."
        )
    return bool(name == "float32")


@explained(
    "vmap(f)",
    in_axes="arrays are cut along their first axis, and all else is shared, so leave it out",
)
def vmap(
    function: Callable[..., Any],
    *,
    backend: str = "auto",
    audit: bool | str | None = None,
    dtype: Any = None,
) -> Batched:
    """Return the function for many rows: arrays in, arrays out.

    NumPy arrays have a row for each call, everything else serves all of them. `dtype="float32"` is
    quicker: what is given is rounded to it, results and derivatives are float32 arrays.
    """
    return Batched(function, backend, audit, dtype)
