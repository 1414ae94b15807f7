"""micrograd's networks: shapes, seeds, activations, bad sizes."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from minigrad import Value
from minigrad.nn import ACTIVATIONS, MLP, Layer, Module, Neuron


def test_the_global_seed_gives_micrograds_weights():
    random.seed(1337)
    model = MLP(2, [3, 1])
    random.seed(1337)
    expected = []
    for nin, nout in ((2, 3), (3, 1)):
        for _ in range(nout):
            expected += [random.uniform(-1, 1) for _ in range(nin)] + [0.0]
    assert [p.data for p in model.parameters()] == expected


def test_a_seed_of_ones_own_ignores_the_global_generator():
    random.seed(1)
    first = [p.data for p in MLP(2, [4, 1], seed=7).parameters()]
    random.seed(2)
    assert [p.data for p in MLP(2, [4, 1], seed=7).parameters()] == first
    assert [p.data for p in MLP(2, [4, 1], seed=8).parameters()] != first


@pytest.mark.smoke
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_neuron_is_its_formula(activation):
    neuron = Neuron(2, activation=activation, rng=random.Random(3))
    neuron.b.data = 0.1
    total = 0.1 + neuron.w[0].data * 0.5 + neuron.w[1].data * -2.0
    function = {
        "relu": lambda x: max(x, 0.0),
        "tanh": math.tanh,
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
        "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
        "silu": lambda x: x / (1 + math.exp(-x)),
        "softplus": lambda x: math.log(1 + math.exp(x)),
        "leaky_relu": lambda x: x if x > 0 else 0.01 * x,
        "linear": lambda x: x,
    }[activation]
    assert neuron([0.5, Value(-2.0)]).data == pytest.approx(function(total), rel=1e-14)


@pytest.mark.smoke
def test_outputs_and_widths():
    assert isinstance(MLP(np.int64(2), [3, 1])(map(Value, [1, 2])), Value)
    assert isinstance(Layer(2, 1)([1, 2]), Value)
    assert len(Layer(2, 3)([1, 2])) == 3
    assert isinstance(MLP(2, [1, 1, 1])([1, 2]), Value)
    assert len(MLP(3, [2, 2])([1, 2, 3])) == 2
    assert repr(Neuron(2, activation="tanh")) == "TanhNeuron(2)"
    assert Module().parameters() == []


def test_zero_grad_clears_the_parameters_only():
    model = MLP(2, [2, 1], seed=0)
    out = model([1.0, 2.0])
    out.backward()
    assert any(p.grad for p in model.parameters())
    model.zero_grad()
    assert all(p.grad == 0.0 for p in model.parameters())
    assert out.grad == 1.0


def test_parameters_are_the_same_objects_each_time():
    model = MLP(2, [2, 1])
    assert [id(p) for p in model.parameters()] == [id(p) for p in model.parameters()]


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: MLP(3, 4), r"MLP\(nin, nouts\): .* one list: MLP\(3, \[4\]\)"),
        (lambda: MLP(2, [2, 1])([[1, 2], [3, 4], [5, 6]]), "3 points; it takes one at a time"),
        (lambda: Neuron(3)(2.0), r"Neuron\(x\): got float; give a list"),
    ],
)
def test_a_number_where_a_list_belongs(attempt, words):
    with pytest.raises(TypeError, match=words):
        attempt()


def test_the_network_of_the_lecture_has_tanh_everywhere():
    model = MLP(3, [4, 1], activation="tanh", output="tanh")
    assert [n.activation for layer in model.layers for n in layer.neurons] == ["tanh"] * 5
    assert MLP(3, [4, 1]).layers[-1].neurons[0].nonlin is False


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: Neuron(2, activation="rely"), "'rely'.*'relu', 'tanh'"),
        (lambda: Neuron(0), "whole number from 1"),
        (lambda: MLP(2, []), "nouts is empty"),
        (lambda: MLP(2, [3.5]), "got 3.5"),
        (lambda: Neuron(3)([1, 2]), "takes 3 inputs, got 2"),
    ],
)
def test_bad_sizes(attempt, words):
    with pytest.raises(ValueError, match=words):
        attempt()
