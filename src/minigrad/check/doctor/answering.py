"""The doctor's task in the sandbox: the questions, and next to them a stranger's code.

It says, in this order: the text of the file, as it was before its code ran; how the class is spoken
to; what came out of each question, as raw numbers; the end. Whoever looks around here finds
questions, and neither the catalogue nor an answer.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import stat
import sys
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .dialect import Dialect, NoEngineError, find
from .lines import marks_of
from .run_probes import run_all
from .scripts import Probe


class UnreadableError(Exception):
    """The file is not one that could be run."""


def work(job: dict[str, Any], say: Callable[[str, Any], None]) -> None:
    """Load what the job names, and say what came out of its questions."""
    questions = [Probe.heard(asked) for asked in job["questions"]]
    path = Path(job["subject"]) if job["is_file"] else None
    try:
        content = b"" if path is None else _read(path, job["largest"])
        if path is not None:
            say("source", _source(content))
        module = importlib.import_module(job["subject"]) if path is None else _loaded(path, content)
        dialect = _found(module, job["class"])
        if path is not None and dialect.cls.__module__ == module.__name__:
            dialect.file = str(path)
        else:
            say("source", _source(_read_quietly(dialect.file, job["largest"])))
    except (NoEngineError, UnreadableError) as error:
        say("problem", str(error))
        return
    except BaseException as error:
        say("problem", _told(error))
        return
    say("class", _introduced(dialect))
    for question in questions:
        try:
            ((_, outcome),) = run_all(dialect, [question])
        except BaseException as error:
            outcome = {"error": type(error).__name__, "message": "", "line": None}
        say("outcome", outcome)
    say("end", True)


def _introduced(dialect: Dialect) -> dict[str, Any]:
    return {
        "words": dialect.words,
        "operations": sorted(dialect.operations),
        "operators": sorted(dialect.operators),
        "zero": dialect.zero,
        "documentation": dialect.documentation(),
        "has_closures": dialect.has_closures(),
    }


# ---- the file ---------------------------------------------------------------------------------


def _read(path: Path, largest: int) -> bytes:
    """Read an ordinary file; a pipe would be waited for, and a device has no end."""
    try:
        handle = os.open(
            path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        )
        with open(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UnreadableError("this is not an ordinary file; give the path of a .py file")
            content = stream.read(largest + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(
            f"the file cannot be read ({getattr(error, 'strerror', None) or error})"
        ) from None
    if len(content) > largest:
        raise UnreadableError(f"the file is too large; the doctor reads up to {largest:,} bytes")
    return content


def _read_quietly(path: str, largest: int) -> bytes:
    if not path.endswith(".py"):
        return b""
    try:
        return _read(Path(path), largest)
    except UnreadableError:
        return b""


def _source(content: bytes) -> dict[str, Any]:
    """Return the text, as Python reads it, and where things are in it; nothing if it cannot be."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        with io.TextIOWrapper(io.BytesIO(content), encoding) as stream:
            text = stream.read()
    except (SyntaxError, ValueError, LookupError):
        return {"text": "", "marks": {}}
    return {"text": text, "marks": marks_of(text)}


def _loaded(path: Path, content: bytes) -> ModuleType:
    """Run the file as it was read; in a package, as a part of that."""
    code = _compiled(content, path)
    sys.path.insert(0, str(path.parent))  # it may import its neighbours
    in_package = path.suffix == ".py" and (path.parent / "__init__.py").exists()
    if in_package:  # it may import its neighbours relatively, too
        top = path.parent
        while (top.parent / "__init__.py").exists():
            top = top.parent
        sys.path.insert(0, str(top.parent))
        whole = path.parent if path.stem == "__init__" else path.with_suffix("")
        return importlib.import_module(".".join(whole.relative_to(top.parent).parts))
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path.name} cannot be loaded as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    exec(code, module.__dict__)
    return module


def _compiled(content: bytes, path: Path) -> Any:
    try:
        return compile(content, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "the file"
        raise UnreadableError(f"{where} does not parse: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError, SystemError, OverflowError) as error:
        reason = str(error) or "it is nested too deeply"
        raise UnreadableError(f"the file does not parse: {reason}") from None


def _found(module: ModuleType, name: str) -> Dialect:
    """Find the class in a module or, where it is a package, in one of its modules."""
    try:
        return find(module, name)
    except NoEngineError:
        for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
            with contextlib.suppress(NoEngineError, ImportError):
                return find(importlib.import_module(f"{module.__name__}.{part.name}"), name)
        raise


def _told(error: BaseException) -> str:
    try:
        message = str(error)[:300]
    except BaseException:
        message = "…"
    if isinstance(error, SystemExit):
        return f"loading the file ends the process: sys.exit({message})"
    return f"loading the file fails: {type(error).__name__}: {message}"
