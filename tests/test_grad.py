"""Derivatives of programs: every kind of instruction, both orders, and no nan for nothing."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from programs import call_minigrad, random_program, run
from test_ops import ROWS, discrete, samples

import minigrad
from minigrad import Value, hessian, take, where

np = pytest.importorskip("numpy")

near = pytest.approx


def both(function, inputs, backend, rel=1e-12):
    """Value, gradient and Hessian-vector product against the eager engine's; inputs are floats."""
    fast = minigrad.compile(function, backend=backend)
    leaves = [Value(x) for x in inputs]
    result = function(*leaves)
    value, grads = fast.value_and_grad(*inputs)
    assert value == near(result.data, rel=rel, nan_ok=True)
    slopes = minigrad.grad(result, leaves)
    size = max([1e-300, *(abs(g) for g in slopes if math.isfinite(g))])
    assert list(grads.args) == near(slopes, rel=rel, abs=rel * size, nan_ok=True)
    matrix = np.array(hessian(result, leaves))
    vector = np.array([1.0 + 0.5 * k for k in range(len(inputs))])
    scale = np.abs(matrix).max() * vector.sum()
    found = fast.hvp(inputs, tuple(vector.tolist()))
    assert list(found) == near((matrix @ vector).tolist(), rel=1e-9, abs=1e-10 * max(scale, 1e-3))
    return fast


# ---- every operation of the table ----------------------------------------------------------------


@pytest.mark.parametrize("op", [op for op in ROWS if not discrete(op)], ids=lambda op: op.name)
def test_every_operation(op, backend):
    for arguments in samples(op, 3, seed=5):

        def function(*xs):
            return call_minigrad(op.name, list(xs), 0 if op.is_composite else None)

        both(function, tuple(map(float, arguments)), backend, rel=1e-11)


@pytest.mark.parametrize("op", [op for op in ROWS if not discrete(op)], ids=lambda op: op.name)
def test_finite_differences(op):
    # Independent of every rule: the gradient is the slope of what the program itself computes.
    arguments = tuple(map(float, next(iter(samples(op, 1, seed=6)))))
    fast = minigrad.compile(
        lambda *xs: call_minigrad(op.name, list(xs), 0 if op.is_composite else None)
    )
    slopes = fast.grad(*arguments).args
    for k, x in enumerate(arguments):
        h = 1e-5 * max(1.0, abs(x))

        def moved(by, k=k, x=x):
            return fast(*arguments[:k], x + by, *arguments[k + 1 :]).data

        slope = (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)
        assert slopes[k] == near(slope, rel=1e-6, abs=1e-8)


# ---- every kind of instruction -------------------------------------------------------------------


def grid(xs, columns):
    return [list(xs[k : k + columns]) for k in range(0, len(xs), columns)]


def mm(xs):
    a, b = grid(xs[:6], 3), grid(xs[6:12], 3)
    return [minigrad.dot(p, q) for p in a for q in b]


def mm_from(xs):
    a, b = grid(xs[:6], 3), grid(xs[6:12], 3)
    return [sum((x * y for x, y in zip(p, q, strict=True)), xs[0]) for p in a for q in b]


