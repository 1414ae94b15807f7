"""What counts as a number, and as a list: whatever users hand in becomes a float here, or not."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from decimal import Decimal
from math import isinf
from numbers import Real
from typing import Any, NoReturn


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
        got = "nothing" if x is ... else type(x).__name__
        raise TypeError(f"{what}: got {got}; {wants}. {_remedy(x, what)}")
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
    each = f"{what}(x)" if what.isidentifier() else "Value(x)"
    return _remedy_in(x, _SEVERAL.get(what, each))


# What is done to one element, by a function that takes several things.
_SEVERAL = {
    "where": "where(c, x, b)",
    "dot": "dot(x, y)",
    "maximum": "maximum(x, b)",
    "minimum": "minimum(x, b)",
    "clip": "clip(x, low, high)",
    "atan2": "atan2(x, b)",
    "hypot": "hypot(x, b)",
}


def _is_model(x: object) -> bool:
    """Tell whether it is a model of the kind that is called: of ours, or of somebody else's."""
    return callable(x) and hasattr(x, "parameters")


def _remedy_in(x: object, each: str) -> str:
    """Say what to do about `x`; of several things, `each` is done to one `x`."""
    if x is ...:  # what stands where nothing was given
        return "Give the number: Value(0.0)."
    if isinstance(x, (str, bytes)):
        return "Convert the text first: float(text)."
    if isinstance(x, complex):
        return "Complex numbers are not supported: use x.real and x.imag, a Value each."
    if x is None:
        return "Write 0.0 for nothing yet; or is a return missing where this None comes from?"
    if isinstance(x, type):
        return f"It is a class: make one of it first, {x.__name__}(…)."
    if _is_model(x):
        return "It is a model: call it, model(x)."
    if hasattr(x, "_local_grads") or (hasattr(x, "backward") and not hasattr(x, "ndim")):
        return "Take its number, v.data; a copy without history is v.detach()."
    if hasattr(x, "ndim") and hasattr(x, "item"):
        if x.ndim == 0:
            return "Use x.item()."
        return f"Take one element at a time: [{each} for x in xs.ravel()]."
    if isinstance(x, Iterable):
        return f"Take one element at a time: [{each} for x in xs]."
    if callable(x):
        return f"It is a function: call it, {_called(x)}."
    return "Use float(x) if it stands for one number."


def as_list(xs: Any, what: str, ordered: bool = True) -> list[Any]:
    """Return the elements of `xs`; `what` names the argument for the error message.

    Where it matters which comes first, sets and dicts are refused: the one has no order, and of
    the other it would be the keys.
    """
    if type(xs) is list or type(xs) is tuple:
        return list(xs)
    is_one = isinstance(xs, (str, bytes)) or getattr(xs, "ndim", 1) == 0
    if is_one or not isinstance(xs, Iterable) or (ordered and isinstance(xs, _UNORDERED)):
        raise TypeError(f"{what}: got {type(xs).__name__}; {_list_of(xs)}.")
    return list(xs)


_UNORDERED = (set, frozenset, dict)


def _list_of(xs: Any) -> str:
    """Say how to come from this to a list."""
    if isinstance(xs, dict):
        return "give a list, list(d.values()) of a dict d"
    if isinstance(xs, _UNORDERED):
        return "a set has no order, so give a list"
    if isinstance(xs, (str, bytes)):
        return "give a list of Values or numbers, [1.0, 2.0], not a text"
    if xs is None:
        return "give a list, and look whether a return is missing where this None comes from"
    if hasattr(xs, "parameters"):  # a model
        return "pass model.parameters()"
    if callable(xs):
        return f"it is a function, so call it: {_called(xs)}"
    if hasattr(xs, "_local_grads"):  # a Value, whose repr would be another one
        return "give a list: [v, …]"
    return f"give a list: [{_shown(xs)}, …]"


def _called(function: Any) -> str:
    name = getattr(function, "__name__", "f")
    return f"{name}()" if name.isidentifier() else "f()"


