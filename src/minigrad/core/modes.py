"""Blocks that change how the engine behaves: `no_grad()`, `strict()`; watching a pass; tracing.

A block holds for the thread or task that opened it, and for tasks that it starts, until it closes.
Blocks nest, and also serve as decorators, of coroutines too.

An interrupt may come at any line of Python, in `__enter__` and `__exit__` too, and must not leave a
mode on. So a block is opened and closed by C alone, see `_Block`, and whoever meets a closed one
puts it away. What shall hold for one call is set in a context that C leaves in any case.
"""

from __future__ import annotations

import copy
import functools
import inspect
import threading
import weakref
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol, Self, TypeVar

from .turns import Turns, in_child

__all__ = [
    "Flow",
    "Watcher",
    "defer",
    "flush_writebacks",
    "grad_apart",
    "in_strict",
    "is_flowing",
    "is_pending",
    "is_recording",
    "no_grad",
    "of_a_node",
    "open_blocks",
    "recording",
    "refuse_in_trace",
    "replaced_pass",
    "replacing",
    "set_grad_apart",
    "strict",
    "tidy_up",
    "tolerant",
    "tolerantly",
    "tracer",
    "tracing",
    "watchers",
    "watching",
    "with_flow",
    "writebacks",
]

T = TypeVar("T")

# The blocks that may be open, in any thread, as keys. While there is none, an engine need not ask
# about modes at all: that keeps them free for everybody who does not use them.
open_blocks: dict[Any, Any] = {}


class _Block:
    """One `with`, from enter to exit. A task that inherited it sees when it closes.

    It is open once it is in `open_blocks`, until its lock is free; each takes one call of C, and
    that is all that a `with` statement calls. Nor is it open once nobody holds `leave` any more,
    which the interpreter does as long as it is inside: so no interrupt leaves a block open.
    """

    __slots__ = ("_is_locked", "_leave", "_left", "is_entered", "on", "outer", "setting", "thread")

    def __init__(self, mode: _Mode) -> None:
        self.on, self.setting = mode._on, mode._setting
        self.outer: _Block | None = None
        self.is_entered = False
        self.thread = threading.get_ident()
        lock = threading.Lock()
        lock.acquire()
        self._is_locked = lock.locked
        self._leave: Callable[..., None] | None = lock.__exit__
        self._left: Callable[[], Any] = bool

    def is_held(self) -> bool:
        return self._is_locked() and (self._leave is not None or self._left() is not None)

    def is_open(self) -> bool:
        return self in open_blocks and self.is_held()

    @property
    def is_left(self) -> bool:
        """Whether somebody has got `leave`."""
        return self._leave is None

    def enter(self, result: Any) -> Callable[[], Any]:
        self.is_entered = True
        self.outer = self.setting.get()
        while self.outer is not None and not self.outer.is_open():
            self.outer = self.outer.outer
        self.setting.set(self)
        return functools.partial(open_blocks.setdefault, self, result)

    def leave(self) -> Callable[..., None]:
        found, self._leave = self._leave, None
        assert found is not None  # whoever asks has looked at `is_left`
        self._left = weakref.ref(found)
        return found

    def put_away(self) -> None:
        if self.setting.get() is self:  # else it was opened in another context, and is inert there
            self.setting.set(self.outer)
        self.on = None


def tidy_up() -> None:
    """Put away the blocks that are over."""
    for block in list(open_blocks):
        if not block.is_held():
            block.put_away()
            open_blocks.pop(block, None)


def _leave_what_others_opened() -> None:
    """In a forked process there are no other threads."""
    here = threading.get_ident()
    for block in list(open_blocks):
        if block.thread != here:
            open_blocks.pop(block, None)


in_child(_leave_what_others_opened)


Setting = ContextVar[_Block | None]
_no_grad: Setting = ContextVar("minigrad_no_grad", default=None)
_strict: Setting = ContextVar("minigrad_strict", default=None)
_watching: Setting = ContextVar("minigrad_watching", default=None)
_replacing: Setting = ContextVar("minigrad_replacing", default=None)
_tracing: Setting = ContextVar("minigrad_tracing", default=None)


def _innermost(setting: Setting) -> Any:
    """Ask the innermost block that is still open; None if there is none."""
    block = setting.get()
    while block is not None:
        if block.is_open():
            return block.on
        block = block.outer
    for oldest in tuple(open_blocks)[:1]:  # in one go: another thread may open or close one
        if not oldest.is_held():  # a `with` has closed it since
            tidy_up()
    return None


def _is_on(setting: Setting) -> bool:
    return bool(_innermost(setting))


def is_recording() -> bool:
    """Tell whether operations remember their operands here, that is, outside `no_grad()`."""
    return not _is_on(_no_grad)


