# cython: boundscheck=False, wraparound=False, nonecheck=False
"""A trace as a flat list of operations, and the scans over it that see every single one.

Entry `k` has an operation `code[k]` and operands `first[k]`, `second[k]`, which are earlier entries
(-1: none); operations of more operands have them in `more[k]`. Codes are those of the op table and
a few of the compiler's own. Numbers are entries too, one for each bit pattern.

The rest of the compiler works on whole arrays; here are the loops that cannot: reading the nodes of
a trace (`read`), finding out what is needed and putting sums into one form (`canonical`). Compiled,
they take some tens of nanoseconds for an operation.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from ...core import cython_shim as cython
from ...core.node import HAS_EXTRAS
from ...core.ops import OPS, TABLE
from ...errors import TraceError

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

__all__ = [
    "ARGMAX",
    "CONSTANT",
    "DOT",
    "INPUT",
    "MAX",
    "MOST",
    "SUM",
    "TAKE",
    "Canonical",
    "Entries",
    "release",
    "sharing_key",
]

INPUT, CONSTANT = -1, -2
SUM, DOT, MAX, ARGMAX, TAKE = 101, 102, 103, 104, 105
_INPUT, _CONSTANT, _SUM, _DOT = INPUT, CONSTANT, SUM, DOT  # compiled, C numbers

_ADD = OPS["add"].code
_MUL = OPS["mul"].code
_WHERE = OPS["where"].code
_bits = struct.Struct("<d").pack
_arity = array("i", [-1 if row.arity is None else row.arity for row in TABLE])


# Entries, and the operands of all of them together, are counted in 32 bits: this many have room for
# the entries that sums add, and for uses that are counted twice. The nodes of such a trace would
# take more than 100 GB.
MOST = 2**30
_MOST = MOST

_zero = array("i", [0])
_next_base = -2  # marks of traces go down from here, those of backward passes up from 1


def _room(count: int) -> array[int]:
    return _zero * count


def _check_length(count: int) -> None:
    """Refuse a trace whose entries or operands could not be counted."""
    if count > _MOST:
        raise TraceError(
            f"a trace of more than {_MOST:,} operations and operands cannot be compiled. Compile a "
            "part of the function (one layer, one example) and call it several times."
        )


def sharing_key(operand: int, code: int) -> int:
    """Number the unary operations on an entry: 64 bits, as entries take up to 30 of them."""
    return operand * 256 + code


class Canonical:
    """What `canonical` finds; all but `wide` are arrays of whole numbers.

    `maps` are entries of one or two operands. A sum has a root (the entry it stands for), an entry
    to start from or -1, and its terms, from `sum_ends[k - 1]` to `sum_ends[k]`; a dot has pairs of
    factors instead. `wide` are entries of other numbers of operands, with them. `same[k]` stands in
    for k.
    """

    level: Any
    same: Any
    maps: Any
    sum_roots: Any
    sum_starts: Any
    sum_ends: Any
    sum_terms: Any
    dot_roots: Any
    dot_starts: Any
    dot_ends: Any
    lefts: Any
    rights: Any
    wide: list[tuple[int, tuple[int, ...]]]


@cython.final
@cython.cclass
class Entries:
    """The operations of a trace."""

    def __init__(self) -> None:
        self.count = 0
        self.base = _next_base
        self.code, self.first, self.second = _room(1024), _room(1024), _room(1024)
        self._look()
        self.more: dict[int, tuple[int, ...]] = {}
        self.numbers: dict[int, float] = {}  # of the constants
        self.known: dict[bytes, int] = {}  # the constants by their bits
        self.captured: list[int] = []  # entries of the Values that were there before the trace
        self.captured_values: list[Any] = []

    def reserve(self, count: int) -> None:
        """Make room for `count` entries more."""
        needed = self.count + count
        _check_length(needed)
        if needed > len(self.code):
            extra = bytes(4 * max(needed - len(self.code), len(self.code)))
            self.code = self.code + array("i", extra)
            self.first = self.first + array("i", extra)
            self.second = self.second + array("i", extra)
            self._look()

    def _look(self) -> None:
        """Compiled, these are C arrays; the others are objects, for everybody else."""
        self.codes, self.firsts, self.seconds = self.code, self.first, self.second
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
            code = node._tag
            if code >= HAS_EXTRAS:
                if not _is_plain(node):
                    node._mark = base - self._special(node, describe)
                    continue
                code -= HAS_EXTRAS
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
            if at not in seen:
                seen.add(at)
                if self.code[at] == stop:
                    continue
                if self.first[at] >= 0:
                    rest.append(self.first[at])
                    if self.second[at] >= 0:
                        rest.append(self.second[at])
                rest += self.more.get(at, ())
        return sorted(at for at in seen if self.code[at] == INPUT)

    def close(self) -> None:
        """Have the next trace take marks of its own; nodes are not looked at any more."""
        global _next_base
        _next_base = self.base - self.count - 1

    # ---- one form for what is the same ----------------------------------------------------------

    def canonical(self, ends: Sequence[int], as_written: bool = False) -> Canonical:  # noqa: PLR0915
        """Keep what the ends need; make n-ary sums and dots; give every entry a level.

        An entry is one level above its highest operand. Unary operations on the same operand are
        shared. A + with one use, by another +, is drawn into that one; so is a product. A bracket
        on the right, `a + (b + c)`, stays unless there are products in it: then the sum is a dot,
        whose terms may change places. `as_written`: nothing is drawn anywhere, and nothing shared.
        The entries themselves are changed: whoever wants them again has kept a copy (see `Tape`).
        """
        count = self.count
        spread = 2  # terms that sums may have
        for operands in self.more.values():
            spread += len(operands)
        _check_length(count + spread + len(ends))
        code, first, second = self.codes, self.firsts, self.seconds
        uses, user = _room(count), _room(count)
        self._count_uses(ends, uses, user)
        found = Canonical()
        inside, has_product = _room(count), _room(count)
        roots = products = plain = 0
        for k in range(count):
            op = code[k]
            if uses[k] == 0 or op < 0:
                continue
            above = user[k]
            drawn = uses[k] == 1 and not as_written
            if drawn:
                drawn = code[above] == _ADD or code[above] == _SUM
            if op in (_ADD, _SUM):
                spread += 2
                a = first[k]
                if a >= 0:
                    b = second[k]
                    has_product[k] = (inside[a] and has_product[a]) or (
                        inside[b] and has_product[b]
                    )
                else:
                    for at in self.more[k]:
                        if inside[at] and has_product[at]:
                            has_product[k] = 1
                if drawn and not has_product[k]:
                    a = first[above]
                    drawn = (a if a >= 0 else self.more[above][0]) == k
                if drawn:
                    inside[k] = 1
                else:
                    roots += 1
            elif op == _MUL and drawn:
                inside[k] = 2
                has_product[k] = 1
                products += 1
            elif op == _DOT:
                roots += 1
                products += len(self.more[k]) // 2
            else:
                plain += 1
        # A sum may need an entry of its own for the terms that are no products: see `_add_sum`.
        self.reserve(roots)
        code, first, second = self.codes, self.firsts, self.seconds
        level, same = _room(count + roots), _room(count + roots)
        stack, maps = _room(spread), _room(plain)
        work = _Sums(roots, spread, products)
        shared: dict[int, int] = {}
        wide: list[tuple[int, tuple[int, ...]]] = []
        map_count = 0
        zero = self.known.get(bytes(8), -1)
        for k in range(count):
            same[k] = k
        for k in range(count):
            op = code[k]
            if uses[k] == 0 or op < 0:
                continue
            if inside[k]:
                continue
            if op in (_ADD, _SUM):
                self._add_sum(k, zero, inside, stack, level, same, work)
                continue
            a = first[k]
            if a < 0:
                operands = tuple([same[at] for at in self.more[k]])
                highest = 0
                for at in operands:
                    highest = level[at] if level[at] > highest else highest
                level[k] = highest + 1
                if op == _DOT:
                    work.add_dot(k, zero, operands)
                else:
                    wide.append((k, operands))
                continue
            a = same[a]
            first[k] = a
            highest = level[a]
            b = second[k]
            if b < 0:
                if not as_written:
                    key = sharing_key(a, op)
                    known = shared.get(key)
                    if known is not None:
                        same[k] = known
                        continue
                    shared[key] = k
            else:
                b = same[b]
                second[k] = b
                highest = max(highest, level[b])
            level[k] = highest + 1
            maps[map_count] = k
            map_count += 1
        found.level, found.same, found.wide = level, same, wide
        found.maps = maps[:map_count]
        work.into(found)
        return found

    def _count_uses(self, ends: Sequence[int], uses: Any, user: Any) -> None:
        """Count the uses of each entry by entries that are used; note the last user.

        Operands come before their users, and sums and products have two of them: what is built on
        that, here and in `_add_sum`, does not look again.
        """
        code, first, second = self.codes, self.firsts, self.seconds
        for at in ends:
            _check_operand(at, self.count)
            uses[at] += 2  # used outside too: never drawn into a sum
        for k in range(self.count - 1, -1, -1):
            if uses[k] == 0:
                continue
            op = code[k]
            a = first[k]
            if a >= 0:
                _check_operand(a, k)
                uses[a] += 1
                user[a] = k
                b = second[k]
                if b >= 0 or op in (_ADD, _SUM, _MUL):
                    _check_operand(b, k)
                    uses[b] += 1
                    user[b] = k
            elif op >= 0:
                if op == _MUL:
                    _check_operand(a, k)
                for at in self.more[k]:
                    _check_operand(at, k)
                    uses[at] += 1
                    user[at] = k

    def _add_sum(  # noqa: PLR0915 - one loop, so that it is fast
        self, root: int, zero: int, inside: Any, stack: Any, level: Any, same: Any, work: Any
    ) -> None:
        """Collect the terms under a + that was not drawn into another one."""
        code, first, second = self.codes, self.firsts, self.seconds
        lefts, rights, terms = work.lefts, work.rights, work.terms
        pairs = pairs_before = work.pair_count
        lone = lone_before = work.term_count
        zeros = highest = 0
        stack[0] = root
        top = 1
        while top:
            top -= 1
            k = stack[top]
            drawn = 1 if k == root else inside[k] if code[k] >= 0 else 0
            if drawn == 1:
                a = first[k]
                if a >= 0:
                    stack[top] = second[k]
                    stack[top + 1] = a
                    top += 2
                else:
                    for at in reversed(self.more[k]):
                        stack[top] = at
                        top += 1
            elif drawn == 2:
                a = same[first[k]]
                b = same[second[k]]
                lefts[pairs] = a
                rights[pairs] = b
                pairs += 1
                highest = level[a] if level[a] > highest else highest
                highest = level[b] if level[b] > highest else highest
            elif k == zero:
                zeros += 1
            else:
                a = same[k]
                terms[lone] = a
                lone += 1
        start = -1
        if pairs > pairs_before:
            if lone == lone_before + 1:  # a zero says nothing more when something else starts
                start = terms[lone_before]
                lone = lone_before
            elif lone > lone_before:  # a sum of its own, so that the products stay among themselves
                start = self.add(_SUM)
                same[start] = start
                level[start] = 1 + _highest(terms, lone_before, lone, level)
                work.end_sum(start, zero if zeros else -1, lone)
            elif zeros:
                start = zero
            if start >= 0 and level[start] > highest:
                highest = level[start]
            level[root] = highest + 1
            work.end_dot(root, start, pairs)
            return
        if lone == lone_before:
            terms[lone] = zero
            lone += 1
            zeros -= 1
        level[root] = 1 + _highest(terms, lone_before, lone, level)
        work.end_sum(root, zero if zeros else -1, lone)


@cython.final
@cython.cclass
class _Sums:
    """Sums and dots as they are found."""

    def __init__(self, count: int, spread: int, products: int) -> None:
        self.roots, self.starts, self.ends = _room(count), _room(count), _room(count)
        self.terms = _room(spread)
        self.dot_roots, self.dot_starts, self.dot_ends = _room(count), _room(count), _room(count)
        self.lefts, self.rights = _room(products), _room(products)
        self.sum_count = self.term_count = self.dot_count = self.pair_count = 0

    def end_sum(self, root: int, start: int, end: int) -> None:
        self.roots[self.sum_count] = root
        self.starts[self.sum_count] = start
        self.ends[self.sum_count] = end
        self.sum_count += 1
        self.term_count = end

    def end_dot(self, root: int, start: int, end: int) -> None:
        self.dot_roots[self.dot_count] = root
        self.dot_starts[self.dot_count] = start
        self.dot_ends[self.dot_count] = end
        self.dot_count += 1
        self.pair_count = end

    def add_dot(self, root: int, start: int, operands: Sequence[int]) -> None:
        half = len(operands) // 2
        end = self.pair_count
        for k in range(half):
            self.lefts[end] = operands[k]
            self.rights[end] = operands[k + half]
            end += 1
        self.end_dot(root, start, end)

    def into(self, found: Canonical) -> None:
        sums, dots = self.sum_count, self.dot_count
        found.sum_roots, found.sum_starts = self.roots[:sums], self.starts[:sums]
        found.sum_ends, found.sum_terms = self.ends[:sums], self.terms[: self.term_count]
        found.dot_roots, found.dot_starts = self.dot_roots[:dots], self.dot_starts[:dots]
        found.dot_ends = self.dot_ends[:dots]
        found.lefts, found.rights = self.lefts[: self.pair_count], self.rights[: self.pair_count]


def release(nodes: list[Any]) -> list[Any]:
    """Empty a list of nodes, the latest first; return those that somebody else holds, cut off.

    What is cut off has its number and no history any more. Users come after their operands, so when
    a node's turn comes no other node of the list refers to it.
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


def _check_operand(at: int, user: int) -> None:
    if at < 0 or at >= user:
        raise ValueError(f"entry {user} has the operand {at}; operands come before their users.")


def _highest(terms: Any, start: int, end: int, level: Any) -> int:
    highest = 0
    for k in range(start, end):
        highest = max(highest, level[terms[k]])
    return highest


@cython.nonecheck(True)
def _is_plain(node: Any) -> bool:
    """Tell whether a node with extras is an ordinary one that has a label, say."""
    extras = node._extras
    return node._tag != HAS_EXTRAS and not (
        extras.operands or extras.custom_backward is not None or extras.prev is not None
    )
