"""Models that are large for scalar code, and what a second run of a script saves: rows of case E.

`MODELS` makes each of them one scalar at a time; `tensors` has those that have a tensor form, as a
function for `jax.jit` of the parameters in the order of the gradient.
"""

from __future__ import annotations

import functools
import gc
import math
import os
import time

import numpy as np

from . import hidden, problems
from .problems import PLACE

CHAIN, STEPS, NODES = 100_000, 5_000, 1_000_000
LAYERS, WIDTH, TOKENS, HEADS = 4, 64, 64, 4


def chain(make):
    """Each operation on the result of the one before: nothing to put into one instruction."""

    def loss(kit, x):
        for _ in range(CHAIN // 2):  # two levels each
            x = kit.sin(x) * 1e-4 + x
        return x

    return loss, (0.3,), []


def irregular(make):
    """A million nodes whose operands are anywhere among the 5,000 before: no structure to find."""
    inputs = [make(math.sin(k)) for k in range(500)]

    def loss(kit):
        nodes, state = list(inputs), 12345
        for k in range(NODES // 2):  # two operations each
            state = (state * 1103515245 + 12345) % 2**31  # not `random`: it would be watched
            a = nodes[-1 - state % (5000 if k > 5000 else 500)]  # no min(): that would be traced
            b = nodes[-1 - state // 5000 % 499]
            if k % 3:
                nodes.append(kit.sin(a - b) if k % 3 == 1 else kit.tanh(a + b))
            else:
                nodes.append(a * b + 0.5)
        return sum(nodes[-1000:]) * 0.001

    return loss, (), inputs


MODELS = {
    f"chain of {CHAIN:,}": chain,
    f"RNN, {STEPS:,} steps": functools.partial(hidden.recurrent, steps=STEPS),
    "irregular graph": irregular,
    f"GPT {LAYERS}×{WIDTH}, {TOKENS} tokens": functools.partial(
        hidden.gpt, layers=LAYERS, width=WIDTH, length=TOKENS
    ),
}


# ---- the tensor forms ----------------------------------------------------------------------------


def tensors(jax, model):
    """The loss as a function of a vector of parameters, and the vector; None if there is none."""
    jnp, name = jax.numpy, model.split()[0]
    if name == "irregular":
        return None
    _, data, parameters = MODELS[model](float)
    numbers = np.array(parameters or data, dtype=float)
    if name == "chain":

        def chained(x):
            step = lambda y, _: (jnp.sin(y) * 1e-4 + y, None)  # noqa: E731
            return jax.lax.scan(step, x[0], None, length=CHAIN // 2)[0]

        return chained, numbers
    if name == "RNN,":
        given, wanted = map(jnp.array, data)
        return functools.partial(_recurrent, jax, given, wanted), numbers
    return functools.partial(_gpt, jax, jnp.array(data[0])), numbers


def _recurrent(jax, given, wanted, numbers, width=16):
    jnp = jax.numpy
    rows = numbers.reshape(-1, width)
    inner, (start, into, bias, out) = rows[:width], rows[width:]

    def step(state, pair):
        x, target = pair
        state = jnp.tanh(inner @ state + into * x + bias)
        return state, (out @ state - target) ** 2

    return jax.lax.scan(step, start, (given, wanted))[1].mean()


def _gpt(jax, tokens, numbers, vocabulary=27):
    jnp, size = jax.numpy, WIDTH // HEADS
    at = 0

    def matrix(rows, columns):
        nonlocal at
        at += rows * columns
        return numbers[at - rows * columns : at].reshape(rows, columns)

    def norm(x):
        return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5

    def heads(x):
        return x.reshape(TOKENS, HEADS, size).transpose(1, 0, 2)

    embedding, head = matrix(vocabulary, WIDTH), matrix(vocabulary, WIDTH)
    x = embedding[tokens[:-1]] + matrix(TOKENS, WIDTH)
    rows = jnp.arange(TOKENS)
    for _ in range(LAYERS):
        query, key, value, out = (matrix(WIDTH, WIDTH) for _ in range(4))
        up, down = matrix(4 * WIDTH, WIDTH), matrix(WIDTH, 4 * WIDTH)
        normed = norm(x)
        q, k, v = (heads(normed @ w.T) for w in (query, key, value))
        scores = jnp.where(rows[:, None] >= rows, q @ k.transpose(0, 2, 1) * size**-0.5, -jnp.inf)
        attended = (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(TOKENS, WIDTH)
        x = x + attended @ out.T
        x = x + jax.nn.relu(norm(x) @ up.T) @ down.T
    chances = jax.nn.log_softmax(norm(x) @ head.T)
    return -chances[rows, tokens[1:]].mean()


def timed(step):
    """What a step returns, and the seconds of processor time that it took."""
    start = time.process_time()
    answer = step()
    return answer, time.process_time() - start


def best(step, rounds=5):
    """The quickest of a few steps, in seconds."""
    return min(timed(step)[1] for _ in range(rounds))


# ---- a second run --------------------------------------------------------------------------------


def small(minigrad):
    """Seconds for the first call of a function of two numbers, Rosenbrock's, in this process."""
    compiled = minigrad.compile(problems.rosenbrock)
    start = time.thread_time()
    compiled.value_and_grad(*PLACE)
    return time.thread_time() - start


def lengths(contestant):
    """Seconds for a training step on a name of each length: twelve programs."""
    by_length = {len(tokens): tokens for tokens in reversed(problems.documents(1_000))}
    step, _ = contestant.trainer(problems.BLOCK)
    gc.collect()
    start = time.thread_time()
    for tokens in by_length.values():
        step(tokens)
    return time.thread_time() - start, len(by_length)


def keep_programs_in(folder):
    """Have programs kept on disk from here on."""
    os.environ["MINIGRAD_CACHE"] = str(folder)