PROGRAMS = {
    "map": (3, lambda x, y, z: (x * y).exp() / z.cosh() - (y - z).sin()),
    "sum": (5, lambda *xs: minigrad.sum(xs).tanh()),
    "sum with a start": (5, lambda *xs: sum(xs, xs[0] * xs[1]).tanh()),
    "mean": (5, lambda *xs: minigrad.mean(xs).exp()),
    "dot": (6, lambda *xs: minigrad.dot(xs[:3], xs[3:]).exp()),
    "dot with a start": (4, lambda a, b, c, d: (a * b + c * d + a).sin()),
    "dots of one thing": (3, lambda *xs: minigrad.dot(xs, xs).sqrt()),
    "mm": (12, lambda *xs: minigrad.sum([v.tanh() for v in mm(xs)])),
    "mm with a start": (12, lambda *xs: minigrad.sum([v.sin() for v in mm_from(xs)])),
    "mm of mm": (12, lambda *xs: minigrad.sum([v.tanh() for v in mm(mm(xs) * 3)])),
    "max": (4, lambda *xs: max(x * x for x in xs) * xs[0]),
    "the largest that was read": (4, lambda *xs: max(x.data for x in xs) * minigrad.dot(xs, xs)),
    "softmax": (4, lambda *xs: minigrad.dot(minigrad.softmax(xs), xs)),
    "logsumexp": (4, lambda *xs: minigrad.logsumexp(xs) * minigrad.log_softmax(xs)[2]),
    "where": (3, lambda x, y, z: where(x > y, (x * z).exp(), y * y * z) * x),
    "where inside where": (
        3,
        lambda x, y, z: where(
            x > 0, where(y > 0, x * y, x * x * z), where(z > 0, y * z, z * z * y)
        ),
    ),
    "fan-out": (2, lambda x, y: (x * y) * (x * y) + (x * y).tanh() * (x * y) + x * y),
    "unused": (3, lambda x, y, z: x * x * x),
    "a result that is an input": (2, lambda x, y: x),
    "a constant": (2, lambda x, y: Value(3.0) * 2),
    "linear": (2, lambda x, y: 3 * x - y / 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_kind_of_instruction(name, seed, backend):
    count, function = PROGRAMS[name]
    rng = random.Random(f"{name} {seed}")
    if name in ("a constant", "a result that is an input"):
        inputs = tuple(rng.uniform(-1, 1) for _ in range(count))
        fast = minigrad.compile(function, backend=backend)
        value, grads = fast.value_and_grad(*inputs)
        expected = (6.0, (0.0, 0.0)) if name == "a constant" else (inputs[0], (1.0, 0.0))
        assert (value, grads.args) == expected
        assert fast.hvp(inputs, (1.0, 1.0)) == (0.0, 0.0)
        return
    both(function, tuple(rng.uniform(-1, 1) for _ in range(count)), backend)


def test_take_and_its_second_derivative(backend):
    table = [[Value(0.5 * i - j + 0.1) for i in range(3)] for j in range(4)]

    def function(i, j, x):
        a, b = take(table, i), take(table, j)
        return (minigrad.dot(a, b) * x).exp() + take(a, j) * x * x

    fast = minigrad.compile(function, backend=backend)
    parameters = [p for row in table for p in row]
    for i, j in [(0, 1), (2, 2), (3, 0), (-1, 1), (1, -2)]:
        x = Value(0.3)
        result = function(i, j, x)
        value, grads = fast.value_and_grad(i, j, 0.3)
        assert value == near(result.data)
        everything = [*parameters, x]
        slopes = minigrad.grad(result, everything)
        assert [grads[p] for p in parameters] == near(slopes[:-1])
        assert grads.args == near((0.0, 0.0, slopes[-1]))
        direction = {p: 0.1 * k - 0.5 for k, p in enumerate(parameters)}
        matrix = np.array(hessian(result, everything))
        expected = matrix @ np.array([*direction.values(), 2.0])
        of_args, of_parameters = fast.hvp((i, j, 0.3), (0, 0, 2.0), direction)
        assert of_args[2] == near(expected[-1])
        assert [of_parameters[p] for p in parameters] == near(expected[:-1].tolist())
    assert fast.cache_info().traces == 1


# ---- closed forms --------------------------------------------------------------------------------


@pytest.mark.smoke
def test_a_quadratic_form_has_a_constant_hessian(backend):
    a = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, -1.0, 2.0]])

    def form(xs):
        return sum(a[i, j] * xs[i] * xs[j] for i in range(3) for j in range(3)) / 2

    fast = minigrad.compile(form, backend=backend)
    x, v = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.7, -1.1])
    value, grads = fast.value_and_grad(x)
    assert value == near(x @ a @ x / 2)
    assert grads.args[0] == near(a @ x)
    assert fast.hvp((x,), (v,))[0] == near(a @ v)


@pytest.mark.smoke
def test_rosenbrock(backend):
    fast = minigrad.compile(lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2, backend=backend)
    for x, y in [(-1.2, 1.0), (1.0, 1.0), (0.0, 0.0), (2.5, -3.0)]:
        value, grads = fast.value_and_grad(x, y)
        assert value == near((1 - x) ** 2 + 100 * (y - x * x) ** 2)
        assert grads.args == near((-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)))
        rows = [[1200 * x * x - 400 * y + 2, -400 * x], [-400 * x, 200.0]]
        assert fast.hvp((x, y), (1.0, 0.0)) == near(tuple(rows[0]), abs=1e-12)
        assert fast.hvp((x, y), (0.0, 1.0)) == near(tuple(rows[1]), abs=1e-12)


