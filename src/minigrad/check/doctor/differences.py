"""Operations that only the stranger knows: does their gradient fit their own values?

The values around a point give the derivative by differences, twice, with two steps; where the two
do not agree there is a kink or too little precision, and nothing is said. An operation that is the
identity and has no gradient is meant to stop it, and one whose value never changes is a step: both
are left alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

POINTS = ([0.5, 0.75], [-1.25, 0.5], [1.5, -0.75])
STEP = 1e-3
TOLERANCE = 2e-3  # a float32 loses that much in differences; mistakes are larger
FACTOR = 3.0  # of the result that is differentiated


def points(seed: int) -> list[list[float]]:
    """Return the points to ask at: three that everybody knows, and two that are drawn."""
    chance = random.Random(seed)
    numbers = [[chance.uniform(0.3, 1.7), chance.uniform(-1.7, -0.3)] for _ in range(2)]
    return [*POINTS, *([round(x * 4096) / 4096 for x in pair] for pair in numbers)]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A gradient that does not fit the values: of which operand, where, and both numbers."""

    name: str
    point: tuple[float, ...]
    operand: int
    right: float
    got: float


def misfit(name: str, asked: list[list[float]], answers: list[dict[str, Any]]) -> Misfit | None:
    """Find the first point at which an operation's gradient is not that of its values."""
    slopes, found = [], None
    for point, answer in zip(asked, answers, strict=True):
        if "error" in answer:
            continue
        for k, (around, got) in enumerate(zip(answer["around"], answer["grads"], strict=True)):
            slope = _slope(around)
            if slope is None:
                continue
            slopes.append((slope, got))
            right = FACTOR * slope
            if found is None and not abs(got - right) <= TOLERANCE * (1.0 + abs(right)):
                found = Misfit(name, tuple(point[: len(answer["grads"])]), k, right, got)
    if all(abs(slope) < TOLERANCE for slope, _ in slopes):
        return None  # a step
    if all(got == 0 and abs(slope - 1) < TOLERANCE for slope, got in slopes):
        return None  # it stops the gradient
    return found


def _slope(around: list[float]) -> float | None:
    """Return the derivative, where two steps agree about it."""
    far_below, below, above, far_above = around
    near, far = (above - below) / (2 * STEP), (far_above - far_below) / (4 * STEP)
    if not abs(near - far) <= TOLERANCE * (1.0 + abs(near)):
        return None
    return (4 * near - far) / 3
