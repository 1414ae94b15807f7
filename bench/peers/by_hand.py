"""Value and gradient written by hand: in C, in NumPy, and for numba."""

from __future__ import annotations

import ctypes
import functools
import math
import shutil
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import numpy as np

from . import digits, hidden, problems
from .problems import ADAM, ALPHA, HEADS, WIDTH, Job

HERE = Path(__file__).parent


# ---- C -----------------------------------------------------------------------------------------


class C:
    """Plain loops, built by the system's compiler; a step is one call with prepared pointers."""

    flags = ("-O3", "-march=native")

    def __init__(self):
        self.compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
        if self.compiler is None:
            raise ImportError("no C compiler (cc, gcc or clang)")
        self.folder = tempfile.TemporaryDirectory()

    def build(self, name):
        library = Path(self.folder.name) / f"{name}.so"
        command = [self.compiler, *self.flags, "-std=c11", "-shared", "-fPIC", "-o", library]
        subprocess.run([*command, HERE / f"{name}.c", "-lm"], check=True)
        return ctypes.CDLL(str(library))

    def prepare(self, case):
        if case == "T":
            return self.rosenbrock()
        if case == "A":
            return self.demo()
        if case == "C":
            return self.options()
        if case.startswith("M"):
            return self.digits(case)
        if case.startswith("D"):
            return self.tape(problems.dag(case.split()[1]), problems.INPUTS)
        if case.startswith("R"):
            return self.tape(*hidden.record(case.split()[1], problems.Kit))
        return self.gpt(problems.encode(problems.DOCUMENTS[int(case[1:])]))

    def rosenbrock(self):
        function, slopes = self.build("rosenbrock").rosenbrock, np.empty(2)
        function.restype = ctypes.c_double
        arguments = (*map(ctypes.c_double, problems.PLACE), pointer(slopes))
        return Job(lambda: function(*arguments), lambda value: (value, slopes))

    def digits(self, case):
        step = self.build("digits").digits_step
        step.restype = ctypes.c_double
        x, labels = digits.images(digits.batch_of(case))
        labels = labels.astype(np.intc)
        weights = [array for w, b in digits.matrices() for array in (w.T.copy(), b)]
        slopes, hidden = [np.empty_like(w) for w in weights], np.empty((2, len(x), len(weights[1])))
        arguments = (
            *(ctypes.c_long(len(x)), ctypes.c_double(digits.LR)),
            *map(pointer, (x, labels, *weights, *slopes, *hidden)),
        )
        layers = (slopes[0].T, slopes[1]), (slopes[2].T, slopes[3])
        kept = labels, weights, hidden
        return Job(
            lambda: step(*arguments), lambda value: (value, problems.demo_join(layers), kept)[:2]
        )

    def demo(self):
        step = self.build("demo").demo_step
        step.restype = ctypes.c_double
        parameters = np.array(problems.demo_flat(problems.demo_parameters(float)))
        points, labels = np.array(problems.POINTS), np.array(problems.LABELS, float)
        gradient = np.empty_like(parameters)
        arguments = (
            *map(pointer, (parameters, points, labels)),
            ctypes.c_long(len(labels)),
            ctypes.c_double(ALPHA),
            pointer(gradient),
        )
        # The arrays live as long as the job does: `read` holds the gradient, `kept` the others.
        kept = parameters, points, labels
        return Job(lambda: step(*arguments), lambda value: (value, gradient.copy(), kept)[:2])

    def gpt(self, tokens):
        step = self.build("gpt").gpt_step
        step.restype = ctypes.c_double
        parameters = problems.gpt_join(problems.gpt_matrices())
        tokens, gradient = np.array(tokens, np.intc), np.empty_like(parameters)
        predictions = ctypes.c_long(len(tokens) - 1)
        arguments = (pointer(parameters), pointer(tokens), predictions, pointer(gradient))
        kept = parameters, tokens
        return Job(lambda: step(*arguments), lambda value: (value, gradient.copy(), kept)[:2])

    def options(self):
        function = self.build("black_scholes").black_scholes
        function.restype = None
        inputs, results = problems.options(), np.empty((6, problems.OPTIONS))
        arguments = (ctypes.c_long(problems.OPTIONS), *map(pointer, (*inputs, *results)))
        return Job(lambda: function(*arguments), lambda _: (results[0], results[1:]))

    def tape(self, graph, parameters):
        step = self.build("tape").tape_step
        step.restype = ctypes.c_double
        codes = {op: code for code, op in enumerate(hidden.CODES)}
        rows = np.array([(codes[op], a, b) for op, a, b in graph.rows], np.intc)
        inputs, ends = np.array(graph.inputs), np.array(graph.ends, np.intc)
        room, gradient = np.empty((2, len(inputs) + len(rows))), np.empty(parameters)
        arguments = (
            *(pointer(inputs), ctypes.c_long(len(inputs))),
            *(pointer(rows), ctypes.c_long(len(rows))),
            *(pointer(ends), ctypes.c_long(len(ends))),
            *map(pointer, (*room, gradient)),
            ctypes.c_long(parameters),
        )
        kept = rows, inputs, ends, room
        return Job(lambda: step(*arguments), lambda value: (value, gradient.copy(), kept)[:2])

    def trainer(self, length):
        function = self.build("gpt").gpt_train
        function.restype = ctypes.c_double
        x = problems.gpt_join(problems.gpt_matrices())
        averages = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
        place, places = pointer(x), [pointer(array) for array in averages]
        rates = [ctypes.c_double(r) for r in (ADAM["lr"], *ADAM["betas"], ADAM["eps"])]
        numbers = count(1)

        def step(document):
            tokens = (ctypes.c_int * len(document))(*document)
            predictions = ctypes.c_long(len(document) - 1)
            steps = ctypes.c_long(next(numbers))
            return function(place, tokens, predictions, *places, *rates, steps)

        return step, lambda: (x.copy(), averages)[0]


