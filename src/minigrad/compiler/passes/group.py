"""From a tape of scalars back to the tensor program it came from.

1. `canonical`  what the results need; chains and trees of + become sums of many terms,
                        products in them become dots; every entry gets a level, one above its
                        highest operand
2. `_groups`            entries of one level and one operation become one instruction
3. `matrix_products`    among dots: those that share operands in a complete bipartite pattern
4. `_laid_out`          every group gets a range of slots, every operand a `Ref`: strides if its
                        slots follow a pattern, else an index array

All of it is linear in the length of the tape. Multiplications are not shared, and products with a
second use are not drawn into sums: both would tear matrix products apart.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen.elementwise import MAPS
from ...core.turns import forked
from ..ir.kinds import KINDS
from ..ir.program import Instruction, Program
from ..ir.refs import Ref, ref_of
from ..tracing.canonical import Canonical, canonical
from ..tracing.tape import CONSTANT, MAX, TAKE, Entries, Guard, Tape
from .matrices import Ints, by_key, matrix_products

_NAMES = {op.code: op.name for op in MAPS.values()}
_lock = forked(threading.RLock())  # two threads may ask for different programs of one tape


def group(tape: Tape, as_written: bool = False) -> Program:
    """Return the program of a tape; `as_written`, every sum in its own order, and no matrices."""
    ends = [*tape.results, *(guard.at for guard in tape.guards)]
    entries = tape.entries
    with _lock:
        if tape.operands is None:
            tape.operands = tuple(np.array(table, copy=True) for table in _operands(entries))
        else:  # a program was made of it before, which has redirected some
            for table, written in zip(_operands(entries), tape.operands, strict=True):
                table[: len(written)] = written
        return _laid_out(tape, canonical(entries, ends, as_written), as_written)


def _operands(entries: Entries) -> tuple[Any, Any]:
    first, second = (np.frombuffer(x, dtype=np.int32) for x in (entries.first, entries.second))
    return first[: entries.count], second[: entries.count]


# ---- groups --------------------------------------------------------------------------------------


@dataclass
class _Group:
    """An instruction to be: entries instead of slots."""

    kind: str
    outs: Ints  # entries, in the order of their slots
    args: list[Ints]  # entries, of shape (rows, terms) each
    shape: tuple[int, ...]
    op: str = ""


_Levels = list[list[_Group]]


def _ints(numbers: Any) -> Ints:
    """Return an array of C ints as one of NumPy's."""
    return np.frombuffer(numbers, dtype=np.int32).astype(np.int64)


def _groups(tape: Tape, canonical: Canonical, as_written: bool) -> list[_Group]:
    """The groups, those of lower levels first."""
    entries = tape.entries
    level = _ints(canonical.level)
    tables = (entries.code, entries.first, entries.second)
    code, first, second = [_ints(memoryview(table)[: entries.count]) for table in tables]
    height = 1 + (int(level.max()) if len(level) else 0)
    levels: _Levels = [[] for _ in range(height)]
    maps = _ints(canonical.maps)
    for key, at in by_key(level[maps] * 256 + code[maps]):
        outs = maps[at]
        args = [first[outs][:, None]]
        if second[outs[0]] >= 0:
            args.append(second[outs][:, None])
        levels[key >> 8].append(_Group("map", outs, args, (len(outs),), _NAMES[key & 255]))
    _add_wide(canonical, code, level, levels)
    zero = entries.known.get(bytes(8), -1)
    _add_sums(canonical, level, zero, levels)
    _add_dots(canonical, level, zero, _rank(tape), levels, not as_written)
    return [part for parts in levels for part in parts]


