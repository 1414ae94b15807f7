"""The op table as PyTorch functions: differentiable any number of times, by the table's slopes.

Each is a `torch.autograd.Function` with rules for reverse mode, forward mode and `vmap`. Where its
step `skips`, a gradient of 0 passes nothing on, whatever the slope: what was not chosen has no
gradient, even where its slope is inf.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from math import copysign, inf
from typing import Any

import torch
from torch import Tensor

from ....codegen.elementwise import MAPS
from ....core.ops import Op
from ....maths.arrays import ArrayMath
from ...passes.grad import FLAT

_PLAIN = ("add", "sub", "mul", "neg")  # whose slopes PyTorch knows as well
# Whose rules scale by powers of 2 that 32 bits do not hold: they are computed in 64.
_WIDE = ("hypot", "hypot_slope", "atan", "atan2", "atan2_slope")
_CPU = torch.device("cpu")
_SPELLING = {"power": "pow", "equal": "eq"}  # where PyTorch does not follow NumPy
# The words of `ArrayMath` that are rows: slopes which are differentiated again are made of these.
_ROWS = (
    *("abs", "exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("hypot", "asin", "acos", "atan", "atan2", "pow", "div", "erf", "erfc"),
)


# ---- mathematics ---------------------------------------------------------------------------------


def as_tensor(number: Tensor | float, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return a number as a tensor; one that the type cannot hold is infinite."""
    if isinstance(number, Tensor):
        return number
    if abs(number) > torch.finfo(dtype).max:
        number = copysign(inf, number)
    return torch.full((), number, dtype=dtype, device=device)


class _Lifted:
    """PyTorch's functions by NumPy's names, which take plain numbers too."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        function = getattr(torch, _SPELLING.get(name, name))

        def run(*xs: Tensor | float) -> Any:
            device = next((x.device for x in xs if isinstance(x, Tensor)), None)
            found: Tensor = function(*[as_tensor(x, self._dtype, device or _CPU) for x in xs])
            return found.item() if device is None else found

        return run


class _Math(ArrayMath):
    """The mathematics of PyTorch, for one type of numbers."""

    def __init__(self, dtype: torch.dtype) -> None:
        special = torch.special
        super().__init__(
            _Lifted(dtype), erf=special.erf, erfc=special.erfc, number=torch.detach, traced=True
        )

    def usually(self, holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Any:
        """Return `usual`, and in lanes where the condition does not hold, `otherwise()`."""
        if _holds(holds):
            return usual
        return self._where(holds, usual, otherwise())


def _holds(condition: Tensor) -> bool:
    """Tell whether a condition holds in all lanes, as far as one may look."""
    if torch.compiler.is_compiling():
        return False
    if condition.is_cuda and torch.cuda.is_current_stream_capturing():
        return False
    try:
        return bool(condition.all())
    except RuntimeError:  # inside vmap
        return False


class _Rows:
    """Every row of the op table as a function: what slopes that are rows are made of."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def __getitem__(self, name: str) -> Callable[..., Tensor]:
        return functools.partial(_skipping, name, self._dtype)


def _skipping(name: str, dtype: torch.dtype, *xs: Tensor | float) -> Tensor:
    known = tuple(None if isinstance(x, Tensor) else float(x) for x in xs)
    tensors = [x for x in xs if isinstance(x, Tensor)]
    return elementwise(name, True, known, dtype)(*torch.broadcast_tensors(*tensors))


@functools.cache
def _math(dtype: torch.dtype) -> _Math:
    return _Math(dtype)


@functools.cache
def _slopes(dtype: torch.dtype) -> _Math:
    """The mathematics of slopes that are differentiated again: of rows, which skip what is 0."""
    m = _Math(dtype)
    m.rows = _Rows(dtype)  # type: ignore[assignment]
    for name in _ROWS:
        setattr(m, name, m.rows[name])
    return m


