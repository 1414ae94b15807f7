"""Graphs are let go of from their results down, one node at a time.

A node that is freed frees its operands, if nobody else holds them, and those theirs: as many calls
inside each other as the graph is deep. CPython sees to it that this does no harm, except in a
browser, whose stack is smaller than it believes: a chain of some thousand nodes ends that Python
for good. So whoever answers a request with a large graph holds its nodes here, operands first, and
`answer` releases them when nobody else knows them any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.graph import topological_order
from ..scalar import Value

_held: list[Value] = []


def hold(roots: Iterable[Value]) -> None:
    """Hold all nodes under these until the answer is given."""
    known: set[int] = set()
    for root in roots:
        if id(root) not in known:
            order = topological_order(root)
            known.update(map(id, order))
            _held.extend(order)


def release() -> None:
    """Let go of all that is held, the last first: operands come before their users."""
    while _held:
        _held.pop()
