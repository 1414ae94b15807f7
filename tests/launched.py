"""A run of `minigrad launch` that a test can watch, and whose processes it can hit.

    with Launched(tmp_path, SCRIPT, "-n", "2") as run:
        run.wait_for("[1] ready")
        run.hit(1, signal.SIGKILL)
        assert run.end() == 137
    assert run.survivors() == []

Every script begins with a line that prints `pid …`, and with the modules that scripts need.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import minigrad

BOUND = 30  # seconds from a death to the end of the run; it is promised
START = 120  # seconds for a machine that is busy with other tests to get somewhere
HEAD = """
import os, signal, subprocess, sys, time
print("pid", os.getpid(), flush=True)
rank = int(os.environ["MINIGRAD_RANK"])
"""
SOURCE = str(Path(minigrad.__file__).parent.parent)


def environment(**more):
    """The environment of the tests, in which this minigrad is found, and JAX stays on the CPU."""
    known = {k: v for k, v in os.environ.items() if not k.startswith(("MINIGRAD_R", "XLA_"))}
    path = os.pathsep.join(filter(None, [SOURCE, known.get("PYTHONPATH")]))
    return {**known, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **more}


class Launched:
    """The launcher as a process of its own, with what it has printed so far."""

    def __init__(self, folder, script, *options, arguments=(), **variables):
        self.script = Path(folder) / "script.py"
        self.script.write_text(HEAD + script, encoding="utf-8")
        command = [*options, self.script, *arguments]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "minigrad", "launch", *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=environment(**variables),
        )
        self.lines, self.complaints = [], []
        pairs = [(self.process.stdout, self.lines), (self.process.stderr, self.complaints)]
        self.readers = [threading.Thread(target=self._read, args=pair) for pair in pairs]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid in self.pids():  # those of a test that has failed
            if is_alive(pid):
                os.kill(pid, 9)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def wait_for(self, text, times=1):
        """Wait until this many lines hold a text."""
        patience = time.monotonic() + START
        while sum(text in line for line in self.lines) < times:
            assert time.monotonic() < patience, f"no {text!r} in {self.told()}"
            assert self.process.poll() is None, f"ended before {text!r}: {self.told()}"
            time.sleep(0.02)

    def pids(self, word="pid"):
        """All processes that have said who they are, in the order in which they did."""
        found = (re.fullmatch(rf"\[\d+\] {word} (\d+)", line) for line in list(self.lines))
        return [int(match[1]) for match in found if match]

    def hit(self, rank, number):
        """Send a signal to the latest process of a rank."""
        found = (re.fullmatch(rf"\[{rank}\] pid (\d+)", line) for line in list(self.lines))
        os.kill([int(match[1]) for match in found if match][-1], number)

    def end(self, seconds=START):
        """Wait for the end, no longer than this; return the exit code."""
        code = self.process.wait(seconds)
        for reader in self.readers:
            reader.join(seconds)
        return code

    def survivors(self, word="pid"):
        return [pid for pid in self.pids(word) if is_alive(pid)]

    def told(self):
        """The sentences of the launcher itself."""
        return " ".join(line for line in self.complaints if not line.startswith("["))


def is_alive(pid):
    """Tell whether a process is there and not merely waiting to be buried."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    return state not in "ZX"


def gone(pids, seconds=BOUND):
    """Wait until none of these processes is left; tell whether that came true."""
    patience = time.monotonic() + seconds
    while any(map(is_alive, pids)):
        if time.monotonic() > patience:
            return False
        time.sleep(0.05)
    return True
