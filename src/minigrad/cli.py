"""The command line. `minigrad grad "a*b" a=2 b=3` is its first command; `--help` tells the rest."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .errors import ExpressionError
from .expr import FUNCTIONS, NUMBER, evaluate, names, parse
from .scalar import Value
from .version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Write scalars. See every gradient.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"minigrad {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print it.")
    ] = False,
) -> None:
    """Write scalars. See every gradient."""


@app.command(
    context_settings={"ignore_unknown_options": True},
    epilog=f"Operators: + - * / **. Functions: {', '.join(FUNCTIONS)}.",
)
def grad(
    expression: Annotated[str, typer.Argument(help="such as '(a*b + c) * (a - c)'")],
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="such as a=2 b=3 c=4")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
) -> None:
    """Evaluate an expression and its derivative with respect to every variable."""
    try:
        variables = _variables(assignments or [])
        program = parse(expression)
        result = evaluate(program, variables)
        unused = [name for name in variables if name not in names(program)]
        if unused:
            raise ExpressionError(
                f"the expression has no {', '.join(unused)}; leave out "
                f"{' '.join(f'{name}=…' for name in unused)}."
            )
    except ExpressionError as error:
        # The text is the user's own: nothing in it is markup, an emoji code or to be wrapped.
        console = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
        console.print(f"minigrad grad: {error}", markup=False)
        raise typer.Exit(2) from None
    if isinstance(result, Value):
        result.backward()
        result = result.data
    if as_json:
        typer.echo(json.dumps(_report(expression, result, variables), allow_nan=False))
    else:
        _print_table(expression, result, variables)


def _variables(assignments: list[str]) -> dict[str, Value]:
    variables: dict[str, Value] = {}
    for assignment in assignments:
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not name.isidentifier() or not name.isascii():
            raise ExpressionError(f"{assignment!r} is not of the form name=number, such as a=2.")
        if name in FUNCTIONS:
            raise ExpressionError(f"{name} is a function; give the variable another name.")
        if name in variables:
            raise ExpressionError(f"{name} is given twice; give each variable once.")
        if not NUMBER.fullmatch(text):
            raise ExpressionError(
                f"{name}={text}: {text!r} is not a number; write {name}=0.5, and the next "
                "variable after a space."
            )
        variables[name] = Value(float(text), label=name)
    return variables


def _report(expression: str, result: float, variables: dict[str, Value]) -> dict[str, Any]:
    return {
        "expression": expression,
        "value": _json_number(result),
        "variables": {
            name: {"value": _json_number(v.data), "grad": _json_number(v.grad)}
            for name, v in variables.items()
        },
    }


def _json_number(x: float) -> float | str:
    return x if math.isfinite(x) else str(x)  # JSON has no inf and nan


def _print_table(expression: str, result: float, variables: dict[str, Value]) -> None:
    console = Console(highlight=False, emoji=False)
    console.print(f"{expression} = {result:.10g}", markup=False, soft_wrap=True)
    if not variables:
        return
    table = Table()
    table.add_column("variable")
    table.add_column("value", justify="right")
    table.add_column("gradient", justify="right")
    for name, variable in variables.items():
        table.add_row(name, f"{variable.data:.10g}", f"{variable.grad:.10g}")
    console.print(table)


def main() -> None:
    """Run the command line."""
    app()
