"""What a traced function leaves behind becomes plain numbers, and frees the trace."""

from __future__ import annotations

import gc
import json
import warnings

import pytest

import minigrad
from minigrad import Value


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def test_numbers_in_a_list_are_floats_afterwards():
    kept = []
    holder = {"kept": kept}  # out of the code's reach, so that it is compiled all the same
    get = holder.__getitem__

    def f(x):
        get("kept").append((x * x).data)
        return x * x

    assert minigrad.compile(f)(3.0).data == 9.0
    assert json.dumps(kept) == "[9.0]"
    assert type(kept[0]) is float


def test_a_value_that_is_kept_has_no_history():
    kept = []
    w = Value(2.0)
    f = minigrad.compile(lambda x: (kept.append(x * w), x * x)[1])
    f(3.0)
    (y,) = kept
    assert (y.data, y._operands) == (6.0, ())


def test_where_numbers_are_left_is_said():
    class Holder:
        last = None

    def f(x):
        Holder.last = (x * x).data
        return x * x

    with pytest.warns(RuntimeWarning, match="leaves numbers behind .*'last'"):
        minigrad.compile(f)(2.0)
    assert Holder.last == 4.0


@pytest.mark.skipif(minigrad.engine() == "pure", reason="only the native engine counts its nodes")
def test_nothing_of_a_trace_stays_alive():
    """Not even until the collector runs: it is off."""
    w = [Value(0.1 * k) for k in range(20)]
    kept = []

    def f(xs):
        y = sum(a * b for a, b in zip(w, xs, strict=True))
        for _ in range(50):
            y = (y * 1.01).tanh()
        kept.append(y.data)
        return y

    gc.collect()
    gc.disable()
    try:
        compiled = minigrad.compile(f)
        compiled([1.0] * 20)
        before = minigrad.scalar.nodes_alive()
        for length in range(5):
            minigrad.compile(f)([1.0 + length] * 20)
        assert minigrad.scalar.nodes_alive() <= before + 10
    finally:
        gc.enable()


def test_what_a_caught_error_holds_is_a_number_too():
    caught = []

    def f(x):
        try:
            raise ValueError((x * 2).data)
        except ValueError as error:
            caught.append(error.args[0])
        return x

    minigrad.compile(f)(4.0)
    assert caught == [8.0]
