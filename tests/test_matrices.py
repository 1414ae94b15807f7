"""Matrix products among dots: complete ones are found in any order, others are not."""

from __future__ import annotations

import itertools
import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minigrad.compiler.passes.matrices import _renumbered_at, by_key, matrix_products

ROWS = np.array([[1, 2, 3], [4, 5, 6]])
COLUMNS = np.array([[10, 20, 30], [11, 21, 31], [12, 22, 32], [13, 23, 33]])


def dots(pairs):
    return ROWS[[i for i, _ in pairs]], COLUMNS[[j for _, j in pairs]]


def test_every_row_with_every_column_is_a_product():
    pairs = list(itertools.product(range(2), range(4)))
    ((table, rows, columns),) = matrix_products(*dots(pairs))
    assert (rows.tolist(), columns.tolist()) == (ROWS.tolist(), COLUMNS.tolist())
    assert table.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_in_any_order_each_dot_is_where_its_operands_are():
    pairs = list(itertools.product(range(2), range(4)))
    random.Random(1).shuffle(pairs)
    left, right = dots(pairs)
    ((table, rows, columns),) = matrix_products(left, right)
    found = [left[table], right[table]]
    if not (rows[0] < 10).all():  # which side is called the rows is a matter of order
        found.reverse()
    for i, row in enumerate(rows.tolist()):
        for j, column in enumerate(columns.tolist()):
            assert [found[0][i, j].tolist(), found[1][i, j].tolist()] == [row, column]


def test_one_dot_that_is_missing_and_there_is_none():
    pairs = list(itertools.product(range(2), range(4)))[:-1]
    assert matrix_products(*dots(pairs)) == []
    assert matrix_products(*dots([(0, 0), (1, 1), (0, 2), (1, 3)])) == []


def test_places_of_each_key():
    found = [(key, places.tolist()) for key, places in by_key(np.array([5, 3, 5, 4, 3, 5]))]
    assert found == [(3, [1, 4]), (4, [3]), (5, [0, 2, 5])]
    assert list(by_key(np.array([], dtype=np.int64))) == []


@given(st.lists(st.integers(0, 5)))
def test_keys_are_numbered_in_order_of_appearance(keys):
    firsts, numbers = _renumbered_at(np.array(keys, dtype=np.uint64))
    known = list(dict.fromkeys(keys))
    assert [keys[at] for at in firsts] == known
    assert firsts.tolist() == [keys.index(key) for key in known]
    assert numbers.tolist() == [known.index(key) for key in keys]
