"""`Value`: one number that remembers how it was made.

Every operation makes a node: its value, its operands, and one number per operand, the local
derivative, worked out on the way forward. `backward()` then is a loop without a formula in it:

    for each node, last to first:
        for each operand:  operand.grad += local derivative * node.grad

Formulas are in `ops.py`: this file asks the table. What a node is made of, and the lessons'
attributes, are in `node.py`. Nothing recurses over a graph. The file is plain Python that Cython
can compile as it is: small typed functions, no cleverness.

Start at `_node`, then `_binary`, then `Value.__mul__`, then `Value.backward`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, NoReturn

from .core import cython_shim as cython
from .core import strict as strict_checks
from .core.blocks import open_blocks
from .core.coerce import as_float, as_list, is_number
from .core.flow import is_flowing, with_flow
from .core.graph import cycle_message, topological_order
from .core.modes import in_strict, is_recording, of_a_node
from .core.node import HAS_EXTRAS, Extras, Gradients, Node, as_operands
from .core.observers import current_watchers, refuse_in_trace, replaced_pass, tracer
from .core.ops import OPS, TABLE, Op
from .core.turns import PAUSE, Turns, in_child
from .core.writeback import flush_writebacks, writebacks
from .errors import BackwardRunningError, CycleError
from .maths import floats as ieee

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

__all__ = [
    "ABILITIES",
    "Value",
    "apply",
    "engine",
    "fused",
    "gradients",
    "gradients_and_scale",
    "in_turn",
    "look_closely",
    "nodes_alive",
    "recorded",
    "refuse_inverted",
    "run_by_hand",
    "select",
]

# Methods that modules above this one provide: `explain` and the picture for notebooks. They
# register here when the package is loaded, and a Value looks them up by name.
ABILITIES: dict[str, Callable[..., Any]] = {}


# ---- making nodes --------------------------------------------------------------------------

if not cython.compiled:
    from .core.cython_shim import (
        make_node,
        new_buffer,
        numbers_in,
        open_slab,
        place_nodes,
        set_at_once,
        slab_count,
        track,
        track_like,
    )

    _new: Any = object.__new__
    _this_thread = threading.get_ident
    # The rules by code and number of operands; compiled, C functions made from the same rows.
    value1 = value2 = [op.value for op in TABLE]
    first1 = first2 = [op.partials[0] if op.partials else op.value for op in TABLE]
    second2 = [op.partials[1] if len(op.partials) > 1 else op.value for op in TABLE]

_ADD = OPS["add"].code
_SUB = OPS["sub"].code
_MUL = OPS["mul"].code
_DIV = OPS["div"].code
_POW = OPS["pow"].code
_NEG = OPS["neg"].code
_ABS = OPS["abs"].code
_TANH = OPS["tanh"].code
_EXP = OPS["exp"].code
_EXPM1 = OPS["expm1"].code
_LOG = OPS["log"].code
_LOG1P = OPS["log1p"].code
_SQRT = OPS["sqrt"].code
_SIN = OPS["sin"].code
_COS = OPS["cos"].code
_TAN = OPS["tan"].code
_ASIN = OPS["asin"].code
_ACOS = OPS["acos"].code
_ATAN = OPS["atan"].code
_ATAN2 = OPS["atan2"].code
_HYPOT = OPS["hypot"].code
_SINH = OPS["sinh"].code
_COSH = OPS["cosh"].code
_ERF = OPS["erf"].code
_ERFC = OPS["erfc"].code
_SIGMOID = OPS["sigmoid"].code
_SOFTPLUS = OPS["softplus"].code
_RELU = OPS["relu"].code
_LEAKY_RELU = OPS["leaky_relu"].code
_GELU = OPS["gelu"].code
_SILU = OPS["silu"].code
_MINIMUM = OPS["minimum"].code
_MAXIMUM = OPS["maximum"].code
_WHERE = OPS["where"].code


def _node(
    code: int, data: float, a: Any, b: Any, da: float, db: float, extras: Extras | None = None
) -> Value:
    """Make a node. Every operation ends here."""
    node: Value
    if cython.compiled:
        node = make_node(Value, a, b)
    else:
        node = _new(Value)
        node._grad = 0.0
        node._a = a
        node._b = b
        node._mark = 0
    node._data = data
    node._da = da
    node._db = db
    node._tag = code
    if extras is not None:
        node._attach(extras)
    if open_blocks:
        _observe(node)
    return node


def _unary(code: int, a: Value) -> Value:
    if writebacks:
        flush_writebacks()
    x = a._data
    y = value1[code](ieee, x)
    return _node(code, y, a, None, first1[code](ieee, y, x), 0.0)


def _binary(code: int, a: Value, b: Value) -> Value:
    if writebacks:
        flush_writebacks()
    p = a._data
    q = b._data
    y = value2[code](ieee, p, q)
    return _node(code, y, a, b, first2[code](ieee, y, p, q), second2[code](ieee, y, p, q))


def _binary_number(code: int, a: Value, number: Any) -> Value:
    """`a op number`; NotImplemented, so that Python asks the other side, if it is no number."""
    if writebacks:
        flush_writebacks()
    if type(number) is not float:
        number = _real(code, number)
        if number is None:
            return NotImplemented  # type: ignore[no-any-return]
    p = a._data
    q = number
    y = value2[code](ieee, p, q)
    return _node(code, y, a, None, first2[code](ieee, y, p, q), q)


def _number_binary(code: int, number: Any, b: Value) -> Value:
    """`number op b`."""
    if writebacks:
        flush_writebacks()
    if type(number) is not float:
        number = _real(code, number)
        if number is None:
            return NotImplemented  # type: ignore[no-any-return]
    p = number
    q = b._data
    y = value2[code](ieee, p, q)
    return _node(code, y, None, b, p, second2[code](ieee, y, p, q))


def _real(code: int, number: Any) -> float | None:
    """Return an operand that is not a Value as a float, or None if it is no number."""
    if type(number) is int and -1_000_000 < number < 1_000_000:  # above all the 0 of sum()
        return float(number)
    if not is_number(number):
        return None
    return as_float(number, f"Value {TABLE[code].label} number")


def _with_value_or_number(code: int, a: Value, b: Any) -> Value:
    """A method of two operands, the second a Value or a number."""
    if open_blocks:
        b = _behind(b)
    if isinstance(b, Value):
        return _binary(code, a, b)
    return _binary_number(code, a, as_float(b, TABLE[code].name))


def _nary(op: Op, operands: tuple[Value, ...]) -> Value:
    if writebacks:
        flush_writebacks()
    xs = []
    for operand in operands:
        xs.append(operand._data)  # noqa: PERF401 - a loop, so that it is fast
    y = op.value(ieee, *xs)
    extras = Extras()
    extras.operands = operands
    extras.partials = tuple(op.derivatives(ieee, y, *xs))
    node = _node(op.code, y, None, None, 0.0, 0.0, extras)
    _follow(node, operands)
    return node


def fused(data: float, operands: tuple[Value, ...], partials: Sequence[float]) -> Value:
    """Make one node of a whole computation whose derivatives are known, or will be when asked."""
    extras = Extras()
    extras.op = "compiled"
    extras.operands = operands
    extras.partials = partials
    node = _node(0, data, None, None, 0.0, 0.0, extras)
    if is_recording():
        _follow(node, operands)
    return node


def _follow(node: Value, operands: Iterable[Value]) -> None:
    """Have the collector track a node whose operands it tracks."""
    if cython.compiled:
        for operand in operands:
            track_like(node, operand)


def apply(op: Op, *arguments: Any) -> Any:
    """Apply a row of the table to Values and numbers: a Value, or a float if all are numbers."""
    if open_blocks:
        arguments = tuple(map(_behind, arguments))
    if op.arity == 1 and isinstance(arguments[0], Value):
        return _unary(op.code, arguments[0])
    if op.arity == 2:
        a, b = arguments
        if isinstance(a, Value):
            return _with_value_or_number(op.code, a, b)
        if isinstance(b, Value):
            return _number_binary(op.code, as_float(a, op.name), b)
    if any(isinstance(x, Value) for x in arguments):
        return _nary(
            op,
            tuple(x if isinstance(x, Value) else Value(as_float(x, op.name)) for x in arguments),
        )
    return op.value(ieee, *[as_float(x, op.name) for x in arguments])


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`: a node on the chosen operand alone.

    The other one is not in the graph, so that it contributes nothing, not even 0 * inf.
    """
    if isinstance(condition, Value):
        raise TypeError(
            "where(condition, a, b): got a Value as the condition; compare it: where(v > 0, a, b)."
        )
    if writebacks:
        flush_writebacks()
    if open_blocks:
        reader = tracer()
        if reader is not None:
            choice = reader.chosen(condition, a, b)
            if choice is not None:
                return choice
    if type(condition) is int and condition < 0:
        refuse_inverted(condition)
    chosen = a if condition else b
    if isinstance(chosen, Value):
        return _node(_WHERE, _number_of(chosen), chosen, None, 1.0, 0.0)
    if isinstance(a, Value) or isinstance(b, Value):
        return Value(as_float(chosen, "where"))
    return as_float(chosen, "where")


