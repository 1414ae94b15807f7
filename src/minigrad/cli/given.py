"""What a user gives to a command on an expression: its text, and a number for each variable."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ExpressionError
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
        raise ExpressionError(
            f"the expression has no {', '.join(unused)}; leave out "
            f"{' '.join(f'{name}=…' for name in unused)}."
        )
    return Given(text, result, variables, program)


def graph(expression: str, assignments: list[str] | None) -> tuple[Value, Given]:
    """Read an expression that has a graph, and return the root of it as well."""
    given = evaluated(expression, assignments)
    if not isinstance(given.result, Value):
        raise ExpressionError(
            f"{given.text} has no variable, so there is no graph; write one, such as a*2 with a=3."
        )
    return given.result, given


def _read() -> str:
    try:
        return sys.stdin.read().strip()
    except UnicodeDecodeError:
        raise ExpressionError("-: the standard input is no text; send it an expression.") from None


def _variables(assignments: list[str]) -> dict[str, Value]:
    variables: dict[str, Value] = {}
    for assignment in assignments:
        if assignment.startswith("--"):
            raise ExpressionError(f"there is no option {assignment}; --help lists them.")
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not name.isidentifier() or not name.isascii():
            raise ExpressionError(
                f"{assignment.strip()!r} is not of the form name=number, such as a=2."
            )
        if name in FUNCTIONS:
            raise ExpressionError(f"{name} is a function; give the variable another name.")
        if name in variables:
            raise ExpressionError(f"{name} is given twice; give each variable once.")
        try:
            variables[name] = Value(number(text), label=name)
        except ExpressionError:
            raise ExpressionError(
                f"{name}={text}: {text!r} is not a number; write {name}=0.5 or {name}=1/2, and "
                "the next variable after a space."
            ) from None
    return variables
