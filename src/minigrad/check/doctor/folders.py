"""Which file of a folder has the engine in it."""

from __future__ import annotations

import ast
import os
from pathlib import Path

from .dialect import BACKWARD, SPECIAL
from .loading import Loading
from .notebooks import is_notebook
from .reading import UnreadableError, parsed

MOST = 300  # files that are looked into
DEEPEST = 4  # folders within folders
PASSED_OVER = ("__pycache__", "build", "dist", "env", "node_modules", "site-packages", "venv")


def files_with_engines(folder: Path, loading: Loading, cls: str = "") -> list[Path]:
    """List the files with a class that has operators, most promising first."""
    found = []
    for path in _files(folder):
        try:
            tree = parsed(loading.read(path).text, str(path))
        except UnreadableError:
            continue
        best = max((_promise(n, cls) for n in ast.walk(tree) if isinstance(n, ast.ClassDef)),
                   default=(False, False, 0))  # fmt: skip
        loading.texts.pop(str(path), None)
        if best[2]:
            found.append((best, path))
    found.sort(key=lambda pair: (*pair[0], not is_notebook(pair[1].name), -len(pair[1].parts)))
    return [path for _, path in reversed(found)]


def _files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < DEEPEST and name not in PASSED_OVER and not name.startswith(".")
        )
        found += [
            Path(place, name) for name in sorted(names) if name.endswith(".py") or is_notebook(name)
        ]
        if len(found) >= MOST:
            break
    return found[:MOST]


def _promise(node: ast.ClassDef, cls: str) -> tuple[bool, bool, int]:
    """Return whether a class is the one, whether it has a pass, and how many operators it has."""
    names = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)}
    is_meant = node.name == (cls or "Value")
    return is_meant, bool(names & set(BACKWARD)), len(names & set(SPECIAL.values()))
