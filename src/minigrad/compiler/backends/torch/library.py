"""What a plan needs of an array library, in PyTorch's words.

Following a plan takes longer than PyTorch needs to compute a small one. So a plan is followed once,
with the example, by a `Recorder`; what it asked for is a list of plain calls, which is run instead.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from .elementwise import bound_once, elementwise

Array = Any


# ---- gathers at constant places ------------------------------------------------------------------


def _inverse(table: Any, size: int) -> Any:
    """Of each element the entries that read it, -1 for none; nothing if that is a sparse table."""
    valid = np.flatnonzero(table >= 0)
    order = valid[np.argsort(table[valid], kind="stable")]
    counts = np.bincount(table[order], minlength=size)
    deepest = int(counts.max(initial=1))
    if size * deepest > 4 * max(len(table), 16):
        return np.zeros(0, dtype=np.int64)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = np.full((size, deepest), -1)
    found[table[order], rank] = order
    return found if deepest > 1 else found[:, 0]


class _Reading(NamedTuple):
    """How a flat tensor is read at constant places, and how gradients come back."""

    size: int  # of what is read
    holes: bool  # whether there are places that read nothing: they name the end of the tensor
    back: tuple[int, ...]  # the shape of the table that leads back; (0,): there is none
    back_holes: bool


def _read(x: Tensor, table: Tensor, holes: bool) -> Tensor:
    return (pad(x, (0, 1)) if holes else x).index_select(0, table)


class _Gather(torch.autograd.Function):
    """Elements at constant places, or back: each is the other's gradient."""

    generate_vmap_rule = True

    @staticmethod
    @bound_once
    def forward(x: Tensor, table: Tensor, back: Tensor, how: _Reading, is_back: bool) -> Tensor:
        if not is_back:
            return _read(x, table, how.holes)
        if how.back == (0,):
            return x.new_zeros(how.size + 1).index_add(0, table, x)[: how.size]
        found = _read(x, back, how.back_holes)
        return found if len(how.back) == 1 else found.reshape(how.back).sum(-1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, table, back, ctx.how, ctx.is_back = inputs
        ctx.save_for_backward(table, back)
        ctx.save_for_forward(table, back)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        found = _Gather.apply(grad, *ctx.saved_tensors, ctx.how, not ctx.is_back)
        return found, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *others: Any) -> Any:
        return _Gather.apply(tangent, *ctx.saved_tensors, ctx.how, ctx.is_back)


def _gather(x: Tensor, table: Tensor, back: Tensor, how: _Reading) -> Tensor:
    found: Tensor = _Gather.apply(x, table, back, how, False)
    return found


# ---- calls that a recording is made of -----------------------------------------------------------


def _cut(x: Tensor, axis: int, first: int, end: int) -> Tensor:
    return x.narrow(axis, first, end - first)


def _join(*parts: Tensor) -> Tensor:
    return torch.cat(parts)


def _sum(x: Tensor) -> Tensor:
    return x.sum(-1)


