"""Looking for everything that a function may read: from its code to names, objects, more code.

The tables at the end say how to look into a kind of thing. The user's own code is read for the
names that it mentions; code of others is not, but what their objects hold is looked at where they
are made to hold things (containers, partials, wrappers). Nothing is called or triggered by looking.
Start at `Search.thing`.
"""

from __future__ import annotations

import enum
import functools
import operator
import sys
import threading
import types
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from random import Random, SystemRandom
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any, Protocol, cast

import numpy as np

from ...core.node import Node
from ...errors import TraceError
from ...scalar import Value
from ..callables import Made
from . import places
from .outside import leads_outside, names_outside
from .places import MISSING, Asked, Kind, Place, Slots, inside, referents
from .shapes import (
    LINKS,
    NUMBERS,
    PLAIN,
    Shape,
    fields_of,
    is_a_dataclass_own,
    is_held,
    is_open,
    is_operator,
    is_our_function,
    is_users_class,
    is_users_module,
    is_users_space,
    match_args,
    module_of,
)
from .unchanged import attributes_of
from .words import Mentions, words_of

__all__ = ["Search"]

_LIMIT = 5_000_000  # things looked at
_RANDOM = {"random", "numpy.random"}
_BARE = 256  # Values that are asked at each call whether they have got attributes
_MAKING = ("__init__", "__new__", "__post_init__")  # run when an object is made, not when used
# Classes of C code that hold other things for good, which are looked at themselves.
_WRAPPING = {"builtins", "functools", "operator", "types", "_operator", "_functools"}
_SHOWING = {"_queue", "xml.etree.ElementTree", "contextvars"}  # those that hold them for a time
_HOLLOW = (types.CodeType, types.FrameType, types.TracebackType, types.CoroutineType)


class Finds(Protocol):
    """Where a search puts what it finds; see `environment.Environment`."""

    dice: list[Any]

    def mean(self, space: dict[str, Any], word: str, value: Any) -> None: ...
    def contain(
        self, kind: Kind, thing: Any, name: str, extra: set[str] | None = None
    ) -> Place: ...


