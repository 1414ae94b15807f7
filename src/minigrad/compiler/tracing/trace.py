"""Run a function once and write down what it does: Value code in, a `Tape` out.

The function runs on the eager engine, on Values of its own in place of the numbers it is given, so
it may use everything that Python has. The engine tells the `Trace` of every node, see `Tracer`.
Values that the function closes over are recognised by not having been made here; they are inputs of
the program too, and read afresh at each call. Start at `trace`.
"""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ...codegen.elementwise import MAPS
from ...core.backward import in_turn
from ...core.coerce import refuse_condition
from ...core.modes import is_recording, recording, tolerant
from ...core.observers import tracer, tracing
from ...core.ops import OPS, TABLE
from ...core.strict import calling_line
from ...core.turns import forked, in_child
from ...errors import TraceError
from ...maths import floats as ieee
from ...scalar import Value, look_closely, recorded
from .builtins import patched, unpatch
from .proxies import Inverted, TracedBool, TracedNumber, exact, plain_number
from .tape import ARGMAX, CONSTANT, DOT, MAX, SMALLER, SUM, TAKE, Entries, Guard, Tape, release
from .texts import shown_at
from .which import Chosen

_lock = forked(threading.RLock())  # one trace at a time: it stands in for max and min meanwhile
_is_running = False
LONG = 10_000_000  # operations of a trace that call for a word: some 10 s, and 1.7 GB with the rest
_WHERE, _DIV = OPS["where"].code, OPS["div"].code
_STOP_GRADIENT = MAPS["stop_gradient"].code
_ARITY = [row.arity for row in TABLE]
_SPECIAL = {"max": MAX, "argmax": ARGMAX, "take": TAKE}
# No gradient goes through these: whether their operands are held makes no difference.
_SEES_THROUGH = {"max", "argmax", "less", "less_equal", "equal"}


