"""Derivatives of many results, worked out when somebody asks for them.

A call that returns five hundred Values makes five hundred nodes, and most of them will be added up
before anybody calls `backward()`. So a node gets a promise of its local derivatives in place of the
derivatives, and the first that is asked computes a block of rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core.parameters import read_data
from ..scalar import Value
from .arguments.structure import Flat
from .backends.numpy import Batch
from .ir.program import NOT_FINITE
from .machine import NotFinite
from .specialization import Purpose, Specialization

_ROWS = Purpose("jacobian", "values")
_BLOCK = 64  # rows that are computed together


class Jacobian:
    """The local derivatives of all results of one call, by its operands."""

    def __init__(self, spec: Specialization, flat: Flat, operands: tuple[Value, ...]) -> None:
        self._spec = spec
        self._numbers = np.array(flat.numbers, dtype=np.float64)
        self._captured = np.empty(len(spec.captured))
        read_data(spec.captured, self._captured)
        self._places = [at for at, _ in flat.sources]
        self._width = len(operands)
        self._blocks: dict[int, Any] = {}

    def row(self, result: int) -> Row:
        """Promise the derivatives of a result."""
        return Row(self, result, self._width)

    def of(self, result: int) -> list[float]:
        """Return the derivatives of a result."""
        block = result // _BLOCK
        if block not in self._blocks:
            try:
                self._blocks[block] = self._computed(self._spec, block)
            except NotFinite:
                self._blocks[block] = self._computed(self._spec.exactly(), block)
        found: list[float] = self._blocks[block][result % _BLOCK].tolist()
        return found

    def _computed(self, spec: Specialization, block: int) -> Any:
        machine = spec.machine(_ROWS)
        program, values = machine.program, machine.values
        results = len(program.results)
        first = block * _BLOCK
        count = min(_BLOCK, results - first)
        weights = np.zeros((count, results))
        weights[np.arange(count), first + np.arange(count)] = 1.0
        inputs = program.inputs - results  # the weights are inputs too, behind the others
        table = np.empty((count, inputs))
        with machine.lock:
            # The exact programs may have what is captured in another order.
            order = {id(value): at for at, value in enumerate(self._spec.captured)}
            places = [order[id(value)] for value in spec.captured]
            values[: program.parameters] = self._captured[places]
            values[program.parameters : inputs] = self._numbers
            columns, outputs = ((inputs, weights),), ((program.adjoints, table),)
            rows = Batch(count, columns, outputs, threads=1)
            _, failed = machine.prepared.batch(values, rows)
        if failed is not None and failed[0] == NOT_FINITE:
            raise NotFinite
        found = np.empty((count, self._width))
        found[:, places] = table[:, : program.parameters]
        found[:, len(places) :] = table[:, [program.parameters + at for at in self._places]]
        return found


class Row(Sequence[float]):
    """The local derivatives of one result."""

    def __init__(self, of: Jacobian, result: int, width: int) -> None:
        self._of, self._result, self._width = of, result, width

    def __len__(self) -> int:
        return self._width

    def __iter__(self) -> Iterator[float]:
        return iter(self._of.of(self._result))

    def __getitem__(self, at: Any) -> Any:
        return self._of.of(self._result)[at]

    def __reduce__(self) -> Any:
        return tuple, (self._of.of(self._result),)
