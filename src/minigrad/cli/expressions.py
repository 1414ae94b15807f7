"""The commands on an expression: `grad`, `explain`, `steps`, and its graph by `draw` and `play`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .. import view
from ..calculus.paths import explain_all
from ..calculus.steps import Seed
from ..calculus.steps import steps as record_steps
from ..core.names import cut, json_number, readable
from ..core.terminal import put, put_json, put_rich, put_table
from ..errors import ExpressionError
from ..expressions import FUNCTIONS, NUMBER, evaluate, names, parse
from ..scalar import Value
from .options import AsJson, Assignments, Expression, Force, write

Direction = Annotated[
    str, typer.Option("--rankdir", help="LR, left to right, or TB, top to bottom.")
]


def grad(expression: Expression, assignments: Assignments = None, as_json: AsJson = False) -> None:
    """Evaluate an expression and its derivative with respect to every variable."""
    result, variables = _evaluated(expression, assignments)
    if isinstance(result, Value):
        result.backward()
        result = result.data
    if as_json:
        rows = {
            name: {"value": json_number(v.data), "grad": json_number(v.grad)}
            for name, v in variables.items()
        }
        value = json_number(result)
        put_json({"expression": expression, "value": value, "variables": rows})
        return
    put(f"{' '.join(expression.split())} = {result:.10g}")
    if variables:
        put_table(
            ("variable", "value", "gradient"),
            [(cut(name), f"{v.data:.10g}", f"{v.grad:.10g}") for name, v in variables.items()],
            right=(1, 2),
        )


def explain(
    expression: Expression,
    assignments: Assignments = None,
    of: Annotated[str | None, typer.Option(help="One variable; all of them by default.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many paths to list.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Explain each gradient as a sum over paths."""
    result, variables = _graph(expression, assignments)
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


def steps(
    expression: Expression,
    assignments: Assignments = None,
    overwrite: Annotated[bool, typer.Option(help="Play the bug: = instead of +=.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the backward pass, one line for each contribution: a.grad: 10 -> 4."""
    result, _ = _graph(expression, assignments)
    played = record_steps(result, overwrite=overwrite)
    if as_json:
        put_json([step.as_dict() for step in played])
    else:
        put("\n".join(map(str, [Seed(result), *played])))


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
    result, _ = _graph(expression, assignments)
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
    result, _ = _graph(expression, assignments)
    _check_direction(rankdir)
    if output.suffix.lower() not in (".html", ".htm"):
        raise ExpressionError(
            f"{readable(output)}: the player is a page; name a file that ends in .html."
        )
    write(output, lambda: view.play(result, rankdir).html, force)


def _evaluated(
    expression: str, assignments: list[str] | None
) -> tuple[Value | float, dict[str, Value]]:
    variables = _variables(assignments or [])
    tokens = parse(expression)
    result = evaluate(tokens, variables)
    used = set(names(tokens))
    unused = [name for name in variables if name not in used]
    if unused:
        raise ExpressionError(
            f"the expression has no {', '.join(unused)}; leave out "
            f"{' '.join(f'{name}=…' for name in unused)}."
        )
    return result, variables


def _graph(expression: str, assignments: list[str] | None) -> tuple[Value, dict[str, Value]]:
    result, variables = _evaluated(expression, assignments)
    if not isinstance(result, Value):
        raise ExpressionError(
            f"{expression} has no variable, so there is no graph; write one, such as a*2 with a=3."
        )
    return result, variables


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


def _check_direction(rankdir: str) -> None:
    if rankdir not in ("LR", "TB"):
        raise ExpressionError(f"--rankdir {rankdir}: write LR, left to right, or TB.")
