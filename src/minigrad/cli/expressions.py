"""`minigrad grad`, `explain` and `steps`: the gradients of an expression, and their reasons."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..calculus.paths import explain_all
from ..calculus.steps import Seed
from ..calculus.steps import steps as record_steps
from ..core.names import cut, json_number
from ..core.terminal import put, put_json, put_rich, put_table
from ..errors import ExpressionError
from ..expressions import FUNCTIONS, NUMBER, evaluate, names, parse
from ..scalar import Value
from .options import AsJson, Assignments, Expression


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


def steps(
    expression: Expression,
    assignments: Assignments = None,
    overwrite: Annotated[bool, typer.Option(help="Play the bug: = instead of +=.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the backward pass, one line for each contribution: a.grad: 10 -> 4."""
    result = graph(expression, assignments)
    played = record_steps(result, overwrite=overwrite)
    if as_json:
        put_json([step.as_dict() for step in played])
    else:
        put("\n".join(map(str, [Seed(result), *played])))


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


def _graph_and_variables(
    expression: str, assignments: list[str] | None
) -> tuple[Value, dict[str, Value]]:
    result, variables = _evaluated(expression, assignments)
    if not isinstance(result, Value):
        raise ExpressionError(
            f"{expression} has no variable, so there is no graph; write one, such as a*2 with a=3."
        )
    return result, variables


def graph(expression: str, assignments: list[str] | None) -> Value:
    """Build the graph of an expression, with the numbers of its variables."""
    return _graph_and_variables(expression, assignments)[0]


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
