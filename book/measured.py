"""`{measured}`: bars from what a bench has written down, with the date and the machine.

    ```{measured}
    compiled.json A
    minigrad, kernel
    C by hand
    PyTorch
    ```

The first line names a file of docs/ and a case in it, the others its rows, in the order in which
they are shown. The scale is logarithmic, and each bar has its number. Nobody types a figure.
"""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .pages import DOCS

SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
WIDTH, LABEL, BAR, GAP = 640.0, 190.0, 16.0, 8.0
NUMBER = 90.0  # px for the figure at the end of a bar
WORDS = {"en": "Logarithmic; measured", "es": "Logarítmico; medido el"}


def told(seconds: float) -> str:
    """Return a time with three digits, in a unit in which it is no fraction."""
    unit = next((u for u in ("s", "ms", "µs") if seconds >= SECONDS[u]), "ns")
    number = seconds / SECONDS[unit]
    return f"{number:,.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"


def rows_of(figures: dict[str, Any], case: str, names: list[str]) -> dict[str, float]:
    """Return the times of some rows, in seconds; a row that is not there is refused."""
    found = figures["cases"].get(case)
    if found is None:
        raise ValueError(f"there is no case {case!r}; there are {', '.join(figures['cases'])}.")
    unknown = [name for name in names if "min" not in found["rows"].get(name, {})]
    if unknown or not names:
        raise ValueError(f"no row {unknown}; there are {', '.join(found['rows'])}.")
    # Those of bench/eager.py are nanoseconds for each operation.
    scale = 1.0 if "unit" in found else SECONDS["ns"]
    return {name: found["rows"][name]["min"] * scale for name in names}


def svg(rows: dict[str, float], title: str) -> str:
    """Draw the bars."""
    least, most = min(rows.values()), max(rows.values())
    room = WIDTH - LABEL - NUMBER
    # The shortest bar has a tenth of the room: on such a scale there is no zero.
    span = math.log(most / least) or 1.0
    parts = []
    for k, (name, seconds) in enumerate(rows.items()):
        y = k * (BAR + GAP)
        wide = room * (0.1 + 0.9 * math.log(seconds / least) / span)
        own = "mg-bar-own" if name.startswith("minigrad") else "mg-bar-other"
        middle = y + BAR / 2
        parts.append(
            f'<text class="mg-label" x="{LABEL - 8:g}" y="{middle:g}" text-anchor="end" '
            f'dominant-baseline="central">{escape(name)}</text>'
            f'<rect class="{own}" x="{LABEL:g}" y="{y:g}" width="{wide:.1f}" height="{BAR:g}"/>'
            f'<text class="mg-label" x="{LABEL + wide + 6:.1f}" y="{middle:g}" '
            f'dominant-baseline="central">{told(seconds)}</text>'
        )
    height = len(rows) * (BAR + GAP)
    return (
        f'<svg class="mg-bars" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(title, quote=True)}" viewBox="0 -4 {WIDTH:g} {height + 4:g}">'
        f"{''.join(parts)}</svg>"
    )


def figure(text: str, folder: Path = DOCS, lang: str = "en") -> str:
    """Return the bars and what they are of."""
    head, *names = [line.strip() for line in text.splitlines() if line.strip()]
    file, _, case = head.partition(" ")
    path = folder / file
    if not path.is_file():
        raise ValueError(f"docs/ has no {file}; its benches say which files they write.")
    figures = json.loads(path.read_text(encoding="utf-8"))
    rows = rows_of(figures, case, names)
    what = figures["cases"][case]["what"]
    place = f"{figures['date']}, {figures['machine']}, Python {figures['python']}"
    said = escape(f"{what}. {WORDS[lang]} {place}.")
    return (
        f'<figure class="mg-figure">{svg(rows, what)}<figcaption class="mg-measured">{said}'
        "</figcaption></figure>"
    )


class Measured(SphinxDirective):
    """The directive; see the head of this module."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Draw it."""
        try:
            made = figure("\n".join(self.content), lang=self.config.language)
        except (ValueError, KeyError) as error:
            raise self.error(f"{{measured}}: {error}") from error
        return [nodes.raw("", made, format="html")]


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
