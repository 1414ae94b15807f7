"""`vmap(f, dtype="float32")`: against mpmath, against float64, and back end against back end."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import random

import pytest
from blocks import in_blocks, in_lanes
from hypothesis import example, given
from hypothesis import strategies as st
from precise import DEFINITION

import minigrad
from minigrad import GuardError, Value, optim, take, vmap, where

np = pytest.importorskip("numpy")

# ruff: noqa: E402
import mpmath as mp
from test_backends import CASES, MACHINES
from test_vmap import market, price

from minigrad.codegen.c_kernels import SINGLE
from minigrad.codegen.elementwise import MAPS
from minigrad.compiler.backends.numpy import Batch
from minigrad.compiler.backends.numpy import prepare as specified
from minigrad.compiler.ir.program import Instruction, Program
from minigrad.compiler.ir.refs import Ref

near = pytest.approx
UNIT = 2.0**-24  # half of the distance from 1 to the next float32
LEAST = 2.0**-149
single = np.float32


def ulps(found, true):
    """The distance between a float32 number and the truth, in units of its last place."""
    exponent = max(-126, int(mp.floor(mp.log(abs(true), 2))) if true else -126)
    return float(abs(mp.mpf(float(found)) - true) / mp.mpf(2) ** (exponent - 23))


# ---- the operations, on each instruction set -----------------------------------------------------


def one_map(op):
    """A program that is an operation, and its slopes times 1."""
    count = op.arity
    places = [Ref(k) for k in range(count)]
    steps = [Instruction("map", (1,), Ref(count + 1), tuple(places), op.name)]
    one, y = Ref(count), Ref(count + 1)
    for k in range(count):
        out = Ref(count + 2 + k)
        steps.append(Instruction("vjp", (1,), out, (one, y, *places), op.name, k, 0.0, True))
    constants = np.ones(1)
    last = 2 * count + 2
    return Program(last, count, 0, constants, tuple(steps), tuple(range(count + 1, last)))


def run(prepare, program, columns):
    """The results of a program in float32, an array of each."""
    prepared, size = prepare(program), len(columns[0])
    outs = [(slot, np.zeros(size, single)) for slot in program.results]
    rows = Batch(size, [*enumerate(columns)], outs, single=True)
    assert prepared.batch(prepared.values(), rows)[1] is None
    return [out for _, out in outs]


FUNCTIONS = [name for name in SINGLE if name in ("exp", "log", "sqrt", "tanh", "erf")]
# Where reductions, polynomials and the range of float32 begin or end.
SEAMS = {
    "exp": (-103.97, -87.33, -0.3466, 0.3466, 1.0397, 88.72),
    "log": (0.7071, 1.0, 1.4142, 1.1754944e-38),
    "sqrt": (1.0, 4.0),
    "tanh": (0.3125, 0.625, 9.01, 10.0),
    "erf": (0.99, 1.0, 3.83, 4.0),
}


def all_sizes(name):
    rng = random.Random(name)
    points = [s * math.ldexp(rng.uniform(1, 2), e) for e in range(-149, 128) for s in (1, -1)]
    points += [rng.uniform(-6.0, 6.0) for _ in range(200)] + [
        rng.uniform(-110, 90) for _ in range(99)
    ]
    for seam in SEAMS[name]:
        points += [seam * (1.0 + k * 2.0**-23) for k in range(-12, 12)]
    points = single(points).astype(float)
    return points[points > 0] if name in ("log", "sqrt") else points


@pytest.mark.parametrize("prepare", MACHINES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_within_one_and_a_half_ulps(prepare, name):
    points = all_sizes(name)
    found = run(prepare, one_map(MAPS[name]), [points.astype(single)])[0]
    for x, y in zip(points.tolist(), found.tolist(), strict=True):
        true = DEFINITION[name](mp.mpf(x))
        if abs(true) < 2.0**128 * (1 - 2.0**-25):
            assert ulps(y, true) <= 1.5, (x, y)
        else:
            assert y == math.inf, x


EDGES = (0.0, -0.0, 1.0, -1.0, 2.5, -7.0, LEAST, -LEAST, 1e-38, 1e-41, 3e38, -3e38, 1e20, -1e-20)
STRANGE = (math.inf, -math.inf, math.nan)


def drawn(op):
    """Arguments: all pairs of edges, and numbers from the domain of the row."""
    rng = np.random.default_rng(op.code)
    edges = np.array([*EDGES, *STRANGE])
    grid = [g.ravel() for g in np.meshgrid(*[edges] * op.arity)]
    domain = op.domain or ((-2.0, 2.0),) * op.arity
    inner = [rng.uniform(*interval, 300) for interval in domain]
    size = [2.0 ** rng.uniform(-149, 127, 300) * rng.choice([-1, 1], 300) for _ in domain]
    columns = [single(np.concatenate(parts)) for parts in zip(grid, inner, size, strict=True)]
    if op.name == "log_add":  # the logarithm of a sum: at home where no term is below 0
        columns[1], columns[2] = columns[0], np.abs(columns[2])
    return columns


@pytest.mark.parametrize("prepare", MACHINES)
@pytest.mark.parametrize("op", MAPS.values(), ids=lambda op: op.name)
def test_every_operation_is_that_of_float64_rounded(prepare, op):
    """Within 4 units in the last place (that one has half of one); special values are the same."""
    columns, program = drawn(op), one_map(op)
    found = run(prepare, program, columns)
    with np.errstate(all="ignore"):
        right = run(specified, program, columns)
    pairs = zip(np.array(found, float), np.array(right, float), strict=True)
    for k, (a, b) in enumerate(pairs):
        both = (a == b) | (np.isnan(a) & np.isnan(b))
        size = np.maximum(np.abs(np.where(np.isfinite(b), b, 0.0)), 2.0**-126)
        with np.errstate(invalid="ignore"):
            close = np.abs(a - b) <= 4.5 * 2 * UNIT * size
        near_end = np.minimum(np.abs(a), np.abs(b)) >= 3.4028e38  # rounds to inf or does not
        bad = np.flatnonzero(~(both | close | (near_end & (np.sign(a) == np.sign(b)))))
        assert not bad.size, (k, [(c[bad[0]], a[bad[0]], b[bad[0]]) for c in columns])
        zero = (a == 0.0) & (b == 0.0)
        assert (np.signbit(a) == np.signbit(b))[zero].all()


@pytest.mark.parametrize("prepare", MACHINES[1:])
def test_the_machine_agrees_with_numpy(prepare):
    for kind, program, values in CASES[::7]:
        count, first = 50, program.inputs + len(program.constants)
        table = single(np.random.default_rng(3).uniform(-2, 2, (count, 30)))
        found, right = (np.zeros((program.size - first, count), single).T for _ in range(2))
        sums = range(first, program.size)
        totals = []
        for way, out in ((prepare, found), (specified, right)):
            rows = Batch(count, [(0, table)], [(first, out)], sums, threads=1, single=True)
            total, failed = way(program).batch(values, rows)
            assert failed is None
            totals.append(total)
        scale = 1.0 + np.nanmax(np.abs(right[np.isfinite(right)]), initial=0.0)
        message = f"{kind}: {program.instructions[-1]}"
        np.testing.assert_allclose(found, right, rtol=1e-6, atol=8e-6 * scale, err_msg=message)
        np.testing.assert_allclose(*totals, rtol=1e-5, atol=4e-4 * scale, err_msg=message)


# ---- functions -----------------------------------------------------------------------------------


def test_prices_and_their_derivatives(backend):
    columns = [single(column) for column in market(1000)]
    values, grads = vmap(price, backend=backend, dtype="float32").value_and_grad(*columns)
    right, slopes = vmap(price, backend=backend).value_and_grad(*columns)
    for a, b in zip((values, *grads), (right, *slopes), strict=True):
        assert a.dtype == single
        assert b.dtype == np.float64
        assert np.abs(a - b).max() <= 64 * UNIT * np.abs(b).max()


OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "tanh": lambda a, b: a.tanh(),
    "sin": lambda a, b: a.sin(),
    "erf": lambda a, b: a.erf(),
    "sigmoid": lambda a, b: minigrad.sigmoid(a),
    "exp": lambda a, b: a.tanh().exp(),
    "log": lambda a, b: (b * b).log1p(),
    "/": lambda a, b: a / (1.0 + b * b),
    "max": minigrad.maximum,
    "where": lambda a, b: where(a < b, a * 0.5, b),
}
steps = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 40), st.integers(0, 40)),
    min_size=1,
    max_size=12,
)


def around(operation, a, b, errors):
    """The value and the slopes of an operation, and how far they are within errors of both."""
    results = []
    for da in (0.0, -errors[0], errors[0]):
        for db in (0.0, -errors[1], errors[1]):
            leaves = Value(a + da), Value(b + db)
            node = operation(*leaves)
            results.append([node.data, *minigrad.grad(node, leaves)])
    spread = np.abs(np.array(results) - results[0]).max(axis=0)
    return results[0], spread + 8 * UNIT * np.abs(results[0]) + 1e-44


def bounds(steps, xs):
    """What a result and its derivatives may be off in float32: a running error analysis."""
    values, errors, rows = list(xs), [0.0] * len(xs), []
    for name, *operands in steps:
        i, j = (k % len(values) for k in operands)
        own = (errors[i], errors[j])
        (value, *slopes), (error, *doubts) = around(OPERATIONS[name], values[i], values[j], own)
        rows.append((len(values), i, j, slopes, doubts))
        values.append(value)
        errors.append(error)
    adjoints, wrong = [0.0] * len(values), [0.0] * len(values)
    adjoints[-1] = 1.0
    for at, i, j, slopes, doubts in reversed(rows):
        for to, slope, doubt in zip((i, j), slopes, doubts, strict=True):
            product = adjoints[at] * slope
            adjoints[to] += product
            wrong[to] += abs(adjoints[at]) * doubt + wrong[at] * (abs(slope) + doubt)
            wrong[to] += UNIT * (2 * abs(product) + abs(adjoints[to]))
    return [errors[-1], *wrong[: len(xs)]]


@given(steps=steps, seed=st.integers(0, 1000))
def test_any_function_is_near_that_of_float64(steps, seed):
    """Each operation adds 4 units in the last place, and hands on what it was given."""
    xs = single(np.random.default_rng(seed).uniform(-2, 2, (3, 5)))

    def function(*leaves):
        nodes = list(leaves)
        for name, i, j in steps:
            nodes.append(OPERATIONS[name](nodes[i % len(nodes)], nodes[j % len(nodes)]))
        return nodes[-1]

    right, slopes = vmap(function).value_and_grad(*xs)
    margin = np.array([bounds(steps, column) for column in xs.T.astype(float).tolist()]).T
    for backend in ("auto", "numpy"):
        fast = vmap(function, dtype="float32", backend=backend)
        values, grads = fast.value_and_grad(*xs)
        off = np.abs(np.array([values, *grads], float) - [right, *slopes])
        calm = np.array([right, *slopes])
        calm = np.isfinite(calm).all(axis=0) & (np.abs(calm) < 1e15).all(axis=0)
        assert (off <= 1.01 * margin)[:, calm].all()


@example(xs=[0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324, 1e-42, 3e38, -88.8])
@given(xs=st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_special_values(xs):
    functions = (
        lambda x: x - x,
        lambda x: 1 / x,
        lambda x: x * 0.0,
        lambda x: x.exp(),
        lambda x: x.tanh(),
        lambda x: x.erf(),
        lambda x: minigrad.maximum(x, 0.0),
        lambda x: x * x,
        lambda x: where(x > 0, x, -x),
    )
    with np.errstate(over="ignore"):
        rounded = single(np.array(xs)).tolist()
    for backend in ("auto", "numpy"):
        fast = vmap(lambda x: tuple(f(x) for f in functions), dtype="float32", backend=backend)
        for function, column in zip(functions, fast(np.array(xs)), strict=True):
            for x, got in zip(rounded, column.tolist(), strict=True):
                with np.errstate(over="ignore"):
                    right = float(single(function(Value(x)).data))
                assert got == near(right, rel=4 * UNIT, abs=LEAST, nan_ok=True), x
                assert right != 0 or math.copysign(1, got) == math.copysign(1, right)


# ---- what is given and what comes back -----------------------------------------------------------


def test_all_that_is_given_is_rounded_once(backend):
    w = Value(0.1)
    fast = vmap(lambda x, k, pair: (x, k * 1.0, pair[0], w * 1.0, 0.3 + 0.0 * x), dtype=np.float32,
                backend=backend)  # fmt: skip
    found = fast(np.array([1 / 3, 1e-50, 1e39]), 0.7, [1.7])
    assert [column.dtype for column in found] == [single] * 5
    for column, right in zip(found, ([1 / 3, 0.0, math.inf], 0.7, 1.7, 0.1), strict=False):
        assert column.tolist() == np.broadcast_to(single(right), 3).tolist()
    assert found[4][0] == single(0.3)


def test_what_serves_all_rows(backend):
    w = Value(2.0)
    xs = single([1.0, 2.0, 4.0])
    fast = vmap(lambda x, k, pair: w * x * k + pair[0] - pair[1], backend=backend, dtype="float32")
    values, grads = fast.value_and_grad(xs, 5.0, [0.5, 0.25])
    assert values.tolist() == (2 * xs * 5 + 0.25).tolist()
    assert [grads[0].tolist(), grads[1], grads[2].tolist()] == [[10.0] * 3, 14.0, [3.0, -3.0]]
    assert (grads[2].dtype, grads.totals.dtype, grads.totals.tolist()) == (single, single, [35.0])


def test_totals_are_added_in_float64(backend):
    fast = vmap(lambda x, k: x * k, backend=backend, dtype="float32")
    xs = np.full(300_000, 0.1, single)
    assert fast.grad(xs, 1.0)[1] == near(300_000 * float(single(0.1)), rel=UNIT)


def test_arrays_that_do_not_lie_in_a_row(backend):
    a = single(np.arange(800.0).reshape(200, 4))
    fast = vmap(lambda x, y: x * 2 + y[0] * y[1], backend=backend, dtype="float32")
    for x, y in [
        (a[:, 1], a),
        (a[::2, 1], a[:100, ::2]),
        (a[::-1, 3], a[:, ::-2]),
        (np.asfortranarray(a)[:, 1], np.asfortranarray(a)[:, :2]),
        (a[:, 1].astype(np.float16), a[:, :2].astype(np.int16)),
        (a[:, 1].astype(float), a.astype(np.longdouble)),
    ]:
        kept = x.copy(), y.copy()
        assert fast(x, y).tolist() == (x * 2.0 + y[:, 0] * 1.0 * y[:, 1]).tolist()
        assert (x == kept[0]).all()
        assert (y == kept[1]).all()


@pytest.mark.parametrize("count", [1, 15, 16, 17, 63, 64, 127, 128, 129, 1000])
def test_rows_of_any_number(count, backend):
    x, y = single(np.random.default_rng(count).normal(size=(2, count)))
    values, grads = vmap(lambda a, b: a * b, backend=backend, dtype="float32").value_and_grad(x, y)
    assert values.tolist() == (x * y).tolist()
    assert (grads[0] == y).all()
    assert (grads[1] == x).all()


def test_threads_change_nothing(backend):
    columns, w = market(30_000, seed=4), Value(1.5)
    fast = vmap(lambda *xs: price(*xs) * w, backend=backend, dtype="float32")
    one, many = (fast.value_and_grad(*columns, threads=n) for n in (1, 3))
    assert (one[0] == many[0]).all()
    assert all((a == b).all() for a, b in zip(one[1], many[1], strict=True))
    assert one[1].totals.tolist() == many[1].totals.tolist()


@pytest.mark.parametrize("count", [16, 70])
def test_blocks_compute_in_float64_from_what_is_given_in_float32(count, backend):
    model = minigrad.nn.MLP(6, [9, 2], activation="tanh", seed=1)

    def function(x, scale):
        first, second = model(list(x))
        return first * second * scale

    given = single(np.random.default_rng(1).normal(size=(count, 6))), 2.0
    right, slopes = vmap(function, backend=backend).value_and_grad(*given)
    fast = vmap(function, dtype="float32", backend=backend)
    with in_blocks(16):
        values, grads = fast.value_and_grad(*given)
    with in_lanes():
        others = fast.value_and_grad(*given)
    assert values.dtype == grads[0].dtype == grads.totals.dtype == single
    assert values.tolist() == near(right, rel=UNIT * 1.001)
    assert grads[0].ravel().tolist() == near(slopes[0].ravel(), rel=UNIT * 1.001, abs=1e-12)
    assert grads[1] == near(slopes[1], rel=UNIT * 1.001)
    assert grads.totals.tolist() == near(slopes.totals, rel=UNIT * 1.001, abs=1e-11)
    assert values.tolist() == near(others[0], abs=100 * UNIT)
    assert grads.totals.tolist() == near(others[1].totals, abs=1e4 * UNIT)


# ---- ways, indices, whole numbers ----------------------------------------------------------------


def test_a_branch_is_decided_in_float32(backend):
    fast = vmap(lambda x: x * 2 if x > 0.1 else x * 3, backend=backend, dtype="float32")
    assert fast(single([0.2, 5.0])).tolist() == single([0.4, 10.0]).tolist()
    with pytest.raises(
        GuardError, match="row 1 would take another way through the function than row 0"
    ):
        fast(np.array([0.2, 0.05]))
    # 0.1 is a little more as a float32 number, and then it is compared with the same number
    with pytest.raises(
        GuardError, match="row 0 would take another way .* in float32 than in float64"
    ):
        fast(np.array([0.1, 0.2]))
    assert fast(np.array([-1.0, -2.0])).tolist() == [-3.0, -6.0]
    choose = vmap(lambda x: where(x > 0.1, x * 2, x * 3), backend=backend, dtype="float32")
    assert (
        choose(np.array([0.1, 0.2])).tolist() == single([single(0.1) * 3, single(0.2) * 2]).tolist()
    )


def test_indices(backend):
    table = [Value(float(k)) for k in range(5)]
    fast = vmap(lambda i, x: take(table, i) * x, backend=backend, dtype="float32")
    values, grads = fast.value_and_grad(np.array([0, 4, -2]), single([1.0, 2.0, 3.0]))
    assert values.tolist() == [0.0, 8.0, 9.0]
    assert grads[0].tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(IndexError):
        fast(np.array([0, 5]), np.ones(2))


def test_whole_numbers_beyond_those_of_float32(backend):
    fast = vmap(lambda i, x: x * i, backend=backend, dtype="float32")
    assert fast(np.array([2**24, -(2**24)]), np.ones(2)).tolist() == [2.0**24, -(2.0**24)]
    for number in (2**24 + 1, -(2**24) - 1, 2**40):
        with pytest.raises(ValueError, match=r"beyond 2\*\*24.* float32"):
            fast(np.array([0, number]), np.ones(2))
    # 2**24 + 1 is traced, 2**24 is computed: another index, which is not taken
    rows = [1.0, 2.0]
    pick = vmap(lambda x: rows[int(x.data + 1.0) - 2**24] * x, backend=backend, dtype="float32")
    with pytest.raises(GuardError, match="in float32 than in float64"):
        pick(np.array([2.0**24]))


WHOLE = {
    "squares": lambda i, k: i * i - (i - 1) * (i - 1),
    "products": lambda i, k: i * k - (i - 1) * k,
    "a sum with what is too large": lambda i, k: i + (2**24 + 1) - 2**24,
    "a difference to it": lambda i, k: (2**24 + 1) - (i + 2**24 - 8000),
}


@pytest.mark.parametrize("what", WHOLE)
@pytest.mark.parametrize("first", [4, 7001])
def test_whole_numbers_are_exact_or_refused(what, first, backend):
    """Those of Python are exact, whatever lies between; 7001 * 3001 is no float32 number."""
    table, index = [float(n) for n in range(20_000)], WHOLE[what]
    rows = np.array([first, first, first - 1])
    fast = vmap(lambda i, k, x: take(table, index(i, k)) * x, backend=backend, dtype="float32")
    if first == 7001 or "large" in what or "it" in what:
        with pytest.raises(GuardError, match="row 2 would take another way"):
            fast(rows, 3001, np.ones(3))
        rows = rows[:2]
    right = [float(index(i, 3001)) for i in rows.tolist()]
    assert fast(rows, 3001, np.ones(len(rows))).tolist() == right


@pytest.mark.parametrize("shared", [2**24 + 1, -(2**40), [1, 2**24 + 1], {"k": (0.5, 2**25)}])
def test_whole_numbers_for_all_rows_are_within_those_of_float32(shared, backend):
    fast = vmap(lambda x, k: x * 2.0, backend=backend, dtype="float32")
    with pytest.raises(ValueError, match=r"beyond 2\*\*24.* float32"):
        fast(np.ones(2), shared)
    assert fast(np.ones(2), 2**24).tolist() == [2.0, 2.0]


def test_a_row_that_is_not_finite_is_as_in_the_formulas(backend):
    fast = vmap(lambda x: x.exp() * 0.0 + x, backend=backend, dtype="float32")
    values, (slopes,) = fast.value_and_grad(np.array([1.0, 100.0, 2.0]))
    assert values.tolist() == near([1.0, math.nan, 2.0], nan_ok=True)
    assert slopes.tolist() == near([1.0, math.nan, 1.0], nan_ok=True)


# ---- what is refused -----------------------------------------------------------------------------


def test_what_is_refused():
    with pytest.raises(ValueError, match="choose 'float64' or 'float32'"):
        vmap(price, dtype="float16")
    with pytest.raises(ValueError, match="choose 'float64' or 'float32'"):
        vmap(price, dtype="long")
    with pytest.raises(ValueError, match=r"float32 is for backend='native' and 'numpy'"):
        vmap(price, dtype="float32", backend="jax")
    w = Value(1.0)
    rows = vmap(lambda x: w * x, dtype="float32")
    with pytest.raises(TypeError, match="parameters are trained in float64"):
        minigrad.train_step(rows, optim.SGD([w]))


def test_a_number_that_float32_has_not(backend):
    with pytest.raises(ValueError, match=r"1e\+300, which is beyond float32"):
        vmap(lambda x: (x * 1e300) / 1e300, backend=backend, dtype="float32")(np.ones(3))


def double(x):
    return x * 2.0


def test_copies_and_what_is_told():
    fast = vmap(double, dtype="float32")
    for twin in (fast, copy.copy(fast), pickle.loads(pickle.dumps(fast))):
        assert twin(np.ones(2)).dtype == single
    assert "in float32" in repr(fast)
    assert vmap(double)(np.ones(2, single)).dtype == np.float64
