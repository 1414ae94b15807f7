"""The numbers of arguments, when their structure is the one of last time: a loop of every call.

The rules are in `structure.py`; here is the way that is taken when nothing is new. Whoever finds
something new goes the long way, there. The native engine has the same in C, `native/vm/refill.c`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.native_or_pure import native_machine
from ...core.node import Node, clock
from ...core.parameters import data_offset, writes_offset
from ...core.writeback import flush_writebacks, writebacks
from ...scalar import Value

_EXACT = 2**53  # whole numbers beyond have no float of their own

Other = Callable[[Any, Any, Any, int, list[Any]], int]


def refill(tree: Any, key: Any, numbers: Any, at: int, sources: list[Any], other: Other) -> int:
    """Write the numbers of a tree with this key into `numbers`, from `at` on.

    Returns where the next number goes, or -1 if the tree has another key. Values are appended to
    `sources` with their positions. What is neither a list, tuple, dict, array, number, Value nor
    known by itself is left to `other`, which has the same arguments but the last.
    """
    kind = type(tree)
    if kind is float:
        return _put(tree, numbers, at) if key is float else -1
    if kind is list or kind is tuple:
        if type(key) is not tuple or key[0] is not kind:
            return -1
        if len(key) == 3:  # all of one kind
            return _put_alike(tree, key, numbers, at)
        return _put_parts(tree, key[1], numbers, at, sources, other)
    if kind is int and key is int:
        return _put_whole(tree, numbers, at)
    if isinstance(tree, Node):
        if key is not Value:  # unless it has to be this very one
            return at if type(key) is tuple and key[1] is tree else -1
        if not sources:
            flush_writebacks()
        sources.append((at, tree))
        return _put(tree._fields()[0], numbers, at)
    if kind is dict:
        return _put_dict(tree, key, numbers, at, sources, other)
    if _is_what_it_was(tree, key):
        return at
    if kind is np.ndarray and key == (np.ndarray, tree.shape, float) and tree.dtype == np.float64:
        numbers[at : at + tree.size] = tree.reshape(-1)
        return at + len(tree.reshape(-1))
    if key is float and isinstance(tree, np.floating):
        return _put(tree, numbers, at)
    if key is int and isinstance(tree, np.integer):
        return _put_whole(tree, numbers, at)
    return other(tree, key, numbers, at, sources)


def _put(number: Any, numbers: Any, at: int) -> int:
    numbers[at] = number
    return at + 1


def _put_whole(whole: Any, numbers: Any, at: int) -> int:
    return _put(whole, numbers, at) if -_EXACT <= whole <= _EXACT else -1


def _put_alike(tree: Any, key: Any, numbers: Any, at: int) -> int:
    """Numbers of one kind; NumPy's are taken for Python's, as `structure.flatten` has it."""
    _, count, only = key
    if len(tree) != count:
        return -1
    theirs = np.floating if only is float else np.integer
    for part in tree:
        if type(part) is not only and not isinstance(part, theirs):
            return -1
        at = (_put if only is float else _put_whole)(part, numbers, at)
        if at < 0:
            return -1
    return at


def _put_parts(tree: Any, keys: Any, numbers: Any, at: int, sources: Any, other: Other) -> int:
    if len(tree) != len(keys):
        return -1
    k = 0
    for part in tree:
        if k == len(keys):  # somebody appends meanwhile
            return -1
        at = refill(part, keys[k], numbers, at, sources, other)
        if at < 0:
            return -1
        k += 1
    return at if k == len(keys) else -1


def _put_dict(tree: Any, key: Any, numbers: Any, at: int, sources: Any, other: Other) -> int:
    if type(key) is not tuple or key[0] is not dict or len(tree) != len(key[1]):
        return -1
    for (name, part), (known, below, kind) in zip(tree.items(), key[1], strict=True):
        if name is not known:  # 1, 1.0 and True are equal, but other names
            named = type(name)
            if (named is not str and named is not int) or named is not kind or name != known:
                return -1
        at = refill(part, below, numbers, at, sources, other)
        if at < 0:
            return -1
    return at


def _is_what_it_was(tree: Any, key: Any) -> bool:
    """Tell whether this is what must not differ, as far as one look tells."""
    if type(key) is not tuple or len(key) != 2 or type(key[0]) is not str:
        return False
    how, what = key
    if how == "object":
        return bool(id(tree) == what)
    if how != "value" or type(tree) is not what[0]:
        return False
    return tree is what[1] or (type(tree) is str and bool(tree == what[1]))


_native = native_machine()
if _native is not None and data_offset() >= 0:
    numpys = (np.ndarray, np.floating, np.integer)
    counted = clock, writes_offset()
    _native.connect(Node, data_offset(), Value, *numpys, writebacks, flush_writebacks, *counted)
    refill = _native.refill
