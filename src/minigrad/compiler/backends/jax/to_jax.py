"""`to_jax`: a scalar function as a plain JAX function.

    fn, params = minigrad.to_jax(loss, xs, ys)
    jax.jit(jax.value_and_grad(fn))(params, xs, ys)

`params` is one vector, the numbers of the Values that the function closes over; `fn` composes with
`jit`, `grad`, `vmap`, `hessian`, `shard_map` and everything else that JAX has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, isnan
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ....core.names import parameter_names
from ....errors import GuardError
from ....scalar import Value
from ...arguments.given import given_numbers
from ...arguments.structure import Flat
from ...function import Compiled
from ...ir.program import Program
from ...specialization import Specialization
from ...views.plan import Plan
from ...views.planner import plan
from .. import arrays
from .library import JaxLibrary

Array = Any
GRID = {"cpu": 4.0}  # smallest grid of dot products that is a matrix product; elsewhere none is


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


class Lowered:
    """A program as a function of its leaves, for one type of numbers."""

    def __init__(
        self, program: Program, dtype: Any = None, *, device: str | None = None, exact: bool = False
    ) -> None:
        kind = device or jax.default_backend()
        self.plan: Plan = plan(program, least=GRID.get(kind, float("inf")), exact=exact)
        self.dtype, precision = number_type(dtype)
        self._library = JaxLibrary(self.dtype, precision, exact)
        self.guards = [guard.number for guard in program.guards]
        leaves = self.plan.leaves
        self._sizes = [leaf.end - leaf.first for leaf in leaves[: self.plan.parameters]]

    def from_vector(self, params: Array) -> list[Array]:
        """Cut the vector of what is captured; the gradient of that is a concatenation."""
        if not self._sizes:
            return []
        return list(lax.split(jnp.asarray(params, self.dtype), self._sizes))

    def from_numbers(self, numbers: Sequence[Any], everything: bool = False) -> list[Array]:
        """Make leaves of the numbers of the arguments, or of `everything`, in order."""
        flat = [lax.reshape(x, (x.size,)) if x.ndim != 1 else x for x in map(jnp.asarray, numbers)]
        ends = np.cumsum([x.shape[0] for x in flat]).tolist()
        skipped = 0 if everything else self.plan.program.parameters
        found = []
        for leaf in self.plan.leaves[0 if everything else self.plan.parameters :]:
            a, b = leaf.first - skipped, leaf.end - skipped
            parts = []
            for x, end in zip(flat, ends, strict=True):
                start = end - x.shape[0]
                if start < b and a < end:
                    whole = a <= start and end <= b
                    part = x if whole else x[max(a, start) - start : b - start]
                    parts.append(_number(part, self.dtype, leaf.is_index))
            found.append(parts[0] if len(parts) == 1 else lax.concatenate(parts, 0))
        return found

    def run(self, leaves: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """Return the results, and what the guards look at."""
        return arrays.run(self.plan, self._library, leaves)

    def calibrate(self, params: Array, numbers: Any) -> None:
        """Have the guards ask for what JAX computes from the example: it may round differently."""
        if not self.guards:
            return
        run = jax.jit(lambda p, n: self.run([*self.from_vector(p), *self.from_numbers([n])])[1])
        for at, (found, number) in enumerate(zip(run(params, numbers), self.guards, strict=True)):
            margin = 1e-6 * max(1.0, abs(number)) if isfinite(number) else 0.0
            if not (
                found == number or abs(found - number) <= margin or (isnan(found) and isnan(number))
            ):
                guard = self.plan.program.guards[at]
                raise GuardError(
                    f"to_jax: on the example itself JAX goes another way ({guard.what}): a number "
                    "there is on the edge. Give an example further from it."
                )
            self.guards[at] = float(found)


def _number(x: Array, dtype: Any, is_index: bool) -> Array:
    """Make numbers of what was given; indices stay whole, and what is none is out of all bounds."""
    if not is_index:
        return x.astype(dtype)
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x.astype(jnp.int32)
    return jnp.where(x == jnp.floor(x), x, jnp.iinfo(jnp.int32).min).astype(jnp.int32)


class JaxFunction:
    """A traced function for JAX: `fn(params, *args)`. Made by `to_jax`."""

    def __init__(self, spec: Specialization, flat: Flat, lowered: Lowered, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = f"{name} as a JAX function of a vector of parameters and its arguments."
        self.parameters: tuple[Value, ...] = spec.captured
        self.names: tuple[str, ...] = tuple(parameter_names(spec.captured))
        self.lowered, self._spec, self._structure = lowered, spec, flat.key[0]

    def __call__(self, params: Any, *args: Any) -> Any:
        """Return what the function returns, as arrays."""
        count, given = len(self.parameters), jnp.shape(params)
        if given != (count,):
            raise TypeError(
                f"{self.__name__}(params, …): params is one vector of {count} numbers, got shape "
                f"{given}."
            )
        numbers = given_numbers(self._structure, args, self.__name__)
        leaves = [*self.lowered.from_vector(params), *self.lowered.from_numbers(numbers)]
        results, checks = self.lowered.run(leaves)
        if checks:
            holds = guards_hold(self.lowered.guards, checks)
            # A factor: where a guard fails, value and gradient are nan. A choice would give 0.
            poison = jnp.where(holds, 1.0, jnp.nan).astype(self.lowered.dtype)
            results = [result * poison for result in results]
        return self._spec.template.filled(lambda k: results[k])

    def unflatten(self, params: Any) -> dict[str, Any]:
        """Return the numbers of a vector, parameters or gradients, by name."""
        return dict(zip(self.names, params, strict=True))

    def flatten(self, named: Mapping[str, Any]) -> Any:
        """Make a vector of numbers by name."""
        if set(named) != set(self.names):
            missing = sorted(set(self.names) - set(named)) or sorted(set(named) - set(self.names))
            raise KeyError(f"{self.__name__}: {missing[0]!r} is in one of the two only.")
        return jnp.stack([jnp.asarray(named[name], self.lowered.dtype) for name in self.names])


def guards_hold(guards: Sequence[float], checks: Sequence[Array]) -> Array:
    """Tell whether all guards hold: each is a number that must come out again."""
    holds = jnp.asarray(True)
    for number, found in zip(guards, checks, strict=True):
        holds = holds & (jnp.isnan(found) if isnan(number) else found == number)
    return holds


def to_jax(
    function: Callable[..., Any],
    *example: Any,
    dtype: Any = None,
    guards: Literal["nan", "error"] = "nan",
    exact: bool = False,
    device: str | None = None,
) -> tuple[JaxFunction, Any]:
    """Return `(fn, params)`: the function for JAX, and the numbers of what it closes over.

    `example` fixes the structure of the arguments; the numbers in it are open. `fn(params, *args)`
    is nan, and so is its gradient, where a branch would go another way than with the example;
    `guards="error"` refuses a function with such branches. `dtype`: float64, or "float32", or
    "tf32". `exact=True` reads no number that the function does not read, so that an inf in a masked
    place cannot leak; it is slower. `device` ("cpu", "gpu") is what to plan for, if not this one.
    """
    if guards not in ("nan", "error"):
        raise ValueError(f"to_jax(guards={guards!r}): choose 'nan' or 'error'.")
    number_type(dtype)
    compiled = function if isinstance(function, Compiled) else Compiled(function)
    spec, flat = compiled.dispatch.replay_or_refuse(example, {}, lambda spec, flat: (spec, flat))
    if spec.program.guards and guards == "error":
        raise GuardError(
            f"to_jax: {compiled.__name__} decides by its numbers ({spec.program.guards[0].what}). "
            "Write the choice with where(condition, a, b)."
        )
    lowered = Lowered(spec.program, dtype, device=device, exact=exact)
    params = jnp.asarray(np.array([value.data for value in spec.captured]), lowered.dtype)
    lowered.calibrate(params, np.array(flat.numbers))
    return JaxFunction(spec, flat, lowered, compiled.__name__), params
