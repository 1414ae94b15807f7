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
import threading
import time
import weakref
from collections.abc import Callable
from contextvars import Context, copy_context
from types import FrameType
from typing import Any, TypeVar

__all__ = ["PAUSE", "Turns", "forked", "in_child", "unforked"]

T = TypeVar("T")

PAUSE = 2e-4  # seconds between two looks whether it is our turn
_PATIENCE = 10.0  # seconds that a fork waits: its thread may itself be what somebody waits for


class Turns:
    """Calls of which one runs at a time; others wait."""

    def __init__(self) -> None:
        self._renew()
        in_child(self._renew)

    def run(self, inside: Callable[[], T], function: Callable[..., T], *arguments: Any) -> T:
        """Call a function when it is our turn; from the middle of our own turn, call `inside`.

        No context variable of the caller's is set in there.
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

    def run_here(self, inside: Callable[[], T], function: Callable[..., T], *arguments: Any) -> T:
        """The same with all context variables as they are; what is set in there stays there."""
        run: Callable[..., T] = copy_context().run
        return self.run(inside, run, function, *arguments)

    def _is_ours(self, frame: FrameType | None) -> bool:
        """Tell whether a call was made in our own turn; not who holds it, but where we are."""
        while frame is not None:
            if frame.f_code is Turns.run.__code__ and frame.f_locals["self"] is self:
                return True
            frame = frame.f_back
        return False

    def _renew(self) -> None:
        """Begin; or begin anew in a forked process, where whoever else had a turn is gone."""
        if not self._is_ours(sys._getframe()):
            self._context = Context()


# ---- forks ----------------------------------------------------------------------------------

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_whole: weakref.WeakSet[Any] = weakref.WeakSet()
_waited: dict[int, list[Any]] = {}  # by the thread that forks


def forked(lock: T) -> T:
    """Have a lock free in a forked process; return it."""
    _locks.add(lock)
    return lock


def unforked(lock: T) -> T:
    """The same, and no fork while the lock is held: the child would see something half done.

    Only for what is soon over and waits for nobody.
    """
    _whole.add(lock)
    return forked(lock)


def in_child(function: Callable[[], None]) -> None:
    """Have a function called in every forked process."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def _wait() -> None:
    held = _waited.setdefault(threading.get_ident(), [])
    held.extend(lock for lock in list(_whole) if lock.acquire(timeout=_PATIENCE))


def _go_on() -> None:
    for lock in _waited.pop(threading.get_ident(), ()):
        lock.release()


def _renew() -> None:
    _waited.clear()
    for lock in list(_locks):
        if not getattr(lock, "_is_owned", bool)():  # an RLock knows whose it is
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_renew)
