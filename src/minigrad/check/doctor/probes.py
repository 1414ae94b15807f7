"""What the doctor asks an engine to do, smallest first.

A *first* probe is a script, built and run backward once; every number in it must be right. So must
those of *number*, *left* and *maybe* probes (numbers as operands, on the left, unusual exponents),
but an engine may also refuse these; a *hand* probe only helps to tell faults apart. The other kinds
show limits and notes, beyond a first backward(): two passes (*second*, *two*, *zero*), a *deep*
graph, *extreme* numbers, *memory*, the *kink* of relu. `run_probes.py` does with an engine what a
kind says, for a stranger's class in the sandbox. What is right is worked out by minigrad
(`expected`), here and nowhere else.

Each probe has numbers of its own, which everybody can read here, and so learn the answers by heart.
Therefore `drawn` asks the same with numbers that nobody knows before.
"""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ... import functions
from ...scalar import Value
from .dialect import SYMBOLS
from .scripts import Probe, Script

FIRST = ("first", "hand", "number", "maybe", "left")  # the kinds of probes that faults show in
PROBES: list[Probe] = []


def _probe(name: str, lines: str, kind: str = "first", root: str = "", **leaves: float) -> None:
    PROBES.append(Probe(name, kind, Script(leaves, tuple(lines.split("; ")), root)))


# ---- each operation alone, and with a gradient coming in ----------------------------------------

BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = ("tanh", "exp", "log", "relu", "sigmoid")

for _op, _symbol in BINARY.items():
    _probe(f"{_op}", f"c = a {_symbol} b", a=3.0, b=-2.0)
    _probe(f"{_op} below", f"c = a {_symbol} b; d = c * e", a=1.5, b=0.5, e=3.0)
_probe("neg", "b = -a", a=3.0)
_probe("neg below", "b = -a; c = b * e", a=1.5, e=3.0)
_probe("pow 2", "b = a ** 2", a=3.0)
_probe("pow 3", "b = a ** 3", a=2.0)
_probe("pow -1", "b = a ** (-1)", "maybe", a=4.0)
_probe("pow half", "b = a ** 0.5", "maybe", a=0.25)
_probe("pow of a negative number", "b = a ** 2", a=-3.0)
_probe("pow below", "b = a ** 3; c = b * e", a=1.5, e=3.0)
for _name, _points in {
    "tanh": (0.5, -1.25),
    "exp": (0.5, -1.0),
    "log": (2.5, 0.5),
    "relu": (2.0, -1.5),
    "sigmoid": (0.5, -1.0),
}.items():
    for _point in _points:
        _probe(f"{_name} at {_point:g}", f"b = {_name}(a)", a=_point)
    _probe(f"{_name} below", f"b = {_name}(a); c = b * e", a=0.75, e=3.0)

# ---- each operation on the result of another one, and under a sum -------------------------------

for _op, _symbol in BINARY.items():
    for _other in ("mul", "add"):
        _inner = f"c = a {BINARY[_other]} b"
        _probe(f"{_op} above {_other}", f"{_inner}; d = c {_symbol} e", a=1.5, b=0.5, e=3.0)
        _probe(f"{_op} above {_other}, right", f"{_inner}; d = e {_symbol} c", a=1.5, b=0.5, e=3.0)
    _probe(f"{_op} below a sum", f"c = a {_symbol} b; d = c + e", a=1.5, b=0.5, e=3.0)
for _name in (*UNARY, "neg", "pow"):
    _result = {"neg": "-{}", "pow": "{} ** 3"}.get(_name, f"{_name}({{}})")
    for _other in ("mul", "add"):
        _lines = f"c = a {BINARY[_other]} b; d = {_result.format('c')}"
        _probe(f"{_name} above {_other}", _lines, a=1.5, b=0.5)
    _probe(f"{_name} below a sum", f"b = {_result.format('a')}; c = b + e", a=0.75, e=3.0)

