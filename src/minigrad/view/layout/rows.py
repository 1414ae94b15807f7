"""A drawing that is too long for one line goes on in another row, as a text does.

Rows run in the same direction. An edge from one row to the next leaves at the end of its row, runs
back in the channel between the two, and enters the next row at its beginning. A drawing is broken
where the fewest edges pass; if more than `turns` pass everywhere, it stays in one line.

Start at `rows_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .layers import Layers
from .routing import Strip

LONG = 1.5  # of the width: what is less too long is better seen in one piece, a little smaller
MANY = 24  # edges that may go from a row to the next: more of them would be a picture of turns
FEW = 3  # the same where both ends of an edge are to be seen at once
TURN = 16.0  # px from a row to the first edge that turns there
TRACK = 8.0  # px between two that turn
EARLY = 0.6  # of the width: a row may end before its end, where fewer edges pass
ROUND = 6.0  # px, of a corner

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Rows:
    """Which row each layer is in, and how far each row is moved."""

    row: list[int]  # of each layer
    shift: list[Place]  # of each row
    right: list[float]  # where each row ends
    bottom: list[float]

    def of(self, layer: int) -> Place:
        """Return how far a layer is moved."""
        return self.shift[self.row[layer]]


def rows_of(
    graph: Layers,
    spans: Sequence[Strip],
    middle: Sequence[float],
    half: Sequence[float],
    wrap: float,
    turns: int,
) -> Rows | None:
    """Break the drawing into rows no longer than `wrap`, if it is longer and can be broken."""
    if not spans or spans[-1][1] <= LONG * wrap or not all(graph.chains):
        return None
    row = _broken(graph, spans, wrap, turns)
    if row is None:
        return None
    crossing = [0] * (row[-1] + 1)  # edges that leave each row
    for layer in range(len(spans) - 1):
        if row[layer] != row[layer + 1]:
            crossing[row[layer]] = _passing(graph, layer)
    left = TURN + TRACK * max(crossing)
    shift, right, bottom = [], [], []
    y = 0.0
    for number in range(row[-1] + 1):
        layers = [layer for layer, r in enumerate(row) if r == number]
        items = [item for layer in layers for item in graph.layers[layer]]
        top = min(middle[item] - half[item] for item in items)
        low = max(middle[item] + half[item] for item in items)
        shift.append((left - spans[layers[0]][0], y - top))
        right.append(left + spans[layers[-1]][1] - spans[layers[0]][0])
        bottom.append(y + low - top)
        y = bottom[-1] + 2 * TURN + TRACK * crossing[number]
    return Rows(row, shift, right, bottom)


def _passing(graph: Layers, layer: int) -> int:
    return sum(len(graph.after[item]) for item in graph.layers[layer])


def _broken(graph: Layers, spans: Sequence[Strip], wrap: float, turns: int) -> list[int] | None:
    """Return the row of each layer; None if too many edges pass everywhere."""
    count = -(-spans[-1][1] // wrap)
    goal = min(wrap, spans[-1][1] / count * 1.1)  # rows of about the same length
    row, start, number = [0] * len(spans), 0, 0
    while start < len(spans) - 1 and spans[-1][1] - spans[start][0] > goal:
        begin = spans[start][0]
        fitting = [k for k in range(start, len(spans) - 1) if spans[k][1] - begin <= goal]
        late = [k for k in fitting if spans[k][1] - begin >= EARLY * goal] or [start]
        least = min(_passing(graph, k) for k in late)
        if least > turns:
            return None
        last = max(k for k in late if _passing(graph, k) == least)
        start, number = last + 1, number + 1
        row[start:] = [number] * (len(spans) - start)
    return row


def turned(rows: Rows, number: int, place: int, start: Place, end: Place) -> list[Place]:
    """Return the way from the end of a row to the beginning of the next, as Bézier points.

    `place` is which of the edges there it is, counted from the innermost.
    """
    out = rows.right[number] + TURN / 2 + TRACK * place
    channel = rows.bottom[number] + TURN + TRACK * place
    back = end[0] - TURN / 2 - TRACK * place
    corners = [start, (out, start[1]), (out, channel), (back, channel), (back, end[1]), end]
    points: list[Place] = []
    for k in range(1, len(corners) - 1):
        before, at, after = corners[k - 1], corners[k], corners[k + 1]
        one, two = _towards(at, before), _towards(at, after)
        points += _line(points[-1] if points else start, one)
        points += [at, at, two]
    return points + _line(points[-1], end)


def _towards(at: Place, other: Place) -> Place:
    """Return the point at the beginning of a rounded corner."""
    dx, dy = other[0] - at[0], other[1] - at[1]
    length = abs(dx) + abs(dy)
    part = min(ROUND, length / 2) / length if length else 0.0
    return at[0] + dx * part, at[1] + dy * part


def _line(one: Place, two: Place) -> list[Place]:
    third = [(one[k] * 2 + two[k]) / 3 for k in (0, 1)], [(one[k] + two[k] * 2) / 3 for k in (0, 1)]
    return [(third[0][0], third[0][1]), (third[1][0], third[1][1]), two]
