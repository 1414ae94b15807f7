"""A stranger's code is run in a process of its own, with limits, in an empty folder: started here.

What runs inside is an argument: a task, the function `work` of a module. `inside.py` sets the
limits around it; the doctor's task is `answering.py`, that of the labs `lab/measuring.py`. A task
hears a job and says what came out; nothing that it says is a verdict. If the process ends early, by
itself or because it ran out of time or memory, what had arrived by then is what there is.

Here, in the parent, no file of the stranger's is opened and no text of theirs is parsed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LONGEST = 10_000_000  # bytes of answers, and of any file that the stranger writes
BUSY = 5.0  # times as long as its CPU time a process may take by the clock
# How a process ends that has used up its CPU time, politely or not.
OUT_OF_TIME = [getattr(signal, name, None) for name in ("SIGXCPU", "SIGKILL")]
FOLDER = Path(__file__).resolve().parent
# The modules of this folder and of the task's under a name of their own: loading them must not
# load the package that they belong to, because that has a right engine in it.
_BOOT = """
import importlib, sys, types
root, task, *folders = sys.argv[1:]
package = types.ModuleType("minigrad_sandbox")
package.__path__ = folders
sys.modules["minigrad_sandbox"] = package
if root not in sys.path:  # last: somebody's own package may have this one's name
    sys.path.append(root)
importlib.import_module("minigrad_sandbox.inside").main(task)
"""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a process said, and how it ended."""

    said: bytes
    in_time: bool
    code: int  # with which it ended; below 0, the signal that killed it

    @property
    def is_too_much(self) -> bool:
        """Whether it was ended because it would not stop talking."""
        return len(self.said) > LONGEST


def run_apart(task: Path, job: dict[str, Any], seconds: float, memory: int, who: str) -> Heard:
    """Run `work(job, say)` of the module `task` in a process of its own.

    It has this many seconds of CPU time, several times as many by the clock (the machine may be
    busy), this many bytes of memory, and neither a network nor processes of its own: `who` looks
    is told where it tries. If no process can be started there is an OSError.
    """
    limits = {
        "seconds": max(math.ceil(seconds), 1), "longest": LONGEST, "memory": memory, "who": who,
    }  # fmt: skip
    with _empty_folder() as folder, tempfile.TemporaryFile() as asked:
        asked.write(json.dumps({"job": job, "limits": limits}).encode())
        asked.seek(0)
        return _run(task, folder, asked, BUSY * seconds + 10.0)


def _run(task: Path, folder: Path, asked: IO[bytes], seconds: float) -> Heard:
    package = __name__.rpartition(".check")[0]
    root = FOLDER.parents[package.count(".") + 2]
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        # Without bytecode: nothing is left beside the stranger's files.
        [sys.executable, "-I", "-B", "-c", _BOOT, root, task.stem, FOLDER, task.resolve().parent],
        stdin=asked,
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
        code = process.poll()  # None where it has to be ended
        _end(process)
        listener.join(1.0)
    in_time = in_time and (code is None or -code not in OUT_OF_TIME)
    return Heard(bytes(heard), in_time, process.returncode)


def _listen(stream: IO[bytes], heard: bytearray) -> None:
    """Read until nobody is left who could say something, or until it is too much."""
    with stream:
        while len(heard) <= LONGEST and (part := stream.read(65_536)):
            heard += part


def _environment(folder: Path) -> dict[str, str]:
    kept = ("MINIGRAD_PURE", "SYSTEMROOT")  # Windows cannot start a program without the latter
    # Scalars need no threads, and threads that wait for work use up CPU time.
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    given = {k: os.environ[k] for k in kept if k in os.environ}
    own = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), str(folder))
    return {"PATH": ""} | own | alone | given


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
    folder = Path(tempfile.mkdtemp(prefix="minigrad-sandbox-"))
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
