"""What is shown of a graph: the player or a folded picture, a table, explanations, remarks.

Start at `shown`.
"""

from __future__ import annotations

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
from ..view.player.frames import play_of
from ..view.player.page import fold_payload, pictures_of
from ..view.scene import Scene
from ..view.svg import svg_of
from .remarks import remarks_on
from .request import Request

PATHS = 4  # of a gradient, told in a line
ROWS = 60  # of the table


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
    way = request.way
    if not isinstance(drawn, Scene):
        folding, is_open = drawn
        return {"folded": _folded(folding, is_open, way)}
    if not drawn.is_complete:
        return {"still": {"svg": svg_of(drawn, way, has_style=False), "words": drawn.notice}}
    play = play_of(root, drawn)
    return {"player": {"play": play, "pictures": pictures_of(drawn, play, way)}}


def _folded(folding: Folding, is_open: set[Box], way: str) -> dict[str, Any]:
    scene = folding.scene(is_open)
    ids = [box.id for box in folding.boxes.values() if box in is_open]
    return {
        "svg": svg_of(replace(scene, notice=""), way, has_style=False),
        "words": scene.notice.partition(";")[0],
        **fold_payload(folding.insides(PLAYED), ids, way),
    }
