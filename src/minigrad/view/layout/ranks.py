"""In which layer a box stands: as close to its neighbours as the direction of the edges allows.

Every edge leads from a layer to a later one. Among all ways to do that we want a short total length
of edges, because an edge that passes a layer takes a slot there and is one more thing to cross.

Start at `assign`: everything first stands right before its earliest user, then groups move where
that shortens the edges.
"""

from __future__ import annotations

from collections.abc import Sequence

Neighbours = list[list[int]]


def assign(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each of `count` boxes, from 0; an edge always leads to a later layer."""
    before: Neighbours = [[] for _ in range(count)]
    after: Neighbours = [[] for _ in range(count)]
    for source, target in edges:
        before[target].append(source)
        after[source].append(target)
    order = _operands_first(before, after)
    rank = [0] * count
    for box in reversed(order):
        rank[box] = min((rank[user] for user in after[box]), default=1) - 1
    _shorten(rank, order, before, after)
    first = min(rank, default=0)
    return [value - first for value in rank]


def _operands_first(before: Neighbours, after: Neighbours) -> list[int]:
    """Sort topologically; a cycle cannot be drawn from left to right."""
    missing = [len(operands) for operands in before]
    order = [box for box, number in enumerate(missing) if not number]
    for box in order:
        for user in after[box]:
            missing[user] -= 1
            if not missing[user]:
                order.append(user)
    if len(order) < len(before):
        stuck = [box for box, number in enumerate(missing) if number]
        raise ValueError(
            f"layout(edges): there is a cycle among the boxes {stuck[:8]}; an edge must lead from "
            "an operand to its user, and no box can be its own operand."
        )
    return order


def _shorten(rank: list[int], order: list[int], before: Neighbours, after: Neighbours) -> None:
    """Move groups of boxes as long as that makes the edges shorter in total.

    A box alone often cannot move, because it touches a neighbour; so it takes along all that it
    would run into, as far as they touch. The size of such a group is bounded so that a long chain
    does not cost quadratic time.
    """
    largest = max(40, 40_000 // (len(rank) + 1))
    for _ in range(max(2, min(8, 8_000 // (len(rank) + 1)))):
        moved = False
        for box in order:
            moved |= _pull(box, rank, before, after, -1, largest)
        for box in reversed(order):
            moved |= _pull(box, rank, after, before, 1, largest)
        if not moved:
            return


def _pull(
    box: int, rank: list[int], ahead: Neighbours, behind: Neighbours, step: int, largest: int
) -> bool:
    """Move `box` and what it touches in the direction of `step`, if that shortens the edges."""
    group = [box]
    inside = {box}
    for member in group:
        touched = rank[member] + step
        for other in ahead[member]:
            if rank[other] == touched and other not in inside:
                inside.add(other)
                group.append(other)
        if len(group) > largest:
            return False
    gain = 0
    gap = len(rank)
    for member in group:
        for other in ahead[member]:
            if other not in inside:
                gain += 1
                gap = min(gap, (rank[other] - rank[member]) * step - 1)
        for other in behind[member]:
            gain -= other not in inside
    if gain <= 0:
        return False
    for member in group:
        rank[member] += step * gap
    return True
