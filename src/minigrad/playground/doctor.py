"""The doctor in the page: somebody's class examined in this very process, the page's worker."""

from __future__ import annotations

from typing import Any

from ..check import diagnose_here
from .request import Request

WIDTH = 84  # columns of the report


def diagnosed(request: Request) -> dict[str, Any]:
    """Examine the text of an engine; `seed` draws the numbers that nobody can foresee."""
    report = diagnose_here(request["text"], request["class"], seed=request["seed"])
    lang = request.lang
    return {
        "exit_code": report.exit_code,
        "heading": report.heading(lang),
        "problem": report.problem,
        "lines": [
            {"kind": line.kind, "text": line.text} for line in report.lines(lang, width=WIDTH)
        ],
        "findings": [
            {
                "code": finding.code,
                "kind": finding.kind,
                "name": finding.worded("name", lang, report.words),
                "fix": finding.worded("fix", lang, report.words),
                "line": finding.line,
            }
            for finding in report.findings
        ],
    }
