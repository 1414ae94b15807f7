"""`minigrad.to_torch`: scalar functions in PyTorch, against the NumPy back end and eager Values."""

from __future__ import annotations

import math
import random
from math import inf, nan, pi
from pathlib import Path

import numpy as np
import pytest
from programs import call_minigrad
from test_ops import ROWS, discrete, samples

import minigrad
from minigrad import Value
from minigrad.compiler import api
from minigrad.errors import GuardError

pytestmark = [
    pytest.mark.oracle,
    # PyTorch's own, when it first goes forward.
    pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated:DeprecationWarning"),
]
BENCH = Path(__file__).parent.parent / "bench"


@pytest.fixture(autouse=True)
def torch(torch):
    return torch


@pytest.fixture
def problem(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.syspath_prepend(str(BENCH.parent / "tests"))
    ours = pytest.importorskip("peers.ours")
    return ours.Compiled().problem


def close(found, expected, rtol=1e-12):
    size = max([abs(x) for x in np.ravel(expected) if math.isfinite(x)], default=0.0)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * min(size, 1.0))


def slopes(torch, fn, params, *args):
    """The value and the gradient by the parameters."""
    value = fn(params, *args)
    (gradient,) = torch.autograd.grad(value, params)
    return value.item(), gradient.tolist()


# ---- whole programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["A", "B4", "B8", "R RNN", "R convolution"])
def test_programs_agree_with_numpy(torch, problem, case):
    loss, args, _ = problem(case)
    value, grads = minigrad.compile(loss, backend="numpy").value_and_grad(*args)
    fn, params = minigrad.to_torch(loss, *args)
    found, gradient = slopes(torch, fn, params, *args)
    close(found, value)
    close(gradient, [grads[p] for p in fn.parameters])


def test_other_numbers_than_the_examples(torch):
    w = [Value(0.3 * k - 1.0) for k in range(6)]

    def loss(xs, k):
        hidden = [minigrad.tanh(minigrad.dot(w, x)) for x in xs]
        return minigrad.softmax(hidden)[0] + minigrad.take(w, k) ** 2

    rng = random.Random(1)
    rows = [[[rng.gauss(0, 1) for _ in range(6)] for _ in range(4)] for _ in range(2)]
    fn, params = minigrad.to_torch(loss, rows[0], 1)
    numpy = minigrad.compile(loss, backend="numpy")
    for form in (lambda x: x, np.array, lambda x: torch.tensor(x, dtype=torch.float64)):
        for k in (4, -1, np.int64(2), torch.tensor(3), torch.tensor(3.0)):
            value, grads = numpy.value_and_grad(rows[1], int(k))
            found, gradient = slopes(torch, fn, params, form(rows[1]), k)
            close(found, value)
            close(gradient, [grads[p] for p in fn.parameters])


def test_arguments_are_differentiated_too(torch):
    w = Value(0.5)
    fn, params = minigrad.to_torch(lambda xs: minigrad.exp(w * xs[0]) * xs[1], [1.0, 2.0])
    xs = torch.tensor([0.25, 3.0], dtype=torch.float64, requires_grad=True)
    fn(params, xs).backward()
    e = math.exp(0.125)
    close(xs.grad, [0.5 * e * 3.0, e])
    close(params.grad, [0.25 * e * 3.0])


def test_what_a_function_returns_keeps_its_shape(torch):
    w = Value(2.0)
    fn, params = minigrad.to_torch(lambda x: {"a": w * x, "b": [x + w, 1.5]}, 3.0)
    found = fn(params, 4.0)
    assert found["a"].item() == 8.0
    assert found["b"][0].item() == 6.0
    assert found["b"][1] == 1.5


def test_a_function_without_parameters_or_without_arguments(torch):
    fn, params = minigrad.to_torch(lambda x: x * x, 3.0)
    assert params.shape == (0,)
    assert fn(params, 5).item() == 25.0
    a = Value(3.0)
    fn, params = minigrad.to_torch(lambda: a * a)
    assert slopes(torch, fn, params) == (9.0, [6.0])


