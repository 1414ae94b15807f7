"""A layered layout of boxes and edges, as one draws an expression by hand.

Why our own? Because there is no small and permissive library that does it well. Graphviz is under
EPL, and a program or megabytes to install; of the others, some are under GPL or EPL, some are
JavaScript of more than a megabyte, several lead dozens of edges through boxes, and most take from
eight seconds to minutes for 2,500 boxes. Here it is some hundred lines of the standard library,
without recursion, and the same picture every time.

It is done in stages, a file each, in this order:

- `ranks`: in which layer each box stands;
- `layers`: every edge becomes a chain of items, one in each layer that it passes;
- `ordering`, with `reinsert`: the order within each layer, so that few edges cross;
- `placing`: where in its layer each item lies, so that edges are straight;
- `routing`: the curves, and tracks around the drawing for edges that are too long for chains;
- `rows`: what is too long for one line goes on in the next.

Invariant: no two boxes overlap and no edge passes through a box that it does not belong to. It
holds by construction: a layer reserves a strip as wide as its widest box, an edge runs level
through the strips in a slot of its own, and bends in the gaps between them only.

Everything is computed from left to right; from top to bottom is the same, transposed at the door.
Start at `layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from .layers import Layers, build
from .ordering import improve
from .placing import place, ports
from .ranks import assign
from .routing import Strip, curve, level_of, strips, tracks
from .rows import MANY, Rows, rows_of, turned

__all__ = ["Layers", "Layout", "Point", "in_layers", "layout"]

MARGIN = 8.0  # px, all round


class Point(NamedTuple):
    """A place in the drawing; x grows to the right, y downwards."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is drawn."""

    width: float
    height: float
    corners: tuple[Point, ...]  # top left corner of each box, in the order of `sizes`
    routes: tuple[tuple[Point, ...], ...]  # start, then control, control, end for each segment


def in_layers(boxes: int, edges: Sequence[tuple[int, int]]) -> Layers:
    """Put boxes into layers and each layer into order: most of the work, whatever the sizes."""
    graph = build(assign(boxes, edges), edges)
    improve(graph)
    return graph


def layout(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    rankdir: str = "LR",
    layers: Layers | None = None,
    wrap: float | None = None,
    turns: int = MANY,
) -> Layout:
    """Place boxes and route edges: from left to right ("LR") or from top to bottom ("TB").

    `sizes` has the (width, height) of each box, `edges` the numbers of (source, target): the
    operand and its user, which is drawn after it. Two edges between the same boxes are two lines.
    Who draws one graph in both directions makes its `layers` once, by `in_layers`. From left to
    right, what is longer than `wrap` is drawn in rows, if it can be broken where at most `turns`
    edges pass.
    """
    if rankdir not in ("LR", "TB"):
        raise ValueError(
            f"layout(rankdir): got {rankdir!r}; write 'LR' (left to right) or 'TB' (top to bottom)."
        )
    flip = rankdir == "TB"
    # From here on: a box is `deep` along the direction of the edges and `tall` across it.
    deep = [height if flip else width for width, height in sizes]
    tall = [width if flip else height for width, height in sizes]

    graph = layers or in_layers(len(sizes), edges)
    around = tracks(graph, edges)
    offsets = ports(graph, tall, edges, {edge: track[0] for edge, track in around.items()})
    middle = place(graph, tall, offsets)
    spans = strips(graph, deep)
    begins = [
        (spans[layer][0] + spans[layer][1] - size) / 2
        for layer, size in zip(graph.rank, deep, strict=False)  # the boxes, not the slots
    ]
    ends = [begin + size for begin, size in zip(begins, deep, strict=True)]
    half = [size / 2 for size in tall] + [0.0] * (len(middle) - len(tall))
    rows = rows_of(graph, spans, middle, half, wrap, turns) if wrap and not flip else None
    if rows is not None:
        return _in_rows(graph, rows, spans, begins, ends, middle, tall, edges, offsets)
    top = min((at - size for at, size in zip(middle, half, strict=True)), default=0.0)
    bottom = max((at + size for at, size in zip(middle, half, strict=True)), default=0.0)
    outer = {edge: level_of(track, top, bottom) for edge, track in around.items()}
    routes = []
    for edge, (source, target) in enumerate(edges):
        first, last = graph.rank[source], graph.rank[target]
        levels = [middle[item] for item in graph.chains[edge]]
        passed = spans[first : last + 1]
        if edge in outer:
            levels = [middle[source], outer[edge], outer[edge], middle[target]]
            passed = [spans[first], spans[first + 1], spans[last - 1], spans[last]]
        levels[-1] += offsets[edge]
        routes.append(curve(ends[source], begins[target], levels, passed))
    highest, lowest = min([top, *outer.values()]), max([bottom, *outer.values()])

    def point(x: float, y: float) -> Point:
        x, y = round(x + MARGIN, 2), round(y - highest + MARGIN, 2)
        return Point(y, x) if flip else Point(x, y)

    far = point(spans[-1][1] if spans else 0.0, lowest)
    return Layout(
        far.x + MARGIN,
        far.y + MARGIN,
        tuple(
            point(begin, at - size / 2)
            for begin, at, size in zip(begins, middle, tall, strict=False)
        ),
        tuple(tuple(point(x, y) for x, y in route) for route in routes),
    )


