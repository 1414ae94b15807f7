"""Every operation of the table on JAX: values and slopes, at samples, probes, kinks and ends."""

from __future__ import annotations

import itertools
import math
import random
import warnings

import pytest

np = pytest.importorskip("numpy")

from minigrad.codegen.elementwise import MAPS  # noqa: E402
from minigrad.compiler.passes.grad import FLAT  # noqa: E402
from minigrad.maths import floats as ieee  # noqa: E402

pytestmark = pytest.mark.oracle

ENDS = (0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan)
OPS = [name for name in MAPS if name not in ("where", "linear")]


@pytest.fixture
def library(jax):
    from minigrad.compiler.backends.jax import library

    return library


def points(op, count=24, probes=True):
    rng = random.Random(op.name)
    domain = op.domain or ((-2.0, 2.0),) * op.arity
    drawn = [tuple(rng.uniform(*side) for side in domain) for _ in range(count)]
    if not probes:
        return drawn
    ends = list(itertools.product(ENDS, repeat=op.arity)) if op.arity < 3 else []
    # XLA rewrites a / b / c, which overflows, and x + 0.0, which keeps the sign of -0.0.
    return [
        row
        for row in (*drawn, *op.probes, *ends)
        if not any(0 < abs(x) < 1e-150 or 1e150 < abs(x) < math.inf for x in row)
        and not (op.name in ("log", "sqrt") and math.copysign(1, row[0]) < 0 and row[0] == 0)
    ]


def wanted(op, rows):
    """Values and slopes as the table gives them for plain floats."""
    values, slopes = [], []
    for row in rows:
        y = op.value(ieee, *row)
        values.append(float(y))
        slopes.append([float(d) for d in op.derivatives(ieee, y, *row)])
    return np.array(values), np.array(slopes).T


def computed(jax, run, columns):
    def all_of_it(*columns):
        y, back = jax.vjp(run, *columns)
        return y, back(jax.numpy.ones_like(y))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y, slopes = jax.jit(all_of_it)(*columns)
    return np.asarray(y, float), np.asarray(slopes, float)


def close(found, expected, rel, least=0.0):
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(all="ignore"):
        near = np.abs(found - expected) <= rel * np.abs(expected) + least
    return same | (near & np.isfinite(expected))


@pytest.mark.parametrize("name", OPS)
def test_values_and_slopes_are_those_of_the_table(name, jax, library):
    op = MAPS[name]
    rows = points(op)
    values, slopes = wanted(op, rows)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    y, back = computed(jax, library.elementwise(name), columns)
    # XLA takes numbers below the smallest normal one for 0.
    tiny = 4 * np.finfo(float).tiny
    wrong = ~close(y, values, 1e-13, tiny)
    assert not wrong.any(), [(rows[k], y[k], values[k]) for k in np.flatnonzero(wrong)]
    if name in FLAT:
        assert not back.any()
        return
    wrong = ~close(back, slopes, 1e-13, tiny).all(axis=0)
    assert not wrong.any(), [(rows[k], back[:, k], slopes[:, k]) for k in np.flatnonzero(wrong)]


@pytest.mark.parametrize("name", OPS)
def test_in_32_bits_they_are_near(name, jax, library):
    op = MAPS[name]
    rows = points(op, probes=False)
    columns = [np.array(column, np.float32) for column in zip(*rows, strict=True)]
    values, slopes = wanted(op, [tuple(map(float, row)) for row in zip(*columns, strict=True)])
    y, back = computed(jax, library.elementwise(name), columns)
    assert close(y, values, 1e-4, 1e-5).all()
    if name not in FLAT:
        assert close(back, slopes, 1e-3, 1e-4).all()