def refuse_inverted(condition: int) -> NoReturn:
    """Raise: ~True is -2 and ~False is -1, so that both count as true."""
    raise TypeError(
        f"where(condition, a, b): got {condition} as the condition, which is ~ of a comparison. "
        "Write where(condition, b, a), or the opposite comparison."
    )


# ---- modes ---------------------------------------------------------------------------------


@cython.final
@cython.cclass
class Recorder:
    """Lists the nodes that a function makes while it is traced."""

    __slots__ = ("closely", "nodes", "strange", "thread")

    nodes: list[Any]  # in the order in which they were made
    thread: int  # the only one whose nodes count
    strange: int  # the mark of what other threads make meanwhile
    closely: bool  # whether the tracer wants to hear of each node, too


_recorder: Recorder | None = None  # one at a time: traces take turns


@contextmanager
def recorded(nodes: list[Any], strange: int) -> Iterator[None]:
    """Append to `nodes` whatever is made inside this block, in this thread.

    What other threads make meanwhile gets the mark `strange`.
    """
    global _recorder
    recorder = Recorder()
    recorder.nodes, recorder.strange = nodes, strange
    recorder.thread, recorder.closely = _this_thread(), False
    _recorder = recorder
    try:
        yield
    finally:
        _recorder = None


def look_closely() -> None:
    """Tell the tracer of each node from here on: the traced function has opened a block."""
    if _recorder is not None:
        _recorder.closely = True


