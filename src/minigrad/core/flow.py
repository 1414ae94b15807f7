"""Gradients that are held apart from the nodes while a pass is not over.

A pass works its gradients out in a buffer. To a hand-written `_backward` that it calls, `v.grad` is
the number in that buffer: `with_flow` makes it so for the length of a call, in a context that C
leaves in any case, so that no interrupt leaves it in force.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol, TypeVar

from .blocks import open_blocks

T = TypeVar("T")


class Flow(Protocol):
    """Gradients that are held apart from the nodes, as those of a pass that is not over."""

    def read(self, node: Any) -> float | None:
        """Return the gradient of a node; None: it is not held here."""

    def write(self, node: Any, number: float) -> bool:
        """Hold another one; False: it is not held here."""


class _Stretch:
    """A call for which gradients are held apart; it is over when its context is left."""

    __slots__ = ("context", "flow", "outer", "thread")

    def __init__(self, flow: Flow, context: Context) -> None:
        self.flow: Flow | None = flow
        self.context, self.outer = context, _stretch.get()
        self.thread = threading.get_ident()

    def is_held(self) -> bool:
        if self.flow is None or _stretch.get() is self:
            return self.flow is not None
        try:
            self.context.run(bool)
        except RuntimeError:  # somebody is in there
            return True
        return False

    def put_away(self) -> None:
        self.flow = None  # a task that was started meanwhile may have inherited it


_stretch: ContextVar[_Stretch | None] = ContextVar("minigrad_stretch", default=None)


def with_flow(flow: Flow, function: Callable[..., T], *arguments: Any) -> T:
    """Call a function to which gradients are those of a flow, and to what inherits its context."""
    context = copy_context()
    return context.run(_in_stretch, _Stretch(flow, context), function, arguments)


def _in_stretch(stretch: _Stretch, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    _stretch.set(stretch)
    open_blocks[stretch] = None
    try:
        return function(*arguments)
    finally:
        stretch.put_away()
        open_blocks.pop(stretch, None)


def is_flowing() -> bool:
    """Tell whether gradients are held apart here."""
    stretch = _stretch.get()
    while stretch is not None and stretch.flow is None:
        stretch = stretch.outer
    return stretch is not None


def grad_apart(node: Any) -> float | None:
    """Return the gradient of a node that is held apart from it here, or None."""
    stretch = _stretch.get()
    while stretch is not None:
        if stretch.flow is not None:
            number = stretch.flow.read(node)
            if number is not None:
                return number
        stretch = stretch.outer
    return None


def set_grad_apart(node: Any, number: float) -> bool:
    """Change the gradient of a node that is held apart from it here; False: it is not."""
    stretch = _stretch.get()
    while stretch is not None:
        if stretch.flow is not None and stretch.flow.write(node, number):
            return True
        stretch = stretch.outer
    return False
