"""Pictures of expression graphs: `draw_dot`, `trace`, the player, and a graph as text, SVG or JSON.

Graph → `Scene` (`from_graph.py`) → one module for each kind of picture. This is the door: functions
that take a Value. `import minigrad` comes by here, so Graphviz's package is loaded when somebody
draws.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Unpack

from ..calculus.steps import check_root
from ..core.display import Text, code, in_hosts_colours, picture
from ..core.elsewhere import explained
from ..core.graph import edges, topological_order
from ..core.scopes import scope_paths
from ..scalar import ABILITIES, Value
from . import saving
from .boxes import Box
from .collapse import kinds_of
from .folding import Folding
from .from_graph import LIMIT, Fold, drawing_of, folded, scene_of
from .player.folded import folded_play_of
from .player.frames import play_of
from .player.page import (
    Folded,
    Options,
    Whole,
    check_options,
    element_of,
    is_wide,
    page_of,
    payload_of,
    pictures_of,
    script,
    still_page_of,
)
from .scene import Arrow, Scene, Span, Unit
from .svg import size_of, svg_of
from .text import text_of

if TYPE_CHECKING:
    from .dot import Picture

PLAYED = 500  # parts of a box that a page can open
CELL = 900.0, 540.0  # px of a notebook's cell, as `core.display` fills it
READABLE = 0.6  # of its size: what would have to be smaller is folded

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
    "save",
    "scene_of",
    "to_html",
    "to_json",
    "to_png",
    "to_svg",
    "to_text",
    "trace",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


@explained("draw_dot(o, rankdir='TB')")
def draw_dot(
    root: Value,
    format: str = "svg",  # noqa: A002 - the lessons' name
    rankdir: str = "LR",
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002 - what one does to a box
) -> Picture:
    """Draw the graph under `root` as it is now; a `graphviz.Digraph`, as in the lessons.

    A large graph is folded: see `to_svg`.
    """
    from .dot import digraph_of

    _check(root, "draw_dot", rankdir)
    scene = scene_of(root, limit, fold=fold, open=open, is_flat=True)
    return digraph_of(scene, format, rankdir)


def trace(root: Value) -> tuple[list[Value], list[tuple[Value, Value]]]:
    """Return the nodes under `root`, and the edges as pairs (operand, user), two for `a*a`.

    The lessons have sets here; these are lists, in topological order, because a set would lose an
    edge of `a*a`, and its order changes from run to run.
    """
    check_root(root, "trace")
    return topological_order(root), [(edge.operand, edge.node) for edge in edges(root)]


def to_text(
    root: Value,
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
) -> str:
    """Draw the graph as a tree for the terminal; a large graph is folded, as by `to_svg`."""
    check_root(root, "to_text")
    return Text(text_of(scene_of(root, limit, fold=fold, open=open, is_flat=True)))


def to_svg(
    root: Value,
    rankdir: str = "LR",
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
) -> str:
    """Draw the graph as SVG.

    A graph of more than `limit` nodes is folded: layers, neurons, known idioms and steps become
    boxes with a name, repeats are drawn once. `open=["layer0"]` opens boxes; `fold=True` closes all
    of them, `fold=["layer0"]` these, `fold=False` makes none; `limit=None` draws everything. What
    is asked for by name is drawn whatever the limit.
    """
    _check(root, "to_svg", rankdir)
    return svg_of(scene_of(root, limit, fold=fold, open=open), rankdir)


def to_json(
    root: Value,
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
) -> str:
    """Return the scene as JSON: units, arrows, and a notice if not all is drawn."""
    check_root(root, "to_json")
    return saving.json_of(scene_of(root, limit, fold=fold, open=open, is_flat=True))


class Player:
    """The step player of a graph. A notebook shows it; `html` is the page, to save or to serve.

    `root` may be a list of Values: then the page has a player for each.
    """

    def __init__(
        self,
        root: Value | Sequence[Value],
        rankdir: str = "auto",
        what: str = "play",
        *,
        limit: int | None = LIMIT,
        fold: Fold = None,
        open: Iterable[str] = (),  # noqa: A002
        **options: Unpack[Options],
    ) -> None:
        own = ("rankdir", "limit", "fold", "open", *(["force"] if what == "to_html" else []))
        check_options(options, what, own)
        self._is_auto = options.get("theme", "auto") == "auto"
        roots = [root] if isinstance(root, Value) or not isinstance(root, Sequence) else root
        if not roots:
            raise ValueError(f"{what}: the list is empty; give it the Values to look at.")
        self._is_compact = options.get("compact", False)
        for each in roots:
            _check(each, what, rankdir, _TURNS)
        shown = [_shown(each, rankdir, limit, fold, open) for each in roots]
        first, *others = shown
        if isinstance(first, Scene) and not others:
            self.html = still_page_of(first, rankdir, options)
        else:
            self.html = page_of([_played(each, what) for each in shown], options)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page; over a file that is there already only if `force` says so."""
        saving.write_new(path, self.html, force)

    def _repr_html_(self) -> str:
        hosted = self.html.replace('<html lang="', '<html data-theme="host" lang="', 1)
        return in_hosts_colours(self.frame(hosted if self._is_auto else self.html))

    def frame(self, html: str = "") -> str:
        """Return the page as an element of another one.

        An <iframe srcdoc> works wherever HTML is shown, also in a page saved from a notebook and
        opened without a network; sandboxed, it has no access to the notebook around it.
        """
        height = 380 if self._is_compact else 620
        return (
            '<iframe class="minigrad-host" sandbox="allow-scripts" width="100%" '
            f'height="{height}" style="border:0;--height:{height}px" title="minigrad player" '
            f'srcdoc="{escape(html or self.html, quote=True)}"></iframe>'
        )

    def __repr__(self) -> str:
        return "<minigrad player: shown in a notebook; .save('file.html') writes it>"


