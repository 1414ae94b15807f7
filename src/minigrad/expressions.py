"""The expression language of the command line: arithmetic on named numbers, and nothing else.

    (a*b + c) * (a - c)      tanh(x1*w1 + b)      2**-x      where(x > 0, log(x), 0)
    n = x*w + b; o = tanh(n)                      p = softmax(a, b, c); -ln(p[0])

Numbers, names, `pi`, `e`, `+ - * / **`, parentheses, and the functions of the op table. Statements
stand apart by `;` or on lines of their own, and the last one is the result. A comparison is the
first argument of `where`; `softmax(…)` is several numbers, of which `[0]` takes one. There are no
attributes and no calls of anything else, so a text from a stranger can do no harm; and the parser
is a loop (Dijkstra's shunting yard), so no depth of parentheses can exhaust a stack. Every number
is a float.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple

from . import functions
from .core.ops import OPS
from .expression_words import WordedError
from .scalar import Value, apply

__all__ = ["CONSTANTS", "FUNCTIONS", "Token", "evaluate", "names", "number", "parse"]

MAX_LENGTH = 10_000  # characters: far beyond what a person types, and parsed within milliseconds

CONSTANTS = {"e": math.e, "pi": math.pi}  # a variable or a statement may take their names

# What can be called, with the number of arguments (None: one or more).
FUNCTIONS = {
    **{name: OPS[name].arity for name in functions.NAMES if name not in ("where", "take", "dot")},
    **{"leaky_relu": 1, "ln": 1, "max": None, "min": None, "where": 3},
}
_OWN = {
    "ln": functions.log,
    "max": lambda xs: reduce(functions.maximum, xs),
    "min": lambda xs: reduce(functions.minimum, xs),
}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<store>[A-Za-z_][A-Za-z_0-9]*)[^\S\n]*=(?!=)"
    r"|(?P<call>[A-Za-z_][A-Za-z_0-9]*)[^\S\n]*\("
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|\[\s*(?P<index>[0-9]{1,9})\s*\]"
    r"|(?P<symbol>\*\*|<=|>=|[-+*/(),;<>]))"
)
_NUMBER = re.compile(r"[+-]?((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|nan)")
_HINTS = "^.=[|²³√×·÷−π"  # what people write who know it from elsewhere
_WORDS = ("if", "and", "or")  # of Python's, where an operator is expected
_INSTEAD = {
    "log10": "log(x)/log(10)",  # nearest to log1p, which is another thing
    "log2": "log(x)/log(2)",
    "pow": "x**y",
    "arctan": "atan(x)",
    "arcsin": "asin(x)",
    "arccos": "acos(x)",
}
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_PRECEDENCE = {
    **dict.fromkeys(_COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "negate": 4, "**": 5,
}  # fmt: skip


class Token(NamedTuple):
    """A step of the program in postfix order: push a number or a name, or apply something."""

    kind: str  # "number", "name", "operator", "call", "index" or "store"
    text: str
    arguments: int = 0  # how many a call takes


def parse(text: str) -> list[Token]:
    """Turn a text into a program in postfix order."""
    if len(text) > MAX_LENGTH:
        raise WordedError("too long", count=len(text), limit=MAX_LENGTH)
    yard = _Yard(text)
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            known = text[at] if text[at] in _HINTS else "letter" if text[at].isalpha() else ""
            hint: Any = (f"hint {known}", {}) if known else ""
            raise yard.error("unexpected", at, found=repr(text[at]), hint=hint)
        kind = str(match.lastgroup)
        if "\n" in text[position : match.start(kind)]:
            yard.end_line()
        position = match.end()
        yard.read(kind, match[kind], match.start(kind))
    return yard.finish()


class _Waiting(NamedTuple):
    """An operator or an open parenthesis that waits for what comes after it."""

    kind: str  # "operator", "(" or "call"
    text: str
    position: int
    arguments: int = 1  # so far, for a call
    compares: bool = False  # whether there is a comparison, in a `where`


class _Yard:
    """Dijkstra's shunting yard: operands go straight to the program, operators wait their turn."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.program: list[Token] = []
        self.waiting: list[_Waiting] = []
        self.expects_operand = True
        self.is_begun = False  # the statement that is being read
        self.target: str | None = None  # what its result is to be called
        self.nameless: int | None = None  # where a statement without a name began

    def read(self, kind: str, token: str, position: int) -> None:
        if token == ";":
            self._end_statement(position)
            return
        if not self.is_begun:
            self._begin_statement(position)
        if kind == "store":
            self._read_target(token, position)
        elif kind in ("number", "name", "call") or token == "(":
            if not self.expects_operand:
                key = f"word {token}" if token in _WORDS else "no operator"
                raise self.error(key, position, token=repr(token))
            self._read_operand(kind, token, position)
        elif self.expects_operand:
            if token not in ("+", "-"):
                raise self.error("no operand", position, token=repr(token))
            if token == "-":
                self.waiting.append(_Waiting("operator", "negate", position))
        elif kind == "index":  # binds tighter than all operators, which wait
            self.program.append(Token(kind, token))
        elif token in (")", ","):
            self._close(token, position)
            self.expects_operand = token == ","
        else:
            self._unwind(token)
            if token in _COMPARISONS:
                self._compare(position)
            self.waiting.append(_Waiting("operator", token, position))
            self.expects_operand = True

    def _begin_statement(self, position: int) -> None:
        if self.nameless is not None:
            raise self.error("nameless", self.nameless)
        self.is_begun, self.target, self.start = True, None, position
        self.count = len(self.program)

    def _read_target(self, name: str, position: int) -> None:
        if self.target is not None or self.waiting or len(self.program) > self.count:
            raise self.error("late target", position, name=name)
        if name in FUNCTIONS:
            raise self.error("function as target", position, name=name)
        self.target = name

    def end_line(self) -> None:
        """End the statement with the line, if it is complete."""
        is_open = any(waiting.kind != "operator" for waiting in self.waiting)
        if not is_open and not self.expects_operand:
            self._end_statement(0)

    def _end_statement(self, position: int) -> None:
        if not self.is_begun:
            return
        if self.expects_operand:
            raise self.error("no operand before ;", position)
        self._complete()

    def _complete(self) -> None:
        self._unwind()
        if self.waiting:
            raise self.error("never closed", self.waiting[-1].position)
        if self.target is None:
            self.nameless = self.start
        else:
            self.program.append(Token("store", self.target))
        self.is_begun, self.expects_operand = False, True

    def _compare(self, position: int) -> None:
        """Note that a `where` has its comparison; nothing else may have one."""
        top = self.waiting[-1] if self.waiting else None
        if top is None or top.text != "where" or top.arguments > 1 or top.compares:
            raise self.error("comparison", position)
        self.waiting[-1] = top._replace(compares=True)

    def _read_operand(self, kind: str, token: str, position: int) -> None:
        if kind == "call":
            if token not in FUNCTIONS:
                close = [known for known in FUNCTIONS if known.startswith(token)]
                close = close or difflib.get_close_matches(token, FUNCTIONS)
                others = ("there are", {"names": ", ".join(FUNCTIONS)})
                hint = ("did you mean", {"name": close[0]}) if close else others
                if token in _INSTEAD:
                    hint = ("instead", {"words": _INSTEAD[token]})
                raise self.error("no such function", position, name=repr(token), hint=hint)
            self.waiting.append(_Waiting("call", token, position))
        elif token == "(":
            self.waiting.append(_Waiting("(", token, position))
        elif token in FUNCTIONS:
            raise self.error("function alone", position, name=token)
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
            raise self.error("not open", position, token=repr(token))
        top = self.waiting.pop()
        if top.text == "where" and not top.compares:
            raise self.error("no comparison", top.position)
        if token == ",":
            self.waiting.append(top._replace(arguments=top.arguments + 1))
        elif top.kind == "call":
            arity = FUNCTIONS[top.text]
            if arity is not None and top.arguments != arity:
                key = "one argument" if arity == 1 else "arguments"
                got = top.arguments
                raise self.error(key, top.position, name=top.text, count=arity, got=got)
            self.program.append(Token("call", top.text, top.arguments))

    def finish(self) -> list[Token]:
        if self.is_begun and not self.expects_operand:
            self._complete()
        if self.is_begun or not self.program:
            raise self.error("ends early", len(self.text))
        return self.program

    def error(self, key: str, position: int, **fields: object) -> WordedError:
        left = max(0, position - 30)
        window = self.text[left : position + 30]
        window = "".join(c if c.isprintable() else " " for c in window)
        return WordedError(key, f"\n  {window}\n  {' ' * (position - left)}^", **fields)