def _add_wide(canonical: Canonical, code: Ints, level: Ints, levels: _Levels) -> None:
    """Operations of three operands, largest of many, takes."""
    found: dict[tuple[int, int, int], list[tuple[int, ...]]] = {}
    for at, operands in canonical.wide:
        op = int(code[at])
        length = len(operands) if op == TAKE else 0
        found.setdefault((int(level[at]), op, length), []).append((at, *operands))
    for (height, op, _), rows in found.items():
        longest = max(map(len, rows))  # an operand seen twice is no larger than once
        table = np.array([row + (row[1],) * (longest - len(row)) for row in rows])
        outs, operands_of = table[:, 0], table[:, 1:]
        if op in _NAMES:
            args = [operands_of[:, k : k + 1] for k in range(operands_of.shape[1])]
            levels[height].append(_Group("map", outs, args, (len(rows),), _NAMES[op]))
        elif op == TAKE:
            args = [operands_of[:, 1:], operands_of[:, :1]]
            levels[height].append(_Group("take", outs, args, args[0].shape))
        else:
            kind = "max" if op == MAX else "argmax"
            levels[height].append(_Group(kind, outs, [operands_of], operands_of.shape))


@dataclass
class _Ragged:
    """Sums or dots of one level: roots, what they start from, and columns of different lengths."""

    roots: Ints
    starts: Ints
    begins: Ints
    lengths: Ints
    columns: list[Ints]  # terms; or left and right factors

    def part(self, at: Any) -> _Ragged:
        begins, lengths = self.begins[at], self.lengths[at]
        return _Ragged(self.roots[at], self.starts[at], begins, lengths, self.columns)

    def start(self, at: Any = slice(None)) -> list[Ints]:
        """What rows start from, as an operand, if they do: all of them or none."""
        return [self.starts[at][:, None]] if self.starts[0] >= 0 else []

    def tables(self, zero: int) -> list[Ints]:
        """The columns as tables, short rows filled up with zeros."""
        width = int(self.lengths.max())
        places = np.arange(width)
        at = self.begins[:, None] + places
        if int(self.lengths.min()) == width:
            return [column[at] for column in self.columns]
        there = places < self.lengths[:, None]
        at = np.where(there, at, 0)
        return [np.where(there, column[at], zero) for column in self.columns]


def _ragged(roots: Any, starts: Any, ends: Any, columns: list[Any]) -> _Ragged:
    stops = _ints(ends)
    begins = np.concatenate([[0], stops[:-1]]) if len(stops) else stops
    return _Ragged(_ints(roots), _ints(starts), begins, stops - begins, [_ints(c) for c in columns])


def _add_sums(canonical: Canonical, level: Ints, zero: int, levels: _Levels) -> None:
    c = canonical
    sums = _ragged(c.sum_roots, c.sum_starts, c.sum_ends, [c.sum_terms])
    plain = (sums.lengths == 2) & (sums.starts < 0)
    for key, at in by_key(level[sums.roots] * 4 + 2 * plain + (sums.starts >= 0)):
        same = sums.part(at)
        if key & 2:  # two terms and nothing to start from: an addition
            (terms,) = same.tables(zero)
            args = [terms[:, :1], terms[:, 1:]]
            levels[key >> 2].append(_Group("map", same.roots, args, (len(terms),), "add"))
            continue
        for part in _of_like_length(same, zero):
            (terms,) = part.tables(zero)
            args = [terms, *part.start()]
            levels[key >> 2].append(_Group("sum", part.roots, args, terms.shape))


def _add_dots(
    canonical: Canonical, level: Ints, zero: int, rank: Any, levels: _Levels, with_matrices: bool
) -> None:
    c = canonical
    dots = _ragged(c.dot_roots, c.dot_starts, c.dot_ends, [c.lefts, c.rights])
    left, right = dots.columns
    swap = rank[left] > rank[right]
    dots.columns = [np.where(swap, right, left), np.where(swap, left, right)]
    for key, at in by_key(level[dots.roots] * 2 + (dots.starts >= 0)):
        same = dots.part(at)
        taken = np.zeros(len(at), dtype=bool)
        for _, where in by_key(same.lengths) if with_matrices else ():
            for product, members in _products(same.part(where)):
                taken[where[members]] = True
                levels[key >> 1].append(product)
        for part in _of_like_length(same.part(np.flatnonzero(~taken)), zero):
            tables = part.tables(zero)
            args = [*tables, *part.start()]
            levels[key >> 1].append(_Group("dot", part.roots, args, tables[0].shape))


