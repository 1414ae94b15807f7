"""Memory for large results, taken again once nobody holds them.

The system clears every page before it hands it out, which costs as much as a tenth of computing
what is then written there. So the memory of the latest large results is kept, and the next results
get it if those are gone: all arrays made of it hold the one that `empty` returned, and a weak
reference tells when that has been freed.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from ..core.turns import forked

__all__ = ["empty"]

Array = np.ndarray[Any, np.dtype[Any]]

_LEAST = 1 << 15  # numbers: less comes from memory that the process has anyway
_MOST = 1 << 23  # numbers, 64 MB: more is not held back from others
_PIECES = 2  # in a loop the former results are held while the next are computed

_kept: list[tuple[Array, weakref.ref[Array]]] = []  # memory, and who has it; the latest at last
_lock = forked(threading.Lock())


def empty(count: int, dtype: Any = np.float64) -> Array:
    """Return an array of any numbers, as `np.empty` does."""
    if dtype == np.float32:
        found: Array = empty(count // 2 + 1).view(np.float32)[:count]
        return found
    if not _LEAST <= count <= _MOST:
        return np.empty(count)
    with _lock:
        memory = _free(count)
        # Not `memory` itself or a slice of it: slices would hold `memory`, which is held here too.
        array: Array = np.frombuffer(memory.data)
        _kept.append((memory, weakref.ref(array)))
        del _kept[:-_PIECES]
    return array


def _free(count: int) -> Array:
    """Take memory that was kept and that nobody has, or else new memory."""
    for n, (memory, holder) in enumerate(_kept):
        if len(memory) == count and holder() is None:
            del _kept[n]
            return memory
    return np.empty(count)
