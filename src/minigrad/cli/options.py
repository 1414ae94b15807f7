"""Arguments and options that several commands have, and how a file is written for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..core.files import write_atomically
from ..core.names import readable
from ..core.terminal import put
from ..errors import ExpressionError

Expression = Annotated[str, typer.Argument(help="such as '(a*b + c) * (a - c)'")]
Assignments = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="such as a=2 b=3 c=4")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


def check_new(path: Path, force: bool) -> None:
    """Refuse to overwrite a file, unless that is wanted."""
    if path.exists() and not path.is_dir() and not force:
        raise ExpressionError(f"{readable(path)} exists already; add --force to overwrite it.")


def write(path: Path, make: Callable[[], str], force: bool, quietly: bool = False) -> None:
    """Write what `make` returns, and say so."""
    check_new(path, force)
    write_atomically(path, make())
    if not quietly:
        put(f"wrote {readable(path)}")
