"""`to_jax` against the NumPy back end; under all transformations, with arguments of all kinds."""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest

np = pytest.importorskip("numpy")

from cases import REGULAR, price, problem, problems  # noqa: E402
from planned import random_ir  # noqa: E402

import minigrad  # noqa: E402
from minigrad import GuardError, TraceError, Value, load_params, take, to_jax, where  # noqa: E402

pytestmark = pytest.mark.oracle

near = pytest.approx


def both(jax, fn, params, *args):
    """Value and gradient by the parameters."""
    value, grads = jax.jit(jax.value_and_grad(fn))(params, *args)
    return float(value), np.asarray(grads)


def eager(function, *args):
    """Value and gradients by arguments, by the engine."""
    leaves = [Value(x) if isinstance(x, float) else x for x in args]
    out = function(*leaves)
    out.backward()
    return out.data, [x.grad for x in leaves if isinstance(x, Value)]


# ---- the problems of the benchmarks --------------------------------------------------------------


@pytest.mark.parametrize("case", REGULAR)
def test_problems(case, jax):
    loss, arguments, _ = problem(case)
    value, grads = minigrad.compile(loss, backend="numpy").value_and_grad(*arguments)
    fn, params = to_jax(loss, *arguments)
    found, slopes = both(jax, fn, params, *map(np.asarray, arguments))
    expected = np.array([grads[p] for p in fn.parameters])
    assert found == near(value, rel=1e-12)
    assert np.abs(slopes - expected).max() <= 1e-12 * np.abs(expected).max()


