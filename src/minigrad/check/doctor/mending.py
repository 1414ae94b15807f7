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
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, FunctionType
from typing import Any

from .clock import TooLongError, bounded
from .dialect import Dialect
from .edits import edits_of, without_calls
from .extras import ask as ask_other
from .extras import others
from .rewriting import Edit, operation_in
from .run_probes import Outcome, run_all
from .scripts import Probe
from .walking import Facts, facts_of

FLAGS = __future__.annotations.compiler_flag  # as the file is loaded
SECONDS = 10.0  # of CPU time for all changes: several times what TRIED of them take
ONE = 0.3  # of it for one change
FEW = 3  # probes that are run first: most changes change nothing, or break everything
TRIED = 1500  # changes that are tried, the likeliest functions first
MOST = 400  # and of which something is told


Live = tuple[ast.FunctionDef, str, list[FunctionType]]  # with the class around it
Part = tuple[Edit, Live]  # of a change: one function
Ask = list[Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of functions: everything, what first, and what comes out unchanged."""

    lives: list[tuple[Live, list[int]]]  # with the questions in which one of them runs
    ask: Ask
    before: list[Any]
    questions: list[Probe] = field(default_factory=list)
    failing: int = 0  # the first so many of the questions are those that fail


def mend(
    dialect: Dialect, text: str, job: dict[str, Any], questions: list[Probe],
    say: Callable[[str, Any], None],
) -> None:  # fmt: skip
    """Say what comes out of the questions, of which the first so many fail, after each change.

    Or what comes out of an operation that is not in the table, which the job then names. Changes
    that are found already can be made before, for good.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError):
        tree = ast.Module([], [])
    facts = facts_of(tree)
    lives = [*_live(dialect.file, tree)]
    for change in job["applied"]:
        lives = _apply(change, lives, dialect, facts)
    if job["other"]:
        asked = _others(dialect, lives, job)
    else:
        asked = _probes(dialect, lives, questions, job["failing"])
        say("before", asked.before)
    deadline = time.process_time() + SECONDS
    seen: list[list[Any]] = []
    for parts, first in itertools.islice(_changes(asked, dialect, facts), TRIED):
        outcomes = None
        if time.process_time() > deadline or len(seen) == MOST:
            break
        with contextlib.suppress(TooLongError), bounded(ONE, dialect.file):
            outcomes = _changed(parts, asked, first)
        if not outcomes or outcomes in seen:
            continue
        if len(parts) == 1:  # of a change of one function and the same of all, both are told
            seen.append(outcomes)
        say("mended", _told(parts) | {"outcomes": outcomes})
    say("end", True)


def _changes(
    asked: _Asked, dialect: Dialect, facts: Facts
) -> Iterator[tuple[list[Part], list[int]]]:
    """Yield changes of all functions at once, then those of each, with what to ask first."""
    found = [edits_of(live[0], dialect.words, facts, live[1]) for live, _ in asked.lives]
    first = sorted({k for _, mine in asked.lives for k in mine[:FEW]})[: 2 * FEW]
    adds: list[Part] = []
    later: list[Part] = []
    hooks: list[Part] = []
    rest: list[Part] = []
    for (live, _), edits in zip(asked.lives, found, strict=True):
        if operation_in(live[0].name, live[1]):
            adds += [(edit, live) for edit in edits if edit.kind == "adds"][:1]
            later += [(edit, live) for edit in edits if edit.kind == "later"][:1]
            own = [e for e in edits if e.kind == "hooks" and e.old.startswith("self.")]
            hooks += [(edit, live) for edit in own[:1]]
            rest += [(e, live) for e in [without_calls(live[0], facts.hook)] if e is not None]
    if len(adds) > 1:  # what people do alike in all operations
        yield adds, first
    for group in (later, hooks):
        if len(group) > 1:
            yield group, first
    if rest:  # rules that go on to the next node by themselves
        yield rest, first
    if rest and adds:
        yield _joined(adds, rest, facts.hook), first
    for (live, mine), edits in zip(asked.lives, found, strict=True):
        for edit in edits:
            yield [(edit, live)], mine[:FEW]


def _joined(adds: list[Part], rest: list[Part], hook: str) -> list[Part]:
    """Make two changes of the same functions one."""
    changed = {id(live[0]): edit for edit, live in adds}
    others = [(edit, live) for edit, live in rest if id(live[0]) not in changed]
    both = []
    for edit, live in adds:
        more = without_calls(edit.function, hook)
        both.append((replace(edit, function=more.function) if more else edit, live))
    return both + others


