"""Graphs of exact numbers: what is drawn, and that its answers are right."""

from __future__ import annotations

from fractions import Fraction

import pytest

from minigrad import Value
from minigrad.check.exact import LESSONS, OPERATIONS, differences, random_graph, run

GRAPHS = [random_graph(seed) for seed in range(300)]


def test_every_operation_comes_up_and_operands_are_shared():
    used = [step for graph in GRAPHS for step in graph.steps]
    assert {name for name, _ in used} == set(OPERATIONS)
    assert any(len(set(operands)) < len(operands) for _, operands in used)
    assert {name for seed in range(50) for name, _ in random_graph(seed, LESSONS).steps} == set(
        LESSONS
    )


def test_a_seed_draws_the_same_graph():
    assert random_graph(7) == random_graph(7) != random_graph(8)


@pytest.mark.parametrize("graph", GRAPHS[:60], ids=lambda graph: f"{len(graph.steps)} steps")
def test_slopes_are_those_of_exact_differences(graph):
    """Polynomials of one input, evaluated at exact points near it: another way to the slopes."""
    for k in range(len(graph.inputs)):
        h = Fraction(1, 2**80)  # nearer than any kink of numbers with denominators so small

        def at(x, k=k):
            inputs = [*graph.inputs[:k], x, *graph.inputs[k + 1 :]]
            return run(graph, inputs, lambda name, *xs: OPERATIONS[name].rule(*xs)[0])[-1]

        slope = (at(graph.inputs[k] + h) - at(graph.inputs[k] - h)) / (2 * h)
        # A polynomial's third derivative, times h squared, is far below the slopes' own grid.
        assert abs(slope - graph.slopes[k]) < Fraction(1, 2**60)


@pytest.mark.parametrize("graph", GRAPHS[:60], ids=lambda graph: f"{len(graph.steps)} steps")
def test_floats_hold_the_values(graph):
    assert [Fraction(float(x)) for x in graph.values] == list(graph.values)
    assert [Fraction(float(x)) for x in graph.slopes] == list(graph.slopes)


def test_the_engine_is_exact():
    for graph in GRAPHS:
        nodes = run(graph, [Value(float(x)) for x in graph.inputs])
        nodes[-1].backward()
        assert differences(graph, [x.data for x in nodes], [x.grad for x in nodes]) == []


def test_a_difference_of_one_bit_is_told():
    graph = next(graph for graph in GRAPHS if graph.slopes[0])
    data = [float(x) for x in graph.values]
    grads = [float(x) for x in graph.slopes]
    assert differences(graph, data, grads) == []
    off = [grads[0] * (1 + 2**-52), *grads[1:]]
    assert len(differences(graph, data, off)) == 1
    assert "node 0: grad" in differences(graph, data, off)[0]
