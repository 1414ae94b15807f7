"""What a user gives to a command on an expression: its text, and a number for each variable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ExpressionError
from ..expression_words import WordedError
from ..expressions import FUNCTIONS, Token, evaluate, names, number, parse
from ..scalar import Value


class Given(NamedTuple):
    """An expression with its result, and the variables by name."""

    text: str
    result: Value | float
    variables: dict[str, Value]
    program: list[Token]

    @property
    def numbers(self) -> list[float]:
        """The numbers of the variables, in the order in which they were given."""
        return [variable.data for variable in self.variables.values()]

    def function(self) -> Callable[..., Any]:
        """Return the expression as a function of its variables, in the order of `numbers`."""

        def function(*arguments: Any) -> Any:
            return evaluate(self.program, dict(zip(self.variables, arguments, strict=True)))

        function.__name__ = function.__qualname__ = "the expression"
        return function


def evaluated(expression: str, assignments: list[str] | None) -> Given:
    """Read an expression and its variables, and evaluate it."""
    text = _read() if expression == "-" else expression.strip()
    variables = _variables(assignments or [])
    program = parse(text)
    result = evaluate(program, variables)
    used = set(names(program))
    unused = [name for name in variables if name not in used]
    if unused:
        remedy = " ".join(f"{name}=…" for name in unused)
        raise WordedError("unused", names=", ".join(unused), remedy=remedy)
    return Given(text, result, variables, program)


def graph(expression: str, assignments: list[str] | None) -> tuple[Value, Given]:
    """Read an expression that has a graph, and return the root of it as well."""
    given = evaluated(expression, assignments)
    if not isinstance(given.result, Value):
        raise WordedError("no graph", text=given.text)
    return given.result, given


def _read() -> str:
    try:
        return sys.stdin.read().strip()
    except UnicodeDecodeError:
        raise WordedError("no text") from None


def _variables(assignments: list[str]) -> dict[str, Value]:
    variables: dict[str, Value] = {}
    for assignment in assignments:
        if assignment.startswith("--"):
            raise WordedError("no option", option=assignment)
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not name.isidentifier():
            raise WordedError("no assignment", text=repr(assignment.strip()))
        if not name.isascii():
            raise WordedError("unexpected", found=repr(name), hint=("hint letter", {}))
        if name in FUNCTIONS:
            raise WordedError("function as variable", name=name)
        if name in variables:
            raise WordedError("given twice", name=name)
        try:
            variables[name] = Value(number(text), label=name)
        except ExpressionError:
            raise WordedError("no number", name=name, text=text, quoted=repr(text)) from None
    return variables
