"""Repeated structure drawn once: nodes that are made alike and used alike become one unit.

Training on fifty points builds the same graph fifty times over shared weights; what a person wants
to see is one of them, and "×50". Nodes are told apart in two linear passes: by how they are made,
from the leaves up, then by how they are used, from the result down (so that a weight is not taken
for an input). A run of one operation, each used by the next alone, as in a long sum, counts as a
single node with many operands: otherwise each of its links would be at a depth of its own, and no
two terms of a sum would be alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..graph import operands_of
from ..ops import OPS
from .scene import Arrow, Scene, Span, Unit

__all__ = ["collapsed", "unit_of"]

_ORDERED = frozenset(OPS[name].code for name in ("sub", "div", "pow", "atan2", "exp_sub"))


class _Runs:
    """The graph with every run of one operation as a single node: its last one, the head."""

    def __init__(self, order: list[Any]) -> None:
        self.heads: list[Any] = []  # operands before users
        self.operands: dict[int, list[Any]] = {}  # of the whole run, by its head
        self.length: dict[int, int] = {}
        uses: dict[int, int] = {}
        for node in order:
            for operand in operands_of(node):
                uses[id(operand)] = uses.get(id(operand), 0) + 1
        head_of: dict[int, Any] = {}
        for node in reversed(order):  # users before operands
            head = head_of.get(id(node), node)
            if head is node:
                self.heads.append(node)
            self.length[id(head)] = self.length.get(id(head), 0) + 1
            outside = self.operands.setdefault(id(head), [])
            for operand in operands_of(node):
                alike = operand._op and operand._op == node._op and not operand.label
                if alike and uses[id(operand)] == 1:
                    head_of[id(operand)] = head
                else:
                    outside.append(operand)
        self.heads.reverse()

    def is_ordered(self, head: Any) -> bool:
        """Whether it matters which operand is which; not in a long sum."""
        return self.length[id(head)] == 1 and len(self.operands[id(head)]) <= 3


class _Numbers(dict[Any, int]):
    """Equal descriptions get equal numbers, in order of appearance."""

    def __missing__(self, description: Any) -> int:
        self[description] = number = len(self)
        return number


def collapsed(order: list[Any]) -> Scene:
    """Draw one unit for all nodes that are alike."""
    runs = _Runs(order)
    kind, depth = _kinds(runs)
    members: dict[int, list[Any]] = {}
    for head in runs.heads:
        members.setdefault(kind[id(head)], []).append(head)
    # An operand's kind is less deep than its user's, so this order is topological.
    kinds = sorted(members, key=lambda number: depth[id(members[number][0])])
    place = {number: k for k, number in enumerate(kinds)}
    arrows: dict[tuple[int, int, int], Arrow] = {}
    for head in runs.heads:
        target = place[kind[id(head)]]
        for position, operand in enumerate(runs.operands[id(head)]):
            source = place[kind[id(operand)]]
            slot = position if runs.is_ordered(head) else 0
            arrows.setdefault((target, slot, source), Arrow(source, target, slot))
    units = [
        replace(unit_of(alike), count=sum(runs.length[id(head)] for head in alike))
        for alike in (members[number] for number in kinds)
    ]
    notice = f"{len(order):,} nodes drawn as {len(units):,}: those that are alike are one, ×n."
    return Scene(tuple(units), tuple(arrows.values()), notice)


def _kinds(runs: _Runs) -> tuple[dict[int, int], dict[int, int]]:
    """Number the heads by how they are made and used; also tell how deep each is."""
    made: dict[int, int] = {}
    depth: dict[int, int] = {}
    shapes = _Numbers()
    for head in runs.heads:
        operands = runs.operands[id(head)]
        parts = [made[id(operand)] for operand in operands]
        shape = tuple(parts) if runs.is_ordered(head) else frozenset(parts)
        made[id(head)] = shapes[head._op, bool(head.label), shape]
        depth[id(head)] = 1 + max((depth[id(operand)] for operand in operands), default=0)
    kind: dict[int, int] = {}
    uses: dict[int, set[tuple[int, int]]] = {id(head): set() for head in runs.heads}
    numbers = _Numbers()
    for head in reversed(runs.heads):
        mine = kind[id(head)] = numbers[made[id(head)], frozenset(uses[id(head)])]
        for position, operand in enumerate(runs.operands[id(head)]):
            uses[id(operand)].add((mine, position if runs.is_ordered(head) else 0))
    return kind, depth


def unit_of(alike: list[Any], hidden: int = 0) -> Unit:
    """Make the unit that stands for some nodes, or for one."""
    labels = list(dict.fromkeys(str(head.label) for head in alike))
    label = labels[0] if len(labels) == 1 else f"{next(filter(None, labels))} …"
    return Unit(
        label,
        str(alike[0]._op),
        _span(head.data for head in alike),
        _span(head.grad for head in alike),
        len(alike),
        hidden,
        alike[0]._code in _ORDERED and len(operands_of(alike[0])) == 2,
    )


def _span(numbers: Iterable[float]) -> Span:
    known = list(numbers)
    if any(map(math.isnan, known)):
        return Span(math.nan, math.nan)
    return Span(min(known), max(known))
