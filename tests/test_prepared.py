"""`compile` and `vmap` on JAX against NumPy: values, gradients, branches, batches in chunks."""

from __future__ import annotations

import math
from contextlib import nullcontext

import pytest

np = pytest.importorskip("numpy")

from agreement import check, program_of, reproduction  # noqa: E402

import minigrad  # noqa: E402
from minigrad import GuardError, Value, where  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("jax")]

near = pytest.approx


def curve(x, y):
    return (x * y + 1.0).tanh() * (x - y).exp() + where(x > y, x * x, y)


def on(backend, function=curve, **options):
    return minigrad.compile(function, backend=backend, **options)


def test_values_and_gradients():
    fast, slow = on("jax"), on("numpy")
    for x, y in ((0.5, 0.25), (-1.5, 2.0), (3.0, 3.0)):
        value, grads = fast.value_and_grad(x, y)
        wanted, expected = slow.value_and_grad(x, y)
        assert value == near(wanted, rel=1e-13)
        assert list(grads.args) == near(list(expected.args), rel=1e-12)
        a, b = Value(x), Value(y)
        out = fast(a, b)
        out.backward()
        assert [out.data, a.grad, b.grad] == near([wanted, *expected.args], rel=1e-12)
    assert fast.explain().splitlines()[0].endswith("run by JAX.")


def test_hessian_times_vector():
    w = Value(0.7)

    def f(x):
        return (w * x).sin() * x + w * w * w

    args = (0.5,), (1.0,), {w: 2.0}
    _, found = on("jax", f).hvp(*args)
    _, expected = on("numpy", f).hvp(*args)
    assert [*found.args, found[w]] == near([*expected.args, expected[w]], rel=1e-12)


def test_several_results():
    def f(x, y):
        return x * y, [x.sin(), y * 2], {"z": x}

    fast = on("jax", f)
    product, (sine, double), named = fast(Value(0.5), 3.0)
    assert product.data == 1.5
    assert sine.data == near(math.sin(0.5), rel=1e-15)
    assert float(getattr(double, "data", double)) == 6.0
    assert named["z"].data == 0.5


def test_several_results_are_differentiated_together():
    fast = on("jax", lambda x: (x * x, x.sin()))
    x = Value(0.5)
    a, b = fast(x)
    (2 * a + b).backward()
    assert x.grad == near(2.0 + math.cos(0.5), rel=1e-14)


def test_a_call_is_compiled_once(jax, caplog):
    """Of several results and their derivatives, too."""
    fast = on("jax", lambda x, y: (x * y, x.sin() + y))

    def call(x):
        leaves = Value(x), Value(2.0)
        a, b = fast(*leaves)
        (a + b).backward()

    call(0.5)
    call(0.75)
    jax.config.update("jax_log_compiles", True)
    try:
        call(1.5)
    finally:
        jax.config.update("jax_log_compiles", False)
    assert not [record for record in caplog.records if "XLA" in record.getMessage()]


def test_branches_are_traced_again():
    def f(x):
        return x * 2 if x > 0 else x * x

    fast = on("jax", f, audit=False)
    assert [fast(x).data for x in (1.0, 2.0, -3.0, 4.0, -5.0)] == [2.0, 4.0, 9.0, 8.0, 25.0]
    strict = on("jax", f, strict=True)
    strict(1.0)
    with pytest.raises(GuardError):
        strict(-1.0)


def test_audits():
    count = [0.0]

    def f(x):
        return x * 2.0 + len(count)

    fast = on("jax", f, audit="always")
    assert [fast(float(x)).data for x in range(3)] == [1.0, 3.0, 5.0]