def test_hessians_by_captured_values(backend):
    w = Value(3.0)
    fast = minigrad.compile(lambda x: w * w * x * x, backend=backend)
    (of_x,), of_w = fast.hvp((2.0,), (1.0,), {w: 1.0})
    assert of_x == 2 * 9 + 4 * 3 * 2.0
    assert of_w[w] == 2 * 4 + 4 * 3 * 2.0
    assert fast.hvp((2.0,), (1.0,)) == (18.0,)
    with pytest.raises(ValueError, match="another structure"):
        fast.hvp((2.0,), (1.0, 2.0))


def test_a_gradient_that_is_part_of_the_function():
    # What `grad(create_graph=True)` builds is code like any other.
    def penalty(x, y):
        slope = minigrad.grad((x * y).tanh() * x, x, create_graph=True)
        return slope * slope + y

    fast = minigrad.compile(penalty)
    for x, y in [(0.5, 0.7), (-1.0, 0.2)]:
        leaves = [Value(x), Value(y)]
        result = penalty(*leaves)
        value, grads = fast.value_and_grad(x, y)
        assert value == near(result.data)
        assert list(grads.args) == near(minigrad.grad(result, leaves))


# ---- what is not there ---------------------------------------------------------------------------


def test_unused_inputs_get_zero(backend):
    fast = minigrad.compile(lambda x, y, zs: x * 2 + zs[1], backend=backend)
    assert fast.grad(1.0, 2.0, [3.0, 4.0]).args == (2.0, 0.0, [0.0, 1.0])


