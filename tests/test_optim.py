"""Optimisers against PyTorch's and against the textbook; schedules and clipping."""

from __future__ import annotations

import json
import math

import optimisers
import pytest

from minigrad import Value
from minigrad.nn import MLP
from minigrad.optim import (
    SGD,
    Adam,
    AdamW,
    Optimizer,
    clip_grad_norm,
    clip_grad_value,
    cosine,
    exponential,
    linear,
    stepwise,
    warmup,
)

near = pytest.approx

SETTINGS = [
    (SGD, "SGD", {"lr": 0.1}),
    (SGD, "SGD", {"lr": 0.1, "weight_decay": 0.05}),
    (SGD, "SGD", {"lr": 0.05, "momentum": 0.9}),
    (SGD, "SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}),
    (Adam, "Adam", {"lr": 0.1}),
    (Adam, "Adam", {"lr": 0.1, "betas": (0.85, 0.99), "eps": 1e-6, "weight_decay": 0.1}),
    (AdamW, "AdamW", {"lr": 0.1}),
    (AdamW, "AdamW", {"lr": 0.03, "betas": (0.8, 0.95), "weight_decay": 0.2}),
    (optimisers.RMSprop, "RMSprop", {"lr": 0.1}),
    (optimisers.RMSprop, "RMSprop", {"lr": 0.02, "alpha": 0.9, "momentum": 0.5}),
    (optimisers.Adagrad, "Adagrad", {"lr": 1.0}),
    (optimisers.Adamax, "Adamax", {"lr": 0.1}),
]


def bowl(x, y):
    return (x - 1) ** 2 + 3 * (y + 2) ** 2 + x * y


@pytest.mark.oracle
@pytest.mark.parametrize(("ours", "theirs", "options"), SETTINGS)
def test_thirty_steps_agree_with_pytorch(torch, ours, theirs, options):
    mine = [Value(5.0), Value(-3.0)]
    other = [torch.tensor(v.data, dtype=torch.float64, requires_grad=True) for v in mine]
    a, b = ours(mine, **options), getattr(torch.optim, theirs)(other, **options)
    for _ in range(30):
        a.zero_grad()
        bowl(*mine).backward()
        a.step()
        b.zero_grad()
        bowl(*other).backward()
        b.step()
        assert [v.data for v in mine] == near([t.item() for t in other], rel=1e-12)


@pytest.mark.smoke
def test_first_steps_by_hand():
    def after(optimizer_of):
        v = Value(2.0)
        v.grad = 0.5
        optimizer = optimizer_of([v])
        optimizer.step()
        once = v.data
        optimizer.step()
        return once, v.data

    assert after(lambda p: SGD(p, lr=0.1)) == near((1.95, 1.9))
    assert after(lambda p: SGD(p, lr=0.1, momentum=0.9)) == near((1.95, 1.855))
    assert after(lambda p: SGD(p, lr=0.1, weight_decay=0.1)) == near((1.93, 1.8607))
    # bias-corrected, the first Adam steps have the size of the learning rate
    assert after(lambda p: Adam(p, lr=0.1)) == near((1.9, 1.8), rel=1e-7)
    assert after(lambda p: AdamW(p, lr=0.1, weight_decay=0.5)) == near((1.8, 1.61), rel=1e-7)


@pytest.mark.parametrize(("ours", "theirs", "options"), SETTINGS)
def test_training_goes_downhill(ours, theirs, options):
    parameters = [Value(5.0), Value(-3.0)]
    optimizer = ours(parameters, **options)
    first = bowl(*parameters).data
    for _ in range(300):
        optimizer.zero_grad()
        loss = bowl(*parameters)
        loss.backward()
        optimizer.step()
    assert loss.data < 0.1 * first
    assert not vars(parameters[0])  # nothing of the state is on the parameters


def test_state_survives_json_and_refuses_what_does_not_fit():
    def train(optimizer, parameters, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            bowl(*parameters).backward()
            optimizer.step()

    whole = [Value(5.0), Value(-3.0)]
    train(Adam(whole, lr=0.1), whole, 20)
    halves = [Value(5.0), Value(-3.0)]
    first = Adam(halves, lr=0.1)
    train(first, halves, 12)
    second = Adam(halves, lr=0.1)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    train(second, halves, 8)
    assert [v.data for v in halves] == [v.data for v in whole]
    with pytest.raises(ValueError, match="belongs to Adam, not to SGD"):
        SGD(halves, lr=0.1).load_state_dict(first.state_dict())
    with pytest.raises(ValueError, match="for 2 parameters; there are 1"):
        Adam(halves[:1]).load_state_dict(first.state_dict())


@pytest.mark.smoke
def test_schedules():
    assert [linear(1.0, 0.0, 4)(t) for t in range(6)] == near([1, 0.75, 0.5, 0.25, 0, 0])
    assert [cosine(1.0, 0.0, 4)(t) for t in (0, 2, 4, 9)] == near([1, 0.5, 0, 0], abs=1e-12)
    assert cosine(1.0, 0.2, 4)(1) == near(0.2 + 0.8 * (1 + math.sqrt(0.5)) / 2)
    assert [exponential(1.0, 0.5)(t) for t in range(3)] == [1, 0.5, 0.25]
    assert [stepwise(1.0, 0.1, 2)(t) for t in range(5)] == near([1, 1, 0.1, 0.1, 0.01])
    warm = warmup(linear(1.0, 0.0, 4), 2)
    assert [warm(t) for t in range(5)] == near([0.5, 1.0, 1.0, 0.75, 0.5])
    assert [warmup(2.0, 2)(t) for t in range(3)] == [1.0, 2.0, 2.0]


def test_an_optimiser_follows_its_schedule():
    v = Value(0.0)
    optimizer = SGD([v], lr=linear(1.0, 0.0, 2))
    rates = []
    for _ in range(3):
        v.grad = 1.0
        rates.append(optimizer.lr)
        optimizer.step()
    assert rates == [1.0, 0.5, 0.0]
    assert v.data == -1.5


def test_the_rate_can_be_changed_and_must_be_a_rate():
    v = Value(1.0)
    v.grad = 1.0
    optimizer = SGD([v], lr=0.5)
    optimizer.lr = 0.25
    optimizer.step()
    assert v.data == 0.75
    optimizer.lr = lambda t: math.nan
    with pytest.raises(ValueError, match="lr=nan"):
        optimizer.step()
    assert (v.data, optimizer.steps) == (0.75, 1)


@pytest.mark.parametrize(
    "damage",
    [{"steps": -1}, {"steps": None}, {"state": None}, {"state": {"third": [1.0, 1.0]}}],
)
def test_damaged_state_is_refused_whole(damage):
    optimizer = Adam([Value(1.0), Value(2.0)])
    with pytest.raises(ValueError, match="damaged"):
        optimizer.load_state_dict({**optimizer.state_dict(), **damage})
    assert (optimizer.steps, optimizer.state) == (0, {})


def test_clipping():
    def gradients(*numbers):
        values = [Value(0.0) for _ in numbers]
        for v, g in zip(values, numbers, strict=True):
            v.grad = g
        return values

    values = gradients(3.0, -4.0)
    assert clip_grad_norm(values, 1.0) == 5.0
    assert [v.grad for v in values] == near([0.6, -0.8])
    assert clip_grad_norm(values, 2.0) == near(1.0)
    assert [v.grad for v in values] == near([0.6, -0.8])
    values = gradients(3.0, -4.0, 0.5)
    clip_grad_value(values, 1.0)
    assert [v.grad for v in values] == [1.0, -1.0, 0.5]
    values = gradients(3.0, 4.0)
    clip_grad_norm((v for v in values), 1.0)
    assert [v.grad for v in values] == near([0.6, 0.8])
    values = gradients(1.0, math.nan)
    with pytest.raises(ValueError, match="norm of the gradients is nan"):
        clip_grad_norm(values, 1.0)
    assert values[0].grad == 1.0
    values = gradients(1e200, 1e200)
    assert clip_grad_norm(values, 1.0) == near(math.sqrt(2) * 1e200)


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (lambda v: SGD([], lr=0.1), ValueError, "there is none"),
        (lambda v: SGD([v, v], lr=0.1), ValueError, "twice"),
        (lambda v: SGD([1.0], lr=0.1), TypeError, r"model\.parameters\(\)"),
        (lambda v: SGD(MLP(1, [1])), TypeError, r"pass model\.parameters\(\)"),
        (lambda v: SGD([v], lr="a"), TypeError, "lr=…: got str"),
        (lambda v: SGD([v], lr=-1.0), ValueError, "lr=-1.0"),
        (lambda v: SGD([v], lr=math.nan), ValueError, "lr=nan"),
        (lambda v: SGD([v], momentum=1.5), ValueError, "momentum=1.5"),
        (lambda v: SGD([v], nesterov=True), ValueError, "without momentum"),
        (lambda v: Adam([v], betas=(0.9, 1.0)), ValueError, "betas"),
        (lambda v: Adam([v], betas=(0.9,)), ValueError, "betas"),
        (lambda v: Adam([v], eps=0.0), ValueError, "eps"),
        (lambda v: AdamW([v], weight_decay=-1), ValueError, "weight_decay"),
        (lambda v: linear(1, 0, 0), ValueError, "steps"),
    ],
)
def test_bad_settings(attempt, error, words):
    with pytest.raises(error, match=words):
        attempt(Value(1.0))