_probe("mul with zero", "c = a * b", a=0.0, b=3.0)
_probe("mul of large numbers", "c = a * b", a=2000.0, b=-3000.0)
_probe("add to zero", "c = a + b", a=0.0, b=3.0)
_probe("tanh at 0", "b = tanh(a)", a=0.0)
_probe("exp at 4", "b = exp(a)", a=4.0)
_probe("relu at 20", "b = relu(a)", a=20.0)

# ---- numbers as operands ------------------------------------------------------------------------

for _op, _symbol in BINARY.items():
    _probe(f"{_op} a number", f"b = a {_symbol} 2", "number", a=3.0)
    _probe(f"{_op} a fraction", f"b = a {_symbol} 2.5", "number", a=3.0)

# ---- the same thing twice -----------------------------------------------------------------------

for _op, _symbol in BINARY.items():
    _probe(f"{_op} to itself", f"b = a {_symbol} a", a=3.0)
_probe("add twice", "c = a + b; d = c + a", a=2.0, b=-3.0)
_probe("mul twice", "c = a * b; d = c * a", a=2.0, b=-3.0)
_probe("pow twice", "b = a ** 2; c = a ** 3; d = b + c", a=1.5)
for _name in UNARY:
    _probe(f"{_name} twice", f"b = {_name}(a); c = {_name}(a); d = b + c", a=0.75)
_probe("neg twice", "b = -a; c = -a; d = b + c", a=0.75)
_probe("div twice", "c = a / b; d = b / c", a=3.0, b=-2.0)
_probe("two leaves of the same number", "c = a * b; d = c + a", a=3.0, b=3.0)

# ---- graphs in which the order matters ----------------------------------------------------------

_probe("diamond", "d = a * b; e = d + c; f = a - c; g = e * f", a=2.0, b=3.0, c=4.0)
_probe("shared", "c = a * b; d = a + b; e = c * d", a=-2.0, b=3.0)
_probe("shared result", "c = a * b; d = c + a; e = c * b; f = d + e", a=1.5, b=0.5)
# The same of sums alone: some classes have no product yet.
_probe("sums, short way first", "c = a + b; d = c + a; f = c + d", a=1.5, b=0.5)
_probe("sums, long way first", "c = a + b; d = c + e; f = d + c; g = f + a", a=1.5, b=0.5, e=3.0)
_probe("ladder", "b = a + a; c = b + b; d = c + c", a=1.5)
_probe("ladder of products", "b = a * a; c = b * b", a=1.5)
_probe("short and long way", "b = a * a; c = b * a; d = c + b; e = d * b", a=1.25)
_probe("long way first", "c = a * b; d = c * c; e = d + c", a=1.5, b=0.5)
_probe("short way first", "c = a * b; d = c * c; e = c + d", a=1.5, b=0.5)
_probe(
    "eight levels",
    "b = a * e; c = b * e; d = c * e; f = d + e; g = f * e; h = g + e; i = h * e; j = i + e",
    a=0.75, e=1.25,
)  # fmt: skip
_probe("neuron", "c = x * w; d = c + b; e = tanh(d)", x=2.0, w=-0.5, b=0.75)
_probe("reused tanh", "b = tanh(a); c = b * b; d = c + b; e = d * a", a=0.5)
_probe("a result inside a larger graph", "c = a * b; d = c + a", root="c", a=2.0, b=3.0)

# ---- awkward, but a first backward() all the same -----------------------------------------------

_probe("whole numbers", "c = a / b; d = c * a", "maybe", a=7, b=2)
_probe("times in place", "c = a; c *= b; d = c + a", a=2.0, b=3.0)
_probe("in place", "c = a; c += b; d = c * a", a=2.0, b=3.0)
_probe("relu at zero", "b = relu(a)", "kink", a=0.0)

# ---- beyond a first backward() ------------------------------------------------------------------

_probe("seeded by hand", "b = a * a; c = b * a", "hand", a=1.5)
_probe("second backward", "b = a * a; c = b * a", "second", a=1.5)
_probe("two results", "b = a * a; c = b * a", "two", root="b", a=1.5)
_probe("zero_grad", "b = a * a; c = b * a", "zero", a=1.5)
_probe("depth", "b = a + a", "deep", a=1.0)
_probe("tanh far out", "b = tanh(a)", "extreme", a=1000.0)
_probe("power of zero", "b = a ** 0", "extreme", a=0.0)
_probe("power of a Value", "c = a ** b", "maybe", a=2.0, b=3.0)
for _op, _symbol in BINARY.items():
    _probe(f"number {_symbol} a", f"b = 2.5 {_symbol} a", "left", a=4.0)
