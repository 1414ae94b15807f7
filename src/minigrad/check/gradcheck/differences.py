"""The slope of a function of one number, by differences, with an error that can be relied on.

A central difference with a large step is bent by curvature, with a small one it drowns in rounding.
So steps go from large to small, four times smaller each; every few slopes are extrapolated to a
step of zero (Richardson; the table is Ridders'), and of all the extrapolations the one is taken
whose error is smallest. Its error is what it differs by from its neighbours in the table *and from
all finer ones*, and the rounding of the function, which the caller knows (`noise`).

Slopes to the left and to the right are worked out in the same way: where they differ, there is a
kink. Start at `slope`, then `extrapolate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite, nan

from ...core.names import brief

_EPS = 2.0**-52
_RATIO = 4.0  # from step to step
_BATCH = 5  # so many steps are tried before asking whether it is enough
_COLUMNS = 4  # of the table
_SHARP = 1e-9  # relative error at which smaller steps are not tried any more
_START = 0.2381966  # no round number: with 1/4, a function of period 1/4 looks constant


@dataclass(frozen=True, slots=True)
class Slope:
    """A derivative, how far it may be off, and the same for one side each."""

    value: float
    error: float
    left: float
    right: float
    has_kink: bool


def slope(f: Callable[[float], float], x: float, *, noise: float, h: float | None = None) -> Slope:
    """Return the derivative of `f` at `x`; `noise` is how far off a value of `f` may be.

    Where `f` is defined on one side only (the square root at 0) it is that side's derivative, and
    where slopes grow without end it is infinite. With `h` five steps are tried, from `h` down.
    """
    if not isfinite(x):
        return Slope(nan, inf, nan, nan, False)
    here = f(x)
    steps: list[float] = []
    slopes: list[tuple[float, float, float]] = []  # central, left, right
    noises: list[float] = []
    for step in _steps(x, h):
        low, high = x - step, x + step
        below, above = f(low), f(high)
        left, right = (here - below) / (x - low), (above - here) / (high - x)
        bend = abs(right - left) / step
        # x is not quite in the middle between the two: their distances to it are rounded.
        shift = bend * math.ulp(max(-low, high)) if isfinite(bend) else 0.0
        steps.append(step)
        slopes.append(((above - below) / (high - low), left, right))
        noises.append(noise / step + shift)
        if len(steps) % _BATCH == 0:
            found, is_settled = _judge(steps, slopes, noises)
            if is_settled or not any(map(any, slopes)):  # or f does not move at all
                return found
    return _to_infinity(_judge(steps, slopes, noises)[0], slopes, noises)


def _steps(x: float, h: float | None) -> list[float]:
    """List the steps to try, the largest first: on the scale of 1, then on the scale of x."""
    size, least = abs(x), 8 * math.ulp(x)
    if h is not None:
        steps = [h / _RATIO**k for k in range(_BATCH)]
    elif size == 0.0:
        steps = [_START / _RATIO**k for k in range(60)]
    elif size < 1e-9:
        steps = [_START * scale / _RATIO**k for scale in (1.0, size) for k in range(20)]
    else:
        steps = [_START * max(size, 1.0) / _RATIO**k for k in range(40)]
    found = [step for step in steps if step >= least and isfinite(size + step)]
    if not found:
        raise ValueError(f"h={h!r}: too small a step for {x!r}; give at least {brief(least)}.")
    return found


def _judge(
    steps: list[float], slopes: list[tuple[float, float, float]], noises: list[float]
) -> tuple[Slope, bool]:
    """Extrapolate all three kinds of slope; tell whether smaller steps would add nothing."""
    both = [2 * noise for noise in noises]  # of two values, at half the distance
    central = extrapolate(steps, [s[0] for s in slopes], noises, 2)
    left = extrapolate(steps, [s[1] for s in slopes], both, 1)
    right = extrapolate(steps, [s[2] for s in slopes], both, 1)
    size = max(abs(left[0]), abs(right[0]))
    has_kink = abs(left[0] - right[0]) > 2 * (left[1] + right[1]) + 1e-6 * size
    is_settled = central[1] <= _SHARP * abs(central[0]) and left[1] + right[1] <= 1e-7 * size
    value, error = central
    if math.isnan(value):
        value, error = right if math.isnan(left[0]) else left
    for side, off in (left, right):  # a kink that noise hides from small steps shows here
        error = max(error, 0.0 if math.isnan(side) else abs(value - side) + off)
    return Slope(value, error, left[0], right[0], has_kink), is_settled and not has_kink


def extrapolate(
    steps: Sequence[float], slopes: Sequence[float], noises: Sequence[float], power: int
) -> tuple[float, float]:
    """Extrapolate slopes to a step of zero and return the best value with its error.

    The error of a slope is a series in `step**power`. Slopes that are not finite (a step out of the
    domain, or an overflow) are left out; without two others the answer is (nan, inf).
    """
    known = [k for k, s in enumerate(slopes) if isfinite(s)]
    rows: list[list[float]] = []
    for i, k in enumerate(known):
        row = [slopes[k]]
        for j in range(1, min(i, _COLUMNS) + 1):
            ratio = min(steps[known[i - j]] / steps[k], 1e100) ** power
            row.append(row[-1] + (row[-1] - rows[i - 1][j - 1]) / (ratio - 1.0))
        rows.append(row)
    value, error = nan, inf
    for i, row in enumerate(rows):
        for j in range(1, len(row)):
            above = rows[i - 1][j - 1]
            differs = max(abs(row[j] - row[j - 1]), abs(row[j] - above))
            for finer, k in zip(rows[i + 1 :], known[i + 1 :], strict=True):
                change = abs(finer[j] - row[j])
                if change > 2 * noises[k]:
                    differs = max(differs, change)
            rounding = noises[known[i]] + 2 * _EPS * max(abs(row[0]), abs(above))
            off = 2 * (differs + rounding)
            if off < error:
                value, error = row[j], off
    return value, error


def _to_infinity(
    found: Slope, slopes: list[tuple[float, float, float]], noises: list[float]
) -> Slope:
    """Put infinity where slopes grow with every step, as those of the square root at 0 do.

    Nobody knows where it would end with steps smaller than floats have. So where there is one side
    only, the other bound is the last slope: what is steeper than that may be right.
    """
    central, left, right = (_limit([s[k] for s in slopes], noises) for k in range(3))
    if not (central or left or right):
        return found
    if right and math.isnan(found.left):
        return Slope(right, 0.0, slopes[-1][2], right, True)
    if left and math.isnan(found.right):
        return Slope(left, 0.0, left, slopes[-1][1], True)
    value, error = (central, 0.0) if central else (found.value, found.error)
    return Slope(value, error, left or found.left, right or found.right, True)


def _limit(slopes: list[float], noises: list[float]) -> float:
    """Return plus or minus infinity if the last slopes lead there, else 0."""
    last = slopes[-_BATCH:]
    if not all(abs(s) > n for s, n in zip(last, noises[-_BATCH:], strict=True)):  # nor for nan
        return 0.0
    grows = all(a * b > 0 and (abs(b) > 1.1 * abs(a) or abs(b) == inf) for a, b in pairwise(last))
    return math.copysign(inf, last[-1]) if grows else 0.0
