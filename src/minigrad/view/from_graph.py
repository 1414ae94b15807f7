"""From a graph of Values to the scene that is drawn: all of it, or as much as one can look at.

A graph that is too large is folded: repeats are drawn once (`collapse.py`), and parts of it become
boxes (`boxes.py`) that can be opened (`folding.py`). If that is still too much, only what is
nearest to the result is drawn. Either way the scene has a `notice`. Start at `scene_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..core.graph import operands_of, topological_order
from ..core.names import plural, short_name
from ..core.scopes import call_names, scope_paths
from ..core.strict import is_stale
from .boxes import Box
from .collapse import kinds_of, unit_of
from .folding import ARROWS, Folding
from .scene import Arrow, Scene

LIMIT = 80  # units; with more of them one looks at a pattern, not at a computation
WALK = 100_000  # nodes; boxes are not looked for in more than that
CHECKED = 500  # nodes; of more than that nobody recomputes the numbers by eye
FAN = 12  # operands that a unit of a picture that is cut shows at most
FAR = 24  # layers from the first use of a leaf to its last: a weight that every step uses

Fold = bool | Iterable[str] | None


def scene_of(
    root: Any,
    limit: int | None = LIMIT,
    *,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002 - what one does to a box
    is_flat: bool = False,
) -> Scene:
    """Take the picture of the graph under `root` as it is now.

    More than `limit` units, or three times as many arrows, are folded or cut, with a notice; None
    draws them all. `fold=True` closes all boxes, False makes none, names close those; `open` opens
    boxes by their names; what is asked for so is drawn whatever the limit. `is_flat` draws what is
    in an open box without a frame.
    """
    drawn = drawing_of(root, limit, fold=fold, open=open)
    if isinstance(drawn, Scene):
        return drawn
    folding, is_open = drawn
    return folding.scene(is_open, is_flat=is_flat)


def drawing_of(
    root: Any,
    limit: int | None,
    *,
    fold: Fold = None,
    open: Iterable[str] = (),  # noqa: A002
) -> Scene | tuple[Folding, set[Box]]:
    """Return the scene, whole or cut; or the graph with its boxes, and which of them are open."""
    _check_limit(limit)
    names = _names(open, "open")
    closed = fold if isinstance(fold, bool) or fold is None else _names(fold, "fold")
    asks = bool(names) or bool(closed)
    if limit is None and not asks:
        return _whole(topological_order(root))
    walk = WALK if limit is None else max(limit, WALK)
    near = _nearest(root, walk)
    if len(near) > walk:
        return _cut(near[: limit or LIMIT], f"More than {plural(walk, 'node')}")
    order = topological_order(root)
    arrows = sum(len(operands_of(node)) for node in order)
    is_small = limit is None or (len(order) <= limit and arrows <= ARROWS * limit)
    if is_small and not asks:
        steps = folded(order, limit) if fold is None and _reaches_far(order) else None
        if steps is None or not any(box.is_step for box in steps[0].boxes.values()):
            return _whole(order)
        return steps
    if fold is not False or names:
        folding, is_open = folded(order, limit)
        is_open = _chosen(folding, is_open, closed, names, is_small)
        if asks or folding.fits(is_open, limit):
            return folding, is_open
    return _cut(near[:limit], f"{plural(len(order), 'node')} and {plural(arrows, 'arrow')}")


def _reaches_far(order: list[Any]) -> bool:
    """Whether a leaf is used again and again in depth, so that its arrows pass everything else."""
    depth: dict[int, int] = {}
    first: dict[int, int] = {}
    for node in order:
        operands = operands_of(node)
        at = depth[id(node)] = 1 + max((depth[id(x)] for x in operands), default=-1)
        for x in operands:
            if not depth[id(x)] and at - first.setdefault(id(x), at) > FAR:
                return True
    return False


def folded(order: list[Any], limit: int | None) -> tuple[Folding, set[Box]]:
    """Find the boxes of a graph, and which of them are open if nobody asks for others."""
    paths = scope_paths(order)
    folding = Folding(kinds_of(order, paths), paths)
    too_much = folding.excess(limit)
    if too_much:  # at first sight, or in a box once it is opened
        coarse = Folding(kinds_of(order, paths, is_coarse=True), paths)
        if coarse.fits(set(), limit) and (
            coarse.excess(limit) < too_much or not folding.fits(set(), limit)
        ):
            folding = coarse
    if limit is not None and not folding.fits(set(), limit):
        folding.split(limit)
    return folding, folding.opened(limit)


def _chosen(
    folding: Folding, is_open: set[Box], fold: bool | list[str] | None, names: list[str], all_: bool
) -> set[Box]:
    """Return which boxes are open: by themselves, or because somebody says so."""
    if fold is True or (all_ and not fold):
        is_open = set()
    elif fold:
        is_open = is_open - folding.named(fold, "fold")
    wanted = folding.named(names, "open")
    return is_open | {around for box in wanted for around in box.outwards() if around.parent}


def _names(given: Any, what: str) -> list[str]:
    try:
        names = [given] if isinstance(given, str) else list(given)
    except TypeError:
        names = [given]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{what}: got {type(name).__name__}; give the names of boxes, such as "
                f'{what}=["layer0"].'
            )
    return names


def _check_limit(limit: Any) -> None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ValueError(f"limit={limit!r}: give the largest number of units, or None for all.")


def _whole(order: list[Any]) -> Scene:
    scene = _scene(order, lambda node: list(enumerate(operands_of(node))))
    return replace(scene, notice=_stale(order)) if len(order) <= CHECKED else scene


def _stale(order: list[Any]) -> str:
    """Say which results are from before the data of their operands was changed, if any are."""
    names = [str(short_name(node)) for node in order if is_stale(node)]
    if not names:
        return ""
    some = ", ".join(names[:4]) + (f" and {len(names) - 4:,} more" if len(names) > 4 else "")
    return (
        f"Data was changed after the forward pass: {some} {'is' if len(names) == 1 else 'are'} "
        "from before; run the forward pass again."
    )


def _scene(order: list[Any], drawn: Callable[[Any], list[tuple[int, Any]]]) -> Scene:
    """Draw these nodes; `drawn` gives the operands of one that have arrows, and their positions."""
    place = {id(node): k for k, node in enumerate(order)}
    names = call_names(order)
    units = [
        unit_of([node], 1, len(operands_of(node)) - len(drawn(node)), names=names) for node in order
    ]
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
    which = "is the node" if len(order) == 1 else f"are the {len(order):,} nodes"
    notice = f"{size}; here {which} nearest to the result; a larger limit draws more."
    return replace(_scene(order, drawn), notice=notice, is_complete=False)
