"""Programs as text, for people. `Program` uses this, so what is printed has no type here."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds import KINDS
from .refs import Ref


def text(program: Any) -> str:
    """Print a program, an instruction a line."""
    captured = f"   of these {program.parameters} captured" if program.parameters else ""
    lines = [f"inputs     {_range(0, program.inputs)}{captured}"]
    if len(program.constants):
        shown = ", ".join(f"{x:g}" for x in program.constants[:6])
        more = ", …" if len(program.constants) > 6 else ""
        slots = _range(program.inputs, len(program.constants))
        lines.append(f"constants  {slots}   {shown}{more}")
    lines += map(_spelled_out, program.instructions)
    lines.append(f"results    {', '.join(f'v{slot}' for slot in program.results)}")
    lines += [f"guard      v{g.at} is {g.number:g}: {g.what}" for g in program.guards]
    if program.update is not None:
        moved, by = (_range(at, program.update.count) for at in (0, program.update.grads))
        lines.append(f"update     {moved} by {by}: {program.update.formula}")
    return "\n".join(lines)


def _spelled_out(i: Any) -> str:
    *operands, (out, rows, terms) = i.spaces()
    sign = "+=" if i.adds else "="
    name = KINDS[i.kind].label.format(i)
    shape = "×".join(map(str, i.shape))
    shown = [_shown(*operand) for operand in operands] or [f"{i.number:g}"]
    return f"{_shown(out, rows, terms):<28} {sign:<2} {name:<12} {shape:<10} {'  '.join(shown)}"


def _range(start: int, count: int) -> str:
    return f"v{start}" if count == 1 else f"v{start}…{start + count - 1}"


def _shown(ref: Ref, rows: int, terms: int) -> str:
    """Write where an operand lies: a range, a pattern of strides, or that it is gathered."""
    if rows * terms == 1:
        return f"v{ref.slots(1, 1)[0, 0]}"
    if ref.cells is not None:
        return f"v[{rows}×{terms} gathered]" if terms > 1 else f"v[{rows} gathered]"
    if ref.rows is not None:
        steps = f" + {terms}·{ref.term_stride}" if terms > 1 else ""
        return f"v[{rows} gathered{steps}]"
    slots = ref.slots(rows, terms).ravel()
    if slots.size > 1 and (np.diff(slots) == 1).all():
        return _range(int(slots[0]), slots.size)
    strides = ref.outer_stride, ref.inner_stride, ref.term_stride
    loops = zip((-(-rows // ref.inner), ref.inner, terms), strides, strict=True)
    parts = [f"{count}·{stride}" for count, stride in loops if count > 1]
    return f"v{ref.base}[{', '.join(parts)}]"
