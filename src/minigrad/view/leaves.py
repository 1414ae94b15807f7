"""A box for leaves that many would be drawn of, all used by the same boxes: the weights of an LSTM.

Each step uses all of them, so that none has a place of its own in the picture. Start at
`gather_leaves`, after all other boxes are there.
"""

from __future__ import annotations

from .boxes import Box, Tree

NAME = "leaves"
MANY = 12  # leaves; so many are drawn one by one


def gather_leaves(tree: Tree) -> None:
    """Put leaves with the same users into a box, if these are boxes and the leaves are many."""
    for box in list(tree.root.inside()):
        if sum(map(tree.is_leaf, box.kinds)) <= MANY:
            continue
        part_in = tree.parts_by_kind(box)
        alike: dict[frozenset[Box], list[int]] = {}
        for k in filter(tree.is_leaf, box.kinds):
            users = frozenset(map(part_in, tree.users[k]))
            if users and all(isinstance(user, Box) for user in users):
                alike.setdefault(users, []).append(k)
        for leaves in alike.values():
            if len(leaves) > MANY:
                tree.gather(NAME, leaves)