@pytest.mark.parametrize("x", [0.0, -1.0, math.inf, math.nan])
def test_numbers_that_are_not_finite(x):
    def f(a, b):
        return where(a > 0, a.log(), 5 * a) + (a * b).exp() * b

    value, grads = on("jax", f).value_and_grad(x, 2.0)
    wanted, expected = on("numpy", f).value_and_grad(x, 2.0)
    assert value == near(wanted, rel=1e-13, nan_ok=True)
    assert list(grads.args) == near(list(expected.args), rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_random_programs(seed):
    program = program_of(seed)
    faults = check(program, ("jax",), second=False).faults
    assert not faults, reproduction(program, faults[0])


# ---- batches -------------------------------------------------------------------------------------

WEIGHTS = (0.5, -0.3, 0.8)


def scored():
    weights = [Value(x) for x in WEIGHTS]

    def f(x, y, k):
        a, b, c = weights
        return (a * x + b * y).tanh() * c * k

    return f, weights


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("chunk", [None, 40])
def test_batches_share_weights(count, chunk, monkeypatch):
    from minigrad.compiler import vmap
    from minigrad.compiler.backends.jax import prepared

    if chunk is not None:
        monkeypatch.setattr(prepared, "_CHUNK", chunk)
    monkeypatch.setattr(vmap, "_progress", lambda *_: nullcontext(seen.append))
    f, _ = scored()
    rng = np.random.default_rng(count)
    columns = rng.normal(size=count), rng.normal(size=count), 2.0
    seen: list[int] = []
    fast, slow = minigrad.vmap(f, backend="jax"), minigrad.vmap(f, backend="numpy")
    values, grads = fast.value_and_grad(*columns)
    done = list(seen)
    wanted, expected = slow.value_and_grad(*columns)
    assert np.allclose(values, wanted, rtol=1e-13)
    assert np.allclose(fast(*columns), wanted, rtol=1e-13)
    for found, slopes in zip(grads, expected, strict=True):
        assert np.allclose(found, slopes, rtol=1e-12)
    assert np.allclose(grads.totals, expected.totals, rtol=1e-12)
    assert done == sorted(done)
    assert done[-1] == count
    assert len(done) > 1 or chunk is None or count < 10


def test_rows_that_go_another_way_are_named():
    def f(x):
        return x * 2 if x > 0 else -x

    fast = minigrad.vmap(f, backend="jax")
    with pytest.raises(GuardError) as caught:
        fast(np.array([1.0, 2.0, -3.0]))
    with pytest.raises(GuardError) as expected:
        minigrad.vmap(f, backend="numpy")(np.array([1.0, 2.0, -3.0]))
    assert str(caught.value) == str(expected.value)


def test_a_batch_with_numbers_that_are_not_finite():
    def f(x, y):
        return where(x > 0, x.log(), 5 * x) * y

    columns = np.array([0.0, 1.0, -1.0, np.inf]), np.array([1.0, 2.0, 3.0, 4.0])
    values, grads = minigrad.vmap(f, backend="jax").value_and_grad(*columns)
    wanted, expected = minigrad.vmap(f, backend="numpy").value_and_grad(*columns)
    assert np.allclose(values, wanted, equal_nan=True)
    for found, slopes in zip(grads, expected, strict=True):
        assert np.allclose(found, slopes, equal_nan=True)


def test_columns_of_vectors():
    weights = [Value(0.1 * k) for k in range(3)]

    def f(xs, y):
        return sum(w * x for w, x in zip(weights, xs, strict=True)).tanh() * y

    xs, ys = np.linspace(-1, 1, 12).reshape(4, 3), np.arange(4.0)
    found = minigrad.vmap(f, backend="jax").value_and_grad(xs, ys)
    wanted = minigrad.vmap(f, backend="numpy").value_and_grad(xs, ys)
    assert np.allclose(found[0], wanted[0], rtol=1e-13)
    for got, slopes in zip(found[1], wanted[1], strict=True):
        assert np.allclose(got, slopes, rtol=1e-12)
        assert got.shape == slopes.shape


def test_no_rows():
    f, _ = scored()
    fast, slow = (minigrad.vmap(f, backend=name) for name in ("jax", "numpy"))
    empty = np.zeros(0), np.zeros(0), 2.0
    try:
        wanted = slow(*empty)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            fast(*empty)
    else:
        assert fast(*empty).shape == wanted.shape
