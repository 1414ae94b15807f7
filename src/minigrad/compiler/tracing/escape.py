"""What a traced function leaves behind: numbers of the trace that somebody still holds.

A function may put numbers where they outlive it: `losses.append(loss.data)`, a cache, an
attribute. Replays will not do that again, and what was put there while tracing would keep the whole
trace alive. So when a trace is over, its nodes are let go one by one, users before operands:
whatever then has another owner has escaped. It becomes a plain number, in its place if that is a
list or a dict.
"""

from __future__ import annotations

import gc
from collections import deque
from types import CellType, FrameType
from typing import Any

from ...scalar import Value
from .lifted import Argument
from .places import Slots
from .proxies import TracedNumber
from .tape import release
from .trace import Trace


def let_go(trace: Trace, arguments: list[Argument]) -> list[str]:
    """Close a trace; return the places where numbers of it are left, in words."""
    for argument in arguments:
        argument.context = None
    readings = trace.close()
    values = release(trace.nodes)
    if not readings and not values:
        return []
    return _places(readings, values)


def _places(readings: list[TracedNumber], values: list[Value]) -> list[str]:
    numbers = {id(reading): reading.number for reading in readings}
    ours = {id(readings), id(values), id(numbers)}
    left = {*numbers, *map(id, values)}
    found: dict[str, None] = {}
    for holder in gc.get_referrers(*readings, *values):
        if id(holder) in ours or isinstance(holder, FrameType):
            continue
        found[_named(holder, left)] = None
        _replace(holder, numbers)
    return list(found)


def _replace(holder: Any, numbers: dict[int, Any]) -> None:
    """Put plain numbers in the places of readings, where a place can be told."""
    if isinstance(holder, (list, deque)):
        places: Any = list(enumerate(holder))
    elif isinstance(holder, dict):
        places = list(holder.items())
    else:
        for name, x in [*getattr(holder, "__dict__", {}).items(), *Slots(holder).items()]:
            if id(x) in numbers:
                object.__setattr__(holder, name, numbers[id(x)])
        return
    for place, x in places:
        if id(x) in numbers:
            holder[place] = numbers[id(x)]


def _named(holder: Any, left: set[int]) -> str:
    """Say where something lies."""
    if isinstance(holder, dict):
        keys = [key for key, x in holder.items() if id(x) in left]
        return f"under {keys[0]!r}" if keys else "in a dict"
    if isinstance(holder, CellType):
        return "in a closure"
    return f"in a {type(holder).__name__}"