def test_gathers_without_a_pattern(torch):
    rng = random.Random(5)
    w = [Value(rng.gauss(0, 1)) for _ in range(40)]
    picked = [rng.sample(range(40), 7) for _ in range(9)] + [[0] * 7] * 30

    def loss(xs):
        rows = [minigrad.dot([w[k] for k in row], xs) for row in picked]
        return sum((minigrad.tanh(row) for row in rows), Value(0.0))

    xs = [rng.gauss(0, 1) for _ in range(7)]
    value, grads = minigrad.compile(loss, backend="numpy").value_and_grad(xs)
    fn, params = minigrad.to_torch(loss, xs)
    found, gradient = slopes(torch, fn, params, xs)
    close(found, value)
    close(gradient, [grads[p] for p in fn.parameters])
    assert torch.autograd.gradcheck(lambda p: fn(p, xs), params)
    assert torch.autograd.gradgradcheck(lambda p: fn(p, xs), params)


@pytest.mark.parametrize("deep", [1, 3, 1000])
@pytest.mark.parametrize("holes", [False, True])
def test_a_gather_and_its_gradient(torch, deep, holes):
    from minigrad.compiler.backends.torch.library import Recorder, Recording

    rng = np.random.default_rng(deep)
    table = np.concatenate([rng.permutation(8), np.full(deep - 1, 3)])
    table = np.where(rng.random(len(table)) < 0.3, -1, table) if holes else table
    x = torch.tensor(rng.normal(size=8), requires_grad=True)
    recorder = Recorder(torch.float64, [x.detach()])
    recording = Recording(recorder, [recorder.gather(recorder.leaves[0], table)])

    def run(x):
        return recording.run([x])[0]

    expected = np.where(table >= 0, x.detach().numpy()[table], 0.0)
    assert run(x).tolist() == expected.tolist()
    weights = torch.tensor(rng.normal(size=len(table)))
    (found,) = torch.autograd.grad(run(x), x, weights)
    counted = np.zeros(8)
    np.add.at(counted, table[table >= 0], weights.numpy()[table >= 0])
    close(found, counted, 1e-13)
    assert torch.autograd.gradgradcheck(run, x)
    both = torch.stack([x.detach(), 2 * x.detach()])
    assert torch.func.vmap(run)(both)[1].tolist() == (2 * expected).tolist()


# ---- the op table --------------------------------------------------------------------------------


def operation(op, which):
    """An operation as a function of a list of numbers, for compiled functions."""
    chosen = discrete(op)

    def call(xs):
        if op.name == "where":
            return minigrad.where(xs[0] > 0.5, xs[1], xs[2])
        if chosen:
            return call_minigrad(op.name, xs[1:], which)
        return call_minigrad(op.name, xs, which)

    return call


def arguments_of(op, count=4):
    found = [tuple(map(float, xs)) for xs in [*op.probes, *samples(op, count)]]
    by_size = {}
    for xs in found:
        by_size.setdefault(len(xs), []).append(xs)
    return by_size


def outputs(op, xs):
    if op.name == "take":
        return [int(xs[0])]
    return range(len(xs)) if op.name in ("softmax", "log_softmax") else [None]


def agrees(found, expected, tolerance=1e-12):
    """Nearly the same number, nan and infinities included; underflow counts for nothing."""
    if math.isnan(expected) or math.isinf(expected):
        return found == expected or (math.isnan(found) and math.isnan(expected))
    return abs(found - expected) <= tolerance * abs(expected) + 1e-300


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_every_op_has_the_tables_value_and_slopes(torch, op):
    """Against the eager engine, whose rows are tested against mpmath."""
    for rows in arguments_of(op).values():
        for which in outputs(op, rows[0]):
            call = operation(op, which)
            inputs = [Value(x) for x in rows[0]]
            fn, _ = minigrad.to_torch(lambda inputs=inputs, call=call: call(inputs))
            for xs in rows:
                values = [Value(x) for x in xs]
                if op.name == "take" and int(xs[0]) != which:
                    continue
                expected = call(values)
                expected.backward()
                kept = [k for k, p in enumerate(inputs) if p in fn.parameters]
                given = torch.tensor([xs[k] for k in kept], dtype=torch.float64)
                given.requires_grad_()
                if fn.lowered.guards:  # where, by its condition: traced anew for each
                    fn, given = minigrad.to_torch(lambda xs=values, call=call: call(xs))
                    kept = [values.index(p) for p in fn.parameters]
                value = fn(given)
                (gradient,) = torch.autograd.grad(value, given)
                assert agrees(value.item(), expected.data), (xs, value.item(), expected.data)
                for k, slope in zip(kept, gradient.tolist(), strict=True):
                    assert agrees(slope, values[k].grad), (xs, k, slope, values[k].grad)


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_every_op_has_the_second_derivatives_of_hessian(torch, op):
    if op.name in ("where", "take"):
        return
    for rows in arguments_of(op, 3).values():
        for which in outputs(op, rows[0]):
            call = operation(op, which)
            inputs = [Value(x) for x in rows[0]]
            fn, _ = minigrad.to_torch(lambda inputs=inputs, call=call: call(inputs) * 1.5)
            for xs in rows:
                values = [Value(x) for x in xs]
                expected = minigrad.hessian(call(values) * 1.5, values)
                given = torch.tensor(xs, dtype=torch.float64)
                found = torch.autograd.functional.hessian(fn, given).tolist()
                for k in range(len(xs)):
                    for j in range(len(xs)):
                        assert agrees(found[k][j], expected[k][j], 1e-11), (
                            xs,
                            k,
                            j,
                            found,
                            expected,
                        )


