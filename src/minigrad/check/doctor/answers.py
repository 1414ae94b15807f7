"""Ask a stranger's class in the sandbox, and understand what it says: every word may be a lie.

The messages have one order, and each one form; whatever is otherwise ends the reading with a plain
sentence. Answers are numbers and the names of errors: what they are worth is found out later, by
comparing them with what is right, which the one who answered does not know.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.names import readable
from .dialect import NAMES, SPECIAL, SYMBOLS, can
from .lines import Marks
from .probes import PROBES, drawn
from .run_probes import Outcome
from .sandbox import Heard, run_apart
from .scripts import Probe

TASK = Path(__file__).with_name("answering.py")
SECONDS = 6.0  # for all questions: a sound engine takes one
MEMORY = 4 * 1024**3  # bytes; somebody's engine may import NumPy or PyTorch
LARGEST = 1_000_000  # bytes of a file
SENTENCE = 1_000  # the longest text that is taken from a stranger, save for that of its file
MORE = {"second": ("first",), "zero": ("cleared",)}  # the gradients that such a probe also brings


class NonsenseError(Exception):
    """Something that the doctor's own task would not say."""


@dataclass(slots=True)
class Examination:
    """What is known of a stranger: how to speak to it, and what came out."""

    words: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # of the probes, by name
    drawn: dict[str, Outcome] = field(default_factory=dict)  # of the same with numbers drawn,
    seed: int = 0  # from this
    documentation: str = ""  # of the class and its backward()
    text: str = ""  # of the file that the class is in
    marks: Marks = field(default_factory=dict)
    has_closures: bool = True  # whether nodes keep functions, or rules are somewhere else
    problem: str = ""  # why there is nothing, or not everything


def examine_stranger(
    subject: str, class_name: str = "", seconds: float = SECONDS, seed: int | None = None
) -> Examination:
    """Examine a file, by its whole path, or an installed module, by its name, in the sandbox.

    Numbers are drawn from the seed; without one, nobody can know them before.
    """
    seed = secrets.randbits(64) if seed is None else seed
    others = drawn(seed)
    job = {
        "subject": subject,
        "is_file": Path(subject).is_absolute(),
        "class": class_name,
        "questions": [probe.asked() for probe in [*PROBES, *others]],
        "largest": LARGEST,
    }
    try:
        heard = run_apart(TASK, job, seconds, MEMORY, "the doctor")
    except OSError as error:
        return Examination(problem=f"no process can be started for it ({error.strerror or error})")
    found, at = understand(heard.said, seed, [*PROBES], [*others])
    if at:
        found.problem = _why_it_ended(heard, at)
    return found


def _why_it_ended(heard: Heard, at: str) -> str:
    if heard.is_too_much:
        return f"it says too much while {at}"
    if not heard.in_time:
        return f"it did not come to an end: time ran out while {at}"
    code = heard.code
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return f"the process {how} while {at}, before it could say anything"


@dataclass(slots=True)
class _Reading:
    """How far the reading has come."""

    found: Examination
    questions: list[tuple[Probe, dict[str, Outcome]]]  # with where the answer goes
    first_marks: Marks | None = None  # from before the stranger's code ran, if it is a file
    operations: set[str] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)
    zero: str = ""
    is_known: bool = False
    is_over: bool = False
    answered: int = 0

    @property
    def at(self) -> str:
        if not self.is_known:
            return "loading the file"
        if self.answered == len(self.questions):
            return "saying good-bye"
        return f"running “{self.questions[self.answered][0].script.text()}”"


def understand(
    heard: bytes, seed: int, probes: list[Probe], drawn: list[Probe]
) -> tuple[Examination, str]:
    """Return what is known, and what the sandbox was at when it stopped talking: "" at its end."""
    found = Examination(seed=seed)
    questions = [(p, found.outcomes) for p in probes] + [(p, found.drawn) for p in drawn]
    reading = _Reading(found, questions)
    for line in heard.split(b"\n")[:-1]:  # a last one without an end was interrupted
        try:
            _read_message(reading, _decoded(line))
        except NonsenseError as error:
            found.problem = f"what it answers cannot be understood while {reading.at} ({error})"
            break
        if found.problem:
            break
    return found, "" if reading.is_over or found.problem else reading.at


def _decoded(line: bytes) -> tuple[str, Any]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError, MemoryError):
        raise NonsenseError("not JSON") from None
    if not isinstance(message, dict) or len(message) != 1:
        raise NonsenseError("not one message")
    return next(iter(message.items()))


