"""End what goes on for ever in somebody's code, after so much CPU time.

This runs in the sandbox, and in a session for a class that lives there.
"""

from __future__ import annotations

import contextlib
import dis
import signal
import sys
import threading
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

LINES = 100_000  # that may run where there is no clock
MOST_STRIKES = 10  # of the clock, in lines that are not the file's


class TooLongError(BaseException):
    """It does not come to an end; not an Exception, which the file may catch."""


def _has_clock() -> bool:
    """Whether a signal can end what runs here: a browser has none, nor other threads than one."""
    is_main = threading.current_thread() is threading.main_thread()
    return hasattr(signal, "setitimer") and is_main and sys.platform != "emscripten"


def line_of_loop(error: BaseException, file: str) -> int | None:
    """Return where a file was when it was ended: in its innermost loop, not in what that calls."""
    lines = []
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename == file:
            lines.append((_loops(code, at.tb_lasti), at.tb_lineno))
        at = at.tb_next
    looping = [line for loops, line in lines if loops] or [line for _, line in lines]
    return looping[-1] if looping else None


def _loops(code: CodeType, here: int) -> bool:
    """Whether an instruction is between a jump backward and where that goes to."""
    return any(
        "JUMP" in one.opname and isinstance(one.argval, int) and one.argval <= here <= one.offset
        for one in dis.get_instructions(code)
    )


@contextlib.contextmanager
def bounded(seconds: float, file: str) -> Iterator[None]:
    """Raise a TooLongError by a clock of CPU time, or where there is none by the file's lines.

    In a line of the file, that is: the interpreter may be collecting garbage just then, and
    what a finalizer raises goes nowhere. The clock strikes again, and in the end anywhere.
    """
    by_clock, before, lines, strikes = _has_clock(), sys.gettrace(), 0, 0

    def end(_: int, frame: FrameType | None) -> None:
        nonlocal strikes
        strikes += 1
        if frame is None or frame.f_code.co_filename == file or strikes > MOST_STRIKES:
            raise TooLongError

    def count(frame: FrameType, *_: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > LINES and frame.f_code.co_filename == file:
            raise TooLongError
        return count

    if by_clock:
        handler = signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
    else:
        sys.settrace(count)
    try:
        yield
    finally:
        if by_clock:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, handler)
        else:
            sys.settrace(before)
