"""Small scripts that any engine can run, and probes: a script, and what is to be done with it.

A script is a list of statements, each a name and how it is made: `"d = a * b"`. Its text is its
only form: what a learner reads in a finding is what was run. Leaves come with numbers; the last
statement is the result.

Nothing here knows what is right: this module is also loaded next to a stranger's code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow"}

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

    def text(self, cls: str = "Value") -> str:
        """Write it as one would in a Python session."""
        leaves = ", ".join(self.leaves)
        numbers = ", ".join(f"{cls}({_spelled(x)})" for x in self.leaves.values())
        return "; ".join([f"{leaves} = {numbers}", *self.lines])


@dataclass(frozen=True, slots=True)
class Probe:
    """One question. `kind` says what is done with the script, see `run_probes.ACTIONS`."""

    name: str
    kind: str
    script: Script
    whole: bool = False  # leaves are ints
    # Relative and absolute: classic formulas lose some digits.
    tolerance: tuple[float, float] = (1e-6, 1e-9)

    def asked(self) -> dict[str, Any]:
        """Return what the one who answers has to know, as JSON can hold it."""
        script = self.script
        return {
            "kind": self.kind,
            "whole": self.whole,
            "leaves": script.leaves,
            "lines": script.lines,
            "root": script.root,
        }

    @classmethod
    def heard(cls, asked: dict[str, Any]) -> Probe:
        """Return the question that was `asked`, without its name."""
        script = Script(asked["leaves"], tuple(asked["lines"]), asked["root"])
        return cls("", asked["kind"], script, asked["whole"])


def _spelled(x: float) -> str:
    return f"{x:g}" if float(f"{x:g}") == x else repr(x)


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
    return text if text[0].isalpha() else float(text.strip("()"))
