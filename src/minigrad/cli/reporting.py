"""Mistakes on the command line: each becomes a sentence on the standard error, and exit code 2."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from typer.core import TyperGroup

from ..core.foreign import foreign_package
from ..core.names import readable
from ..core.terminal import put, show_what_can_be_shown, shown


def run(app: Callable[[], Any]) -> None:
    """Run the command line."""
    show_what_can_be_shown()
    stranger = foreign_package()
    if stranger is not None:
        _complain(f"minigrad: {stranger}")
    try:
        app()
    except OSError as error:  # of the output itself, such as a full disk behind it
        _complain(f"minigrad: the output cannot be written ({error.strerror}).")
        with contextlib.suppress(OSError, ValueError):  # or Python tries it again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)


@contextlib.contextmanager
def reported(command: str, *mistakes: type[Exception]) -> Iterator[None]:
    """Have a function (or a block) report what these exceptions say, and files that fail."""
    expected: tuple[type[Exception], ...] = (OSError, *mistakes)
    try:
        yield
    except expected as error:
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


@contextlib.contextmanager
def _readable_complaints() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # typer's own text
        if hasattr(error, "format_message") and hasattr(error, "message") and not is_help:
            error.message = shown(str(error.message), sys.stderr.encoding or "utf-8")
        raise


class Group(TyperGroup):
    """The commands; what typer itself complains of may hold any text, too."""

    @_readable_complaints()
    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        return super().make_context(*args, **kwargs)

    @_readable_complaints()
    def invoke(self, ctx: Any) -> Any:
        return super().invoke(ctx)
