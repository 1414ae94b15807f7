"""The doctor: takes anybody's Value class and names the bug.

    report = diagnose("my_engine.py")        # or a class, or the name of an installed module
    print(report)

The probes are run in a child process (`child.py`); what comes out is compared with what is right,
and where it is wrong, with the patients of the catalogue: the fault whose patient fails the same
probes in the same way is the one (`recognise.py`). What no row of the catalogue explains is
reported as it is, with the smallest expression that shows it.

Start at `diagnose`, then `_report`.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
import tokenize
from pathlib import Path
from types import ModuleType

from ..explain import explain
from ..names import brief
from .child import Examination, documentation_of, examine_stranger
from .dialect import NAMES, NoEngineError, find
from .examine import Outcome, run_all
from .faults import CATALOGUE, FAULTS, GENERAL, Fault
from .limits import SHOWS
from .lines import likely_line
from .patients import Sign, ill_outcome, judge, signature
from .probes import BY_NAME, PROBES, Probe, build, expected
from .recognise import recognise
from .report import Finding, Report

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
    path = Path(name)
    if path.suffix.lower() != ".py" and not path.exists():
        if not all(part.isidentifier() for part in name.split(".")):
            return Report(name, problem="this is neither a .py file nor the name of a module")
        return _report(name, examine_stranger(name, class_name))
    if not path.is_file():
        return Report(name, problem="there is no such file; give the path of a .py file")
    try:
        content = path.read_bytes()
        ast.parse(content)
    except OSError as error:
        return Report(name, problem=f"the file cannot be read ({error.strerror})")
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "the file"
        return Report(name, problem=f"{where} does not parse: {error.msg}")
    except ValueError as error:
        return Report(name, problem=f"the file does not parse: {error}")
    return _report(name, examine_stranger(str(path.resolve()), class_name))


def _diagnose_class(cls: type) -> Report:
    """Examine a class: where a module has it, in a child process, else right here."""
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
    found = Examination(
        dialect.words,
        dict(run_all(dialect, PROBES)),
        documentation_of(dialect),
        has_closures=dialect.has_closures(),
    )
    try:
        text = inspect.getsource(cls)
    except (OSError, TypeError):
        text = ""
    return _report(name, found, textwrap.dedent(text))


def _read(path: str) -> str:
    try:
        with tokenize.open(path) as stream:  # which knows of coding cookies and byte order marks
            return stream.read()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return ""


class _Told:
    """The text of the stranger's file, for pointing at lines."""

    def __init__(self, text: str, cls: str) -> None:
        self.text, self.cls = text, cls

    def at(self, line: int) -> tuple[int, str]:
        lines = self.text.splitlines()
        return line, lines[line - 1] if line <= len(lines) else ""

    def likely(self, where: str) -> tuple[int | None, str]:
        return likely_line(self.text, where, self.cls)


# ---- from outcomes to findings -----------------------------------------------------------------


def _report(name: str, found: Examination, text: str | None = None) -> Report:
    outcomes = found.outcomes
    told = _Told(_read(found.file) if text is None else text, found.words.get("class", ""))
    signs = signature(outcomes)
    findings = [*_faults(found, signs, told), *_limits(found, signs, told)]
    missing = [op for op in NAMES if _is_missing(op, outcomes)] if outcomes else []
    ran = sum(not outcome.get("missing") for outcome in outcomes.values())
    problem = found.problem
    if not problem and set(outcomes) != set(BY_NAME):
        problem = "not all of its answers arrived"
    if not problem and ran < FEWEST:
        problem = "it has no operations that could be examined, such as + and *"
    return Report(name, found.words, tuple(findings), ran, tuple(missing), problem)


def _is_missing(op: str, outcomes: dict[str, Outcome]) -> bool:
    mine = [p.name for p in PROBES if p.kind == "first" and op in p.program.ops]
    return all(outcomes.get(name, {}).get("missing") for name in mine)


def _faults(found: Examination, signs: dict[str, Sign], told: _Told) -> list[Finding]:
    outcomes = found.outcomes
    ill = {name: sign for name, sign in signs.items() if not sign.is_well and _counts(name)}
    findings = []
    for what, mine in recognise(signs, ill, found.has_closures):
        fault = FAULTS.get(what) or GENERAL.get(what)
        findings.append(
            _finding(fault, mine, outcomes, told)
            if fault is not None
            else _unnamed(what, mine, outcomes, told)
        )
    return findings


def _counts(name: str) -> bool:
    return BY_NAME[name].kind != "hand"  # that one helps to tell, and is no fault by itself


