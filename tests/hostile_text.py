"""Texts for the parser of expressions: right, damaged, and no expressions at all.

    counts = parsed(100_000, seed=0)
    assert counts.failures == []

A right one is Python too, and Python has the expected value. Of the others each is a float,
a Value or an `ExpressionError` that is safe to print and points into the text.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from minigrad import ExpressionError, Value
from minigrad.expressions import FUNCTIONS, evaluate, names, parse

VARIABLES = {"a": 2.0, "b": -0.5, "_c1": 3.25}
SPACES = ["", "", " ", "  ", "\t", "\n", "\u2028", "\x1c"]
PIECES = [
    *("+", "-", "*", "/", "**", "//", "(", ")", ",", "((", "))", "1", "2.5", ".5", "1e3", "1e999"),
    *("a", "b", "_c1", "zz", "tanh(", "maximum(", "mean(", "nosuch(", "exp", "1_000", "0x1", "1e"),
    *(";", "n = ", "[0]", "[7]", "<", ">=", "where(", "softmax(", "max(", "pi", "e", "\n"),
    *(".", "=", ":=", "[", "]", "{", "'", '"', "\\", "@", "^", "%", "~", "!", "lambda", "é", "²"),
    *("\0", "\x1b[2J", "\x9b", "\u202e", "\ud800", "\U0001f600", "\x7f", "٣", "ａ", "∞", "\r"),
]


@dataclass
class Counts:
    """How many texts were right, how many refused, and what went wrong."""

    evaluated: int = 0  # and compared with Python
    accepted: int = 0  # among the damaged ones
    refused: int = 0
    failures: list[str] = field(default_factory=list)


def right(dice, depth=0):
    """Write an expression that means the same in Python."""

    def space():
        return dice.choice([" ", "", "", "  "])

    kind = dice.randrange(7 if depth < 6 else 2)
    if kind == 0:
        return dice.choice(["1", "2.5", ".5", "3.", "1e2", "25E-1", "0"])
    if kind == 1:
        return dice.choice(list(VARIABLES))
    inner = right(dice, depth + 1)
    if kind == 2:
        return f"({space()}{inner}{space()})"
    if kind == 3:
        return f"{dice.choice('-+')}{space()}{inner}"
    operator = dice.choice(["+", "-", "*", "/", "**"])
    return f"{inner}{space()}{operator}{space()}{right(dice, depth + 1)}"


def by_python(text):
    """Python's value, or None where it has none that is a float."""
    floats = "".join(f"{name} = float({x}); " for name, x in VARIABLES.items())
    scope: dict[str, object] = {}
    exec(floats, scope)
    try:
        value = eval(text, {"__builtins__": {}}, scope)
    except (ArithmeticError, ValueError):
        return None
    # Whole numbers are floats to us: large powers of them differ.
    return float(value) if isinstance(value, float) and math.isfinite(value) else None


def damaged(dice):
    """Change a right expression, or throw pieces together."""
    if dice.random() < 0.5:
        parts = [dice.choice(PIECES) + dice.choice(SPACES) for _ in range(dice.randint(0, 12))]
        return "".join(parts)
    text = right(dice)
    for _ in range(dice.randint(1, 3)):
        at = dice.randint(0, len(text))
        piece = dice.choice([*PIECES, ""])
        text = text[:at] + piece + text[at + dice.randint(0, 2) :]
    return text


def parsed(count, seed) -> Counts:
    """Have `count` texts parsed and evaluated, every other one of them damaged."""
    dice, counts = random.Random(seed), Counts()
    variables = {name: Value(x, label=name) for name, x in VARIABLES.items()}
    for k in range(count):
        is_right = k % 2 == 0
        text = right(dice) if is_right else damaged(dice)
        where = f"case {k}: {text!r}"
        try:
            program = parse(text)
            given = {name: variables[name] for name in names(program) if name in variables}
            value = evaluate(program, given)
        except ExpressionError as error:
            counts.refused += 1
            if is_right:
                counts.failures.append(f"{where}: refused: {error}")
            lines = str(error).split("\n")
            if not all(line.isprintable() for line in lines) or len(lines) not in (1, 3):
                counts.failures.append(f"{where}: the message is {str(error)!r}")
            if len(lines) == 3 and not 0 < len(lines[2]) <= len(lines[1]) + 1:
                counts.failures.append(f"{where}: it points outside: {str(error)!r}")
            continue
        except Exception as error:
            counts.failures.append(f"{where}: {type(error).__name__}: {error}")
            continue
        number = value.data if isinstance(value, Value) else value
        if not isinstance(number, float):
            counts.failures.append(f"{where}: gave {value!r}")
        elif is_right:
            expected = by_python(text)
            counts.evaluated += expected is not None
            if expected is not None and not math.isclose(number, expected, rel_tol=1e-9):
                counts.failures.append(f"{where}: {number}, in Python {expected}")
        else:
            counts.accepted += 1
            words = {token.text for token in program if token.kind == "call"}
            if not words <= set(FUNCTIONS):
                counts.failures.append(f"{where}: called {words}")
    return counts
