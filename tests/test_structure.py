"""Structures of arguments and results: taken apart and put together again, they are the same."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad import Value
from minigrad.compiler.arguments.containers import apart
from minigrad.compiler.arguments.results import Template
from minigrad.compiler.arguments.structure import (
    Expected,
    Flat,
    Mapping,
    Sequence,
    Static,
    Table,
    Uniform,
    flat_call,
    flatten,
    mapped,
    restore,
    same_call,
    shape_only,
)

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


def as_floats(tree):
    """Numbers come back as floats: they are derivatives."""
    return mapped(tree, float, float)


def flattened(tree):
    flat = Flat()
    key = flatten(tree, flat)
    return key, flat


@given(trees)
def test_restore_undoes_flatten(tree):
    key, flat = flattened(tree)
    assert same(restore(key, flat.numbers, flat.kept), as_floats(tree))


@given(trees)
def test_flatten_undoes_restore(tree):
    key, flat = flattened(as_floats(tree))
    again, other = flattened(restore(key, flat.numbers, flat.kept))
    assert (again, other.numbers) == (key, flat.numbers)


@given(trees, trees)
def test_equal_keys_are_of_equal_structures(a, b):
    """Of two calls with one key, the second is the first with other numbers."""
    (key, flat), (other, numbers) = flattened(a), flattened(b)
    if key == other:
        assert same(restore(key, numbers.numbers, flat.kept), as_floats(b))
    else:
        assert not same(a, b)


@given(trees)
def test_the_quick_way_finds_the_same_numbers(tree):
    flat = flat_call((tree, 2.0), {"z": tree})
    found = same_call((tree, 3.0), {"z": tree}, Expected(flat), frozenset())
    if found is None:  # allowed: the slow way is taken then; never with other numbers
        assert any(isinstance(name, tuple) for name in names_in(tree))
        return
    again = flat_call((tree, 3.0), {"z": tree})
    assert list(found.numbers) == again.numbers
    assert found.key == again.key


def names_in(tree):
    found = apart(tree)
    if found is None:
        return []
    own = list(tree) if isinstance(tree, dict) else []
    return own + [name for part in found.parts for name in names_in(part)]


@given(trees, trees)
def test_the_quick_way_refuses_another_structure(a, b):
    first, second = flat_call((a,), {}), flat_call((b,), {})
    if first.key != second.key:
        assert same_call((b,), {}, Expected(first), frozenset()) is None


@pytest.mark.parametrize(
    ("tree", "key"),
    [
        (1.0, float),
        (1, int),
        ([1.0, 2.0], Uniform(list, 2, float)),
        ((1, 2), Uniform(tuple, 2, int)),
        ([1.0, 2], Sequence(list, (float, int))),
        ({"a": 1.0}, Mapping(dict, (("a", float, str),))),
        (np.ones((2, 3)), Table(np.ndarray, (2, 3), float)),
        ("text", Static("value", (str, "text"))),
        (2**60, Static("value", (int, 2**60))),
    ],
)
def test_what_a_key_looks_like(tree, key):
    assert flattened(tree)[0] == key


def test_the_shape_alone_forgets_which_kind_of_number():
    a, b = flattened([1, [2.0, 3.0], {"x": 1}])[0], flattened([1.5, [2, 3], {"x": 0.5}])[0]
    assert a != b
    assert shape_only(a) == shape_only(b)
    assert shape_only(flattened([1.0, [2.0]])[0]) != shape_only(a)


@given(nested(reals | statics), st.data())
def test_a_template_filled_is_what_it_was_made_from(tree, data):
    """Some of the numbers are results: taken out, and put back by their numbers."""
    made = mapped(tree, lambda x: Value(x) if data.draw(st.booleans()) else x, lambda x: x)
    template, results = Template.of(made, [])
    assert all(isinstance(result, Value) for result in results)
    assert same(template.filled(results.__getitem__), made)
    again, others = Template.of(made, [])
    assert template.fits(again, others)
