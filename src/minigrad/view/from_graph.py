"""From a graph of Values to the scene that is drawn: all of it, or as much as one can look at.

A graph that is too large is not drawn whole. First repeated structure is collapsed (`collapse.py`);
if that is still too much, only what is nearest to the result is drawn. Either way the scene has a
`notice`. Start at `scene_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..core.graph import operands_of, topological_order
from ..core.names import plural
from .collapse import collapsed, unit_of
from .scene import Arrow, Scene

LIMIT = 500  # units; with more of them nobody sees anything
ARROWS = 3  # for each unit of the limit; a fan of thousands is as hard to look at
WALK = 100_000  # nodes; repeats are not looked for in more than that
FAN = 12  # operands that a unit of a picture that is cut shows at most


def scene_of(root: Any, limit: int | None = LIMIT) -> Scene:
    """Take the picture of the graph under `root` as it is now.

    More than `limit` units, or three times as many arrows, are collapsed or cut, with a notice;
    None draws them all.
    """
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ValueError(f"limit={limit!r}: give the largest number of units, or None for all.")
    if limit is None:
        return _whole(topological_order(root))
    walk = max(limit, WALK)
    near = _nearest(root, walk)
    if len(near) > walk:
        return _cut(near[:limit], f"More than {plural(walk, 'node')}")
    order = topological_order(root)
    arrows = sum(len(operands_of(node)) for node in order)
    if len(order) <= limit and arrows <= ARROWS * limit:
        return _whole(order)
    repeats = collapsed(order)
    if len(repeats.units) <= limit and len(repeats.arrows) <= ARROWS * limit:
        return repeats
    return _cut(near[:limit], f"{plural(len(order), 'node')} and {plural(arrows, 'arrow')}")


def _whole(order: list[Any]) -> Scene:
    return _scene(order, lambda node: list(enumerate(operands_of(node))))


def _scene(order: list[Any], drawn: Callable[[Any], list[tuple[int, Any]]]) -> Scene:
    """Draw these nodes; `drawn` gives the operands of one that have arrows, and their positions."""
    place = {id(node): k for k, node in enumerate(order)}
    units = [unit_of([node], len(operands_of(node)) - len(drawn(node))) for node in order]
    arrows = [
        Arrow(place[id(operand)], k, position)
        for k, node in enumerate(order)
        for position, operand in drawn(node)
    ]
    return Scene(tuple(units), tuple(arrows))


def _nearest(root: Any, most: int) -> list[Any]:
    """Return the nodes in order of distance from the root, and stop just beyond `most`."""
    found, known = [root], {id(root)}
    for node in found:  # grows while it is read
        for operand in operands_of(node):
            if id(operand) not in known:
                known.add(id(operand))
                found.append(operand)
        if len(found) > most:
            break
    return found


def _cut(kept: list[Any], size: str) -> Scene:
    """Draw these nodes alone; each says how many of its operands are left out."""
    members = {id(node) for node in kept}

    def drawn(node: Any) -> list[tuple[int, Any]]:
        operands = enumerate(operands_of(node))
        return [(position, x) for position, x in operands if id(x) in members][:FAN]

    order = topological_order(kept[0], lambda node: [operand for _, operand in drawn(node)])
    notice = f"{size}; here are the {plural(len(order), 'node')} nearest to the result."
    return replace(_scene(order, drawn), notice=notice, is_complete=False)
