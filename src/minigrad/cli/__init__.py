"""The command line. `minigrad grad "a*b" a=2 b=3` is its first command; `--help` tells the rest.

A module for each family of commands; here they get their names. `reporting.py` tells mistakes.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.terminal import put
from ..errors import ExpressionError
from ..version import __version__
from .cache import cache
from .checks import doctor, selftest
from .commands import Command, Commands, ExpressionCommand
from .derivatives import explain, grad, gradcheck, hessian, steps
from .info import info
from .lab import app as lab_app
from .launch import LaunchError, launch
from .pictures import draw, play
from .programs import program
from .reporting import reported
from .reporting import run as run_app
from .scripts import run
from .train import train

__all__ = ["app", "main"]

EPILOG = "Exit codes: 0, done; 1, done, and the answer is no; 2, a mistake in the command."

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # of all commands under it
    epilog=EPILOG,
    help="Write scalars. See every gradient.",
)
for _command in (grad, explain, steps, gradcheck, hessian, draw, play, program):
    app.command(
        cls=ExpressionCommand,
        context_settings={"ignore_unknown_options": True},  # which are told of in our own words
    )(reported(_command.__name__, ExpressionError)(_command))
app.command(cls=Command)(reported("train", ExpressionError)(train))
app.command(cls=Command)(reported("info")(info))
app.command(cls=Command)(reported("cache")(cache))
app.command(cls=Command)(reported("doctor", ExpressionError)(doctor))
app.command(cls=Command)(reported("selftest")(selftest))
_SCRIPT = {"allow_interspersed_args": False}  # what follows a script is its own
app.command(cls=Command, context_settings=_SCRIPT)(reported("run", ExpressionError)(run))
app.command(cls=Command, context_settings=_SCRIPT)(reported("launch", LaunchError)(launch))
for _info in lab_app.registered_commands:
    _info.cls = Command
app.add_typer(lab_app, name="lab", cls=Commands)


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
    run_app(app)
