"""How somebody's class is spoken to, found by trying. For `doctor_oracle.py`.

How one is made from a number, which attribute is the number, which method or function is the
backward pass, and which attribute then has the gradient: of all there is, what gets most of a few
easy gradients right. So an engine with faults is still understood.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from doctor_loading import PROGRAM_SECONDS, TooLongError, at_most


class Speech:
    """A class, how one of it is made, and what its number, gradient and pass are called."""

    def __init__(self, cls: type, make: Callable[[float], Any], data: str) -> None:
        self.cls, self.make, self.data = cls, make, data
        self.back: Callable[[Any], Any] = lambda root: None
        self.grad = self.back_name = ""
        self.seeded = False  # by hand: the gradient of the result is set before the pass

    def number(self, value: Any) -> float:
        if isinstance(value, int | float):
            return float(value)
        return as_float(getattr(value, self.data))

    def gradient(self, value: Any) -> float:
        found = getattr(value, self.grad)
        found = found() if callable(found) else found
        return (
            0.0
            if found is None
            else self.number(found)
            if isinstance(found, self.cls)
            else as_float(found)
        )


def as_float(thing: Any) -> float:
    """Return a number that something is, of whatever kind; NumPy's with one element, too."""
    if hasattr(thing, "item") and not callable(getattr(type(thing), "__float__", None)):
        thing = thing.item()
    if hasattr(thing, "size") and getattr(thing, "size", 1) == 1 and hasattr(thing, "reshape"):
        thing = thing.reshape(-1)[0]
    if isinstance(thing, str | bool):
        raise TypeError("no number")
    return float(thing)


def _attributes(thing: Any) -> list[str]:
    slots = [s for c in type(thing).__mro__ for s in getattr(c, "__slots__", ())]
    properties = [
        n for c in type(thing).__mro__ for n, x in vars(c).items() if isinstance(x, property)
    ]
    own = list(getattr(thing, "__dict__", {}))
    return list(dict.fromkeys(str(n) for n in [*own, *slots, *properties]))


def _numbers(thing: Any) -> dict[str, float]:
    found = {}
    for name in _attributes(thing):
        with contextlib.suppress(BaseException):
            found[name] = as_float(getattr(thing, name))
    return found


def makers(cls: type) -> Iterator[Callable[[float], Any]]:
    """Try the ways in which people have their classes made."""
    try:
        parameters = list(inspect.signature(cls).parameters)
    except (TypeError, ValueError):
        parameters = []
    wanted = {n: True for n in ("requires_grad", "require_grad", "trainable") if n in parameters}
    extras: list[dict[str, Any]] = [wanted, {}] if wanted else [{}]
    for extra in extras:
        yield lambda x, e=extra: cls(x, **e)
    for rest in [((),), ((), ""), ("",), ("", ()), (None,), (None, None), ([],), ([], ""), (0.0,)]:
        yield lambda x, r=rest: cls(x, *r)
    yield lambda x: cls("a", x)
    yield lambda x: cls((), x)
    for name in parameters[1:]:
        if name in ("data", "value", "val", "x"):
            yield lambda x, n=name: cls(**{n: x})


def speak(cls: type, names: dict[str, Any]) -> Speech | str:
    """Find out how a class is spoken to, or say why it cannot be."""
    reason = "it cannot be made from a number"
    for make in makers(cls):
        try:
            with at_most(PROGRAM_SECONDS):
                sample = make(2.71875)
        except TooLongError:
            return "making one does not end"
        except BaseException as error:
            reason = f"it cannot be made from a number ({type(error).__name__}: {error})"[:200]
            continue
        holders = [n for n, x in _numbers(sample).items() if abs(x - 2.71875) < 1e-6]
        if not holders:
            reason = "no attribute holds its number"
            continue
        preferred = sorted(holders, key=lambda n: (n not in ("data", "value", "val"), n))
        return _with_backward(Speech(cls, make, preferred[0]), names)
    return reason


def _with_backward(speech: Speech, names: dict[str, Any]) -> Speech | str:
    """Find the pass and the gradient: of what there is, whatever gets most gradients right."""
    best: tuple[float, int] | None = None
    found: tuple[Any, ...] = ()
    passes = list(_passes(speech.cls, names))
    if not passes:
        return "it has no backward pass"
    for order, (name, back) in enumerate(passes):
        for grad in _gradients(speech, back):
            for seeded in (False, True):
                trial = Speech(speech.cls, speech.make, speech.data)
                trial.back, trial.grad, trial.back_name, trial.seeded = back, grad, name, seeded
                score = (_score(trial), -order)
                if best is None or score > best:  # seeding by hand has to be better, not equal
                    best, found = score, (name, back, grad, seeded)
    if not found:
        return "no attribute looks like its gradient"
    speech.back_name, speech.back, speech.grad, speech.seeded = found
    return speech


def _passes(cls: type, names: dict[str, Any]) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    words = ("back", "grad", "propagat", "deriv", "diff")
    methods = [n for c in cls.__mro__ for n in vars(c) if any(w in n.lower() for w in words)]
    methods.sort(key=lambda n: (n.startswith("_"), n not in ("backward", "backprop")))
    for name in dict.fromkeys(methods):
        method = inspect.getattr_static(cls, name)
        if not inspect.isfunction(method) or "zero" in name or "clear" in name or "reset" in name:
            continue
        needed = needed_by(method) - 1
        if needed in (0, 1) and not (name.startswith("_") and needed):
            yield name, lambda v, n=name, k=needed: getattr(v, n)(*(1.0,) * k)
    for name, thing in list(names.items()):
        is_own = inspect.isfunction(thing) and thing.__module__ == "stranger"
        is_named = any(w in name.lower() for w in words) and "zero" not in name
        if is_own and is_named and needed_by(thing) == 1:
            yield f"{name}(v)", thing


def needed_by(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 9
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.default is p.empty and p.kind in kinds for p in parameters)


def _gradients(speech: Speech, back: Callable[[Any], Any]) -> list[str]:
    """Return attributes that may hold a gradient: called so, or changed by the pass."""
    words = ("grad", "deriv", "adj", "delta", "bar", "dx")
    with contextlib.suppress(BaseException), at_most(PROGRAM_SECONDS):
        a = speech.make(1.5)
        b = speech.make(2.25)
        before = _numbers(a)
        root = a * b
        back(root)
        after = _numbers(a)
        changed = [n for n, x in after.items() if n != speech.data and before.get(n) != x]
        named = [n for n in _attributes(a) if any(w in n.lower() for w in words)]
        return [*dict.fromkeys([*changed, *named])]
    return [n for n in _attributes(speech.make(1.5)) if any(w in n.lower() for w in words)]


def _score(speech: Speech) -> float:
    """How many easy gradients are right; a little for those that are there at all."""
    score = 0.0
    for build, right in ((lambda a, b: a * b, (2.25, 1.5)), (lambda a, b: a + b, (1.0, 1.0))):
        with contextlib.suppress(BaseException), at_most(PROGRAM_SECONDS):
            a, b = speech.make(1.5), speech.make(2.25)
            root = build(a, b)
            if speech.seeded:
                setattr(root, speech.grad, 1.0)
            speech.back(root)
            for value, wanted in zip((a, b), right, strict=True):
                got = speech.gradient(value)
                score += 1.0 if abs(got - wanted) < 1e-4 else 0.01 if got else 0.001
    return score
