"""Is what a function reads besides its arguments still as it was? A loop of every call.

The rules are in `environment.py`; here is the way that is taken when nothing is new. The native
engine has the same in C, `native/vm/unchanged.c`: by pointers and bytes, so that more kinds of
places are told to be the same. "It changed" may be wrong, for somebody looks closer then; "it did
not" is not.
"""

from __future__ import annotations

from gc import get_referents
from operator import is_
from typing import Any

from ...core.native_or_pure import native_machine
from ...core.node import Node
from ...core.parameters import data_offset


def first_moved(spaces: list[Any], words: list[Any], then: list[Any], missing: Any, at: int) -> int:
    """Find the first word, from `at` on, that means another object than it did; -1 if none does.

    A word that is not there means `missing`.
    """
    for k in range(at, len(spaces)):
        if spaces[k].get(words[k], missing) is not then[k]:
            return k
    return -1


def first_changed(ways: bytes, places: list[Any], then: list[Any], at: int) -> int:
    """Find the first place, from `at` on, that may hold something else than it did; or -1."""
    for k in range(at, len(places)):
        if not _same_content(ways[k : k + 1], places[k], then[k]):
            return k
    return -1


def _same_content(way: bytes, now: Any, then: Any) -> bool:
    if way == b"r":
        now = get_referents(now)
    if way in (b"l", b"r"):
        return len(now) == len(then) and all(map(is_, now, then))
    if way != b"d" or 2 * len(now) != len(then):
        return False
    return all(map(is_, now, then[::2])) and all(map(is_, now.values(), then[1::2]))


def attributes_of(thing: Any) -> Any:
    """Return the dict of what was set on an object, or None; nothing of the object is called."""
    if issubclass(type(thing), Node):
        return thing._attributes()
    try:
        return object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None


_native = native_machine()
if _native is not None and data_offset() >= 0:
    first_moved, first_changed = _native.first_moved, _native.first_changed
    attributes_of = _native.attributes_of
