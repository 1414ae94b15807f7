"""Ask a stranger's class in the sandbox, and understand what it says: every word may be a lie.

The messages have one order, and each one form; whatever is otherwise ends the reading with a plain
sentence. Answers are numbers and the names of errors: what they are worth is found out later, by
comparing them with what is right, which the one who answered does not know.
"""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from . import answering
from .dialect import NAMES, SPECIAL, SYMBOLS, can
from .differences import STEP, points
from .edits import KINDS
from .forms import (
    NonsenseError,
    Other,
    count_in,
    decoded,
    identifier_in,
    items,
    line_in,
    marks_in,
    operands_in,
    operations_in,
    other_in,
    outcome_in,
    part_of,
    spelling_in,
    text_in,
    trees_in,
)
from .lines import Marks
from .mended import EVERYWHERE, Change, Tried
from .probes import PROBES, drawn
from .run_probes import Outcome
from .sandbox import Heard, run_apart
from .scripts import Probe

T = TypeVar("T")
TASK = Path(__file__).with_name("answering.py")
LOADING = 20.0  # CPU seconds in which a file must be loaded: PyTorch alone may take five
ASKING = 6  # CPU seconds for all questions: a sound engine takes one
MENDING = 12  # for all changes of the file that are tried, in one turn: usually two
MEMORY = 4 * 1024**3  # bytes; somebody's engine may import NumPy or PyTorch
LARGEST = 1_000_000  # bytes of a file


class TimeIsUpError(BaseException):
    """What runs in this process takes too long; not an Exception, which it may catch."""


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
    spelling: dict[str, str] = field(default_factory=dict)  # how its operations are written
    others: dict[str, list[Other]] = field(default_factory=dict)  # of operations of its own
    unexamined: list[str] = field(default_factory=list)  # operations that nobody can ask
    problem: str = ""  # why there is nothing, or not everything
    remarks: list[str] = field(default_factory=list)  # on how it was loaded
    choices: list[str] = field(default_factory=list)  # the classes that could be examined
    cells: tuple[int, ...] = ()  # the lines at which the cells of a notebook begin
    tree: str = ""  # a digest of the class, the same for those that are written alike
    slow: str = ""  # what took too long while the file was loaded
    # Asks what small changes of the file would do: to these questions, of which the first so many
    # fail, or to an operation of its own, by its name; after some that are made before.
    try_changes: Callable[[list[Probe], int, str, list[Change]], Tried] | None = None


def examine_stranger(
    subject: str,
    named: Mapping[str, str] | str = "",
    seconds: float | None = None,
    seed: int | None = None,
    kind: str = "",
) -> Examination:
    """Examine a file or a folder, by its whole path, or an installed module, by its name.

    Numbers are drawn from the seed; without one, nobody can know them before. What cannot be
    loaded to its end is loaded anew, without what defines nothing.
    """
    kind = kind or ("file" if Path(subject).is_absolute() else "module")
    seed = secrets.randbits(64) if seed is None else seed
    seconds = LOADING if seconds is None else seconds
    asking = min(ASKING, max(int(seconds), 1))
    job = job_of(kind, named, seed) | {"subject": subject, "asking": asking}
    limit = seconds + asking
    first, reason = _asked(job, limit, seed)
    if kind == "module" or not reason:
        first.try_changes = lambda *asked: _changes_apart(job, limit, *asked)
        return first
    only = job | {"only_definitions": True}
    second, _ = _asked(only, limit, seed)
    if not second.words:
        return first
    second.remarks.insert(0, f"only its definitions were loaded: {reason}")
    second.try_changes = lambda *asked: _changes_apart(only, limit, *asked)
    return second


def examine_here(text: str, named: Mapping[str, str] | str = "", seed: int = 0) -> Examination:
    """Examine a text in this process, without a sandbox, processes, threads and limits."""
    job = job_of("text", named, seed) | {"text": text}
    found = _here(lambda: heard_here(lambda say: answering.work(job, say), seed))

    def try_changes(probes: list[Probe], failing: int, other: str, applied: list[Change]) -> Tried:
        more = job | _changing(probes, failing, other, applied)
        return read_changes(_here(lambda: said_here(lambda say: answering.work(more, say))), probes)

    found.try_changes = try_changes
    return found


def _here(ask: Callable[[], T]) -> T:
    """Load a text as a module called engine, and forget it."""
    finders, modules = list(sys.meta_path), set(sys.modules)
    try:
        return ask()
    finally:
        sys.meta_path[:] = finders
        if "engine" not in modules:
            sys.modules.pop("engine", None)


