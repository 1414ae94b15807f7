"""`vmap` against a loop over the rows on the eager engine."""

from __future__ import annotations

import math

import pytest

import minigrad
from minigrad import GuardError, Value, take, vmap, where

np = pytest.importorskip("numpy")

near = pytest.approx


def rows_of(args, k):
    return [
        Value(float(a[k])) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in args
    ]


def price(spot, strike, time, rate, sigma):
    """Black and Scholes."""
    root = sigma * time.sqrt()
    d1 = ((spot / strike).log() + (rate + sigma * sigma / 2) * time) / root
    d2 = d1 - root

    def normal(x):
        return (1 + (x / math.sqrt(2)).erf()) / 2

    return spot * normal(d1) - strike * (-rate * time).exp() * normal(d2)


def market(count, seed=0):
    rng = np.random.default_rng(seed)
    limits = [(80, 120), (80, 120), (0.1, 2), (0.0, 0.1), (0.1, 0.5)]
    return [rng.uniform(low, high, count) for low, high in limits]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 63, 64, 65, 257])
def test_rows_of_any_number(count, backend):
    columns = market(count)
    values, grads = vmap(price, backend=backend).value_and_grad(*columns)
    assert values.shape == (count,)
    assert len(grads) == 5
    for k in {0, count // 2, count - 1}:
        leaves = rows_of(columns, k)
        expected = price(*leaves)
        expected.backward()
        assert values[k] == near(expected.data, rel=1e-12)
        assert [g[k] for g in grads] == near([v.grad for v in leaves], rel=1e-11)


@pytest.mark.smoke
def test_every_row(backend):
    columns = market(100, seed=1)
    fast = vmap(price, backend=backend)
    values = fast(*columns)
    assert values.tolist() == near(
        [price(*rows_of(columns, k)).data for k in range(100)], rel=1e-12
    )
    assert fast.grad(*columns)[0].shape == (100,)
    assert fast.cache_info().traces == 1


@pytest.mark.smoke
def test_put_call_parity_holds_in_every_row(backend):
    spot, strike, time, rate, sigma = market(200, seed=2)

    def put(spot, strike, time, rate, sigma):
        return price(spot, strike, time, rate, sigma) - spot + strike * (-rate * time).exp()

    call = vmap(price, backend=backend)(spot, strike, time, rate, sigma)
    other = vmap(put, backend=backend)(spot, strike, time, rate, sigma)
    assert call - other == near(spot - strike * np.exp(-rate * time))
    assert (other > -1e-9).all()


def test_what_serves_all_rows(backend):
    w = Value(2.0)
    xs = np.array([1.0, 2.0, 4.0])
    fast = vmap(lambda x, k, pair, v: w * x * k + pair[0] * v - pair[1], backend=backend)
    v = Value(3.0)
    values, grads = fast.value_and_grad(xs, 5.0, [0.5, 0.25], v)
    assert values.tolist() == (2 * xs * 5 + 1.5 - 0.25).tolist()
    assert grads[0].tolist() == [10.0, 10.0, 10.0]
    assert grads[1] == near(2 * xs.sum())
    assert list(grads[2]) == near([9.0, -3.0])
    assert grads[3] == near(1.5)
    assert grads.parameters == (w,)
    assert list(grads.totals) == near([5 * xs.sum()])
    w.data = 3.0  # is read afresh
    assert fast(xs, 5.0, [0.5, 0.25], v)[0] == 15 + 1.5 - 0.25


def test_tables(backend):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(37, 4)), rng.normal(size=(37, 2, 2))
    ws = [Value(x) for x in rng.normal(size=4)]

    def function(xs, m):
        return (minigrad.dot(ws, list(xs)) + m[0][0] * m[1][1] - m[0][1] * m[1][0]).tanh()

    values, grads = vmap(function, backend=backend).value_and_grad(a, b)
    assert grads[0].shape == a.shape
    assert grads[1].shape == b.shape
    totals = np.zeros(4)
    for k in range(37):
        xs = [Value(x) for x in a[k]]
        m = [[Value(x) for x in row] for row in b[k]]
        result = function(xs, m)
        slopes = minigrad.grad(result, [*ws, *xs, *m[0], *m[1]])
        assert values[k] == near(result.data, rel=1e-12)
        assert grads[0][k].tolist() == near(slopes[4:8], rel=1e-11)
        assert grads[1][k].ravel().tolist() == near(slopes[8:], rel=1e-11)
        totals += slopes[:4]
    assert list(grads.totals) == near(totals.tolist(), rel=1e-11)


