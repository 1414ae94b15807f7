"""The tree of boxes over a graph: which parts of it can be drawn as one, and what they are called.

A box is a scope (a layer, a neuron, a `with scope(…)` block), an idiom that is known by its
structure (`idioms.py`), or a step of something recurrent (`steps.py`). Boxes nest. What is drawn is
decided elsewhere: here is only what there is, computed once, in linear time.

Invariant: within each box, its parts (smaller boxes and single kinds) form a graph without cycles,
so that every part can be drawn as one. A box that would break this is dissolved.

Start at `tree_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ..core.graph import operands_of
from ..core.names import readable
from .collapse import Kinds, Paths

Part = Any  # a Box, or the number of a kind


class Box:
    """A part of the graph with a name: kinds of its own and smaller boxes."""

    __slots__ = (
        "boxes",
        "calls",
        "depth",
        "id",
        "is_leaves",
        "is_scope",
        "is_step",
        "kinds",
        "name",
        "parent",
        "start",
        "times",
        "title",
    )

    def __init__(self, name: str, parent: Box | None, *, is_scope: bool = False) -> None:
        self.name, self.parent, self.is_scope = name, parent, is_scope
        self.is_step = False
        self.is_leaves = False  # it holds nothing else; see leaves.py
        self.calls: set[int] = set()  # of a scope, by id: those that are drawn as this one
        self.times = 1  # how many alike it stands for
        self.start = -1  # of a scope: when its first call began
        self.title = name  # with a number, if others have the name: `softmax#2`
        self.id = ""  # the titles from the outermost box, by which one asks for it
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.kinds: list[int] = []
        self.boxes: dict[Box, None] = {}
        if parent is not None:
            parent.boxes[self] = None

    def outwards(self) -> Iterator[Box]:
        """Yield this box and all around it."""
        box: Box | None = self
        while box is not None:
            yield box
            box = box.parent

    def inside(self) -> Iterator[Box]:
        """Yield this box and all in it, outer ones first."""
        found = [self]
        for box in found:  # grows while it is read
            yield box
            found += box.boxes

    def all_kinds(self) -> list[int]:
        """Return the kinds in it, at any depth."""
        return sorted(k for box in self.inside() for k in box.kinds)


class Tree:
    """The kinds of a graph and the box that each is in."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.root = Box("", None)
        self.has_stretches = False  # see parts.py
        self.home: list[Box] = [self.root] * len(kinds.members)
        self.users: list[list[int]] = [[] for _ in kinds.members]
        self.used_in: dict[int, set[int]] = {}  # by id(leaf): the calls that use it, by id
        for target, operands in enumerate(kinds.operands):
            for source, _ in operands:
                if not self.users[source] or self.users[source][-1] != target:
                    self.users[source].append(target)

    def is_leaf(self, k: int) -> bool:
        """Whether the kind has no operands."""
        return not self.kinds.operands[k]

    def settle(self) -> None:
        """Give leaves their places, list what each box holds, and dissolve what cannot be drawn."""
        self._measure()  # boxes may have been wrapped
        self._place_leaves()
        for box in self.root.inside():
            box.kinds = []
        for k, box in enumerate(self.home):
            box.kinds.append(k)
        self._dissolve(self._idle())
        for _ in range(8):
            stuck = [box for each in self.root.inside() for box in self._cyclic(each)]
            if not stuck:
                return
            self._dissolve(stuck)
        self._dissolve(list(self.root.inside())[:0:-1])

    def _dissolve(self, boxes: list[Box]) -> None:
        """Give all that some boxes hold to the ones around them."""
        for box in boxes:
            around = box.parent
            assert around is not None
            del around.boxes[box]
            around.boxes.update(box.boxes)
            around.kinds += box.kinds
            for inner in box.boxes:
                inner.parent = around
            for k in box.kinds:
                self.home[k] = around
        self._measure()

    def _measure(self) -> None:
        for box in self.root.inside():
            box.depth = 0 if box.parent is None else box.parent.depth + 1

    def wrap(self, name: str, parts: list[Part]) -> Box:
        """Put parts of one box into a new box there; `settle` is to follow."""
        around = self.around(parts[0])
        box = Box(name, around)
        box.times = min(
            part.times if isinstance(part, Box) else len(self.kinds.results[part])
            for part in parts
            if isinstance(part, Box) or not self.is_leaf(part)
        )
        for part in parts:
            if isinstance(part, Box):
                del around.boxes[part]
                part.parent = box
                box.boxes[part] = None
            else:
                self.home[part] = box
        return box

    def gather(self, name: str, leaves: list[int]) -> None:
        """Put leaves of one box into a new box there, when all others are settled."""
        around = self.home[leaves[0]]
        box = Box(name, around)
        box.is_leaves, box.kinds = True, leaves
        around.kinds = sorted({*around.kinds}.difference(leaves))
        for k in leaves:
            self.home[k] = box

    def around(self, part: Part) -> Box:
        """Return the box that a part is in."""
        if isinstance(part, Box):
            assert part.parent is not None
            return part.parent
        return self.home[part]

    def part_in(self, box: Box, k: int) -> Part:
        """Return which part of the box the kind is or is in; None if it is outside."""
        home = self.home[k]
        if home is box:
            return k
        while home.depth > box.depth + 1:
            assert home.parent is not None
            home = home.parent
        return home if home.parent is box else None

    def parts_by_kind(self, box: Box) -> Callable[[int], Part]:
        """Return `part_in` for one box, for who asks often: it does not climb each time."""
        part_around = {each: part for part in box.boxes for each in part.inside()}

        def part_in(k: int) -> Part:
            home = self.home[k]
            return k if home is box else part_around.get(home)

        return part_in

    def _place_leaves(self) -> None:
        """Put a leaf where it is used: a weight into its neuron. What varies stays outside."""
        for k, users in enumerate(self.users):
            if not self.is_leaf(k) or not users:
                continue
            members = self.kinds.members[k]
            # A number written into an operation, w * 2.0, has no name and one use.
            can_be_input = len(members) > 1 and (members[0].label or len(users) > 1)
            varies = can_be_input and any(m.data != members[0].data for m in members)
            # A penalty on a weight, w*w, does not say where the weight belongs. A stretch of the
            # order may come before another that uses more of the leaf, and cannot wait for it.
            telling = [] if self.has_stretches else [u for u in users if self._joins(u)]
            home = self._common(telling or users)
            self.home[k] = self.root if varies and not self._is_in_all(home, members[0]) else home

    def _is_in_all(self, box: Box, leaf: Any) -> bool:
        """Whether every call that the box stands for uses the leaf: a weight, and not an input."""
        calls = next((around.calls for around in box.outwards() if around.calls), None)
        return calls is not None and calls <= self.used_in.get(id(leaf), set())

    def _joins(self, k: int) -> bool:
        """Whether a kind is made of more than one thing."""
        first = operands_of(self.kinds.results[k][0])
        return any(operand is not first[0] for operand in first)

    def _common(self, kinds: list[int]) -> Box:
        """Return the innermost box that holds all of these kinds."""
        found = self.home[kinds[0]]
        for k in kinds[1:]:
            other = self.home[k]
            while found is not other:
                if found.depth >= other.depth:
                    found = found.parent or found
                else:
                    other = other.parent or other
        return found

    def _idle(self) -> list[Box]:
        """Return boxes around a single kind or nothing, and those that fill the one around."""
        found = []
        boxes = list(self.root.inside())
        operations = {box: sum(not self.is_leaf(k) for k in box.kinds) for box in boxes}
        inner = {box: dict(box.boxes) for box in boxes}
        for box in boxes[:0:-1]:
            around = box.parent
            assert around is not None
            # A module that is called for each of some points is not what it is called by.
            is_all = around.parent is not None and len(inner[around]) == 1
            is_all = is_all and not operations[around] and around.times == box.times
            has_repeats = any(each.times != box.times for each in inner[box])
            is_little = operations[box] + len(inner[box]) < 2 and not has_repeats
            if is_little or is_all:
                found.append(box)
                operations[around] += operations[box]
                del inner[around][box]
                inner[around] |= inner[box]
        return found

    def _cyclic(self, box: Box) -> list[Box]:
        """Return boxes of this one that cannot be put into order."""
        order = self.in_order(box)
        if len(order) == len(box.boxes) + len(box.kinds):
            return []
        done = {id(part) for part in order if isinstance(part, Box)}
        return [inner for inner in box.boxes if id(inner) not in done]

    def in_order(self, box: Box) -> list[Part]:
        """Sort the parts of a box, operands before users, and leave out what is in a cycle.

        Of those that could come next the one with the earliest kind does, and of scopes the one
        that began first: the order in which the program made them.
        """
        parts: list[Part] = sorted([*box.kinds, *box.boxes], key=_first_kind)
        # Kinds are in the order in which the result uses them, which may take the last one first.
        places = [n for n, part in enumerate(parts) if isinstance(part, Box) and part.start >= 0]
        scopes = sorted((parts[n] for n in places), key=_start)
        for n, scope in zip(places, scopes, strict=True):
            parts[n] = scope
        after: dict[int, list[int]] = {n: [] for n in range(len(parts))}
        number = {_key(part): n for n, part in enumerate(parts)}
        missing = [0] * len(parts)
        part_in = self.parts_by_kind(box)
        for n, part in enumerate(parts):
            before = {
                number[_key(source)]
                for k in ([part] if isinstance(part, int) else part.all_kinds())
                for s, _ in self.kinds.operands[k]
                if (source := part_in(s)) is not None
            } - {n}
            missing[n] = len(before)
            for other in before:
                after[other].append(n)
        ready = [n for n, left in enumerate(missing) if not left]
        for n in ready:  # grows while it is read
            for user in after[n]:
                missing[user] -= 1
                if not missing[user]:
                    ready.append(user)
        return [parts[n] for n in ready]


