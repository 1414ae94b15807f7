"""Traced functions as functions of an array library: what `to_jax` and `to_torch` have in common.

A `Lowered` is a program that a library runs, an `Exported` the function around it: a flat vector of
parameters and the arguments in, whatever the function returns out. Start at `traced`.
"""

from __future__ import annotations

import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, isnan
from typing import Any, TypeAlias

import numpy as np

from ...core.names import parameter_names, plural
from ...errors import GuardError
from ...scalar import Value
from ..arguments.given import as_numpy, given_numbers
from ..arguments.structure import Flat
from ..function import Compiled
from ..ir.program import Program
from ..specialization import Specialization
from ..tracing.proxies import rewrite_of
from ..views.plan import Plan
from ..views.planner import plan

Array = Any
Function: TypeAlias = Callable[..., Any]
Example: TypeAlias = "tuple[Any, ...]"  # arguments to trace a function with


def traced(
    call: str, function: Function, example: Example, guards: str
) -> tuple[str, Specialization, Flat]:
    """Trace a function for `call`; return its name, what was traced, and the example's numbers."""
    if guards not in ("nan", "error"):
        raise ValueError(f"{call}(guards={guards!r}): choose 'nan' or 'error'.")
    compiled = function if isinstance(function, Compiled) else Compiled(function)
    example = as_numpy(example)
    spec, flat = compiled.dispatch.replay_or_refuse(example, {}, lambda spec, flat: (spec, flat))
    if spec.program.guards and guards == "error":
        what = spec.program.guards[0].what
        raise GuardError(
            f"{call}: {compiled.__name__} decides by its numbers ({what}). {rewrite_of(what)}"
        )
    return compiled.__name__, spec, flat


class Lowered(ABC):
    """A program as a function of its leaves, for one type of numbers."""

    call: str  # who makes it: "to_jax"
    words: str  # what people call the library: "JAX"

    def __init__(self, program: Program, *, least: float, exact: bool) -> None:
        self.plan: Plan = plan(program, least=least, exact=exact)
        self.guards = [guard.number for guard in program.guards]
        leaves = self.plan.leaves[: self.plan.parameters]
        self._sizes = [leaf.end - leaf.first for leaf in leaves]

    def __repr__(self) -> str:
        return f"<a program for {self.words}: {plural(len(self.plan.steps), 'array operation')}>"

    @abstractmethod
    def flat(self, numbers: Any) -> Array:
        """Make a flat array of the library."""

    @abstractmethod
    def number(self, x: Array, is_index: bool) -> Array:
        """Make numbers of what was given; indices stay whole, what is none is out of all bounds."""

    @abstractmethod
    def split(self, x: Array, sizes: list[int]) -> Sequence[Array]:
        """Cut a flat array into parts; the gradient of that is a concatenation."""

    @abstractmethod
    def join(self, parts: Sequence[Array]) -> Array:
        """Put flat arrays side by side."""

    @abstractmethod
    def run(self, leaves: Sequence[Array]) -> tuple[list[Array], list[Array]]:
        """Return the results, and what the guards look at."""

    @abstractmethod
    def checks(self, params: Array, numbers: Any) -> Sequence[Any]:
        """Return what the guards look at, for an example."""

    def from_vector(self, params: Array) -> list[Array]:
        """Make leaves of the vector of what is captured."""
        return list(self.split(self.number(self.flat(params), False), self._sizes))

    def from_numbers(self, numbers: Sequence[Any], everything: bool = False) -> list[Array]:
        """Make leaves of the arguments' numbers and arrays, in order, or of `everything`."""
        flat = list(map(self.flat, numbers))
        ends = np.cumsum([x.shape[0] for x in flat]).tolist()
        skipped = 0 if everything else self.plan.program.parameters
        found = []
        for leaf in self.plan.leaves[0 if everything else self.plan.parameters :]:
            a, b = leaf.first - skipped, leaf.end - skipped
            parts = []
            for x, end in zip(flat, ends, strict=True):
                start = end - x.shape[0]
                if start < b and a < end:
                    whole = a <= start and end <= b
                    part = x if whole else x[max(a, start) - start : b - start]
                    parts.append(self.number(part, leaf.is_index))
            found.append(parts[0] if len(parts) == 1 else self.join(parts))
        return found

    def calibrate(self, params: Array, numbers: Any) -> None:
        """Have the guards ask for what comes out for the example: libraries round differently."""
        checks = self.checks(params, numbers)
        for at, (found, number) in enumerate(zip(map(float, checks), self.guards, strict=True)):
            margin = 1e-6 * max(1.0, abs(number)) if isfinite(number) else 0.0
            if not (
                found == number or abs(found - number) <= margin or (isnan(found) and isnan(number))
            ):
                guard = self.plan.program.guards[at]
                raise GuardError(
                    f"{self.call}: on the example itself {self.words} goes another way "
                    f"({guard.what}): a number there is on the edge. Give an example further from "
                    "it."
                )
            self.guards[at] = found


