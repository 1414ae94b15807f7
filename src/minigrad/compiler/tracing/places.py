"""Places that something lies in, and whether it is still the same.

A `Kind` is a row: how to look into a place, and by which way `quick.h` compares it, pointer by
pointer, with what was there. Only if that says no, somebody looks closer, here. Nothing that lies
there is ever called, asked for an attribute, or compared by a rule of its own.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from math import copysign
from types import CellType, FunctionType, MemberDescriptorType, MethodType, NoneType
from typing import Any, NamedTuple

import numpy as np

from .unchanged import attributes_of

MISSING: Any = object()  # what a name means that is not there
_NUMBERS = {float, int, bool, complex, Fraction, Decimal}
_TEXTS = {str, bytes, NoneType}
# What Python itself writes into a class now and then.
_NOTES = {"__slotnames__", "__doc__", "__annotations__", "__annotations_cache__"}
_MOST_RESULTS = 1000  # of a cache that are compared one by one, at each call
_DEPTH = 50  # containers in containers that are compared: one may lie in itself


# ---- the same? -----------------------------------------------------------------------------------


def is_same(now: Any, then: Any) -> bool:
    """Tell whether a number or a text is the same; of anything else, another one is another."""
    if now is then:
        return True
    kind = type(then)
    if type(now) is not kind:
        return False
    if kind in _TEXTS:
        return bool(now == then)
    if kind is MethodType:  # made afresh whenever somebody asks for it
        return now.__func__ is then.__func__ and now.__self__ is then.__self__
    if kind is complex:
        return is_same(now.real, then.real) and is_same(now.imag, then.imag)
    if issubclass(kind, np.generic):
        return bool(now.dtype == then.dtype and now.tobytes() == then.tobytes())
    if kind not in _NUMBERS:
        return False
    if now == then:
        return bool(now != 0 or copysign(1.0, now) == copysign(1.0, then))
    return bool(now != now and then != then)  # noqa: PLR0124 - nan, of any kind of number


def _alike(now: Any, then: Any, depth: int = 0) -> bool:
    """Tell the same of plain containers, too."""
    if is_same(now, then):
        return True
    kind = type(then)
    if type(now) is not kind or depth > _DEPTH:
        return False
    if kind is np.ndarray:
        return _same_array(now, then, depth)
    if kind is dict:
        now, then, kind = pairs(now), pairs(then), tuple
    if kind is list or kind is tuple:
        return len(now) == len(then) and all(map(_alike, now, then, repeat(depth + 1)))
    if kind is set or kind is frozenset:
        return _same_set(now, then)
    return False


def _same_array(now: Any, then: Any, depth: int = 0) -> bool:
    if now.shape != then.shape or now.dtype != then.dtype:
        return False
    if then.dtype.hasobject:
        return _alike(now.ravel().tolist(), then.ravel().tolist(), depth + 1)
    return bool(now.tobytes() == then.tobytes())


def _same_set(now: Any, then: Any) -> bool:
    return len(now) == len(then) and set(map(_token, now)) == set(map(_token, then))


def _token(thing: Any) -> Any:
    """What tells a thing from others, without asking it."""
    kind = type(thing)
    return (kind, repr(thing)) if kind in _NUMBERS or kind in _TEXTS else id(thing)


# ---- what lies in a place ------------------------------------------------------------------------


def pairs(table: Any) -> tuple[Any, ...]:
    """The keys and values of a dict, in turn."""
    return tuple([part for pair in table.items() for part in pair])


def referents(thing: Any) -> tuple[Any, ...]:
    """All that an object of C code refers to."""
    return tuple(gc.get_referents(thing))


def in_cell(cell: CellType) -> tuple[Any, ...]:
    """What is in a cell of a closure, if anything is."""
    try:
        return (cell.cell_contents,)
    except ValueError:  # not filled yet
        return ()


def _in_function(function: FunctionType) -> tuple[Any, ...]:
    fixed = (function.__defaults__, function.__kwdefaults__, function.__code__)
    return (*fixed, *_own_pairs(function))


def _own_pairs(thing: Any) -> tuple[Any, ...]:
    return pairs(attributes_of(thing) or {})


def _in_object(thing: Any) -> tuple[Any, ...]:
    return (type(thing), *_own_pairs(thing))


def _in_class(kind: type) -> tuple[Any, ...]:
    return (type.__getattribute__(kind, "__mro__"), *pairs(type.__dict__["__dict__"].__get__(kind)))


def slots_of(thing: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object that has no dict for them; those not filled are left out."""
    for kind in type(thing).__mro__:
        for word, part in vars(kind).items():
            if type(part) is MemberDescriptorType:
                with suppress(AttributeError):  # not filled yet
                    yield word, part.__get__(thing)


def _in_slots(thing: Any) -> tuple[Any, ...]:
    return (type(thing), *[part for pair in slots_of(thing) for part in pair])


def _in_cache(cached: Any) -> tuple[Any, ...]:
    """How many results `lru_cache` keeps, and these (or links to them), if they are not many."""
    size = cached.cache_info().currsize
    tables = [part for part in gc.get_referents(cached) if type(part) is dict]
    return size, *(x for table in tables for x in table.values() if size <= _MOST_RESULTS)


