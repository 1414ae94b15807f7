"""A scene as text: a tree for the terminal, the result at the top.

What is used more than once is written out where it comes first, and afterwards named as "above".
"""

from __future__ import annotations

from ..core.names import plural, readable
from .scene import Scene, Unit

DEEP = 60  # levels; beyond that the indentation alone would fill the line


def text_of(scene: Scene) -> str:
    """Draw the scene as a tree of lines."""
    operands: list[list[int]] = [[] for _ in scene.units]
    for arrow in scene.arrows:
        operands[arrow.target].append(arrow.source)
    called = [_name(unit) for unit in scene.units]
    lines: list[str] = []
    written: set[int] = set()
    # The stack holds what is still to write: a unit, what stands before its line, and before the
    # lines of its operands.
    stack = [(len(scene.units) - 1, "", "")]
    depth = {len(scene.units) - 1: 0}
    while stack:
        place, before, below = stack.pop()
        if place in written and operands[place]:
            lines.append(f"{before}{called[place]} (above)")
            continue
        written.add(place)
        lines.append(f"{before}{called[place]}{_numbers(scene.units[place])}")
        if operands[place] and depth[place] >= DEEP:
            lines.append(f"{below}└── …")
            continue
        for k, operand in reversed(list(enumerate(operands[place]))):
            is_last = k == len(operands[place]) - 1
            stack.append((operand, below + "├└"[is_last] + "── ", below + "│ "[is_last] + "   "))
            depth.setdefault(operand, depth[place] + 1)
    if scene.notice:
        lines.append(scene.notice)
    return "\n".join(lines)


def _name(unit: Unit) -> str:
    label, op = readable(unit.label), readable(unit.op)
    anonymous = "number" if unit.is_leaf else "result"
    return f"{label} = {op}" if label and op else label or op or anonymous


def _numbers(unit: Unit) -> str:
    many = f" {unit.many}".rstrip() + (f" ({unit.note})" if unit.note else "")
    hidden = f"   (… {plural(unit.hidden, 'operand')} not drawn)" if unit.hidden else ""
    return f"{many}   data {unit.data}   grad {unit.grad}{hidden}"