def _in_rows(
    graph: Layers,
    rows: Rows,
    spans: Sequence[Strip],
    begins: Sequence[float],
    ends: Sequence[float],
    middle: Sequence[float],
    tall: Sequence[float],
    edges: Sequence[tuple[int, int]],
    offsets: Sequence[float],
) -> Layout:
    """Move each row to its place, and lead the edges from one to the next."""
    places = _turns(graph, rows, middle)
    routes = []
    for edge, (source, target) in enumerate(edges):
        chain = graph.chains[edge]
        first, last = graph.rank[source], graph.rank[target]
        route: list[tuple[float, float]] = []
        for number in range(rows.row[first], rows.row[last] + 1):
            passed = [layer for layer in range(first, last + 1) if rows.row[layer] == number]
            dx, dy = rows.shift[number]
            levels = [middle[chain[layer - first]] + dy for layer in passed]
            begin = ends[source] if passed[0] == first else spans[passed[0]][0]
            end = begins[target] if passed[-1] == last else spans[passed[-1]][1]
            if passed[-1] == last:
                levels[-1] += offsets[edge]
            strips_here = [(spans[layer][0] + dx, spans[layer][1] + dx) for layer in passed]
            piece = curve(begin + dx, end + dx, levels, strips_here)
            if route:
                turn = turned(rows, number - 1, places[edge, number - 1], route[-1], piece[0])
                route += turn
            route += piece[1:] if route else piece
        routes.append(route)

    def point(x: float, y: float) -> Point:
        return Point(round(x + MARGIN, 2), round(y + MARGIN, 2))

    corners = []
    for box, (begin, size) in enumerate(zip(begins, tall, strict=True)):
        dx, dy = rows.of(graph.rank[box])
        corners.append(point(begin + dx, middle[box] - size / 2 + dy))
    points = [[point(x, y) for x, y in route] for route in routes]
    far = max([*rows.right, *(p.x - MARGIN for route in points for p in route)])
    corner = point(far, rows.bottom[-1])
    return Layout(
        corner.x + MARGIN,
        corner.y + MARGIN,
        tuple(corners),
        tuple(tuple(route) for route in points),
    )


def _turns(graph: Layers, rows: Rows, middle: Sequence[float]) -> dict[tuple[int, int], int]:
    """Say for each edge that leaves a row which one it is, counted from the lowest."""
    leaving: dict[int, list[tuple[float, int]]] = {}
    for edge, chain in enumerate(graph.chains):
        for item, following in pairwise(chain):
            number = rows.row[graph.rank[item]]
            if rows.row[graph.rank[following]] != number:
                leaving.setdefault(number, []).append((-middle[item], edge))
    return {
        (edge, number): place
        for number, found in leaving.items()
        for place, (_, edge) in enumerate(sorted(found))
    }
