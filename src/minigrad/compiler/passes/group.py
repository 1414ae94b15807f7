"""From a tape of scalars back to the tensor program it came from.

1. `canonical`  what the results need; chains and trees of + become sums of many terms,
                        products in them become dots; every entry gets a level, one above its
                        highest operand
2. `_groups`            entries of one level and one operation become one instruction
                        (`_add_chains`: where there is one entry of each for many levels, a chain)
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
from ..ir.instructions import DOT, LEAST, MAP, OPERANDS, Chain, Instruction, Part, listing
from ..ir.kinds import KINDS
from ..ir.program import Program
from ..ir.refs import Ref, ref_of
from ..tracing.canonical import Canonical, canonical
from ..tracing.tape import CONSTANT, MAX, TAKE, Entries, Guard, Tape
from .matrices import Ints, by_key, matrix_products

_NAMES = {op.code: op.name for op in MAPS.values()}
_KINDS_OF_ROWS = (("map", MAP), ("dot", DOT))
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


@dataclass
class _Rows:
    """A chain to be: entries instead of slots."""

    kind: Ints
    op: Ints
    outs: Ints
    operands: Ints  # of shape (rows, OPERANDS), -1 for none

    def of_kind(self, kind: int) -> _Rows:
        at = self.kind == kind
        return _Rows(self.kind[at], self.op[at], self.outs[at], self.operands[at])

    @property
    def args(self) -> list[Ints]:
        """The operands that there are, row by row."""
        return [self.operands[self.operands >= 0]]


_Part = _Group | _Rows
_Levels = list[list[_Part]]


def _ints(numbers: Any) -> Ints:
    """Return an array of C ints as one of NumPy's."""
    return np.frombuffer(numbers, dtype=np.int32).astype(np.int64)


def _groups(tape: Tape, canonical: Canonical, as_written: bool) -> list[_Part]:
    """The groups, those of lower levels first."""
    entries, c = tape.entries, canonical
    level = _ints(c.level)
    code: Any = np.frombuffer(entries.code, dtype=np.int32)[: entries.count]
    first, second = _operands(entries)  # as they are: few are looked at
    height = 1 + (int(level.max()) if len(level) else 0)
    levels: _Levels = [[] for _ in range(height)]
    maps = _ints(c.maps)
    sums = _ragged(c.sum_roots, c.sum_starts, c.sum_ends, [c.sum_terms])
    dots = _ragged(c.dot_roots, c.dot_starts, c.dot_ends, [c.lefts, c.rights])
    _put_left(dots, _rank(tape))
    if not as_written and height > LEAST:
        wide = [at for at, _ in c.wide]
        thin = _thin(height, level, code, maps, sums, dots, wide)
        if thin.any():
            maps, sums, dots = _add_chains(
                thin, level, (code, first, second), maps, sums, dots, levels
            )
    for key, at in by_key(level[maps] * 256 + code[maps]):
        outs = maps[at]
        tables = (first, second) if second[outs[0]] >= 0 else (first,)
        args = [table[outs].astype(np.int64)[:, None] for table in tables]
        levels[key >> 8].append(_Group("map", outs, args, (len(outs),), _NAMES[key & 255]))
    _add_wide(canonical, code, level, levels)
    zero = entries.known.get(bytes(8), -1)
    _add_sums(sums, level, zero, levels)
    _add_dots(dots, level, zero, levels, not as_written)
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


def _add_sums(sums: _Ragged, level: Ints, zero: int, levels: _Levels) -> None:
    keys = level[sums.roots] * 4 + 2 * _is_plain(sums) + (sums.starts >= 0)
    for key, at in by_key(keys):
        same = sums.part(at)
        if key & 2:
            (terms,) = same.tables(zero)
            args = [terms[:, :1], terms[:, 1:]]
            levels[key >> 2].append(_Group("map", same.roots, args, (len(terms),), "add"))
            continue
        for part in _of_like_length(same, zero):
            (terms,) = part.tables(zero)
            args = [terms, *part.start()]
            levels[key >> 2].append(_Group("sum", part.roots, args, terms.shape))


def _is_plain(sums: _Ragged) -> Any:
    """Which sums are additions: two terms, and nothing to start from."""
    return (sums.lengths == 2) & (sums.starts < 0)


def _put_left(dots: _Ragged, rank: Any) -> None:
    """Have the factor of lower rank be the left one."""
    left, right = dots.columns
    swap = rank[left] > rank[right]
    dots.columns = [np.where(swap, right, left), np.where(swap, left, right)]


def _add_dots(dots: _Ragged, level: Ints, zero: int, levels: _Levels, with_matrices: bool) -> None:
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


# ---- chains: levels of a single element for each operation ---------------------------------------


def _thin(
    height: int,
    level: Ints,
    code: Ints,
    maps: Ints,
    sums: _Ragged,
    dots: _Ragged,
    wide: list[int],
) -> Any:
    """Which levels have nothing but rows for chains, no two of which would be one instruction.

    Only where as many as make a chain follow each other.
    """
    thin = np.ones(height, dtype=bool)
    thin[level[wide]] = False
    thin[level[sums.roots[~_is_plain(sums)]]] = False
    thin[level[dots.roots[dots.lengths != 1]]] = False
    kinds = (
        level[maps] * 256 + code[maps],
        level[sums.roots] * 256,
        level[dots.roots] * 256 + (dots.starts >= 0),
    )
    for keys in kinds:
        ordered = np.sort(keys)
        thin[ordered[1:][ordered[1:] == ordered[:-1]] >> 8] = False
    ends = np.flatnonzero(np.diff(thin, prepend=False, append=False))
    for first, end in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True):
        if end - first < LEAST:
            thin[first:end] = False
    return thin


