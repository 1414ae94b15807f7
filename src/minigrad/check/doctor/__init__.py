"""The doctor: takes anybody's Value class and names the bug.

    report = diagnose("my_engine.py")        # or a class, or the name of an installed module
    print(report)

The probes are run in the sandbox (`sandbox.py`), once with the numbers that a learner reads in
a finding, and once with numbers drawn for this very run: an engine that is right about the former
alone is not right. What comes out is compared with what is right, and where it is wrong, with the
patients of the catalogue: the fault whose patient fails the same probes in the same way is the one
(`recognise.py`). What no row of the catalogue explains is reported as it is, with the smallest
expression that shows it.

Start at `diagnose`, then `_report`.
"""

from __future__ import annotations

import inspect
import math
import os
import secrets
import stat
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from ...calculus.paths import explain
from ...core.names import brief
from .answers import LARGEST, Examination, examine_stranger
from .catalogue import CATALOGUE, FAULTS, GENERAL, Fault
from .dialect import NAMES, NoEngineError, find
from .judging import Sign, ill_outcome, judge
from .lines import likely_line, marks_of
from .probes import BY_NAME, PROBES, build, drawn, expected
from .recognise import recognise
from .report import Finding, Report
from .run_probes import Outcome, run_all
from .scripts import Probe
from .signatures import signature, signatures

__all__ = ["diagnose"]

ZERO_WORDS = ("zero", "reset", "clear")
FEWEST = 5  # probes that a class must be able to run


def diagnose(subject: type | str | Path, class_name: str = "") -> Report:
    """Examine a class, a file (by its path) or an installed module (by its name)."""
    if isinstance(subject, type):
        return _diagnose_class(subject)
    if not isinstance(subject, str | Path):
        raise TypeError(
            f"diagnose: got {type(subject).__name__}; give it a class, the path of a .py file, or "
            "the name of an installed module."
        )
    name = str(subject)
    if Path(name).suffix.lower() != ".py" and not os.path.exists(name):
        if not all(part.isidentifier() for part in name.split(".")):
            return Report(name, problem="this is neither a .py file nor the name of a module")
        return _report(name, examine_stranger(name, class_name))
    try:
        path = Path(name).resolve()
        problem = _why_not(path.stat())
    except (FileNotFoundError, NotADirectoryError):
        problem = "there is no such file"
    except (OSError, RuntimeError, ValueError) as error:  # too long a path, a loop of links, …
        problem = f"the file cannot be found ({getattr(error, 'strerror', None) or error})"
    if problem:
        return Report(name, problem=f"{problem}; give the path of a .py file")
    return _report(name, examine_stranger(str(path), class_name))


def _why_not(found: os.stat_result) -> str:
    """Tell what is in the way of reading a file; it is not opened, which could take for ever."""
    if stat.S_ISDIR(found.st_mode):
        return "this is a folder"
    if not stat.S_ISREG(found.st_mode):
        return "this is not an ordinary file, but a pipe, a device or the like"
    if found.st_size > LARGEST:
        return f"the file has {found.st_size:,} bytes, and {LARGEST:,} are read at most"
    return ""


