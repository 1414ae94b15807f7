"""What a compiled function returns: a template with a place for each traced number.

Whatever else lies in it (texts, plain numbers, a user's object) is given back as it was.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...errors import TraceError
from ...scalar import Value
from ..tracing.places import in_cell, slots_of
from ..tracing.proxies import TracedNumber
from .structure import apart

_PLAIN = (str, bytes, bool, int, float, complex, type(None))
_COPIED = (np.ndarray, set, bytearray)  # what a caller may change


@dataclass(slots=True)
class _Place:
    """Stands for a result."""

    at: int


@dataclass(slots=True)
class Template:
    """The shape of an output."""

    _shape: Any

    @classmethod
    def of(cls, output: Any, leaves: Sequence[Value]) -> tuple[Template, list[Any]]:
        """Take the traced numbers out of what a function returned; they are the results."""
        results: list[Any] = []
        return cls(_emptied(output, results, {id(leaf) for leaf in leaves})), results

    @property
    def is_bare(self) -> bool:
        """Whether the output is a result, and nothing around it."""
        return type(self._shape) is _Place

    def filled(self, make: Callable[[int], Any]) -> Any:
        """Put results in their places."""
        return _filled(self._shape, make)

    def fits(self, other: Template, results: list[Any]) -> bool:
        """Tell whether another run returned something of this shape.

        A number that is traced here may be a plain one there, and is then added to its `results`.
        """
        return _is_alike(self._shape, other._shape, results)


def _emptied(output: Any, results: list[Any], leaves: set[int]) -> Any:
    if isinstance(output, (Value, TracedNumber)):
        results.append(output)
        return _Place(len(results) - 1)
    found = apart(output, subclasses=True)
    if found is not None:
        return found.build([_emptied(part, results, leaves) for part in found.parts])
    if type(output) in _COPIED and not isinstance(output, set):
        return output.copy()
    if isinstance(output, _PLAIN) or not _holds_traced(output, leaves):
        return output
    raise TraceError(
        f"a compiled function returns a {type(output).__name__} that holds numbers of the call. "
        "Return Values, numbers, lists, tuples, dicts or arrays of them."
    )


def _filled(shape: Any, make: Callable[[int], Any]) -> Any:
    if type(shape) is _Place:
        return make(shape.at)
    found = apart(shape)
    if found is not None:
        return found.build([_filled(part, make) for part in found.parts])
    return shape.copy() if type(shape) in _COPIED else shape


def _is_alike(ours: Any, theirs: Any, results: list[Any]) -> bool:
    if isinstance(ours, _Place):
        if isinstance(theirs, (int, float)):
            results.insert(ours.at, float(theirs))
            return True
        return isinstance(theirs, _Place)
    if type(ours) is not type(theirs):
        return False
    a, b = apart(ours), apart(theirs)
    if a is not None and b is not None:
        return a.layout == b.layout and all(
            _is_alike(x, y, results) for x, y in zip(a.parts, b.parts, strict=True)
        )
    if isinstance(ours, np.ndarray):
        return bool(np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"))
    if isinstance(ours, (int, float, str, bytes, np.generic)):
        return bool(ours == theirs or repr(ours) == repr(theirs))  # nan is nan
    return True  # an object of the user's: another one of its kind, perhaps


def kind_of(result: Any) -> Callable[[float], Any] | None:
    """How a result is to be given back: None for a Value, else what makes the number."""
    if isinstance(result, Value):
        return None
    kind = type(result.number)
    return kind if kind in (bool, int) else float


def _holds_traced(thing: Any, leaves: set[int]) -> bool:
    """Tell whether results of the trace lie somewhere in an object."""
    seen: set[int] = set()
    rest = [thing]
    while rest:
        each = rest.pop()
        if isinstance(each, (TracedNumber, Iterator, Awaitable, AsyncIterator)):
            return True
        if isinstance(each, Value):
            if id(each) in leaves or each._links():
                return True
        elif not isinstance(each, (*_PLAIN, ModuleType, FrameType)) and id(each) not in seen:
            seen.add(id(each))
            rest += _held_by(each)
    return False


def _held_by(thing: Any) -> list[Any]:
    """What lies in an object: elements and attributes."""
    if isinstance(thing, FunctionType):  # globals are not its own
        cells = map(in_cell, thing.__closure__ or ())
        return [*cells, thing.__defaults__, thing.__kwdefaults__, vars(thing)]
    if isinstance(thing, type) and thing.__module__ in sys.stdlib_module_names:
        return []
    found = [part for _, part in slots_of(thing)] if not isinstance(thing, type) else []
    return [*found, *gc.get_referents(thing)]
