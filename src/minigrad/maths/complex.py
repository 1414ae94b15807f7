"""Mathematics on complex numbers: the rules of `ops.py`, for derivatives by the complex step.

`COMPLEX` has the same words as `ieee`. A rule may compare numbers, which Python's complex ones do
not allow; so they are `Ordered`, by their real parts: a choice goes as it does on the real line.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def plain(x: Any) -> complex:
    """Return a number of Python's own."""
    return x.z if isinstance(x, Ordered) else complex(x)


def _on_complex(function: Callable[..., complex]) -> Callable[..., Ordered]:
    return lambda *xs: Ordered(function(*map(plain, xs)))


def _comparison(function: Callable[..., bool]) -> Callable[..., bool]:
    return lambda a, b: function(plain(a).real, plain(b).real)


class Ordered:
    """A complex number that rules may compare: by its real part."""

    __slots__ = ("z",)

    def __init__(self, z: complex) -> None:
        self.z = z

    def __neg__(self) -> Ordered:
        return Ordered(-self.z)

    __add__ = __radd__ = _on_complex(operator.add)
    __sub__, __rsub__ = _on_complex(operator.sub), _on_complex(lambda b, a: a - b)
    __mul__ = __rmul__ = _on_complex(operator.mul)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)


def _expm1(z: complex) -> complex:
    half = math.sin(z.imag / 2)
    real = math.expm1(z.real) * math.cos(z.imag) - 2 * half * half
    return complex(real, math.exp(z.real) * math.sin(z.imag))


def _log1p(z: complex) -> complex:
    sideways = z.imag / (1 + z.real)
    real = math.log1p(z.real) + math.log1p(sideways * sideways) / 2
    return complex(real, math.atan2(z.imag, 1 + z.real))


def _hypot(a: complex, b: complex) -> complex:
    size = max(abs(a.real), abs(b.real))  # the squares must not overflow
    return size * cmath.sqrt((a / size) ** 2 + (b / size) ** 2)


def _atan2(y: complex, x: complex) -> complex:
    turned = abs(y.real) > abs(x.real)
    z = -cmath.atan(x / y) if turned else cmath.atan(y / x)
    quarters = round((math.atan2(y.real, x.real) - z.real) / (math.pi / 2))
    return z + quarters * (math.pi / 2)


def _missing(name: str) -> Callable[..., Ordered]:
    def refuse(*_: Any) -> Ordered:
        raise NotImplementedError(f"Python has no {name} of complex numbers")

    return refuse


_SAME = ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
COMPLEX = SimpleNamespace(
    **{name: _on_complex(getattr(cmath, name)) for name in _SAME},
    abs=_on_complex(lambda z: -z if z.real < 0 else z),
    expm1=_on_complex(_expm1),
    log1p=_on_complex(_log1p),
    hypot=_on_complex(_hypot),
    atan2=_on_complex(_atan2),
    pow=_on_complex(lambda x, n: x**n),
    div=_on_complex(lambda a, b: a / b),
    erf=_missing("erf"),
    erfc=_missing("erfc"),
    where=lambda condition, a, b: a if condition else b,
    usually=lambda holds, usual, otherwise: usual if holds else otherwise(),
    rows={},
    equal=lambda a, b: plain(a).real == plain(b).real,
    number=lambda x: plain(x).real,
    sum=lambda terms: sum(terms, Ordered(0j)),
)
