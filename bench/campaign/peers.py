"""Other engines, asked the same questions: micrograd, PyTorch (64 bits), JAX (64 bits)."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from minigrad.check.exact import OPERATIONS, Graph, run


def is_installed(name: str) -> Callable[[], bool]:
    """Tell whether a package is there, when asked."""
    return lambda: find_spec(name) is not None


def micrograd_leaf(x: float) -> Any:
    """A Value of the original."""
    from micrograd.engine import Value

    return Value(x)


def torch_leaf(x: float) -> Any:
    """A scalar tensor that wants a gradient."""
    import torch

    torch.set_num_threads(1)
    return torch.tensor(x, dtype=torch.float64, requires_grad=True)


def jax_modules() -> tuple[Any, Any]:
    """JAX with 64 bits, and its NumPy."""
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax, jax.numpy


def _call_jax(name: str, *xs: Any) -> Any:
    _, jnp = jax_modules()
    return jnp.maximum(xs[0], 0.0) if name == "relu" else OPERATIONS[name].call(*xs)


def exact_results(engine: str, graph: Graph, passes: int = 1) -> list[float]:
    """The value of the last node and, after so many passes, the gradients of the inputs."""
    inputs = [float(x) for x in graph.inputs]
    if engine == "jax":
        jax, _ = jax_modules()
        value, grads = jax.value_and_grad(lambda xs: run(graph, xs, _call_jax)[-1])(inputs)
        return [float(value), *map(float, grads)]
    leaves = [(micrograd_leaf if engine == "micrograd" else torch_leaf)(x) for x in inputs]
    last = run(graph, leaves)[-1]
    for _ in range(passes):
        if engine == "micrograd":
            last.backward()
        else:
            last.backward(retain_graph=True)
    if engine == "micrograd":
        return [last.data, *(leaf.grad for leaf in leaves)]
    return [last.item(), *(0.0 if leaf.grad is None else leaf.grad.item() for leaf in leaves)]
