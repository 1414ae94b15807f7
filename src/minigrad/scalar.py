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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from . import guard, ieee
from . import shim as cython
from .abilities import ABILITIES
from .coerce import as_float, as_list, is_number
from .errors import BackwardRunningError, CycleError
from .graph import cycle_message, topological_order
from .modes import (
    in_strict,
    is_recording,
    on_change,
    on_debt,
    refuse_in_trace,
    replaced_pass,
    settle,
    tracer,
    watchers,
)
from .node import HAS_RARE, Node, Rare, as_operands
from .ops import OPS, TABLE, Op

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

__all__ = [
    "Value",
    "apply",
    "begin_pass",
    "end_pass",
    "engine",
    "fused",
    "gradients",
    "gradients_and_scale",
    "leave_pass",
    "nodes_alive",
    "recorded",
    "refuse_inverted",
    "run_by_hand",
    "select",
]


# ---- making nodes --------------------------------------------------------------------------

if not cython.compiled:
    from .shim import make_node, open_slab, place_nodes, slab_count, track, track_like

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
    code: int, data: float, a: Any, b: Any, da: float, db: float, rare: Rare | None = None
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
    if rare is not None:
        node._attach(rare)
    if _modes:
        _observe(node)
    return node


def _unary(code: int, a: Value) -> Value:
    if _owed:
        settle()
    x = a._data
    y = value1[code](ieee, x)
    return _node(code, y, a, None, first1[code](ieee, y, x), 0.0)


def _binary(code: int, a: Value, b: Value) -> Value:
    if _owed:
        settle()
    p = a._data
    q = b._data
    y = value2[code](ieee, p, q)
    return _node(code, y, a, b, first2[code](ieee, y, p, q), second2[code](ieee, y, p, q))


def _binary_number(code: int, a: Value, number: Any) -> Value:
    """`a op number`; NotImplemented, so that Python asks the other side, if it is no number."""
    if _owed:
        settle()
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
    if _owed:
        settle()
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


def _pair(code: int, a: Value, b: Any) -> Value:
    """A method of two operands, the second a Value or a number."""
    if _modes:
        b = _behind(b)
    if isinstance(b, Value):
        return _binary(code, a, b)
    return _binary_number(code, a, as_float(b, TABLE[code].name))


def _many(op: Op, operands: tuple[Value, ...]) -> Value:
    if _owed:
        settle()
    xs = []
    for operand in operands:
        xs.append(operand._data)  # noqa: PERF401 - a loop, so that it is fast
    y = op.value(ieee, *xs)
    rare = Rare()
    rare.operands = operands
    rare.partials = tuple(op.derivatives(ieee, y, *xs))
    node = _node(op.code, y, None, None, 0.0, 0.0, rare)
    _follow(node, operands)
    return node


