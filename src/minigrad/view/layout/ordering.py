"""The order of the items within each layer, so that few edges cross.

Two links between the same two layers cross exactly if their ends are in opposite order, so nothing
matters here but orders. To find the best ones is NP-hard. We start from orders that are perfect for
trees, depth first from the results or from the leaves; improve them by barycentre sweeps, which
sort every layer by the mean position of its neighbours; and then search around the best ones with
`reinsert`, which finds for one box at a time the best place for it and all its edges.

Invariant: the outcome is the best order met on the way, so more effort never makes it worse. The
effort is bounded by counts, not by a clock: the same graph gives the same picture everywhere.

Start at `improve`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from operator import itemgetter
from random import Random

from .layers import Layers, Order, positions
from .reinsert import Reinsertion

SWEEPS = 8  # from each start; fewer in large graphs
ROUNDS = 2  # of reinsertion in each search
KICKS = 6  # times that the best order is disturbed and searched again
EFFORT = 150_000, 1_500, 1_200_000  # steps of reinsertion: at least, more for each item, at most

Found = tuple[int, Order]  # crossings, and the order that has so many
_crossed = itemgetter(0)


def improve(graph: Layers) -> None:
    """Reorder the layers of the graph."""
    items = len(graph.rank)
    sweeps = max(2, min(SWEEPS, 40_000 // (items + 1)))
    starts = [_best_of_sweeps(graph, graph.before, sweeps)]
    if starts[0][0]:
        starts.append(_best_of_sweeps(graph, graph.after, sweeps))
    least, each, most = EFFORT
    search = Reinsertion(graph, min(least + each * items, most))
    starts.sort(key=_crossed)
    best = min([_search(graph, search, start) for start in starts], key=_crossed)
    current = best
    numbers = Random(0)  # always the same ones
    for kick in range(KICKS):
        if not best[0] or search.effort_spent():
            break
        order = [layer[:] for layer in current[1]]
        if kick % 2:
            _shake(order, numbers)
        else:
            _sweep(graph, order, forward=kick % 4 == 0)
        # Equally good is good enough to start the next kick from somewhere else. Of equals the
        # first one is drawn: it is the closest to the order in which the operands were written.
        current = min(
            _search(graph, search, (crossings(graph, order), order)), current, key=_crossed
        )
        best = min(best, current, key=_crossed)
    graph.layers = best[1]


def crossings(graph: Layers, order: Order) -> int:
    """Count the pairs of links that cross."""
    position = positions(graph, order)
    total = 0
    for layer in order:
        seen: list[int] = []  # where the links of the items so far end
        for item in layer:
            links = graph.after[item]
            if len(links) == 1:
                end = position[links[0]]
                total += len(seen) - bisect_right(seen, end)
                insort(seen, end)
            elif links:
                ends = sorted([position[other] for other in links])
                for end in ends:
                    total += len(seen) - bisect_right(seen, end)
                for end in ends:
                    insort(seen, end)
    return total


def _burdens(graph: Layers, order: Order) -> list[int]:
    """Return for each box how many crossings its edges have."""
    position = positions(graph, order)
    burden = [0] * graph.boxes
    for layer in order:
        everyone = sorted([position[other] for item in layer for other in graph.after[item]])
        seen: list[int] = []
        for item in layer:
            ends = sorted([position[other] for other in graph.after[item]])
            for other in graph.after[item]:
                end = position[other]
                before = bisect_left(seen, end)
                crossed = len(seen) - bisect_right(seen, end)  # start before, end after ours
                crossed += bisect_left(everyone, end) - before - bisect_left(ends, end)
                if crossed:
                    slot = max(item, other) - graph.boxes  # a slot knows whose edge it is
                    for box in (item, other) if slot < 0 else graph.ends[slot]:
                        burden[box] += crossed
            for end in ends:
                insort(seen, end)
    return burden


def _best_of_sweeps(graph: Layers, links: list[list[int]], sweeps: int) -> Found:
    """Sweep to and fro from a depth-first order; return the best order met."""
    order = _depth_first(graph, links)
    best = (crossings(graph, order), [layer[:] for layer in order])
    for turn in range(sweeps):
        _sweep(graph, order, forward=turn % 2 == 1)
        found = crossings(graph, order)
        if found < best[0]:
            best = (found, [layer[:] for layer in order])
    return best


def _depth_first(graph: Layers, links: list[list[int]]) -> Order:
    """Order each layer as a walk along `links` meets its items; perfect for a tree."""
    back = graph.after if links is graph.before else graph.before
    order: Order = [[] for _ in graph.layers]
    seen = [False] * len(graph.rank)
    for root, others in enumerate(back):
        stack = [] if others else [root]
        while stack:
            item = stack.pop()
            if not seen[item]:
                seen[item] = True
                order[graph.rank[item]].append(item)
                stack.extend(reversed(links[item]))
    return order


def _sweep(graph: Layers, order: Order, *, forward: bool) -> None:
    """Sort each layer by the mean position of the neighbours in the layer just sorted."""
    position = positions(graph, order)
    near, far = (graph.before, graph.after) if forward else (graph.after, graph.before)
    for layer in order if forward else reversed(order):
        key: dict[int, float] = {}
        for item in layer:
            links = near[item]
            if len(links) == 1:
                key[item] = position[links[0]]
            elif links:
                key[item] = sum([position[other] for other in links]) / len(links)
        if len(key) < len(layer):
            _key_for_leaves(layer, key, near, far)
        layer.sort(key=key.__getitem__)
        for place, item in enumerate(layer):
            position[item] = place


def _key_for_leaves(
    layer: list[int], key: dict[int, float], near: list[list[int]], far: list[list[int]]
) -> None:
    """Let items with nothing to follow stay with their siblings, the operands of the same user."""
    last = -1.0
    for item in layer:
        if item not in key:
            siblings = [key[one] for user in far[item] for one in near[user] if one in key]
            key[item] = sum(siblings) / len(siblings) if siblings else last
        last = key[item]


def _shake(order: Order, numbers: Random) -> None:
    """Move every item a little, by chance."""
    for layer in order:
        key = {item: place + 4 * numbers.random() for place, item in enumerate(layer)}
        layer.sort(key=key.__getitem__)


def _search(graph: Layers, search: Reinsertion, start: Found) -> Found:
    """Reinsert the boxes whose edges cross others, the worst first, as long as that helps."""
    best = start
    search.begin(start[1])
    for turn in range(ROUNDS):
        if not best[0] or search.effort_spent():
            break
        burden = _burdens(graph, search.order)
        crossed = [box for box in range(graph.boxes) if burden[box]]
        crossed.sort(key=lambda box: -burden[box])
        for box in crossed:
            search.reinsert(box, late=turn % 2 == 1)
        found = crossings(graph, search.order)
        if found >= best[0]:
            break
        best = (found, [layer[:] for layer in search.order])
    return best
