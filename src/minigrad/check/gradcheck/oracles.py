"""A recorded graph evaluated again, node by node, with another kind of number.

The op table's rules take any mathematics, so the graph that `f` left behind can be run on complex
numbers, PyTorch tensors or JAX arrays without `f` knowing of it. Each of these then differentiates
the *values* in its own way; none of our derivatives is asked. What the graph does not show is a
constant here: a detached number, or a choice that `f` made with `if`.

Start at `replay`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.graph import topological_order
from ...core.ops import TABLE
from ...errors import NotDifferentiableError
from ...maths.arrays import ArrayMath
from ...maths.complex import COMPLEX, Ordered, plain
from ...scalar import Value


def replay(root: Value, leaves: Sequence[Value], numbers: Sequence[Any], m: Any) -> Any:
    """Return what `root` comes to in the mathematics `m` if the leaves are these numbers."""
    known = {id(leaf): number for leaf, number in zip(leaves, numbers, strict=True)}
    for node in topological_order(root, lambda node: [] if id(node) in known else _inputs(node)):
        if id(node) not in known:
            arguments = [known[id(x)] if isinstance(x, Value) else x for x in node._arguments()]
            rule = TABLE[node._code].value
            known[id(node)] = rule(m, *arguments) if node._code else node.data
    return known[id(root)]


def _inputs(node: Value) -> list[Value]:
    """Return the operands that the rule had, whatever became of `_prev` since then."""
    extras = node._extras
    if node._is_custom or (extras is not None and extras.operands and not node._code):
        raise NotDifferentiableError(
            f"the node {node._op!r} was made by hand, so there is no rule to evaluate it again "
            "with other numbers. Check it against='differences', which only calls f."
        )
    return [x for x in node._arguments() if isinstance(x, Value)] if node._code else []


# ---- libraries that differentiate --------------------------------------------------------------


def torch_gradient(root: Value, leaves: Sequence[Value]) -> list[float]:
    """Differentiate a graph with PyTorch, in float64."""
    torch = _library("torch", "PyTorch", "torch==2.13.0")

    def lift(x: Any) -> Any:
        if isinstance(x, (torch.Tensor, bool)):
            return torch.as_tensor(x)
        return torch.tensor(x, dtype=torch.float64)

    class Lifted:
        """NumPy's names for PyTorch's functions, which take no plain numbers."""

        def __getattr__(self, name: str) -> Callable[..., Any]:
            function = getattr(torch, {"power": "pow", "equal": "eq"}.get(name, name))
            return lambda *xs: function(*map(lift, xs))

    xp: Any = Lifted()
    m = ArrayMath(xp, erf=xp.erf, erfc=xp.erfc, number=lambda x: lift(x).detach())
    tensors = [lift(leaf.data).requires_grad_() for leaf in leaves]
    with torch.enable_grad():
        result = lift(replay(root, leaves, tensors, m))
    if not result.requires_grad:  # no leaf had a say in it
        return [0.0] * len(leaves)
    found = torch.autograd.grad(result, tensors, allow_unused=True)
    return [0.0 if g is None else float(g) for g in found]


def jax_gradient(root: Value, leaves: Sequence[Value]) -> list[float]:
    """Differentiate a graph with JAX, in float64."""
    jax = _library("jax", "JAX", "jax")
    special = jax.scipy.special
    stop = jax.lax.stop_gradient
    m = ArrayMath(jax.numpy, erf=special.erf, erfc=special.erfc, number=stop)
    x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else _library("jax.experimental").enable_x64

    def total(numbers: list[Any]) -> Any:
        return jax.numpy.asarray(replay(root, leaves, numbers, m), dtype=float)

    with x64(True):
        return [float(g) for g in jax.grad(total)([leaf.data for leaf in leaves])]


def _library(module: str, name: str = "", package: str = "") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"gradcheck(against={module!r}) needs {name}, which is not installed here: "
            f"python -m pip install {package}"
        ) from error


# ---- the complex step --------------------------------------------------------------------------


def complex_gradient(root: Value, leaves: Sequence[Value]) -> list[float]:
    """Differentiate by the complex step: f(x + ih) = f(x) + ih f'(x), without any subtraction.

    Choices go by the real part. `nan` stands where the way leads out of the real function or the
    range of floats; an operation that Python has no complex version of raises NotImplementedError.
    """
    return [_complex_slope(root, leaves, leaf) for leaf in leaves]


def _complex_slope(root: Value, leaves: Sequence[Value], moving: Value) -> float:
    step = _complex_step(moving.data)
    numbers = [Ordered(complex(x.data, step if x is moving else 0.0)) for x in leaves]
    try:
        result = plain(replay(root, leaves, numbers, COMPLEX))
    except (ArithmeticError, ValueError):
        return math.nan
    is_real = math.isclose(result.real, root.data, rel_tol=1e-9, abs_tol=1e-300)
    is_lost = 0.0 < abs(result.imag) < 1e-290
    return result.imag / step if is_real and not is_lost else math.nan


def _complex_step(x: float) -> float:
    """Return a step whose square is lost beside x, if it can be, without being subnormal itself."""
    return max(1e-40 * abs(x), min(1e-8 * abs(x), 1e-300)) or 1e-40
