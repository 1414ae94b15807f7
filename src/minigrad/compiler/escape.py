"""What a traced function leaves behind: numbers of the trace that somebody still holds.

A function may put numbers where they outlive it: `losses.append(loss.data)`, a cache, an
attribute. Replays will not do that again, and what was put there while tracing would keep the whole
trace alive. So when a trace is over, its nodes are let go one by one, users before operands:
whatever then has another owner has escaped. It becomes a plain number, in its place if that is a
list or a dict.
"""

from __future__ import annotations

import gc
from types import CellType, FrameType
from typing import Any

from ..entries import release
from ..scalar import Value
from .reading import Argument, Reading
from .trace import Trace

__all__ = ["let_go"]


def let_go(trace: Trace, arguments: list[Argument]) -> list[str]:
    """Close a trace; return the places where numbers of it are left, in words."""
    for argument in arguments:
        argument.scribe = None
    readings = trace.close()
    values = release(trace.nodes)
    if not readings and not values:
        return []
    return _places(readings, values)


def _places(readings: list[Reading], values: list[Value]) -> list[str]:
    numbers = {id(reading): reading.number for reading in readings}
    ours = {id(readings), id(values), id(numbers)}
    left = {*numbers, *map(id, values)}
    found: dict[str, None] = {}
    for holder in gc.get_referrers(*readings, *values):
        if id(holder) in ours or isinstance(holder, FrameType):
            continue
        found[_named(holder, left)] = None
        if type(holder) is list:
            holder[:] = [numbers.get(id(x), x) for x in holder]
        elif type(holder) is dict:
            for key, x in list(holder.items()):
                if id(x) in numbers:
                    holder[key] = numbers[id(x)]
    return list(found)


def _named(holder: Any, left: set[int]) -> str:
    """Say where something lies."""
    if isinstance(holder, dict):
        keys = [key for key, x in holder.items() if id(x) in left]
        return f"under {keys[0]!r}" if keys else "in a dict"
    if isinstance(holder, CellType):
        return "in a closure"
    return f"in a {type(holder).__name__}"
