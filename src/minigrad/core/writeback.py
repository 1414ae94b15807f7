"""Write-backs: numbers of parameters that a training step has not yet written to the Values.

A compiled training step keeps the parameters in an array of its own from step to step. It defers
writing them to the Values (`defer`) until somebody reads or writes a Value: whoever is about to do
that flushes first. While the list is empty, as it nearly always is, that is one test of its length.
"""

from __future__ import annotations

from collections.abc import Callable

from .turns import Turns

writebacks: list[Callable[[], None]] = []  # those that are pending
_flushing = Turns()


def defer(write_back: Callable[[], None]) -> None:
    """Have `write_back` called before anybody reads or writes a Value again, and not earlier."""
    writebacks.append(write_back)


def is_pending(but: Callable[[], None]) -> bool:
    """Tell whether any write-back but this one is pending."""
    return any(write_back != but for write_back in writebacks)


def flush_writebacks() -> None:
    """Have all pending write-backs write their numbers to the Values."""
    if writebacks:
        _flushing.run(_flush, _flush)  # whoever comes meanwhile waits until all is written


def _flush() -> None:
    for write_back in writebacks[:]:
        write_back()
        if write_back in writebacks:  # removed last: interrupted, it is only written again
            writebacks.remove(write_back)