KINKS = {
    "relu": ((0.0,), (0.0,)),
    "abs": ((0.0,), (0.0,)),
    "maximum": ((2.0, 2.0), (0.5, 0.5)),
    "minimum": ((2.0, 2.0), (0.5, 0.5)),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks(name, jax, library):
    at, slopes = KINKS[name]
    run, places = library.elementwise(name), tuple(range(len(at)))
    for mode in (jax.grad, jax.jacfwd):
        assert tuple(map(float, mode(run, places)(*at))) == slopes


def test_known_operands_are_not_followed(jax, library):
    run = library.elementwise("pow")
    square = jax.jit(jax.value_and_grad(lambda x: run(x, 2.0)))
    assert tuple(map(float, square(3.0))) == (9.0, 6.0)
    power = jax.jit(jax.value_and_grad(lambda x: run(2.0, x)))
    assert tuple(map(float, power(3.0))) == pytest.approx((8.0, 8.0 * math.log(2.0)))


@pytest.mark.parametrize("n", [-0.5, -1.5])
def test_powers_of_a_norm(n, jax, library):
    """They are roots and quotients, and no logarithm is taken; the ends are those of a power."""
    run = library.elementwise("pow")
    both = jax.jit(jax.value_and_grad(lambda x: run(x, n)))
    for x in (0.3, 7.0, 1e-12, 1e30):
        assert tuple(map(float, both(x))) == pytest.approx((x**n, n * x ** (n - 1)), rel=1e-15)
    for x in (0.0, math.inf):
        assert tuple(map(float, both(x))) == ((math.inf, -math.inf) if x == 0 else (0.0, 0.0))
    assert all(map(math.isnan, both(-2.0)))
    assert float(run(-0.0, -0.5)) == math.inf
    twice = jax.jit(jax.grad(jax.grad(lambda x: run(x, n))))
    assert float(twice(2.0)) == pytest.approx(n * (n - 1) * 2.0 ** (n - 2), rel=1e-14)
    assert " power(" not in jax.jit(lambda x: run(x, n)).lower(1.0).compile().as_text()


@pytest.mark.parametrize("skips", [False, True])
def test_operands_are_stretched(skips, jax, library):
    """Along axes of length 1; the gradient is added up along them."""
    a, b = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[2.0], [-4.0]])
    run = library.elementwise("div", skips)
    y, back = jax.vjp(jax.jit(run), a, b)
    assert y.tolist() == (a / b).tolist()
    by_a, by_b = back(np.ones((2, 3)))
    np.testing.assert_allclose(by_a, np.broadcast_to(1 / b, (2, 3)), rtol=1e-15)
    np.testing.assert_allclose(by_b, -a.sum(axis=1, keepdims=True) / b**2, rtol=1e-15)
    _, forward = jax.jvp(run, (a, b), (np.zeros((2, 3)), np.ones((2, 1))))
    np.testing.assert_allclose(forward, -a / b**2, rtol=1e-15)


def test_nan_goes_through_a_relu(jax, library):
    value, slope = jax.jit(jax.value_and_grad(library.elementwise("relu")))(math.nan)
    assert math.isnan(value)
    assert math.isnan(slope)


def test_slopes_are_differentiated_again(jax, library):
    for name, x in (("tanh", 0.3), ("log", 2.0), ("gelu", -0.4), ("softplus", 0.2)):
        op = library.elementwise(name)
        second = float(jax.jit(jax.grad(jax.grad(op)))(x))
        h = 1e-5
        slope = jax.jit(jax.grad(op))
        assert second == pytest.approx(float(slope(x + h) - slope(x - h)) / (2 * h), rel=1e-7)


def test_the_largest_is_that_of_max(jax, library):
    lib = library.JaxLibrary(np.float64, None, exact=True)
    nan, inf = math.nan, math.inf
    rows = [[1.0, 3.0, 3.0], [nan, 1.0, 2.0], [1.0, nan, 2.0], [2.0, nan, 1.0], [-inf, -inf, nan]]
    largest, which = jax.jit(lib.largest)(np.array(rows))
    for row, number, at in zip(rows, largest.tolist(), which.tolist(), strict=True):
        assert repr(number) == repr(max(row))
        assert at == max(range(3), key=row.__getitem__)
    quick, _ = library.JaxLibrary(np.float64, None).largest(np.array(rows))  # never a wrong number
    for row, number in zip(rows, quick.tolist(), strict=True):
        assert math.isnan(number) if any(map(math.isnan, row)) else number == max(row)


def test_one_hot_knows_what_is_an_index(jax, library):
    lib = library.JaxLibrary(np.float64, None)
    here, poison = lib.one_hot(np.array([0.0, -1.0, 2.0, 3.0, -4.0, 0.5, math.nan]), 3)
    assert np.argmax(here, axis=1)[:3].tolist() == [0, 2, 2]
    assert np.isnan(poison).tolist() == [False] * 3 + [True] * 4
    assert here.sum(axis=1).tolist() == [1] * 3 + [3] * 4  # what is none is everywhere
    here, poison = lib.one_hot(np.array([0, -1, 3, -4], np.int32), 3)
    assert np.isnan(poison).tolist() == [False, False, True, True]
