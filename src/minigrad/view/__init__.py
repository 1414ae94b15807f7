"""Pictures of expression graphs: `draw_dot`, `trace`, the player, and a graph as text, SVG or JSON.

Graph → `Scene` (`from_graph.py`) → one module for each kind of picture. This is the door: functions
that take a Value. `import minigrad` comes by here, so Graphviz's package is loaded when somebody
draws.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Unpack

from ..calculus.steps import check_root
from ..core.files import write_atomically
from ..core.graph import edges, topological_order
from ..scalar import ABILITIES, Value
from .from_graph import LIMIT, scene_of
from .player.frames import play_of
from .player.page import (
    Options,
    check_options,
    element_of,
    page_of,
    payload_of,
    pictures_of,
    script,
    still_page_of,
)
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
    "player_element",
    "player_payload",
    "player_script",
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
    """The step player of a graph. A notebook shows it; `html` is the page, to save or to serve.

    `root` may be a list of Values: then the page has a player for each.
    """

    def __init__(
        self,
        root: Value | Sequence[Value],
        rankdir: str = "auto",
        what: str = "play",
        **options: Unpack[Options],
    ) -> None:
        check_options(options, what)
        roots = [root] if isinstance(root, Value) or not isinstance(root, Sequence) else root
        if not roots:
            raise ValueError(f"{what}: the list is empty; give it the Values to look at.")
        self._is_compact = options.get("compact", False)
        if len(roots) == 1:
            scene = _scene(roots[0], what, rankdir, LIMIT, _TURNS)
            if not scene.is_complete:  # too large to be played
                self.html = still_page_of(scene, rankdir)
                return
        scenes = [_playable(each, what, rankdir) for each in roots]
        shown = [(scene, play_of(each, scene)) for each, scene in zip(roots, scenes, strict=True)]
        self.html = page_of(shown, rankdir, options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        write_atomically(path, self.html)

    def _repr_html_(self) -> str:
        # An <iframe srcdoc> works wherever HTML is shown, also in a page saved from a notebook and
        # opened without a network; sandboxed, it has no access to the notebook around it.
        height = 380 if self._is_compact else 620
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{height}" '
            'style="border:0" title="minigrad player" '
            f'srcdoc="{escape(self.html, quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return "<minigrad player: shown in a notebook; .save('file.html') writes it>"


def play(
    root: Value | Sequence[Value], rankdir: str = "auto", **options: Unpack[Options]
) -> Player:
    """Step through the forward and the backward pass in a notebook.

    The picture runs left to right, and top to bottom where there is little room; "LR" and "TB" fix
    it. Options: `start` (a step, "forward", "backward" or "end"), `fault` (one of
    `broken.FAULTS`), `lang` ("en", "es"), `theme` ("auto", "light", "dark"), `compact`.
    """
    return Player(root, rankdir, **options)


def to_html(
    root: Value | Sequence[Value],
    path: str | os.PathLike[str],
    rankdir: str = "auto",
    **options: Unpack[Options],
) -> None:
    """Write the step player as one file that needs no network; a list of Values: several players.

    The options are those of `play`.
    """
    Player(root, rankdir, "to_html", **options).save(path)


def player_script() -> str:
    """Return the player as a JavaScript module for pages of one's own: `<minigrad-player>`."""
    return script()


def player_element(
    root: Value,
    rankdir: str = "auto",
    *,
    id: str = "",  # noqa: A002 - the attribute's name
    **options: Unpack[Options],
) -> str:
    """Return a `<minigrad-player>` for a page of one's own, which has `player_script()` once."""
    check_options(options, "player_element")
    scene = _playable(root, "player_element", rankdir)
    return element_of(scene, play_of(root, scene), rankdir, options, id=id)


def player_payload(root: Value, rankdir: str = "auto") -> dict[str, Any]:
    """Return what `mount()` and `update()` of the player's script show, as JSON can hold it."""
    scene = _playable(root, "player_payload", rankdir)
    shown = play_of(root, scene)
    return payload_of(shown, pictures_of(scene, shown, rankdir))


_WAYS = {"LR": "left to right", "TB": "top to bottom"}
_TURNS = {"auto": "as the window suggests", **_WAYS}  # of a player


def _scene(
    root: Any, what: str, rankdir: str, limit: int | None, ways: Mapping[str, str] = _WAYS
) -> Scene:
    check_root(root, what)
    if rankdir not in ways:
        *most, last = (f"{way!r}, {meaning}" for way, meaning in ways.items())
        raise ValueError(f"{what}: rankdir={rankdir!r}; write {', '.join(most)}, or {last}.")
    return scene_of(root, limit)


def _playable(root: Any, what: str, rankdir: str) -> Scene:
    scene = _scene(root, what, rankdir, LIMIT, _TURNS)
    if not scene.is_complete:
        raise ValueError(
            f"{what}: {scene.title} has too many nodes to step through ({scene.notice}) "
            "A page of its own shows it as a still picture: to_html(root, path)."
        )
    return scene


def _show(value: Value) -> dict[str, str]:
    """What a notebook shows for a Value: its graph, and its repr where there are no pictures."""
    return {"image/svg+xml": svg_of(scene_of(value)), "text/plain": repr(value)}


ABILITIES["show"] = _show
