"""What is computed: the data of each case, and its model one scalar at a time for any number class.

The order of a gradient is the same for all peers. T: by x and by y. A: layer by layer and neuron by
neuron, the weights and then the bias. B: the matrices in the order of `SHAPES`, by rows. C: price
and the derivatives by spot, strike, years, rate and volatility, a row each. D: the inputs in order.
R: as `hidden.py` says, which has its models.
"""

from __future__ import annotations

import gc
import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from networks import (  # noqa: E402
    BLOCK,
    HEADS,
    VOCABULARY,
    WIDTH,
    Kit,
    flat,
    gpt_logits,
    gpt_parameters,
    linear,
    mlp_loss,
    mlp_parameters,
    moons,
    rmsnorm,
    softmax,
)

Result = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Job:
    """A step to be timed; `after`, if any, tidies up after it, outside the clock."""

    run: Callable[[], Any]
    read: Callable[[Any], Result]
    after: Callable[[], Any] | None = None


# ---- T: a function of two numbers --------------------------------------------------------------

PLACE = (1.5, 2.0)


def rosenbrock(x, y):
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


# ---- A: micrograd's demo -----------------------------------------------------------------------

POINTS, LABELS = moons(100)
SIZES = (2, 16, 16, 1)
ALPHA = 1e-4


def demo_parameters(make):
    return mlp_parameters(make, SIZES)


def demo_flat(layers):
    return [p for layer in layers for weights, bias in layer for p in (*weights, bias)]


def demo_loss(layers, points, labels, kit=Kit):
    """Hinge loss plus L2, as in micrograd's demo."""
    penalty = ALPHA * sum(p * p for p in demo_flat(layers))
    return mlp_loss(layers, points, labels, kit) + penalty


def demo_matrices():
    """The same parameters as a list of (weights, biases), for those who think in matrices."""
    return [
        (np.array([weights for weights, _ in layer]), np.array([bias for _, bias in layer]))
        for layer in demo_parameters(float)
    ]


def demo_join(gradients):
    """From (weights, biases) of each layer to the common order."""
    layers = [np.column_stack([np.asarray(w), np.asarray(b)]).ravel() for w, b in gradients]
    return np.concatenate(layers)


# ---- B: a GPT ----------------------------------------------------------------------------------

SHAPES = {
    "tokens": (VOCABULARY, WIDTH),
    "positions": (BLOCK, WIDTH),
    "query": (WIDTH, WIDTH),
    "key": (WIDTH, WIDTH),
    "value": (WIDTH, WIDTH),
    "out": (WIDTH, WIDTH),
    "up": (4 * WIDTH, WIDTH),
    "down": (WIDTH, 4 * WIDTH),
    "head": (VOCABULARY, WIDTH),
}
BOUNDARY = VOCABULARY - 1  # the token before and after a document
DOCUMENTS = {4: "eva", 8: "charlie", 16: "maximilianojose"}
ADAM = {"lr": 0.01, "betas": (0.85, 0.99), "eps": 1e-8}
SGD = {"lr": 0.001}


def encode(name):
    return [BOUNDARY, *(ord(letter) - ord("a") for letter in name), BOUNDARY]


def gpt_loss(p, tokens, kit=Kit):
    """The mean cross entropy; `kit.take`, where there is one, looks up what a token stands for.

    `tests/networks.py` has the same with plain indexing; here an index may be a tracer's.
    """
    take = getattr(kit, "take", lambda rows, index: rows[index])
    keys, values, losses = [], [], []
    for position in range(len(tokens) - 1):
        row = take(p["tokens"], tokens[position])
        logits = gpt_logits({**p, "tokens": [row]}, 0, position, keys, values, kit)
        losses.append(-kit.log(take(softmax(logits, kit), tokens[position + 1])))
    return sum(losses) * (1 / len(losses))


def gpt_matrices():
    return {name: np.array(rows) for name, rows in gpt_parameters(float).items()}


def gpt_join(matrices):
    return np.concatenate([np.asarray(matrices[name]).ravel() for name in SHAPES])


def gpt_split(vector):
    """Views of one vector as the matrices."""
    matrices, start = {}, 0
    for name, (rows, columns) in SHAPES.items():
        matrices[name] = vector[start : start + rows * columns].reshape(rows, columns)
        start += rows * columns
    return matrices


def documents(count):
    """Names as lists of tokens, in an order that does not sort by length."""
    places = [ROOT / "examples/data/names.txt", ROOT.parent / "shared/data/names.txt"]
    path = next(place for place in places if place.exists())
    names = [name for name in path.read_text().split() if len(name) < BLOCK]
    random.Random(42).shuffle(names)
    return [encode(name) for name in names[:count]]


def train(peer, several):
    """Let a peer learn from documents, one after the other; returns its parameters."""
    step, finish = peer.trainer(BLOCK)
    for tokens in several:
        step(tokens)
    return finish()


