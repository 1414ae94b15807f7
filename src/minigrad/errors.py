"""What can go wrong, by name. Each message says what happened, where, and what to do about it."""

from __future__ import annotations

__all__ = [
    "AuditError",
    "BackwardRunningError",
    "CheckpointError",
    "CycleError",
    "ExpressionError",
    "GraphvizMissingError",
    "GuardError",
    "MinigradError",
    "NonFiniteError",
    "NotDifferentiableError",
    "OverwriteError",
    "StaleDataError",
    "TraceError",
]


class MinigradError(Exception):
    """The base of every error that is minigrad's own."""


class CycleError(MinigradError, ValueError):
    """A node is its own ancestor, so no order of evaluation exists."""


class BackwardRunningError(MinigradError, RuntimeError):
    """A pass over a graph was started from inside a `_backward` of the pass that is running."""


class NonFiniteError(MinigradError, ArithmeticError):
    """In strict mode: an operation made `inf` or `nan` out of finite numbers."""


class StaleDataError(MinigradError, RuntimeError):
    """In strict mode: `.data` was changed after the forward pass had used it."""


class NotDifferentiableError(MinigradError, TypeError):
    """A derivative was asked of a node whose rule is a hand-written `_backward`."""


class TraceError(MinigradError, TypeError):
    """A function that is being compiled does something that a program cannot replay."""


class GuardError(MinigradError, RuntimeError):
    """In a strictly compiled function: a call would take another way than the one compiled."""


class AuditError(MinigradError, RuntimeError):
    """A compiled function gave another number than the function itself does."""


class CheckpointError(MinigradError, ValueError):
    """A file of saved parameters is damaged or belongs to another model."""


class ExpressionError(MinigradError, ValueError):
    """A text is not an expression, or names something that has no value."""


class OverwriteError(MinigradError, FileExistsError):
    """A file is there already, and nobody has said that it may be overwritten."""


class GraphvizMissingError(MinigradError, RuntimeError):
    """A picture was asked for that only Graphviz's `dot` program can make, and it is not there."""