def test_indices(backend):
    table = [[Value(1.0), Value(2.0)], [Value(30.0), Value(40.0)], [Value(500.0), Value(600.0)]]

    def function(i, x):
        a, b = take(table, i)
        return a * x + b

    fast = vmap(function, backend=backend)
    i, x = np.array([0, 2, 1, -1, 2]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    values, grads = fast.value_and_grad(i, x)
    flat = [[v.data for v in row] for row in table]
    assert values.tolist() == [flat[k][0] * y + flat[k][1] for k, y in zip(i, x, strict=True)]
    assert grads[0].tolist() == [0.0] * 5
    assert grads[1].tolist() == [flat[k][0] for k in i]
    expected = np.zeros((3, 2))
    for k, y in zip(i, x, strict=True):
        expected[k] += [y, 1.0]
    found = dict(zip(grads.parameters, grads.totals, strict=True))
    assert [[found[v] for v in row] for row in table] == expected.tolist()
    assert fast.cache_info().traces == 1
    with pytest.raises(IndexError):
        fast(np.array([0, 3]), np.array([1.0, 2.0]))


def test_several_results(backend):
    xs = np.array([1.0, 2.0, 3.0])
    fast = vmap(lambda x: {"a": x * x, "b": (x, [x.exp()])}, backend=backend)
    found = fast(xs)
    assert found["a"].tolist() == [1.0, 4.0, 9.0]
    assert found["b"][0].tolist() == xs.tolist()
    assert found["b"][1][0].tolist() == near(np.exp(xs).tolist())
    values, grads = fast.value_and_grad(xs)
    assert values["a"].tolist() == [1.0, 4.0, 9.0]
    assert grads[0].tolist() == [2.0, 4.0, 6.0]  # of the first
    assert vmap(lambda x: Value(3.0), backend=backend)(xs).tolist() == [3.0] * 3
    assert vmap(lambda x: x, backend=backend)(xs).tolist() == xs.tolist()


def test_arrays_that_do_not_lie_in_a_row(backend):
    a = np.arange(80.0).reshape(20, 4)
    fast = vmap(lambda x, y: x * 2 + y[0] * y[1], backend=backend)
    for x, y in [
        (a[::2, 1], a[:10, ::2]),
        (a[::-1, 3], a[:, ::-2]),
        (np.asfortranarray(a)[:, 1], np.asfortranarray(a)[:, :2]),
        (a[:, 1].astype(np.float32), a.astype(np.float32)[:, :2]),
        (np.broadcast_to(np.array(3.0), 20), a[:, :2]),
    ]:
        assert fast(x, y).tolist() == (x * 2 + y[:, 0] * y[:, 1]).tolist()


def test_a_choice_differs_from_row_to_row(backend):
    xs = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    values, grads = vmap(
        lambda x: where(x > 0, x.log() * 2, x * 3), backend=backend
    ).value_and_grad(xs)
    expected = [-6.0, -1.5, 0.0, 2 * math.log(0.5), 2 * math.log(2.0)]
    assert values.tolist() == near(expected)
    assert grads[0].tolist() == near([3.0, 3.0, 3.0, 4.0, 1.0])


def test_a_branch_must_not(backend):
    fast = vmap(lambda x: x * 2 if x > 0 else x * 3, backend=backend)
    assert fast(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    with pytest.raises(GuardError, match=r"row 2 .*a branch, at .*test_vmap\.py:\d+.*where\("):
        fast(np.array([1.0, 2.0, -1.0, 3.0]))
    # All rows the other way is another program.
    assert fast(np.array([-1.0, -2.0])).tolist() == [-3.0, -6.0]
    assert fast(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_bad_input(backend):
    fast = vmap(lambda x, y: x * y, backend=backend)
    with pytest.raises(TypeError, match="no argument is a NumPy array"):
        fast(1.0, 2.0)
    with pytest.raises(ValueError, match="arrays of 2, 3 rows"):
        fast(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="no rows"):
        fast(np.ones(0), 1.0)
    for strange in (np.array(["a"]), np.array([1j]), np.array([True])):
        with pytest.raises(TypeError, match="give numbers"):
            fast(strange, 1.0)


def test_a_number_may_be_an_array_too(backend):
    fast = vmap(lambda x, y: x * y, backend=backend)
    assert fast(np.array([1.0, 2.0]), np.array(3.0)).tolist() == [3.0, 6.0]
    assert fast(np.array([1.0, 2.0]), np.float64(3.0)).tolist() == [3.0, 6.0]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(threads, backend):
    columns = market(1000, seed=4)
    w = Value(1.5)
    fast = vmap(lambda *xs: price(*xs) * w, backend=backend)
    one = fast.value_and_grad(*columns, threads=1)
    many = fast.value_and_grad(*columns, threads=threads)
    assert (one[0] == many[0]).all()
    assert all((a == b).all() for a, b in zip(one[1], many[1], strict=True))
    assert list(one[1].totals) == near(list(many[1].totals), rel=1e-12)


def test_the_other_name(backend):
    @minigrad.compile(batch=True, backend=backend)
    def square(x):
        """Its text."""
        return x * x

    assert square(np.array([3.0])).tolist() == [9.0]
    assert (square.__name__, square.__doc__) == ("square", "Its text.")
    assert "mul" in str(square.program)
    assert "1 instruction, run by" in square.explain()
    again = vmap(minigrad.compile(lambda x: x + 1), backend=backend)
    assert again(np.array([3.0])).tolist() == [4.0]


def test_edges_survive_in_lanes(backend):
    xs = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324, 1.0, -1.0])
    fast = vmap(lambda x: (x - x, 1 / x, x * 0.0, x.exp(), x.tanh()), backend=backend)
    for found, function in zip(
        fast(xs),
        [
            lambda x: x - x,
            lambda x: 1 / x,
            lambda x: x * 0.0,
            lambda x: x.exp(),
            lambda x: x.tanh(),
        ],
        strict=True,
    ):
        expected = [function(Value(x)).data for x in xs.tolist()]
        for got, right in zip(found.tolist(), expected, strict=True):
            assert got == near(right, rel=1e-14, abs=0.0, nan_ok=True)
            assert right != 0 or math.copysign(1, got) == math.copysign(1, right)


@pytest.mark.parametrize("backend", ["native", "numpy"], indirect=True)
def test_a_row_that_is_not_finite_hides_no_other_way(backend):
    def either(x):
        return x.log() if x < 100.0 else x * 1.0

    xs = np.full(20_000, 2.0)
    xs[0] = 0.0  # the exact program, which is to say what its logarithm is, has no guards
    fast = vmap(either, backend=backend)
    assert fast(xs)[:2].tolist() == near([-math.inf, math.log(2.0)])
    for row in (3, 100, 19_999):
        xs[row] = 200.0
        with pytest.raises(GuardError, match=f"row {row} would take another way"):
            fast(xs)
        xs[row] = 2.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arrays_that_lie_between_addresses(backend, dtype):
    memory = bytearray(1 + 40 * np.dtype(dtype).itemsize)
    table = np.frombuffer(memory, dtype, offset=1).reshape(20, 2)
    table[...] = np.arange(40.0).reshape(20, 2)
    assert not table.flags.aligned
    fast = vmap(lambda x, y: x[0] * x[1] + y, backend=backend, dtype=dtype)
    values, grads = fast.value_and_grad(table, table[:, 1])
    assert values.tolist() == [2.0 * k * (2 * k + 1) + 2 * k + 1 for k in range(20)]
    assert grads[0][:, 0].tolist() == [2.0 * k + 1 for k in range(20)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_takes_fewer_rows_at_once_of_a_long_program(dtype, monkeypatch):
    from minigrad.compiler.backends import numpy as numpy_backend

    def function(x, k):
        return (x * k).sin() * 2.0

    xs = np.linspace(-2.0, 2.0, 50).astype(dtype)
    values, grads = vmap(function, backend="numpy", dtype=dtype).value_and_grad(xs, 1.5)
    most = []
    ran = numpy_backend.Prepared.run
    noted = lambda self, block: (most.append(block.size), ran(self, block))[1]  # noqa: E731
    monkeypatch.setattr(numpy_backend.Prepared, "run", noted)
    monkeypatch.setattr(numpy_backend, "_PIECE", 100)
    others, slopes = vmap(function, backend="numpy", dtype=dtype).value_and_grad(xs, 1.5)
    assert len(most) > 6
    assert max(most) <= 100
    assert values.tolist() == others.tolist()
    assert grads[0].tolist() == slopes[0].tolist()
    assert slopes[1] == pytest.approx(grads[1], rel=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("numbers", [[1, 2], [1.0, 2.0], 3])
def test_masked_arrays_are_refused(numbers, dtype):
    table = np.ma.masked_array(numbers, np.ones_like(numbers))
    with pytest.raises(TypeError, match="got a masked array; give the rows that count"):
        vmap(lambda x, y: x * y, dtype=dtype)(table, np.ones(2))


def test_the_remedy_for_an_index_is_take():
    table = {0: 2.0, 1: 3.0}
    rows = minigrad.vmap(lambda x, k: x * table[k])
    assert rows(np.array([1.0, 2.0]), np.array([1, 1])).tolist() == [3.0, 6.0]
    plain = minigrad.vmap(lambda x, k: x * [2.0, 3.0][k])
    with pytest.raises(minigrad.GuardError, match=r"row 1 .*an index.*take\(rows, i\)"):
        plain(np.array([1.0, 2.0]), np.array([0, 1]))


def test_derivatives_by_what_is_closed_over_are_told_where_they_are():
    w = Value(2.0)
    _, grads = minigrad.vmap(lambda x: x * w).value_and_grad(np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"grads\.totals, in the order of grads\.parameters"):
        grads[w]
