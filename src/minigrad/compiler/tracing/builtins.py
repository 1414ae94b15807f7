"""What stands in for Python's own functions while a function is traced.

`max(xs)` compares, and so would tie the program to the place of the largest; `math.exp(x.data)`
asks for the number, and so would tie it to that. Both are kept open for whatever belongs to the
trace. For everything else, in this thread or in others, they do what they always do. (`from math
import exp` is out of reach: that one asks for the number.) Sources of randomness that have no state
to compare are heard of here too. Start at `patched`.
"""

from __future__ import annotations

import builtins
import json
import math
import os
import random
import statistics
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import starmap
from math import inf
from types import FunctionType
from typing import Any

import numpy as np

from ...core.coerce import is_number
from ...core.ops import OPS
from ...scalar import Value, apply
from .lifted import Argument
from .proxies import TraceContext, TracedNumber, plain_number

# What math's functions ask of their argument: they raise where a program would go on with nan.
_MAY_OVERFLOW = ("exp", "expm1", "sinh", "cosh")
_DOMAINS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("tanh", "atan", "erf", "erfc", "fabs", *_MAY_OVERFLOW), lambda x: True),
    **dict.fromkeys(("sin", "cos", "tan"), lambda x: abs(x) < inf),
    **dict.fromkeys(("asin", "acos"), lambda x: abs(x) <= 1),
    "log": lambda x: x > 0,
    "log1p": lambda x: x > -1,
    "sqrt": lambda x: x >= 0,
}


@contextmanager
def patched(context: TraceContext, *modules: Any) -> Iterator[None]:
    """Have the stand-ins of this module in force; or only those for some `modules`.

    Whoever calls sees to it that nobody else does: see `trace.turn`.
    """
    wanted = [place for place in _PATCHES if not modules or place[0] in modules]
    plain = [(module, name, getattr(module, name)) for module, name in wanted]
    patches = [(module, name, _PATCHES[module, name](context, f)) for module, name, f in plain]
    start = len(_plain)
    try:  # first: Ctrl-C may come in between
        _plain.extend(plain)
        _put(patches)
        yield
    finally:
        unpatch(start)


_plain: list[tuple[Any, str, Any]] = []  # what stood in the places that are patched now


def unpatch(start: int = 0) -> None:
    """Put back what was patched, or the part of it from `start` on."""
    _put(_plain[: start - 1 if start else None : -1])
    del _plain[start:]


def stands_in(function: Any) -> bool:
    """Tell whether it is one of those that stand in for others."""
    return type(function) is FunctionType and function.__globals__ is globals()


def _put(places: list[tuple[Any, str, Any]]) -> None:
    deque(starmap(setattr, places), maxlen=0)  # C calls C: nothing comes in between


def _belongs(x: Any, context: TraceContext) -> bool:
    return (isinstance(x, TracedNumber) and x.context is context) or (
        isinstance(x, Value) and context.is_here()
    )


def _has_a_float(x: Any, exact: int) -> bool:
    """Tell whether it is a number that a program can hold."""
    return is_number(x) and not (isinstance(x, int) and abs(x) > exact)


def _chooser(flip: Callable[[Any], Any]) -> Any:
    """For `max`, and with the signs flipped for `min`."""

    def opened(context: TraceContext, plain: Any) -> Any:
        def choose(*arguments: Any, key: Any = None, **options: Any) -> Any:
            if options or not arguments:
                return plain(*arguments, key=key, **options)
            xs = list(arguments[0] if len(arguments) == 1 else arguments)
            if key is not None:
                return choose_by(xs, list(map(key, xs)))
            if not _stay_open(xs, context):
                return plain(xs)
            flipped = [flip(x) for x in xs]
            if any(isinstance(x, Value) for x in xs):
                return context.largest(flipped)[1]._taken_from(xs)
            if not _are_of_one_kind(xs):
                return plain(xs)  # which kind of number comes out depends on the place
            return flip(context.highest(flipped))

        def choose_by(xs: list[Any], keys: list[Any]) -> Any:
            is_number = all(isinstance(x, (TracedNumber, Value)) or is_whole(x) for x in xs)
            if is_number and _are_of_one_kind(xs) and _stay_open(keys, context):
                return context.largest([flip(key) for key in keys])[1]._taken_from(xs)
            return xs[plain(range(len(xs)), key=keys.__getitem__)]

        def is_whole(x: Any) -> bool:
            return type(x) is int and _has_a_float(x, context.exact)

        return choose

    return opened


def _stay_open(xs: list[Any], context: TraceContext) -> bool:
    """Tell whether to compare them is for the program: numbers, some of which it follows."""
    return any(_belongs(x, context) for x in xs) and all(
        isinstance(x, (TracedNumber, Value)) or _has_a_float(x, context.exact) for x in xs
    )


def _are_of_one_kind(xs: list[Any]) -> bool:
    return len({type(getattr(x, "number", x)) for x in xs}) == 1