def bound_once(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Write down a signature, for which PyTorch asks at every call: that takes longer than most."""
    forward.__signature__ = inspect.signature(forward)  # type: ignore[attr-defined]
    return forward


# ---- products that are 0 where nothing is passed on ----------------------------------------------


class _Scaled(torch.autograd.Function):
    """x * slope, and 0 where x is 0: linear in both."""

    generate_vmap_rule = True

    @staticmethod
    @bound_once
    def forward(x: Tensor, slope: Tensor) -> Tensor:
        return torch.where(x == 0, torch.zeros_like(x), x * slope)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, slope = ctx.saved_tensors
        by_x, by_slope = ctx.needs_input_grad
        return (
            _Scaled.apply(grad, slope) if by_x else None,
            _Scaled.apply(x, grad) if by_slope else None,
        )

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, dslope: Tensor | None) -> Any:
        x, slope = ctx.saved_tensors
        parts = [] if dx is None else [_Scaled.apply(dx, slope)]
        parts += [] if dslope is None else [_Scaled.apply(x, dslope)]
        return functools.reduce(operator.add, parts)


def _passed(grad: Tensor, slope: Tensor | float, skips: bool) -> Tensor:
    """What goes through an operation with this slope."""
    if not skips or not isinstance(slope, Tensor):
        return grad * slope
    found: Tensor = _Scaled.apply(grad, slope.expand(grad.shape))
    return found


# ---- operations ----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def elementwise(
    name: str, skips: bool, known: tuple[float | None, ...], dtype: torch.dtype
) -> Callable[..., Tensor]:
    """Return an operation as a function of its operands that are not known."""
    op, m = MAPS[name], _math(dtype)
    if name in _WIDE and dtype != torch.float64:
        wide = elementwise(name, skips, known, torch.float64)
        return lambda *xs: wide(*[x.double() for x in xs]).to(dtype)

    def value(*xs: Tensor) -> Tensor:
        return _full_size(op.value(m, *_filled(known, xs, dtype)), xs, dtype)

    if name in FLAT:
        return lambda *xs: value(*[x.detach() for x in xs])
    if name == "where":
        return _where
    if name in _PLAIN and not skips:
        plain: Callable[..., Tensor] = getattr(operator, name)
        if all(number is None for number in known):
            return plain
        return lambda *xs: plain(*_given(known, xs))
    return _with_slopes(op, value, skips, known, dtype)


def _with_slopes(
    op: Op,
    value: Callable[..., Tensor],
    skips: bool,
    known: tuple[float | None, ...],
    dtype: torch.dtype,
) -> Callable[..., Tensor]:
    """Return an operation that is differentiated by the table's slopes."""
    open_ = [at for at, number in enumerate(known) if number is None]

    class Elementwise(torch.autograd.Function):
        """An operation of the table."""

        generate_vmap_rule = True

        @staticmethod
        @bound_once
        def forward(*xs: Tensor) -> Tensor:
            return value(*xs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            ctx.save_for_backward(*inputs, output)
            ctx.save_for_forward(*inputs, output)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            *xs, y = ctx.saved_tensors
            slopes = _slopes(dtype) if torch.is_grad_enabled() else _math(dtype)
            arguments = _filled(known, xs, dtype)
            found = [
                _passed(grad, _slope(op, at, slopes, y, arguments), skips) if wanted else None
                for at, wanted in zip(open_, ctx.needs_input_grad, strict=True)
            ]
            return found[0] if len(found) == 1 else tuple(found)

        @staticmethod
        def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
            *xs, y = ctx.saved_tensors
            arguments = _filled(known, xs, dtype)
            parts = [
                _passed(tangent, _slope(op, at, _slopes(dtype), y, arguments), skips)
                for at, tangent in zip(open_, tangents, strict=True)
                if tangent is not None
            ]
            return functools.reduce(operator.add, parts)

    Elementwise.__name__ = Elementwise.__qualname__ = f"minigrad_{op.name}"
    apply: Callable[..., Tensor] = Elementwise.apply
    return apply


def _where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return torch.where(condition != 0, a, b)


def _given(known: Sequence[float | None], xs: Sequence[Tensor]) -> list[Any]:
    given = iter(xs)
    return [next(given) if number is None else number for number in known]


def _filled(
    known: Sequence[float | None], xs: Sequence[Tensor], dtype: torch.dtype
) -> list[Tensor]:
    """All operands as tensors."""
    return [as_tensor(x, dtype, xs[0].device) for x in _given(known, xs)]


def _full_size(y: Any, xs: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Make a tensor of its own of what an operation returned: a number, or one of the operands."""
    y = as_tensor(y, dtype, xs[0].device)
    if y.shape != xs[0].shape:
        y = y.expand(xs[0].shape)
    return y.clone() if any(y is x for x in xs) or y._is_view() else y


def _slope(op: Op, at: int, m: _Math, y: Tensor, arguments: list[Any]) -> Any:
    if op.partials:
        return op.partials[at](m, y, *arguments)
    return op.derivatives(m, y, *arguments)[at]