def fused(data: float, operands: tuple[Value, ...], partials: Sequence[float]) -> Value:
    """Make one node of a whole computation whose derivatives are known, or will be when asked."""
    rare = Rare()
    rare.op = "compiled"
    rare.operands = operands
    rare.partials = partials
    node = _node(0, data, None, None, 0.0, 0.0, rare)
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
    if _modes:
        arguments = tuple(map(_behind, arguments))
    if op.arity == 1 and isinstance(arguments[0], Value):
        return _unary(op.code, arguments[0])
    if op.arity == 2:
        a, b = arguments
        if isinstance(a, Value):
            return _pair(op.code, a, b)
        if isinstance(b, Value):
            return _number_binary(op.code, as_float(a, op.name), b)
    if any(isinstance(x, Value) for x in arguments):
        return _many(
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
    if _owed:
        settle()
    if _modes:
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

_recorder: list[Any] | None = None  # while a function is traced: its nodes, in order
_recording_thread = 0
_modes_of_trace = 0
_strange = 0


@contextmanager
def recorded(nodes: list[Any], strange: int) -> Iterator[None]:
    """Append to `nodes` whatever is made inside this block, in this thread.

    What other threads make meanwhile gets the mark `strange`.
    """
    global _recorder, _recording_thread, _modes_of_trace, _strange
    _recording_thread, _modes_of_trace, _strange = _this_thread(), _modes, strange
    _recorder = nodes
    try:
        yield
    finally:
        _recorder = None


_modes = 0  # how many blocks of modes.py are open; while none is, nothing is asked
_owed = False  # whether somebody keeps numbers of Values to himself; see modes.owe


def _set_modes(count: int) -> None:
    global _modes
    _modes = count


def _set_owed(owed: bool) -> None:
    global _owed
    _owed = owed


on_change(_set_modes)
on_debt(_set_owed)


def _observe(node: Value) -> None:
    """Do what the modes in force ask of a new node."""
    if _recorder is not None:
        if _recording_thread == _this_thread():
            _recorder.append(node)
            if _modes != _modes_of_trace:  # a block was opened, inside or by another thread
                reader: Any = tracer()
                if reader is not None:
                    reader.made(node)
            return
        node._mark = _strange
    if in_strict():
        source = guard.calling_line()
        guard.check_value(node, source)
        node._get_rare().source = source
    if not is_recording():
        node._a = node._b = None
        if node._tag >= HAS_RARE:
            node._rare = None
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
        if _modes:
            if _recorder is not None and _recording_thread != _this_thread():
                self._mark = _strange
            elif _recorder is not None or source is not None or _children != ():
                _observe(self)
        if label:
            self.label = label

    def _made_by_hand(self, data: Any, children: Iterable[Any], op: str | Iterable[float]) -> Any:
        """Take what somebody gave; or return the node that a tracer has for it."""
        if _modes:
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
        rare = self._get_rare()
        rare.operands = operands
        _follow(self, operands)
        if isinstance(op, str):
            rare.op = op
            return
        what = "Value(data, children, local_grads)"
        rare.partials = tuple(as_float(d, what) for d in as_list(op, what))
        if len(rare.partials) != len(operands):
            raise ValueError(
                f"{what}: {len(operands)} children but {len(rare.partials)} local "
                "derivatives; give one for each child."
            )

    # ---- backward ---------------------------------------------------------------------------

    def backward(self) -> None:
        """Add to every `.grad` under this node the derivative of this node.

        `.grad` is the sum over calls, for interior nodes as for leaves. If a hand-written
        `_backward` raises, every `.grad` in the graph is left as it was.
        """
        if _modes:
            refuse_in_trace("calls backward()")
        begin_pass()
        try:
            told = watchers() if _modes else []
            _, earlier = _propagate(self, told, replaced_pass() if _modes else None)
            for watcher in told:
                watcher.finished(earlier)
            _add(earlier)
        finally:
            end_pass()

    def zero_grad(self) -> None:
        """Set `.grad` to zero on this node and on everything under it."""
        if _modes:
            refuse_in_trace("calls zero_grad()")
        begin_pass()
        try:
            _clear(_postorder(self, []))
        finally:
            end_pass()

    def _local_step(self) -> None:
        """Run the rule of the table, also if a hand-written step has taken its place by now."""
        told = watchers() if _modes else []
        if told and _pass_owner != threading.get_ident():  # in a pass, a hand-written step is told
            self._show_number()  # as in a whole pass
            self._mark = max(self._mark, 1)
            _observed_step(self, False, told)
        else:
            self._mark = max(self._mark, 1)
            _run_steps([self], False)

    @property
    def _backward(self) -> Callable[[], Any]:
        """This node's own step of the chain rule; assign a function to make an op of your own."""
        if self._rare is not None and self._rare.step is not None:
            return self._rare.step
        return self._local_step

    @_backward.setter
    def _backward(self, step: Callable[[], Any]) -> None:
        if not callable(step):
            raise TypeError(
                f"v._backward = …: got {type(step).__name__}; assign a function without arguments "
                "that adds to the grads of the operands."
            )
        if is_recording():
            self._get_rare().step = step
            if cython.compiled:
                track(self)

    def detach(self) -> Value:
        """Return a leaf with the same number and label, and no history."""
        if _modes:
            reader = tracer()
            if reader is not None:
                held: Value = reader.read(self).node
                return held
        if _owed:
            settle()
        return Value(self._data, label=self.label)

    # ---- what rooms above know ----------------------------------------------------------------

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
        return _pair(_LEAKY_RELU, self, slope)

    def atan2(self, x: Any) -> Value:
        """Return the angle of the point (x, self)."""
        return _pair(_ATAN2, self, x)

    def hypot(self, other: Any) -> Value:
        return _pair(_HYPOT, self, other)

    def conjugate(self) -> Value:
        """Return itself; NumPy's var() and std() ask real numbers too."""
        return self

    def minimum(self, other: Any) -> Value:
        return _pair(_MINIMUM, self, other)

    def maximum(self, other: Any) -> Value:
        return _pair(_MAXIMUM, self, other)

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
        if _modes and tracer() is not None:
            return _compared("less", self, other)
        number = _number_of(other)
        return self._data < number

    def __le__(self, other: Any) -> bool:
        if _modes and tracer() is not None:
            return _compared("less_equal", self, other)
        number = _number_of(other)
        return self._data <= number

    def __gt__(self, other: Any) -> bool:
        if _modes and tracer() is not None:
            return _compared("less", other, self)
        number = _number_of(other)
        return self._data > number

    def __ge__(self, other: Any) -> bool:
        if _modes and tracer() is not None:
            return _compared("less_equal", other, self)
        number = _number_of(other)
        return self._data >= number


if cython.compiled:
    place_nodes(Value(0.0), Value(0.0))
    open_slab(Value)


def engine() -> str:
    """Tell which engine runs: "compiled", or "pure" for the same source uncompiled."""
    return "compiled" if cython.compiled else "pure"


def nodes_alive() -> int:
    """Count the nodes in existence, to find leaks; only the compiled engine keeps count."""
    return slab_count()


def _number_of(other: Any) -> float:
    """Return the number to compare with, or the stranger itself, which knows or raises."""
    if _owed:
        settle()
    if isinstance(other, Value):
        value = other
        return value._data
    return other  # type: ignore[no-any-return]


# ---- while a function is traced; see modes.Tracer -----------------------------------------------


def _behind(x: Any) -> Any:
    """Return the node behind a number that was read while tracing; anything else as it is."""
    return getattr(x, "_traced_node", x)


def _compared(kind: str, a: Any, b: Any) -> bool:
    reader: Any = tracer()
    return reader.compared(kind, a, b)  # type: ignore[no-any-return]


# ---- the backward pass ---------------------------------------------------------------------

_epoch = 0  # a mark below it is from an earlier pass
_pass_lock = threading.Lock()
_pass_owner = 0


def begin_pass() -> None:
    """Give marks and grads to one pass at a time: others wait, a pass inside a pass is refused."""
    global _pass_owner
    if _pass_owner == threading.get_ident():
        raise BackwardRunningError(
            "a backward pass is running already, and this call came from inside one of its "
            "_backward functions. A _backward may only add to the grads of its operands; call "
            "backward(), zero_grad() or grad() after the pass."
        )
    if _owed:
        settle()
    _pass_lock.acquire()
    _pass_owner = threading.get_ident()


def end_pass() -> None:
    """Let the next one in."""
    global _pass_owner
    _pass_owner = 0
    _pass_lock.release()


def leave_pass() -> None:
    """Let the next one in, if it is we who are in: an interrupt may come before."""
    if _pass_owner == threading.get_ident():
        end_pass()


def _postorder(  # noqa: PLR0915 - one loop, so that it is fast
    root: Value, grads: list[tuple[Value, float]]
) -> list[Value]:
    """`graph.topological_order`, on the nodes' own fields: operands first, the root last.

    What gradients it comes across on the way are added to `grads`, each with its node.

    Marks tell how far this pass is with a node: below `first`, not met; `first`, `second`,
    `listed`, the way down leads through its first operand, its second, or one of a list; `done`.
    """
    global _epoch
    _epoch += 4
    first = _epoch
    second = first + 1
    listed = first + 2
    done = first + 3
    has_rare = HAS_RARE
    order: list[Value] = []
    path: list[Value] = []  # the way down from the root
    lists: list[Any] = []  # what is left of the operands of the `listed` nodes on it
    node = root
    while True:
        below = None  # an operand to go down to
        if node._tag >= has_rare:
            node._mark = listed
            lists.append(iter(node._links()))
            path.append(node)
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
                order.append(node)
                if node._grad != 0.0:
                    grads.append((node, node._grad))
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
                        b._tag < has_rare
                        and (p is None or p._mark == done)
                        and (q is None or q._mark == done)
                    ):  # its operands are in the list: no need to go down for it alone
                        b._mark = done
                        order.append(b)
                        if b._grad != 0.0:
                            grads.append((b, b._grad))
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
                order.append(node)
                path.pop()
                if node._grad != 0.0:
                    grads.append((node, node._grad))
        if below._mark >= first:  # met, not done: on the way down already
            raise CycleError(cycle_message(path, below))
        node = below


