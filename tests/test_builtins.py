"""What stands in for Python's own functions while a function is traced."""

from __future__ import annotations

import builtins
import contextlib
import json
import math
import random
import statistics
import threading

import numpy as np
import pytest

import minigrad
from minigrad import TraceError, Value
from minigrad.compiler.tracing.builtins import _DOMAINS, _PATCHES

POINTS = {"asin": 0.3, "acos": -0.4, "log1p": -0.2}


@pytest.mark.parametrize("name", _DOMAINS)
def test_functions_of_math_stay_open(name):
    """On what was read they are numbers, on arguments they have derivatives."""
    plain = getattr(math, name)
    x = POINTS.get(name, 0.7)
    read = minigrad.compile(lambda v: v * getattr(math, name)(v.data))
    given = minigrad.compile(lambda t: getattr(math, name)(t))
    for at in (x, x * 1.1, x * 0.9):
        assert read(at).data == pytest.approx(at * plain(at), rel=1e-14)
        value, grads = given.value_and_grad(at)
        slope = (plain(at + 1e-6) - plain(at - 1e-6)) / 2e-6
        assert (value, grads.args[0]) == pytest.approx((plain(at), slope), rel=1e-6)
    assert read.cache_info().traces == given.cache_info().traces == 1


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("log", 1.0, -1.0), ("sqrt", 1.0, -1.0), ("asin", 0.5, 2.0)]
)
def test_what_raises_outside_raises_in_a_replay(name, good, bad):
    f = minigrad.compile(lambda v: v * getattr(math, name)(v.data))
    f(good)
    with pytest.raises(ValueError, match="math domain error|expected a"):
        f(bad)


def test_an_overflow_raises_in_a_replay():
    f = minigrad.compile(lambda v: v * math.exp(v.data))
    f(1.0)
    with pytest.raises(OverflowError):
        f(1000.0)


