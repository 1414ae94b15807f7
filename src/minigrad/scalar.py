"""`Value`: one number that remembers how it was made.

Every operation makes a node: its value, its operands, and one number per operand, the local
derivative, worked out on the way forward. `backward()` then is a loop without a formula in it:

    for each node, last to first:
        for each operand:  operand.grad += local derivative * node.grad

Formulas are in `ops.py`: this file asks the table. What a node is made of, and the lessons'
attributes, are in `node.py`; the loop is in `backward.py`. Nothing recurses over a graph. The file
is plain Python that Cython can compile as it is: small typed functions, no cleverness.

Start at `Value.__mul__`, then `_binary`, then `_node`, then `backward.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from .core import codes
from .core import cython_shim as cython
from .core import strict as strict_checks
from .core.backward import add_gradients, in_turn, observed_step, zero_gradients
from .core.blocks import open_blocks
from .core.coerce import (
    as_float,
    as_list,
    is_number,
    refuse_comparison,
    refuse_condition,
    refuse_operand,
    refuse_operator,
    refuse_subscript,
)
from .core.elsewhere import VALUE, absentees
from .core.flow import is_flowing
from .core.graph import made_of_numbers
from .core.modes import is_recording, of_a_node
from .core.node import STAMP, STAMPS, UNSTAMPED, Extras, Node, Scope, as_operands, clock
from .core.observers import current_watchers, refuse_in_trace, tracer
from .core.ops import OPS, TABLE, Op
from .core.scopes import current_scope
from .core.turns import in_child
from .core.writeback import flush_writebacks, writebacks
from .maths import floats as ieee

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

# Methods that modules above this one provide: `explain` and the picture for notebooks. They
# register here when the package is loaded, and a Value looks them up by name.
ABILITIES: dict[str, Callable[..., Any]] = {}


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
        data: Any = ...,  # nothing is refused, as are the last two, with what to write instead
        _children: Iterable[Any] = (),
        _op: str | Iterable[float] = "",
        label: str = "",
        name: Any = None,
        requires_grad: Any = None,
    ) -> None:
        if name is not None or requires_grad is not None:
            _refuse("Value", {"name": name, "requires_grad": requires_grad})
        source: Any = None if type(data) is float else getattr(data, "_traced_node", None)
        if isinstance(source, Value):  # a number that is a node to a compiled function
            self._data = source._fields()[0]
        else:
            source = None
            self._data = as_float(data, "Value(data)")
        clock.writes += 1  # it may be called on a Value that is there
        self._grad = 0.0
        self._a = self._b = None
        self._da = self._db = 0.0
        self._tag = clock.stamp
        self._mark = 0
        if _children != () or _op != "":
            source = self._made_by_hand(data, _children, _op)
        if source is not None:  # it is that node, under another name
            self._tag |= codes.WHERE
            self._a = source
            self._da = 1.0
            track_like_any(self, (source,))
        if open_blocks:
            recorder = _recorder  # once: another thread may end its trace
            if recorder is not None and recorder.thread != _this_thread():
                self._mark = recorder.strange
            elif recorder is not None or source is not None or _children != ():
                _observe(self)
            else:
                self._note_block()
        if label != "":
            self.label = label

    def _made_by_hand(self, data: Any, children: Iterable[Any], op: str | Iterable[float]) -> Any:
        """Take what somebody gave; or return the node that a tracer has for it."""
        what = "Value(data, children, local_grads)"
        operands = as_operands(children, "Value(data, _children)")
        given = op if isinstance(op, str) else tuple(as_list(op, what))
        reader = tracer() if open_blocks else None
        known = None if reader is None else reader.by_hand(data, operands, given)
        if known is not None:
            return known
        extras = self._get_extras()
        extras.operands = operands
        track_like_any(self, operands)
        if isinstance(given, str):
            extras.op = given
            return None
        extras.partials = tuple(as_float(d, what) for d in given)
        if len(extras.partials) != len(operands):
            raise ValueError(
                f"{what}: {len(operands)} children but {len(extras.partials)} local "
                "derivatives; give one for each child."
            )
        return None

    def _note_block(self) -> None:
        """Remember the `scope` block that this is made in."""
        block = current_scope()
        if block is not None:
            self._get_notes().block = block

    # ---- backward ---------------------------------------------------------------------------

    def backward(
        self,
        gradient: Any = None,  # PyTorch's arguments: refused, with what to write instead
        retain_graph: Any = None,
        create_graph: Any = None,
        inputs: Any = None,
    ) -> None:
        """Add to every `.grad` under this node the derivative of this node.

        `.grad` is the sum over calls, for interior nodes as for leaves. If a hand-written
        `_backward` raises, every `.grad` in the graph is left as it was.
        """
        if (
            gradient is not None
            or retain_graph is not None
            or create_graph is not None
            or inputs is not None
        ):
            given = {"gradient": gradient, "retain_graph": retain_graph, "inputs": inputs}
            _refuse("backward", {**given, "create_graph": create_graph})
        if open_blocks:
            refuse_in_trace("calls backward()")
        in_turn(add_gradients, self)

    def zero_grad(self) -> None:
        """Set `.grad` to zero on this node and on everything under it."""
        if open_blocks:
            refuse_in_trace("calls zero_grad()")
        in_turn(zero_gradients, self)

    def _local_step(self) -> None:
        """Run the rule of the table, also if a hand-written step has taken its place by now."""
        watchers: list[Any] = []
        if open_blocks and not is_flowing():  # in a pass, watchers hear of it
            watchers = current_watchers()
        if watchers:
            self._show_number()  # as in a whole pass
        self._mark = max(self._mark, 1)
        observed_step(self, False, watchers)

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

    def explain(self, result: Value, top: int = 10, lang: str = "en") -> Any:
        """Return the gradient of `result` with respect to this Value as a sum over paths.

        Of these it lists the `top` largest; `lang` is the language of its sentences, "en" or "es".
        """
        return ABILITIES["explain"](result, self, top, lang)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """The picture of the graph, for notebooks."""
        return ABILITIES["show"](self)

    # ---- operators --------------------------------------------------------------------------

    def __add__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(codes.ADD, self, other)
        return _binary_number(codes.ADD, self, other)

    def __sub__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(codes.SUB, self, other)
        return _binary_number(codes.SUB, self, other)

    def __mul__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(codes.MUL, self, other)
        return _binary_number(codes.MUL, self, other)

    def __truediv__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(codes.DIV, self, other)
        return _binary_number(codes.DIV, self, other)

    def __pow__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _binary(codes.POW, self, other)
        return _binary_number(codes.POW, self, other)

    def __radd__(self, other: Any) -> Value:
        return _number_binary(codes.ADD, other, self)

    def __rsub__(self, other: Any) -> Value:
        return _number_binary(codes.SUB, other, self)

    def __rmul__(self, other: Any) -> Value:
        return _number_binary(codes.MUL, other, self)

    def __rtruediv__(self, other: Any) -> Value:
        return _number_binary(codes.DIV, other, self)

    def __rpow__(self, other: Any) -> Value:
        return _number_binary(codes.POW, other, self)

    def __matmul__(self, other: Any) -> Any:
        return refuse_operator(self, other, "@")

    def __rmatmul__(self, other: Any) -> Any:
        return refuse_operator(self, other, "@")

    def __floordiv__(self, other: Any) -> Any:
        return refuse_operator(self, other, "//")

    def __rfloordiv__(self, other: Any) -> Any:
        return refuse_operator(self, other, "//")

    def __mod__(self, other: Any) -> Any:
        return refuse_operator(self, other, "%")

    def __rmod__(self, other: Any) -> Any:
        return refuse_operator(self, other, "%")

    def __xor__(self, other: Any) -> Any:
        return refuse_operator(self, other, "^")

    def __and__(self, other: Any) -> Any:
        return refuse_operator(self, other, "&")

    def __or__(self, other: Any) -> Any:
        return refuse_operator(self, other, "|")

    def __invert__(self) -> Any:
        return refuse_operator(self, self, "~")

    def __neg__(self) -> Value:
        return _unary(codes.NEG, self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return _unary(codes.ABS, self)

    # ---- functions, as methods: one line each, the rule is in the table ---------------------

    def tanh(self) -> Value:
        """Return tanh(x). Derivative: 1 - tanh(x)**2. Domain: any x."""
        return _unary(codes.TANH, self)

    def exp(self) -> Value:
        """Return exp(x). Derivative: exp(x). Domain: any x."""
        return _unary(codes.EXP, self)

    def expm1(self) -> Value:
        """Return exp(x) - 1. Derivative: exp(x). Domain: any x."""
        return _unary(codes.EXPM1, self)

    def log(self) -> Value:
        """Return log(x). Derivative: 1/x. Domain: x > 0."""
        return _unary(codes.LOG, self)

    def log1p(self) -> Value:
        """Return log(1 + x). Derivative: 1/(1 + x). Domain: x > -1."""
        return _unary(codes.LOG1P, self)

    def sqrt(self) -> Value:
        """Return sqrt(x). Derivative: 1/(2*sqrt(x)). Domain: x >= 0."""
        return _unary(codes.SQRT, self)

    def sin(self) -> Value:
        """Return sin(x). Derivative: cos(x). Domain: any x."""
        return _unary(codes.SIN, self)

    def cos(self) -> Value:
        """Return cos(x). Derivative: -sin(x). Domain: any x."""
        return _unary(codes.COS, self)

    def tan(self) -> Value:
        """Return tan(x). Derivative: 1/cos(x)**2. Domain: any x."""
        return _unary(codes.TAN, self)

    def asin(self) -> Value:
        """Return asin(x). Derivative: 1/sqrt(1 - x**2). Domain: -1 <= x <= 1."""
        return _unary(codes.ASIN, self)

    def acos(self) -> Value:
        """Return acos(x). Derivative: -1/sqrt(1 - x**2). Domain: -1 <= x <= 1."""
        return _unary(codes.ACOS, self)

    def atan(self) -> Value:
        """Return atan(x). Derivative: 1/(1 + x**2). Domain: any x."""
        return _unary(codes.ATAN, self)

    def sinh(self) -> Value:
        """Return sinh(x). Derivative: cosh(x). Domain: any x."""
        return _unary(codes.SINH, self)

    def cosh(self) -> Value:
        """Return cosh(x). Derivative: sinh(x). Domain: any x."""
        return _unary(codes.COSH, self)

    def erf(self) -> Value:
        """Return erf(x). Derivative: 2/sqrt(pi)*exp(-(x**2)). Domain: any x."""
        return _unary(codes.ERF, self)

    def erfc(self) -> Value:
        """Return 1 - erf(x). Derivative: -2/sqrt(pi)*exp(-(x**2)). Domain: any x."""
        return _unary(codes.ERFC, self)

    def sigmoid(self) -> Value:
        """Return 1/(1 + exp(-x)). Derivative: exp(-x)/(1 + exp(-x))**2. Domain: any x."""
        return _unary(codes.SIGMOID, self)

    def softplus(self) -> Value:
        """Return log(1 + exp(x)). Derivative: 1/(1 + exp(-x)). Domain: any x."""
        return _unary(codes.SOFTPLUS, self)

    def relu(self) -> Value:
        """Return x if x > 0 else 0. Derivative: 1 if x > 0 else 0. Domain: any x."""
        return _unary(codes.RELU, self)

    def gelu(self) -> Value:
        """Return x*(1 + erf(x/sqrt(2)))/2.

        Derivative: (1 + erf(x/sqrt(2)))/2 + x*exp(-(x**2)/2)/sqrt(2*pi). Domain: any x.
        """
        return _unary(codes.GELU, self)

    def silu(self) -> Value:
        """Return x/(1 + exp(-x)).

        Derivative: (1 + exp(-x)*(1 + x))/(1 + exp(-x))**2. Domain: any x.
        """
        return _unary(codes.SILU, self)

    def abs(self) -> Value:
        """Return x if x > 0 else -x.

        Derivative: 1 if x > 0 else -1 if x < 0 else 0. Domain: any x.
        """
        return _unary(codes.ABS, self)

    def leaky_relu(self, slope: Any = 0.01) -> Value:
        """Return x if x > 0 else slope*x.

        Derivative: 1 if x > 0 else slope; 0 if x > 0 else x. Domain: any x.
        """
        return _with_value_or_number(codes.LEAKY_RELU, self, slope)

    def atan2(self, x: Any) -> Value:
        """Return atan2(y, x). Derivative: x/(x**2 + y**2); -y/(x**2 + y**2). Domain: any y, x."""
        return _with_value_or_number(codes.ATAN2, self, x)

    def hypot(self, other: Any) -> Value:
        """Return sqrt(a**2 + b**2).

        Derivative: a/sqrt(a**2 + b**2); b/sqrt(a**2 + b**2). Domain: any a, b.
        """
        return _with_value_or_number(codes.HYPOT, self, other)

    def conjugate(self) -> Value:
        """Return itself; NumPy's var() and std() ask real numbers too."""
        return self

    def minimum(self, other: Any) -> Value:
        """Return a if a < b else b.

        Derivative: 1 if a < b else 0; 0 if a < b else 1. Domain: any a, b.
        """
        return _with_value_or_number(codes.MINIMUM, self, other)

    def maximum(self, other: Any) -> Value:
        """Return a if a > b else b.

        Derivative: 1 if a > b else 0; 0 if a > b else 1. Domain: any a, b.
        """
        return _with_value_or_number(codes.MAXIMUM, self, other)

    def clip(self, low: Any, high: Any) -> Value:
        """Return low if x < low else high if x > high else x.

        Derivative: 1 if low <= x <= high else 0; 1 if x < low else 0; 1 if x > high else 0. Domain:
        low <= high.
        """
        clipped: Value = apply(OPS["clip"], self, low, high)
        return clipped

    # np.arctan(object_array) and its like look for methods of NumPy's spelling.
    arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2

    # Order is by number; equality and hash stay identity, so that sets and dicts of nodes work. But
    # what a compiled function computes of numbers that it was given is a number outside.

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> Any:
        if type(other) is Value or not (
            type(other) is float or type(other) is int or hasattr(other, "_traced_node")
        ):
            return NotImplemented
        if not made_of_numbers(self, Value._links):
            return NotImplemented
        if open_blocks and tracer() is not None:
            return _compared("equal", self, other)
        return self._data == (other._fields()[0] if isinstance(other, Value) else other)

    def __lt__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less", self, other)
        number = _number_of(other, "<")
        return self._data < number

    def __le__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less_equal", self, other)
        number = _number_of(other, "<=")
        return self._data <= number

    def __gt__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less", other, self)
        number = _number_of(other, ">")
        return self._data > number

    def __ge__(self, other: Any) -> bool:
        if open_blocks and tracer() is not None:
            return _compared("less_equal", other, self)
        number = _number_of(other, ">=")
        return self._data >= number


