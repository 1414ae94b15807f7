"""How limits and notes show: one function for each, from outcomes to a few words, or none.

A limit is told only of what works the first time: a fault is not told twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...core.names import brief
from .probes import BY_NAME
from .run_probes import DEPTH, Outcome
from .signatures import Sign, judge

__all__ = ["SHOWS"]

Outcomes = dict[str, Outcome]
Shows = Callable[[Outcomes, dict[str, Sign]], str]


def _grads(outcomes: Outcomes, name: str) -> dict[str, float] | None:
    outcome = outcomes.get(name, {})
    return outcome.get("grad")


def _twice(outcomes: Outcomes) -> str:
    """Tell what a second backward() does: "adds", "zeroes" or "stale"; "" if it is not known."""
    outcome = outcomes.get("second backward", {})
    if "first" not in outcome:
        return ""
    once, twice = outcome["first"]["a"], outcome["grad"]["a"]
    if math.isclose(twice, 2 * once, rel_tol=1e-6):
        return "adds"
    return "zeroes" if math.isclose(twice, once, rel_tol=1e-6) else "stale"


def _is_sound(signs: dict[str, Sign], *names: str) -> bool:
    """Limits are told of what works the first time: a fault is not told twice."""
    return all(signs.get(name, Sign()).is_well for name in names)


def _stale(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    if _twice(outcomes) != "stale" or not _is_sound(signs, "mul to itself", "ladder of products"):
        return ""
    outcome = outcomes["second backward"]
    once, twice = outcome["first"]["a"], outcome["grad"]["a"]
    return (
        f"a.grad = {brief(once)} after one call, {brief(twice)} after two; right: {brief(2 * once)}"
    )


def _second_seed(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    grads = _grads(outcomes, "two results")
    if grads is None or _twice(outcomes) != "adds" or grads["b"] != 1.0:
        return ""
    return f"b.grad = {brief(grads['b'])} after c.backward() and b.backward(); right: 2.5"


def _zeroing(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    if _twice(outcomes) != "zeroes" or not _is_sound(signs, "mul to itself"):
        return ""
    return "a second backward() gives the same gradients instead of adding to them"


def _zero_grad(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    cleared = outcomes["zero_grad"].get("cleared", {"a": 0.0})
    return f"a.grad = {brief(cleared['a'])} after zero_grad()" if cleared["a"] else ""


def _refusal_of(name: str) -> Shows:
    def shows(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
        outcome = outcomes[name]
        is_refused = outcome.get("error") == "TypeError"
        return f"{outcome['error']}: {outcome['message']}" if is_refused else ""

    return shows


def _recursion(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    outcome = outcomes["depth"]
    chain = f"a chain of {DEPTH:,} additions"
    if outcome.get("error") in ("RecursionError", "MemoryError"):
        return f"{outcome['error']} on {chain}"
    grad = _grads(outcomes, "depth")
    sound = _is_sound(signs, "add twice", "ladder")
    return (
        f"a.grad = {brief(grad['a'])} on {chain}"
        if grad and sound and grad["a"] != DEPTH + 1
        else ""
    )


def _overflow(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    outcome = outcomes["tanh far out"]
    if not _is_sound(signs, "tanh at 0.5"):
        return ""
    if "error" in outcome:
        return f"{outcome['error']}: {outcome['message']}"
    return "tanh(1000) is nan" if math.isnan(outcome["data"]["b"]) else ""


def _exponents(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    if not _is_sound(signs, "pow 2", "pow 3"):
        return ""
    told = []
    for name in ("power of a Value", "number ** a", "pow -1", "pow half", "power of zero"):
        outcome = outcomes.get(name, {"missing": True})
        line = BY_NAME[name].script.lines[0]
        if "error" in outcome:
            told.append(f"{line}: {outcome['error']}")
        elif name == "power of zero" and not outcome.get("missing"):
            told += [] if judge(BY_NAME[name], outcome).is_well else [f"{line} at 0: wrong"]
    return "; ".join(told)


def _sum_fails(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    other = outcomes.get("number + a", {})
    return "" if "error" in other else _refusal_of("sum of a list")(outcomes, signs)


def _cycles(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    held = outcomes["memory"].get("held", 0)
    return (
        f"{held} Values of 20 small graphs were still there until the collector ran" if held else ""
    )


def _growth(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    kept = outcomes["memory"].get("kept", 0)
    return f"{kept} Values of 20 small graphs are never freed" if kept else ""


def _relu_at_zero(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    grads = _grads(outcomes, "relu at zero")
    if grads is None or not _is_sound(signs, "relu at 2", "relu at -1.5"):
        return ""
    return f"relu'(0) = {brief(grads['a'])}" if grads["a"] else ""


SHOWS: dict[str, Shows] = {
    "stale_interior": _stale,
    "second_seed": _second_seed,
    "zeroing": _zeroing,
    "zero_grad": _zero_grad,
    "recursion": _recursion,
    "tanh_overflow": _overflow,
    "exponents": _exponents,
    "missing_radd": _refusal_of("number + a"),
    "missing_rmul": _refusal_of("number * a"),
    "missing_rsub": _refusal_of("number - a"),
    "missing_rtruediv": _refusal_of("number / a"),
    "sum_fails": _sum_fails,
    "missing_neg": _refusal_of("minus a"),
    "cycles": _cycles,
    "growth": _growth,
    "relu_at_zero": _relu_at_zero,
}
