"""Loops, counts and strides, that visit the slots of an operand, and views made of them."""

from __future__ import annotations

import numpy as np

from ..ir.refs import Ref, distinct
from .plan import Loop, Table, View


def loops_of(ref: Ref, rows: int, terms: int | None) -> tuple[Loop, ...] | None:
    """The loops of an operand in strides, outermost first; the last is that of the terms."""
    inner = min(ref.inner, rows)
    if ref.cells is not None or ref.rows is not None or rows % inner:
        return None
    return (
        (rows // inner, ref.outer_stride),
        (inner, ref.inner_stride),
        (terms or 1, ref.term_stride),
    )


def fit(table: Table, matters: Table) -> tuple[int, tuple[Loop, ...], Table] | None:
    """Describe a table (blocks, rows, terms) by its first element, loops, and what these visit.

    Only what matters must agree; the first of every block does.
    """
    if not matters[:, 0, 0].all():
        return None
    strides = []
    for axis in (1, 2):
        end = [slice(None)] * 3
        begin = [slice(None)] * 3
        end[axis], begin[axis] = slice(1, None), slice(None, -1)
        both = matters[tuple(end)] & matters[tuple(begin)]
        found = distinct(np.diff(table, axis=axis)[both])
        if len(found) > 1:
            return None
        strides.append(int(found[0]) if len(found) else 0)
    starts = table[:, 0, 0]
    loops = _nest(starts)
    if loops is None:
        return None
    _, rows, terms = table.shape
    seen = starts[:, None, None] + (np.arange(rows) * strides[0])[:, None]
    seen = seen + np.arange(terms) * strides[1]
    if (seen != table)[matters].any():
        return None
    return int(starts[0]), (*loops, (rows, strides[0]), (terms, strides[1])), seen


def _nest(starts: Table) -> list[Loop] | None:
    """The loops, outermost first, that visit these numbers."""
    count = len(starts)
    if count == 1:
        return []
    stride = int(starts[1] - starts[0])
    breaks = np.flatnonzero(np.diff(starts) != stride)
    inner = int(breaks[0]) + 1 if len(breaks) else count
    blocks = starts.reshape(-1, inner) if count % inner == 0 else None
    if inner == 1 or blocks is None or (blocks - blocks[:, :1] != blocks[0] - blocks[0, 0]).any():
        return None
    outer = _nest(blocks[:, 0])
    return None if outer is None else [*outer, (inner, stride)]


def common(sides: list[list[Loop]]) -> list[tuple[int, int, int]] | None:
    """Loops (count, stride on the left, stride on the right), outermost first, through both."""
    found: list[tuple[int, int, int]] = []
    while True:
        for side in sides:
            while side and side[-1][0] == 1:
                side.pop()
        a, b = sides
        if not a or not b:
            return None if a or b else found[::-1]
        (m, x), (n, y) = a.pop(), b.pop()
        if m % n and n % m:
            return None
        found.append((min(m, n), x, y))
        if m > n:
            a.append((m // n, x * n))
        elif n > m:
            b.append((n // m, y * m))


def merged(loops: tuple[Loop, ...]) -> list[Loop]:
    """Join loops that are one: the outer goes on where the inner ends."""
    found: list[Loop] = []
    for count, stride in loops:
        if count == 1:
            continue
        if found and found[-1][1] == count * stride:
            found[-1] = (found[-1][0] * count, stride)
        else:
            found.append((count, stride))
    return found


def split_loops(loops: list[Loop], counts: tuple[int, ...]) -> tuple[Loop, ...] | None:
    """Cut loops, outermost first, so that there is one for each count."""
    rest, found = list(loops), []
    for count in reversed(counts):
        whole, stride = rest.pop() if rest else (1, 0)
        if whole % count:
            return None
        found.append((count, stride))
        if whole > count:
            rest.append((whole // count, stride * count))
    return tuple(reversed(found)) if not rest else None


def view_of(source: int, base: int, loops: tuple[Loop, ...], length: int) -> View | None:
    """Make a view of loops through an array, if reshapes and slices can do it."""
    real = [(count, stride, k) for k, (count, stride) in enumerate(loops) if count > 1 and stride]
    if any(stride < 0 for _, stride, _ in real):
        return None
    real.sort(key=lambda loop: -loop[1])
    cuts, start, whole = [], base, length
    for k, (count, stride, _) in enumerate(real):
        reach = sum((c - 1) * s for c, s, _ in real[k + 1 :]) + 1
        first, base = divmod(base, stride)
        if base + reach > stride:
            return None  # it runs over the end of a row
        if length % stride:
            if (first + count) * stride > length:
                return None
            length = (first + count) * stride  # nobody reads what is behind
        cuts.append((length, stride, first, count))
        length = stride
    return View(
        source,
        tuple(cuts),
        base,
        tuple(int(k) for k in np.argsort([k for _, _, k in real])),
        tuple(count if stride else 1 for count, stride in loops),
        tuple(count for count, _ in loops),
        start,
        loops,
        start == 0 and merged(loops) == [(whole, 1)],
    )