def _observe(node: Value) -> None:
    """Do what the modes in force ask of a new node."""
    recorder = _recorder
    if recorder is not None:
        if recorder.thread == _this_thread():
            recorder.nodes.append(node)
            if recorder.closely:
                reader: Any = tracer()
                if reader is not None:
                    reader.made(node)
            return
        node._mark = recorder.strange
    strictly, recording = of_a_node()
    if strictly:
        source = strict_checks.calling_line()
        strict_checks.check_value(node, source)
        node._get_extras().source = source
    if not recording:
        node._a = node._b = None
        if node._tag >= HAS_EXTRAS:
            node._extras = None
        node._tag = 0


# ---- the class -----------------------------------------------------------------------------


@cython.trashcan(True)
@cython.cclass
class Value(Node):
    """One number in an expression, with the derivative of a later result with respect to it.

    >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    >>> c = a * b + a
    >>> c.backward()
    >>> c.data, a.grad, b.grad
    (-4.0, -2.0, 2.0)

    `_children` and `_op` make a node by hand, as the lessons do for an operation of their own; the
    third argument may also be microgpt's tuple of local derivatives.
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any,
        _children: Iterable[Any] = (),
        _op: str | Iterable[float] = "",
        label: str = "",
    ) -> None:
        source: Any = None if type(data) is float else getattr(data, "_traced_node", None)
        if isinstance(source, Value):  # a number that is a node to a compiled function
            self._data = source._fields()[0]
        else:
            source = None
            self._data = as_float(data, "Value(data)")
        self._grad = 0.0
        self._a = self._b = None
        self._da = self._db = 0.0
        self._tag = self._mark = 0
        if _children != () or _op != "":
            source = self._made_by_hand(data, _children, _op)
        if source is not None:  # it is that node, under another name
            self._tag = _WHERE
            self._a = source
            self._da = 1.0
            _follow(self, (source,))
        if open_blocks:
            if _recorder is not None and _recorder.thread != _this_thread():
                self._mark = _recorder.strange
            elif _recorder is not None or source is not None or _children != ():
                _observe(self)
        if label:
            self.label = label

    def _made_by_hand(self, data: Any, children: Iterable[Any], op: str | Iterable[float]) -> Any:
        """Take what somebody gave; or return the node that a tracer has for it."""
        if open_blocks:
            reader = tracer()
            if reader is not None:
                children = as_operands(children, "Value(data, _children)")
                op = op if isinstance(op, str) else tuple(as_list(op, "local_grads"))
                known = reader.by_hand(data, children, op)
                if known is not None:
                    return known
        self._make_by_hand(children, op)
        return None

    def _make_by_hand(self, children: Iterable[Any], op: str | Iterable[float]) -> None:
        operands = as_operands(children, "Value(data, _children)")
        extras = self._get_extras()
        extras.operands = operands
        _follow(self, operands)
        if isinstance(op, str):
            extras.op = op
            return
        what = "Value(data, children, local_grads)"
        extras.partials = tuple(as_float(d, what) for d in as_list(op, what))
        if len(extras.partials) != len(operands):
            raise ValueError(
                f"{what}: {len(operands)} children but {len(extras.partials)} local "
                "derivatives; give one for each child."
            )

    # ---- backward ---------------------------------------------------------------------------

    def backward(self) -> None:
        """Add to every `.grad` under this node the derivative of this node.

        `.grad` is the sum over calls, for interior nodes as for leaves. If a hand-written
        `_backward` raises, every `.grad` in the graph is left as it was.
        """
        if open_blocks:
            refuse_in_trace("calls backward()")
        in_turn(_add_gradients, self)

    def zero_grad(self) -> None:
        """Set `.grad` to zero on this node and on everything under it."""
        if open_blocks:
            refuse_in_trace("calls zero_grad()")
        in_turn(_zero_gradients, self)

    def _local_step(self) -> None:
        """Run the rule of the table, also if a hand-written step has taken its place by now."""
        watchers: list[Any] = []
        if open_blocks and not is_flowing():  # in a pass, watchers hear of it
            watchers = current_watchers()
        if watchers:
            self._show_number()  # as in a whole pass
        self._mark = max(self._mark, 1)
        _observed_step(self, False, watchers)

    @property
    def _backward(self) -> Callable[[], Any]:
        """This node's own step of the chain rule; assign a function to make an op of your own."""
        extras = self._extras
        custom = None if extras is None else extras.custom_backward
        return self._local_step if custom is None else custom

    @_backward.setter
    def _backward(self, custom_backward: Callable[[], Any]) -> None:
        if not callable(custom_backward):
            raise TypeError(
                f"v._backward = …: got {type(custom_backward).__name__}; assign a function "
                "without arguments that adds to the grads of the operands."
            )
        if is_recording():
            self._get_extras().custom_backward = custom_backward
            if cython.compiled:
                track(self)

    def detach(self) -> Value:
        """Return a leaf with the same number and label, and no history."""
        if open_blocks:
            reader = tracer()
            if reader is not None:
                held: Value = reader.read(self).node
                return held
        if writebacks:
            flush_writebacks()
        return Value(self._data, label=self.label)

    # ---- what modules above offer ----------------------------------------------------------------

    def explain(self, result: Value, top: int = 10) -> Any:
        """Return the gradient of `result` with respect to this Value as a sum over paths."""
        return ABILITIES["explain"](result, self, top)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """The picture of the graph, for notebooks."""
        return ABILITIES["show"](self)

    # ---- operators --------------------------------------------------------------------------

    def __add__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(_ADD, self, other)
        return _binary_number(_ADD, self, other)

    def __sub__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(_SUB, self, other)
        return _binary_number(_SUB, self, other)

    def __mul__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(_MUL, self, other)
        return _binary_number(_MUL, self, other)

    def __truediv__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(_DIV, self, other)
        return _binary_number(_DIV, self, other)

    def __pow__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(_POW, self, other)
        return _binary_number(_POW, self, other)

    def __radd__(self, other: Any) -> Value:
        return _number_binary(_ADD, other, self)

    def __rsub__(self, other: Any) -> Value:
        return _number_binary(_SUB, other, self)

    def __rmul__(self, other: Any) -> Value:
        return _number_binary(_MUL, other, self)

    def __rtruediv__(self, other: Any) -> Value:
        return _number_binary(_DIV, other, self)

    def __rpow__(self, other: Any) -> Value:
        return _number_binary(_POW, other, self)

    def __neg__(self) -> Value:
        return _unary(_NEG, self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return _unary(_ABS, self)

    # ---- functions, as methods: one line each, the rule is in the table ---------------------

    def tanh(self) -> Value:
        return _unary(_TANH, self)

    def exp(self) -> Value:
        return _unary(_EXP, self)

    def expm1(self) -> Value:
        return _unary(_EXPM1, self)

    def log(self) -> Value:
        return _unary(_LOG, self)

    def log1p(self) -> Value:
        return _unary(_LOG1P, self)

    def sqrt(self) -> Value:
        return _unary(_SQRT, self)

    def sin(self) -> Value:
        return _unary(_SIN, self)

    def cos(self) -> Value:
        return _unary(_COS, self)

    def tan(self) -> Value:
        return _unary(_TAN, self)

    def asin(self) -> Value:
        return _unary(_ASIN, self)

    def acos(self) -> Value:
        return _unary(_ACOS, self)

    def atan(self) -> Value:
        return _unary(_ATAN, self)

    def sinh(self) -> Value:
        return _unary(_SINH, self)

    def cosh(self) -> Value:
        return _unary(_COSH, self)

    def erf(self) -> Value:
        return _unary(_ERF, self)

    def erfc(self) -> Value:
        return _unary(_ERFC, self)

    def sigmoid(self) -> Value:
        return _unary(_SIGMOID, self)

    def softplus(self) -> Value:
        return _unary(_SOFTPLUS, self)

    def relu(self) -> Value:
        return _unary(_RELU, self)

    def gelu(self) -> Value:
        return _unary(_GELU, self)

    def silu(self) -> Value:
        return _unary(_SILU, self)

    def abs(self) -> Value:
        return _unary(_ABS, self)

    def leaky_relu(self, slope: Any = 0.01) -> Value:
        return _with_value_or_number(_LEAKY_RELU, self, slope)

    def atan2(self, x: Any) -> Value:
        """Return the angle of the point (x, self)."""
        return _with_value_or_number(_ATAN2, self, x)

    def hypot(self, other: Any) -> Value:
        return _with_value_or_number(_HYPOT, self, other)

    def conjugate(self) -> Value:
        """Return itself; NumPy's var() and std() ask real numbers too."""
        return self

    def minimum(self, other: Any) -> Value:
        return _with_value_or_number(_MINIMUM, self, other)

    def maximum(self, other: Any) -> Value:
        return _with_value_or_number(_MAXIMUM, self, other)

    def clip(self, low: Any, high: Any) -> Value:
        """Return this Value, or the bound that it is beyond."""
        clipped: Value = apply(OPS["clip"], self, low, high)
        return clipped

    # np.arctan(object_array) and its like look for methods of NumPy's spelling.
    arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2

    # Order is by number; equality and hash stay identity, so that sets and dicts of nodes work.

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __lt__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less", self, other)
        number = _number_of(other)
        return self._data < number

    def __le__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less_equal", self, other)
        number = _number_of(other)
        return self._data <= number

    def __gt__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less", other, self)
        number = _number_of(other)
        return self._data > number

    def __ge__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less_equal", other, self)
        number = _number_of(other)
        return self._data >= number


if cython.compiled:
    place_nodes(Value(0.0), Value(0.0))
    open_slab(Value)


def engine() -> str:
    """Tell which engine runs: "native", or "pure" for the same source as plain Python."""
    return "native" if cython.compiled else "pure"


def nodes_alive() -> int:
    """Count the nodes in existence, to find leaks; only the native engine keeps count."""
    return slab_count()


def _number_of(other: Any) -> float:
    """Return the number to compare with, or the stranger itself, which knows or raises."""
    if writebacks:
        flush_writebacks()
    if isinstance(other, Value):
        value = other
        return value._data
    return other  # type: ignore[no-any-return]


# ---- while a function is traced; see observers.Tracer -------------------------------------------


def _behind(x: Any) -> Any:
    """Return the node behind a number that was read while tracing; anything else as it is."""
    return getattr(x, "_traced_node", x)


def _compared(kind: str, a: Any, b: Any) -> bool:
    reader: Any = tracer()
    return reader.compared(kind, a, b)  # type: ignore[no-any-return]


# ---- the backward pass ---------------------------------------------------------------------

_epoch = 0  # a mark below it is from an earlier pass
_is_plain = False  # whether the latest order has nodes with two operand fields only


def in_turn(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that needs the marks for itself: others wait, a pass inside one is refused.

    Uncompiled, a lock could be left behind by an interrupt; see `turns`.
    """
    global _owner
    if writebacks:
        flush_writebacks()
    if not cython.compiled:
        return _turns.run(_refuse_inner_pass, copy_context().run, function, *arguments)
    here = _this_thread()
    if _owner == here:
        _refuse_inner_pass()
    while _owner:
        time.sleep(PAUSE)
    _owner = here
    try:
        return function(*arguments)
    finally:
        _owner = 0


_owner: int = 0  # compiled: the thread whose turn it is
_turns = Turns()


def _refuse_inner_pass() -> NoReturn:
    raise BackwardRunningError(
        "a backward pass is running already, and this call came from inside one of its "
        "_backward functions. A _backward may only add to the grads of its operands; call "
        "backward(), zero_grad() or grad() after the pass."
    )


def _after_fork() -> None:
    """The child has one thread: what others were doing in the parent, nobody does here."""
    global _owner, _recorder
    if _owner != _this_thread():
        _owner = 0
    if _recorder is not None and _recorder.thread != _this_thread():
        _recorder = None


in_child(_after_fork)


def _postorder(root: Value) -> list[Value]:  # noqa: PLR0915 - one loop, so that it is fast
    """`graph.topological_order`, on the nodes' own fields: operands first, the root last.

    Marks tell how far this pass is with a node: below `first`, not met; `first`, `second`,
    `listed`, the way down leads through its first operand, its second, or one of a list; `done`.
    Of a node that is done its place tells where in the order it is.
    """
    global _epoch, _is_plain
    _epoch += 4
    _is_plain = True
    first = _epoch
    second = first + 1
    listed = first + 2
    done = first + 3
    has_extras = HAS_EXTRAS
    order: list[Value] = []
    count = 0  # of them
    path: list[Value] = []  # the way down from the root
    lists: list[Any] = []  # what is left of the operands of the `listed` nodes on it
    node = root
    while True:
        below = None  # an operand to go down to
        if node._tag >= has_extras:
            node._mark = listed
            lists.append(iter(node._links()))
            path.append(node)
            extras: Any = node._extras
            if extras.operands or extras.prev is not None or extras.custom_backward is not None:
                _is_plain = False
        else:
            a = node._a
            b = node._b
            if a is not None and a._mark != done:
                below = a
                node._mark = first
                path.append(node)
            elif b is not None and b._mark != done:
                below = b
                node._mark = second
                path.append(node)
            else:
                node._mark = done
                node._place = count
                count += 1
                order.append(node)
        while below is None:  # nowhere to go down: up, until there is
            if not path:
                return order
            node = path[-1]
            mark = node._mark
            if mark == first:
                b = node._b
                if b is not None and b._mark != done:
                    p = b._a
                    q = b._b
                    if (
                        b._tag < has_extras
                        and (p is None or p._mark == done)
                        and (q is None or q._mark == done)
                    ):  # its operands are in the list: no need to go down for it alone
                        b._mark = done
                        b._place = count
                        count += 1
                        order.append(b)
                    else:
                        below = b
                        node._mark = second
            elif mark == listed:
                for operand in lists[-1]:
                    if operand._mark != done:
                        below = operand
                        break
                else:
                    lists.pop()
            if below is None:
                node._mark = done
                node._place = count
                count += 1
                order.append(node)
                path.pop()
        if below._mark >= first:  # met, not done: on the way down already
            raise CycleError(cycle_message(path, below))
        node = below


# A pass works out its gradients apart from the nodes, which get them when it is over, all at once:
# whatever interrupts it and whoever looks meanwhile, a `.grad` is as before or complete.


def _add_gradients(root: Value) -> None:
    """The backward pass."""
    watchers = current_watchers() if open_blocks else []
    replacement = replaced_pass() if open_blocks else None
    if watchers or replacement is not None:
        topological_order(root)  # numbers (`x * 2`) appear as leaves, and take part
    order = _postorder(root)
    buffer = _seeded(order)
    if replacement is not None:
        flow = Gradients(root._mark, buffer)
        with_flow(flow, _replaced_pass, replacement, order, _nonzero(order), watchers)
        _set_gradients(order, buffer, False)
        return
    if cython.compiled and _is_plain and not open_blocks:
        _run_steps(order, buffer, len(order), False, True)  # all in C, so all at once
        return
    _run_pass(order, buffer, watchers, True)
    _set_gradients(order, buffer, True)


def _seeded(order: list[Value]) -> Any:
    """Make the buffer of gradients of a pass: 1 for the root, which is last, 0 for all others."""
    count = len(order)
    buffer = new_buffer(count)
    flow = numbers_in(buffer)
    flow[count - 1] = 1.0
    return buffer


def _run_pass(order: list[Value], buffer: Any, watchers: list[Any], ends: bool) -> None:
    """Run the steps of a pass; watchers hear of each, and at its end of what was left before."""
    root = order[len(order) - 1]
    if watchers or (open_blocks and in_strict()):
        previous_grads = _nonzero(order) if ends else None
        with_flow(Gradients(root._mark, buffer), _observed_pass, order, previous_grads, watchers)
        return
    left = _run_steps(order, buffer, len(order), False, False)
    if left:
        rest = _Rest()
        rest.order, rest.buffer, rest.count = order, buffer, left
        with_flow(Gradients(root._mark, buffer), rest)


@cython.final
@cython.cclass
class _Rest:
    """What is left of a pass from the first hand-written step on."""

    order: list[Value] | None
    buffer: Any
    count: int

    def __call__(self) -> None:
        if self.order is not None:
            _run_steps(self.order, self.buffer, self.count, True, False)


def _run_steps(order: list[Value], buffer: Any, count: int, by_hand: bool, at_once: bool) -> int:
    """The chain rule, last node first: what it knows of its gradient, it passes to its operands.

    Of the first `count` nodes; returns how many are left at a step that was written `by_hand`.
    Nodes get their gradients `at_once` if nothing can come in between.
    """
    has_extras = HAS_EXTRAS
    flow = numbers_in(buffer)
    root = order[len(order) - 1]
    done = root._mark
    for node in reversed(order if count == len(order) else order[:count]):
        count -= 1
        grad = flow[count]
        if at_once:
            node._grad += grad
        if node._tag >= has_extras:
            extras: Any = node._extras
            if extras.custom_backward is not None:
                if not by_hand:
                    return count + 1
                run_by_hand(node, extras.custom_backward)
                continue
            if extras.prev is not None or extras.operands:
                for operand, partial in _rules(node):
                    if operand._mark == done:
                        flow[operand._place] += partial * grad
                    else:  # a hand-written step has just put it there
                        operand.grad = operand.grad + partial * grad
                continue
        a = node._a
        if a is not None:
            flow[a._place] += node._da * grad
        b = node._b
        if b is not None:
            flow[b._place] += node._db * grad
    return 0


def _rules(node: Value) -> Iterable[tuple[Any, float]]:
    """Pair the operands that a node passes gradients on to with its local derivatives."""
    extras: Any = node._extras
    if extras is not None and extras.prev is None and node._a is None and node._b is None:
        return zip(extras.operands, extras.partials, strict=True) if extras.partials else ()
    return node._links_and_partials()


def _set_gradients(order: list[Value], buffer: Any, adds: bool) -> None:
    """Give the nodes the gradients of a pass, in one go: added to those they have, or instead."""
    flow = numbers_in(buffer)
    if open_blocks and is_flowing():  # somebody holds grads apart from the nodes, perhaps of these
        for node in order:
            node.grad = node.grad + flow[node._place] if adds else flow[node._place]
    elif cython.compiled:
        for k, node in enumerate(order):
            node._grad = node._grad + flow[k] if adds else flow[k]
    else:
        sums = [node._grad + number for node, number in zip(order, flow, strict=True)]
        set_at_once(order, "_grad", sums if adds else flow)


def _zero_gradients(root: Value) -> None:
    order = _postorder(root)
    _set_gradients(order, new_buffer(len(order)), False)


def gradients(root: Value, inputs: Iterable[Value], watchers: Any = ()) -> list[float]:
    """Return the derivatives of `root` with respect to `inputs`, and leave every `.grad` alone.

    Because it leaves no trace, a `record()` around it does not hear of it; `watchers` does.
    """
    if open_blocks:
        refuse_in_trace("asks for gradients")
    found: list[float] = in_turn(_gradients, root, inputs, list(watchers), False)[0]
    return found


def gradients_and_scale(root: Value, inputs: Iterable[Value]) -> tuple[list[float], float]:
    """Return the same, and what rounding errors of the root are relative to.

    That is the sum over all nodes of what would become of an error as large as the node.
    """
    if open_blocks:
        refuse_in_trace("asks for gradients")
    found: tuple[list[float], float] = in_turn(_gradients, root, inputs, [], True)
    return found


def _gradients(
    root: Value, inputs: Iterable[Value], watchers: list[Any], with_scale: bool
) -> tuple[list[float], float]:
    if watchers:
        topological_order(root)  # as in a pass that others watch
    order = _postorder(root)
    buffer = _seeded(order)
    _run_pass(order, buffer, watchers, False)
    flow = numbers_in(buffer)
    found = []
    for node in inputs:  # whoever has the root's mark took part in the pass
        found.append(flow[node._place] if node._mark == root._mark else 0.0)  # noqa: PERF401
    return found, _scale(order, buffer) if with_scale else 0.0


def _scale(order: list[Value], buffer: Any) -> float:
    flow = numbers_in(buffer)
    total = 0.0
    for k, node in enumerate(order):
        part = flow[k] * node._data
        total += part if part > 0.0 else -part
    return total


def _set_all(nodes: list[Value], grads: list[float]) -> None:
    """Set grads, all or none; where they are held apart, there."""
    if open_blocks and is_flowing():
        for node, grad in zip(nodes, grads, strict=True):
            node.grad = grad
    else:
        set_at_once(nodes, "_grad", grads)


# ---- steps that others see ---------------------------------------------------------------------


def _nonzero(order: list[Value]) -> list[tuple[Value, float]]:
    """Pair nodes with what earlier passes have left in their grads."""
    return [(node, node.grad) for node in order if node.grad != 0.0]


def _observed_pass(
    order: list[Value], previous_grads: list[tuple[Value, float]] | None, watchers: list[Any]
) -> None:
    for watcher in watchers:
        watcher.started(order[len(order) - 1])
    for node in reversed(order):
        _observed_step(node, True, watchers)
    if previous_grads is not None:
        for watcher in watchers:
            watcher.finished(previous_grads)


def _replaced_pass(
    replacement: Any,
    order: list[Value],
    previous_grads: list[tuple[Value, float]],
    watchers: list[Any],
) -> None:
    """Have somebody else do the work; see `observers.Pass`."""
    for watcher in watchers:
        watcher.started(order[len(order) - 1])
    kept = replacement(order, previous_grads, watchers)
    for watcher in watchers:
        watcher.finished(kept)
    for node, grad in kept:
        node.grad = node.grad + grad


def run_by_hand(node: Value, custom_backward: Callable[[], Any]) -> None:
    """Run a hand-written `_backward`; an error gets a note that says whose it is."""
    try:
        custom_backward()
    except BaseException as error:
        with suppress(Exception):  # a label or an error of somebody's own may not like to be shown
            error.add_note(
                f"This came from the hand-written _backward of {node!r}, op {node._op!r}"
                f"{f', label {node.label!r}' if node.label else ''}. Every .grad in the graph is "
                "as it was before the pass."
            )
        raise


def _observed_step(node: Value, by_hand: bool, watchers: list[Any]) -> None:
    """One step, before witnesses or by itself.

    In a strict pass it refuses stale numbers and the first gradient that is not finite; that of a
    number (the 0 of `0 ** x`) is nobody's business, and is there only if somebody has looked.
    """
    strictly = by_hand and in_strict()
    if strictly:
        strict_checks.check_rule(node)
        strict_checks.check_fresh(node)
    grad = node.grad
    before = [(operand, operand.grad) for operand in node._links()]
    if by_hand and node._is_custom:
        run_by_hand(node, node._backward)
    else:
        now = {id(operand): number for operand, number in before}
        for operand, partial in _rules(node):
            now[id(operand)] += partial * grad
        _set_all([operand for operand, _ in before], [now[id(operand)] for operand, _ in before])
    if strictly:
        number = node._shown_number()
        for operand, previous in before:
            if operand is not number:
                strict_checks.check_gradient(node, operand, previous)
    for watcher in watchers:
        watcher.stepped(node, grad, before, by_hand)
