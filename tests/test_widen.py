"""Programs for blocks of rows against the eager engine row by row, and against lanes."""

from __future__ import annotations

import random

import pytest
from blocks import in_blocks, in_lanes
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import SIZE, WORDS, Model

import minigrad
from minigrad import Value, vmap

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.compiler.backends import backend_of
from minigrad.compiler.ir.program import Instruction, Program, verify
from minigrad.compiler.ir.refs import Ref
from minigrad.compiler.passes.grad import grad
from minigrad.compiler.passes.store_first import store_first
from minigrad.compiler.passes.widen import Rows, carry, forget, weigh, widen


def data(rng, count):
    draw = np.random.default_rng(rng.randrange(2**32))
    return draw.normal(size=(count, SIZE)), draw.integers(-SIZE, SIZE, count), 0.75


def expected(model, xs, index, shift):
    """Values, and derivatives by rows, by the shared number and by the weights: row after row."""
    values, by_rows, by_shift, by_weights = [], [], 0.0, np.zeros(len(model.parameters))
    for x, i in zip(xs, index, strict=True):
        leaves, number = [Value(v) for v in x], Value(shift)
        loss, other, (third,) = model(leaves, int(i), number)
        slopes = minigrad.grad(loss, [*leaves, number, *model.parameters])
        values.append((loss.data, other.data, third.data))
        by_rows.append(slopes[:SIZE])
        by_shift += slopes[SIZE]
        by_weights += slopes[SIZE + 1 :]
    return np.array(values), np.array(by_rows), by_shift, by_weights


def near(found, wanted):
    wanted = np.asarray(wanted)
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13 * scale)


def totals(model, grads):
    known = dict(zip(map(id, grads.parameters), grads.totals.tolist(), strict=True))
    return [known.get(id(p), 0.0) for p in model.parameters]


def compare(model, rng, count, size, backend):
    """Run a model in blocks; compare with the eager engine and with lanes."""
    arguments = data(rng, count)
    fast = vmap(model.__call__, backend=backend)
    with in_blocks(size):
        (loss, other, (third,)), grads = fast.value_and_grad(*arguments, threads=1)
        again = fast(*arguments, threads=1)
    with in_lanes():
        (by_lanes, *_), _ = fast.value_and_grad(*arguments, threads=1)
    values, by_rows, by_shift, by_weights = expected(model, *arguments)
    near(np.stack([loss, other, third], axis=1), values)
    near(grads[0], by_rows)
    near(grads[2], by_shift)
    near(totals(model, grads), by_weights)
    assert not grads[1].any()
    near(again[0], values[:, 0])
    near(by_lanes, loss)


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(2, 7), st.integers(1, 5))
def test_random_models_in_numpy(rng, count, size):
    compare(Model(rng), rng, count, size, "numpy")


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(2, 7), st.integers(1, 5))
def test_random_models_in_the_machine(rng, count, size):
    compare(Model(rng), rng, count, size, "auto")


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_a_model(word, backend, monkeypatch):
    monkeypatch.setattr("layers.WORDS", [word, word, "layer"])
    for seed in range(3):
        rng = random.Random(f"{word} {seed}")
        compare(Model(rng, most=5), rng, 5, 3, backend)


# ---- what becomes of an instruction --------------------------------------------------------------


def traced(function, *row):
    fast = minigrad.compile(function)
    fast(*row)
    return fast.program


def kinds(program):
    return [i.kind for i in program.instructions[:-1]]  # the last is the weighted sum


def shapes(program, kind):
    return [i.shape for i in program.instructions if i.kind == kind]


@pytest.mark.smoke
def test_a_layer_becomes_a_product():
    weights = [[Value(i + 10.0 * j) for i in range(8)] for j in range(4)]
    one = traced(lambda x: [sum(w * v for w, v in zip(row, x)) for row in weights], [1.0] * 8)  # noqa: B905
    assert shapes(one, "dot") == [(4, 8)]
    many = verify(widen(one, Rows(5, ((8, True),))))
    assert shapes(many, "mm") == [(5, 4, 8)]
    assert len(many.results) == 1 + 4 * 5
    # All rows the same: it is shared as it was.
    same = verify(widen(one, Rows(5, ((8, False),))))
    assert shapes(same, "mm") == []
    assert shapes(same, "dot") == [(4, 8), (1, 5)]


