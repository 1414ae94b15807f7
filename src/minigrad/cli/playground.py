"""`minigrad play` without an expression: the playground, served on this machine or as one file."""

from __future__ import annotations

import importlib
import webbrowser
from pathlib import Path
from typing import Any

from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError
from .options import STANDARD_OUTPUT, write


def playground(
    port: int, no_browser: bool, answers: bool, export: Path | None, force: bool
) -> None:
    """Serve the playground until Ctrl-C, or write it as one page."""
    files = _files()
    if export is not None:
        if export != STANDARD_OUTPUT and export.suffix.lower() not in (".html", ".htm"):
            raise ExpressionError(
                f"{readable(export)}: the playground is a page; name a file that ends in .html."
            )
        write(export, files.single, force)
        return
    from ..playground.server import TOKEN, Server  # most commands need no server

    try:
        server = Server(files.folder(), port, answers=answers)
    except OSError as error:
        raise ExpressionError(
            f"--port {port}: {error.strerror}; leave it out to take any that is free."
        ) from None
    put(f"The playground is at {server.url} (Ctrl-C ends it).")
    if answers:
        put(f"POST {server.url}answer with {TOKEN}: {server.token}")
    if not no_browser:
        webbrowser.open(server.url)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            put("")


def _files() -> Any:
    """Return the distribution that holds the page; a sentence if it is not there."""
    try:
        files = importlib.import_module("minigrad_playground")
        files.folder()
    except ImportError:
        raise ExpressionError(
            "the playground is a package of its own, which is not installed. Install it with: "
            "python -m pip install 'minigrad-engine[playground]' (in a clone: python "
            "playground/build.py && python -m pip install ./playground). With an expression, "
            "minigrad play 'a*b' a=2 b=3 needs nothing."
        ) from None
    except FileNotFoundError as error:
        raise ExpressionError(str(error)) from None
    return files
