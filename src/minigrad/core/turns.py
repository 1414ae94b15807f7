"""One at a time, whatever happens; and free again in a forked process.

A lock that is taken at one line of Python and given back at another stays taken if an interrupt
comes at the wrong line. A `Context`, too, can be entered by one thread at a time, and it is C that
enters and leaves it, around a call. So in `Turns` it serves as the lock.

`os.fork()` copies the memory, and of the threads only the one that calls it. What the others held
would stay held in the child for ever, and what they were about to do, nobody does. So locks are
free there, all but those that the forking thread itself is inside of; and whoever remembers threads
asks `in_child` to be told that the others are gone.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections.abc import Callable
from contextvars import Context
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

PAUSE = 2e-4  # seconds between two looks whether it is our turn


_turns: weakref.WeakSet[Turns] = weakref.WeakSet()
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


class Turns:
    """Calls of which one runs at a time; others wait."""

    def __init__(self) -> None:
        self._context = Context()
        _turns.add(self)

    def run(self, inside: Callable[[], T], function: Callable[..., T], *arguments: Any) -> T:
        """Call a function when it is our turn; from the middle of our own turn, call `inside`.

        No context variable of the caller's is set in there; `copy_context().run` as the function,
        and the real one as its argument, keeps them.
        """
        while True:
            context = self._context
            try:
                return context.run(function, *arguments)
            except RuntimeError as error:
                if f"{context!r} is already entered" not in str(error):
                    raise
            if self._is_ours(sys._getframe(1)):
                return inside()
            time.sleep(PAUSE)

    def _is_ours(self, frame: FrameType | None) -> bool:
        """Tell whether a call was made in our own turn; not who holds it, but where we are."""
        while frame is not None:
            if frame.f_code is Turns.run.__code__ and frame.f_locals["self"] is self:
                return True
            frame = frame.f_back
        return False

    def renew(self) -> None:
        """Begin anew in a forked process, where whoever else had a turn is gone."""
        if not self._is_ours(sys._getframe()):
            self._context = Context()


# ---- forks ----------------------------------------------------------------------------------


def forked(lock: T) -> T:
    """Have a lock free in a forked process; return it."""
    _locks.add(lock)
    return lock


def in_child(function: Callable[[], None]) -> None:
    """Have a function called in every forked process."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _renew() -> None:
    for turns in list(_turns):
        turns.renew()
    for lock in list(_locks):
        if not getattr(lock, "_is_owned", bool)():  # an RLock knows whose it is
            lock._at_fork_reinit()


in_child(_renew)
