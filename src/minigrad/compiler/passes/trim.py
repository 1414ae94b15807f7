"""Take the padding out of instructions whose rows differ in length.

Grouping pads short sums with zeros, so that a triangle of attention is one instruction. For people
and for NumPy that is best; the native machine is faster on several instructions without padding,
whose operands lie evenly again. `trim` splits an instruction by the true lengths of its rows:

    sum, dot       without trailing terms that are the constant 0 (where there is a start: adding 0
                   to it changes nothing)
    max            without trailing copies of the first term
    add, muladd    without trailing results that nobody reads: adjoints of constants
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from ..ir.instructions import Chain, Instruction, Part, listing, parts_of
from ..ir.kinds import KINDS
from ..ir.program import Program
from ..ir.refs import Flags, Ref, ref_of

Array = np.ndarray[Any, np.dtype[Any]]


def trim(program: Program) -> Program:
    """Split padded instructions by the lengths of their rows."""
    parts = parts_of(program.instructions)
    if not any(map(_is_uneven, parts)):
        return program
    zero = np.zeros(program.size, dtype=bool)
    constants = np.asarray(program.constants)
    is_zero = (constants == 0.0) & ~np.signbit(constants)
    zero[program.inputs : program.inputs + len(constants)] = is_zero
    dead = _dead(program)
    found: list[Part] = []
    for i in parts:
        found += _trimmed(i, zero, dead) if _is_uneven(i) else [i]
    return replace(program, instructions=listing(found))


def _is_uneven(i: Part) -> TypeGuard[Instruction]:
    """Tell whether an operand of several terms has no pattern: only then may it have padding."""
    if isinstance(i, Chain) or not KINDS[i.kind].padding or i.shape[1] == 1:
        return False
    return any(ref.cells is not None for ref, _, terms in i.spaces() if terms > 1)


def _dead(program: Program) -> Array:
    """Mark the adjoints of constants, unless somebody reads them."""
    dead = Flags(program.size)
    if program.adjoints:
        first = program.adjoints + program.inputs
        stop = first + len(program.constants)
        dead.array[first:stop] = True
        dead.array[list(program.results)] = False
        for i in parts_of(program.instructions):
            if isinstance(i, Chain):
                dead.array[i.args[i.args >= 0]] = False
                continue
            for area in i.areas[:-1]:
                if area.first < stop and area.last >= first:
                    dead.set(area, False)
    return dead.array


def _trimmed(i: Instruction, zero: Array, dead: Array) -> list[Instruction]:
    padding = _padding(i, zero, dead)
    return [i] if padding is None else _split(i, padding)


def _padding(i: Instruction, zero: Array, dead: Array) -> Array | None:
    """Mark terms (row, term) that can go, or return None if there are none to speak of."""
    kind = KINDS[i.kind]
    if kind.padding == "zero" and len(i.args) > kind.args:
        padding: Array = np.ones(i.shape, dtype=bool)
        for ref in i.args[:-1]:
            padding &= zero[ref.slots(*i.shape)]
        return padding
    if kind.padding == "first":
        slots: Array = i.args[0].slots(*i.shape)
        return np.equal(slots, slots[:, :1])
    if kind.padding == "unread" and not i.stores:
        return np.asarray(dead[i.out.slots(*i.shape)])
    return None


def _split(i: Instruction, padding: Array) -> list[Instruction]:
    """Make an instruction of the rows of each length."""
    rows, terms = padding.shape
    kept = ~padding
    lengths = np.where(kept.any(axis=1), terms - kept[:, ::-1].argmax(axis=1), 0)
    if KINDS[i.kind].padding != "unread":
        lengths = np.maximum(lengths, 1)
    sizes = sorted(set(lengths.tolist()))
    if lengths.sum() > 0.8 * rows * terms or len(sizes) > max(1, rows // 4):
        return [i]
    operands = [(ref, ref.slots(n, k)) for ref, n, k in i.spaces()]
    found = []
    for length in sizes:
        if length:
            chosen = np.flatnonzero(lengths == length)
            which = ref_of(chosen[:, None])
            *args, out = [
                _strided(ref, stride, which)
                if which.rows is None and (stride := ref.stride(rows)) is not None
                else ref_of(table[chosen, :length])
                for ref, table in operands
            ]
            found.append(Instruction(i.kind, (len(chosen), length), out, tuple(args)))
    return found


def _strided(ref: Ref, stride: int, rows: Ref) -> Ref:
    """Choose rows that lie in strides, from an operand whose rows do."""
    strides = rows.outer_stride * stride, rows.inner_stride * stride, ref.term_stride
    return Ref(ref.base + rows.base * stride, rows.inner, *strides)