def test_prices_of_options(jax):
    columns = [column[:50] for column in problems.options()]
    fn, params = to_jax(price, *(float(column[0]) for column in columns))
    assert params.shape == (0,)
    one = jax.value_and_grad(fn, argnums=(1, 2, 3, 4, 5))
    values, slopes = jax.jit(jax.vmap(one, (None, *[0] * 5)))(params, *columns)
    expected, grads = minigrad.vmap(price, backend="numpy").value_and_grad(*columns)
    assert np.allclose(values, expected, rtol=1e-12)
    for found, wanted in zip(slopes, grads, strict=True):
        assert np.allclose(found, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("batched", [False, True])
def test_the_gpt_has_no_scatter(batched, jax):
    loss, (tokens,), _ = problem("B4")
    fn, params = to_jax(loss, tokens)
    step = jax.value_and_grad(fn)
    tokens = np.array(tokens)
    if batched:
        step, tokens = jax.vmap(step, (None, 0)), np.stack([tokens] * 3)
    text = jax.jit(step).lower(params, tokens).compile().as_text()
    assert " scatter(" not in text
    assert "dot(" in text


def test_irregular_programs_are_refused(jax):
    code = """
from cases import problem
from minigrad import to_jax
import jax
jax.config.update("jax_enable_x64", True)
loss, arguments, _ = problem("D wide")
to_jax(loss, *arguments)
"""
    folder = os.path.dirname(__file__)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "TraceError: this program is irregular" in done.stderr
    assert "backend='native'" in done.stderr


# ---- transformations -----------------------------------------------------------------------------

W = (0.3, -0.7, 1.1)


def small():
    weights = [Value(x, label=name) for x, name in zip(W, "abc", strict=True)]

    def f(x, y):
        a, b, c = weights
        return (a * x + b * y).tanh() * c + where(x > y, a * b, (b * c).exp()) + (a * a + 1).log()

    return f, weights


def test_all_modes_agree(jax):
    jnp = jax.numpy
    f, weights = small()
    fn, params = to_jax(f, 0.5, 0.25)
    compiled = minigrad.compile(f, backend="numpy")
    value, grads = compiled.value_and_grad(0.5, 0.25)
    slopes = [grads[w] for w in weights]
    columns = []
    for at in range(3):
        along = {w: float(k == at) for k, w in enumerate(weights)}
        _, product = compiled.hvp((0.5, 0.25), (0.0, 0.0), along)
        columns.append([product[w] for w in weights])

    @jax.jit
    def all_of_it(p):
        one = lambda p: fn(p, 0.5, 0.25)  # noqa: E731
        along = jnp.array([1.0, 2.0, 3.0])
        return {
            "value": one(p),
            "reverse": jax.grad(one)(p),
            "forward": jax.jacfwd(one)(p),
            "hessian": jax.hessian(one)(p),
            "reverse twice": jax.jacrev(jax.jacrev(one))(p),
            "forward twice": jax.jacfwd(jax.jacfwd(one))(p),
            "jvp of grad": jax.jvp(jax.grad(one), (p,), (along,))[1],
            "vmap": jax.vmap(jax.grad(one))(jnp.stack([p, p])),
            "checkpoint": jax.grad(jax.checkpoint(one))(p),
        }

    found = {name: np.asarray(x) for name, x in all_of_it(params).items()}
    assert float(found["value"]) == near(value, rel=1e-14)
    for name in ("reverse", "forward", "checkpoint"):
        assert found[name].tolist() == near(slopes, rel=1e-13)
    assert found["vmap"].tolist() == [near(slopes, rel=1e-13)] * 2
    hessian = np.array(columns)
    for name in ("hessian", "reverse twice", "forward twice"):
        assert np.allclose(found[name], hessian, rtol=1e-12, atol=1e-14)
    assert np.allclose(found["jvp of grad"], hessian @ [1.0, 2.0, 3.0], rtol=1e-12)


def test_random_instructions_are_differentiated(jax):
    """JAX's own gradients against those of the compiler's pass."""
    from minigrad.compiler.backends import numpy as host
    from minigrad.compiler.backends.jax.to_jax import Lowered
    from minigrad.compiler.passes.grad import grad

    for seed in range(12):
        program, numbers = random_ir(random.Random(seed))
        program = replace(program, guards=())
        lowered = Lowered(program, "float64", exact=seed % 2 == 0)

        def f(x, lowered=lowered):
            return lowered.run(lowered.from_numbers([x], everything=True))[0][0]

        value, slopes = jax.jit(jax.value_and_grad(f))(np.array(numbers))
        with_grads = grad(program)
        prepared = host.prepare(with_grads)
        values = prepared.values()
        values[: program.inputs] = numbers
        prepared.run(values)
        start = with_grads.adjoints
        assert float(value) == near(values[program.results[0]], rel=1e-12, abs=1e-13)
        expected = values[start : start + program.inputs]
        assert np.allclose(slopes, expected, rtol=1e-10, atol=1e-12), seed


# ---- choices and kinks ---------------------------------------------------------------------------

CHOICES = {
    "log beside a line": (lambda x: where(x > 0, x.log(), 5 * x), (0.0, -1.0, 2.0)),
    "a root of a root": (
        lambda x: where(x > 0, (x.sqrt() + where(x > 1, x.log(), x.sqrt())) * x.sqrt(), x * 3),
        (0.0, 0.25, 4.0),
    ),
    "a quotient": (lambda x: where(x > 0, 1 / (x * x), x) * 2 + x, (0.0, 2.0)),
    "taken": (lambda x: take([x * 2, (x * x).sqrt(), x.log()], 0) + x, (0.0, 3.0)),
    "kinks": (lambda x: x.relu() + abs(x) + minigrad.maximum(x, 2 * x), (0.0, 1.0, -1.0)),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_with_steep_sides(name, jax):
    function, points = CHOICES[name]
    fn, params = to_jax(function, 0.5)
    reverse = jax.jit(jax.value_and_grad(fn, argnums=1))
    forward = jax.jit(jax.jacfwd(fn, argnums=1))
    for x in points:
        value, (slope,) = eager(function, x)
        found, got = reverse(params, x)
        assert float(found) == near(value, rel=1e-14)
        assert float(got) == near(slope, rel=1e-13)
        assert float(forward(params, x)) == near(slope, rel=1e-13)


def test_the_same_choice_by_reading_numbers_of_a_table(jax):
    """A row that is taken has a slope, those beside it none, though theirs are inf."""
    table = [Value(0.0), Value(4.0)]
    fn, params = to_jax(lambda k: take([w.sqrt() for w in table], k), 1)
    assert jax.jit(jax.grad(fn))(params, 1).tolist() == [0.0, 0.25]


# ---- guards and indices --------------------------------------------------------------------------


def branching():
    w = Value(2.0)

    def f(x):
        return w * x if x > 0 else w - x

    return f


def test_where_a_guard_fails_value_and_gradient_are_nan(jax):
    fn, params = to_jax(branching(), 3.0)
    assert both(jax, fn, params, 5.0) == (10.0, near(np.array([5.0])))
    value, slopes = both(jax, fn, params, -1.0)
    assert math.isnan(value)
    assert np.isnan(slopes).all()


def test_guards_can_be_an_error(jax):
    with pytest.raises(GuardError, match=r"decides by its numbers \(.*Write the choice with where"):
        to_jax(branching(), 3.0, guards="error")
    with pytest.raises(ValueError, match="guards='maybe'.*choose 'nan' or 'error'"):
        to_jax(branching(), 3.0, guards="maybe")
    fn, params = to_jax(lambda x: where(x > 0, x, -x), 3.0, guards="error")
    assert float(fn(params, -2.0)) == 2.0


def embedding(rows=5, width=3):
    table = [[Value(0.1 * i - j) for j in range(width)] for i in range(rows)]

    def f(tokens):
        return sum(sum(x * x for x in take(table, token)) for token in tokens)

    return f


@pytest.mark.parametrize("tokens", [[0, 5], [0, -6], [1.0, 1.5], [1.0, math.nan], [2, 10**6]])
def test_an_index_that_is_none_makes_nan(tokens, jax):
    fn, params = to_jax(embedding(), [1, 2])
    value, slopes = both(jax, fn, params, np.array(tokens))
    assert math.isnan(value)
    assert np.isnan(slopes).any()
    table = [Value(1.0), Value(2.0), Value(3.0)]
    fn, params = to_jax(lambda k: take(table, k) * 2, 1)
    value, slopes = both(jax, fn, params, np.array(tokens[1]))
    assert math.isnan(value)
    assert np.isnan(slopes).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "float64"])
