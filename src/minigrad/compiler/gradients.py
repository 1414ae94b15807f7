"""Derivatives of a result as numbers: by Value, and in the structure of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.display import code, table
from ..core.names import brief, cut, parameter_names, short
from ..scalar import Value
from .arguments.structure import Flat, restore
from .specialization import Specialization

COLUMNS = 200  # of the derivatives by the arguments, in a repr


class Origin(NamedTuple):
    """What derivatives are by: the Values that a function closes over, and its arguments."""

    parameters: tuple[Value, ...]
    key: Any  # of the arguments
    kept: Any  # objects in it
    later: Callable[[Any], Any] | None = None  # makes those by the arguments of all inputs


class _Made:
    """What is made of derivatives when somebody asks for it."""

    of_args: Any = None
    by_value: dict[int, float] | None = None
    trees: tuple[Any, Any] | None = None
    skipped = 0  # arguments that were not given by the caller


class Gradients(Mapping[Value, float]):
    """Derivatives of a result: by Value, `grads[p]`, and in the structure of the arguments.

    `numbers` has one for each of `parameters`, which are the Values that the function closes over.
    """

    # C makes instances too, and fills in all of these: `find_slots` in native/vm/repeat.c.
    __slots__ = ("_by", "_found", "_made", "_sources")

    def __init__(self, by: Origin, found: Any, sources: Sequence[tuple[int, Value]]) -> None:
        self._by = by
        # Bytes or an array: one for each parameter, then for each argument; with `by.later`, then
        # the inputs.
        self._found = found
        self._sources = sources
        self._made: _Made | None = None  # when somebody asks; training loops often do not

    @property
    def parameters(self) -> tuple[Value, ...]:
        """The Values that the function closes over."""
        return self._by.parameters

    @property
    def numbers(self) -> Any:
        """The derivatives by them, an array."""
        return self._array()[: len(self._by.parameters)]

    @property
    def _of_args(self) -> Any:
        """The derivatives by the numbers of the arguments, an array."""
        rest, later = self._array()[len(self._by.parameters) :], self._by.later
        if later is None:
            return rest
        made = self._lazily()
        if made.of_args is None:
            made.of_args = later(rest)
        return made.of_args

    def _array(self) -> Any:
        if type(self._found) is bytes:
            self._found = np.array(memoryview(self._found).cast("d"))
        return self._found

    def _lazily(self) -> _Made:
        if self._made is None:
            self._made = _Made()
        return self._made

    def without_first(self) -> Gradients:
        """Leave out the first argument, which the caller has not given: `self`."""
        self._lazily().skipped = 1
        return self

    @property
    def args(self) -> Any:
        """The derivatives by the arguments, in their structure."""
        return self._restored()[0][self._lazily().skipped :]

    @property
    def kwargs(self) -> Any:
        """The derivatives by the arguments that were given by name."""
        return self._restored()[1]

    def _restored(self) -> tuple[Any, Any]:
        made = self._lazily()
        if made.trees is None:
            args, kwargs = self._by.key
            numbers, kept = iter(self._of_args.tolist()), self._by.kept
            of_args = restore(args, numbers, kept)
            of_kwargs = {} if kwargs is None else restore(kwargs, numbers, kept)
            made.trees = of_args, of_kwargs
        return made.trees

    def _table(self) -> dict[int, float]:
        made = self._lazily()
        if made.by_value is None:
            table = dict(zip(map(id, self.parameters), self.numbers.tolist(), strict=True))
            of_args = self._of_args
            for at, value in self._sources:
                table[id(value)] = table.get(id(value), 0.0) + float(of_args[at])
            made.by_value = table
        return made.by_value

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
        found = np.concatenate([self.numbers, self._of_args])
        return self.parameters, found, self._sources, self.args, self.kwargs

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        parameters, found, sources, args, kwargs = state
        self.__init__(Origin(parameters, None, None), found, sources)  # type: ignore[misc]
        self._lazily().trees = (args, kwargs)

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


def origin(spec: Specialization, key: Any, with_arguments: bool = True) -> Origin:
    """What the derivatives of a program are by, its arguments having this key."""
    return Origin(spec.captured, key, spec.kept, None if with_arguments else spec.by_arguments)


def gradients_of(spec: Specialization, found: Any, flat: Flat) -> Gradients:
    """Hand out the derivatives by all inputs of a program."""
    count = len(spec.captured)
    for at in spec.wholes:
        found[count + at] = 0.0
    return Gradients(origin(spec, flat.key), found, flat.sources)
