"""Derivatives as numbers: by Value, and in the structure of the arguments."""

from __future__ import annotations

import copy
import functools

import pytest

import minigrad
from minigrad import Value

near = pytest.approx
compiled = functools.partial(minigrad.compile, backend="numpy")


def test_values_among_the_arguments_get_gradients():
    fast = compiled(lambda xs, y: xs[0] * xs[1] * y)
    a, b = Value(2.0, label="a"), Value(3.0)
    result = fast([a, b], a)
    assert result.data == 12.0
    result.backward()
    assert (a.grad, b.grad) == (12.0, 4.0)
    _, grads = fast.value_and_grad([a, b], a)
    assert (grads[a], grads[b], len(grads), list(grads)) == (12.0, 4.0, 2, [a, b])
    with pytest.raises(KeyError, match="no argument"):
        grads[Value(2.0)]


def test_an_argument_that_is_also_captured():
    w = Value(3.0)
    fast = compiled(lambda x: x * w)
    fast(w).backward()
    assert w.grad == 6.0
    assert fast.grad(w)[w] == 6.0


def test_gradients_of_a_function_with_too_many_ways():
    w = Value(3.0)
    fast = minigrad.compile(lambda n, x: x * w * list(range(100))[n])
    with pytest.warns(RuntimeWarning, match="different ways"):
        answers = [fast.value_and_grad(n, 2.0) for n in range(40)]
    for n, (value, grads) in enumerate(answers):
        assert (value, grads.args, grads[w]) == (6.0 * n, (0.0, 3.0 * n), 2.0 * n)


def test_they_are_a_mapping_and_have_the_structure_of_the_arguments():
    w = Value(2.0)
    _, grads = compiled(lambda x, *, pair: w * x * pair[1]).value_and_grad(3.0, pair=(5.0, 7.0))
    # 2·3·7: by w 21, by x 14, by pair[0] nothing, by pair[1] 6.
    assert (grads[w], grads.args, grads.kwargs) == (21.0, (14.0,), {"pair": (0.0, 6.0)})
    assert dict(grads) == {w: 21.0}
    assert grads.numbers.tolist() == [21.0]
    assert repr(grads) == "Gradients(args=(14.0,), parameters: 1)"


def test_a_copy_has_the_same_derivatives():
    grads = compiled(lambda x, y: x * y).grad(3.0, [5.0][0])
    twin = copy.deepcopy(grads)
    assert twin.args == grads.args == (5.0, 3.0)
