"""Pictures of expression graphs: `draw_dot`, `trace`, the player, and a graph as text, SVG or JSON.

Graph → `Scene` (`from_graph.py`) → one module for each kind of picture. This is the door: functions
that take a Value. `import minigrad` comes by here, so Graphviz's package is loaded when somebody
draws.
"""

from __future__ import annotations

import json
import os
from html import escape
from typing import TYPE_CHECKING, Any

from ..calculus.steps import check_root
from ..core.files import write_atomically
from ..core.graph import edges, topological_order
from ..scalar import ABILITIES, Value
from .from_graph import LIMIT, scene_of
from .player.frames import play_of
from .player.page import page_of, still_page_of
from .scene import Arrow, Scene, Span, Unit
from .svg import svg_of
from .text import text_of

if TYPE_CHECKING:
    from .dot import Picture

__all__ = [
    "Arrow",
    "Player",
    "Scene",
    "Span",
    "Unit",
    "draw_dot",
    "play",
    "scene_of",
    "to_html",
    "to_json",
    "to_svg",
    "to_text",
    "trace",
]


def draw_dot(
    root: Value,
    format: str = "svg",  # noqa: A002 - the lessons' name
    rankdir: str = "LR",
    *,
    limit: int | None = LIMIT,
) -> Picture:
    """Draw the graph under `root` as it is now; a `graphviz.Digraph`, as in the lessons."""
    from .dot import digraph_of

    return digraph_of(_scene(root, "draw_dot", rankdir, limit), format, rankdir)


def trace(root: Value) -> tuple[list[Value], list[tuple[Value, Value]]]:
    """Return the nodes under `root`, and the edges as pairs (operand, user), two for `a*a`.

    The lessons have sets here; these are lists, in topological order, because a set would lose an
    edge of `a*a`, and its order changes from run to run.
    """
    check_root(root, "trace")
    return topological_order(root), [(edge.operand, edge.node) for edge in edges(root)]


def to_text(root: Value, *, limit: int | None = LIMIT) -> str:
    """Draw the graph as a tree for the terminal."""
    return text_of(_scene(root, "to_text", "LR", limit))


def to_svg(root: Value, rankdir: str = "LR", *, limit: int | None = LIMIT) -> str:
    """Draw the graph as SVG."""
    return svg_of(_scene(root, "to_svg", rankdir, limit), rankdir)


def to_json(root: Value, *, limit: int | None = LIMIT) -> str:
    """Return the scene as JSON: units, arrows, and a notice if not all is drawn."""
    return json.dumps(_scene(root, "to_json", "LR", limit).as_dict(), allow_nan=False)


class Player:
    """The step player of a graph. A notebook shows it; `html` is the page, to save or to serve."""

    def __init__(self, root: Value, rankdir: str = "LR", what: str = "play") -> None:
        scene = _scene(root, what, rankdir, LIMIT)
        if not scene.is_complete:  # too large to be played
            self.html = still_page_of(scene, rankdir)
            return
        self.html = page_of(scene, play_of(root, scene), rankdir)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        # An <iframe srcdoc> works wherever HTML is shown, also in a page saved from a notebook and
        # opened without a network; sandboxed, it has no access to the notebook around it.
        return (
            '<iframe sandbox="allow-scripts" width="100%" height="620" '
            'style="border:0" title="minigrad player" '
            f'srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return "<minigrad player: shown in a notebook; .save('file.html') writes it>"


def play(root: Value, rankdir: str = "LR") -> Player:
    """Step through the forward and the backward pass in a notebook."""
    return Player(root, rankdir)


def to_html(root: Value, path: str | os.PathLike[str], rankdir: str = "LR") -> None:
    """Write the step player as one file that needs no network."""
    Player(root, rankdir, "to_html").save(path)


def _scene(root: Any, what: str, rankdir: str, limit: int | None) -> Scene:
    check_root(root, what)
    if rankdir not in ("LR", "TB"):
        raise ValueError(
            f"{what}: rankdir={rankdir!r}; write 'LR', left to right, or 'TB', top to bottom."
        )
    return scene_of(root, limit)


def _show(value: Value) -> dict[str, str]:
    """What a notebook shows for a Value: its graph, and its repr where there are no pictures."""
    return {"image/svg+xml": svg_of(scene_of(value)), "text/plain": repr(value)}


ABILITIES["show"] = _show
