"""The patients: sound engines with one fault each, and what the probes find in them.

A signature is what is wrong with an engine, probe by probe: nothing, which leaves have which wrong
gradient, or which error. The doctor compares a stranger's signature with those of the patients.
They are worked out by running the patients, so that a new row of the catalogue is all it takes to
teach the doctor a new fault; `python docs/generate.py` keeps them in a file.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from .catalogue import CATALOGUE, FAULTS, Fault
from .catalogue.rows import DERIVED, DIRECT
from .dialect import Dialect
from .finding import find
from .judging import Sign, has_seed, is_refusal, judge
from .probes import FIRST, PROBES, drawn
from .run_probes import Outcome, run_all
from .scripts import Probe

ABSENT = "ModuleNotFoundError"  # what an operation ends in that needs a module: no fault of theirs
FOLDER = Path(__file__).with_name("sound")


def source(base: str) -> str:
    """Return the text of a sound engine."""
    return (FOLDER / f"{base}.py").read_text(encoding="utf-8")


def patient(fault: Fault, style: str = "") -> str:
    """Return the text of an engine with this fault in it, in one of the STYLES."""
    is_direct = "direct" in (fault.base, *style.split(", "))
    text = source("closure" if fault.base == "direct" else fault.base)
    text = text.replace(DERIVED, DIRECT) if is_direct else text
    text += STYLES[style]
    if fault.base != "local_grads":  # in a fixed order: everybody sees the same wrong numbers
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
_REVERSED = """

_make = Value.__init__


def _init(self, data, _children=(), _op="", label=""):
    _make(self, data, tuple(reversed(_children)), _op, label)


Value.__init__ = _init
"""
STYLES = {
    "": "",
    "derived": _DERIVED,
    "direct": "",
    "reversed": _REVERSED,
    "derived, reversed": _DERIVED + _REVERSED,
    "direct, reversed": _REVERSED,
}
STYLES_OF = {"closure": (*STYLES,), "direct": ("", "derived", "reversed", "derived, reversed")}


def load(text: str, name: str = "patient") -> Dialect:
    """Load an engine of our own from its text."""
    module = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return find(module)


def signature(outcomes: Mapping[str, Outcome], probes: Sequence[Probe] = PROBES) -> Signs:
    """Judge the outcomes of all first probes that the engine could run, and did not refuse."""
    asked = [
        probe
        for probe in probes
        if probe.kind in FIRST
        and probe.name in outcomes
        and not outcomes[probe.name].get("missing")
        and outcomes[probe.name].get("error") != ABSENT
        and not is_refusal(probe, outcomes[probe.name])
    ]
    signs = {probe.name: judge(probe, outcomes[probe.name]) for probe in asked}
    seedless = [p for p in asked if signs[p.name].is_well and not has_seed(p, outcomes[p.name])]
    if len({p.script.keys[0] for p in seedless}) > 1:  # one operation may forget what comes in
        # It is right without a gradient of the result, which then says nothing about what is wrong.
        return {p.name: signs[p.name].without(p.script.root) for p in asked}
    return signs


Signs = dict[str, Sign]
Signatures = dict[str, list[Signs]]


Planted = tuple[str, str]  # a fault of the catalogue, and a style


def run_patients(planted: Iterable[Planted], probes: Sequence[Probe]) -> dict[Planted, Signs]:
    """Find out what the probes find in these patients."""
    first = [probe for probe in probes if probe.kind in FIRST]
    return {
        (code, style): signature(
            dict(run_all(load(patient(FAULTS[code], style)), first, repeats=0)), first
        )
        for code, style in planted
    }


# ---- kept in a file, so that a diagnosis need not run them all ---------------------------------

CODES = [fault.code for fault in CATALOGUE if fault.kind == "fault" and not fault.crash[0]]
FILE = Path(__file__).with_name("signatures.json")
DIGITS = 12  # of the numbers in the file; six are compared


def written() -> str:
    """Run all patients, and return the file: `python docs/generate.py` writes it.

    Styles that fail alike are there once.
    """
    every = [(code, style) for code in CODES for style in STYLES_OF.get(FAULTS[code].base, ("",))]
    found: dict[str, dict[str, Signs]] = {code: {} for code in CODES}
    for (code, style), signs in run_patients(every, PROBES).items():
        if signs not in found[code].values():
            found[code][style] = signs
    places = {probe.name: k for k, probe in enumerate(PROBES)}
    sets: list[list[int]] = []
    lines = []
    for code, styles in found.items():
        told = {}
        for style, signs in styles.items():
            asked = [places[name] for name in signs]
            sets += [] if asked in sets else [asked]
            ill = {places[n]: _packed(sign) for n, sign in signs.items() if not sign.is_well}
            told[style] = [sets.index(asked), ill]
        lines.append(f"{json.dumps(code)}: {json.dumps(told, separators=(',', ':'))}")
    heads = [f'"probes": {json.dumps([*places])}', f'"asked": {json.dumps(sets)}']
    return "{\n" + ",\n".join(heads) + ',\n"faults": {\n' + ",\n".join(lines) + "\n}\n}\n"


@functools.cache
def _kept() -> dict[Planted, Signs]:
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    names = kept["probes"]
    return {
        (code, style): {names[k]: _unpacked(ill.get(str(k))) for k in kept["asked"][asked]}
        for code, styles in kept["faults"].items()
        for style, (asked, ill) in styles.items()
    }


def _by_code(found: Mapping[Planted, Signs]) -> Signatures:
    codes = dict.fromkeys(code for code, _ in found)
    return {code: [signs for (of, _), signs in found.items() if of == code] for code in codes}


@functools.cache
def signatures() -> Signatures:
    """Return what the patients fail, one signature for each style, as the file has it."""
    return _by_code(_kept())


def drawn_signatures(signs: Signs, seed: int) -> Signatures:
    """Run the patients that fail like this with numbers drawn from the seed: only those few."""
    ill = {name: sign for name, sign in signs.items() if not sign.is_well}

    def likeness(planted: Planted) -> int:
        theirs = _kept()[planted]
        alike = sum(name in theirs and theirs[name].looks_like(ill[name]) for name in ill)
        failing = [name for name, sign in theirs.items() if not sign.is_well]
        return alike - sum(name in signs and name not in ill for name in failing)

    likely = sorted(_kept(), key=likeness, reverse=True)[:LIKELY]
    return _by_code(run_patients(likely, drawn(seed)))


WELL = Sign()
LIKELY = 16  # patients that are run for numbers drawn


def _packed(sign: Sign) -> list[object]:
    names = " ".join(name for name, _ in sign.numbers)
    return [sign.error, names, *(str(float(f"{x:.{DIGITS}g}")) for _, x in sign.numbers)]


def _unpacked(kept: list[str] | None) -> Sign:
    if kept is None:
        return WELL
    error, names, *numbers = kept
    pairs = tuple(zip(names.split(), map(float, numbers), strict=True))
    return Sign(frozenset(names.split()), error, pairs)
