"""Where on the cross axis the items of each layer lie, given their order.

Each item wants to lie level with its neighbours; the items of a layer keep their order and their
distance. For one layer with its neighbours fixed, the best compromise (least squares) is found
exactly by pooling adjacent violators; sweeping over the layers settles the whole. At last, long
edges are pulled straight where there is a gap.

Start at `place`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import inf

from .layers import Layers, positions

BOX_GAP = 14.0  # between two boxes of a layer
SLOT_GAP = 7.0  # between a long edge and its neighbour in a layer
PORT_GAP = 9.0  # between two edges that arrive at the same box
PORT_INSET = 2.0  # between the outermost port and the corner, at least
WEIGHTS = 1.0, 2.0, 8.0  # of a link between boxes, of a box and a slot, between slots

Row = tuple[list[int], list[float]]  # a layer, and how far each item must be from the one before
Pull = tuple[int, float, float]  # towards an item, with a weight, and how far beside it


def ports(
    graph: Layers,
    sizes: Sequence[float],
    edges: Sequence[tuple[int, int]],
    around: Mapping[int, int],
) -> list[float]:
    """Return for each edge how far from the middle of its target's side it arrives.

    Edges arrive in the order in which they come, so that they do not cross on the last stretch.
    Those that are led `around` come from above (-1) or from below (1) all others.
    """
    position = positions(graph, graph.layers)
    arriving: list[list[tuple[float, int]]] = [[] for _ in sizes]
    for edge, (_, target) in enumerate(edges):
        chain = graph.chains[edge]
        come = position[chain[-2]] if chain else around[edge] * inf
        arriving[target].append((come, edge))
    offsets = [0.0] * len(edges)
    for size, coming in zip(sizes, arriving, strict=True):
        if len(coming) > 1:
            gap = min(PORT_GAP, max(0.0, size - 2 * PORT_INSET) / (len(coming) - 1))
            for k, (_, edge) in enumerate(sorted(coming)):
                offsets[edge] = (k - (len(coming) - 1) / 2) * gap
    return offsets


def place(graph: Layers, sizes: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """Return the coordinate of the middle of each item."""
    rows = _rows(graph, sizes)
    middle = [0.0] * len(graph.rank)
    for layer, distances in rows:
        places = accumulate(distances, initial=-sum(distances) / 2)
        for item, at in zip(layer, list(places)[1:], strict=True):
            middle[item] = at
    before, after = _pulls(graph, offsets)
    # First everything follows what was placed before it in the sweep, so that what belongs together
    # finds together over any distance; then neighbours on both sides count the same.
    both = 3 if len(graph.rank) < 4_000 else 1
    for far_weight in [0.05] * 2 + [1.0] * both:
        _sweep(rows, middle, before, after, far_weight)
        _sweep(rows[::-1], middle, after, before, far_weight)
    _straighten(graph, rows, middle, offsets)
    return middle


def _rows(graph: Layers, sizes: Sequence[float]) -> list[Row]:
    half = [size / 2 for size in sizes] + [0.0] * (len(graph.rank) - len(sizes))
    rows = []
    for layer in graph.layers:
        distances = [0.0] if layer else []
        for one, other in pairwise(layer):
            gap = BOX_GAP if one < graph.boxes and other < graph.boxes else SLOT_GAP
            distances.append(half[one] + half[other] + gap)
        rows.append((layer, distances))
    return rows


def _pulls(graph: Layers, offsets: Sequence[float]) -> tuple[list[list[Pull]], list[list[Pull]]]:
    """Return how the links pull at each item, from the layer before and from the layer after.

    They pull harder where an edge passes layers, because there a bend serves nothing.
    """
    before: list[list[Pull]] = [[] for _ in graph.rank]
    after: list[list[Pull]] = [[] for _ in graph.rank]
    for chain, offset in zip(graph.chains, offsets, strict=True):
        for one, other in pairwise(chain):
            weight = WEIGHTS[(one >= graph.boxes) + (other >= graph.boxes)]
            shift = offset if other == chain[-1] else 0.0
            before[other].append((one, weight, -shift))
            after[one].append((other, weight, shift))
    return before, after


def _sweep(
    rows: list[Row],
    middle: list[float],
    near: list[list[Pull]],
    far: list[list[Pull]],
    far_weight: float,
) -> None:
    """Place one layer after the other; the pulls from the `far` side count only by `far_weight`."""
    for layer, distances in rows:
        wanted = []
        weights = []
        for item in layer:
            total = 1e-6  # what nobody pulls stays where it is
            pull = middle[item] * total
            for other, weight, shift in near[item]:
                total += weight
                pull += weight * (middle[other] + shift)
            for other, weight, shift in far[item]:
                total += weight * far_weight
                pull += weight * far_weight * (middle[other] + shift)
            wanted.append(pull / total)
            weights.append(total)
        for item, at in zip(layer, _pool(wanted, weights, distances), strict=True):
            middle[item] = at


def _pool(wanted: list[float], weights: list[float], distances: list[float]) -> list[float]:
    """Return the places nearest to those wanted (least squares) that keep the distances.

    Less the distances so far, places must only not decrease: neighbours that want to pass each
    other are pooled at their weighted mean until none does.
    """
    blocks: list[tuple[float, float, int]] = []  # place, weight, members
    offsets = list(accumulate(distances))
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        at, total, members = want - offset, weight, 1
        while blocks and blocks[-1][0] > at:
            other, other_weight, more = blocks.pop()
            at = (at * total + other * other_weight) / (total + other_weight)
            total += other_weight
            members += more
        blocks.append((at, total, members))
    level = [at for at, _, members in blocks for _ in range(members)]
    return [at + offset for at, offset in zip(level, offsets, strict=True)]


def _straighten(
    graph: Layers, rows: list[Row], middle: list[float], offsets: Sequence[float]
) -> None:
    """Let each long edge run level past as many layers as the gaps between the others allow."""
    position = positions(graph, graph.layers)
    for chain, offset in zip(graph.chains, offsets, strict=True):
        slots = chain[1:-1]
        gaps = [_gap(rows[graph.rank[slot]], position[slot], middle) for slot in slots]
        start = 0
        wish = middle[chain[0]] if slots else 0.0
        while start < len(slots):
            low, high = gaps[start]
            stop = start + 1
            while stop < len(slots):
                lower, upper = max(low, gaps[stop][0]), min(high, gaps[stop][1])
                if lower > upper:
                    break
                low, high = lower, upper
                stop += 1
            if stop == len(slots) and not low <= wish <= high:
                wish = middle[chain[-1]] + offset  # it must bend anyhow: rather here than there
            wish = min(max(wish, low), high)
            for slot in slots[start:stop]:
                middle[slot] = wish
            start = stop


def _gap(row: Row, place: int, middle: list[float]) -> tuple[float, float]:
    """Return how far up and down an item can move without coming too close to its neighbours."""
    layer, distances = row
    low = middle[layer[place - 1]] + distances[place] if place else -inf
    last = place + 1 == len(layer)
    high = inf if last else middle[layer[place + 1]] - distances[place + 1]
    return low, high
