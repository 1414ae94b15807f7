"""A scene as a `graphviz.Digraph`, drawn like the lessons' `draw_dot`.

It is a real Digraph: its source, `render` and `pipe` are Graphviz's where the `dot` binary is
installed. Where it is not, SVG is drawn by ourselves, so that notebooks show the picture and
`render('gout')` writes it; other formats then say what to install.

Labels are text. Graphviz would read `{`, `|` and `\\n` in them as its own language, so all such
characters are written as numbers (`&#124;`), which it turns into text only after it has parsed the
record. HTML-like labels, which can smuggle a link into a picture, are never used.
"""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import webbrowser
from pathlib import Path
from typing import Any

import graphviz  # type: ignore[import-untyped]

from ..core.display import picture
from ..core.elsewhere import PICTURE, absentees, names_of
from ..core.files import write_atomically
from ..core.names import brief, plural, readable
from ..errors import GraphvizMissingError
from .scene import Scene, Span, Unit
from .svg import svg_of


class Picture(graphviz.Digraph):  # type: ignore[misc]
    """A Digraph that can also be drawn without the `dot` binary."""

    # What draw_dot drew: a scene, in which direction, and the source that they stand for.
    _drawn: tuple[Scene, str, str] | None = None

    def copy(self) -> Picture:
        """Return another one like it."""
        twin: Picture = super().copy()
        twin._drawn = self._drawn
        return twin

    def save(
        self,
        filename: str | os.PathLike[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        *,
        skip_existing: bool | None = False,
    ) -> str:
        """Write the source, whole or not at all; return its path."""
        if filename is not None:
            self.filename = os.fspath(filename)
        if directory is not None:
            self.directory = os.fspath(directory)
        path: str = self.filepath
        if not (skip_existing and os.path.exists(path)):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            write_atomically(path, self.source.encode(self.encoding))
        return path

    @property
    def drawn(self) -> tuple[Scene, str] | None:
        """What is drawn and in which direction; None if somebody has changed it since."""
        if self._drawn is None or self.source != self._drawn[2]:
            return None
        return self._drawn[:2]

    def __dir__(self) -> list[str]:
        return names_of(self)

    def __repr__(self) -> str:
        drawn = self.drawn
        if drawn is None:
            return "<draw_dot, changed since: .source is what Graphviz draws>"
        scene = drawn[0]
        units, arrows = plural(len(scene.units), "unit"), plural(len(scene.arrows), "arrow")
        return (
            f"<draw_dot of {scene.title}: {units}, {arrows}; shown in a notebook; "
            ".render('file') writes it>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> Any:
        """Our own drawing, as a Value shows it; Graphviz's of what was changed, or on request."""
        drawn, is_usual = self.drawn, self._jupyter_mimetype == "image/svg+xml" and not include
        if drawn is None or not is_usual:
            return super()._repr_mimebundle_(include, exclude, **_)
        scene, rankdir = drawn
        svg = svg_of(scene, rankdir)
        html = picture(svg, scene.description())
        return {"text/html": html, "image/svg+xml": svg, "text/plain": repr(self)}

    @functools.wraps(graphviz.Digraph.pipe, assigned=())  # its parameters are Graphviz's own
    def pipe(self, *args: Any, **options: Any) -> Any:
        """Return the picture as bytes, or as text if an `encoding` is given."""
        if shutil.which(options.get("engine") or self.engine):
            return super().pipe(*args, **options)
        given = _given(graphviz.Digraph.pipe, args, options)
        svg = self._own_svg(given["format"] or self.format, given)
        return svg.encode().decode(given["encoding"]) if given["encoding"] else svg.encode()

    @functools.wraps(graphviz.Digraph.render, assigned=())
    def render(self, *args: Any, **options: Any) -> str:
        """Write the source and the picture beside it; return the picture's path."""
        if shutil.which(options.get("engine") or self.engine):
            return str(super().render(*args, **options))
        given = _given(graphviz.Digraph.render, args, options)
        filename, directory, outfile = (given[k] for k in ("filename", "directory", "outfile"))
        ending = Path(outfile).suffix[1:] if outfile is not None else self.format
        svg = self._own_svg(given["format"] or ending, given)
        if outfile is not None:  # as Graphviz's own does it
            outfile = Path(self.directory, outfile) if directory is None else Path(outfile)
            filename = filename or outfile.with_suffix(".gv").name
        folder = Path(self.directory if directory is None else directory)
        target = outfile or Path(folder, f"{filename or self.filename}.svg")
        if given["raise_if_result_exists"] and Path(target).exists():
            raise graphviz.FileExistsError(f"the output file exists: {os.fspath(target)!r}")
        # Nothing is written before all that can be refused has been.
        source = self.save(filename, directory=directory)
        write_atomically(target, svg)
        if given["cleanup"]:
            os.remove(source)
        if given["view"]:
            webbrowser.open(Path(target).resolve().as_uri())
        return os.fspath(target)

    def _own_svg(self, wanted: str, given: dict[str, Any]) -> str:
        renderer = given["renderer"] or given["formatter"]
        if wanted != "svg" or renderer:
            kind = f"{wanted}:{renderer}" if renderer else wanted or "such"
            raise GraphvizMissingError(
                f"{kind} pictures are made by Graphviz, and its dot program is not on the PATH. "
                f"{_REMEDY}, or ask for format='svg', which needs nothing."
            )
        drawn = self.drawn
        if drawn is None:
            raise GraphvizMissingError(
                "this picture was changed after draw_dot made it, and only Graphviz can draw the "
                f"change; its dot program is not on the PATH. {_REMEDY}."
            )
        return svg_of(*drawn)


for _name, _absent in absentees("a picture", PICTURE):
    setattr(Picture, _name, _absent)


def _given(method: Any, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call of Graphviz's by their names."""
    bound = inspect.signature(method).bind(None, *args, **options)
    bound.apply_defaults()
    return bound.arguments


_REMEDY = "Install it (apt install graphviz, brew install graphviz, conda install graphviz)"


def digraph_of(scene: Scene, format: str = "svg", rankdir: str = "LR") -> Picture:  # noqa: A002
    """Write the scene in Graphviz's language: a record for each value, a node for each op."""
    if not isinstance(format, str) or format.lower() not in graphviz.FORMATS:
        raise ValueError(
            f"draw_dot(format={format!r}): write 'svg', 'png' or another format of Graphviz's; a "
            "direction is rankdir='LR'."
        )
    picture = Picture(format=format, graph_attr={"rankdir": rankdir})
    if scene.notice:
        picture.attr(label=_quoted(scene.notice))
    for k, unit in enumerate(scene.units):
        shape = "Mrecord" if unit.box else "record"
        picture.node(f"n{k}", label=_record(unit), shape=shape)
        if unit.op:
            rest = f" {unit.many_operations}".rstrip() + (" …" if unit.hidden else "")
            picture.node(f"n{k}op", label=_quoted(unit.op) + rest)
            picture.edge(f"n{k}op", f"n{k}")
    for arrow in scene.arrows:
        end = "op" if scene.units[arrow.target].op else ""
        picture.edge(f"n{arrow.source}", f"n{arrow.target}{end}")
    picture._drawn = scene, rankdir, picture.source
    return picture


def _record(unit: Unit) -> str:
    label = _quoted(unit.label) + f" {unit.many_values}".rstrip()
    if unit.note:
        label += f" | {_quoted(unit.note)}"
    return f"{{ {label} | data {_four(unit.data)} | grad {_four(unit.grad)} }}"


def _four(numbers: Span) -> str:
    """Print four decimals, as the lessons do, as long as they say something."""
    if numbers.low != numbers.high:
        return str(numbers)
    x = numbers.low or 0.0
    return f"{x:.4f}" if x == 0 or 1e-3 <= abs(x) < 1e6 else brief(x)


def _quoted(text: str) -> str:
    """Write a text so that Graphviz shows it as it is."""
    return "".join(_SPELLED.get(character, character) for character in readable(text))


# A backslash is doubled: Graphviz looks for its \\n and \\l after it has read the numbers.
_SPELLED = {character: f"&#{ord(character)};" for character in '&"<>{}|'}
_SPELLED |= {" ": "&#160;", "\\": "&#92;&#92;"}
