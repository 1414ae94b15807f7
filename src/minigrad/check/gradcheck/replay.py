"""A recorded graph evaluated again, node by node, with another kind of number.

The op table's rules take any mathematics, so the graph that `f` left behind can be run on complex
numbers, PyTorch tensors or JAX arrays without `f` knowing of it. Each of these then differentiates
the *values* in its own way; none of our derivatives is asked. What the graph does not show is a
constant here: a detached number, or a choice that `f` made with `if`.

Start at `replay`.
"""

from __future__ import annotations

import cmath
import importlib
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from ...core.graph import topological_order
from ...core.ops import TABLE
from ...errors import NotDifferentiableError
from ...maths.arrays import ArrayMath
from ...scalar import Value

__all__ = ["complex_gradient", "jax_gradient", "replay", "torch_gradient"]


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
        result = _plain(replay(root, leaves, numbers, COMPLEX))
    except (ArithmeticError, ValueError):
        return math.nan
    is_real = math.isclose(result.real, root.data, rel_tol=1e-9, abs_tol=1e-300)
    is_lost = 0.0 < abs(result.imag) < 1e-290
    return result.imag / step if is_real and not is_lost else math.nan


def _complex_step(x: float) -> float:
    """Return a step whose square is lost beside x, if it can be, without being subnormal itself."""
    return max(1e-40 * abs(x), min(1e-8 * abs(x), 1e-300)) or 1e-40


def _plain(x: Any) -> complex:
    return x.z if isinstance(x, Ordered) else complex(x)


class Ordered:
    """A complex number that rules may compare: by its real part."""

    __slots__ = ("z",)

    def __init__(self, z: complex) -> None:
        self.z = z

    def __neg__(self) -> Ordered:
        return Ordered(-self.z)

    def __add__(self, other: Any) -> Ordered:
        return Ordered(self.z + _plain(other))

    def __sub__(self, other: Any) -> Ordered:
        return Ordered(self.z - _plain(other))

    def __mul__(self, other: Any) -> Ordered:
        return Ordered(self.z * _plain(other))

    def __rsub__(self, other: Any) -> Ordered:
        return Ordered(_plain(other) - self.z)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        return self.z.real < _plain(other).real

    def __le__(self, other: Any) -> bool:
        return self.z.real <= _plain(other).real

    def __gt__(self, other: Any) -> bool:
        return self.z.real > _plain(other).real

    def __ge__(self, other: Any) -> bool:
        return self.z.real >= _plain(other).real


def _on_complex(function: Callable[..., complex]) -> Callable[..., Ordered]:
    return lambda *xs: Ordered(function(*map(_plain, xs)))


def _expm1(z: complex) -> complex:
    half = math.sin(z.imag / 2)
    real = math.expm1(z.real) * math.cos(z.imag) - 2 * half * half
    return complex(real, math.exp(z.real) * math.sin(z.imag))


def _log1p(z: complex) -> complex:
    sideways = z.imag / (1 + z.real)
    real = math.log1p(z.real) + math.log1p(sideways * sideways) / 2
    return complex(real, math.atan2(z.imag, 1 + z.real))


def _hypot(a: complex, b: complex) -> complex:
    size = max(abs(a.real), abs(b.real))  # the squares must not overflow
    return size * cmath.sqrt((a / size) ** 2 + (b / size) ** 2)


def _atan2(y: complex, x: complex) -> complex:
    turned = abs(y.real) > abs(x.real)
    z = -cmath.atan(x / y) if turned else cmath.atan(y / x)
    quarters = round((math.atan2(y.real, x.real) - z.real) / (math.pi / 2))
    return z + quarters * (math.pi / 2)


def _missing(name: str) -> Callable[..., Ordered]:
    def refuse(*_: Any) -> Ordered:
        raise NotImplementedError(f"Python has no {name} of complex numbers")

    return refuse


_SAME = ("exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
COMPLEX = SimpleNamespace(
    **{name: _on_complex(getattr(cmath, name)) for name in _SAME},
    abs=_on_complex(lambda z: -z if z.real < 0 else z),
    expm1=_on_complex(_expm1),
    log1p=_on_complex(_log1p),
    hypot=_on_complex(_hypot),
    atan2=_on_complex(_atan2),
    pow=_on_complex(lambda x, n: x**n),
    div=_on_complex(lambda a, b: a / b),
    erf=_missing("erf"),
    erfc=_missing("erfc"),
    where=lambda condition, a, b: a if condition else b,
    usually=lambda holds, usual, otherwise: usual if holds else otherwise(),
    rows={},
    equal=lambda a, b: _plain(a).real == _plain(b).real,
    number=lambda x: _plain(x).real,
    sum=lambda terms: sum(terms, Ordered(0j)),
)
