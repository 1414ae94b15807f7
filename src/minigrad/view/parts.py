"""Boxes for what has no structure: stretches of the order in which a graph is computed.

Where scopes, idioms, repeats and steps leave more than one can look at, the operations of a box are
cut into parts of some tens, where the fewest values pass from one to the next, and many parts into
larger ones. So a graph of any shape has a first picture that is small, and everything in it can be
opened. A stretch of a topological order needs nothing that comes after it, so that no arrow goes in
a circle.

Start at `find_parts`.
"""

from __future__ import annotations

from .boxes import Box, Part, Tree

NAME = "part"
SIDE = 10  # boxes beside each other; as many more are hard to look at for all their arrows


def find_parts(tree: Tree, limit: int) -> None:
    """Cut every box that holds more than `limit` parts."""
    room = max(2, limit // 2)
    large = [box for box in tree.root.inside() if len(box.kinds) + len(box.boxes) > limit]
    for box in large:
        parts = [part for part in tree.in_order(box) if _works(tree, part)]
        while len(parts) > room:
            ends = _ends(tree, box, parts, room)
            starts = [0, *ends[:-1]]
            wrapped = (tree.wrap(NAME, parts[a:b]) for a, b in zip(starts, ends, strict=True))
            parts, room = list(wrapped), SIDE
    if large:
        tree.has_stretches = True
        tree.settle()


def _works(tree: Tree, part: Part) -> bool:
    """Whether it is more than a leaf, which goes where it is used."""
    return not part.is_leaves if isinstance(part, Box) else not tree.is_leaf(part)


def _ends(tree: Tree, box: Box, parts: list[Part], room: int) -> list[int]:
    """Return where each stretch ends: of those that are long enough, where the least passes."""
    passing = _passing(tree, box, parts)
    ends: list[int] = []
    start = 0
    while len(parts) - start > room:
        least = start + max(1, room // 2)
        end = min(range(least, start + room + 1), key=lambda at: (passing[at], -at))
        ends.append(end)
        start = end
    return [*ends, len(parts)]


def _passing(tree: Tree, box: Box, parts: list[Part]) -> list[int]:
    """Count, for each place between two parts, the values from before it that are used after it."""
    inside = [part.all_kinds() if isinstance(part, Box) else [part] for part in parts]
    place = {k: n for n, kinds in enumerate(inside) for k in kinds}
    change = [0] * (len(parts) + 1)
    for k, at in place.items():
        last = max((place.get(user, at) for user in tree.users[k]), default=at)
        if last > at:  # it passes the places from at + 1 to last
            change[at + 1] += 1
            change[min(last + 1, len(parts))] -= 1
    count, found = 0, []
    for each in change:
        count += each
        found.append(count)
    return found
