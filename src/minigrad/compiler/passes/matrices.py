"""Which dots are the elements of a matrix product.

Every dot joins a tuple of left operands with one of right operands. Seen as edges of a bipartite
graph between tuples, a matrix product is a connected component in which every left tuple meets
every right one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ..ir.refs import distinct

Ints = np.ndarray[Any, np.dtype[np.int64]]


def matrix_products(left: Ints, right: Ints) -> list[tuple[Ints, Ints, Ints]]:
    """Find the matrix products among dots of one length, given their operands, a row for each.

    Returns, for each, which dot stands in row i and column j, and the operands of its rows and of
    its columns.
    """
    if (right == right[0]).all():  # one column: a matrix times a vector, as in a recurrent network
        return []
    found = _complete(left, right)
    if not found and _is_shuffled(right):
        order = np.argsort(right, axis=1, kind="stable")
        left = np.take_along_axis(left, order, axis=1)
        right = np.take_along_axis(right, order, axis=1)
        found = _complete(left, right)
    return found


def by_key(keys: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each key with the places where it stands, in order."""
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    ends = [*starts[1:].tolist(), len(keys)]
    for start, end in zip(starts.tolist(), ends, strict=True):
        yield int(ranked[start]), order[start:end]


def _complete(left: Ints, right: Ints) -> list[tuple[Ints, Ints, Ints]]:
    """Find the complete components; the side that changes faster along the trace is the columns."""
    left_firsts, left_ids = interned(left)
    right_firsts, right_ids = interned(right)
    if min(len(left_firsts), len(right_firsts)) < 2:
        return []
    shared = (np.bincount(left_ids)[left_ids] > 1) & (np.bincount(right_ids)[right_ids] > 1)
    if not shared.any():  # every row of a product meets several columns
        return []
    of_left, of_right = _components(left_ids, right_ids, len(left_firsts), len(right_firsts))
    lefts, rights = np.bincount(of_left), np.bincount(of_right)
    dots = np.bincount(of_left[left_ids])
    complete = (lefts >= 2) & (rights >= 2) & (lefts.astype(np.int64) * rights == dots)
    if not complete.any():
        return []
    chosen = np.flatnonzero(complete[of_left[left_ids]])
    found = []
    for _, places in by_key(of_left[left_ids[chosen]]):
        members = chosen[places]
        ls, at_left = _renumbered(left_ids[members])
        rs, at_right = _renumbered(right_ids[members])
        table = np.full((len(ls), len(rs)), -1, dtype=np.int64)
        table[at_left, at_right] = members
        if (table < 0).any():  # the same dot twice
            continue
        rows, columns = left[left_firsts[ls]], right[right_firsts[rs]]
        left_is_faster = left_ids[members[0]] != left_ids[members[1]]
        found.append((table.T, columns, rows) if left_is_faster else (table, rows, columns))
    return found


def _components(left_ids: Ints, right_ids: Ints, lefts: int, rights: int) -> tuple[Ints, Ints]:
    """Number the connected components; returned for each left and for each right tuple."""
    parent = list(range(lefts + rights))

    def root(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    pairs = distinct(left_ids.astype(np.int64) * rights + right_ids)
    for a, b in zip((pairs // rights).tolist(), (pairs % rights).tolist(), strict=True):
        p, q = root(a), root(b + lefts)
        if p != q:
            parent[q] = p
    roots = np.array([root(x) for x in range(lefts + rights)], dtype=np.int64)
    return roots[:lefts], roots[lefts:]


def _is_shuffled(rows: Ints) -> bool:
    """Tell whether some rows have the same elements in another order."""
    mixed = rows.astype(np.uint64) * _weights(1)[0]
    sums = (mixed ^ (mixed >> np.uint64(29))).sum(axis=1, dtype=np.uint64)
    return len(distinct(sums)) < len(interned(rows)[0])


@cache
def _weights(count: int) -> Any:
    """Odd random weights: a weighted sum of the elements, modulo 2**64, is the hash of a row."""
    rng = np.random.default_rng(12345)
    return rng.integers(1, 2**62, size=count, dtype=np.uint64) | np.uint64(1)


def interned(rows: Ints) -> tuple[Ints, Ints]:
    """Number the different rows of a table in order; return where each first stands, and all.

    Rows are compared by hash first, then with the row that had the same hash.
    """
    keys = (rows.astype(np.uint64) * _weights(rows.shape[1])).sum(axis=1, dtype=np.uint64)
    firsts, ids = _renumbered_at(keys)
    if (rows[firsts[ids]] != rows).any():  # a collision
        _, keys = np.unique(rows, axis=0, return_inverse=True)
        firsts, ids = _renumbered_at(keys.ravel())
    return firsts, ids


def _renumbered_at(keys: Any) -> tuple[Ints, Ints]:
    """Number keys in order of appearance; return where each first stands, and all numbers."""
    by_key = np.argsort(keys, kind="stable")  # equal ones as they come, so the first leads
    ordered = keys[by_key]
    leads = np.append(True, ordered[1:] != ordered[:-1])[: len(keys)]
    firsts = by_key[leads]
    order = np.argsort(firsts)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    numbers = np.empty_like(by_key)
    numbers[by_key] = place[np.cumsum(leads) - 1]
    return firsts[order], numbers


def _renumbered(ids: Ints) -> tuple[Ints, Ints]:
    firsts, numbers = _renumbered_at(ids)
    return ids[firsts], numbers
