"""How somebody's Value class is spoken to: what its attributes, methods and operations are called.

Every learner's class is a little different: `data` or `value`, `grad` or `derivative`,
`backward()` or `backprop(loss)`, methods or functions. `finding.py` finds the words by trying
them out; a `Dialect` has them, and builds and runs scripts with them. An operation that the class
does not have is not there, which is no fault.

This runs in the sandbox, next to a stranger's code: it looks at numbers only, never at reprs,
and never compares a stranger's objects.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .scripts import Probe, Script, Statement

DATA = (
    "data", "value", "val", "_data", "_value", "x", "v", "item", "number", "values", "scalar",
)  # fmt: skip
GRAD = (
    "grad", "derivative", "gradient", "_grad", "adjoint", "deriv", "g", "grad_value", "_gradient",
    "dL", "bar",
)  # fmt: skip
BACKWARD = (
    "backward", "backprop", "backpropagate", "back_prop", "backwards", "back_propagate",
    "backpropagation", "back", "compute_gradients", "gradients", "calculate_gradients",
    "backward_pass", "run_backward", "compute_grad", "compute_grads", "get_gradients",
)  # fmt: skip
CHILDREN = ("_prev", "_children", "children", "parents", "prev", "_parents", "inputs", "_inputs")
ZERO = ("zero_grad", "zero_gradients", "reset_grad", "zerograd", "zero_gradient", "clear_grad")
SYMBOLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
}
SPECIAL = {op: f"__{symbol.__name__}__" for op, symbol in SYMBOLS.items()} | {"neg": "__neg__"}
NAMES = {  # what functions instead of operators are called
    "add": ("add", "plus"),
    "sub": ("sub", "subtract", "minus"),
    "mul": ("mul", "multiply", "times"),
    "div": ("div", "divide", "truediv"),
    "pow": ("pow", "power"),
    "neg": ("neg", "negate", "negative"),
    "tanh": ("tanh",),
    "exp": ("exp",),
    "log": ("log", "ln"),
    "relu": ("relu", "ReLU"),
    "sigmoid": ("sigmoid",),
}


class NoResult(Exception):  # noqa: N818 - an answer to a question, by this name
    """An operation gives something that has no number in it, such as None."""


def can(probe: Probe, operations: set[str], operators: set[str], zero: str) -> bool:
    """Whether a class that has these has all that a probe needs."""
    script = probe.script
    if probe.kind == "left":  # a missing operator is what is looked for: it may be the other way
        return {{"sum": "add", "neg": "add"}.get(op, op) for op in script.ops} <= operators
    if probe.kind == "zero" and not zero:
        return False
    needed = {"add" if op == "sum" else op for op in script.ops}
    in_place = any("=" in statement.op for statement in script.statements)
    if "sum" in script.ops or script.has_numbers or in_place:
        # Numbers and += are for operators; a method may want Values alone.
        return needed <= operators | (operations - set(SPECIAL))
    return needed <= operations


@dataclass(slots=True)
class Dialect:
    """A class, and the words to use with it."""

    cls: type
    make: Callable[[float], Any]
    data: str
    grad: str
    start: Callable[[Any], Any]  # the backward pass, from a root
    words: dict[str, str]  # for the report: what is called how
    operations: dict[str, Callable[..., Any]] = field(default_factory=dict)
    zero: str = ""
    operators: set[str] = field(default_factory=set)  # the operations written as operators
    file: str = ""  # that the class is in
    plain: Callable[[float], Any] | None = None  # where `make` asks for gradients: without that
    evaluate: str = ""  # the method that a result needs before it has a number
    results: Mapping[Any, Any] | None = None  # gradients, where a pass returns them
    spelling: dict[str, str] = field(default_factory=dict)  # where it is not that of the lessons
    choices: list[str] = field(default_factory=list)  # the classes that could be examined
    root: int = 0  # the id of that of the last pass: the graph itself is not kept
    growing: list[Any] = field(default_factory=list)  # what successful passes leave things in

    def backward(self, root: Any) -> None:
        """Run the backward pass from a root."""
        if self.evaluate:
            getattr(root, self.evaluate)()
        self.root = id(root)
        returned = self.start(root)
        self.results = returned if isinstance(returned, Mapping) and returned else None

    def can(self, probe: Probe) -> bool:
        """Whether the class has all that a probe needs."""
        return can(probe, set(self.operations), self.operators, self.zero)

    def documentation(self) -> str:
        """Return what the class and its backward() say of themselves."""
        name = self.words["backward"].partition("(")[0]
        things = (self.cls, getattr(self.cls, name, None))
        return " ".join(str(getattr(thing, "__doc__", None) or "") for thing in things)[:10_000]

    def has_closures(self) -> bool:
        """Whether the result of an operation keeps a function of its own, as in the lessons."""
        try:
            made = self.operations["add"](self.make(1.0), self.make(2.0))
            slots = [n for c in type(made).__mro__ for n in getattr(c, "__slots__", ())]
            names = [*vars(made)] if hasattr(made, "__dict__") else slots
            return any(inspect.isfunction(getattr(made, name, None)) for name in names)
        except Exception:
            return True

    def run(self, script: Script) -> dict[str, Any]:
        """Build a script's graph; return the stranger's Values by name."""
        values = {name: self.make(number) for name, number in script.leaves.items()}
        for statement in script.statements:
            values[statement.name] = made = self._do(statement, values)
            # A number of NumPy's has a `data` as well.
            can_be_plain = issubclass(self.cls, float) or type(made).__module__ == "numpy"
            is_plain = can_be_plain and not isinstance(made, self.cls)
            if is_plain or not hasattr(made, self.data):
                _, _, expression = statement.text(self.spelling).partition(" = ")
                raise NoResult(f"{expression} is {_kind(made)}")
        return values

    def _do(self, statement: Statement, values: dict[str, Any]) -> Any:
        op = statement.op
        operands = [values[x] if isinstance(x, str) else x for x in statement.operands]
        if op == "is":
            return operands[0]
        if op == "sum":
            return sum(operands)
        if op.endswith("="):
            return getattr(operator, f"i{SYMBOLS[op[:-1]].__name__}")(*operands)
        if op == "neg" and "neg" not in self.operations:
            return -operands[0]
        return self.operations[op](*operands)

    def number(self, value: Any, what: str) -> float:
        """Read a number off a stranger's Value: its `data` or `grad`; None counts as 0."""
        if what == IN_RESULTS:
            results = self.results or {}
            found = results.get(value)
            found = results.get(id(value)) if found is None else found
            # A result's own gradient need not be told: it is what one begins with.
            return 1.0 if found is None and id(value) == self.root and results else (
                plain_number(found, self)
            )  # fmt: skip
        if what == self.data and self.evaluate and getattr(value, what) is None:
            getattr(value, self.evaluate)()  # it is no part of what the pass began with
        return plain_number(getattr(value, what), self)

    def seed(self, value: Any) -> None:
        """Set a Value's gradient to 1 by hand, as what it is: a number, or an array of one."""
        old = getattr(value, self.grad)
        if callable(old):
            raise TypeError(f"{self.grad} is a method")
        has_shape = hasattr(old, "shape") and hasattr(old, "dtype")
        setattr(value, self.grad, old * 0 + 1 if has_shape else 1.0)


IN_RESULTS = "what the pass returns"  # instead of the name of an attribute, for gradients


def plain_number(found: Any, dialect: Dialect | None = None) -> float:
    """Return a number as a float: from an array of one, a method, a Value; None counts as 0."""
    for _ in range(4):
        if found is None:
            return 0.0
        if dialect is not None and isinstance(found, dialect.cls):  # a gradient with a graph
            found = getattr(found, dialect.data)
        elif inspect.ismethod(found) or inspect.isfunction(found):
            found = found()
        elif isinstance(found, list | tuple) and len(found) == 1:
            found = found[0]
        elif getattr(found, "shape", ()) and hasattr(found, "item"):
            found = found.item()  # which refuses arrays of several numbers
        else:
            break
    return float(found)


def _kind(made: Any) -> str:
    return "None" if made is None else f"of type {type(made).__name__}"
