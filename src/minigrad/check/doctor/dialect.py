"""How somebody's Value class is spoken to: what its attributes, methods and operations are called.

Every learner's class is a little different: `data` or `value`, `grad` or `derivative`,
`backward()` or `backprop()`, methods or functions. `find` tries the usual names on a sample and
returns a `Dialect`, which then builds and runs scripts. An operation that the class does not have
is not there, which is no fault.

This runs in the sandbox, next to a stranger's code: it looks at numbers only, never at reprs,
and never compares a stranger's objects.
"""

from __future__ import annotations

import inspect
import operator
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import Any

from .scripts import Probe, Script, Statement

DATA = ("data", "value", "val", "_data", "_value", "x", "v", "item", "number")
GRAD = ("grad", "derivative", "gradient", "_grad", "adjoint", "deriv", "g")
BACKWARD = ("backward", "backprop", "backpropagate", "back", "compute_gradients", "gradients")
CHILDREN = ("_prev", "_children", "children", "parents", "prev", "_parents", "inputs", "_inputs")
ZERO = ("zero_grad", "zero_gradients", "reset_grad", "zerograd")
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


class NoEngineError(Exception):
    """There is no class here that could be examined."""


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
    backward: Callable[[Any], Any]
    words: dict[str, str]  # for the report: what is called how
    operations: dict[str, Callable[..., Any]] = field(default_factory=dict)
    zero: str = ""
    operators: set[str] = field(default_factory=set)  # the operations written as operators
    file: str = ""  # that the class is in

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
            values[statement.name] = self._do(statement, values)
        return values

    def _do(self, statement: Statement, values: dict[str, Any]) -> Any:
        op = statement.op
        number = _plain if op == "pow" else float
        operands = [values[x] if isinstance(x, str) else number(x) for x in statement.operands]
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
        found = getattr(value, what)
        return 0.0 if found is None else float(found)


def _plain(x: float) -> float | int:
    return int(x) if x == int(x) else x  # as people write exponents


# ---- finding ---------------------------------------------------------------------------------

FILL = {  # what a constructor may insist on besides the number
    (): ("children", "_children", "prev", "_prev", "parents", "inputs", "operands", "deps"),
    "": ("op", "_op", "label", "name", "tag"),
    True: ("requires_grad", "track"),
}


def find(module: ModuleType, name: str = "") -> Dialect:
    """Find the class to examine in a module, and how it is spoken to."""
    if name:
        cls = getattr(module, name, None)
        if not inspect.isclass(cls):
            raise NoEngineError(f"there is no class {name} in {module.__name__}")
        return _try(cls, module)
    classes = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if f"{cls.__module__}.".startswith(f"{module.__name__}.")
    ]
    dialects, reasons = [], []
    for cls in classes:
        try:
            dialects.append(_try(cls, sys.modules.get(cls.__module__, module)))
        except NoEngineError as error:
            reasons.append(str(error))
    if not dialects:
        raise NoEngineError("; ".join(reasons[:4]) or "there is no class in it")
    return max(dialects, key=lambda d: (d.cls.__name__ == "Value", len(d.operations)))


def _try(cls: type, module: ModuleType) -> Dialect:
    """Find the words for a class, and try them out."""
    make = _maker(cls)
    sample = make(2.5)
    # A class that rounds is ill, but a class all the same: 2 is 2.
    data = _attribute(sample, DATA, 2.5) or _attribute(make(2.0), DATA, 2.0)
    if not data:
        raise NoEngineError(f"{cls.__name__} keeps its number in no attribute such as data")
    word, backward = _backward_of(cls, module)
    dialect = Dialect(cls, make, data, "", backward, {})
    dialect.operators = {op for op, name in SPECIAL.items() if getattr(cls, name, None) is not None}
    dialect.operations = _operations(dialect, module)
    dialect.grad = _attribute(sample, GRAD, 0.0, or_none=True) or _what_changes(dialect)
    if not dialect.grad:
        raise NoEngineError(f"{cls.__name__} has no gradient in an attribute such as grad")
    dialect.zero = next((n for n in ZERO if callable(getattr(cls, n, None))), "")
    dialect.words = {"class": cls.__name__, "data": data, "grad": dialect.grad, "backward": word}
    dialect.file = str(getattr(module, "__file__", None) or "")
    children = next((name for name in CHILDREN if hasattr(sample, name)), "")
    dialect.words |= {"children": children} if children else {}
    return dialect