class Search:
    """One search; it goes on until no code mentions anything new."""

    def __init__(self, found: Finds) -> None:
        self.found = found
        self.outside: set[str] = set()  # what cannot be followed
        self.late: set[str] = set()  # modules that the code imports and that are not there yet
        self._seen: dict[Any, Any] = {}  # things by id; kept alive, so that ids stay theirs
        self._budget = _LIMIT
        self._known: set[tuple[int, str]] = set()  # words by namespace
        self._looks: dict[type, list[Callable[[Search, Any, str], None]]] = {}
        self._mentions = Mentions()
        self._spaces: dict[int, FunctionType] = {}  # a function for each namespace
        self._modules: dict[int, tuple[ModuleType, set[str]]] = {}  # and the words looked up
        self._strange: set[str] = set()  # other modules
        self._compiled: list[tuple[dict[str, Any], set[str]]] = []  # their attributes
        self._waiting: list[tuple[dict[str, Any], str, set[str]]] = []  # attributes, if mentioned
        self._shapes: dict[type, Shape] = {}
        self._classes: set[type] = set()
        self._values: list[list[Any]] = []  # Values without attributes of their own

    # ---- the whole of it ------------------------------------------------------------------------

    def start(self, function: Any, name: str) -> None:
        """Look at the function that is traced; its code is read, whoever wrote it."""
        while type(function) is MethodType:
            self.thing(function.__self__, f"{name}.__self__")
            function = function.__func__
        if type(function) is FunctionType:
            self._seen[id(function)] = function
            self._function(function, name, is_users=True)
        else:
            self.thing(function, name)

    def follow(self) -> None:
        """Look at the attributes that the code mentions, which may lead to more code."""
        found = True
        while found:
            found = self._follow_modules()
            everything, words = self._mentions.everything(), self._mentions.words()
            for kind, shape in self._shapes.items():
                if self._mentions.compare():
                    shape.extra.update(fields_of(kind))
                if self._mentions.matches:
                    self._mentions.attributes.update(match_args(kind))
            for parts, name, extra in list(self._waiting):
                for word in [w for w in parts if everything or w in words or w in extra]:
                    found = True
                    self.thing(parts.pop(word), f"{name}.{word}")
        self._look_at_bare_values()
        for module in self._strange:
            self.outside.update(names_outside(module, self._mentions.attributes))

    def arrivals(self) -> None:
        """Look at modules that have been imported meanwhile."""
        for name in sorted(self.late.intersection(sys.modules)):
            self.late.discard(name)
            self.thing(sys.modules[name], name)
        self.follow()

    def matter(self) -> frozenset[str] | None:
        """Tell which attributes matter; None: all."""
        return None if self._mentions.everything() else frozenset(self._mentions.words())

    def may_draw(self) -> bool:
        """Tell whether the code may draw random numbers from what everybody draws from."""
        mentions = self._mentions
        named = "random" in mentions.attributes or "random" in mentions.globals
        return named or mentions.everything() or not _RANDOM.isdisjoint(self._strange)

    def thing(self, value: Any, name: str) -> None:
        """Look into a thing that is known to be there."""
        kind = type(value)
        if kind is str and value.isidentifier():
            self._mentions.texts.add(value)
        if kind in PLAIN or value is MISSING or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        self._spend(1, name)
        looks = self._looks.get(kind)
        if looks is None:
            looks = self._looks[kind] = list(_looks_into(kind))
        for look in looks:
            look(self, value, name)

    # ---- code -----------------------------------------------------------------------------------

    def _look_at_function(self, function: FunctionType, name: str) -> None:
        self._function(function, name, is_users_space(function.__globals__))

    def _function(self, function: FunctionType, name: str, is_users: bool) -> None:
        code = function.__code__
        for cell, free in zip(function.__closure__ or (), code.co_freevars, strict=True):
            value = inside(cell)
            if is_users or not isinstance(value, weakref.WeakKeyDictionary):  # a cache
                self._cell(cell, free)
        own = attributes_of(function) or {}
        if not is_users:
            self._lead(function)
            self._parts([own[word] for word in LINKS & own.keys()], name)
            return
        self.found.contain(places.FUNCTION, function, name, extra=set())
        self._waiting.append((dict(own), name, set()))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        self._parts(defaults, f"a default of {name}")
        if function.__kwdefaults__:
            self.thing(function.__kwdefaults__, f"a default of {name}")
        words = words_of(code)
        self._mentions.add(words)
        self._spaces[id(function.__globals__)] = function
        self._look_up(function, words.globals)
        for module in sorted(words.modules):
            self._imported(module, function.__globals__)

    def _cell(self, cell: CellType, name: str) -> None:
        if id(cell) not in self._seen:
            self._seen[id(cell)] = cell
            self.found.contain(places.CELL, cell, name)
            self.thing(inside(cell), name)

    def _look_up(self, function: FunctionType, words: Iterable[str]) -> None:
        """Look at what words mean to a function, and so to others of its module."""
        own: dict[str, Any] = function.__globals__
        built_in: dict[str, Any] = cast(Any, function).__builtins__
        for word in words:
            value = self._meaning(own, word)
            if value is MISSING and not is_our_function(built_in.get(word)):
                value = self._meaning(built_in, word)
            self.thing(value, word)

    def _meaning(self, space: dict[str, Any], word: str) -> Any:
        value = space.get(word, MISSING)
        if (id(space), word) not in self._known:
            self._known.add((id(space), word))
            self.found.mean(space, word, value)
        return value

    def _imported(self, name: str, space: dict[str, Any]) -> None:
        """Look at the modules that an import statement loads."""
        package = space.get("__package__") or ""
        for path in (name, f"{package}.{name}".strip(".")):
            words = path.split(".")
            for count in range(1, len(words) + 1):
                part = ".".join(words[:count])
                if part not in sys.modules:
                    self.late.add(part)
                    break
                if is_users_module(part):
                    self._meaning(sys.modules, part)
                self.thing(sys.modules[part], part)

    # ---- modules --------------------------------------------------------------------------------

    def _follow_modules(self) -> bool:
        """Look up what words mean in the modules that were found; tell whether any was new."""
        mentions = self._mentions
        if mentions.globals_by_text():
            for function in list(self._spaces.values()):
                self._look_up(function, mentions.texts & function.__globals__.keys())
        if mentions.modules_by_text():
            for name in sorted(mentions.texts & sys.modules.keys()):
                self.thing(sys.modules[name], name)
        words, survives = mentions.words(), mentions.survive()
        found = False
        for space, known in self._compiled:
            fresh = {word for word in words if word in space and word[0] != "_"} - known
            known.update(fresh)
            for word in sorted(fresh):
                found = True
                self.thing(self._meaning(space, word), word)
        for module, known in list(self._modules.values()):
            space = attributes_of(module) or {}
            fresh = {word for word in words if word in space}
            if not is_users_space(space):  # settings that somebody may have put there
                fresh = {word for word in fresh if type(space[word]) in PLAIN}
            elif survives or "__getattr__" in space:
                fresh = words | {"__getattr__"}
            fresh -= known
            known.update(fresh)
            for word in sorted(fresh):
                found = True
                self.thing(self._meaning(space, word), word)
        return found

    # ---- things: the rows of the table ----------------------------------------------------------

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

    def _list(self, value: Any, name: str) -> None:
        self.found.contain(places.LIST, value, name)
        self._parts(list.__iter__(value), name)

    def _dict(self, value: Any, name: str) -> None:
        ordered = issubclass(type(value), OrderedDict)
        self.found.contain(places.ORDERED if ordered else places.DICT, value, name)
        self._parts(dict.values(value), name)
        self._parts(dict.keys(value), name)
        if type(value).__module__ == "collections":  # a defaultdict's factory
            self._parts([part for _, part in Slots(value).items()], name)

    def _set(self, value: Any, name: str) -> None:
        self.found.contain(places.SET, value, name)
        self._parts(set.__iter__(value), name)

    def _deque(self, value: Any, name: str) -> None:
        self.found.contain(places.REFERENTS, value, name)
        self._parts(deque.__iter__(value), name)

    def _fixed(self, value: Any, name: str) -> None:
        kind = tuple if issubclass(type(value), tuple) else frozenset
        self._parts(kind.__iter__(value), name)

    def _array(self, value: Any, name: str) -> None:
        self.found.contain(places.ARRAY, value, name)
        if value.dtype.hasobject:
            self._parts(value.ravel().tolist(), name)

    def _bytes(self, value: Any, name: str) -> None:
        self.found.contain(places.BYTES, value, name)

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
        self._lead(value)

    def _cached(self, value: Any, name: str) -> None:
        self.found.contain(places.RESULTS, value, name)
        self.thing(value.__wrapped__, name)

    def _words_of_getter(self, value: Any, name: str) -> None:
        texts = [text for text in value.__reduce__()[1] if type(text) is str]
        self._mentions.attributes.update([word for text in texts for word in text.split(".")])

    def _property(self, value: property, name: str) -> None:
        self.thing(value.fget, name)

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

    def _asked(self, value: Asked, name: str) -> None:
        self.found.contain(places.ASKED, value, name)
        self.thing(value.answer(), name)

    def _variable(self, value: ContextVar[Any], name: str) -> None:
        self.found.contain(places.VARIABLE, value, name)
        self.thing(value.get(MISSING), name)

    def _local(self, value: Any, name: str) -> None:
        self._shape(type(value))
        self.found.contain(places.LOCAL, value, name, extra=set())
        self._waiting.append((dict(vars(value)), name, set()))

    def _function_of(self, value: Any, name: str) -> None:
        self.thing(value.__func__, name)

    def _iterator(self, value: Any, name: str) -> None:
        self._lead(value)
        if type(value).__module__ in ("builtins", "itertools"):
            raise TraceError(
                f"a compiled function takes from {name.rstrip(',')} ({type(value).__name__}): what "
                "comes next is not the same at each call. Make a list of it, and give that as an "
                "argument."
            )

    def _referents(self, value: Any, name: str) -> None:
        self._lead(value)
        self._parts([part for part in referents(value) if type(part) is not ModuleType], name)

    def _mutable_referents(self, value: Any, name: str) -> None:
        self.found.contain(places.REFERENTS, value, name)
        self._referents(value, name)

    def _closed(self, value: Any, name: str) -> None:
        self._lead(value)

    # ---- objects and classes --------------------------------------------------------------------

    def _attributes(self, value: Any, name: str) -> None:
        """Look at the attributes of an object, and at its class."""
        kind = type(value)
        shape = self._shape(kind)
        own = attributes_of(value)
        if shape.is_ours and own and not LINKS.isdisjoint(own):  # a compiled function: what of?
            self._parts([own[word] for word in sorted(LINKS & own.keys())], name)
            return
        parts: dict[str, Any] = {word: Asked(value, word) for word in shape.properties}
        if shape.slots:
            parts.update(Slots(value).items())
            self.found.contain(places.SLOTS, value, name, extra=shape.extra)
        if own is not None or (shape.is_users and not shape.slots):
            place = self.found.contain(places.ATTRIBUTES, value, name, extra=shape.extra)
            place.filled = shape.filled
            parts.update(own or {})
        if not shape.is_users:
            self._lead(value)
            if shape.is_open:
                shape.extra.update([word for word, part in parts.items() if is_held(word, part)])
        self._waiting.append((parts, name, shape.extra))

    def _class(self, value: type, name: str) -> None:
        """Look at a class that the code has at hand, hence may call."""
        self._shape(value)
        self._lead(value)
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

    def _lead(self, value: Any) -> None:
        """Remember a thing of others if it leads outside."""
        kind = type(value)
        if kind is not FunctionType and kind is not BuiltinFunctionType:
            value = value if issubclass(kind, type) else kind
            module = module_of(value)
        else:
            module = value.__module__ or getattr(value.__self__, "__module__", "")
        where = leads_outside(str(module), value.__name__)
        if where is not None:
            self.outside.add(where)
        else:
            self._strange.add(str(module))  # a name of its own may lead there

    def _spend(self, count: int, name: str) -> None:
        self._budget -= count
        if self._budget < 0:
            raise TraceError(
                f"a compiled function reads {name}, which holds too much to be watched from call "
                "to call. Give it as an argument."
            )


