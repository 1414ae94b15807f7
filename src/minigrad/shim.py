"""Stands in for Cython's `cython` module when a file runs uncompiled.

`scalar.py` and `node.py` say `cython.compiled` and `@cython.trashcan(True)`. Compiled, these are
for the compiler. Uncompiled, they find this module: nothing from third parties is loaded for them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

__all__ = [
    "cast",
    "cclass",
    "compiled",
    "final",
    "make_node",
    "nonecheck",
    "open_slab",
    "place_nodes",
    "same_content",
    "same_meaning",
    "slab_count",
    "track",
    "track_like",
    "trashcan",
]

C = TypeVar("C")

compiled = False


def cclass(kind: C) -> C:
    """Make an extension type of a class."""
    return kind


def final(kind: C) -> C:
    """Have no subclasses."""
    return kind


def cast(kind: object, thing: Any, typecheck: bool = False) -> Any:
    """Take a thing for one of a kind; uncompiled, what is not will show soon enough."""
    return thing


def nonecheck(on: bool) -> Callable[[C], C]:
    """Refuse to read the fields of None in a function where its file does not."""
    return lambda function: function


def trashcan(on: bool) -> Callable[[C], C]:
    """Free chains of objects without recursion."""
    return lambda kind: kind


# What native/slab.h does for the compiled engine; uncompiled, Python's collector does its best.


def place_nodes(sample: object, operand: object) -> None:
    """Find out where nodes keep their operands."""


def open_slab(kind: type) -> None:
    """Give nodes memory of their own."""


def make_node(kind: type, a: object, b: object) -> Any:
    """Make a node with these operands; its numbers are for the caller to fill in."""


def slab_count() -> int:
    """Count the nodes."""
    return 0


def track(node: object) -> None:
    """Have the collector look at a node."""


def track_like(node: object, operand: object) -> None:
    """Have it look at a node if it looks at the operand."""


# What native/quick.h does.


def same_content(now: Any, then: Any) -> bool:
    """Tell whether a container holds the very things that it held; no may be wrong, yes is not."""
    if type(then) is not tuple:
        return False
    if isinstance(now, list):
        return len(now) == len(then) and all(map(is_, now, then))
    if type(now) is not dict or 2 * len(now) != len(then):  # a class, a function: look closer
        return False
    return all(map(is_, now, then[::2])) and all(map(is_, now.values(), then[1::2]))


def same_meaning(space: dict[str, Any], word: str, then: Any) -> bool:
    """Tell whether a word still means this very object."""
    return word in space and space[word] is then
