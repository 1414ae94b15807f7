"""Run the probes on a class and write down what came out: numbers and errors, no opinion.

`run_all` does it in this process, on code that is trusted or that lives in a notebook. `inside.py`
calls it in a process of its own for everybody else's.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from .dialect import Dialect
from .scripts import DEPTH, Probe

REPEATS = 4  # of a probe: where a set decides the order, each object's address does
NO_END = "NoEnd"  # instead of the name of an error
Outcome = dict[str, Any]  # {"missing": True}, {"error": …}, or {"data": …, "grad": …, …}


def run_all(
    dialect: Dialect, probes: Iterable[Probe], repeats: int = REPEATS
) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome of each probe, by name.

    Where the order of nodes matters a probe is repeated; `others` are outcomes that differ from
    the first.
    """
    for probe in probes:
        outcome = _run(dialect, probe)
        again = ACTIONS[probe.kind] is _first and probe.script.shares
        if again and "error" not in outcome and not outcome.get("missing"):
            others = _repeated(dialect, probe, repeats)
            different = [
                other
                for k, other in enumerate(others)
                if other != outcome and other not in others[:k]
            ]
            outcome = {**outcome, "others": different} if different else outcome
        yield probe.name, outcome


def _repeated(dialect: Dialect, probe: Probe, repeats: int) -> list[Outcome]:
    alive = []  # earlier graphs stay where they are, so that new ones lie elsewhere
    outcomes = []
    for k in range(repeats):
        alive.append([dialect.make(0.0) for _ in range(3 * k + 1)])
        outcomes.append(_run(dialect, probe, alive))
    return outcomes


def _run(dialect: Dialect, probe: Probe, alive: list[Any] | None = None) -> Outcome:
    if not dialect.can(probe):
        return {"missing": True}
    before = _kept(dialect)
    try:
        if alive is not None:
            outcome = _first(dialect, probe, alive)
        else:
            outcome = ACTIONS[probe.kind](dialect, probe)
    except Exception as error:
        outcome = error_of(error, dialect)
    if "error" in outcome:  # a tape that this pass has not come to the end of is not the next one's
        _put_back(dialect, before)
    else:
        grown = [thing for thing, old in before if len(thing) > len(old)]
        dialect.growing += [thing for thing in grown if not _is_in(thing, dialect.growing)]
    return outcome


def _kept(dialect: Dialect) -> list[tuple[Any, Any]]:
    """Copy what the file keeps from one pass to the next.

    That is in lists, dicts and sets of the module, of its classes, and of objects of these.
    """
    functions = (f for f in vars(dialect.cls).values() if inspect.isfunction(f))
    space = next((f.__globals__ for f in functions), {})
    home = dialect.cls.__module__
    own = [x for x in space.values() if inspect.isclass(x) and x.__module__ == home]
    objects = [x for x in space.values() if type(x) in own and hasattr(x, "__dict__")]
    return [
        (thing, thing.copy())
        for names in [space, *map(vars, own), *map(vars, objects)]
        for name, thing in names.items()
        if type(thing) in (list, dict, set) and not name.startswith("__")
    ]


def _put_back(dialect: Dialect, before: list[tuple[Any, Any]]) -> None:
    for thing, old in before:
        # What a pass that succeeds lets grow is the engine's own doing, and its user meets it.
        if not _is_in(thing, dialect.growing):
            thing.clear()
            (thing.extend if isinstance(thing, list) else thing.update)(old)


def _is_in(thing: Any, things: list[Any]) -> bool:
    return any(thing is other for other in things)


def error_of(error: BaseException, dialect: Dialect) -> Outcome:
    """Tell an error, and the line of the file where it was raised."""
    frames = list(traceback.walk_tb(error.__traceback__))
    in_pass = any(frame.f_code is Dialect.backward.__code__ for frame, _ in frames)
    lines = [line for frame, line in frames if frame.f_code.co_filename == dialect.file]
    try:
        message = str(error)[:200]
    except Exception:
        message = ""
    return {
        "error": type(error).__name__, "message": message, "line": lines[-1] if lines else None,
        "in_pass": in_pass,
    }  # fmt: skip


