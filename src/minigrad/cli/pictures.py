"""`minigrad draw` and `minigrad play`: the graph of an expression, as a picture and as a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .. import view
from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError
from .expressions import graph
from .options import Assignments, Expression, Force, write

Direction = Annotated[
    str, typer.Option("--rankdir", help="LR, left to right, or TB, top to bottom.")
]


def draw(
    expression: Expression,
    assignments: Assignments = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file: .svg, .gv, .json or .txt.")
    ] = None,
    rankdir: Direction = "LR",
    before: Annotated[bool, typer.Option("--before", help="Before the backward pass.")] = False,
    force: Force = False,
) -> None:
    """Draw the graph of an expression, as a tree in the terminal or into a file."""
    result = graph(expression, assignments)
    if not before:
        result.backward()
    _check_direction(rankdir)
    if output is None:
        put(view.to_text(result))
        return
    writers: dict[str, Callable[[], str]] = {
        ".svg": lambda: view.to_svg(result, rankdir),
        ".gv": lambda: view.draw_dot(result, rankdir=rankdir).source,
        ".json": lambda: view.to_json(result) + "\n",
        ".txt": lambda: view.to_text(result) + "\n",
    }
    ending = output.suffix.lower()
    if ending not in writers:
        raise ExpressionError(
            f"{readable(output)}: the ending {output.suffix!r} is not known; write one of "
            f"{', '.join(writers)} (minigrad play makes .html)."
        )
    write(output, writers[ending], force)


def play(
    expression: Expression,
    assignments: Assignments = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "play.html"
    ),
    rankdir: Direction = "LR",
    force: Force = False,
) -> None:
    """Write a page that steps through the forward and the backward pass."""
    result = graph(expression, assignments)
    _check_direction(rankdir)
    if output.suffix.lower() not in (".html", ".htm"):
        raise ExpressionError(
            f"{readable(output)}: the player is a page; name a file that ends in .html."
        )
    write(output, lambda: view.play(result, rankdir).html, force)


def _check_direction(rankdir: str) -> None:
    if rankdir not in ("LR", "TB"):
        raise ExpressionError(f"--rankdir {rankdir}: write LR, left to right, or TB.")
