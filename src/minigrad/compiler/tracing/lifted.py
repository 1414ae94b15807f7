"""Floats that a function is given, as Values: they have derivatives, and still answer like numbers.

An `Argument` is given to a function that is traced, a `Lifted` to one that is run as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import ceil, floor, trunc
from typing import Any, NoReturn

from ...core.names import is_ours
from ...scalar import Value
from .proxies import TracedNumber, concrete, opposite


def _of_number(compute: Any) -> Any:
    return lambda self: compute(self._number())


class Stepped(Value):
    """What a float answers like a number also where it is a Value: steps have no slope."""

    context: Any = None  # who follows it, if anybody does
    _number: Callable[[], float]  # asked while a function is traced, it leaves a guard
    _compared: Callable[[], Any]  # what is compared in its place

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance(x, float)` in a function that was given one: outside it is."""
        asks = sys._getframe(1).f_globals.get("__name__")
        return type(self) if is_ours(asks) else float

    def _read(self) -> TracedNumber:
        return TracedNumber(self.context, self, self._fields()[0])

    @property
    def _traced_node(self) -> Value:
        return self

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Value) and not isinstance(other, Stepped):
            return Value.__eq__(other, self)  # it may be made of numbers
        return self._compared() == (other._compared() if isinstance(other, Stepped) else other)

    def __ne__(self, other: object) -> Any:
        return opposite(self.__eq__(other))

    def __bool__(self) -> bool:
        return bool(self._compared())

    def __hash__(self) -> int:
        return hash(self._compared())

    def __round__(self, *digits: int) -> Any:
        return round(self._number(), *digits)

    __int__ = _of_number(int)
    __trunc__ = _of_number(trunc)
    __floor__ = _of_number(floor)
    __ceil__ = _of_number(ceil)

    def __floordiv__(self, other: Any) -> Any:
        return self._number() // concrete(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return concrete(other) // self._number()

    def __mod__(self, other: Any) -> Any:
        """The rest grows with the number: a slope of 1, until the next step."""
        if isinstance(other, Value):
            return NotImplemented
        return Value(self._number() % concrete(other), (self,), (1.0,))

    def __rmod__(self, other: Any) -> Any:
        """What is taken off is a whole number of times the divisor."""
        number, other = self._number(), concrete(other)
        return Value(other % number, (self,), (-(other // number),))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


class Argument(Stepped):
    """A float that a traced function was given: a Value to compute with, a number to compare.

    A Value is equal to itself alone, and always true. Outside, the argument is a float, so tests of
    it are those of a number, and it can be rounded.
    """

    def _compared(self) -> TracedNumber:
        return self._read()

    def __float__(self) -> NoReturn:
        raise TypeError(
            "a number that a compiled function was given is a Value inside, to have derivatives. "
            "Write minigrad.sin(t) or t.sin(); math.sin(t) is followed too, where it is called by "
            "that name. For the number alone: t.data."
        )

    def __index__(self) -> NoReturn:
        raise TypeError(
            "an index is a whole number, and a compiled function was given a float here: write "
            "int(i), or give it an int."
        )

    def _number(self) -> float:
        number: float = self._read()._concretise()
        return number


class Lifted(Stepped):
    """A float as a Value; compared, asked for its truth or rounded, it is still that number."""

    def __float__(self) -> Any:
        return self.data if self.context is None else super().__float__()

    def _number(self) -> float:
        return self.data

    _compared = _number


Argument.__name__ = Lifted.__name__ = "float"  # in what Python says of them, as outside
