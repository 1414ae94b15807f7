"""The names that a piece of code mentions, told apart by what they name.

A name that the code looks up in its module is another matter than the name of an attribute: `data`
in `w.data` has nothing to do with a global of that name. The bytecode tells which is which.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any

_GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_GLOBAL |= {"STORE_GLOBAL", "DELETE_GLOBAL"}
_OWN = {"STORE_NAME", "DELETE_NAME"}  # in the body of a class
_EQUAL = {"==", "!="}
_SAFE = {"LOAD_CONST", "LOAD_SMALL_INT"}  # a number or a text, which compares as itself

# Names with which code reaches attributes that it does not mention,
_REACHING = {"getattr", "vars", "dir", "__dict__", "attrgetter", "asdict", "astuple"}
_REACHING |= {"format_map", "getattr_static", "getmembers"}
# attributes, globals and modules that it has as texts,
_BY_TEXT = _REACHING | {"hasattr", "setattr", "methodcaller", "globals", "locals"}
_BY_TEXT |= {"__getattr__", "__getattribute__", "__setattr__"}
GLOBAL_TEXT = {"globals", "locals", "vars", "eval", "exec", "__globals__"}
MODULE_TEXT = {"import_module", "__import__", "modules"}
# all fields of a dataclass, an attribute that somebody may have set on a Value,
_COPYING = {"replace", "fields", "deepcopy", "copy"}
_ASKING = {"getattr", "hasattr", "vars"}
_ASKING_BY_NAME = {"getattr", "hasattr", "setattr"}
_NOTHING = {"PUSH_NULL", "CACHE", "NOP", "EXTENDED_ARG"}
# and goes on where something is missing.
_SURVIVING = {"AttributeError", "NameError", "ImportError", "LookupError", "Exception"}


class Words:
    """What one function mentions, inner functions included."""

    def __init__(self) -> None:
        self.globals: dict[str, None] = {}  # in order, each once
        self.attributes: set[str] = set()
        self.modules: set[str] = set()  # imported by the code
        self.texts: set[str] = set()  # constants that may be names: getattr(thing, name)
        self.by_name: set[str] = set()  # getattr and its like, where a name is said: a mention
        self.compares = False  # things with ==, which may ask a dataclass for all its fields
        self.matches = False  # classes, by their `__match_args__`
        self.survives = False  # an error, such as that of a missing attribute
        self.reads_labels = False

    def read(self, code: CodeType) -> None:
        """Take in the words of a piece of code."""
        before = ""
        steps = list(dis.get_instructions(code))
        for at, step in enumerate(steps):
            name = step.opname
            if name in _GLOBAL:
                said = _said(steps, at) if step.argval in _ASKING_BY_NAME else None
                if said is not None:  # getattr(thing, "k") is thing.k
                    self.attributes.add(said)
                    self.by_name.add(step.argval)
                else:
                    self.globals[step.argval] = None
            elif name == "IMPORT_NAME":
                self.modules.add(step.argval)
            elif step.opcode in dis.hasname and name not in _OWN:
                self.attributes.add(step.argval)
                self.reads_labels |= step.argval == "label" and name != "STORE_ATTR"
            elif name == "CONTAINS_OP" or (
                name == "COMPARE_OP" and step.argrepr.strip("bol()") in _EQUAL
            ):
                self.compares |= before not in _SAFE
            elif name == "MATCH_CLASS":
                self.matches = True
            elif name == "CHECK_EXC_MATCH":
                self.survives = True
            before = name
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.read(constant)
            else:
                self.texts.update(_texts(constant))
                if self.matches and isinstance(constant, tuple):  # case Point(x=…)
                    self.attributes.update(_texts(constant))


class Mentions(Words):
    """What all the code mentions that was looked at, and what follows from that."""

    def add(self, words: Words) -> None:
        """Take in what one more function mentions."""
        own = vars(self)
        for name, found in vars(words).items():
            own[name] |= found

    def any_of(self, names: set[str]) -> bool:
        """Tell whether one of these names is mentioned, by itself or as an attribute."""
        return not (names.isdisjoint(self.attributes) and names.isdisjoint(self.globals))

    def everything(self) -> bool:
        """Tell whether the code may reach any attribute."""
        return self.any_of(_REACHING)

    def words(self) -> set[str]:
        """The attributes that it mentions, or may mean by a text."""
        return self.attributes | self.texts if self.any_of(_BY_TEXT) else self.attributes

    def compare(self) -> bool:
        """Tell whether dataclasses may be compared or copied, field by field."""
        return self.compares or self.any_of(_COPYING)

    def ask(self) -> bool:
        """Tell whether it asks for attributes that may not be there."""
        return bool(self.by_name) or self.any_of(_ASKING)

    def survive(self) -> bool:
        """Tell whether it goes on where an attribute is missing."""
        return self.survives or bool(self.by_name) or self.any_of(_BY_TEXT | _SURVIVING)


@lru_cache(maxsize=2048)
def words_of(code: CodeType) -> Words:
    """Return the words of a function's code."""
    found = Words()
    found.read(code)
    return found


def _said(steps: list[dis.Instruction], at: int) -> str | None:
    """Return the name in `getattr(a.b, "name")`, of a thing that is simply named; else None."""
    rest = [step for step in steps[at + 1 : at + 12] if step.opname not in _NOTHING]
    if not rest or not rest[0].opname.startswith(("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF")):
        return None
    at = 1
    while at < len(rest) and rest[at].opname == "LOAD_ATTR":
        at += 1
    if at + 1 >= len(rest) or rest[at].opname != "LOAD_CONST":
        return None
    # Behind the name, the call; or what to take where there is none, and the call. Else the text is
    # a part of something: things["a"], f"w{k}".
    for after in rest[at + 1 : at + 4]:
        name = after.opname
        if name.startswith(("CALL", "PRECALL")):
            return rest[at].argval if isinstance(rest[at].argval, str) else None
        is_default = name.startswith("LOAD_") or name == "MAKE_FUNCTION"  # a lambda
        if not is_default or name == "LOAD_ATTR":
            return None
    return None


def _texts(constant: Any) -> Iterator[str]:
    if isinstance(constant, str):
        parts = constant.split(".")
        if all(part.isidentifier() for part in parts):  # a sentence is no name
            yield from parts
            yield constant
    elif isinstance(constant, (tuple, frozenset)):
        for part in constant:
            yield from _texts(part)
