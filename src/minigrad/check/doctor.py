"""The doctor: takes anybody's Value class and names the bug.

    report = diagnose("my_engine.py")        # or a class, or the name of an installed module
    print(report)

The probes are run in a child process (`child.py`); what comes out is compared with what is right,
and where it is wrong, with the patients of the catalogue: the fault whose patient fails the same
probes in the same way is the one. Several faults are taken off one after the other. What no row of
the catalogue explains is reported as it is, with the smallest expression that shows it.

Start at `diagnose`, then `_recognised`.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
from pathlib import Path
from typing import Any

from ..explain import explain
from ..names import brief
from .child import Examination, examine_stranger
from .dialect import NAMES, find
from .examine import Outcome, run_all
from .faults import CATALOGUE, FAULTS, Fault
from .lines import likely_line
from .patients import Sign, judge, signature, signatures
from .probes import PROBES, Probe, build, expected
from .report import Finding, Report

__all__ = ["diagnose"]

BY_NAME = {probe.name: probe for probe in PROBES}
ZERO_WORDS = ("zero", "reset", "clear")


def diagnose(subject: type | str | Path, class_name: str = "") -> Report:
    """Examine a class, a file (by its path) or an installed module (by its name)."""
    if isinstance(subject, type):
        return _diagnose_class(subject)
    name = str(subject)
    if not name.endswith(".py"):
        return _report(name, examine_stranger(name, class_name), _source_of_module(name))
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
        ast.parse(text)
    except (OSError, UnicodeDecodeError) as error:
        return Report(name, problem=f"the file cannot be read ({error})")
    except SyntaxError as error:
        return Report(name, problem=f"line {error.lineno} does not parse: {error.msg}")
    return _report(name, examine_stranger(str(path.resolve()), class_name), text)


def _diagnose_class(cls: type) -> Report:
    """Examine a class: where its file is known, in a child process, else right here."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    module = sys.modules.get(cls.__module__)
    path = getattr(module, "__file__", None)
    if path is not None and cls.__module__ != "__main__":
        return _report(name, examine_stranger(cls.__module__, cls.__name__), _read(path))
    if path is not None and path.endswith(".py"):
        return diagnose(path, cls.__name__)
    assert module is not None
    dialect = find(module, cls.__name__)
    found = Examination(dialect.words, dict(run_all(dialect, PROBES)), str(cls.__doc__ or ""))
    try:
        text = inspect.getsource(cls)
    except (OSError, TypeError):
        text = ""
    return _report(name, found, text)


def _source_of_module(name: str) -> str:
    from importlib.util import find_spec

    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return ""
    return _read(spec.origin) if spec is not None and spec.origin is not None else ""


def _read(path: str) -> str:
    if not path.endswith(".py"):
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


# ---- from outcomes to findings -----------------------------------------------------------------


def _report(name: str, found: Examination, text: str) -> Report:
    outcomes = found.outcomes
    signs = signature(outcomes)
    findings = [
        *_faults(signs, outcomes, text),
        *_limits(found, signs, text),
    ]
    missing = [op for op in NAMES if _is_missing(op, outcomes)] if outcomes else []
    ran = sum(not outcome.get("missing") for outcome in outcomes.values())
    return Report(name, found.words, tuple(findings), ran, tuple(missing), found.problem)


def _is_missing(op: str, outcomes: dict[str, Outcome]) -> bool:
    mine = [p.name for p in PROBES if p.kind == "first" and op in p.program.ops]
    return all(outcomes.get(name, {}).get("missing") for name in mine)


def _faults(signs: dict[str, Sign], outcomes: dict[str, Outcome], text: str) -> list[Finding]:
    ill = {name: sign for name, sign in signs.items() if not sign.is_well and _is_first(name)}
    findings = []
    for code, mine in _recognised(signs, ill):
        findings.append(_finding(FAULTS[code], mine, outcomes, text))
        ill = {name: sign for name, sign in ill.items() if name not in mine}
    if ill:
        findings.append(_unknown(list(ill), outcomes))
    return findings


def _is_first(name: str) -> bool:
    return BY_NAME[name].kind == "first"


def _recognised(signs: dict[str, Sign], ill: dict[str, Sign]) -> list[tuple[str, list[str]]]:
    """Name the faults that explain what is wrong, the best explanation first, with their probes."""
    found: list[tuple[str, list[str]]] = []
    left = dict(ill)
    while left:
        best = max(signatures(), key=lambda code: _likeness(code, signs, ill, left))
        hits, invented = _comparison(best, signs, left)
        if not hits or len(invented) > len(hits) // 4:
            break
        found.append((best, hits))
        left = {name: sign for name, sign in left.items() if name not in hits}
    return found


