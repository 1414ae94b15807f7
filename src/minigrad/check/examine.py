"""Run the probes on a class and write down what came out: numbers and errors, no opinion.

`run_all` does it in this process, on code that is trusted or that lives in a notebook. `child.py`
calls it in a process of its own for everybody else's.
"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .dialect import Dialect
from .probes import Probe
from .programs import Program

__all__ = ["ACTIONS", "DEPTH", "Outcome", "run_all"]

DEPTH = 5_000  # nodes in a chain; Python's own limit is a thousand calls
Outcome = dict[str, Any]  # {"missing": True}, {"error": …}, or {"data": …, "grad": …, …}


def run_all(dialect: Dialect, probes: Iterable[Probe]) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome of each probe, by name."""
    for probe in probes:
        yield probe.name, _run(dialect, probe)


def _run(dialect: Dialect, probe: Probe) -> Outcome:
    program = probe.program
    # With a number on the left, a missing operator is what is looked for.
    can = _can_from_the_right if probe.kind == "left" else Dialect.can
    if not can(dialect, program):
        return {"missing": True}
    try:
        return ACTIONS[probe.kind](dialect, probe)
    except Exception as error:
        return _error(error, dialect)


def _can_from_the_right(dialect: Dialect, program: Program) -> bool:
    """Whether the class has the operation at all, be it the other way round."""
    needed = {{"sum": "add", "neg": "add"}.get(op, op) for op in program.ops}
    return dialect.has_operators and needed <= set(dialect.operations)


def _error(error: Exception, dialect: Dialect) -> Outcome:
    path = getattr(sys.modules.get(dialect.cls.__module__), "__file__", None)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    try:
        message = str(error)[:200]
    except Exception:
        message = ""
    return {"error": type(error).__name__, "message": message, "line": lines[-1] if lines else None}


def _numbers(dialect: Dialect, values: dict[str, Any]) -> Outcome:
    return {
        "data": {name: dialect.number(v, dialect.data) for name, v in values.items()},
        "grad": {name: dialect.number(v, dialect.grad) for name, v in values.items()},
    }


def _first(dialect: Dialect, probe: Probe) -> Outcome:
    if probe.whole:
        whole: dict[str, float] = {name: int(x) for name, x in probe.program.leaves.items()}
        values = dialect.run(Program(whole, probe.program.lines, probe.program.root))
    else:
        values = dialect.run(probe.program)
    dialect.backward(values[probe.program.root])
    return _numbers(dialect, values)


def _hand(dialect: Dialect, probe: Probe) -> Outcome:
    """Set the result's gradient by hand before, as one does while writing an engine."""
    values = dialect.run(probe.program)
    root = values[probe.program.root]
    setattr(root, dialect.grad, 1.0)
    dialect.backward(root)
    return _numbers(dialect, values)


def _second(dialect: Dialect, probe: Probe) -> Outcome:
    values = dialect.run(probe.program)
    root = values[probe.program.root]
    dialect.backward(root)
    first = _numbers(dialect, values)
    dialect.backward(root)
    return {**_numbers(dialect, values), "first": first["grad"]}


def _two(dialect: Dialect, probe: Probe) -> Outcome:
    """Backward from the last step, then from the root, which is inside the same graph."""
    values = dialect.run(probe.program)
    dialect.backward(values[probe.program.steps[-1].name])
    dialect.backward(values[probe.program.root])
    return _numbers(dialect, values)


def _zero(dialect: Dialect, probe: Probe) -> Outcome:
    if not dialect.zero:
        return {"missing": True}
    values = dialect.run(probe.program)
    root = values[probe.program.root]
    dialect.backward(root)
    for value in [root, *values.values()]:  # some clear the graph, some themselves alone
        getattr(value, dialect.zero)()
    cleared = _numbers(dialect, values)
    dialect.backward(root)
    return {**_numbers(dialect, values), "cleared": cleared["grad"]}


def _deep(dialect: Dialect, probe: Probe) -> Outcome:
    a = dialect.make(1.0)
    out = a
    for _ in range(DEPTH):
        out = dialect.operations["add"](out, a)
    dialect.backward(out)
    return {"data": {}, "grad": {"a": dialect.number(a, dialect.grad)}}


def _memory(dialect: Dialect, probe: Probe) -> Outcome:
    """Count what is left of a graph that nobody holds, before and after a collection."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        before = _alive(dialect.cls)
        for _ in range(20):
            dialect.backward(dialect.run(probe.program)[probe.program.root])
        held = _alive(dialect.cls) - before
        gc.collect()
        kept = _alive(dialect.cls) - before
    finally:
        if was_on:
            gc.enable()
    return {"held": held, "kept": kept}


def _alive(cls: type) -> int:
    return sum(1 for thing in gc.get_objects() if type(thing) is cls)


ACTIONS: dict[str, Callable[[Dialect, Probe], Outcome]] = {
    "first": _first,
    "kink": _first,
    "extreme": _first,
    "left": _first,
    "hand": _hand,
    "second": _second,
    "two": _two,
    "zero": _zero,
    "deep": _deep,
    "memory": _memory,
}
