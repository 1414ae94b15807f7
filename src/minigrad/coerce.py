"""What counts as a number: everything a user may hand to a Value becomes a float here, or not."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Real
from typing import Any

__all__ = ["as_float", "is_number"]


def is_number(x: object) -> bool:
    """Tell whether `x` is a real number: Python's, a Fraction, a Decimal or a NumPy scalar."""
    if isinstance(x, (float, int, Real, Decimal)):
        return True
    numpy = sys.modules.get("numpy")  # whoever holds a NumPy scalar has imported it
    return numpy is not None and isinstance(x, numpy.generic) and x.dtype.kind in "biuf"


def as_float(x: Any, what: str) -> float:
    """Return `x` as a float64; `what` names the place for the error message."""
    if type(x) is float:
        return x
    if not is_number(x):
        raise TypeError(f"{what}: got {type(x).__name__}; a Value holds one number. {_remedy(x)}")
    try:
        return float(x)
    except OverflowError:
        raise OverflowError(
            f"{what}: this int has {x.bit_length()} bits; a float64 ends near 1.8e308. "
            "Scale the number down, or write float('inf')."
        ) from None
    except ValueError:  # Decimal('sNaN')
        raise TypeError(f"{what}: got {x!r}, which no float can hold. Use float('nan').") from None


def _remedy(x: object) -> str:
    if isinstance(x, (str, bytes)):
        return "Convert the text first: Value(float(text))."
    if isinstance(x, complex):
        return "Complex numbers are not supported: use x.real and x.imag, a Value each."
    if x is None:
        return "Is a return statement missing where this None comes from?"
    if hasattr(x, "backward") and hasattr(x, "data"):
        return (
            "Use the Value itself, v.data for its number, or v.detach() for a copy without history."
        )
    if hasattr(x, "ndim") and hasattr(x, "item"):
        if getattr(x, "ndim", 1) == 0:
            return "Use x.item()."
        return "Use [Value(x) for x in xs.ravel()], a Value per element."
    if isinstance(x, (list, tuple, set, frozenset, range)):
        return "Use [Value(x) for x in xs]."
    return "Use Value(float(x)) if it stands for one number."
