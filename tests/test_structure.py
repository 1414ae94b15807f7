"""Structures of arguments and results: taken apart and put together again, they are the same."""

from __future__ import annotations

import functools
import math
import operator
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
from hypothesis import given
from trees import same, trees

import minigrad
from minigrad import Value
from minigrad.compiler.arguments.structure import (
    Flat,
    Mapping,
    Sequence,
    Static,
    Table,
    Uniform,
    apart,
    array_of,
    flatten,
    is_named,
    mapped,
    restore,
    shape_only,
)


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


# ---- functions, classes and dicts as arguments ---------------------------------------------------


def test_a_lambda_made_afresh_is_the_same_function():
    w, ks = Value(2.0), [1.0]
    fast = minigrad.compile(lambda f, x: f(x))

    def call(k, x, *, scale=1.0):
        return fast(lambda x, s=scale: x * w * k * ks[0] * s, x).data

    assert [call(3.0, x) for x in (1.0, 2.0, 3.0)] == [6.0, 12.0, 18.0]
    assert fast.cache_info().traces == 1
    assert [call(4.0, 1.0), call(3.0, 1.0)] == [8.0, 6.0]
    assert fast.cache_info().traces == 2
    assert call(3.0, 1.0, scale=2.0) == 12.0
    assert [math.copysign(1.0, call(zero, 1.0)) for zero in (0.0, -0.0)] == [1.0, -1.0]
    ks[0] = 5.0
    assert call(3.0, 1.0) == 30.0
    value, grads = fast.value_and_grad(abs_of := (lambda x: x * w), 3.0)
    assert (value, grads.args, grads[w]) == (6.0, (abs_of, 2.0), 3.0)


def test_methods_and_partials_made_afresh():
    fast = minigrad.compile(lambda f, x: f(x))

    class Model:
        def __init__(self, k):
            self.k = k

        def run(self, x):
            return x * self.k

    one, two = Model(2.0), Model(3.0)
    assert [fast(model.run, 1.0).data for model in (one, two, one, two)] == [2.0, 3.0, 2.0, 3.0]
    assert fast.cache_info().traces == 2
    one.k = 4.0
    assert fast(one.run, 1.0).data == 4.0
    before = fast.cache_info().traces
    for k in (2.0, 3.0, 2.0):
        assert fast(functools.partial(operator.mul, k), 1.0).data == k
    assert fast.cache_info().traces == before + 2


def test_functions_that_hold_each_other():
    def made(k):
        def even(x, n):
            return x * k if n == 0 else odd(x, n - 1)

        def odd(x, n):
            return even(x, n - 1)

        return even

    fast = minigrad.compile(lambda f, x: f(x, 4))
    assert [fast(made(k), 1.0).data for k in (2.0, 3.0, 2.0)] == [2.0, 3.0, 2.0]
    assert fast.cache_info().traces == 2


def test_the_attributes_of_a_class_that_is_an_argument():
    class Model:
        k = 2.0

        @classmethod
        @minigrad.compile
        def run(cls, x):
            return x * cls.k

    class Other(Model):
        k = 5.0

    fast = minigrad.compile(lambda kind, x: x * kind.k)
    assert [fast(Model, 1.0).data, fast(Other, 1.0).data, Model.run(1.0).data] == [2.0, 5.0, 2.0]
    Model.k = 3.0
    assert [fast(Model, 1.0).data, fast(Other, 1.0).data, Model.run(1.0).data] == [3.0, 5.0, 3.0]
    assert fast.value_and_grad(Model, 1.0)[1].args == (Model, 3.0)


def test_equal_keys_of_other_kinds_are_other_structures():
    def spelled(table):
        return " ".join(map(repr, table))

    fast = minigrad.compile(spelled)
    keys = [1, True, 1.0, 0.0, -0.0, (1,), (True,), "1", b"1", None]
    for key in [*keys, *keys]:
        assert fast({key: 2.0}) == repr(key)
    assert fast.cache_info().traces == len(keys)
    area = minigrad.compile(lambda table: table["a"] * table[1])
    assert area.grad({"a": 2.0, 1: 3.0}).args == ({"a": 3.0, 1: 2.0},)


# ---- containers ----------------------------------------------------------------------------------

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
