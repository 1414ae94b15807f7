"""The numbers of arguments whose structure is the one of last time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from trees import trees

import minigrad
from minigrad import Value
from minigrad.compiler.arguments.refill import refill
from minigrad.compiler.arguments.structure import Expected, apart, flat_call, same_call


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, np.int64, int, np.uint8])
def test_lists_of_numpy_numbers(kind):
    def total(xs):
        return minigrad.sum([x * x for x in xs]), [isinstance(x, int) for x in xs]

    fast = minigrad.compile(total)
    for shift in (0, 1, 2):
        xs = [kind(k + shift) for k in range(5)]
        sum_of_squares = sum((k + shift) ** 2 for k in range(5))
        value, whole = fast(xs)
        assert (value.data, whole) == (
            sum_of_squares,
            [not issubclass(kind, (float, np.floating))] * 5,
        )
    assert fast.cache_info().traces == 1
    plain = int if issubclass(kind, (int, np.integer)) else float
    fast([plain(x) for x in xs])
    assert fast.cache_info().traces == 1
    mixed = [kind(1), plain(2), kind(3), plain(4), kind(5)]
    assert fast(mixed)[0].data == 55.0
    assert fast.cache_info().traces == 1
    fast([1.0, 2])
    assert fast.cache_info().traces == 2


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


def refused(tree, key, numbers, at, sources):
    return -1


def test_numbers_are_written_where_they_belong():
    w, numbers, sources = Value(4.0), np.zeros(5), []
    key = (tuple, (float, (list, 2, float), (dict, (("w", Value, str),))))
    tree = (1.0, [2.0, 3.0], {"w": w})
    assert refill(tree, key, numbers, 1, sources, refused) == 5
    assert numbers.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert sources == [(4, w)]


def test_another_structure_is_refused():
    for tree in ([1.0], (1.0, 2), [1.0, 2], [1.0, 2.0, 3.0], 1.0, [1.0, "a"]):
        assert refill(tree, (list, 2, float), np.zeros(3), 0, [], refused) == -1
    for whole, end in ((2**53, 1), (2**53 + 1, -1), (-(2**70), -1)):
        assert refill(whole, int, np.zeros(1), 0, [], refused) == end