def training_job(peer, tokens):
    """Value, gradients and a step of an optimiser, again and again on one document."""
    step, finish = peer.trainer(len(tokens) - 1)
    return Job(lambda: step(tokens), lambda _: (0.0, finish()), gc.collect)


# ---- C: Black-Scholes --------------------------------------------------------------------------

OPTIONS = 1_000_000
CHECKED = slice(None, None, 50)  # the points whose numbers are compared with the eager engine's


def call_price(spot, strike, years, rate, volatility, kit):
    """The price of a European call option."""
    spread = volatility * kit.sqrt(years)
    upper = (kit.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    lower = upper - spread
    discounted = strike * kit.exp(-rate * years)
    return spot * normal(upper, kit) - discounted * normal(lower, kit)


def normal(x, kit):
    """The distribution function of the normal law."""
    return 0.5 * (1.0 + kit.erf(x * math.sqrt(0.5)))


@cache
def options():
    """Spot, strike, years, rate and volatility, an array each."""
    rng = np.random.default_rng(7)
    ranges = [(50.0, 150.0), (50.0, 150.0), (0.1, 2.0), (0.0, 0.08), (0.1, 0.6)]
    return [rng.uniform(low, high, OPTIONS) for low, high in ranges]


# ---- D: irregular graphs -----------------------------------------------------------------------

INPUTS = 1_000
NODES = 100_000
LEVELS = 200
# Weights that let gradients neither explode nor vanish at once: sums spread them, the rest shrinks.
BINARY = {"add": 10, "sub": 10, "mul": 28}
UNARY = {"tanh": 12, "sin": 12, "cos": 8, "scale": 12, "shift": 8}


@dataclass(frozen=True)
class Dag:
    """Rows (op, a, b) over nodes 0, 1, …: the inputs come first. The loss is a mean of `ends`."""

    inputs: list[float]
    rows: list[tuple[str, int, int]]
    ends: list[int]


@cache
def dag(shape):
    """A random graph; `wide` has 200 levels of 500 nodes, `deep` uses mostly the latest nodes."""
    rng = random.Random(shape)
    numbers = [rng.uniform(-1.0, 1.0) for _ in range(INPUTS)]
    inputs, rows, used = list(numbers), [], set()
    size = NODES // LEVELS
    ops, weights = zip(*(BINARY | UNARY).items(), strict=True)

    def operand(first):
        count = len(numbers)
        if first and shape == "wide":  # one operand from the level before makes the level
            level = len(rows) // size
            start = INPUTS + (level - 1) * size
            return rng.randrange(start, start + size) if level else rng.randrange(INPUTS)
        kind = rng.random()
        if kind < 0.1:
            return rng.randrange(INPUTS)
        if shape == "deep" and kind < 0.95:
            return rng.randrange(max(0, count - 12), count)
        return rng.randrange(INPUTS + len(rows) // size * size if shape == "wide" else count)

    for _ in range(NODES):
        op, a, b = rng.choices(ops, weights)[0], operand(True), operand(False)
        y = APPLY[op](numbers[a], numbers[b], math)
        if abs(y) > 1.5:
            op = "sin"
            y = math.sin(numbers[a])
        numbers.append(y)
        rows.append((op, a, b))
        used.update((a, b) if op in BINARY else (a,))
    count = len(numbers)
    ends = [k for k in range(INPUTS, count) if k not in used or k % 100 == 0]
    return Dag(inputs, rows, ends)


APPLY = {
    "add": lambda a, b, kit: a + b,
    "sub": lambda a, b, kit: a - b,
    "mul": lambda a, b, kit: a * b,
    "tanh": lambda a, b, kit: kit.tanh(a),
    "sin": lambda a, b, kit: kit.sin(a),
    "cos": lambda a, b, kit: kit.cos(a),
    "scale": lambda a, b, kit: a * 0.7,
    "shift": lambda a, b, kit: a + 0.3,
}


def dag_loss(graph, inputs, kit):
    nodes = list(inputs)
    for op, a, b in graph.rows:
        nodes.append(APPLY[op](nodes[a], nodes[b], kit))
    return sum(nodes[k] for k in graph.ends) * (1.0 / len(graph.ends))


# ---- E: growing models -------------------------------------------------------------------------

# A GPT of growing width and length: (width, predicted tokens), about 1e3 to 2.6e6 operations.
GROWTH = [(4, 1), (8, 2), (16, 2), (16, 8), (32, 8), (32, 24), (64, 12), (64, 25)]


def growing(width, length, make):
    """Parameters and a document for one size of the growth."""
    parameters = gpt_parameters(make, width=width, block=length + 1)
    rng = random.Random(length)
    return parameters, [rng.randrange(VOCABULARY) for _ in range(length + 1)]


__all__ = [
    "BLOCK",
    "HEADS",
    "VOCABULARY",
    "WIDTH",
    "Kit",
    "flat",
    "gpt_parameters",
    "linear",
    "rmsnorm",
]