SINGULAR = {
    "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(),
    "1/x": lambda x: 1 / x,
    "power": lambda x: x**-0.5,
    "product with inf": lambda x: x.log() * x,
    "sum": lambda x: minigrad.sum([x.log(), x.sqrt(), x]),
    "dot": lambda x: minigrad.dot([x.log(), 1 / x], [x, x.sqrt()]),
    "mm": lambda x: minigrad.sum(mm([x.log(), x, 1 / x] * 4)),
    "deep": lambda x: ((x.log() * x).exp() + x).sqrt().log(),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_branch_that_was_not_chosen_gives_zero_and_not_nan(name, backend):
    branch = SINGULAR[name]
    fast = minigrad.compile(
        lambda x, y: where(x > 0, branch(x) * y, x * 3 + y * y), backend=backend
    )
    value, grads = fast.value_and_grad(0.0, 2.0)
    assert (value, grads.args) == (4.0, (3.0, 4.0))
    assert fast.hvp((0.0, 2.0), (1.0, 1.0)) == (0.0, 2.0)
    x, y = Value(0.7), Value(2.0)
    expected = branch(x) * y
    value, grads = fast.value_and_grad(0.7, 2.0)
    assert value == near(expected.data)
    assert list(grads.args) == near(minigrad.grad(expected, [x, y]))
    assert fast.cache_info().traces == 1


def test_whole_numbers_are_not_differentiated_by(backend):
    fast = minigrad.compile(lambda x, n: x**n, backend=backend)
    value, grads = fast.value_and_grad(-2.0, 3)
    assert (value, grads.args) == (-8.0, (12.0, 0.0))
    assert fast.hvp((-2.0, 3), (1.0, 0)) == (-12.0, 0.0)


# ---- random programs -----------------------------------------------------------------------------


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("way", ["numpy", "auto"])
def test_hessian_vector_products_of_random_programs(way, seed):
    program = random_program(seed, size=8)
    leaves = [Value(x) for x in program.inputs]
    results = run(program, leaves, call_minigrad)
    assume(all(math.isfinite(v.data) and abs(v.data) < 100 for v in results))
    fast = minigrad.compile(lambda *xs: run(program, xs, call_minigrad)[-1], backend=way)
    matrix = np.array(hessian(results[-1], leaves))
    vector = [1.0 - 0.5 * k for k in range(len(leaves))]
    size = max(1.0, np.abs(matrix).max())
    found = fast.hvp(tuple(program.inputs), tuple(vector))
    assert list(found) == near((matrix @ np.array(vector)).tolist(), rel=1e-8, abs=1e-9 * size)


KINDS = """add product linear dot sum mean where choice take rows largest smallest softmax tanh sin
relu sigmoid negative ratio read held matrix""".split()


def random_network(seed):
    """Code with everything that a trace keeps open: choices, indices, maxima, numbers read."""
    rng = random.Random(seed)
    ws = [Value(rng.uniform(-2, 2)) for _ in range(rng.randint(0, 5))]
    plan = [
        (rng.choice(KINDS), [rng.random() for _ in range(12)]) for _ in range(rng.randint(3, 14))
    ]

    def network(xs, indices):
        pool = [*ws, *xs]
        for kind, draws in plan:
            nodes = [pool[int(u * len(pool))] for u in draws]
            y = step(kind, nodes, 1 + int(draws[-1] * 5), indices)
            pool += y if isinstance(y, list) else [y]
        return sum(pool[-3:])

    inputs = [[rng.uniform(-2, 2) for _ in range(1 + seed % 4)] for _ in range(3)]
    return network, ws, [(xs, [rng.randrange(4), rng.randrange(4)]) for xs in inputs]


def step(kind, nodes, count, indices):
    a, b, c, d = nodes[:4]
    some, more = nodes[4 : 4 + count], nodes[7 : 7 + count]
    if kind == "matrix":
        left, right = (nodes[:3], nodes[3:6], nodes[6:9]), (nodes[9:12], nodes[2:5])
        return [
            sum(p * q for p, q in zip(row, column, strict=True)).tanh()
            for row in left
            for column in right
        ]
    if kind == "held":
        with minigrad.no_grad():
            product = a * b
        return product * c
    return {
        "add": lambda: a + b,
        "product": lambda: a * b * 0.5,
        "linear": lambda: a * b + c * d + 0.25,
        "dot": lambda: minigrad.dot(some, more) * 0.3,
        "sum": lambda: sum(some),
        "mean": lambda: minigrad.mean(some),
        "where": lambda: where(a > b, c * d, c.tanh()),
        "choice": lambda: where((a.data <= b.data) | (c > 0.3), minigrad.dot(some, more), d * 0.7),
        "take": lambda: take([a, b, c, d], indices[0]),
        "rows": lambda: minigrad.dot(take([[a, b], [b, c], [d, a], [c, c]], indices[1]), [d, a]),
        "largest": lambda: max(some),
        "smallest": lambda: min(some),
        "softmax": lambda: minigrad.softmax(some)[0],
        "tanh": lambda: a.tanh(),
        "sin": lambda: a.sin(),
        "relu": lambda: a.relu(),
        "sigmoid": lambda: a.sigmoid(),
        "negative": lambda: -a,
        "ratio": lambda: a * a / (1 + b * b),
        "read": lambda: a.data * b + c.detach() * max(a.data, b.data),
    }[kind]()


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("way", ["numpy", "auto"])
def test_random_networks(way, seed):
    network, ws, calls = random_network(seed)
    fast = minigrad.compile(network, backend=way)
    for number, (xs, indices) in enumerate(calls):
        leaves = [*ws, *map(Value, xs)]
        result = network(leaves[len(ws) :], indices)
        assume(math.isfinite(result.data) and abs(result.data) < 1e8)
        slopes = minigrad.grad(result, leaves)
        value, grads = fast.value_and_grad(xs, indices)
        found = [grads[w] if w in grads.parameters else 0.0 for w in ws] + grads.args[0]
        assert value == near(result.data, rel=1e-11, abs=1e-11)
        size = max(map(abs, [1.0, *slopes]))
        assert found == near(slopes, rel=1e-10, abs=1e-11 * size)
        if number == 0:
            vector = [0.3 + 0.1 * k for k in range(len(leaves))]
            matrix = np.array(hessian(result, leaves))
            along = vector[len(ws) :], [0] * len(indices)
            of_args, of_ws = fast.hvp((xs, indices), along, dict(zip(ws, vector, strict=False)))
            found = [of_ws[w] if w in of_ws.parameters else 0.0 for w in ws] + of_args[0]
            size = max(1.0, np.abs(matrix).max())
            assert found == near((matrix @ np.array(vector)).tolist(), rel=1e-8, abs=1e-9 * size)
    assert fast.cache_info().traces == 1


# ---- what was not chosen, and what the result does not depend on ---------------------------------


def _eager(function, xs):
    leaves = [Value(x) for x in xs]
    result = function(*leaves)
    (result[0] if isinstance(result, tuple) else result).backward()
    return [leaf.grad for leaf in leaves]


BESIDE = {
    "another result": (lambda x, y: (x * y, x.sqrt()), (0.0, 3.0)),
    "the same kind of operation": (lambda x, y: (x.sqrt(), y.sqrt()), (4.0, 0.0)),
    "a number that was read": (lambda a, c: c * a.sqrt().data + a, (0.0, 2.0)),
    "detached": (lambda a, c: c * a.sqrt().detach() + a, (0.0, 2.0)),
    "a condition": (lambda a, c: where(a.log() > 0, c, c * 2), (-1.0, 2.0)),
    "an unchosen product": (lambda a, w: where(a > 5, a * w + a * w, a * 2.0), (1.0, math.inf)),
    "an unchosen largest": (lambda a, b: max([a, b.log() * 1e9]), (1.0, 0.0)),
    "chosen, and 0 times inf": (lambda a, b: where(a > 0, (a * 0.0) * b.sqrt(), b), (1.0, 0.0)),
    "a diamond below a choice": (lambda a, b: where(a > 0, a.exp(), b.log() * b.log()), (1.0, 0.0)),
    "overflow in another order": (
        lambda a, b: a + (a + b * 1.0),
        (1e308, -1.7e308),
    ),
    "infinite and right": (lambda a, b: a.sqrt() * b, (0.0, 2.0)),
    "nan and right": (lambda a, b: (a - a) * b, (math.inf, 2.0)),
    "two uses, one of them dead": (lambda a, b: (a.log() * b, a.log() * 3.0), (0.0, 0.0)),
}


@pytest.mark.parametrize("name", BESIDE)
def test_inf_and_nan_come_out_as_uncompiled(name, backend):
    function, xs = BESIDE[name]
    fast = minigrad.compile(function, backend=backend)
    fast.value_and_grad(*[0.5 for _ in xs])  # a program for finite numbers is there already
    value, grads = fast.value_and_grad(*xs)
    result = function(*[Value(x) for x in xs])
    right = (result[0] if isinstance(result, tuple) else result).data
    assert [value, *grads.args] == near([right, *_eager(function, xs)], nan_ok=True)
    assert fast.cache_info().traces == 1 or "largest" in name or "choice" in name


SECOND = {
    "where": (lambda x: where(x > -1, x * x.exp(), x), (0.0,)),
    "Huber": (
        lambda w, x, y: where(abs(w * x - y) < 1.0, 0.5 * (w * x - y) ** 2, abs(w * x - y) - 0.5),
        (1.0, 2.0, 2.0),
    ),
    "softmax": (
        lambda u, v: -minigrad.softmax([v * u.tanh(), 0.0 * u])[0].log(),
        (0.3, 0.0),
    ),
    "logsumexp": (lambda u, v: minigrad.logsumexp([v * u, 0.0 * u]), (0.3, 0.0)),
    "largest": (lambda u, v: max([v * u * u, v - 5.0]), (0.3, 0.0)),
    "take": (lambda u, v: minigrad.take([v * u * u, v], 0), (0.3, 0.0)),
}


@pytest.mark.parametrize("name", SECOND)
def test_an_adjoint_of_zero_has_a_derivative(name, backend):
    function, xs = SECOND[name]
    leaves = [Value(x) for x in xs]
    matrix = np.array(hessian(function(*leaves), leaves))
    for k in range(len(xs)):
        vector = tuple(1.0 if j == k else 0.0 for j in range(len(xs)))
        found = minigrad.compile(function, backend=backend).hvp(xs, vector)
        assert list(found) == near(matrix[:, k].tolist(), abs=1e-12)


def test_brackets_without_products_stay():
    fast = minigrad.compile(lambda a, b, c: a + (b + c))
    assert fast(1e16, 1.0, -1e16).data == 1e16 + (1.0 + -1e16)
    assert fast(1e308, 1e308, -1.7e308).data == 1e308 + (1e308 + -1.7e308)
