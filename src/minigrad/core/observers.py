"""Who observes the engine: watchers of a pass, a replacement for it, the tracer of a function.

Each is in force inside a block. Nodes and Values ask here, and only while any block is open
(`blocks.open_blocks`), so an engine that nobody observes pays for none of it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from .blocks import Mode, Setting, innermost, open_from_outside

_watching: Setting = ContextVar("minigrad_watching", default=None)
_replacing: Setting = ContextVar("minigrad_replacing", default=None)
_tracing: Setting = ContextVar("minigrad_tracing", default=None)


class Watcher(Protocol):
    """Somebody who is told of a backward pass, step by step; `steps.PassRecord` is one."""

    def started(self, root: Any) -> None:
        """The grads are clean and the root has its 1."""

    def stepped(
        self, node: Any, grad: float, before: list[tuple[Any, float]], by_hand: bool
    ) -> None:
        """`node`, with `grad`, has run its step; the grads of its operands were `before`."""

    def finished(self, previous_grads: list[tuple[Any, float]]) -> None:
        """The pass is over; what passes before had left will be added back now."""


def current_watchers() -> list[Watcher]:
    """Return those who watch here, the outermost first."""
    return open_from_outside(_watching)


class Pass(Protocol):
    """Somebody who passes gradients on in place of the engine, in `backward()`."""

    def __call__(
        self, order: list[Any], previous_grads: list[tuple[Any, float]], watchers: list[Watcher]
    ) -> list[tuple[Any, float]]:
        """Run over `order`, operands first; its last node, the root, has its 1, all others 0.

        Return what to add to grads when all is over: `previous_grads`, what passes before had left.
        """


def replaced_pass() -> Pass | None:
    """Return who passes gradients on here in place of the engine; None: the engine does."""
    replacement: Pass | None = innermost(_replacing)
    return replacement


class Tracer(Protocol):
    """Somebody who is told what a function does to Values; `compiler.trace` has the one."""

    def opened(self) -> None:
        """The traced function opens a block: from here on it wants to know what is `made`."""

    def made(self, node: Any) -> None:
        """`node` has been made, perhaps inside a block that the traced function has opened."""

    def read(self, node: Any) -> Any:
        """Return what `node.data` is to be: a number that knows where it comes from."""

    def compared(self, kind: str, a: Any, b: Any) -> Any:
        """Return what `a < b` ("less") or `a <= b` ("less_equal") is to be."""

    def chosen(self, condition: Any, a: Any, b: Any) -> Any:
        """Return what `where(condition, a, b)` is to be."""

    def largest(self, xs: Any) -> tuple[Any, Any]:
        """Return the largest of `xs` and its position, for the rules of the op table."""

    def by_hand(self, data: Any, children: Any, op: Any) -> Any:
        """Return the node that one made by hand stands for, if its rule can be told; or None."""

    def refused(self, what: str) -> None:
        """Raise: the function does something that cannot be replayed."""


def tracer() -> Tracer | None:
    """Return who traces here; None: nobody."""
    found: Tracer | None = innermost(_tracing)
    return found


def refuse_in_trace(what: str) -> None:
    """Raise if a function is being traced here: a program could not replay this."""
    reader = tracer()
    if reader is not None:
        reader.refused(what)


class _Observing(Mode):
    def __init__(self, observer: Any) -> None:
        super().__init__()
        self._on = observer


class watching(_Observing):  # noqa: N801
    """Inside this block a `Watcher` is told of every step of every backward pass."""

    _setting = _watching

    def _result(self) -> Any:
        return self._on


class replacing(_Observing):  # noqa: N801
    """Inside this block `backward()` leaves the pass itself to a `Pass`."""

    _setting = _replacing


class tracing(_Observing):  # noqa: N801
    """Inside this block a `Tracer` hears of every node, and answers reads and comparisons."""

    _setting = _tracing
