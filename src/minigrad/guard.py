"""What strict mode looks at: the first number that is not finite, and numbers that went stale.

Each check takes a node as the engine made it and either returns or raises an error that names the
operation, the labels, the numbers and the source line.
"""

from __future__ import annotations

import sys
from math import isfinite, isnan
from typing import Any

from . import ieee
from .errors import NonFiniteError, NotDifferentiableError, StaleDataError
from .ops import TABLE

__all__ = ["calling_line", "check_fresh", "check_gradient", "check_value", "numbers"]


def numbers(node: Any) -> list[float]:
    """Return what a node's rule was applied to, as it is now."""
    return [getattr(argument, "data", argument) for argument in node._arguments()]


def check_value(node: Any, source: str) -> None:
    """Refuse a value that is not finite although everything it was made from is."""
    if not isfinite(node.data) and all(map(isfinite, numbers(node))):
        raise NonFiniteError(
            f"{_spell(node)} gave {node.data} from finite numbers, at {source}. Keep the arguments "
            "inside the domain, or leave strict() to go on with IEEE arithmetic."
        )


def check_fresh(node: Any) -> None:
    """Refuse a node whose operands would give another value by now."""
    if not node._code:  # made by hand: nobody knows its rule, but there has to be one
        rare = node._rare
        if rare is not None and rare.operands and rare.step is None and not rare.partials:
            raise NotDifferentiableError(
                f"the node {node._op!r} has operands but no _backward, so no gradient gets past "
                "it. Was `out._backward = _backward` forgotten?"
            )
        return
    row = TABLE[node._code]
    value = row.value(ieee, *numbers(node))
    if value != node.data and not (isnan(value) and isnan(node.data)):
        raise StaleDataError(
            f"{row.name} was {node.data} in the forward pass{_made_at(node)}, but from the .data "
            f"of now, {_spell(node)}, it would be {value}. Something assigned .data in between: "
            "run the forward pass again, or leave strict() to use the numbers of the forward pass."
        )


def check_gradient(node: Any, operand: Any, before: float) -> None:
    """Refuse a gradient that a local step took from finite to not finite."""
    if not isfinite(operand.grad) and isfinite(before) and isfinite(node.grad):
        raise NonFiniteError(
            f"backward through {node._op!r}{_made_at(node)} took the gradient of "
            f"{operand.label or repr(operand)} to {operand.grad}, coming from a gradient of "
            f"{node.grad}. The local derivative is not finite there: keep away from that point."
        )


def calling_line() -> str:
    """Find the line outside this package that asked for an operation."""
    package = __name__.rpartition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if module != package and not module.startswith(package + "."):
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _made_at(node: Any) -> str:
    rare = node._rare
    return f", made at {rare.source}" if rare is not None and rare.source else ""


def _spell(node: Any) -> str:
    """Write a node as a call with labels and numbers: `log(x=0.0)`."""
    arguments = [
        f"{argument.label}={number}" if getattr(argument, "label", "") else str(number)
        for argument, number in zip(node._arguments(), numbers(node), strict=True)
    ]
    return f"{TABLE[node._code].name}({', '.join(arguments)})"