def test_tokens_of_any_kind(dtype, jax):
    fn, params = to_jax(embedding(), [1, 2])
    expected = both(jax, fn, params, [1, 4])
    found = both(jax, fn, params, np.array([1, 4], dtype))
    assert found[0] == expected[0]
    assert np.array_equal(found[1], expected[1])
    if dtype[0] != "u":
        assert both(jax, fn, params, np.array([-4, -1], dtype))[0] == expected[0]


# ---- arguments, names, numbers -------------------------------------------------------------------


def test_another_structure_is_refused(jax):
    fn, params = to_jax(lambda xs, k: sum(xs) * k["rate"], [1.0, 2.0], {"rate": 3.0})
    assert float(fn(params, np.array([1.0, 2.0]), {"rate": 4.0})) == 12.0
    with pytest.raises(TypeError, match=r"\[0\]: traced with an array of shape \(2,\), given one"):
        fn(params, np.zeros(3), {"rate": 1.0})
    with pytest.raises(TypeError, match="a dict with 'rate', given float"):
        fn(params, [1.0, 2.0], 4.0)
    with pytest.raises(TypeError, match="Another structure is another program"):
        fn(params, [1.0, 2.0])
    with pytest.raises(TypeError, match=r"params is one vector of 0 numbers, got shape \(3,\)"):
        fn(np.zeros(3), [1.0, 2.0], {"rate": 1.0})


def test_words_choose_and_must_be_the_same(jax):
    fn, params = to_jax(lambda x, how: x.tanh() if how == "tanh" else x.sin(), 0.5, "tanh")
    assert float(fn(params, 0.25, "tanh")) == near(math.tanh(0.25))
    with pytest.raises(TypeError, match="traced with 'tanh', given 'sin'"):
        fn(params, 0.25, "sin")


