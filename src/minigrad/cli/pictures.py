"""The commands that show the graph of an expression: `draw` and `play`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from .. import view
from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError
from ..scalar import Value
from ..view.from_graph import LIMIT
from .given import graph
from .options import STANDARD_OUTPUT, Assignments, Expression, Force, write
from .playground import playground

Direction = Annotated[
    str, typer.Option("--rankdir", help="LR, left to right, or TB, top to bottom.")
]
KINDS = ("svg", "png", "dot", "gv", "json", "txt")
Limit = Annotated[
    int,
    typer.Option("--limit", min=1, help="The most boxes in one picture; larger graphs are folded."),
]
Folded = Annotated[
    bool | None,
    typer.Option("--fold/--no-fold", help="Close all boxes, or make none; else as --limit asks."),
]


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
    limit: Limit = LIMIT,
    fold: Folded = None,
    opened: Annotated[
        list[str] | None,
        typer.Option("--open", help="A box to open, by its name; repeat for more."),
    ] = None,
    force: Force = False,
) -> None:
    """Draw the graph of an expression, as a tree in the terminal or into a file."""
    result, _ = graph(expression, assignments)
    if not before:
        result.backward()
    _check_direction(rankdir)
    parts: _Parts = {"limit": limit, "fold": fold, "open": opened or []}
    _check_parts(result, parts)
    if output is None:
        if kind not in (None, "txt"):
            raise ExpressionError(f"--format {kind}: name a file as well: -o picture.{kind}, or -.")
        put(view.to_text(result, **parts))
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
    directed = {} if kind in ("json", "txt") else {"rankdir": rankdir}
    drawer = view.DRAWERS["dot" if kind == "gv" else kind]
    try:
        write(output, lambda: drawer(result, **directed, **parts), force)
    except ImportError as error:
        raise ExpressionError(str(error)) from None


def play(
    expression: Annotated[
        str,
        typer.Argument(help="such as 'a*b + c'; without one, the playground is opened."),
    ] = "",
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
    limit: Limit = LIMIT,
    fold: Folded = None,
    force: Force = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Of the playground; 0: any free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Serve the playground, but open no browser.")
    ] = False,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Also answer POST /answer, about expressions, by a token."),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write the whole playground as one page, for any browser."),
    ] = None,
) -> None:
    """Write a page that steps through the forward and the backward pass.

    Without an expression: open the playground, the engine itself in a web page.
    """
    if not expression:
        playground(port, no_browser, answers, export, force)
        return
    if export is not None:
        raise ExpressionError(
            "--export writes the playground, which asks for no expression; -o names a player."
        )
    result, _ = graph(expression, assignments)
    _check_direction(rankdir, "auto")
    if output == STANDARD_OUTPUT:
        if open_it:
            raise ExpressionError("--open needs a file to show; leave out -o -.")
    elif output.suffix.lower() not in (".html", ".htm"):
        raise ExpressionError(
            f"{readable(output)}: the player is a page; name a file that ends in .html."
        )
    write(output, lambda: view.play(result, rankdir, limit=limit, fold=fold).html, force)
    if open_it and not webbrowser.open(output.resolve().as_uri()):
        raise ExpressionError(f"there is no browser to be found; open {readable(output)} in one.")


class _Parts(TypedDict):
    """How much is drawn, and which boxes are open."""

    limit: int
    fold: bool | None
    open: list[str]


def _check_parts(result: Value, parts: _Parts) -> None:
    """Refuse the name of a box that there is not, before anything is written."""
    if parts["open"]:
        try:
            view.scene_of(result, **parts)
        except ValueError as error:
            raise ExpressionError(str(error)) from None


def _check_direction(rankdir: str, *more: str) -> None:
    if rankdir not in ("LR", "TB", *more):
        raise ExpressionError(f"--rankdir {rankdir}: write LR, left to right, or TB.")