_probe("number ** a", "b = 2.5 ** a", "left", a=1.5)
_probe("sum of a list", "c = sum(a, b)", "left", a=2.0, b=3.0)
_probe("minus a", "b = -a", "left", a=2.0)
_probe("made from the number alone", "b = a * a; c = b * a", "plain", a=1.5)
_probe("memory", "c = a * b; d = c + a", "memory", a=2.0, b=3.0)


BY_NAME = {probe.name: probe for probe in PROBES}


# ---- the same with other numbers ----------------------------------------------------------------

GRID = 4096  # numbers are drawn in steps of 1/GRID: exact in a float32
STEADY = 20.0  # how many times more than an operand a result may change, relatively
LOOSE = (2e-5, 1e-5)  # what a float32 loses where no number is round


@functools.lru_cache(maxsize=2)
def drawn(seed: int) -> tuple[Probe, ...]:
    """Ask what faults show in with numbers that are drawn: others for every seed.

    Signs, zeros and numbers that are equal stay, because some probes are about them. What is
    right must not hang on the last digits: nothing may cancel.
    """
    chance = random.Random(seed)
    candidates = [p for p in PROBES if p.kind in FIRST and any(p.script.leaves.values())]
    return tuple(_drawn(probe, chance) for probe in candidates)


def _drawn(probe: Probe, chance: random.Random) -> Probe:
    old = probe.script.leaves
    while True:
        new = {x: _near(x, chance) for x in dict.fromkeys(old.values())}
        script = replace(probe.script, leaves={name: new[x] for name, x in old.items()})
        is_special = len(set(new.values())) < len(new) or any(abs(x) == 1.0 for x in new.values())
        if not is_special and _is_steady(script):
            return replace(probe, script=script, tolerance=LOOSE)


def _near(x: float, chance: random.Random) -> float:
    """Draw a number of the same sign, about as large; 0 stays 0, and an int an int."""
    if isinstance(x, int):
        return chance.randint(2, 12)
    return round(x * chance.uniform(0.6, 1.4) * GRID) / GRID


def _is_steady(script: Script) -> bool:
    """Whether all results change by little if an operand does."""
    right = _results(script)
    allowed = [STEADY * 1e-6 * abs(x) for x in right]
    for name, x in script.leaves.items():
        moved = _results(replace(script, leaves=script.leaves | {name: x * (1 + 1e-6)}))
        allowed = [a - abs(p - q) for a, p, q in zip(allowed, right, moved, strict=True)]
    return all(a >= 0 for a in allowed)


def _results(script: Script) -> list[float]:
    data, grad = expected(script)
    return [*data.values(), *grad.values()]


# ---- what is right ------------------------------------------------------------------------------


_CALLS: dict[str, Callable[..., Any]] = {
    **SYMBOLS,
    **{name: getattr(functions, name) for name in UNARY},
    "neg": operator.neg,
    "is": lambda x: x,
    "sum": lambda *xs: functions.sum(xs),
}


def build(script: Script) -> dict[str, Value]:
    """Build a script with minigrad's own Values, labelled by name."""
    values: dict[str, Value] = {name: Value(x, label=name) for name, x in script.leaves.items()}
    for statement in script.statements:
        operands = [values[x] if isinstance(x, str) else x for x in statement.operands]
        values[statement.name] = made = _CALLS[statement.op.rstrip("=")](*operands)
        made.label = made.label or statement.name
    return values


def expected(script: Script) -> tuple[dict[str, float], dict[str, float]]:
    """Return the right values and gradients of everything in a script, by name."""
    values = build(script)
    values[script.root].backward()
    return {n: v.data for n, v in values.items()}, {n: v.grad for n, v in values.items()}
