"""A node of an expression graph: its fields, the attributes that the lessons read, its copies.

Nothing here computes: how nodes are made and how gradients flow is in `scalar.py`, whose `Value` is
this class with arithmetic. What to know before changing anything:

- A node has two operand fields, `_a` and `_b`, and a local derivative for each, `_da` and `_db`.
  Where an operand is a plain number (`x * 2`) its field is None and the number itself stands in the
  place of its derivative, which nobody needs.
- All that most nodes lack (a label, more operands, a hand-written `_backward`) is in `_extras`.
  The tag says when a pass must look there (`IS_SPECIAL`): not for a label.
- `_operands` is the truth about the graph: ordered, with repeats. `_prev`, `_children` and
  `_local_grads` are the same truth under the names of micrograd and microgpt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Self

from ..errors import NotDifferentiableError
from ..maths import floats as ieee
from . import codes
from . import cython_shim as cython
from .blocks import open_blocks
from .coerce import as_float, as_list, is_number, refuse_label
from .copying import copy_of, deep_copy_of, reduced
from .elsewhere import names_of
from .flow import grad_apart, set_grad_apart
from .observers import refuse_in_trace, tracer
from .ops import OPS, TABLE
from .strict import numbers
from .writeback import flush_writebacks, writebacks

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from .cython_shim import count_in, numbers_in

# A tag is the row of the table in its lowest bits; then a bit that says that a pass has to look
# into the extras; then which count of module calls the node was made at, see `scopes.py`.
IS_SPECIAL = 64
_CODE = IS_SPECIAL - 1
STAMP = 2 * IS_SPECIAL  # the unit of the count
UNSTAMPED = STAMP - 1  # the bits below it
STAMPS = 2**24  # from here on it begins again; 0 is a node of which nobody knows
_STAMP, _STAMPS = STAMP, STAMPS  # C numbers in the native engine, whose names nobody can import


# How a script prints its own Values, while it runs on these; see compat/scripts.py.
own_texts: dict[str, Callable[[Any], str]] = {}


@cython.final
@cython.cclass
class Clock:
    """Counts the beginnings and ends of calls of modules, and of `scope` blocks.

    And how often a number may have been written into a node that was there already: who has read
    numbers, as native/vm/repeat.c, need not read them again as long as it is the same.
    """

    __slots__ = ("count", "stamp", "tags", "writes")

    def __init__(self) -> None:
        self.count = 0
        self.stamp = 0  # the count as a part of tags
        self.tags: dict[int, int] = {}  # with it, by code: the pure engine's nodes share the ints
        self.writes = 0
        self.tick()

    def tick(self) -> int:
        """Count one more; return the count, which nodes have that are made from here on."""
        self.count += 1
        self.stamp = (self.count & (_STAMPS - 1)) * _STAMP
        if not cython.compiled:
            self.tags = {}
        return self.count


clock = _clock = Clock()  # the latter with its type in C, for this module


@cython.final
@cython.cclass
class Scope:
    """One opening of a `scope` block, or one call of a module: what is made in it belongs together.

    Two are the same only if they are one object. It refers to no result, so that there is no cycle.
    """

    __slots__ = ("end", "inputs", "name", "outer", "start")

    def __init__(self, name: str, start: int, outer: Scope | None = None) -> None:
        self.name = name
        self.start = start  # counts of calls that began or ended before: those of its nodes are
        self.end = -1  # from the one to the other; -1: a block, whose nodes know it themselves
        self.outer = outer  # the one around it, as far as it was known then
        self.inputs: tuple[Any, ...] = ()  # of a call: Values and numbers, where they have names

    def __repr__(self) -> str:
        return f"Scope({self.name!r})"


@cython.cclass
class Extras:
    """What most nodes do not have."""

    __slots__ = (
        "block",
        "calls",
        "custom_backward",
        "given",
        "label",
        "op",
        "operands",
        "partials",
        "prev",
        "source",
    )

    def __init__(self) -> None:
        self.label = ""
        self.op: str | None = None  # a text instead of the table's label
        self.operands: tuple[Any, ...] = ()  # beyond _a and _b
        self.partials: Sequence[float] = ()  # theirs
        self.prev: set[Any] | None = None  # the set that a reader of _prev holds, and may edit
        self.given: tuple[Any, ...] = ()  # what somebody assigned to _prev, in order
        self.source: str | None = None  # strict mode: the line that made the node
        self.custom_backward: Callable[[], Any] | None = None  # a hand-written _backward
        self.block: Scope | None = None  # the `scope` block it was made in, the innermost
        self.calls: tuple[Scope, ...] = ()  # the calls of modules that returned it, innermost first


@cython.final
@cython.cclass
class Gradients:
    """The gradients of a pass that is not over, held apart from the nodes; see `flow.Flow`."""

    __slots__ = ("buffer", "count", "mark")

    def __init__(self, mark: int, buffer: Any) -> None:
        self.mark = mark  # that of the nodes which take part
        self.buffer = buffer  # one number for each, by its place
        self.count = count_in(buffer)

    def read(self, node: Any) -> float | None:
        """Return the gradient of a node that takes part, else None."""
        if node._mark != self.mark or node._place >= self.count:
            return None
        number: float = numbers_in(self.buffer)[node._place]
        return number

    def write(self, node: Any, number: float) -> bool:
        """Take another gradient for a node that takes part, else return False."""
        if node._mark != self.mark or node._place >= self.count:
            return False
        numbers_in(self.buffer)[node._place] = number
        return True


@cython.trashcan(True)
@cython.cclass
class Node:
    """The fields of a `Value` and everything about it that is not arithmetic."""

    # __dict__ comes to life when somebody sets an attribute of their own, as followers of the
    # lessons do; until then it costs one pointer.
    __slots__ = ("__dict__", "_a", "_b", "_da", "_data", "_db", "_grad", "_mark", "_place", "_tag")

    _data: float
    _grad: float
    _a: Self | None
    _b: Self | None
    _da: float
    _db: float
    _tag: int  # `_code`, `IS_SPECIAL` and `_stamp`
    _mark: int  # when a pass last came by
    _place: int  # and where in its order it found the node
    _extras: Extras | None  # no slot: in the pure engine a node that has one has it in its __dict__

    @property
    def _code(self) -> int:
        """The row of the table; 0 for a leaf or a node made by hand."""
        return self._tag & _CODE

    @property
    def _is_custom(self) -> bool:
        """Whether a hand-written `_backward` has taken the place of a rule of the table."""
        return self._extras is not None and self._extras.custom_backward is not None

    @property
    def _is_visited(self) -> bool:
        """Whether a backward pass has come by."""
        return self._mark > 0

    @property
    def _stamp(self) -> int:
        """At which count of module calls the node was made, see `scopes.py`; 0: not known."""
        return self._tag // _STAMP

    def _attach(self, extras: Extras) -> None:
        self._extras = extras
        self._tag |= IS_SPECIAL

    # ---- what the lessons read and write ----------------------------------------------------

    @property
    def data(self) -> float:
        """The number."""
        if writebacks:
            flush_writebacks()
        if open_blocks:
            reader = tracer()
            if reader is not None:
                read: float = reader.read(self)
                return read
        return self._data

    @data.setter
    def data(self, number: Any) -> None:
        if writebacks:
            flush_writebacks()
        if open_blocks:
            refuse_in_trace("assigns v.data")
        self._data = as_float(number, "v.data = …")
        _clock.writes += 1

    @property
    def grad(self) -> float:
        """The derivative of the results of all `backward()` calls so far, summed."""
        if writebacks:
            flush_writebacks()
        if open_blocks:
            apart = grad_apart(self)  # to a hand-written step, that of its pass
            if apart is not None:
                return apart
            refuse_in_trace("reads v.grad")
        return self._grad

    @grad.setter
    def grad(self, number: Any) -> None:
        if writebacks:
            flush_writebacks()
        if open_blocks:
            if set_grad_apart(self, as_float(number, "v.grad = …")):
                return
            refuse_in_trace("assigns v.grad")
        self._grad = as_float(number, "v.grad = …")

    @property
    def label(self) -> str:
        """A name for pictures and messages."""
        return "" if self._extras is None else self._extras.label

    @label.setter
    def label(self, text: str) -> None:
        if not isinstance(text, str):
            refuse_label(text)
        self._get_notes().label = text

    @property
    def _op(self) -> str:
        """What pictures write on the node; a text for people, not an identity."""
        if self._extras is not None and self._extras.op is not None:
            return self._extras.op
        if self._code == codes.POW and self._b is None:
            return f"**{int(self._db) if self._db.is_integer() else self._db}"
        return TABLE[self._code].label

    @_op.setter
    def _op(self, text: str) -> None:
        self._get_notes().op = text

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
        if self._is_custom:
            raise NotDifferentiableError(
                f"the node {self._op!r} has a hand-written _backward: its local derivatives are "
                "known only to that function. Run backward() and read .grad."
            )
        self._show_number()
        return tuple([partial for _, partial in self._links_and_partials()])

    @property
    def _prev(self) -> set[Any]:
        """The operands as a set, as in the lessons; editing it edits the graph."""
        extras = self._get_extras()
        if extras.prev is None:
            extras.prev = set(self._operands)
        return extras.prev

    @_prev.setter
    def _prev(self, nodes: Iterable[Any]) -> None:
        extras = self._get_extras()
        extras.given = as_operands(nodes, "v._prev = …")
        extras.prev = set(extras.given)

    def _fields(self) -> tuple[float, int, Any, Any, float, float, Extras | None]:
        """What a trace reads: number, row, two operands, what is beside them, the extras."""
        if writebacks:
            flush_writebacks()
        return self._data, self._tag & _CODE, self._a, self._b, self._da, self._db, self._extras

    def _cut(self) -> None:
        """Forget the operands, and how they were combined: what is left is a leaf."""
        self._a = self._b = None
        extras = self._extras
        self._tag &= ~UNSTAMPED
        if extras is not None:
            self._extras = None
            if extras.label:
                self.label = extras.label

    # ---- operands, inside -------------------------------------------------------------------

    def _get_extras(self) -> Extras:
        """The extras, for what a pass must look at."""
        extras = self._get_notes()
        self._tag |= IS_SPECIAL
        return extras

    def _get_notes(self) -> Extras:
        """The extras, for what does not change the graph: names and where the node was made."""
        extras = self._extras
        if extras is None:
            extras = Extras()
            self._extras = extras
        return extras

    def _show_number(self) -> None:
        """Give a number operand (`x * 2`) its leaf, as if it had been there from the start.

        The exponent of `x**2` stays part of the op, as in micrograd's pictures.
        """
        if TABLE[self._code].arity != 2 or (self._a is not None and self._b is not None):
            return
        if self._code == codes.POW and self._b is None:
            return
        extras = self._get_extras()
        if extras.operands:
            return
        number, position = (self._da, 0) if self._a is None else (self._db, 1)
        partial = TABLE[self._code].partials[position](ieee, self._data, *numbers(self))
        kind: Any = type(self)
        leaf = kind(number)
        if self._mark > 0 and self._grad:  # passes came by before: what they would have given it
            leaf.grad = partial * self._grad
        extras.operands = (leaf,)
        extras.partials = (partial,)

    def _shown_number(self) -> Any:
        """The leaf that stands for a number operand, if anybody has looked; else None."""
        if self._extras is None or not self._extras.operands or TABLE[self._code].arity != 2:
            return None
        return None if self._a is not None and self._b is not None else self._extras.operands[0]

    def _own_links(self) -> list[tuple[Any, float]]:
        """Pair the operands that exist as nodes with their local derivatives."""
        pairs = []
        if self._a is not None:
            pairs.append((self._a, self._da))
        if self._b is not None:
            pairs.append((self._b, self._db))
        extras = self._extras
        if extras is None or not extras.operands:
            return pairs
        partials = extras.partials or (0.0,) * len(extras.operands)
        shown = list(zip(extras.operands, partials, strict=True))
        if not pairs:
            return shown
        return shown + pairs if self._a is None else pairs + shown

    def _links_and_partials(self) -> list[tuple[Any, float]]:
        """The same after all edits of `_prev`: what was taken out of it or put in counts."""
        pairs = self._own_links()
        extras = self._extras
        if extras is None or extras.prev is None:
            return pairs
        kept = [pair for pair in pairs if pair[0] in extras.prev]
        known = {operand for operand, _ in pairs}
        # In the order in which they were assigned, else in no particular one.
        given = [node for node in extras.given if node in extras.prev]
        added = dict.fromkeys([*given, *extras.prev])
        return kept + [(node, 0.0) for node in added if node not in known]

    def _links(self) -> list[Any]:
        """The operands that exist as nodes: what a walk over the graph has to visit."""
        extras = self._extras
        if self._a is None and self._b is None and extras is not None and extras.prev is None:
            return list(extras.operands)  # nobody is asked for their derivatives
        return [operand for operand, _ in self._links_and_partials()]

    def _arguments(self) -> tuple[Any, ...]:
        """What the row of the table was applied to: Values, and numbers where it got numbers."""
        operands = self._extras.operands if self._extras is not None else ()
        if self._code == codes.WHERE:
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
        own = own_texts.get("__repr__")
        return f"Value(data={self.data})" if own is None else own(self)

    def __str__(self) -> str:
        return own_texts.get("__str__", repr)(self)

    def __dir__(self) -> list[str]:
        return names_of(self)

    def __format__(self, spec: str) -> str:
        return self.data.__format__(spec) if spec else str(self)

    def __float__(self) -> NoReturn:
        _refuse_to_be_a_float()

    def __int__(self) -> NoReturn:
        _refuse_to_be_a_float()

    def __complex__(self) -> NoReturn:
        _refuse_to_be_a_float()

    def __round__(self, digits: int = 0) -> NoReturn:
        _refuse_to_be_a_float()

    def __bool__(self) -> bool:
        raise TypeError(
            "a Value is neither true nor false: `if v:` may ask whether there is one, or whether "
            "it is 0. Write v is not None, or v.data != 0."
        )

    # ---- copies and pickles; see copying.py -------------------------------------------------

    def __copy__(self) -> Self:
        twin: Self = copy_of(self)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin: Self = deep_copy_of(self, memo)
        return twin

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduced(self)

    def _state(self) -> tuple[Any, ...]:
        """Everything but what users attached; see `_set_state`."""
        if writebacks:
            flush_writebacks()
        if self._is_custom:
            raise TypeError(
                f"cannot copy or pickle the node {self._op!r}: its hand-written _backward "
                "would go on adding to the grads of the originals. Copy v.detach() instead."
            )
        extras = self._extras
        extra, operands, prev = None, (), None
        if extras is not None:
            extra = (extras.label, extras.op, tuple(extras.partials), extras.source)
            operands = extras.operands
            if extras.prev is not None:
                given = tuple(node for node in extras.given if node in extras.prev)
                prev = (tuple(extras.prev), given)
        apart = grad_apart(self) if open_blocks else None
        grad = self._grad if apart is None else apart
        numbers = (self._data, grad, self._da, self._db, int(self._is_visited))
        return (TABLE[self._code].name, numbers, extra, self._a, self._b, operands, prev)

    def _set_state(self, state: tuple[Any, ...]) -> None:
        """Make a new node what another one was."""
        name, numbers, extra, self._a, self._b, operands, prev = state
        data, self._grad, self._da, self._db, self._mark = numbers
        self._data = data
        _clock.writes += 1
        self._tag = OPS[name].code
        if extra is not None:
            extras = self._get_extras() if operands or prev is not None else self._get_notes()
            extras.label, extras.op, extras.partials, extras.source = extra
            extras.operands = operands
            if prev is not None:
                members, extras.given = prev
                extras.prev = set(members)

    def _attributes(self) -> dict[str, Any]:
        """What users attached. (Asking for __dict__ itself would bring an empty one to life.)"""
        state: Any = object.__getstate__(self)
        own, slots = state if isinstance(state, tuple) else (state, {})
        return {k: v for k, v in {**(own or {}), **slots}.items() if k not in _FIELDS}


def _refuse_to_be_a_float() -> NoReturn:
    raise TypeError(
        "a Value is not a float: the derivative would be lost without a trace. Write v.data for "
        "the number, or the Value's own function: v.exp() instead of math.exp(v)."
    )


def as_operands(nodes: Any, what: str) -> tuple[Any, ...]:
    """Return operands given by hand as a tuple; what is no node does not get into a graph."""
    if isinstance(nodes, Node):
        raise TypeError(
            f"{what}: got a single Value; write (v,), with a comma, for a tuple of one."
        )
    if isinstance(nodes, str):
        raise TypeError(
            f"{what}: got the text {nodes[:40]!r} for operands; a label is given by its name: "
            f"Value(…, label={nodes[:40]!r})."
        )
    if is_number(nodes):
        raise TypeError(
            f"{what}: got a second number; a Value holds one: for several, [Value(x) for x in xs]."
        )
    operands = tuple(as_list(nodes, what, ordered=False))
    for operand in operands:
        if not isinstance(operand, Node):
            raise TypeError(
                f"{what}: got {type(operand).__name__} among the operands; each must be a Value."
            )
    return operands


_FIELDS = frozenset([*Node.__slots__, "_extras"])

if not cython.compiled:
    Node._extras = None  # until one is attached
