"""`train_step` on JAX: against the native step, over devices, and whoever looks in between."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")

import interruptions  # noqa: E402
import optimisers  # noqa: E402

import minigrad  # noqa: E402
from minigrad import (  # noqa: E402
    GuardError,
    Value,
    load_training,
    save_training,
    strict,
    train_step,
)
from minigrad.optim import SGD, Adam, AdamW, Optimizer, cosine  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("jax")]

near = pytest.approx
SETTINGS = {
    "SGD": (SGD, {"lr": 0.1}),
    "momentum": (SGD, {"lr": cosine(0.05, 0.01, 20), "momentum": 0.9, "weight_decay": 0.01}),
    "Adam": (Adam, {"lr": 0.05}),
    "AdamW": (AdamW, {"lr": 0.03, "betas": (0.8, 0.95), "weight_decay": 0.2}),
    "RMSprop": (optimisers.RMSprop, {"lr": 0.02, "momentum": 0.5}),
}
RNG = np.random.default_rng(3)
XS, YS = RNG.normal(size=(24, 3)), RNG.normal(size=24)


class Model:
    """A neuron, whose loss can be pickled."""

    def __init__(self):
        self.weights = [Value(0.1 * k - 0.2, label=f"w{k}") for k in range(3)]
        self.bias = Value(0.05, label="b")
        self.parameters = [*self.weights, self.bias]

    def __call__(self, xs, y):
        total = sum(w * x for w, x in zip(self.weights, xs, strict=True)) + self.bias
        return (total.tanh() - y) ** 2


def made(kind=Adam, options=None, **more):
    model = Model()
    optimizer = kind(model.parameters, **(options or {"lr": 0.05}))
    return model, optimizer, train_step(model, optimizer, backend="jax", **more)


def look(model, optimizer):
    return (
        [p.data for p in model.parameters],
        [p.grad for p in model.parameters],
        {name: list(x) for name, x in optimizer.state.items()},
        optimizer.steps,
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_twenty_steps_are_those_of_the_native_step(name):
    model, optimizer, step = made(*SETTINGS[name])
    kind, options = SETTINGS[name]
    other = Model()
    slow = kind(other.parameters, **options)
    native = train_step(other, slow)
    for k in range(20):
        assert step(XS[k], YS[k]) == near(native(XS[k], YS[k]), rel=1e-12)
        assert type(step.program_hash) is str
    data, grads, state, steps = look(model, optimizer)
    wanted = look(other, slow)
    assert data == near(wanted[0], rel=1e-12)
    assert grads == near(wanted[1], rel=1e-12, abs=1e-14)
    assert steps == wanted[3] == 20
    assert set(state) == set(wanted[2])
    for key, numbers in state.items():
        assert numbers == near(wanted[2][key], rel=1e-12, abs=1e-14)


def by_hand(model, optimizer, xs, ys):
    """The mean over examples, by the engine."""
    optimizer.zero_grad()
    loss = sum(model(list(x), y) for x, y in zip(xs, ys, strict=True)) / len(ys)
    loss.backward()
    optimizer.step()
    return loss.data


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_batch_is_a_mean(name):
    kind, options = SETTINGS[name]
    model, optimizer, step = made(kind, options, batch="data")
    other = Model()
    slow = kind(other.parameters, **options)
    for k in range(8):
        xs, ys = XS[k : k + 6], YS[k : k + 6]
        assert step(xs, ys) == near(by_hand(other, slow, xs, ys), rel=1e-12)
    for found, wanted in zip(look(model, optimizer)[:2], look(other, slow)[:2], strict=True):
        assert found == near(wanted, rel=1e-12, abs=1e-14)


DEVICES = """
import re, sys
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from test_training import XS, YS, look, made, Adam
mesh = jax.make_mesh((8,), ("data",))
assert len(jax.devices()) == 8
texts = []
one, many = made(batch="data"), made(batch="data", mesh=mesh)
for k in range(20):
    rows = np.arange(k, k + 16) % 24
    a, b = one[2](XS[rows], YS[rows]), many[2](XS[rows], YS[rows])
    assert abs(a - b) <= 1e-12 * abs(a), (k, a, b)
    if k == 0:
        (step,) = many[2]._made.values()
        inner = step._compiled
        def noted(*args):
            texts.append(inner.lower(*args).compile().as_text())
            return inner(*args)
        step._compiled = noted
    if k == 1:
        step._compiled = inner
    if k == 9:
        assert np.allclose(look(*one[:2])[0], look(*many[:2])[0], rtol=1e-12, atol=0)