def rule_of(function):
    """Make an optimiser of a rule that keeps one number, and let it take a step."""
    kind = type("Mine", (Optimizer,), {"state_names": ("kept",), "rule": staticmethod(function)})
    v = Value(2.0)
    v.grad = 1.0
    optimizer = kind([v], lr=0.5)
    optimizer.step()
    return v.data, list(optimizer.state["kept"]), optimizer.steps


def test_rules_may_return_what_they_are_given():
    assert rule_of(lambda m, x, g, kept, lr: (x, g)) == (2.0, [1.0], 1)
    assert rule_of(lambda m, x, g, kept, lr: (kept, x)) == (0.0, [2.0], 1)
    assert rule_of(lambda m, x, g, kept, lr: (3, lr)) == (3.0, [0.5], 1)
    assert rule_of(lambda m, x, g, kept, lr: (x / kept, -g / kept)) == (math.inf, [-math.inf], 1)
    assert rule_of(lambda m, x, g, kept, lr: (1 / x - lr, x**2))[:2] == (0.0, [4.0])


@pytest.mark.parametrize(
    ("rule", "error", "words"),
    [
        (lambda m, x, g, kept, lr: x - lr * g, TypeError, "returns 1 numbers; .* 2 in all"),
        (lambda m, x, g, kept, lr: (x if g > 0 else -x, g), TypeError, r"truth of .*m\.where"),
        (lambda m, x, g, kept, lr: (math.sqrt(x), g), TypeError, r"its number; .*m\.sqrt"),
        (lambda m, x, g, kept, lr: (m.median(x), g), AttributeError, "no 'median'"),
        (lambda m, x, g, kept, lr: (m.exp(x, g), g), TypeError, "exp has 1 operands, not 2"),
        (lambda m, x, g, kept: (x, g), TypeError, "positional argument"),
        (lambda m, x, g, kept, lr: (x, "text"), ValueError, "text"),
    ],
)
def test_bad_rules(rule, error, words):
    with pytest.raises(error, match=words):
        rule_of(rule)


