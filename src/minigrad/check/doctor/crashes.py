"""Crashes, peeled off first: what ends in an error says nothing about gradients.

An error is grouped with others of its kind: those that the same row of the catalogue explains with
the same words, else those of the same exception at the same line. Each group is one finding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .catalogue import CRASHES, FAULTS
from .evidence import Evidence
from .judging import ill_outcome
from .probes import BY_NAME
from .run_probes import NO_END, Outcome
from .scripts import Probe
from .signatures import Signatures, Signs

OF_RULES = ("rule_returns_number", "rule_returns_nothing")  # while there is no pass, no rule runs


@dataclass(frozen=True, slots=True)
class Crash:
    """One cause of errors, and the probes that end in it."""

    code: str
    told: tuple[str, ...]  # what the pattern of the row finds in the message
    names: list[str]
    shown: list[str] = field(default_factory=list)  # those that end in just this


@dataclass(frozen=True, slots=True)
class Lines:
    """The file, as far as it tells apart what ends in the same error."""

    text: str
    data: str  # what numbers are called
    evidence: Evidence

    def refined(
        self, code: str, told: tuple[str, ...], outcome: Outcome
    ) -> tuple[str, tuple[str, ...]]:
        """Return the row that the line in question shows, or the same one."""
        at = outcome.get("line") or 0
        lines = self.text.split("\n")
        if not 0 < at <= len(lines):
            return code, told
        line = lines[at - 1]
        if code in ("missing_reflected", "missing_operator", "crash"):
            name = self._value_in(line) if outcome["error"] == "TypeError" else ""
            return ("value_among_numbers", (name,)) if name else (code, told)
        if code == "missing_attribute" and len(told) > 1 and f"self.{told[1]}" in line:
            above = [text for text in lines[:at] if text.lstrip().startswith("def ")][-1:]
            if above and re.search(rf"[(,]\s*{re.escape(told[1])}\s*[,:=)]", above[0]):
                return "argument_as_attribute", (told[1],)
        if code == "pow_negative_base" and self.evidence.has("powers", "pow"):
            return "exponent_log", ()
        if code == "operand_not_recorded" and self.evidence.has("unordered", "init"):
            return "set_prev", ()
        if code == "number_inside" and self.evidence.discards_before(at):
            return "wrap_lost", told
        return code, told

    def _value_in(self, line: str) -> str:
        """Find a bare name that meets a number: self.data ** other."""
        number, operator = rf"\w+\.{re.escape(self.data)}", r"\s*(?:\*\*|[-+*/])\s*"
        found = re.search(rf"{number}{operator}([a-z]\w*)\b(?!\s*[.(\[])", line)
        found = found or re.search(rf"(?<![\w.])([a-z]\w*){operator}{number}", line)
        return found[1] if found else ""


def peel(
    signs: Signs,
    probes: Mapping[str, Probe],
    outcomes: Mapping[str, Outcome],
    known: Signatures,
    evidence: Evidence,
    lines: Lines,
) -> tuple[list[Crash], Signs]:
    """Return the crashes, and the signs of what does not crash, nor rests on what does."""
    groups: dict[tuple[object, ...], Crash] = {}
    crashed = [n for n, sign in signs.items() if sign.error and probes[n].kind != "hand"]
    single = [n for n in crashed if len(probes[n].script.statements) == 1]
    broken = {probes[n].script.keys[0] for n in single}
    causes = [n for n in crashed if not evidence.rests_on(probes[n], broken)] or crashed
    for name in causes:
        outcome = ill_outcome(probes[name], outcomes[name])
        code, told = _row_of(name, outcome, signs, known)
        code, told = lines.refined(code, told, outcome)
        is_general = code == "crash"
        cause = (outcome["error"], outcome["line"]) if is_general else (code, _cause(code, told))
        groups.setdefault(cause, Crash(code, told, [])).shown.append(name)
    rest = {
        name: sign
        for name, sign in signs.items()
        if not sign.error and (sign.is_well or not evidence.rests_on(probes[name], broken))
    }
    found = [*groups.values()]
    for crash in found:
        crash.names.extend(crash.shown)
    if found:  # what only follows from another one is no finding of its own
        found[0].names.extend(name for name in crashed if name not in causes)
    return found, rest


def _cause(code: str, told: tuple[str, ...]) -> tuple[str, ...]:
    """What is the same in all probes of a group: not the expression that gives no result, nor
    whether the number in it is whole."""
    is_any = code not in FAULTS or FAULTS[code].crash[0] == "NoResult"
    return () if is_any else tuple(text for text in told if text not in ("int", "float"))


def _row_of(
    name: str, outcome: Outcome, signs: Signs, known: Signatures
) -> tuple[str, tuple[str, ...]]:
    if outcome["error"] == NO_END:
        return "no_end", ()
    for code, styles in known.items():
        if any(_is_like(name, signs, theirs) for theirs in styles):
            return code, ()
    for row in CRASHES:
        error, message = row.crash
        if row.code in OF_RULES and not outcome.get("in_pass"):
            continue
        if re.fullmatch(error, outcome["error"]):
            found = re.fullmatch(message, outcome["message"])
            if found:
                return row.code, tuple(text or "" for text in found.groups())
    return "crash", (outcome["error"],)


def _is_like(name: str, signs: Signs, theirs: Signs) -> bool:
    """Whether a patient ends in the same error here, and wherever its operation stands alone."""
    if name not in theirs or theirs[name].error != signs[name].error:
        return False
    (op, *more) = [s.op for s in BY_NAME[name].script.statements]
    if more:
        return False
    single = [n for n in theirs if n in signs and BY_NAME[n].script.ops == {op}]
    return all(theirs[n].error == signs[n].error for n in single)
