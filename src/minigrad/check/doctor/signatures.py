"""The patients: sound engines with one fault each, and what the probes find in them.

A signature is what is wrong with an engine, probe by probe: nothing, which leaves have which wrong
gradient, or which error. The doctor compares a stranger's signature with those of the patients;
they are worked out when first needed, by running the patients, so that a new row of the catalogue
is all it takes to teach the doctor a new fault.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from .catalogue import CATALOGUE, Fault
from .dialect import Dialect, find
from .judging import Sign, judge
from .probes import FIRST, PROBES, drawn
from .run_probes import Outcome, run_all
from .scripts import Probe

FOLDER = Path(__file__).with_name("sound")
MAY_REFUSE = ("maybe", "left")


def source(base: str) -> str:
    """Return the text of a sound engine."""
    return (FOLDER / f"{base}.py").read_text(encoding="utf-8")


def patient(fault: Fault, style: str = "") -> str:
    """Return the text of an engine with this fault in it, in one of the STYLES."""
    text = source(fault.base) + STYLES[style]
    if fault.base == "closure":  # in a fixed order, so that everybody sees the same wrong numbers
        text = text.replace("set(_children)", "tuple(dict.fromkeys(_children))")
    for old, new in fault.patches:
        if old and old not in text:
            raise ValueError(f"{fault.code}: the engine {fault.base} has no {old!r}")
        text = text.replace(old, new) if old else text + new
    return text


# The same engine, otherwise written: operations made of others or not, operands reversed.
_DERIVED = """

Value.__truediv__ = lambda self, other: self * other**-1
Value.__rtruediv__ = lambda self, other: self**-1 * other
"""
_DIRECT = """

def _minus(self, other):
    other = other if isinstance(other, Value) else Value(other)
    out = Value(self.data - other.data, (self, other), "-")

    def _backward():
        self.grad += out.grad
        other.grad += -out.grad

    out._backward = _backward
    return out


def _negative(self):
    out = Value(-self.data, (self,), "neg")

    def _backward():
        self.grad += -out.grad

    out._backward = _backward
    return out


Value.__sub__, Value.__neg__ = _minus, _negative
"""
_REVERSED = """

_make = Value.__init__


def _init(self, data, _children=(), _op="", label=""):
    _make(self, data, tuple(reversed(_children)), _op, label)


Value.__init__ = _init
"""
STYLES = {
    "": "",
    "derived": _DERIVED,
    "direct": _DIRECT,
    "reversed": _REVERSED,
    "derived, reversed": _DERIVED + _REVERSED,
    "direct, reversed": _DIRECT + _REVERSED,
}


def load(text: str, name: str = "patient") -> Dialect:
    """Load an engine of our own from its text."""
    module = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return find(module)


def signature(outcomes: Mapping[str, Outcome], probes: Sequence[Probe] = PROBES) -> dict[str, Sign]:
    """Judge the outcomes of all first probes that the engine could run, and did not refuse."""
    return {
        probe.name: judge(probe, outcomes[probe.name])
        for probe in probes
        if probe.kind in FIRST
        and probe.name in outcomes
        and not outcomes[probe.name].get("missing")
        and not (probe.kind in MAY_REFUSE and "error" in outcomes[probe.name])
    }


Signatures = dict[str, list[dict[str, Sign]]]


@functools.lru_cache(maxsize=2)  # those of the probes, and those of the last numbers drawn
def signatures(seed: int | None = None) -> Signatures:
    """Return the signatures of every fault in the catalogue, one for each style of writing it.

    With a seed, those are meant that the patients have with the numbers drawn from it.
    """
    probes = PROBES if seed is None else drawn(seed)
    first = [probe for probe in probes if probe.kind in FIRST]
    return {
        fault.code: [
            signature(dict(run_all(load(patient(fault, style)), first, repeats=0)), first)
            for style in (STYLES if fault.base == "closure" else [""])
        ]
        for fault in CATALOGUE
        if fault.kind == "fault"
    }
