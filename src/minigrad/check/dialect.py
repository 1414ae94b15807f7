"""How somebody's Value class is spoken to: what its attributes, methods and operations are called.

Every learner's class is a little different: `data` or `value`, `grad` or `derivative`,
`backward()` or `backprop()`, methods or functions. `find` tries the usual names on a sample and
returns a `Dialect`, which then builds and runs programs. An operation that the class does not have
is not there, which is no fault.

This runs in the child process, next to a stranger's code: it looks at numbers only, never at reprs,
and never compares a stranger's objects.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from .programs import Program, Step

__all__ = ["Dialect", "NoEngineError", "find"]

DATA = ("data", "value", "val", "_data", "_value", "x", "v", "item", "number")
GRAD = ("grad", "derivative", "gradient", "_grad", "adjoint", "deriv", "g")
BACKWARD = ("backward", "backprop", "backpropagate", "back", "compute_gradients", "gradients")
CHILDREN = ("_prev", "_children", "children", "parents", "prev", "_parents", "inputs", "_inputs")
ZERO = ("zero_grad", "zero_gradients", "reset_grad", "zerograd")
SPECIAL = {
    "add": ("__add__", "__radd__"),
    "sub": ("__sub__", "__rsub__"),
    "mul": ("__mul__", "__rmul__"),
    "div": ("__truediv__", "__rtruediv__"),
    "pow": ("__pow__", "__rpow__"),
    "neg": ("__neg__", ""),
}
SYMBOLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
}
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
    has_operators: bool = True  # or functions in their place

    def can(self, program: Program) -> bool:
        """Whether the class has all that a program needs."""
        needed = program.ops
        if needed & {"sum"} or program.has_numbers or any("=" in s.op for s in program.steps):
            if not self.has_operators:
                return False
            needed = (needed - {"sum"}) | ({"add"} if "sum" in needed else set())
        return needed <= set(self.operations)

    def run(self, program: Program) -> dict[str, Any]:
        """Build a program's graph; return the stranger's Values by name."""
        values = {name: self.make(number) for name, number in program.leaves.items()}
        for step in program.steps:
            values[step.name] = self._do(step, values)
        return values

    def _do(self, step: Step, values: dict[str, Any]) -> Any:
        operands = [values[x] if isinstance(x, str) else _plain(x) for x in step.operands]
        if step.op == "is":
            return operands[0]
        if step.op == "sum":
            return sum(operands)
        if step.op.endswith("="):
            return _in_place(step.op[:-1], *operands)
        if step.op == "neg" and "neg" not in self.operations:
            return -operands[0]
        return self.operations[step.op](*operands)

    def number(self, value: Any, what: str) -> float:
        """Read a number off a stranger's Value: its `data` or `grad`; None counts as 0."""
        found = getattr(value, what)
        return 0.0 if found is None else float(found)


def _plain(x: float) -> float | int:
    return int(x) if x == int(x) else x  # as people write constants


def _in_place(op: str, a: Any, b: Any) -> Any:
    if op == "add":
        a += b
    elif op == "sub":
        a -= b
    elif op == "mul":
        a *= b
    else:
        a /= b
    return a


# ---- finding ---------------------------------------------------------------------------------


def find(module: ModuleType, name: str = "") -> Dialect:
    """Find the class to examine in a module, and how it is spoken to."""
    if name:
        cls = getattr(module, name, None)
        if not inspect.isclass(cls):
            raise NoEngineError(f"there is no class {name} in {module.__name__}")
        found = _try(cls, module)
        if found is None:
            raise NoEngineError(_unlike(name))
        return found
    classes = [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if cls.__module__ == module.__name__
    ]
    dialects = [found for cls in classes if (found := _try(cls, module)) is not None]
    if not dialects:
        names = ", ".join(cls.__name__ for cls in classes) or "none"
        raise NoEngineError(f"{_unlike('no class')} (classes here: {names})")
    return max(dialects, key=lambda d: (d.cls.__name__ == "Value", len(d.operations)))


def _unlike(name: str) -> str:
    return (
        f"{name} can be made from one number, keeps it in an attribute such as data, has a "
        "gradient such as grad and a backward()"
    )


def _try(cls: type, module: ModuleType) -> Dialect | None:
    for make in _makers(cls):
        sample = make(2.5)
        # A class that rounds is ill, but a class all the same: 2 is 2.
        data = _attribute(sample, DATA, 2.5) or _attribute(make(2.0), DATA, 2.0)
        grad = _attribute(sample, GRAD, 0.0)
        backward = _backward_of(cls, module)
        if data and grad and backward:
            words = {"class": cls.__name__, "data": data, "grad": grad, "backward": backward[0]}
            children = next((name for name in CHILDREN if hasattr(sample, name)), "")
            words |= {"children": children} if children else {}
            dialect = Dialect(cls, make, data, grad, backward[1], words)
            dialect.operations = _operations(cls, module)
            dialect.has_operators = getattr(cls, "__add__", None) is not None
            dialect.zero = next((n for n in ZERO if callable(getattr(cls, n, None))), "")
            return dialect
    return None


def _makers(cls: type) -> Iterator[Callable[[float], Any]]:
    for options in ({}, {"requires_grad": True}, {"label": ""}, {"_children": ()}):
        for keyword in ("", "data", "value"):

            def make(x: float, options: Any = options, keyword: str = keyword) -> Any:
                return cls(**{keyword: x}, **options) if keyword else cls(x, **options)

            try:
                make(2.5)
            except Exception:
                continue
            if not options and "requires_grad" in _parameters(cls):
                continue  # it wants to be told
            yield make


def _parameters(cls: type) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(cls).parameters)
    except (TypeError, ValueError):
        return ()


def _attribute(sample: Any, names: tuple[str, ...], wanted: float) -> str:
    others = [str(name) for name in getattr(sample, "__dict__", {}) if name not in names]
    for name in (*names, *others):
        found = getattr(sample, name, sample)
        if found is None and wanted == 0.0:
            return name
        if isinstance(found, (int, float)) and not isinstance(found, bool) and found == wanted:
            return name
    return ""


def _backward_of(cls: type, module: ModuleType) -> tuple[str, Callable[[Any], Any]] | None:
    for name in BACKWARD:
        method = getattr(cls, name, None)
        if callable(method):
            return f"{name}()", lambda value, name=name: getattr(value, name)()
        function = getattr(module, name, None)
        if callable(function):
            return f"{name}(v)", function
    return None


def _operations(cls: type, module: ModuleType) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for op, names in NAMES.items():
        special = SPECIAL.get(op, ("", ""))[0]
        if special and getattr(cls, special, None) is not None:
            found[op] = SYMBOLS.get(op, lambda a: -a)
            continue
        for name in names:
            if callable(getattr(cls, name, None)):
                found[op] = lambda *operands, name=name: getattr(operands[0], name)(*operands[1:])
            elif _is_own(getattr(module, name, None), module):
                found[op] = getattr(module, name)
            else:
                continue
            break
    return found


def _is_own(function: Any, module: ModuleType) -> bool:
    """A function of this module; not math.tanh, which it may have imported."""
    return inspect.isfunction(function) and function.__module__ == module.__name__
