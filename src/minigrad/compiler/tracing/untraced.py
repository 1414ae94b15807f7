"""A function run as it is, on arguments that stand for those of a compiled call.

What a trace gets, Values for floats, and for whole numbers objects that stay open in arithmetic,
the function gets here too; but nobody writes down what it does, and nothing is guarded. So it can
be differentiated by the same arguments, by the same rules. See `StandIns`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from threading import get_ident
from typing import Any

from ...core.graph import topological_order
from ...core.turns import in_child
from ...maths import floats as ieee
from ...scalar import Value
from ..arguments.structure import Flat, mapped
from .builtins import patched
from .lifted import Lifted
from .proxies import EXACT, TracedNumber, plain_number
from .trace import turn

RUNNING: set[int] = set()  # threads in which compiled functions run as they are
in_child(lambda: RUNNING.intersection_update({get_ident()}))


@contextmanager
def uncompiled() -> Iterator[None]:
    """Have compiled functions that are called in this thread run as they are, too."""
    here = get_ident()
    if here in RUNNING:
        yield
        return
    try:
        RUNNING.add(here)
        yield
    finally:
        RUNNING.discard(here)


class StandIns:
    """Arguments for one run of a function, with a leaf for each number in them.

    It is the `TraceContext` of the whole numbers: nothing is guarded here.
    """

    watched: frozenset[int] = frozenset()
    exact = EXACT

    def __init__(self, flat: Flat) -> None:
        self.leaves: list[Value] = []  # in the order of `flatten`
        self.whole: dict[int, int] = {}  # positions of whole numbers, by the id of their leaf
        self._used: list[Value] = []
        self._fixed = flat.fixed
        self.args, self.kwargs = mapped(flat.tree, self._real, self._whole)

    def _real(self, x: Any) -> Any:
        if id(x) in self._fixed:
            return x
        if isinstance(x, Value):
            leaf: Value = Value(x.data, label=x.label)
        else:
            leaf = lifted = Lifted(x)
            lifted.context = self
        self.leaves.append(leaf)
        return leaf

    def _whole(self, x: Any) -> TracedNumber:
        leaf = Lifted(float(x))
        self.whole[id(leaf)] = len(self.leaves)
        self.leaves.append(leaf)
        return TracedNumber(self, leaf, int(x))

    def run(self, function: Callable[..., Any]) -> Any:
        """Run the function, and whatever is compiled in it, as it is; `math` keeps numbers open."""
        with turn() as is_ours, uncompiled(), patched(self, math) if is_ours else nullcontext():
            return function(*self.args, **self.kwargs)

    def wholes(self) -> list[int]:
        """List the positions of whole numbers that were used as such."""
        orders = [topological_order(node, Value._links) for node in self._used]
        under = {id(node) for order in orders for node in order}
        return sorted(at for leaf, at in self.whole.items() if leaf in under)

    # ---- as the context --------------------------------------------------------------------------

    def special(self, kind: str, operands: tuple[Any, ...], number: float) -> Value:
        if kind == "take":
            index, *rows = operands
            chosen = rows[int(plain_number(index))]
            return chosen if isinstance(chosen, Value) else Value(plain_number(chosen))
        return Value(number)

    def largest(self, xs: Sequence[Any]) -> tuple[Any, Any]:
        _, at = ieee.largest([plain_number(x) for x in xs])
        return xs[at], at

    def highest(self, xs: Sequence[Any]) -> TracedNumber:
        found: TracedNumber = xs[self.largest(xs)[1]]
        return found

    def is_whole(self, node: Value) -> None:
        self._used.append(node)

    def is_here(self) -> bool:
        return False

    def is_only_shown(self) -> bool:
        return True

    def guard(self, node: Value, number: float, what: str) -> None: ...
    def drew(self) -> None: ...
    def born(self, reading: TracedNumber) -> None: ...