def _adder(context: TraceContext, plain: Any) -> Any:
    """From Python 3.12 on, `sum` of floats makes good what rounding loses; so it does open."""

    def total(xs: Any, /, start: Any = 0) -> Any:
        is_number = start == 0 if type(start) is int else type(start) is float
        if not context.is_here() or not is_number:
            return plain(xs, start)
        terms = list(xs)
        kinds = {type(x.number) if isinstance(x, TracedNumber) else type(x) for x in terms}
        if kinds != {float} or not any(isinstance(x, TracedNumber) for x in terms):
            return plain(terms, start)
        found: Any = TracedNumber(context, Value(float(start)), float(start))
        lost: Any = TracedNumber(context, Value(0.0), 0.0)
        for x in terms:
            new = found + x
            is_larger = abs(found) >= abs(x)
            large, small = (_either(context, is_larger, a, b) for a, b in ((found, x), (x, found)))
            lost, found = lost + ((large - new) + small), new
        return _either(context, abs(lost) < inf, found + lost, found)

    return total


def _either(context: TraceContext, condition: Any, a: Any, b: Any) -> TracedNumber:
    """`a if condition else b` of numbers, kept open."""
    pair = [x.node if isinstance(x, TracedNumber) else x for x in (a, b)]
    number = plain_number(a if condition.number else b)
    node = context.special("where", (condition.node, *pair), number)
    return TracedNumber(context, node, number)


# ---- math ----------------------------------------------------------------------------------------


def _function(name: str) -> Any:
    row, is_defined = OPS["abs" if name == "fabs" else name], _DOMAINS[name]

    def opened(context: TraceContext, plain: Any) -> Any:
        def compute(*arguments: Any) -> Any:
            x: Any = arguments[0] if len(arguments) == 1 else None
            if getattr(x, "context", None) is not context:
                return plain(*arguments)
            read: Any = x if isinstance(x, TracedNumber) else x._read()
            try:
                number = plain(read.number)
            except (ValueError, OverflowError):  # as outside, where somebody may catch it
                read._concretise()
                raise
            # A guard: and at other calls too. A nan passes here, and tells nothing of others.
            if not is_defined(read) or (name in _MAY_OVERFLOW and not abs(number) < inf):
                return plain(read._concretise())
            result = TracedNumber(context, apply(row, read.node), number)
            if name in _MAY_OVERFLOW:
                bool(abs(result) < inf)
            return result

        return compute

    return opened


def _is_nan(context: TraceContext, plain: Any) -> Any:
    def compute(x: Any) -> Any:
        if getattr(x, "context", None) is context:
            read = x if isinstance(x, TracedNumber) else x._read()
            return read != read  # noqa: PLR0124 - only a nan is
        return plain(x)

    return compute


# ---- what looks at the very type of a number -----------------------------------------------------


def _concrete(x: Any) -> Any:
    """The number itself, which ties the program to it; of lists, all numbers."""
    if isinstance(x, Argument):
        raise TypeError(
            "a number that a compiled function was given is a Value inside, to have derivatives. "
            "Write minigrad.mean(xs) and the like; or take the numbers alone, [x.data for x in xs]."
        )
    if isinstance(x, TracedNumber):
        return x._concretise()
    return [_concrete(part) for part in x] if type(x) in (list, tuple) else x


def _on_numbers(context: TraceContext, plain: Any) -> Any:
    def compute(data: Any, *more: Any, **options: Any) -> Any:
        if context.is_here():
            data = _concrete(data if type(data) in (list, tuple) else list(data))
        return plain(data, *more, **options)

    return compute


def _as_json(context: TraceContext, plain: Any) -> Any:
    def default(self: json.JSONEncoder, x: Any) -> Any:
        return _concrete(x) if isinstance(x, (TracedNumber, Argument)) else plain(self, x)

    return default


def _drawn(is_unseeded: Callable[..., bool], given: Callable[[Any], Any] = lambda x: x) -> Any:
    """For sources of randomness that have no state to look at."""

    def opened(context: TraceContext, plain: Any) -> Any:
        def draw(*arguments: Any, **options: Any) -> Any:
            if context.is_here() and not options and is_unseeded(*arguments):
                context.drew()
            return plain(*map(given, arguments), **options)

        return draw

    return opened


_PATCHES: dict[tuple[Any, str], Any] = {
    (builtins, "max"): _chooser(lambda x: x),
    (builtins, "min"): _chooser(lambda x: -x),
    **({(builtins, "sum"): _adder} if sys.version_info >= (3, 12) else {}),
    **{(math, name): _function(name) for name in _DOMAINS},
    (math, "isnan"): _is_nan,
    (json.JSONEncoder, "default"): _as_json,
    **{
        (statistics, name): _on_numbers
        for name in ("mean", "fmean", "median", "stdev", "pstdev", "variance", "pvariance")
    },
    (np.random, "default_rng"): _drawn(lambda *seeds: not seeds, _concrete),
    (os, "urandom"): _drawn(lambda *_: True),
    (random, "_urandom"): _drawn(lambda *_: True),  # the same, for SystemRandom
    (random.Random, "seed"): _drawn(lambda _, *seeds: seeds in ((), (None,))),
}