left, right = look(*one[:2]), look(*many[:2])
for found, wanted in zip(right[:2], left[:2]):
    assert np.allclose(found, wanted, rtol=1e-12, atol=1e-14)
for name, numbers in left[2].items():
    assert np.allclose(right[2][name], numbers, rtol=1e-12, atol=1e-14)
assert left[3] == right[3] == 20
words = re.findall(r"= \\S+ (all-[a-z]+|collective-[a-z]+|reduce-scatter)(?:-start)?[(]", texts[0])
assert words == ["all-reduce"], words
try:
    many[2](XS[:9], YS[:9])
except ValueError as error:
    assert "9 examples do not go evenly onto 8 devices. Give a multiple of 8." in str(error)
else:
    raise AssertionError
print("done")
"""


def test_eight_devices_do_what_one_does():
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
    }
    done = subprocess.run(
        [sys.executable, "-c", DEVICES],
        cwd=os.path.dirname(__file__),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-3000:]


# ---- whoever looks, or changes something ---------------------------------------------------------


def pair():
    """A step on JAX, and the native one, of models that are equal."""
    model, optimizer, step = made()
    other = Model()
    slow = Adam(other.parameters, lr=0.05)
    return (model, optimizer, step), (other, slow, train_step(other, slow))


CHANGES = {
    "nothing": lambda model, optimizer: None,
    "data read": lambda model, optimizer: model.bias.data,
    "grad read": lambda model, optimizer: model.bias.grad,
    "state read": lambda model, optimizer: optimizer.state,
    "steps read": lambda model, optimizer: optimizer.steps,
    "data set": lambda model, optimizer: setattr(model.bias, "data", 0.25),
    "grad set": lambda model, optimizer: setattr(model.bias, "grad", 9.0),
    "all set": lambda model, optimizer: minigrad.set_data(model.parameters, [0.1] * 4),
    "grads zero": lambda model, optimizer: optimizer.zero_grad(),
    "rate": lambda model, optimizer: setattr(optimizer, "lr", 0.01),
    "an own step": lambda model, optimizer: optimizer.step(),
    "state dict": lambda model, optimizer: optimizer.load_state_dict(optimizer.state_dict()),
}


@pytest.mark.parametrize("name", CHANGES)
def test_between_steps(name):
    one, two = pair()
    for k in range(6):
        for model, optimizer, step in (one, two):
            step(XS[k], YS[k])
            if k % 2:
                CHANGES[name](model, optimizer)
    found, wanted = look(*one[:2]), look(*two[:2])
    assert found[0] == near(wanted[0], rel=1e-12)
    assert found[1] == near(wanted[1], rel=1e-12, abs=1e-14)
    assert found[3] == wanted[3]
    for key, numbers in wanted[2].items():
        assert found[2][key] == near(numbers, rel=1e-12, abs=1e-15)


def test_two_steps_of_one_optimiser_take_turns():
    one, two = pair()
    for k in range(4):
        one[2](XS[k], YS[k])
        two[2](XS[k], YS[k])
    again = train_step(one[0], one[1])  # the native one goes on where JAX has stopped
    for k in range(4, 8):
        again(XS[k], YS[k])
        two[2](XS[k], YS[k])
    for k in range(8, 10):
        one[2](XS[k], YS[k])
        two[2](XS[k], YS[k])
    found, wanted = look(*one[:2]), look(*two[:2])
    assert found[0] == near(wanted[0], rel=1e-12)
    assert found[3] == wanted[3] == 10


def test_an_old_state_comes_back():
    model, optimizer, step = made()
    step(XS[0], YS[0])
    kept, data = optimizer.state_dict(), [p.data for p in model.parameters]
    after = [step(XS[k], YS[k]) for k in range(1, 4)]
    optimizer.load_state_dict(kept)
    minigrad.set_data(model.parameters, data)
    assert [step(XS[k], YS[k]) for k in range(1, 4)] == after
    assert optimizer.steps == 4


def test_a_training_goes_on_bit_for_bit(tmp_path):
    model, optimizer, step = made()
    for k in range(5):
        step(XS[k], YS[k])
    save_training(tmp_path / "training.npz", step)
    losses = [step(XS[k], YS[k]) for k in range(5, 10)]
    other, slow, again = made()
    again(XS[0], YS[0])
    load_training(tmp_path / "training.npz", again)
    assert slow.steps == 5
    assert [again(XS[k], YS[k]) for k in range(5, 10)] == losses
    assert look(other, slow) == look(model, optimizer)


# ---- what goes wrong -----------------------------------------------------------------------------


def test_a_failed_guard_in_a_batch_leaves_all_as_it_was():
    model = Model()

    def loss(xs, y):
        return model(xs, y) if y > 0 else model(xs, y) * 2

    optimizer = Adam(model.parameters, lr=0.05)
    step = train_step(loss, optimizer, backend="jax", batch="data")
    step(XS[:4], np.ones(4))
    before = look(model, optimizer)
    with pytest.raises(GuardError, match="2 examples would take another way .* Write the choice"):
        step(XS[:4], np.array([1.0, -1.0, 1.0, -1.0]))
    assert look(model, optimizer) == before
    step(XS[:4], np.ones(4))
    assert optimizer.steps == 2


def test_without_a_batch_the_other_way_is_traced():
    model = Model()

    def loss(xs, y):
        return model(xs, y) if y > 0 else model(xs, y) * 2

    optimizer = SGD(model.parameters, lr=0.05)
    step = train_step(loss, optimizer, backend="jax")
    other = Model()

    def same(xs, y):
        return other(xs, y) if y > 0 else other(xs, y) * 2

    native = train_step(same, SGD(other.parameters, lr=0.05))
    for k in range(4):
        y = (-1.0) ** k
        assert step(XS[k], y) == near(native(XS[k], y), rel=1e-12)


def test_what_is_refused(jax):
    model, optimizer, step = made(batch="data")
    with pytest.raises(TypeError, match="none of the arguments is an array with an axis"):
        step([0.1, 0.2, 0.3], 1.0)
    with pytest.raises(
        ValueError, match=r"the arrays have \[3, 2\] examples; give as many of each"
    ):
        step(XS[:3], YS[:2])
    with pytest.raises(TypeError, match="got list; give an optimiser"):
        train_step(model, [], backend="jax")
    mesh = jax.make_mesh((1,), ("rows",))
    with pytest.raises(ValueError, match=r"batch='data'\): name the axis of the mesh.*'rows'"):
        made(mesh=mesh, batch="data")

    class Own(SGD):
        def step(self):
            pass

    with pytest.raises(TypeError, match="Own has a step of its own, which JAX cannot follow"):
        train_step(model, Own(model.parameters, lr=0.1), backend="jax")
    with strict(), pytest.raises(RuntimeError, match=r"inside strict\(\)"):
        step(XS[:3], YS[:3])
    apart = Model()
    with pytest.raises(ValueError, match="reads none of the parameters"):
        train_step(apart, SGD(model.parameters, lr=0.1), backend="jax")(XS[0], YS[0])
    assert isinstance(optimizer, Optimizer)
    assert optimizer.steps == 0


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_go_their_own_way(way):
    model, optimizer, step = made()
    for k in range(3):
        step(XS[k], YS[k])
    again = way(step)
    other = again.optimizer
    assert other.steps == 3
    losses = [again(XS[k], YS[k]) for k in range(3, 6)]
    assert optimizer.steps == 3
    assert losses == [step(XS[k], YS[k]) for k in range(3, 6)]
    assert [p.data for p in other.parameters] == [p.data for p in model.parameters]


def test_numbers_of_32_bits():
    model, _, step = made(dtype="float32")
    other, _, exact = made()
    for k in range(5):
        assert step(XS[k], YS[k]) == near(exact(XS[k], YS[k]), rel=1e-4)
    assert model.bias.data == near(other.bias.data, rel=1e-4)
    assert model.bias.data == float(np.float32(model.bias.data))


@pytest.mark.parametrize("reads", [True, False])
def test_a_step_is_taken_entirely_or_not_at_all(reads):
    """Ctrl-C at every third line; one step for all, compiled once, and put back each time."""
    model, optimizer, step = made()
    step(XS[0], YS[0])
    data, grads, _, _ = look(model, optimizer)
    kept = optimizer.state_dict()

    def call():
        step(XS[1], YS[1])
        if reads:
            assert model.bias.data != data[-1]

    def make():
        optimizer.load_state_dict(kept)
        minigrad.set_data(model.parameters, data)
        minigrad.set_grads(model.parameters, grads)
        return interruptions.Case(call, lambda: look(model, optimizer))

    counts = interruptions.sweep(make, every=3)
    assert counts.is_sound, counts
    assert counts.positions > 10
    assert counts.as_before
    assert counts.complete or not reads


# ---- what may be given ---------------------------------------------------------------------------


class Other:
    pass


@pytest.mark.parametrize(
    "given",
    [
        ("text",),
        (None,),
        (True,),
        (Other(),),
        (np.array([True, False]),),
        ({"a": 1.5, "b": "text"},),
        ([Value(1.5), 2],),
        ([],),
    ],
)
@pytest.mark.parametrize("batch", [None, "rows"])
def test_arguments_that_are_no_numbers(given, batch):
    if batch and isinstance(given[0], np.ndarray):
        pytest.skip("an array would be examples")

    def made(backend, **more):
        w = Value(0.3)

        def loss(x, other, scale=1.0):
            more = {dict: lambda: other["a"], list: lambda: sum(other)}
            return (w * x * scale - 1) ** 2 + w * more.get(type(other), float)()

        return w, train_step(loss, SGD([w], lr=0.1), backend=backend, **more)

    (w, step), (v, native) = made("jax", batch=batch), made("auto")
    x = 0.5 if batch is None else np.full(3, 0.5)
    for k in range(2):
        assert step(x, *given) == near(native(0.5, *given), rel=1e-12)
        assert step(x, *given, scale=0.5 * k) == near(native(0.5, *given, scale=0.5 * k), rel=1e-12)
    assert w.data == near(v.data, rel=1e-12)


def test_parameters_that_are_arguments():
    weights, others = [Value(0.5), Value(-1.0)], [Value(0.5), Value(-1.0)]

    def loss(ws, x):
        return (ws[0] * x - ws[1]) ** 2

    step = train_step(loss, SGD(weights, lr=0.1), backend="jax")
    native = train_step(loss, SGD(others, lr=0.1))
    for k in range(3):
        assert step(weights, k) == near(native(others, k), rel=1e-12)
    assert [w.data for w in weights] == near([w.data for w in others], rel=1e-12)


def test_no_examples_are_refused():
    _, _, step = made(batch="rows")
    with pytest.raises(TypeError, match="none of the arguments is an array"):
        step(XS.tolist(), YS.tolist())
    with pytest.raises(ValueError, match="no examples"):
        step(XS[:0], YS[:0])
    with pytest.raises(ValueError, match="as many of each"):
        step(XS[:2], YS[:3])