def _largest(x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    # A nan is never greater, so it counts only where the search starts.
    x = x.detach()
    first = x[:, :1].isnan()
    places = torch.where(first, torch.zeros_like(x), torch.where(x.isnan(), -inf, x)).argmax(-1)
    return x.gather(1, places[:, None])[:, 0], places.to(dtype)


def _product(a: Tensor, b: Tensor) -> Tensor:
    return torch.matmul(a, b.transpose(-1, -2))


def _one_hot(index: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    index = index.detach()
    whole = torch.where(index < 0, index + count, index)
    valid = (whole >= 0) & (whole < count)
    if index.is_floating_point():
        valid = valid & (whole == whole.floor())
    places = torch.arange(count, dtype=index.dtype, device=index.device)
    here = (whole[:, None] == places) | ~valid[:, None]
    return here, poison(valid, dtype)


def poison(holds: Tensor, dtype: torch.dtype) -> Tensor:
    """Return 1 where something holds, and nan elsewhere."""
    ones = torch.ones_like(holds, dtype=dtype)
    return torch.where(holds, ones, nan)


# ---- the library ---------------------------------------------------------------------------------


class _Call(NamedTuple):
    function: Callable[..., Any]
    places: tuple[int, ...]  # of operands
    rest: tuple[Any, ...]  # further arguments
    last: tuple[int, ...]  # what nobody needs from here on


class Recorded:
    """An array of a recording: its place, and the tensor that comes out for the example."""

    def __init__(self, recorder: Recorder, at: int, tensor: Any) -> None:
        self.recorder, self.at, self.tensor = recorder, at, tensor

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return len(self.tensor.shape)

    def __add__(self, other: Recorded) -> Recorded:
        return self.recorder.then(operator.add, [self, other])

    def __mul__(self, other: Recorded) -> Recorded:
        return self.recorder.then(operator.mul, [self, other])


class Recorder:
    """The library that a plan is followed in once: it computes, and writes down all calls."""

    stretches = False

    def __init__(self, dtype: torch.dtype, leaves: Sequence[Tensor]) -> None:
        self.dtype = dtype
        self.leaves = [Recorded(self, at, leaf) for at, leaf in enumerate(leaves)]
        self.constants: dict[int, Tensor] = {}
        self.count = len(leaves)  # places
        self.calls: list[tuple[int, Callable[..., Any], tuple[int, ...], tuple[Any, ...]]] = []
        self._made: dict[Any, Recorded] = {}

    def _placed(self, tensor: Any) -> Recorded:
        self.count += 1
        return Recorded(self, self.count - 1, tensor)

    def then(self, function: Callable[..., Any], xs: Sequence[Recorded], *rest: Any) -> Recorded:
        """Call a function; what it has been called with before is not computed again."""
        places = tuple(x.at for x in xs)
        key = function, places, rest
        if key not in self._made:
            with torch.no_grad():
                found = self._placed(function(*[x.tensor for x in xs], *rest))
            self.calls.append((found.at, *key))
            self._made[key] = found
        return self._made[key]

    def _known(self, numbers: Any, dtype: torch.dtype) -> Recorded:
        array = np.ascontiguousarray(numbers)
        key = dtype, array.shape, array.dtype.str, array.tobytes()
        if key not in self._made:
            found = self._placed(torch.from_numpy(array.copy()).to("cpu", dtype))
            self.constants[found.at] = found.tensor
            self._made[key] = found
        return self._made[key]

    def reshape(self, x: Recorded, shape: tuple[int, ...]) -> Recorded:
        return x if x.shape == shape else self.then(torch.reshape, [x], shape)

    def transpose(self, x: Recorded, order: tuple[int, ...]) -> Recorded:
        return self.then(torch.permute, [x], order)

    def split(self, x: Recorded, axis: int, sizes: tuple[int, ...]) -> list[Recorded]:
        parts = self.then(torch.split, [x], sizes, axis)
        return [self.then(operator.getitem, [parts], at) for at in range(len(sizes))]

    def join(self, parts: Sequence[Recorded]) -> Recorded:
        return self.then(_join, parts)

    def cut(self, x: Recorded, axis: int, first: int, end: int) -> Recorded:
        return self.then(_cut, [x], axis, first, end)

    def stretch(self, x: Recorded, shape: tuple[int, ...]) -> Recorded:
        return x if x.shape == shape else self.then(torch.broadcast_to, [x], shape)

    def constant(self, numbers: Any) -> Recorded:
        return self._known(numbers, self.dtype)

    def where(self, condition: Any, a: Recorded, b: Recorded) -> Recorded:
        if not isinstance(condition, Recorded):
            condition = self._known(condition, torch.bool)
        return self.then(torch.where, [condition, a, b])

    def gather(self, x: Recorded, index: Any) -> Recorded:
        table, size = np.ravel(index), x.shape[0]
        if np.array_equal(table, np.arange(size)):
            return x
        back = _inverse(table, size)
        how = _Reading(size, bool((table < 0).any()), back.shape, bool((back < 0).any()))
        both = [
            self._known(np.where(places < 0, end, places).ravel(), torch.int64)
            for places, end in ((table, size), (back, len(table)))
        ]
        return self.then(_gather, [x, *both], how)

    def sum(self, x: Recorded) -> Recorded:
        return self.then(_sum, [x])

    def _pair(
        self, function: Callable[..., Any], x: Recorded, *rest: Any
    ) -> tuple[Recorded, Recorded]:
        both = self.then(function, [x], *rest)
        return self.then(operator.getitem, [both], 0), self.then(operator.getitem, [both], 1)

    def largest(self, x: Recorded) -> tuple[Recorded, Recorded]:
        return self._pair(_largest, x, self.dtype)

    def product(self, a: Recorded, b: Recorded, batch: int) -> Recorded:
        return self.then(_product, [a, b])

    def one_hot(self, index: Recorded, count: int) -> tuple[Recorded, Recorded]:
        return self._pair(_one_hot, index, count, self.dtype)

    def elementwise(self, op: str, skips: bool) -> Callable[..., Recorded]:
        return partial(self._elementwise, op, skips)

    def _elementwise(self, op: str, skips: bool, *xs: Recorded | float) -> Recorded:
        known = tuple(None if isinstance(x, Recorded) else x for x in xs)
        function = elementwise(op, skips, known, self.dtype)
        return self.then(function, [x for x in xs if isinstance(x, Recorded)])


class Recording:
    """What a recorder wrote down, to be run with other leaves, on any device."""

    def __init__(self, recorder: Recorder, results: Sequence[Recorded]) -> None:
        self._results = [result.at for result in results]
        self._leaves, self._count = len(recorder.leaves), recorder.count
        self._constants = {torch.device("cpu"): recorder.constants}
        kept, calls = set(self._results), []
        for at, function, places, rest in reversed(recorder.calls):
            if at in kept:
                last = tuple(set(places) - kept)
                kept.update(places)
                calls.append((at, _Call(function, places, rest, last)))
        self._calls = calls[::-1]

    def _constants_on(self, device: torch.device) -> dict[int, Tensor]:
        if device not in self._constants:
            here = self._constants[torch.device("cpu")]
            with torch.inference_mode(False):  # they will serve calls that differentiate too
                self._constants[device] = {at: x.to(device) for at, x in here.items()}
        return self._constants[device]

    def run(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Make all calls, on the device of the leaves; return the results."""
        device = leaves[0].device if leaves else torch.device("cpu")
        arrays: list[Any] = [*leaves, *[None] * (self._count - self._leaves)]
        for at, constant in self._constants_on(device).items():
            arrays[at] = constant
        for at, (function, places, rest, last) in self._calls:
            arrays[at] = function(*[arrays[place] for place in places], *rest)
            for place in last:
                arrays[place] = None
        return [arrays[at] for at in self._results]
