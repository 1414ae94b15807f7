"""Many engines side by side, as a teacher has them: a folder of submissions, one row each.

A submission is a file, a notebook or a folder. Those whose classes are written alike (whatever
their comments and the names of their variables) are told to be the same.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from ...core.names import readable
from . import diagnose
from .notebooks import is_notebook
from .report import Report
from .wording import of_loading, said, translated

HEADINGS = ("submission", "verdict", "faults", "line", "limits", "same as", "why not")
BRIEF = ("submission", "verdict", "what", "limits", "same as")
_PAGE = Template("""<!doctype html>
<html lang="$lang">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'">
<title>minigrad doctor: $title</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 1em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3em 0.8em 0.3em 0; }
tr { border-bottom: 1px solid #8886; }
td:nth-child(2) { white-space: nowrap; }
td.sound { color: #2a7d2a; } td.fault { color: #c02525; } td.not { color: #8a6d00; }
@media (prefers-color-scheme: dark) {
td.sound { color: #6fcf6f; } td.fault { color: #ff8a80; } td.not { color: #e0c040; } }
@media (max-width: 700px) { /* a phone: each row below the other, and nothing to scroll aside */
thead, td:empty { display: none; }
table, tbody, tr, td { display: block; }
td { padding: 0.1em 0; overflow-wrap: anywhere; }
td[data-label]::before { content: attr(data-label) ": "; color: GrayText; } }
</style>
</head>
<body>
<h1>$title</h1>
<p>$summary</p>
<table>
<thead><tr>$headings</tr></thead>
<tbody>
$rows
</tbody>
</table>
</body>
</html>
""")


@dataclass(frozen=True, slots=True)
class Row:
    """One submission."""

    name: str
    report: Report
    same_as: str = ""  # the first submission whose class is written alike

    @property
    def verdict(self) -> str:
        """Sound, with a fault, or not examined."""
        return ("sound", "fault", "not examined")[self.report.exit_code]

    def cells(self) -> tuple[str, ...]:
        """Return what the table shows, in the order of HEADINGS."""
        report = self.report
        first = next((f for f in report.faults if f.line is not None), None)
        place = "" if first is None else first.place or str(first.line)
        return (
            self.name,
            self.verdict,
            ", ".join(finding.code for finding in report.faults),
            place,
            ", ".join(finding.code for finding in report.limits),
            self.same_as,
            readable(report.problem),
        )

    def brief(self, lang: str = "en") -> tuple[str, ...]:
        """Return what fits into a terminal, in the order of BRIEF."""
        name, verdict, faults, place, limits, same_as, _ = self.cells()
        place = of_loading(f"line {place}" if place.isdigit() else place, lang)
        where = f" ({place})" if place else ""
        count = str(limits.count(",") + 1) if limits else ""
        problem = of_loading(self.report.problem.partition(";")[0], lang)
        what = f"{faults}{where}" or readable(problem)
        return name, translated(verdict, lang), what, count, same_as


def submissions(folder: Path) -> list[Path]:
    """List what is in a folder to be examined, by name."""
    with os.scandir(folder) as entries:
        found = [
            Path(entry.path)
            for entry in entries
            if not entry.name.startswith((".", "__"))
            and (entry.is_dir() or entry.name.lower().endswith(".py") or is_notebook(entry.name))
        ]
    return sorted(found)


def examine_all(
    paths: list[Path],
    named: dict[str, str],
    jobs: int = 1,
    done: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Examine submissions, several at a time, and return a row for each, in their order."""
    reports: dict[Path, Report] = {}
    with ThreadPoolExecutor(max(jobs, 1)) as pool:
        futures = {pool.submit(diagnose, path, **named): path for path in paths}
        for future in as_completed(futures):
            reports[futures[future]] = future.result()
            done()
    firsts: dict[str, str] = {}
    rows = []
    for path in paths:
        report = replace(reports[path], subject=path.name)
        first = firsts.setdefault(report.tree, path.name) if report.tree else path.name
        rows.append(Row(path.name, report, first if first != path.name else ""))
    return rows


def summary(rows: list[Row], lang: str = "en") -> str:
    """Count the verdicts in one line."""
    counts = [sum(row.verdict == verdict for row in rows) for verdict in _COUNTED]
    parts = [
        said(text, count).worded(lang)
        for text, count in zip(_COUNTED.values(), counts, strict=True)
        if count
    ]
    all_ = "1 submission" if len(rows) == 1 else "{0} submissions"
    return f"{said(all_, len(rows)).worded(lang)}: {', '.join(parts)}."


_COUNTED = {"sound": "{0} sound", "fault": "{0} with a fault", "not examined": "{0} not examined"}


def headings(lang: str, names: tuple[str, ...] = BRIEF) -> list[str]:
    """Return what stands above the columns."""
    return [translated(name, lang) for name in names]


def exit_code(rows: list[Row]) -> int:
    """1 if there is a fault anywhere; else 2 if something was not examined; else 0."""
    codes = {row.report.exit_code for row in rows}
    return 1 if 1 in codes else 2 if 2 in codes else 0


# ---- as text for programs, and as pages --------------------------------------------------------


def as_csv(rows: list[Row]) -> str:
    """Return the table as CSV; nothing in it is a formula to a spreadsheet."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADINGS)
    for row in rows:
        writer.writerow([f"'{c}" if c[:1] in "=+-@\t\r" and c else c for c in row.cells()])
    return stream.getvalue()


def as_list(rows: list[Row]) -> list[dict[str, Any]]:
    """Return the table as JSON can hold it, with each report."""
    return [
        {"submission": r.name, "verdict": r.verdict, "same_as": r.same_as} | r.report.as_dict()
        for r in rows
    ]


def as_pages(rows: list[Row], title: str, lang: str = "en") -> dict[str, str]:
    """Return pages by their file names: index.html with the table, and one for each report."""
    pages, lines = {}, []
    for k, row in enumerate(rows):
        slug = re.sub(r"[^a-z0-9]+", "-", row.name.lower()).strip("-")
        file = f"{k + 1:03}-{slug[:60]}.html"
        pages[file] = row.report.to_html(lang)
        name, verdict, codes, place, limits, same_as, problem = row.cells()
        shown = (translated(verdict, lang), codes, of_loading(place, lang), limits, same_as)
        others = [escape(readable(cell)) for cell in (*shown, of_loading(problem, lang))]
        name = escape(readable(name))
        kind = row.verdict.split()[0]
        cells = [f'<td><a href="{file}">{name}</a></td>', f'<td class="{kind}">{others[0]}</td>']
        labels = headings(lang, HEADINGS)[2:]
        told = zip(labels, others[1:], strict=True)
        cells += [f'<td data-label="{label}">{cell}</td>' for label, cell in told]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    pages["index.html"] = _PAGE.substitute(
        lang=lang,
        title=escape(readable(title)),
        summary=escape(summary(rows, lang)),
        headings="".join(f"<th>{heading}</th>" for heading in headings(lang, HEADINGS)),
        rows="\n".join(lines),
    )
    return pages
