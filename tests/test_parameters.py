"""Many Values at once: the same numbers as one at a time, or a clear error and no change."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import Value, data_of, grads_of, set_data, set_grads, zero_grad
from minigrad.compiler.arguments.refill import refill
from minigrad.core import parameters as bulk

numbers = st.lists(st.floats(allow_nan=False), max_size=8)


@given(numbers)
def test_what_is_written_is_read(xs):
    values = [Value(0.0) for _ in xs]
    set_data(values, xs)
    set_grads(values, array("d", xs[::-1]))
    assert [v.data for v in values] == xs == list(data_of(values))
    assert [v.grad for v in values] == xs[::-1] == list(grads_of(values))
    zero_grad(values)
    assert list(grads_of(values)) == [0.0] * len(xs)


def test_arrays_are_numpys_without_a_copy():
    values = [Value(1.5), Value(-2.0)]
    found = data_of(values)
    assert isinstance(found, array)
    view = np.asarray(found)
    view *= 2
    assert list(found) == [3.0, -4.0]
    set_data(values, view)
    assert [v.data for v in values] == [3.0, -4.0]
    set_data(tuple(values), np.array([1, 2]))
    assert [v.data for v in values] == [1.0, 2.0]


def test_generators_modules_and_subclasses():
    class Parameter(Value):
        pass

    model = minigrad.nn.MLP(2, [3, 1], seed=0)
    assert len(data_of(p for p in model.parameters())) == 13
    assert list(data_of([Parameter(2.0)])) == [2.0]


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (lambda v: data_of([v, 1.0]), TypeError, r"data_of\(values\): got float among them"),
        (lambda v: grads_of(v), TypeError, r"grads_of\(values\): got Value; give a list"),
        (lambda v: zero_grad([None]), TypeError, "got NoneType among them"),
        (lambda v: set_data([v], [1.0, 2.0]), ValueError, "1 Values but 2 numbers"),
        (lambda v: set_grads([v, v], [1.0]), ValueError, "2 Values but 1 numbers"),
        (lambda v: set_data([v], ["x"]), TypeError, "got str; it holds one number"),
    ],
)
def test_bad_input_changes_nothing(attempt, error, words):
    v = Value(7.0)
    v.grad = 3.0
    with pytest.raises(error, match=words):
        attempt(v)
    assert (v.data, v.grad) == (7.0, 3.0)


@pytest.mark.parametrize("wrong", [None, 0.5, "a", object()])
def test_loops_of_compiled_functions_refuse_what_is_no_node(wrong):
    buffer = np.zeros(2)
    for loop in (bulk.read_data, bulk.write_data, bulk.write_grads):
        with pytest.raises((TypeError, AttributeError)):
            loop((Value(1.0), wrong), buffer)
        with pytest.raises(IndexError):
            loop((Value(1.0),) * 3, buffer)
    with pytest.raises(IndexError):
        refill([1.0, 2.0, 3.0], (list, 3, float), buffer, 0, [], None)
