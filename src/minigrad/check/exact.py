"""Random graphs whose every number is exact, so that every bit of a gradient can be asked for.

All numbers are fractions over powers of two, small enough that floats hold each of them and each
partial sum of the backward pass, in whatever order it is added up. What is right is worked out with
`Fraction`, forwards: for every node its derivative by every node before it. That is another way
than the engine's, with other numbers, and there is nothing to round.

Start at `random_graph`; `run` evaluates a graph with anybody's numbers.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .. import functions

Partials = tuple[Fraction, ...]
_ONE, _ZERO = Fraction(1), Fraction(0)
_INPUTS = tuple(Fraction(k, 8) for k in range(-40, 41) if k)
_LARGEST = 2**53  # whole numbers beyond are no longer all floats


@dataclass(frozen=True)
class Graph:
    """Inputs, steps (an operation, and the positions of its operands) and what is right."""

    inputs: tuple[Fraction, ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    values: tuple[Fraction, ...]  # of every node, inputs first
    slopes: tuple[Fraction, ...]  # of the last node by every node


@dataclass(frozen=True)
class _Op:
    count: tuple[int, ...]  # of operands, one of these
    rule: Callable[..., tuple[Fraction, Partials] | None]  # None: on a kink, or not exact
    call: Callable[..., Any]  # with numbers of any kind


def _dot(xs: Sequence[Fraction]) -> tuple[Fraction, Partials]:
    left, right = xs[: len(xs) // 2], xs[len(xs) // 2 :]
    total = sum((a * b for a, b in zip(left, right, strict=True)), _ZERO)
    return total, (*right, *left)


def _halves(xs: Sequence[Any]) -> Any:
    return functions.dot(xs[: len(xs) // 2], xs[len(xs) // 2 :])


def _first_if(holds: bool) -> Partials:
    return (_ONE, _ZERO) if holds else (_ZERO, _ONE)


_QUARTER = Fraction(1, 4)
# The operations of the lessons come first: other engines know these.
_PLAIN: dict[str, _Op] = {
    "add": _Op((2,), lambda a, b: (a + b, (_ONE, _ONE)), operator.add),
    "sub": _Op((2,), lambda a, b: (a - b, (_ONE, -_ONE)), operator.sub),
    "mul": _Op((2,), lambda a, b: (a * b, (b, a)), operator.mul),
    "neg": _Op((1,), lambda x: (-x, (-_ONE,)), operator.neg),
    "square": _Op((1,), lambda x: (x * x, (2 * x,)), lambda x: x**2),
    "cube": _Op((1,), lambda x: (x**3, (3 * x * x,)) if x else None, lambda x: x**3),
    "quarter": _Op((1,), lambda x: (x / 4, (_QUARTER,)), lambda x: x / 4),
    "relu": _Op((1,), lambda x: (max(x, _ZERO), (_ONE if x > 0 else _ZERO,)) if x else None,
                lambda x: x.relu()),
}  # fmt: skip
_OWN: dict[str, _Op] = {
    "abs": _Op((1,), lambda x: (abs(x), (_ONE if x > 0 else -_ONE,)) if x else None, abs),
    "leaky_relu": _Op(
        (1,), lambda x: ((x, (_ONE,)) if x > 0 else (x / 4, (_QUARTER,))) if x else None,
        lambda x: functions.leaky_relu(x, 0.25)),
    "maximum": _Op((2,), lambda a, b: (max(a, b), _first_if(a > b)) if a != b else None,
                   functions.maximum),
    "minimum": _Op((2,), lambda a, b: (min(a, b), _first_if(a < b)) if a != b else None,
                   functions.minimum),
    "where": _Op((2,), lambda a, b: (a if a > b else b, _first_if(a > b)),
                 lambda a, b: functions.where(a > b, a, b)),
    "sum": _Op((1, 2, 3, 5), lambda *xs: (sum(xs, _ZERO), (_ONE,) * len(xs)),
               lambda *xs: functions.sum(xs)),
    "mean": _Op((1, 2, 4), lambda *xs: (sum(xs, _ZERO) / len(xs), (_ONE / len(xs),) * len(xs)),
                lambda *xs: functions.mean(xs)),
    "dot": _Op((2, 4, 6), lambda *xs: _dot(xs), lambda *xs: _halves(xs)),
}  # fmt: skip
OPERATIONS = {**_PLAIN, **_OWN}
LESSONS = tuple(_PLAIN)


def random_graph(seed: int, names: Sequence[str] = tuple(OPERATIONS), size: int = 24) -> Graph:
    """Draw a graph: a third of the operands are recent nodes, and any may come up twice."""
    rng = random.Random(seed)
    inputs = tuple(rng.choice(_INPUTS) for _ in range(rng.randint(1, 4)))
    values = list(inputs)
    # The derivative of every node by every node up to itself.
    rows = [[_ZERO] * k + [_ONE] for k in range(len(inputs))]
    steps: list[tuple[str, tuple[int, ...]]] = []
    edges: list[list[tuple[int, Fraction]]] = [[] for _ in inputs]  # operands and partials
    for _ in range(rng.randint(1, size)):
        name = rng.choice(names)
        op = OPERATIONS[name]
        operands = tuple(_picked(rng, len(values)) for _ in range(rng.choice(op.count)))
        made = op.rule(*(values[j] for j in operands))
        if made is None:
            continue
        value, partials = made
        row = _combined([rows[j] for j in operands], partials, len(values))
        pairs = list(zip(operands, partials, strict=True))
        terms = [partial * values[j] for j, partial in pairs]
        forward = _fits([value, *terms]) and all(_fits([partial]) for partial in partials)
        if not forward or not _backward_fits(row, [*edges, pairs]):
            continue
        values.append(value)
        rows.append(row)
        edges.append(pairs)
        steps.append((name, operands))
    return Graph(inputs, tuple(steps), tuple(values), tuple(rows[-1]))


def _picked(rng: random.Random, count: int) -> int:
    return rng.randrange(max(0, count - 3), count) if rng.random() < 1 / 3 else rng.randrange(count)


def _combined(rows: list[list[Fraction]], partials: Partials, size: int) -> list[Fraction]:
    """The chain rule, forwards."""
    row = [_ZERO] * size + [_ONE]
    for known, partial in zip(rows, partials, strict=True):
        if partial:
            for k, slope in enumerate(known):
                row[k] += partial * slope
    return row


def _backward_fits(row: list[Fraction], edges: list[list[tuple[int, Fraction]]]) -> bool:
    """Tell whether floats hold all that the backward pass from the last node adds up."""
    terms: list[list[Fraction]] = [[] for _ in row]
    for k, pairs in enumerate(edges):
        for j, partial in pairs:
            terms[j].append(row[k] * partial)
    return all(_fits(some) for some in terms)


def _fits(terms: list[Fraction]) -> bool:
    """Tell whether floats hold the sum of some of these terms, whichever they are."""
    finest = max((term.denominator for term in terms), default=1)
    return sum(map(abs, terms), _ZERO) * finest <= _LARGEST


# ---- running them --------------------------------------------------------------------------------


def run(graph: Graph, inputs: Sequence[Any], call: Callable[..., Any] | None = None) -> list[Any]:
    """Evaluate with any kind of numbers; `call(name, *operands)` may say how."""
    nodes = list(inputs)
    for name, operands in graph.steps:
        xs = [nodes[j] for j in operands]
        nodes.append(OPERATIONS[name].call(*xs) if call is None else call(name, *xs))
    return nodes


def differences(graph: Graph, data: Iterable[float], grads: Iterable[float]) -> list[str]:
    """What is not exactly right about the numbers and gradients of all nodes."""
    found = []
    for what, got, right in (("data", data, graph.values), ("grad", grads, graph.slopes)):
        for k, (x, exact) in enumerate(zip(got, right, strict=True)):
            if x != float(exact):
                found.append(f"node {k}: {what} is {x}, right is {float(exact)}")
    return found