def play(
    root: Value | Sequence[Value],
    rankdir: str = "auto",
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
    **options: Unpack[Options],
) -> Player:
    """Step through the forward and the backward pass in a notebook.

    The picture runs left to right, and top to bottom where there is little room; "LR" and "TB" fix
    it. In a graph of more than `limit` nodes a step is a box, which opens with a click; then what
    is in it has steps of its own. `fold` and `open` are those of `view.to_svg`. Options: `start`
    (a step, "forward", "backward" or "end"), `fault` (one of `broken.FAULTS`), `lang` ("en", "es"),
    `theme` ("auto", "light", "dark"), `compact`.
    """
    return Player(root, rankdir, limit=limit, fold=fold, open=open, **options)


def to_html(
    root: Value | Sequence[Value],
    path: str | os.PathLike[str],
    rankdir: str = "auto",
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
    force: bool = False,
    **options: Unpack[Options],
) -> None:
    """Write the step player as one file that needs no network; a list of Values: several players.

    `limit`, `fold`, `open` and the options are those of `play`. A file that is there already is
    overwritten only with `force`.
    """
    if isinstance(root, (str, os.PathLike)):
        raise TypeError('to_html(root, path): got a path first; write to_html(o, "page.html").')
    saving.require_path(path, 'to_html(o, "page.html")')
    saving.refuse_to_overwrite(path, force)  # before the work is done
    player = Player(root, rankdir, "to_html", limit=limit, fold=fold, open=open, **options)
    player.save(path, force=force)


def save(o: Any, path: str | os.PathLike[str], *, force: bool = False, **options: Any) -> None:
    """Write a picture, as the path ends: .svg, .png, .html (the player), .dot, .json or .txt.

    `o` is a Value, or what `draw_dot`, `play`, `fit`, a plot or a check returned; a list of Values
    becomes a page of players. Options are those of the kind: `rankdir`, `limit`, `fold` and `open`
    of drawings, `scale` of a .png, those of `play` for a page. A file that is there already is
    overwritten only with `force=True`.
    """
    saving.save(o, path, DRAWERS, force, **options)


def to_png(
    root: Value,
    rankdir: str = "LR",
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
    scale: float = saving.SCALE,
) -> bytes:
    """Draw the graph as PNG, `scale` pixels for one of the SVG's; this needs CairoSVG."""
    return saving.png_of(to_svg(root, rankdir, limit=limit, fold=fold, open=open), scale)


# What `save` and the command line write, by kind; the signatures tell which options there are.


@functools.wraps(play, assigned=())
def _page(root: Value | Sequence[Value], rankdir: str = "auto", **options: Any) -> str:
    return Player(root, rankdir, "save", **options).html


@functools.wraps(to_svg, assigned=())
def _source(root: Value, rankdir: str = "LR", **parts: Any) -> str:
    return draw_dot(root, rankdir=rankdir, **parts).source  # type: ignore[no-any-return]


@functools.wraps(to_json, assigned=())
def _json_line(root: Value, **parts: Any) -> str:
    return to_json(root, **parts) + "\n"


@functools.wraps(to_text, assigned=())
def _text_line(root: Value, **parts: Any) -> str:
    return to_text(root, **parts) + "\n"


DRAWERS: saving.Drawers = {
    "svg": to_svg,
    "png": to_png,
    "html": _page,
    "dot": _source,
    "json": _json_line,
    "txt": _text_line,
}


def player_script() -> str:
    """Return the player as a JavaScript module for pages of one's own: `<minigrad-player>`."""
    return script()


