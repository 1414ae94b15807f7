"""Floats that a function is given, as Values: they still answer like numbers."""

from __future__ import annotations

import math

import pytest

import minigrad
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
