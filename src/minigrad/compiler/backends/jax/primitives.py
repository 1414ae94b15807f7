"""What JAX has no good word for: two primitives.

- `gather` reads at constant places, and its transpose is a gather too. JAX would make a scatter of
  it, the slowest thing one can ask of XLA, although all the places are known beforehand.
- `scaled` is a product that is 0 where its first factor is 0, whatever the other is: what was not
  chosen has no gradient, even where its slope is inf. It is linear in both factors, so that forward
  and reverse mode, and any number of them, go through it.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

Array = Any


# ---- gathers at constant places ------------------------------------------------------------------


class _Index:
    """A table of places that can be a parameter of a primitive."""

    def __init__(self, table: Any) -> None:
        self.table = np.ascontiguousarray(np.ravel(table), dtype=np.int32)
        self._bytes = self.table.tobytes()

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Index) and self._bytes == other._bytes


gather_p = Primitive("minigrad_gather")


def _gathered(x: Array, *, index: _Index) -> Array:
    table = index.table
    found = jnp.take(x, np.maximum(table, 0), axis=-1, mode="clip")
    return found if (table >= 0).all() else jnp.where(table >= 0, found, 0)


def _scattered(cotangent: Array, x: Any, *, index: _Index) -> list[Array]:
    """Add up what belongs to each element: gathered by it, as often as it was read."""
    if type(cotangent) is ad.Zero:
        return [ad.Zero(x.aval)]
    size, table = x.aval.shape[-1], index.table
    valid = np.flatnonzero(table >= 0)
    order = valid[np.argsort(table[valid], kind="stable")]
    counts = np.bincount(table[order], minlength=size)
    deepest = int(counts.max(initial=1))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    often = counts > max(4 * len(table) // max(size, 1), 4)
    if often.any() and deepest > 16:  # a few elements are read by very many: those by masks
        often = np.flatnonzero(often)
        usual = np.where(np.isin(table, often), -1, table)
        (rest,) = _scattered(cotangent, x, index=_Index(usual))
        masks = (table == often[:, None]).astype(cotangent.dtype)
        totals = lax.dot_general(
            cotangent, masks, (((cotangent.ndim - 1,), (1,)), ((), ())), precision="highest"
        )
        place = np.full(size, -1)
        place[often] = np.arange(len(often))
        return [rest + gather_p.bind(totals, index=_Index(place))]
    inverse = np.full((size, deepest), -1)
    inverse[table[order], rank] = order
    found = gather_p.bind(cotangent, index=_Index(inverse))
    if deepest == 1:
        return [found]
    return [found.reshape(*cotangent.shape[:-1], size, deepest).sum(-1)]


gather_p.def_impl(_gathered)
gather_p.def_abstract_eval(
    lambda x, *, index: x.update(shape=(*x.shape[:-1], len(index.table)), weak_type=False)
)
mlir.register_lowering(gather_p, mlir.lower_fun(_gathered, multiple_results=False))
ad.deflinear2(gather_p, _scattered)
batching.primitive_batchers[gather_p] = lambda xs, dims, *, index: (
    gather_p.bind(jnp.moveaxis(xs[0], dims[0], 0), index=index),
    0,
)


# ---- products that are 0 where nothing is passed on ----------------------------------------------

scaled_p = Primitive("minigrad_scaled")


def _scaled(x: Array, slope: Array) -> Array:
    return jnp.where(x == 0, jnp.zeros_like(x), x * slope)


def _scaled_jvp(primals: Any, tangents: Any) -> Any:
    x, slope = primals
    dx, dslope = tangents
    y = scaled_p.bind(x, slope)
    parts = []
    if type(dx) is not ad.Zero:
        parts.append(scaled_p.bind(dx, slope))
    if type(dslope) is not ad.Zero:
        parts.append(scaled_p.bind(x, dslope))
    return y, functools.reduce(operator.add, parts) if parts else jnp.zeros_like(y)


def _scaled_transpose(cotangent: Array, x: Any, slope: Any) -> Any:
    if ad.is_undefined_primal(x):
        if type(cotangent) is ad.Zero:
            return ad.Zero(x.aval), None
        return scaled_p.bind(cotangent, slope), None
    if type(cotangent) is ad.Zero:
        return None, ad.Zero(slope.aval)
    return None, scaled_p.bind(x, cotangent)


def _scaled_rows(factors: Any, dims: Any) -> Any:
    """Both factors get the axis of rows: the primitive wants them of one shape."""
    pairs = list(zip(factors, dims, strict=True))
    size = next(x.shape[at] for x, at in pairs if at is not None)
    rows = [
        jnp.broadcast_to(x, (size, *x.shape)) if at is None else jnp.moveaxis(x, at, 0)
        for x, at in pairs
    ]
    return scaled_p.bind(*rows), 0


scaled_p.def_impl(jax.jit(_scaled))
scaled_p.def_abstract_eval(lambda x, slope: x.update(weak_type=False))
mlir.register_lowering(scaled_p, mlir.lower_fun(_scaled, multiple_results=False))
ad.primitive_jvps[scaled_p] = _scaled_jvp
ad.primitive_transposes[scaled_p] = _scaled_transpose
batching.primitive_batchers[scaled_p] = _scaled_rows


def gather(x: Array, index: Any) -> Array:
    """Return the elements of a vector at constant places, 0 for -1."""
    places = _Index(index)
    if np.array_equal(places.table, np.arange(x.shape[-1])):
        return x
    return gather_p.bind(x, index=places)


def scaled(x: Array, slope: Array) -> Array:
    """Return x * slope, and 0 where x is 0."""
    return scaled_p.bind(x, jnp.broadcast_to(slope, x.shape).astype(x.dtype))
