"""Memory stays flat over many training steps with the garbage collector off (CASES: Memory)."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from minigrad import Value, minimum
from minigrad.loss import mse
from minigrad.nn import Neuron
from minigrad.optim import SGD
from minigrad.scalar import nodes_alive

# A single node left behind in each step would be more than a hundred times this.
SLACK = 3_000


def memory_after(steps, train):
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        train(2_000)  # until Python's own free lists (tuples, floats) are full
        before, nodes = tracemalloc.get_traced_memory()[0], nodes_alive()
        train(steps)
        # The compiled engine's nodes have memory of their own, which tracemalloc does not see.
        assert nodes_alive() == nodes
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        gc.enable()


def neuron_training():
    neuron = Neuron(2, activation="tanh")
    optimizer = SGD(neuron.parameters(), lr=0.05)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = mse([neuron([0.5, -1.0]), neuron([1.0, 2.0])], [1.0, -1.0])
            loss.backward()
            optimizer.step()

    return train


def test_training_leaves_nothing_behind():
    assert memory_after(3_000, neuron_training()) < SLACK


def test_looking_at_graphs_leaves_nothing_behind():
    x = Value(0.5)

    def look(steps):
        for _ in range(steps):
            out = minimum((2 * x).exp() - 1, x**2)
            out._prev, out._operands, out._local_grads, out._backward  # noqa: B018
            out.backward()
            out.zero_grad()

    assert memory_after(3_000, look) < SLACK


@pytest.mark.heavy
def test_a_hundred_thousand_training_steps():
    assert memory_after(100_000, neuron_training()) < SLACK
