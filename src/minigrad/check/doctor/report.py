"""What the doctor found, and how it is told: as text, and as JSON. `page.py` tells it as a page.

`as_dict` is for programs, and documented in docs/doctor.md: who changes its keys raises VERSION.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.display import preformatted
from ...core.names import readable, short
from .catalogue import Fault
from .probes import BY_NAME
from .scripts import SPELLING, Script
from .wording import Said, named, of_loading, said, translated

VERSION = 2  # of the JSON
WIDTH = 80  # columns, where nobody says how wide the terminal is: as most are
NARROWEST = 40
LINE = 200  # columns of a line of the stranger's file; wrapping a line without end would take long


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One thing that is wrong, and how that shows."""

    code: str
    kind: str  # fault, limit, note
    row: Fault
    told: tuple[str, ...] = ()  # what the texts of the row leave open
    program: Script | None = None  # the smallest that fails
    expected: str = ""
    here: Said = field(default_factory=Said)
    paths: Said = field(default_factory=Said)  # the paths that tell the difference
    line: int | None = None
    text: str = ""  # of that line
    also: tuple[str, ...] = ()  # other probes that fail for the same reason
    place: str = ""  # the line by its cell, in a notebook

    def __repr__(self) -> str:
        return f"<{self.kind} [{self.code}]: {self.name}>"

    def written(self, spelling: Mapping[str, str]) -> str:
        """Write what was run, so that pasting it does the same."""
        probe = BY_NAME.get(self.row.probe)
        if probe is not None and probe.script == self.program:
            return probe.text(spelling)  # which may say more than its script
        return self.program.text(spelling) if self.program is not None else ""

    @property
    def is_ours(self) -> bool:
        """Whether minigrad has the operations of the program, so that it can show them."""
        return self.program is not None and self.program.ops <= {*SPELLING}

    @property
    def name(self) -> str:
        """What it is called."""
        return self.worded("name")

    @property
    def fix(self) -> str:
        """What to do about it."""
        return self.worded("fix")

    @property
    def got(self) -> str:
        """What came out."""
        return self.here.worded()

    @property
    def explanation(self) -> str:
        """Why that is too little or too much, by the paths."""
        return self.paths.worded()

    def worded(self, part: str, lang: str = "en", words: Mapping[str, str] | None = None) -> str:
        """Return one of the row's texts: name, sees, why or fix."""
        text = named(translated(getattr(self.row, part), lang), words or {})
        return text.format(*self.told) if self.told else text

    def as_dict(self, spelling: Mapping[str, str], words: Mapping[str, str]) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        return {
            "code": self.code,
            "kind": self.kind,
            **{part: self.worded(part, "en", words) for part in ("name", "sees", "why", "fix")},
            "program": self.written(spelling),
            "expected": self.expected,
            "got": self.here.worded("en", words),
            "explanation": self.explanation,
            "line": self.line,
            "place": self.place,
            "also": list(self.also),
        }


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report: what it is (title, fault, limit, right, here, …) and what it says."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """The doctor's report on one class."""

    subject: str
    words: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    probes: int = 0  # how many the class could run
    missing: tuple[str, ...] = ()  # operations that are not there
    unexamined: tuple[str, ...] = ()  # operations that nobody could examine
    problem: str = ""  # why it could not be examined, or not to the end
    spelling: dict[str, str] = field(default_factory=dict)  # how its operations are written
    remarks: tuple[str, ...] = ()  # on how it was loaded
    choices: tuple[str, ...] = ()  # the classes that could be examined
    tree: str = ""  # a digest of the class: the same for those that are written alike

    @property
    def faults(self) -> list[Finding]:
        """Wrong numbers and crashes on a first backward()."""
        return [finding for finding in self.findings if finding.kind == "fault"]

    @property
    def limits(self) -> list[Finding]:
        """What goes wrong beyond that."""
        return [finding for finding in self.findings if finding.kind == "limit"]

    @property
    def notes(self) -> list[Finding]:
        """Matters of taste."""
        return [finding for finding in self.findings if finding.kind == "note"]

    @property
    def exit_code(self) -> int:
        """0: no fault; 1: faults; 2: could not examine."""
        return 1 if self.faults else 2 if self.problem else 0

    # ---- as text --------------------------------------------------------------------------------

    def text(self, lang: str = "en", verbose: bool = False, width: int = WIDTH) -> str:
        """Tell what is wrong, faults first; with `verbose` all that is known of limits as well."""
        # Error messages and source lines are a stranger's text.
        lines = self.lines(lang, verbose, width)
        return "\n".join(readable(part) for line in lines for part in line.text.split("\n"))

    def lines(self, lang: str = "en", verbose: bool = False, width: int = WIDTH) -> list[Line]:
        """Return the lines of the text, each with what it is."""
        width = max(width, NARROWEST)
        found = [Line("title", part) for part in textwrap.wrap(self.heading(lang), width)]
        for remark in self.remarks:
            found += [Line("text", part) for part in textwrap.wrap(of_loading(remark, lang), width)]
        if self.problem:
            for one in self.why_not(lang).splitlines():  # a path in it stays whole, to be copied
                parts = textwrap.wrap(one, width, break_on_hyphens=False, break_long_words=False)
                found += [Line("text", part) for part in parts]
        for finding in self.faults:
            found += [Line("text", ""), *self._told(finding, lang, verbose, width)]
        others = [*self.limits, *self.notes]
        column = max(len(translated(kind, lang)) for kind in ("limit", "note")) + 2
        if others and not verbose:
            found.append(Line("text", ""))
        for finding in others:
            if verbose:
                found += [Line("text", ""), *self._told(finding, lang, verbose, width)]
            else:
                name = finding.worded("name", lang, self.words)
                kind = translated(finding.kind, lang)
                told = f"{kind:<{column}}{name}  [{finding.code}]"
                found += [Line(finding.kind, line) for line in textwrap.wrap(told, width)]
        return found

    def why_not(self, lang: str = "en") -> str:
        """Say why it could not be examined, or not to the end."""
        how = "Could not examine it to the end: {0}." if self.probes else (
            "Could not examine it: {0}."
        )  # fmt: skip
        return said(how, of_loading(self.problem, lang)).worded(lang)

    def heading(self, lang: str = "en") -> str:
        """Say in a line whose class it is, and how it is."""
        if not self.words:
            return self.subject
        counts = [
            _counted(self.faults, "No fault", "1 fault", "{0} faults"),
            _counted(self.limits, "", "1 limit", "{0} limits"),
        ]
        verdict = ", ".join(count.worded(lang) for count in counts if count)
        asked = [said("{0} probes", self.probes)]
        asked += [said("not there: {0}", ", ".join(self.missing))] if self.missing else []
        asked += [said("not examined: {0}", ", ".join(self.unexamined))] if self.unexamined else []
        details = "; ".join(part.worded(lang) for part in asked)
        head = said("{0}: class {1}", self.subject, self.words["class"]).worded(lang)
        return f"{head} ({details})" if self.problem else f"{head}: {verdict} ({details})"

    def _told(self, finding: Finding, lang: str, verbose: bool, width: int) -> list[Line]:
        here = finding.here.worded(lang, self.words)
        if finding.also and not verbose:
            more = "1 other probe fails" if len(finding.also) == 1 else "{0} other probes fail"
            here += f"  ({said(more, len(finding.also)).worded(lang)})"
        where = of_loading(finding.place or f"line {finding.line}", lang)
        parts = {
            "try": finding.written(self.spelling),
            "right": finding.expected,
            "here": here,
            "": finding.paths.worded(lang, self.words),
            "why": finding.worded("why", lang, self.words),
            "look at": "" if finding.line is None
            else f"{where}: {short(finding.text.strip(), LINE)}",
            "fix": finding.worded("fix", lang, self.words),
            "also": ", ".join(_probe_name(n, lang) for n in finding.also) if verbose else "",
        }  # fmt: skip
        name = finding.worded("name", lang, self.words)
        title = f"{name}  [{finding.code}]"
        found = [Line(finding.kind, line) for line in textwrap.wrap(title, width)]
        column = max(len(translated(word, lang)) for word in parts) + 2
        for word, text in parts.items():
            each = [p for one in text.splitlines() for p in textwrap.wrap(one, width - column - 2)]
            for k, line in enumerate(each):
                key = "" if k else translated(word, lang)
                found.append(Line(word or "text", f"  {key:<{column}}{line}"))
        return found

    # ---- as JSON --------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        kinds = {"faults": self.faults, "limits": self.limits, "notes": self.notes}
        return {
            "version": VERSION,
            "subject": self.subject,
            "exit_code": self.exit_code,
            "words": self.words,
            "probes": self.probes,
            "missing": list(self.missing),
            "unexamined": list(self.unexamined),
            "problem": self.problem,
            "remarks": list(self.remarks),
            "tree": self.tree,
            **{
                kind: [finding.as_dict(self.spelling, self.words) for finding in found]
                for kind, found in kinds.items()
            },
        }

    def to_json(self) -> str:
        """Return `as_dict()` as text."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_html(self, lang: str = "en") -> str:
        """Return a page: what is wrong, and the player on each expression that fails."""
        from .page import page_of  # most readers want no page

        return page_of(self, lang)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(self.text())


def _counted(found: list[Finding], none: str, one: str, many: str) -> Said:
    return said([none, one][len(found)]) if len(found) < 2 else said(many, len(found))


def _probe_name(name: str, lang: str) -> str:
    if lang == "en":
        return name
    from .spanish import probe_name  # most readers need it not

    return probe_name(name)
