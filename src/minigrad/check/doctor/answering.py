"""The doctor's task in the sandbox: the questions, and next to them a stranger's code.

It says, in this order: the text of the file, as it was before its code ran; what there is to remark
on how it was loaded; how the class is spoken to; what came out of each question, as raw numbers;
the end. Whoever looks around here finds questions, and neither the catalogue nor an answer.

`work` can also be called without a sandbox, with a text instead of a file.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from .clock import TooLongError, bounded, line_of_loop
from .dialect import Dialect
from .extras import ask, others
from .finding import find
from .folders import files_with_engines
from .lines import marks_of
from .loading import Loading, SlowError, told
from .notebooks import Cells, is_notebook
from .passes import Named, NoEngineError
from .reading import UnreadableError
from .run_probes import NO_END, Outcome, error_of, run_all
from .scripts import Probe
from .trees import digests

MOST_LEFT_OUT = 3  # statements that are told of by themselves
PATIENCE = 0.5  # CPU seconds for a question, which take milliseconds
LEAST = 0.05  # the same, after many that did not come to an end
UNHURRIED = ("deep", "memory")  # kinds of questions that take longer


def work(job: dict[str, Any], say: Callable[[str, Any], None]) -> None:
    """Load what the job names, and say what came out of its questions."""
    questions = [Probe.heard(asked) for asked in job["questions"]]
    loading = Loading(job["largest"], job["only_definitions"], job["is_timed"], job["home"])
    text = ""

    def tell(kind: str, what: Any) -> None:
        nonlocal text
        text = what["text"] if kind == "source" else text
        say(kind, what)

    try:
        dialect = _opened(job, loading, tell)
    except (NoEngineError, UnreadableError) as error:
        say("problem", str(error) if not loading.left_out else _unfinished(loading, str(error)))
        return
    except SlowError as slow:
        say("slow", str(slow) or "an import takes long")
        return
    except BaseException as error:
        say("problem", f"loading the file fails: {told(error)}")
        return
    _limit(job["asking"])
    if job["changing"]:
        from .mending import mend  # it has derivatives in it: not beside an engine that is judged

        mend(dialect, text, job, questions, say)
        return
    answer(dialect, job, questions, say)


def answer(
    dialect: Dialect, job: dict[str, Any], questions: list[Probe], say: Callable[[str, Any], None]
) -> None:
    """Introduce a class, and say what came out of the questions to it."""
    extras = others(dialect)
    say("class", _introduced(dialect, extras))
    # Without a sandbox, whoever waits may still interrupt.
    everything = BaseException if job["is_timed"] else (Exception, SystemExit)
    endless = _Endless()
    for question in questions:
        try:
            if (known := endless.known(question)) is not None:
                outcome = known
            elif job["is_timed"] and question.kind not in UNHURRIED:
                with bounded(endless.seconds, dialect.file):
                    ((_, outcome),) = run_all(dialect, [question])
            else:
                ((_, outcome),) = run_all(dialect, [question])
        except TooLongError as error:
            line = line_of_loop(error, dialect.file)
            outcome = endless.learn(question, error_of(error, dialect) | {"line": line})
        except everything as error:
            outcome = {"error": type(error).__name__, "message": "", "line": None}
        say("outcome", outcome)
    for call, count in filter(None, extras.values()):
        say("other", [ask(dialect, call, point[:count], job["step"]) for point in job["points"]])
    say("end", True)


@dataclass(slots=True)
class _Endless:
    """What did not come to an end so far: of such an operation, nothing more is asked."""

    count: int = 0
    operations: dict[str, Outcome] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """How long to wait for a question; less and less, as all of them have few seconds."""
        return max(PATIENCE / (1 + self.count), LEAST)

    def known(self, question: Probe) -> Outcome | None:
        ops = sorted(question.script.ops & {*self.operations})
        return self.operations[ops[0]] if ops else None

    def learn(self, question: Probe, outcome: Outcome) -> Outcome:
        self.count += 1
        outcome |= {"error": NO_END, "message": ""}
        if question.kind == "first" and len(question.script.statements) == 1:
            self.operations |= dict.fromkeys(question.script.ops, outcome)
        return outcome


def _limit(seconds: int) -> None:
    """Allow so much CPU time from now on; 0 for as much as there is."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        if seconds:
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + seconds, hard))