def _comparison(
    code: str, signs: dict[str, Sign], left: dict[str, Sign]
) -> tuple[list[str], list[str]]:
    """Return the probes that this fault explains, and those that it would fail but are well."""
    theirs = signatures()[code]
    failing = [name for name, sign in theirs.items() if not sign.is_well and name in signs]
    hits = [name for name in left if name in theirs and not theirs[name].is_well]
    invented = [name for name in failing if signs[name].is_well]
    return hits, invented


def _likeness(
    code: str, signs: dict[str, Sign], ill: dict[str, Sign], left: dict[str, Sign]
) -> tuple[float, int, int, int]:
    theirs = signatures()[code]
    hits, invented = _comparison(code, signs, left)
    alike = [name for name in hits if theirs[name].looks_like(left[name])]
    equal = [name for name in alike if _same_numbers(theirs[name], left[name])]
    by_hand = sum(
        signs[name].is_well == theirs[name].is_well
        for name in theirs
        if name in signs and not _is_first(name)
    )
    unexplained = len(left) - len(hits)
    return (-(len(invented) + unexplained), by_hand, len(equal), len(alike))


def _same_numbers(p: Sign, q: Sign) -> bool:
    return len(p.numbers) == len(q.numbers) and all(
        m == n and math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-9)
        for (m, x), (n, y) in zip(p.numbers, q.numbers, strict=True)
    )


def _finding(fault: Fault, names: list[str], outcomes: dict[str, Outcome], text: str) -> Finding:
    smallest = min(names, key=lambda name: _size(BY_NAME[name]))
    right, here, why, crashed = _difference(BY_NAME[smallest], outcomes[smallest])
    line, shown = likely_line(text, fault.where) if crashed is None else (crashed, "")
    if crashed is not None and text:
        shown = text.splitlines()[crashed - 1] if crashed <= len(text.splitlines()) else ""
    return Finding(
        fault.code, fault.kind, fault.name, fault.sees, fault.why, fault.fix,
        BY_NAME[smallest].program, right, here, why, line, shown,
        tuple(name for name in names if name != smallest),
    )  # fmt: skip


def _size(probe: Probe) -> tuple[int, int, int]:
    return len(probe.program.steps), len(probe.program.leaves), PROBES.index(probe)


def _unknown(names: list[str], outcomes: dict[str, Outcome]) -> Finding:
    smallest = min(names, key=lambda name: _size(BY_NAME[name]))
    right, here, why, line = _difference(BY_NAME[smallest], outcomes[smallest])
    return Finding(
        "unknown", "fault", "a wrong result that is not in the catalogue",
        "The numbers differ from what is right.",
        "No fault of the catalogue fails just these probes.",
        "Work the expression out by hand, step by step, and compare.",
        BY_NAME[smallest].program, right, here, why, line, "",
        tuple(name for name in names if name != smallest),
    )  # fmt: skip


def _difference(probe: Probe, outcome: Outcome) -> tuple[str, str, str, int | None]:
    """Tell what is right, what came out, why it differs, and where it crashed if it did."""
    data, grad = expected(probe.program)
    leaves = list(probe.program.leaves)
    if "error" in outcome:
        right = ", ".join(f"{n}.grad = {brief(grad[n])}" for n in leaves)
        return right, f"{outcome['error']}: {outcome['message']}", "", outcome["line"]
    sign = judge(probe, outcome)
    rights, heres, whys = [], [], []
    for name, number in sign.numbers:
        if name.endswith(".data"):
            rights.append(f"{name} = {brief(data[name.removesuffix('.data')])}")
            heres.append(f"{name} = {brief(number)}")
        else:
            rights.append(f"{name}.grad = {brief(grad[name])}")
            heres.append(f"{name}.grad = {brief(number)}")
            whys.append(_paths(probe, name, number))
    return ", ".join(rights), ", ".join(heres), "\n".join(filter(None, whys)), None


