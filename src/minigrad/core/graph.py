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

__all__ = [
    "Edge",
    "cycle_message",
    "edges",
    "operands_of",
    "topological_order",
]

Operands = Callable[[Any], Sequence[Any]]


class Edge(NamedTuple):
    """`node` uses `operand` at `position`; `a * a` has two edges between the same two nodes."""

    operand: Any
    node: Any
    position: int


def operands_of(node: Any) -> Sequence[Any]:
    """Return a node's operands as minigrad's own nodes give them."""
    operands: Sequence[Any] = node._operands
    return operands


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
    op = getattr(node, "_op", "")
    data = getattr(node, "data", None)
    return f"{op or type(node).__name__}({data})"


def edges(root: Any, operands: Operands = operands_of) -> list[Edge]:
    """Return every edge under `root`, repeats included, users in topological order."""
    return [
        Edge(operand, node, position)
        for node in topological_order(root, operands)
        for position, operand in enumerate(operands(node))
    ]
