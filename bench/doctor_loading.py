"""Get at the classes of somebody's file: a module, or a notebook. For `doctor_oracle.py`.

Only definitions are run, each by itself, so that what fails does not take the rest along. What is
not installed is replaced by something inert.
"""

from __future__ import annotations

import ast
import contextlib
import json
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

STATEMENT_SECONDS = 5.0  # of CPU for one statement of the file, such as an import
PROGRAM_SECONDS = 1.0  # for building a graph and running it backward


class TooLongError(Exception):
    """A statement or a program did not end."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TooLongError

    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)  # again: a bare except may swallow one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


# ---- modules that are not installed --------------------------------------------------------------


class _Absent(types.ModuleType):
    """Stands for a module that is not installed: whatever is asked of it is there, and inert."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __or__(self, other: Any) -> Any:  # in annotations
        return self

    __ror__ = __or__

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (object,)


class _AbsentFinder:
    """Asked last: what the stranger imports and nobody else finds is absent."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)

    def find_spec(self, name: str, *_: Any) -> Any:
        from importlib.machinery import ModuleSpec

        frame = sys._getframe(1)
        while frame.f_back and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if not frame.f_code.co_filename.startswith(self.root):
            return None  # a library that can do without it
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> Any:
        return _Absent(spec.name)

    def exec_module(self, _: Any) -> None:
        pass


def code_of(path: Path) -> list[str]:
    """Return the code of a module, or of each cell of a notebook."""
    text = path.read_text("utf-8", "replace")
    if path.suffix != ".ipynb":
        return [text]
    book = json.loads(text)
    cells = book.get("cells") or [c for w in book.get("worksheets", []) for c in w["cells"]]
    sources = [c.get("source", c.get("input", "")) for c in cells if c.get("cell_type") == "code"]
    return ["".join(source) for source in sources]


def statements_of(source: str) -> list[ast.stmt]:
    """Parse code, without a notebook's magics if it has any; there may be a SyntaxError."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError):
        if source.startswith("%%") and not source.startswith(("%%time", "%%capture")):
            return []  # another language, or a file
        return ast.parse("\n".join(map(_without_magic, source.splitlines()))).body


def _without_magic(line: str) -> str:
    bare = line.lstrip()
    return line[: len(line) - len(bare)] + "pass" if bare[:1] in ("%", "!", "?") else line


DEFINITIONS = (
    ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.Try,
    ast.If,
)  # fmt: skip


def load(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Run the definitions of a file; return its names, and what went wrong."""
    package, root = _package_of(path)
    sys.path[:0] = [str(root), str(path.parent)]
    sys.meta_path.append(_AbsentFinder(root))  # type: ignore[arg-type]
    module = types.ModuleType("stranger")
    module.__dict__.update(__file__=str(path), __package__=package, __name__="stranger")
    sys.modules["stranger"] = module
    problems = []
    for source in code_of(path):
        try:
            body = statements_of(source)
        except (SyntaxError, ValueError) as error:
            problems.append(f"{type(error).__name__}: {error}")
            continue
        for statement in body:
            if not isinstance(statement, DEFINITIONS) or _is_main(statement):
                continue
            tree = ast.Module([statement], type_ignores=[])
            try:
                with at_most(STATEMENT_SECONDS):
                    exec(compile(tree, str(path), "exec"), module.__dict__)
            except BaseException as error:
                problems.append(f"{type(error).__name__}: {error}"[:200])
    return module.__dict__, problems


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _package_of(path: Path) -> tuple[str, Path]:
    """Return the package that a module is in, and the folder above it."""
    names, folder = [path.parent.name], path.parent
    while (folder / "__init__.py").exists() and folder.parent != folder:
        folder = folder.parent
        names.insert(0, folder.name)
    if len(names) > 1:
        return ".".join(names[1:]), folder
    return path.parent.name, path.parent.parent