def _products(dots: _Ragged) -> Iterator[tuple[_Group, Ints]]:
    """Yield the matrix products among dots of one length, each with the places of its dots."""
    if len(dots.roots) < 4:
        return
    for members, rows, columns in matrix_products(*dots.tables(0)):
        flat = members.ravel()
        args = [rows, columns, *dots.start(flat)]
        yield _Group("mm", dots.roots[flat], args, (*members.shape, rows.shape[1])), flat


def _rank(tape: Tape) -> Any:
    """Which factor of a product goes to the left: parameters, then numbers, arguments, the rest."""
    entries = tape.entries
    rank = np.full(entries.count, 3, dtype=np.int8)
    rank[tape.arguments] = 2
    rank[list(entries.numbers)] = 1
    rank[entries.captured] = 0
    return rank


def _of_like_length(items: _Ragged, zero: int) -> list[_Ragged]:
    """Split by length; rows are to be filled up with zeros where that does not double the work.

    Only where there is a number to start from: adding 0 at the end then changes nothing, while it
    would turn a sum of -0.0 into 0.0.
    """
    count = len(items.roots)
    if not count:
        return []
    lengths = items.lengths
    if items.start() and zero >= 0:
        if int(lengths.max()) * count <= 2 * int(lengths.sum()) + 8:
            return [items]
        lengths = 1 << np.ceil(np.log2(lengths)).astype(np.int64)  # up to a power of two
    return [items.part(at) for _, at in by_key(lengths)]


# ---- slots ---------------------------------------------------------------------------------------


def _laid_out(tape: Tape, canonical: Canonical, as_written: bool) -> Program:
    """Give every group a range of slots and every operand a Ref."""
    groups = _groups(tape, canonical, as_written)
    entries = tape.entries
    if not tape.in_order:
        _order_captured(tape, groups)
    slot = np.full(entries.count, -1, dtype=np.int64)
    inputs = [*entries.captured, *tape.arguments]
    slot[inputs] = np.arange(len(inputs))
    numbers = _constants_in_use(tape, groups)
    slot[numbers] = len(inputs) + np.arange(len(numbers))
    size = len(inputs) + len(numbers)
    instructions = []
    for part in groups:
        count = len(part.outs)
        slot[part.outs] = np.arange(size, size + count)
        args = tuple(ref_of(slot[arg]) for arg in part.args)
        out = Ref(size, inner=count, inner_stride=1)
        instructions.append(Instruction(part.kind, part.shape, out, args, part.op))
        size += count
    same = canonical.same
    return Program(
        size=size,
        inputs=len(inputs),
        parameters=len(entries.captured),
        constants=np.array([entries.numbers[at] for at in numbers], dtype=np.float64),
        instructions=tuple(instructions),
        results=tuple(int(slot[same[at]]) for at in tape.results),
        guards=tuple(Guard(int(slot[same[g.at]]), g.number, g.what) for g in tape.guards),
    )


def _order_captured(tape: Tape, groups: list[_Group]) -> None:
    """Reorder the captured Values as matrix products and dots read them.

    The weights of a layer are then contiguous, row by row, whatever order the trace read them in.
    """
    entries = tape.entries
    by_layout = sorted(groups, key=lambda part: KINDS[part.kind].layout)
    order = _in_order_of_use(entries.count, by_layout, entries.captured)
    order.update(dict.fromkeys(entries.captured))
    value_of = dict(zip(entries.captured, entries.captured_values, strict=True))
    entries.captured = list(order)
    entries.captured_values = [value_of[at] for at in order]


def _constants_in_use(tape: Tape, groups: list[_Group]) -> list[int]:
    """The constants that a group or a result mentions, in order of use."""
    entries = tape.entries
    order = _in_order_of_use(entries.count, groups, list(entries.numbers))
    ends = [*tape.results, *(guard.at for guard in tape.guards)]
    order.update(dict.fromkeys(at for at in ends if entries.code[at] == CONSTANT))
    return list(order)


def _in_order_of_use(count: int, groups: list[_Group], wanted: list[int]) -> dict[int, None]:
    """List those of the wanted entries that groups mention, in the order in which they do."""
    is_wanted = np.zeros(count, dtype=bool)
    is_wanted[wanted] = True
    pieces = [arg[is_wanted[arg]] for part in groups for arg in part.args]
    return dict.fromkeys(np.concatenate(pieces).tolist() if pieces else ())