def _finding(fault: Fault, names: list[str], outcomes: dict[str, Outcome], told: _Told) -> Finding:
    smallest = min(names, key=_size)
    right, here, why, crashed = _difference(BY_NAME[smallest], outcomes[smallest], fault.code)
    line, shown = told.at(crashed) if crashed is not None else told.likely(fault.where)
    return Finding(
        fault.code, fault.kind, fault.name, fault.sees, fault.why, fault.fix,
        BY_NAME[smallest].program, right, here, why, line, shown,
        tuple(name for name in names if name != smallest),
    )  # fmt: skip


def _size(name: str) -> tuple[int, int, int]:
    probe = BY_NAME[name]
    return len(probe.program.steps), len(probe.program.leaves), PROBES.index(probe)


def _unnamed(op: str, names: list[str], outcomes: dict[str, Outcome], told: _Told) -> Finding:
    """Tell of something wrong that is not in the catalogue: in the rule of `op`, or somewhere."""
    smallest = min(names, key=_size)
    right, here, why, crashed = _difference(BY_NAME[smallest], outcomes[smallest], "")
    line, shown = told.at(crashed) if crashed is not None else told.likely(op)
    name = f"{op} is wrong" if op else "something is wrong that is not in the catalogue"
    return Finding(
        f"wrong_{op}" if op else "unknown", "fault", name,
        "The numbers differ from what is right.",
        f"The rule of {op} gives another number, or fails." if op else
        "No fault of the catalogue fails in just this way.",
        "Work the expression out by hand, step by step, and compare.",
        BY_NAME[smallest].program, right, here, why, line, shown,
        tuple(name for name in names if name != smallest),
    )  # fmt: skip


def _difference(probe: Probe, outcome: Outcome, code: str) -> tuple[str, str, str, int | None]:
    """Tell what is right, what came out, why it differs, and where it crashed if it did."""
    outcome = ill_outcome(probe, outcome)
    data, grad = expected(probe.program)
    if "error" in outcome:
        right = ", ".join(f"{n}.grad = {brief(grad[n])}" for n in probe.program.leaves)
        return right, f"{outcome['error']}: {outcome['message']}", "", outcome["line"]
    rights, heres, whys = [], [], []
    for name, number in judge(probe, outcome).numbers:
        if name.endswith(".data"):
            rights.append(f"{name} = {brief(data[name.removesuffix('.data')])}")
            heres.append(f"{name} = {brief(number)}")
        else:
            rights.append(f"{name}.grad = {brief(grad[name])}")
            heres.append(f"{name}.grad = {brief(number)}")
            whys.append(_paths(probe, name, number, code))
    return ", ".join(rights), ", ".join(heres), "\n".join(filter(None, whys)), None


def _paths(probe: Probe, name: str, got: float, code: str) -> str:
    """Explain a gradient by its paths, and, for faults of accumulation, what became of them."""
    values = build(probe.program)
    found = explain(values[probe.program.root], values[name], top=6)
    if found.paths < 2 or found.rest_paths:
        return str(found) if found.paths == 1 else ""
    products = [term.product for term in sorted(found.terms, key=lambda term: term.positions)]
    sum_ = " + ".join(brief(p) if p >= 0 else f"({brief(p)})" for p in products)
    count = {2: "twice"}.get(found.paths, f"{found.paths} times")
    told = f"{name} reaches {probe.program.root} {count}: {sum_} = {brief(found.gradient)}"
    forgets = code.startswith("overwrite") or code in ("same_object", "set_prev")
    if forgets and any(math.isclose(got, p, rel_tol=1e-9) for p in products):
        return f"{told}; your engine kept only one of them"
    return told


# ---- limits and notes --------------------------------------------------------------------------


def _limits(found: Examination, signs: dict[str, Sign], told: _Told) -> list[Finding]:
    findings = []
    for fault in CATALOGUE:
        if fault.kind == "fault":
            continue
        outcome = found.outcomes.get(fault.probe, {"missing": True})
        if outcome.get("missing"):
            continue
        shown = SHOWS[fault.code](found.outcomes, signs)
        if not shown:
            continue
        kind = fault.kind
        if fault.code == "zeroing" and any(w in found.documentation.lower() for w in ZERO_WORDS):
            kind = "note"  # it says so: a matter of taste
        line, at = told.likely(fault.where)
        findings.append(
            Finding(
                fault.code, kind, fault.name, fault.sees, fault.why, fault.fix,
                BY_NAME[fault.probe].program, "", shown, "", line, at,
            )
        )  # fmt: skip
    return findings
