"""A stranger's code is run in a process of its own, with limits, in an empty folder: started here.

The child (`inside.py`) hears the questions and says what came out; it has no answers, and nothing
that it says is a verdict. If it ends early, by itself or because it ran out of time or memory, what
had arrived by then is what there is, and the probe it was at is known.

Here, in the parent, no file of the stranger's is opened and no text of theirs is parsed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .answers import Examination, understand
from .probes import PROBES, drawn

__all__ = ["LARGEST", "Examination", "examine_stranger"]

SECONDS = 6.0
LARGEST = 1_000_000  # bytes of a file
LONGEST = 10_000_000  # bytes of answers, and of any file that the stranger writes
# The modules of this folder under a name of their own: loading them must not load the package that
# they belong to, because that has a right engine in it.
_BOOT = """
import importlib, sys, types
folder, root = sys.argv[1:3]
package = types.ModuleType("minigrad_doctor")
package.__path__ = [folder]
sys.modules["minigrad_doctor"] = package
sys.path.insert(0, root)
importlib.import_module("minigrad_doctor.inside").main()
"""


def examine_stranger(
    subject: str, class_name: str = "", seconds: float = SECONDS, seed: int | None = None
) -> Examination:
    """Examine a file, by its whole path, or an installed module, by its name, in a child process.

    Numbers are drawn from the seed; without one, nobody can know them before.
    """
    seed = secrets.randbits(64) if seed is None else seed
    others = drawn(seed)
    job = {
        "subject": subject,
        "is_file": Path(subject).is_absolute(),
        "class": class_name,
        "questions": [probe.asked() for probe in [*PROBES, *others]],
        "seconds": int(seconds) + 2,
        "largest": LARGEST,
        "longest": LONGEST,
    }
    try:
        with _empty_folder() as folder, tempfile.TemporaryFile() as questions:
            questions.write(json.dumps(job).encode())
            questions.seek(0)
            heard, how = _run(folder, questions, seconds)
    except OSError as error:
        return Examination(problem=f"no process can be started for it ({error.strerror or error})")
    found, at = understand(heard, seed, [*PROBES], [*others])
    if at:
        found.problem = how.format(at=at)
    return found


def _run(folder: Path, questions: IO[bytes], seconds: float) -> tuple[bytes, str]:
    """Return what the child said, and how it ended: for the case that it did not say all."""
    package = __name__.rpartition(".check")[0]
    root = Path(__file__).resolve().parents[1 + package.count(".") + 1]
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        # Without bytecode: nothing is left beside the stranger's files.
        [sys.executable, "-I", "-B", "-c", _BOOT, str(Path(__file__).parent.resolve()), str(root)],
        stdin=questions,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,  # so that whatever it starts ends with it
        env=_environment(folder),
        bufsize=0,
    )
    heard = bytearray()
    listener = threading.Thread(target=_listen, args=(process.stdout, heard), daemon=True)
    in_time = True
    try:
        listener.start()
        listener.join(seconds)
        if len(heard) <= LONGEST:
            process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        in_time = False
    finally:
        _end(process)
        listener.join(1.0)
    if len(heard) > LONGEST:
        return bytes(heard), "it says too much while {at}"
    code = process.returncode
    if not in_time:
        return bytes(heard), "it did not come to an end: time ran out while {at}"
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return bytes(heard), f"the process {how} while {{at}}, before it could say anything"


def _listen(stream: IO[bytes], heard: bytearray) -> None:
    """Read until nobody is left who could say something, or until it is too much."""
    with stream:
        while len(heard) <= LONGEST and (part := stream.read(65_536)):
            heard += part


def _environment(folder: Path) -> dict[str, str]:
    kept = ("MINIGRAD_PURE", "SYSTEMROOT")  # Windows cannot start a program without the latter
    return {"PATH": "", "HOME": str(folder)} | {k: os.environ[k] for k in kept if k in os.environ}


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


@contextlib.contextmanager
def _empty_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="minigrad-doctor-"))
    made = folder.lstat()
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            if os.path.samestat(folder.lstat(), made):
                _remove(folder)
            elif folder.is_symlink():  # put there instead of the folder: what it names is not ours
                folder.unlink()


def _remove(folder: Path) -> None:
    """Remove a folder and all in it, however deep: whatever is a folder is moved up first.

    So there is neither a path that is too long nor a call within a call. What cannot be removed
    stays.
    """
    folder.chmod(0o700)
    upper = Path(tempfile.mkdtemp(dir=folder))
    waiting, moved = [folder], 0
    while waiting:
        place = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in list(entries):
                path = Path(entry.path)
                with contextlib.suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        path.unlink()
                    elif path != upper:
                        path.chmod(0o700)  # a folder that moves is written to
                        waiting.append(path.rename(upper / str(moved)))
                        moved += 1
        if place != folder:
            with contextlib.suppress(OSError):
                place.rmdir()
    upper.rmdir()
    folder.rmdir()
