"""From outcomes to findings: crashes, then wrong values, then wrong gradients, then limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ...calculus.paths import explain
from ...core.names import brief
from .answers import Examination
from .catalogue import CATALOGUE, FAULTS, GENERAL, Fault
from .crashes import Crash, Lines, peel
from .cures import cured, cured_other, size
from .dialect import NAMES
from .differences import FACTOR, Misfit, misfit, points
from .evidence import Evidence
from .judging import MAY_REFUSE, ill_outcome, judge
from .lines import likely_line
from .mended import Mended
from .notebooks import place_of
from .probes import BY_NAME, PROBES, build, drawn, expected
from .recognise import Named, explains_everything, recognise
from .report import Finding, Report
from .run_probes import NO_END, Outcome
from .scripts import Probe, Script
from .signatures import ABSENT, Signatures, Signs, drawn_signatures, signature, signatures
from .wording import Said, said

ZERO_WORDS = ("zero", "reset", "clear")
UNSURE = (
    "crash",
    "refusal",
    "wrong_arguments",
    "missing_operator",
)  # it may be the way it is spoken to
NAMELESS = ("crash", "unknown", "wrong")  # rows that say that something is wrong, and not what
WHOLE = "whole numbers"  # the probe whose leaves are such
FEWEST = 5  # probes that a class must be able to run


def report(name: str, found: Examination) -> Report:
    """Say what is wrong with a class, given what came out of it."""
    outcomes = found.outcomes
    signs = signature(outcomes)
    faults = _faults(found, signs)
    # Where everything is wrong, so are operations that nobody knows; they are asked with a product.
    faults += [] if any(_is_everywhere(fault) for fault in faults) else _misfits(found)
    findings = [*faults, *_limits(found, signs)]
    missing = [op for op in NAMES if _is_missing(op, outcomes)] if outcomes else []
    ran = sum(not outcome.get("missing") for outcome in outcomes.values())
    problem = found.problem
    if not problem and ran < FEWEST:
        problem = "it has no operations that could be examined, such as + and *"
    away = _absent(outcomes) or _without_gradient(outcomes, found.words.get("grad", "grad"))
    problem = problem or away
    findings = [] if away else findings
    is_unsure = all(finding.code in UNSURE for finding in faults)
    if not problem and is_unsure and (alike := _all_alike(outcomes)):
        problem, findings = f"every question ends alike, in {alike}", []
    if found.cells:
        findings = [
            replace(finding, place=place_of(finding.line, found.cells)) if finding.line else finding
            for finding in findings
        ]
    return Report(
        name, found.words, tuple(findings), ran, tuple(missing),
        (*_without_module(outcomes), *found.unexamined), problem,
        found.spelling, tuple(found.remarks), tuple(found.choices), found.tree,
    )  # fmt: skip


def _is_everywhere(fault: Finding) -> bool:
    """Whether it is a fault of the pass, of all operations, or of multiplication."""
    where = fault.row.where or fault.code.partition("_")[2]
    return where not in NAMES or where == "mul"


def _absent(outcomes: dict[str, Outcome]) -> str:
    """Say which module its plainest operations need and do not have: that is no fault of theirs."""
    plain = [outcomes.get(name, {}) for name in ("add", "mul")]
    missing = [o["message"] for o in plain if o.get("error") == ABSENT]
    return f"its operations need a module: {missing[0]}" if missing else ""


def _without_module(outcomes: dict[str, Outcome]) -> list[str]:
    """List the operations that could not be asked, because they need a module that is not there."""
    single = [p for p in PROBES if len(p.script.statements) == 1 and p.kind == "first"]
    absent = [p for p in single if outcomes.get(p.name, {}).get("error") == ABSENT]
    return list(dict.fromkeys(p.script.statements[0].op for p in absent))


def _firsts(outcomes: dict[str, Outcome]) -> list[Outcome]:
    firsts = [outcomes.get(p.name, {"missing": True}) for p in PROBES if p.kind == "first"]
    return [outcome for outcome in firsts if not outcome.get("missing")]


def _without_gradient(outcomes: dict[str, Outcome], grad: str) -> str:
    """Say so if no result has a gradient, of whatever operation: then it is somewhere else."""
    ends = f"has no attribute {grad!r}"
    asked = _firsts(outcomes)
    is_nowhere = all(str(o.get("message", "")).partition(". ")[0].endswith(ends) for o in asked)
    if not asked or not is_nowhere:
        return ""
    return f"results have no {grad}: either it is spoken to in a wrong way, or nothing works yet"


def _all_alike(outcomes: dict[str, Outcome]) -> str:
    """Return the error that every question ends in, with its line, if there is one such."""
    asked = _firsts(outcomes)
    if not all("error" in outcome for outcome in asked):
        return ""
    # Those that do not come so far may be wrong by themselves.
    passed = [outcome for outcome in asked if outcome.get("in_pass")] or asked
    errors = {(o["error"], o.get("message"), o.get("line")) for o in passed}
    if len(errors) != 1:
        return ""
    ((error, message, line),) = errors
    what = f"{error}: {message}" if message else error
    where = f" (line {line})" if line else ""
    return f"{what}{where}: either it is spoken to in a wrong way, or nothing works yet"


def _is_missing(op: str, outcomes: dict[str, Outcome]) -> bool:
    mine = [p.name for p in PROBES if p.kind == "first" and op in p.script.ops]
    return all(outcomes.get(name, {}).get("missing") for name in mine)


# ---- faults --------------------------------------------------------------------------------------


def _faults(found: Examination, signs: Signs) -> list[Finding]:
    """Name what is wrong with the numbers that everybody knows; if nothing is, with those drawn."""
    if any(not sign.is_well for name, sign in signs.items() if BY_NAME[name].kind != "hand"):
        return _explained(found, BY_NAME, found.outcomes, signs, signatures())
    probes = {probe.name: probe for probe in drawn(found.seed)}
    signs = signature(found.drawn, [*probes.values()])
    if all(sign.is_well for sign in signs.values()):
        return []
    return _explained(found, probes, found.drawn, signs, drawn_signatures(signs, found.seed))


def _explained(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], signs: Signs,
    known: Signatures,
) -> list[Finding]:  # fmt: skip
    """Peel crashes off, unless one fault explains them too, and name what is left."""
    words = found.words
    evidence = Evidence(
        found.marks, words.get("class", ""), found.has_closures, words.get("backward", "")
    )
    refused = _refused(found, probes, outcomes, signs)
    signs = {name: sign for name, sign in signs.items() if name not in refused}
    named = explains_everything(signs, probes, known, evidence)
    crashed: list[Crash] = []
    if not named:
        lines = Lines(found.text, found.words.get("data", "data"), evidence)
        crashed, rest = peel(signs, probes, outcomes, known, evidence, lines)
        crashed = [one for one in crashed if not _is_design(one, probes, found.outcomes)]
        named = recognise(rest, probes, known, evidence)
    crashed, named, cures = cured(found, probes, outcomes, signs, crashed, named)
    findings = [_crash(found, probes, outcomes, crash) for crash in crashed]
    findings += _one_a_line(
        [_named(found, probes, outcomes, fault) for fault in named],
        [_cure(found, probes, outcomes, cure) for cure in cures],
    )
    # What has a name comes first, and before what shows only where an engine may refuse.
    findings.sort(key=lambda one: (one.row.code in NAMELESS, _is_aside(one, probes)))
    return findings + _refusals(found, probes, outcomes, refused)


def _is_aside(one: Finding, probes: Mapping[str, Probe]) -> bool:
    """Whether all that shows it are questions that an engine may refuse."""
    kinds = {probes[name].kind for name in one.also}
    kinds |= {probe.kind for probe in probes.values() if probe.script is one.program}
    return kinds <= {*MAY_REFUSE}


def _is_design(crash: Crash, probes: Mapping[str, Probe], outcomes: dict[str, Outcome]) -> bool:
    """Whether a number as exponent ends like one beside any operator: it takes Values only."""
    others = [outcomes.get(f"{op} a number", {}) for op in ("add", "mul")]
    is_alike = all(o.get("error") or o.get("missing") for o in others)
    exponents = all({*probes[name].script.keys} <= {"pow", "add", "mul"} for name in crash.shown)
    return crash.code == "number_inside" and is_alike and exponents


def _one_a_line(rows: list[Finding], cures: list[Finding]) -> list[Finding]:
    """Of a row and a change that speak of the same line, tell the one that explains more."""

    def is_less(one: Finding, others: list[Finding], least: int) -> bool:
        return any(o.line == one.line and len(o.also) >= len(one.also) + least for o in others)

    rows_left = [row for row in rows if row.line is None or not is_less(row, cures, 1)]
    return [cure for cure in cures if not is_less(cure, rows, 0)] + rows_left


def _cure(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], cure: Mended
) -> Finding:
    """Tell of a mistake by the line that mends it."""
    change = cure.change
    is_later = cure.is_later and cure.code in ("slip", "formula")
    row = "surplus" if cure.code == "slip" and change.new == "pass" else cure.code
    fault = FAULTS.get(row) or GENERAL[row + ("_too" if is_later and row == cure.code else "")]
    op = cure.op or change.function
    seed = change.old.partition("=")[2].strip()
    told = (seed if row == "wrong_seed" else _word(op), change.old, change.new)
    made = _finding(found, probes, outcomes, fault, cure.names, cure.names, told)
    line, text = _place(found, op, change.line)
    is_named = cure.code not in ("slip", "formula")
    code = made.code if is_named else f"{cure.code}_{op.strip('_')}"
    return replace(made, code=code, line=line, text=text)


def _refused(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], signs: Signs
) -> list[str]:
    """Find what the engine refuses in so many words: a raise or an assert of its own."""
    lines = found.text.split("\n")
    names = []
    for name in [name for name, sign in signs.items() if sign.error]:
        outcome = ill_outcome(probes[name], outcomes[name])
        at = outcome["line"] or 0
        text = lines[at - 1].strip() if 0 < at <= len(lines) else ""
        is_raised = text.startswith("raise") and outcome["error"] in text
        if is_raised or (text.startswith("assert") and outcome["error"] == "AssertionError"):
            names.append(name)
    return names


def _refusals(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], names: list[str]
) -> list[Finding]:
    by_line: dict[int, list[str]] = {}
    for name in names:
        outcome = ill_outcome(probes[name], outcomes[name])
        by_line.setdefault(outcome["line"], []).append(name)
    row = GENERAL["refusal"]
    return [_finding(found, probes, outcomes, row, each, each) for each in by_line.values()]


def _crash(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], crash: Crash
) -> Finding:
    fault = FAULTS.get(crash.code) or GENERAL[crash.code]
    made = _finding(found, probes, outcomes, fault, crash.names, crash.shown, crash.told)
    # A leaf that is made from a whole number is no ordinary one.
    is_limit = all(name == WHOLE for name in crash.names)
    return replace(made, kind="limit") if is_limit and crash.code == "whole_gradient" else made


def _named(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], named: Named
) -> Finding:
    """Tell of a fault of the catalogue, or of something wrong in an operation or somewhere."""
    kind, _, op = named.what.partition(":")
    general = {"value": "wrong_value", "rule": "wrong", "": "unknown"}
    fault = FAULTS.get(kind) or GENERAL[general.get(kind, kind)]
    told = (named.told or _word(op),)
    return _finding(found, probes, outcomes, fault, named.names, named.shown, told, op)


def _word(op: str) -> str:
    """Write an operation as people know it: ** and not pow."""
    symbols = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "neg": "-a"}
    symbols["truediv"] = "/"
    if op in ("init", ""):
        return "a leaf"
    left = f"2 {symbols[op[1:]]} a" if op[0] == "r" and op[1:] in symbols else ""
    in_place = f"{symbols[op[1:]]}=" if op[0] == "i" and op[1:] in symbols else ""
    return left or in_place or symbols.get(op, op)


def _finding(
    found: Examination, probes: Mapping[str, Probe], outcomes: dict[str, Outcome], fault: Fault,
    names: list[str], shown: list[str], told: tuple[str, ...] = (), op: str = "",
) -> Finding:  # fmt: skip
    smallest = min(shown, key=size)
    probe = probes[smallest]
    right, here, why, crashed = _difference(probe, outcomes[smallest], fault.code, found)
    is_crash = "error" in ill_outcome(probe, outcomes[smallest])
    where, mark = fault.where or op, fault.mark
    if is_crash and crashed is None and fault.crash[0]:
        last = probe.script.keys[-1]
        where, mark = {"sum": "radd"}.get(last, last), "def"
    line, text = _place(found, where, crashed, mark)
    is_general = fault.code in ("wrong", "wrong_value")
    code = f"{fault.code}_{op or 'leaf'}" if is_general else fault.code
    return Finding(
        code, fault.kind, fault, told, probe.script, right, here, why, line, text,
        tuple(name for name in names if name != smallest),
    )  # fmt: skip


def _place(
    found: Examination, where: str, crashed: int | None = None, mark: str = ""
) -> tuple[int | None, str]:
    """Return the line to look at, that of a crash or else the likely one, and its text."""
    if crashed is None:
        return likely_line(found.text, where, found.words.get("class", ""), found.marks, mark)
    lines = found.text.split("\n")
    return crashed, lines[crashed - 1] if crashed <= len(lines) else ""


def _difference(
    probe: Probe, outcome: Outcome, code: str, found: Examination
) -> tuple[str, Said, Said, int | None]:
    """Tell what is right, what came out, why it differs, and where it crashed if it did."""
    outcome = ill_outcome(probe, outcome)
    data, grad = expected(probe.script)
    data_word, grad_word = found.words.get("data", "data"), found.words.get("grad", "grad")
    gradient = found.spelling.get("grad", f"{{}}.{grad_word}")
    if "error" in outcome:
        right = ", ".join(f"{gradient.format(n)} = {brief(grad[n])}" for n in probe.script.leaves)
        here = said("it does not come to an end") if outcome["error"] == NO_END else (
            said("{0}", _error(outcome))
        )  # fmt: skip
        return right, here, Said(), outcome["line"]
    rights, heres, whys = [], [], []
    sign = judge(probe, outcome)
    for name, number in sign.values or sign.numbers:
        is_value = name.endswith(".data")
        wanted = data[name.removesuffix(".data")] if is_value else grad[name]
        value = f"{name.removesuffix('.data')}.{data_word}"
        spelled = value if is_value else gradient.format(name)
        rights.append(f"{spelled} = {brief(wanted)}")
        heres.append(f"{spelled} = {brief(number)}")
        if not is_value and name != probe.script.root:
            whys.append(_paths(probe, name, number, code))
    return ", ".join(rights), said("{0}", ", ".join(heres)), next(filter(None, whys), Said()), None


def _error(outcome: Outcome) -> str:
    if outcome["error"] == "NoResult":
        return str(outcome["message"])
    return f"{outcome['error']}: {outcome['message']}".removesuffix(": ")


def _paths(probe: Probe, name: str, got: float, code: str) -> Said:
    """Explain a gradient by its paths, and, for faults of accumulation, what became of them."""
    values = build(probe.script)
    found = explain(values[probe.script.root], values[name], top=6)
    if found.paths < 2 or found.rest_paths:
        return Said()
    products = [term.product for term in sorted(found.terms, key=lambda term: term.positions)]
    sum_ = " + ".join(brief(p) if p >= 0 else f"({brief(p)})" for p in products)
    ways = "{0} reaches {1} twice: {3}" if found.paths == 2 else "{0} reaches {1} {2} times: {3}"
    told = (name, probe.script.root, found.paths, f"{sum_} = {brief(found.gradient)}")
    forgets = code.startswith("overwrite") or code in ("same_object", "set_prev")
    if forgets and any(math.isclose(got, p, rel_tol=1e-9) for p in products):
        return said("{0}; your engine kept only one of them", said(ways, *told))
    return said(ways, *told)


# ---- operations that are not in the table -------------------------------------------------------


def _misfits(found: Examination) -> list[Finding]:
    asked = points(found.seed)
    each = (misfit(name, asked, answers) for name, answers in found.others.items())
    return [_misfit(found, one) for one in each if one is not None]


def _misfit(found: Examination, one: Misfit) -> Finding:
    """Tell of an operation of their own, with what `extras.ask` did."""
    names, inner = "ab"[: len(one.point)], "cd"[: len(one.point)]
    leaves = dict(zip(names, one.point, strict=True)) | {"e": 1.0, "f": FACTOR}
    products = [f"{made} = {name} * e" for made, name in zip(inner, names, strict=True)]
    script = Script(leaves, (*products, f"g = {one.name}({', '.join(inner)})", "h = g * f"))
    leaf = f"{names[one.operand]}.{found.words.get('grad', 'grad')}"
    change = cured_other(found, one.name)
    row, told = GENERAL["wrong_other"], [one.name]
    place = _place(found, one.name, change.line if change is not None else None, "def")
    if change is not None:
        row, told = GENERAL["slip"], [one.name, change.old, change.new]
    return Finding(
        f"{'wrong' if change is None else 'slip'}_{one.name}", "fault", row, tuple(told), script,
        f"{leaf} = {brief(one.right)}", said("{0}", f"{leaf} = {brief(one.got)}"), Said(), *place,
    )  # fmt: skip


# ---- limits and notes --------------------------------------------------------------------------


def _limits(found: Examination, signs: Signs) -> list[Finding]:
    findings = []
    for fault in CATALOGUE:
        is_asked = not found.outcomes.get(fault.probe, {"missing": True}).get("missing")
        shown = fault.shows(found.outcomes, signs) if fault.shows and is_asked else Said()
        if not shown:
            continue
        kind = fault.kind
        if fault.code == "zeroing" and any(w in found.documentation.lower() for w in ZERO_WORDS):
            kind = "note"  # it says so: a matter of taste
        fails = (name for name in fault.others if "error" in found.outcomes.get(name, {}))
        probe = next(fails, fault.probe)
        where = probe.partition(" ")[0] if fault.others else fault.where
        findings.append(Finding(
            fault.code, kind, fault, (), BY_NAME[probe].script, "", shown, Said(),
            *_place(found, where, None, fault.mark),
        ))  # fmt: skip
    return findings
