"""Try small changes of somebody's functions (`edits.py`), and say what then comes out.

The functions that run in the probes that fail are changed one at a time, by giving them other code,
and get their own back. What is said are raw numbers again: whether a change mends anything is
found out in the doctor's own process (`mended.py`).

This runs in the sandbox.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import functools
import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from .dialect import Dialect
from .edits import Edit, edits_of, hook_of
from .extras import ask as ask_other
from .extras import others
from .run_probes import Outcome, run_all
from .scripts import Probe

FLAGS = __future__.annotations.compiler_flag  # as the file is loaded
SECONDS = 5.0  # of CPU time for all changes: more than MOST of them take, on a busy machine too
ONE = 0.3  # of it for one change
LINES = 100_000  # that one change may run
FEW = 3  # probes that are run first: most changes change nothing, or break everything
MOST = 400  # changes that are told of

Live = tuple[ast.FunctionDef, str, list[FunctionType]]  # with the class around it


def mend(
    dialect: Dialect, text: str, job: dict[str, Any], questions: list[Probe],
    say: Callable[[str, Any], None],
) -> None:  # fmt: skip
    """Say what comes out of the questions, of which the first so many fail, after each change.

    Or what comes out of an operation that is not in the table, which the job then names.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError):
        tree = ast.Module([], [])
    if job["other"]:
        asked = _others(dialect, tree, job)
    else:
        asked = _probes(dialect, tree, questions, job["failing"])
    deadline = time.process_time() + SECONDS
    hook = hook_of(tree)
    seen: list[list[Any]] = []
    for (function, cls, objects), ask, first, before in asked:
        for edit in edits_of(function, dialect.words, hook):
            outcomes = None
            if time.process_time() > deadline or len(seen) == MOST:
                break
            with _bounded(job["is_timed"]):
                outcomes = _changed(edit, cls, objects, ask, first, before)
            if not outcomes or outcomes in seen:
                continue
            seen.append(outcomes)
            say("mended", {
                "kind": edit.kind, "line": edit.line, "old": edit.old, "new": edit.new,
                "function": function.name, "outcomes": outcomes,
            })  # fmt: skip
    say("end", True)


class TooLongError(BaseException):
    """A change makes something go on for ever; not an Exception, which the file may catch."""


@contextlib.contextmanager
def _bounded(is_timed: bool) -> Iterator[None]:
    """End what goes on for ever: by a clock of CPU time, or where there is none by its lines."""
    before, lines = sys.gettrace(), 0

    def end(*_: Any) -> None:
        raise TooLongError

    def count(*_: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > LINES:
            raise TooLongError
        return count

    if is_timed:
        signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, ONE, 0.1)
    else:
        sys.settrace(count)
    try:
        yield
    except TooLongError:
        pass
    finally:
        if is_timed:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        else:
            sys.settrace(before)


Ask = list[Callable[[], Any]]
Asked = tuple[Live, Ask, list[int], list[Any]]  # what to ask first, and what comes out unchanged


def _probes(
    dialect: Dialect, tree: ast.Module, questions: list[Probe], failing: int
) -> Iterator[Asked]:
    ask: Ask = [functools.partial(_outcome, dialect, probe) for probe in questions]
    before = [one() for one in ask]
    for live, mine in _ranked(dialect, tree, questions, failing):
        yield live, ask, mine[:FEW], before


def _others(dialect: Dialect, tree: ast.Module, job: dict[str, Any]) -> Iterator[Asked]:
    found = others(dialect).get(job["other"])
    if found is None:
        return
    call, count = found
    ask: Ask = [
        functools.partial(ask_other, dialect, call, point[:count], job["step"])
        for point in job["points"]
    ]
    for live in _live(dialect.file, tree):
        if live[0].name == job["other"]:
            yield live, ask, [0, 1], [one() for one in ask]


def _changed(
    edit: Edit, cls: str, objects: list[FunctionType], ask: Ask,
    first: list[int], before: list[Any],
) -> list[Any] | None:  # fmt: skip
    """Return what comes out after a change; None where it changes nothing that fails."""
    code = _code_of(edit.function, cls)
    if code is None or any(code.co_freevars != f.__code__.co_freevars for f in objects):
        return None
    kept = [function.__code__ for function in objects]
    try:
        for function in objects:
            function.__code__ = code
        if all(ask[k]() == before[k] for k in first):
            return None
        return [one() for one in ask]
    finally:
        for function, old in zip(objects, kept, strict=True):
            function.__code__ = old


def _outcome(dialect: Dialect, probe: Probe) -> Outcome:
    try:
        ((_, outcome),) = run_all(dialect, [probe], repeats=1)
    except Exception as error:
        outcome = {"error": type(error).__name__, "message": "", "line": None}
    return outcome


def _code_of(function: ast.FunctionDef, cls: str) -> CodeType | None:
    """Compile a function, inside of its class where it has one: names may depend on that."""
    function.decorator_list = []
    body: list[ast.stmt] = [function]
    if cls:
        body = [ast.ClassDef(name=cls, bases=[], keywords=[], body=body, decorator_list=[])]
        if sys.version_info >= (3, 12):
            body[0].type_params = []  # type: ignore[attr-defined]
    try:
        module = ast.fix_missing_locations(ast.Module(body, []))
        code = compile(module, "<mended>", "exec", FLAGS, dont_inherit=True)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    waiting = [code]
    while waiting:
        for inner in waiting.pop().co_consts:
            if isinstance(inner, CodeType):
                if inner.co_name == function.name:
                    return inner
                waiting.append(inner)
    return None


# ---- which functions ----------------------------------------------------------------------------


def _ranked(
    dialect: Dialect, tree: ast.Module, questions: list[Probe], failing: int
) -> Iterator[tuple[Live, list[int]]]:
    """Yield the functions that run in probes that fail, those first that run in few others."""
    lives = {_first_line(live[0]): live for live in _live(dialect.file, tree)}
    runs = [_lines_run(dialect, probe) for probe in questions]
    scored = []
    for line, live in lives.items():
        mine = [k for k in range(failing) if line in runs[k]]
        others = sum(line in run for run in runs[failing:])
        if mine:
            # Ochiai's measure, squared: its part of the failures, times their part of its runs.
            scored.append((-(len(mine) ** 2) / (failing * (len(mine) + others)), line, live, mine))
    for _, _, live, mine in sorted(scored, key=lambda one: one[:2]):
        yield live, mine


def _live(file: str, tree: ast.Module) -> Iterator[Live]:
    """Yield the functions of a file that are no part of another, with the objects they are now."""
    objects: dict[tuple[str, int], list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename == file:
            code = thing.__code__
            objects.setdefault((code.co_name, code.co_firstlineno), []).append(thing)
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        place, cls = waiting.pop()
        for node in ast.iter_child_nodes(place):
            if isinstance(node, ast.FunctionDef):
                alive = objects.get((node.name, _first_line(node)), [])
                if alive:
                    yield node, cls, alive
            else:
                waiting.append((node, node.name if isinstance(node, ast.ClassDef) else cls))


def _first_line(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(d.lineno for d in function.decorator_list)])


def _lines_run(dialect: Dialect, probe: Probe) -> set[int]:
    """Find which functions of the file run in a probe, by their first lines."""
    found: set[int] = set()
    file, before = dialect.file, sys.getprofile()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename == file:
            found.add(frame.f_code.co_firstlineno)

    sys.setprofile(note)
    try:
        _outcome(dialect, probe)
    finally:
        sys.setprofile(before)
    return found
