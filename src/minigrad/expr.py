"""The expression language of the command line: arithmetic on named numbers, and nothing else.

    (a*b + c) * (a - c)      tanh(x1*w1 + b)      2**-x      maximum(a, 0.5)

Numbers, names, `+ - * / **`, parentheses, and the functions of the op table. There are no
attributes, no subscripts, no calls of anything else, so a text from a stranger can do no harm; and
the parser is a loop (Dijkstra's shunting yard), so no depth of parentheses can exhaust a stack.
Every number is a float.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import functions
from .errors import ExpressionError
from .ops import OPS
from .scalar import apply

__all__ = ["FUNCTIONS", "Token", "evaluate", "names", "parse"]

MAX_LENGTH = 10_000  # characters: far beyond what a person types, and parsed within milliseconds

# What can be called, with the number of arguments (None: one or more).
_CALLABLE = [
    name
    for name in functions.__all__
    if name not in ("where", "take", "dot", "softmax", "log_softmax")
]
FUNCTIONS = {name: OPS[name].arity for name in _CALLABLE}
FUNCTIONS["leaky_relu"] = 1

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<symbol>\*\*|[-+*/(),]))"
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "**": 4}


class Token(NamedTuple):
    """A step of the program in postfix order: push a number or a name, or apply something."""

    kind: str  # "number", "name", "operator" or "call"
    text: str
    arguments: int = 0  # how many a call takes


def parse(text: str) -> list[Token]:
    """Turn a text into a program in postfix order."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"the expression has {len(text)} characters; the limit is {MAX_LENGTH}."
        )
    program: list[Token] = []
    waiting: list[_Waiting] = []
    expects_operand = True
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            raise _error(f"unexpected {text[at]!r}", text, at)
        kind, token, at = str(match.lastgroup), str(match[match.lastgroup or 0]), match.end()
        start = at - len(token)
        position = at
        if kind == "name" and text[at:].lstrip().startswith("("):
            if not expects_operand:
                raise _error(f"an operator is missing before {token!r}", text, start)
            _require_function(token, text, start)
            position = text.index("(", at) + 1
            waiting.append(_Waiting("call", token, start))
        elif kind in ("number", "name"):
            if not expects_operand:
                raise _error(f"an operator is missing before {token!r}", text, start)
            program.append(Token(kind, token))
            expects_operand = False
        elif token == "(":
            if not expects_operand:
                raise _error("an operator is missing before '('", text, start)
            waiting.append(_Waiting("(", "(", start))
        elif expects_operand:
            if token not in ("+", "-"):
                raise _error(f"a number or a name is missing before {token!r}", text, start)
            if token == "-":
                waiting.append(_Waiting("operator", "negate", start))
        elif token in (")", ","):
            _close(token, program, waiting, text, start)
            expects_operand = token == ","
        else:
            _unwind(program, waiting, token)
            waiting.append(_Waiting("operator", token, start))
            expects_operand = True
    if expects_operand:
        raise _error("the expression ends where a number or a name is expected", text, len(text))
    while waiting:
        top = waiting.pop()
        if top.kind != "operator":
            raise _error("this parenthesis is never closed", text, top.position)
        program.append(Token("operator", top.text))
    return program


class _Waiting(NamedTuple):
    """An operator or an open parenthesis that waits for what comes after it."""

    kind: str  # "operator", "(" or "call"
    text: str
    position: int
    arguments: int = 1  # so far, for a call


def _unwind(program: list[Token], waiting: list[_Waiting], operator: str) -> None:
    """Move what binds tighter than `operator` to the program; `**` groups to the right."""
    while waiting and waiting[-1].kind == "operator":
        here, before = _PRECEDENCE[operator], _PRECEDENCE[waiting[-1].text]
        if before < here or (before == here and operator == "**"):
            break
        program.append(Token("operator", waiting.pop().text))


def _close(
    token: str, program: list[Token], waiting: list[_Waiting], text: str, position: int
) -> None:
    while waiting and waiting[-1].kind == "operator":
        program.append(Token("operator", waiting.pop().text))
    if not waiting or (token == "," and waiting[-1].kind != "call"):
        raise _error(f"this {token!r} has no open parenthesis to belong to", text, position)
    top = waiting.pop()
    if token == ",":
        waiting.append(top._replace(arguments=top.arguments + 1))
    elif top.kind == "call":
        arity = FUNCTIONS[top.text]
        if arity is not None and top.arguments != arity:
            plural = "" if arity == 1 else "s"
            message = f"{top.text} takes {arity} argument{plural}, got {top.arguments}"
            raise _error(message, text, top.position)
        program.append(Token("call", top.text, top.arguments))


def _require_function(name: str, text: str, position: int) -> None:
    if name not in FUNCTIONS:
        raise _error(
            f"there is no function {name!r}; there are {', '.join(sorted(FUNCTIONS))}",
            text,
            position,
        )


def _error(message: str, text: str, position: int) -> ExpressionError:
    left = max(0, position - 30)
    window = text[left : position + 30]
    return ExpressionError(f"{message}\n  {window}\n  {' ' * (position - left)}^")


def names(program: list[Token]) -> list[str]:
    """Return the variables of a program in order of appearance."""
    return list(dict.fromkeys(token.text for token in program if token.kind == "name"))


def evaluate(program: list[Token], variables: Mapping[str, Any]) -> Any:
    """Run a program on Values (or numbers) by name."""
    missing = [name for name in names(program) if name not in variables]
    if missing:
        raise ExpressionError(
            f"no value for {', '.join(missing)}; add {' '.join(f'{name}=…' for name in missing)}."
        )
    stack: list[Any] = []
    for token in program:
        if token.kind == "number":
            stack.append(float(token.text))
        elif token.kind == "name":
            stack.append(variables[token.text])
        elif token.text == "negate":
            stack.append(-stack.pop())
        elif token.kind == "call":
            arguments = stack[-token.arguments :]
            del stack[-token.arguments :]
            function = getattr(functions, token.text)
            variadic = FUNCTIONS[token.text] is None
            stack.append(function(arguments) if variadic else function(*arguments))
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(_OPERATORS[token.text](a, b))
    return stack.pop()


_OPERATORS = {
    symbol: lambda a, b, op=OPS[name]: apply(op, a, b)  # IEEE between plain numbers too
    for symbol, name in {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}.items()
}
