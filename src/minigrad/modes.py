"""Blocks that change how the engine behaves: `no_grad()`, `strict()`; watching a pass; tracing.

A block holds for the thread or task that opened it, and for tasks that it starts, until it closes.
Blocks nest, and also serve as decorators, of coroutines too.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Protocol, Self

__all__ = [
    "Watcher",
    "in_strict",
    "is_owed",
    "is_recording",
    "no_grad",
    "on_change",
    "on_debt",
    "owe",
    "recording",
    "refuse_in_trace",
    "replaced_pass",
    "replacing",
    "settle",
    "strict",
    "tolerant",
    "tracer",
    "tracing",
    "watchers",
    "watching",
]

_lock = threading.Lock()
_open_blocks = 0
_listeners: list[Callable[[int], None]] = []


def on_change(listener: Callable[[int], None]) -> None:
    """Have `listener` told how many blocks are open anywhere, each time that changes.

    While none is, an engine need not ask about modes at all: that keeps them free for everybody
    who does not use them.
    """
    _listeners.append(listener)


def _count(change: int) -> bool:
    global _open_blocks
    with _lock:
        _open_blocks += change
        for listener in _listeners:
            listener(_open_blocks)
    return True


class _Block:
    """One `with`, from enter to exit. A task that inherited it sees when it closes."""

    __slots__ = ("is_counted", "is_open", "on", "outer")

    def __init__(self, on: Any, outer: _Block | None) -> None:
        self.on, self.outer, self.is_open, self.is_counted = on, outer, True, False


Setting = ContextVar[_Block | None]
_no_grad: Setting = ContextVar("minigrad_no_grad", default=None)
_strict: Setting = ContextVar("minigrad_strict", default=None)
_watching: Setting = ContextVar("minigrad_watching", default=None)
_replacing: Setting = ContextVar("minigrad_replacing", default=None)
_tracing: Setting = ContextVar("minigrad_tracing", default=None)


def _innermost(setting: Setting) -> Any:
    """Ask the innermost block that is still open; None if there is none."""
    block = setting.get()
    while block is not None and not block.is_open:
        block = block.outer
    return None if block is None else block.on


def _is_on(setting: Setting) -> bool:
    return bool(_innermost(setting))


def is_recording() -> bool:
    """Tell whether operations remember their operands here, that is, outside `no_grad()`."""
    return not _is_on(_no_grad)


def in_strict() -> bool:
    """Tell whether this is inside a `strict()` block."""
    return _is_on(_strict)


class Watcher(Protocol):
    """Somebody who is told of a backward pass, step by step; `record.Tape` is one."""

    def started(self, root: Any) -> None:
        """The grads are clean and the root has its 1."""

    def stepped(
        self, node: Any, grad: float, before: list[tuple[Any, float]], by_hand: bool
    ) -> None:
        """`node`, with `grad`, has run its step; the grads of its operands were `before`."""

    def finished(self, earlier: list[tuple[Any, float]]) -> None:
        """The pass is over; what earlier passes had left will be added back now."""


def watchers() -> list[Watcher]:
    """Return those who watch here, the outermost first."""
    found = []
    block = _watching.get()
    while block is not None:
        if block.is_open:
            found.append(block.on)
        block = block.outer
    return found[::-1]


class Pass(Protocol):
    """Somebody who passes gradients on in place of the engine, in `backward()`."""

    def __call__(
        self, order: list[Any], earlier: list[tuple[Any, float]], told: list[Watcher]
    ) -> list[tuple[Any, float]]:
        """Run over `order`, operands first; its last node, the root, has its 1, all others 0.

        Return what to add to grads when all is over: `earlier`, what passes before had left.
        """


def replaced_pass() -> Pass | None:
    """Return who passes gradients on here in place of the engine; None: the engine does."""
    replacement: Pass | None = _innermost(_replacing)
    return replacement


class Tracer(Protocol):
    """Somebody who is told what a function does to Values; `compiler.trace` has the one."""

    def made(self, node: Any) -> None:
        """`node` has been made inside a block that the traced function has opened."""

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
    found: Tracer | None = _innermost(_tracing)
    return found


_debts: list[Callable[[], None]] = []
_paying = threading.RLock()
_debt_listeners: list[Callable[[bool], None]] = []


def on_debt(listener: Callable[[bool], None]) -> None:
    """Have `listener` told whether anybody owes, each time that changes; see `owe`."""
    _debt_listeners.append(listener)


def owe(settle: Callable[[], None]) -> None:
    """Have `settle` called before anybody reads or writes a Value again.

    A training step keeps the numbers of the parameters to itself; this is how it gives them back
    when somebody asks, and not before.
    """
    with _lock:
        _debts.append(settle)
        for listener in _debt_listeners:
            listener(True)


def is_owed(but: Callable[[], None]) -> bool:
    """Tell whether anybody but one owes."""
    return any(pay != but for pay in _debts)


def settle() -> None:
    """Have everybody who owes write to the Values what belongs there."""
    with _paying:  # whoever comes meanwhile waits until all is paid
        for pay in _debts[:]:
            pay()
            with _lock:
                if len(_debts) == 1:  # first told, then done: interrupted, it is only paid again
                    for listener in _debt_listeners:
                        listener(False)
                _debts.remove(pay)


def refuse_in_trace(what: str) -> None:
    """Raise if a function is being traced here: a program could not replay this."""
    reader = tracer()
    if reader is not None:
        reader.refused(what)


class _Mode:
    _setting: Setting
    _on: Any = True

    def __init__(self, *misplaced: Any) -> None:
        name = type(self).__name__
        if misplaced:
            raise TypeError(f"{name} takes no arguments; a decorator is written @{name}().")
        self._blocks: list[_Block] = []

    def __enter__(self) -> Self:
        block = _Block(self._on, self._setting.get())
        self._blocks.append(block)
        self._setting.set(block)
        block.is_counted = _count(+1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        block = self._blocks.pop()
        block.is_open = False
        if self._setting.get() is block:  # else it was opened in another context, and is inert now
            self._setting.set(block.outer)
        if block.is_counted:
            _count(-1)

    def close(self) -> None:
        """Close what is open: an interrupt may come between entering and the block itself."""
        while self._blocks:
            self.__exit__(None, None, None)

    def _fresh(self) -> Self:
        """Make another of the same kind: a decorated function may run in many threads at once."""
        return type(self)()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        name = type(self).__name__
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"@{name}() on a generator would be over before its first step; write "
                f"`with {name}():` inside it."
            )
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_later(*args: Any, **kwargs: Any) -> Any:
                with self._fresh():
                    return await function(*args, **kwargs)

            return run_later

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return function(*args, **kwargs)

        return run


class no_grad(_Mode):  # noqa: N801 - spelled as PyTorch's users know it
    """Inside this block operations give plain leaves: no history, no memory, no gradients.

    >>> from minigrad import Value
    >>> a = Value(3.0)
    >>> with no_grad():
    ...     b = a * 2
    >>> b, b._operands
    (Value(data=6.0), ())
    """

    _setting = _no_grad


class recording(_Mode):  # noqa: N801
    """Suspend `no_grad()`: for a trace, which is made once for calls inside and outside of it."""

    _setting = _no_grad
    _on = False


class strict(_Mode):  # noqa: N801
    """Inside this block the first bad number raises instead of spreading.

    Refused are `inf` or `nan` made from finite numbers, forward or backward, a backward pass over
    Values whose `.data` was changed after the forward pass, and a node without a `_backward`.
    """

    _setting = _strict

    def __enter__(self) -> Self:
        """A program does not look at each number: strict() belongs around the call."""
        refuse_in_trace("opens a strict() block")
        return super().__enter__()


class tolerant(_Mode):  # noqa: N801
    """Suspend `strict()`: for rules, which compute both sides of a choice and drop one."""

    _setting = _strict
    _on = False


class watching(_Mode):  # noqa: N801
    """Inside this block `watcher` is told of every step of every backward pass."""

    _setting = _watching

    def __init__(self, watcher: Watcher) -> None:
        super().__init__()
        self._on = watcher


class replacing(_Mode):  # noqa: N801
    """Inside this block `backward()` leaves the pass itself to `replacement`."""

    _setting = _replacing

    def __init__(self, replacement: Pass) -> None:
        super().__init__()
        self._on = replacement


class tracing(_Mode):  # noqa: N801
    """Inside this block a tracer hears of every node, and answers reads and comparisons."""

    _setting = _tracing

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self._on = tracer
