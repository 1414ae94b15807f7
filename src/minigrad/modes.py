"""Blocks that change how operations behave: `no_grad()` and `strict()`.

Both hold for the thread or task that opened them, nest, and also serve as decorators.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self

__all__ = ["in_strict", "is_recording", "no_grad", "on_change", "strict"]

_lock = threading.Lock()
_open_blocks = 0
_listeners: list[Callable[[int], None]] = []


def on_change(listener: Callable[[int], None]) -> None:
    """Have `listener` told how many blocks are open anywhere, each time that changes.

    While none is, an engine need not ask about modes at all: that keeps them free for everybody
    who does not use them.
    """
    _listeners.append(listener)


def _count(change: int) -> None:
    global _open_blocks
    with _lock:
        _open_blocks += change
        for listener in _listeners:
            listener(_open_blocks)


class _Mode(ContextDecorator):
    _variable: ContextVar[bool]

    def __init__(self) -> None:
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> Self:
        _count(+1)
        self._tokens.append(self._variable.set(True))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._variable.reset(self._tokens.pop())
        _count(-1)


class no_grad(_Mode):  # noqa: N801 - spelled as PyTorch's users know it
    """Inside this block operations give plain leaves: no history, no memory, no gradients.

    >>> from minigrad import Value
    >>> a = Value(3.0)
    >>> with no_grad():
    ...     b = a * 2
    >>> b, b._operands
    (Value(data=6.0), ())
    """

    _variable = ContextVar("minigrad_no_grad", default=False)


class strict(_Mode):  # noqa: N801
    """Inside this block the first bad number raises instead of spreading.

    Refused are `inf` or `nan` made from finite numbers, forward or backward, and a backward pass
    over Values whose `.data` was changed after the forward pass.
    """

    _variable = ContextVar("minigrad_strict", default=False)


def is_recording() -> bool:
    """Tell whether operations remember their operands here, that is, outside `no_grad()`."""
    return not no_grad._variable.get()


def in_strict() -> bool:
    """Tell whether this is inside a `strict()` block."""
    return strict._variable.get()
