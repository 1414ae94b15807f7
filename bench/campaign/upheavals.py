"""Calls that are interrupted or find no memory, and threads that look on.

The cases are those of tests/interruptions.py: a call has as many positions as it has lines (or
instructions), and at each of them an exception is raised once. A seed stands for a call and for
every `STRIDE`-th of its positions, so that all seeds together are all positions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import interruptions
import readers
from interruptions import CASES, Case, Counts

from minigrad import Value, grad

from . import peers
from .tally import Tally

STRIDE = 20
LINES = tuple(CASES)
# Instructions are many more than lines, and Python looks for signals at few of them.
INSTRUCTIONS = ("backward", "backward by hand", "zero_grad", "grad", "step of SGD", "step of Adam")


def _counted(tally: Tally, what: str, counts: Counts) -> None:
    failed = counts.wrong + counts.stuck + counts.left_on
    tally.cases += counts.positions
    tally.failed += failed
    if failed:
        tally.failures.append(f"{what}: {counts}")


def interrupted(engine: str, seeds: range, event: str) -> Tally:
    """Raise at a share of the positions of calls."""
    tally = Tally()
    names = LINES if event == "line" else INSTRUCTIONS
    for seed in seeds:
        if engine in ("micrograd", "torch"):
            counts = _sweep_of_a_peer(engine, seed)
            _counted(tally, f"{engine}, backward by hand", counts)
        else:
            name = names[seed % len(names)]
            counts = interruptions.sweep(CASES[name], STRIDE, seed // len(names), event=event)
            _counted(tally, name, counts)
    return tally


def _sweep_of_a_peer(engine: str, start: int) -> Counts:
    found = find_spec(engine)
    assert found is not None
    assert found.origin is not None
    package = os.path.dirname(found.origin) + os.sep
    return interruptions.sweep(_case_of_a_peer(engine), STRIDE, start, package=package)


def _case_of_a_peer(engine: str) -> Callable[[], Case]:
    """Small whole numbers, so that no order of a sum makes a difference."""

    def make() -> Case:
        x, y = peers.leaf_of(engine, 2.0), peers.leaf_of(engine, 3.0)
        root = peers.doubled_by_hand(x * y) * x + y * 5.0
        peers.backward(root)  # gradients of an earlier pass, to be kept
        return Case(lambda: peers.backward(root), lambda: [peers.grad_of(v) for v in (x, y)])

    return make


def starved(seeds: range) -> Tally:
    """Have every allocation of a call fail in turn; a seed is a call."""
    tally = Tally()
    for seed in seeds:
        name = LINES[seed % len(LINES)]
        _counted(tally, name, interruptions.starve(CASES[name]))
    return tally


def read(engine: str, seeds: range) -> Tally:
    """Read a gradient so often while another thread runs passes."""
    passes: list[Callable[[Any], Any]]
    if engine in ("micrograd", "torch"):
        leaf, number, passes = peers.leaf_of(engine, 1.0), peers.grad_of, [peers.backward]
    else:
        leaf, number = Value(1.0), lambda leaf: leaf.grad
        passes = [Value.backward, lambda root: grad(root, leaf)]
    halves = readers.at_random(len(seeds), leaf, number, *passes)
    tally = Tally(len(seeds) - len(halves))
    for half in halves:
        tally.count(f"a reader sees {half} in the middle of a pass")
    return tally