def _opened(job: dict[str, Any], loading: Loading, say: Callable[[str, Any], None]) -> Dialect:
    """Load the subject, a text, a file, a folder or a module, and find the class in it."""
    named = Named(**job["named"])
    subject = job["subject"]
    if job["kind"] == "module":
        module = importlib.import_module(subject)
        dialect = _found(module, named, loading)
        say("source", source_of(_quietly(loading, dialect.file)))
        return dialect
    if job["kind"] == "text":
        loading.texts["<engine>"] = Cells(job["text"])
        say("source", source_of(loading.texts["<engine>"]))
        module = loading.load_text(job["text"])
        dialect = _found(module, named, loading)
        dialect.file = "<engine>"
        _remark(dialect, loading, "", say)
        return dialect
    path = Path(subject)
    first, others = path, 0
    if job["kind"] == "folder":
        files = files_with_engines(path, loading, named.cls)
        if not files:
            raise NoEngineError("there is no class with operators in any file of the folder")
        first, others = files[0], len(files) - 1
    say("source", source_of(loading.read(first)))
    module = loading.load(first)
    dialect = _found(module, named, loading, first)
    if dialect.cls.__module__ == module.__name__:
        dialect.file = str(first)
    elif dialect.file != str(first):
        say("source", source_of(_quietly(loading, dialect.file)))
    shown = "" if dialect.file == str(path) else _shown(dialect.file, path)
    _remark(dialect, loading, shown, say, others)
    return dialect


def _found(module: ModuleType, named: Named, loading: Loading, path: Path | None = None) -> Dialect:
    """Find the class in a module or, where it is a package, in one of its modules."""
    is_sheet = path is not None and is_notebook(path.name)
    try:
        return find(module, named, loading.owns, last=is_sheet)
    except NoEngineError:
        for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
            with contextlib.suppress(NoEngineError, UnreadableError, ImportError):
                inner = importlib.import_module(f"{module.__name__}.{part.name}")
                return find(inner, named, loading.owns)
        raise


def _shown(file: str, path: Path) -> str:
    folder = path if path.is_dir() else path.parent
    try:
        return Path(file).relative_to(folder).as_posix()
    except ValueError:
        return Path(file).name or "a module"


def _unfinished(loading: Loading, problem: str) -> str:
    """Say why nothing was found in a file that did not load to its end: for that reason."""
    left = next((why for why in loading.left_out if "(" in why), "")
    if problem == "there is no class in it" and left:
        why = left.partition("(")[2][:-1]
        verb = "ends the process" if why.startswith("sys.exit(") else "fails"
        return f"loading the file {verb}: {why}"
    return f"{problem} ({left.removesuffix(')').replace(' (', ': ')})" if left else problem


def _remark(
    dialect: Dialect,
    loading: Loading,
    file: str,
    say: Callable[[str, Any], None],
    other_files: int = 0,
) -> None:
    """Say what whoever reads the report must know of how the file was loaded."""
    remarks = [f"the class is in {file}"] if file else []
    if other_files:  # of a folder of submissions, one would pass for all
        remarks.append(
            f"not examined: {other_files} more of its files with such a class; --table examines a "
            "folder of submissions"
        )
    others = [name for name in dialect.choices if name != dialect.cls.__name__]
    if others:
        remarks.append(f"other classes that could be examined: {', '.join(others)}")
    left = [what for what in loading.left_out if "(" in what]
    if left:
        more = len(loading.left_out) - len(left[:MOST_LEFT_OUT])
        rest = f", and {more} more" if more else ""
        remarks.append(f"left out: {', '.join(left[:MOST_LEFT_OUT])}{rest}")
    elif loading.left_out:
        count = len(loading.left_out)
        which = "1 statement that defines" if count == 1 else f"{count} statements that define"
        remarks.append(f"left out: {which} nothing")
    say("remarks", {"remarks": remarks, "choices": dialect.choices})


def _introduced(
    dialect: Dialect, extras: dict[str, tuple[Callable[..., Any], int] | None]
) -> dict[str, Any]:
    return {
        "spelling": dialect.spelling,
        "others": [[name, found[1]] for name, found in extras.items() if found],
        "unexamined": [name for name, found in extras.items() if not found],
        "words": dialect.words,
        "operations": sorted(dialect.operations),
        "operators": sorted(dialect.operators),
        "zero": dialect.zero,
        "documentation": dialect.documentation(),
        "has_closures": dialect.has_closures(),
    }


def _quietly(loading: Loading, file: str) -> Cells:
    """Return the text of a file that came along, nothing if it has none."""
    if not file.endswith((".py", ".ipynb")):
        return Cells("")
    try:
        return loading.read(Path(file))
    except UnreadableError:
        return Cells("")


def source_of(cells: Cells) -> dict[str, Any]:
    """Return a text, where things are in it, and what its classes look like."""
    return {
        "text": cells.text,
        "marks": marks_of(cells.text),
        "cells": list(cells.starts),
        "trees": digests(cells.text),
    }
