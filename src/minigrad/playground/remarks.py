"""Remarks on numbers that surprise: where inf and nan arise, and where a gradient dies.

Only the node where it begins is told of: what comes after it follows.
"""

from __future__ import annotations

import math
from typing import Any

from ..calculus.steps import links
from ..core.names import brief, short_name, spell
from ..core.ops import TABLE
from ..scalar import Value
from .words import say

MOST = 4  # remarks
FLAT = 1e-6  # a slope below it lets nearly nothing through
SATURATING = ("tanh", "sigmoid", "erf")


def remarks_on(order: list[Value], lang: str) -> list[dict[str, Any]]:
    """Return what to know about the numbers of a graph, each with the unit that it is about."""
    found: list[dict[str, Any]] = []
    for k, node in enumerate(order):
        key = _of_data(node)
        if key:
            found.append({"unit": k, "text": _told(node, key, lang)})
    if not found:
        found = [
            {"unit": k, "text": text}
            for k, node in enumerate(order)
            if (text := _of_slope(node, lang))
        ]
    return found[:MOST]


def _told(node: Value, key: str, lang: str) -> str:
    operands = [_spelled(x) for x in node._operands]
    return say(lang, key, what=spell(node, operands), result=brief(node.data))


def _spelled(x: Value) -> str:
    return brief(x.data)


def _name(node: Value) -> str:
    return TABLE[node._code].name if node._code else ""


def _of_data(node: Value) -> str:
    """Say what is wrong with a number that its operands do not explain; nothing if all is well."""
    operands = [x.data for x in node._operands]
    if not operands or math.isfinite(node.data):
        return ""
    if all(map(math.isfinite, operands)):
        if math.isnan(node.data):
            return "outside"
        return "pole" if _is_pole(node, operands) else "overflow"
    if math.isnan(node.data) and not any(map(math.isnan, operands)):
        return "undetermined"
    return ""


def _is_pole(node: Value, operands: list[float]) -> bool:
    """Tell inf that is the limit from inf that is only too large for a float."""
    name = _name(node)
    if name == "div":
        return operands[-1] == 0.0
    if name in ("log", "pow"):
        return operands[0] == 0.0
    return name == "log1p"


def _of_slope(node: Value, lang: str) -> str:
    """Say where a slope is infinite, or so flat that nothing comes through."""
    for operand, local in links(node):
        if not math.isfinite(local):
            what = spell(node, [_spelled(x) for x in node._operands])
            return say(lang, "steep", what=what, by=short_name(operand), local=brief(local))
    if _name(node) in SATURATING:
        ((operand, local),) = links(node)
        if abs(local) < FLAT:
            what = spell(node, [_spelled(operand)])
            return say(lang, "saturated", what=what, local=brief(local))
    if _name(node) == "relu" and node.data == 0.0 and node._operands[0].data < 0.0:
        return say(lang, "dead", what=spell(node, [_spelled(node._operands[0])]))
    return ""