def test_a_product_in_the_example_grows_longer():
    weights = [[Value(i + 10.0 * j) for i in range(8)] for j in range(4)]

    def function(points):
        return [sum(w * v for w, v in zip(row, x)) for x in points for row in weights]  # noqa: B905

    one = traced(function, [[1.0] * 8, [2.0] * 8])
    assert shapes(one, "mm") == [(2, 4, 8)]
    assert shapes(widen(one, Rows(5, ((16, True),))), "mm") == [(10, 4, 8)]


def test_one_neuron_for_many_points_is_a_product():
    w = [Value(float(k)) for k in range(16)]

    def function(points):
        return sum(sum(a * b for a, b in zip(w, x)).tanh() for x in points)  # noqa: B905

    one = traced(function, [[float(k + j) for k in range(16)] for j in range(3)])
    assert shapes(one, "dot") == [(3, 16)]
    assert shapes(widen(one, Rows(4, ((48, True),))), "mm") == [(12, 1, 16)]


def test_what_is_made_of_weights_alone_is_made_once():
    w = [Value(0.1 * k) for k in range(5)]
    one = traced(lambda x: sum(v.tanh() for v in w) + x.tanh(), 1.0)
    assert [i.shape for i in one.instructions if i.op == "tanh"] == [(6,)]
    many = verify(widen(one, Rows(100, ((1, True),))))
    assert [i.shape for i in many.instructions if i.op == "tanh"] == [(5,), (100,)]


def test_large_products_of_what_differs_are_one_for_each_row():
    n = 14

    def function(a, b):
        rows = [a[k * n : k * n + n] for k in range(n)]
        columns = [b[k * n : k * n + n] for k in range(n)]
        return [sum(u * v for u, v in zip(x, y)) for x in rows for y in columns]  # noqa: B905

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, n * n)), rng.normal(size=(3, n * n))
    one = traced(function, list(a[0]), list(b[0]))
    assert shapes(one, "mm") == [(n, n, n)]
    many = verify(widen(one, Rows(3, ((n * n, True), (n * n, True)))))
    assert shapes(many, "mm") == [(n, n, n)] * 3
    with in_blocks(3):
        found = vmap(function)(a, b)
    wanted = a.reshape(3, n, n) @ b.reshape(3, n, n).transpose(0, 2, 1)
    near(np.stack(found, axis=1), wanted.reshape(3, -1))


def test_inputs_that_do_not_fit_are_refused():
    one = traced(lambda x, y: x * y, 1.0, 2.0)
    with pytest.raises(ValueError, match="2 inputs, and arguments for 1"):
        widen(one, Rows(3, ((1, True),)))
    with pytest.raises(ValueError, match="before its gradient"):
        widen(grad(one), Rows(3, ((1, True), (1, True))))


# ---- weights and sums over blocks ----------------------------------------------------------------


def test_rows_without_weight_count_for_nothing(backend):
    w = Value(3.0)
    one = traced(lambda x: w * x * x, 1.0)
    rows = Rows(3, ((1, True),))
    program = verify(grad(widen(one, rows), rows.followed(1)))
    prepared = backend_of(backend).prepare(program)
    values = prepared.values()
    assert rows.starts(1) == [1, 4, 7]
    assert prepared.step(values, ((0, [3.0]), (1, [1.0, 2.0, 2.0]), (4, [1.0, 0.5, 0.0])), None) < 0
    assert values[program.results[0]] == 3.0 + 6.0
    assert values[list(program.results[1:])].tolist() == [3.0, 12.0, 12.0]
    assert values[program.adjoints : program.adjoints + 4].tolist() == [3.0, 6.0, 6.0, 0.0]


