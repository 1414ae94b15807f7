"""Numbers that are read while a function is traced, and the outcomes of comparing them.

A function that is compiled runs once with real numbers. What it reads with `v.data`, what it is
given as an int, and what it compares must not become constants behind its back. So it gets objects:

- a `Reading` is a number that knows the node it comes from. Arithmetic on it stays open: it makes
  nodes. Whatever needs the number itself (`math.sqrt(r)`, `xs[r]`, `f"{r}"`) gets it, and the trace
  notes a guard: the program holds as long as that number is the same.
- a `Condition` is the outcome of a comparison: `where(c, a, b)` keeps it open, `if c:` notes a
  guard.

A Reading is no float on purpose: C code would take the number out of a float without asking.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, floor, trunc
from typing import Any, Protocol

import numpy as np

from ..coerce import is_number
from ..scalar import Value

__all__ = ["Argument", "Condition", "Reading", "Scribe", "open_builtins"]


class Scribe(Protocol):
    """What readings and conditions ask of the trace that they belong to."""

    def special(self, kind: str, operands: tuple[Any, ...], number: float) -> Value:
        """Make a node of an operation that only programs have."""

    def guard(self, node: Value, number: float, what: str) -> None:
        """Note that the program holds only while `node` has this number."""

    def largest(self, xs: Sequence[Any]) -> tuple[Any, Any]:
        """Return the largest of `xs`, with its derivative, and its position."""

    def highest(self, xs: Sequence[Any]) -> Reading:
        """Return the largest of `xs` as a number that is not followed."""

    def is_here(self) -> bool:
        """Tell whether this thread is the one that is traced."""


def _number(x: Any) -> Any:
    """Return the plain number of a Reading; anything else as it is."""
    return x.number if isinstance(x, Reading) else x


class Reading:
    """A number that was read from a node; see the top of the file."""

    __slots__ = ("_node", "_source", "number", "scribe")

    def __init__(
        self, scribe: Scribe, node: Value | None, number: float, source: Value | None = None
    ) -> None:
        self.scribe, self._node, self.number, self._source = scribe, node, number, source

    @property
    def node(self) -> Value:
        """The node it comes from; of one that was read, a node that no gradient passes."""
        if self._node is None:  # made when it is needed: most that are read are only compared
            self._node = self.scribe.special("hold", (self._source,), self.number)
        return self._node

    _traced_node = node  # the name by which rooms below ask for it

    @property
    def unheld(self) -> Value:
        """The node whose number this is, for operations that no gradient passes anyway."""
        return self.node if self._source is None else self._source

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance(x, int)`: what it would be outside. C code looks at the real type."""
        return type(self.number)

    # ---- arithmetic stays open ------------------------------------------------------------------

    def _combined(self, other: Any, compute: Any, swapped: bool = False) -> Any:
        if isinstance(other, Value):
            return compute(other, self.node) if swapped else compute(self.node, other)
        if not isinstance(other, Reading) and not is_number(other):
            return NotImplemented
        behind = other.node if isinstance(other, Reading) else other
        pair = (behind, self.node) if swapped else (self.node, behind)
        numbers = (_number(other), self.number) if swapped else (self.number, _number(other))
        number = compute(*numbers)  # raises as it would outside, before a node is made
        return Reading(self.scribe, compute(*pair), number)

    def __add__(self, other: Any) -> Any:
        return self._combined(other, operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._combined(other, operator.add, swapped=True)

    def __sub__(self, other: Any) -> Any:
        return self._combined(other, operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._combined(other, operator.sub, swapped=True)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple, str)):
            return other * int(self)
        return self._combined(other, operator.mul)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple, str)):
            return other * int(self)
        return self._combined(other, operator.mul, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Reading):
            bool(other)  # a guard: numbers divided by zero raise, at every call
        return self._combined(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, Value):
            bool(self)
        return self._combined(other, operator.truediv, swapped=True)

    def __neg__(self) -> Reading:
        return Reading(self.scribe, -self.node, -self.number)

    def __pos__(self) -> Reading:
        return self

    def __abs__(self) -> Reading:
        return Reading(self.scribe, abs(self.node), abs(self.number))

    # ---- comparisons stay open until somebody branches ------------------------------------------

    def _compared(self, kind: str, other: Any, holds: Any, swapped: bool = False) -> Any:
        behind = getattr(other, "_traced_node", other)
        if not isinstance(behind, Value) and not is_number(behind):
            return NotImplemented
        pair = (behind, self.node) if swapped else (self.node, behind)
        number = other._fields()[0] if isinstance(other, Value) else _number(other)
        outcome = bool(holds(number, self.number) if swapped else holds(self.number, number))
        node = self.scribe.special(kind, pair, float(outcome))
        return Condition(self.scribe, node, outcome)

    def __lt__(self, other: Any) -> Any:
        return self._compared("less", other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return self._compared("less_equal", other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return self._compared("less", other, operator.lt, swapped=True)

    def __ge__(self, other: Any) -> Any:
        return self._compared("less_equal", other, operator.le, swapped=True)

    def __eq__(self, other: object) -> Any:
        return self._compared("equal", other, operator.eq)

    def __ne__(self, other: object) -> Any:
        equal = self._compared("equal", other, operator.eq)
        return equal if equal is NotImplemented else ~equal

    def __bool__(self) -> bool:
        return bool(self != 0)

    # ---- what needs the number itself gets it, and leaves a guard --------------------------------

    def _settled(self) -> Any:
        self.scribe.guard(self.node, float(self.number), "a number that was read")
        return self.number

    def __float__(self) -> float:
        return float(self._settled())

    def __int__(self) -> int:
        return int(self._settled())

    def __index__(self) -> int:
        return operator.index(self._settled())

    def __hash__(self) -> int:
        return hash(self._settled())

    def __repr__(self) -> str:
        return repr(self._settled())

    def __format__(self, spec: str) -> str:
        return format(self._settled(), spec)

    def __round__(self, *digits: int) -> Any:
        return round(self._settled(), *digits)

    def __trunc__(self) -> int:
        found: int = trunc(self._settled())
        return found

    def __floor__(self) -> int:
        found: int = floor(self._settled())
        return found

    def __ceil__(self) -> int:
        found: int = ceil(self._settled())
        return found

    def __invert__(self) -> Any:
        return ~self._settled()

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if isinstance(other, Value):
            return self.node**other
        return pow(self._settled(), _plain(other), modulus)

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, Value):
            return other**self.node
        return other ** self._settled()

    def __array__(self, *how: Any, **more: Any) -> Any:
        return np.asarray(self._settled(), *how, **more)

    def __getattr__(self, name: str) -> Any:
        """Anything else that a number has (`is_integer`, `bit_length`, `real`)."""
        if name.startswith("_") or not hasattr(self.number, name):
            raise AttributeError(name)
        return getattr(self._settled(), name)

    # ---- as an index ----------------------------------------------------------------------------

    def _taken_from(self, rows: Any) -> Any:
        """`take(rows, self)`, with the index open."""
        number: Any = self.number
        at = operator.index(number)
        if not isinstance(rows, Sequence) and not hasattr(rows, "__array__"):
            return rows[self]
        chosen = rows[at]  # raises as it would outside
        if set(map(type, rows)) == {Value}:  # as most are, and there may be many
            return self.scribe.special("take", (self.node, *rows), _plain_number(chosen))
        if all(isinstance(x, (Value, Reading)) or is_number(x) for x in rows):
            node = self.scribe.special("take", (self.node, *rows), _plain_number(chosen))
            if any(isinstance(x, Value) for x in rows):
                return node
            return Reading(self.scribe, node, _number(chosen))
        widths = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else -1 for row in rows}
        if len(widths) > 1 or -1 in widths:
            return rows[operator.index(self)]
        return [self._taken_from([row[k] for row in rows]) for k in range(widths.pop())]


