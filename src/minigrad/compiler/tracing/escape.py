"""What a traced function leaves behind: numbers of the trace that somebody still holds.

A function may put numbers where they outlive it: `losses.append(loss.data)`, a cache, an
attribute. Replays will not do that again, and what was put there while tracing would keep the whole
trace alive. So when a trace is over, its nodes are let go one by one, users before operands:
whatever then has another owner has escaped. It becomes a plain number, in its place if that is a
list or a dict.
"""

from __future__ import annotations

import gc
import operator
from collections import deque
from types import CellType, FrameType
from typing import Any

from .lifted import Argument
from .places import slots_of
from .tape import release
from .trace import Trace


def let_go(trace: Trace, arguments: list[Argument]) -> list[str]:
    """Close a trace; return the places where numbers of it are left, in words."""
    for argument in arguments:
        argument.context = None
    readings = trace.close()
    values = release(trace.nodes)
    numbers = {id(reading): reading.number for reading in readings}
    ours = {id(readings), id(values), id(numbers)}
    left = {*numbers, *map(id, values)}
    found: dict[str, None] = {}
    for holder in gc.get_referrers(*readings, *values) if left else ():
        if id(holder) in ours or isinstance(holder, FrameType):
            continue
        found[_named(holder, left)] = None
        _replace(holder, numbers)
    return list(found)


def _replace(holder: Any, numbers: dict[int, Any]) -> None:
    """Put plain numbers in the places of readings, where a place can be told."""
    if isinstance(holder, (list, deque)):
        places: Any = enumerate(holder)
    elif isinstance(holder, dict):
        places = holder.items()
    else:
        places = [*getattr(holder, "__dict__", {}).items(), *slots_of(holder)]
    put = operator.setitem if isinstance(holder, (list, deque, dict)) else object.__setattr__
    for place, x in places:
        if id(x) in numbers:
            put(holder, place, numbers[id(x)])


def _named(holder: Any, left: set[int]) -> str:
    """Say where something lies."""
    if isinstance(holder, dict):
        keys = [key for key, x in holder.items() if id(x) in left]
        return f"under {keys[0]!r}" if keys else "in a dict"
    if isinstance(holder, CellType):
        return "in a closure"
    return f"in a {type(holder).__name__}"
