"""What counts as a number, and as a list: whatever users hand in becomes a float here, or not."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from decimal import Decimal
from math import isinf
from numbers import Real
from typing import Any


def is_number(x: object) -> bool:
    """Tell whether `x` is a real number: Python's, a Fraction, a Decimal or a NumPy scalar."""
    if type(x) is float or type(x) is int:
        return True
    if hasattr(x, "_traced_node"):  # while a function is traced: ask it, do not take its number
        return False
    numpy = sys.modules.get("numpy")  # whoever holds a NumPy scalar has imported it
    if numpy is not None and isinstance(x, numpy.generic):
        return x.dtype.kind in "biuf"
    return isinstance(x, (Real, Decimal))


def as_float(x: Any, what: str) -> float:
    """Return `x` as a float64; `what` names the place, or the function, for the error message."""
    if type(x) is float:
        return x
    if not is_number(x):
        if hasattr(x, "_traced_node"):  # while a function is traced: the trace hears of it
            return float(x)
        wants = "it takes a Value or a number" if what.isidentifier() else "it holds one number"
        raise TypeError(f"{what}: got {type(x).__name__}; {wants}. {_remedy(x, what)}")
    try:
        number = float(x)
        too_large = isinf(number) and isinstance(x, Decimal) and not x.is_infinite()
    except OverflowError:
        too_large = True
    except ValueError:  # Decimal('sNaN')
        raise TypeError(f"{what}: got {x!r}, which no float can hold. Use float('nan').") from None
    if too_large:
        raise OverflowError(
            f"{what}: this {type(x).__name__} is too large; a float64 ends near 1.8e308. "
            "Scale the number down, or write float('inf')."
        )
    return number


def _remedy(x: object, what: str) -> str:
    each = what if what.isidentifier() else "Value"
    if isinstance(x, (str, bytes)):
        return "Convert the text first: float(text)."
    if isinstance(x, complex):
        return "Complex numbers are not supported: use x.real and x.imag, a Value each."
    if x is None:
        return "Write 0.0 for nothing yet; or is a return missing where this None comes from?"
    if hasattr(x, "_local_grads") or (hasattr(x, "backward") and not hasattr(x, "ndim")):
        return "Take its number, v.data; a copy without history is v.detach()."
    if hasattr(x, "ndim") and hasattr(x, "item"):
        if x.ndim == 0:
            return "Use x.item()."
        return f"Take one element at a time: [{each}(x) for x in xs.ravel()]."
    if isinstance(x, Iterable):
        return f"Take one element at a time: [{each}(x) for x in xs]."
    return "Use float(x) if it stands for one number."


def as_list(xs: Any, what: str) -> list[Any]:
    """Return the elements of `xs`; `what` names the argument for the error message."""
    if type(xs) is list or type(xs) is tuple:
        return list(xs)
    if isinstance(xs, (str, bytes)) or not isinstance(xs, Iterable):
        raise TypeError(f"{what}: got {type(xs).__name__}; give a list: [{_shown(xs)}, …].")
    return list(xs)


def _shown(x: object) -> str:
    text = str(x)
    return text if len(text) <= 40 else type(x).__name__
