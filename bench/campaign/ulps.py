"""Every operation, its first and second derivatives against 60 digits, at all sizes of floats.

Points and truths are those of tests/accuracy.py: an error is told in ulps, over the condition
number of what is asked, for no formula can do better than its arguments are rounded. More than
`MOST` is a failure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import accuracy
from accuracy import ROWS
from programs import call_jax, call_torch

from .peers import jax_modules, torch_leaf
from .tally import Tally

MOST = 16.0
_SEVERAL = ("softmax", "log_softmax")  # as many results as operands
Run = Callable[..., list[Any]]  # arguments to the value, the gradient, the matrix of each result


def judged(engine: str, seeds: range) -> Tally:
    """A seed is a point of an operation: operations take turns, so that any range has them all."""
    tally = Tally()
    for at, op in enumerate(ROWS):
        first, last = (-(-(end - at) // len(ROWS)) for end in (seeds.start, seeds.stop))
        run = PEERS.get(engine, accuracy.eager)(op)
        for arguments in accuracy.points(op, last)[first:]:
            found = accuracy.compared(op, run, [arguments], beyond=engine not in PEERS)
            tally.count(_fault(op, arguments, found, tally))
    return tally


def _fault(op: Any, arguments: tuple[float, ...], found: Any, tally: Tally) -> str | None:
    fault = None
    for name, worst in (("value", found.value), ("first", found.first), ("second", found.second)):
        tally.figure(f"{op.name}, {name}", worst.weighed)
        if worst.weighed > MOST:
            fault = f"{op.name}{arguments}: {name} is off by {worst.weighed:.3g} ulps x condition"
    return fault


def _outputs(op: Any, arguments: tuple[float, ...]) -> list[int | None]:
    return list(range(len(arguments))) if op.name in _SEVERAL else [None]


def _by_torch(op: Any) -> Run:
    import torch

    def derivatives(y: Any, leaves: list[Any]) -> list[Any]:
        if not y.requires_grad:
            return [torch.zeros((), dtype=torch.float64) for _ in leaves]
        found = torch.autograd.grad(y, leaves, create_graph=True, allow_unused=True)
        return [torch.zeros((), dtype=torch.float64) if x is None else x for x in found]

    def run(*arguments: float) -> list[Any]:
        found = []
        for which in _outputs(op, arguments):
            leaves = [torch_leaf(x) for x in arguments]
            y = call_torch(op.name, leaves, which)
            grads = derivatives(y, leaves)
            matrix = [[x.item() for x in derivatives(grad, leaves)] for grad in grads]
            found.append((y.item(), [x.item() for x in grads], matrix))
        return found

    return run


def _by_jax(op: Any) -> Run:
    jax, jnp = jax_modules()

    @functools.cache
    def compiled(which: int | None, count: int) -> Any:  # JAX compiles for each count anew
        def function(xs: Any) -> Any:
            return call_jax(op.name, list(xs), which)

        return jax.jit(lambda xs: (function(xs), jax.grad(function)(xs), jax.hessian(function)(xs)))

    def run(*arguments: float) -> list[Any]:
        found = []
        for which in _outputs(op, arguments):
            y, grads, matrix = compiled(which, len(arguments))(jnp.array(arguments))
            found.append((float(y), grads.tolist(), matrix.tolist()))
        return found

    return run


PEERS: dict[str, Callable[[Any], Run]] = {"torch": _by_torch, "jax": _by_jax}
