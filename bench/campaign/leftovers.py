"""Training with the garbage collector off: what is left in memory after so many steps."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

from test_memory import SLACK, memory_after, neuron_training

from .tally import Tally


def judged(engine: str, steps: int) -> Tally:
    """Train a neuron, and see what stays."""
    left = _left_by_micrograd(steps) if engine == "micrograd" else _left_by_ours(steps)
    tally = Tally(cases=steps)
    tally.figure("bytes left", left)
    if left >= SLACK:
        tally.failed = 1
        tally.failures.append(f"{left:,} bytes are left after {steps:,} steps")
    return tally


def _left_by_ours(steps: int) -> int:
    return memory_after(steps, neuron_training())


def _left_by_micrograd(steps: int) -> int:
    train = _micrograd_training()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    train(100)
    before = tracemalloc.get_traced_memory()[0]
    train(steps)
    return tracemalloc.get_traced_memory()[0] - before


def _micrograd_training() -> Callable[[int], None]:
    from micrograd.nn import Neuron

    neuron = Neuron(2)

    def train(steps: int) -> None:
        for _ in range(steps):
            neuron.zero_grad()
            pairs = zip(([0.5, -1.0], [1.0, 2.0]), (1.0, -1.0), strict=True)
            sum((neuron(x) - y) ** 2 for x, y in pairs).backward()
            for parameter in neuron.parameters():
                parameter.data -= 0.05 * parameter.grad

    return train
