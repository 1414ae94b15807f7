"""How to look into each kind of thing that a function may read; see `search.py`.

The tables at the end say which method looks into what. Nothing is called or triggered by looking.
"""

from __future__ import annotations

import enum
import functools
import operator
import threading
import types
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from random import Random, SystemRandom
from types import FunctionType, MethodType, ModuleType
from typing import Any, Protocol

import numpy as np

from ...core.node import Node
from ...errors import TraceError
from ...scalar import Value
from ..callables import Made
from . import places
from .places import MISSING, Asked, Kind, Place, referents, slots_of
from .shapes import (
    LINKS,
    NUMBERS,
    Shape,
    is_a_dataclass_own,
    is_open,
    is_operator,
    is_users_class,
    is_users_space,
    module_of,
)
from .unchanged import attributes_of
from .words import Mentions

_BARE = 256  # Values that are asked at each call whether they have got attributes
_MAKING = ("__init__", "__new__", "__post_init__")  # run when an object is made, not when used
# Classes of C code that hold other things for good, which are looked at themselves.
_WRAPPING = {"builtins", "functools", "operator", "types", "_operator", "_functools"}
_SHOWING = {"_queue", "xml.etree.ElementTree", "contextvars"}  # those that hold them for a time
_CALLED = (FunctionType, MethodType)
_HOLLOW = (types.CodeType, types.FrameType, types.TracebackType, types.CoroutineType)


class Finds(Protocol):
    """Where a search puts what it finds; see `environment.Environment`."""

    dice: list[Any]

    def mean(self, space: dict[str, Any], word: str, value: Any) -> None: ...
    def contain(
        self, kind: Kind, thing: Any, name: str, extra: set[str] | None = None
    ) -> Place: ...


def _holding(kind: Kind | None, parts: Callable[[Any], Iterable[Any]] = lambda _: ()) -> Any:
    """Look at a place, and into the things that lie there."""

    def look(self: Looks, value: Any, name: str) -> None:
        if kind is not None:
            self.found.contain(kind, value, name)
        self._parts(parts(value), name)

    return look


def _leading_to(thing: Callable[[Any], Any], kind: Kind | None = None) -> Any:
    """Look at the one thing that stands behind another."""

    def look(self: Looks, value: Any, name: str) -> None:
        if kind is not None:
            self.found.contain(kind, value, name)
        self.thing(thing(value), name)

    return look


