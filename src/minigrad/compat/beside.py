"""Modules beside a script: one that defines a `class Value` is loaded with minigrad's in its place.

Most people keep their engine in a file of its own, `engine.py`, and import it. While a script runs,
`Beside` is asked first about every import. It takes what lies in the script's folder and defines
such a class; all else is left to Python. Nothing is written: a file of bytecode would outlive the
run, and be found by the next one that is to run as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from .scripts import ScriptError, prepared

__all__ = ["Beside"]


class Beside(MetaPathFinder):
    """Finds the modules in a folder that define a `class Value`."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder.resolve(), say

    def has(self, module: str) -> bool:
        """Tell whether there is such a module or package in the folder."""
        return any((self._folder / name).exists() for name in (module, f"{module}.py"))

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module, or None for all that is not to be changed."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        file = Path(spec.origin)
        if not file.is_relative_to(self._folder) or "site-packages" in file.parts:
            return None
        source = file.read_bytes()
        if b"class Value" not in source:  # of most, nobody need read more
            return None
        shown = file.relative_to(self._folder)
        try:
            script = prepared(source, spec.origin, imports=False)
        except SyntaxError:  # which Python will tell
            return None
        except ScriptError as error:
            self._say(f"{shown}: {error} Now it runs as it is.")
            return None
        if not script.replaced:
            return None
        self._say(f"replaced {' and '.join(script.replaced)} of {shown} by minigrad's.")
        spec.loader = _Replaced(name, spec.origin, script.code)
        spec.cached = None
        return spec


class _Replaced(SourceFileLoader):
    """Runs code that was made already."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        """Return it; the file is not read again, and nothing is written beside it."""
        return self._code