def test_names(jax):
    f, weights = small()
    fn, params = to_jax(f, 0.5, 0.25)
    assert sorted(fn.names) == ["a", "b", "c"]
    named = fn.unflatten(params)
    assert {name: float(x) for name, x in named.items()} == dict(zip("abc", W, strict=True))
    assert np.array_equal(fn.flatten(named), params)
    with pytest.raises(KeyError, match="'c' is in one of the two only"):
        fn.flatten({"a": 1.0, "b": 2.0})
    with pytest.raises(KeyError, match="'d' is in one of the two only"):
        fn.flatten({**named, "d": 2.0})
    load_params(fn, params * 2)
    assert [w.data for w in weights] == [2 * x for x in W]
    load_params(fn, {"a": 1.0, "b": 2.0, "c": 3.0})
    assert [w.data for w in weights] == [1.0, 2.0, 3.0]


def test_results_keep_their_structure(jax):
    fn, params = to_jax(lambda x: {"y": [x * 2, x * x], "z": (x,)}, 3.0)
    found = fn(params, 4.0)
    assert {"y": [8.0, 16.0], "z": (4.0,)} == jax.tree.map(float, found)


@pytest.mark.parametrize("dtype", ["float32", "tf32", np.float32])
def test_fewer_bits(dtype, jax):
    f, _ = small()
    fn, params = to_jax(f, 0.5, 0.25, dtype=dtype)
    exact, _ = to_jax(f, 0.5, 0.25)
    assert params.dtype == np.float32
    value, slopes = both(jax, fn, params, 0.5, 0.25)
    wanted, expected = both(jax, exact, params, 0.5, 0.25)
    assert value == near(wanted, rel=1e-5)
    assert slopes.tolist() == near(expected.tolist(), rel=1e-4)


def test_dtypes_that_are_refused(jax):
    with pytest.raises(ValueError, match="dtype='int8': choose 'float64', 'float32', or 'tf32'"):
        to_jax(lambda x: x, 1.0, dtype="int8")
    code = """
import minigrad
minigrad.to_jax(lambda x: x * 2, 1.0)
"""
    environment = {**os.environ, "JAX_ENABLE_X64": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert "JAX computes in 32 bits until it is told otherwise: call " in done.stderr


def test_exact_lets_no_inf_leak_from_a_masked_place(jax):
    """The first query and the last key, which it must not see, would overflow."""
    query = [[Value(x) for _ in range(4)] for x in (1e3, 0.1, 0.2, 0.3, 0.0)]

    def loss(keys):
        total = 0.0
        for at, row in enumerate(query):
            powers = [
                sum(a * b for a, b in zip(row, key, strict=True)).exp() for key in keys[: at + 1]
            ]
            whole = sum(powers)
            total = total + sum(
                power / whole * key[0] for power, key in zip(powers, keys, strict=False)
            )
        return total

    keys = [[1e-4 * (i + j) for j in range(4)] for i in range(4)] + [[2.0, 3.0, 4.0, 5.0]]
    fn, params = to_jax(loss, keys, exact=True)
    value, grads = minigrad.compile(loss, backend="numpy").value_and_grad(keys)
    found, slopes = both(jax, fn, params, np.array(keys))
    assert found == near(value, rel=1e-12)
    assert slopes.tolist() == near([grads[p] for p in fn.parameters], rel=1e-9, abs=1e-14)
    assert any(step.whole is not None for step in to_jax(loss, keys)[0].lowered.plan.steps)


def test_optax_trains_as_the_native_step_does(jax):
    optax = pytest.importorskip("optax")
    f, weights = small()
    fn, params = to_jax(f, 0.5, 0.25)
    adam = optax.adam(0.05, b1=0.9, b2=0.999, eps=1e-8)
    state = adam.init(params)

    @jax.jit
    def update(params, state, x, y):
        moves, state = adam.update(jax.grad(fn)(params, x, y), state)
        return optax.apply_updates(params, moves), state

    optimizer = minigrad.optim.Adam(fn.parameters, lr=0.05)
    step = minigrad.train_step(f, optimizer)
    for k in range(20):
        x, y = 0.1 * k - 1, 0.3
        params, state = update(params, state, x, y)
        step(x, y)
    assert params.tolist() == near([w.data for w in fn.parameters], rel=1e-12)
    assert weights


def test_export_with_any_number_of_rows(jax):
    export = importlib.import_module("jax.export")
    fn, params = to_jax(lambda xs: sum(x * x for x in xs).tanh() + Value(1.0), [0.1, 0.2, 0.3])
    many = jax.jit(jax.vmap(fn, (None, 0)))
    (rows,) = export.symbolic_shape("rows")
    shapes = [
        jax.ShapeDtypeStruct(params.shape, params.dtype),
        jax.ShapeDtypeStruct((rows, 3), np.float64),
    ]
    again = export.export(many)(*shapes)
    if importlib.util.find_spec("flatbuffers"):  # which JAX writes it with
        again = export.deserialize(again.serialize())
    for count in (1, 5):
        xs = np.linspace(-1, 1, 3 * count).reshape(count, 3)
        assert np.array_equal(again.call(params, xs), many(params, xs))


def test_functions_that_cannot_be_followed(jax):
    with pytest.raises((TraceError, GuardError)):
        to_jax(lambda x: x * __import__("random").random(), 1.0)


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.uint64, np.float64])
def test_an_index_beyond_32_bits_is_none(jax, kind):
    rows = [Value(1.0), Value(2.0), Value(3.0)]
    fn, params = to_jax(lambda k: minigrad.take(rows, k) * 1.0, 0)
    assert fn(params, kind(2)) == 3.0
    for far in (2**31, 2**32 - 1, *([] if kind is np.uint32 else [2**32, 2**32 + 1])):
        assert np.isnan(fn(params, kind(far)))


