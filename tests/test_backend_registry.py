"""Back ends by name: one of twenty lines is registered, and everything compiled runs on it."""

from __future__ import annotations

import math

import pytest

import minigrad
from minigrad import Value, nn, optim

np = pytest.importorskip("numpy")

from minigrad.compiler import backends  # noqa: E402
from minigrad.compiler.backends import numpy as interpreter  # noqa: E402


class Toy:
    """Runs an instruction after the other, and counts them by kind."""

    words = "a toy"
    missing = "it has been put away."
    Guards, Commit = interpreter.Guards, interpreter.Commit

    def __init__(self):
        self.counts = {}
        self.is_here = True

    def available(self):
        return self.is_here

    def prepare(self, program):
        counts = self.counts

        class Prepared(interpreter.Prepared):
            def run(self, values):
                for i in program.instructions:
                    counts[i.kind] = counts.get(i.kind, 0) + 1
                super().run(values)

        return Prepared(program)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(backends, "_BACKENDS", dict(backends._BACKENDS))
    toy = Toy()
    backends.register("toy", toy)
    return toy


def test_a_function_runs_on_a_registered_back_end(toy):
    f = minigrad.compile(lambda x, y: (x * y + 1.0).tanh() if x > 0 else x * y, backend="toy")
    assert f(0.5, 0.25).data == pytest.approx(math.tanh(1.125), rel=1e-15)
    assert toy.counts["map"] >= 3
    assert f.explain().splitlines()[0].endswith("run by a toy.")
    assert f(-2.0, 0.25).data == -0.5  # a guard fails, and it is traced again


def test_gradients_and_second_derivatives_run_on_it(toy):
    f = minigrad.compile(lambda x, y: x * x * y, backend="toy")
    value, grads = f.value_and_grad(3.0, 2.0)
    assert (value, *grads.args) == (18.0, 12.0, 9.0)
    assert toy.counts["muladd"] >= 1
    x, y = Value(3.0), Value(2.0)
    f(x, y).backward()
    assert (x.grad, y.grad) == (12.0, 9.0)
    assert list(f.hvp((3.0, 2.0), (1.0, 0.0))) == [4.0, 6.0]


def test_rows_of_data_run_on_it(toy):
    f = minigrad.vmap(lambda x: x * x + 1.0, backend="toy")
    assert list(f(np.array([1.0, 2.0, 3.0]))) == [2.0, 5.0, 10.0]
    assert toy.counts


def test_training_runs_on_it(toy):
    numbers = {}
    for name in ("toy", "numpy"):
        model = nn.MLP(2, [3, 1])
        for k, p in enumerate(model.parameters()):
            p.data = math.sin(k)
        adam = optim.Adam(model.parameters(), lr=0.1)
        step = minigrad.train_step(lambda x, m=model: m(x) ** 2, adam, backend=name)
        for _ in range(3):
            step([0.5, -0.25])
        numbers[name] = [p.data for p in model.parameters()]
    assert toy.counts
    assert numbers["toy"] == numbers["numpy"]


def test_unknown_names_and_back_ends_that_are_not_here(toy):
    with pytest.raises(
        ValueError, match="^backend='tory': choose one of auto, native, numpy, jax, toy"
    ):
        minigrad.compile(lambda x: x, backend="tory")
    toy.is_here = False
    with pytest.raises(RuntimeError, match="^backend='toy': it has been put away"):
        minigrad.compile(lambda x: x, backend="toy")
    with pytest.raises(ValueError, match="'auto' is the choice"):
        backends.register("auto", toy)
    with pytest.raises(TypeError, match="^register.'half', ….: the back end has no .*prepare"):
        backends.register("half", object())
    assert "half" not in backends.backend_names()
