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
- `routing`: the curves, and tracks around the drawing for edges that are too long for chains.

Invariant: no two boxes overlap and no edge passes through a box that it does not belong to. It
holds by construction: a layer reserves a strip as wide as its widest box, an edge runs level
through the strips in a slot of its own, and bends in the gaps between them only.

Everything is computed from left to right; from top to bottom is the same, transposed at the door.
Start at `layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .layers import Layers, build
from .ordering import improve
from .placing import place, ports
from .ranks import assign
from .routing import curve, level_of, strips, tracks

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
) -> Layout:
    """Place boxes and route edges: from left to right ("LR") or from top to bottom ("TB").

    `sizes` has the (width, height) of each box, `edges` the numbers of (source, target): the
    operand and its user, which is drawn after it. Two edges between the same boxes are two lines.
    Who draws one graph in both directions makes its `layers` once, by `in_layers`.
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
