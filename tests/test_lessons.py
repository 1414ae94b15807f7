"""Every code example of the micrograd lessons, word for word, with the lessons' numbers."""

from __future__ import annotations

import math
import random

import pytest

from minigrad import Value
from minigrad.nn import MLP, Layer, Neuron

pytestmark = pytest.mark.smoke

near = pytest.approx


def neuron():
    x1 = Value(2.0, label="x1")
    x2 = Value(0.0, label="x2")
    w1 = Value(-3.0, label="w1")
    w2 = Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    x1w1 = x1 * w1
    x1w1.label = "x1*w1"
    x2w2 = x2 * w2
    x2w2.label = "x2*w2"
    x1w1x2w2 = x1w1 + x2w2
    x1w1x2w2.label = "x1*w1 + x2*w2"
    n = x1w1x2w2 + b
    n.label = "n"
    return x1, x2, w1, w2, b, x1w1, x2w2, x1w1x2w2, n


def check_neuron(x1, x2, w1, w2, b, n):
    assert x1.grad == near(-1.5, abs=1e-9)
    assert w1.grad == near(1.0, abs=1e-9)
    assert x2.grad == near(0.5, abs=1e-9)
    assert w2.grad == near(0.0, abs=1e-9)
    assert n.grad == near(0.5, abs=1e-9)
    assert b.grad == near(0.5, abs=1e-9)


def test_the_first_expression():
    a = Value(2.0, label="a")
    b = Value(-3.0, label="b")
    c = Value(10.0, label="c")
    e = a * b
    e.label = "e"
    d = e + c
    d.label = "d"
    f = Value(-2.0, label="f")
    big_l = d * f
    big_l.label = "L"
    assert repr(big_l) == "Value(data=-8.0)"
    assert d._prev == {e, c}
    assert d._op == "+"
    big_l.backward()
    assert (d.grad, f.grad, e.grad, c.grad) == (-2.0, 4.0, -2.0, -2.0)
    assert (a.grad, b.grad) == (6.0, -4.0)
    # the lecture then takes one step along the gradient
    for v in (a, b, c, f):
        v.data += 0.01 * v.grad
    e = a * b
    d = e + c
    big_l = d * f
    assert big_l.data == near(-7.286496, abs=1e-6)


def test_the_neuron_by_hand_calls_of_backward_in_order():
    x1, x2, w1, w2, b, x1w1, x2w2, x1w1x2w2, n = neuron()
    o = n.tanh()
    o.label = "o"
    assert o.data == near(0.7071067811865476, abs=1e-12)
    o.grad = 1.0
    o._backward()
    n._backward()
    b._backward()
    x1w1x2w2._backward()
    x2w2._backward()
    x1w1._backward()
    check_neuron(x1, x2, w1, w2, b, n)


def test_the_neuron_automatically():
    x1, x2, w1, w2, b, *_, n = neuron()
    o = n.tanh()
    o.backward()
    check_neuron(x1, x2, w1, w2, b, n)


def test_the_lessons_own_topological_sort_runs_on_our_nodes():
    x1, x2, w1, w2, b, *_, n = neuron()
    o = n.tanh()
    topo = []
    visited = set()

    def build_topo(v):
        if v not in visited:
            visited.add(v)
            for child in v._prev:
                build_topo(child)
            topo.append(v)

    build_topo(o)
    assert len(topo) == 10
    o.grad = 1.0
    for node in reversed(topo):
        node._backward()
    check_neuron(x1, x2, w1, w2, b, n)


def test_the_neuron_with_tanh_taken_apart():
    x1, x2, w1, w2, b, *_, n = neuron()
    e = (2 * n).exp()
    o = (e - 1) / (e + 1)
    o.backward()
    assert o.data == near(0.7071067811865476, abs=1e-12)
    check_neuron(x1, x2, w1, w2, b, n)


def test_the_bug_that_everybody_meets():
    a = Value(3.0, label="a")
    b = a + a
    b.backward()
    assert a.grad == 2.0


def test_the_second_bug_example():
    a = Value(-2.0, label="a")
    b = Value(3.0, label="b")
    d = a * b
    e = a + b
    f = d * e
    f.backward()
    assert (a.grad, b.grad) == (-3.0, -8.0)


def test_the_diamond():
    a, b, c = Value(2.0), Value(3.0), Value(4.0)
    big_l = (a * b + c) * (a - c)
    big_l.backward()
    assert big_l.data == -20.0
    assert (a.grad, b.grad, c.grad) == (4.0, -4.0, -12.0)


def test_numbers_on_either_side():
    a = Value(2.0)
    assert (a + 1).data == 3.0
    assert (2 * a).data == 4.0
    assert (a / Value(4.0)).data == 0.5
    assert (a - Value(4.0)).data == -2.0
    assert a.exp().data == math.exp(2.0)
    assert (a**3).data == 8.0


def test_the_readme_example_of_micrograd():
    a = Value(-4.0)
    b = Value(2.0)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    assert f"{g.data:.4f}" == "24.7041"
    g.backward()
    assert f"{a.grad:.4f}" == "138.8338"
    assert f"{b.grad:.4f}" == "645.5773"


def test_an_op_of_ones_own_in_the_style_of_the_lessons():
    def tanh(self):
        x = self.data
        t = (math.exp(2 * x) - 1) / (math.exp(2 * x) + 1)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    x1, x2, w1, w2, b, *_, n = neuron()
    o = tanh(n)
    assert (o._op, o._prev) == ("tanh", {n})
    o.backward()
    check_neuron(x1, x2, w1, w2, b, n)


def test_the_small_network_of_the_lecture_learns():
    random.seed(5)
    n = MLP(3, [4, 4, 1], activation="tanh")
    xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
    ys = [1.0, -1.0, -1.0, 1.0]
    for _ in range(60):
        ypred = [n(x) for x in xs]
        loss = sum((yout - ygt) ** 2 for ygt, yout in zip(ys, ypred, strict=True))
        for p in n.parameters():
            p.grad = 0.0
        loss.backward()
        for p in n.parameters():
            p.data += -0.05 * p.grad
    assert loss.data < 0.05
    assert [y.data > 0 for y in ypred] == [True, False, False, True]


def test_reprs_and_counts_of_micrograds_networks():
    model = MLP(2, [16, 16, 1])
    assert len(model.parameters()) == 337
    assert repr(Neuron(2)) == "ReLUNeuron(2)"
    assert repr(Neuron(2, nonlin=False)) == "LinearNeuron(2)"
    assert repr(Layer(3, 2)) == "Layer of [ReLUNeuron(3), ReLUNeuron(3)]"
    assert repr(MLP(1, [2, 1])) == (
        "MLP of [Layer of [ReLUNeuron(1), ReLUNeuron(1)], Layer of [LinearNeuron(2)]]"
    )
