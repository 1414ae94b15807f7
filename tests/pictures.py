"""The four graphs of the lessons that are drawn over and over, before and after backward().

`python tests/pictures.py` writes the golden pictures anew; look at them before you commit them.
"""

from __future__ import annotations

import random
from pathlib import Path

from minigrad import Value, draw_dot, nn, view

GOLDEN = Path(__file__).parent / "golden"


def neuron():
    """The lecture's neuron: o = tanh(x1*w1 + x2*w2 + b)."""
    x1, x2 = Value(2.0, label="x1"), Value(0.0, label="x2")
    w1, w2 = Value(-3.0, label="w1"), Value(1.0, label="w2")
    b = Value(6.8813735870195432, label="b")
    x1w1, x2w2 = x1 * w1, x2 * w2
    x1w1.label, x2w2.label = "x1*w1", "x2*w2"
    total = x1w1 + x2w2
    total.label = "x1*w1 + x2*w2"
    n = total + b
    n.label = "n"
    o = n.tanh()
    o.label = "o"
    return o


def twice():
    """The first bug example: b = a + a."""
    a = Value(3.0, label="a")
    b = a + a
    b.label = "b"
    return b


def shared():
    """The second bug example: f = (a*b) * (a + b)."""
    a, b = Value(-2.0, label="a"), Value(3.0, label="b")
    d, e = a * b, a + b
    d.label, e.label = "d", "e"
    f = d * e
    f.label = "f"
    return f


def diamond():
    """L = (a*b + c) * (a - c)."""
    a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="c")
    result = (a * b + c) * (a - c)
    result.label = "L"
    return result


GRAPHS = {"neuron": neuron, "twice": twice, "shared": shared, "diamond": diamond}


def named(root):
    """The labelled Values under a root, by label."""
    return {node.label: node for node in view.trace(root)[0] if node.label}


def files():
    """Every golden picture: its file name and what it should hold."""
    for name, make in GRAPHS.items():
        root = make()
        for moment in ("before", "after"):
            if moment == "after":
                root.backward()
            yield f"{name}-{moment}.svg", view.to_svg(root)
            yield f"{name}-{moment}.gv", draw_dot(root).source
            yield f"{name}-{moment}.txt", view.to_text(root) + "\n"
        yield f"{name}-down.svg", view.to_svg(root, "TB")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name, text in files():
        (GOLDEN / name).write_text(text, encoding="utf-8")


# ---- large graphs --------------------------------------------------------------------------------

POINTS = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
TARGETS = [1.0, -1.0, -1.0, 1.0]


def lecture(points=4):
    """The lecture's loss on a network as one writes it oneself: no scopes, 398 nodes."""
    rng = random.Random(1)

    def layer(nin, nout):
        return [[Value(rng.uniform(-1, 1)) for _ in range(nin + 1)] for _ in range(nout)]

    def out(x):
        for neurons in layers:
            x = [sum((w * v for w, v in zip(n, x, strict=False)), n[-1]).tanh() for n in neurons]
        return x[0]

    layers = [layer(3, 4), layer(4, 4), layer(4, 1)]
    total = sum((out(POINTS[k % 4]) - TARGETS[k % 4]) ** 2 for k in range(points))
    total.backward()
    return total


def recurrent(steps=20):
    """A network with one hidden value that is handed on from step to step."""
    wx, wh, b = (Value(x, label=name) for x, name in ((0.5, "wx"), (0.8, "wh"), (0.1, "b")))
    h = Value(0.0, label="h0")
    for k in range(steps):
        h = (wx * Value(0.1 * k, label=f"x{k}") + wh * h + b).tanh()
    h.label = "h"
    h.backward()
    return h


def softmax_loss(classes=10):
    """What one writes by hand: the largest is taken off, and the loss is -log of a share."""
    logits = [Value(0.3 * k - 1.0, label=f"x{k}") for k in range(classes)]
    largest = max(x.data for x in logits)
    powers = [(x - largest).exp() for x in logits]
    total = sum(powers)
    loss = -(powers[2] / total).log()
    loss.label = "loss"
    return loss


def chain(links=50):
    """A chain, one operation after the other."""
    y = Value(0.5, label="x")
    for k in range(links):
        y = y.tanh() if k % 2 else y * 1.5
    y.label = "y"
    return y


def many_points(points=100):
    """The loss of a network on many points, with a penalty on its weights."""
    model = nn.MLP(2, [8, 8, 1], seed=1)
    rng = random.Random(1)
    margins = [(1 - model([rng.random(), rng.random()])).relu() for _ in range(points)]
    loss = sum(margins) / points + 1e-4 * sum(p * p for p in model.parameters())
    loss.label = "loss"
    return loss


LOOKED_AT = ("neuron", "diamond", "lecture", "softmax_loss", "chain", "many_points")