def add_method(name: str, method: Any) -> None:
    """Give every Value a method, of a script whose own Value it replaces."""
    set_in_class(Value, name, method)


def engine() -> str:
    """Tell which engine runs: "native", or "pure" for the same source as plain Python."""
    return "native" if cython.compiled else "pure"


def nodes_alive() -> int:
    """Count the nodes in existence, to find leaks; only the native engine keeps count."""
    return slab_count()


# ---- making nodes --------------------------------------------------------------------------

if not cython.compiled:
    from .core.cython_shim import (
        make_node,
        open_slab,
        place_nodes,
        place_operators,
        refuse_elements,
        set_in_class,
        slab_count,
        track,
        track_like_any,
    )

    _new: Any = object.__new__
    _this_thread = threading.get_ident
    # The rules by code and number of operands; in the native engine, C functions of the same rows.
    value1 = value2 = [op.value for op in TABLE]
    first1 = first2 = [op.partials[0] if op.partials else op.value for op in TABLE]
    second2 = [op.partials[1] if len(op.partials) > 1 else op.value for op in TABLE]


def _node(
    code: int, data: float, a: Any, b: Any, da: float, db: float, extras: Extras | None = None
) -> Value:
    """Make a node. Every operation ends here."""
    node: Value
    if cython.compiled:
        node = make_node(a, b)
        node._tag = code | clock.stamp
    else:
        node = _new(Value)
        tags = clock.tags
        if code not in tags:
            tags[code] = code | clock.stamp
        node._tag = tags[code]
        node._grad = 0.0
        node._a = a
        node._b = b
        node._mark = 0
    node._data = data
    node._da = da
    node._db = db
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
        number = _real(code, number, False)
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
        number = _real(code, number, True)
        if number is None:
            return NotImplemented  # type: ignore[no-any-return]
    p = number
    q = b._data
    y = value2[code](ieee, p, q)
    return _node(code, y, None, b, p, second2[code](ieee, y, p, q))