def _are_still_there(now: Any, then: Any) -> bool:
    """Tell whether a cache has lost nothing; more results make no difference."""
    if now[0] > _MOST_RESULTS:
        return bool(now[0] >= then[0])
    return set(map(id, then[1:])) <= set(map(id, now[1:]))


class Asked:
    """A property of one of our own objects, whose code is known to do nothing but compute."""

    def __init__(self, thing: Any, word: str) -> None:
        self.thing, self.word = thing, word

    def answer(self) -> Any:
        """Return what it is now."""
        try:
            return getattr(self.thing, self.word)
        except Exception:  # it may have nothing to say yet
            return MISSING


class Kind(NamedTuple):
    """How to look at one kind of place."""

    way: str  # how `quick.h` compares it; "?" is not at all
    look: Callable[[Any], Any]  # what is there, for a closer look
    quick: Callable[[Any], Any] | None = None  # what `quick.h` compares, if that is another thing
    head: int | None = None  # of attributes: how many things come before names and meanings
    operators: bool = False  # whether __names__ matter always: nobody mentions them
    alike: Callable[[Any, Any], bool] = _alike


LIST = Kind("l", tuple)
DICT = Kind("d", pairs)
ORDERED = Kind("r", pairs, referents)
SET = Kind("r", tuple, referents, alike=_same_set)
REFERENTS = Kind("r", referents)
ARRAY = Kind("b", lambda array: array.copy(), alike=_same_array)
BYTES = Kind("b", lambda buffer: memoryview(buffer).tobytes())
CELL = Kind("x", in_cell)
FUNCTION = Kind("f", _in_function, head=3)
ATTRIBUTES = Kind("a", _in_object, head=1)
SLOTS = Kind("r", _in_slots, referents, head=1)
NAMED = Kind("d", pairs, head=0)
CLASS = Kind("c", _in_class, head=1, operators=True)
LABELS = Kind("?", lambda values: tuple([value.label for value in values]))
BARE = Kind("v", lambda values: tuple(map(_own_pairs, values)), tuple)
WEAK = Kind("?", lambda ref: (id(weakref.ref.__call__(ref)),))  # which keeps nothing alive
ASKED = Kind("?", lambda asked: (asked.answer(),))
VARIABLE = Kind("?", lambda variable: (ContextVar.get(variable, MISSING),))
LOCAL = Kind("?", lambda local: (None, *pairs(vars(local))), head=1)
RESULTS = Kind("?", _in_cache, alike=_are_still_there)


class Place:
    """A place, and what was there."""

    __slots__ = ("extra", "filled", "kind", "name", "then", "thing")

    def __init__(self, kind: Kind, thing: Any, name: str, extra: set[str] | None) -> None:
        self.kind, self.thing, self.name = kind, thing, name
        self.extra = extra  # attributes that matter besides those that the code mentions; None: all
        self.filled: frozenset[str] = frozenset()  # attributes that may come to life by themselves
        self.then = kind.look(thing)

    def quick(self) -> Any:
        """What `quick.h` compares."""
        return self.then if self.kind.quick is None else self.kind.quick(self.thing)

    def holds(self, mentioned: frozenset[str] | None) -> Any:
        """Look closer: None if something has changed, else what `quick.h` should compare with."""
        kind = self.kind
        quick = None if kind.quick is None else kind.quick(self.thing)
        a, b = now, then = kind.look(self.thing), self.then
        if kind.head is not None:
            a, b = self._that_matter(now, then, mentioned)
        if not kind.alike(a, b):
            return None
        if kind.way == "b" or (kind.alike is _alike and not _flat(a, b)):
            return then if kind.quick is None else ()  # equal, but not for good
        self.then = now
        return now if kind.quick is None else quick

    def has_filled_up(self) -> bool:
        """Tell whether it is a cache in which there is something now that was not there."""
        now = self.kind.look(self.thing)
        if self.kind is RESULTS:
            return not set(map(id, now[1:])) <= set(map(id, self.then[1:])) or now[0] > self.then[0]
        head = self.kind.head or 0
        return not self.filled.isdisjoint({*now[head::2]} - {*self.then[head::2]})

    def _that_matter(self, now: Any, then: Any, mentioned: frozenset[str] | None) -> Any:
        head = self.kind.head or 0
        tables = [dict(zip(x[head::2], x[head + 1 :: 2], strict=True)) for x in (now, then)]
        for word in self.filled & tables[0].keys() - tables[1].keys():
            del tables[0][word]

        def matters(pair: tuple[Any, Any]) -> bool:
            word = pair[0]
            if mentioned is None or self.extra is None or word in mentioned or word in self.extra:
                return True
            return self.kind.operators and word[:2] == "__" and word not in _NOTES

        return [
            (*x[:head], *sorted(filter(matters, table.items()), key=lambda pair: str(pair[0])))
            for x, table in zip((now, then), tables, strict=True)
        ]


def _flat(now: Any, then: Any) -> bool:
    """Tell whether things are the same one by one, and not only alike."""
    return len(now) == len(then) and all(map(_is_flat, now, then))


def _is_flat(now: Any, then: Any) -> bool:
    return is_same(now, then) or (type(now) is type(then) is tuple and _flat(now, then))