def test_what_was_caught_is_a_way_through_the_function():
    """An entropy that skips what has no logarithm."""

    def entropy(ps):
        total = 0.0
        for p in ps:
            with contextlib.suppress(ValueError):
                total = total - p * math.log(p.data)
        return total

    def power(x):
        try:
            return x * x.data**100
        except OverflowError:
            return x * 0

    f, g = minigrad.compile(entropy), minigrad.compile(power)
    for ps in ([0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [0.25, 0.75]):
        assert f(ps).data == pytest.approx(entropy([Value(p) for p in ps]).data)
    for x in (1e300, 2.0, 1e200, 3.0):
        assert g(x).data == pytest.approx(power(Value(x)).data)


def test_a_function_of_math_is_followed_in_an_audit_and_uncompiled():
    f = minigrad.compile(lambda t: math.exp(t) * 2, audit="always")
    for x in (0.5, 1.0, 2.0):
        value, grads = f.value_and_grad(x)
        assert (value, grads.args[0]) == pytest.approx((2 * math.exp(x),) * 2)
        assert f(x) == pytest.approx(2 * math.exp(x))
    with minigrad.strict():
        assert f.value_and_grad(1.0)[1].args[0] == pytest.approx(2 * math.e)
        assert f(1.0) == pytest.approx(2 * math.e)


def test_handed_on_it_asks_for_a_float_and_says_what_to_write():
    with pytest.raises(TypeError, match=r"minigrad\.sin"):
        minigrad.compile(lambda t, fn: fn(t))(1.0, math.sin)


def test_isnan_can_choose():
    f = minigrad.compile(lambda v: minigrad.where(math.isnan(v.data), 0.0, v * 2))
    assert [f(x).data for x in (1.0, math.nan, 3.0)] == [2.0, 0.0, 6.0]


def test_everything_is_as_before_when_a_trace_is_over_however_it_ends():
    before = [getattr(room, name) for room, name in _PATCHES]

    def fails(x):
        raise RuntimeError

    minigrad.compile(lambda x: max(x, 0.0))(1.0)
    with pytest.raises(RuntimeError):
        minigrad.compile(fails)(1.0)
    assert [getattr(room, name) for room, name in _PATCHES] == before


def test_other_threads_are_not_disturbed():
    seen = []

    def f(x):
        thread = threading.Thread(
            target=lambda: seen.append((max([1, 2]), math.exp(0.0), json.dumps([1.5])))
        )
        thread.start()
        thread.join()
        return x * builtins.max(2.0, 1.0)

    assert minigrad.compile(f)(1.0).data == 2.0
    assert seen == [(2, 1.0, "[1.5]")]


def test_json_and_statistics_of_numbers_that_were_read():
    xs = [1.0, 2.0, 4.0]
    f = minigrad.compile(lambda vs: vs[0] * statistics.mean([v.data for v in vs]))
    assert f(xs).data == statistics.mean(xs)
    g = minigrad.compile(lambda v: v * json.loads(json.dumps({"a": v.data}))["a"])
    assert [g(x).data for x in xs] == [x * x for x in xs]


def by_number(v):
    return v.data


@pytest.mark.parametrize(
    ("function", "traces"),
    [
        (lambda xs: max(xs, key=by_number) * 2 - min(xs, key=lambda v: abs(v.data)), 1),
        (lambda xs: sum([(x - max(xs, key=by_number).data).exp() for x in xs]).log(), 1),
        (lambda xs: xs[max(range(3), key=lambda k: xs[k].data)] * xs[0], 1),
        (lambda xs: max(xs[0], xs[1], key=lambda v: -v) * xs[2], 1),
        (lambda xs: xs[0] * max([], key=by_number, default=3.0), 1),
        # Of what no program can hold, each choice is a way through the function.
        (lambda xs: xs["ab".index(max("ab", key=lambda c: xs["ab".index(c)].data))] * xs[2], 2),
    ],
)
def test_the_largest_by_a_key_stays_open(function, traces):
    f = minigrad.compile(function, audit="always")
    for xs in ([1.0, -2.0, 0.5], [-1.0, 2.0, 2.0], [0.5, 0.5, -0.5], [0.1, 0.3, -7.0]):
        inputs = [Value(x) for x in xs]
        result = function(inputs)
        result.backward()
        value, grads = f.value_and_grad(xs)
        assert value == pytest.approx(result.data, rel=1e-14)
        assert grads.args[0] == pytest.approx([v.grad for v in inputs], rel=1e-14)
    assert f.cache_info().traces == traces


def test_a_key_is_asked_once_of_each():
    asked = []

    def key(v):
        asked.append(v)
        return v.data

    minigrad.compile(lambda xs: max(xs, key=key))([1.0, 3.0, 2.0])
    assert len(asked) % 3 == 0  # in each of the runs that tracing takes
    assert len(asked) == len(set(map(id, asked)))


def test_of_arguments_they_would_lose_the_derivative_and_say_so():
    with pytest.raises(TypeError, match=r"minigrad\.mean"):
        minigrad.compile(lambda ts: statistics.mean(ts))([1.0, 2.0])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng().normal(),
        lambda: random.Random().random(),
        lambda: random.SystemRandom().random(),
        lambda: __import__("secrets").randbelow(1000),
        lambda: __import__("uuid").uuid4().int % 1000,
    ],
)
def test_randomness_without_a_state_is_refused(draw):
    with pytest.raises(TraceError, match="random numbers"):
        minigrad.compile(lambda x: x * draw())(1.0)


def test_a_seed_makes_it_no_randomness():
    f = minigrad.compile(lambda x: x * np.random.default_rng(7).normal())
    right = np.random.default_rng(7).normal()
    assert [f(x).data for x in (1.0, 2.0)] == [right, 2.0 * right]


@pytest.mark.parametrize("x", [1e16, 0.1, 3.0])
def test_sums_of_numbers_are_those_of_this_python(x):
    """Newer ones make good what rounding loses."""
    function = lambda v: v * sum([v.data, 1.0, -v.data, 0.1])  # noqa: E731
    f = minigrad.compile(function)
    f(2.0)
    assert f(x).data == function(Value(x)).data
