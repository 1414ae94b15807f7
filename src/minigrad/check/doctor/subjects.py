"""What somebody asks the doctor to examine: a file, a folder, a module, a class that lives here.

Files and modules go to the sandbox (`answers.examine_stranger`). A class of a session or a
notebook exists in this process alone, so it is asked here, with a limit on time where the system
has one; its source comes from the notebook's history.
"""

from __future__ import annotations

import contextlib
import inspect
import linecache
import os
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from .answering import answer, source_of
from .answers import (
    ASKING,
    LARGEST,
    Examination,
    TimeIsUpError,
    examine_stranger,
    heard_here,
    job_of,
)  # fmt: skip
from .finding import find
from .loading import NOTEBOOK
from .notebooks import Cells, is_notebook
from .passes import Named, NoEngineError
from .probes import PROBES, drawn

GIVE = "give the path of a .py file, a notebook or a folder"


def examine_named(subject: str, named: Mapping[str, str]) -> Examination:
    """Examine a file or a folder by its path, or an installed module by its name."""
    is_path = Path(subject).suffix.lower() in (".py", ".ipynb") or os.path.exists(subject)
    if not is_path:
        if not all(part.isidentifier() for part in subject.split(".")):
            return Examination(problem="this is neither a .py file nor the name of a module")
        return examine_stranger(subject, named)
    try:
        path = Path(subject).resolve()
        found = path.stat()
        problem = _why_not(found, path.name)
    except (FileNotFoundError, NotADirectoryError):
        problem = "there is no such file"
    except (OSError, RuntimeError, ValueError) as error:  # too long a path, a loop of links, …
        problem = f"the file cannot be found ({getattr(error, 'strerror', None) or error})"
    if problem:
        return Examination(problem=f"{problem}; {GIVE}")
    kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
    return examine_stranger(str(path), named, kind=kind)


def _why_not(found: os.stat_result, name: str) -> str:
    """Tell what is in the way of reading a file; it is not opened, which could take for ever."""
    if stat.S_ISDIR(found.st_mode):
        return ""
    if not stat.S_ISREG(found.st_mode):
        return "this is not an ordinary file, but a pipe, a device or the like"
    largest = LARGEST * (NOTEBOOK if is_notebook(name) else 1)
    if found.st_size > largest:
        return f"the file has {found.st_size:,} bytes, and {largest:,} are read at most"
    return ""


# ---- classes of this process --------------------------------------------------------------------


def examine_class(cls: type, named: Mapping[str, str], seconds: float = ASKING) -> Examination:
    """Examine a class: where a module has it, in the sandbox, else right here."""
    module = sys.modules.get(cls.__module__)
    in_module = getattr(module, cls.__name__, None) is cls
    file = getattr(module, "__file__", None) or ""
    if in_module and cls.__module__ != "__main__" and file:
        named = {**named, "cls": cls.__name__}
        if _is_installed(cls.__module__, file):
            return examine_stranger(cls.__module__, named)
        return examine_named(file, named)  # from beside a script or a notebook
    # In a session, a notebook, a script that runs now, or inside a function.
    home = module if in_module and module is not None else ModuleType(cls.__module__)
    setattr(home, cls.__name__, cls)
    seed = secrets.randbits(64)
    try:
        dialect = find(home, Named(**{**named, "cls": cls.__name__}))
    except NoEngineError as error:
        return Examination(problem=str(error))
    dialect.file, text = _source(cls)
    questions = [*PROBES, *drawn(seed)]

    def work(say: Callable[[str, Any], None]) -> None:
        say("source", source_of(Cells(text)))
        with _at_most(seconds):
            answer(dialect, job_of("text", named, seed), questions, say)

    return heard_here(work, seed)


def _is_installed(module: str, file: str) -> bool:
    """Whether a module is found by its name from anywhere, as this package is."""
    is_ours = module.partition(".")[0] == __name__.partition(".")[0]
    places = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return is_ours or bool(places) or not file.endswith(".py")


def _source(cls: type) -> tuple[str, str]:
    """Return the file, or the cell of a notebook, that a class was written in, and its text."""
    functions = [f for f in vars(cls).values() if inspect.isfunction(f)]
    for function in functions:
        name = function.__code__.co_filename
        text = "".join(linecache.getlines(name))
        if f"class {cls.__name__}" in text:
            return name, text
    return "", ""


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End what takes longer, in CPU time: in the main thread of a system that has such clocks."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def end(_: int, __: FrameType | None) -> None:
        raise TimeIsUpError

    before = signal.signal(signal.SIGPROF, end)
    # Again and again: the class may catch the first.
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
