"""The forms of what the sandbox says, where every word may be a lie: anything else is refused."""

from __future__ import annotations

import json
from typing import Any

from ...core.names import readable
from .dialect import NAMES, SYMBOLS
from .extras import MOST
from .lines import Marks
from .run_probes import Outcome
from .scripts import Probe

SENTENCE = 1_000  # the longest text that is taken from a stranger, save for that of its file
MORE = {"second": ("first",), "zero": ("cleared",)}  # the gradients that such a probe also brings
Other = dict[str, Any]  # {"error": …}, or the values around a point and the gradients there


class NonsenseError(Exception):
    """Something that the doctor's own task would not say."""


def decoded(line: bytes) -> tuple[str, Any]:
    """Read a message: what it is, and what it says."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError, MemoryError):
        raise NonsenseError("not JSON") from None
    if not isinstance(message, dict) or len(message) != 1:
        raise NonsenseError("not one message")
    return next(iter(message.items()))


def part_of(what: Any, name: str) -> Any:
    """Take a part of a message."""
    if not isinstance(what, dict) or name not in what:
        raise NonsenseError(f"no {name}")
    return what[name]


def text_in(what: Any, longest: int = SENTENCE) -> str:
    """Take a text, as far as it is not too long."""
    if not isinstance(what, str):
        raise NonsenseError("not a text")
    return what[: longest or None]


def line_in(what: Any) -> str:
    """Take a text that must stay on its line: a class may be called "Value\\n\\nNo fault."."""
    return readable(text_in(what))


def trees_in(what: dict[str, Any]) -> dict[str, str]:
    """Take the digests of classes."""
    trees = what.get("trees", {})
    if not isinstance(trees, dict):
        raise NonsenseError("no trees")
    return {line_in(name): text_in(digest, 64) for name, digest in trees.items()}


def operations_in(what: Any) -> set[str]:
    """Take operations that the doctor knows."""
    if not isinstance(what, list) or not all(isinstance(x, str) for x in what):
        raise NonsenseError("not operations")
    return set(what) & set(NAMES)


def items(what: Any, most: int = MOST) -> list[Any]:
    """Take a list that is not too long."""
    if not isinstance(what, list) or len(what) > most:
        raise NonsenseError("not a list")
    return what


def identifier_in(what: Any) -> str:
    """Take a name as Python has them."""
    if not isinstance(what, str) or not what.isidentifier() or not what.isprintable():
        raise NonsenseError("not a name")
    return what[:SENTENCE]


def operands_in(what: Any) -> int:
    """Take how many operands there are."""
    if what not in (1, 2):
        raise NonsenseError("not a count")
    return int(what)


def spelling_in(what: Any) -> dict[str, str]:
    """Take how things are written: with one pair of braces for each operand, and no more."""
    if not isinstance(what, dict):
        raise NonsenseError("no spelling")
    found = {line_in(op): line_in(text) for op, text in what.items()}
    for op, text in found.items():
        # A backward pass may want the root once more, as in a.backprop(a).
        plain = text.replace("{0}", "{}", 1).replace("{0}", "") if op == "backward" else text
        count = 2 if op in SYMBOLS else 1
        rest = plain.replace("{}", "", count)
        if plain.count("{}") != count or "{" in rest or "}" in rest:
            raise NonsenseError("not a spelling")
    return found


def marks_in(what: Any) -> Marks:
    """Take the marks of a file."""
    if not isinstance(what, dict) or not all(isinstance(x, dict) for x in what.values()):
        raise NonsenseError("not marks")
    return {place: {m: count_in(x, 1) for m, x in marks.items()} for place, marks in what.items()}


def count_in(what: Any, least: int) -> int:
    """Take a whole number."""
    if type(what) is not int or what < least:
        raise NonsenseError("not a count")
    return what


def numbers_in(what: Any, names: set[str]) -> dict[str, float]:
    """Take a number for each of the names."""
    if not isinstance(what, dict) or set(what) != names:
        raise NonsenseError("not the numbers that were asked for")
    if not all(type(x) is float for x in what.values()):
        raise NonsenseError("not numbers")
    return what


def outcome_in(probe: Probe, what: Any) -> Outcome:
    """Take what came out of a probe, each time that it was run."""
    outcome = _one_outcome(probe, what)
    others = what.get("others", [])
    if not isinstance(others, list):
        raise NonsenseError("no outcomes")
    if others:
        outcome["others"] = [_one_outcome(probe, other) for other in others]
    return outcome


def _one_outcome(probe: Probe, what: Any) -> Outcome:
    if isinstance(what, dict) and "error" in what:
        line = part_of(what, "line")
        return {
            "error": text_in(what["error"]),
            "message": text_in(part_of(what, "message")),
            "line": None if line is None else count_in(line, 1),
            "in_pass": what.get("in_pass") is True,
        }
    if probe.kind == "memory":
        return {name: count_in(part_of(what, name), 0) for name in ("held", "kept")}
    parts = ("data", "grad", *MORE.get(probe.kind, ()))
    return {part: numbers_in(part_of(what, part), probe.script.names) for part in parts}


def floats_in(what: Any, count: int) -> list[float]:
    """Take so many numbers."""
    if not isinstance(what, list) or [type(x) for x in what] != [float] * count:
        raise NonsenseError("not numbers")
    return what


def other_in(one: Any, count: int) -> Other:
    """Read what an operation of its own gives at one point."""
    if isinstance(one, dict) and "error" in one:
        return {"error": text_in(one["error"])}
    around, grads = part_of(one, "around"), floats_in(part_of(one, "grads"), count)
    if not isinstance(around, list) or len(around) != count:
        raise NonsenseError("not the numbers that were asked for")
    return {"around": [floats_in(each, 4) for each in around], "grads": grads}
