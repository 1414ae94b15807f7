"""`save(o, "picture.png")`: what there is to write about a thing, by the ending of the file.

A thing has a row for each ending that makes sense for it (`_makers`). Nothing is overwritten unless
`force` says so, and nothing is written before all that can be refused has been. PNG is drawn by
CairoSVG from the same SVG, in its light colours; nothing else here needs more than minigrad.

Start at `save`.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..core.files import would_overwrite, write_atomically
from ..core.names import readable
from ..errors import OverwriteError
from ..history import History
from ..scalar import Value
from .scene import Scene
from .svg import FONT, svg_of
from .text import text_of

KINDS = ("svg", "png", "html", "dot", "json", "txt")
_ALSO = {"htm": "html", "gv": "dot"}  # other endings for the same

SCALE = 2.0  # pixels of a PNG for one of the drawing: sharp on the screens of today
_PIXELS, _SIDE = 100_000_000, 32_000  # 400 MB, and what Cairo can do

Maker = Callable[..., "str | bytes"]
Drawers = Mapping[str, Maker]  # the ways to draw a Value, by kind


def save(
    thing: Any, path: str | os.PathLike[str], drawers: Drawers, force: bool, **options: Any
) -> None:
    """Write a thing as the ending of the path says; see `view.save`."""
    require_path(path, 'save(o, "picture.svg")')
    kind = kind_of(path)
    refuse_to_overwrite(path, force)  # before the work is done
    write_new(path, content_of(thing, kind, drawers, **options), force)


def require_path(path: Any, call: str) -> None:
    """Refuse what is no path, and show how the function is called."""
    if not isinstance(path, (str, os.PathLike)):
        got = type(path).__name__
        raise TypeError(f"{call.partition('(')[0]}(o, path): got {got} as the path; write {call}.")


def write_new(path: str | os.PathLike[str], content: str | bytes, force: bool) -> None:
    """Write a file, over one that is there only with `force`."""
    refuse_to_overwrite(path, force)
    write_atomically(path, content)


def refuse_to_overwrite(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse to write over a file, unless that is wanted."""
    if not force and would_overwrite(path):
        raise OverwriteError(
            f"{readable(os.fspath(path))} exists already; pass force=True to overwrite it."
        )


def kind_of(path: str | os.PathLike[str]) -> str:
    """Tell by a path's ending what to write."""
    ending = os.path.splitext(os.fspath(path))[1]
    kind = _ALSO.get(ending.lower()[1:], ending.lower()[1:])
    if kind not in KINDS:
        what = f"the ending {readable(ending)!r} is not known" if ending else "it has no ending"
        raise ValueError(f"{readable(path)}: {what}; write one of {_endings(KINDS)}.")
    return kind


def content_of(thing: Any, kind: str, drawers: Drawers, **options: Any) -> str | bytes:
    """Make what a file of this kind holds."""
    makers = _makers(thing, drawers)
    what = type(thing).__name__
    if not makers and hasattr(thing, "named_parameters"):
        raise TypeError(
            f"save: got {what}; the numbers of a model are kept by model.save(path), "
            "and its picture is that of what it returns, model(x)."
        )
    if not makers:
        raise TypeError(
            f"save: got {what}; give it a Value, or what draw_dot, play, fit or a plot returned."
        )
    if kind not in makers:
        for_lists = " For a picture give it one of the Values." if _is_list(thing) else ""
        raise ValueError(
            f"save: a {what} cannot be written as .{kind}; write {_endings(makers)}.{for_lists}"
        )
    maker = makers[kind]
    known = inspect.signature(maker).parameters
    for name in options:
        if name not in known and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            there_are = f"its options are {', '.join(known)}" if known else "it has no options"
            raise TypeError(f"save: .{kind} has no option {name!r}; {there_are}.")
    return maker(**options)


