"""Containers: what may hold numbers, how it comes apart and how it is put together again.

Arguments, results, derivatives and stand-ins are all walked by `apart`; a new kind of container is
a case here (and one in `refill`, if calls with it are to be quick).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Parts(NamedTuple):
    """A container, taken apart."""

    layout: Any  # what else tells it from others of its kind: a length, names, a shape
    parts: Sequence[Any]
    build: Callable[[list[Any]], Any]  # from other parts


def apart(tree: Any, subclasses: bool = False) -> Parts | None:
    """Take a container apart; None if it is none.

    Of most subclasses nobody knows how they are made, so they are none, unless one asks for them:
    then the plain kind is built in their place.
    """
    kind = type(tree)
    if kind is list or (subclasses and isinstance(tree, list)):
        return Parts(len(tree), tree, list)
    if is_named(tree):
        return Parts(len(tree), tree, lambda parts: kind(*parts))
    if kind is tuple or (subclasses and isinstance(tree, tuple)):
        return Parts(len(tree), tree, tuple)
    if kind is dict or (subclasses and isinstance(tree, dict)):
        names = list(tree)
        return Parts(names, list(tree.values()), lambda parts: dict(zip(names, parts, strict=True)))
    if isinstance(tree, np.ndarray) and tree.dtype.kind == "O":
        shape = tree.shape
        return Parts(shape, list(tree.ravel()), lambda parts: array_of(parts, shape))
    return None


def is_named(tree: Any) -> bool:
    """Tell whether it is a named tuple."""
    return isinstance(tree, tuple) and hasattr(tree, "_make") and hasattr(tree, "_fields")


def array_of(things: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Make an array of objects."""
    found = np.empty(len(things), dtype=object)
    for k, thing in enumerate(things):  # one by one, else NumPy asks them whether they are arrays
        found[k] = thing
    return found.reshape(shape)
