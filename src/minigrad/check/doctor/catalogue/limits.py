"""Limits, which show beyond a first backward(), and notes, which are matters of taste.

`shows` tells in a few words what came out, or nothing. A limit is told only of what works the first
time: a fault is not told twice.
"""

from __future__ import annotations

import functools
import math

from ....core.names import brief
from ..judging import Sign, is_refusal, judge
from ..probes import BINARY, BY_NAME
from ..run_probes import Outcome
from ..scripts import DEPTH
from ..wording import Said, said
from .rows import Fault, Outcomes, Shows, add

ROWS: list[Fault] = []
_row = functools.partial(add, ROWS, base="tuple_prev")


# ---- how they show ------------------------------------------------------------------------------


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
    """Whether it works the first time: a fault is not told twice."""
    return all(signs.get(name, Sign()).is_well for name in names)


def _stale(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    if _twice(outcomes) != "stale" or not _is_sound(signs, "mul to itself", "ladder of products"):
        return Said()
    outcome = outcomes["second backward"]
    numbers = [outcome["first"]["a"], outcome["grad"]["a"], 2 * outcome["first"]["a"]]
    text = "a.grad = {0} after one call, {1} after two; right: {2}"
    return said(text, *map(brief, numbers))


def _second_seed(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    grads = outcomes["two results"].get("grad")
    if grads is None or _twice(outcomes) != "adds" or grads["b"] != 1.0:
        return Said()
    text = "b.grad = {0} after the pass from c and the pass from b; right: 2.5"
    return said(text, brief(grads["b"]))


def _zeroing(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    if _twice(outcomes) != "zeroes" or not _is_sound(signs, "mul to itself"):
        return Said()
    return said("a second backward() gives the same gradients instead of adding to them")


def _zero_grad(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    cleared = outcomes["zero_grad"].get("cleared", {"a": 0.0})
    text = "a.grad = {0} after zero_grad()"
    return said(text, brief(cleared["a"])) if cleared["a"] else Said()


def _error(outcome: Outcome) -> Said:
    return said("{0}", f"{outcome['error']}: {outcome['message']}")


def _refusal_of(name: str, unless: str = "") -> Shows:
    """A refusal, unless the same is refused on the right as well: then it is about numbers."""

    def shows(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
        is_refused = _is_refused(outcomes, name)
        is_other = bool(unless) and _is_refused(outcomes, unless)
        return _error(outcomes[name]) if is_refused and not is_other else Said()

    return shows


_WITH_NUMBERS = ("add", "mul", "sub", "div")


def _constants(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    told = {}
    for op in _WITH_NUMBERS:
        if _is_refused(outcomes, f"{op} a number") and _is_sound(signs, op):
            told[f"a {BINARY[op]} 2"] = outcomes[f"{op} a number"]
        elif _is_refused(outcomes, f"{op} a fraction") and _is_sound(signs, op):
            told[f"a {BINARY[op]} 2.5"] = outcomes[f"{op} a fraction"]
    return said("{0}: {1}", ", ".join(told), _error(next(iter(told.values())))) if told else Said()


def _is_refused(outcomes: Outcomes, name: str) -> bool:
    return is_refusal(BY_NAME[name], outcomes.get(name, {}))


def _recursion(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    outcome = outcomes["depth"]
    if outcome.get("error") in ("RecursionError", "MemoryError"):
        return said("{0} on a chain of {1} additions", outcome["error"], f"{DEPTH:,}")
    grad = outcome.get("grad")
    if not grad or not _is_sound(signs, "add twice", "ladder") or grad["a"] == DEPTH + 1:
        return Said()
    return said("a.grad = {0} on a chain of {1} additions", brief(grad["a"]), f"{DEPTH:,}")


def _overflow(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    outcome = outcomes["tanh far out"]
    if not _is_sound(signs, "tanh at 0.5"):
        return Said()
    if "error" in outcome:
        return _error(outcome)
    return said("tanh(1000) is nan") if math.isnan(outcome["data"]["b"]) else Said()


def _exponents(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    if not _is_sound(signs, "pow 2", "pow 3"):
        return Said()
    told = []
    for name in ("power of a Value", "number ** a", "pow -1", "pow half", "power of zero"):
        outcome = outcomes.get(name, {"missing": True})
        line = BY_NAME[name].script.lines[0]
        if "error" in outcome:
            is_fault = name in signs and bool(signs[name].error)
            told += [] if is_fault else [f"{line}: {outcome['error']}"]
        elif name == "power of zero" and not outcome.get("missing"):
            wrong = f"{line}: {brief(outcome['grad']['a'])}"
            told += [] if judge(BY_NAME[name], outcome).is_well else [wrong]
    return said("{0}", "; ".join(told)) if told else Said()


def _sum_fails(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    if "error" in outcomes.get("number + a", {}):
        return Said()
    return _refusal_of("sum of a list", "add a number")(outcomes, signs)


def _cycles(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    held = outcomes["memory"].get("held", 0)
    text = "{0} Values of 20 small graphs were still there until the collector ran"
    return said(text, held) if held else Said()


def _growth(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    kept = outcomes["memory"].get("kept", 0)
    return said("{0} Values of 20 small graphs are never freed", kept) if kept else Said()


def _switched_off(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    if not _is_sound(signs, "mul to itself", "ladder of products"):
        return Said()
    outcome = outcomes["made from the number alone"]
    if judge(BY_NAME["made from the number alone"], outcome).is_well:
        return Said()
    if "error" not in outcome and outcome["grad"]["a"]:
        return Said()  # it is there, and wrong
    told = outcome.get("error") or brief(outcome["grad"]["a"])
    return said("a.grad = {0} for a Value that is made from its number alone", told)


def _relu_at_zero(outcomes: Outcomes, signs: dict[str, Sign]) -> Said:
    grads = outcomes["relu at zero"].get("grad")
    if grads is None or not _is_sound(signs, "relu at 2", "relu at -1.5"):
        return Said()
    return said("relu'(0) = {0}", brief(grads["a"])) if grads["a"] else Said()


# ---- the rows ------------------------------------------------------------------------------------

# fmt: off
_row("limit", "stale_interior", "a second backward() counts old gradients again",
     "Two calls of backward() give more than twice the gradient.",
     "Interior nodes still hold the gradients of the first pass, and pass them on once more.",
     "Clear interior gradients before each pass, or call backward() once per graph.",
     ("fresh[id(self)] = 1.0", "self.grad = 1.0"),
     ("fresh[id(operand)] += slope * fresh[id(node)]", "operand.grad += slope * node.grad"),
     ("        for node in order:\n            node.grad += fresh[id(node)]\n", ""),
     where="backward", probe="second backward", shows=_stale)
_row("limit", "second_seed", "a second backward() resets the result's gradient",
     "A Value that is first inside a larger expression and then a result has gradient 1.",
     "self.grad = 1.0 replaces what an earlier pass had left there.",
     "Add 1 to what is there, or keep the gradients of a pass apart.",
     ("            node.grad += fresh[id(node)]\n",
      "            node.grad += fresh[id(node)]\n        self.grad = 1.0\n"),
     where="backward", probe="two results", shows=_second_seed)
_row("limit", "zeroing", "a second backward() adds nothing",
     "Gradients of two calls do not add up.",
     "Gradients are cleared before a pass, or the graph is gone after the first.",
     "If that is meant, say so in the docstring of backward(); if not, accumulate.",
     ("node.grad += fresh[id(node)]", "node.grad = fresh[id(node)]"),
     where="backward", probe="second backward", shows=_zeroing)
_row("limit", "zero_grad", "zero_grad() does not clear gradients",
     "Gradients of one training step are still there in the next.",
     "The method exists, but gradients are as they were after it.",
     "Set grad to 0 for the node and everything below it.",
     ("", """

Value.zero_grad = lambda self: None
"""), where="class", probe="zero_grad", shows=_zero_grad)
_row("limit", "recursion", "deep graphs end in RecursionError",
     "A chain of a few thousand operations cannot be run backward.",
     "The sort calls itself once per level, and Python allows about a thousand calls.",
     "Sort with a list as a stack.",
     ("    def _order(self):\n", "    def _order(self):\n        return _visit(self, [], set())\n"),
     ("", """

def _visit(node, order, done):
    if id(node) not in done:
        done.add(id(node))
        for operand in node._prev:
            _visit(operand, order, done)
        order.append(node)
    return order
"""), where="backward", probe="depth", shows=_recursion)
_row("limit", "tanh_overflow", "tanh overflows for large arguments",
     "tanh(1000) is an error or nan.",
     "(e^2x - 1)/(e^2x + 1) computes e^2000 on the way.",
     "Use math.tanh.",
     ("        t = math.tanh(self.data)\n",
      "        e = math.exp(2 * self.data)\n        t = (e - 1) / (e + 1)\n"),
     where="tanh", probe="tanh far out", shows=_overflow)
_row("limit", "exponents", "not every exponent works",
     "a**b with a Value as exponent, or 0**0, is an error.",
     "The rule of ** is for constant exponents, and at 0 it divides by 0.",
     "d(a**b)/db is a**b * log(a); treat the exponent 0 by itself.",
     ("        if isinstance(n, Value):\n"
      "            y = self.data**n.data\n"
      "            slopes = (n.data * self.data ** (n.data - 1), y * math.log(self.data))\n"
      "            return self._make(y, (self, n), slopes)\n", ""),
     where="pow", probe="power of a Value", shows=_exponents)
_row("limit", "constants", "numbers are not wrapped",
     "a + 2 is an error, though a + Value(2) works.",
     "The other operand may be a plain number, which has no data.",
     "other = other if isinstance(other, Value) else Value(other).",
     ("        other = other if isinstance(other, Value) else Value(other)\n", ""),
     where="add", mark="def", probe="add a number", shows=_constants,
     others=tuple(f"{op} a {kind}" for op in _WITH_NUMBERS for kind in ("number", "fraction")))
for _name, _symbol, _word in (
    ("add", "+", "radd"), ("mul", "*", "rmul"), ("sub", "-", "rsub"), ("div", "/", "rtruediv"),
):
    _row("limit", f"missing_{_word}", f"a number on the left of {_symbol} does not work",
         f"2 {_symbol} a is an error, though a {_symbol} 2 works.",
         f"Python asks the number first, and then the Value for __{_word}__, which is not there.",
         f"Write __{_word}__.",
         (f"def __{_word}__", f"def _{_word}"),
         where="class", probe=f"number {_symbol} a",
         shows=_refusal_of(f"number {_symbol} a", f"{_name} a number"))
_row("limit", "sum_fails", "sum([…]) does not work",
     "sum([a, b]) is an error, though 2 + a works.",
     "sum begins with the int 0, which __radd__ refuses.",
     "Accept any number in __radd__.",
     ("        return Value(other) + self\n",
      "        return Value(other) + self if isinstance(other, float) else NotImplemented\n"),
     where="class", probe="sum of a list", shows=_sum_fails)
_row("limit", "missing_neg", "-a does not work",
     "-a is an error, though a * -1 works.",
     "There is no __neg__.",
     "def __neg__(self): return self * -1.",
     ("def __neg__", "def _neg"), where="class", probe="minus a",
     shows=_refusal_of("minus a", "mul a number"))
_row("limit", "switched_off", "gradients are off unless they are asked for",
     "Gradients stay 0 for a Value that is made from its number alone.",
     "requires_grad is False by default, as for PyTorch's tensors: here every Value is there for "
     "its gradient.",
     "requires_grad=True by default; or say requires_grad=True wherever a leaf is made.",
     ('def __init__(self, data, _prev=(), label=""):',
      'def __init__(self, data, _prev=(), label="", requires_grad=False):'),
     ("        self._rule = ()\n",
      "        self._rule = ()\n"
      "        self.requires_grad = requires_grad or any(v.requires_grad for v in self._prev)\n"),
     ("            node.grad += fresh[id(node)]\n",
      "            node.grad += fresh[id(node)] if node.requires_grad else 0.0\n"),
     where="init", probe="made from the number alone", shows=_switched_off)
_row("limit", "cycles", "graphs wait for the garbage collector",
     "Memory grows until the collector runs, and the collector takes most of the time.",
     "A _backward closure refers to its own node, or a recursive helper to itself: a cycle, which "
     "reference counting cannot free.",
     "Keep local derivatives instead of closures, and sort without a nested function.",
     ("        out._rule = rule\n", "        out._rule = rule\n        out._me = out\n"),
     where="class", probe="memory", shows=_cycles)
_row("limit", "growth", "graphs are never freed",
     "Memory grows with every step, for ever.",
     "Something outside of the graph, such as a list of all nodes, keeps every node alive.",
     "Let a node be held by its users alone.",
     ("class Value:\n", "class Value:\n    everyone = []\n\n"),
     ("        self._rule = ()\n",
      "        self._rule = ()\n        Value.everyone.append(self)\n"),
     where="class", probe="memory", shows=_growth)

# ---- matters of taste ---------------------------------------------------------------------------

_row("note", "relu_at_zero", "relu has slope 1 at 0",
     "relu'(0) is 1 here; most libraries have 0.",
     "At the kink any slope between 0 and 1 is right.",
     "Nothing to mend; > instead of >= gives the usual 0.",
     ("(1.0 if self.data > 0 else 0.0,)", "(1.0 if self.data >= 0 else 0.0,)"),
     where="relu", probe="relu at zero", shows=_relu_at_zero)