# Operators of Python that a Value does not have, and what to write instead.
_MISSING = {
    "@": "a Value is one number; for lists of them there is minigrad.dot(xs, ys)",
    "//": "rounding has no derivative; divide by /, or take the number, v.data",
    "%": "it jumps, and has no derivative there; take the number, v.data",
    "^": "a power is written v**2",
    "&": "a Value is no truth value; compare first, (a > 0) & (b > 0)",
    "|": "a Value is no truth value; compare first, (a > 0) | (b > 0)",
    "~": "a Value is no truth value; write the opposite comparison, or -v",
}


def refuse_operator(v: Any, other: Any, symbol: str) -> Any:
    """Raise for an operator that Values do not have, unless the other operand may know it."""
    if isinstance(other, (type(v), int, float, list, tuple)):
        call = "~Value" if symbol == "~" else f"Value {symbol} {type(other).__name__}"
        raise TypeError(f"{call}: {_MISSING[symbol]}.")
    return NotImplemented


def refuse_condition(condition: Any) -> None:
    """Raise for what is true or false to Python and yet no answer to a question about numbers."""
    if type(condition) is int and condition < 0:  # ~True is -2, ~False -1: both count as true
        raise TypeError(
            f"where(condition, a, b): got {condition} as the condition, which is ~ of a "
            "comparison. Write where(condition, b, a), or the opposite comparison."
        )
    if condition is None or isinstance(condition, (str, bytes, list, tuple, dict)):
        raise TypeError(
            f"where(condition, a, b): got {type(condition).__name__} as the condition; give one "
            "comparison, as in where(v > 0, a, b)."
        )


def refuse_subscript() -> NoReturn:
    """Raise for v[0], len(v) and loops over a Value, as in sum(v) and x, y = v.

    The native engine calls it; a class of Python can refuse in words of its own only by having the
    methods that make it pass for a list.
    """
    raise TypeError(
        "a Value is one number, so it has no length and no elements to take or to loop over. "
        "Give a list: sum([a, b]) instead of sum(v), and v.data for the number."
    )


# ---- operands -----------------------------------------------------------------------------------

# Whose objects turn Values down in any case, so that Python need not ask them.
_HELPLESS = ("builtins", "torch", "jax", "jaxlib")


def refuse_operand(x: Any, symbol: str, swapped: bool) -> None:
    """Raise for an operand that is no number, if nobody knows what to do with it.

    Others, such as NumPy's arrays and people's own classes, may know: Python asks them next.
    """
    kind = type(x)
    is_helpless = kind.__module__.partition(".")[0] in _HELPLESS
    if not is_helpless and (hasattr(kind, "__radd__") or not _is_model(x)):
        return
    if hasattr(x, "_traced_node"):
        return
    call = f"{kind.__name__} {symbol} Value" if swapped else f"Value {symbol} {kind.__name__}"
    if symbol == "+" and isinstance(x, str):
        remedy = 'For a text, write f"{v.data}"; for a number, float(text).'
    else:
        remedy = _remedy_in(x, f"x {symbol} v" if swapped else f"v {symbol} x")
    raise TypeError(f"{call}: a Value takes a Value or a number beside it. {remedy}")


def refuse_comparison(x: Any, symbol: str) -> None:
    """Raise for Python's own things that are no numbers; a float knows how to ask all others."""
    if type(x).__module__ == "builtins" and not is_number(x):
        refuse_operand(x, symbol, False)


def is_nested(x: Any) -> bool:
    """Tell whether something that should be one number is a row of them."""
    return isinstance(x, (list, tuple)) or getattr(x, "ndim", 0) > 0


def refuse_label(label: Any) -> NoReturn:
    """Raise: a label is printed, searched for and written to files."""
    text = "" if label is None else _shown(str(label))
    raise TypeError(f"label: got {type(label).__name__}; a label is a text: label={text!r}.")


def _shown(x: object) -> str:
    text = str(x)
    return text if len(text) <= 40 else type(x).__name__
