"""Mathematics on arrays: the rules of `ops.py`, one lane per element.

`ArrayMath(numpy)` or `ArrayMath(jax.numpy, erf=jax.scipy.special.erf, ...)` has the same words as
`ieee`. The array library is handed in, never imported: this module, like all of the core, needs the
standard library only. Callers silence the library's own floating-point warnings.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

# Array libraries that follow NumPy spell these differently from `math`.
_SPELLING = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
_SAME = ("abs", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh")


class ArrayMath:
    """The mathematics of a NumPy-like library `xp`."""

    def __init__(
        self,
        xp: Any,
        *,
        erf: Callable[[Any], Any] | None = None,
        erfc: Callable[[Any], Any] | None = None,
        number: Callable[[Any], Any] = lambda x: x,
        traced: bool = False,
    ) -> None:
        for name in (*_SAME, "tanh", "hypot", "where", "equal"):
            setattr(self, name, getattr(xp, name))
        for name, spelling in _SPELLING.items():
            setattr(self, name, getattr(xp, spelling))
        self.pow = xp.power
        self.div = xp.divide
        # NumPy has no error function of its own; the standard library's, element by element, is
        # exact and good enough for a specification.
        self.erf = erf or xp.vectorize(math.erf, otypes=[float])
        self.erfc = erfc or xp.vectorize(math.erfc, otypes=[float])
        # What a rule reads when it must not differentiate: the array itself, unless the library
        # differentiates too (jax: `lax.stop_gradient`).
        self.number = number
        # While arrays have no numbers yet, nobody can tell whether a condition holds in all lanes.
        self._where, self._traced = xp.where, traced
        self.rows: dict[str, Callable[..., Any]] = {}  # of the op table that are one word: none

    def usually(self, holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Any:
        """Return `usual`, and in lanes where the condition does not hold, `otherwise()`."""
        is_plain = isinstance(holds, bool)
        if not self._traced and (holds if is_plain else holds.all()):
            return usual
        return self._where(holds, usual, otherwise())

    @staticmethod
    def sum(terms: Iterable[Any]) -> Any:
        """Add a sequence of arrays (or numbers) from left to right."""
        return functools.reduce(operator.add, terms, 0.0)
