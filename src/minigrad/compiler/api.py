"""The door to the compiler: `compile`, `vmap`, `train_step`.

`import minigrad` does not come in here, because behind it NumPy is loaded; the first use does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from ..core.elsewhere import explained, require_arguments
from .backends import backend_of
from .batches import BatchGradients
from .dispatch import CacheInfo
from .function import Compiled
from .gradients import Gradients
from .padding import padded
from .train import TrainStep, train_step
from .vmap import Batched, vmap

__all__ = [
    "BatchGradients",
    "Batched",
    "CacheInfo",
    "Compiled",
    "Gradients",
    "TrainStep",
    "compile",
    "padded",
    "to_jax",
    "to_torch",
    "train_step",
    "vmap",
]


@explained("compile(f)")
def compile(
    fn: Callable[..., Any] | None = None,
    *,
    backend: str = "auto",
    batch: bool = False,
    strict: bool = False,
    audit: bool | str | None = None,
) -> Any:
    """Compile a function of Values and numbers; also as a decorator, with or without options.

    `backend` is "native" (the machine that is built with the package), "numpy", "jax", or "auto":
    native where it was built. `strict=True` refuses a call that would take another way than the one
    that was compiled, instead of tracing again. `batch=True` is `vmap`: arrays in, arrays out.
    `audit`: now and then a call also runs the function itself, and both are compared; "always" does
    so at every call, "warn" goes on with a warning instead of an error, False never does it. Where
    it is not given, the environment variable MINIGRAD_AUDIT may say it.
    """
    if fn is None:
        return functools.partial(compile, backend=backend, batch=batch, strict=strict, audit=audit)
    if batch:
        return vmap(fn, backend=backend, audit=audit)
    return Compiled(fn, backend, strict, audit=audit)


def to_jax(
    function: Callable[..., Any],
    *example: Any,
    dtype: Any = None,
    guards: Literal["nan", "error"] = "nan",
    exact: bool = False,
    device: str | None = None,
) -> Any:
    """Return `(fn, params)`: a scalar function as a plain JAX function, and its parameters.

    `example` fixes the structure of the arguments; the numbers in it are open. `params` is one
    vector, the numbers of the Values that the function closes over, named `fn.names`, and
    `fn(params, *args)` composes with `jax.jit`, `grad`, `vmap` and all the rest. Where a branch
    would go another way than with the example, value and gradient are nan; `guards="error"` refuses
    such a function. `dtype` is "float64", "float32", or "tf32" (rounded products). `exact=True`
    reads no number that the function does not read, follows the op table to the ends of the range
    of floats, and has `max` treat nan as Python does; it is slower. `device`, "cpu" or "gpu", is
    what to plan for, if not this one.
    """
    backend_of("jax")  # which says what to install
    require_arguments(function, example, "to_jax(f, *example)")
    from .backends.jax import to_jax as module

    return module.to_jax(function, example, dtype, guards, exact, device)


def to_torch(
    function: Callable[..., Any],
    *example: Any,
    dtype: Any = None,
    guards: Literal["nan", "error"] = "nan",
    exact: bool = False,
) -> Any:
    """Return `(fn, params)`: a scalar function as a plain PyTorch function, and its parameters.

    `params` is one leaf tensor; `fn(params, *args)` is differentiable, and computes where `params`
    is. All else is as in `to_jax`.
    """
    if find_spec("torch") is None:
        raise RuntimeError(
            "to_torch: PyTorch is not installed. Install it with: python -m pip install "
            "torch==2.13.0"
        )
    require_arguments(function, example, "to_torch(f, *example)")
    from .backends.torch import to_torch as module

    return module.to_torch(function, example, dtype, guards, exact)
