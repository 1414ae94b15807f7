"""What is known of classes: whose they are, and what the things of a class have in common.

The user's own code and classes are looked at; Python's, ours and those installed from elsewhere are
not, except that some of them are made to hold things (`_HOLDING`).
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, NoneType
from typing import Any

from ...core.names import PACKAGE, is_ours
from ...core.node import Node
from .unchanged import attributes_of
from .words import words_of

NUMBERS = {float, int, bytes, complex, bool, NoneType}  # nothing to look into
PLAIN = NUMBERS | {str}  # may be the name of something
LINKS = {"__wrapped__", "__self__", "__func__"}  # from a wrapper to what it wraps
# Modules whose classes hold what one puts into them: what their own code mentions matters.
_HOLDING = {"collections", "configparser", "functools", "queue", "statistics", "string"}
_HOLDING |= {"graphlib", "weakref", "_weakrefset", "argparse", "types", "numpy.ma", "enum"}
_ENGINES = f"{PACKAGE}.core."  # what nodes are made with: it counts and remembers for itself
_NETWORKS = f"{PACKAGE}.nn"  # small classes, made to be built upon: read like a user's own
_IS_MADE_BY_PYTHON = 1 << 9  # a class, by `class` or `type()`


class Shape:
    """What the things of a class have in common."""

    def __init__(self, kind: type) -> None:
        parts = {word: part for each in kind.__mro__ for word, part in vars(each).items()}
        self.is_users = is_users_class(kind)
        self.is_open = is_open(kind)
        self.is_ours = is_ours(module_of(kind)) and module_of(kind) not in _HOLDING
        self.is_engines = module_of(kind).startswith(_ENGINES)
        ours = [vars(each) for each in kind.__mro__ if is_ours(module_of(each))]
        ours = [] if issubclass(kind, Node) else ours
        self.properties = [word for own in ours for word in own if type(own[word]) is property]
        self.slots = MemberDescriptorType in map(type, parts.values())
        cached = [word for word in parts if type(parts[word]) is functools.cached_property]
        self.filled = frozenset(cached)  # what comes to life by itself, when it is first read
        self.extra: set[str] = set()  # attributes that matter though the code does not mention them
        for each in kind.__mro__:
            if module_of(each) in _HOLDING:
                self.extra |= _own_words(each)
            if getattr(vars(each).get("__dataclass_params__"), "order", False):
                self.extra.update(fields_of(each))  # < and max ask for them


def _own_words(kind: type) -> set[str]:
    """The attributes that a class's own code mentions, and its slots."""
    found = set()
    for word, part in vars(kind).items():
        if type(part) is MemberDescriptorType:
            found.add(word)
        elif type(part) is FunctionType:
            found |= words_of(part.__code__).attributes
    return found


def fields_of(kind: type) -> list[str]:
    """The fields of a dataclass that == compares."""
    tables = [vars(each).get("__dataclass_fields__", {}) for each in kind.__mro__]
    return [name for fields in tables for name in fields if fields[name].compare]


def match_args(kind: type) -> Iterator[str]:
    """The attributes that `match` asks for by their position."""
    for each in kind.__mro__:
        yield from [word for word in vars(each).get("__match_args__", ()) if type(word) is str]


def is_operator(part: Any) -> bool:
    """Tell whether a part of a class may be called by an operator."""
    kind = type(part)
    if kind in (GetSetDescriptorType, MemberDescriptorType) or kind in PLAIN:
        return False
    return callable(part) or any("__get__" in vars(each) for each in kind.__mro__)


def is_a_dataclass_own(kind: type, part: Any) -> bool:
    """Tell whether a method was made by @dataclass: it mentions every field, and reads none."""
    if type(part) is not FunctionType or "__dataclass_fields__" not in vars(kind):
        return False
    made: Any = inspect.unwrap(part)
    return bool(made.__code__.co_filename == "<string>")


# ---- whose is it? --------------------------------------------------------------------------------


def _is_strange(module: Any, file: Any) -> bool:
    """Tell whether a module is Python's own, ours, or installed from elsewhere."""
    top = str(module).split(".", maxsplit=1)[0]
    if top == "__main__" or module == _NETWORKS:
        return False
    if is_ours(module) or top in sys.stdlib_module_names:
        return True
    return "site-packages" in str(file) or "dist-packages" in str(file)


def module_of(kind: type) -> str:
    """Return the name of a class's module."""
    return str(type.__getattribute__(kind, "__module__"))


def is_users_space(space: dict[str, Any]) -> bool:
    """Tell whether code with these globals is the user's."""
    return not _is_strange(space.get("__name__"), space.get("__file__"))


def is_users_module(name: str) -> bool:
    """Tell the same of a module."""
    return not _is_strange(name, (attributes_of(sys.modules.get(name)) or {}).get("__file__"))


def is_users_class(kind: type) -> bool:
    """Tell the same of a class."""
    if not kind.__flags__ & _IS_MADE_BY_PYTHON:
        return False
    module = module_of(kind)  # "builtins": made by code without a module
    return module == "builtins" or is_users_module(module)


def is_open(kind: type) -> bool:
    """Tell whether the attributes of its instances are a user's matter."""
    for each in kind.__mro__:
        module = module_of(each)
        if is_users_class(each) or module in _HOLDING or is_ours(module):
            return True
        if module.split(".", maxsplit=1)[0] not in sys.stdlib_module_names:  # from elsewhere
            return True
    return False
