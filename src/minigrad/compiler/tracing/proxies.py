"""Numbers that are read while a function is traced, and the outcomes of comparing them.

A function that is compiled runs once with real numbers. What it reads with `v.data`, what it is
given as an int, and what it compares must not become constants behind its back. So it gets proxies:

- a `TracedNumber` is a number that knows the node it comes from. Arithmetic on it stays symbolic:
  it makes nodes. Whatever needs the number itself (`math.sqrt(r)`, `xs[r]`, `f"{r}"`) makes it
  concrete, and the trace notes a guard: the program holds as long as that number is the same.
- a `TracedBool` is the outcome of a comparison: `where(c, a, b)` keeps it open, `if c:` notes a
  guard.
- an `Argument` (`lifted.py`) is a float that the function was given: a Value that still answers
  like a number.

A TracedNumber is no float on purpose: C code would take the number out of a float without asking.
When the trace is over, whatever is left of them anywhere is a plain number (`_cut`).

Programs compute in float64, whole numbers too. So every whole number that comes out of others is
guarded to stay below 2**53, where floats have gaps; beyond, the program is tied to the operands.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextvars import ContextVar
from math import ceil, floor, inf, trunc
from typing import Any, Protocol

import numpy as np

from ...core.coerce import is_number
from ...scalar import Value
from .texts import is_formatting

# What guards are called that keep them.
BRANCH, INDEX, WHICH = "a branch", "an index", "which Value it is"
EXACT, EXACT_F32 = 2**53, 2**24  # whole numbers beyond have no float, or float32, of their own
exact: ContextVar[int] = ContextVar("exact", default=EXACT)  # for traces that are begun here


def rewrite_of(what: str) -> str:
    """Say how to write what a guard was noted for, so that it stays open."""
    if what.startswith(INDEX):
        return "Write minigrad.take(rows, i) for rows[i] there: then any index will do."
    if what.startswith(WHICH):
        return "What max, min and take choose is open, unless is, == or index(…) asks which it is."
    return "Write the choice with where(condition, a, b), or keep the number open."


class TraceContext(Protocol):
    """What readings and conditions ask of the trace that they belong to."""

    watched: frozenset[int]  # lists whose changes are noticed, by id
    exact: int  # whole numbers up to here are told apart by the program

    # Make a node of an operation that only programs have.
    def special(self, kind: str, operands: tuple[Any, ...], number: float) -> Value: ...
    # The program holds only while `node` has this number.
    def guard(self, node: Value, number: float, what: str) -> None: ...
    # The largest of `xs`, with its derivative, and its position; or as a number, not followed.
    def largest(self, xs: Sequence[Any]) -> tuple[Any, Any]: ...
    def highest(self, xs: Sequence[Any]) -> TracedNumber: ...
    def is_here(self) -> bool: ...  # whether this thread is the one that is traced
    def is_whole(self, node: Value) -> None: ...  # it was an index, a size, a count, an exponent
    def drew(self) -> None: ...  # a random number came from where no state tells of it
    def is_only_shown(self) -> bool: ...  # whether the text being made is only to be looked at
    def born(self, reading: TracedNumber) -> None: ...  # one more, to be closed with the trace


def _number(x: Any) -> Any:
    """Return the plain number of a TracedNumber; anything else as it is."""
    return x.number if isinstance(x, TracedNumber) else x


# Operators of a TracedNumber, by what becomes of it: arithmetic and comparisons stay symbolic, the
# others make it concrete.


def _symbolic(compute: Any) -> Any:
    return (
        lambda self, other: self._combined(other, compute),
        lambda self, other: self._combined(other, lambda a, b: compute(b, a)),
    )


def _unary(compute: Any) -> Any:
    def operation(self: TracedNumber) -> Any:
        number = compute(self.number)
        if self.context is None:
            return number
        return TracedNumber(self.context, compute(self.node), number, reach=self.reach)

    return operation


def _comparison(kind: str, holds: Any, swapped: bool = False) -> Any:
    return lambda self, other: self._compared(kind, other, holds, swapped)


def _concrete(compute: Any) -> Any:
    return lambda self: compute(self._concretise())


def _both_concrete(compute: Any) -> Any:
    return (
        lambda self, other: compute(self._concretise(), concrete(other)),
        lambda self, other: compute(concrete(other), self._concretise()),
    )


class TracedNumber:
    """A number that was read from a node; see the top of the file."""

    __slots__ = ("_node", "_source", "context", "number", "reach")

    def __init__(
        self,
        context: TraceContext | None,
        node: Value | None,
        number: Any,
        source: Value | None = None,
        reach: int | None = None,
    ) -> None:
        # No context: the trace is over, and this is a number like any other.
        self.context, self._node, self.number, self._source = context, node, number, source
        self.reach = reach or EXACT  # of a whole number: no replay sees one that is larger
        if context is not None:
            self.reach = reach or context.exact
            context.born(self)

    @property
    def node(self) -> Value:
        """The node it comes from; of one that was read, a node that no gradient passes."""
        if self._node is None:  # made when it is needed: most that are read are only compared
            assert self.context is not None
            self._node = self.context.special("stop_gradient", (self._source,), self.number)
        return self._node

    @property
    def _traced_node(self) -> Any:
        """The node, as modules below ask for it; the number when the trace is over."""
        return self.number if self.context is None else self.node

    @property
    def unheld(self) -> Value:
        """The node whose number this is, for operations that no gradient passes anyway."""
        return self.node if self._source is None else self._source

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For `isinstance(x, int)`: what it would be outside. C code looks at the real type."""
        return type(self.number)

    @property
    def is_int(self) -> bool:
        return isinstance(self.number, int)

    # ---- arithmetic stays open ------------------------------------------------------------------

    def _combined(self, other: Any, compute: Any) -> Any:
        if self.context is None:
            return compute(self.number, other)
        if isinstance(other, Value):
            return compute(self.node, other)
        if not isinstance(other, TracedNumber) and not is_number(other):
            return NotImplemented
        try:
            number = compute(self.number, _number(other))
        except ArithmeticError:  # as outside, where somebody may catch it
            concrete(other), self._concretise()
            raise
        reach, most = None, self.context.exact
        if isinstance(number, int):
            p, q = (x.reach if isinstance(x, TracedNumber) else abs(int(x)) for x in (self, other))
            reach = max(abs(compute(p, q)), abs(compute(p, -q)))  # in any replay
            if abs(number) >= most or q > most:  # more than the program could tell apart
                return compute(self._concretise(), concrete(other))
        node = compute(self.node, other.node if isinstance(other, TracedNumber) else other)
        return self._whole(TracedNumber(self.context, node, number, reach=reach))

    def _whole(self, result: TracedNumber) -> TracedNumber:
        """See to it that a whole number is one in every replay."""
        context = self.context
        if context is not None and result.is_int and result.reach > context.exact:
            # A guard. The number 2**53 itself may be one that was rounded.
            bool(abs(TracedNumber(context, result.node, float(result.number))) < context.exact)
            result.reach = context.exact
        return result

    __add__, __radd__ = _symbolic(operator.add)
    __sub__, __rsub__ = _symbolic(operator.sub)

    _times, _times_swapped = _symbolic(operator.mul)

    def __mul__(self, other: Any) -> Any:
        return other * int(self) if isinstance(other, (list, tuple, str)) else self._times(other)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple, str)):
            return other * int(self)
        return self._times_swapped(other)

    _over, _under = _symbolic(operator.truediv)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, TracedNumber):
            bool(other)  # a guard: numbers divided by zero raise, at every call
        return self._over(other)

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, Value):
            bool(self)
        return self._under(other)

    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)
    __abs__ = _unary(abs)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if isinstance(other, Value) and self.context is not None:
            return self.node**other
        power = concrete(other)
        if self.context is None or modulus is not None or not is_number(power):
            return pow(self._concretise(), power, modulus)
        try:
            number = self.number**power
        except ArithmeticError:
            self._concretise()
            raise
        if isinstance(number, int):
            if abs(number) >= self.context.exact or not isinstance(power, int):
                return self._concretise() ** power
            reach = self.reach**power if power < 64 else EXACT + 1
            return self._whole(TracedNumber(self.context, self.node**power, number, reach=reach))
        if not isinstance(number, float) or not (self > 0 or float(power).is_integer()):
            return self._concretise() ** power
        if power < 0:
            bool(self)  # a guard: 0 ** -1 raises
        if not abs(number) < inf:  # and such a number would raise where this one does not
            return self._concretise() ** power
        return _finite(TracedNumber(self.context, self.node**power, number))

    def __rpow__(self, other: Any) -> Any:
        if isinstance(other, Value):
            return other ** (self._as_exponent() if self.is_int else self._traced_node)
        if self.context is None or self.is_int or not is_number(other) or other <= 0:
            return other ** self._concretise()
        try:
            number = other**self.number
        except ArithmeticError:
            self._concretise()
            raise
        if not abs(number) < inf:
            return other ** self._concretise()
        return _finite(TracedNumber(self.context, other**self.node, number))

    def _as_exponent(self) -> Any:
        """A whole number as an exponent is no number to differentiate by: x**n as x**2."""
        if self.context is None:
            return self.number
        self.context.is_whole(self.node)
        return self.context.special("stop_gradient", (self.node,), float(self.number))

    # ---- comparisons stay open until somebody branches ------------------------------------------

    def _compared(self, kind: str, other: Any, holds: Any, swapped: bool = False) -> Any:
        number = other._fields()[0] if isinstance(other, Value) else _number(other)
        if self.context is None:
            return holds(self.number, number)
        behind = getattr(other, "_traced_node", other)
        if not isinstance(behind, Value) and not is_number(behind):
            return NotImplemented
        most = self.context.exact if self.is_int else EXACT
        if isinstance(number, int) and abs(number) > most:  # a float is beside it
            return holds(self._concretise(), number)
        pair = (behind, self.node) if swapped else (self.node, behind)
        outcome = bool(holds(self.number, number))
        node = self.context.special(kind, pair, float(outcome))
        return TracedBool(self.context, node, outcome, reach=1)

    __lt__ = _comparison("less", operator.lt)
    __le__ = _comparison("less_equal", operator.le)
    __gt__ = _comparison("less", operator.gt, swapped=True)
    __ge__ = _comparison("less_equal", operator.ge, swapped=True)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Value):  # equal to itself alone, unless it is made of numbers
            return other.__eq__(self)
        return self._compared("equal", other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return opposite(self.__eq__(other))

    def __bool__(self) -> bool:
        return bool(self != 0)

    # ---- what needs the number itself gets it, and leaves a guard --------------------------------

    def _concretise(self, what: str = "a number that was read") -> Any:
        if self.context is not None:
            self.context.guard(self.node, float(self.number), what)
            if self.is_int:
                self.context.is_whole(self.node)
        return self.number

    __floordiv__, __rfloordiv__ = _both_concrete(operator.floordiv)
    __mod__, __rmod__ = _both_concrete(operator.mod)
    __divmod__, __rdivmod__ = _both_concrete(divmod)
    __and__, __rand__ = _both_concrete(operator.and_)
    __or__, __ror__ = _both_concrete(operator.or_)
    __xor__, __rxor__ = _both_concrete(operator.xor)
    __lshift__, __rlshift__ = _both_concrete(operator.lshift)
    __rshift__, __rrshift__ = _both_concrete(operator.rshift)

    def __float__(self) -> float:
        return float(self._shown() if is_formatting() else self._concretise())

    __int__ = _concrete(int)

    def __index__(self) -> int:
        return operator.index(self._concretise(INDEX))

    __trunc__ = _concrete(trunc)
    __floor__ = _concrete(floor)
    __ceil__ = _concrete(ceil)
    __invert__ = _concrete(operator.invert)

    def __hash__(self) -> int:
        return hash(self._concretise())

    def _shown(self) -> Any:
        if self.context is not None and self.context.is_only_shown():
            return self.number  # printed, when the function is traced
        return self._concretise()

    def __repr__(self) -> str:
        return repr(self._shown())

    def __format__(self, spec: str) -> str:
        return format(self._shown(), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies and pickles are of the number."""
        number = self._concretise()
        return type(number), (number,)

    def __round__(self, *digits: int) -> Any:
        return round(self._concretise(), *digits)

    def __array__(self, *how: Any, **more: Any) -> Any:
        return np.asarray(self._concretise(), *how, **more)

    def __getattr__(self, name: str) -> Any:
        """Anything else that a number has (`is_integer`, `bit_length`, `real`)."""
        if name.startswith("_") or not hasattr(self.number, name):
            raise AttributeError(name)
        return getattr(self._concretise(), name)

    def _cut(self) -> None:
        """Make a plain number of it: the trace is over."""
        self.context = self._node = self._source = None

    # ---- as an index ----------------------------------------------------------------------------

    def _taken_from(self, rows: Any) -> Any:
        """`take(rows, self)`, with the index open."""
        number: Any = self.number
        at = operator.index(number)
        is_a_row = isinstance(rows, Sequence) or hasattr(rows, "__array__")
        if self.context is None or not is_a_row:
            return rows[self]
        self.context.is_whole(self.node)
        chosen = rows[at]  # raises as it would outside
        if set(map(type, rows)) == {Value}:  # as most are, and there may be many
            return self.context.special("take", (self.node, *rows), plain_number(chosen))
        most = self.context.exact
        if any(isinstance(x, int) and abs(x) > most for x in rows):  # no float is that number
            return rows[operator.index(self)]
        if all(isinstance(x, (Value, TracedNumber)) or is_number(x) for x in rows):
            node = self.context.special("take", (self.node, *rows), plain_number(chosen))
            if any(isinstance(x, Value) for x in rows):
                return node
            if len({type(_number(x)) for x in rows}) == 1 and not isinstance(_number(chosen), bool):
                return TracedNumber(self.context, node, _number(chosen))
            return rows[operator.index(self)]
        widths = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else -1 for row in rows}
        if len(widths) > 1 or -1 in widths:
            return rows[operator.index(self)]
        return [self._taken_from([row[k] for row in rows]) for k in range(widths.pop())]


def _finite(result: TracedNumber) -> TracedNumber:
    """Guard that a power is finite: numbers raise OverflowError where a program would go on."""
    bool(abs(result) < inf)
    return result


class TracedBool(TracedNumber):
    """The outcome of a comparison: a TracedNumber of 1.0 or 0.0 that can be branched on."""

    __slots__ = ()

    def __bool__(self) -> bool:
        if self.context is not None:
            self.context.guard(self.node, float(self.number), BRANCH)
        return bool(self.number)

    def _with(self, kind: str, other: Any, compute: Any) -> Any:
        if self.context is None or not isinstance(_number(other), bool):
            return compute(self._concretise(), concrete(other))
        holds = compute(self.number, _number(other))
        node = other.node if isinstance(other, TracedBool) else float(other)
        both = self.context.special(kind, (self.node, node), float(holds))
        return TracedBool(self.context, both, holds, reach=1)

    def __and__(self, other: Any) -> Any:
        other = other.condition.opposite() if isinstance(other, Inverted) else other
        return self._with("and_", other, operator.and_)

    def __or__(self, other: Any) -> Any:
        return self._with("or_", other, operator.or_)

    __rand__, __ror__ = __and__, __or__

    def opposite(self) -> Any:
        """What `not` would make of it."""
        if self.context is None:
            return not self.number
        node = self.context.special("not_", (self.node,), float(not self.number))
        return TracedBool(self.context, node, not self.number, reach=1)

    def __invert__(self) -> Any:
        return self._concretise() if self.context is None else Inverted(self)

    __hash__ = TracedNumber.__hash__


class Inverted(TracedNumber):
    """`~condition`: a whole number, -1 or -2. `a & ~b` is what it seems to be; alone it is true."""

    __slots__ = ("condition",)

    def __init__(self, condition: TracedBool) -> None:
        super().__init__(condition.context, -1.0 - condition.node, ~int(condition.number), reach=2)
        self.condition = condition

    def __and__(self, other: Any) -> Any:
        if isinstance(other, TracedBool):
            return other & self
        return self._concretise() & concrete(other)

    __rand__ = __and__
    __hash__ = TracedNumber.__hash__


def opposite(equal: Any) -> Any:
    """Negate what `==` returned."""
    if isinstance(equal, TracedBool):
        return equal.opposite()
    return equal if equal is NotImplemented else not equal


def concrete(x: Any) -> Any:
    """Return a plain number for a TracedNumber, with a guard; anything else as it is."""
    return x._concretise() if isinstance(x, TracedNumber) else x


def plain_number(x: Any) -> float:
    """Return the number of a Value, a TracedNumber or a number, for the trace alone."""
    return float(x._fields()[0]) if isinstance(x, Value) else float(_number(x))
