"""Which Value something is: `is`, `==`, `in` and dicts ask, and a trace has nodes of its own.

What `max` and `take` choose is a node that stands for any of several Values; asked which one, it
ties the program to the choice. A Value that was given as an argument has a stand-in, which answers
as the Value itself; another call may give others, and nothing compares those, so the trace says
that somebody has asked. `is` asks nobody: `subscripts.py` writes it as `is_same_value`.
"""

from __future__ import annotations

from typing import Any

from ...core.observers import tracer
from ...scalar import Value
from .proxies import WHICH, opposite


class _StandIn(Value):
    """A node that is some Value in the eyes of the function."""

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Value):
            return NotImplemented
        a, b = which(self), which(other)
        return a is b or (a is not self and a == b)  # numbers may be equal, too

    def __ne__(self, other: object) -> Any:
        return opposite(self.__eq__(other))

    def __hash__(self) -> int:
        found = which(self)
        return super().__hash__() if found is self else hash(found)

    def _which(self) -> Any:
        """Return what it stands for, or itself."""
        return self


class Chosen(_StandIn):
    """One of several Values: its operands are the index, and what is chosen from."""

    def __eq__(self, other: object) -> Any:
        found = self if isinstance(other, Value) else self._which()
        return super().__eq__(other) if found is self else found == other

    __hash__ = _StandIn.__hash__

    def _which(self) -> Any:
        context: Any = tracer()
        operands = self._links()
        if context is None or not operands:  # the trace is over, and this is a node like others
            return self
        index, *rows = operands
        number = index._fields()[0]
        context.guard(index, number, WHICH)
        context.is_whole(index)
        return rows[int(number)]


class Given(_StandIn):
    """In the place of a Value that is an argument."""

    source: Value

    def _which(self) -> Any:
        context: Any = tracer()
        if context is not None:
            context.asks_which = True
        return self.source


def which(x: Any) -> Any:
    """Return the Value that something stands for; anything else as it is."""
    while isinstance(x, _StandIn):
        found = x._which()
        if found is x:
            break
        x = found
    return x


def is_same_value(a: Any, b: Any) -> bool:
    """Return `a is b`, of the Values that they stand for."""
    return a is b or which(a) is which(b)


Chosen.__name__ = Given.__name__ = "Value"  # in what Python says of them, as outside