def heard_here(work: Callable[[Callable[[str, Any], None]], None], seed: int) -> Examination:
    """Understand what a task says that runs in this process; its prints go nowhere."""
    said, why = bytearray(), "it did not come to an end"
    try:
        said_here(work, said)
    except TimeIsUpError:
        why = "it did not come to an end: time ran out"
    found, at = understand(bytes(said), seed, [*PROBES], [*drawn(seed)])
    found.problem = f"{why} while {at}" if at else found.problem
    return found


def said_here(
    work: Callable[[Callable[[str, Any], None]], None], said: bytearray | None = None
) -> bytes:
    """Let a task run in this process, and return what it says."""
    said = bytearray() if said is None else said

    def say(kind: str, what: Any) -> None:
        said.extend(json.dumps({kind: what}).encode() + b"\n")

    with contextlib.redirect_stdout(io.StringIO()):
        work(say)
    return bytes(said)


def job_of(kind: str, named: Mapping[str, str] | str, seed: int) -> dict[str, Any]:
    """Describe what is to be done, as JSON can hold it."""
    return {
        "kind": kind,
        "subject": "",
        "named": {"cls": named} if isinstance(named, str) else dict(named),
        "questions": [probe.asked() for probe in [*PROBES, *drawn(seed)]],
        "largest": LARGEST,
        "home": str(Path.home()) if kind != "text" else "",
        "only_definitions": False,
        "is_timed": kind != "text" and hasattr(signal, "setitimer"),
        "asking": 0,
        "changing": False,
        "points": points(seed),
        "step": STEP,
    }


def _asked(job: dict[str, Any], seconds: float, seed: int) -> tuple[Examination, str]:
    """Return what is known, and if the loading did not come to its end, why."""
    try:
        heard = run_apart(TASK, job, seconds, MEMORY, "the doctor")
    except OSError as error:
        problem = f"no process can be started for it ({error.strerror or error})"
        return Examination(problem=problem), ""
    found, at = understand(heard.said, seed, [*PROBES], [*drawn(seed)])
    if found.slow:
        found.problem = f"it did not come to an end: {found.slow}"
        return found, found.slow
    if not at:
        return found, ""
    found.problem = _why_it_ended(heard, at)
    return found, "" if found.words else found.problem


def _changes_apart(
    job: dict[str, Any], seconds: float, probes: list[Probe], failing: int, other: str,
    applied: list[Change],
) -> Tried:  # fmt: skip
    """Ask in the sandbox what small changes of the file would do."""
    job = job | _changing(probes, failing, other, applied) | {"asking": MENDING}
    try:
        heard = run_apart(TASK, job, seconds + MENDING, MEMORY, "the doctor")
    except OSError:
        return Tried()
    return read_changes(heard.said, probes)


def _changing(
    probes: list[Probe], failing: int, other: str, applied: list[Change]
) -> dict[str, Any]:
    return {
        "questions": [probe.asked() for probe in probes], "failing": failing, "changing": True,
        "other": other, "applied": [change.asked() for change in applied],
    }  # fmt: skip


def read_changes(heard: bytes, probes: list[Probe]) -> Tried:
    """Read what comes out after each change; nonsense ends the reading."""
    found = Tried()
    with contextlib.suppress(NonsenseError):
        for line in heard.split(b"\n")[:-1]:
            kind, what = decoded(line)
            if kind == "mended":
                found.changes.append(_change(what, probes))
            elif kind == "before":
                outcomes = _exactly(what, len(probes))
                found.before[:] = [outcome_in(*pair) for pair in zip(probes, outcomes, strict=True)]
    return found


def _exactly(what: Any, count: int) -> list[Any]:
    if len(items(what, count)) != count:
        raise NonsenseError("not the outcomes that were asked for")
    return items(what, count)


def _change(what: Any, probes: list[Probe]) -> Change:
    outcomes = _exactly(part_of(what, "outcomes"), len(probes) or len(points(0)))
    op = part_of(what, "op")
    everywhere = part_of(what, "everywhere") is True
    if part_of(what, "kind") not in (EVERYWHERE if everywhere else KINDS) or op not in ("", *NAMES):
        raise NonsenseError("not a change")
    each = [outcome_in(*pair) for pair in zip(probes, outcomes, strict=True)] if probes else [
        other_in(one, len(items(part_of(one, "grads"), 2)) if "error" not in one else 0)
        for one in outcomes
    ]  # fmt: skip
    return Change(
        what["kind"], identifier_in(part_of(what, "function")), count_in(part_of(what, "line"), 1),
        line_in(part_of(what, "old")), line_in(part_of(what, "new")), each, op,
        everywhere,
    )  # fmt: skip


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
    trees: dict[str, str] = field(default_factory=dict)  # digests of the classes of the file
    first_marks: Marks | None = None  # from before the stranger's code ran, if it is a file
    operations: set[str] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)
    zero: str = ""
    is_known: bool = False
    is_over: bool = False
    answered: int = 0
    counts: dict[str, int] = field(default_factory=dict)  # of operands, of operations of its own

    @property
    def at(self) -> str:
        if not self.is_known:
            return "loading the file"
        if self.answered == len(self.questions):
            waiting = [name for name in self.counts if name not in self.found.others]
            return f"running {waiting[0]}" if waiting else "saying good-bye"
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
            _read_message(reading, decoded(line))
        except NonsenseError as error:
            found.problem = f"what it answers cannot be understood while {reading.at} ({error})"
            break
        if found.problem or found.slow:
            break
    return found, "" if reading.is_over or found.problem else reading.at


