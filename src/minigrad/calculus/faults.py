"""Backward passes that are wrong on purpose, one row for each fault, and the pass that plays them.

A row is a `BrokenPass`: in which order nodes run, what a local derivative is worth, whether a
contribution is added or replaces what was there, which grads a pass begins with. Whatever a row
does not mention is done right, and a row that mentions nothing is the engine itself; the tests hold
it to that. `run_broken` is the pass, in plain Python: `lab.broken` puts it in the engine's place,
and `replay` runs it aside and compares each step with the pass done right, for the player.

Start at `BrokenPass`, then `run_broken`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..core.backward import run_by_hand
from ..core.observers import Watcher
from ..core.ops import TABLE
from ..scalar import Value
from .steps import PassRecord, Step, links

Grads = list[tuple[Value, float]]
Local = Callable[[Value, int, float], float]  # of a node, a position and what is right
Rules = Callable[[Value], list[tuple[Value, float]]]  # a node's operands and local derivatives
# What a node has for its operands: position, operand, local derivative, contribution.
Contributions = list[tuple[int, Value, float | None, float]]


# ---- the rows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BrokenPass:
    """What a broken engine does otherwise than a sound one."""

    name: str
    says: str
    # Given the nodes, operands first, in which order to run them.
    order: Callable[[list[Value]], Iterable[Value]] = reversed
    # Whether a node's contributions replace what was there.
    overwrites: Callable[[Value], bool] = lambda node: False
    # What a local derivative is taken to be.
    local: Local = lambda node, position, local: local
    # Whether an operand that is used twice counts once.
    counts_once: bool = False
    # Set the grads that the pass begins with; return those to add when it is over.
    begin: Callable[[list[Value], Grads], Grads] = lambda order, previous_grads: previous_grads
    # The row of the op table that `overwrites` and `local` are about; empty: all of them.
    only_in: str = ""
    # Whether one pass alone goes well, and only the second over the same graph does not.
    needs_two: bool = False

    def concerns(self, node: Value) -> bool:
        """Whether the rules of this node may be other than right."""
        return not self.only_in or _name(node) == self.only_in

    def replaces(self, node: Value) -> bool:
        """Whether what this node contributes replaces what was there."""
        return self.overwrites(node) and self.concerns(node)

    def slope(self, node: Value, position: int, right: float) -> float:
        """Return what a local derivative is taken to be."""
        return self.local(node, position, right) if self.concerns(node) else right


def _name(node: Value) -> str:
    """The row of the op table; nothing for a leaf or a node made by hand."""
    return TABLE[node._code].name if node._code else ""


def _always(node: Value) -> bool:
    return True


def _same_operands(node: Value) -> bool:
    operands = node._operands
    return len(operands) == 2 and operands[0] is operands[1]


def _breadth_first(order: list[Value]) -> Iterable[Value]:
    met = {id(order[-1])}
    queue = [order[-1]]
    for node in queue:
        for operand in node._links():
            if id(operand) not in met:
                met.add(id(operand))
                queue.append(operand)
    return queue


def _depth_first(order: list[Value]) -> Iterable[Value]:
    met: set[int] = set()
    stack = [order[-1]]
    while stack:
        node = stack.pop()
        if id(node) not in met:
            met.add(id(node))
            yield node
            stack += reversed(node._links())


def _every_time_met(order: list[Value]) -> Iterable[Value]:
    """Plain recursion: run a node, then go down into each of its operands, met before or not."""
    stack = [order[-1]]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(node._links())


def _without_seed(order: list[Value], previous_grads: Grads) -> Grads:
    root = order[-1]
    root.grad = sum(grad for node, grad in previous_grads if node is root)
    return [(node, grad) for node, grad in previous_grads if node is not root]


def _seed_of_zero(order: list[Value], previous_grads: Grads) -> Grads:
    order[-1].grad = 0.0
    return [(node, grad) for node, grad in previous_grads if node is not order[-1]]


def _stale(order: list[Value], previous_grads: Grads) -> Grads:
    root, leaves = order[-1], []
    for node, grad in previous_grads:
        if not node._links():
            leaves.append((node, grad))
        elif node is not root:
            node.grad = grad
    return leaves


def _own_operand(node: Value, position: int, local: float) -> float:
    number: float = node._operands[position].data
    return number


def _exponent_not_lowered(node: Value, position: int, local: float) -> float:
    if position:
        return local
    exponent = node._arguments()[1]
    return (exponent.data if isinstance(exponent, Value) else exponent) * node.data


ROWS = (
    BrokenPass("overwrite", "= instead of += in every operation", overwrites=_always),
    BrokenPass("overwrite_add", "= instead of += in +", overwrites=_always, only_in="add"),
    BrokenPass("overwrite_mul", "= instead of += in *", overwrites=_always, only_in="mul"),
    BrokenPass("overwrite_tanh", "= instead of += in tanh", overwrites=_always, only_in="tanh"),
    BrokenPass("same_object", "= instead of += where both operands are the same Value",
               overwrites=_same_operands),
    BrokenPass("forward_order", "nodes run from the leaves to the result",
               order=lambda order: order),
    BrokenPass("breadth_first", "no topological sort: nodes run level by level, as first met",
               order=_breadth_first),
    BrokenPass("insertion_order",
               "no topological sort: a node runs as soon as it is first met on the way down",
               order=_depth_first),
    BrokenPass("plain_recursion", "plain recursion: a node runs again each time it is met",
               order=_every_time_met),
    BrokenPass("set_prev", "_prev is a set: an operand that is used twice counts once",
               counts_once=True),
    BrokenPass("missing_seed", "nobody sets the grad of the result to 1", begin=_without_seed),
    BrokenPass("seed_zero", "the grad of the result is set to 0 instead of 1", begin=_seed_of_zero),
    BrokenPass("stale_interior", "a second backward() starts with the interior grads of the first",
               begin=_stale, needs_two=True),
    BrokenPass("zeroing", "backward() sets all grads to zero first: nothing adds up over calls",
               begin=lambda order, previous_grads: [], needs_two=True),
    BrokenPass("mul_own", "the derivative of a*b with respect to a is taken to be a",
               only_in="mul", local=_own_operand),
    BrokenPass("pow_not_lowered", "the derivative of x**n is taken to be n * x**n",
               only_in="pow", local=_exponent_not_lowered),
    BrokenPass("div_sign", "the derivative of a/b with respect to b has the wrong sign",
               only_in="div", local=lambda node, position, local: -local if position else local),
    BrokenPass("wrong_sub", "the derivative of a-b with respect to b is taken to be 1",
               only_in="sub", local=lambda node, position, local: 1.0),
    BrokenPass("tanh_linear", "the derivative of tanh is taken to be 1 - t instead of 1 - t**2",
               only_in="tanh", local=lambda node, position, local: 1.0 - node.data),
    BrokenPass("exp_input", "the derivative of exp(x) is taken to be x",
               only_in="exp", local=_own_operand),
    BrokenPass("relu_always", "the derivative of relu is taken to be 1 everywhere",
               only_in="relu", local=lambda node, position, local: 1.0),
)  # fmt: skip
BY_NAME = {fault.name: fault for fault in ROWS}
FAULTS: dict[str, str] = {fault.name: fault.says for fault in ROWS}


# ---- the pass ------------------------------------------------------------------------------------


def run_broken(
    fault: BrokenPass,
    order: list[Value],
    previous_grads: Grads,
    watchers: list[Watcher],
    rules: Rules = links,
) -> Grads:
    """Run a backward pass with a fault in it; return the grads to add when it is over.

    `rules` is for who runs several passes over one graph, and has asked each node once.
    """
    tapes = [watcher for watcher in watchers if isinstance(watcher, PassRecord)]
    after_all = fault.begin(order, previous_grads)
    if order[-1].grad != 1.0:  # the tapes have noted a seed that is not there
        for tape in tapes:
            tape.events.pop()
    for node in fault.order(order):
        grad, replaces = node.grad, fault.replaces(node)
        for position, operand, local, contribution in _contributions(fault, node, grad, rules):
            before = operand.grad
            operand.grad = after = contribution if replaces else before + contribution
            step = (node, node._op, grad, operand, position, local, before, contribution)
            for tape in tapes:
                tape.events.append(Step(*step, after, after))
    return after_all


def _contributions(fault: BrokenPass, node: Value, grad: float, rules: Rules) -> Contributions:
    if node._is_custom:
        return _by_hand(node)
    found: Contributions = []
    met: set[int] = set()
    for position, (operand, right) in enumerate(rules(node)):
        if not (fault.counts_once and id(operand) in met):
            local = fault.slope(node, position, right)
            found.append((position, operand, local, local * grad))
        met.add(id(operand))
    return found


def _by_hand(node: Value) -> Contributions:
    """Run a hand-written step on clean grads; what it left contributes, and the grads come back."""
    operands = list({id(operand): operand for operand in node._operands}.values())
    before = [operand.grad for operand in operands]
    for operand in operands:
        operand.grad = 0.0
    run_by_hand(node, node._backward)
    found: Contributions = []
    for position, (operand, grad) in enumerate(zip(operands, before, strict=True)):
        found.append((position, operand, None, operand.grad))
        operand.grad = grad
    return found
