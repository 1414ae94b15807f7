"""A node of an expression graph: its fields, the attributes that the lessons read, its copies.

Nothing here computes: how nodes are made and how gradients flow is in `scalar.py`, whose `Value` is
this class with arithmetic. What to know before changing anything:

- A node has two operand fields, `_a` and `_b`, and a local derivative for each, `_da` and `_db`.
  Where an operand is a plain number (`x * 2`) its field is None and the number itself stands in the
  place of its derivative, which nobody needs.
- All that most nodes lack (a label, more operands, a hand-written `_backward`) is in `_rare`.
- `_operands` is the truth about the graph: ordered, with repeats. `_prev`, `_children` and
  `_local_grads` are the same truth under the names of micrograd and microgpt.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self

from . import ieee
from .coerce import as_float, as_list
from .errors import NotDifferentiableError
from .graph import topological_order
from .guard import numbers
from .ops import OPS, TABLE

__all__ = ["Node", "Rare", "as_operands"]

_POW = OPS["pow"].code
_WHERE = OPS["where"].code


class Rare:
    """What most nodes do not have."""

    __slots__ = ("label", "op", "operands", "partials", "prev", "source", "step")

    def __init__(self) -> None:
        self.label = ""
        self.op: str | None = None  # a text instead of the table's label
        self.operands: tuple[Any, ...] = ()  # beyond _a and _b
        self.partials: tuple[float, ...] = ()  # theirs
        self.prev: set[Any] | None = None  # the set that a reader of _prev holds, and may edit
        self.source: str | None = None  # strict mode: the line that made the node
        self.step: Callable[[], Any] | None = None  # a hand-written _backward


class Node:
    """The fields of a `Value` and everything about it that is not arithmetic."""

    # __dict__ comes to life when somebody sets an attribute of their own, as followers of the
    # lessons do; until then it costs one pointer.
    __slots__ = (
        "__dict__",
        "_a",
        "_b",
        "_code",
        "_da",
        "_data",
        "_db",
        "_grad",
        "_mark",
        "_rare",
    )

    _data: float
    _grad: float
    _a: Self | None
    _b: Self | None
    _da: float
    _db: float
    _code: int  # the row of the table; 0 for a leaf or a node made by hand
    _mark: int  # when a pass last came by
    _rare: Rare | None

    # ---- what the lessons read and write ----------------------------------------------------

    @property
    def data(self) -> float:
        """The number."""
        return self._data

    @data.setter
    def data(self, number: Any) -> None:
        self._data = as_float(number, "v.data = …")

    @property
    def grad(self) -> float:
        """The derivative of the results of all `backward()` calls so far, summed."""
        return self._grad

    @grad.setter
    def grad(self, number: Any) -> None:
        self._grad = as_float(number, "v.grad = …")

    @property
    def label(self) -> str:
        """A name for pictures and messages."""
        return "" if self._rare is None else self._rare.label

    @label.setter
    def label(self, text: str) -> None:
        self._get_rare().label = text

    @property
    def _op(self) -> str:
        """What pictures write on the node; a text for people, not an identity."""
        if self._rare is not None and self._rare.op is not None:
            return self._rare.op
        if self._code == _POW and self._b is None:
            return f"**{int(self._db) if self._db.is_integer() else self._db}"
        return TABLE[self._code].label

    @_op.setter
    def _op(self, text: str) -> None:
        self._get_rare().op = text

    @property
    def _operands(self) -> tuple[Any, ...]:
        """The operands in written order, repeats included; numbers appear as leaf Values."""
        self._show_number()
        return tuple([operand for operand, _ in self._links_and_partials()])

    @property
    def _children(self) -> tuple[Any, ...]:
        """microgpt's name for the operands."""
        return self._operands

    @property
    def _local_grads(self) -> tuple[float, ...]:
        """microgpt's name for the local derivatives, one per operand."""
        if self._rare is not None and self._rare.step is not None:
            raise NotDifferentiableError(
                f"the node {self._op!r} has a hand-written _backward: its local derivatives are "
                "known only to that function. Run backward() and read .grad."
            )
        self._show_number()
        return tuple([partial for _, partial in self._links_and_partials()])

    @property
    def _prev(self) -> set[Any]:
        """The operands as a set, as in the lessons; editing it edits the graph."""
        rare = self._get_rare()
        if rare.prev is None:
            rare.prev = set(self._operands)
        return rare.prev

    @_prev.setter
    def _prev(self, nodes: Iterable[Any]) -> None:
        self._get_rare().prev = set(as_operands(nodes, "v._prev = …"))

    # ---- operands, inside -------------------------------------------------------------------

    def _get_rare(self) -> Rare:
        rare = self._rare
        if rare is None:
            rare = self._rare = Rare()
        return rare

    def _show_number(self) -> None:
        """Give a number operand (`x * 2`) its leaf, as if it had been there from the start.

        The exponent of `x**2` stays part of the op, as in micrograd's pictures.
        """
        if TABLE[self._code].arity != 2 or (self._a is not None and self._b is not None):
            return
        if self._code == _POW and self._b is None:
            return
        rare = self._get_rare()
        if rare.operands:
            return
        number, position = (self._da, 0) if self._a is None else (self._db, 1)
        partial = TABLE[self._code].partials[position](ieee, self._data, *numbers(self))
        kind: Any = type(self)
        leaf = kind(number)
        if self._mark:  # passes came by before anybody looked: what they would have given it
            leaf._grad = partial * self._grad
        rare.operands = (leaf,)
        rare.partials = (partial,)

    def _links_and_partials(self) -> list[tuple[Any, float]]:
        """Pair the operands that exist as nodes with their local derivatives."""
        pairs = []
        if self._a is not None:
            pairs.append((self._a, self._da))
        if self._b is not None:
            pairs.append((self._b, self._db))
        rare = self._rare
        if rare is None:
            return pairs
        partials = rare.partials or (0.0,) * len(rare.operands)
        shown = list(zip(rare.operands, partials, strict=True))
        pairs = shown + pairs if self._a is None else pairs + shown
        if rare.prev is not None:  # somebody holds the set: what they took out or put in counts
            kept = [pair for pair in pairs if pair[0] in rare.prev]
            known = {operand for operand, _ in pairs}
            pairs = kept + [(node, 0.0) for node in rare.prev if node not in known]
        return pairs

    def _links(self) -> list[Any]:
        """The operands that exist as nodes: what a walk over the graph has to visit."""
        return [operand for operand, _ in self._links_and_partials()]

    def _arguments(self) -> tuple[Any, ...]:
        """What the row of the table was applied to: Values, and numbers where it got numbers."""
        operands = self._rare.operands if self._rare is not None else ()
        if self._code == _WHERE:
            return (True, self._a, 0.0)
        arity = TABLE[self._code].arity
        if arity == 1:
            return (self._a,)
        if arity == 2:
            a: Any = self._a if self._a is not None else self._da
            b: Any = self._b if self._b is not None else self._db
            if operands:  # the number has a leaf by now
                return (operands[0], b) if self._a is None else (a, operands[0])
            return (a, b)
        return operands

    # ---- as text and number -----------------------------------------------------------------

    def __repr__(self) -> str:
        return f"Value(data={self._data})"

    def __format__(self, spec: str) -> str:
        return format(self._data, spec) if spec else repr(self)

    def __float__(self, *_: Any) -> NoReturn:
        raise TypeError(
            "a Value is not a float: the derivative would be lost without a trace. Write v.data "
            "for the number, or the Value's own function: v.exp() instead of math.exp(v)."
        )

    __int__ = __round__ = __trunc__ = __complex__ = __float__

    # ---- copies -----------------------------------------------------------------------------

    def __copy__(self) -> Self:
        copied: Self = _from_state(type(self), self._state())
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        for node in topological_order(self, Node._links):
            if id(node) not in memo:
                memo[id(node)] = _from_state(type(node), node._state(), memo)
        copied: Self = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        # pickle goes down operand by operand, a stack frame or three for each. So whoever comes
        # first hands it a flat list, operands before users, and while that list is being written
        # its members describe only themselves: what they refer to is in pickle's memo already.
        shallow = (_from_state, (type(self), self._state()))
        if id(self) in _pickling.members:
            return shallow
        below = topological_order(self, Node._links)[:-1]
        if not below:
            return shallow
        _pickling.members = {id(node) for node in below}
        return _last_of, (below, _EndOfList(), *shallow[1])

    def _state(self) -> tuple[Any, ...]:
        rare = self._rare
        extra = None
        if rare is not None:
            if rare.step is not None:
                raise TypeError(
                    f"cannot copy or pickle the node {self._op!r}: its hand-written _backward "
                    "would go on adding to the grads of the originals. Copy v.detach() instead."
                )
            extra = (rare.label, rare.op, rare.operands, rare.partials, rare.prev, rare.source)
        numbers = (self._data, self._grad, self._da, self._db, int(self._mark > 0))
        # What users set on it; asking for __dict__ itself would bring an empty one to life.
        state: Any = object.__getstate__(self)
        own, slots = state
        attributes = {**(own or {}), **{k: v for k, v in slots.items() if k not in _FIELDS}}
        return (TABLE[self._code].name, numbers, self._a, self._b, extra, attributes)


