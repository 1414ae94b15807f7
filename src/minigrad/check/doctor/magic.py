"""`%%doctor` in a notebook: run the cell, and examine the class that it defines.

    %load_ext minigrad

    %%doctor                     (on top of the cell with the class)
    %%doctor Value --grad g --lang es

`%doctor Value`, on a line of its own, examines a class that is there already.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
from typing import Any, NoReturn

from . import diagnose
from .wording import LANGUAGES


class _Words(argparse.ArgumentParser):
    """Reads what stands behind the magic's name; a mistake is a sentence, not an exit."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"doctor: {message}")


def load(shell: Any) -> None:
    """Give the magic to a notebook's shell."""

    def doctor(line: str, cell: str | None = None) -> None:
        """Examine the class that this cell defines, or the one that the line names."""
        words = _words().parse_args(line.split())
        if cell is not None:
            # A line for the magic's own, so that lines are those that one sees.
            if not shell.run_cell(f"# %%doctor\n{cell}").success:
                return
            words.cls = words.cls or _last_class(cell, shell.user_ns)
        cls = shell.user_ns.get(words.cls)
        if not isinstance(cls, type):
            raise ValueError(f"doctor: there is no class {words.cls or 'in this cell'}".rstrip())
        report = diagnose(cls, data=words.data, grad=words.grad, backward=words.backward)
        print(report.text(words.lang))

    shell.register_magic_function(doctor, "line_cell", "doctor")


def _words() -> _Words:
    words = _Words(prog="doctor", add_help=False)
    words.add_argument("cls", nargs="?", default="")
    for name in ("data", "grad", "backward"):
        words.add_argument(f"--{name}", default="")
    words.add_argument("--lang", default="en", choices=LANGUAGES)
    return words


def _last_class(cell: str, names: dict[str, Any]) -> str:
    """Return the last class with operators that a cell defines or extends, or else the last."""
    found: list[str] = []
    with contextlib.suppress(SyntaxError):
        for node in ast.parse(cell).body:
            if isinstance(node, ast.ClassDef):
                found.append(node.name)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
                base = node.targets[0].value
                found += [base.id] if isinstance(base, ast.Name) else []
    classes = [name for name in found if isinstance(names.get(name), type)]
    able = [name for name in classes if {"__add__", "__mul__"} & set(dir(names[name]))]
    return (able or classes or [""])[-1]
