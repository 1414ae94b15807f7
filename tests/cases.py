"""The problems of the benchmarks as functions to compile: A, B4, B8, B16, R trees and its like.

`problem(name)` returns the loss as a user writes it, its arguments, and the parameters.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import numpy as np

import minigrad
from minigrad import Value

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.peers import hidden, problems

REGULAR = ("A", "B4", "B8", "B16", *(f"R {name}" for name in hidden.MODELS))
IRREGULAR = ("D wide", "D deep")


class Kit(problems.Kit):
    """The words of the models, as minigrad's functions."""

    erf = staticmethod(minigrad.erf)
    sqrt = staticmethod(minigrad.sqrt)
    sin = staticmethod(minigrad.sin)
    cos = staticmethod(minigrad.cos)
    take = staticmethod(minigrad.take)


def problem(case):
    """Make a case anew, with Values of its own."""
    kind, _, which = case.partition(" ")
    if kind == "A":
        layers = problems.demo_parameters(Value)
        arguments = np.array(problems.POINTS), np.array(problems.LABELS, float)
        return (
            lambda points, labels: problems.demo_loss(layers, points, labels, Kit),
            arguments,
            problems.demo_flat(layers),
        )
    if kind == "D":
        graph = problems.dag(which)
        inputs = [Value(x) for x in graph.inputs]
        return lambda: problems.dag_loss(graph, inputs, Kit), (), inputs
    if kind == "R":
        loss, data, parameters = hidden.MODELS[which](Value)
        return functools.partial(loss, Kit), data, parameters
    p = problems.gpt_parameters(Value)
    tokens = problems.encode(problems.DOCUMENTS[int(case[1:])])
    return lambda tokens: problems.gpt_loss(p, tokens, Kit), (tokens,), problems.flat(p)


def price(*option):
    """Black and Scholes, of case C."""
    return problems.call_price(*option, Kit)