def _settle_and(compute: Any) -> Any:
    return lambda self, other: compute(self._settled(), _plain(other))


def _settle_after(compute: Any) -> Any:
    return lambda self, other: compute(_plain(other), self._settled())


for _name in ("floordiv", "mod", "divmod", "and", "or", "xor", "lshift", "rshift"):
    _compute = getattr(operator, f"{_name}_", None) or getattr(operator, _name, None) or divmod
    setattr(Reading, f"__{_name}__", _settle_and(_compute))
    setattr(Reading, f"__r{_name}__", _settle_after(_compute))


class Argument(Value):
    """A float that a traced function was given: a Value to compute with, a number to compare.

    A Value is equal to itself alone, and always true. Outside, the argument is a float, so tests of
    it are those of a number.
    """

    scribe: Scribe

    def _read(self) -> Reading:
        return Reading(self.scribe, self, self._fields()[0])

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Value) and not isinstance(other, Argument):
            return NotImplemented
        return self._read() == (other._read() if isinstance(other, Argument) else other)

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    def __bool__(self) -> bool:
        return bool(self._read())

    def __hash__(self) -> int:
        return hash(self._read())


class Condition(Reading):
    """The outcome of a comparison: a Reading of 1.0 or 0.0 that can be branched on."""

    __slots__ = ()

    def __bool__(self) -> bool:
        self.scribe.guard(self.node, float(self.number), "a branch")
        return bool(self.number)

    def _with(self, kind: str, other: Any, holds: bool) -> Any:
        node = other.node if isinstance(other, Condition) else float(bool(other))
        both = self.scribe.special(kind, (self.node, node), float(holds))
        return Condition(self.scribe, both, holds)

    def __and__(self, other: Any) -> Any:
        return self._with("both", other, bool(self.number and _number(other)))

    def __or__(self, other: Any) -> Any:
        return self._with("either", other, bool(self.number or _number(other)))

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        node = self.scribe.special("invert", (self.node,), float(not self.number))
        return Condition(self.scribe, node, not self.number)

    __hash__ = Reading.__hash__


