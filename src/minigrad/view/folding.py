"""From the tree of boxes to a scene: which boxes are open, and what is then drawn.

A closed box is one unit. An open one is a frame with a scene of its own inside, where ports stand
for what comes from outside; `is_flat` leaves the frames out and draws what is inside in their
place, for texts and other programs.

Start at `Folding.scene`; `opened` chooses what to open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from ..core.graph import operands_of
from ..core.names import plural, readable
from .boxes import Box, Part, Tree, name_boxes, scoped_tree
from .collapse import Kinds, Paths, span_of
from .idioms import find_idioms
from .leaves import gather_leaves
from .parts import find_parts
from .scene import Arrow, Scene, Unit
from .steps import find_steps

ARROWS = 3  # for each unit of the limit; a fan of thousands is as hard to look at
PORTS = 12  # of an open box; more of them stand together, by the box that they come from
PAGE = 4_000  # units, in all the boxes that one page can open
FAN = 4  # steps that use one leaf; only the first has an arrow, the leaf says how many there are


class Level(NamedTuple):
    """The inside of a box: its scene has a unit for each port, then one for each part."""

    scene: Scene
    ports: list[list[int]]  # the kinds outside that each stands for
    parts: list[Part]


class Folding:
    """A graph with its boxes."""

    def __init__(self, kinds: Kinds, paths: Paths) -> None:
        self.kinds = kinds
        self.tree: Tree = scoped_tree(kinds, paths)
        find_idioms(self.tree)
        find_steps(self.tree)
        gather_leaves(self.tree)
        self.boxes = name_boxes(self.tree)

    def split(self, limit: int) -> None:
        """Make boxes of stretches of the order, where all others leave too much to look at."""
        find_parts(self.tree, limit)
        gather_leaves(self.tree)
        self.boxes = name_boxes(self.tree)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Count the nodes and the edges of the graph."""
        nodes = [node for members in self.kinds.members for node in members]
        return len(nodes), sum(len(operands_of(node)) for node in nodes)

    # ---- which boxes are open ------------------------------------------------------------------

    def named(self, names: Iterable[str], what: str) -> set[Box]:
        """Find boxes by their ids, or all of a name: `layer0.neuron2`, `neuron2`, `neuron`."""
        found: set[Box] = set()
        for name in map(readable, names):
            chosen = [self.boxes[name]] if name in self.boxes else self._called(name)
            if not chosen:
                known = list(self.boxes)
                listed = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
                raise ValueError(
                    f"{what}={name!r}: there is no such box; "
                    + (f"there are {listed}." if known else "this graph has no boxes.")
                )
            found.update(chosen)
        return found

    def _called(self, name: str) -> list[Box]:
        return [
            box
            for known, box in self.boxes.items()
            if box.name == name or known.endswith(f".{name}")
        ]

    def opened(self, limit: int | None) -> set[Box]:
        """Open boxes from the outside in, all of one depth or none, as long as there is room.

        Boxes that hold no others, as neurons, come last: either all of them are open or none.
        Steps stay closed, and what stands beside them: that there are so many alike is what there
        is to see. So do leaves.
        """
        found: set[Box] = set()
        edge = [box for box in self.tree.root.boxes if box.boxes and not box.is_step]
        while edge and self.fits(found | set(edge), limit):
            found.update(edge)
            inside = [inner for box in edge for inner in box.boxes if inner.boxes]
            edge = [box for box in inside if not box.is_step]
        seen = {self.tree.root, *found}
        rest = {box for box in self.boxes.values() if box.parent in seen and not box.is_leaves}
        if any(box.is_step for box in rest):
            return found
        return found | rest if self.fits(found | rest, limit) else found

    def fits(self, is_open: set[Box], limit: int | None) -> bool:
        """Whether a picture with these boxes open is small enough to be looked at."""
        if limit is None:
            return True
        shown = sum(len(box.kinds) + len(box.boxes) for box in [self.tree.root, *is_open])
        if shown - len(is_open) > limit:
            return False
        return _arrows_of(self.scene(is_open)) <= ARROWS * limit

    def excess(self, limit: int | None) -> int:
        """Count the parts and arrows that boxes hold beyond what one can look at, each by itself.

        The outermost box is among them: what is drawn with all others closed.
        """
        if limit is None:
            return 0
        found = 0
        for box in self.tree.root.inside():
            found += max(0, len(box.kinds) + len(box.boxes) - limit)
            if sum(len(self.kinds.operands[k]) for k in box.all_kinds()) > ARROWS * limit:
                found += max(0, len(self._level(box, set()).scene.arrows) - ARROWS * limit)
        return found

    def insides(self, most: int) -> dict[str, Level]:
        """Return the inside of each box with all boxes in it closed, by id; "" is the whole.

        Boxes with more than `most` parts, and small ones beyond `PAGE` in all, are left out.
        """
        found, room = {}, PAGE
        for box in self.tree.root.inside():
            parts = len(box.kinds) + len(box.boxes)
            room -= parts
            if room < 0 and box.parent is not None:
                break
            if parts <= most or box.parent is None:
                found[box.id] = self._level(box, set())
        return found

    # ---- the scene -----------------------------------------------------------------------------

    def scene(self, is_open: set[Box], *, is_flat: bool = False) -> Scene:
        """Draw the graph with these boxes open, if those around them are."""
        is_open = {box for box in is_open if all(b in is_open for b in box.outwards() if b.parent)}
        found = self._flat(is_open) if is_flat else self._level(self.tree.root, is_open).scene
        nodes, edges = self.size
        boxes, arrows = len(found.everything()), _arrows_of(found)
        if any(unit.box for unit in found.everything()):
            tail = "×n stands for n alike; open=[…] opens boxes by name, play(…) with a click."
        else:
            tail = "×n stands for n alike."
        notice = (
            f"{plural(nodes, 'node')} and {plural(edges, 'arrow')} drawn as "
            f"{plural(boxes, 'box', 'boxes')} and {plural(arrows, 'arrow')}; {tail}"
        )
        result = self.kinds.unit(len(self.kinds.members) - 1)
        name = result.label or result.op
        return Scene(found.units, found.arrows, notice, name, is_complete=False)

    def _level(self, box: Box, is_open: set[Box]) -> Level:
        """Draw the parts of a box, each as one."""
        parts = self.tree.in_order(box)
        place = {_key(part): n for n, part in enumerate(parts)}
        links: dict[tuple[int, int, int], None] = {}  # source, target, position
        coming: dict[int, list[tuple[int, int]]] = {}  # by kind outside: target, position
        part_in = self.tree.parts_by_kind(box)
        for n, part in enumerate(parts):
            is_box = isinstance(part, Box)
            for k in part.all_kinds() if is_box else [part]:
                for source, position in self.kinds.operands[k]:
                    slot = 0 if is_box else position
                    inner = part_in(source)
                    if inner is None:
                        coming.setdefault(source, []).append((n, slot))
                    elif place[_key(inner)] != n:
                        links[place[_key(inner)], n, slot] = None
        groups = self._ports(box, coming)
        arrivals = {
            (port, target + len(groups), slot): None
            for port, kinds in enumerate(groups)
            for k in kinds
            for target, slot in coming[k]
        }
        units = [self._port(box, kinds) for kinds in groups]
        units += [self._unit(part, is_open) for part in parts]
        arrows = [Arrow(*link) for link in arrivals]
        arrows += [Arrow(s + len(groups), t + len(groups), p) for s, t, p in links]
        return Level(_without_fans(units, arrows, parts), groups, parts)

    def _ports(self, box: Box, coming: Iterable[int]) -> list[list[int]]:
        """Put what comes from outside into ports: a kind each, or all of a box together."""
        kinds = list(coming)
        if len(kinds) <= PORTS:
            return [[k] for k in kinds]
        groups: dict[int, list[int]] = {}
        for k in kinds:
            groups.setdefault(_key(self._foreign(box, k)), []).append(k)
        return list(groups.values())

    def _foreign(self, box: Box, k: int) -> Part:
        """Return what a kind outside the box is part of, as seen from there."""
        for around in box.outwards():
            part = self.tree.part_in(around, k)
            if part is not None:
                return part
        raise AssertionError("the root holds every kind")

    def _port(self, box: Box, kinds: list[int]) -> Unit:
        unit = self.kinds.unit(kinds[0])
        home = self.tree.home[kinds[0]]
        if len(kinds) > 1:
            part = self._foreign(box, kinds[0])
            label = part.title if isinstance(part, Box) else unit.label or unit.op
            label = f"{label}: {plural(len(kinds), 'value')}"
        else:
            inner = home.title if home.parent is not None and not unit.is_leaf else ""
            label = unit.label or inner or unit.op or str(unit.data)
        return Unit(label, "", unit.data, unit.grad, count=0, is_leaf=unit.is_leaf, is_port=True)

    def _unit(self, part: Part, is_open: set[Box]) -> Unit:
        if isinstance(part, int):
            return self.kinds.unit(part)
        inside = part.all_kinds()
        nodes = [node for k in self.results(part) for node in self.kinds.results[k]]
        number = sum(len(self.kinds.members[k]) for k in inside)
        return Unit(
            label=part.title,
            op="",
            data=span_of([node.data for node in nodes]),
            grad=span_of([node.grad for node in nodes]),
            count=number,
            box=part.id,
            times=part.times,
            note=plural(number, "node"),
            inside=self._level(part, is_open).scene if part in is_open else None,
        )

    def results(self, box: Box) -> list[int]:
        """Return the kinds of a box whose numbers are its own: those that are used outside."""
        inside = box.all_kinds()
        if box.is_leaves:
            return inside
        members = set(inside)
        last = len(self.kinds.members) - 1
        if last in members:
            return [last]
        return [
            k
            for k in inside
            if not self.tree.is_leaf(k) and any(user not in members for user in self.tree.users[k])
        ]

    def _flat(self, is_open: set[Box]) -> Scene:
        """Draw each kind, or the outermost closed box that it is in."""
        shown: list[Part] = []
        number: dict[int, int] = {}
        at: list[int] = []
        for k, home in enumerate(self.tree.home):
            part: Part = k
            for box in home.outwards():
                if box.parent is not None and box not in is_open:
                    part = box
            if _key(part) not in number:
                number[_key(part)] = len(shown)
                shown.append(part)
            at.append(number[_key(part)])
        links: dict[tuple[int, int, int], None] = {}
        for k, operands in enumerate(self.kinds.operands):
            for source, position in operands:
                if at[source] != at[k]:
                    links[at[source], at[k], 0 if isinstance(shown[at[k]], Box) else position] = (
                        None
                    )
        order = _sorted(len(shown), list(links))
        place = {n: k for k, n in enumerate(order)}
        units = [self._unit(shown[n], set()) for n in order]
        arrows = sorted((place[t], p, place[s]) for s, t, p in links)
        return Scene(tuple(units), tuple(Arrow(s, t, p) for t, p, s in arrows))


