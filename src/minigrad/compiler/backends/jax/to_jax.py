"""`to_jax`: a scalar function as a plain JAX function.

    fn, params = minigrad.to_jax(loss, xs, ys)
    jax.jit(jax.value_and_grad(fn))(params, xs, ys)

`params` is one vector, the numbers of the Values that the function closes over; `fn` composes with
`jit`, `grad`, `vmap`, `hessian`, `shard_map` and everything else that JAX has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...ir.program import Program
from .. import arrays, exported
from ..exported import Example, Function
from .library import JaxLibrary

Array = Any
# Rows, columns and terms from which dot products are a matrix product. Cards multiply small ones
# slowly: they rather multiply and add up in one kernel with what comes before and after.
LEAST = {"cpu": 4}
_LEAST_ELSEWHERE = 16


def number_type(dtype: Any) -> tuple[Any, Any]:
    """Return the type of numbers and the precision of products that a name stands for."""
    names = {"float64": np.float64, "float32": np.float32, "tf32": np.float32}
    name = (
        "float64" if dtype is None else dtype if isinstance(dtype, str) else jnp.dtype(dtype).name
    )
    if name not in names:
        raise ValueError(
            f"dtype={name!r}: choose 'float64', 'float32', or 'tf32' (float32 whose products are "
            "rounded to ten bits on the way in)."
        )
    if name == "float64" and not jax.config.read("jax_enable_x64"):
        raise ValueError(
            "JAX computes in 32 bits until it is told otherwise: call "
            "jax.config.update('jax_enable_x64', True) first, or choose dtype='float32'."
        )
    return names[name], None if name == "tf32" else lax.Precision.HIGHEST


class Lowered(exported.Lowered):
    """A program as a function of its leaves, for one type of numbers."""

    call, words = "to_jax", "JAX"

    def __init__(
        self, program: Program, dtype: Any = None, *, device: str | None = None, exact: bool = False
    ) -> None:
        self.dtype, precision = number_type(dtype)
        least = LEAST.get(device or jax.default_backend(), _LEAST_ELSEWHERE)
        super().__init__(program, least=least, exact=exact)
        self._library = JaxLibrary(self.dtype, precision, exact)

    def flat(self, numbers: Any) -> Array:
        """Make a flat array."""
        return self._library.reshape(jnp.asarray(numbers), (-1,))

    def number(self, x: Array, is_index: bool) -> Array:
        """Make numbers of what was given; indices stay whole, what is none is out of all bounds."""
        if not is_index:
            return x.astype(self.dtype)
        ends = jnp.iinfo(jnp.int32)
        if x.dtype in (jnp.int64, jnp.uint32, jnp.uint64):  # 2**32 would be 0 in 32 bits
            low = max(ends.min, jnp.iinfo(x.dtype).min)
            x = jnp.clip(x, jnp.asarray(low, x.dtype), jnp.asarray(ends.max, x.dtype))
        elif not jnp.issubdtype(x.dtype, jnp.integer):
            x = jnp.where(x == jnp.floor(x), x, ends.min)
        return x.astype(jnp.int32)

    def split(self, x: Array, sizes: list[int]) -> Sequence[Array]:
        """Cut a flat array into parts."""
        return lax.split(x, sizes) if sizes else []

    def join(self, parts: Sequence[Array]) -> Array:
        """Put flat arrays side by side."""
        return lax.concatenate(parts, 0)

    def run(self, leaves: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """Return the results, and what the guards look at."""
        # Most functions of `jnp` are jitted, each to be traced by itself inside the whole, for the
        # same program in the end: without that a third of the tracing is saved.
        with jax.disable_jit():
            return arrays.run(self.plan, self._library, leaves)

    def checks(self, params: Array, numbers: Any) -> Sequence[Any]:
        """Return what the guards look at, computed as it will be."""
        run = jax.jit(lambda p, n: self.run([*self.from_vector(p), *self.from_numbers([n])])[1])
        found: Sequence[Any] = run(params, numbers)
        return found


class JaxFunction(exported.Exported):
    """A traced function for JAX: `fn(params, *args)`. Made by `to_jax`."""

    lowered: Lowered

    def poison(self, holds: Array) -> Array:
        """Return 1 where guards hold, and nan elsewhere."""
        return jnp.where(holds, 1.0, jnp.nan).astype(self.lowered.dtype)

    def stacked(self, numbers: Sequence[Any]) -> Array:
        """Make one vector of numbers."""
        return jnp.stack([jnp.asarray(number, self.lowered.dtype) for number in numbers])


def guards_hold(guards: Sequence[float], checks: Sequence[Array]) -> Array:
    """Tell whether all guards hold."""
    return jnp.asarray(exported.guards_hold(guards, checks))


def to_jax(
    function: Function, example: Example, dtype: Any, guards: str, exact: bool, device: str | None
) -> tuple[JaxFunction, Any]:
    """Return `(fn, params)`; `compiler/api.py`, where users come in, tells what it takes."""
    number_type(dtype)
    name, spec, flat = exported.traced("to_jax", function, example, guards)
    lowered = Lowered(spec.program, dtype, device=device, exact=exact)
    params = jnp.asarray(np.array([value.data for value in spec.captured]), lowered.dtype)
    if spec.program.guards:
        lowered.calibrate(params, np.array(flat.numbers))
    return JaxFunction(spec, flat, lowered, name), params
