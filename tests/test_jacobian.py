"""Several results of one call: their derivatives are computed when somebody asks."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from minigrad import Value, where
from minigrad.compiler import jacobian


def outcome(function, xs, weights):
    inputs = [Value(x) for x in xs]
    results = function(inputs)
    sum(w * y for w, y in zip(weights, results, strict=True)).backward()
    return [y.data for y in results], [x.grad for x in inputs]


@pytest.mark.parametrize("count", [2, 63, 64, 65, 200])
@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_gradients_of_many_results(count, backend, monkeypatch):
    monkeypatch.setattr(minigrad.compiler.function, "_TABLE", 10**9)  # always from the table
    w = Value(0.7)

    def f(xs):
        return [(x * w).tanh() * y for x, y in zip(xs, [*xs[1:], xs[0]], strict=True)]

    xs = [0.01 * k - 0.5 for k in range(count)]
    weights = [1.0 + k % 3 for k in range(count)]
    values, grads = outcome(minigrad.compile(f, backend=backend), xs, weights)
    found, w.grad = w.grad, 0.0
    right_values, right_grads = outcome(f, xs, weights)
    assert values == pytest.approx(right_values, rel=1e-14)
    assert grads == pytest.approx(right_grads, rel=1e-12)
    assert found == pytest.approx(w.grad, rel=1e-12)


def test_a_table_that_takes_longer_than_the_function_is_not_made():
    f = minigrad.compile(lambda xs: [x * 2 for x in xs])
    xs = [Value(float(k)) for k in range(1000)]
    with pytest.warns(RuntimeWarning, match="1000 results that depend on 1000 Values"):
        results = f(xs)
    sum(results).backward()
    assert [x.grad for x in xs] == [2.0] * 1000
    assert f.cache_info().eager_calls == 1


def test_one_program_serves_them_all():
    f = minigrad.compile(lambda xs: [x * x for x in xs])
    results = f([Value(float(k)) for k in range(100)])
    for y in results:
        y.backward()
    made = [purpose.what for purpose in f.dispatch.latest().purposes()]
    assert made == ["forward", "jacobian"]


def test_derivatives_are_those_of_the_call_whatever_happens_later():
    w = Value(2.0)
    f = minigrad.compile(lambda x: (x * w, x * x * w))
    x = Value(3.0)
    first, second = f(x)
    w.data = 100.0
    f(Value(50.0))
    second.backward()
    assert (x.grad, w.grad) == (12.0, 9.0)
    assert first._local_grads == (3.0, 2.0)  # by w, by x


def test_infinite_slopes_are_decided_by_exact_programs():
    f = minigrad.compile(lambda x, y: (where(x > 0, x.log(), x), y.sqrt(), x * y))
    x, y = Value(0.0), Value(0.0)
    results = f(x, y)
    results[0].backward()
    assert (x.grad, y.grad) == (1.0, 0.0)


def test_such_nodes_are_copied_and_pickled():
    f = minigrad.compile(lambda x: (x * 2, x * 3))
    _, y = f(Value(1.0))
    for twin in (copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        assert twin._local_grads == (3.0,)


def test_numbers_and_values_side_by_side():
    f = minigrad.compile(lambda x: (x * x, x.data + 1.0, x.data > 2.0, x * 3))
    x = Value(3.0)
    a, b, c, d = f(x)
    assert (b, c) == (4.0, True)
    d.backward()
    a.backward()
    assert x.grad == 9.0


def test_blocks_do_not_show():
    assert jacobian._BLOCK == 64  # the counts above go round it