class Looks:
    """Looks into things. What leads to other code is the matter of `Search`."""

    _lead: Callable[[Any, str], None]  # remembers what leads outside
    _spend: Callable[[int, str], None]
    thing: Callable[[Any, str], None]

    def __init__(self, found: Finds) -> None:
        self.found = found
        self._seen: dict[Any, Any] = {}  # things by id; kept alive, so that ids stay theirs
        self._mentions = Mentions()
        self._modules: dict[int, tuple[ModuleType, set[str]]] = {}  # and the words looked up
        self._strange: set[str] = set()  # other modules
        self._compiled: list[tuple[dict[str, Any], set[str]]] = []  # their attributes
        self._waiting: list[tuple[dict[str, Any], str, set[str]]] = []  # attributes, if mentioned
        self._shapes: dict[type, Shape] = {}
        self._classes: set[type] = set()
        self._values: list[list[Any]] = []  # Values without attributes of their own

    def _parts(self, parts: Iterable[Any], name: str) -> None:
        """Look into the things in a container."""
        parts = list(parts)
        self._spend(len(parts), name)
        kinds = set(map(type, parts))
        if kinds == {Value}:
            self._look_at_values(parts, name)
        elif not kinds <= NUMBERS:
            inner = f"{name}[…]"
            for part in parts:
                if type(part) not in NUMBERS:
                    self.thing(part, inner)

    def _look_at_values(self, values: list[Any], name: str) -> None:
        """Look at attributes that were set on Values. There may be many thousands of these."""
        for value in filter(attributes_of, values):
            if ("attributes", id(value)) not in self._seen:
                self._seen["attributes", id(value)] = value
                self.found.contain(places.ATTRIBUTES, value, name, extra=set())
                self._waiting.append((dict(attributes_of(value)), name, set()))
        self._values.append(values)

    def _look_at_bare_values(self) -> None:
        """Have it noticed when Values get attributes that the code asks for, or other labels."""
        asks = self._mentions.ask() and sum(map(len, self._values)) <= _BARE
        for values in self._values:
            if asks:
                bare = tuple([value for value in values if not attributes_of(value)])
                self.found.contain(places.BARE, bare, "an attribute of a Value")
            if self._mentions.reads_labels:
                self.found.contain(places.LABELS, tuple(values), "the label of a Value")
        self._values.clear()

    def _value(self, value: Any, name: str) -> None:
        if is_users_class(type(value)):
            self._attributes(value, name)
        else:
            self._look_at_values([value], name)

    _list = _holding(places.LIST, list.__iter__)
    _set = _holding(places.SET, set.__iter__)
    _deque = _holding(places.REFERENTS, deque.__iter__)
    _tuple, _frozenset = _holding(None, tuple.__iter__), _holding(None, frozenset.__iter__)
    _bytes, _changing = _holding(places.BYTES), _holding(places.REFERENTS)
    _asked = _leading_to(Asked.answer, places.ASKED)
    _variable = _leading_to(lambda variable: variable.get(MISSING), places.VARIABLE)
    _cached = _leading_to(operator.attrgetter("__wrapped__"), places.RESULTS)
    _function_of = _leading_to(operator.attrgetter("__func__"))
    _property = _leading_to(operator.attrgetter("fget"))

    def _dict(self, value: Any, name: str) -> None:
        ordered = issubclass(type(value), OrderedDict)
        self.found.contain(places.ORDERED if ordered else places.DICT, value, name)
        self._parts(dict.values(value), name)
        self._parts(dict.keys(value), name)
        if type(value).__module__ == "collections":  # a defaultdict's factory
            self._parts([part for _, part in slots_of(value)], name)

    def _array(self, value: Any, name: str) -> None:
        self.found.contain(places.ARRAY, value, name)
        if value.dtype.hasobject:
            self._parts(value.ravel().tolist(), name)

    def _module(self, value: ModuleType, name: str) -> None:
        space = attributes_of(value) or {}
        self._modules[id(value)] = (value, set())
        if not is_users_space(space):
            self._strange.add(str(space.get("__name__")))

    def _made(self, value: Made, name: str) -> None:
        """A compiled function: what it is made of, and attributes that somebody gave it."""
        self._compiled.append((attributes_of(value) or {}, set()))
        for part in value._recipe():
            self.thing(part, name)

    def _method(self, value: MethodType, name: str) -> None:
        self.thing(value.__self__, f"{name}.__self__")
        self.thing(value.__func__, name)

    def _dice(self, value: Any, name: str) -> None:
        if not isinstance(value, SystemRandom):  # it has no state to look at
            self.found.dice.append(value)
        self._lead(value, name)

    def _words_of_getter(self, value: Any, name: str) -> None:
        texts = [text for text in value.__reduce__()[1] if type(text) is str]
        self._mentions.attributes.update([word for text in texts for word in text.split(".")])

    def _weak(self, value: Any, name: str) -> None:
        self.found.contain(places.WEAK, value, name)
        thing = weakref.ref.__call__(value)
        own = attributes_of(thing)
        if own is None or not is_users_class(type(thing)):
            self.thing(thing, name)
        else:  # without the thing itself: a watch is to keep nothing alive that nobody else does
            extra = self._shape(type(thing)).extra
            self.found.contain(places.NAMED, own, name, extra=extra)
            self._waiting.append((dict(own), name, extra))

    def _local(self, value: Any, name: str) -> None:
        self._shape(type(value))
        self.found.contain(places.LOCAL, value, name, extra=set())
        self._waiting.append((dict(vars(value)), name, set()))

    def _iterator(self, value: Any, name: str) -> None:
        self._lead(value, name)
        if type(value).__module__ in ("builtins", "itertools"):
            raise TraceError(
                f"a compiled function takes from {name.rstrip(',')} ({type(value).__name__}): what "
                "comes next is not the same at each call. Make a list of it, and give that as an "
                "argument."
            )

    def _referents(self, value: Any, name: str) -> None:
        self._lead(value, name)
        self._parts([part for part in referents(value) if type(part) is not ModuleType], name)

    # ---- objects and classes --------------------------------------------------------------------

    def _attributes(self, value: Any, name: str) -> None:
        """Look at the attributes of an object, and at its class."""
        kind = type(value)
        shape = self._shape(kind)
        if shape.is_engines:  # a count of calls, say, which differs after each
            return
        own = attributes_of(value)
        if shape.is_ours and own and not LINKS.isdisjoint(own):  # a compiled function: what of?
            self._parts([own[word] for word in sorted(LINKS & own.keys())], name)
            return
        parts: dict[str, Any] = {word: Asked(value, word) for word in shape.properties}
        if shape.slots:
            parts.update(slots_of(value))
            self.found.contain(places.SLOTS, value, name, extra=shape.extra)
        if own is not None or (shape.is_users and not shape.slots):
            place = self.found.contain(places.ATTRIBUTES, value, name, extra=shape.extra)
            place.filled = shape.filled
            parts.update(own or {})
        if not shape.is_users:
            self._lead(value, name)
            if shape.is_open:
                shape.extra.update(LINKS & parts.keys())  # and what is there to be called by it
                shape.extra.update([word for word in parts if type(parts[word]) in _CALLED])
        self._waiting.append((parts, name, shape.extra))

    def _class(self, value: type, name: str) -> None:
        """Look at a class that the code has at hand, hence may call."""
        self._shape(value)
        self._lead(value, name)
        for word in _MAKING:
            made = next((vars(each)[word] for each in value.__mro__ if word in vars(each)), None)
            self.thing(made, f"{value.__name__}.{word}")

    def _shape(self, kind: type) -> Shape:
        """Look at a class of things that were found; return what they have in common."""
        found = self._shapes.get(kind)
        if found is None:
            found = self._shapes[kind] = Shape(kind)
            if type(kind) is not type:
                self._shape(type(kind))
            for each in kind.__mro__:
                if each not in self._classes and is_users_class(each):
                    self._classes.add(each)
                    self._users_class(each)
        return found

    def _users_class(self, kind: type) -> None:
        name = kind.__name__
        self.found.contain(places.CLASS, kind, name, extra=set())
        parts = {word: part for word, part in vars(kind).items() if word not in _MAKING}
        for word in [word for word in parts if word.startswith("__")]:
            part = parts.pop(word)
            if is_operator(part) and not is_a_dataclass_own(kind, part):
                self.thing(part, f"{name}.{word}")  # called without its name
        self._waiting.append((parts, name, set()))
        if issubclass(kind, enum.Enum):
            self._parts(vars(kind).get("_member_map_", {}).values(), name)


