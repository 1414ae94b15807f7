"""Small scripts that any engine can run, and probes: a script, and what is to be done with it.

A script is a list of statements, each a name and how it is made: `"d = a * b"`. Leaves come with
numbers; the last statement is the result. What a learner reads in a finding is what was run, to the
letter: 2 is an int and 2.0 a float, and operations are spelled as the class has them, so that
pasting it does the same.

Nothing here knows what is right: this module is also loaded next to a stranger's code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}
DEPTH = 5_000  # nodes in a chain; Python's own limit is a thousand calls
REFLECTED = {"div": "truediv"}  # __rtruediv__
# How things are spelled in the lessons: a class whose spelling is another one says so.
SPELLING = {
    **{op: f"{{}} {symbol} {{}}" for symbol, op in OPERATORS.items()},
    **{f"{op}=": f"{{}} {symbol}= {{}}" for symbol, op in OPERATORS.items()},
    **{op: f"{{}}.{op}()" for op in ("tanh", "exp", "log", "relu", "sigmoid")},
    **{"neg": "-{}", "sum": "sum([{}, {}])", "is": "{}"},
    **{"make": "Value({})", "backward": "{}.backward()"},
}

_NAME = r"[a-z]\w*"
_NUMBER = r"\(?-?\d+(?:\.\d+)?\)?"
_BINARY = re.compile(rf"({_NAME}) = ({_NAME}|{_NUMBER}) (\*\*|[-+*/]) ({_NAME}|{_NUMBER})")
_UNARY = re.compile(rf"({_NAME}) = (-|\w+\()({_NAME}(?:, {_NAME})*)\)?")
_IN_PLACE = re.compile(rf"({_NAME}) ([-+*/])= ({_NAME})")
_ALIAS = re.compile(rf"({_NAME}) = ({_NAME})")


@dataclass(frozen=True, slots=True)
class Statement:
    """One operation: `name = op(operands)`; an operand is a name or a number."""

    name: str
    op: str  # "add", "tanh", …; "add=" in place; "is" for another name of the same thing
    operands: tuple[str | float, ...]

    def text(self, spelling: Mapping[str, str] = SPELLING) -> str:
        """Write it as one would in a Python session."""
        spelled = [x if isinstance(x, str) else _spelled(x) for x in self.operands]
        first, *more = spelled
        made = (
            spelling.get(self.op) or SPELLING.get(self.op) or f"{{}}.{self.op}({', '.join(more)})"
        )
        made = made.format(first, *more)
        return made if self.op.endswith("=") else f"{self.name} = {made}"


@dataclass(frozen=True, slots=True)
class Script:
    """Leaves with their numbers, then statements."""

    leaves: dict[str, float]
    lines: tuple[str, ...]
    root: str = ""  # the result, where it is not the last statement
    statements: tuple[Statement, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "statements", tuple(map(_parsed, self.lines)))
        object.__setattr__(self, "root", self.root or self.statements[-1].name)

    @property
    def ops(self) -> set[str]:
        """The operations that an engine must have to run it."""
        return {statement.op.rstrip("=") for statement in self.statements} - {"is"}

    @property
    def keys(self) -> list[str]:
        """The operations, with "rsub" for one whose left operand is a number."""
        return [
            statement.op.rstrip("=") if isinstance(statement.operands[0], str)
            else f"r{REFLECTED.get(statement.op, statement.op)}"
            for statement in self.statements
        ]  # fmt: skip

    @property
    def shares_results(self) -> bool:
        """Whether a result is used more than once: only then does the order of nodes matter."""
        used = [x for s in self.statements for x in s.operands if isinstance(x, str)]
        return any(used.count(s.name) > 1 for s in self.statements)

    @property
    def names(self) -> set[str]:
        """Whatever has a value and a gradient in it."""
        return {*self.leaves, *(statement.name for statement in self.statements)}

    @property
    def has_numbers(self) -> bool:
        """Whether a plain number is an operand (the exponent of a power does not count)."""
        return any(
            not isinstance(operand, str) and not (statement.op == "pow" and k == 1)
            for statement in self.statements
            for k, operand in enumerate(statement.operands)
        )

    @property
    def shares(self) -> bool:
        """Whether something in it is used more than once, so that the order of nodes matters."""
        used = [x for s in self.statements for x in s.operands if isinstance(x, str)]
        return len({*used}) < len(used)

    def text(self, spelling: Mapping[str, str] = SPELLING) -> str:
        """Write it as one would in a Python session, with the backward pass at its end."""
        return "; ".join([self.built(spelling), passed(self.root, spelling)])

    def built(self, spelling: Mapping[str, str] = SPELLING) -> str:
        """Write how the graph is built."""
        make = spelling.get("make", SPELLING["make"])
        leaves = ", ".join(self.leaves)
        numbers = ", ".join(make.format(repr(x)) for x in self.leaves.values())
        statements = [statement.text(spelling) for statement in self.statements]
        return "; ".join([f"{leaves} = {numbers}", *statements])


@dataclass(frozen=True, slots=True)
class Probe:
    """One question. `kind` says what is done with the script, see `run_probes.ACTIONS`."""

    name: str
    kind: str
    script: Script
    # Relative and absolute: classic formulas lose some digits, where parts cancel a float32 leaves
    # what is small beside them, and people add a millionth so that nothing is divided by 0.
    tolerance: tuple[float, float] = (1e-5, 1e-6)

    def text(self, spelling: Mapping[str, str] = SPELLING) -> str:
        """Write what is done, as one would in a Python session."""
        script = self.script
        last = script.statements[-1].name
        if self.kind == "deep":
            add = Statement("b", "add", ("b", "a")).text(spelling)
            make = spelling.get("make", SPELLING["make"]).format("1.0")
            run = passed("b", spelling)
            return f"a = b = {make}\nfor _ in range({DEPTH}): {add}\n{run}"
        if self.kind in ("second", "two"):
            return "; ".join([script.built(spelling), passed(last, spelling),
                              passed(script.root, spelling)])  # fmt: skip
        return script.text(spelling)

    def asked(self) -> dict[str, Any]:
        """Return what the one who answers has to know, as JSON can hold it."""
        script = self.script
        return {
            "kind": self.kind,
            "leaves": script.leaves,
            "lines": script.lines,
            "root": script.root,
        }

    @classmethod
    def heard(cls, asked: dict[str, Any]) -> Probe:
        """Return the question that was `asked`, without its name."""
        script = Script(asked["leaves"], tuple(asked["lines"]), asked["root"])
        return cls("", asked["kind"], script)


def passed(root: str, spelling: Mapping[str, str] = SPELLING) -> str:
    """Write how the backward pass is started."""
    return spelling.get("backward", SPELLING["backward"]).format(root)


def _spelled(x: float) -> str:
    return repr(x) if x >= 0 else f"({x!r})"


def _parsed(line: str) -> Statement:
    if found := _BINARY.fullmatch(line):
        name, left, op, right = found.groups()
        return Statement(name, OPERATORS[op], (_operand(left), _operand(right)))
    if found := _IN_PLACE.fullmatch(line):
        name, op, right = found.groups()
        return Statement(name, OPERATORS[op] + "=", (name, right))
    if found := _ALIAS.fullmatch(line):
        return Statement(found[1], "is", (found[2],))
    if found := _UNARY.fullmatch(line):
        name, op, operands = found.groups()
        return Statement(name, "neg" if op == "-" else op[:-1], tuple(operands.split(", ")))
    raise ValueError(f"not a statement of a script: {line!r}")


def _operand(text: str) -> str | float:
    if text[0].isalpha():
        return text
    number = text.strip("()")
    return float(number) if "." in number else int(number)
