"""Whole numbers in a trace: they stay open where they can, and are exact."""

from __future__ import annotations

import pytest

import minigrad
from minigrad import Value, take

near = pytest.approx


def replay(function, *calls):
    """Compile, call with each set of arguments; return the numbers and how often it was traced."""
    compiled = minigrad.compile(function, backend="numpy")
    found = []
    for arguments in calls:
        result = compiled(*arguments)
        found.append(result.data if isinstance(result, Value) else result)
    return found, compiled.cache_info().traces


ROWS = [[1.0, 2.0], [30.0, 40.0], [500.0, 600.0]]


WHOLE = {
    "list index": lambda i, x: x * ROWS[i][0],
    "range": lambda i, x: minigrad.sum([x * k for k in range(i + 1)]),
    "repetition": lambda i, x: minigrad.sum([x] * (i + 1)),
    "slice": lambda i, x: x * len(ROWS[: i + 1]),
    "largest": lambda i, x: x * ROWS[max(0, i - 1)][1],
    "smallest": lambda i, x: x * ROWS[min(i, 1)][1],
    "bits": lambda i, x: x * ((i & 1) + (i >> 1) + (i << 1) + (i ^ 3) + (i | 4)),
    "divmod": lambda i, x: x * sum(divmod(i, 2)) + i // 2 + i % 2,
    "kind": lambda i, x: x * 2 if isinstance(i, int) else x * 3,
    "branch": lambda i, x: x * 2 if i == 1 else x * 3,
    "arithmetic": lambda i, x: x * i - i / 2 + (3 - i) * x,
    "exponent": lambda i, x: x**i,
    "rows": lambda i, x: x * take(ROWS, i)[0] + take(ROWS, i)[1],
    "columns": lambda i, x: x * take([row[1] for row in ROWS], i),
    "a list of indices": lambda i, x: x * ROWS[take([2, 0, 1], i)][0],
    "functions": lambda i, x: take([Value.exp, Value.tanh, Value.sin], i)(x),
    "letters": lambda i, x: x * "bca".index(take("abc", i)),
    "a dict": lambda i, x: take({0: x, 1: x * 2, 2: x * 3}, i),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name):
    function = WHOLE[name]
    calls = [(i, x) for i in (0, 1, 2, 1) for x in (0.5, 1.5)]
    found, traces = replay(function, *calls)
    assert found == near([function(i, Value(x)).data for i, x in calls], rel=1e-14)
    assert traces <= 3


@pytest.mark.parametrize("name", ["arithmetic", "exponent", "rows", "columns"])
def test_whole_numbers_that_stay_open(name):
    _, traces = replay(WHOLE[name], *[(i, 0.5) for i in (0, 1, 2)])
    assert traces == 1


def test_take_counts_from_the_end_and_knows_its_bounds():
    table = [Value(1.0), Value(20.0), Value(300.0)]
    compiled = minigrad.compile(lambda i: take(table, i) * 2, backend="numpy")
    assert [compiled(i).data for i in (0, -1, 2, -3)] == [2.0, 600.0, 600.0, 2.0]
    for index in (3, -4):
        with pytest.raises(IndexError):
            compiled(index)
        with pytest.raises(IndexError):
            minigrad.compile(lambda i: take(table, i) * 2)(index)
    minigrad.zero_grad(table)
    compiled(-1).backward()
    assert [v.grad for v in table] == [0.0, 0.0, 2.0]


def test_take_from_arrays():
    np = pytest.importorskip("numpy")
    table = np.array([[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]])
    compiled = minigrad.compile(lambda i, j: take(take(table, i), j) * 1.0, backend="numpy")
    found = [compiled(i, j).data for i in (0, 1) for j in (0, 1)]
    assert found == [1.0, 2.0, 3.0, 4.0]
    assert compiled.cache_info().traces == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x * (max(n, 2**60 + 1) % 1000),
        lambda x, n: x * (minigrad.take([2**60 + 1, 3, 2**61 + 3], n) % 1000),
        lambda x, n: x * ((2**60 + n) % 10),
        lambda x, n: x * (n**5 % 1009),
        lambda x, n: x * (n * n * n * 10**12 % 7),
        lambda x, n: x if n < 2**60 + 1 else x * 2,
    ],
)
def test_whole_numbers_beyond_floats_are_exact(function):
    calls = [(1.0, n) for n in (0, 2, 1, 2, 0)]
    found, _ = replay(function, *calls)
    assert found == [function(Value(x), n).data for x, n in calls]
