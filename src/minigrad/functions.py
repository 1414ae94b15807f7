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
from typing import Any, NoReturn, Protocol

from .core.coerce import as_float, as_list
from .core.elsewhere import explained
from .core.node import clock
from .core.observers import tracer
from .core.ops import OPS, TABLE
from .maths import floats as ieee
from .scalar import Value, apply, end_call, select


class _Function(Protocol):
    def __call__(self, x: Any) -> Any: ...


def _function(name: str) -> _Function:
    """Make the function of a row with one operand.

    The names are written out below, not taken from the table in a loop, for the sake of type
    checkers and editors, which read a module and do not run it. That no row is left out, the tests
    see to; everybody else takes the names from `NAMES`.
    """
    op = OPS[name]

    def function(x: Any) -> Any:
        return apply(op, x)

    function.__name__ = function.__qualname__ = name
    told: _Function = _told(function)
    return told


def _told(function: Any) -> Any:
    """Give a function the words of its row, for `help()`."""
    op = OPS[function.__name__]
    function.__doc__ = "\n\n".join(filter(None, [op.told(), op.note]))
    return function


abs = _function("abs")
exp = _function("exp")
expm1 = _function("expm1")
log = _function("log")
log1p = _function("log1p")
sqrt = _function("sqrt")
sin = _function("sin")
cos = _function("cos")
tan = _function("tan")
asin = _function("asin")
acos = _function("acos")
atan = _function("atan")
sinh = _function("sinh")
cosh = _function("cosh")
tanh = _function("tanh")
erf = _function("erf")
erfc = _function("erfc")
gelu = _function("gelu")
sigmoid = _function("sigmoid")
softplus = _function("softplus")
silu = _function("silu")
relu = _function("relu")


@_told
def atan2(y: Any, x: Any) -> Any:
    return apply(OPS["atan2"], y, x)


@_told
def hypot(a: Any, b: Any) -> Any:
    return apply(OPS["hypot"], a, b)


@_told
def leaky_relu(x: Any, slope: Any = 0.01) -> Any:
    return apply(OPS["leaky_relu"], x, slope)


@_told
def maximum(a: Any, b: Any) -> Any:
    return apply(OPS["maximum"], a, b)


@_told
def minimum(a: Any, b: Any) -> Any:
    return apply(OPS["minimum"], a, b)


@_told
def clip(x: Any, low: Any, high: Any) -> Any:
    return apply(OPS["clip"], x, low, high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where the condition holds, else `b`; the other one is not in the graph."""
    return select(condition, a, b)


# ---- any number of operands ----------------------------------------------------------------

_ONE_LIST = "it takes one list; of several, [softmax(x) for x in rows]"


def sum(xs: Iterable[Any], *more: Any) -> Any:
    """Add Values and numbers in one node; like the built-in, 0 for none."""
    if more:
        _refuse_more("sum")
    return apply(OPS["sum"], *as_list(xs, "sum(xs)"))


def mean(xs: Iterable[Any], *more: Any) -> Any:
    """Return the sum of n numbers over n. Derivatives: 1/n. Domain: any xs, one at least."""
    return apply(OPS["mean"], *_some(xs, "mean", more))


def dot(xs: Iterable[Any], ys: Iterable[Any]) -> Any:
    """Return the sum of the products, in one node."""
    xs, ys = as_list(xs, "dot(xs, …)"), as_list(ys, "dot(…, ys)")
    if len(xs) != len(ys):
        raise ValueError(f"dot(xs, ys): {len(xs)} and {len(ys)} elements; give as many of each.")
    return apply(OPS["dot"], *xs, *ys)


def logsumexp(xs: Iterable[Any], *more: Any) -> Any:
    """Return the log of the sum of exp(x). Derivatives: softmax(xs). Domain: any xs, one at least.

    It does not overflow: the largest x is taken out first.
    """
    xs = _some(xs, "logsumexp", more)
    if tracer() is not None:  # a trace wants to see what it is made of
        return OPS["logsumexp"].value(VALUES, *xs)
    return apply(OPS["logsumexp"], *xs)


@explained("softmax([a, b])", dim=_ONE_LIST, axis=_ONE_LIST)
def softmax(xs: Iterable[Any], *more: Any) -> list[Any]:
    """Return exp(x) over the sum of all exp(x), for each x: shares that add up to 1.

    Derivative of share y[i] by x[j]: y[i] * ((i == j) - y[j]). Domain: any xs, one at least.
    """
    return _composite("softmax", _some(xs, "softmax", more))


@explained("log_softmax([a, b])", dim=_ONE_LIST, axis=_ONE_LIST)
def log_softmax(xs: Iterable[Any], *more: Any) -> list[Any]:
    """Return the log of softmax, x - logsumexp(xs), for each x: exact also where a share is tiny.

    Derivative of y[i] by x[j]: (i == j) - softmax(xs)[j]. Domain: any xs, one at least.
    """
    return _composite("log_softmax", _some(xs, "log_softmax", more))


def take(rows: Sequence[Any], index: Any) -> Any:
    """Return `rows[index]`: what is taken is the Value (or the row of Values) itself.

    Written instead of `rows[index]`, it tells a tracer that the index may differ from call to call.
    """
    pick = getattr(index, "_taken_from", None)  # while a function is traced
    if pick is not None:
        return pick(rows)
    if not hasattr(index, "__index__"):
        raise TypeError(
            f"take(rows, index): got {type(index).__name__}; an index is a whole number: "
            "int(index)."
        )
    if isinstance(rows, Value):
        raise TypeError("take(rows, index): got Value for rows; give the list: take(rows, index).")
    try:
        return rows[operator.index(index)]
    except IndexError:
        raise IndexError(
            f"take(rows, index): there are {len(rows)} rows, numbered from 0 on, and none "
            f"has the number {operator.index(index)}."
        ) from None


def _refuse_more(name: str) -> NoReturn:
    raise TypeError(f"{name}(xs): got several arguments; it takes one list: {name}([a, b]).")


def _some(xs: Iterable[Any], name: str, more: tuple[Any, ...]) -> list[Any]:
    if more:
        _refuse_more(name)
    xs = as_list(xs, f"{name}(xs)")
    if not xs:
        raise ValueError(f"{name}(xs): got nothing; give at least one Value or number.")
    return xs


def _composite(name: str, xs: list[Any]) -> list[Any]:
    """Evaluate a row that has no derivative of its own: its rule, on Values, makes the graph."""
    for x in xs:
        if not isinstance(x, Value):
            as_float(x, name)  # or its parts would complain, by names that nobody knows
    start = clock.tick()
    results: list[Any] = OPS[name].value(VALUES, *xs)
    if any(isinstance(x, Value) for x in xs):
        results = [y if isinstance(y, Value) else Value(y) for y in results]
        end_call(results, name, start)
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


def _equal(a: Any, b: Any) -> bool:
    return _number(a) == _number(b)


NAMES = sorted(
    name
    for name, thing in globals().items()
    if name[0] != "_" and getattr(thing, "__module__", None) == __name__
)
# Not by its name: a type checker cannot read a computed list, and would take nothing for public.
globals()["__all__"] = NAMES

# Every row that is a node of one to three operands; a rule may say any of them.
_ROWS = {row.name: partial(apply, row) for row in TABLE if row.arity in (1, 2, 3)}

VALUES = SimpleNamespace(
    **{name: globals()[name] for name in NAMES if name not in ("where", "sum", "take")},
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