def guards_hold(guards: Sequence[float], checks: Sequence[Array]) -> Array:
    """Tell whether all guards hold: each is a number that must come out again."""
    holds = [
        ~(found == found) if isnan(number) else found == number  # noqa: PLR0124
        for number, found in zip(guards, checks, strict=True)
    ]
    return functools.reduce(operator.and_, holds, True)


class Exported(ABC):
    """A traced function for an array library: `fn(params, *args)`."""

    def __init__(self, spec: Specialization, flat: Flat, lowered: Lowered, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = (
            f"{name} as a {lowered.words} function of a vector of parameters and its arguments."
        )
        self.parameters: tuple[Value, ...] = spec.captured
        self.names: tuple[str, ...] = tuple(parameter_names(spec.captured))
        self.lowered, self._spec, self._structure = lowered, spec, flat.key[0]

    def __repr__(self) -> str:
        count = plural(len(self.parameters), "parameter")
        return f"<{self.__name__} as a {self.lowered.words} function of {count} and its arguments>"

    @abstractmethod
    def poison(self, holds: Array) -> Array:
        """Return 1 where guards hold, and nan elsewhere."""

    @abstractmethod
    def stacked(self, numbers: Sequence[Any]) -> Array:
        """Make one vector of numbers."""

    def leaves(self, params: Array, numbers: Sequence[Any]) -> list[Array]:
        """Make the leaves of a program."""
        return [*self.lowered.from_vector(params), *self.lowered.from_numbers(numbers)]

    def __call__(self, params: Any, *args: Any) -> Any:
        """Return what the function returns, as arrays."""
        count, given = len(self.parameters), tuple(np.shape(params))
        if given != (count,):
            raise TypeError(
                f"{self.__name__}(params, …): params is one vector of {count} numbers, got shape "
                f"{given}."
            )
        numbers = given_numbers(self._structure, args, self.__name__)
        results, checks = self.lowered.run(self.leaves(params, numbers))
        if checks:
            # A factor: where a guard fails, value and gradient are nan. A choice would give 0.
            poison = self.poison(guards_hold(self.lowered.guards, checks))
            results = [result * poison for result in results]
        return self._spec.template.filled(lambda k: results[k])

    def unflatten(self, params: Any) -> dict[str, Any]:
        """Return the numbers of a vector, parameters or gradients, by name."""
        return dict(zip(self.names, params, strict=True))

    def flatten(self, named: Mapping[str, Any]) -> Any:
        """Make a vector of numbers by name."""
        if set(named) != set(self.names):
            missing = sorted(set(self.names) - set(named)) or sorted(set(named) - set(self.names))
            raise KeyError(f"{self.__name__}: {missing[0]!r} is in one of the two only.")
        return self.stacked([named[name] for name in self.names])
