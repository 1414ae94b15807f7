"""A program with a buffer to run it in, and how a run that does not count says so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..core.parameters import Nodes
from ..core.turns import forked
from ..core.writeback import flush_writebacks
from .backends import Backend, Prepared
from .backends.numpy import Inputs
from .ir.program import NOT_FINITE, Program

T = TypeVar("T")
Numbers = np.ndarray[Any, np.dtype[np.float64]]


class NotFinite(Exception):  # noqa: N818 - a message between modules, nobody's mistake
    """A run came to inf or nan: the exact programs have to say whether that is right."""


class GuardFailed(Exception):  # noqa: N818 - a message between modules, nobody's mistake
    """The call takes another way through the function than the one that was traced.

    It holds the place of the guard that failed, where one did.
    """


class Machine:
    """A program with its buffer; one run at a time."""

    def __init__(
        self, program: Program, backend: Backend, prepared: Prepared | None = None
    ) -> None:
        self.program = program
        self.prepared = prepared or backend.prepare(program)
        self.values: Numbers = self.prepared.values()
        self.lock = forked(threading.Lock())
        self.set_guards(program, backend)

    def set_guards(self, program: Program, backend: Backend) -> None:
        """Take the guards of a program."""
        checks = [(guard.at, guard.number) for guard in program.guards]
        self.guards = backend.Guards(checks) if checks else None

    def run(self, captured: Nodes, arguments: Any, read: Callable[[Machine], T]) -> T:
        """Run on the Values and numbers of a call, and read the buffer before anybody else runs.

        The one place where write-backs are flushed, so that no Value has an old number, and where
        the buffer is locked.
        """
        flush_writebacks()
        with self.lock:
            captured.read(self.values)
            self.step(arguments)
            return read(self)

    def probe(self, captured: Nodes, arguments: Any, slots: list[int]) -> list[float]:
        """Run without guards, whatever comes out; return what lies in some slots."""
        flush_writebacks()
        with self.lock:
            captured.read(self.values)
            self.prepared.step(self.values, self._inputs(arguments), None)
            return [self.values.item(at) for at in slots]

    def step(self, arguments: Any, commit: Any = None) -> None:
        """Run on the Values that are in the buffer already; let an optimiser take its step."""
        self.step_on(self.values, self._inputs(arguments), commit)

    def step_on(self, values: Numbers, inputs: Inputs, commit: Any = None) -> None:
        """Run in a buffer, on inputs that come as pairs of a slot and numbers."""
        failed: int = self.prepared.step(values, inputs, self.guards, commit)
        if failed == NOT_FINITE:
            raise NotFinite
        if failed >= 0:
            raise GuardFailed(failed)

    def adjoints_of(self, inputs: Numbers) -> Numbers:
        """Run on all these inputs, in a buffer of its own; return the derivatives by them."""
        values, program = self.prepared.values(), self.program
        self.step_on(values, ((0, inputs),))
        return values[program.adjoints : program.adjoints + program.inputs].copy()

    def _inputs(self, arguments: Any) -> Inputs:
        return ((self.program.parameters, arguments),) if len(arguments) else ()
