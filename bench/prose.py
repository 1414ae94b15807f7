"""Figures in a text: each has beside it, in a comment, what it was measured as.

    The kernel takes <!-- =compiled A: minigrad, kernel; µs -->9.25<!-- = --> µs, micrograd
    <!-- =compiled A: micrograd / minigrad, kernel -->12,500<!-- = --> times that.

A comment names a file of docs/ (compiled is compiled.json), a case in it and a row, or two for
their ratio; then, if need be, which number of the row it is, in brackets, and its unit. Without a
case it names a fact: `=compiled date`. `filled` writes all of them anew; nobody types one. No line
begins with a figure, because a comment there is a block of its own in Markdown.
"""

from __future__ import annotations

import math
import re
from typing import Any

_FIGURE = re.compile(r"(<!-- =(.+?) -->)(.*?)(<!-- = -->)", re.DOTALL)
_PLACE = re.compile(r"(\S+) (.+?): (.+?)(?: / (.+?))?(?: \[(.+)\])?(?:; (\S+))?")
UNITS = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0, "million": 1e-6}
DIGITS = 3  # another run has another third one


def filled(text: str, files: dict[str, Any], lang: str = "en") -> str:
    """Return a text with its figures as they are in the files, by their names without .json."""

    def fill(match: re.Match[str]) -> str:
        try:
            return match[1] + _figure(match[2], files, lang) + match[4]
        except (KeyError, ValueError) as error:
            raise ValueError(f"no figure for <!-- ={match[2]} -->: {error}") from error

    if found := re.search(r"^ *<!-- =.*", text, re.MULTILINE):
        raise ValueError(f"begin the line with a word: {found[0]}")
    return _FIGURE.sub(fill, text)


def without_figures(text: str) -> str:
    """Return a text without the figures that `filled` writes."""
    return _FIGURE.sub("", text)


def _figure(place: str, files: dict[str, Any], lang: str) -> str:
    parts = _PLACE.fullmatch(place)
    if parts is None:
        name, _, fact = place.partition(" ")
        return in_language(str(files[name][fact]), lang)
    name, case, row, other, key, unit = parts.groups()
    number = number_of(files[name], case, row, key or "min")
    if other:
        number /= number_of(files[name], case, other, key or "min")
    return said(number * UNITS[unit] if unit else number, lang)


def number_of(figures: dict[str, Any], case: str, row: str, key: str = "min") -> Any:
    """Return what was measured, in seconds if it is a time."""
    found = figures["cases"][case]
    rows = found["rows"]
    if isinstance(rows, list):  # of a growing size
        rows = {"smallest": rows[0], "largest": rows[-1]}
    if "missing" in rows[row]:
        raise ValueError(f"{case}: {row} was not measured: {rows[row]['missing']}")
    number = rows[row][key]
    is_eager = "operations" in found and key in ("min", "median")
    return number / UNITS["ns"] if is_eager else number


MACHINES = {
    "a virtual machine with two x86-64 cores": "una máquina virtual con dos núcleos x86-64",
    " cores": " núcleos",
}


def said(number: float, lang: str = "en") -> str:
    """Return a count as it is, and what was measured with as many digits as mean something."""
    if isinstance(number, int) or not number:
        text = f"{number:,}"
    else:
        after = DIGITS - 1 - math.floor(math.log10(abs(number)))
        text = f"{round(number, after):,.{max(after, 0)}f}"
    return text.translate(str.maketrans(".,", ",.")) if lang == "es" else text


def in_language(machine: str, lang: str) -> str:
    """Return what bench/setting.py says of a machine; the rest are names."""
    for english, spanish in MACHINES.items() if lang == "es" else ():
        machine = machine.replace(english, spanish)
    return machine