def _real(code: int, number: Any, swapped: bool) -> float | None:
    """Return an operand that is not a Value as a float, or None if it is no number."""
    if isinstance(
        number, Value
    ):  # Python asks the operand of a subclass first: it is its turn next
        return None
    if type(number) is int and -1_000_000 < number < 1_000_000:  # above all the 0 of sum()
        return float(number)
    if not is_number(number):
        refuse_operand(number, TABLE[code].label, swapped)
        return None
    return as_float(number, f"Value {TABLE[code].label} number")


# What people write who come from elsewhere, and what to write here.
_INSTEAD = {
    "name": "the name of a Value is its label: Value(data, label=…)",
    "requires_grad": "every Value has a gradient, so leave requires_grad out",
    "gradient": "write (v * gradient).backward() to start from another number than 1",
    "retain_graph": "graphs are always kept, so leave retain_graph out",
    "create_graph": "write grad(output, inputs, create_graph=True), and differentiate that again",
    "inputs": "write grad(output, inputs), which returns the derivatives by these alone",
}


def _refuse(call: str, arguments: dict[str, Any]) -> NoReturn:
    name = next(name for name, given in arguments.items() if given is not None)
    raise TypeError(f"{call}({name}=…): there is no such argument; {_INSTEAD[name]}.")


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
    track_like_any(node, operands)
    return node


