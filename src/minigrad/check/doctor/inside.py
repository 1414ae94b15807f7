"""What runs inside the sandbox: limits, a way to speak to the parent, and within them a task.

`sandbox.py` starts it in an empty folder, with the job on the standard input. What a task says
goes to the standard output, which the stranger's code does not find in its place: one JSON line
each.

Nothing here knows what is right, and minigrad itself is not loaded. So whatever the stranger's code
does to this process, it has to say right numbers to pass, and the parent is who finds that they
are.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

FORBIDDEN = (
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn", "os.spawn",
    "os.startfile", "os.system", "pty.spawn", "socket.", "subprocess.Popen",
    "_winapi.CreateProcess",
)  # fmt: skip
# What changes files: the places of the paths among what a hook is told, and of the folders, as file
# descriptors, that these are relative to.
CHANGES = {
    "os.chmod": ((0,), (2,)), "os.chown": ((0,), (3,)), "os.link": ((0, 1), (2, 3)),
    "os.mkdir": ((0,), (2,)), "os.remove": ((0,), (1,)), "os.rename": ((0, 1), (2, 3)),
    "os.removexattr": ((0,), ()), "os.rmdir": ((0,), (1,)), "os.setxattr": ((0,), ()),
    "os.symlink": ((1,), (2,)), "os.truncate": ((0,), ()), "os.utime": ((0,), (3,)),
    "sqlite3.connect": ((0,), ()),
}  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main(task: str) -> None:
    """Do the job that the standard input describes."""
    asked = json.loads(sys.stdin.buffer.read())
    limits = asked["limits"]
    del sys.argv[1:]  # the file was given no arguments
    work = importlib.import_module(f"{__package__}.{task}").work
    leave = os._exit  # before it can change
    say = _speaker()
    _set_limits(limits["seconds"], limits["longest"], limits["memory"])
    _forbid(limits["who"])
    work(asked["job"], say)
    leave(0)  # no farewell of the stranger's


def _speaker() -> Callable[[str, Any], None]:
    """Keep the way to the parent, and put nothing in its place: prints go nowhere."""
    channel, nowhere = os.dup(1), os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    encode, write = json.JSONEncoder().encode, os.write

    def say(kind: str, what: Any) -> None:
        line = encode({kind: what}).encode() + b"\n"
        while line:
            line = line[write(channel, line) :]

    return say


def _set_limits(seconds: int, longest: int, memory: int) -> None:
    try:
        import resource
    except ImportError:  # no such limits on this system; time is limited all the same
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest, longest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _forbid(who: str) -> None:
    """Refuse other processes, the network, and changes of files elsewhere. This is for ever."""
    forbidden, is_elsewhere = FORBIDDEN, _elsewhere(os.getcwd())

    def refuse(event: str, told: tuple[Any, ...] = ()) -> None:
        if event.startswith(forbidden):
            raise PermissionError(f"{event} is not allowed while {who} looks")
        if is_elsewhere(event, told):
            what = "writing a file" if event == "open" else event
            raise PermissionError(f"{what} elsewhere is not allowed while {who} looks: {told[0]!r}")

    sys.addaudithook(refuse)
    with contextlib.suppress(ImportError):  # which multiprocessing calls, unnoticed by hooks
        import _posixsubprocess

        def fork_exec(*_: Any) -> None:
            refuse("subprocess.Popen")

        _posixsubprocess.fork_exec = fork_exec  # type: ignore[assignment]


def _elsewhere(folder: str) -> Callable[[str, tuple[Any, ...]], bool]:
    """Make what tells whether an event would change a file that is not in this folder."""
    changes, writing, exact = CHANGES, WRITING, os.path.realpath
    own, nowhere = exact(folder), exact(os.devnull)

    def is_own(path: Any, at: Any) -> bool:
        if isinstance(path, int):
            return True  # it was asked when that was opened
        text = os.fsdecode(path)
        if text.startswith("file:"):  # of a database, by an address
            return False
        if isinstance(at, int) and at >= 0:
            text = os.path.join(exact(f"/proc/self/fd/{at}"), text)
        place = exact(text)
        return place in (own, nowhere) or place.startswith(own + os.sep)

    def is_elsewhere(event: str, told: tuple[Any, ...]) -> bool:
        if event == "open":
            return bool(told[2] & writing) and not is_own(told[0], -1)
        if event not in changes:
            return False
        paths, folders = changes[event]
        ats = [told[place] for place in folders] or [-1] * len(paths)
        return not all(map(is_own, (told[place] for place in paths), ats))

    return is_elsewhere