def _told(parts: list[Part]) -> dict[str, Any]:
    edit, (function, cls, _) = parts[0]
    return {
        "kind": edit.kind, "line": edit.line, "old": edit.old, "new": edit.new,
        "function": function.name, "op": edit.op or operation_in(function.name, cls),
        "everywhere": len(parts) > 1,
    }  # fmt: skip


def _apply(change: dict[str, Any], lives: list[Live], dialect: Dialect, facts: Facts) -> list[Live]:
    """Make a change for good."""
    mine = [x for x in lives if change["everywhere"] or x[0].name == change["function"]]
    asked = _Asked([(live, []) for live in mine], [], [])
    for parts, _ in _changes(asked, dialect, facts):
        if _told(parts) != change:
            continue
        for edit, (old, cls, objects) in parts:
            code = _code_of(edit.function, cls, dialect.file)
            if code is None or any(code.co_freevars != f.__code__.co_freevars for f in objects):
                continue
            for function in objects:
                function.__code__ = code
            lives = [(edit.function, cls, objects) if live[0] is old else live for live in lives]
        break
    return lives


def _probes(dialect: Dialect, lives: list[Live], questions: list[Probe], failing: int) -> _Asked:
    ask: Ask = [functools.partial(_outcome, dialect, probe) for probe in questions]
    ranked = [*_ranked(dialect, lives, questions, failing)]
    return _Asked(ranked, ask, [one() for one in ask], questions, failing)


def _others(dialect: Dialect, lives: list[Live], job: dict[str, Any]) -> _Asked:
    found = others(dialect).get(job["other"])
    if found is None:
        return _Asked([], [], [])
    call, count = found
    ask: Ask = [
        functools.partial(ask_other, dialect, call, point[:count], job["step"])
        for point in job["points"]
    ]
    mine = [(live, [0, 1]) for live in lives if live[0].name == job["other"]]
    return _Asked(mine, ask, [one() for one in ask], [], len(ask))


def _changed(parts: list[Part], asked: _Asked, first: list[int]) -> list[Any] | None:
    """Return what comes out after a change; None where it changes nothing that fails, or something
    else: an answer that nobody complains of has to stay as it is."""
    codes = [(_code_of(edit.function, cls), objects) for edit, (_, cls, objects) in parts]
    kept = [(function, function.__code__) for _, objects in codes for function in objects]
    try:
        for code, objects in codes:
            if code is None or any(code.co_freevars != f.__code__.co_freevars for f in objects):
                return None
            for function in objects:
                function.__code__ = code
        # What is kept from call to call has spoilt answers that come late, and not the first.
        is_kept = any(edit.kind == "fresh" for edit, _ in parts)
        if not is_kept and all(asked.ask[k]() == asked.before[k] for k in first):
            return None
        others = []
        for k in range(asked.failing, len(asked.ask)):
            others.append(asked.ask[k]())
            if not is_kept and not _is_same(asked.questions[k], others[-1], asked.before[k]):
                return None
        return [*(one() for one in asked.ask[: asked.failing]), *others]
    finally:
        for function, old in kept:
            function.__code__ = old


def _is_same(probe: Probe, new: Outcome, old: Outcome) -> bool:
    """Whether an answer stays as it was: the values, and the gradients of the leaves."""
    if "error" in new or "error" in old:
        return new.get("error") == old.get("error")
    pairs = [(x, old["data"][name]) for name, x in new["data"].items()]
    pairs += [(new["grad"][name], old["grad"][name]) for name in probe.script.leaves]
    return all(math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-9) or math.isnan(x) for x, y in pairs)


def _outcome(dialect: Dialect, probe: Probe) -> Outcome:
    try:
        ((_, outcome),) = run_all(dialect, [probe], repeats=1)
    except Exception as error:
        outcome = {"error": type(error).__name__, "message": "", "line": None}
    return outcome


def _code_of(function: ast.FunctionDef, cls: str, file: str = "<mended>") -> CodeType | None:
    """Compile a function, inside of its class where it has one: names may depend on that."""
    function.decorator_list = []
    body: list[ast.stmt] = [function]
    if cls:
        body = [ast.ClassDef(name=cls, bases=[], keywords=[], body=body, decorator_list=[])]
        if sys.version_info >= (3, 12):
            body[0].type_params = []  # type: ignore[attr-defined]
    try:
        module = ast.fix_missing_locations(ast.Module(body, []))
        code = compile(module, file, "exec", FLAGS, dont_inherit=True)
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
    dialect: Dialect, every: list[Live], questions: list[Probe], failing: int
) -> Iterator[tuple[Live, list[int]]]:
    """Yield the functions that run in probes that fail, those first that run in few others."""
    lives = {_first_line(live[0]): live for live in every}
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
