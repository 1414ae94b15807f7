"""The models of bench/gpu.py as one writes them in JAX by hand: in matrices, for whole batches."""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.special import erf, ndtr

from .problems import HEADS

NORMALS = {"ndtr": ndtr, "erf": lambda x: 0.5 * (1.0 + erf(x * math.sqrt(0.5)))}


def call_price(spot, strike, years, rate, volatility, normal=ndtr):
    """Black-Scholes; the formula of `problems.call_price`."""
    spread = volatility * jnp.sqrt(years)
    upper = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    discounted = strike * jnp.exp(-rate * years)
    return spot * normal(upper) - discounted * normal(upper - spread)


def greeks(price):
    """Prices and the five derivatives of arrays of options."""
    return jax.vmap(jax.value_and_grad(price, argnums=(0, 1, 2, 3, 4)))


def rmsnorm(x):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attended(p, tokens, one_hot):
    """The GPT up to its last layer: what goes into it, for each position of documents."""
    length, (vocabulary, width) = tokens.shape[-1], p["tokens"].shape

    def heads(x):
        return x.reshape(*x.shape[:-1], HEADS, width // HEADS)

    chosen = partial(jax.nn.one_hot, num_classes=vocabulary, dtype=p["tokens"].dtype)
    x = chosen(tokens) @ p["tokens"] if one_hot else p["tokens"][tokens]
    x = rmsnorm(x + p["positions"][:length])
    n = rmsnorm(x)
    q, k, v = (heads(n @ p[name].T) for name in ("query", "key", "value"))
    scores = jnp.einsum("...qhd,...khd->...hqk", q, k) * (width // HEADS) ** -0.5
    scores = jnp.where(jnp.tri(length, dtype=bool), scores, -jnp.inf)
    mixed = jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(scores), v)
    return mixed.reshape(x.shape) @ p["out"].T + x


def gpt_loss(p, tokens, one_hot=False):
    """The mean loss of documents, an array (…, tokens).

    `one_hot` makes the lookups products with a matrix of zeros and ones, so that their gradients
    need no scatter. Which of the two is faster depends on the machine and the batch.
    """
    given, wanted = tokens[..., :-1], tokens[..., 1:]
    x = attended(p, given, one_hot)
    x = jax.nn.relu(rmsnorm(x) @ p["up"].T) @ p["down"].T + x
    if one_hot:
        wanted = jax.nn.one_hot(wanted, p["tokens"].shape[0], dtype=x.dtype)
    return cross_entropy(x @ p["head"].T, wanted)


def nearest_kink(p, tokens):
    """Of each document, how near to 0 the argument of a relu comes."""
    x = attended(p, tokens[..., :-1], one_hot=False)
    return jnp.abs(rmsnorm(x) @ p["up"].T).min((-2, -1))


def mlp_loss(parameters, pixels, labels):
    """The mean cross entropy of a batch; weights and biases, layer by layer."""
    *hidden, w, b = parameters
    x = pixels
    for k in range(0, len(hidden), 2):
        x = jax.nn.relu(x @ hidden[k].T + hidden[k + 1])
    return cross_entropy(x @ w.T + b, labels)


def cross_entropy(logits, wanted):
    chances = jax.nn.log_softmax(logits)
    if wanted.ndim == logits.ndim:
        return -(chances * wanted).sum(-1).mean()
    return -jnp.take_along_axis(chances, wanted[..., None], -1).mean()