def test_a_rule_does_not_see_its_optimiser():
    with pytest.raises(TypeError, match=r"Mine\.rule must be a @staticmethod.*settings\(\)"):
        type("Mine", (Optimizer,), {"rule": lambda self, m, x, g, lr: x - self.lr * g})
    with pytest.raises(NotImplementedError):
        Optimizer([Value(1.0)], lr=0.1).step()


def test_state_of_another_length():
    optimizer = Adam([Value(1.0), Value(2.0)])
    optimizer.state = {"first": [0.0], "second": [0.0, 0.0]}
    with pytest.raises(ValueError, match="first: 2 Values but 1 numbers"):
        optimizer.step()
    assert optimizer.steps == 0


def test_a_list_of_parameters_may_change_between_steps():
    a, b = Value(1.0), Value(2.0)
    optimizer = SGD([a], lr=0.5)
    a.grad = b.grad = 1.0
    optimizer.step()
    optimizer.parameters.append(b)
    optimizer.step()
    assert (a.data, b.data) == (0.0, 1.5)
    optimizer.parameters[0] = b
    optimizer.parameters.pop()
    optimizer.step()
    optimizer.zero_grad()
    assert (a.data, b.data, a.grad, b.grad) == (0.0, 1.0, 1.0, 0.0)
    optimizer.parameters.append(3.0)
    for attempt in (optimizer.step, optimizer.zero_grad):
        with pytest.raises(TypeError, match="only Values have numbers to read or write, not float"):
            attempt()
    assert b.data == 1.0
