"""Nested containers of numbers and other things, and when two of them are the same."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from hypothesis import strategies as st

Point = namedtuple("Point", "x y")


reals = st.floats(allow_nan=False, allow_infinity=False)


wholes = st.integers(-(2**53), 2**53)


statics = st.text(max_size=3) | st.booleans() | st.none() | st.binary(max_size=3)


arrays = st.lists(reals, min_size=1, max_size=4).map(np.array)


names = st.text(max_size=2) | st.integers(0, 3) | st.tuples(st.integers(0, 3))


def nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.tuples(inner, inner)
            | st.dictionaries(names, inner, max_size=3)
            | st.builds(Point, inner, inner)
        ),
        max_leaves=12,
    )


trees = nested(reals | wholes | statics | arrays)


def same(a, b):
    """Equality by kind as well: 1 is not 1.0, and arrays are compared as wholes."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and bool((a == b).all())
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b
