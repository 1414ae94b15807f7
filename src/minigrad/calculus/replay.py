"""A backward pass with a fault in it, step by step beside the same pass done right.

The pass runs aside, so no `.grad` changes. What is right at a step is the sum of the sound
contributions along the arrows that have been taken so far, each once: where the fault keeps the
order, this is what a sound engine has at that moment, and where it does not, it is what those
arrows are worth. When all is over, every grad is compared with the sound one.

Start at `replay`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from ..core.graph import topological_order
from ..core.names import brief
from ..core.strict import same
from ..scalar import Value
from .faults import ROWS, BrokenPass, Grads, run_broken
from .steps import PassRecord, Step, aside, links

LONGEST = 3, 100  # times as many nodes as there are, and a few: plain recursion may run 2**60


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What a fault does to a graph."""

    fault: BrokenPass
    first: Grads  # what a pass before this one has left; empty if there was none
    begins: Grads  # the grads that this pass begins with, where they are not 0
    steps: list[Step]  # with what would be right in `right`
    kept: list[tuple[Value, float, float]]  # what is added when it is over, and the grad after it
    wrong: list[tuple[Value, float, float]]  # the grads that are wrong at last, and the right ones

    @property
    def shows(self) -> bool:
        """Whether anything at all goes wrong."""
        return bool(self.wrong) or any(map(is_off, self.steps))


def is_off(step: Step) -> bool:
    """Tell whether a step goes wrong by more than rounding: so that one can see it."""
    return _differ(step.after, step.right)


def _differ(a: float, b: float) -> bool:
    return not same(a, b) and brief(a) != brief(b)


def replay(root: Value, fault: BrokenPass, sound: list[Step]) -> Replay | None:
    """Play a pass with the fault; `sound` is `steps(root)`. None if it takes too many steps."""
    return _replay(_Ground(root, sound), fault)


def replays(root: Value, sound: list[Step], faults: Iterable[BrokenPass] = ROWS) -> list[Replay]:
    """Play every fault, or each of these, that does not take too many steps."""
    ground = _Ground(root, sound)
    return [found for fault in faults if (found := _replay(ground, fault)) is not None]


class _Ground:
    """What every replay on a graph begins with."""

    def __init__(self, root: Value, sound: list[Step]) -> None:
        self.sound = sound
        self.order = topological_order(root)
        self.grads = {id(root): 1.0} | {id(step.operand): step.after for step in sound}
        self.worth = {_edge(step): step.contribution for step in sound}  # of each arrow
        self.rules = {id(node): links(node) for node in self.order if not node._is_custom}


def _replay(ground: _Ground, fault: BrokenPass) -> Replay | None:
    order, grads = ground.order, ground.grads
    if not any(map(fault.concerns, order)):
        return Replay(fault, [], [(order[-1], 1.0)], ground.sound, [], [])
    first = [(node, grads.get(id(node), 0.0)) for node in order] if fault.needs_two else []
    played: Replay | None = aside(order, _play, fault, ground, first)
    if played is None:
        return None
    calls = 2 if fault.needs_two else 1
    ends = {id(step.operand): step.after for step in played.steps}
    found = {id(node): grad for node, grad in played.begins} | ends
    kept = [(node, grad, found.get(id(node), 0.0) + grad) for node, grad, _ in played.kept]
    found |= {id(node): after for node, _, after in kept}
    rows = ((node, found.get(id(node), 0.0), calls * grads.get(id(node), 0.0)) for node in order)
    wrong = [(node, is_, should) for node, is_, should in rows if _differ(is_, should)]
    return replace(played, kept=kept, wrong=wrong)


def _play(fault: BrokenPass, ground: _Ground, first: Grads) -> Replay | None:
    order = ground.order
    begins: Grads = []
    times, more = LONGEST
    most = times * len(order) + more
    run = 0

    def begin(order: list[Value], previous_grads: Grads) -> Grads:
        kept = fault.begin(order, previous_grads)
        begins.extend((node, node.grad) for node in order if node.grad != 0.0)
        return kept

    def ordered(order: list[Value]) -> Iterable[Value]:
        nonlocal run
        for node in islice(fault.order(order), most + 1):
            run += 1
            if node._operands:  # a leaf passes nothing on
                yield node

    for node in order:
        node.grad = 0.0
    order[-1].grad = 1.0
    tape = PassRecord()
    tape.started(order[-1])
    nonzero = [(node, grad) for node, grad in first if grad != 0.0]
    watched = replace(fault, begin=begin, order=ordered)
    added = run_broken(watched, order, nonzero, [tape], lambda node: ground.rules[id(node)])
    if run > most:
        return None
    kept = [(node, grad, 0.0) for node, grad in added]  # what it comes to is known at the end
    return Replay(fault, first, begins, _compared(tape.steps, ground.worth), kept, [])


def _compared(played: list[Step], worth: dict[tuple[int, int], float]) -> list[Step]:
    """Say at each step what would be right."""
    right: dict[int, float] = {}
    taken: set[tuple[int, int]] = set()
    found = []
    for step in played:
        edge, operand = _edge(step), id(step.operand)
        if edge not in taken:
            taken.add(edge)
            right[operand] = right.get(operand, 0.0) + worth.get(edge, 0.0)
        should = right[operand]
        found.append(step if same(step.right, should) else _with_right(step, should))
    return found


def _with_right(s: Step, right: float) -> Step:
    # What `replace(s, right=right)` does, in a quarter of the time: there are thousands.
    told = (s.node, s.op, s.grad, s.operand, s.position, s.local, s.before, s.contribution)
    return Step(*told, s.after, right)


def _edge(step: Step) -> tuple[int, int]:
    """Name the arrow of a step; a hand-written rule gives to an operand, not to a position."""
    return id(step.node), step.position if step.local is not None else id(step.operand)
