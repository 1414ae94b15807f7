"""Rows of several lengths, kept as whole tables, so that a triangle is read by strides."""

from __future__ import annotations

import numpy as np

from ..ir.refs import distinct
from .pieces import Pieces
from .plan import Table, WholeTable

_IN_TABLES = ("map", "dot", "sum")  # what may be computed for a whole table


def whole_tables(pieces: Pieces) -> dict[int, WholeTable]:
    """Find the pieces that are read as rows of several lengths, and what goes along with them."""
    program, first = pieces.program, pieces.first_result
    found: dict[int, WholeTable] = {}
    same: dict[bytes, WholeTable] = {}
    links: list[tuple[int, int]] = []  # pieces that are read element by element, and the reader
    for at, i in enumerate(program.instructions, first):
        for ref, rows, terms in i.spaces()[:-1]:
            if i.kind == "map" and rows > 1 and ref.is_range(rows):
                source = pieces.at(ref.base)
                is_all = (pieces.starts[source], pieces.length(source)) == (ref.base, rows)
                if source >= first and is_all:
                    links.append((source, at))
            elif ref.cells is not None and terms > 1:
                table = _rows_of_several_lengths(pieces, ref.slots(rows, terms))
                if table is not None:
                    piece, made = table
                    found.setdefault(piece, same.setdefault(made.key, made))
    kinds = [i.kind for i in program.instructions]
    waiting = list(found)
    while waiting:  # what is read element by element, and who reads so, are kept alike
        one = waiting.pop()
        for pair in links:
            if one in pair:
                other = pair[pair[0] == one]
                if other not in found and kinds[other - first] in _IN_TABLES:
                    found[other] = found[one]
                    waiting.append(other)
    return found


def _rows_of_several_lengths(pieces: Pieces, slots: Table) -> tuple[int, WholeTable] | None:
    """Tell whether these are all elements of one piece, in rows that end early."""
    ended = pieces.is_constant(slots)
    ended[:, 1:] |= slots[:, 1:] == slots[:, :1]
    if ended[:, 0].any() or not ended.any() or (ended[:, :-1] & ~ended[:, 1:]).any():
        return None
    here = slots[~ended]
    at = pieces.at(int(here[0]))
    start, end = pieces.starts[at], pieces.ends[at]
    if at < pieces.first_result or slots.size > 4 * (end - start):
        return None
    kind = pieces.program.instructions[at - pieces.first_result].kind
    if kind not in _IN_TABLES or not np.array_equal(np.sort(here), np.arange(start, end)):
        return None
    return at, WholeTable.of(slots - start, ~ended)


def wanted_ends(pieces: Pieces, tables: dict[int, WholeTable]) -> dict[int, str]:
    """What readers of whole tables want to find where a row has ended: "first" or "zero"."""
    found: dict[int, str] = {}
    for i in pieces.program.instructions:
        for ref, rows, terms in i.spaces()[:-1]:
            if ref.cells is None:
                continue
            slots = ref.slots(rows, terms)
            constant = pieces.is_constant(slots)
            sources = distinct(np.searchsorted(pieces.index, slots[~constant], "right") - 1)
            if len(sources) != 1 or int(sources[0]) not in tables:
                continue
            at = int(sources[0])
            if (slots[:, 1:] == slots[:, :1])[~constant[:, 1:]].any():
                found[at] = "first"
            elif constant.any() and not pieces.known(slots, constant).any():
                found.setdefault(at, "zero")
    return found
