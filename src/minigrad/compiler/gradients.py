"""Derivatives of a result as numbers: by Value, and in the structure of the arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.display import code, table
from ..core.names import brief, cut, parameter_names, short
from ..scalar import Value
from .arguments.structure import Flat, restore
from .specialization import Specialization

COLUMNS = 200  # of the derivatives by the arguments, in a repr


class Gradients(Mapping[Value, float]):
    """Derivatives of a result: by Value, `grads[p]`, and in the structure of the arguments.

    `numbers` has one for each of `parameters`, which are the Values that the function closes over.
    """

    __slots__ = (
        *("_by_value", "_kept", "_key", "_of_args", "_skipped", "_sources", "_trees"),
        *("numbers", "parameters"),
    )

    def __init__(
        self, parameters: tuple[Value, ...], numbers: Any, of_args: Any, flat: Flat, kept: Any
    ) -> None:
        self.parameters = parameters
        self.numbers = numbers
        self._of_args = of_args  # one for each number of the arguments
        self._key = flat.key
        self._sources = flat.sources
        self._kept = kept
        # Made when somebody asks; training loops often do not.
        self._by_value: dict[int, float] | None = None
        self._trees: tuple[Any, Any] | None = None
        self._skipped = 0  # arguments that were not given by the caller: `self`

    @property
    def args(self) -> Any:
        """The derivatives by the arguments, in their structure."""
        return self._restored()[0][self._skipped :]

    @property
    def kwargs(self) -> Any:
        """The derivatives by the arguments that were given by name."""
        return self._restored()[1]

    def _restored(self) -> tuple[Any, Any]:
        if self._trees is None:
            args, kwargs = self._key
            numbers = iter(self._of_args.tolist())
            of_args = restore(args, numbers, self._kept)
            of_kwargs = {} if kwargs is None else restore(kwargs, numbers, self._kept)
            self._trees = of_args, of_kwargs
        return self._trees

    def _table(self) -> dict[int, float]:
        if self._by_value is None:
            table = dict(zip(map(id, self.parameters), self.numbers.tolist(), strict=True))
            for at, value in self._sources:
                table[id(value)] = table.get(id(value), 0.0) + float(self._of_args[at])
            self._by_value = table
        return self._by_value

    def __getitem__(self, value: Value) -> float:
        table = self._table()
        if id(value) not in table:
            raise KeyError(f"{value!r} is no argument of the function and not used by it")
        return table[id(value)]

    def __iter__(self) -> Iterator[Value]:
        values = [*self.parameters, *(value for _, value in self._sources)]
        return iter({id(value): value for value in values}.values())

    def __len__(self) -> int:
        return len(self._table())

    def __getstate__(self) -> tuple[Any, ...]:
        """What a copy needs: nothing that is told by the identity of an object."""
        return self.parameters, self.numbers, self._of_args, self._sources, self.args, self.kwargs

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.parameters, self.numbers, self._of_args, self._sources, *trees = state
        self._trees = (trees[0], trees[1])
        self._key = self._kept = self._by_value = None
        self._skipped = 0

    def __repr__(self) -> str:
        return (
            f"Gradients(args={cut(repr(self.args), COLUMNS)}, parameters: {len(self.parameters)})"
        )

    def _repr_html_(self) -> str:
        rows = [
            (short(name), brief(number))
            for name, number in zip(parameter_names(self.parameters), self.numbers, strict=True)
        ]
        found = code(f"by the arguments: {cut(repr(self.args), COLUMNS)}")
        return found + (table(("by", "derivative"), rows, right=(1,)) if rows else "")


def gradients_of(spec: Specialization, found: Any, flat: Flat) -> Gradients:
    """Hand out the derivatives by all inputs of a program."""
    count = len(spec.captured)
    of_args = found[count:]
    for at in spec.wholes:
        of_args[at] = 0.0
    return Gradients(spec.captured, found[:count], of_args, flat, spec.kept)