class Trace:
    """The tracer (see `observers.Tracer`) and context (see `proxies.TraceContext`) of one run."""

    def __init__(self) -> None:
        self.nodes: list[Value] = []  # in the order in which they were made
        self.kinds: dict[int, str] = {}  # of nodes that only programs have, by id
        self.held: set[int] = set()  # made inside no_grad()
        self.guards: dict[int, tuple[Value, float, str]] = {}
        self.wholes: list[Value] = []  # used as whole numbers
        self.watched: frozenset[int] = frozenset()  # lists whose changes are noticed, by id
        self.exact = exact.get()
        self.asks_which = False  # which Values it was given, see `which.py`
        self.has_drawn = False  # random numbers that no state tells of
        self.text_at = ""  # the first place where a number became text
        self._readings: list[TracedNumber] = []
        self._reads: dict[int, TracedNumber] = {}
        self._is_own = False  # whether a node is being made for the trace itself

    # ---- as the tracer of the engine ------------------------------------------------------------

    def opened(self) -> None:
        look_closely()

    def made(self, node: Value) -> None:
        if not is_recording():
            self.held.add(id(node))

    def read(self, node: Value) -> TracedNumber:
        known = self._reads.get(id(node))
        if known is None:
            number = node._fields()[0]
            known = self._reads[id(node)] = TracedNumber(self, None, number, source=node)
        return known

    def compared(self, kind: str, a: Any, b: Any) -> Any:
        open_a, open_b = (x if isinstance(x, TracedNumber) else self._reading(x) for x in (a, b))
        if open_a is None or open_b is None:
            return NotImplemented
        if kind == "equal":
            return open_a == open_b
        return open_a < open_b if kind == "less" else open_a <= open_b

    def _reading(self, x: Any) -> Any:
        if isinstance(x, Value):
            return TracedNumber(self, x, x._fields()[0])
        try:
            return TracedNumber(self, Value(x), x)
        except TypeError:
            return None

    def chosen(self, condition: Any, a: Any, b: Any) -> Any:
        if isinstance(condition, Inverted):
            refuse_condition(condition.number)
        if not isinstance(condition, TracedBool):
            return None
        pair = [getattr(x, "_traced_node", x) for x in (a, b)]
        number = plain_number(pair[0] if condition.number else pair[1])
        return self.special("where", (condition._traced_node, *pair), number)

    def largest(self, xs: Sequence[Any]) -> tuple[Any, Any]:
        nodes = tuple(_as_value(x) for x in xs)
        _, at = ieee.largest([node._fields()[0] for node in nodes])
        position = TracedNumber(self, self.special("argmax", nodes, float(at)), at)
        return position._taken_from(nodes), position

    def highest(self, xs: Sequence[Any]) -> TracedNumber:
        number, _ = ieee.largest([getattr(x, "number", x) for x in xs])
        nodes = tuple([x.unheld if isinstance(x, TracedNumber) else x for x in xs])
        return TracedNumber(self, self.special("max", nodes, float(number)), number)

    def by_hand(self, data: Any, children: Sequence[Any], op: Any) -> Any:
        if self._is_own or not (children or isinstance(op, tuple)):
            return None  # a leaf that says what it is
        if isinstance(op, str):
            self.refused(f"makes the node {op!r} by hand, whose rule nobody knows")
        node = getattr(data, "_traced_node", data)
        number = plain_number(data)
        for child, slope in zip(children, op, strict=True):
            node = self.special("linear", (node, child, slope), number)
        return node

    def refused(self, what: str) -> NoReturn:
        raise TraceError(
            f"a compiled function {what}, at {calling_line()}. A program computes results from "
            "inputs and nothing else: do this outside, around the call."
        )

    # ---- as the context of readings --------------------------------------------------------------

    def special(self, kind: str, operands: tuple[Any, ...], number: float) -> Value:
        nodes = [x if type(x) is Value else _as_value(x) for x in operands]
        self._is_own = True
        try:
            node = (Chosen if kind == "take" else Value)(number, nodes)
        finally:
            self._is_own = False
        self.kinds[id(node)] = kind
        if kind == "take":  # outside, what is taken is the Value itself: gradients do pass
            self.held.discard(id(node))
        return node

    def guard(self, node: Value, number: float, what: str) -> None:
        if id(node) not in self.guards:
            self.guards[id(node)] = (node, number, f"{what}, at {calling_line()}")

    def is_here(self) -> bool:
        return tracer() is self

    def is_whole(self, node: Value) -> None:
        self.wholes.append(node)

    def drew(self) -> None:
        self.has_drawn = True

    def is_long(self) -> None:
        """Tell what to do instead, while there is time: half of the memory is yet to come."""
        warnings.warn(
            f"a compiled function has done {LONG:,} operations, at {calling_line()}, and is still "
            f"being traced: each takes a microsecond and 170 bytes until it is compiled. {SMALLER}",
            RuntimeWarning,
            stacklevel=2,
        )

    def is_only_shown(self) -> bool:
        place = shown_at()
        self.text_at = self.text_at or place
        return bool(place)

    def born(self, reading: TracedNumber) -> None:
        self._readings.append(reading)

    def close(self) -> list[TracedNumber]:
        """Let go of everything; return the readings that somebody else holds on to."""
        for kept in (self._reads, self.guards, self.kinds, self.wholes):
            kept.clear()
        return release(self._readings)


def _as_value(x: Any) -> Value:
    x = getattr(x, "_traced_node", x)
    return x if isinstance(x, Value) else Value(x)


@contextmanager
def collector_off() -> Iterator[None]:
    """Tracing and compiling only make objects; looking for garbage among them takes longer."""
    global _collector_rests
    was_on = gc.isenabled()
    try:
        _collector_rests = threading.get_ident() if was_on else _collector_rests
        gc.disable()
        yield
    finally:
        if was_on:
            gc.enable()
            _collector_rests = 0


_collector_rests = 0  # the thread for which it does


def _in_child() -> None:
    """A forked process does not go on with what another thread traces."""
    global _is_running
    if not _lock._is_owned():  # type: ignore[attr-defined]
        _is_running = False
        unpatch()
    if _collector_rests not in (0, threading.get_ident()):
        gc.enable()


in_child(_in_child)


