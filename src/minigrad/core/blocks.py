"""The machinery of blocks: `with` statements that change how the engine behaves, see `modes.py`.

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
from contextvars import ContextVar
from typing import Any, NoReturn, Self

from .turns import in_child

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

    def __init__(self, mode: Mode) -> None:
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

    def enter(self, result: Any) -> Callable[[], Any]:
        self.is_entered = True
        self.outer = self.setting.get()
        while self.outer is not None and not self.outer.is_open():
            self.outer = self.outer.outer
        self.setting.set(self)
        return functools.partial(open_blocks.setdefault, self, result)

    def leave(self) -> Callable[..., None]:
        found, self._leave = self._leave, None
        assert found is not None  # whoever asks has looked
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


def innermost(setting: Setting) -> Any:
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


def open_from_outside(setting: Setting) -> list[Any]:
    """Ask all blocks that are open, the outermost first."""
    found = []
    block = setting.get()
    while block is not None:
        if block.is_open():
            found.append(block.on)
        block = block.outer
    return found[::-1]


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


class _NotCalled(type):
    """The kind of modes as classes: `with no_grad:` has no brackets, and says so."""

    def __enter__(cls) -> NoReturn:
        call = f"{cls.__name__}({getattr(cls, '_example', '')})"
        raise TypeError(f"with {cls.__name__}: write the brackets too, with {call}:")

    def __exit__(cls, *error: Any) -> None:
        """A `with` looks it up before it calls `__enter__`."""


class Mode(metaclass=_NotCalled):
    """What a `with` statement is given; each kind has a setting, and what is on inside."""

    _setting: Setting
    _on: Any = True

    def __init__(self, *misplaced: Any) -> None:
        name = type(self).__name__
        if misplaced:
            raise TypeError(f"{name} takes no arguments; a decorator is written @{name}().")
        # A `with` looks up `__enter__` and `__exit__` before it calls either: in this order up to
        # Python 3.13, in the other since. These are the blocks of which one was looked up so far.
        self._halves: list[_Block] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _result(self) -> Any:
        """What `with … as` gives."""
        return self

    def _opening(self) -> None:
        """Somebody is about to enter."""
        tidy_up()

    def _open(self) -> Callable[[], Any]:
        self._opening()
        return self._half(lambda block: not block.is_entered).enter(self._result())

    def _close(self) -> Callable[..., None]:
        return self._half(lambda block: block._leave is not None).leave()

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
