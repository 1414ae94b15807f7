"""Models whose tensor structure is hidden, one scalar at a time, and a recorder of flat tapes.

`MODELS` has the models of case R: each makes its parameters and returns the loss as a function of
the kit and the data, the data, and the parameters in the order of the gradient. `record` turns one
into the rows that `tape.c` runs, so that the tape computes what everybody else computes.
"""

from __future__ import annotations

import random
from functools import partialmethod

import numpy as np

from .problems import APPLY, SIZES, Dag, demo_flat, flat, linear, mlp_parameters, moons, rmsnorm

# ---- the models --------------------------------------------------------------------------------


def balanced(terms):
    """The sum as a tree: halves of halves instead of one after the other."""
    terms = list(terms)
    while len(terms) > 1:
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return terms[0]


def mlp(make, neuron, total):
    """micrograd's network on 50 points; `neuron` and `total` say how sums are written."""
    layers = mlp_parameters(make, SIZES)
    points, labels = moons(50)

    def loss(kit, points, labels):
        rng, losses = random.Random(5), []  # the same order at every call
        for point, label in zip(points, labels, strict=True):
            x = point
            for layer in layers:
                sums = [neuron(weights, x, bias, rng) for weights, bias in layer]
                x = sums if layer is layers[-1] else [kit.relu(s) for s in sums]
            losses.append(kit.relu(1 - label * x[0]))
        return total(losses) * (1 / len(losses))

    return loss, (np.array(points), np.array(labels, float)), demo_flat(layers)


def trees(make):
    def neuron(weights, x, bias, rng):
        return balanced([*(w * xi for w, xi in zip(weights, x, strict=True)), bias])

    return mlp(make, neuron, balanced)


def shuffled(make):
    def neuron(weights, x, bias, rng):
        terms = [w * xi if rng.random() < 0.5 else xi * w for w, xi in zip(weights, x, strict=True)]
        terms.append(bias)
        rng.shuffle(terms)
        return sum(terms)

    return mlp(make, neuron, sum)


def matrix(make, rng, rows, columns, std):
    return [[make(rng.gauss(0, std)) for _ in range(columns)] for _ in range(rows)]


def recurrent(make, width=16, steps=20):
    """A network that follows a sequence of numbers: every state depends on the one before."""
    rng = random.Random(3)
    inner = matrix(make, rng, width, width, 0.3)
    start, into, bias, out = matrix(make, rng, 4, width, 0.3)
    sequence = np.sin(np.arange(steps + 1))

    def loss(kit, given, wanted):
        state, errors = start, []
        for x, target in zip(given, wanted, strict=True):
            sums = linear(state, inner)
            state = [kit.tanh(s + u * x + b) for s, u, b in zip(sums, into, bias, strict=True)]
            errors.append(linear(state, [out])[0] - target)
        return sum(e * e for e in errors) * (1 / len(errors))

    parameters = [p for row in (*inner, start, into, bias, out) for p in row]
    return loss, (sequence[:-1], sequence[1:]), parameters


def convolution(make, size=12, filters=4):
    """Filters of 3×3 over an image, the mean of each, and a linear head."""
    rng = random.Random(4)
    kernels = [matrix(make, rng, 3, 3, 0.5) for _ in range(filters)]
    bias, head = matrix(make, rng, 2, filters, 0.5)
    image = np.array(matrix(float, rng, size, size, 1.0))
    near, places = range(3), range(size - 2)

    def loss(kit, image):
        means = []
        for kernel, b in zip(kernels, bias, strict=True):
            parts = [
                kit.relu(sum(kernel[i][j] * image[y + i][x + j] for i in near for j in near) + b)
                for y in places
                for x in places
            ]
            means.append(sum(parts) * (1 / len(parts)))
        error = linear(means, [head])[0] - 1
        return error * error

    rows = [row for kernel in kernels for row in kernel]
    return loss, (image,), [p for row in (*rows, bias, head) for p in row]


