"""The graph in layers: every edge a chain of items, one in each layer that it passes.

An item is a box or a slot: the place where a long edge passes a layer. With slots, every link joins
neighbouring layers, which is what ordering and placing work on. Items are numbers: the boxes
first, as the caller numbers them, then the slots.

Invariant: a link leads from layer k to layer k + 1. The number of slots is bounded by the size of
the graph; the longest edges beyond that have no chain and are led around the whole drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Order = list[list[int]]  # the items of each layer


@dataclass(slots=True)
class Layers:
    """Items, their links, and the order of the items in each layer (which the stages improve)."""

    boxes: int
    layers: Order
    rank: list[int]  # of each item
    before: list[list[int]]  # of each item: the items it is linked to in the layer before
    after: list[list[int]]  # in the layer after
    chains: list[list[int]]  # of each edge: source, slots, target; empty if it is led around
    ends: list[tuple[int, int]]  # of each slot, from the first: source and target of its edge


def slot_limit(boxes: int, edges: int) -> int:
    """Return how many slots a graph of this size may have."""
    return 1_000 + 2 * (boxes + edges)


def build(rank: Sequence[int], edges: Sequence[tuple[int, int]]) -> Layers:
    """Cut every edge into links between neighbouring layers, short edges first."""
    boxes = len(rank)
    layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for box, layer in enumerate(rank):
        layers[layer].append(box)
    graph = Layers(
        boxes, layers, list(rank), [[] for _ in rank], [[] for _ in rank], [[] for _ in edges], []
    )
    left = slot_limit(boxes, len(edges))
    lengths = [rank[target] - rank[source] for source, target in edges]
    chained = []
    for edge in sorted(range(len(edges)), key=lengths.__getitem__):
        left -= lengths[edge] - 1
        if left < 0:
            break
        chained.append(edge)
    for edge in sorted(chained):
        source, target = edges[edge]
        chain = [source]
        for layer in range(rank[source] + 1, rank[target]):
            slot = len(graph.rank)
            graph.ends.append((source, target))
            graph.rank.append(layer)
            graph.before.append([])
            graph.after.append([])
            layers[layer].append(slot)
            chain.append(slot)
        chain.append(target)
        for one, next_one in pairwise(chain):
            graph.after[one].append(next_one)
            graph.before[next_one].append(one)
        graph.chains[edge] = chain
    return graph


def positions(graph: Layers, order: Order) -> list[int]:
    """Return for each item which one of its layer it is."""
    position = [0] * len(graph.rank)
    for layer in order:
        for place, item in enumerate(layer):
            position[item] = place
    return position