def _plain(x: Any) -> Any:
    return x._settled() if isinstance(x, Reading) else x


def _plain_number(x: Any) -> float:
    return float(x._fields()[0]) if isinstance(x, Value) else float(_number(x))


# ---- max and min ---------------------------------------------------------------------------------


@contextmanager
def open_builtins(scribe: Scribe) -> Iterator[None]:
    """Have the built-in `max` and `min` keep traced numbers open while a function is traced.

    They would compare, and so tie the program to the place of the largest. For whatever is not
    traced, in this thread or in others, they do what they always do.
    """
    plain_max, plain_min = builtins.max, builtins.min

    def opened(plain: Any, flip: Any) -> Any:
        def choose(*arguments: Any, **options: Any) -> Any:
            if options or not arguments:
                return plain(*arguments, **options)
            if len(arguments) == 1:
                arguments = (list(arguments[0]),)
                xs = arguments[0]
            else:
                xs = list(arguments)
            if not any(_belongs(x, scribe) for x in xs):
                return plain(*arguments)
            if not all(isinstance(x, (Reading, Value)) or is_number(x) for x in xs):
                return plain(*arguments)
            flipped = [flip(x) for x in xs]
            if any(isinstance(x, Value) for x in xs):
                return scribe.largest(flipped)[1]._taken_from(xs)
            return flip(scribe.highest(flipped))

        return choose

    builtins.max = opened(plain_max, lambda x: x)
    builtins.min = opened(plain_min, lambda x: -x)
    try:
        yield
    finally:
        builtins.max, builtins.min = plain_max, plain_min


def _belongs(x: Any, scribe: Scribe) -> bool:
    return (isinstance(x, Reading) and x.scribe is scribe) or (
        isinstance(x, Value) and scribe.is_here()
    )