def names(program: list[Token]) -> list[str]:
    """Return what a program reads and does not name itself, in order of appearance."""
    stored, found = set(), []
    for token in program:
        if token.kind == "store":
            stored.add(token.text)
        elif token.kind == "name" and token.text not in stored:
            found.append(token.text)
    return list(dict.fromkeys(found))


def number(text: str) -> float:
    """Return what a text without variables says: `0.5`, `-1e3`, `1/2`, `pi/4`, `inf`."""
    if _NUMBER.fullmatch(text):
        return float(text)
    return float(evaluate(parse(text), {}))


def evaluate(program: list[Token], variables: Mapping[str, Any]) -> Any:
    """Run a program on Values (or numbers) by name; results of statements are labelled so."""
    known = {**CONSTANTS, **variables}
    missing = [name for name in names(program) if name not in known]
    if missing:
        remedy = " ".join(f"{name}=…" for name in missing)
        raise WordedError("no value", names=", ".join(missing), remedy=remedy)
    given = {id(x) for x in variables.values()}
    stack: list[Any] = []
    result: Any = None
    for token in program:
        if token.kind == "number":
            stack.append(float(token.text))
        elif token.kind == "name":
            stack.append(known[token.text])
        elif token.kind == "store":
            result = known[token.text] = stack.pop()
            if isinstance(result, Value) and not result.label and id(result) not in given:
                result.label = token.text
        else:
            count = operands_of(token)
            operands = stack[-count:]
            del stack[-count:]
            stack.append(applied(token, operands))
    return _one(stack.pop() if stack else result, ("the result", {}))


