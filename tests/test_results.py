"""What a compiled function returns: numbers, Values, and whatever else lies beside them."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import nested, reals, same, statics

import minigrad
from minigrad import TraceError, Value, no_grad
from minigrad.compiler.arguments.results import Template
from minigrad.compiler.arguments.structure import mapped

near = pytest.approx
compiled = functools.partial(minigrad.compile, backend="numpy")


class Pair(NamedTuple):
    a: object
    b: object


def test_many_results(backend):
    def several(x):
        return {"loss": x * x, "parts": [x, (x + 1, Pair(x * 2, "fixed"))], "n": 3, "none": None}

    fast = minigrad.compile(several, backend=backend)
    for x in (2.0, 5.0):
        found = fast(x)
        assert list(found) == ["loss", "parts", "n", "none"]
        assert found["loss"].data == x * x
        assert found["parts"][1][1].a.data == 2 * x
        assert (found["parts"][1][1].b, found["n"], found["none"]) == ("fixed", 3, None)
    v = Value(2.0)
    found = fast(v)
    (found["loss"] + 10 * found["parts"][1][0]).backward()
    assert v.grad == 14.0


def test_numbers_are_returned_as_numbers(backend):
    fast = minigrad.compile(lambda x, n: (x * 2, x.data, x.data > 1, n + 1, n), backend=backend)
    for x, n in [(3.0, 4), (0.5, 7)]:
        _, number, test, more, same = fast(x, n)
        assert (number, test, more, same) == (x, x > 1, n + 1, n)
        assert (type(number), type(test), type(more)) == (float, bool, int)
    assert fast.cache_info().traces == 1


def test_numbers_are_plain_floats(backend):
    w = Value(2.0)
    fast = minigrad.compile(lambda x: w * x, backend=backend)
    result = fast(3.0)
    result.backward()
    value, grads = fast.value_and_grad(3.0)
    with no_grad():
        leaf = fast(3.0)
    of_args, of_w = fast.hvp((3.0,), (1.0,), {w: 1.0})
    found = [result.data, w.grad, value, grads.args[0], grads[w], leaf.data, of_args[0], of_w[w]]
    assert {type(x) for x in found} == {float}


def test_what_is_handed_out_can_be_changed():
    fast = compiled(lambda x: (x * 2, [x, 1], np.zeros(2), {"a": [1]}))
    _, numbers, zeros, table = fast(1.0)
    numbers.append(5)
    zeros[0] = 5.0
    table["a"].append(5)
    _, numbers, zeros, table = fast(1.0)
    assert (len(numbers), zeros.tolist(), table) == (2, [0.0, 0.0], {"a": [1]})


@given(nested(reals | statics), st.data())
def test_a_template_filled_is_what_it_was_made_from(tree, data):
    """Some of the numbers are results: taken out, and put back by their numbers."""
    made = mapped(tree, lambda x: Value(x) if data.draw(st.booleans()) else x, lambda x: x)
    template, results = Template.of(made, [])
    assert all(isinstance(result, Value) for result in results)
    assert same(template.filled(results.__getitem__), made)
    again, others = Template.of(made, [])
    assert template.fits(again, others)


class Box:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    "function", [lambda x: Box(x * 2), lambda x: {x * 2}, lambda x: (k * x for k in (1, 2))]
)
def test_results_that_cannot_be_made_again_are_refused(function):
    with pytest.raises(TraceError):
        minigrad.compile(function, backend="numpy")(1.0)


@pytest.mark.parametrize(
    "returned",
    [
        lambda x: lambda z: x * 2 * z,
        lambda x: (x, lambda: x.data),
        lambda x: __import__("functools").partial(max, x * 2),
        lambda x: slice(0, x * 2),
        lambda x: type("Made", (), {"y": x * 2}),
        lambda x: ValueError(x * 2),
        lambda x: iter([x]),
    ],
)
def test_what_holds_numbers_of_the_call_is_not_returned(returned):
    with pytest.raises(minigrad.TraceError, match="holds numbers of the call|takes from"):
        minigrad.compile(returned)(1.0)
