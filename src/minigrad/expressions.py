"""The expression language of the command line: arithmetic on named numbers, and nothing else.

    (a*b + c) * (a - c)      tanh(x1*w1 + b)      2**-x      maximum(a, 0.5)

Numbers, names, `+ - * / **`, parentheses, and the functions of the op table. There are no
attributes, no subscripts, no calls of anything else, so a text from a stranger can do no harm; and
the parser is a loop (Dijkstra's shunting yard), so no depth of parentheses can exhaust a stack.
Every number is a float.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import functions
from .core.names import plural
from .core.ops import OPS
from .errors import ExpressionError
from .scalar import apply

__all__ = ["FUNCTIONS", "Token", "evaluate", "names", "parse"]

MAX_LENGTH = 10_000  # characters: far beyond what a person types, and parsed within milliseconds

# What can be called, with the number of arguments (None: one or more).
FUNCTIONS = {
    name: OPS[name].arity
    for name in functions.NAMES
    if name not in ("where", "take", "dot", "softmax", "log_softmax")
}
FUNCTIONS["leaky_relu"] = 1

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<call>[A-Za-z_][A-Za-z_0-9]*)\s*\("
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<symbol>\*\*|[-+*/(),]))"
)
NUMBER = re.compile(r"[+-]?((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)")
_HINTS = {
    "^": "; a power is written with **",
    ".": "; a function is written tanh(x), not x.tanh() or math.tanh(x)",
}
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
    yard = _Yard(text)
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            raise yard.error(f"unexpected {text[at]!r}{_HINTS.get(text[at], '')}", at)
        kind = str(match.lastgroup)
        position = match.end()
        yard.read(kind, match[kind], match.start(kind))
    return yard.finish()


class _Waiting(NamedTuple):
    """An operator or an open parenthesis that waits for what comes after it."""

    kind: str  # "operator", "(" or "call"
    text: str
    position: int
    arguments: int = 1  # so far, for a call


class _Yard:
    """Dijkstra's shunting yard: operands go straight to the program, operators wait their turn."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.program: list[Token] = []
        self.waiting: list[_Waiting] = []
        self.expects_operand = True

    def read(self, kind: str, token: str, position: int) -> None:
        if kind in ("number", "name", "call") or token == "(":
            if not self.expects_operand:
                raise self.error(f"an operator is missing before {token!r}", position)
            self._read_operand(kind, token, position)
        elif self.expects_operand:
            if token not in ("+", "-"):
                raise self.error(f"a number or a name is missing before {token!r}", position)
            if token == "-":
                self.waiting.append(_Waiting("operator", "negate", position))
        elif token in (")", ","):
            self._close(token, position)
            self.expects_operand = token == ","
        else:
            self._unwind(token)
            self.waiting.append(_Waiting("operator", token, position))
            self.expects_operand = True

    def _read_operand(self, kind: str, token: str, position: int) -> None:
        if kind == "call":
            if token not in FUNCTIONS:
                close = [known for known in FUNCTIONS if known.startswith(token)]
                close = close or difflib.get_close_matches(token, FUNCTIONS)
                others = "there are " + ", ".join(FUNCTIONS)
                hint = f"did you mean {close[0]}?" if close else others
                raise self.error(f"there is no function {token!r}; {hint}", position)
            self.waiting.append(_Waiting("call", token, position))
        elif token == "(":
            self.waiting.append(_Waiting("(", token, position))
        elif token in FUNCTIONS:
            raise self.error(f"{token} is a function: write {token}(…)", position)
        else:
            self.program.append(Token(kind, token))
            self.expects_operand = False

    def _unwind(self, operator: str = "") -> None:
        """Move what binds tighter than `operator` to the program; `**` groups to the right."""
        here = _PRECEDENCE.get(operator, 0)  # all that is open binds tighter than no operator
        while self.waiting and self.waiting[-1].kind == "operator":
            before = _PRECEDENCE[self.waiting[-1].text]
            if before < here or (before == here and operator == "**"):
                break
            self.program.append(Token("operator", self.waiting.pop().text))

    def _close(self, token: str, position: int) -> None:
        self._unwind()
        if not self.waiting or (token == "," and self.waiting[-1].kind != "call"):
            raise self.error(f"this {token!r} has no open parenthesis to belong to", position)
        top = self.waiting.pop()
        if token == ",":
            self.waiting.append(top._replace(arguments=top.arguments + 1))
        elif top.kind == "call":
            arity = FUNCTIONS[top.text]
            if arity is not None and top.arguments != arity:
                takes = f"{top.text} takes {plural(arity, 'argument')}, got {top.arguments}"
                raise self.error(takes, top.position)
            self.program.append(Token("call", top.text, top.arguments))

    def finish(self) -> list[Token]:
        if self.expects_operand:
            expected = "the expression ends where a number or a name is expected"
            raise self.error(expected, len(self.text))
        self._unwind()
        if self.waiting:
            raise self.error("this parenthesis is never closed", self.waiting[-1].position)
        return self.program

    def error(self, message: str, position: int) -> ExpressionError:
        left = max(0, position - 30)
        window = self.text[left : position + 30]
        window = "".join(c if c.isprintable() else " " for c in window)
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