def leaf(data: float) -> Value:
    """Make a leaf of a float: `Value(data)`, for whoever knows that it is one."""
    return _node(0, data, None, None, 0.0, 0.0)


def fused(data: float, operands: tuple[Value, ...], partials: Sequence[float]) -> Value:
    """Make one node of a whole computation whose derivatives are known, or will be when asked."""
    extras = Extras()
    extras.op = "compiled"
    extras.operands = operands
    extras.partials = partials
    node = _node(0, data, None, None, 0.0, 0.0, extras)
    if is_recording():
        track_like_any(node, operands)  # the collector tracks a node whose operands it tracks
    return node


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
            op, tuple(x if isinstance(x, Value) else Value(as_float(x, op.name)) for x in arguments)
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
    if type(condition) is not bool:
        refuse_condition(condition)
    chosen = a if condition else b
    if isinstance(chosen, Value):
        return _node(codes.WHERE, _number_of(chosen, ""), chosen, None, 1.0, 0.0)
    if isinstance(a, Value) or isinstance(b, Value):
        return Value(as_float(chosen, "where"))
    return as_float(chosen, "where")


def _number_of(other: Any, symbol: str) -> float:
    """Return the number to compare with, or a stranger that may know how to compare itself."""
    if writebacks:
        flush_writebacks()
    if type(other) is float:
        return other
    if isinstance(other, Value):
        value = other
        return value._data
    if type(other) is not int:
        refuse_comparison(other, symbol)
    return other  # type: ignore[no-any-return]