class FastC(C):
    """The same source with permission to reorder sums: then they can use wide registers."""

    flags = ("-O3", "-march=native", "-ffast-math")


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


# ---- NumPy -------------------------------------------------------------------------------------


class NumPy:
    """Matrices forward and, by hand, backward; options in blocks that fit the cache."""

    block = 4096

    def prepare(self, case):
        if case == "T":
            place = np.array(problems.PLACE)
            call = functools.partial(rosenbrock_by_hand, *place)
            return Job(call, lambda found: (found[0], np.array(found[1:])))
        if case == "A":
            return demo()
        if case == "C":
            return Job(blocks_of_options(self.block), lambda results: (results[0], results[1:]))
        if case.startswith("M"):
            return digits.numpy_job(case)
        p = problems.gpt_matrices()
        tokens = np.array(problems.encode(problems.DOCUMENTS[int(case[1:])]))
        return Job(
            lambda: gpt_step(p, tokens), lambda answer: (answer[0], problems.gpt_join(answer[1]))
        )

    def trainer(self, length):
        x = problems.gpt_join(problems.gpt_matrices())
        p = problems.gpt_split(x)
        m, v = np.zeros_like(x), np.zeros_like(x)
        (beta1, beta2), lr, eps = ADAM["betas"], ADAM["lr"], ADAM["eps"]
        numbers = count(1)

        def step(document):
            nonlocal m, v, x
            loss, gradients = gpt_step(p, np.array(document))
            gradient, steps = problems.gpt_join(gradients), next(numbers)
            m = beta1 * m + (1 - beta1) * gradient
            v = beta2 * v + (1 - beta2) * gradient * gradient
            scale = 1 / math.sqrt(1 - beta2**steps)
            x -= lr / (1 - beta1**steps) * m / (np.sqrt(v) * scale + eps)
            return loss

        return step, x.copy


class WholeArrays(NumPy):
    """The same without blocks, as one would write it first."""

    block = problems.OPTIONS


def demo():
    (w1, b1), (w2, b2), (w3, b3) = problems.demo_matrices()
    x, y = np.array(problems.POINTS), np.array(problems.LABELS, float)[:, None]

    def step():
        h1 = np.maximum(x @ w1.T + b1, 0.0)
        h2 = np.maximum(h1 @ w2.T + b2, 0.0)
        margins = np.maximum(1.0 - y * (h2 @ w3.T + b3), 0.0)
        loss = margins.mean()
        d3 = np.where(margins > 0.0, -y / len(y), 0.0)
        d2 = (d3 @ w3) * (h2 > 0.0)
        d1 = (d2 @ w2) * (h1 > 0.0)
        gradients = []
        for w, b, d, h in ((w1, b1, d1, x), (w2, b2, d2, h1), (w3, b3, d3, h2)):
            loss += ALPHA * (np.vdot(w, w) + np.vdot(b, b))
            gradients.append((d.T @ h + 2 * ALPHA * w, d.sum(axis=0) + 2 * ALPHA * b))
        return loss, gradients

    return Job(step, lambda answer: (answer[0], problems.demo_join(answer[1])))