def as_operands(nodes: Any, what: str) -> tuple[Any, ...]:
    """Return operands given by hand as a tuple; what is no node does not get into a graph."""
    if isinstance(nodes, Node):
        raise TypeError(
            f"{what}: got a single Value; write (v,), with a comma, for a tuple of one."
        )
    operands = tuple(as_list(nodes, what))
    for operand in operands:
        if not isinstance(operand, Node):
            raise TypeError(
                f"{what}: got {type(operand).__name__} among the operands; each must be a Value."
            )
    return operands


_new = object.__new__
_FIELDS = frozenset(Node.__slots__)


# ---- copies, without recursion -------------------------------------------------------------


class _Pickling(threading.local):
    members: frozenset[int] | set[int] = frozenset()  # of the flat list that is being written


_pickling = _Pickling()


class _EndOfList:
    """Stands behind the flat list in a pickle; when pickle comes to it, the list is written."""

    def __reduce__(self) -> Any:
        _pickling.members = frozenset()
        return _EndOfList, ()


def _last_of(below: Any, end: Any, kind: type[Any], state: tuple[Any, ...]) -> Any:
    return _from_state(kind, state)


def _from_state(kind: type[Any], state: tuple[Any, ...], memo: dict[int, Any] | None = None) -> Any:
    """Rebuild a node from `_state`; with a memo, on the copies of its operands."""
    name, numbers, a, b, extra, attributes = state
    node = _new(kind)
    node._data, node._grad, node._da, node._db, node._mark = numbers
    node._code = OPS[name].code
    node._rare = None
    if memo is not None:
        a, b = (None if x is None else memo[id(x)] for x in (a, b))
        attributes = copy.deepcopy(attributes, memo)
    node._a, node._b = a, b
    if extra is not None:
        rare = node._rare = Rare()
        rare.label, rare.op, operands, rare.partials, prev, rare.source = extra
        if memo is not None:
            operands = tuple(memo[id(x)] for x in operands)
            prev = None if prev is None else {memo[id(x)] for x in prev}
        rare.operands = operands
        rare.prev = None if prev is None else set(prev)
    for attribute, content in attributes.items():
        setattr(node, attribute, content)
    return node
