"""What strict mode looks at: the first number that is not finite, and numbers that went stale.

Each check takes a node as the engine made it and either returns or raises an error that names the
operation, the labels, the numbers and the source line.
"""

from __future__ import annotations

import sys
from math import isfinite, isnan, ulp
from typing import Any

from ..errors import NonFiniteError, NotDifferentiableError, StaleDataError
from ..maths import floats as ieee
from .names import is_ours, readable, short
from .ops import TABLE


def numbers(node: Any) -> list[float]:
    """Return what a node's rule was applied to, as it is now."""
    return [getattr(argument, "data", argument) for argument in node._arguments()]


def check_value(node: Any, source: str) -> None:
    """Refuse a value that is not finite although everything it was made from is."""
    if not isfinite(node.data) and all(map(isfinite, numbers(node))) and node._links():
        raise NonFiniteError(
            f"{_spell(node)} gave {node.data} from finite numbers, at {source}. Keep the arguments "
            "inside the domain, or leave strict() to go on with IEEE arithmetic."
        )


def check_rule(node: Any) -> None:
    """Refuse a node that a user made with operands, but without a `_backward`."""
    extras = node._extras
    if node._code or extras is None or not extras.operands:
        return
    if not node._is_custom and not extras.partials:
        raise NotDifferentiableError(
            f"the node {node._op!r} has operands but no _backward, so no gradient gets past it. "
            "Was `out._backward = _backward` forgotten?"
        )


def check_fresh(node: Any) -> None:
    """Refuse a node whose operands would give another value or slope by now."""
    if is_stale(node):
        row = TABLE[node._code]
        raise StaleDataError(
            f"{row.name} holds {node.data}{_made_at(node)}, but its operands are now those of "
            f"{_spell(node)} = {row.value(ieee, *numbers(node))}. Something assigned .data after "
            "the forward pass: run that again. (A plain backward(), outside strict(), uses the "
            "numbers of the forward pass.)"
        )


def is_stale(node: Any) -> bool:
    """Whether a node's operands would give another value or slope by now."""
    if not node._code or node._is_custom:
        return False  # made by hand: nobody knows its rule
    row = TABLE[node._code]
    arguments = node._arguments()
    now = numbers(node)
    value = row.value(ieee, *now)
    slopes = [
        slope
        for slope, argument in zip(row.derivatives(ieee, value, *now), arguments, strict=True)
        if hasattr(argument, "data")
    ]
    then = [node.data, *[partial for _, partial in node._own_links()]]
    return not all(map(_near, [value, *slopes], then))


def check_gradient(node: Any, operand: Any, before: float) -> None:
    """Refuse a gradient that a local step took from finite to not finite."""
    if not isfinite(operand.grad) and isfinite(before) and isfinite(node.grad):
        raise NonFiniteError(
            f"backward through {node._op!r}{_made_at(node)} took the gradient of "
            f"{short(operand.label) or repr(operand)} to {operand.grad}, coming from a gradient of "
            f"{node.grad}. The local derivative is not finite there: keep away from that point."
        )


def check_derivative(node: Any, partial: float) -> None:
    """Refuse a local derivative that is not finite although everything it was made from is."""
    if not isfinite(partial) and all(map(isfinite, numbers(node))):
        raise NonFiniteError(
            f"a derivative of {_spell(node)}{_made_at(node)} is {partial}. It has none there: keep "
            "away from that point."
        )


def calling_line() -> str:
    """Find the line outside this package that asked for an operation."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if not is_ours(module) and module not in ("copy", "pickle"):  # which call us for the user
            break
        frame = frame.f_back
    return f"{readable(frame.f_code.co_filename)}:{frame.f_lineno}"


def same(a: float, b: float) -> bool:
    """Compare numbers for which nan is as good as nan."""
    return a == b or (isnan(a) and isnan(b))


def _near(a: float, b: float) -> bool:
    """The same but for the last bits: C's hypot is not Python's, and slopes have powers of it."""
    near = isfinite(a) and isfinite(b) and abs(a - b) <= 16.0 * ulp(max(abs(a), abs(b)))
    return near or same(a, b)


def _made_at(node: Any) -> str:
    extras = node._extras
    return f", made at {extras.source}" if extras is not None and extras.source else ""


def _spell(node: Any) -> str:
    """Write a node as a call with labels and numbers: `log(x=0.0)`."""
    arguments = [
        f"{short(argument.label)}={number}" if getattr(argument, "label", "") else str(number)
        for argument, number in zip(node._arguments(), numbers(node), strict=True)
    ]
    return f"{TABLE[node._code].name if node._code else short(node._op)}({', '.join(arguments)})"