def rmsnorm(x):
    scale = (np.einsum("ti,ti->t", x, x)[:, None] / WIDTH + 1e-5) ** -0.5
    return x * scale, scale


def rmsnorm_back(x, scale, dy):
    pull = np.einsum("ti,ti->t", dy, x)[:, None] * scale**3 / WIDTH
    return dy * scale - x * pull


def gpt_step(p, tokens):
    """The loss of one document and the gradients of all matrices."""
    given, wanted = tokens[:-1], tokens[1:]
    length, size = len(given), WIDTH // HEADS
    rows = np.arange(length)

    def heads(x):  # (tokens, width) -> (heads, tokens, size)
        return x.reshape(length, HEADS, size).transpose(1, 0, 2)

    def joined(x):
        return x.transpose(1, 0, 2).reshape(length, WIDTH)

    x = p["tokens"][given] + p["positions"][:length]
    x0, s = rmsnorm(x)
    n0, s0 = rmsnorm(x0)
    q, k, v = heads(n0 @ p["query"].T), heads(n0 @ p["key"].T), heads(n0 @ p["value"].T)
    scores = q @ k.transpose(0, 2, 1) / size**0.5
    scores[:, rows[:, None] < rows] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    attended = joined(weights @ v)
    x1 = attended @ p["out"].T + x0
    n1, s1 = rmsnorm(x1)
    hidden = np.maximum(n1 @ p["up"].T, 0.0)
    x2 = hidden @ p["down"].T + x1
    logits = x2 @ p["head"].T
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    loss = -np.log(chances[rows, wanted]).sum() / length

    g = {}
    chances[rows, wanted] -= 1.0
    dlogits = chances / length
    g["head"] = dlogits.T @ x2
    dx2 = dlogits @ p["head"]
    g["down"] = dx2.T @ hidden
    dhidden = (dx2 @ p["down"]) * (hidden > 0.0)
    g["up"] = dhidden.T @ n1
    dx1 = dx2 + rmsnorm_back(x1, s1, dhidden @ p["up"])
    g["out"] = dx1.T @ attended
    dattended = heads(dx1 @ p["out"])
    dv = weights.transpose(0, 2, 1) @ dattended
    dweights = dattended @ v.transpose(0, 2, 1)
    mean = (dweights * weights).sum(axis=2, keepdims=True)
    dscores = weights * (dweights - mean) / size**0.5
    dn0 = 0.0
    for name, d in (("query", dscores @ k), ("key", dscores.transpose(0, 2, 1) @ q), ("value", dv)):
        d = joined(d)  # noqa: PLW2901
        g[name] = d.T @ n0
        dn0 = dn0 + d @ p[name]
    dx = rmsnorm_back(x, s, dx1 + rmsnorm_back(x0, s0, dn0))
    g["tokens"] = np.zeros_like(p["tokens"])
    np.add.at(g["tokens"], given, dx)
    g["positions"] = np.zeros_like(p["positions"])
    g["positions"][:length] = dx
    return loss, g


def blocks_of_options(block):
    """Return a step that computes prices and closed-form derivatives, a block at a time."""
    from scipy.special import ndtr  # the distribution function that NumPy lacks

    inputs, results = problems.options(), np.empty((6, problems.OPTIONS))
    top = 1 / math.sqrt(2 * math.pi)

    def step():
        for start in range(0, problems.OPTIONS, block):
            part = slice(start, start + block)
            spot, strike, years, rate, volatility = (array[part] for array in inputs)
            root = np.sqrt(years)
            spread = volatility * root
            drift = rate + 0.5 * volatility * volatility
            upper = (np.log(spot / strike) + drift * years) / spread
            discount = np.exp(-rate * years)
            above, below = ndtr(upper), ndtr(upper - spread)
            paid = strike * discount * below
            pull = spot * (top * np.exp(-0.5 * upper * upper))
            results[0, part] = spot * above - paid
            results[1, part] = above
            results[2, part] = -discount * below
            results[3, part] = pull * volatility / (2 * root) + rate * paid
            results[4, part] = years * paid
            results[5, part] = pull * root
        return results

    return step