# ---- how to look into things: the first row that fits --------------------------------------------

Look = Callable[[Search, Any, str], None]
_WHOLE: list[tuple[Any, Look]] = [  # nothing else is to be seen there
    (Node, Search._value),
    (Asked, Search._asked),
    (FunctionType, Search._look_at_function),
    (MethodType, Search._method),
    (ModuleType, Search._module),
    (Made, Search._made),
    (type, Search._class),
    ((staticmethod, classmethod), Search._function_of),
    (property, Search._property),
    (functools._lru_cache_wrapper, Search._cached),
    ((operator.attrgetter, operator.methodcaller), Search._words_of_getter),
    (np.void, Search._bytes),
    (np.generic, Search._closed),
    ((Random, np.random.Generator, np.random.RandomState), Search._dice),
    (weakref.ref, Search._weak),
    (ContextVar, Search._variable),
    (threading.local, Search._local),
    (_HOLLOW, Search._closed),
]
_CONTAINERS: list[tuple[Any, Look]] = [  # those of users may have attributes besides
    (list, Search._list),
    (dict, Search._dict),
    (set, Search._set),
    (deque, Search._deque),
    ((tuple, frozenset), Search._fixed),
    (np.ndarray, Search._array),
    ((array, bytearray, memoryview), Search._bytes),
]


def _looks_into(kind: type) -> Iterator[Look]:
    for base, look in _WHOLE:
        if issubclass(kind, base):
            yield look
            return
    known = [look for base, look in _CONTAINERS if issubclass(kind, base)]
    if "_ctypes" in [module_of(each) for each in kind.__mro__]:
        known = [Search._bytes]
    yield from known
    if is_open(kind):
        yield Search._attributes
    elif known:
        pass
    elif issubclass(kind, Iterator):
        yield Search._iterator
    elif module_of(kind) in _WRAPPING:
        yield Search._referents
    elif module_of(kind) in _SHOWING:
        yield Search._mutable_referents
    else:  # Python's own, not made to hold things: only what the code mentions
        yield Search._attributes
