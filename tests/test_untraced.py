"""A function run as it is, on arguments that stand for those of a compiled call."""

from __future__ import annotations

import math

import minigrad
from minigrad import Value
from minigrad.compiler.arguments.structure import flat_call
from minigrad.compiler.tracing.untraced import RUNNING, StandIns, uncompiled


def test_a_leaf_for_each_number():
    x = Value(3.0, label="x")
    given = StandIns(flat_call((2.0, [x, 5]), {"k": 0.5}))
    output = given.run(lambda a, pair, k: a * pair[0] * pair[1] + k)
    assert [leaf.data for leaf in given.leaves] == [2.0, 3.0, 5.0, 0.5]
    assert given.leaves[1].label == "x"
    assert given.leaves[1] is not x
    assert output.data == 30.5
    # a·x·n + k: 15, 10, 6 and 1.
    assert minigrad.grad(output, given.leaves) == [15.0, 10.0, 6.0, 1.0]
    assert x.grad == 0.0


def test_whole_numbers_that_were_used_as_such_are_known():
    rows = [10.0, 20.0, 30.0]
    given = StandIns(flat_call((2.0, 1, 2), {}))
    output = given.run(lambda x, n, i: x * n * rows[i])
    assert output.data == 60.0
    assert given.wholes() == [2]


def test_math_is_followed():
    given = StandIns(flat_call((0.25,), {}))
    output = given.run(lambda x: x * math.sqrt(x))
    assert output.data == 0.125
    assert minigrad.grad(output, given.leaves) == [0.75]  # 3/2·√x


def test_compiled_functions_inside_run_as_they_are():
    square = minigrad.compile(lambda x: x * x)
    with uncompiled():
        assert len(RUNNING) == 1
        with uncompiled():  # in another one, it is the outer that ends it
            pass
        assert square(3.0).data == 9.0
    assert not RUNNING
    assert square.cache_info().calls == 0
