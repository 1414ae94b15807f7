"""Other engines, asked the same questions: micrograd, PyTorch (64 bits), JAX (64 bits)."""

from __future__ import annotations

import os
import threading
import time
import warnings
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


def leaf_of(engine: str, x: float) -> Any:
    """An input of an engine that has nodes."""
    return micrograd_leaf(x) if engine == "micrograd" else torch_leaf(x)


def grad_of(leaf: Any) -> float:
    """What `backward()` has left so far."""
    grad = leaf.grad
    return float(0.0 if grad is None else grad)


def backward(root: Any) -> None:
    """A pass after which another one is possible."""
    if hasattr(root, "retain_grad"):
        root.backward(retain_graph=True)
    else:
        root.backward()


def doubled_by_hand(x: Any) -> Any:
    """2 x, with a step that is written by hand, in two parts."""
    if hasattr(x, "retain_grad"):
        import torch

        class Double(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, x: Any) -> Any:
                return 2.0 * x

            @staticmethod
            def backward(context: Any, grad: Any) -> Any:
                def step() -> Any:
                    once = 1.0 * grad
                    return once + grad

                return step()

        return Double.apply(x)
    out = type(x)(2.0 * x.data, (x,), "double")

    def step() -> None:
        x.grad += out.grad
        x.grad += out.grad

    out._backward = step
    return out


def fork_fault(engine: str, patience: float = 5.0) -> str | None:
    """Fork while another thread runs passes; the child runs one of its own."""
    over = threading.Event()

    def work() -> None:
        x = leaf_of(engine, 2.0)
        while not over.is_set():
            backward(x * x + x)

    worker = threading.Thread(target=work)
    worker.start()
    time.sleep(0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        is_right = False
        try:
            x = leaf_of(engine, 3.0)
            backward(x * x)
            is_right = grad_of(x) == 6.0
        finally:
            os._exit(0 if is_right else 1)
    over.set()
    worker.join()
    until, ended = time.monotonic() + patience, (0, 0)
    while not ended[0] and time.monotonic() < until:
        time.sleep(0.002)
        ended = os.waitpid(child, os.WNOHANG)
    if ended[0]:
        return None if ended[1] == 0 else f"the child ended with status {ended[1]}"
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "the child hangs"


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
    leaves = [leaf_of(engine, x) for x in inputs]
    last = run(graph, leaves)[-1]
    for _ in range(passes):
        backward(last)
    return [float(last.data), *map(grad_of, leaves)]
