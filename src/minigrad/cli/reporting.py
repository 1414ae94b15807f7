"""Mistakes on the command line: each becomes a sentence on the standard error, and exit code 2."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from typer.core import TyperGroup

from ..core.names import readable
from ..core.terminal import put, show_what_can_be_shown, shown


def run(app: Callable[[], Any]) -> None:
    """Run the command line."""
    show_what_can_be_shown()
    try:
        app()
    except OSError as error:  # of the output itself, such as a full disk behind it
        _complain(f"minigrad: the output cannot be written ({error.strerror}).")
        _silence()
        sys.exit(2)


def reported(
    command: str, *mistakes: type[Exception]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a function report what these exceptions say, and files that cannot be used."""

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            with _reporting(command, (OSError, *mistakes)):
                function(*args, **kwargs)

        return run

    return decorated


@contextlib.contextmanager
def _reporting(command: str, mistakes: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except mistakes as error:
        text = str(error)
        if isinstance(error, OSError):
            if error.filename is None:  # the output itself: whoever reads it has had enough
                raise
            text = f"{readable(error.filename)}: {error.strerror}."
        _complain(f"minigrad {command}: {text}")
        raise SystemExit(2) from None


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody is left to complain to
        put(text, file=sys.stderr)


def _silence() -> None:
    """Give up on the standard output, so that Python does not try it again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Group(TyperGroup):
    """The commands; what typer itself complains of may hold any text, too."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _readable_complaints():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _readable_complaints():
            return super().invoke(ctx)


@contextlib.contextmanager
def _readable_complaints() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # typer's own text
        if hasattr(error, "format_message") and hasattr(error, "message") and not is_help:
            error.message = shown(str(error.message), sys.stderr.encoding or "utf-8")
        raise
