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
import time
import weakref
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

__all__ = ["PAUSE", "Turns", "forked", "in_child", "unforked"]

T = TypeVar("T")

PAUSE = 2e-4  # seconds between two looks whether it is our turn
_PATIENCE = 10.0  # seconds that a fork waits: its thread may itself be what somebody waits for


class Turns:
    """Calls of which one runs at a time; others wait."""

    def __init__(self) -> None:
        self._is_inside: ContextVar[bool] = ContextVar("minigrad_is_inside", default=False)
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
            if self._is_inside.get():
                return inside()
            time.sleep(PAUSE)

    def run_here(self, inside: Callable[[], T], function: Callable[..., T], *arguments: Any) -> T:
        """The same with all context variables as they are; what is set in there stays there."""
        here = copy_context()
        here.run(self._is_inside.set, True)
        run: Callable[..., T] = here.run
        return self.run(inside, run, function, *arguments)

    def _renew(self) -> None:
        """Begin; or begin anew in a forked process, where whoever else had a turn is gone."""
        if not self._is_inside.get():
            self._context = Context()
            self._context.run(self._is_inside.set, True)


# ---- forks ----------------------------------------------------------------------------------

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_whole: weakref.WeakSet[Any] = weakref.WeakSet()
_waited: list[Any] = []


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
    _waited.extend(lock for lock in list(_whole) if lock.acquire(timeout=_PATIENCE))


def _go_on() -> None:
    while _waited:
        _waited.pop().release()


def _renew() -> None:
    _waited.clear()
    for lock in list(_locks):
        if not getattr(lock, "_is_owned", bool)():  # an RLock knows whose it is
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_renew)
