"""M: a network 784-128-10 with cross entropy, trained by SGD on batches of made-up images.

For minigrad it is scalar code for the loss of one example. All others have matrices: what they do
for a step stands here, side by side. The order of a gradient is that of A: layer by layer and
neuron by neuron, the weights and then the bias.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise

import numpy as np

from .problems import SGD, Job, Kit, demo_flat, demo_join, softmax

SIZES = (784, 128, 10)
LR = SGD["lr"]


@cache
def images(batch):
    """Images and their labels, of a batch."""
    rng = np.random.default_rng(11)
    return rng.uniform(0.0, 1.0, (batch, SIZES[0])), rng.integers(0, SIZES[-1], batch)


def batch_of(case):
    """The number of examples, from the name of a case: M32."""
    return int(case[1:])


def layers_of(make):
    rng = random.Random(3)
    return [
        [([make(rng.gauss(0.0, nin**-0.5)) for _ in range(nin)], make(0.0)) for _ in range(nout)]
        for nin, nout in pairwise(SIZES)
    ]


def matrices():
    """The same parameters, weights and biases of each layer."""
    return [
        (np.array([weights for weights, _ in layer]), np.array([bias for _, bias in layer]))
        for layer in layers_of(float)
    ]


# ---- one example, one scalar at a time -----------------------------------------------------------


def loss_of(layers, kit=Kit):
    """The loss of one example; `kit.take`, where there is one, looks up the label's share."""
    take = getattr(kit, "take", lambda rows, index: rows[index])

    def loss(x, label):
        for number, layer in enumerate(layers):
            x = [
                sum((w * v for w, v in zip(weights, x, strict=True)), bias)
                for weights, bias in layer
            ]
            if number < len(layers) - 1:
                x = [v.relu() for v in x]
        return -kit.log(take(softmax(x, kit), label))

    return loss


def eager_job(case, make, kit):
    """A graph for each example; gradients add up, and SGD moves the parameters by hand."""
    layers = layers_of(make)
    parameters, loss = demo_flat(layers), loss_of(layers, kit)
    xs, labels = images(batch_of(case))
    rows = list(zip(xs.tolist(), labels.tolist(), strict=True))

    def step():
        total = 0.0
        for p in parameters:
            p.grad = 0.0
        for x, label in rows:
            one = loss(x, label) * (1.0 / len(rows))
            one.backward()
            total += one.data
        for p in parameters:
            p.data -= LR * p.grad
        return total

    return Job(step, lambda total: (total, np.array([p.grad for p in parameters])))


# ---- matrices ------------------------------------------------------------------------------------


def numpy_job(case):
    (w1, b1), (w2, b2) = matrices()
    x, labels = images(batch_of(case))
    rows = np.arange(len(x))
    # Large results go to memory that is there: new pages would take as long as the products.
    g1, moved, h = np.empty_like(w1), np.empty_like(w1), np.empty((len(x), len(b1)))

    def step():
        np.matmul(x, w1.T, out=h)
        np.add(h, b1, out=h)
        np.maximum(h, 0.0, out=h)
        z = h @ w2.T + b2
        shares = np.exp(z - z.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        loss = -np.log(shares[rows, labels]).mean()
        shares[rows, labels] -= 1.0
        shares /= len(x)
        d = shares @ w2
        d *= h > 0.0
        np.matmul(d.T, x, out=g1)
        slopes = (g1, d.sum(axis=0)), (shares.T @ h, shares.sum(axis=0))
        np.subtract(w1, np.multiply(g1, LR, out=moved), out=w1)
        for part, slope in zip((b1, w2, b2), (slopes[0][1], *slopes[1]), strict=True):
            np.subtract(part, LR * slope, out=part)
        return loss, slopes

    return Job(step, lambda answer: (answer[0], demo_join(answer[1])))


def torch_job(torch, case):
    layers = [[torch.tensor(part, requires_grad=True) for part in layer] for layer in matrices()]
    x, labels = map(torch.tensor, images(batch_of(case)))
    optimizer = torch.optim.SGD([part for layer in layers for part in layer], lr=LR)
    functional = torch.nn.functional

    def step():
        optimizer.zero_grad()
        h = functional.linear(x, *layers[0]).relu()
        loss = functional.cross_entropy(functional.linear(h, *layers[1]), labels)
        loss.backward()
        optimizer.step()
        return loss

    def read(loss):
        return loss.item(), demo_join([[part.grad.numpy() for part in layer] for layer in layers])

    return Job(step, read)


def jax_job(jax, case):
    jnp = jax.numpy
    x, labels = map(jnp.array, images(batch_of(case)))
    rows = jnp.arange(len(x))

    def loss(layers):
        (w1, b1), (w2, b2) = layers
        chances = jax.nn.log_softmax(jax.nn.relu(x @ w1.T + b1) @ w2.T + b2)
        return -chances[rows, labels].mean()

    @jax.jit
    def update(layers):
        value, slopes = jax.value_and_grad(loss)(layers)
        return value, slopes, jax.tree.map(lambda p, g: p - LR * g, layers, slopes)

    state = jax.tree.map(jnp.array, matrices())

    def step():
        nonlocal state
        value, slopes, state = jax.block_until_ready(update(state))
        return value, slopes

    return Job(step, lambda answer: (float(answer[0]), demo_join(answer[1])))
