"""Rows of several lengths as one table: one shape for all, so one program, compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def padded(
    rows: Sequence[Sequence[float]], length: int | None = None, *, fill: float = 0, less: int = 0
) -> tuple[Array, Array]:
    """Return a table of the rows, filled up at their ends, and weights for its places.

    Row k has weights 1/n in its first n places and 0 behind them, n being its length minus `less`:
    a sum of what the places are worth, times their weights, is the mean of the row. A row of n + 1
    tokens predicts n of them, so for language models `less` is 1, and the weights have one column
    less than the table.
    """
    for row in rows:
        if not hasattr(row, "__len__"):
            raise TypeError(
                f"padded(rows): got {type(row).__name__} for a row; give a list of lists: "
                "padded([[1, 2], [3]])."
            )
    counts = [len(row) for row in rows]
    longest = max(counts, default=0) if length is None else length
    for at, count in enumerate(counts):
        if not less < count <= longest:
            raise ValueError(
                f"padded(rows): row {at} has {count} numbers; give from {less + 1} to {longest}, "
                "or cut it."
            )
    whole = all(np.asarray(row).dtype.kind in "iu" for row in rows) and float(fill).is_integer()
    table = np.full((len(counts), longest), fill, dtype=np.int64 if whole else np.float64)
    weights = np.zeros((len(counts), longest - less))
    for at, (row, count) in enumerate(zip(rows, counts, strict=True)):
        table[at, :count] = row
        weights[at, : count - less] = 1.0 / (count - less)
    return table, weights