def _endings(kinds: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(f".{kind}" for kind in kinds)


def _is_list(thing: Any) -> bool:
    return isinstance(thing, (list, tuple))


# ---- what there is to write ------------------------------------------------------------------


def _makers(thing: Any, drawers: Drawers) -> dict[str, Maker]:
    """Return how to write a thing, by kind; nothing for what cannot be written."""
    if isinstance(thing, Value):
        return {kind: _bound(drawer, thing) for kind, drawer in drawers.items()}
    if _is_list(thing) and thing and all(isinstance(each, Value) for each in thing):
        return {"html": _bound(drawers["html"], thing)}
    if isinstance(thing, History):
        return _of_plot(lambda: thing.plot()[0].figure, is_ours=True) | {
            "txt": lambda: f"{thing}\n"
        }
    if isinstance(getattr(thing, "html", None), str):  # a Player
        return {"html": lambda: thing.html}
    if hasattr(thing, "drawn"):  # what draw_dot returned
        return _of_digraph(thing)
    if figure := _figure(thing):
        return _of_plot(lambda: figure, is_ours=False)
    reports = {"html": "to_html", "json": "to_json", "txt": "text"}  # of checks, tapes, paths
    found = {kind: getattr(thing, name, None) for kind, name in reports.items()}
    is_ours = type(thing).__module__.partition(".")[0] == __name__.partition(".")[0]
    return {kind: _ended(make) for kind, make in found.items() if is_ours and callable(make)}


def _bound(drawer: Maker, thing: Any) -> Maker:
    """Draw this thing: a function of the options alone."""

    def make(**options: Any) -> str | bytes:
        return drawer(thing, **options)

    signature = inspect.signature(drawer)
    of_options = list(signature.parameters.values())[1:]
    make.__signature__ = signature.replace(parameters=of_options)  # type: ignore[attr-defined]
    return make


def _ended(make: Callable[[], str]) -> Maker:
    return lambda: make().rstrip("\n") + "\n"


def _of_digraph(picture: Any) -> dict[str, Maker]:
    """Write what draw_dot returned: its own drawing, or Graphviz's of what was changed since."""
    makers: dict[str, Maker] = {"dot": lambda: picture.source}
    drawn = picture.drawn
    if drawn is None:
        return makers | {kind: partial(picture.pipe, kind) for kind in ("svg", "png")}
    scene, rankdir = drawn
    return makers | {
        "svg": lambda: svg_of(scene, rankdir),
        "png": lambda scale=SCALE: png_of(svg_of(scene, rankdir), scale),
        "json": lambda: json_of(scene) + "\n",
        "txt": lambda: text_of(scene) + "\n",
    }


def json_of(scene: Scene) -> str:
    """Write a scene as JSON."""
    return json.dumps(scene.as_dict(), allow_nan=False)


def _figure(thing: Any) -> Any:
    """Return the matplotlib figure that a thing is, or belongs to; None if there is none."""
    if _is_list(thing) and thing:
        thing = thing[0]  # as `history.plot()` returns them
    figure = getattr(thing, "figure", thing)
    return figure if callable(getattr(figure, "savefig", None)) else None


def _of_plot(figure: Callable[[], Any], is_ours: bool) -> dict[str, Maker]:
    """Write a plot; one that was made for this is closed, so that no notebook shows it as well."""

    def make(kind: str, dpi: float) -> bytes:
        drawn, stream = figure(), io.BytesIO()
        try:
            drawn.savefig(stream, format=kind, dpi=dpi)
        finally:
            if is_ours:
                from matplotlib import pyplot

                pyplot.close(drawn)
        return stream.getvalue()

    return {
        "svg": lambda: make("svg", 100.0),
        "png": lambda dpi=150.0: make("png", dpi),
    }


# ---- PNG ----------------------------------------------------------------------------------------


def png_of(svg: str, scale: float = SCALE) -> bytes:
    """Draw an SVG of ours as PNG, `scale` pixels for one of its own."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0 < scale < 100:
        raise ValueError(f"save(scale={scale!r}): give a number above 0, such as 2.")
    cairosvg = _cairosvg()
    width, height = map(float, re.findall(r'(?:width|height)="([\d.]+)"', svg)[:2])
    most = min(_SIDE / width, _SIDE / height, (_PIXELS / (width * height)) ** 0.5)
    if most < 1:
        raise ValueError(
            f"save: a picture of {width:,.0f} × {height:,.0f} is too large for PNG; write .svg, or "
            "draw less of the graph."
        )
    # CairoSVG takes the first name of a list of fonts, whether there is such a one or not.
    plain = svg.replace(f'font-family="{FONT}"', 'font-family="monospace"', 1)
    found: bytes = cairosvg.svg2png(plain.encode(), scale=min(scale, most))
    return found


def _cairosvg() -> Any:
    try:
        import cairosvg  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "a PNG is drawn by CairoSVG, which is not installed. Install it with: "
            "python -m pip install 'minigrad-engine[png]' (.svg needs nothing)."
        ) from None
    except OSError:  # the package is there, and what it calls is not
        raise ImportError(
            "a PNG is drawn by CairoSVG, which does not find the library Cairo. Install that "
            "(apt install libcairo2, brew install cairo, conda install cairo), or write .svg."
        ) from None
    return cairosvg
