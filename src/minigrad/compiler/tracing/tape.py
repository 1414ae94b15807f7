# cython: boundscheck=False, wraparound=False, nonecheck=False
"""The tape: a trace as a flat list of operations, and which of them matter to the outside.

Entry `k` has an operation `code[k]` and operands `first[k]`, `second[k]`, which are earlier entries
(-1: none); operations of more operands have them in `more[k]`. Codes are those of the op table and
a few of the compiler's own. Numbers are entries too, one for each bit pattern.

The rest of the compiler works on whole arrays; here, and in `canonical.py`, are the loops that see
every single operation. `Entries.read` turns the nodes of a trace into entries; in the native engine
that takes some tens of nanoseconds for each.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import cython_shim as cython
from ...core.node import IS_SPECIAL, UNSTAMPED
from ...core.ops import OPS, TABLE
from ...errors import TraceError

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from sys import getrefcount

    from ...core.cython_shim import ints_in

INPUT, CONSTANT = -1, -2
SUM, DOT, MAX, ARGMAX, TAKE = 101, 102, 103, 104, 105
_INPUT, _CONSTANT = INPUT, CONSTANT  # C numbers, in the native engine

_WHERE = OPS["where"].code
_bits = struct.Struct("<d").pack
_arities = array("i", [-1 if row.arity is None else row.arity for row in TABLE])
_arity = ints_in(_arities)


# What to do instead, for all who tell somebody that a program is too large.
SMALLER = (
    "Compile a part of the function and call it several times. If it goes over examples, that is "
    "the loss of one: minigrad.vmap(loss) takes a batch as arrays, and "
    "minigrad.train_step(loss, optimizer) takes a step for each example."
)

# Entries, and the operands of all of them together, are counted in 32 bits: this many leave some
# for the entries that sums add, and for uses that are counted twice. The nodes of such a trace
# would take more than 100 GB.
MOST = 2**30
_MOST = MOST

_zero = array("i", [0])
_next_base = -2  # marks of traces go down from here, those of backward passes up from 1


def zeros(count: int) -> array[int]:
    """Return an array of whole numbers."""
    return _zero * count


def _longer(table: array[int], count: int, size: int) -> array[int]:
    """Return an array of this size that begins with the first `count` numbers of another.

    No array but the new one is written: memory that is new costs more than what is put there.
    """
    found = zeros(size)
    found[:count] = table[:count]
    return found


def check_length(count: int) -> None:
    """Refuse a trace whose entries or operands could not be counted."""
    if count > _MOST:
        raise TraceError(
            f"a trace of more than {_MOST:,} operations and operands cannot be compiled. {SMALLER}"
        )


@cython.final
@cython.cclass
class Entries:
    """The operations of a trace."""

    def __init__(self) -> None:
        self.count = 0
        self.base = _next_base
        self.code, self.first, self.second = zeros(1024), zeros(1024), zeros(1024)
        self._look()
        self.more: dict[int, tuple[int, ...]] = {}
        self.numbers: dict[int, float] = {}  # of the constants
        self.known: dict[bytes, int] = {}  # the constants by their bits
        self.captured: list[int] = []  # entries of the Values that were there before the trace
        self.captured_values: list[Any] = []

    def reserve(self, count: int) -> None:
        """Make room for `count` entries more."""
        needed = self.count + count
        check_length(needed)
        if needed > len(self.code):
            size = needed + needed // 4  # `canonical` adds some
            self.code = _longer(self.code, self.count, size)
            self.first = _longer(self.first, self.count, size)
            self.second = _longer(self.second, self.count, size)
            self._look()

    def _look(self) -> None:
        """In the native engine, these are C arrays; the others are objects, for everybody else."""
        self.codes, self.firsts = ints_in(self.code), ints_in(self.first)
        self.seconds = ints_in(self.second)
        self.capacity = len(self.code)

    def add(self, code: int, first: int = -1, second: int = -1) -> int:
        """Append an entry."""
        at = self.count
        if at == self.capacity:
            self.reserve(1)
        self.codes[at] = code
        self.firsts[at] = first
        self.seconds[at] = second
        self.count = at + 1
        return at

    def add_many(self, code: int, operands: tuple[int, ...]) -> int:
        """Append an entry of any number of operands."""
        at = self.add(code)
        self.more[at] = operands
        return at

    def constant(self, number: float) -> int:
        """Return the entry of a number."""
        bits = _bits(number)
        at = self.known.get(bits)
        if at is None:
            at = self.add(_CONSTANT)
            self.known[bits] = at
            self.numbers[at] = number
        return at

    # ---- from nodes ------------------------------------------------------------------------------

    @cython.nonecheck(True)
    def read(
        self,
        nodes: Sequence[Any],
        arguments: Sequence[Any],
        describe: Callable[[Any, tuple[int, ...]], int],
        stopped: frozenset[int],
    ) -> None:
        """Append the arguments, then the nodes in the order in which they were made.

        `describe` adds the entry of a node that has more than a row and two operands. What was made
        inside no_grad() is in `stopped`: its operands are held, by `describe` too. The mark of a
        node says which entry it is: `base` minus the entry. No other trace has such marks, nor has
        a backward pass, so that nobody needs to take them off; one is left out, see `strange`.
        """
        base = self.base
        self.reserve(len(nodes) + len(arguments) + 16)
        for node in arguments:
            node._mark = base - self.add(_INPUT)
        for node in nodes:
            code = node._tag & UNSTAMPED
            if code >= IS_SPECIAL:
                if not _is_plain(node):
                    node._mark = base - self._special(node, describe)
                    continue
                code -= IS_SPECIAL
            if stopped and id(node) in stopped:
                node._mark = base - self._special(node, describe)
                continue
            arity = _arity[code]
            a = node._a
            b = node._b
            if arity == 2:
                if a is None:
                    p = self.constant(node._da)
                elif a._mark <= base:
                    p = base - a._mark
                else:
                    p = self.capture(a)
                if b is None:
                    q = self.constant(node._db)
                elif b._mark <= base:
                    q = base - b._mark
                else:
                    q = self.capture(b)
                node._mark = base - self.add(code, p, q)
            elif arity == 1:
                p = base - a._mark if a._mark <= base else self.capture(a)
                node._mark = base - self.add(code, p)
            elif code == _WHERE:  # the condition was a plain bool: the node is its operand
                p = base - a._mark if a._mark <= base else self.capture(a)
                node._mark = base - p
            else:  # a leaf
                node._mark = base - self.constant(node._data)

    def _special(self, node: Any, describe: Callable[[Any, tuple[int, ...]], int]) -> int:
        return describe(node, tuple([self.entry(operand) for operand in node._links()]))

    @cython.nonecheck(True)
    def entry(self, node: Any) -> int:
        """Return the entry of a node while marks are in use."""
        mark = node._mark
        return self.base - mark if mark <= self.base else self.capture(node)

    def strange(self) -> int:
        """Return the mark for Values that other threads make meanwhile: no other trace has it."""
        return self.base + 1

    @cython.nonecheck(True)
    def capture(self, node: Any) -> int:
        """Add an input for a Value that was there before the trace."""
        if (
            node._mark == self.base + 1
            or (node._a is not None and node._a._mark <= self.base)
            or (node._b is not None and node._b._mark <= self.base)
        ):
            raise TraceError(
                "a compiled function uses a Value that was made in another thread meanwhile, where "
                "it cannot be followed: the program would repeat its number for ever. Compute it "
                "in the function itself, or outside, and give it as an argument."
            )
        at = self.add(_INPUT)
        node._mark = self.base - at
        self.captured.append(at)
        self.captured_values.append(node)
        return at

    def inputs_under(self, ends: Sequence[int], stop: int = -9) -> list[int]:
        """List the inputs that entries are made from; nobody looks behind the operation `stop`."""
        seen: set[int] = set()
        rest = list(ends)
        while rest:
            at = rest.pop()
            if at not in seen and self.code[at] != stop:
                seen.add(at)
                rest += [x for x in (self.first[at], self.second[at]) if x >= 0]
                rest += self.more.get(at, ())
        return sorted(at for at in seen if self.code[at] == INPUT)

    def close(self) -> None:
        """Have the next trace take marks of its own; nodes are not looked at any more."""
        global _next_base
        _next_base = self.base - self.count - 1


@dataclass(frozen=True)
class Guard:
    """The program holds only while an entry (later: a slot) has this number."""

    at: int
    number: float
    what: str  # for people: what depends on it, and where


@dataclass
class Tape:
    """What a function did to its inputs."""

    entries: Entries
    arguments: list[int] = field(default_factory=list)  # entries of the arguments, in order
    results: list[int] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    wholes: list[int] = field(default_factory=list)  # arguments used as whole numbers
    operands: Any = None  # first and second of all entries, as they were written
    in_order: bool = False  # whether somebody relies on the order of what was captured

    def __len__(self) -> int:
        return self.entries.count


def release(nodes: list[Any]) -> list[Any]:
    """Empty a list of nodes, or of proxies; return those that somebody else holds, cut off.

    What is cut off has its number and no history any more. Users come after their operands, so from
    the latest on: when a node's turn comes no other node of the list refers to it.
    """
    found = []
    while nodes:
        node = nodes.pop()
        if getrefcount(node) > _alone:
            node._cut()
            found.append(node)
    return found


def _count_alone() -> int:
    """How many references `release` sees to a node that nobody else holds."""
    nodes = [object()]
    while nodes:
        node = nodes.pop()
        count: int = getrefcount(node)
    return count


_alone = _count_alone()


@cython.nonecheck(True)
def _is_plain(node: Any) -> bool:
    """Tell whether a node with extras is an ordinary one that has a label, say."""
    extras = node._extras
    return node._tag & UNSTAMPED != IS_SPECIAL and not (
        extras.operands or extras.custom_backward is not None or extras.prev is not None
    )
