"""Arguments and options that several commands have, and how a file is written for one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..core.files import would_overwrite, write_atomically
from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError

Expression = Annotated[
    str, typer.Argument(help="such as '(a*b + c) * (a - c)', or - to read it from standard input")
]
Assignments = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="such as a=2 b=1/3 c=pi")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Language = Annotated[
    str | None, typer.Option("--lang", help="en or es; by default the language of your system.")
]

STANDARD_OUTPUT = Path("-")


def check_new(path: Path, force: bool) -> None:
    """Refuse to overwrite a file, unless that is wanted."""
    if not force and path != STANDARD_OUTPUT and would_overwrite(path):
        raise ExpressionError(f"{readable(path)} exists already; add --force to overwrite it.")


def write(path: Path, make: Callable[[], str | bytes], force: bool, quietly: bool = False) -> None:
    """Write what `make` returns, and say so; `-` is the standard output, which hears no more."""
    check_new(path, force)
    content = make()
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content if isinstance(content, bytes) else content.encode())
        sys.stdout.buffer.flush()
        return
    write_atomically(path, content)
    if not quietly:
        put(f"wrote {readable(path)}")


def asked_language(lang: str | None) -> str:
    """Return the language that is asked for, or else the system's; refuse one that there is not."""
    from ..lab.workspace import LabError, checked_language  # the labs have the same two

    try:
        return checked_language(lang)
    except LabError as error:
        raise ExpressionError(str(error)) from None
