"""A stranger's code is run here: in a process of its own, with limits, in an empty folder.

The parent (`examine_stranger`) sends the job on the standard input and reads outcomes, one JSON
line each, from a file that only this code knows of. Each line carries a token that was read before
the stranger's code was loaded: what that code prints, writes or returns on its way out is not taken
for an outcome. If the process ends early, by itself or because it ran out of time or memory, what
had arrived by then is what there is, and the probe it was at is known.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import os
import pkgutil
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from .dialect import Dialect, NoEngineError, find
from .examine import Outcome, run_all
from .probes import PROBES

__all__ = ["Examination", "documentation_of", "examine_stranger", "main"]

SECONDS = 6.0
FORBIDDEN = frozenset(
    [
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
        "os.posix_spawn",
        "os.system",
        "subprocess.Popen",
    ]
)
MEMORY = 4 * 1024**3
LONGEST = 10_000_000  # bytes of answers
_BOOT = (
    "import sys, importlib; root, name = sys.argv[1:3]; sys.path.insert(0, root); "
    "importlib.import_module(name).main()"
)


@dataclass(slots=True)
class Examination:
    """What is known of a stranger: how to speak to it, and what came out."""

    words: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    documentation: str = ""  # of the class and its backward()
    file: str = ""  # that the class is in
    has_closures: bool = True  # whether nodes keep functions, or rules are somewhere else
    problem: str = ""  # why there is nothing, or not everything


# ---- the parent -------------------------------------------------------------------------------


def examine_stranger(subject: str, class_name: str = "", seconds: float = SECONDS) -> Examination:
    """Examine a file, by its path, or an installed module, by its name, in a child process."""
    token = secrets.token_hex(16)
    package = __name__.rpartition(".check")[0]
    root = Path(__file__).resolve().parents[1 + package.count(".") + 1]
    with tempfile.TemporaryDirectory(prefix="minigrad-doctor-") as folder:
        channel, empty = Path(folder, "channel"), Path(folder, "empty")
        empty.mkdir()
        stream = channel.open("wb+")  # held open: whatever becomes of the name, this is the file
        job = {"token": token, "channel": str(channel), "subject": subject, "class": class_name}
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _BOOT, str(root), __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=empty,
            start_new_session=True,  # so that whatever it starts ends with it
            env=_environment(folder),
        )
        in_time = True
        try:
            process.communicate(json.dumps(job).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            in_time = False
        finally:
            _end(process)
        with stream:
            stream.seek(0)
            lines = stream.read(LONGEST).split(b"\n")
    return _understood(lines, token, in_time, process.returncode)


def _environment(folder: str) -> dict[str, str]:
    kept = ("MINIGRAD_PURE", "SYSTEMROOT")  # Windows cannot start a program without the latter
    return {"PATH": "", "HOME": folder} | {k: os.environ[k] for k in kept if k in os.environ}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all that it started, again and again: a fork may be faster than we."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            for _ in range(1000):
                os.killpg(process.pid, signal.SIGKILL)
                process.poll()
                time.sleep(0.001)
    else:
        process.kill()
    process.wait()


def _understood(lines: list[bytes], token: str, in_time: bool, code: int | None) -> Examination:
    found = Examination()
    at = "loading the file"
    ended = False
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict) or message.pop("token", None) != token:
            continue
        at = message.get("at", at)
        found.problem = message.get("problem", found.problem)
        found.words = message.get("words", found.words)
        found.documentation = message.get("documentation", found.documentation)
        found.file = message.get("file", found.file)
        found.has_closures = message.get("has_closures", found.has_closures)
        found.outcomes |= message.get("outcomes", {})
        ended = ended or message.get("end", False)
    if not ended and not found.problem:
        if in_time:
            how = (
                f"was killed by signal {-code}" if code and code < 0 else f"ended with code {code}"
            )
            found.problem = f"the process {how} while {at}, before it could say anything"
        else:
            found.problem = f"it did not come to an end: time ran out while {at}"
    return found


# ---- the child -------------------------------------------------------------------------------


def main() -> None:
    """Run in the child process: do the job that the standard input describes."""
    job = json.loads(sys.stdin.read())
    probes, encode, leave = (
        tuple(PROBES),
        json.JSONEncoder().encode,
        os._exit,
    )  # before it can change
    _set_limits()
    sys.addaudithook(_forbid)
    channel = open(job["channel"], "a", encoding="utf-8")  # noqa: SIM115 - open to the end

    def say(**message: Any) -> None:
        channel.write(encode({"token": job["token"], **message}) + "\n")
        channel.flush()

    try:
        say(at="loading the file")
        dialect = _found(_load(job["subject"]), job["class"])
    except NoEngineError as error:
        say(problem=str(error), end=True)
        leave(0)
    except BaseException as error:
        say(problem=_told(error), end=True)
        leave(0)
    say(
        words=dialect.words,
        documentation=documentation_of(dialect),
        has_closures=dialect.has_closures(),
        file=str(getattr(sys.modules.get(dialect.cls.__module__), "__file__", "")),
    )
    for probe in probes:
        say(at=f"running “{probe.program.text()}”")
        try:
            say(outcomes=dict(run_all(dialect, [probe])))
        except BaseException as error:
            say(outcomes={probe.name: {"error": type(error).__name__, "message": "", "line": None}})
    say(end=True)
    leave(0)  # no farewell of the stranger's


def documentation_of(dialect: Dialect) -> str:
    """Return what the class and its backward() say of themselves."""
    name = dialect.words["backward"].partition("(")[0]
    things = (dialect.cls, getattr(dialect.cls, name, None))
    return " ".join(str(getattr(thing, "__doc__", None) or "") for thing in things)[:10_000]


def _set_limits() -> None:
    try:
        import resource
    except ImportError:  # no such limits on this system; time is limited all the same
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS) + 2, int(SECONDS) + 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST, LONGEST))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _forbid(event: str, _: Any) -> None:
    """Refuse other processes and the network: an engine needs neither. Such a hook is for ever."""
    if event in FORBIDDEN or event.startswith("socket."):
        raise PermissionError(f"{event} is not allowed while the doctor looks")


def _load(subject: str) -> ModuleType:
    path = Path(subject)
    if not path.is_absolute():
        return importlib.import_module(subject)
    sys.path.insert(0, str(path.parent))  # it may import its neighbours
    name = path.stem
    if (
        path.suffix == ".py" and (path.parent / "__init__.py").exists()
    ):  # and by relative imports, in a package
        top = path.parent
        while (top.parent / "__init__.py").exists():
            top = top.parent
        sys.path.insert(0, str(top.parent))
        return importlib.import_module(".".join(path.relative_to(top.parent).with_suffix("").parts))
    loader = SourceFileLoader(name, subject)  # whatever the file's name ends in
    spec = importlib.util.spec_from_file_location(name, subject, loader=loader)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} cannot be loaded as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


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
