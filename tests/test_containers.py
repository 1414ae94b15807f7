"""Containers come apart and are put together again; what is none stays whole."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

from minigrad.compiler.arguments.containers import apart, array_of, is_named

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("tree", "layout", "doubled"),
    [
        ([1, 2], 2, [2, 4]),
        ((1, 2, 3), 3, (2, 4, 6)),
        (Point(1, 2), 2, Point(2, 4)),
        ({"b": 1, "a": 2}, ["b", "a"], {"b": 2, "a": 4}),
        ([], 0, []),
    ],
)
def test_containers_are_built_of_other_parts(tree, layout, doubled):
    found = apart(tree)
    assert found.layout == layout
    built = found.build([2 * part for part in found.parts])
    assert (built, type(built)) == (doubled, type(tree))


def test_arrays_of_objects_keep_their_shape():
    things = [[1], (2,), "3", None]
    array = array_of(things, (2, 2))
    found = apart(array)
    assert (found.layout, found.parts) == ((2, 2), things)
    assert apart(np.ones(3)) is None  # numbers are no parts


def test_subclasses_are_none_unless_somebody_asks():
    tree = OrderedDict(a=1)
    assert apart(tree) is None
    found = apart(tree, subclasses=True)
    assert type(found.build([5])) is dict
    assert apart("text") is apart({1, 2}) is apart(3.0) is None


def test_named_tuples():
    assert is_named(Point(1, 2))
    assert not is_named((1, 2))
    assert not is_named([1, 2])