def _first_kind(part: Part) -> int:
    return part if isinstance(part, int) else min(part.all_kinds())


def _start(box: Box) -> int:
    return box.start


def _key(part: Part) -> int:
    """Tell parts apart: a kind by its number, a box by itself."""
    return part if isinstance(part, int) else -id(part)


def scoped_tree(kinds: Kinds, paths: Paths) -> Tree:
    """Make the boxes of the scopes: one for all calls whose nodes are alike."""
    tree = Tree(kinds)
    known: dict[int, Box] = {}  # by id(scope)
    for k, members in enumerate(kinds.members):
        if tree.is_leaf(k):
            continue
        found = [paths.get(id(node), ()) for node in members]
        box = tree.root
        for depth, scope in enumerate(found[0]):
            calls = [path[depth] for path in found if len(path) > depth]
            inner = next((known[id(call)] for call in calls if id(call) in known), None)
            box = inner or Box(readable(scope.name), box, is_scope=True)
            first = min(call.start for call in calls)
            box.start = first if box.start < 0 else min(box.start, first)
            for call in calls:
                if known.setdefault(id(call), box) is box:
                    box.calls.add(id(call))
            box.times = len(box.calls)
        tree.home[k] = box
        for node in members:
            inside = [id(scope) for scope in paths.get(id(node), ())]
            for operand in operands_of(node) if inside else ():
                if not operands_of(operand):
                    tree.used_in.setdefault(id(operand), set()).update(inside)
    tree.settle()
    return tree


def name_boxes(tree: Tree) -> dict[str, Box]:
    """Give each box its id, `layer0.neuron2`, the second of a name `softmax#2`; return them all."""
    found: dict[str, Box] = {}
    again: Counter[str] = Counter()
    for around in tree.root.inside():
        for box in tree.in_order(around) if around.boxes else []:
            if not isinstance(box, Box):
                continue
            before = f"{around.id}." if around.id else ""
            box.title, box.id = box.name, before + box.name
            while box.id in found:
                again[before + box.name] += 1
                box.title = f"{box.name}#{again[before + box.name] + 1}"
                box.id = before + box.title
            found[box.id] = box
    return found
