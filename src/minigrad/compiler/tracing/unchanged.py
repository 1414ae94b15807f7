"""Is what a function reads besides its arguments still as it was? A loop of every call.

The rules are in `environment.py`; here is the way that is taken when nothing is new.
"""

from __future__ import annotations

from typing import Any

from ...core import cython_shim as cython
from ...core.node import Node

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from ...core.cython_shim import first_new_meaning, first_other, own_attributes


def first_moved(spaces: list[Any], words: list[Any], then: list[Any], missing: Any, at: int) -> int:
    """Find the first word, from `at` on, that means another object than it did; -1 if none does.

    A word that is not there means `missing`.
    """
    return first_new_meaning(spaces, words, then, missing, at)


def first_changed(ways: bytes, places: list[Any], then: list[Any], at: int) -> int:
    """Find the first place, from `at` on, that may hold something else than it did; or -1."""
    return first_other(ways, places, then, at)


def attributes_of(thing: Any) -> Any:
    """Return the dict of what was set on an object, or None; nothing of the object is called."""
    if not cython.compiled and issubclass(type(thing), Node):
        return thing._attributes()
    return own_attributes(thing)
