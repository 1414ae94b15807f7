"""Several processes of one script that live and die together: what `minigrad launch` does.

Each worker is a process group of its own, its output comes through pipes, line by line with its
rank in front, and a thread waits for its end. All that happens arrives in one queue (`_Event`), and
the main thread alone decides. When a worker ends badly, or a signal comes, all others are ended: by
SIGTERM, and by SIGKILL after `GRACE`. No worker outlives the supervisor, not even if that is killed
itself (worker.py, which also tells how a script left).

Start at `Supervisor.run`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from ..core.terminal import put

GRACE = 5.0  # seconds from SIGTERM to SIGKILL; a checkpoint in writing is complete or undone
CONSEQUENCES = 0.3  # seconds in which others follow a worker that has ended badly
LAST_WORDS = 1.0  # seconds for output that is still in a pipe, should a stranger hold it open
LONGEST_LINE = 1 << 16  # characters; a longer one is shown in pieces
ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]

_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker has ended: with this code, or below 0 by this signal."""

    rank: int
    code: int
    seconds: float

    @property
    def exit_code(self) -> int:
        """The code with which a shell would report it."""
        return self.code if self.code >= 0 else 128 - self.code

    def __str__(self) -> str:
        how = f"ended with code {self.code}"
        if self.code < 0:
            how = f"was killed by {signal_name(-self.code)}"
        return f"rank {self.rank} {how} after {self.seconds:.1f} s"


@dataclass(frozen=True, slots=True)
class Signalled:
    """The supervisor itself was told to end."""

    number: int


@dataclass(frozen=True, slots=True)
class OutputClosed:
    """Nobody reads what the workers print any more."""

    error: OSError


_Event = Ended | Signalled | OutputClosed


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run went: what ended it early, if anything did, and who had to be ended with it."""

    cause: _Event | None  # None: every worker ended with code 0
    ended: tuple[int, ...] = ()  # ranks that still ran
    stopped: tuple[int, ...] = ()  # those of them that were stopped, as by SIGSTOP


def signal_name(number: int) -> str:
    """Return SIGKILL for 9, and "signal 99" for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _ignored() -> list[int]:
    """Return the hang-up under nohup; but Ctrl-C counts even where a shell script ignores it."""
    hangup = getattr(signal, "SIGHUP", None)
    return [hangup] if hangup and signal.getsignal(hangup) == signal.SIG_IGN else []


