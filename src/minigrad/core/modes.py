"""Modes that a user switches on for a block, `no_grad()` and `strict()`, and their suspension."""

from __future__ import annotations

from contextvars import ContextVar

from .blocks import Mode, Setting, innermost
from .observers import refuse_in_trace, tracer
from .scopes import current_scope

_no_grad: Setting = ContextVar("minigrad_no_grad", default=None)
_strict: Setting = ContextVar("minigrad_strict", default=None)


def is_recording() -> bool:
    """Tell whether operations remember their operands here, that is, outside `no_grad()`."""
    return not innermost(_no_grad)


def in_strict() -> bool:
    """Tell whether this is inside a `strict()` block."""
    return bool(innermost(_strict))


def of_a_node() -> tuple[bool, bool, bool]:
    """Tell what is asked at every node while any block is open: strict, recording, in a scope?"""
    strictly = _strict.get() is not None and in_strict()
    return strictly, is_recording(), current_scope() is not None


class no_grad(Mode):  # noqa: N801 - spelled as PyTorch's users know it
    """Inside this block operations give plain leaves: no history, no memory, no gradients.

    >>> from minigrad import Value
    >>> a = Value(3.0)
    >>> with no_grad():
    ...     b = a * 2
    >>> b, b._operands
    (Value(data=6.0), ())
    """

    _setting = _no_grad

    def _opening(self) -> None:
        """A traced function opens it: from here on its tracer wants to know of each node."""
        super()._opening()
        reader = tracer()
        if reader is not None:
            reader.opened()


class recording(no_grad):  # noqa: N801
    """Suspend `no_grad()`: for a trace, which is made once for calls inside and outside of it."""

    _on = False


class strict(Mode):  # noqa: N801
    """Inside this block the first bad number raises instead of spreading.

    Refused are `inf` or `nan` made from finite numbers, forward or backward, a backward pass over
    Values whose `.data` was changed after the forward pass, and a node without a `_backward`.
    """

    _setting = _strict

    def _opening(self) -> None:
        """A program does not look at each number: strict() belongs around the call."""
        refuse_in_trace("opens a strict() block")
        super()._opening()


class tolerant(Mode):  # noqa: N801
    """Suspend `strict()`: for rules, which compute both sides of a choice and drop one."""

    _setting = _strict
    _on = False