# ---- how to look into things: the first row that fits --------------------------------------------

_WHOLE: list[tuple[Any, str]] = [  # nothing else is to be seen there
    (Node, "_value"),
    (Asked, "_asked"),
    (FunctionType, "_look_at_function"),
    (MethodType, "_method"),
    (ModuleType, "_module"),
    (Made, "_made"),
    (type, "_class"),
    ((staticmethod, classmethod), "_function_of"),
    (property, "_property"),
    (functools._lru_cache_wrapper, "_cached"),
    ((operator.attrgetter, operator.methodcaller), "_words_of_getter"),
    (np.void, "_bytes"),
    (np.generic, "_lead"),
    ((Random, np.random.Generator, np.random.RandomState), "_dice"),
    (weakref.ref, "_weak"),
    (ContextVar, "_variable"),
    (threading.local, "_local"),
    (_HOLLOW, "_lead"),
]
_CONTAINERS: list[tuple[Any, str]] = [  # those of users may have attributes besides
    (list, "_list"),
    (dict, "_dict"),
    (set, "_set"),
    (deque, "_deque"),
    (tuple, "_tuple"),
    (frozenset, "_frozenset"),
    (np.ndarray, "_array"),
    ((array, bytearray, memoryview), "_bytes"),
]


def looks_into(kind: type) -> Iterator[str]:
    """Name the methods that look into things of a class."""
    for base, look in _WHOLE:
        if issubclass(kind, base):
            yield look
            return
    known = [look for base, look in _CONTAINERS if issubclass(kind, base)]
    if "_ctypes" in [module_of(each) for each in kind.__mro__]:
        known = ["_bytes"]
    yield from known
    if is_open(kind):
        yield "_attributes"
    elif known:
        pass
    elif issubclass(kind, Iterator):
        yield "_iterator"
    elif module_of(kind) in _WRAPPING:
        yield "_referents"
    elif module_of(kind) in _SHOWING:
        yield from ("_changing", "_referents")
    else:  # Python's own, not made to hold things: only what the code mentions
        yield "_attributes"