class Supervisor:
    """Runs a script once for each rank, several times if asked; a signal ends whatever runs."""

    def __init__(self, command: Sequence[str]) -> None:
        self.signalled: Signalled | None = None
        self._command = command
        # A signal handler may put into this kind of queue, whatever it interrupts.
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()

    @contextlib.contextmanager
    def catching_signals(self) -> Iterator[None]:
        """Have signals that would end this process end its workers first."""
        heard = [number for number in ENDING if number not in _ignored()]
        previous = {number: signal.signal(number, self._hear) for number in heard}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def run(self, environments: Mapping[int, Mapping[str, str]]) -> Outcome:
        """Start a worker for each rank, wait until all have ended, and tell why."""
        workers: dict[int, _Worker] = {}
        printing = threading.Lock()
        try:
            for rank, environment in environments.items():
                if self.signalled is None:
                    worker = _Worker(rank, self._command, environment, self._events, printing)
                    workers[rank] = worker
            return self._watch(workers)
        finally:
            self._end(workers.values())
            while not self._events.empty():  # ends that we caused ourselves
                self._events.get()

    def _hear(self, number: int, _: object) -> None:
        self.signalled = Signalled(number)
        self._events.put(self.signalled)

    def _watch(self, workers: Mapping[int, _Worker]) -> Outcome:
        running = set(workers)
        cause: _Event | None = self.signalled
        while running and cause is None:
            event = self._events.get()
            if isinstance(event, Ended):
                running.discard(event.rank)
                cause = self._first_cause(event, running) if event.code else None
            else:
                cause = event
        if cause is None:
            return Outcome(None)
        stopped = [rank for rank in sorted(running) if workers[rank].is_stopped()]
        return Outcome(cause, tuple(sorted(running)), tuple(stopped))

    def _first_cause(self, ended: Ended, running: set[int]) -> Ended:
        """Tell which of the workers that end now is to blame.

        The others of a run end when they lose one, with code 1 or by SIGABRT, and may be heard
        first.
        """
        found, patience = [ended], time.monotonic() + CONSEQUENCES
        while len(found) <= len(running) and (left := patience - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=left)
            except queue.Empty:
                break
            if not isinstance(event, Ended):
                self._events.put(event)
                break
            if event.code:  # it counts as ended with the others
                found.append(event)
            else:
                running.discard(event.rank)
        cause = min(found, key=lambda each: each.code in (1, -signal.SIGABRT))
        running.update(each.rank for each in found)
        running.discard(cause.rank)
        return cause

    def _end(self, workers: Collection[_Worker]) -> None:
        """End what still runs; a second signal from outside shortens the grace."""
        before = self.signalled
        for worker in workers:
            worker.send(signal.SIGTERM)
            worker.send(signal.SIGCONT)  # one that is stopped hears nothing else
        patience = time.monotonic() + GRACE
        while any(worker.is_running for worker in workers):
            if time.monotonic() > patience or self.signalled is not before:
                break
            with contextlib.suppress(queue.Empty):
                self._events.get(timeout=0.1)
        for worker in workers:
            worker.send(signal.SIGKILL)
        for worker in workers:
            worker.join()


class _Worker:
    """A process of the script, with the threads that hear what it prints and when it ends."""

    def __init__(
        self,
        rank: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        events: queue.SimpleQueue[_Event],
        printing: threading.Lock,
    ) -> None:
        self._rank, self._events, self._printing = rank, events, printing
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, str(_WORKER), str(os.getpid()), *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # a group that can be ended with all that the script starts
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        streams = [(self._process.stdout, sys.stdout), (self._process.stderr, sys.stderr)]
        self._readers = [
            threading.Thread(target=self._pass_on, args=pair, daemon=True) for pair in streams
        ]
        self._waiter = threading.Thread(target=self._wait, daemon=True)
        for thread in (*self._readers, self._waiter):
            thread.start()

    @property
    def is_running(self) -> bool:
        return self._waiter.is_alive()

    def is_stopped(self) -> bool:
        """Tell whether the process exists but does not run, as after SIGSTOP."""
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            return False
        look = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        with contextlib.suppress(ChildProcessError):
            return os.waitid(os.P_PID, self._process.pid, look) is not None
        return False

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and to all that it has started."""
        if self.is_running:
            self._send_to_group(number)

    def join(self) -> None:
        """Wait for an end that is certain, and print what was said before it."""
        self._waiter.join()
        patience = time.monotonic() + LAST_WORDS
        for reader in self._readers:
            reader.join(max(0.0, patience - time.monotonic()))

    def _send_to_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in it
            os.killpg(self._process.pid, number)

    def _wait(self) -> None:
        code = self._process.wait()
        self._send_to_group(signal.SIGKILL)  # what it has started and left behind
        self._events.put(Ended(self._rank, code, time.monotonic() - self._begun))

    def _pass_on(self, source: IO[str], sink: TextIO) -> None:
        """Print line after line; a progress bar that returns to its beginning makes lines, too."""
        is_heard = True
        for line in iter(lambda: source.readline(LONGEST_LINE), ""):
            if not is_heard:
                continue  # to its end all the same, or the worker would wait for a reader
            try:
                with self._printing:
                    put(f"[{self._rank}] {line.rstrip(chr(10)).expandtabs()}", file=sink)
            except OSError as error:
                is_heard = False
                self._events.put(OutputClosed(error))
