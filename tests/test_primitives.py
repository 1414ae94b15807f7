"""The two primitives, against plain indexing and products; forwards, backwards, batched, again."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.oracle

INDICES = {
    "a permutation": [2, 0, 3, 1],
    "some": [1, 3],
    "nothing": [-1, -1],
    "often": [0, 1, 1, 0, -1, 2, 1],
    "the same": [0, 1, 2, 3],
    "one by very many": [1] * 60 + [0, 2, -1, 3],
}


@pytest.fixture
def primitives(jax):
    from minigrad.compiler.backends.jax import primitives

    return primitives


def matrix(index, size=4):
    """What a gather multiplies by."""
    table = np.zeros((len(index), size))
    for row, at in enumerate(index):
        if at >= 0:
            table[row, at] = 1.0
    return table


@pytest.mark.parametrize("name", INDICES)
def test_a_gather_is_a_product_with_ones_and_zeros(name, jax, primitives):
    index = INDICES[name]
    table, x = matrix(index), np.array([0.5, -1.5, 2.5, 3.0])
    weights = np.linspace(-1, 1, len(index))

    def f(x):
        return primitives.gather(x, np.array(index))

    @jax.jit
    def all_of_it(x, t):
        y, back = jax.vjp(f, x)
        second = jax.jacfwd(jax.grad(lambda x: (f(x) ** 2 * weights).sum()))(x)
        rows = jax.vmap(f)(jax.numpy.stack([x, 2 * x]))
        return y, jax.jvp(f, (x,), (t,))[1], back(weights)[0], second, rows

    t = np.array([1.0, 2.0, 3.0, 4.0])
    y, along, back, second, rows = all_of_it(x, t)
    assert np.array_equal(y, table @ x)
    assert np.array_equal(along, table @ t)
    assert np.allclose(back, table.T @ weights, rtol=1e-14)
    assert np.allclose(second, table.T @ np.diag(2 * weights) @ table, rtol=1e-13)
    assert np.array_equal(rows, np.stack([table @ x, 2 * (table @ x)]))


def test_a_gather_is_never_a_scatter(jax, primitives):
    for index in INDICES.values():
        step = jax.jit(jax.grad(lambda x, i=index: (primitives.gather(x, np.array(i)) ** 2).sum()))
        assert "scatter" not in step.lower(np.zeros(4)).as_text()


def test_a_scaled_product_passes_nothing_on_where_it_is_zero(jax, primitives):
    x = np.array([0.0, 0.0, 2.0, 2.0, 0.0])
    slope = np.array([np.inf, np.nan, np.inf, 3.0, 5.0])
    found = jax.jit(primitives.scaled)(x, slope)
    assert found.tolist() == [0.0, 0.0, np.inf, 6.0, 0.0]
    assert jax.jit(primitives.scaled)(x, 2.0).tolist() == [0.0, 0.0, 4.0, 4.0, 0.0]


def test_a_scaled_product_is_linear_in_both(jax, primitives):
    x, slope = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.5, 2.0])
    dx, dslope = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])

    @jax.jit
    def all_of_it(x, slope):
        total = lambda x, slope: primitives.scaled(x, slope).sum()  # noqa: E731
        along = jax.jvp(primitives.scaled, (x, slope), (dx, dslope))[1]
        only = jax.jvp(lambda s: primitives.scaled(x, s), (slope,), (dslope,))[1]
        return (
            along,
            only,
            jax.grad(total, (0,))(x, slope)[0],
            jax.vmap(primitives.scaled, (0, None))(jax.numpy.stack([x, dx]), slope),
            jax.vmap(primitives.scaled, (None, 1))(x, jax.numpy.stack([slope, dslope], 1)),
        )

    along, only, back, rows, columns = all_of_it(x, slope)
    assert np.allclose(along, dx * slope + x * dslope)
    assert np.allclose(only, x * dslope)
    assert np.allclose(back, slope)
    assert np.allclose(rows, [x * slope, dx * slope])
    assert np.allclose(columns, [x * slope, x * dslope])
