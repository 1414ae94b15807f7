"""Counts and paths of a graph, walked plainly: oracles for what the package works out cleverly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from minigrad.core.graph import Edge, Operands, operands_of, topological_order


class Counts(NamedTuple):
    """How large a graph is."""

    nodes: int
    edges: int
    leaves: int
    depth: int  # edges on the longest way from the root to a leaf


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
