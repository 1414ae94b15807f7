"""Gradients of gradients, Jacobians, Hessians and tangents, against mathematics and mpmath."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from precise import DEFINITION
from programs import call_jax, call_minigrad, call_mpmath, random_program, run
from test_ops import ROWS, discrete, samples

import minigrad
from minigrad import NotDifferentiableError, StaleDataError, Value, grad, hessian, jacobian, jvp

near = pytest.approx


def test_grad_returns_and_touches_nothing():
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    out = (a * b + c) * (a - c)
    out.backward()
    before = [v.grad for v in (a, b, c, out)]
    assert grad(out, [a, b, c]) == [4.0, -4.0, -12.0]
    assert grad(out, a) == 4.0
    assert grad(out, out) == 1.0
    assert grad(out, Value(7.0)) == 0.0
    assert [v.grad for v in (a, b, c, out)] == before


@pytest.mark.smoke
def test_derivatives_of_any_order_by_asking_again():
    x = Value(0.7)
    y = x.tanh()
    t = math.tanh(0.7)
    first = grad(y, x, create_graph=True)
    second = grad(first, x, create_graph=True)
    third = grad(second, x, create_graph=True)
    fourth = grad(third, x)
    s = 1 - t * t
    assert first.data == near(s, rel=1e-14)
    assert second.data == near(-2 * t * s, rel=1e-14)
    assert third.data == near(s * (6 * t * t - 2), rel=1e-13)
    assert fourth == near(8 * t * s * (2 - 3 * t * t), rel=1e-13)
    assert x.grad == 0.0


def test_powers_down_to_the_last_constant():
    x = Value(0.0)
    y = x**3
    orders = []
    for _ in range(5):
        y = grad(y, x, create_graph=True)
        orders.append(y.data)
    assert orders == [0.0, 0.0, 6.0, 0.0, 0.0]


@pytest.mark.parametrize("op", [op for op in ROWS if not discrete(op)], ids=lambda op: op.name)
def test_second_and_third_derivatives_of_every_op(op):
    # The first argument is moved; the others, and for softmax the other outputs, stay.
    for arguments in list(samples(op, 6, seed=9)):
        leaves = [Value(x) for x in arguments]
        result = call_minigrad(op.name, leaves, 0 if op.is_composite else None)
        first = grad(result, leaves[0], create_graph=True)
        second = grad(first, leaves[0], create_graph=True)
        third = grad(second, leaves[0])
        with mp.workdps(80):
            rest = [mp.mpf(x) for x in arguments[1:]]

            def f(x, rest=rest):
                y = DEFINITION[op.name](x, *rest)
                return y[0] if isinstance(y, list) else y

            at = mp.mpf(arguments[0])
            assert first.data == near(float(mp.diff(f, at)), rel=1e-10, abs=1e-12)
            assert second.data == near(float(mp.diff(f, at, 2)), rel=1e-9, abs=1e-11)
            assert third == near(float(mp.diff(f, at, 3)), rel=1e-8, abs=1e-10)


@pytest.mark.smoke
def test_hessian_of_rosenbrock():
    x, y = Value(-1.2), Value(1.0)
    f = (1 - x) ** 2 + 100 * (y - x**2) ** 2
    expected = [[1200 * 1.44 - 400 * 1.0 + 2, 480.0], [480.0, 200.0]]
    for got, right in zip(hessian(f, [x, y]), expected, strict=True):
        assert got == near(right, rel=1e-13)


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_hessians_of_random_programs_are_symmetric_and_right(seed):
    program = random_program(seed, size=5)
    leaves = [Value(x) for x in program.inputs]
    results = run(program, leaves, call_minigrad)
    assume(all(math.isfinite(v.data) and abs(v.data) < 100 for v in results))
    matrix = hessian(results[-1], leaves)
    with mp.workdps(60):
        exact = [mp.mpf(x) for x in program.inputs]

        def f(*xs):
            return run(program, xs, call_mpmath, mp.mpf)[-1]

        size = len(leaves)
        for i in range(size):
            for j in range(size):
                order = [0] * size
                order[i] += 1
                order[j] += 1
                true = float(mp.diff(f, tuple(exact), tuple(order)))
                assert matrix[i][j] == near(true, rel=1e-7, abs=1e-8)
                assert matrix[i][j] == near(matrix[j][i], rel=1e-9, abs=1e-9)


@pytest.mark.oracle
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_hessians_agree_with_jax(jax, seed):
    program = random_program(seed, size=8)
    leaves = [Value(x) for x in program.inputs]
    results = run(program, leaves, call_minigrad)
    assume(all(math.isfinite(v.data) and abs(v.data) < 100 for v in results))
    operands = [results[x].data for _, xs in program.steps for x in xs if type(x) is int]
    assume(not {0.0, -1.25, 1.5} & set(operands))  # the kinks, where conventions differ
    ours = hessian(results[-1], leaves)
    theirs = jax.hessian(lambda xs: run(program, xs, call_jax)[-1])(list(program.inputs))
    size = max([abs(x) for row in ours for x in row] + [1.0])
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == near([float(x) for x in other], abs=1e-10 * size)


def test_jacobian_has_a_row_per_output():
    x, y = Value(2.0), Value(3.0)
    assert jacobian([x * y, x + 2 * y, Value(1.0)], [x, y]) == [[3, 2], [1, 2], [0, 0]]


@pytest.mark.smoke
def test_jvp_pushes_tangents_forward():
    x, y = Value(2.0), Value(3.0)
    outputs = [x * y, x / y, x * 0 + 1]
    assert jvp(outputs, [x, y], [1.0, 10.0]) == near([23.0, 1 / 3 - 20 / 9, 0.0])
    assert jvp(x * x, [x], [1.0]) == 4.0
    assert jvp(x, [y], [1.0]) == 0.0
    middle = x * y
    assert jvp(middle * x, [middle], [1.0]) == 2.0  # an input may be in the middle of the graph
    with pytest.raises(ValueError, match="2 inputs but 1 tangents"):
        jvp(x * y, [x, y], [1.0])
    with pytest.raises(TypeError, match=r"jvp\(…, tangents\): got float; give a list"):
        jvp(x * y, [x], 1.0)


@given(st.integers(0, 2**32))
def test_forward_and_reverse_mode_agree(seed):
    program = random_program(seed)
    leaves = [Value(x) for x in program.inputs]
    out = run(program, leaves, call_minigrad)[-1]
    reverse = grad(out, leaves)
    assume(all(map(math.isfinite, reverse)))
    tangents = [1.0 + k for k in range(len(leaves))]
    expected = sum(g * t for g, t in zip(reverse, tangents, strict=True))
    size = sum(abs(g * t) for g, t in zip(reverse, tangents, strict=True))
    assert jvp(out, leaves, tangents) == near(expected, abs=1e-11 * max(size, 1e-3))


def test_a_node_made_by_hand_has_one_derivative_only():
    a = Value(2.0)
    out = Value(a.data**2, (a,), "square")

    def step():
        a.grad += 2 * a.data * out.grad

    out._backward = step
    assert grad(out * 3, a) == 12.0
    assert a.grad == 0.0
    with pytest.raises(NotDifferentiableError, match="'square'.*again"):
        grad(out, a, create_graph=True)
    with pytest.raises(NotDifferentiableError, match="'square'.*forward"):
        jvp(out, [a], [1.0])
    given = Value(4.0, (a,), (4.0,))
    assert jvp(given, [a], [1.0]) == 4.0
    with pytest.raises(NotDifferentiableError):
        grad(given, a, create_graph=True)


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"grad\(output, …\): got float"):
        grad(3.0, [Value(1.0)])
    with pytest.raises(TypeError, match=r"grad\(…, inputs\): got float"):
        grad(Value(1.0), [2.0])
    with pytest.raises(
        TypeError, match=r"got float; give the Value itself, as in a = Value\(2.0\)"
    ):
        grad(Value(1.0), 2.0)
    with pytest.raises(TypeError, match=r"grad\(f\(x\), …\)"):
        grad(lambda v: v * v, Value(1.0))


def test_second_derivatives_far_out_and_near_zero():
    def second(f, x):
        v = Value(x)
        return grad(grad(f(v), v, create_graph=True), v)

    assert second(Value.tanh, 800.0) == 0.0
    assert second(Value.sigmoid, -800.0) == 0.0
    assert second(Value.asin, 1e-17) == near(1e-17, rel=1e-15)
    assert second(Value.acos, 1e-10) == near(-1e-10, rel=1e-15)


def test_data_changed_after_the_forward_pass():
    x = Value(3.0)
    y = x * x
    x.data = 5.0
    assert grad(y, x) == 6.0
    assert jvp(y, [x], [1.0]) == 6.0
    # The rules would run on the 5: there is no second derivative of what is no more.
    with pytest.raises(StaleDataError, match=r"mul holds 9\.0.*run that again"):
        grad(y, x, create_graph=True)
    with minigrad.strict(), pytest.raises(StaleDataError):
        jvp(y, [x], [1.0])


def test_where_and_numbers_differentiate_again():
    x = Value(3.0)
    y = minigrad.where(x > 0, x * x * x, x) + 2**x
    second = grad(grad(y, x, create_graph=True), x)
    assert second == near(18.0 + 8 * math.log(2) ** 2, rel=1e-14)
