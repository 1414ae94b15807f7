"""The operations as functions, on Values and numbers alike.

`exp(v)` on a Value makes a node; on a plain number it is ordinary arithmetic with IEEE answers, so
the same code runs with and without gradients. `VALUES` is this module as a mathematics for the
rules of `ops.py`: a derivative evaluated there is itself a graph, and can be differentiated again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from .core.coerce import as_list
from .core.observers import tracer
from .core.ops import OPS, TABLE
from .maths import floats as ieee
from .scalar import Value, apply, select

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "clip",
    "cos",
    "cosh",
    "dot",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "gelu",
    "hypot",
    "leaky_relu",
    "log",
    "log1p",
    "log_softmax",
    "logsumexp",
    "maximum",
    "mean",
    "minimum",
    "relu",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "sum",
    "take",
    "tan",
    "tanh",
    "where",
]


def abs(x: Any) -> Any:
    return apply(OPS["abs"], x)


def exp(x: Any) -> Any:
    return apply(OPS["exp"], x)


def expm1(x: Any) -> Any:
    return apply(OPS["expm1"], x)


def log(x: Any) -> Any:
    return apply(OPS["log"], x)


def log1p(x: Any) -> Any:
    return apply(OPS["log1p"], x)


def sqrt(x: Any) -> Any:
    return apply(OPS["sqrt"], x)


def sin(x: Any) -> Any:
    return apply(OPS["sin"], x)


def cos(x: Any) -> Any:
    return apply(OPS["cos"], x)


def tan(x: Any) -> Any:
    return apply(OPS["tan"], x)


def asin(x: Any) -> Any:
    return apply(OPS["asin"], x)


def acos(x: Any) -> Any:
    return apply(OPS["acos"], x)


def atan(x: Any) -> Any:
    return apply(OPS["atan"], x)


def atan2(y: Any, x: Any) -> Any:
    return apply(OPS["atan2"], y, x)


def hypot(a: Any, b: Any) -> Any:
    return apply(OPS["hypot"], a, b)


def sinh(x: Any) -> Any:
    return apply(OPS["sinh"], x)


def cosh(x: Any) -> Any:
    return apply(OPS["cosh"], x)


def tanh(x: Any) -> Any:
    return apply(OPS["tanh"], x)


def erf(x: Any) -> Any:
    return apply(OPS["erf"], x)


def erfc(x: Any) -> Any:
    return apply(OPS["erfc"], x)


def gelu(x: Any) -> Any:
    return apply(OPS["gelu"], x)


def sigmoid(x: Any) -> Any:
    return apply(OPS["sigmoid"], x)


def softplus(x: Any) -> Any:
    return apply(OPS["softplus"], x)


def silu(x: Any) -> Any:
    return apply(OPS["silu"], x)


def relu(x: Any) -> Any:
    return apply(OPS["relu"], x)


def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    return apply(OPS["leaky_relu"], x, slope)


def maximum(a: Any, b: Any) -> Any:
    return apply(OPS["maximum"], a, b)


def minimum(a: Any, b: Any) -> Any:
    return apply(OPS["minimum"], a, b)


def clip(x: Any, low: Any, high: Any) -> Any:
    return apply(OPS["clip"], x, low, high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds, else `b`; the other one is not in the graph."""
    return select(condition, a, b)


# ---- any number of operands ----------------------------------------------------------------


def sum(xs: Iterable[Any]) -> Any:
    """Add Values and numbers in one node; like the built-in, 0 for none."""
    return apply(OPS["sum"], *as_list(xs, "sum(xs)"))


def mean(xs: Iterable[Any]) -> Any:
    return apply(OPS["mean"], *_some(xs, "mean"))


def dot(xs: Iterable[Any], ys: Iterable[Any]) -> Any:
    """Return the sum of the products, in one node."""
    xs, ys = as_list(xs, "dot(xs, …)"), as_list(ys, "dot(…, ys)")
    if len(xs) != len(ys):
        raise ValueError(f"dot(xs, ys): {len(xs)} and {len(ys)} elements; give as many of each.")
    return apply(OPS["dot"], *xs, *ys)


def logsumexp(xs: Iterable[Any]) -> Any:
    xs = _some(xs, "logsumexp")
    if tracer() is not None:  # a trace wants to see what it is made of
        return OPS["logsumexp"].value(VALUES, *xs)
    return apply(OPS["logsumexp"], *xs)


def softmax(xs: Iterable[Any]) -> list[Any]:
    return _composite("softmax", xs)


def log_softmax(xs: Iterable[Any]) -> list[Any]:
    return _composite("log_softmax", xs)


def take(rows: Sequence[Any], index: Any) -> Any:
    """Return `rows[index]`: what is taken is the Value (or the row of Values) itself.

    Written instead of `rows[index]`, it tells a tracer that the index may differ from call to call.
    """
    pick = getattr(index, "_taken_from", None)  # while a function is traced
    return rows[operator.index(index)] if pick is None else pick(rows)


def _some(xs: Iterable[Any], name: str) -> list[Any]:
    xs = as_list(xs, f"{name}(xs)")
    if not xs:
        raise ValueError(f"{name}(xs): got nothing; give at least one Value or number.")
    return xs


def _composite(name: str, xs: Iterable[Any]) -> list[Any]:
    """Evaluate a row that has no derivative of its own: its rule, on Values, makes the graph."""
    xs = _some(xs, name)
    results: list[Any] = OPS[name].value(VALUES, *xs)
    if any(isinstance(x, Value) for x in xs):
        return [y if isinstance(y, Value) else Value(y) for y in results]
    return results


# ---- as a mathematics ----------------------------------------------------------------------


def _largest(xs: Sequence[Any]) -> tuple[Any, Any]:
    """Return the largest number and its position; traced, both stay open."""
    reader = tracer()
    if reader is not None:
        return reader.largest(xs)
    _, position = ieee.largest([_number(x) for x in xs])
    return xs[position], position


def _sum_of_values(terms: Iterable[Any]) -> Any:
    """Add; the plain zeros that a rule puts where an operand does not count make no leaves."""
    terms = [term for term in terms if isinstance(term, Value) or term != 0.0]
    return sum(terms) if terms else 0.0


def _number(x: Any) -> float:
    return x.data if isinstance(x, Value) else x


def _choice(condition: Any, a: Any, b: Any) -> Any:
    """Inside a rule a choice is no node, unless the rule is traced: then it stays a choice."""
    traced = getattr(condition, "_traced_node", None)
    return select(condition, a, b) if traced is not None else a if condition else b


def _usually(holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Any:
    traced = getattr(holds, "_traced_node", None)
    if traced is not None:
        return select(holds, usual, otherwise())
    return usual if holds else otherwise()


def _equal(a: Any, b: Any) -> Any:
    equal: Any = _number(a) == _number(b)
    return equal


# Every row that is a node of one to three operands; a rule may say any of them.
_ROWS = {row.name: partial(apply, row) for row in TABLE if row.arity in (1, 2, 3)}

VALUES = SimpleNamespace(
    **{name: globals()[name] for name in __all__ if name not in ("where", "sum", "take")},
    where=_choice,
    usually=_usually,
    sum=_sum_of_values,
    pow=_ROWS["pow"],
    div=_ROWS["div"],
    rows=_ROWS,
    equal=_equal,
    largest=_largest,
    number=_number,
)