# ---- numba -------------------------------------------------------------------------------------


class Numba:
    """T, and the loops of the C versions of A and C, in Python, compiled by numba."""

    def __init__(self):
        import numba

        self.jit = numba.njit

    def prepare(self, case):
        if case == "T":
            function, place = self.jit(rosenbrock_by_hand), problems.PLACE
            call = functools.partial(function, *place)
            return Job(call, lambda found: (found[0], np.array(found[1:])))
        if case == "C":
            inputs, results = problems.options(), np.empty((6, problems.OPTIONS))
            loop = self.jit(option_loop)
            return Job(lambda: loop(*inputs, results), lambda _: (results[0], results[1:]))
        loop = self.jit(demo_loop)
        parameters = [array for layer in problems.demo_matrices() for array in layer]
        points, labels = np.array(problems.POINTS), np.array(problems.LABELS, float)
        gradients = [np.empty_like(array) for array in parameters]
        return Job(
            lambda: loop(*parameters, points, labels, ALPHA, *gradients),
            lambda value: (
                value,
                problems.demo_join(zip(gradients[::2], gradients[1::2], strict=True)),
            ),
        )


def rosenbrock_by_hand(x, y):
    beside, above = 1.0 - x, y - x * x
    value = beside * beside + 100.0 * above * above
    return value, -2.0 * beside - 400.0 * x * above, 200.0 * above


def option_loop(spot, strike, years, rate, volatility, results):
    root_half, top = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
    for k in range(spot.size):
        root = math.sqrt(years[k])
        spread = volatility[k] * root
        drift = rate[k] + 0.5 * volatility[k] * volatility[k]
        upper = (math.log(spot[k] / strike[k]) + drift * years[k]) / spread
        discount = math.exp(-rate[k] * years[k])
        above = 0.5 * (1.0 + math.erf(upper * root_half))
        below = 0.5 * (1.0 + math.erf((upper - spread) * root_half))
        paid = strike[k] * discount * below
        pull = spot[k] * top * math.exp(-0.5 * upper * upper)
        results[0, k] = spot[k] * above - paid
        results[1, k] = above
        results[2, k] = -discount * below
        results[3, k] = pull * volatility[k] / (2.0 * root) + rate[k] * paid
        results[4, k] = years[k] * paid
        results[5, k] = pull * root


def demo_loop(w1, b1, w2, b2, w3, b3, points, labels, alpha, g1, c1, g2, c2, g3, c3):
    count, width, inputs = labels.size, b1.size, w1.shape[1]
    loss = alpha * (w1 * w1).sum() + alpha * (w2 * w2).sum() + alpha * (w3 * w3).sum()
    loss += alpha * ((b1 * b1).sum() + (b2 * b2).sum() + (b3 * b3).sum())
    g1[:], g2[:], g3[:] = 2 * alpha * w1, 2 * alpha * w2, 2 * alpha * w3
    c1[:], c2[:], c3[:] = 2 * alpha * b1, 2 * alpha * b2, 2 * alpha * b3
    h1, h2, d1 = np.empty(width), np.empty(width), np.empty(width)
    for n in range(count):
        for j in range(width):
            total = b1[j]
            for i in range(inputs):
                total += w1[j, i] * points[n, i]
            h1[j] = max(total, 0.0)
        score = b3[0]
        for j in range(width):
            total = b2[j]
            for i in range(width):
                total += w2[j, i] * h1[i]
            h2[j] = max(total, 0.0)
            score += w3[0, j] * h2[j]
        margin = 1.0 - labels[n] * score
        if margin <= 0.0:
            continue
        loss += margin / count
        slope = -labels[n] / count
        c3[0] += slope
        d1[:] = 0.0
        for j in range(width):
            g3[0, j] += slope * h2[j]
            if h2[j] > 0.0:
                d = slope * w3[0, j]
                c2[j] += d
                for i in range(width):
                    g2[j, i] += d * h1[i]
                    d1[i] += d * w2[j, i]
        for j in range(width):
            if h1[j] > 0.0:
                c1[j] += d1[j]
                for i in range(inputs):
                    g1[j, i] += d1[j] * points[n, i]
    return loss
