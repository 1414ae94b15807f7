"""What a plan needs of an array library, in JAX's words, and the op table as JAX functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ....codegen.elementwise import MAPS
from ....core.ops import Op
from ....maths.arrays import ArrayMath
from ...passes.grad import FLAT
from .primitives import gather, scaled

Array = Any
_PLAIN = ("add", "sub", "mul", "neg")  # whose slopes JAX knows as well


def _equal(a: Any, b: Any) -> Any:
    return a == b if isinstance(a, float) and isinstance(b, float) else jnp.equal(a, b)


def _where(condition: Any, a: Any, b: Any) -> Any:
    """Choose, at once if it is known already."""
    return (a if condition else b) if isinstance(condition, bool) else jnp.where(condition, a, b)


class _Math(ArrayMath):
    """The mathematics of `jnp`.

    `exact` is right at the ends of the range of floats, too, and computes twice everywhere: while
    JAX traces, nobody can tell which lanes need it. Slopes will be differentiated again: their
    `rows` are functions with slopes of their own.
    """

    def __init__(self, exact: bool, slopes: bool) -> None:
        special = jax.scipy.special
        super().__init__(
            jnp, erf=special.erf, erfc=special.erfc, number=lax.stop_gradient, traced=True
        )
        self._exact = exact
        self.equal, self.where = _equal, _where
        if slopes:
            self.rows = _Rows(exact)  # type: ignore[assignment]

        if not exact:
            self.pow = _power

    def usually(self, holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Any:
        """Return what is right but for the ends of the range, or what is right there too."""
        return super().usually(holds, usual, otherwise) if self._exact else usual


def _power(x: Any, n: Any) -> Any:
    """The power; those of a norm without the logarithm that XLA would take for them."""
    if n == -0.5:
        return jnp.where(x == 0.0, jnp.inf, lax.rsqrt(x))
    if n == -1.5:  # in products: a quotient XLA would not compute twice, but in a kernel of its own
        root = _power(x, -0.5)
        return root * root * root
    return jnp.power(x, n)


class _Rows:
    """Every row of the op table as a function."""

    def __init__(self, exact: bool) -> None:
        self._exact = exact

    def __getitem__(self, name: str) -> Callable[..., Array]:
        return elementwise(name, exact=self._exact)


MATH = _Math(exact=True, slopes=False)
_MATHS = {
    (exact, slopes): _Math(exact, slopes) for exact in (True, False) for slopes in (True, False)
}


def _is_right_without_ends(name: str, known: tuple[float | None, ...]) -> bool:
    """Whether the usual formula is the plain one, right at 0 and inf, and only loses digits."""
    if name in ("pow", "pow_slope"):
        return known[1] is not None and known[1] != 0.0
    return name in ("div", "relu")


# ---- element by element --------------------------------------------------------------------------


def elementwise(name: str, skips: bool = False, exact: bool = False) -> Callable[..., Array]:
    """Return an operation of the table; operands that are floats are known, and not followed."""

    def run(*xs: Array) -> Array:
        known = tuple(x if isinstance(x, float) else None for x in xs)
        made = _made(name, skips, known, exact or not _is_right_without_ends(name, known))
        return made(*[x for x in xs if not isinstance(x, float)])

    return run


@functools.lru_cache(maxsize=4096)
def _made(
    name: str, skips: bool, known: tuple[float | None, ...], exact: bool
) -> Callable[..., Array]:
    """Return an operation with the slopes of the table, some of its operands being known."""
    op = MAPS[name]
    open_ = [at for at, number in enumerate(known) if number is None]

    def filled(xs: Any) -> list[Any]:
        given = iter(xs)
        return [next(given) if number is None else number for number in known]

    def value(*xs: Array) -> Array:
        if name == "relu" and not exact:  # XLA moves reshapes past a maximum, not past a choice
            return jnp.maximum(xs[0], 0.0)
        return op.value(_MATHS[exact, False], *filled(xs))

    if name in FLAT:
        return lambda *xs: lax.stop_gradient(value(*xs))
    if name == "where":
        return lambda condition, a, b: lax.select(condition != 0, a, b)
    if name in _PLAIN and not skips:
        return value
    function = jax.custom_jvp(value)

    def jvp(primals: Any, tangents: Any) -> Any:
        y, arguments, parts = function(*primals), filled(primals), []
        if name == "relu":
            arguments = [y]  # which tells the slope as well, and is kept anyway
        for at, t in zip(open_, tangents, strict=True):
            if not isinstance(t, jax.custom_derivatives.SymbolicZero):
                change = jnp.broadcast_to(t, jnp.shape(y))
                slope = _slope(op, at, _MATHS[exact, True], y, arguments)
                parts.append(scaled(change, slope) if skips else slope * change)
        return y, functools.reduce(operator.add, parts) if parts else jnp.zeros_like(y)

    function.defjvp(jvp, symbolic_zeros=True)
    found: Callable[..., Array] = function
    return found


def _slope(op: Op, at: int, m: ArrayMath, y: Array, arguments: list[Any]) -> Array:
    if op.partials:
        return op.partials[at](m, y, *arguments)
    return op.derivatives(m, y, *arguments)[at]


# ---- the library ---------------------------------------------------------------------------------


class JaxLibrary:
    """What a plan needs, in JAX's words; `lax` where it is quicker to trace than `jnp`."""

    stretches = True

    def __init__(self, dtype: Any, precision: Any, exact: bool = False) -> None:
        self.dtype, self.precision, self.exact = np.dtype(dtype), precision, exact

    def reshape(self, x: Array, shape: tuple[int, ...]) -> Array:
        if -1 in shape:
            shape = tuple(x.size // -np.prod(shape) if n < 0 else n for n in shape)
        return x if x.shape == shape else lax.reshape(x, shape)

    def transpose(self, x: Array, order: tuple[int, ...]) -> Array:
        return lax.transpose(x, order)

    def split(self, x: Array, axis: int, sizes: tuple[int, ...]) -> Sequence[Array]:
        parts: Sequence[Array] = lax.split(x, sizes, axis)
        return parts

    def join(self, parts: Sequence[Array]) -> Array:
        return lax.concatenate(parts, 0)

    def cut(self, x: Array, axis: int, first: int, end: int) -> Array:
        return lax.slice_in_dim(x, first, end, axis=axis)

    def stretch(self, x: Array, shape: tuple[int, ...]) -> Array:
        return jnp.broadcast_to(x, shape)

    def constant(self, numbers: Any) -> Array:
        return np.asarray(numbers, self.dtype)

    def where(self, condition: Any, a: Array, b: Array) -> Array:
        return jnp.where(condition, a, b)

    def gather(self, x: Array, index: Any) -> Array:
        return gather(x, index)

    def sum(self, x: Array) -> Array:
        return x.sum(axis=-1)

    def largest(self, x: Array) -> tuple[Array, Array]:
        x = lax.stop_gradient(x)
        if self.exact:  # a nan is never greater, so it counts only where the search starts
            first = jnp.isnan(x[..., :1])
            x = jnp.where(first, x[..., :1], jnp.where(jnp.isnan(x), -jnp.inf, x))
        return x.max(axis=-1), x.argmax(axis=-1).astype(self.dtype)

    def product(self, a: Array, b: Array, batch: int) -> Array:
        if batch:
            # Behind the rows batches are mostly where they were before they came to the front. And
            # XLA brings operands of its own into the order of its quickest products, not ours.
            order, axes = (batch, *range(batch), batch + 1), tuple(range(1, batch + 1))
            a, b = (lax.transpose(side, order) for side in (a, b))
            dimensions = ((batch + 1,), (batch + 1,)), (axes, axes)
        else:
            # The transpose is free, and has XLA compute the gradient of `b` without a copy of what
            # came back, which is mostly larger.
            b, dimensions = lax.transpose(b, (1, 0)), (((1,), (0,)), ((), ()))
        return lax.dot_general(a, b, dimensions, precision=self.precision)

    def one_hot(self, index: Array, count: int) -> tuple[Array, Array]:
        index = lax.stop_gradient(index)
        whole = jnp.where(index < 0, index + count, index)
        valid = (whole >= 0) & (whole < count)
        if not jnp.issubdtype(index.dtype, jnp.integer):
            valid &= whole == jnp.floor(whole)
        here = whole[:, None] == jnp.arange(count, dtype=index.dtype)
        return here | ~valid[:, None], jnp.where(valid, 1.0, jnp.nan).astype(self.dtype)

    def elementwise(self, op: str, skips: bool) -> Callable[..., Array]:
        return elementwise(op, skips, self.exact)