def _propagate(
    root: Value, told: list[Any], replacement: Any = None
) -> tuple[list[Value], list[tuple[Value, float]]]:
    """Run one backward pass on clean grads; return its order, and the grads that were there before.

    Whoever is to be `told` hears of every step. If anything raises, the earlier grads are back
    before the error leaves. A `replacement`, see modes.py, does the work in the engine's place.
    """
    earlier: list[tuple[Value, float]] = []
    if told or replacement is not None:
        topological_order(root)  # numbers (`x * 2`) appear as leaves, and take part
    order = _postorder(root, earlier)
    try:
        for node, _ in earlier:
            node._grad = 0.0
        root._grad = 1.0
        for watcher in told:
            watcher.started(root)
        if replacement is not None:
            return order, replacement(order, list(earlier), told)
        if told or (_modes and in_strict()):
            for node in reversed(order):
                _observed_step(node, True, told)
        else:
            _run_steps(order)
    except BaseException:
        _restore(order, earlier)
        raise
    return order, earlier


def _run_steps(order: list[Value], by_hand: bool = True) -> None:
    """The chain rule, last node first: what it knows of its gradient, it passes to its operands."""
    has_rare = HAS_RARE
    for node in reversed(order):
        grad = node._grad
        if node._tag >= has_rare:
            rare: Any = node._rare
            if by_hand and rare.step is not None:
                run_by_hand(node, rare.step)
                continue
            if rare.prev is None and node._a is None and node._b is None:
                if rare.partials:
                    for operand, partial in zip(rare.operands, rare.partials, strict=True):
                        operand._grad += partial * grad
                continue
            if rare.prev is not None or rare.partials:
                for operand, partial in node._links_and_partials():
                    operand._grad += partial * grad
                continue
        a = node._a
        if a is not None:
            a._grad += node._da * grad
        b = node._b
        if b is not None:
            b._grad += node._db * grad


