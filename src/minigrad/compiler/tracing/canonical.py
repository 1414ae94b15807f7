# cython: boundscheck=False, wraparound=False, nonecheck=False
"""One form for what is the same: what a tape needs, with sums and dots of many terms, and levels.

Loops over every single entry: in the native engine some tens of nanoseconds for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import cython_shim as cython
from ...core.ops import OPS
from .tape import DOT, SUM, check_length, zeros

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from ...core.cython_shim import ints_in

_SUM, _DOT = SUM, DOT  # C numbers, in the native engine
_ADD = OPS["add"].code
_MUL = OPS["mul"].code


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


@cython.nonecheck(True)
def canonical(entries: Any, ends: Sequence[int], as_written: bool = False) -> Canonical:  # noqa: PLR0915
    """Keep what the ends need; make n-ary sums and dots; give every entry a level.

    An entry is one level above its highest operand. Unary operations on the same operand are
    shared. A + with one use, by another +, is drawn into that one; so is a product. A bracket
    on the right, `a + (b + c)`, stays unless there are products in it: then the sum is a dot,
    whose terms may change places. `as_written`: nothing is drawn anywhere, and nothing shared.
    The entries themselves are changed: whoever wants them again has kept a copy (see `tape.Tape`).
    """
    count = entries.count
    spread = 2  # terms that sums may have
    for operands in entries.more.values():
        spread += len(operands)
    check_length(count + spread + len(ends))
    code, first, second = entries.codes, entries.firsts, entries.seconds
    # Arrays are held by names of their own: in the native engine the others are addresses in them.
    uses_array, user_array = zeros(count), zeros(count)
    uses, user = ints_in(uses_array), ints_in(user_array)
    _count_uses(entries, ends, uses, user)
    found = Canonical()
    inside_array, product_array = zeros(count), zeros(count)
    inside, has_product = ints_in(inside_array), ints_in(product_array)
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
                has_product[k] = (inside[a] and has_product[a]) or (inside[b] and has_product[b])
            else:
                for at in entries.more[k]:
                    if inside[at] and has_product[at]:
                        has_product[k] = 1
            if drawn and not has_product[k]:
                a = first[above]
                drawn = (a if a >= 0 else entries.more[above][0]) == k
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
            products += len(entries.more[k]) // 2
        else:
            plain += 1
    # A sum may need an entry of its own for the terms that are no products: see `_add_sum`.
    entries.reserve(roots)
    code, first, second = entries.codes, entries.firsts, entries.seconds
    levels, sames = zeros(count + roots), zeros(count + roots)
    level, same = ints_in(levels), ints_in(sames)
    stack_array, map_array = zeros(spread), zeros(plain)
    stack, maps = ints_in(stack_array), ints_in(map_array)
    work = _Sums(roots, spread, products)
    shared: dict[int, int] = {}
    wide: list[tuple[int, tuple[int, ...]]] = []
    map_count = 0
    zero = entries.known.get(bytes(8), -1)
    for k in range(count):
        same[k] = k
    for k in range(count):
        op = code[k]
        if uses[k] == 0 or op < 0 or inside[k]:
            continue
        if op in (_ADD, _SUM):
            _add_sum(entries, k, zero, inside, stack, level, same, work)
            continue
        a = first[k]
        if a < 0:
            operands = tuple([same[at] for at in entries.more[k]])
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
    found.level, found.same, found.wide = levels, sames, wide
    found.maps = map_array[:map_count]
    work.into(found)
    return found


def _count_uses(entries: Any, ends: Sequence[int], uses: Any, user: Any) -> None:
    """Count the uses of each entry by entries that are used; note the last user.

    Operands come before their users, and sums and products have two of them: what is built on
    that, here and in `_add_sum`, does not look again.
    """
    code, first, second = entries.codes, entries.firsts, entries.seconds
    for at in ends:
        _check_operand(at, entries.count)
        uses[at] += 2  # used outside too: never drawn into a sum
    for k in range(entries.count - 1, -1, -1):
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
            for at in entries.more[k]:
                _check_operand(at, k)
                uses[at] += 1
                user[at] = k


def _add_sum(  # noqa: PLR0915 - one loop, so that it is fast
    entries: Any, root: int, zero: int, inside: Any, stack: Any, level: Any, same: Any, work: Any
) -> None:
    """Collect the terms under a + that was not drawn into another one."""
    code, first, second = entries.codes, entries.firsts, entries.seconds
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
                for at in reversed(entries.more[k]):
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
            start = entries.add(_SUM)
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
        sizes = [count, count, count, spread, count, count, count, products, products]
        self.arrays = [zeros(size) for size in sizes]
        roots, starts, ends, terms, dot_roots, dot_starts, dot_ends, lefts, rights = self.arrays
        self.roots, self.starts, self.ends = ints_in(roots), ints_in(starts), ints_in(ends)
        self.terms, self.lefts, self.rights = ints_in(terms), ints_in(lefts), ints_in(rights)
        self.dot_roots, self.dot_starts = ints_in(dot_roots), ints_in(dot_starts)
        self.dot_ends = ints_in(dot_ends)
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
        roots, starts, ends, terms, dot_roots, dot_starts, dot_ends, lefts, rights = self.arrays
        found.sum_roots, found.sum_starts, found.sum_ends = roots[:sums], starts[:sums], ends[:sums]
        found.sum_terms = terms[: self.term_count]
        found.dot_roots, found.dot_starts = dot_roots[:dots], dot_starts[:dots]
        found.dot_ends = dot_ends[:dots]
        found.lefts, found.rights = lefts[: self.pair_count], rights[: self.pair_count]


def _check_operand(at: int, user: int) -> None:
    if at < 0 or at >= user:
        raise ValueError(f"entry {user} has the operand {at}; operands come before their users.")


def _highest(terms: Any, start: int, end: int, level: Any) -> int:
    highest = 0
    for k in range(start, end):
        highest = max(highest, level[terms[k]])
    return highest