def gpt(make, layers=2, width=32, heads=4, vocabulary=27, length=8):
    """A GPT of several layers; its softmax does without the usual shift."""
    rng = random.Random(6)
    shapes = {"query": 1, "key": 1, "value": 1, "out": 1, "up": 4}
    p = {name: matrix(make, rng, vocabulary, width, 0.08) for name in ("tokens", "head")}
    p["positions"] = matrix(make, rng, length, width, 0.08)
    for layer in range(layers):
        for name, times in shapes.items():
            p[name, layer] = matrix(make, rng, times * width, width, 0.08)
        p["down", layer] = matrix(make, rng, width, 4 * width, 0.08)
    size = width // heads

    def softmax(logits, kit):
        powers = [kit.exp(logit) for logit in logits]
        total = sum(powers)
        return [power / total for power in powers]

    def attend(query, keys, values, kit):
        attended = []
        for start in range(0, width, size):
            part = slice(start, start + size)
            scores = [linear(query[part], [key[part]])[0] * size**-0.5 for key in keys]
            weights = softmax(scores, kit)
            columns = zip(*(value[part] for value in values), strict=True)
            attended += linear(weights, columns)
        return attended

    def plus(x, y):
        return [a + b for a, b in zip(x, y, strict=True)]

    def loss(kit, tokens):
        take = getattr(kit, "take", lambda rows, index: rows[index])
        past = [([], []) for _ in range(layers)]
        losses = []
        for position in range(length):
            x = plus(take(p["tokens"], tokens[position]), p["positions"][position])
            for layer, (keys, values) in enumerate(past):
                normed = rmsnorm(x)
                keys.append(linear(normed, p["key", layer]))
                values.append(linear(normed, p["value", layer]))
                attended = attend(linear(normed, p["query", layer]), keys, values, kit)
                x = plus(x, linear(attended, p["out", layer]))
                hidden = [kit.relu(h) for h in linear(rmsnorm(x), p["up", layer])]
                x = plus(x, linear(hidden, p["down", layer]))
            chances = softmax(linear(rmsnorm(x), p["head"]), kit)
            losses.append(-kit.log(take(chances, tokens[position + 1])))
        return sum(losses) * (1 / len(losses))

    tokens = [rng.randrange(vocabulary) for _ in range(length + 1)]
    return loss, (tokens,), flat(p)


MODELS = {
    "trees": trees,
    "RNN": recurrent,
    "convolution": convolution,
    "GPT": gpt,
    "shuffled": shuffled,
}


def plain(data):
    """The data as lists of Python's numbers, for those who do not take arrays."""
    return [part.tolist() if isinstance(part, np.ndarray) else part for part in data]


# ---- the recorder ------------------------------------------------------------------------------

# What `tape.c` knows, in the order of its codes; the last three have a constant on the right.
CODES = [*APPLY, "div", "exp", "log", "relu", "neg", "plus", "times", "pow"]


class Traced:
    """A number without a value: it notes in `tape` what is done with it. Constants stand apart."""

    def __init__(self, tape, place):
        self.tape, self.place = tape, place

    def note(self, op, other=None):
        tape = self.tape
        b = self.place if other is None else other.place
        tape.rows.append((op, self.place, b))
        return Traced(tape, tape.parameters + len(tape.rows) - 1)

    def constant(self, number):
        constants = self.tape.constants
        return Traced(self.tape, -1 - constants.setdefault(float(number), len(constants)))

    def __add__(self, other):
        if isinstance(other, Traced):
            return self.note("add", other)
        return self.note("plus", self.constant(other)) if other else self  # sum starts from 0

    def __mul__(self, other):
        if isinstance(other, Traced):
            return self.note("mul", other)
        return self.note("times", self.constant(other))

    def __sub__(self, other):
        return self.note("sub", other) if isinstance(other, Traced) else self + -other

    def __truediv__(self, other):
        return self.note("div", other) if isinstance(other, Traced) else self * (1 / other)

    def __pow__(self, exponent):
        return self.note("pow", self.constant(exponent))

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__
    __neg__ = partialmethod(note, "neg")
    exp, log = partialmethod(note, "exp"), partialmethod(note, "log")
    tanh, relu = partialmethod(note, "tanh"), partialmethod(note, "relu")


class Tape:
    """Rows over places: the parameters first, then the rows; constant k has the place -1 - k."""

    def __init__(self):
        self.rows, self.constants, self.parameters = [], {}, 0


def record(model, kit):
    """A model as a graph whose inputs are its parameters and then its constants; and how many."""
    tape = Tape()
    numbers = MODELS[model](float)[2]
    tape.parameters = len(numbers)
    made = []

    def make(number):
        made.append(Traced(tape, len(made)))
        return made[-1]

    loss, data, parameters = MODELS[model](make)
    for place, parameter in enumerate(parameters):  # in the order of the gradient
        parameter.place = place
    end = loss(kit, *plain(data))
    count, shift = tape.parameters, len(tape.constants)

    def final(place):
        return count - 1 - place if place < 0 else place + shift if place >= count else place

    rows = [(op, final(a), final(b)) for op, a, b in tape.rows]
    return Dag([*numbers, *tape.constants], rows, [final(end.place)]), count
