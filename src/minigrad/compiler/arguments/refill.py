# cython: wraparound=False
"""The numbers of arguments, when their structure is the one of last time: a loop of every call.

The rules are in `structure.py`; here is the way that is taken when nothing is new. Whoever finds
something new goes the long way, there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ...core.node import Node
from ...core.writeback import flush_writebacks
from ...scalar import Value

_EXACT = 2**53  # whole numbers beyond have no float of their own

Other = Callable[[Any, Any, Any, int, list[Any]], int]


def refill(tree: Any, key: Any, numbers: Any, at: int, sources: list[Any], other: Other) -> int:
    """Write the numbers of a tree with this key into `numbers`, from `at` on.

    Returns where the next number goes, or -1 if the tree has another key. Values are appended to
    `sources` with their positions. What is neither a list, tuple, dict, float, int nor Value is
    left to `other`, which has the same arguments but the last.
    """
    x = numbers
    return _refill(tree, key, x, numbers, at, sources, other)


def _refill(
    tree: Any, key: Any, x: Any, numbers: Any, at: int, sources: list[Any], other: Other
) -> int:
    kind = type(tree)
    if kind is float:
        if key is not float:
            return -1
        x[at] = tree
        return at + 1
    if kind is list or kind is tuple:
        if type(key) is not tuple:
            return -1
        return _refill_sequence(tree, kind, key, x, numbers, at, sources, other)
    if kind is int and key is int:
        return _put_whole(tree, x, at)
    if isinstance(tree, Node):
        if key is not Value:  # unless it has to be this very one
            return at if type(key) is tuple and key[1] is tree else -1
        if not sources:
            flush_writebacks()
        node = tree
        sources.append((at, tree))
        x[at] = node._data
        return at + 1
    if kind is dict:
        if type(key) is not tuple:
            return -1
        return _refill_dict(tree, key, x, numbers, at, sources, other)
    if key is float and isinstance(tree, float):  # NumPy's, which many lists are full of
        x[at] = tree
        return at + 1
    return other(tree, key, numbers, at, sources)


def _put_whole(tree: Any, x: Any, at: int) -> int:
    try:
        whole = tree
    except OverflowError:  # in the native engine, beyond 64 bits
        return -1
    if whole > _EXACT or whole < -_EXACT:
        return -1
    x[at] = whole
    return at + 1


def _refill_sequence(
    tree: Any, kind: Any, key: Any, x: Any, numbers: Any, at: int, sources: list[Any], other: Other
) -> int:
    if key[0] is not kind:
        return -1
    count = len(tree)
    if len(key) == 3:  # all of one kind
        if count != key[1]:
            return -1
        only = known = key[2]
        for part in tree:
            if type(part) is not known:
                if not _is_taken_for(part, only):
                    return -1
                known = type(part)
            if only is float:
                x[at] = part
                at += 1
            else:
                at = _put_whole(part, x, at)
                if at < 0:
                    return -1
        return at
    keys = key[1]
    if count != len(keys):
        return -1
    k = 0
    for part in tree:
        if k == count:  # somebody appends meanwhile
            return -1
        at = _refill(part, keys[k], x, numbers, at, sources, other)
        if at < 0:
            return -1
        k += 1
    return at if k == count else -1


def _is_taken_for(part: Any, kind: Any) -> bool:
    """Tell whether a number counts as a float, or as an int, as `pytree.flatten` has it."""
    if type(part) is kind or (kind is float and isinstance(part, float)):
        return True
    numpy = sys.modules.get("numpy")  # whoever holds a NumPy scalar has imported it
    if numpy is None:
        return False
    return isinstance(part, numpy.floating if kind is float else numpy.integer)


def _refill_dict(
    tree: Any, key: Any, x: Any, numbers: Any, at: int, sources: list[Any], other: Other
) -> int:
    if key[0] is not dict:
        return -1
    pairs = key[1]
    count = len(pairs)
    if len(tree) != count:
        return -1
    for k, (name, part) in enumerate(tree.items()):
        pair = pairs[k]
        if name is not pair[0]:  # 1, 1.0 and True are equal, but other names
            named = type(name)
            if (named is not str and named is not int) or named is not pair[2] or name != pair[0]:
                return -1
        at = _refill(part, pair[1], x, numbers, at, sources, other)
        if at < 0:
            return -1
    return at
