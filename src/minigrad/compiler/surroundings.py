"""What a function reads besides its arguments: globals, closures, defaults, attributes.

Values among them are inputs of the program, read afresh at each call. Everything else is frozen
into the program, so it must still be the same at the next call: a `Watch` knows what was there.
It follows the names in the function's code, and in the code of the functions that it calls, as far
as they are the user's own; containers and attributes are looked into. Of an object's attributes
only those matter whose names the code mentions: a list of losses that grows beside a compiled
method is nobody's business, unless the code can reach it by other means (`vars`, `getattr`).
"""

from __future__ import annotations

import functools
import inspect
import pickle
import random
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from math import copysign
from random import Random
from types import (
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import numpy as np

from ..coerce import is_number
from ..errors import TraceError
from ..quick import first_changed, first_moved
from ..scalar import Value

__all__ = ["Slots", "Watch", "watch"]

_MISSING = object()  # what a name means that is not there
_LIMIT = 5_000_000  # things looked at
_PLAIN = (Value, float, int, str, bytes, complex, NoneType)  # nothing to look into
_DICE = (Random, np.random.Generator, np.random.RandomState)
_REACHING = {"getattr", "vars", "dir", "__dict__", "attrgetter", "asdict", "astuple"}
_MAKING = (
    "__init__",
    "__new__",
    "__post_init__",
)  # run when an object is made, not when it is used
_PACKAGE = __name__.split(".", maxsplit=1)[0]


class Watch:
    """Names, other places, and containers, and what was in them."""

    def __init__(self) -> None:
        # Lists side by side, for `quick`: where a name is looked up, the name, what it meant.
        self.spaces: list[dict[str, Any]] = []
        self.words: list[str] = []
        self.meant: list[Any] = []
        self.cells: list[tuple[CellType, Any, str]] = []
        self.containers: list[Any] = []
        self.contents: list[Any] = []
        self.names: list[str] = []  # of the containers
        self.dice: list[Any] = []  # random generators
        self.attributes: set[int] = set()  # those containers that are the attributes of something
        self.mentioned: frozenset[str] | None = None  # attributes that matter; None: all

    def changed(self) -> str | None:
        """Name something that is not what it was, or return None."""
        at = first_moved(self.spaces, self.words, self.meant, 0)
        while at >= 0:
            if not _same(self.spaces[at].get(self.words[at], _MISSING), self.meant[at]):
                return self.words[at]
            at = first_moved(self.spaces, self.words, self.meant, at + 1)
        for cell, then, name in self.cells:
            now = _inside(cell)
            if now is not then and not _same(now, then):
                return name
        at = first_changed(self.containers, self.contents, 0)
        while at >= 0:
            now, then = _content(self.containers[at]), self.contents[at]
            if at in self.attributes and self.mentioned is not None:
                now, then = (_only(pairs, self.mentioned) for pairs in (now, then))
            if not _alike(now, then):
                return self.names[at]
            at = first_changed(self.containers, self.contents, at + 1)
        return None

    def watched(self) -> list[str]:
        """List the names, sorted."""
        return sorted({*self.words, *(name for _, _, name in self.cells)})

    def thrown(self) -> bytes:
        """Tell the state of everything that random numbers may come from."""
        own = [_state(die) for die in (random, np.random, *self.dice)]
        return pickle.dumps(own)

    def contain(self, container: Any, name: str, attributes: bool = False) -> None:
        """Remember what is in a container."""
        if attributes:
            self.attributes.add(len(self.containers))
        self.containers.append(container)
        content = _content(container)
        self.contents.append(copy(content) if content is container else content)
        self.names.append(name)


def _state(die: Any) -> Any:
    if isinstance(die, np.random.Generator):
        return die.bit_generator.state
    return die.getstate() if hasattr(die, "getstate") else die.get_state()


def _content(container: Any) -> Any:
    """What is in a container, as `quick.first_changed` wants it; sets and arrays as they are."""
    if isinstance(container, (list, deque)):
        return tuple(container)
    if isinstance(container, FunctionType):
        return (container.__defaults__, container.__kwdefaults__, container.__code__)
    if isinstance(container, type):
        container = vars(container)
    if isinstance(container, (dict, MappingProxyType, Slots)):
        return tuple([part for pair in container.items() for part in pair])
    return container


def _only(pairs: tuple[Any, ...], words: frozenset[str]) -> tuple[Any, ...]:
    """Keep the attributes that have one of these names; names and what they mean take turns."""
    named = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return tuple([part for word in sorted(words & named.keys()) for part in (word, named[word])])


def _same(now: Any, then: Any) -> bool:
    """Tell whether a number or a text is the same; of anything else, another one is another."""
    if type(now) is not type(then):
        return False
    if isinstance(then, (str, bytes)):
        return bool(now == then)
    if not is_number(then):
        return False
    if now == then:
        return bool(now != 0 or copysign(1.0, now) == copysign(1.0, then))
    return bool(now != now and then != then)  # noqa: PLR0124 - nan, of any kind of number


def _alike(now: Any, then: Any) -> bool:
    """Tell whether things that were in a container are as good as the same."""
    if now is then or _same(now, then):
        return True
    if type(now) is not type(then) or is_number(then):
        return False
    if isinstance(then, np.ndarray):
        return bool(now.shape == then.shape and now.dtype == then.dtype) and (
            all(map(_alike, now.ravel(), then.ravel()))
            if then.dtype.kind == "O"
            else bool(np.array_equal(now, then, equal_nan=then.dtype.kind == "f"))
        )
    if isinstance(then, (list, tuple)):
        return len(now) == len(then) and all(map(_alike, now, then))
    if isinstance(then, dict):
        return _alike([*now.items()], [*then.items()])
    try:
        return bool(now == then)
    except Exception:  # whatever cannot tell
        return False


def watch(function: Callable[..., Any], arguments: Sequence[Any] = ()) -> Watch:
    """Look at everything that a function may read; also in objects that it gets as arguments."""
    found = Watch()
    search = _Search(found)
    search.function(function, getattr(function, "__name__", "the function"))
    for argument in arguments:
        search.thing(argument, f"an argument, a {type(argument).__name__},")
    search.follow()
    return found


class _Search:
    def __init__(self, found: Watch) -> None:
        self.found = found
        self.seen: set[int] = set()
        self.budget = _LIMIT
        self.mentioned: set[str] = set()  # by the code that was looked at
        self.waiting: list[tuple[dict[str, Any], str]] = []  # attributes, looked at if mentioned

    def function(self, function: Any, name: str) -> None:
        """Look at what a function may read."""
        if isinstance(function, MethodType):
            self.thing(function.__self__, f"{name}.__self__")
            function = function.__func__
        while isinstance(function, functools.partial):
            self.thing(list(function.args), f"arguments of {name}")
            self.thing(dict(function.keywords), f"arguments of {name}")
            function = function.func
        function = getattr(function, "__wrapped__", function)
        if not isinstance(function, FunctionType):
            self.thing(function, name)
            return
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        self.found.contain(function, f"a default of {name}")
        for cell, free in zip(
            function.__closure__ or (), function.__code__.co_freevars, strict=True
        ):
            value = _inside(cell)
            self.found.cells.append((cell, value, free))
            self.thing(value, free)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.thing(default, f"a default of {name}")
        words = list(dict.fromkeys(_names(function.__code__)))
        self.mentioned.update(words)
        self.names(function.__globals__, words)

    def names(self, space: dict[str, Any], words: list[str]) -> None:
        """Look at what words mean in a namespace, and in the user's modules that they name."""
        for word in words:
            value = space.get(word, _MISSING)
            if isinstance(value, ModuleType):
                if _is_users(value.__name__) and id(value) not in self.seen:
                    self.seen.add(id(value))
                    self.names(vars(value), words)
            elif value is not _MISSING:
                self.found.spaces.append(space)
                self.found.words.append(word)
                self.found.meant.append(value)
                self.thing(value, word)

    def thing(self, value: Any, name: str) -> None:
        """Look into a thing that is known to be there."""
        if isinstance(value, _PLAIN) or id(value) in self.seen:
            return
        self.spend(1, name)
        if isinstance(value, (tuple, frozenset)):
            self.parts(value, name)
            return
        if isinstance(value, (FunctionType, MethodType, functools.partial)):
            if _is_users(getattr(value, "__module__", None)):
                self.function(value, name)
            return
        self.seen.add(id(value))
        if isinstance(value, (list, dict, set, deque)):
            self.found.contain(value, name)
            self.parts(value.values() if isinstance(value, dict) else value, name)
        elif isinstance(value, (array, bytearray)):
            self.found.contain(value, name)
        elif isinstance(value, np.ndarray):
            self.found.contain(value, name)
            if value.dtype.kind == "O":
                self.parts(value.ravel(), name)
        elif isinstance(value, type):
            self.kind(value, name)
            for word in _MAKING:  # the code may call it
                self.thing(getattr(value, word, None), f"{name}.{word}")
        elif isinstance(value, _DICE):
            self.found.dice.append(value)
        elif isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools"):
            raise TraceError(
                f"a compiled function takes from {name.rstrip(',')} ({type(value).__name__}): what "
                "comes next is not the same at each call. Make a list of it, and give that as an "
                "argument."
            )
        elif isinstance(value, (staticmethod, classmethod)):
            self.thing(value.__func__, name)
        elif isinstance(value, property):
            self.parts((value.fget,), name)
        elif hasattr(value, "__wrapped__"):  # another compiled function
            self.function(value.__wrapped__, name)
        elif _is_open(type(value).__module__):
            self.attributes(value, name)

    def parts(self, parts: Iterable[Any], name: str) -> None:
        """Look into the things in a container."""
        inside = f"{name}[…]"
        count = 0
        for part in parts:
            count += 1
            if not isinstance(part, _PLAIN):
                self.thing(part, inside)
        self.spend(count, name)

    def attributes(self, value: Any, name: str) -> None:
        """Look at the attributes of an object, and at its class."""
        ours = type(value).__module__ == f"{_PACKAGE}.nn"  # our code is not looked at: all matter
        parts = dict(Slots(value).items())
        if parts:
            self.found.contain(Slots(value), name, attributes=True)
        if hasattr(value, "__dict__"):
            self.found.contain(vars(value), name, attributes=not ours)
            parts.update(vars(value))
        if ours:
            self.mentioned.update(parts)
        self.waiting.append((parts, name))
        self.kind(type(value), type(value).__name__)

    def kind(self, kind: type, name: str) -> None:
        """Look at the attributes of a class and of those that it is made from."""
        for each in kind.__mro__:
            if _is_users(each.__module__) and (each is kind or id(each) not in self.seen):
                self.seen.add(id(each))
                self.found.contain(each, name, attributes=True)
                parts = {word: part for word, part in vars(each).items() if word not in _MAKING}
                for word in [word for word in parts if word.startswith("__")]:
                    part = parts.pop(word)
                    if isinstance(part, FunctionType) and not _is_a_dataclass_own(each, part):
                        self.thing(part, f"{name}.{word}")  # an operator: called without its name
                self.waiting.append((parts, name))

    def follow(self) -> None:
        """Look at the attributes that the code mentions, which may lead to more code."""
        found = True
        while found:
            found = False
            everything = not self.mentioned.isdisjoint(_REACHING)
            for parts, name in list(self.waiting):
                for word in [word for word in parts if everything or word in self.mentioned]:
                    found = True
                    self.thing(parts.pop(word), f"{name}.{word}")
        self.found.mentioned = None if everything else frozenset(self.mentioned)

    def spend(self, count: int, name: str) -> None:
        self.budget -= count
        if self.budget < 0:
            raise TraceError(
                f"a compiled function reads {name}, which holds too much to be watched from call "
                "to call. Give it as an argument."
            )


def _is_a_dataclass_own(kind: type, part: FunctionType) -> bool:
    """Tell whether a method was made by @dataclass: it mentions every field, and reads none."""
    made: Any = inspect.unwrap(part)
    return "__dataclass_fields__" in vars(kind) and made.__code__.co_filename == "<string>"


class Slots:
    """The attributes of an object that has no dict for them."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def items(self) -> list[tuple[str, Any]]:
        return [
            (word, getattr(self.value, word, _MISSING))
            for kind in type(self.value).__mro__
            for word in _listed(vars(kind).get("__slots__", ()))
            if word not in ("__dict__", "__weakref__")
        ]


def _listed(words: Any) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words)


def _inside(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return _MISSING


def _names(code: CodeType) -> Iterator[str]:
    """The names that a piece of code mentions, inner functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_users(module: str | None) -> bool:
    top = (module or "").split(".", maxsplit=1)[0]
    if top == "__main__":
        return True
    if not top or top == _PACKAGE or top in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(module or ""), "__file__", None) or ""
    return "site-packages" not in file


def _is_open(module: str) -> bool:
    """Tell whether the attributes of an object with a class of this module are a user's matter."""
    if module in ("types", "argparse", f"{_PACKAGE}.nn"):
        return True
    top = module.split(".", maxsplit=1)[0]
    return top != _PACKAGE and (top == "__main__" or top not in sys.stdlib_module_names)