def _clear(order: list[Value]) -> None:
    for node in order:
        node._grad = 0.0


def _add(earlier: list[tuple[Value, float]]) -> None:
    for node, grad in earlier:
        node._grad += grad


def _restore(order: list[Value], earlier: list[tuple[Value, float]]) -> None:
    _clear(order)
    _add(earlier)


def gradients(root: Value, inputs: Iterable[Value], told: Any = ()) -> list[float]:
    """Return the derivatives of `root` with respect to `inputs`, and leave every `.grad` alone.

    Because it leaves no trace, a `record()` around it does not hear of it; `told` does.
    """
    return _gradients(root, inputs, list(told), False)[0]


def gradients_and_scale(root: Value, inputs: Iterable[Value]) -> tuple[list[float], float]:
    """Return the same, and what rounding errors of the root are relative to.

    That is the sum over all nodes of what would become of an error as large as the node.
    """
    return _gradients(root, inputs, [], True)


def _gradients(
    root: Value, inputs: Iterable[Value], told: list[Any], with_scale: bool
) -> tuple[list[float], float]:
    if _modes:
        refuse_in_trace("asks for gradients")
    begin_pass()
    try:
        order, earlier = _propagate(root, told)
        try:
            found = []
            for node in inputs:  # whoever has the root's mark took part in the pass
                found.append(node._grad if node._mark == root._mark else 0.0)  # noqa: PERF401
            scale = _scale(order) if with_scale else 0.0
        finally:  # also where one of the inputs is no Value
            _restore(order, earlier)
    finally:
        end_pass()
    return found, scale


def _scale(order: list[Value]) -> float:
    total = 0.0
    for node in order:
        part = node._grad * node._data
        total += part if part > 0.0 else -part
    return total


def run_by_hand(node: Value, step: Callable[[], Any]) -> None:
    """Run a hand-written step; an error is told whose it is."""
    try:
        step()
    except BaseException as error:
        error.add_note(
            f"This came from the hand-written _backward of {node!r}, op {node._op!r}"
            f"{f', label {node.label!r}' if node.label else ''}. Every .grad in the graph is as it "
            "was before the pass."
        )
        raise


def _observed_step(node: Value, by_hand: bool, told: list[Any]) -> None:
    """A local step before witnesses.

    In a strict pass it refuses stale numbers and the first gradient that is not finite; that of a
    number (the 0 of `0 ** x`) is nobody's business, and is there only if somebody has looked.
    """
    strictly = by_hand and in_strict()
    if strictly:
        guard.check_rule(node)
        guard.check_fresh(node)
    grad = node.grad
    before = [(operand, operand.grad) for operand in node._links()]
    _run_steps([node], by_hand)
    if strictly:
        number = node._shown_number()
        for operand, earlier in before:
            if operand is not number:
                guard.check_gradient(node, operand, earlier)
    for watcher in told:
        watcher.stepped(node, grad, before, by_hand)