KINKS = {
    "relu": (minigrad.relu, [0.0, -0.0, 1.0, -1.0, nan]),
    "abs": (abs, [0.0, -0.0, 2.0, -2.0, nan]),
    "maximum": (lambda x: minigrad.maximum(x, 1.0), [1.0, 0.5, 2.0, nan]),
    "minimum": (lambda x: minigrad.minimum(1.0, x), [1.0, 0.5, 2.0, nan]),
    "clip": (lambda x: minigrad.clip(x, -1.0, 1.0), [-1.0, 1.0, 0.0, 3.0, nan]),
    "leaky_relu": (minigrad.leaky_relu, [0.0, 1.0, -1.0]),
    "sqrt": (minigrad.sqrt, [0.0, -0.0, -1.0, inf]),
    "log": (minigrad.log, [0.0, -0.0, -1.0, inf]),
    "pow": (lambda x: x**2, [0.0, -3.0, inf, -inf]),
    "pow0": (lambda x: x**0, [0.0, -3.0, inf]),
    "root": (lambda x: x**0.5, [0.0, 4.0, -4.0]),
    "inverse": (lambda x: x**-1, [0.0, 4.0, -4.0, inf]),
    "exponent": (lambda x: 2.0**x, [0.0, -3.0, 2000.0, -2000.0]),
    "of_zero": (lambda x: 0.0**x, [0.0, 2.0, -1.0]),
    "tan": (minigrad.tan, [pi / 2, 0.0]),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_and_edges_follow_the_table(torch, name):
    function, points = KINKS[name]
    w = Value(1.25)
    fn, _ = minigrad.to_torch(lambda: function(w))
    for x in points:
        value = Value(x)
        expected = function(value)
        expected.backward()
        given = torch.tensor([x], dtype=torch.float64, requires_grad=True)
        found, (slope,) = slopes(torch, fn, given)
        assert agrees(found, expected.data), x
        assert agrees(slope, value.grad), x


def test_what_a_where_does_not_choose_passes_nothing_on(torch):
    w = Value(0.0)

    def f(x):
        return minigrad.where(x > 0.0, minigrad.sqrt(w) + minigrad.log(w), w * 3.0)

    fn, params = minigrad.to_torch(f, -1.0)
    assert slopes(torch, fn, params, -1.0) == (0.0, [3.0])
    (slope,) = torch.autograd.grad(fn(params, -1.0), params, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), params, allow_unused=True, materialize_grads=True)
    assert bend.tolist() == [0.0]
    assert torch.func.grad(fn)(params, -1.0).tolist() == [3.0]
    value, gradient = slopes(torch, fn, params, 1.0)
    assert (value, gradient) == (-inf, [inf])


def test_a_safe_root_has_a_second_derivative_at_zero(torch):
    w = Value(0.0)
    fn, params = minigrad.to_torch(
        lambda: minigrad.where(w > 0.0, minigrad.sqrt(w) * minigrad.exp(w), w * w)
    )
    found = torch.autograd.functional.hessian(fn, params.detach())
    assert found.tolist() == [[2.0]]
    assert torch.func.hessian(fn)(params.detach()).tolist() == [[2.0]]


