"""Random programs over all ops, and ways to run them: minigrad, PyTorch, JAX, mpmath.

A program is a list of steps; a step is an op's name and its arguments, each the index of an earlier
result (an int) or a plain number (a float). The first results are the inputs.
"""

from __future__ import annotations

import operator
import random
from dataclasses import dataclass

import mpmath as mp
from precise import DEFINITION

import minigrad

ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "neg": operator.neg,
}
MANY = ("sum", "mean", "dot", "logsumexp", "softmax", "log_softmax", "take")
UNARY = """neg abs exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh erf erfc gelu
sigmoid softplus silu relu""".split()
BINARY = "add sub mul div pow atan2 hypot exp_sub leaky_relu maximum minimum".split()
# What an operand must be for the op to be at home; everything else is passed as it is.
NEEDS = {
    "log": ["positive"],
    "sqrt": ["positive"],
    "log1p": ["positive"],
    "div": [None, "positive"],
    "pow": ["positive", "bounded"],
    "hypot": ["positive", None],
    "atan2": ["positive", None],
    "asin": ["bounded"],
    "acos": ["bounded"],
    "exp": ["bounded"],
    "expm1": ["bounded"],
    "sinh": ["bounded"],
    "cosh": ["bounded"],
    "tan": ["bounded"],
    "exp_sub": ["bounded", "bounded"],
    "mul": ["bounded", None],
    "gelu": ["bounded"],
}


@dataclass(frozen=True)
class Program:
    inputs: list[float]
    steps: list[tuple[str, tuple]]


def random_program(seed: int, size: int = 25) -> Program:
    rng = random.Random(seed)
    inputs = [rng.uniform(-2, 2) for _ in range(rng.randint(2, 4))]
    steps: list[tuple[str, tuple]] = []

    def emit(name, *arguments):
        steps.append((name, arguments))
        return len(inputs) + len(steps) - 1

    def pick():
        return rng.randrange(len(inputs) + len(steps))

    def number_or_pick():
        return rng.uniform(0.5, 2.5) if rng.random() < 0.3 else pick()

    def meet(need, x):
        if need == "positive":
            return emit("add", emit("softplus", x), 0.25) if isinstance(x, int) else abs(x)
        if need == "bounded":
            return emit("mul", emit("tanh", x), 0.9) if isinstance(x, int) else 0.3 * x
        return x

    for _ in range(size):
        kind = rng.choice(["unary", "binary", "binary", "many", "clip", "where"])
        if kind == "unary":
            name = rng.choice(UNARY)
            emit(name, *[meet(need, pick()) for need in NEEDS.get(name, [None])])
        elif kind == "binary":
            name = rng.choice(BINARY)
            needs = NEEDS.get(name, [None, None])
            pair = [pick(), number_or_pick()]
            if name == "leaky_relu":
                pair[1] = 0.125
            elif name != "exp_sub" and rng.random() < 0.5:
                pair.reverse()
            emit(name, *[meet(need, x) for need, x in zip(needs, pair, strict=True)])
        elif kind == "clip":
            emit("clip", pick(), -1.25, 1.5)
        elif kind == "where":
            emit("where", rng.random() < 0.5, pick(), pick())
        else:
            name = rng.choice(MANY)
            count = rng.randint(1, 4)
            operands = [pick() for _ in range(2 * count if name == "dot" else count)]
            which = (rng.randrange(count),) if name in ("softmax", "log_softmax", "take") else ()
            emit(name, *(f"{k}" for k in which), *operands)
    last = len(inputs) + len(steps)
    emit("sum", *range(last - 4, last))
    return Program(inputs, steps)


def run(program, inputs, call, lift=lambda number: number):
    """Evaluate a program; `call(name, arguments, which)` does one step."""
    results = list(inputs)
    for name, arguments in program.steps:
        which = next((int(x) for x in arguments if isinstance(x, str)), None)
        operands = []
        for x in arguments:
            if isinstance(x, bool):
                operands.append(x)
            elif isinstance(x, int):
                operands.append(results[x])
            elif isinstance(x, float):
                operands.append(lift(x))
        results.append(call(name, operands, which))
    return results


