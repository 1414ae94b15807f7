"""Let the first += to reach its slots write them, and leave them out of the fill with zeros.

A gradient starts with adjoints of 0, and most of them get a single contribution: adding it to 0 is
a fill and a read too many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..ir.instructions import NEVER, Chain, Instruction, Part, listing, parts_of
from ..ir.kinds import KINDS
from ..ir.program import Program
from ..ir.refs import Area, Flags, Ref, ref_of, runs

_ZERO = (0.0).hex()  # not -0
_LARGE = 4096
_PIECES = 64  # of a fill, beyond which single slots are one instruction with a list of places


def store_first(program: Program, scattered: bool = False) -> Program:
    """Let the first += to reach a range of slots write it, and leave the range unfilled.

    `scattered`: also slots that are no range, such as the weights of a layer with a bias behind
    each row. What is left to fill is scattered then, too, which pays where it is little.
    """
    waits = Flags(program.size)  # slots with the 0 of a fill, which nobody has read or added to
    needed = Flags(program.size)  # slots of fills with 0 that are not written before they are read
    found: list[Part | Area] = []  # an area stands for what is left of a fill with 0
    first: Any = None
    for i in parts_of(program.instructions):
        if isinstance(i, Chain):
            first = np.full(program.size, NEVER) if first is None else first
            found.append(_chain(i, waits, needed, first))
            continue
        *operands, out = i.areas
        for area in operands:
            waits.set(area, False)
        if i.kind == "fill" and i.number.hex() == _ZERO and _is_range(out):
            waits.set(out)
            needed.set(out)
            found.append(out)
            continue
        may_store = KINDS[i.kind].may_store and not i.stores
        if may_store and (_is_range(out) or (scattered and _is_large(out))) and waits.all(out):
            needed.set(out, False)
            i = _storing(i)  # noqa: PLW2901
        waits.set(out, False)
        found.append(i)
    parts: list[Part] = []
    for item in found:
        parts += _fills(needed, item) if isinstance(item, Area) else [item]
    return replace(program, instructions=listing(parts))


def _chain(chain: Chain, waits: Flags, needed: Flags, first: Any) -> Chain:
    """The same for a chain; `first` has NEVER for every slot, before and afterwards.

    A row is the first to reach its slot if nobody has before, in this chain or earlier: of a row,
    the operands count as before its result.
    """
    touched = np.concatenate([chain.args, chain.out[:, None]], axis=1)
    there = np.flatnonzero(touched >= 0)
    slots = touched.ravel()[there]
    np.minimum.at(first, slots, there)
    last = np.arange(1, len(chain) + 1) * touched.shape[1] - 1  # where the results stand
    stores = (first[chain.out] == last) & waits.array[chain.out] & chain.adds
    first[slots] = NEVER
    needed.array[chain.out[stores]] = False
    waits.array[slots] = False
    return replace(chain, stores=chain.stores | stores)


def _storing(i: Instruction) -> Instruction:
    # What `replace` does, in a third of the time.
    return Instruction(i.kind, i.shape, i.out, i.args, i.op, i.which, i.number, stores=True)


def _fills(needed: Flags, area: Area) -> list[Instruction]:
    places = area.first + np.flatnonzero(needed.array[area.first : area.last + 1])
    pieces = runs(places)
    found = []
    if len(pieces) > _PIECES:
        single = [first for first, end in pieces if end - first == 1]
        pieces = [(first, end) for first, end in pieces if end - first > 1]
        if single:
            out = ref_of(np.array(single, dtype=np.int64)[:, None])
            found.append(Instruction("fill", (len(single),), out))
    fills = [Instruction("fill", (end - first,), Ref(first, 1, 1)) for first, end in pieces]
    return [*found, *fills]


def _is_large(area: Area) -> bool:
    """Tell whether there are so many slots, each there once, that filling them takes time."""
    return area.rows * area.terms >= _LARGE and area.once


def _is_range(area: Area) -> bool:
    """Tell whether the slots are a range, each there once, in any order."""
    return area.slots is None and area.once
