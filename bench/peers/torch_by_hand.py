"""The same in PyTorch, eager or compiled, on the card if there is one."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def tensor(array):
    return torch.tensor(np.asarray(array), device=DEVICE)


def leaf(array):
    return tensor(array).requires_grad_()


def wait(_):
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def read(answer):
    """As NumPy: the value and the gradients."""
    value, grads = answer
    return [x.detach().double().cpu().numpy() for x in (value, *grads)]


def call_price(spot, strike, years, rate, volatility):
    normal = torch.special.ndtr
    spread = volatility * years.sqrt()
    upper = ((spot / strike).log() + (rate + 0.5 * volatility * volatility) * years) / spread
    discounted = strike * (-rate * years).exp()
    return spot * normal(upper) - discounted * normal(upper - spread)


def mlp_loss(parameters, pixels, labels):
    *hidden, w, b = parameters
    x = pixels
    for k in range(0, len(hidden), 2):
        x = functional.linear(x, hidden[k], hidden[k + 1]).relu()
    return functional.cross_entropy(functional.linear(x, w, b), labels)


def step(function, leaves, arguments, mode=None):
    """Value and gradients by `leaves`; `mode` is one of torch.compile's, None is eager."""
    if mode:
        torch.compiler.reset()  # what it compiled for other sizes must not make this one dynamic
        function = torch.compile(function, mode=mode, dynamic=False)

    def run():
        if mode == "reduce-overhead":  # CUDA graphs, which write into the same arrays each time
            torch.compiler.cudagraph_mark_step_begin()
        value = function(*arguments)
        # Prices depend each on its own option alone: the gradient of the sum has them all.
        return value, torch.autograd.grad(value.sum(), leaves)

    return run
