"""`broken("overwrite")`: the real engine, wrong on purpose.

    with broken("overwrite"):
        L.backward()                # a -6, b -4, c -2, where 4, -4, -12 is right

The faults and the pass that plays them are in `calculus/faults.py`; `replacing` puts that pass in
the engine's place, in this thread or task only, and only until the block closes.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ..calculus.faults import BY_NAME, FAULTS, run_broken
from ..calculus.words import FAULTS_IN_SPANISH, check_language
from ..core.observers import replacing

__all__ = ["FAULTS", "broken"]


class broken(replacing):  # noqa: N801 - reads as `with broken("overwrite"):`
    """Inside this block `backward()` has a fault. `FAULTS` says which there are.

    >>> from minigrad import Value
    >>> a = Value(3.0)
    >>> b = a + a
    >>> with broken("overwrite"):
    ...     b.backward()
    >>> a.grad
    1.0

    It holds for the thread or task that opened it; of nested blocks the innermost counts. A
    `record()` inside shows what the broken pass did, step by step. Everything but `backward()`
    stays sound: `grad()`, `steps()`, and a node's own `_backward()`. As plain recursion would,
    "plain_recursion" takes as many steps as there are paths.
    """

    FAULTS: ClassVar[dict[str, str]] = FAULTS

    @classmethod
    def faults(cls, lang: str = "en") -> dict[str, str]:
        """Return the sentence of each fault, by name, in a language: "en" or "es"."""
        return dict(FAULTS) if check_language(lang, "faults") == "en" else dict(FAULTS_IN_SPANISH)

    def __init__(self, fault: str) -> None:
        if not isinstance(fault, str) or fault not in BY_NAME:
            raise ValueError(f"broken: there is no fault {fault!r}; choose of {', '.join(FAULTS)}.")
        self.fault = row = BY_NAME[fault]
        super().__init__(
            lambda order, previous_grads, watchers: run_broken(row, order, previous_grads, watchers)
        )

    def __repr__(self) -> str:
        return f"broken({self.fault.name!r})"

    def _fresh(self) -> Self:
        return type(self)(self.fault.name)
