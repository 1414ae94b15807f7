"""The tables of docs/performance_tables.md, from what bench/eager.py and compiled.py measured.

The page is a text with `<!-- eager -->` and `<!-- compiled A B4 -->` before each group of tables;
`filled` writes the tables after them, up to the next `<!-- end -->`.
"""

from __future__ import annotations

import re
from typing import Any

from . import compiled_tables, eager

_PLACE = re.compile(r"(<!-- (eager|compiled)((?: [^>]*)?) -->\n).*?(<!-- end -->)", re.DOTALL)


def measured(figures: dict[str, Any]) -> str:
    """Say when and where."""
    return f"{figures['date']}, {figures['machine']}, Python {figures['python']}"


def filled(text: str, figures: dict[str, dict[str, Any]]) -> str:
    """Return the page with its tables written anew; `figures` are those of "eager", "compiled"."""

    def fill(match: re.Match[str]) -> str:
        which, names = match[2], [name for name in match[3].strip().split(", ") if name]
        tables = (_eager if which == "eager" else _compiled)(figures[which]["cases"], names)
        said = f"*Measured {measured(figures[which])}.*\n\n"
        return match[1] + "\n" + said + "\n".join(tables) + match[4]

    return _PLACE.sub(fill, text)


def _table(title: str, columns: Any, lines: Any) -> str:
    rows = [f"**{title}**\n", f"| {' | '.join(columns)} |", "|---|" + "---:|" * (len(columns) - 1)]
    return "\n".join([*rows, *(f"| {' | '.join(cells)} |" for cells in lines)]) + "\n"


def _eager(cases: dict[str, Any], _: list[str]) -> list[str]:
    found = [
        _table(eager.title(name, case), ("engine", *eager.COLUMNS.values()), eager.lines(case))
        for name, case in cases.items()
    ]
    said = ((text, figure, "yes" if holds else "no") for text, figure, holds in eager.claims(cases))
    return [*found, _table("what is claimed of W2 and W3", ("claim", "measured", "holds"), said)]


def _compiled(cases: dict[str, Any], names: list[str]) -> list[str]:
    """Write the tables of some cases; without names, that of what must hold."""
    every = compiled_tables.tables(cases)
    wanted = [t for t in every if t[0].partition(":")[0] in names] if names else every[-1:]
    return [_table(*table) for table in wanted]