@pytest.mark.parametrize("rest", [lambda x: x % 3, lambda x: 3 * (x // 2) + x % 2])
def test_remainders_of_a_number_that_is_given(jax, rest):
    w = Value(0.7)
    fn, params = to_jax(lambda x: w * rest(x), 5.0)
    found, slopes = both(jax, fn, params, 5.0)
    assert (found, slopes) == (near(0.7 * rest(5.0)), near(np.array([rest(5.0)])))
    assert jax.grad(fn, 1)(params, 5.0) == near(0.7)
    compiled = minigrad.compile(lambda x: w * rest(x), backend="jax")
    assert [compiled(x).data for x in (5.0, 7.5, -1.0)] == near(
        [0.7 * rest(x) for x in (5.0, 7.5, -1.0)]
    )


def test_functions_of_nothing_and_to_constants(jax):
    fn, params = to_jax(lambda: 3.0)
    assert (params.shape, fn(params)) == ((0,), 3.0)
    for backend in ("jax", "numpy"):
        assert minigrad.compile(lambda: 3.0, backend=backend)() == 3.0
        assert minigrad.compile(lambda x: (3.0, "text"), backend=backend)(1.0) == (3.0, "text")
        assert minigrad.vmap(lambda x: 3.0, backend=backend)(np.ones(2)) == 3.0


def test_arrays_of_jax_are_examples_too(jax):
    w = Value(0.5)

    def f(xs, more):
        return w * sum(xs) * more["scale"]

    numbers = jax.numpy.array
    fn, params = to_jax(f, numbers([1.0, 2.0]), {"scale": numbers(3.0)})
    assert both(jax, fn, params, numbers([2.0, 4.0]), {"scale": 2.0})[0] == 6.0
    fn, params = to_jax(lambda x: w * x, np.array(2.0))
    assert [fn(params, x) for x in (3.0, 3, np.float32(3), np.array(3.0), numbers(3))] == [1.5] * 5
    optimizer = minigrad.optim.SGD([w], lr=0.5)
    step = minigrad.train_step(lambda xs, y: (w * sum(xs) - y) ** 2, optimizer, backend="jax")
    assert step(numbers([1.0, 1.0]), y=numbers(3.0)) == 4.0


def test_what_is_no_number_is_refused_in_words(jax):
    fn, params = to_jax(lambda x: x * Value(2.0), 1.0)
    with pytest.raises(TypeError, match="complex"):
        fn(params, np.complex128(1 + 1j))
    fn, params = to_jax(lambda xs: Value(2.0) if xs[0] else Value(3.0), np.array([True]))
    with pytest.raises(TypeError, match="bool is a part of the program"):
        jax.jit(fn)(params, np.array([True]))
