"""The command line. `minigrad grad "a*b" a=2 b=3` is its first command; `--help` tells the rest.

A module for each family of commands; here they get their names. `reporting.py` tells mistakes.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.terminal import put
from ..errors import ExpressionError
from ..expressions import FUNCTIONS
from ..version import __version__
from .checks import doctor, selftest
from .expressions import draw, explain, grad, play, steps
from .lab import app as lab_app
from .launch import LaunchError, launch
from .reporting import Group, reported, run

__all__ = ["app", "main"]

app = typer.Typer(
    cls=Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Write scalars. See every gradient.",
)
for _command in (grad, draw, play, explain, steps):
    app.command(
        context_settings={"ignore_unknown_options": True},  # numbers may be negative
        epilog=f"Operators: + - * / **. Functions: {', '.join(FUNCTIONS)}.",
    )(reported(_command.__name__, ExpressionError)(_command))
app.command()(reported("doctor", ExpressionError)(doctor))
app.command()(reported("selftest")(selftest))
app.command(
    context_settings={"allow_interspersed_args": False},  # after the script, they are its own
)(reported("launch", LaunchError)(launch))
app.add_typer(lab_app, name="lab")


def _print_version(wanted: bool) -> None:
    if wanted:
        put(f"minigrad {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Write scalars. See every gradient."""


def main() -> None:
    """Run the command line."""
    run(app)
