"""`to_torch`: a scalar function as a plain PyTorch function.

    fn, params = minigrad.to_torch(loss, xs, ys)
    fn(params, xs, ys).backward()

`params` is one vector that asks for its gradient, the numbers of the Values that the function
closes over. Where it is, the function runs: `params.to("cuda")`. All of PyTorch goes with it:
`torch.optim`, `create_graph=True`, `torch.func`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...ir.program import Program
from .. import arrays, exported
from ..exported import Example, Function
from .library import Recorder, Recording, poison

Array = Any
LEAST = 2  # rows, columns and terms that make a product of matrices: one call instead of two
_TYPES = {"float64": torch.float64, "float32": torch.float32}
_NO_INDEX = -(2**62)


def number_type(dtype: Any) -> torch.dtype:
    """Return the type of numbers that a name stands for."""
    name = "float64" if dtype is None else str(dtype).removeprefix("torch.")
    if name not in _TYPES:
        raise ValueError(f"dtype={name!r}: choose 'float64' or 'float32'.")
    return _TYPES[name]


class Lowered(exported.Lowered):
    """A program as a function of its leaves, recorded with those of an example."""

    call, words = "to_torch", "PyTorch"

    def __init__(
        self, program: Program, dtype: torch.dtype, params: Any, numbers: Any, exact: bool
    ) -> None:
        self.dtype = dtype
        super().__init__(program, least=LEAST, exact=exact)
        leaves = [*self.from_vector(params), *self.from_numbers([numbers])]
        recorder = Recorder(dtype, leaves)
        results, checks = arrays.run(self.plan, recorder, recorder.leaves)
        self._found = [float(check.tensor) for check in checks]
        self._results, self._recording = len(results), Recording(recorder, [*results, *checks])

    def flat(self, numbers: Any) -> Array:
        """Make a flat tensor."""
        return torch.as_tensor(numbers).reshape(-1)

    def number(self, x: Array, is_index: bool) -> Array:
        """Make numbers of what was given; indices stay whole, what is none is out of all bounds."""
        if not is_index:
            return x.to(self.dtype)
        if x.is_floating_point():
            is_whole = (x == x.floor()) & (x.abs() < -_NO_INDEX)
            x = torch.where(is_whole, x, torch.full_like(x, _NO_INDEX))
        return x.to(torch.int64)

    def split(self, x: Array, sizes: list[int]) -> Sequence[Array]:
        """Cut a flat tensor into parts."""
        return x.split(sizes) if sizes else ()

    def join(self, parts: Sequence[Array]) -> Array:
        """Put flat tensors side by side."""
        return torch.cat(list(parts))

    def run(self, leaves: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """Return the results, and what the guards look at."""
        found = self._recording.run(leaves)
        return found[: self._results], found[self._results :]

    def checks(self, params: Array, numbers: Any) -> Sequence[Any]:
        """Return what the guards look at, as it was recorded."""
        return self._found


class TorchFunction(exported.Exported):
    """A traced function for PyTorch: `fn(params, *args)`. Made by `to_torch`."""

    lowered: Lowered

    def leaves(self, params: Tensor, numbers: Sequence[Any]) -> list[Tensor]:
        """Make the leaves of a program, where the parameters are."""
        return super().leaves(params, [_tensor(x, params.device) for x in numbers])

    def __call__(self, params: Any, *args: Any) -> Any:
        """Return what the function returns, as tensors."""
        if not isinstance(params, Tensor):
            raise TypeError(
                f"{self.__name__}(params, …): params is a tensor, got {type(params).__name__}."
            )
        return super().__call__(params, *args)

    def poison(self, holds: Array) -> Array:
        """Return 1 where guards hold, and nan elsewhere."""
        return poison(holds, self.lowered.dtype)

    def stacked(self, numbers: Sequence[Any]) -> Array:
        """Make one vector of numbers."""
        return torch.stack([torch.as_tensor(x, dtype=self.lowered.dtype) for x in numbers])


def _tensor(x: Any, device: torch.device) -> Tensor:
    """Make a tensor of numbers; PyTorch would round a plain float to 32 bits."""
    return torch.as_tensor(x if isinstance(x, Tensor) else np.asarray(x), device=device)


def to_torch(
    function: Function, example: Example, dtype: Any, guards: str, exact: bool
) -> tuple[TorchFunction, Tensor]:
    """Return `(fn, params)`; `compiler/api.py`, where users come in, tells what it takes."""
    kind = number_type(dtype)
    name, spec, flat = exported.traced("to_torch", function, example, guards)
    numbers = np.array([value.data for value in spec.captured])
    with torch.no_grad(), torch.device("cpu"):
        lowered = Lowered(spec.program, kind, numbers, np.array(flat.numbers), exact)
    lowered.calibrate(numbers, flat.numbers)
    params = torch.tensor(numbers, dtype=kind, requires_grad=True)
    return TorchFunction(spec, flat, lowered, name), params