# ---- while a function is traced; see observers.Tracer -------------------------------------------


def _behind(x: Any) -> Any:
    """Return the node behind a number that was read while tracing; anything else as it is."""
    return getattr(x, "_traced_node", x)


def _compared(kind: str, a: Any, b: Any) -> bool:
    reader: Any = tracer()
    return reader.compared(kind, a, b)  # type: ignore[no-any-return]


# ---- calls of modules; see scopes.py ------------------------------------------------------------

_DEEPEST = 8  # containers in containers that a call may return and is looked for Values


def end_call(result: Any, name: str, start: int, inputs: tuple[Any, ...] = ()) -> None:
    """Note on what a call returned, a Value or a container of them, that it comes from this call.

    It began at `start`, which is `clock.tick()`. Not on what was there before, nor in a trace or
    inside `no_grad()`, where nothing has a history.
    """
    recorder = _recorder
    if recorder is not None and recorder.thread == _this_thread():
        return
    scope = Scope(name, start)
    scope.end = clock.count
    scope.inputs = inputs
    clock.tick()
    _note_call(result, (scope,), scope.start, scope.end, 0)


def _note_call(result: Any, calls: tuple[Scope], start: int, end: int, depth: int) -> None:
    if isinstance(result, Value):
        node = result
        age = (node._tag // STAMP - start) & (STAMPS - 1)
        if node._tag & UNSTAMPED and age <= end - start:
            if node._extras is None:
                node._extras = Extras()
            extras = node._extras
            extras.calls = extras.calls + calls if extras.calls else calls
    elif depth < _DEEPEST:
        if isinstance(result, dict):
            result = list(result.values())
        if isinstance(result, (list, tuple)):
            for each in result:
                _note_call(each, calls, start, end, depth + 1)


# ---- observing new nodes ----------------------------------------------------------------------


@cython.final
@cython.cclass
class Recorder:
    """Lists the nodes that a function makes while it is traced."""

    __slots__ = ("closely", "many", "nodes", "strange", "thread", "warn")

    nodes: list[Any]  # in the order in which they were made
    many: int  # how many of them call for a word to the user
    warn: Any
    thread: int  # the only one whose nodes count
    strange: int  # the mark of what other threads make meanwhile
    closely: bool  # whether the tracer wants to hear of each node, too


_recorder: Recorder | None = None  # one at a time: traces take turns


@contextmanager
def recorded(
    nodes: list[Any], strange: int, many: int = -1, warn: Callable[[], None] | None = None
) -> Iterator[None]:
    """Append to `nodes` whatever is made inside this block, in this thread.

    What other threads make meanwhile gets the mark `strange`. When there are `many`, `warn` is
    called.
    """
    global _recorder
    recorder = Recorder()
    recorder.nodes, recorder.strange = nodes, strange
    recorder.many, recorder.warn = many, warn
    recorder.thread, recorder.closely = _this_thread(), False
    _recorder = recorder
    try:
        yield
    finally:
        _recorder = None


def look_closely() -> None:
    """Tell the tracer of each node from here on: the traced function has opened a block."""
    recorder = _recorder
    if recorder is not None:
        recorder.closely = True


def _observe(node: Value) -> None:
    """Do what the modes in force ask of a new node."""
    recorder = _recorder
    if recorder is not None:
        if recorder.thread == _this_thread():
            recorder.nodes.append(node)
            if len(recorder.nodes) == recorder.many:
                recorder.warn()
            if recorder.closely:
                reader: Any = tracer()
                if reader is not None:
                    reader.made(node)
            return
        node._mark = recorder.strange
    strictly, recording, scoped = of_a_node()
    if strictly:
        source = strict_checks.calling_line()
        strict_checks.check_value(node, source)
        node._get_extras().source = source
    if scoped:
        node._note_block()
    if not recording:
        node._a = node._b = None
        node._extras = None
        node._tag &= ~UNSTAMPED


def _after_fork() -> None:
    """The child has one thread: what another one traced in the parent, nobody traces here."""
    global _recorder
    if _recorder is not None and _recorder.thread != _this_thread():
        _recorder = None


in_child(_after_fork)


if cython.compiled:
    place_nodes(Value(0.0), Value(0.0))
    open_slab(Value)
    refuse_elements(Value, refuse_subscript)
    place_operators()  # from here on the operators above serve what is out of the ordinary
for _name, _absent in absentees("a Value", VALUE):
    set_in_class(Value, _name, _absent)
