"""The commands on an expression that print: `grad`, `explain`, `steps`, `gradcheck`, `hessian`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..calculus import transforms
from ..calculus.paths import explain_all
from ..calculus.steps import Seed
from ..calculus.steps import steps as record_steps
from ..check import gradcheck as check_gradients
from ..check.gradcheck import ORACLES, GradcheckReport
from ..core.names import cut, json_number
from ..core.terminal import put, put_json, put_rich, put_table
from ..errors import ExpressionError
from ..expression_words import WordedError
from ..scalar import Value
from .given import Given, evaluated, graph
from .options import AsJson, Assignments, Expression, Language, asked_language


def grad(
    expression: Expression,
    assignments: Assignments = None,
    explained: Annotated[
        bool, typer.Option("--explain", help="Also each gradient as a sum over paths.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with differences; exit code 1 if wrong.")
    ] = False,
    second: Annotated[
        bool, typer.Option("--second", help="Also the second derivative by each variable.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate an expression and its derivative with respect to every variable.

    Exit code 0: done; 1: --check found a wrong gradient; 2: a mistake in the command.
    """
    given = evaluated(expression, assignments)
    result, values = given.result, list(given.variables.values())
    seconds: list[float] = []
    report, paths = GradcheckReport(()), []
    if isinstance(result, Value):
        if second:
            matrix = transforms.hessian(result, values)
            seconds = [row[k] for k, row in enumerate(matrix)]
        if check:
            report = _checked(given, ["differences"])
        if explained:
            paths = explain_all(result, 10, values)
        result.backward()
        result = result.data
    if as_json:
        rows = _grad_rows(given, seconds, report)
        for name, found in zip(rows if paths else [], paths, strict=True):
            rows[name]["explanation"] = found.as_dict()
        value = json_number(result)
        put_json({"expression": given.text, "value": value, "variables": rows})
    else:
        put(f"{' '.join(given.text.split())} = {result:.10g}")
        if values:
            _put_grad_table(given, seconds, report)
        for found in paths:
            put(str(found))
    if not report.ok:
        raise typer.Exit(1)


def _grad_rows(
    given: Given, seconds: list[float], report: GradcheckReport
) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {
        name: {"value": json_number(v.data), "grad": json_number(v.grad)}
        for name, v in given.variables.items()
    }
    for row, number in zip(rows.values() if seconds else [], seconds, strict=True):
        row["second"] = json_number(number)
    for row, found in zip(rows.values() if report.rows else [], report.rows, strict=True):
        row["check"] = {"ok": found.ok, "differences": json_number(found.oracle)}
    return rows


def _put_grad_table(given: Given, seconds: list[float], report: GradcheckReport) -> None:
    columns: dict[str, list[str]] = {
        "variable": [cut(name) for name in given.variables],
        "value": [f"{v.data:.10g}" for v in given.variables.values()],
        "gradient": [f"{v.grad:.10g}" for v in given.variables.values()],
    }
    if seconds:
        columns["second"] = [f"{number:.10g}" for number in seconds]
    if report.rows:
        columns["differences"] = [f"{row.oracle:.10g}" for row in report.rows]
        columns["check"] = [row.verdict for row in report.rows]
    right = [k for k, name in enumerate(columns) if name not in ("variable", "check")]
    put_table(list(columns), zip(*columns.values(), strict=True), right=right)


def _checked(given: Given, against: list[str]) -> GradcheckReport:
    names = iter(given.variables)
    return check_gradients(
        given.function(),
        [Value(number, label=next(names)) for number in given.numbers],
        against=against,
    )


def explain(
    expression: Expression,
    assignments: Assignments = None,
    of: Annotated[str | None, typer.Option(help="One variable; all of them by default.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many paths to list.")] = 10,
    lang: Language = None,
    as_json: AsJson = False,
) -> None:
    """Explain each gradient as a sum over paths."""
    language = asked_language(lang)
    try:
        result, given = graph(expression, assignments)
        if of is not None and of not in given.variables:
            raise WordedError("no such variable", of=of, names=", ".join(given.variables))
    except WordedError as mistake:
        raise ExpressionError(mistake.worded(language)) from None
    chosen = [variable for name, variable in given.variables.items() if of in (None, name)]
    explanations = explain_all(result, top, chosen, language)
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
    result, _ = graph(expression, assignments)
    played = record_steps(result, overwrite=overwrite)
    if as_json:
        put_json([step.as_dict() for step in played])
    else:
        put("\n".join(map(str, [Seed(result), *played])))


def gradcheck(
    expression: Expression,
    assignments: Assignments = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", metavar="ORACLE", help=f"{', '.join(ORACLES)}; several times."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare every derivative of an expression with an oracle's.

    Exit code 0: all agree; 1: one does not; 2: a mistake in the command.
    """
    _, given = graph(expression, assignments)
    for name in against or ():
        if name not in ORACLES:
            raise ExpressionError(f"--against {name}: choose from {', '.join(ORACLES)}.")
    try:
        report = _checked(given, against or ["differences"])
    except ImportError as error:
        raise ExpressionError(str(error)) from None
    if as_json:
        put_json(report.as_dict())
    else:
        put(report.headline)
        columns = ("input", "value", "ours", "oracle", "asked", "relative", "verdict")
        rows = [
            (cut(row.name), *(f"{x:.10g}" for x in (row.value, row.ours, row.oracle)),
             row.against, f"{row.relative:.2g}", row.verdict)
            for row in report.rows
        ]  # fmt: skip
        put_table(columns, rows, right=(1, 2, 3, 5))
    if not report.ok:
        raise typer.Exit(1)


def hessian(
    expression: Expression, assignments: Assignments = None, as_json: AsJson = False
) -> None:
    """Print the matrix of second derivatives of an expression."""
    result, given = graph(expression, assignments)
    names = list(given.variables)
    matrix = transforms.hessian(result, given.variables.values())
    if as_json:
        rows = [[json_number(x) for x in row] for row in matrix]
        put_json({"expression": given.text, "variables": names, "hessian": rows})
        return
    put_table(
        ("", *map(cut, names)),
        [(cut(name), *(f"{x:.10g}" for x in row)) for name, row in zip(names, matrix, strict=True)],
        right=range(1, len(names) + 1),
    )
