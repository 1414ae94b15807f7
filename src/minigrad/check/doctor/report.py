"""What the doctor found, and how it is told: as text, as JSON, as a page."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass, field, fields
from html import escape
from string import Template
from typing import Any

from ...core.names import plural, readable, short
from ...view import play
from ...view.player.page import script_hash
from .probes import build
from .scripts import Script

LINE = 200  # columns of a line of the stranger's file; wrapping a line without end would take long
_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>minigrad doctor: $subject</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 1em auto; padding: 0 1em; }
pre { white-space: pre-wrap; font-family: ui-monospace, Menlo, Consolas, monospace; }
</style>
</head>
<body>
<h1>$subject</h1>
$body
</body>
</html>
""")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, and how that shows."""

    code: str
    kind: str  # fault, limit, note
    name: str
    sees: str
    why: str
    fix: str
    program: Script | None = None  # the smallest that fails
    expected: str = ""
    got: str = ""
    explanation: str = ""  # the paths that tell the difference
    line: int | None = None
    text: str = ""  # of that line
    also: tuple[str, ...] = ()  # other probes that fail for the same reason

    def lines(self, cls: str = "Value") -> list[str]:
        """Tell it in a few lines, with the class by its own name."""
        more = ", ".join(self.also[:6]) + (", …" if len(self.also) > 6 else "")
        others = plural(len(self.also), "other probe fails", "other probes fail")
        look_at = f"line {self.line}: {short(self.text.strip(), LINE)}"
        parts = {
            "try": self.program.text(cls) if self.program is not None else "",
            "right": self.expected,
            "here": self.got,
            "": self.explanation,
            "why": self.why,
            "look at": look_at if self.line is not None else "",
            "fix": self.fix,
            "also": f"{others}: {more}" if self.also else "",
        }
        found = [f"{self.name}  [{self.code}]"]
        for word, text in parts.items():
            wrapped = [part for line in text.splitlines() for part in textwrap.wrap(line, 85)]
            found += [f"  {'' if k else word:<9}{line}" for k, line in enumerate(wrapped)]
        return found

    def as_dict(self, cls: str = "Value") -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        known = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "text"}
        program = self.program.text(cls) if self.program else ""
        return known | {"program": program, "also": list(self.also)}


@dataclass(frozen=True, slots=True)
class Report:
    """The doctor's report on one class."""

    subject: str
    words: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    probes: int = 0  # how many the class could run
    missing: tuple[str, ...] = ()  # operations that are not there
    problem: str = ""  # why it could not be examined, or not to the end

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

    def text(self) -> str:
        """Tell everything, faults first."""
        parts = [self._head()]
        if self.problem:
            how_far = " to the end" if self.probes else ""
            parts += ["", f"Could not examine it{how_far}: {self.problem}."]
        kinds = {"Faults": self.faults, "Limits": self.limits, "Notes": self.notes}
        for heading, found in kinds.items():
            parts += ["", f"{heading} ({len(found)})"] if found else []
            for finding in found:
                parts += ["", *finding.lines(self.words.get("class", "Value"))]
        if not self.problem:
            parts += ["", self._verdict()]
        # Error messages and source lines are a stranger's text.
        return "\n".join(readable(line) for part in parts for line in part.split("\n"))

    def _head(self) -> str:
        if not self.words:
            return self.subject
        called = ", ".join(word for kind, word in self.words.items() if kind != "class")
        missing = f"; not there: {', '.join(self.missing)}" if self.missing else ""
        head = f"{self.subject}: class {self.words['class']} ({called})"
        return f"{head}\n{plural(self.probes, 'probe')}{missing}"

    def _verdict(self) -> str:
        limits = f", {plural(len(self.limits), 'limit')}" if self.limits else ""
        return f"{plural(len(self.faults), 'fault') if self.faults else 'No fault'}{limits}."

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        cls = self.words.get("class", "Value")
        return {
            "subject": self.subject,
            "words": self.words,
            "probes": self.probes,
            "missing": list(self.missing),
            "problem": self.problem,
            "faults": [finding.as_dict(cls) for finding in self.faults],
            "limits": [finding.as_dict(cls) for finding in self.limits],
            "notes": [finding.as_dict(cls) for finding in self.notes],
        }

    def to_json(self) -> str:
        """Return `as_dict()` as text."""
        return json.dumps(self.as_dict(), allow_nan=False)

    def to_html(self) -> str:
        """Return a page: the text, and for each fault the player on what fails, done right."""
        parts = [f"<pre>{escape(self.text())}</pre>"]
        for finding in self.faults:
            if finding.program is not None:
                values = build(finding.program)
                parts.append(f"<h2>{escape(finding.name)}: the same, done right</h2>")
                parts.append(play(values[finding.program.root])._repr_html_())
        # The players inside are allowed here too: a frame obeys the page around it as well.
        policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src '{script_hash()}'"
        return _PAGE.substitute(
            policy=policy, subject=escape(readable(self.subject)), body="\n".join(parts)
        )

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__