def _numbers(dialect: Dialect, values: dict[str, Any]) -> Outcome:
    return {
        "data": {name: dialect.number(v, dialect.data) for name, v in values.items()},
        "grad": {name: dialect.number(v, dialect.grad) for name, v in values.items()},
    }


def _first(dialect: Dialect, probe: Probe, alive: list[Any] | None = None) -> Outcome:
    values = dialect.run(probe.script)
    dialect.backward(values[probe.script.root])
    if alive is not None:
        alive.append(values)
    return _numbers(dialect, values)


def _hand(dialect: Dialect, probe: Probe) -> Outcome:
    """Set the result's gradient by hand before, as one does while writing an engine."""
    values = dialect.run(probe.script)
    root = values[probe.script.root]
    dialect.seed(root)
    dialect.backward(root)
    return _numbers(dialect, values)


def _second(dialect: Dialect, probe: Probe) -> Outcome:
    values = dialect.run(probe.script)
    root = values[probe.script.root]
    dialect.backward(root)
    first = _numbers(dialect, values)
    dialect.backward(root)
    return {**_numbers(dialect, values), "first": first["grad"]}


def _plain(dialect: Dialect, probe: Probe) -> Outcome:
    """Make leaves from their numbers alone, without asking for gradients."""
    return _first(replace(dialect, make=dialect.plain or dialect.make), probe)


def _two(dialect: Dialect, probe: Probe) -> Outcome:
    """Backward from the last statement, then from the root, which is inside the same graph."""
    values = dialect.run(probe.script)
    dialect.backward(values[probe.script.statements[-1].name])
    dialect.backward(values[probe.script.root])
    return _numbers(dialect, values)


def _zero(dialect: Dialect, probe: Probe) -> Outcome:
    values = dialect.run(probe.script)
    root = values[probe.script.root]
    dialect.backward(root)
    for value in [root, *values.values()]:  # some clear the graph, some themselves alone
        getattr(value, dialect.zero)()
    cleared = _numbers(dialect, values)
    dialect.backward(root)
    return {**_numbers(dialect, values), "cleared": cleared["grad"]}


def _deep(dialect: Dialect, probe: Probe) -> Outcome:
    with _only_new_objects():
        return _chain(dialect)


def _chain(dialect: Dialect) -> Outcome:
    # A list holds the nodes, and lets go of the last one first. A chain that is held by its end
    # alone is freed by as many calls inside each other: a browser's Python has no stack for them.
    chain = [a := dialect.make(1.0)]
    for _ in range(DEPTH):
        chain.append(dialect.operations["add"](chain[-1], a))
    try:
        dialect.backward(chain[-1])
        found = _numbers(dialect, {"a": a, "b": chain[-1]})
    except Exception as error:
        found = error_of(error, dialect)
    gc.collect()  # a set of all nodes that the pass has left lets go of them in any order
    return found


def _memory(dialect: Dialect, probe: Probe) -> Outcome:
    """Count what is left of a graph that nobody holds, before and after a collection."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        with _only_new_objects():
            before = _alive(dialect.cls)
            for _ in range(20):
                dialect.backward(dialect.run(probe.script)[probe.script.root])
            held = _alive(dialect.cls) - before
            gc.collect()
            once = _alive(dialect.cls) - before
            for _ in range(20):
                dialect.backward(dialect.run(probe.script)[probe.script.root])
            gc.collect()
            # A last graph may be kept; not each of them.
            kept = _alive(dialect.cls) - before - once
    finally:
        if was_on:
            gc.enable()
    return {"held": max(held - once, 0), "kept": max(kept, 0)}


@contextlib.contextmanager
def _only_new_objects() -> Iterator[None]:
    """Let the collector look at what is made from now on: all others take most of its time."""
    is_ours = gc.get_freeze_count() == 0
    if is_ours:
        gc.freeze()
    else:
        gc.collect()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()


def _alive(cls: type) -> int:
    return sum(1 for thing in gc.get_objects() if type(thing) is cls)


ACTIONS: dict[str, Callable[..., Outcome]] = {
    "first": _first,
    "kink": _first,
    "extreme": _first,
    "number": _first,
    "left": _first,
    "maybe": _first,
    "hand": _hand,
    "plain": _plain,
    "second": _second,
    "two": _two,
    "zero": _zero,
    "deep": _deep,
    "memory": _memory,
}
