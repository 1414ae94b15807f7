"""Floats that a function is given, as Values: they still answer like numbers."""

from __future__ import annotations

import pytest

import minigrad

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