def _read_message(reading: _Reading, message: tuple[str, Any]) -> None:
    kind, what = message
    found = reading.found
    if reading.is_over:
        raise NonsenseError("something after the end")
    if kind == "problem" and not reading.is_known:
        found.problem = line_in(what) or "it does not say why"
    elif kind == "slow" and not reading.is_known:
        found.slow = line_in(what) or "it takes long"
    elif kind == "source" and not reading.is_known:
        found.text, found.marks = (
            text_in(part_of(what, "text"), 0),
            marks_in(part_of(what, "marks")),
        )
        found.cells = tuple(count_in(line, 1) for line in items(part_of(what, "cells"), LARGEST))
        reading.trees = trees_in(what)
        reading.first_marks = reading.first_marks or found.marks
    elif kind == "remarks" and not reading.is_known:
        found.remarks = [line_in(remark) for remark in items(part_of(what, "remarks"))]
        found.choices = [line_in(choice) for choice in items(part_of(what, "choices"))]
    elif kind == "class" and not reading.is_known:
        _introduce(reading, what)
    elif kind == "outcome" and reading.is_known and reading.answered < len(reading.questions):
        probe, outcomes = reading.questions[reading.answered]
        is_missing = not can(probe, reading.operations, reading.operators, reading.zero)
        outcomes[probe.name] = {"missing": True} if is_missing else outcome_in(probe, what)
        reading.answered += 1
    elif kind == "other" and reading.answered == len(reading.questions):
        _read_other(reading, what)
    elif kind == "end" and [*found.others] == [*reading.counts]:
        if reading.answered < len(reading.questions):
            raise NonsenseError("not in this order")
        reading.is_over = True
    else:
        raise NonsenseError("not in this order")


def _read_other(reading: _Reading, what: Any) -> None:
    """Read what an operation of its own gives at each of the points, the next one."""
    name = next((name for name in reading.counts if name not in reading.found.others), None)
    if name is None or not isinstance(what, list) or len(what) != len(points(reading.found.seed)):
        raise NonsenseError("not the points that were asked for")
    count = reading.counts[name]
    reading.found.others[name] = [other_in(one, count) for one in what]


def _introduce(reading: _Reading, what: Any) -> None:
    found = reading.found
    words = part_of(what, "words")
    if not isinstance(words, dict) or not {"class", "data", "grad", "backward"} <= set(words):
        raise NonsenseError("no words")
    found.words = {line_in(kind): line_in(word) for kind, word in words.items()}
    found.documentation = text_in(part_of(what, "documentation"), 10_000)
    found.has_closures = part_of(what, "has_closures") is True
    found.tree = reading.trees.get(found.words["class"], "")
    found.spelling = spelling_in(part_of(what, "spelling"))
    found.unexamined = [identifier_in(name) for name in items(part_of(what, "unexamined"))]
    reading.counts = {identifier_in(n): operands_in(k) for n, k in items(part_of(what, "others"))}
    reading.zero = text_in(part_of(what, "zero"))
    reading.operations = operations_in(part_of(what, "operations"))
    reading.operators = operations_in(part_of(what, "operators"))
    reading.is_known = True
    found.problem = _hidden(reading, found.words["class"])


def _hidden(reading: _Reading, cls: str) -> str:
    """Compare with the file: an operation that stands there must answer for itself.

    A class that the file does not have by this name may be any of those in it.
    """
    places = reading.first_marks or {}
    able = [p for p in places.values() if {"method __add__", "method __mul__"} & set(p)]
    marks = places[cls] if cls in places else {m: k for p in able for m, k in p.items()}
    for op, names in NAMES.items():
        methods = {SPECIAL[op]: reading.operators} if op in SPECIAL else {}
        if op not in SYMBOLS:  # of those with two operands, a method may be something else
            methods |= dict.fromkeys(names, reading.operations)
        for name, known in methods.items():
            if op not in known and f"method {name}" in marks:
                line = marks[f"method {name}"]
                return f"line {line} has {name}, but the class that answers has not"
    return ""
