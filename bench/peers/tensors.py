"""Tensor libraries: the models as matrices, differentiated by PyTorch and by JAX."""

from __future__ import annotations

import math
from itertools import count

import numpy as np

from . import digits, large, problems
from .problems import ADAM, ALPHA, HEADS, WIDTH, Job


class Torch:
    """PyTorch, eager, one thread, float64."""

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        self.torch = torch

    def prepare(self, case):
        torch = self.torch
        if case == "T":
            inputs = self.leaves(problems.PLACE)
            return self.job(lambda: problems.rosenbrock(*inputs), inputs, np.stack)
        if case == "A":
            layers = [self.leaves(layer) for layer in problems.demo_matrices()]
            parameters = [p for layer in layers for p in layer]
            points = torch.tensor(problems.POINTS)
            labels = torch.tensor(problems.LABELS, dtype=torch.float64)
            return self.job(
                lambda: self.demo_loss(layers, points, labels),
                parameters,
                lambda grads: problems.demo_join(zip(grads[::2], grads[1::2], strict=True)),
            )
        if case == "C":
            inputs = self.leaves(problems.options())
            return self.job(lambda: self.prices(*inputs), inputs, np.stack)
        if case.startswith("M"):
            return digits.torch_job(torch, case)
        p = self.gpt_parameters()
        tokens = torch.tensor(problems.encode(problems.DOCUMENTS[int(case[1:])]))
        join = lambda grads: problems.gpt_join(dict(zip(p, grads, strict=True)))  # noqa: E731
        return self.job(lambda: self.gpt_loss(p, tokens), list(p.values()), join)

    def leaves(self, arrays):
        return [self.torch.tensor(array, requires_grad=True) for array in arrays]

    def job(self, loss, parameters, join):
        def step():
            out = loss()
            # Each price depends on its own option alone: the gradient of the sum has them all.
            return out, self.torch.autograd.grad(out.sum(), parameters)

        def read(answer):
            value, grads = answer
            return value.detach().numpy(), join([g.numpy() for g in grads])

        return Job(step, read)

    def demo_loss(self, layers, x, labels):
        penalty = 0.0
        for number, (w, b) in enumerate(layers):
            x = self.torch.nn.functional.linear(x, w, b)
            if number < len(layers) - 1:
                x = x.relu()
            penalty = penalty + (w * w).sum() + (b * b).sum()
        return (1.0 - labels * x[:, 0]).relu().mean() + ALPHA * penalty

    def gpt_parameters(self):
        matrices = problems.gpt_matrices()
        return dict(zip(matrices, self.leaves(matrices.values()), strict=True))

    def gpt_loss(self, p, tokens):
        functional = self.torch.nn.functional
        length = len(tokens) - 1

        def rmsnorm(x):
            return x * ((x * x).mean(-1, keepdim=True) + 1e-5).rsqrt()

        def heads(x):
            return x.view(length, HEADS, WIDTH // HEADS).transpose(0, 1)

        x = rmsnorm(p["tokens"][tokens[:-1]] + p["positions"][:length])
        n = rmsnorm(x)
        q, k, v = (heads(n @ p[name].T) for name in ("query", "key", "value"))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = attended.transpose(0, 1).reshape(length, WIDTH) @ p["out"].T + x
        x = (rmsnorm(x) @ p["up"].T).relu() @ p["down"].T + x
        return functional.cross_entropy(x @ p["head"].T, tokens[1:])

    def prices(self, spot, strike, years, rate, volatility):
        torch = self.torch
        normal = torch.special.ndtr
        spread = volatility * years.sqrt()
        drift = rate + 0.5 * volatility * volatility
        upper = ((spot / strike).log() + drift * years) / spread
        discounted = strike * (-rate * years).exp()
        return spot * normal(upper) - discounted * normal(upper - spread)

    def trainer(self, length):
        p = self.gpt_parameters()
        adam = self.torch.optim.Adam(p.values(), **ADAM)

        def step(document):
            adam.zero_grad()
            loss = self.gpt_loss(p, self.torch.tensor(document))
            loss.backward()
            adam.step()

        return step, lambda: problems.gpt_join({name: w.detach() for name, w in p.items()})


class Jax:
    """jax.jit of value_and_grad, float64, on the CPU."""

    def __init__(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        self.jax = jax

    def prepare(self, case):
        jax, jnp = self.jax, self.jax.numpy
        if case == "C":
            options = [jnp.array(array) for array in problems.options()]
            function = jax.jit(jax.vmap(jax.value_and_grad(self.price, argnums=(0, 1, 2, 3, 4))))
            return self.job(function, options, np.stack)
        if case == "T":
            function = jax.jit(jax.value_and_grad(problems.rosenbrock, argnums=(0, 1)))
            return self.job(function, problems.PLACE, np.stack)
        if case == "A":
            layers = jax.tree.map(jnp.array, problems.demo_matrices())
            points, labels = jnp.array(problems.POINTS), jnp.array(problems.LABELS, float)
            arguments = (layers, points, labels)
            return self.job(
                jax.jit(jax.value_and_grad(self.demo_loss)), arguments, problems.demo_join
            )
        if case.startswith("M"):
            return digits.jax_job(jax, case)
        p = jax.tree.map(jnp.array, problems.gpt_matrices())
        tokens = jnp.array(problems.encode(problems.DOCUMENTS[int(case[1:])]))
        mask = jnp.ones(len(tokens) - 1)
        function = jax.jit(jax.value_and_grad(self.gpt_loss))
        return self.job(function, (p, tokens, mask), problems.gpt_join)

    def job(self, function, arguments, join):
        self.jax.block_until_ready(function(*arguments))  # the first call compiles
        return Job(
            lambda: self.jax.block_until_ready(function(*arguments)),
            lambda answer: (np.asarray(answer[0]), join(answer[1])),
        )

    def demo_loss(self, layers, x, labels):
        penalty = 0.0
        for number, (w, b) in enumerate(layers):
            x = x @ w.T + b
            if number < len(layers) - 1:
                x = self.jax.nn.relu(x)
            penalty = penalty + (w * w).sum() + (b * b).sum()
        return self.jax.nn.relu(1.0 - labels * x[:, 0]).mean() + ALPHA * penalty

    def gpt_loss(self, p, tokens, mask):
        """`mask` says which predictions count: documents of all lengths can share a program."""
        jax, jnp = self.jax, self.jax.numpy
        length = len(tokens) - 1
        rows = jnp.arange(length)

        def rmsnorm(x):
            return x * ((x * x).mean(-1, keepdims=True) + 1e-5) ** -0.5

        def heads(x):
            return x.reshape(length, HEADS, WIDTH // HEADS).transpose(1, 0, 2)

        x = rmsnorm(p["tokens"][tokens[:-1]] + p["positions"][:length])
        n = rmsnorm(x)
        q, k, v = (heads(n @ p[name].T) for name in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        scores = jnp.where(rows[:, None] >= rows, scores, -jnp.inf)
        attended = jax.nn.softmax(scores) @ v
        x = attended.transpose(1, 0, 2).reshape(length, WIDTH) @ p["out"].T + x
        x = jax.nn.relu(rmsnorm(x) @ p["up"].T) @ p["down"].T + x
        chances = jax.nn.log_softmax(x @ p["head"].T)
        return -(chances[rows, tokens[1:]] * mask).sum() / mask.sum()

    def price(self, spot, strike, years, rate, volatility):
        jnp, normal = self.jax.numpy, self.jax.scipy.special.ndtr
        spread = volatility * jnp.sqrt(years)
        drift = rate + 0.5 * volatility * volatility
        upper = (jnp.log(spot / strike) + drift * years) / spread
        discounted = strike * jnp.exp(-rate * years)
        return spot * normal(upper) - discounted * normal(upper - spread)

    def trainer(self, length):
        """All documents are padded to one length: compiling once beats compiling sixteen times."""
        jax, jnp = self.jax, self.jax.numpy
        (beta1, beta2), lr, eps = ADAM["betas"], ADAM["lr"], ADAM["eps"]

        def update(state, steps, tokens, mask):
            p, m, v = state
            gradient = jax.grad(self.gpt_loss)(p, tokens, mask)
            m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, m, gradient)
            v = jax.tree.map(lambda v, g: beta2 * v + (1 - beta2) * g * g, v, gradient)
            rate, scale = lr / (1 - beta1**steps), 1 / jnp.sqrt(1 - beta2**steps)
            move = lambda p, m, v: p - rate * m / (jnp.sqrt(v) * scale + eps)  # noqa: E731
            return jax.tree.map(move, p, m, v), m, v

        update = jax.jit(update, donate_argnums=0)
        p = jax.tree.map(jnp.array, problems.gpt_matrices())
        state = p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)
        numbers = count(1)

        def step(document):
            nonlocal state
            tokens, mask = np.zeros(length + 1, int), np.zeros(length)
            tokens[: len(document)] = document
            mask[: len(document) - 1] = 1.0
            state = update(state, float(next(numbers)), tokens, mask)
            jax.block_until_ready(state)

        return step, lambda: problems.gpt_join(state[0])

    def large(self, model):
        """Seconds to be ready and of a step, for a model of case E; None if it has no tensors."""
        jax, found = self.jax, large.tensors(self.jax, model)
        if found is None:
            return None
        loss, numbers = found
        numbers = jax.numpy.array(numbers)
        function = jax.jit(jax.value_and_grad(loss))
        step = lambda: jax.block_until_ready(function(numbers))  # noqa: E731
        (value, slopes), seconds = large.timed(step)
        slope = float(np.linalg.norm(np.asarray(slopes)))
        return {"ready": seconds, "step": large.best(step), "value": float(value), "slope": slope}
