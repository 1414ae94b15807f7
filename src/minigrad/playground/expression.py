"""An expression and its numbers: shown, checked by differences, exported.

`(a*b + c) * (a - c)` with a number for each name. Names without one get 1, so that a picture is
there while one still types.
"""

from __future__ import annotations

from typing import Any

from .. import expressions, view
from ..check import gradcheck
from ..core.names import json_number, short
from ..errors import ExpressionError
from ..expressions import CONSTANTS, Token, evaluate
from ..scalar import Value
from .code import TARGETS, code_for
from .picture import shown as shown_graph
from .request import Request, RequestError
from .words import say

POINTS = 61  # of the small plot
OPERATIONS = 1_000  # of an expression; see freeing.py
CHECKED = 2_000  # tokens times variables: each variable needs hundreds of evaluations
DEFAULT = 1.0  # of a variable that has no number yet
FORMATS = ("svg", "html", "json", *TARGETS)


class Given:
    """An expression as a request gives it."""

    def __init__(self, request: Request) -> None:
        self.text = request["text"]
        if not self.text.strip():
            raise RequestError(say(request.lang, "no text"))
        self.program: list[Token] = expressions.parse(self.text)
        operations = sum(token.kind in ("operator", "call") for token in self.program)
        if operations > OPERATIONS:
            counts = {"count": f"{operations:,}", "most": f"{OPERATIONS:,}"}
            raise RequestError(say(request.lang, "many operations", **counts))
        values = request["values"]
        free = expressions.names(self.program)
        for name in values:
            if name not in free:
                raise RequestError(say(request.lang, "no such name", name=short(name)))
        known = request["remembered"] | values
        # `e` and `pi` are constants, unless somebody gives them a number.
        wanted = [name for name in free if name not in CONSTANTS or name in known]
        self.numbers = {name: known.get(name, DEFAULT) for name in wanted}

    def graph(self, lang: str) -> tuple[Value, dict[str, Value]]:
        """Run the expression forwards."""
        variables = {name: Value(x, label=name) for name, x in self.numbers.items()}
        root = evaluate(self.program, variables)
        if not isinstance(root, Value):
            said = say(lang, "no variable", text=self.text.strip(), result=f"{root:.10g}")
            raise ExpressionError(said)
        return root, variables

    def along(self, name: str, x: float) -> float:
        """Return the result with another number for one variable."""
        return float(evaluate(self.program, self.numbers | {name: x}))


def shown(request: Request) -> dict[str, Any]:
    """Show an expression after its backward pass; with `along`, a plot of the result as well."""
    given = Given(request)
    root, variables = given.graph(request.lang)
    root.backward()
    found: dict[str, Any] = {}
    name = request["along"]
    if name in variables:
        found["plot"] = _plot(given, name, request, variables[name].grad, root.data)
    return found | shown_graph(root, variables, request)


def _plot(given: Given, name: str, request: Request, slope: float, result: float) -> dict[str, Any]:
    """Return the result along one variable, and the slope where it is now."""
    low, high = request["from"], request["to"]
    if not low < high:
        raise RequestError(say(request.lang, "range", low=low, high=high))
    # Each end by itself: their difference may be larger than all floats.
    parts = [k / (POINTS - 1) for k in range(POINTS)]
    xs = [low * (1 - part) + high * part for part in parts]
    return {
        "name": name,
        "at": json_number(given.numbers[name]),
        "result": json_number(result),
        "slope": json_number(slope),
        "points": [[x, json_number(given.along(name, x))] for x in xs],
    }


def checked(request: Request) -> dict[str, Any]:
    """Compare gradients with differences of the result: of so many variables as time allows."""
    given = Given(request)
    given.graph(request.lang)

    names = list(given.numbers)[: CHECKED // len(given.program)]
    if not names:
        return {"ok": None, "rows": [], "more": len(given.numbers)}

    def function(*arguments: Any) -> Any:
        return evaluate(given.program, given.numbers | dict(zip(names, arguments, strict=True)))

    inputs = [Value(given.numbers[name], label=name) for name in names]
    report = gradcheck(function, inputs)
    rows = [
        {
            "name": name,
            "ours": json_number(row.ours),
            "differences": json_number(row.oracle),
            "ok": row.ok,
            "verdict": row.verdict,
        }
        for name, row in zip(names, report.rows, strict=True)
    ]
    return {"ok": report.ok, "rows": rows, "more": len(given.numbers) - len(names)}


def exported(request: Request) -> dict[str, Any]:
    """Return a file: a picture, the player as a page, the scene, or a program."""
    given = Given(request)
    to = request["format"]
    root, _ = given.graph(request.lang)
    if to in TARGETS:
        text = code_for(to, given.program, given.numbers, request.lang)
        return {"file": f"{to}_expression.py", "type": "text/x-python", "text": text}
    root.backward()
    if to == "svg":
        text, kind = view.to_svg(root, request["rankdir"]), "image/svg+xml"
    elif to == "json":
        text, kind = view.to_json(root), "application/json"
    else:
        text, kind = view.play(root, lang=request.lang).html, "text/html"
    return {"file": f"expression.{to}", "type": kind, "text": text}
