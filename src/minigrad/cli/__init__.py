"""The command line. `minigrad grad "a*b" a=2 b=3` is its first command; `--help` tells the rest."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import view
from ..calculus.paths import explain_all
from ..calculus.steps import Seed
from ..calculus.steps import steps as record_steps
from ..check import diagnose
from ..core.files import write_atomically
from ..core.names import cut, json_number, readable
from ..core.terminal import (
    complain,
    put,
    put_json,
    put_rich,
    put_table,
    reporting,
    show_what_can_be_shown,
    shown,
    silence,
)
from ..errors import ExpressionError
from ..expressions import FUNCTIONS, NUMBER, evaluate, names, parse
from ..scalar import Value
from ..version import __version__
from .lab import app as lab_app

__all__ = ["app", "main"]


class _Group(TyperGroup):
    """The commands; what typer itself complains of may hold any text, too."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _readable_complaints():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _readable_complaints():
            return super().invoke(ctx)


@contextmanager
def _readable_complaints() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        is_help = type(error).__name__ == "NoArgsIsHelpError"  # typer's own text
        if hasattr(error, "format_message") and hasattr(error, "message") and not is_help:
            error.message = shown(str(error.message), sys.stderr.encoding or "utf-8")
        raise


app = typer.Typer(
    cls=_Group,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Write scalars. See every gradient.",
)


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


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command on expressions: numbers may be negative, and a mistake is exit code 2."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        with reporting(function.__name__, ExpressionError):
            function(*args, **kwargs)

    return app.command(
        context_settings={"ignore_unknown_options": True},
        epilog=f"Operators: + - * / **. Functions: {', '.join(FUNCTIONS)}.",
    )(run)


