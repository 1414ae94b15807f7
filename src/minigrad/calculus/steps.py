"""The backward pass as data: one step for every contribution, before and after.

    with record() as tape:
        o.backward()
    print(tape.text())          # a.grad: 10 -> 4, line by line

A `PassRecord` watches the engine at work: it holds what happened, also where a hand-written
`_backward` runs. `steps(o)` does the same without a trace in any `.grad`. The famous bug is here
too: `steps(o, overwrite=True)` plays the pass with `=` for `+=`, and says which gradients go wrong.

Start at `Step`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from ..core.backward import gradients, in_turn, run_by_hand
from ..core.display import cut_lines, table
from ..core.flow import with_flow
from ..core.graph import topological_order
from ..core.names import brief, json_number, name_of, owner, short_name, spell
from ..core.observers import watching
from ..core.strict import is_stale, same
from ..scalar import Value

T = TypeVar("T")
LINES = 40  # of a tape's repr


class _Told:
    """Something that happened to a node: its repr is the line that tells it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Forward(_Told):
    """One step of the forward pass: an operation got its value."""

    node: Value
    op: str
    operands: tuple[Value, ...]
    data: float
    is_stale: bool = False  # whether operands got other data since, which would give another value

    @property
    def head(self) -> str:
        """What is asked: all but the result."""
        numbers = spell(self.node, [brief(operand.data) for operand in self.operands])
        return f"{short_name(self.node)}: {numbers} = "

    def __str__(self) -> str:
        mark = "   (from before the data of operands was changed)" if self.is_stale else ""
        return f"{self.head}{brief(self.data)}{mark}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Seed(_Told):
    """The start of a backward pass: the result's derivative with respect to itself."""

    node: Value

    def __str__(self) -> str:
        return f"{owner(self.node)}.grad = 1"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(_Told):
    """One contribution: `node` ran its local rule and added to the grad of one of its operands."""

    node: Value
    op: str
    grad: float  # the node's own
    operand: Value
    position: int  # of the operand among the node's operands
    local: float | None  # the local derivative; None where a hand-written _backward knows it
    before: float
    contribution: float
    after: float
    right: float  # what `after` should be; another number only where `=` overwrote something

    @property
    def is_wrong(self) -> bool:
        """Whether the operand's grad is not what an engine with `+=` has at this moment."""
        return not same(self.after, self.right)

    def as_dict(self) -> dict[str, Any]:
        """Return the step as JSON can hold it."""
        return {field.name: _as_json(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        mark = f"   (should be {brief(self.right)})" if self.is_wrong else ""
        return f"{owner(self.operand)}.grad: {brief(self.before)} -> {brief(self.after)}{mark}"


def _as_json(thing: Any) -> Any:
    if isinstance(thing, Value):
        return name_of(thing)
    return json_number(thing) if isinstance(thing, float) else thing


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kept(_Told):
    """The end of a pass: what earlier passes had left in a grad was added back."""

    node: Value
    before: float
    contribution: float
    after: float

    def __str__(self) -> str:
        return (
            f"{owner(self.node)}.grad: {brief(self.before)} -> {brief(self.after)}   "
            f"({brief(self.contribution)} from earlier passes)"
        )


Event = Seed | Step | Kept


def _cells(event: Event) -> tuple[str, ...]:
    """Write an event for a table: whose grad, before, what is added, after, by whom."""
    if isinstance(event, Seed):
        return owner(event.node), "0", "1", "1", "the start"
    node, by = (
        (event.operand, owner(event.node))
        if isinstance(event, Step)
        else (event.node, "earlier passes")
    )
    return owner(node), *map(brief, (event.before, event.contribution, event.after)), by


class PassRecord:
    """What happened in the backward passes of a `record()` block, in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    @property
    def steps(self) -> list[Step]:
        """The contributions alone, one for each edge that a pass went along."""
        return [event for event in self.events if isinstance(event, Step)]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __bool__(self) -> bool:
        return bool(self.events)

    def text(self) -> str:
        """Write one line for each event: `a.grad: 10 -> 4`."""
        return "\n".join(map(str, self.events))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        if not self.events:
            return "<PassRecord: no backward pass yet>"
        return "\n".join(cut_lines(list(map(str, self.events)), LINES, "print(tape)"))

    def _repr_html_(self) -> str:
        heads = ("grad of", "before", "added", "after", "by")
        return table(heads, map(_cells, self.events), right=(1, 2, 3))

    # What the engine tells, see observers.Watcher.

    def started(self, root: Value) -> None:
        """Note the seed."""
        self.events.append(Seed(root))

    def stepped(
        self, node: Value, grad: float, before: list[tuple[Value, float]], by_hand: bool
    ) -> None:
        """Note what a node added to each of its operands."""
        now = {id(operand): previous for operand, previous in before}
        op = node._op
        if by_hand and node._is_custom:
            # One step for all positions of an operand: nobody knows their shares.
            for position, (operand, _) in enumerate(before):
                if id(operand) in now:
                    start, after = now.pop(id(operand)), operand.grad
                    share = 0.0 if same(start, after) else after - start
                    self.events.append(
                        Step(node, op, grad, operand, position, None, start, share, after, after)
                    )
            return
        for position, (operand, local) in enumerate(_rules(node)):
            start, share = now[id(operand)], local * grad
            now[id(operand)] = after = start + share
            self.events.append(
                Step(node, op, grad, operand, position, local, start, share, after, after)
            )

    def finished(self, previous_grads: list[tuple[Value, float]]) -> None:
        """Note what earlier passes had left."""
        for node, grad in previous_grads:
            self.events.append(Kept(node, node.grad, grad, node.grad + grad))


class record(watching):  # noqa: N801 - a block, as `no_grad` is
    """Record the backward passes of this block: `with record() as tape: o.backward()`.

    Steps that are run by hand, `o._backward()`, are recorded as well; passes that leave no trace in
    any `.grad`, as `grad()` makes them, are not. If a hand-written `_backward` raises, the tape
    ends where it raised, while every `.grad` is as it was before the pass.
    """

    def __init__(self) -> None:
        super().__init__(PassRecord())


def steps(root: Value, *, overwrite: bool = False) -> list[Step]:
    """Return the contributions of one backward pass from `root`, and leave every `.grad` alone.

    With `overwrite`, each contribution replaces what was there instead of being added, as in the
    famous bug; `step.right` and `step.is_wrong` then compare with the pass done right.
    """
    check_root(root, "steps")
    found = PassRecord()
    gradients(root, (), [found])
    return overwritten(root, found.steps) if overwrite else found.steps


def forward_steps(root: Value) -> list[Forward]:
    """Return the operations under `root` in the order in which their values are worked out."""
    check_root(root, "forward_steps")
    return [
        Forward(node, node._op, node._operands, node.data, is_stale(node))
        for node in topological_order(root)
        if node._operands
    ]


def check_root(root: Any, what: str) -> None:
    """Refuse what is no Value, by the name of the function that it was given to."""
    if not isinstance(root, Value):
        raise TypeError(f"{what}: got {type(root).__name__}; {_value_of(root)}.")


def _value_of(thing: Any) -> str:
    """Say how to come from what somebody has to the Value to look at."""
    if callable(thing):
        call = "model(x)" if hasattr(thing, "parameters") else "f(x)"
        return f"give it what comes of a call, {call}"
    if isinstance(thing, dict):
        return "give it one Value, such as d['name']; play(list(d.values())) shows all of a dict d"
    if isinstance(thing, (list, tuple)):
        return "give it one Value, such as xs[0]; play(xs) shows all of a list xs"
    return "give it the Value to look at"


def overwritten(root: Value, right: list[Step]) -> list[Step]:
    """Play the steps of a pass with `=` instead of `+=`."""
    return aside(topological_order(root), _overwritten, root, right)


def _overwritten(root: Value, right: list[Step]) -> list[Step]:
    grads = {id(root): 1.0}
    played = []
    by_hand: dict[int, dict[int, float]] = {}  # contributions of hand-written steps, by operand
    for step in right:
        grad = grads.get(id(step.node), 0.0)
        if step.local is not None:
            share = step.local * grad
        else:
            if id(step.node) not in by_hand:
                by_hand[id(step.node)] = {id(x): d for x, d in _ask_by_hand(step.node, grad)}
            share = by_hand[id(step.node)][id(step.operand)]
        before = grads.get(id(step.operand), 0.0)
        grads[id(step.operand)] = share
        changed = replace(step, grad=grad, before=before, contribution=share, after=share)
        played.append(replace(changed, right=step.after))
    return played


# ---- local derivatives -----------------------------------------------------------------------


def links(node: Value) -> list[tuple[Value, float]]:
    """Pair a node's operands with its local derivatives, also where those are a function's secret.

    A hand-written `_backward` is asked by running it with a grad of 1: it is taken to add, and to
    be linear in its grad, as the chain rule is. An operand that it was given twice counts once,
    with both shares.
    """
    return _ask_by_hand(node, 1.0) if node._is_custom else _rules(node)


class Apart:
    """Gradients of some nodes, held apart from them; see `flow.Flow`."""

    def __init__(self, grads: dict[int, float]) -> None:
        self._grads = grads  # by the id of the node

    def read(self, node: Value) -> float | None:
        """Return the gradient of one of them."""
        return self._grads.get(id(node))

    def write(self, node: Value, number: float) -> bool:
        """Hold another one."""
        if id(node) not in self._grads:
            return False
        self._grads[id(node)] = number
        return True


def aside(nodes: list[Value], function: Callable[..., T], *arguments: Any) -> T:
    """Call a function; whatever it does to the grads of these nodes, nobody sees afterwards."""
    return with_flow(Apart({id(node): node.grad for node in nodes}), function, *arguments)


def _rules(node: Value) -> list[tuple[Value, float]]:
    if not node._code and node._extras is not None and not node._extras.partials:
        return []  # made by hand, and no rule: no gradient gets past it
    operands = node._operands  # shows numbers as leaves, so first
    partials = [partial for _, partial in node._links_and_partials()]
    return list(zip(operands, partials, strict=True))


def _ask_by_hand(node: Value, grad: float) -> list[tuple[Value, float]]:
    """Run a hand-written step on clean grads and return what it gave."""
    operands = list({id(operand): operand for operand in node._operands}.values())
    grads = {**{id(operand): 0.0 for operand in operands}, id(node): grad}
    in_turn(with_flow, Apart(grads), run_by_hand, node, node._backward)
    return [(operand, grads[id(operand)]) for operand in operands]
