"""Repeated structure drawn once: nodes that are made alike and used alike become one unit.

Training on fifty points builds the same graph fifty times over shared weights; what a person wants
to see is one of them, and "×50". Nodes are told apart in two linear passes: by how they are made,
from the leaves up, then by how they are used, from the result down (so that a weight is not taken
for an input). A run of one operation, each used by the next alone, as in a long sum, counts as a
single node with many operands: otherwise each of its links would be at a depth of its own, and no
two terms of a sum would be alike. Only operations that commute make runs: in a - b - c it matters
which is which.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import count
from typing import Any

from ..core.graph import operands_of
from ..core.names import plural
from ..core.ops import TABLE
from .scene import Arrow, Scene, Span, Unit

ORDERED = 3  # operands; of more than that nobody asks which is which


class _Runs:
    """The graph with every run of one operation as a single node: its last one, the head."""

    def __init__(self, order: list[Any]) -> None:
        self.heads: list[Any] = []  # operands before users
        self.operands: dict[int, list[Any]] = {}  # of the whole run, by its head
        self.members: dict[int, list[Any]] = {}  # the nodes of the run, by its head
        uses = Counter(id(operand) for node in order for operand in operands_of(node))
        head_of: dict[int, Any] = {}
        for node in reversed(order):  # users before operands
            head = head_of.get(id(node), node)
            if head is node:
                self.heads.append(node)
            self.members.setdefault(id(head), []).append(node)
            outside = self.operands.setdefault(id(head), [])
            for operand in operands_of(node):
                if _can_run(node, operand) and uses[id(operand)] == 1:
                    head_of[id(operand)] = head
                else:
                    outside.append(operand)
        self.heads.reverse()

    def tells_apart(self, head: Any) -> bool:
        """Whether it matters which operand is which; not in a long sum."""
        return len(self.members[id(head)]) == 1 and len(self.operands[id(head)]) <= ORDERED


def _can_run(node: Any, operand: Any) -> bool:
    row = TABLE[node._code]
    is_same = row.commutes and row.arity == 2 and operand._code == node._code
    return is_same and not any(one.label or one._is_custom for one in (node, operand))


def collapsed(order: list[Any]) -> Scene:
    """Draw one unit for all nodes that are alike."""
    runs = _Runs(order)
    kind, depth = _kinds(runs)
    alike: dict[int, list[Any]] = {}
    for head in runs.heads:
        alike.setdefault(kind[id(head)], []).append(head)
    # An operand's kind is less deep than its user's, so this order is topological.
    kinds = sorted(alike, key=lambda number: depth[id(alike[number][0])])
    place = {number: k for k, number in enumerate(kinds)}
    arrows: dict[tuple[int, int, int], Arrow] = {}
    for head in runs.heads:
        target = place[kind[id(head)]]
        for position, operand in enumerate(runs.operands[id(head)]):
            source = place[kind[id(operand)]]
            slot = position if runs.tells_apart(head) else 0
            arrows.setdefault((target, slot, source), Arrow(source, target, slot))
    units = [
        unit_of([node for head in alike[number] for node in runs.members[id(head)]])
        for number in kinds
    ]
    result = unit_of(order[-1:])  # one number, also where it ends a run
    units[-1] = replace(units[-1], data=result.data, grad=result.grad)
    edges = sum(len(operands_of(node)) for node in order)
    notice = (
        f"{plural(len(order), 'node')} and {plural(edges, 'arrow')} drawn as "
        f"{plural(len(units), 'box', 'boxes')} and {plural(len(arrows), 'arrow')}; "
        "×n stands for n alike."
    )
    return Scene(tuple(units), tuple(arrows.values()), notice, is_complete=False)


def _kinds(runs: _Runs) -> tuple[dict[int, int], dict[int, int]]:
    """Number the heads by how they are made and used; also tell how deep each is."""
    made: dict[int, int] = {}
    depth: dict[int, int] = {}
    # Equal descriptions get equal numbers, in order of appearance.
    shapes: defaultdict[Any, int] = defaultdict(count().__next__)
    for head in runs.heads:
        operands = runs.operands[id(head)]
        parts = [made[id(operand)] for operand in operands]
        shape = tuple(parts) if runs.tells_apart(head) else frozenset(parts)
        rule = (head._code, head._op, head._is_custom)
        made[id(head)] = shapes[rule, bool(head.label), shape]
        depth[id(head)] = 1 + max((depth[id(operand)] for operand in operands), default=0)
    kind: dict[int, int] = {}
    uses: dict[int, set[tuple[int, int]]] = {id(head): set() for head in runs.heads}
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    for head in reversed(runs.heads):
        mine = kind[id(head)] = numbers[made[id(head)], frozenset(uses[id(head)])]
        for position, operand in enumerate(runs.operands[id(head)]):
            uses[id(operand)].add((mine, position if runs.tells_apart(head) else 0))
    return kind, depth


def unit_of(alike: list[Any], hidden: int = 0) -> Unit:
    """Make the unit that stands for some nodes, or for one."""
    first = alike[0]
    labels = list(dict.fromkeys(str(node.label) for node in alike if node.label))
    return Unit(
        label=labels[0] + (" …" if len(labels) > 1 else "") if labels else "",
        op=str(first._op),
        data=_span([node.data for node in alike]),
        grad=_span([node.grad for node in alike]),
        count=len(alike),
        hidden=hidden,
        is_leaf=not first._operands,
        is_ordered=bool(first._code)
        and not TABLE[first._code].commutes
        and 2 <= len(first._operands) <= ORDERED,
    )


def _span(numbers: list[float]) -> Span:
    if any(map(math.isnan, numbers)):
        return Span(math.nan, math.nan)
    return Span(min(numbers), max(numbers))
