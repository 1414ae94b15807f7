"""What is shown of a graph: the player or a folded picture, a table, explanations, remarks.

Start at `shown`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..calculus.paths import explain_all
from ..core.graph import topological_order
from ..core.names import json_number, short_name
from ..scalar import Value
from ..view import PLAYED
from ..view.boxes import Box
from ..view.folding import Folding
from ..view.from_graph import LIMIT, drawing_of
from ..view.player.frames import broken_runs_of, play_of
from ..view.player.page import fold_payload, pictures_of
from ..view.scene import Scene
from ..view.svg import svg_of
from .remarks import remarks_on
from .request import Request, RequestError
from .words import say

PATHS = 4  # of a gradient, told in a line
ROWS = 60  # of the table
COLUMNS = 40  # of a field; none needs as many


def shown(root: Value, variables: Mapping[str, Value], request: Request) -> dict[str, Any]:
    """Show a graph after its backward pass, and what its variables have got."""
    order = topological_order(root)
    place = {id(node): k for k, node in enumerate(order)}
    listed = dict(list(variables.items())[:ROWS])
    is_small = len(order) <= PLAYED
    explained = explain_all(root, PATHS, listed.values()) if is_small else []
    return {
        "title": short_name(root),
        "value": json_number(root.data),
        "nodes": len(order),
        "rows": [
            {
                "name": name,
                "value": json_number(v.data),
                "grad": json_number(v.grad),
                "unit": place.get(id(v)),
            }
            for name, v in listed.items()
        ],
        "more": len(variables) - len(listed),
        "explain": [str(each) for each in explained],
        "remarks": remarks_on(order, request.lang),
        **_picture(root, request),
    }


def _picture(root: Value, request: Request) -> dict[str, Any]:
    drawn = drawing_of(root, LIMIT)
    way = request["rankdir"]
    if not isinstance(drawn, Scene):
        folding, is_open = drawn
        return {"folded": _folded(folding, is_open, way)}
    if not drawn.is_complete:
        return {"still": {"svg": svg_of(drawn, way, has_style=False), "words": drawn.notice}}
    faults = request["faults"]
    play = play_of(root, drawn, faults, _room(request))
    shown: dict[str, Any] = {"play": play, "pictures": pictures_of(drawn, play, way)}
    if faults is not None:
        shown["graph"] = _waiting.take(root, drawn)
    return {"player": shown}


def _room(request: Request) -> list[tuple[int, int]]:
    """Return the columns that an answer before had, two for each unit.

    While an input is moved, a box that was wide once stays so: else all boxes would tremble.
    """
    columns = [min(max(int(x), 0), COLUMNS) for x in request["room"] if math.isfinite(x)]
    return list(zip(columns[::2], columns[1::2], strict=False))


class _Waiting:
    """The graph that was shown last, if its faults are to be played later; it is a small one."""

    def __init__(self) -> None:
        self._number = 0
        self._graph: tuple[Value, Scene] | None = None

    def take(self, root: Value, scene: Scene) -> int:
        """Keep a graph; return the number to ask for it by."""
        self._number, self._graph = self._number + 1, (root, scene)
        return self._number

    def graph(self, number: int) -> tuple[Value, Scene] | None:
        """Return it, if it is still the last."""
        return self._graph if number == self._number else None


_waiting = _Waiting()


def broken(request: Request) -> dict[str, Any]:
    """Play all faults on the graph that was shown last, by the `graph` of that answer.

    They take as long as everything else together, and while somebody types or drags an input,
    nobody looks at them.
    """
    graph = _waiting.graph(request["graph"])
    if graph is None:
        raise RequestError(say(request.lang, "graph is gone"))
    return {"runs": broken_runs_of(*graph)}


def _folded(folding: Folding, is_open: set[Box], way: str) -> dict[str, Any]:
    scene = folding.scene(is_open)
    ids = [box.id for box in folding.boxes.values() if box in is_open]
    return {
        "svg": svg_of(replace(scene, notice=""), way, has_style=False),
        "words": scene.notice.partition(";")[0],
        **fold_payload(folding.insides(PLAYED), ids, way),
    }