def call_minigrad(name, operands, which):
    if name in ARITHMETIC:
        return ARITHMETIC[name](*operands)
    if not hasattr(minigrad, name):  # a row that only other operations use
        return minigrad.functions.VALUES.rows[name](*operands)
    function = getattr(minigrad, name)
    if name == "dot":
        half = len(operands) // 2
        return function(operands[:half], operands[half:])
    if name == "take":
        return function(operands, which)
    if name in MANY:
        result = function(operands)
        return result if which is None else result[which]
    return function(*operands)


def call_mpmath(name, operands, which):
    if name == "take":
        return operands[which]
    result = DEFINITION[name](*operands)
    return result[which] if isinstance(result, list) else result


def mpmath_gradient(program, digits=60):
    """Differentiate a program in high precision, one input at a time, by mpmath's differences."""
    with mp.workdps(digits):
        exact = [mp.mpf(x) for x in program.inputs]

        def along(k):
            def f(x):
                moved = [*exact[:k], x, *exact[k + 1 :]]
                return run(program, moved, call_mpmath, mp.mpf)[-1]

            return f

        return [mp.diff(along(k), exact[k]) for k in range(len(exact))]


def call_torch(name, operands, which):
    import torch

    xs = [
        x if isinstance(x, (torch.Tensor, bool)) else torch.tensor(x, dtype=torch.float64)
        for x in operands
    ]
    if name in ARITHMETIC:
        return ARITHMETIC[name](*operands)
    stacked = torch.stack(xs) if name in MANY else None
    functional = torch.nn.functional
    special = {
        "exp_sub": lambda: torch.exp(xs[0] - xs[1]),
        "gelu": lambda: functional.gelu(xs[0]),
        "softplus": lambda: torch.logaddexp(xs[0], torch.zeros((), dtype=torch.float64)),
        "silu": lambda: functional.silu(xs[0]),
        "leaky_relu": lambda: functional.leaky_relu(xs[0], operands[1]),
        "clip": lambda: torch.clamp(xs[0], operands[1], operands[2]),
        "where": lambda: torch.where(torch.tensor(xs[0]), xs[1], xs[2]),
        "sum": lambda: stacked.sum(),
        "mean": lambda: stacked.mean(),
        "dot": lambda: (stacked[: len(xs) // 2] * stacked[len(xs) // 2 :]).sum(),
        "logsumexp": lambda: torch.logsumexp(stacked, 0),
        "softmax": lambda: torch.softmax(stacked, 0)[which],
        "log_softmax": lambda: torch.log_softmax(stacked, 0)[which],
        "take": lambda: xs[which],
    }
    return special[name]() if name in special else getattr(torch, name)(*xs)


def call_jax(name, operands, which):
    import jax
    import jax.numpy as jnp

    if name in ARITHMETIC:
        return ARITHMETIC[name](*operands)
    stacked = jnp.stack([jnp.asarray(x) for x in operands]) if name in MANY else None
    x, *rest = operands
    special = {
        "exp_sub": lambda: jnp.exp(x - rest[0]),
        "gelu": lambda: jax.nn.gelu(x, approximate=False),
        "softplus": lambda: jax.nn.softplus(x),
        "silu": lambda: jax.nn.silu(x),
        "sigmoid": lambda: jax.nn.sigmoid(x),
        "relu": lambda: jax.nn.relu(x),
        "leaky_relu": lambda: jax.nn.leaky_relu(x, rest[0]),
        "erf": lambda: jax.scipy.special.erf(x),
        "erfc": lambda: jax.scipy.special.erfc(x),
        "sum": lambda: stacked.sum(),
        "mean": lambda: stacked.mean(),
        "dot": lambda: jnp.dot(stacked[: len(operands) // 2], stacked[len(operands) // 2 :]),
        "logsumexp": lambda: jax.scipy.special.logsumexp(stacked),
        "softmax": lambda: jax.nn.softmax(stacked)[which],
        "log_softmax": lambda: jax.nn.log_softmax(stacked)[which],
        "take": lambda: operands[which],
        "asin": lambda: jnp.arcsin(x),
        "acos": lambda: jnp.arccos(x),
        "atan": lambda: jnp.arctan(x),
        "atan2": lambda: jnp.arctan2(x, rest[0]),
    }
    return special[name]() if name in special else getattr(jnp, name)(*operands)
