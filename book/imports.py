"""The picture of which folder imports which, docs/pictures/imports.svg: read from the sources.

An arrow goes from a folder to one that it imports; what follows from other arrows is left out, or
everything would point at everything. The layout is the one that draws expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from minigrad.view.layout import layout
from minigrad.view.svg import COLUMN, DARK, EDGE, FONT, INK, LEAF, PAPER

SOURCE = Path(__file__).resolve().parent.parent / "src" / "minigrad"
HEIGHT = 30.0
LEFT_OUT = {"__init__", "__main__", "version", "native"}


def room_of(path: Path) -> str:
    """Return the folder or module at the top that a file belongs to."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py") if first.endswith(".py") else f"{first}/"


@cache
def imports() -> dict[str, set[str]]:
    """Return which folders and modules of the top each of them imports."""
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")}
    found: dict[str, set[str]] = {room: set() for room in sorted(rooms)}
    for path in SOURCE.rglob("*.py"):
        depth = len(path.relative_to(SOURCE).parts)
        for name in _imported(path, depth):
            target = name if name in rooms else f"{name}/"
            if target in rooms and target != room_of(path):
                found[room_of(path)].add(target)
    for name in LEFT_OUT:
        for room in (name, f"{name}/"):
            found.pop(room, None)
            for targets in found.values():
                targets.discard(room)
    return found


def _imported(path: Path, depth: int) -> Iterator[str]:
    """Name what a file imports of the top, by relative imports alone: there are no others."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            if node.module:
                yield node.module.split(".")[0]
            else:
                yield from (alias.name for alias in node.names)


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out every arrow that a longer way says already."""
    below: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in below:
            below[room] = set(graph[room]).union(*(reach(each) for each in graph[room]))
        return below[room]

    return {
        room: {one for one in targets if not any(one in reach(other) for other in targets)}
        for room, targets in graph.items()
    }


def svg() -> str:
    """Draw it, with what needs nothing at the top."""
    graph = reduced(imports())
    rooms = sorted(graph)
    place = {room: k for k, room in enumerate(rooms)}
    sizes = [(len(room) * COLUMN + 20, HEIGHT) for room in rooms]
    edges = [(place[to], place[room]) for room in rooms for to in sorted(graph[room])]
    drawn = layout(sizes, edges, "TB")
    parts = []
    for route in drawn.routes:
        start, *rest = [f"{point.x:.1f} {point.y:.1f}" for point in route]
        drawn_as = f"M{start}C{' '.join(rest)}"
        parts.append(f'<path class="mg-edge" fill="none" stroke="{EDGE}" d="{drawn_as}"/>')
    for room, (width, height), corner in zip(rooms, sizes, drawn.corners, strict=True):
        middle = f'x="{corner.x + width / 2:.1f}" y="{corner.y + height / 2:.1f}"'
        parts.append(
            f'<rect class="mg-box mg-leaf" x="{corner.x:.1f}" y="{corner.y:.1f}" '
            f'width="{width:.1f}" height="{height:g}" rx="6" fill="{LEAF}" stroke="{EDGE}"/>'
            f'<text class="mg-text" {middle} fill="{INK}" text-anchor="middle" '
            f'dominant-baseline="central">{room}</text>'
        )
    box = f'width="{drawn.width:.0f}" height="{drawn.height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawn.width:.0f} '
        f'{drawn.height:.0f}" {box} font-family="{FONT}" font-size="12">\n<style>{DARK}</style>\n'
        f'<rect class="mg-paper" {box} fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