def player_element(
    root: Value,
    rankdir: str = "auto",
    *,
    id: str = "",  # noqa: A002 - the attribute's name
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
    **options: Unpack[Options],
) -> str:
    """Return a `<minigrad-player>` for a page of one's own, which has `player_script()` once."""
    check_options(options, "player_element", ("rankdir", "id", "limit", "fold", "open"))
    _check(root, "player_element", rankdir, _TURNS)
    shown = _played(_shown(root, rankdir, limit, fold, open), "player_element")
    return element_of(shown, options, id=id)


def player_payload(
    root: Value,
    rankdir: str = "auto",
    *,
    limit: int | None = LIMIT,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
) -> dict[str, Any]:
    """Return what `mount()` and `update()` of the player's script show, as JSON can hold it."""
    _check(root, "player_payload", rankdir, _TURNS)
    return payload_of(_played(_shown(root, rankdir, limit, fold, open), "player_payload"))


_WAYS = {"LR": "left to right", "TB": "top to bottom"}
_TURNS = {"auto": "as the window suggests", **_WAYS}  # of a player


def _check(root: Any, what: str, rankdir: str, ways: Mapping[str, str] = _WAYS) -> None:
    check_root(root, what)
    if rankdir not in ways:
        *most, last = (f"{way!r}, {meaning}" for way, meaning in ways.items())
        raise ValueError(f"{what}: rankdir={rankdir!r}; write {', '.join(most)}, or {last}.")


def _shown(
    root: Value, rankdir: str, limit: int | None, fold: Fold, names: Iterable[str]
) -> Whole | Folded | Scene:
    """Return what a player shows: all of the graph, or its boxes; or a scene that is cut."""
    names = [names] if isinstance(names, str) else list(names)
    drawn = drawing_of(root, limit, fold=fold, open=names)
    if not isinstance(drawn, Scene):
        return _folded(root, *drawn, rankdir, is_asked=bool(names) or fold is not None)
    if not drawn.is_complete:
        return drawn
    play = play_of(root, drawn)
    whole = Whole(drawn, play, pictures_of(drawn, play, rankdir))
    if limit is None or fold is False or rankdir != "auto" or not is_wide(whole.pictures):
        return whole
    folding, is_open = folded(topological_order(root), limit)
    if not folding.boxes:
        return whole
    return whole._replace(narrow=_folded(root, folding, is_open, "TB", is_asked=False))


def _folded(
    root: Value, folding: Folding, is_open: set[Box], rankdir: str, *, is_asked: bool
) -> Folded:
    levels = folding.insides(PLAYED)
    ids = [box.id for box in folding.boxes.values() if box in is_open and box.id in levels]
    play = folded_play_of(root, folding, levels)
    return Folded(folding.scene(is_open), play, levels, ids, is_asked, rankdir)


def _played(shown: Whole | Folded | Scene, what: str) -> Whole | Folded:
    if not isinstance(shown, Scene):
        return shown
    raise ValueError(
        f"{what}: {shown.title} has too many nodes to step through ({shown.notice}) "
        "A page of its own shows it as a still picture: to_html(root, path)."
    )


def _show(value: Value) -> dict[str, str]:
    """What a notebook shows for a Value: its repr, and its graph below.

    The picture by itself is for what shows no HTML: a notebook as PDF, a console.
    """
    scene = _small_scene(value)
    svg, text = svg_of(scene), repr(value)
    html = code(text) + picture(svg, scene.description())
    return {"text/html": html, "image/svg+xml": svg, "text/plain": text}


def _small_scene(value: Value) -> Scene:
    """Take a picture that can be read in a notebook's cell: what has too much in it is folded."""
    drawn = drawing_of(value, LIMIT)
    folding: Folding | None = None
    if isinstance(drawn, Scene):
        scene = drawn
        if scene.is_complete and not _fits_cell(scene):
            folding, _ = folded(topological_order(value), LIMIT)
    else:
        folding, is_open = drawn
        scene = folding.scene(is_open)
    if folding is None:
        return scene
    if not folding.boxes:
        return scene if _fits_cell(scene) else _fewer(scene, value)
    for most in (LIMIT // 3, LIMIT // 8):
        if _fits_cell(scene):
            break
        scene = folding.scene(folding.opened(most))
    return scene


def _fewer(scene: Scene, value: Value) -> Scene:
    """Draw operands that are alike as one, as of a compiled loss, if that leaves less."""
    order = topological_order(value)
    paths = scope_paths(order)
    found = Folding(kinds_of(order, paths, is_coarse=True), paths).scene(set())
    return found if len(found.units) < len(scene.units) // 2 else scene


def _fits_cell(scene: Scene) -> bool:
    width, height = size_of(svg_of(scene))
    return min(CELL[0] / width, CELL[1] / height) >= READABLE


ABILITIES["show"] = _show