def _read_message(reading: _Reading, message: tuple[str, Any]) -> None:
    kind, what = message
    found = reading.found
    if reading.is_over:
        raise NonsenseError("something after the end")
    if kind == "problem" and not reading.is_known:
        found.problem = _line(what) or "it does not say why"
    elif kind == "source" and not reading.is_known:
        found.text, found.marks = _text(_part(what, "text"), 0), _marks(_part(what, "marks"))
        reading.first_marks = reading.first_marks or found.marks
    elif kind == "class" and not reading.is_known:
        _introduce(reading, what)
    elif kind == "outcome" and reading.is_known and reading.answered < len(reading.questions):
        probe, outcomes = reading.questions[reading.answered]
        is_missing = not can(probe, reading.operations, reading.operators, reading.zero)
        outcomes[probe.name] = {"missing": True} if is_missing else _outcome(probe, what)
        reading.answered += 1
    elif kind == "end" and reading.answered == len(reading.questions):
        reading.is_over = True
    else:
        raise NonsenseError("not in this order")


def _introduce(reading: _Reading, what: Any) -> None:
    found = reading.found
    words = _part(what, "words")
    if not isinstance(words, dict) or not {"class", "data", "grad", "backward"} <= set(words):
        raise NonsenseError("no words")
    found.words = {_line(kind): _line(word) for kind, word in words.items()}
    found.documentation = _text(_part(what, "documentation"), 10_000)
    found.has_closures = _part(what, "has_closures") is True
    reading.zero = _text(_part(what, "zero"))
    reading.operations = _operations(_part(what, "operations"))
    reading.operators = _operations(_part(what, "operators"))
    reading.is_known = True
    found.problem = _hidden(reading, found.words["class"])


def _hidden(reading: _Reading, cls: str) -> str:
    """Compare with the file: an operation that stands there must answer for itself.

    A class that the file does not have by this name may be any of those in it.
    """
    places = reading.first_marks or {}
    marks = places[cls] if cls in places else {m: k for p in places.values() for m, k in p.items()}
    for op, names in NAMES.items():
        methods = {SPECIAL[op]: reading.operators} if op in SPECIAL else {}
        if op not in SYMBOLS:  # of those with two operands, a method may be something else
            methods |= dict.fromkeys(names, reading.operations)
        for name, known in methods.items():
            if op not in known and f"method {name}" in marks:
                line = marks[f"method {name}"]
                return f"line {line} has {name}, but the class that answers has not"
    return ""


# ---- forms ------------------------------------------------------------------------------------


def _part(what: Any, name: str) -> Any:
    if not isinstance(what, dict) or name not in what:
        raise NonsenseError(f"no {name}")
    return what[name]


def _text(what: Any, longest: int = SENTENCE) -> str:
    if not isinstance(what, str):
        raise NonsenseError("not a text")
    return what[: longest or None]


def _line(what: Any) -> str:
    """Take a text that must stay on its line: a class may be called "Value\\n\\nNo fault."."""
    return readable(_text(what))


def _operations(what: Any) -> set[str]:
    if not isinstance(what, list) or not all(isinstance(x, str) for x in what):
        raise NonsenseError("not operations")
    return set(what) & set(NAMES)


def _marks(what: Any) -> Marks:
    if not isinstance(what, dict) or not all(isinstance(x, dict) for x in what.values()):
        raise NonsenseError("not marks")
    return {place: {m: _count(x, 1) for m, x in marks.items()} for place, marks in what.items()}


def _count(what: Any, least: int) -> int:
    if type(what) is not int or what < least:
        raise NonsenseError("not a count")
    return what


def _numbers(what: Any, names: set[str]) -> dict[str, float]:
    if not isinstance(what, dict) or set(what) != names:
        raise NonsenseError("not the numbers that were asked for")
    if not all(type(x) is float for x in what.values()):
        raise NonsenseError("not numbers")
    return what


def _outcome(probe: Probe, what: Any) -> Outcome:
    outcome = _one_outcome(probe, what)
    others = what.get("others", [])
    if not isinstance(others, list):
        raise NonsenseError("no outcomes")
    if others:
        outcome["others"] = [_one_outcome(probe, other) for other in others]
    return outcome


def _one_outcome(probe: Probe, what: Any) -> Outcome:
    if isinstance(what, dict) and "error" in what:
        line = _part(what, "line")
        return {
            "error": _text(what["error"]),
            "message": _text(_part(what, "message")),
            "line": None if line is None else _count(line, 1),
        }
    if probe.kind == "memory":
        return {name: _count(_part(what, name), 0) for name in ("held", "kept")}
    parts = ("data", "grad", *MORE.get(probe.kind, ()))
    return {part: _numbers(_part(what, part), probe.script.names) for part in parts}