def test_a_gradient_goes_on_from_the_one_before(backend):
    w = Value(3.0)
    one = traced(lambda x: w * x * x, 1.0)
    rows = Rows(2, ((1, True),), carries=True)
    program = verify(carry(grad(widen(one, rows), range(1)), rows))
    prepared = backend_of(backend).prepare(program)
    values = prepared.values()
    inputs = (0, [3.0]), (1, [1.0, 2.0]), (3, [1.0, 1.0]), (5, [100.0])
    assert prepared.step(values, inputs, None) < 0
    assert values[program.adjoints] == 105.0
    plain = Program(1, 1, 0, np.zeros(0), (), ())
    assert carry(plain, Rows(2, ())) is plain


def test_what_a_row_costs():
    weights = [[Value(1.0)] * 5 for _ in range(4)]
    one = traced(lambda x: sum(sum(w * v for w, v in zip(r, x)).tanh() for r in weights), [1.0] * 5)  # noqa: B905
    cost = weigh(one, ((5, True),))
    assert cost.own >= 5 + 4 + 4
    assert cost.products == 20
    assert weigh(one, ((5, False),)) == (0, 0, 0)
    apart = Instruction("dot", (1, 2), Ref(4), (Ref(0, term_stride=1), Ref(2, term_stride=1)))
    assert weigh(Program(5, 4, 0, np.zeros(0), (apart,), (4,)), ((4, True),)) == (5, 0, 2)


def test_slopes_that_nobody_asks_for_are_not_cleared(backend):
    w = [Value(0.5), Value(-2.0)]
    one = traced(lambda x: (w[0] * x[0] + w[1] * x[1]) * w[0], [1.0, 2.0])
    rows = Rows(2, ((2, True),))
    program = verify(store_first(grad(widen(one, rows), range(2))))
    inputs = range(2, rows.inputs(2))
    short = verify(forget(program, inputs))
    slopes = range(program.adjoints + 2, program.adjoints + rows.inputs(2))

    def cleared(program):
        fills = [i for i in program.instructions if i.kind == "fill" and not i.number]
        return {slot for i in fills for slot in i.out.slots(*i.shape).ravel().tolist()}

    assert cleared(program) - cleared(short) == set(slopes)
    assert cleared(short) == cleared(program) - set(slopes)
    found = []
    for each in (program, short):
        prepared = backend_of(backend).prepare(each)
        values = prepared.values()
        start = rows.starts(2)
        pairs = (0, [0.5, -2.0]), (start[0], [1.0, 2.0, 3.0, 5.0]), (start[1], [1.0, 1.0])
        assert prepared.step(values, pairs, None) < 0
        found.append(values[each.adjoints : each.adjoints + 2].tolist())
    # f = w0² x0 + w0 w1 x1, summed over (1, 2) and (3, 5)
    assert found == [[0.5 * 2 * 4 - 2.0 * 7, 0.5 * 7]] * 2


@pytest.mark.parametrize("order", ["points first", "weights first"])
def test_a_product_may_have_what_differs_on_either_side(order, backend):
    rng = np.random.default_rng(2)
    w, b = rng.normal(size=(4, 3)), rng.normal(size=4)
    rows = [([Value(x) for x in row], Value(y)) for row, y in zip(w, b, strict=True)]

    def one(row, point):
        weights, bias = row
        return sum((u * v for u, v in zip(weights, point, strict=True)), bias)

    def function(points):
        if order == "points first":
            return [one(row, list(point)) for point in points for row in rows]
        return [one(row, list(point)) for row in rows for point in points]

    xs = rng.normal(size=(5, 2, 3))
    fast = vmap(function, backend=backend)
    with in_blocks(3):
        found = np.stack(fast(xs), axis=1)
    assert shapes(fast.program, "mm") in ([(2, 4, 3)], [(4, 2, 3)])
    wanted = xs @ w.T + b
    near(found, (wanted if order == "points first" else wanted.transpose(0, 2, 1)).reshape(5, 8))