def test_an_index_that_is_none_makes_nan_of_value_and_gradient(torch):
    table = [Value(float(k)) for k in range(3)]
    fn, params = minigrad.to_torch(lambda k: minigrad.take(table, k) * 2.0, 1)
    assert slopes(torch, fn, params, 2) == (4.0, [0.0, 0.0, 2.0])
    assert slopes(torch, fn, params, -3) == (0.0, [2.0, 0.0, 0.0])
    for k in (3, -4, 1.5, nan, inf, 1e300):
        value, gradient = slopes(torch, fn, params, k)
        assert math.isnan(value), k
        assert all(map(math.isnan, gradient)), k


def test_rows_of_a_table_out_of_range(torch):
    table = [[Value(k + 0.25 * j) for j in range(3)] for k in range(4)]

    def f(ks):
        return sum(x for k in ks for x in minigrad.take(table, k))

    fn, params = minigrad.to_torch(f, [1, 3, 0])
    value, grads = minigrad.compile(f, backend="numpy").value_and_grad([2, 2, 1])
    found, gradient = slopes(torch, fn, params, torch.tensor([2, 2, 1]))
    assert (found, gradient) == (value, [grads[p] for p in fn.parameters])
    value, gradient = slopes(torch, fn, params, torch.tensor([2, 4, 1]))
    assert math.isnan(value)
    assert any(map(math.isnan, gradient))


@pytest.mark.parametrize(
    "xs", [[1.0, 3.0, 3.0], [nan, 5.0, 1.0], [1.0, nan, 2.0], [-inf, nan, -inf], [0.0, -0.0, nan]]
)
def test_the_largest_is_pythons(torch, xs):
    ws = [Value(x) for x in [0.5, 1.5, 1.0]]
    fn, _ = minigrad.to_torch(lambda: minigrad.logsumexp(ws))
    values = [Value(x) for x in xs]
    expected = minigrad.logsumexp(values)
    found = fn(torch.tensor(xs, dtype=torch.float64))
    assert agrees(found.item(), expected.data)


# ---- guards --------------------------------------------------------------------------------------


def test_another_way_than_the_examples_is_nan(torch):
    w = Value(2.0)
    fn, params = minigrad.to_torch(lambda x: w * x if w * x > 0 else w - x, 1.0)
    assert slopes(torch, fn, params, 3.0) == (6.0, [3.0])
    value, gradient = slopes(torch, fn, params, -3.0)
    assert math.isnan(value)
    assert math.isnan(gradient[0])
    both = torch.func.vmap(fn, (None, 0))(params, torch.tensor([3.0, -3.0], dtype=torch.float64))
    assert both[0].item() == 6.0
    assert math.isnan(both[1].item())


def test_guards_may_be_refused():
    w = Value(2.0)

    def f(x):
        return w * x if w * x > 0 else w - x

    with pytest.raises(GuardError, match=r"to_torch: f decides by its numbers .*where\(condition"):
        minigrad.to_torch(f, 1.0, guards="error")
    fn, params = minigrad.to_torch(lambda x: minigrad.where(w * x > 0, x, w), 1.0, guards="error")
    assert fn(params, -1.0).item() == 2.0
    with pytest.raises(ValueError, match=r"to_torch\(guards='no'\): choose 'nan' or 'error'"):
        minigrad.to_torch(f, 1.0, guards="no")


# ---- PyTorch's own ways --------------------------------------------------------------------------


def model():
    rng = random.Random(3)
    w = [[Value(rng.gauss(0, 1), label=f"w{k}{j}") for j in range(2)] for k in range(3)]
    v = [Value(rng.gauss(0, 1)) for _ in range(3)]

    def loss(x, y):
        hidden = [minigrad.tanh(minigrad.dot(row, x)) for row in w]
        return (minigrad.dot(v, hidden) / (1.0 + minigrad.exp(v[0])) - y) ** 2

    return loss, [*w[0], *w[1], *w[2], *v]


def test_double_backward_is_the_hessian(torch):
    loss, _ = model()
    x, y = [0.5, -1.0], 0.3
    fn, params = minigrad.to_torch(loss, x, y)
    expected = minigrad.hessian(loss(x, y), fn.parameters)
    (slope,) = torch.autograd.grad(fn(params, x, y), params, create_graph=True)
    rows = [torch.autograd.grad(s, params, retain_graph=True)[0].tolist() for s in slope]
    close(rows, expected)
    given = params.detach()
    close(torch.func.hessian(fn)(given, x, y), expected)  # forward over reverse, and vmap
    close(torch.func.jacrev(torch.func.jacrev(fn))(given, x, y), expected)
    close(torch.func.jacfwd(torch.func.grad(fn))(given, x, y), expected)