def _paths(probe: Probe, name: str, got: float) -> str:
    """Explain a gradient by its paths, and what the engine seems to have done with them."""
    values = build(probe.program)
    found = explain(values[probe.program.root], values[name], top=6)
    if found.paths < 2 or found.rest_paths:
        return f"{found}" if found.paths == 1 else ""
    products = [term.product for term in sorted(found.terms, key=lambda term: term.positions)]
    sum_ = " + ".join(brief(p) if p >= 0 else f"({brief(p)})" for p in products)
    count = {2: "twice"}.get(found.paths, f"{found.paths} times")
    told = f"{name} reaches {probe.program.root} {count}: {sum_} = {brief(found.gradient)}"
    if any(math.isclose(got, p, rel_tol=1e-9) for p in products):
        return f"{told}; your engine kept only one of them"
    if got > found.gradient > 0 or got < found.gradient < 0:
        return f"{told}; your engine counted too much"
    return told


# ---- limits and notes --------------------------------------------------------------------------


def _limits(found: Examination, signs: dict[str, Sign], text: str) -> list[Finding]:
    findings = []
    for fault in CATALOGUE:
        if fault.kind == "fault":
            continue
        outcome = found.outcomes.get(fault.probe, {"missing": True})
        if outcome.get("missing"):
            continue
        shown = _SHOWS[fault.code](found.outcomes, signs)
        if not shown:
            continue
        kind = fault.kind
        if fault.code == "zeroing" and any(w in found.documentation.lower() for w in ZERO_WORDS):
            kind = "note"  # it says so: a matter of taste
        line, at = likely_line(text, fault.where)
        findings.append(
            Finding(
                fault.code, kind, fault.name, fault.sees, fault.why, fault.fix,
                BY_NAME[fault.probe].program, "", shown, "", line, at,
            )
        )  # fmt: skip
    return findings


Outcomes = dict[str, Outcome]


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
    if grads is None or _twice(outcomes) != "adds" or math.isclose(grads["b"], 2.5):
        return ""
    return f"b.grad = {brief(grads['b'])} after c.backward() and b.backward(); right: 2.5"


def _zeroing(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    if _twice(outcomes) != "zeroes" or not _is_sound(signs, "mul to itself"):
        return ""
    return "a second backward() gives the same gradients instead of adding to them"


def _zero_grad(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    cleared = outcomes["zero_grad"].get("cleared", {"a": 0.0})
    return f"a.grad = {brief(cleared['a'])} after zero_grad()" if cleared["a"] else ""


def _error_of(name: str) -> Any:
    def shows(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
        outcome = outcomes[name]
        return f"{outcome['error']}: {outcome['message']}" if "error" in outcome else ""

    return shows


def _recursion(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    outcome = outcomes["depth"]
    is_deep = outcome.get("error") in ("RecursionError", "MemoryError")
    return f"{outcome['error']} on a chain of 5,000 additions" if is_deep else ""


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
    for name in ("power of a Value", "power of zero"):
        outcome = outcomes.get(name, {"missing": True})
        if "error" in outcome:
            told.append(f"{BY_NAME[name].program.lines[0]}: {outcome['error']}")
        elif not outcome.get("missing") and not judge(BY_NAME[name], outcome).is_well:
            told.append(f"{BY_NAME[name].program.lines[0]}: wrong")
    return "; ".join(told)


def _sum_fails(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    other = outcomes.get("number + a", {})
    return "" if "error" in other else _error_of("sum of a list")(outcomes, signs)


def _cycles(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    held, kept = outcomes["memory"].get("held", 0), outcomes["memory"].get("kept", 0)
    if held <= kept:
        return ""
    return f"{held - kept} Values of 20 small graphs were still there until the collector ran"


def _growth(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    kept = outcomes["memory"].get("kept", 0)
    return f"{kept} Values of 20 small graphs are never freed" if kept else ""


def _relu_at_zero(outcomes: Outcomes, signs: dict[str, Sign]) -> str:
    grads = _grads(outcomes, "relu at zero")
    if grads is None or not _is_sound(signs, "relu at 2", "relu at -1.5"):
        return ""
    return f"relu'(0) = {brief(grads['a'])}" if grads["a"] else ""


_SHOWS: dict[str, Any] = {
    "stale_interior": _stale,
    "second_seed": _second_seed,
    "zeroing": _zeroing,
    "zero_grad": _zero_grad,
    "recursion": _recursion,
    "tanh_overflow": _overflow,
    "exponents": _exponents,
    "missing_radd": _error_of("number + a"),
    "missing_rmul": _error_of("number * a"),
    "missing_rsub": _error_of("number - a"),
    "missing_rtruediv": _error_of("number / a"),
    "sum_fails": _sum_fails,
    "missing_neg": _error_of("minus a"),
    "cycles": _cycles,
    "growth": _growth,
    "relu_at_zero": _relu_at_zero,
}
