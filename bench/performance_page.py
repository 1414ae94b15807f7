"""The tables of docs/performance_tables.md, from what bench/eager.py and compiled.py measured.

That of README.md is between `<!-- summary -->` and `<!-- end -->`.

The page is a text with `<!-- eager -->` and `<!-- compiled A, B4 -->` before each group of tables;
`filled` writes the tables after them, up to the next `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import compiled_cases, compiled_tables, eager, prose

_PLACE = re.compile(r"(<!-- (eager|compiled)((?: [^>]*)?) -->\n).*?(<!-- end -->)", re.DOTALL)
NOT_YET = "*Not in the run that is written down here.*\n"


def measured(figures: dict[str, Any]) -> str:
    """Say when, where and by which command."""
    said = f"*Measured {figures['date']}: {figures['machine']}, Python {figures['python']}"
    return f"{said}; commit {figures['commit']}, `{figures['command']}`.*\n\n"


def filled(text: str, figures: dict[str, dict[str, Any]]) -> str:
    """Return the page with its tables written anew; `figures` are those of "eager", "compiled"."""

    def fill(match: re.Match[str]) -> str:
        which, names = match[2], names_of(match[3])
        tables = [*(_eager if which == "eager" else _compiled)(figures[which]["cases"], names)]
        said = measured(figures[which]) + "\n".join(tables) if tables else NOT_YET
        return f"{match[1]}\n{said}{match[4]}"

    return _PLACE.sub(fill, text)


def names_of(text: str) -> list[str]:
    """Return the cases that a place names."""
    return [name for name in text.strip().split(", ") if name]


def placed(text: str) -> set[str]:
    """Return the cases that have a place on the page."""
    return {name for match in _PLACE.finditer(text) for name in names_of(match[3])}


def _table(title: str, columns: Any, lines: Any) -> str:
    rows = [f"**{title}**\n", f"| {' | '.join(columns)} |", "|---|" + "---:|" * (len(columns) - 1)]
    return "\n".join([*rows, *(f"| {' | '.join(cells)} |" for cells in lines)]) + "\n"


def _eager(cases: dict[str, Any], _: list[str]) -> Iterator[str]:
    for name, case in cases.items():
        columns = ("engine", *eager.COLUMNS.values())
        yield _table(eager.title(name, case), columns, eager.lines(case))
    for told, columns, said in eager.ends(cases):
        yield _table(f"{told} of W2 and W3", columns, said)


def _compiled(cases: dict[str, Any], names: list[str]) -> Iterator[str]:
    """Write the tables of some cases; without names, those of goals and of what must hold."""
    every = compiled_tables.tables(cases)
    wanted = [t for t in every if t[0].partition(":")[0] in names] if names else every[-2:]
    for table in wanted:
        yield _table(*table)


_SUMMARY = re.compile(r"(<!-- summary -->).*?(<!-- end -->)", re.DOTALL)
# The lines of the front page: whose times are in them.
FRONT = {
    "classic Python engine / minigrad eager": (compiled_cases.CLASSIC, compiled_cases.EAGER),
    "PyTorch / jax.jit / C by hand": (
        compiled_cases.TORCH,
        compiled_cases.JAX,
        compiled_cases.C,
    ),
    "**minigrad compiled**: whole call / kernel alone": (
        compiled_cases.WHOLE,
        compiled_cases.KERNEL,
    ),
}


def with_summary(text: str, figures: dict[str, Any]) -> str:
    """Return the front page with its table of two cases written anew."""
    cases = {name: figures["cases"][name] for name in ("A", "B8")}
    rows = [
        f"| value and all gradients, µs | {' | '.join(case['what'] for case in cases.values())} |"
    ]
    rows.append("|---|" + "---:|" * len(cases))
    for words, peers in FRONT.items():
        cells = []
        for case in cases:
            times = (prose.said(1e6 * prose.number_of(figures, case, peer)) for peer in peers)
            cells.append(" / ".join(times))
        strong = "**" * words.startswith("**")
        rows.append(f"| {words} | {' | '.join(f'{strong}{cell}{strong}' for cell in cells)} |")
    where = f"{figures['date']}, {figures['machine']}, one core: commit {figures['commit']},"
    where += " `python bench/compiled.py A B`. [All tables](docs/performance.md)."
    made = "\n".join([*rows, "", where])
    return _SUMMARY.sub(lambda match: f"{match[1]}\n{made}{match[2]}", text)
