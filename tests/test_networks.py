"""micrograd's demo and a microgpt-style training step: they run, they learn, they match PyTorch."""

from __future__ import annotations

import math
import random

import pytest
from networks import demo_loss, flat, gpt_loss, gpt_parameters, moons

from minigrad import Value
from minigrad.nn import MLP

EMMA = [26, 4, 12, 12, 0, 26]  # a name between two marks, letters as numbers


def train_demo(steps, watch=lambda model: None):
    """The training loop of micrograd's demo notebook, with its seeds and its schedule."""
    random.seed(1337)
    model = MLP(2, [16, 16, 1])
    points, labels = moons()
    for k in range(steps):
        loss, accuracy = demo_loss(model, points, labels)
        model.zero_grad()
        loss.backward()
        watch(model)
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
    return loss.data, accuracy


@pytest.mark.oracle
def test_the_demo_learns_and_its_gradients_are_pytorchs(torch):
    points, labels = moons()
    inputs = torch.tensor(points, dtype=torch.float64)
    targets = torch.tensor(labels, dtype=torch.float64)
    compared = []

    def compare(model):
        flat_data = [p.data for p in model.parameters()]
        weights = torch.tensor(flat_data, dtype=torch.float64, requires_grad=True)
        x, start = inputs, 0
        for layer in model.layers:
            rows, columns = len(layer.neurons), len(layer.neurons[0].w)
            matrix = weights[start : start + rows * (columns + 1)].reshape(rows, columns + 1)
            x = x @ matrix[:, :-1].T + matrix[:, -1]
            if layer is not model.layers[-1]:
                x = torch.relu(x)
            start += rows * (columns + 1)
        hinge = torch.relu(1 - targets * x[:, 0]).mean()
        (hinge + 1e-4 * (weights * weights).sum()).backward()
        ours = torch.tensor([p.grad for p in model.parameters()], dtype=torch.float64)
        compared.append(float((ours - weights.grad).abs().max() / weights.grad.abs().max()))

    loss, accuracy = train_demo(100, compare)
    assert len(compared) == 100
    assert max(compared) < 1e-9
    assert accuracy >= 0.98
    assert loss < 0.05


def test_ten_steps_of_the_demo_go_downhill():
    random.seed(1337)
    before, _ = demo_loss(MLP(2, [16, 16, 1]), *moons())
    loss, accuracy = train_demo(10)
    assert loss < 0.5 * before.data
    assert accuracy > 0.8


@pytest.mark.oracle
def test_a_gpt_step_has_pytorchs_gradients(torch):
    tokens = [26, 8, 18, 0, 1, 4, 11, 11, 26]  # eight predictions
    ours = gpt_parameters(Value)
    theirs = gpt_parameters(lambda x: torch.tensor(x, dtype=torch.float64, requires_grad=True))
    assert len(flat(ours)) == 4192
    loss, expected = gpt_loss(ours, tokens), gpt_loss(theirs, tokens)
    assert loss.data == pytest.approx(expected.item(), rel=1e-12)
    loss.backward()
    expected.backward()
    pairs = [
        (v.grad, 0.0 if t.grad is None else t.grad.item())
        for v, t in zip(flat(ours), flat(theirs), strict=True)
    ]
    size = max(abs(b) for _, b in pairs)
    for a, b in pairs:
        assert a == pytest.approx(b, rel=1e-9, abs=1e-13 * size)


def test_a_gpt_learns_a_name_with_microgpts_own_loop():
    # Adam as microgpt writes it: on .data and .grad, which it sets to the integer 0.
    parameters = gpt_parameters(Value)
    params = flat(parameters)
    m, v = [0.0] * len(params), [0.0] * len(params)
    losses = []
    for step in range(8):
        loss = gpt_loss(parameters, EMMA)
        losses.append(loss.data)
        loss.backward()
        for i, p in enumerate(params):
            m[i] = 0.85 * m[i] + 0.15 * p.grad
            v[i] = 0.99 * v[i] + 0.01 * p.grad**2
            m_hat, v_hat = m[i] / (1 - 0.85 ** (step + 1)), v[i] / (1 - 0.99 ** (step + 1))
            p.data -= 0.02 * m_hat / (v_hat**0.5 + 1e-8)
            p.grad = 0
    assert losses[0] == pytest.approx(math.log(27), rel=0.05)  # untrained: all letters alike
    assert losses[-1] < 0.5 * losses[0]