def _diagnose_class(cls: type) -> Report:
    """Examine a class: where a module has it, in the sandbox, else right here."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    module = sys.modules.get(cls.__module__)
    in_module = getattr(module, cls.__name__, None) is cls
    if in_module and cls.__module__ != "__main__" and getattr(module, "__file__", None):
        return _report(name, examine_stranger(cls.__module__, cls.__name__))
    # In a session, a notebook, a script that runs now, or inside a function.
    home = module if in_module and module is not None else ModuleType(cls.__module__)
    setattr(home, cls.__name__, cls)
    try:
        dialect = find(home, cls.__name__)
    except NoEngineError as error:
        return Report(name, problem=str(error))
    try:
        text = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError, SyntaxError):
        text = ""
    seed = secrets.randbits(64)
    found = Examination(
        dialect.words,
        dict(run_all(dialect, PROBES)),
        dict(run_all(dialect, drawn(seed))),
        seed,
        dialect.documentation(),
        text,
        marks_of(text),
        dialect.has_closures(),
    )
    return _report(name, found)


# ---- from outcomes to findings -----------------------------------------------------------------


def _report(name: str, found: Examination) -> Report:
    outcomes = found.outcomes
    signs = signature(outcomes)
    findings = [*_faults(found, signs), *_limits(found, signs)]
    missing = [op for op in NAMES if _is_missing(op, outcomes)] if outcomes else []
    ran = sum(not outcome.get("missing") for outcome in outcomes.values())
    problem = found.problem
    if not problem and ran < FEWEST:
        problem = "it has no operations that could be examined, such as + and *"
    return Report(name, found.words, tuple(findings), ran, tuple(missing), problem)


def _is_missing(op: str, outcomes: dict[str, Outcome]) -> bool:
    mine = [p.name for p in PROBES if p.kind == "first" and op in p.script.ops]
    return all(outcomes.get(name, {}).get("missing") for name in mine)


def _faults(found: Examination, signs: dict[str, Sign]) -> list[Finding]:
    """Name what is wrong with the numbers that everybody knows; if nothing is, with those drawn."""
    ill = _ill(signs)
    if ill:
        named = recognise(signs, ill, signatures(), found.has_closures)
        return [_finding(found, BY_NAME, found.outcomes, *fault) for fault in named]
    probes = {probe.name: probe for probe in drawn(found.seed)}
    signs = signature(found.drawn, [*probes.values()])
    ill = _ill(signs)
    named = recognise(signs, ill, signatures(found.seed), found.has_closures) if ill else []
    return [_finding(found, probes, found.drawn, *fault) for fault in named]


def _ill(signs: dict[str, Sign]) -> dict[str, Sign]:
    """Leave out the probe that helps to tell, and is no fault by itself."""
    return {n: sign for n, sign in signs.items() if not sign.is_well and BY_NAME[n].kind != "hand"}


def _finding(
    found: Examination,
    probes: Mapping[str, Probe],
    outcomes: dict[str, Outcome],
    what: str,
    names: list[str],
) -> Finding:
    """Tell of a fault of the catalogue, or of something wrong in an operation or somewhere."""
    fault = FAULTS.get(what) or GENERAL.get(what) or _unnamed(what)
    smallest = min(names, key=_size)
    probe = probes[smallest]
    right, here, why, crashed = _difference(probe, outcomes[smallest], fault.code)
    line, shown = _place(found, fault.where, crashed)
    return Finding(
        fault.code, fault.kind, fault.name, fault.sees, fault.why, fault.fix,
        probe.script, right, here, why, line, shown,
        tuple(name for name in names if name != smallest),
    )  # fmt: skip


def _place(found: Examination, where: str, crashed: int | None = None) -> tuple[int | None, str]:
    """Return the line to look at, that of a crash or else the likely one, and its text."""
    if crashed is None:
        return likely_line(found.text, where, found.words.get("class", ""), found.marks)
    lines = found.text.split("\n")
    return crashed, lines[crashed - 1] if crashed <= len(lines) else ""


def _size(name: str) -> tuple[int, int, int]:
    probe = BY_NAME[name]
    return len(probe.script.statements), len(probe.script.leaves), PROBES.index(probe)


def _unnamed(op: str) -> Fault:
    """Return what is said of something that is not in the catalogue."""
    return Fault(
        f"wrong_{op}" if op else "unknown", "fault",
        f"{op} is wrong" if op else "something is wrong that is not in the catalogue",
        "The numbers differ from what is right.",
        f"The rule of {op} gives another number, or fails." if op else
        "No fault of the catalogue fails in just this way.",
        "Work the expression out by hand, step by step, and compare.",
        (), where=op,
    )  # fmt: skip


def _difference(probe: Probe, outcome: Outcome, code: str) -> tuple[str, str, str, int | None]:
    """Tell what is right, what came out, why it differs, and where it crashed if it did."""
    outcome = ill_outcome(probe, outcome)
    data, grad = expected(probe.script)
    if "error" in outcome:
        right = ", ".join(f"{n}.grad = {brief(grad[n])}" for n in probe.script.leaves)
        return right, f"{outcome['error']}: {outcome['message']}", "", outcome["line"]
    right_numbers = {f"{name}.data": x for name, x in data.items()} | grad
    rights, heres, whys = [], [], []
    for name, number in judge(probe, outcome).numbers:
        shown = name if name.endswith(".data") else f"{name}.grad"
        rights.append(f"{shown} = {brief(right_numbers[name])}")
        heres.append(f"{shown} = {brief(number)}")
        if name in grad:
            whys.append(_paths(probe, name, number, code))
    return ", ".join(rights), ", ".join(heres), "\n".join(filter(None, whys)), None


def _paths(probe: Probe, name: str, got: float, code: str) -> str:
    """Explain a gradient by its paths, and, for faults of accumulation, what became of them."""
    values = build(probe.script)
    found = explain(values[probe.script.root], values[name], top=6)
    if found.paths < 2 or found.rest_paths:
        return str(found) if found.paths == 1 else ""
    products = [term.product for term in sorted(found.terms, key=lambda term: term.positions)]
    sum_ = " + ".join(brief(p) if p >= 0 else f"({brief(p)})" for p in products)
    count = "twice" if found.paths == 2 else f"{found.paths} times"
    ways = f"{name} reaches {probe.script.root} {count}: {sum_} = {brief(found.gradient)}"
    forgets = code.startswith("overwrite") or code in ("same_object", "set_prev")
    if forgets and any(math.isclose(got, p, rel_tol=1e-9) for p in products):
        return f"{ways}; your engine kept only one of them"
    return ways


# ---- limits and notes --------------------------------------------------------------------------


def _limits(found: Examination, signs: dict[str, Sign]) -> list[Finding]:
    findings = []
    for fault in CATALOGUE:
        is_asked = not found.outcomes.get(fault.probe, {"missing": True}).get("missing")
        shown = fault.shows(found.outcomes, signs) if fault.shows and is_asked else ""
        if not shown:
            continue
        kind = fault.kind
        if fault.code == "zeroing" and any(w in found.documentation.lower() for w in ZERO_WORDS):
            kind = "note"  # it says so: a matter of taste
        findings.append(Finding(
            fault.code, kind, fault.name, fault.sees, fault.why, fault.fix,
            BY_NAME[fault.probe].script, "", shown, "", *_place(found, fault.where),
        ))  # fmt: skip
    return findings
