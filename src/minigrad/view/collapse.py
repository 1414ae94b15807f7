"""Repeated structure drawn once: nodes that are made alike and used alike are one kind.

Training on fifty points builds the same graph fifty times over shared weights; what a person wants
to see is one of them, and "×50". Nodes are told apart in two linear passes: by how they are made,
from the leaves up, then by how they are used, from the result down (so that a weight is not taken
for an input). Repeats begin where alike terms are added up, as the errors of a loss are. A run of
additions, each used by the next alone, then counts as a single node with many operands: otherwise
each of its links would be at a depth of its own, and no two terms of a sum would be alike.

At first the terms of a dot product are not taken for repeats, so that the weights of a neuron stay
apart. `is_coarse` takes them too, and every other operation that commutes: in a - b - c it always
matters which is which.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from ..core.graph import operands_of
from ..core.names import last_part
from ..core.ops import OPS, TABLE
from ..core.scopes import call_names
from .scene import Span, Unit

ORDERED = 3  # operands; of more than that nobody asks which is which
MANY = 24  # terms that are alike are repeats, whatever they are
ADD, SUB, MUL = (OPS[name].code for name in ("add", "sub", "mul"))
EXPONENTIALS = frozenset(OPS[name].code for name in ("exp", "exp_sub"))
SUMS = frozenset([ADD, SUB, OPS["sum"].code, OPS["mean"].code])

Paths = Mapping[int, tuple[Any, ...]]  # by id(node): the scopes that it was made in


@dataclass(frozen=True, slots=True)
class Kinds:
    """The graph with one node for all that are alike, operands before users, the result last."""

    members: list[list[Any]]  # the nodes of each kind
    results: list[list[Any]]  # those whose numbers are its own: a run's last ones
    operands: list[list[tuple[int, int]]]  # of each kind: another one, and at which position
    names: Mapping[int, str]  # of what has no label; see scopes.call_names

    def unit(self, k: int) -> Unit:
        """Make the unit that stands for a kind."""
        return unit_of(self.results[k], len(self.members[k]), names=self.names)


class _Runs:
    """The runs of one operation that could count as a single node: by its last one, the head."""

    def __init__(self, order: list[Any]) -> None:
        self.operands: dict[int, list[Any]] = {}  # of the whole run, by its head
        self.members: dict[int, list[Any]] = {}  # the nodes of the run, by its head
        self.head_of: dict[int, Any] = {}  # of a member that is not the head itself
        uses = Counter(id(operand) for node in order for operand in operands_of(node))
        for node in reversed(order):  # users before operands
            head = self.head_of.get(id(node), node)
            self.members.setdefault(id(head), []).append(node)
            outside = self.operands.setdefault(id(head), [])
            for position, operand in enumerate(operands_of(node)):
                if uses[id(operand)] == 1 and _can_run(node, operand, position):
                    self.head_of[id(operand)] = head
                else:
                    outside.append(operand)


def _can_run(node: Any, operand: Any, position: int) -> bool:
    # The last one may have a name, as a loss has: it becomes that of the whole run.
    if operand._code != node._code or operand.label or node._is_custom or operand._is_custom:
        return False
    if node._code == SUB:  # a loss less its terms
        return position == 0
    return bool(TABLE[node._code].commutes) and TABLE[node._code].arity == 2


def kinds_of(order: list[Any], paths: Paths, *, is_coarse: bool = False) -> Kinds:
    """Put nodes that are alike into one kind; nodes of scopes with other names never are."""
    graph = _Made(order, paths, is_coarse)
    kind = graph.kinds()
    alike: dict[int, list[Any]] = {}
    for head in graph.heads:
        alike.setdefault(kind[id(head)], []).append(head)
    # An operand's kind is less deep than its user's, so this order is topological.
    numbers = sorted(alike, key=lambda number: graph.depth[id(alike[number][0])])
    place = {number: k for k, number in enumerate(numbers)}
    operands: list[dict[tuple[int, int], None]] = [{} for _ in numbers]
    for head in graph.heads:
        into = operands[place[kind[id(head)]]]
        for slot, operand in zip(graph.slots(head), graph.operands[id(head)], strict=True):
            into[place[kind[id(operand)]], slot] = None
    return Kinds(
        [[node for h in alike[number] for node in graph.members[id(h)]] for number in numbers],
        [alike[number] for number in numbers],
        [list(found) for found in operands],
        call_names(order, paths),
    )


class _Made:
    """The nodes, with every run whose terms repeat as one of them, told apart by how made."""

    def __init__(self, order: list[Any], paths: Paths, is_coarse: bool) -> None:
        self.heads: list[Any] = []  # operands before users
        self.operands: dict[int, list[Any]] = {}
        self.members: dict[int, list[Any]] = {}
        self.depth: dict[int, int] = {}
        self._paths, self._is_coarse = paths, is_coarse
        self._made: dict[int, int] = {}
        self._merged: set[int] = set()  # heads in which the order of the operands is forgotten
        # Equal descriptions get equal numbers, in order of appearance.
        self._shapes: defaultdict[Any, int] = defaultdict(count().__next__)
        runs = _Runs(order)
        for node in order:
            if id(node) not in runs.head_of:
                members, operands = runs.members[id(node)], runs.operands[id(node)]
                if self._repeats(node, members, operands):
                    self._merged.add(id(node))
                    self._add(node, members, operands)
                else:  # no run after all; its members are listed from the last one
                    for member in reversed(members):
                        self._add(member, [member], list(operands_of(member)))

    def tells_apart(self, head: Any) -> bool:
        """Whether it matters which operand is which; not in a long sum."""
        return id(head) not in self._merged

    def _repeats(self, head: Any, members: list[Any], operands: list[Any]) -> bool:
        if self._is_coarse:
            return len(members) > 1 or len(operands) > ORDERED
        if head._is_custom or not (head._code in SUMS or TABLE[head._code].commutes):
            return False
        if head._code == SUB:
            operands = [*operands[:-2], operands[-1]]  # less what they are taken from
        alike = Counter(self._made[id(x)] for x in operands)
        if max(alike.values(), default=0) > MANY:
            return True
        terms = {self._made[id(x)] for x in operands if _is_term(x)}
        return head._code in SUMS and any(alike[term] > 1 for term in terms)

    def slots(self, head: Any) -> list[int]:
        """Return the position of each operand, the same one for those that may change places."""
        number = len(self.operands[id(head)])
        if self.tells_apart(head):
            return [*range(number)]
        if head._code == SUB:
            return [1] * (number - 2) + [0, 1]  # the last of the run stands first in its program
        return [0] * number

    def _add(self, head: Any, members: list[Any], operands: list[Any]) -> None:
        parts = [self._made[id(operand)] for operand in operands]
        self.heads.append(head)
        self.members[id(head)], self.operands[id(head)] = members, operands
        is_told = self.tells_apart(head)
        shape = tuple(parts) if is_told else frozenset(zip(self.slots(head), parts, strict=True))
        names = tuple(str(scope.name) for scope in self._paths.get(id(head), ()))
        rule = (head._code, head._op, head._is_custom, names, bool(head.label), is_told)
        self._made[id(head)] = self._shapes[rule, shape]
        self.depth[id(head)] = 1 + max((self.depth[id(x)] for x in operands), default=0)

    def kinds(self) -> dict[int, int]:
        """Number the heads by how they are made, and by how used or where in a call made."""
        kind = self._by_use({})
        turn = self._turns(kind)
        return self._by_use(turn) if turn else kind

    def _by_use(self, turn: Mapping[int, int]) -> dict[int, int]:
        """Number the heads by how they are made, and by their turns or how they are used."""
        kind: dict[int, int] = {}
        uses: dict[int, set[tuple[int, int]]] = {id(head): set() for head in self.heads}
        numbers: defaultdict[Any, int] = defaultdict(count().__next__)
        for head in reversed(self.heads):
            place = turn.get(id(head)) or frozenset(uses[id(head)])
            mine = kind[id(head)] = numbers[self._made[id(head)], place]
            for slot, operand in zip(self.slots(head), self.operands[id(head)], strict=True):
                uses[id(operand)].add((mine, slot))
        return kind

    def _turns(self, kind: Mapping[int, int]) -> dict[int, int]:
        """Number what a call hands out, of those made alike: the first, the second, ….

        Those of one kind, as the places of a convolution, have one turn. The same turn in another
        call of the same module is the same thing at another point, whatever becomes of it later.
        What is given to a call inside it does not leave it.
        """
        call = {node: path[-1] for node, path in self._paths.items() if path}
        handed = {
            id(operand)
            for head in self.heads
            for operand in self.operands[id(head)]
            if id(operand) in call and call[id(operand)] not in self._paths.get(id(head), ())
        }
        turns: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        found = {}
        for head in self.heads:
            if id(head) in handed and self.operands[id(head)]:
                key = id(call[id(head)]), self._made[id(head)]
                found[id(head)] = turns[key].setdefault(kind[id(head)], 1 + len(turns[key]))
        return found


def _is_term(node: Any) -> bool:
    """Whether a sum of such is one over examples: not of numbers, as in a dot or in a softmax."""
    operands = operands_of(node)
    is_product = node._code == MUL and operands[0] is not operands[1]
    return bool(operands) and not is_product and node._code not in EXPONENTIALS


def unit_of(
    results: list[Any], number: int = 1, hidden: int = 0, *, names: Mapping[int, str]
) -> Unit:
    """Make the unit that stands for so many nodes and shows the numbers of some, or of one."""
    first = results[0]
    called = (str(last_part(node.label)) or names.get(id(node), "") for node in results)
    labels = [*filter(None, dict.fromkeys(called))]
    return Unit(
        label=labels[0] + (" …" if len(labels) > 1 else "") if labels else "",
        op=str(first._op),
        data=span_of([node.data for node in results]),
        grad=span_of([node.grad for node in results]),
        count=number,
        hidden=hidden,
        is_leaf=not first._operands,
        is_run=number > len(results) == 1,
        is_ordered=bool(first._code)
        and not TABLE[first._code].commutes
        and 2 <= len(first._operands) <= ORDERED,
    )


def span_of(numbers: list[float]) -> Span:
    """Return from where to where some numbers go."""
    if any(map(math.isnan, numbers)):
        return Span(math.nan, math.nan)
    return Span(min(numbers), max(numbers))
