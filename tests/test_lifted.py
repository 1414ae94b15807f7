"""Floats that a function is given, as Values: they still answer like numbers."""

from __future__ import annotations

import functools
import math
import numbers
import warnings

import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.tracing.lifted import Lifted

FLOAT_TESTS = {
    "==": lambda x, p: x * 2 if p == 0.5 else x * 3,
    "!=": lambda x, p: x / p if p != 0 else x,
    "truth": lambda x, p: x * (p or 4.0),
    "in": lambda x, p: x * 2 if p in (0.5, 0.25) else x * 3,
    "as a key": lambda x, p: x * {0.5: 2.0, 0.0: 5.0}.get(p, 3.0),
    "each other": lambda x, p: x * 2 if x == p else x * 3,
}


@pytest.mark.parametrize("name", FLOAT_TESTS)
def test_float_arguments_are_compared_as_numbers(name, backend):
    function = FLOAT_TESTS[name]
    fast = minigrad.compile(function, backend=backend)
    for x, p in [(1.0, 0.5), (1.0, 0.0), (0.5, 0.5), (1.0, 0.25), (1.0, 0.5)]:
        expected = function(x, p)
        assert fast(x, p).data == expected, (x, p)
        with minigrad.strict():  # where it runs as it is
            assert fast(x, p).data == expected, (x, p)


def test_a_lifted_float_answers_like_a_number():
    x = Lifted(2.5)
    assert (round(x), int(x), math.floor(x), math.ceil(x), x // 1.0) == (2, 2, 2, 3, 2.0)
    assert x == 2.5
    assert x != 3.0
    assert {2.5: "found"}[x] == "found"
    assert (bool(x), bool(Lifted(0.0)), float(x)) == (True, False, 2.5)


def test_a_rest_has_the_slope_of_the_number_and_a_divisor_that_of_the_quotient():
    x = Lifted(7.5)
    rest = x % 2.0
    rest.backward()
    assert (rest.data, x.grad) == (1.5, 1.0)
    x = Lifted(2.0)
    rest = 7.5 % x  # 7.5 - 3x
    rest.backward()
    assert (rest.data, x.grad) == (1.5, -3.0)


@functools.singledispatch
def kind_of(x):
    return 3.0


@kind_of.register
def _(x: float):
    return 5.0


DISPATCHING = {
    "isinstance of a float": lambda x: x * (5.0 if isinstance(x, float) else 3.0),
    "of one of several": lambda x: x * (5.0 if isinstance(x, (int, float)) else 3.0),
    "of a number": lambda x: x * (5.0 if isinstance(x, numbers.Real) else 3.0),
    "its class": lambda x: x * (5.0 if x.__class__ is float else 3.0),
    "singledispatch": lambda x: x * kind_of(x),
}


@pytest.mark.parametrize("name", DISPATCHING)
@pytest.mark.parametrize("audit", [False, "always"])
def test_a_number_says_that_it_is_a_float(name, audit):
    function = DISPATCHING[name]
    fast = minigrad.compile(function, audit=audit)
    for x in (2.0, 7.0):
        assert function(x) == 5.0 * x  # as plain Python has it
        assert fast(x).data == 5.0 * x
        assert fast.grad(x).args == (5.0,)
        assert fast(Value(x)).data == 3.0 * x
        assert fast.dispatch.audit.mode == audit


def test_a_number_says_so_in_a_call_that_runs_uncompiled_too():
    seen = []

    def f(x):
        seen.append(len(seen))
        return x * (5.0 if isinstance(x, float) else 3.0) + len(seen) * 0.0

    fast = minigrad.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert [fast(2.0).data for _ in range(6)] == [10.0] * 6
    assert fast.dispatch.as_is


def test_code_that_takes_numbers_apart_by_their_class():
    w = Value(0.5)

    def tree(t):
        if isinstance(t, (int, float)):
            return w * t
        left, right = t
        return (tree(left) - tree(right)).tanh()

    fast = minigrad.compile(tree)
    for t in ((1.0, 2.0), ((1.0, 2.0), 3.0), ((4.0, 2.0), 3.0), (1.0, (2, 3.0))):
        assert fast(t).data == pytest.approx(tree(t).data, rel=1e-14)


MISTAKES = {
    "an index": lambda x: x[0],
    "a length": len,
    "a loop": lambda x: [each for each in x],  # noqa: C416
    "a call": lambda x: x(1.0),
    "a text": lambda x: x < "a",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_as_outside(name):
    function = MISTAKES[name]
    with pytest.raises(TypeError) as outside:
        function(2.0)
    with pytest.raises(TypeError) as inside:
        minigrad.compile(function)(2.0)
    assert str(inside.value) == str(outside.value)


def _sum_is_zero(xs):
    total = sum(xs)
    return xs[0] if total == 0 else xs[0] / total


def _beside_the_mean(xs):
    mean = sum(xs) / len(xs)
    return sum(x * (1.0 if x == mean else 2.0) for x in xs)


def _ties(xs):
    return xs[0] * 100.0 + xs.count(max(xs)) * 10.0 + xs.index(max(xs))


MADE_OF_NUMBERS = {
    "a sum": _sum_is_zero,
    "each other": _beside_the_mean,
    "the largest": _ties,
    "the largest, as a number": lambda xs: xs[0] * (5.0 if max(xs) == 3.0 else 7.0),
    "abs": lambda xs: xs[0] * (5.0 if abs(xs[0]) == 1.0 else 7.0),
    "not equal": lambda xs: xs[0] * (5.0 if xs[0] - xs[1] != 0.0 else 7.0),
    "in a list": lambda xs: xs[0] * ([x - xs[0] for x in xs].count(0.0) + 1.0),
}


@pytest.mark.parametrize("name", MADE_OF_NUMBERS)
@pytest.mark.parametrize("audit", [False, "always"])
def test_what_is_made_of_numbers_is_compared_as_a_number(name, audit):
    function = MADE_OF_NUMBERS[name]
    fast = minigrad.compile(function, audit=audit)
    for xs in ([1.0, -2.0, 1.0], [1.0, 2.0, 3.0], [-1.0, -1.0, -1.0], [1.0, 3.0, 3.0]):
        assert fast(xs).data == pytest.approx(function(xs), rel=1e-14)  # in plain Python
        with minigrad.strict():  # where it runs as it is
            assert fast(xs).data == pytest.approx(function(xs), rel=1e-14)


def test_a_whole_number_is_no_value():
    w = Value(2.0)

    def f(n, x):
        return x * sum((w == n, n == w, w * 1.0 != n, w.data == w)) + (n * x == 6.0) + (x * 2 == n)

    fast = minigrad.compile(f, audit="always")
    for n in (2, 3, 2):
        assert fast(n, 2.0).data == f(n, 2.0)


def test_what_is_made_of_values_is_equal_to_itself_alone():
    w = Value(2.0)

    def f(x, v):
        made = [w * x, v * x, v + w]
        return sum(m * (5.0 if m in (4.0, x, w) else 7.0) for m in made)

    fast = minigrad.compile(f, audit="always")
    for x in (2.0, 4.0):
        for v in (Value(2.0), Value(1.0)):
            assert fast(x, v).data == f(x, v).data
    assert w != 2.0
    assert w * 2.0 != 4.0
    assert Value(2.0) * 3.0 not in [6.0, 6]