Expression = Annotated[str, typer.Argument(help="such as '(a*b + c) * (a - c)'")]
Assignments = Annotated[
    list[str] | None, typer.Argument(metavar="NAME=NUMBER", help="such as a=2 b=3 c=4")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
Direction = Annotated[
    str, typer.Option("--rankdir", help="LR, left to right, or TB, top to bottom.")
]


@_command
def grad(expression: Expression, assignments: Assignments = None, as_json: AsJson = False) -> None:
    """Evaluate an expression and its derivative with respect to every variable."""
    result, variables = _evaluated(expression, assignments)
    if isinstance(result, Value):
        result.backward()
        result = result.data
    if as_json:
        put_json(_report(expression, result, variables))
    else:
        _print_table(expression, result, variables)


@_command
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
    result = _graph(expression, assignments)
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
    _write(output, writers[ending], force)


@_command
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
    result = _graph(expression, assignments)
    _check_direction(rankdir)
    if output.suffix.lower() not in (".html", ".htm"):
        raise ExpressionError(
            f"{readable(output)}: the player is a page; name a file that ends in .html."
        )
    _write(output, lambda: view.play(result, rankdir).html, force)


@_command
def explain(
    expression: Expression,
    assignments: Assignments = None,
    of: Annotated[str | None, typer.Option(help="One variable; all of them by default.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many paths to list.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Explain each gradient as a sum over paths."""
    result, variables = _graph_and_variables(expression, assignments)
    if of is not None and of not in variables:
        raise ExpressionError(f"--of {of}: the variables are {', '.join(variables)}.")
    chosen = [variable for name, variable in variables.items() if of in (None, name)]
    explanations = explain_all(result, top, chosen)
    if as_json:
        put_json([found.as_dict() for found in explanations])
        return
    for found in explanations:
        put(str(found))
        put_rich(found)


@_command
def steps(
    expression: Expression,
    assignments: Assignments = None,
    overwrite: Annotated[bool, typer.Option(help="Play the bug: = instead of +=.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the backward pass, one line for each contribution: a.grad: 10 -> 4."""
    result = _graph(expression, assignments)
    played = record_steps(result, overwrite=overwrite)
    if as_json:
        put_json([step.as_dict() for step in played])
    else:
        put("\n".join(map(str, [Seed(result), *played])))


@app.command()
def doctor(
    subject: Annotated[
        str, typer.Argument(help="engine.py, engine.py:ClassName, or an installed module.")
    ],
    as_json: AsJson = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Also write a page, with the player.")
    ] = None,
    force: Force = False,
) -> None:
    """Examine somebody's own Value class and name the bug.

    Exit code 0: no fault; 1: faults; 2: it could not be examined.
    """
    path, colon, class_name = subject.rpartition(":")
    if not colon or not class_name.isidentifier():  # also C:\\engine.py
        path, class_name = subject, ""
    with reporting("doctor", ExpressionError):
        if page is not None:
            _check_new(page, force)  # before the work is done
        report = diagnose(path, class_name)
        if as_json:
            put_json(report.as_dict())
        else:
            put(report.text())
        if page is not None:
            _write(page, report.to_html, force, quietly=as_json)
    raise typer.Exit(report.exit_code)


@app.command()
def selftest(
    as_json: AsJson = False,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long, about; more finds more.")
    ] = 10.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Other numbers draw other cases.")] = 0,
) -> None:
    """Check that minigrad works on this machine, and print what a bug report needs.

    Exit code 0: nothing failed; 1: something did.
    """
    from rich.console import Console
    from rich.progress import track

    from ..check import selftest as checks  # it brings NumPy along, which no other command needs

    share = seconds / len(checks.CHECKS)
    outcomes = [
        checks.examined(name, share, seed)
        for name in track(checks.CHECKS, "", console=Console(stderr=True), transient=True)
    ]
    facts = checks.facts()
    if as_json:
        put_json({"machine": facts, "checks": [asdict(found) for found in outcomes]})
    else:
        put("\n".join(f"{name}: {fact}" for name, fact in facts.items()))
        counts = [(found.name, found.cases, len(found.failures)) for found in outcomes]
        rows = [(name, f"{cases:,}", f"{failed:,}") for name, cases, failed in counts]
        put_table(("check", "cases", "failed"), rows, right=(1, 2))
        for found in outcomes:
            for failure in found.failures[:3]:
                put(f"{found.name}: {failure}")
    raise typer.Exit(int(any(found.failures for found in outcomes)))


def _evaluated(
    expression: str, assignments: list[str] | None
) -> tuple[Value | float, dict[str, Value]]:
    variables = _variables(assignments or [])
    program = parse(expression)
    result = evaluate(program, variables)
    used = set(names(program))
    unused = [name for name in variables if name not in used]
    if unused:
        raise ExpressionError(
            f"the expression has no {', '.join(unused)}; leave out "
            f"{' '.join(f'{name}=…' for name in unused)}."
        )
    return result, variables


def _graph_and_variables(
    expression: str, assignments: list[str] | None
) -> tuple[Value, dict[str, Value]]:
    result, variables = _evaluated(expression, assignments)
    if not isinstance(result, Value):
        raise ExpressionError(
            f"{expression} has no variable, so there is no graph; write one, such as a*2 with a=3."
        )
    return result, variables


def _graph(expression: str, assignments: list[str] | None) -> Value:
    return _graph_and_variables(expression, assignments)[0]


def _check_direction(rankdir: str) -> None:
    if rankdir not in ("LR", "TB"):
        raise ExpressionError(f"--rankdir {rankdir}: write LR, left to right, or TB.")


def _check_new(path: Path, force: bool) -> None:
    if path.exists() and not path.is_dir() and not force:
        raise ExpressionError(f"{readable(path)} exists already; add --force to overwrite it.")


def _write(path: Path, make: Callable[[], str], force: bool, quietly: bool = False) -> None:
    _check_new(path, force)
    write_atomically(path, make())
    if not quietly:
        put(f"wrote {readable(path)}")


def _variables(assignments: list[str]) -> dict[str, Value]:
    variables: dict[str, Value] = {}
    for assignment in assignments:
        if assignment.startswith("--"):
            raise ExpressionError(f"there is no option {assignment}; --help lists them.")
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
        "value": json_number(result),
        "variables": {
            name: {"value": json_number(v.data), "grad": json_number(v.grad)}
            for name, v in variables.items()
        },
    }


def _print_table(expression: str, result: float, variables: dict[str, Value]) -> None:
    put(f"{' '.join(expression.split())} = {result:.10g}")
    if variables:
        put_table(
            ("variable", "value", "gradient"),
            [(cut(name), f"{v.data:.10g}", f"{v.grad:.10g}") for name, v in variables.items()],
            right=(1, 2),
        )


def main() -> None:
    """Run the command line."""
    show_what_can_be_shown()
    try:
        app()
    except OSError as error:  # of the output itself, such as a full disk behind it
        complain(f"minigrad: the output cannot be written ({error.strerror}).")
        silence()
        sys.exit(2)