def _maker(cls: type) -> Callable[[float], Any]:
    """Find out how to make one from a number, with what else the constructor insists on."""
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    values = {word: value for value, words in FILL.items() for word in words}
    options = {
        p.name: values[p.name]
        for p in parameters[1:]
        if p.name in values and (p.default is p.empty or p.name in FILL[True])
    }
    try:
        cls(2.5, **options)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:120]
        raise NoEngineError(f"{cls.__name__} cannot be made from one number ({reason})") from None
    return lambda x: cls(x, **options)


def _attribute(sample: Any, names: tuple[str, ...], wanted: float, or_none: bool = False) -> str:
    own = [str(name) for name in getattr(sample, "__dict__", {}) if name not in names]
    for name in (*names, *([] if or_none else own)):
        found = getattr(sample, name, sample)
        if (found is None and or_none) or _is(found, wanted):
            return name
    return ""


def _is(found: Any, wanted: float) -> bool:
    """Whether something is this number: an int, a float, NumPy's, a Fraction."""
    if isinstance(found, bool | str) or not hasattr(type(found), "__float__"):
        return False
    try:
        return float(found) == wanted
    except Exception:
        return False


def _what_changes(dialect: Dialect) -> str:
    """Find the gradient by what a backward pass changes: 1 + 1 for a in a + a, 0 before."""
    try:
        a = dialect.make(1.5)
        before = dict(vars(a))
        dialect.backward(dialect.operations["mul"](a, dialect.make(2.25)))
        changed = [n for n, x in vars(a).items() if n not in before or before[n] is not x]
        return next((n for n in changed if _is(vars(a)[n], 2.25)), "")
    except Exception:
        return ""


def _backward_of(cls: type, module: ModuleType) -> tuple[str, Callable[[Any], Any]]:
    for name in BACKWARD:
        method, function = getattr(cls, name, None), getattr(module, name, None)
        if callable(method):
            return f"{name}()", _caller(attrgetter(name), method)
        if inspect.isfunction(function):
            return f"{name}(v)", _caller(partial(partial, function), function)
    raise NoEngineError(f"{cls.__name__} has no backward() yet")


def _caller(bound: Callable[[Any], Any], function: Any) -> Callable[[Any], Any]:
    """Call it with the gradient of the result as an argument, if the function insists on one."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[1:]
    except (TypeError, ValueError):
        parameters = []
    needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    seed = (1.0,) * len(needed)
    return lambda value: bound(value)(*seed)


def _operations(dialect: Dialect, module: ModuleType) -> dict[str, Callable[..., Any]]:
    cls = dialect.cls
    found: dict[str, Callable[..., Any]] = {}
    for op, names in NAMES.items():
        if op in dialect.operators:
            found[op] = SYMBOLS.get(op, operator.neg)
            continue
        for name in names:
            call, static = _call(cls, module, name), inspect.getattr_static(cls, name, 0)
            is_plain = op not in SYMBOLS and inspect.isfunction(static)
            if call is not None and (is_plain or _works(dialect, op, call)):
                found[op] = call
                break
    return found


def _call(cls: type, module: ModuleType, name: str) -> Callable[..., Any] | None:
    if isinstance(inspect.getattr_static(cls, name, None), staticmethod | classmethod):
        method: Callable[..., Any] = getattr(cls, name)
        return method
    if callable(getattr(cls, name, None)):
        return lambda *operands: getattr(operands[0], name)(*operands[1:])
    function = getattr(module, name, None)
    if inspect.isfunction(function) and function.__module__ == module.__name__:
        return function  # of this module; not math.tanh, which it may have imported
    return None


def _works(dialect: Dialect, op: str, call: Callable[..., Any]) -> bool:
    """Whether a method or a function of that name is meant for Values, called in this way."""
    a, b = dialect.make(0.5), dialect.make(0.25)
    operands = [a] if op not in SYMBOLS else [a, 2] if op == "pow" else [a, b]
    try:
        call(*operands)
    except TypeError as error:
        # Ours, that of `call`, and one of theirs: else it was called in a wrong way.
        return len(list(traceback.walk_tb(error.__traceback__))) > 2
    except AttributeError:
        return op != "pow"  # its exponent may have to be a Value
    except Exception:
        return True
    return True