def _add_chains(
    thin: Any,
    level: Ints,
    tables: tuple[Ints, Ints, Ints],
    maps: Ints,
    sums: _Ragged,
    dots: _Ragged,
    levels: _Levels,
) -> tuple[Ints, _Ragged, _Ragged]:
    """Make chains of what is in thin levels; return the others.

    Rows of one level are in the order in which groups would be: it is that of contributions.
    """
    in_maps, in_sums, in_dots = (thin[level[at]] for at in (maps, sums.roots, dots.roots))
    code, first, second = tables
    outs, pairs, products = maps[in_maps], sums.part(in_sums), dots.part(in_dots)
    (terms,), begins = pairs.columns, pairs.begins
    factors = [column[products.begins] for column in products.columns]
    # Results, kind, operation, operands, and which of a level comes first.
    pieces: list[tuple[Ints, int, Any, list[Ints], Any]] = [
        (outs, MAP, code[outs], [first[outs], second[outs]], code[outs]),
        (pairs.roots, MAP, MAPS["add"].code, [terms[begins], terms[begins + 1]], 256),
        (products.roots, DOT, -1, [*factors, products.starts], 257 + (products.starts >= 0)),
    ]
    rows = _Rows(*map(np.concatenate, zip(*map(_rows_of, pieces), strict=True)))
    ranks = np.concatenate([np.broadcast_to(rank, len(outs)) for outs, *_, rank in pieces])
    order = np.argsort(level[rows.outs] * 512 + ranks)
    at = level[rows.outs[order]]
    starts = np.flatnonzero(thin & ~np.concatenate([[False], thin[:-1]]))
    bounds = [*np.searchsorted(at, starts).tolist(), len(order)]
    for start, begin, end in zip(starts.tolist(), bounds[:-1], bounds[1:], strict=True):
        chosen = order[begin:end]
        chain = _Rows(rows.kind[chosen], rows.op[chosen], rows.outs[chosen], rows.operands[chosen])
        if len(chosen):
            levels[start].append(chain)
    return maps[~in_maps], sums.part(~in_sums), dots.part(~in_dots)


def _rows_of(piece: tuple[Ints, int, Any, list[Ints], Any]) -> tuple[Ints, Ints, Ints, Ints]:
    outs, kind, op, columns, _ = piece
    operands = np.full((len(outs), OPERANDS), -1, dtype=np.int64)
    for k, column in enumerate(columns):
        operands[:, k] = column
    return np.full(len(outs), kind), np.broadcast_to(op, len(outs)), outs, operands


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
    parts: list[Part] = []
    for part in groups:
        count = len(part.outs)
        slot[part.outs] = np.arange(size, size + count)
        if isinstance(part, _Rows):
            operands = np.where(part.operands >= 0, slot[part.operands], -1)
            outs, none = slot[part.outs], np.zeros(count, dtype=np.int64)
            parts.append(Chain(part.kind, part.op, none, none > 0, outs, operands))
            size += count
            continue
        args = tuple(ref_of(slot[arg]) for arg in part.args)
        out = Ref(size, inner=count, inner_stride=1)
        parts.append(Instruction(part.kind, part.shape, out, args, part.op))
        size += count
    same = canonical.same
    return Program(
        size=size,
        inputs=len(inputs),
        parameters=len(entries.captured),
        constants=np.array([entries.numbers[at] for at in numbers], dtype=np.float64),
        instructions=listing(parts),
        results=tuple(int(slot[same[at]]) for at in tape.results),
        guards=tuple(Guard(int(slot[same[g.at]]), g.number, g.what) for g in tape.guards),
    )


def _order_captured(tape: Tape, groups: list[_Part]) -> None:
    """Reorder the captured Values as matrix products and dots read them.

    The weights of a layer are then contiguous, row by row, whatever order the trace read them in.
    """
    entries = tape.entries
    found: list[tuple[int, _Part]] = []
    for part in groups:
        if isinstance(part, _Rows):
            found += [(KINDS[name].layout, part.of_kind(k)) for name, k in _KINDS_OF_ROWS]
        else:
            found.append((KINDS[part.kind].layout, part))
    by_layout = [part for _, part in sorted(found, key=lambda pair: pair[0])]
    order = _in_order_of_use(entries.count, by_layout, entries.captured)
    order.update(dict.fromkeys(entries.captured))
    value_of = dict(zip(entries.captured, entries.captured_values, strict=True))
    entries.captured = list(order)
    entries.captured_values = [value_of[at] for at in order]


def _constants_in_use(tape: Tape, groups: list[_Part]) -> list[int]:
    """The constants that a group or a result mentions, in order of use."""
    entries = tape.entries
    order = _in_order_of_use(entries.count, groups, list(entries.numbers))
    ends = [*tape.results, *(guard.at for guard in tape.guards)]
    order.update(dict.fromkeys(at for at in ends if entries.code[at] == CONSTANT))
    return list(order)


def _in_order_of_use(count: int, groups: list[_Part], wanted: list[int]) -> dict[int, None]:
    """List those of the wanted entries that groups mention, in the order in which they do."""
    is_wanted = np.zeros(count, dtype=bool)
    is_wanted[wanted] = True
    pieces = [arg[is_wanted[arg]] for part in groups for arg in part.args]
    return dict.fromkeys(np.concatenate(pieces).tolist() if pieces else ())
