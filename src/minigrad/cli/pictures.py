"""The commands that show the graph of an expression: `draw` and `play`."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .. import view
from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError
from ..scalar import Value
from .given import graph
from .options import STANDARD_OUTPUT, Assignments, Expression, Force, check_new, write

Direction = Annotated[
    str, typer.Option("--rankdir", help="LR, left to right, or TB, top to bottom.")
]
KINDS = ("svg", "png", "gv", "json", "txt")


def draw(
    expression: Expression,
    assignments: Assignments = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help=f"A file: {', '.join(f'.{k}' for k in KINDS)}; - for stdout."
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--format", help="Which of them, whatever the file is called.")
    ] = None,
    rankdir: Direction = "LR",
    before: Annotated[bool, typer.Option("--before", help="Before the backward pass.")] = False,
    force: Force = False,
) -> None:
    """Draw the graph of an expression, as a tree in the terminal or into a file."""
    result, _ = graph(expression, assignments)
    if not before:
        result.backward()
    _check_direction(rankdir)
    if output is None:
        if kind not in (None, "txt"):
            raise ExpressionError(f"--format {kind}: name a file as well: -o picture.{kind}, or -.")
        put(view.to_text(result))
        return
    if kind is None:
        kind = "svg" if output == STANDARD_OUTPUT else output.suffix.lower().removeprefix(".")
        if kind not in KINDS:
            raise ExpressionError(
                f"{readable(output)}: the ending {output.suffix!r} is not known; write one of "
                f"{', '.join(f'.{known}' for known in KINDS)} (minigrad play makes .html)."
            )
    elif kind not in KINDS:
        raise ExpressionError(f"--format {kind}: choose one of {', '.join(KINDS)}.")
    if kind == "png":
        _save_png(result, output, force)
        return
    writers: dict[str, Callable[[], str]] = {
        "svg": lambda: view.to_svg(result, rankdir),
        "gv": lambda: view.draw_dot(result, rankdir=rankdir).source,
        "json": lambda: view.to_json(result) + "\n",
        "txt": lambda: view.to_text(result) + "\n",
    }
    write(output, writers[kind], force)


def play(
    expression: Expression,
    assignments: Assignments = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write; - for stdout.")
    ] = Path("play.html"),
    rankdir: Annotated[
        str, typer.Option("--rankdir", help="LR, TB, or auto: as the window suggests.")
    ] = "auto",
    open_it: Annotated[
        bool, typer.Option("--open", help="Show it in the browser afterwards.")
    ] = False,
    force: Force = False,
) -> None:
    """Write a page that steps through the forward and the backward pass."""
    result, _ = graph(expression, assignments)
    _check_direction(rankdir, "auto")
    if output == STANDARD_OUTPUT:
        if open_it:
            raise ExpressionError("--open needs a file to show; leave out -o -.")
    elif output.suffix.lower() not in (".html", ".htm"):
        raise ExpressionError(
            f"{readable(output)}: the player is a page; name a file that ends in .html."
        )
    write(output, lambda: view.play(result, rankdir).html, force)
    if open_it and not webbrowser.open(output.resolve().as_uri()):
        raise ExpressionError(f"there is no browser to be found; open {readable(output)} in one.")


def _save_png(result: Value, output: Path, force: bool) -> None:
    save = getattr(view, "save", None)
    if save is None:
        raise ExpressionError(
            f"{readable(output)}: this version draws no PNG; write .svg, which any browser shows."
        )
    if output == STANDARD_OUTPUT:
        raise ExpressionError("-: a PNG goes into a file; name one that ends in .png.")
    check_new(output, force)
    try:
        save(result, output, force=force)
    except ImportError as error:
        raise ExpressionError(str(error)) from None
    put(f"wrote {readable(output)}")


def _check_direction(rankdir: str, *more: str) -> None:
    if rankdir not in ("LR", "TB", *more):
        raise ExpressionError(f"--rankdir {rankdir}: write LR, left to right, or TB.")
