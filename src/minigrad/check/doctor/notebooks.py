"""A notebook as one Python text: its code cells, one below the other, without magics.

Lines stay lines: what Python cannot read because it is meant for the notebook (`%matplotlib`,
`!pip install`, `Value?`) becomes `pass`, so that a line of the text is a line of its cell. The
same is done to a .py file that was exported with such lines in it.

This runs in the sandbox: the text is a stranger's.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

# Cells of these magics are Python all the same; those of others (%%bash, %%html) are not.
_PYTHON = re.compile(r"%%(time|timeit|capture|prun|doctor|writefile\s+\S+\.py)\b")
_MAGIC = re.compile(r"\s*([%!?]|[\w., ]+=\s*[%!])|.*\?\s*$")


@dataclass(frozen=True, slots=True)
class Cells:
    """The text of a notebook, and where in it each code cell begins."""

    text: str
    starts: tuple[int, ...] = ()  # lines, from 1; none where the text is that of a plain file


def place_of(line: int, starts: tuple[int, ...]) -> str:
    """Say where a line is: in a notebook by its cell, code cells being counted from 1."""
    cell = bisect_right(starts, line)
    return f"cell {cell}, line {line - starts[cell - 1] + 1}" if cell else f"line {line}"


def is_notebook(name: str) -> bool:
    """Whether a file is a notebook, by its name."""
    return name.lower().endswith(".ipynb")


def read_notebook(content: bytes) -> Cells:
    """Join the code cells of a notebook; raise a ValueError if it is none."""
    try:
        sheet = json.loads(content)
        if "worksheets" in sheet:  # as they were written until 2014
            sheet = {"cells": [c for part in sheet["worksheets"] for c in part["cells"]]}
        cells = [_source(cell) for cell in sheet["cells"] if cell.get("cell_type") == "code"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("this is not a notebook, or a damaged one") from None
    lines: list[str] = []
    starts = []
    for cell in cells:
        starts.append(len(lines) + 1)
        lines += plain_python(cell).split("\n")
    return Cells("\n".join(lines) + "\n", tuple(starts))


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return (source if isinstance(source, str) else "".join(source)).replace("\r\n", "\n")


def plain_python(cell: str) -> str:
    """Replace what is meant for the notebook; where nothing helps, the cell is a comment."""
    lines = cell.split("\n")
    first = next((k for k, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if not _PYTHON.match(lines[first]):
            return _commented(lines)
        lines[first] = "pass"
    # One after the other: a line that begins with % may also go on with an expression.
    for _ in range(len(lines)):
        wrong = _wrong_line("\n".join(lines))
        if not wrong:
            return "\n".join(lines)
        magic = next((k for k in range(wrong - 1, -1, -1) if _MAGIC.match(lines[k])), None)
        if magic is None:
            break
        indent = lines[magic][: len(lines[magic]) - len(lines[magic].lstrip())]
        lines[magic] = f"{indent}pass"
    return "\n".join(lines) if not _wrong_line("\n".join(lines)) else _commented(lines)


def _wrong_line(text: str) -> int:
    """Return the line that Python stumbles over, 0 if none."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return min(max(error.lineno or 1, 1), text.count("\n") + 1)
    except (ValueError, MemoryError, RecursionError, SystemError):
        return 1
    return 0


def _commented(lines: list[str]) -> str:
    return "\n".join(f"# {line}" for line in lines)