def in_strict() -> bool:
    """Tell whether this is inside a `strict()` block."""
    return _is_on(_strict)


def of_a_node() -> tuple[bool, bool]:
    """Tell what is asked at every node while any block is open: `in_strict`, `is_recording`."""
    if _strict.get() is None:
        return False, is_recording()
    return in_strict(), is_recording()


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
        if block.is_open():
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
    found: Tracer | None = _innermost(_tracing)
    return found


# Whoever keeps numbers of Values to himself. While there is nobody, no number is asked for.
writebacks: list[Callable[[], None]] = []
_paying = Turns()


def defer(flush_writebacks: Callable[[], None]) -> None:
    """Have `flush_writebacks` called before anybody reads or writes a Value again.

    A training step keeps the numbers of the parameters to itself; this is how it gives them back
    when somebody asks, and not before.
    """
    writebacks.append(flush_writebacks)


def is_pending(but: Callable[[], None]) -> bool:
    """Tell whether anybody but one owes."""
    return any(pay != but for pay in writebacks)


def flush_writebacks() -> None:
    """Have everybody who owes write to the Values what belongs there."""
    if writebacks:
        _paying.run(_pay, _pay)  # whoever comes meanwhile waits until all is paid


def _pay() -> None:
    for pay in writebacks[:]:
        pay()
        if pay in writebacks:  # last: interrupted, it is only paid again
            writebacks.remove(pay)


def refuse_in_trace(what: str) -> None:
    """Raise if a function is being traced here: a program could not replay this."""
    reader = tracer()
    if reader is not None:
        reader.refused(what)


# ---- for the length of a call ----------------------------------------------------------------


def tolerantly(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function outside of `strict()`: rules compute both sides of a choice and drop one."""
    context = copy_context()
    context.run(_strict.set, None)
    return context.run(function, *arguments)


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


# ---- blocks ----------------------------------------------------------------------------------


class _ByC:
    """`__enter__` or `__exit__` of a mode: a `with` statement that looks it up gets a call of C.

    Looked up in the class, as `ExitStack` does, it is a function of the mode like any other.
    """

    def __init__(self, look_up: Callable[[Any], Callable[..., Any]]) -> None:
        self._look_up = look_up

    def __get__(self, mode: Any, kind: type[Any]) -> Callable[..., Any]:
        if mode is None:
            return lambda mode, *error: self._look_up(mode)(*error)
        return self._look_up(mode)


class _Mode:
    _setting: Setting
    _on: Any = True

    def __init__(self, *misplaced: Any) -> None:
        name = type(self).__name__
        if misplaced:
            raise TypeError(f"{name} takes no arguments; a decorator is written @{name}().")
        # A `with` looks up `__enter__` and `__exit__` before it calls either: in this order up to
        # Python 3.13, in the other since. These are the blocks of which one was looked up so far.
        self._halves: list[_Block] = []

    def _result(self) -> Any:
        """What `with … as` gives."""
        return self

    def _opening(self) -> None:
        """Somebody is about to enter."""
        tidy_up()
        reader = tracer()
        if reader is not None:
            reader.opened()

    def _open(self) -> Callable[[], Any]:
        self._opening()
        return self._half(lambda block: not block.is_entered).enter(self._result())

    def _close(self) -> Callable[..., None]:
        return self._half(lambda block: not block.is_left).leave()

    def _half(self, fits: Callable[[_Block], bool]) -> _Block:
        """Take this thread's last block that fits; if there is none, begin one."""
        found = None
        for block in self._halves[:]:
            if not block.is_held():  # somebody looked up `__exit__`, and went away
                self._halves.remove(block)
            elif block.thread == threading.get_ident() and fits(block):
                found = block
        if found is None:
            found = _Block(self)
            self._halves.append(found)
        else:
            self._halves.remove(found)
        return found

    __enter__: Any = _ByC(lambda mode: mode._open())
    __exit__: Any = _ByC(lambda mode: mode._close())

    def _fresh(self) -> Self:
        """Make another of the same kind: a decorated function may run in many threads at once."""
        fresh = copy.copy(self)
        fresh._halves = []
        return fresh

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        name = type(self).__name__
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"@{name}() on a generator would be over before its first step; write "
                f"`with {name}():` inside it."
            )
        if isinstance(function, type):
            raise TypeError(
                f"@{name}() is for functions, and {function.__name__} is a class; decorate its "
                "methods."
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

    def _opening(self) -> None:
        """A program does not look at each number: strict() belongs around the call."""
        refuse_in_trace("opens a strict() block")
        super()._opening()


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

    def _result(self) -> Any:
        return self._on


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
