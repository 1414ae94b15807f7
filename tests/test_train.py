"""`train_step` against the loop that it replaces: the same numbers, whoever looks and whenever."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import sys
import threading

import networks
import optimisers
import pytest

import minigrad
from minigrad import GuardError, Value, load_parameters, save_parameters, strict, take, where
from minigrad.nn import MLP
from minigrad.optim import SGD, Adam, AdamW, Optimizer, clip_grad_norm, cosine, warmup

pytest.importorskip("numpy")

near = pytest.approx

SETTINGS = {
    "SGD": (SGD, {"lr": 0.1}),
    "SGD, decayed": (SGD, {"lr": 0.1, "weight_decay": 0.05}),
    "momentum": (SGD, {"lr": 0.05, "momentum": 0.9}),
    "Nesterov": (SGD, {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}),
    "Adam": (Adam, {"lr": 0.1}),
    "Adam, decayed": (Adam, {"lr": 0.1, "betas": (0.85, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    "AdamW": (AdamW, {"lr": 0.03, "betas": (0.8, 0.95), "weight_decay": 0.2}),
    "schedule": (SGD, {"lr": cosine(0.1, 0.01, 20), "momentum": 0.5}),
    "warm-up": (Adam, {"lr": warmup(0.05, 10)}),
    "RMSprop": (optimisers.RMSprop, {"lr": cosine(0.05, 0.01, 20), "momentum": 0.5}),
    "Adagrad": (optimisers.Adagrad, {"lr": 0.3}),
    "Adamax": (optimisers.Adamax, {"lr": 0.05}),
    "Lion": (optimisers.Lion, {"lr": 0.01}),
    "functions": (optimisers.Bounded, {"lr": 0.01}),
}
POINTS, LABELS = networks.moons(20)


def loss_of(model):
    return lambda points, labels: networks.demo_loss(model, points, labels)[0]


def eager_step(loss, optimizer, *args):
    optimizer.zero_grad()
    value = loss(*args)
    value.backward()
    optimizer.step()
    return value.data


def numbers(parameters):
    return [p.data for p in parameters]


@pytest.mark.parametrize("name", SETTINGS)
def test_thirty_steps_are_those_of_the_loop(name, backend):
    kind, options = SETTINGS[name]
    one, two = MLP(2, [5, 4, 1], seed=2), MLP(2, [5, 4, 1], seed=2)
    fast, slow = kind(one.parameters(), **options), kind(two.parameters(), **options)
    step = minigrad.train_step(loss_of(one), fast, backend=backend)
    for k in range(30):
        points, labels = POINTS[k % 3 :: 3], LABELS[k % 3 :: 3]
        got = step(points, labels)
        assert type(got) is float
        assert got == near(eager_step(loss_of(two), slow, points, labels), rel=1e-12)
        if k % 7 == 0:
            assert numbers(one.parameters()) == near(
                numbers(two.parameters()), rel=1e-11, abs=1e-12
            )
    assert numbers(one.parameters()) == near(numbers(two.parameters()), rel=1e-11, abs=1e-12)
    grads = [p.grad for p in two.parameters()]
    assert [p.grad for p in one.parameters()] == near(grads, rel=1e-10, abs=1e-12)
    assert fast.steps == slow.steps == 30
    assert set(fast.state) == set(slow.state)
    for key, values in slow.state.items():
        assert list(fast.state[key]) == near(list(values), rel=1e-10, abs=1e-12)


# ---- one number, whoever looks -------------------------------------------------------------------


def halved(backend="numpy"):
    """A parameter that loses half of itself in each step: 1, 0.5, 0.25; two steps are taken."""
    w = Value(1.0)
    step = minigrad.train_step(lambda: w * w, SGD([w], lr=0.25), backend=backend)
    assert (step(), step()) == (1.0, 0.25)
    return w, step


LOOKS = {
    "data": lambda w: w.data,
    "repr": lambda w: float(repr(w).removeprefix("Value(data=").removesuffix(")")),
    "format": lambda w: float(f"{w:.3f}"),
    "less": lambda w: 0.25 if w < 0.3 else 0.0,
    "greater": lambda w: 0.25 if w > 0.2 else 0.0,
    "at most": lambda w: 0.25 if w <= 0.25 and w >= 0.25 else 0.0,
    "on the right": lambda w: 0.25 if 0.3 > w and Value(0.3) > w else 0.0,
    "addition": lambda w: (w + 0.0).data,
    "addition from the left": lambda w: (0.0 + w).data,
    "two Values": lambda w: (w + w).data / 2,
    "negation": lambda w: -(-w).data,
    "power": lambda w: (w**1).data,
    "function": lambda w: math.log(w.exp().data),
    "many": lambda w: minigrad.sum([w, w]).data / 2,
    "dot": lambda w: minigrad.dot([w], [1.0]).data,
    "mean": lambda w: minigrad.mean([w]).data,
    "where": lambda w: where(True, w, 0.0).data,
    "maximum": lambda w: minigrad.maximum(w, 0.0).data,
    "built-in max": lambda w: max(w, Value(0.2)).data,
    "detach": lambda w: w.detach().data,
    "copy": lambda w: copy.copy(w).data,
    "deep copy": lambda w: copy.deepcopy([w])[0].data,
    "pickle": lambda w: pickle.loads(pickle.dumps(w)).data,
    "grad": lambda w: w.grad / 4,  # of the second step, at 0.5
    "compiled": lambda w: minigrad.compile(lambda: w * 1.0)().data,
    "value_and_grad": lambda w: minigrad.compile(lambda: w * 1.0).value_and_grad()[0],
    "as an argument": lambda w: minigrad.compile(lambda x: x * 1.0)(w).data,
    "bulk": lambda w: minigrad.core.parameters.data_of([w])[0],
    "gradients": lambda w: minigrad.grad(w * w, w) / 2,
    "tangents": lambda w: minigrad.jvp(w * w, [w], [1.0]) / 2,
    "clipping": lambda w: clip_grad_norm([w], 10.0) / 4,
    "backward": lambda w: _slope(w) / 2,
}


def _slope(w):
    minigrad.zero_grad([w])
    (w * w).backward()
    return w.grad


@pytest.mark.smoke
@pytest.mark.parametrize("name", LOOKS)
def test_everybody_sees_the_newest_number(name):
    w, step = halved()
    assert LOOKS[name](w) == near(0.25)
    assert step() == 0.0625  # and the next step starts from there
    assert w.data == 0.125
    assert w.grad == 0.5


def test_numbers_stay_plain_floats(backend):
    w, step = halved(backend)
    assert {type(x) for x in (w.data, w.grad, step(), w._fields()[0])} == {float}


@pytest.mark.smoke
def test_saving_and_loading(tmp_path):
    w, step = halved()
    save_parameters(tmp_path / "w.json", [w])
    step()
    fresh = Value(0.0)
    load_parameters(tmp_path / "w.json", [fresh])
    assert fresh.data == 0.25
    load_parameters(tmp_path / "w.json", [w])
    assert (step(), w.data) == (0.0625, 0.125)


@pytest.mark.smoke
def test_what_is_written_between_steps_counts(backend):
    w, step = halved(backend)
    w.data = 8.0
    assert (step(), w.data) == (64.0, 4.0)
    step()
    w.data += 1.0
    assert (w.data, step(), w.data) == (3.0, 9.0, 1.5)
    w.grad = 5.0  # is cleared by a step, as zero_grad would
    step()
    assert (w.data, w.grad) == (0.75, 3.0)
    minigrad.zero_grad([w])
    assert w.grad == 0.0
    minigrad.core.parameters.set_data([w], [1.0])
    assert step() == 1.0


def test_steps_of_both_kinds_take_turns(backend):
    w = Value(1.0)
    optimizer = Adam([w], lr=0.1)
    step = minigrad.train_step(lambda x: (w * x - 3) ** 2, optimizer, backend=backend)
    v = Value(1.0)
    other = Adam([v], lr=0.1)
    for k in range(12):
        x = 1.0 + k % 3
        if k % 4 == 1:
            eager_step(lambda x: (w * x - 3) ** 2, optimizer, x)
        else:
            step(x)
        eager_step(lambda x: (v * x - 3) ** 2, other, x)
    assert w.data == near(v.data, rel=1e-13)
    assert optimizer.steps == other.steps == 12


def test_two_steps_share_their_parameters():
    w = Value(1.0)
    down = minigrad.train_step(lambda: w * w, SGD([w], lr=0.25))
    along = minigrad.train_step(lambda: w * 3, SGD([w], lr=0.5))
    expected = 1.0
    for _ in range(4):
        down()
        expected /= 2
        along()
        expected -= 1.5
    assert w.data == expected


def test_structures_share_one_state(backend):
    def run(step_of):
        model = MLP(1, [4, 1], seed=3)
        optimizer = Adam(model.parameters(), lr=0.05)

        def loss(xs):
            return sum((model([x]) - x * x) ** 2 for x in xs)

        step = step_of(loss, optimizer)
        for k in range(12):
            step([0.1 * j for j in range(1 + k % 4)])
        return numbers(model.parameters()), optimizer.steps

    fast, steps = run(lambda loss, o: minigrad.train_step(loss, o, backend=backend))
    slow, _ = run(lambda loss, o: lambda *args: eager_step(loss, o, *args))
    assert steps == 12
    assert fast == near(slow, rel=1e-11, abs=1e-12)


def test_the_state_can_be_saved_and_put_back(backend):
    def fresh():
        w = [Value(1.0), Value(-2.0)]
        optimizer = Adam(w, lr=0.1)
        loss = lambda x: (w[0] * x - w[1]) ** 2  # noqa: E731
        return w, optimizer, minigrad.train_step(loss, optimizer, backend=backend)

    w, optimizer, step = fresh()
    for _ in range(5):
        step(1.5)
    saved, data = optimizer.state_dict(), numbers(w)
    kept = copy.deepcopy(saved)
    for _ in range(5):
        step(1.5)
    end = numbers(w)
    assert saved == kept  # later steps do not write to what was handed out
    for again in (lambda: (w, optimizer, step), fresh):
        v, other, resumed = again()
        other.load_state_dict(kept)
        for p, number in zip(v, data, strict=True):
            p.data = number
        for _ in range(5):
            resumed(1.5)
        assert numbers(v) == end


def test_a_learning_rate_that_is_assigned():
    w, step = halved()
    step.optimizer.lr = 0.5
    step()
    assert w.data == 0.0


# ---- what the loss may be ------------------------------------------------------------------------


def test_values_that_are_not_trained_are_read_afresh(backend):
    w, fixed = Value(1.0), Value(2.0)
    step = minigrad.train_step(lambda x: w * fixed * x, SGD([w], lr=0.1), backend=backend)
    for k in range(4):
        fixed.data = 2.0 + k
        before = w.data
        assert step(1.0) == near(before * (2.0 + k))
        assert w.data == near(before - 0.1 * (2.0 + k))
        step(1.0)  # without a look in between
    assert fixed.grad == 0.0


def test_parameters_that_are_arguments_are_trained(backend):
    def run(step_of):
        a, b, other = Value(1.0), Value(-0.5), Value(2.0)
        step = step_of(lambda xs, y: xs[0] * xs[1] * a + xs[0] * y, SGD([a, b], lr=0.125))
        calls = [([a, b], 1.0), ([b, a], 2.0), ([other, a], 1.0), ([a, a], 0.5), ([a, b], other)]
        found = [step(*call) for call in calls * 2]
        return [*found, a.data, b.data, other.data, a.grad, b.grad]

    fast = run(lambda loss, optimizer: minigrad.train_step(loss, optimizer, backend=backend))
    slow = run(lambda loss, optimizer: lambda *args: eager_step(loss, optimizer, *args))
    assert fast == near(slow, rel=1e-12)


def test_parameters_that_are_not_used_stay():
    a, b = Value(1.0), Value(2.0)
    step = minigrad.train_step(lambda: a * a, Adam([b, a], lr=0.1))
    step()
    step()
    assert (b.data, b.grad) == (2.0, 0.0)
    assert a.data < 0.9


def test_the_first_of_several_results_is_followed():
    points, labels = POINTS, LABELS
    model = MLP(2, [4, 1], seed=1)
    step = minigrad.train_step(
        lambda p, q: networks.demo_loss(model, p, q), SGD(model.parameters(), lr=0.1)
    )
    expected = networks.demo_loss(model, points, labels)[0].data
    assert step(points, labels) == near(expected)


def test_a_loss_that_is_a_parameter_is_that_before_the_step(backend):
    w = Value(3.0)
    step = minigrad.train_step(lambda: w, SGD([w], lr=1.0), backend=backend)
    assert [step(), step()] == [3.0, 2.0]
    with strict():
        assert step() == 1.0
    assert w.data == 0.0


def test_a_compiled_loss_can_be_given():
    w = Value(1.0)
    loss = minigrad.compile(lambda: w * w)
    step = minigrad.train_step(loss, SGD([w], lr=0.25))
    assert (step(), step(), w.data) == (1.0, 0.25, 0.25)


def test_bad_requests():
    with pytest.raises(TypeError, match=r"train_step\(loss, optimizer\): got list"):
        minigrad.train_step(lambda: None, [Value(1.0)])
    step = minigrad.train_step(lambda: "text", SGD([Value(1.0)], lr=0.1))
    with pytest.raises(TypeError, match="nothing to differentiate"):
        step()


def test_a_rule_of_ones_own_is_compiled(backend, monkeypatch):
    """Nothing of the eager step runs, and every bit is that of the eager step."""

    def run(step_of, optimizer, w):
        for k in range(20):
            step_of(0.5 + k % 3)
        return numbers(w), {name: list(each) for name, each in optimizer.state.items()}

    def fresh(kind):
        w = [Value(0.25 * k - 1.5) for k in range(50)]
        loss = lambda x: sum(v * v * x + v for v in w)  # noqa: E731
        return w, kind(w, lr=0.03), loss

    for kind in (optimisers.RMSprop, optimisers.Adagrad, optimisers.Adamax, optimisers.Lion):
        w, optimizer, loss = fresh(kind)
        slow = run(lambda x: eager_step(loss, optimizer, x), optimizer, w)  # noqa: B023
        w, optimizer, loss = fresh(kind)
        with monkeypatch.context() as patch:
            patch.setattr("minigrad.compiler.train.TrainStep._eager", None)
            fast = run(minigrad.train_step(loss, optimizer, backend=backend), optimizer, w)
        assert fast == slow


def test_momentum_that_is_switched_on_and_off(backend):
    def run(step_of):
        w = Value(1.0)
        optimizer = SGD([w], lr=0.1)
        step = step_of(lambda: w * w, optimizer)
        found = []
        for momentum in (0.0, 0.9, 0.9, 0.0, 0.5):
            optimizer.momentum = momentum
            step()
            found.append((w.data, {name: list(each) for name, each in optimizer.state.items()}))
        return found

    fast = run(lambda loss, optimizer: minigrad.train_step(loss, optimizer, backend=backend))
    assert fast == run(lambda loss, optimizer: lambda: eager_step(loss, optimizer))


def test_an_optimiser_of_somebody_elses():
    class Signs(Optimizer):
        def _update(self, data, grads, lr):
            return [x - math.copysign(lr, g) for x, g in zip(data, grads, strict=True)], {}

    w = Value(1.0)
    step = minigrad.train_step(lambda x: w * x, Signs([w], lr=0.25))
    assert step(3.0) == 3.0
    assert step(-3.0) == -2.25
    assert w.data == 1.0


# ---- when something is wrong ---------------------------------------------------------------------


def test_a_failed_guard_leaves_everything_as_it_was(backend):
    w = Value(1.0)
    optimizer = SGD([w], lr=0.25, momentum=0.9)
    step = minigrad.train_step(
        lambda x: w * x if x > 0 else w * w * x, optimizer, backend=backend, strict=True
    )
    step(1.0)
    step(1.0)
    before = w.data, w.grad, copy.deepcopy(optimizer.state), optimizer.steps
    step(1.0)
    w.data = before[0]
    optimizer.state, optimizer.steps = copy.deepcopy(before[2]), before[3]
    with pytest.raises(GuardError, match="a branch"):
        step(-1.0)
    assert (w.data, optimizer.state, optimizer.steps) == (before[0], before[2], before[3])
    loose = minigrad.train_step(
        lambda x: w * x if x > 0 else w * w * x, SGD([w], lr=0.25), backend=backend
    )
    w.data = 2.0
    assert [loose(x) for x in (1.0, -1.0, 1.0)] == [2.0, -(1.75**2), 2.625]


def test_an_index_out_of_range_leaves_everything_as_it_was(backend):
    table = [Value(1.0), Value(2.0)]
    optimizer = SGD(table, lr=0.25, momentum=0.9)
    step = minigrad.train_step(lambda i: take(table, i) * 1.0, optimizer, backend=backend)
    step(0)
    step(1)
    before = numbers(table)
    with pytest.raises(IndexError):
        step(5)
    assert numbers(table) == before
    assert optimizer.steps == 2
    step(0)
    assert optimizer.steps == 3


def test_inside_strict():
    w = Value(1.0)
    step = minigrad.train_step(lambda x: (w * x).log(), SGD([w], lr=0.1))
    step(1.0)
    with strict(), pytest.raises(minigrad.NonFiniteError, match=r"test_train\.py"):
        step(0.0)
    with strict():
        assert step(1.0) == near(math.log(0.9))
    assert w.data == near(0.9 - 0.1 / 0.9)


def test_nobody_but_the_step_goes_away():
    w, step = halved()
    del step
    gc.collect()
    assert w.data == 0.25


def test_steps_in_many_threads():
    w = Value(1.0)
    step = minigrad.train_step(lambda x: w * x, SGD([w], lr=0.125))
    threads = [threading.Thread(target=lambda: [step(1.0) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.data == 1.0 - 0.125 * 200
    assert step.optimizer.steps == 200


def test_whoever_reads_in_another_thread_sees_every_step_that_is_done():
    """Each step takes 1 off; a reader must never see more than what was there before it looked."""
    weights = [Value(0.0) for _ in range(200)]
    step = minigrad.train_step(lambda: minigrad.sum(weights), minigrad.optim.SGD(weights, lr=1.0))
    done, late, over = [0], [], threading.Event()

    def read():
        while not over.is_set():
            before = done[0]
            if weights[-1].data > -before:
                late.append(before)

    readers = [threading.Thread(target=read) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for reader in readers:
            reader.start()
        for count in range(1, 501):
            step()
            done[0] = count
    finally:
        over.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)
    assert not late
    assert [w.data for w in weights] == [-500.0] * 200
