"""From places to curves: the strips of the layers, and edges as chains of cubic Béziers.

Within a strip an edge runs level; it bends only in the gap between two strips. All bends in a gap
have the same shape between the same two ends, so two of them cross if and only if their ends are in
opposite order, and then once: what `ordering` counts is what one sees.

An edge without a chain is led around: in the first gap to a track above or below everything, in the
last gap from there to its target.

Start at `curve`.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from .layers import Layers

LAYER_GAP = 42.0  # px between two strips, and a little more where many edges bend
CALM = 12  # so many edges bend in a gap of that size
TRACK_GAP = 7.0
HAIR = 1e-6  # px; a shorter piece is rounding, which differs from one Python's sum() to another's

Track = tuple[int, int]  # above (-1) or below (1) the drawing; its number, counted from there
Strip = tuple[float, float]  # where a layer begins and ends


def tracks(graph: Layers, edges: Sequence[tuple[int, int]]) -> dict[int, Track]:
    """Give every edge without a chain a track around the drawing, shared only one after another."""
    free = [(0, -1), (0, 1)]  # number and side, the nearest first; the last on each side is new
    new = {-1: 0, 1: 0}
    busy: list[tuple[int, tuple[int, int]]] = []  # until which layer, which track
    found: dict[int, Track] = {}
    waiting = [edge for edge, chain in enumerate(graph.chains) if not chain]
    for edge in sorted(waiting, key=lambda edge: graph.rank[edges[edge][0]]):
        source, target = edges[edge]
        while busy and busy[0][0] <= graph.rank[source]:
            heappush(free, heappop(busy)[1])
        number, side = heappop(free)
        if number == new[side]:
            new[side] += 1
            heappush(free, (new[side], side))
        heappush(busy, (graph.rank[target], (number, side)))
        found[edge] = (side, number)
    return found


def level_of(track: Track, top: float, bottom: float) -> float:
    """Return the coordinate of a track around a drawing that reaches from `top` to `bottom`."""
    side, number = track
    return (bottom if side > 0 else top) + side * TRACK_GAP * (number + 1)


def strips(graph: Layers, widths: Sequence[float]) -> list[Strip]:
    """Return where each layer begins and ends: as wide as its widest box."""
    result = []
    at = 0.0
    for layer in graph.layers:
        width = max((widths[item] for item in layer if item < graph.boxes), default=0.0)
        result.append((at, at + width))
        links = sum([len(graph.after[item]) for item in layer])
        at += width + LAYER_GAP + min(40.0, max(0.0, 0.6 * (links - CALM)))
    return result


def curve(
    start: float, end: float, levels: Sequence[float], spans: Sequence[Strip]
) -> list[tuple[float, float]]:
    """Return the Bézier chain that runs level in each strip and bends between them.

    `spans` are the strips from the source's to the target's, `levels` how high the edge lies in
    each of them. The first piece always ends with the first strip, so that the edges of a box begin
    with the very same piece.
    """
    at, level = start, levels[0]
    points = [(at, level)]

    def line(to: float) -> None:
        if to - at > HAIR:
            third = (to - at) / 3
            points.extend([(at + third, level), (to - third, level), (to, level)])

    for (_, leave), (enter, _), new in zip(spans, spans[1:], levels[1:], strict=False):
        if new != level or at == start:
            line(leave)
            at = leave
        if new != level:
            middle = (leave + enter) / 2
            points.extend([(middle, level), (middle, new), (enter, new)])
            at, level = enter, new
    line(end)
    return points