def _without_fans(units: list[Unit], arrows: list[Arrow], parts: list[Part]) -> Scene:
    """Leave out all but one of the arrows from a leaf to the steps of something recurrent."""
    first = len(units) - len(parts)
    used: dict[int, list[int]] = {}
    for n, arrow in enumerate(arrows):
        if arrow.target >= first and _is_step(parts[arrow.target - first]):
            used.setdefault(arrow.source, []).append(n)
    gone: set[int] = set()
    for source, found in used.items():
        unit = units[source]
        is_leaves = source >= first and _is_leaves(parts[source - first])
        if (unit.is_leaf or unit.is_port or is_leaves) and len(found) >= FAN:
            gone.update(found[1:])
            notes = filter(None, [unit.note, f"in {len(found)} steps"])
            units[source] = replace(unit, note=" · ".join(notes))
    return Scene(tuple(units), tuple(arrow for n, arrow in enumerate(arrows) if n not in gone))


def _is_step(part: Part) -> bool:
    return isinstance(part, Box) and part.is_step


def _is_leaves(part: Part) -> bool:
    return isinstance(part, Box) and part.is_leaves


def _key(part: Part) -> int:
    return part if isinstance(part, int) else -id(part)


def _arrows_of(scene: Scene) -> int:
    inside = [unit.inside for unit in scene.units if unit.inside is not None]
    return len(scene.arrows) + sum(map(_arrows_of, inside))


def _sorted(count: int, links: list[tuple[int, int, int]]) -> list[int]:
    """Sort topologically, what was made first first."""
    after: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target, _ in links:
        after[source].append(target)
        missing[target] += 1
    ready = [n for n in range(count) if not missing[n]]
    for n in ready:  # grows while it is read
        for user in after[n]:
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    return ready
