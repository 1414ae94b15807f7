"""Mathematics on Python floats that answers as IEEE 754 does.

`math` raises where the hardware answers: `1/0`, `exp(710)`, `log(0)`, `sin(inf)`, `(-8)**0.5`. An
engine must not lose a training run to that, so every function here returns the IEEE result, `inf`
or `nan`, instead. The module is itself a *mathematics*: the rules of `ops.py` receive it, or one of
its siblings for other kinds of number (`functions.py` for Values, `arrays.py` for arrays), as `m`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from math import copysign, inf, nan

abs, hypot, tanh, atan, atan2 = math.fabs, math.hypot, math.tanh, math.atan, math.atan2
erf, erfc = math.erf, math.erfc
rows: dict[str, Callable[..., float]] = {}  # of the op table that are one word: none


def _quiet(
    function: Callable[[float], float], complaint: type[Exception], answer: float
) -> Callable[[float], float]:
    """Wrap a `math` function that raises only where IEEE has one answer."""

    def quiet(x: float) -> float:
        try:
            return function(x)
        except complaint:
            return answer

    return quiet


sqrt = _quiet(math.sqrt, ValueError, nan)
sin = _quiet(math.sin, ValueError, nan)
cos = _quiet(math.cos, ValueError, nan)
tan = _quiet(math.tan, ValueError, nan)
asin = _quiet(math.asin, ValueError, nan)
acos = _quiet(math.acos, ValueError, nan)
exp = _quiet(math.exp, OverflowError, inf)
expm1 = _quiet(math.expm1, OverflowError, inf)
cosh = _quiet(math.cosh, OverflowError, inf)


def sinh(x: float) -> float:
    try:
        return math.sinh(x)
    except OverflowError:
        return copysign(inf, x)


def log(x: float) -> float:
    try:
        return math.log(x)
    except ValueError:
        return -inf if x == 0.0 else nan


def log1p(x: float) -> float:
    try:
        return math.log1p(x)
    except ValueError:
        return -inf if x == -1.0 else nan


def div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0.0 or math.isnan(a):
            return nan
        return copysign(inf, a) * copysign(1.0, b)


def pow(x: float, n: float) -> float:
    try:
        return math.pow(x, n)
    except OverflowError:
        return -inf if x < 0.0 and _is_odd(n) else inf
    except ValueError:  # zero to a negative power is a pole; a negative base has no real power
        if x != 0.0:
            return nan
        return copysign(inf, x) if _is_odd(n) else inf


def _is_odd(n: float) -> bool:
    return math.fmod(n, 2.0) in (1.0, -1.0)


def sum(terms: Iterable[float]) -> float:
    """Add from left to right, as a chain of `+` would.

    The built-in `sum` compensates its rounding from Python 3.12 on; the same program must give the
    same bits on every version.
    """
    total = 0.0
    for term in terms:
        total += term
    return total


def where(condition: bool, a: float, b: float) -> float:
    return a if condition else b


def usually(holds: bool, usual: float, otherwise: Callable[[], float]) -> float:
    return usual if holds else otherwise()


def equal(a: float, b: float) -> bool:
    return a == b


def largest(xs: Sequence[float]) -> tuple[float, int]:
    """Return the largest number and its position; the first, if there are several."""
    position = max(range(len(xs)), key=xs.__getitem__)
    return xs[position], position


def number(x: float) -> float:
    """Return the plain number behind `x`: what a rule reads when it must not differentiate."""
    return x