def test_functional_transforms_take_it_as_it_is(torch):
    loss, _ = model()
    fn, params = minigrad.to_torch(loss, [0.5, -1.0], 0.3)
    xs = torch.tensor(np.random.default_rng(0).normal(size=(5, 2)))
    ys = torch.linspace(-1, 1, 5, dtype=torch.float64)
    given = params.detach()
    each = torch.func.vmap(torch.func.grad(fn), (None, 0, 0))(given, xs, ys)
    for row, x, y in zip(each, xs, ys, strict=True):
        close(row, slopes(torch, fn, params, x, y)[1])
    total = torch.func.vmap(fn, (None, 0, 0))(params, xs, ys).mean()
    total.backward()
    close(params.grad, each.mean(0))
    _, tangent = torch.func.jvp(lambda p: fn(p, xs[0], ys[0]), (given,), (each[1],))
    close(tangent, (each[0] @ each[1]).item())


def test_a_transform_may_come_first(torch):
    """What is made for a device at the first call must outlive the transform."""
    loss, _ = model()
    fn, params = minigrad.to_torch(loss, [0.5, -1.0], 0.3)
    with torch.inference_mode():
        fn(params, [0.5, -1.0], 0.3)
    torch.func.grad(fn)(params, [0.5, -1.0], 0.3)
    params.grad = None
    fn(params, [0.5, -1.0], 0.3).backward()
    assert params.grad is not None


