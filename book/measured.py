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

from bench.prose import in_language, said

from .pages import DOCS

SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
SHORTEST = 8.0  # % of the width: on a logarithmic scale there is no zero
LONGEST = 72.0  # the rest is for the number
WORDS = {"en": "Logarithmic; measured", "es": "Logarítmico; medido el"}
# What the benches call things, where it is no name.
SPANISH = {
    "minigrad, kernel": "minigrad, el programa",
    "minigrad, whole call": "minigrad, la llamada",
    "minigrad, two cores": "minigrad, dos núcleos",
    "minigrad native": "minigrad nativo",
    "minigrad pure": "minigrad puro",
    "minigrad eager": "minigrad, sin compilar",
    "C by hand": "C a mano",
    "numba by hand": "numba a mano",
    "NumPy by hand": "NumPy a mano",
    "plain floats, forward only": "floats, solo hacia delante",
    "microgpt-style Value": "Value como el de microgpt",
    "classic Value": "Value clásico",
    "PyTorch scalars": "PyTorch, escalares",
    "micrograd's demo: 100 points, 2-16-16-1, 337 gradients":
        "La demo de micrograd: 100 puntos, 2-16-16-1, 337 gradientes",
    "a GPT, 8 tokens, 4,192 gradients": "Un GPT, 8 letras, 4.192 gradientes",
    "micrograd's MLP, 100 points": "El MLP de micrograd, 100 puntos",
    "Black-Scholes and five derivatives, a million options, per option":
        "Black-Scholes y cinco derivadas, un millón de opciones, por opción",
}  # fmt: skip


def told(seconds: float, lang: str = "en") -> str:
    """Return a time with three digits, in a unit in which it is no fraction."""
    unit = next((u for u in ("s", "ms", "µs") if seconds >= SECONDS[u]), "ns")
    return f"{said(seconds / SECONDS[unit], lang)} {unit}"


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


def bars(rows: dict[str, float], lang: str = "en") -> str:
    """Draw the bars, as text with boxes: they fit a phone, and can be read without seeing them."""
    least, most = min(rows.values()), max(rows.values())
    span = math.log(most / least) or 1.0
    parts = []
    for name, seconds in rows.items():
        wide = SHORTEST + (LONGEST - SHORTEST) * math.log(seconds / least) / span
        own = " mg-own" if name.startswith("minigrad") else ""
        parts.append(
            f'<li class="mg-row{own}"><span class="mg-name">{escape(in_words(name, lang))}</span> '
            f'<span class="mg-length"><span class="mg-block" style="width:{wide:.1f}%"></span>'
            f"<span>{told(seconds, lang)}</span></span></li>"
        )
    return f'<ul class="mg-bars">{"".join(parts)}</ul>'


def in_words(name: str, lang: str) -> str:
    """Return what a bench calls something in a language."""
    return SPANISH.get(name, name) if lang == "es" else name


def figure(text: str, folder: Path = DOCS, lang: str = "en") -> str:
    """Return the bars and what they are of."""
    head, *names = [line.strip() for line in text.splitlines() if line.strip()]
    file, _, case = head.partition(" ")
    path = folder / file
    if not path.is_file():
        raise ValueError(f"docs/ has no {file}; its benches say which files they write.")
    figures = json.loads(path.read_text(encoding="utf-8"))
    rows = rows_of(figures, case, names)
    what = in_words(figures["cases"][case]["what"], lang)
    machine = in_language(figures["machine"], lang)
    caption = f"{what}. {WORDS[lang]} {figures['date']}, {machine}, Python {figures['python']}."
    return (
        f'<figure class="mg-figure">{bars(rows, lang)}<figcaption class="mg-measured">'
        f"{escape(caption)}</figcaption></figure>"
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