def trace(
    function: Callable[[Trace], Sequence[Any]],
    arguments: Sequence[Value],
    context: Trace | None = None,
) -> Tape:
    """Run `function`, which returns its results, and return what it did to `arguments`.

    It is handed the trace, to make readings of those arguments that are whole numbers.
    """
    global _is_running
    context = context or Trace()
    with _lock, collector_off():
        entries = Entries()
        if not _is_running:
            unpatch()  # what an interrupt may have left
        try:
            _is_running = True
            with (
                tolerant(),
                recording(),
                tracing(context),
                patched(context),
                recorded(context.nodes, entries.strange(), LONG, context.is_long),
            ):
                results = [_as_value(x) for x in function(context)]
            tape: Tape = in_turn(_written, entries, context, arguments, results)  # marks are in use
            return tape
        finally:
            entries.close()
            _is_running = False


@contextmanager
def turn(patience: float = 0.0) -> Iterator[bool]:
    """Keep others from tracing inside this block; wait for one who traces up to `patience` seconds.

    Tells whether it is our turn. It may never be: a function that is being traced may itself wait
    for this thread, or have started this very call.
    """
    is_ours = _lock.acquire(timeout=patience)
    try:
        yield is_ours and not _is_running
    finally:
        if is_ours:
            _lock.release()


def _written(
    entries: Entries, context: Trace, arguments: Sequence[Value], results: Sequence[Value]
) -> Tape:
    """Turn nodes into entries. Nothing here looks at a number that could differ at another call."""
    describe = _Describe(entries, context)
    entries.read(context.nodes, arguments, describe, frozenset(context.held))
    tape = Tape(entries, list(range(len(arguments))))
    tape.results = [entries.entry(node) for node in results]
    for node, number, what in context.guards.values():
        at = entries.entry(node)
        if entries.code[at] != CONSTANT:
            tape.guards.append(Guard(at, number, what))
    tape.wholes = entries.inputs_under([entries.entry(node) for node in context.wholes])
    return tape


class _Describe:
    """Writes nodes that have more than a row and two operands."""

    def __init__(self, entries: Entries, context: Trace) -> None:
        self.entries, self.kinds, self.held = entries, context.kinds, context.held

    def __call__(self, node: Value, operands: tuple[int, ...]) -> int:
        entries = self.entries
        number, code, a, _, da, db, extras = node._fields()
        kind = self.kinds.get(id(node))
        if kind is None and not code and not operands:
            return entries.constant(number)  # a leaf with a label
        by_hand = node._is_custom or (extras is not None and extras.prev is not None)
        if kind is None and (not code or by_hand):
            raise TraceError(
                f"a compiled function makes the node {node._op!r} by hand (children, _prev or "
                "_backward). Its rule is not known: build it from minigrad's operations."
            )
        if kind is None and _ARITY[code] == 2 and len(operands) < 2:  # the other one is a number
            other = entries.constant(da if a is None else db)
            operands = (other, *operands) if a is None else (*operands, other)
        if id(node) in self.held:
            operands = tuple(entries.add(_STOP_GRADIENT, at) for at in operands)
        if kind in _SEES_THROUGH:
            operands = tuple(
                entries.first[at] if entries.code[at] == _STOP_GRADIENT else at for at in operands
            )
        if kind in _SPECIAL:
            return entries.add_many(_SPECIAL[kind], operands)
        row = MAPS[kind] if kind is not None else TABLE[code]
        if code == _WHERE and kind is None:
            return operands[0]
        if row.name in ("sum", "mean"):
            total = entries.add_many(SUM, (entries.constant(0.0), *operands))
            if row.name == "sum":
                return total
            return entries.add(_DIV, total, entries.constant(float(len(operands))))
        if row.name == "dot":
            entries.constant(0.0)  # where it starts from
            return entries.add_many(DOT, operands)
        if row.arity in (1, 2):
            return entries.add(row.code, *operands)
        if row.arity == 3:
            return entries.add_many(row.code, operands)
        raise TraceError(f"{row.name} cannot be compiled; build it from other operations.")