def test_gradcheck_of_pytorch_itself(torch):
    loss, _ = model()
    fn, params = minigrad.to_torch(loss, [0.5, -1.0], 0.3)
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(fn, (params, x, y), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(fn, (params, x, y))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_training_goes_the_way_of_minigrads_own(torch, momentum):
    data = [([0.1 * k, 1.0 - 0.2 * k], math.sin(k)) for k in range(10)]
    loss, values = model()
    fn, params = minigrad.to_torch(loss, *data[0])
    theirs = torch.optim.SGD([params], lr=0.05, momentum=momentum)
    losses = []
    for x, y in data * 3:
        theirs.zero_grad()
        found = fn(params, x, y)
        found.backward()
        theirs.step()
        losses.append(found.item())
    twin, twins = model()
    ours = minigrad.optim.SGD(twins, lr=0.05, momentum=momentum)
    expected = []
    for x, y in data * 3:
        ours.zero_grad()
        value = twin(x, y)
        value.backward()
        ours.step()
        expected.append(value.data)
    close(losses, expected)
    minigrad.load_params(fn, params)
    close([p.data for p in values], [p.data for p in twins])


# ---- names, types, mistakes ----------------------------------------------------------------------


def test_parameters_have_names(torch):
    loss, values = model()
    fn, params = minigrad.to_torch(loss, [0.5, -1.0], 0.3)
    assert fn.names[:2] == ("w00", "w01")
    assert set(fn.parameters) == set(values)
    assert params.is_leaf
    assert params.requires_grad
    assert params.dtype == torch.float64
    named = fn.unflatten(params)
    assert named["w21"].item() == fn.parameters[fn.names.index("w21")].data
    assert fn.flatten(named).tolist() == params.tolist()
    with pytest.raises(KeyError, match="'w00' is in one of the two only"):
        fn.flatten(dict.fromkeys(fn.names[1:], 1.0))
    minigrad.load_params(fn, {name: float(k) for k, name in enumerate(fn.names)})
    assert [p.data for p in fn.parameters] == [float(k) for k in range(len(fn.names))]
    minigrad.load_params(fn, named)
    assert [p.data for p in fn.parameters] == params.tolist()


@pytest.mark.parametrize("dtype", ["float32", "torch"])
def test_single_precision_by_name(torch, problem, dtype):
    loss, args, _ = problem("B4")
    value, grads = minigrad.compile(loss, backend="numpy").value_and_grad(*args)
    fn, params = minigrad.to_torch(loss, *args, dtype=torch.float32 if dtype == "torch" else dtype)
    assert params.dtype == torch.float32
    found = fn(params, *args)
    assert found.dtype == torch.float32
    found.backward()
    close(found.item(), value, 1e-5)
    expected = np.array([grads[p] for p in fn.parameters])
    assert np.abs(params.grad.numpy() - expected).max() < 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_every_op_in_single_precision(torch, op):
    xs = next(iter(samples(op, 1)))
    if discrete(op):
        return
    for which in outputs(op, xs):
        call = operation(op, which)
        values = [Value(float(np.float32(x))) for x in xs]
        fn, params = minigrad.to_torch(lambda v=values, call=call: call(v) * 1.5, dtype="float32")
        value, gradient = slopes(torch, fn, params)
        expected = call(values) * 1.5
        expected.backward()
        assert agrees(value, expected.data, 1e-4)
        bends = torch.autograd.functional.hessian(fn, params.detach())
        for row, p, second in zip(
            bends, fn.parameters, minigrad.hessian(call(values) * 1.5, fn.parameters), strict=True
        ):
            assert abs(gradient[fn.parameters.index(p)] - p.grad) <= 1e-4 * max(abs(p.grad), 1e-3)
            for found, bend in zip(row.tolist(), second, strict=True):
                assert abs(found - bend) <= 1e-3 * max(abs(bend), 1e-2)


@pytest.mark.parametrize("xs", [(0.3, 0.4), (3e-9, -4e-9), (3e30, 4e30)])
def test_radii_in_single_precision(torch, xs):
    for function in (minigrad.hypot, minigrad.atan2, lambda a, b: minigrad.atan(a) + b * b):
        values = [Value(float(np.float32(x))) for x in xs]
        fn, params = minigrad.to_torch(lambda v=values, f=function: f(*v), dtype="float32")
        expected = minigrad.hessian(function(*values), fn.parameters)
        found = torch.autograd.functional.hessian(fn, params.detach()).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("case", ["A", "B8", "R RNN"])
def test_everything_goes_where_the_parameters_are(torch, problem, case):
    """On a device of shapes without numbers: mixing it with another is an error, as on GPUs."""
    loss, args, _ = problem(case)
    fn, params = minigrad.to_torch(loss, *args)
    there = params.detach().to("meta").requires_grad_()
    value = fn(there, *args)
    assert value.device.type == "meta"
    value.backward()
    assert there.grad.shape == params.shape


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_every_op_goes_where_the_parameters_are(torch, op):
    xs = next(iter(samples(op, 1)))
    if discrete(op):
        return
    call = operation(op, next(iter(outputs(op, xs))))
    values = [Value(x) for x in xs]
    fn, params = minigrad.to_torch(lambda: call(values) * 1.5)
    there = params.detach().to("meta").requires_grad_()
    (slope,) = torch.autograd.grad(fn(there), there, create_graph=True)
    if slope.requires_grad:
        torch.autograd.grad(slope.sum(), there, allow_unused=True)


def test_mistakes_are_told(torch):
    w = Value(2.0)
    fn, params = minigrad.to_torch(lambda xs: w * xs[0], [1.0, 2.0])
    with pytest.raises(ValueError, match="dtype='float16': choose 'float64' or 'float32'"):
        minigrad.to_torch(lambda x: x, 1.0, dtype=torch.float16)
    with pytest.raises(TypeError, match=r"params is one vector of 1 numbers, got shape \(2,\)"):
        fn(torch.zeros(2), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"params is a tensor, got list"):
        fn([1.0], [1.0, 2.0])
    with pytest.raises(TypeError, match=r"traced with an array of shape \(2,\), given one of"):
        fn(params, torch.zeros(3))
    with pytest.raises(TypeError, match=r"traced with a list of 2, given a list of 3"):
        fn(params, [1.0, 2.0, 3.0])


def test_without_pytorch_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    sentence = "PyTorch is not installed. Install it with: python -m pip install torch==2.13.0"
    with pytest.raises(RuntimeError, match=sentence):
        minigrad.to_torch(lambda x: x, 1.0)


def test_tensors_are_examples_too(torch):
    w = Value(0.5)
    xs = torch.tensor([1.0, 2.0], requires_grad=True)
    fn, params = minigrad.to_torch(lambda xs, y: w * sum(xs) - y, xs, torch.tensor(1.0))
    assert fn(params, xs, 1.0).item() == 0.5