def operands_of(token: Token) -> int:
    """Return how many operands an operator, a call or an index takes."""
    if token.kind == "call":
        return token.arguments
    return 1 if token.kind == "index" or token.text == "negate" else 2


def applied(token: Token, operands: list[Any]) -> Any:
    """Apply an operator, a call or an index."""
    if token.kind == "call":
        return _called(token.text, operands)
    if token.kind == "index":
        return _element(operands[0], int(token.text))
    if token.text == "negate":
        return -_one(operands[0], "-")
    a, b = operands
    return _OPERATORS[token.text](_one(a, token.text), _one(b, token.text))


def _called(name: str, arguments: list[Any]) -> Any:
    function = _OWN.get(name) or getattr(functions, name)
    if FUNCTIONS[name] is not None:
        return function(*[_one(x, name) for x in arguments])
    return function([x for each in arguments for x in (each if type(each) is list else [each])])


def _one(x: Any, where: str | tuple[str, dict[str, str]]) -> Any:
    if type(x) is list:
        raise WordedError("several", where=where, count=len(x))
    return x


def _element(x: Any, k: int) -> Any:
    if type(x) is not list:
        raise WordedError("one already", k=k)
    if k >= len(x):
        raise WordedError("beyond", k=k, count=len(x), last=len(x) - 1)
    return x[k]


_OPERATORS = {
    symbol: lambda a, b, op=OPS[name]: apply(op, a, b)  # IEEE between plain numbers too
    for symbol, name in {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}.items()
} | _COMPARISONS
