"""Operations that the table of the doctor does not have: whatever maps Values to a Value.

Nobody here knows what `swish` should be, but its gradient must fit its own values. So the class is
asked for its numbers around a point, and for its gradients there; whether they fit is found out by
differences, in the doctor's own process (`differences.py`). What cannot be asked in this way is
listed, so that nobody takes silence for praise.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Container, Iterator
from typing import Any

from .clock import TooLongError, bounded
from .dialect import BACKWARD, NAMES, ZERO, Dialect
from .passes import TRY, file_of

# Methods that are about a graph or an object, and no operations.
ELSE = (
    "zero", "reset", "clear", "detach", "stop", "copy", "clone", "item", "draw", "show", "print",
    "plot", "graph", "trace", "topo", "build", "visit", "set", "get", "to", "from", "is", "has",
    "step", "update", "train", "main", "test", "param", "state", "label", "backward", "backprop",
    "gradient", "grad", "numpy", "repr", "render", "save", "load", "dfs", "sort", "walk", "freeze",
    "no", "requires", "retain", "child", "parent", "add_child", "register", "run", "debug",
    "display",
)  # fmt: skip
KNOWN = {name for names in NAMES.values() for name in names} | {*BACKWARD, *ZERO}
NUMBER = 0.75  # for a second operand
MOST = 40  # operations that are looked at
Call = Callable[..., Any]


def others(dialect: Dialect) -> dict[str, tuple[Call, int] | None]:
    """Find them by name: how to call each, with how many Values; None where that is not known."""
    found: dict[str, tuple[Call, int] | None] = {}
    for name, needed, most in _methods(dialect.cls):
        # A second operand may be meant as a number, a target say, and then gets no gradient: so it
        # is a Value only for what takes no number.
        ways = [(_method(name), 1, 0), (_method(name, NUMBER), 1, 1), (_method(name), 2, 1)]
        for call, count, given in ways:
            if needed <= given <= most and _is_operation(dialect, call, count):
                found[name] = (call, count)
                break
        if (
            name not in found and needed
        ):  # one that wants nothing and gives no Value is about something else
            found[name] = None
    found |= _functions(dialect, found)
    return dict(list(found.items())[:MOST])


def _functions(dialect: Dialect, methods: Container[str]) -> dict[str, tuple[Call, int] | None]:
    """Find the functions beside the class that make nodes of it, from one Value."""
    module, cls = sys.modules.get(dialect.cls.__module__), dialect.cls.__name__
    found: dict[str, tuple[Call, int] | None] = {}
    for name, thing in list(vars(module).items()) if module else ():
        is_other = name.startswith("_") or name in KNOWN or name.lower().startswith(ELSE)
        if is_other or name in methods or not inspect.isfunction(thing):
            continue
        if thing.__module__ != dialect.cls.__module__ or cls not in thing.__code__.co_names:
            continue
        needed = [p for p in inspect.signature(thing).parameters.values() if p.default is p.empty]
        if len(needed) == 1 and _is_operation(dialect, thing, 1):
            found[name] = (thing, 1)
            dialect.spelling[name] = f"{name}({{}})"
    return found


def _methods(cls: type) -> Iterator[tuple[str, int, int]]:
    for name in dict.fromkeys(n for c in cls.__mro__ for n in vars(c)):
        function = inspect.getattr_static(cls, name, None)
        is_other = name.startswith("_") or name in KNOWN or name.lower().startswith(ELSE)
        if is_other or not inspect.isfunction(function):
            continue
        parameters = list(inspect.signature(function).parameters.values())[1:]
        plain = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        yield name, sum(p.default is p.empty for p in plain), len(plain)


def _method(name: str, *numbers: float) -> Call:
    return lambda *operands: getattr(operands[0], name)(*operands[1:], *numbers)


def _is_operation(dialect: Dialect, call: Call, count: int) -> bool:
    """Whether it gives a new Value, and the same one each time."""
    try:
        seen = []
        for _ in range(2):
            operands = [dialect.make(x) for x in (0.5, 0.75)[:count]]
            with bounded(TRY, file_of(dialect.cls)):
                made = call(*operands)
            if type(made) is not dialect.cls or any(made is operand for operand in operands):
                return False
            seen.append(dialect.number(made, dialect.data))
        return seen[0] == seen[1] and math.isfinite(seen[0])
    except (Exception, TooLongError):
        return False


def ask(dialect: Dialect, call: Call, point: list[float], step: float) -> dict[str, Any]:
    """Return the values around a point, for each operand, and the gradients of three times it.

    Each operand is a product, so that the gradient has to pass through the operation.
    """

    def value(*xs: float) -> float:
        return dialect.number(call(*map(dialect.make, xs)), dialect.data)

    try:
        around = []
        for k in range(len(point)):
            moved = [[*point[:k], point[k] + j * step, *point[k + 1 :]] for j in (-2, -1, 1, 2)]
            around.append([value(*xs) for xs in moved])
        mul = dialect.operations["mul"]
        leaves = [dialect.make(x) for x in point]
        inner = [mul(leaf, dialect.make(1.0)) for leaf in leaves]
        dialect.backward(mul(call(*inner), dialect.make(3.0)))
        grads = [dialect.number(leaf, dialect.grad) for leaf in leaves]
        return {"around": around, "grads": grads}
    except Exception as error:
        return {"error": type(error).__name__}
