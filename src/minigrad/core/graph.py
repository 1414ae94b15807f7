"""Algorithms on anything with ordered operands.

A graph is a root and a function that returns the ordered operands of a node, repeats included: for
minigrad's own nodes their `_operands`. Nodes are told apart by identity, never by equality, so that
a class with a data-based `__eq__` cannot merge two leaves. Nothing here recurses: a chain of ten
million nodes is as welcome as a neuron.

Start at `topological_order`; everything else is a loop over what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import CycleError

Operands = Callable[[Any], Sequence[Any]]


class Edge(NamedTuple):
    """`node` uses `operand` at `position`; `a * a` has two edges between the same two nodes."""

    operand: Any
    node: Any
    position: int


class Counts(NamedTuple):
    """How large a graph is."""

    nodes: int
    edges: int
    leaves: int
    depth: int  # edges on the longest way from the root to a leaf


def operands_of(node: Any) -> Sequence[Any]:
    """Return a node's operands as minigrad's own nodes give them."""
    operands: Sequence[Any] = node._operands
    return operands


def made_of_numbers(root: Any, operands: Operands) -> bool:
    """Tell whether all leaves are stand-ins of numbers that a compiled function was given.

    The first leaf that is none ends the search, so in other graphs there is little to do.
    """
    waiting, known = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        below = operands(node)
        if not below and getattr(node, "_traced_node", None) is not node:
            return False
        fresh = {id(x): x for x in below if id(x) not in known}
        known |= fresh.keys()
        waiting += fresh.values()
    return True


def topological_order(root: Any, operands: Operands = operands_of) -> list[Any]:
    """Return all nodes under `root`, operands before their users, the root last.

    It is the lessons' order: depth first, operands as written, a node after its operands.
    Reversed, it is the order of the backward pass.
    """
    order: list[Any] = []
    stack: list[tuple[Any, Iterator[Any]]] = [(root, iter(operands(root)))]
    is_open = {id(root): True}  # False once finished
    while stack:
        node, remaining = stack[-1]
        for operand in remaining:
            state = is_open.get(id(operand))
            if state is None:
                is_open[id(operand)] = True
                stack.append((operand, iter(operands(operand))))
                break
            if state:
                raise CycleError(cycle_message([entry for entry, _ in stack], operand))
        else:
            stack.pop()
            is_open[id(node)] = False
            order.append(node)
    return order


def cycle_message(path: Sequence[Any], again: Any) -> str:
    """Describe the cycle that closes when `again`, a member of `path`, is met a second time."""
    start = next(k for k, node in enumerate(path) if node is again)
    names = [_name(node) for node in [*path[start:], again]]
    if len(names) > 8:
        names = [*names[:4], f"… {len(names) - 7} more …", *names[-3:]]
    return (
        f"the graph has a cycle: {' → '.join(names)}. A node cannot be its own operand, directly "
        "or through others; look for an edit of _prev that closes the loop."
    )


def _name(node: Any) -> str:
    """Name a node for a message: its label, else its op with its value."""
    label = getattr(node, "label", "")
    if label:
        return str(label)
    return f"{getattr(node, '_op', '') or type(node).__name__}({getattr(node, 'data', None)})"


def edges(root: Any, operands: Operands = operands_of) -> list[Edge]:
    """Return every edge under `root`, repeats included, users in topological order."""
    order = topological_order(root, operands)
    return [edge for node in order for edge in _edges_down(node, operands)]


def counts(root: Any, operands: Operands = operands_of) -> Counts:
    """Measure the graph under `root`."""
    order = topological_order(root, operands)
    depth: dict[int, int] = {}
    edge_count = leaves = 0
    for node in order:
        below = [depth[id(operand)] for operand in operands(node)]
        edge_count += len(below)
        leaves += not below
        depth[id(node)] = 1 + max(below) if below else 0
    return Counts(len(order), edge_count, leaves, depth[id(root)])


def count_paths(root: Any, target: Any, operands: Operands = operands_of) -> int:
    """Return the number of paths from `target` up to `root`: exact, and in linear time.

    A ladder of sixty diamonds has 2**60 of them, so they are counted, not walked. A node has one
    path to itself; `a * a` makes two.
    """
    ways: dict[int, int] = {}
    for node in topological_order(root, operands):
        through = sum(ways[id(operand)] for operand in operands(node))
        ways[id(node)] = 1 if node is target else through
    return ways[id(root)]


def paths(root: Any, target: Any, operands: Operands = operands_of) -> Iterator[list[Edge]]:
    """Yield the paths from `target` to `root`, one at a time, each a list of edges going up.

    There may be exponentially many: take as many as you need. The walk goes only where `target`
    can be reached, so each path costs no more than its own length times the operands on it.
    """
    reaches: set[int] = set()
    for node in topological_order(root, operands):
        if node is target or any(id(operand) in reaches for operand in operands(node)):
            reaches.add(id(node))
    if root is target:
        yield []
        return
    trail: list[Edge] = []  # from the root down
    stack: list[Iterator[Edge]] = [_edges_down(root, operands)]
    while stack:
        for edge in stack[-1]:
            if id(edge.operand) not in reaches:
                continue
            trail.append(edge)
            if edge.operand is target:
                yield trail[::-1]
                trail.pop()
                continue
            stack.append(_edges_down(edge.operand, operands))
            break
        else:
            stack.pop()
            if trail:
                trail.pop()


def _edges_down(node: Any, operands: Operands) -> Iterator[Edge]:
    for position, operand in enumerate(operands(node)):
        yield Edge(operand, node, position)
