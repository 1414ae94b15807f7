"""What became of a function, in words: `explain()`."""

from __future__ import annotations

import functools

import networks
import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.describe import described
from minigrad.nn import MLP, Module

near = pytest.approx
compiled = functools.partial(minigrad.compile, backend="numpy")


def test_counting_and_explaining(backend):
    points, labels = networks.moons(30)
    model = MLP(2, [8, 8, 1], seed=1)
    fast = minigrad.compile(lambda p, q: networks.demo_loss(model, p, q)[0], backend=backend)
    for _ in range(3):
        fast(points, labels)
    fast(points[:10], labels[:10])
    info = fast.cache_info()
    assert (info.calls, info.traces, info.programs) == (4, 2, 2)
    assert (info.guards_failed, info.eager_calls) == (0, 0)
    words = fast.explain()
    for part in ["scalar operations became", "a matrix product", "captured Values", "No guards"]:
        assert part in words
    assert str(len(fast.program.instructions)) in words
    assert len(fast.gradient_program().instructions) > len(fast.program.instructions)
    fast.cache_clear()
    assert fast.cache_info() == (0, 0, 0, 0, 0)
    guarded = minigrad.compile(lambda x: x if x > 0 else -x, backend=backend)
    guarded(1.0)
    assert "Guards (1)" in guarded.explain()


class Scaled(Module):
    kind = 1.0

    def __init__(self):
        self.w, self.k, self.limits = Value(3.0), 2.0, [0.0, 10.0]

    def parameters(self):
        return [self.w]

    def plain(self, x):
        return self.w * x * self.k * self.kind + self.limits[0]

    loss = minigrad.compile(plain, backend="numpy")

    def __call__(self, x):
        return self.plain(x)


def test_callables_without_a_name_can_be_explained():
    for function in (Scaled(), functools.partial(Scaled.plain, Scaled())):
        fast = compiled(function)
        assert fast(2.0).data == 12.0
        assert "scalar operations became" in fast.explain()


def test_the_words_say_what_is_in_the_program():
    w, table = Value(2.0), [1.0, 2.0]
    fast = compiled(lambda xs, x: minigrad.sum([w * x for x in xs]) * table[1] if x > 0 else x)
    fast([1.0, 2.0, 3.0], 1.0)
    words = described(fast.dispatch.latest(), "f").split("\n")
    assert words[0].startswith("f: ")
    assert words[0].endswith("run by NumPy.")
    assert (
        "Inputs: 1 captured Values, read afresh at each call; 4 numbers from the arguments."
        in words
    )
    assert "Watched, and checked at each call: table, w." in words
    assert "Guards (1), checked at each call:" in words
