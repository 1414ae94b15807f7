"""Models of the lessons' size, one scalar at a time, for any class with the operators.

Nothing here knows minigrad: the same code runs on `Value`, on PyTorch's 0-d tensors and, in the
benchmarks, on plain floats and on other libraries' numbers, so that they can be compared. What is
not an operator is a word of a `Kit`; the default calls methods.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise


class Kit:
    """The functions that the models need besides operators."""

    @staticmethod
    def exp(x):
        return x.exp()

    @staticmethod
    def log(x):
        return x.log()

    @staticmethod
    def tanh(x):
        return x.tanh()

    @staticmethod
    def relu(x):
        return x.relu()

    @staticmethod
    def number(x):
        return x.data


# ---- a long chain ------------------------------------------------------------------------------


def mixed_chain(w, b, count, kit=Kit):
    """A chain of `count` operations of ten kinds; its numbers stay between 0 and 1."""
    v = w
    for _ in range(count // 10):
        v = kit.log(kit.exp(kit.tanh(v * w + b)) + 1.0)
        v = kit.relu(v) ** 2 * 0.5 - 0.1
    return v


# ---- two moons, as in micrograd's demo --------------------------------------------------------


def moons(count=100, noise=0.1, seed=1):
    """Two interleaving half circles, labelled -1 and +1."""
    rng = random.Random(seed)
    points, labels = [], []
    for k in range(count):
        angle = math.pi * rng.random()
        upper = k % 2 == 0
        x = math.cos(angle) if upper else 1 - math.cos(angle)
        y = math.sin(angle) if upper else 0.5 - math.sin(angle)
        points.append([x + rng.gauss(0, noise), y + rng.gauss(0, noise)])
        labels.append(-1 if upper else 1)
    return points, labels


def mlp_parameters(make, sizes=(2, 16, 16, 1), seed=1):
    """Weights and biases of micrograd's MLP, layer by layer, neuron by neuron."""
    rng = random.Random(seed)
    return [
        [([make(rng.uniform(-1, 1)) for _ in range(nin)], make(0.0)) for _ in range(nout)]
        for nin, nout in pairwise(sizes)
    ]


def mlp_loss(layers, points, labels, kit=Kit):
    """The mean hinge loss of the MLP over all points."""
    losses = []
    for point, label in zip(points, labels, strict=True):
        x = point
        for layer in layers:
            outputs = []
            for weights, bias in layer:
                total = bias
                for w, xi in zip(weights, x, strict=True):
                    total = total + w * xi
                outputs.append(total if layer is layers[-1] else kit.relu(total))
            x = outputs
        losses.append(kit.relu(1 + -label * x[0]))
    return sum(losses) * (1.0 / len(losses))


def demo_loss(model, points, labels, alpha=1e-4):
    """micrograd's: hinge plus L2; returns the loss and the accuracy."""
    scores = [model(point) for point in points]
    losses = [(1 + -label * score).relu() for label, score in zip(labels, scores, strict=True)]
    data_loss = sum(losses) * (1.0 / len(losses))
    reg_loss = alpha * sum(p * p for p in model.parameters())
    right = [(s.data > 0) == (label > 0) for s, label in zip(scores, labels, strict=True)]
    return data_loss + reg_loss, sum(right) / len(right)


# ---- a small GPT, in the manner of microgpt ---------------------------------------------------

WIDTH, HEADS, BLOCK, VOCABULARY = 16, 4, 16, 27


def gpt_parameters(make, seed=42, width=WIDTH, block=BLOCK, vocabulary=VOCABULARY):
    """Make the weight matrices as lists of rows; `make` turns a number into a parameter."""
    rng = random.Random(seed)

    def matrix(rows, columns, std=0.08):
        return [[make(rng.gauss(0, std)) for _ in range(columns)] for _ in range(rows)]

    return {
        "tokens": matrix(vocabulary, width),
        "positions": matrix(block, width),
        "query": matrix(width, width),
        "key": matrix(width, width),
        "value": matrix(width, width),
        "out": matrix(width, width),
        "up": matrix(4 * width, width),
        "down": matrix(width, 4 * width),
        "head": matrix(vocabulary, width),
    }


def linear(x, rows):
    return [sum(w * xi for w, xi in zip(row, x, strict=True)) for row in rows]


def softmax(logits, kit=Kit):
    top = max(kit.number(logit) for logit in logits)
    exps = [kit.exp(logit - top) for logit in logits]
    total = sum(exps)
    return [e / total for e in exps]


def rmsnorm(x):
    mean_square = sum(xi * xi for xi in x) / len(x)
    scale = (mean_square + 1e-5) ** -0.5
    return [xi * scale for xi in x]


def gpt_logits(p, token, position, keys, values, kit=Kit, heads=HEADS):
    """Feed one token; `keys` and `values` collect what later tokens attend to."""
    x = [t + q for t, q in zip(p["tokens"][token], p["positions"][position], strict=True)]
    x = rmsnorm(x)
    residual, x = x, rmsnorm(x)
    query = linear(x, p["query"])
    keys.append(linear(x, p["key"]))
    values.append(linear(x, p["value"]))
    attended = []
    size = len(x) // heads
    for start in range(0, len(x), size):
        part = slice(start, start + size)
        scores = [
            sum(q * k for q, k in zip(query[part], key[part], strict=True)) / size**0.5
            for key in keys
        ]
        weights = softmax(scores, kit)
        attended += [
            sum(w * v[j] for w, v in zip(weights, values, strict=True))
            for j in range(start, start + size)
        ]
    x = [a + b for a, b in zip(linear(attended, p["out"]), residual, strict=True)]
    residual = x
    hidden = [kit.relu(h) for h in linear(rmsnorm(x), p["up"])]
    x = [a + b for a, b in zip(linear(hidden, p["down"]), residual, strict=True)]
    return linear(x, p["head"])


def gpt_loss(p, tokens, kit=Kit):
    """The mean cross entropy of predicting each token from those before it."""
    keys, values, losses = [], [], []
    for position in range(len(tokens) - 1):
        logits = gpt_logits(p, tokens[position], position, keys, values, kit)
        losses.append(-kit.log(softmax(logits, kit)[tokens[position + 1]]))
    return sum(losses) * (1 / len(losses))


def flat(parameters):
    return [w for matrix in parameters.values() for row in matrix for w in row]
