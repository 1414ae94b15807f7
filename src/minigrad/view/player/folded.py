"""The play of a folded picture: a step is a box, or nodes that are alike; an open box has its own.

There is one order of all steps, with every box opened; a box is a stretch of it, `from` … `to`.
Whatever is open, the forward pass goes through the stretches of what is drawn, and the backward
pass back through them: so the rows here are of the smallest steps, and `boxes.js` joins those of a
box that is closed. All numbers are texts by now, from the smallest to the largest of those alike.

A pass that goes box by box adds the same contributions as the engine's in another order. What a
grad is in the end is the engine's number, whatever the last digit of the sum in this order. A pass
with a fault is played in the same way; its rows say where it reads something else than the sound
one.

Start at `folded_play_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...calculus.paths import explain_all
from ...calculus.replay import Replay, replays
from ...calculus.steps import Forward, Step, steps
from ...core.names import brief, cut, readable, short
from ...core.strict import is_stale
from ..boxes import Box, Part
from ..collapse import span_of
from ..folding import Folding, Level
from ..scene import Unit
from ..svg import COLUMN
from .frames import TOP, Play, called, paths_told

CHECKED = 500  # nodes; of more than that nobody recomputes the numbers by eye
BROKEN = 500  # nodes; every fault is a pass of its own, and a page has them all: a megabyte


def folded_play_of(root: Any, folding: Folding, levels: Mapping[str, Level]) -> Play:
    """Return the whole play as JSON can hold it; `levels` are the insides that can be opened."""
    numbered = _Numbered(folding, levels)
    _Ways(folding, numbered).tell(root)
    shown, sound = _Shown(folding, numbered), steps(root)
    grads = _Grads(shown, sound)
    units = numbered.units
    seed = grads.begin({id(root): 1.0})
    backward = [grads.passed_on(kinds) for kinds in reversed(numbered.atoms)][::-1]
    for number, unit in enumerate(units):
        unit["columns"] = [len(f"data {unit['data']}"), len(f"grad {grads.widest[number]}")]
        unit["grad"] = grads.texts[number]
    broken = replays(root, sound) if folding.size[0] <= BROKEN else []
    runs = [_run(played, shown, numbered.atoms, grads.final, backward) for played in broken]
    nodes, edges = folding.size
    result = folding.kinds.unit(len(folding.kinds.members) - 1)
    return {
        "title": readable(result.label or result.op),
        "value": str(span_of([root.data])),
        "column": COLUMN,
        "nodes": f"{nodes:,}",
        "edges": f"{edges:,}",
        "units": units,
        "arrows": numbered.arrows,
        "levels": numbered.tables,
        "seed": seed,
        "backward": backward,
        "runs": [{"name": ""}, *runs],
    }


def widths_in(play: Play, level: str) -> list[tuple[int, int]]:
    """Return the columns that data and grad of each unit of a level will need."""
    return [
        (0, 0) if number is None else tuple(play["units"][number]["columns"])
        for number in play["levels"][level]["units"]
    ]


def last_frame(play: Play, is_open: Sequence[str]) -> int:
    """Return the number of the last frame, with these boxes open."""
    seen = {"", *is_open}
    shown = [u for u in play["units"] if u["level"] in seen and u.get("box") not in seen]
    return 2 * len([unit for unit in shown if unit["from"] < unit["to"]]) + 2


class _Numbered:
    """Units and arrows of all levels with numbers of their own, and the order of the steps."""

    def __init__(self, folding: Folding, levels: Mapping[str, Level]) -> None:
        self.folding, self.levels = folding, levels
        self.units: list[dict[str, Any]] = []
        self.arrows: list[list[int | None]] = []  # source (None: a port) and target
        self.tables: dict[str, dict[str, Any]] = {}
        self.atoms: list[list[int]] = []  # the kinds of each smallest step
        self.at: dict[Part, int] = {}  # the number of a kind or of a box
        self.titles = Counter(box.title for box in folding.boxes.values())
        for name, level in levels.items():
            self._add(name, level)
        for name, level in levels.items():
            self.tables[name]["feeds"] = [self._feeding(name, kinds) for kinds in level.ports]
        self._order()

    def _add(self, name: str, level: Level) -> None:
        ports = len(level.ports)
        for part, unit in zip(level.parts, level.scene.units[ports:], strict=True):
            self.at[part] = len(self.units)
            self.units.append(self._unit(name, part, unit))
        numbers = [*[None] * ports, *(self.at[part] for part in level.parts)]
        ends = [(arrow.source, arrow.target) for arrow in level.scene.arrows]
        self.tables[name] = {"units": numbers, "arrows": len(self.arrows), "ends": ends}
        self.arrows += [[numbers[source], numbers[target]] for source, target in ends]

    def _unit(self, level: str, part: Part, unit: Unit) -> dict[str, Any]:
        is_box = isinstance(part, Box)
        nodes = [] if is_box else self.folding.kinds.results[part]
        is_one = len(nodes) == unit.count == 1
        name = unit.label or unit.op or str(unit.data)
        if is_box and self.titles[unit.label] > 1 and part.parent.title:
            name = f"{part.parent.title}.{name}"  # the neuron0 of which layer?
        told: dict[str, Any] = {
            "name": cut(called(nodes[0], unit)) if is_one else short(name),
            "labelled": is_box or bool(unit.label),
            "level": level,
            "nodes": unit.count,
            "data": str(unit.data),
        }
        if is_box:
            told["box"] = unit.box
        if is_one and not unit.is_leaf:
            node = nodes[0]
            told["head"] = Forward(node, node._op, node._operands, node.data).head
        if self._is_stale(part):
            told["stale"] = True
        return told

    def _is_stale(self, part: Part) -> bool:
        if self.folding.size[0] > CHECKED:
            return False
        kinds = part.all_kinds() if isinstance(part, Box) else [part]
        return any(is_stale(node) for k in kinds for node in self.folding.kinds.members[k])

    def _feeding(self, name: str, kinds: list[int]) -> list[int]:
        """Return the arrows that lead to a box from what a port inside it stands for."""
        box = self.folding.boxes[name]
        around = box.parent
        assert around is not None
        outer, table = self.levels[around.id], self.tables[around.id]
        sources = set()
        for k in kinds:
            part = self.folding.tree.part_in(around, k)
            if part is None:
                sources |= {n for n, held in enumerate(outer.ports) if k in held}
            else:
                sources.add(len(outer.ports) + outer.parts.index(part))
        target = len(outer.ports) + outer.parts.index(box)
        return [
            table["arrows"] + n
            for n, ends in enumerate(table["ends"])
            if ends[1] == target and ends[0] in sources
        ]

    def _order(self) -> None:
        """Give each unit its stretch of the steps; a leaf has none."""
        stack: list[tuple[Part, Iterator[Part]]] = [(None, iter(self.levels[""].parts))]
        while stack:
            box, rest = stack[-1]
            part = next(rest, None)
            if part is None:
                stack.pop()
                if box is not None:
                    self.units[self.at[box]]["to"] = len(self.atoms)
                continue
            unit = self.units[self.at[part]]
            unit["from"] = len(self.atoms)
            if isinstance(part, Box) and part.id in self.levels:
                stack.append((part, iter(self.levels[part.id].parts)))
                continue
            if isinstance(part, Box):
                if not part.is_leaves:
                    self.atoms.append(part.all_kinds())
            elif not self.folding.tree.is_leaf(part):
                self.atoms.append([part])
            unit["to"] = len(self.atoms)


class _Ways:
    """The arrows along a path, in every box that it runs through."""

    def __init__(self, folding: Folding, numbered: _Numbered) -> None:
        self.folding, self.numbered = folding, numbered
        self.kind_of = _kinds_of(folding)
        self.places: dict[str, dict[Part, int]] = {}
        self.arrows: dict[tuple[str, int, int], int] = {}
        for name, level in numbered.levels.items():
            ports = {k: n for n, kinds in enumerate(level.ports) for k in kinds}
            parts = {part: len(level.ports) + n for n, part in enumerate(level.parts)}
            self.places[name] = ports | parts
            table = numbered.tables[name]
            for n, ends in enumerate(table["ends"]):
                self.arrows.setdefault((name, *ends), table["arrows"] + n)

    def tell(self, root: Any) -> None:
        """Give each unit that is one node the paths from it to the result."""
        chosen = [
            (self.numbered.units[number], self.folding.kinds.members[part][0])
            for part, number in self.numbered.at.items()
            if not isinstance(part, Box) and self.numbered.units[number]["nodes"] == 1
        ]
        if self.folding.size[0] > BROKEN:
            return
        explained = explain_all(root, TOP, [node for _, node in chosen])
        for (unit, _), found in zip(chosen, explained, strict=True):
            unit.update(paths_told(found))
            unit["terms"] = [
                [
                    brief(term.product),
                    self.along([self.kind_of[id(node)] for node in term.nodes]),
                    [brief(local) for local in term.locals],
                    [self.unit_of(self.kind_of[id(node)]) for node in term.nodes],
                ]
                for term in found.terms
            ]

    def unit_of(self, k: int) -> int:
        """Return the unit of a kind, or of the smallest box around it that has one."""
        at, home = self.numbered.at, self.folding.tree.home[k]
        return next(at[part] for part in (k, *home.outwards()) if part in at)

    def along(self, kinds: list[int]) -> list[int]:
        """Return the arrows from kind to kind; where boxes are closed they lead to those."""
        found: dict[int, None] = {}
        tree = self.folding.tree
        for source, target in pairwise(kinds):
            for box in tree.home[target].outwards():
                if box.id not in self.places:
                    continue
                place, to = self.places[box.id], tree.part_in(box, target)
                part = tree.part_in(box, source)
                start = place.get(source if part is None else part)
                arrow = self.arrows.get((box.id, start, place[to])) if start is not None else None
                if arrow is not None:
                    found[arrow] = None
        return list(found)


def _kinds_of(folding: Folding) -> dict[int, int]:
    return {id(node): k for k, nodes in enumerate(folding.kinds.members) for node in nodes}


class _Shown:
    """Which units show the numbers of which nodes."""

    def __init__(self, folding: Folding, numbered: _Numbered) -> None:
        self.members = folding.kinds.members
        self.kind_of = _kinds_of(folding)
        self.units: dict[int, list[int]] = {}  # by kind
        self.nodes: list[list[Any]] = [[] for _ in numbered.units]
        for part, number in numbered.at.items():
            for k in folding.results(part) if isinstance(part, Box) else [part]:
                self.units.setdefault(k, []).append(number)
                self.nodes[number] += folding.kinds.results[k]

    def text(self, number: int, grads: Mapping[int, float]) -> str:
        """Return what a unit reads, with these grads by id(node)."""
        return str(span_of([grads.get(id(node), 0.0) for node in self.nodes[number]]))


class _Grads:
    """The grads of all nodes during a backward pass that goes from step to step."""

    def __init__(self, shown: _Shown, played: list[Step], fault: Any = None) -> None:
        self.shown = shown
        self.now: dict[int, float] = {}  # by id(node)
        self.given: dict[int, list[tuple[Any, float, bool]]] = {}  # what a node gives to operands
        self.final: dict[int, float] = {}
        for step in played:
            replaces = fault is not None and fault.replaces(step.node)
            told = (step.operand, step.contribution, replaces)
            self.given.setdefault(id(step.node), []).append(told)
            self.final[id(step.operand)] = step.after
        self.missing = Counter(id(x) for found in self.given.values() for x, *_ in found)
        self.texts = ["0"] * len(shown.nodes)
        self.widest = self.texts[:]

    def begin(self, grads: Mapping[int, float]) -> list[tuple[int, str]]:
        """Let the grads be these, and 0 where there is none; return which units read what now."""
        before, self.now = self.now, dict(grads)
        return self.changed(self.shown.kind_of[at] for at in before | self.now)

    def passed_on(self, kinds: list[int]) -> list[tuple[int, str]]:
        """Let kinds give what they have to their operands; return which units read what now."""
        touched: dict[int, None] = {}
        for k in reversed(kinds):
            for node in self.shown.members[k]:  # of a run, the last one first
                for operand, contribution, replaces in self.given.get(id(node), ()):
                    self.missing[id(operand)] -= 1
                    before = 0.0 if replaces else self.now.get(id(operand), 0.0)
                    is_last = not self.missing[id(operand)]
                    total = self.final[id(operand)] if is_last else before + contribution
                    self.now[id(operand)] = total
                    touched[self.shown.kind_of[id(operand)]] = None
        return self.changed(touched)

    def changed(self, kinds: Iterable[int]) -> list[tuple[int, str]]:
        """Return what the units that show these kinds read now, where that is something else."""
        found = []
        for number in dict.fromkeys(n for k in kinds for n in self.shown.units.get(k, ())):
            text = self.shown.text(number, self.now)
            if text != self.texts[number]:
                self.texts[number] = text
                self.widest[number] = max(self.widest[number], text, key=len)
                found.append((number, text))
        return found


def _run(
    played: Replay,
    shown: _Shown,
    atoms: list[list[int]],
    right: Mapping[int, float],
    sound: list[list[tuple[int, str]]],
) -> dict[str, Any]:
    """A run with a fault; without rows if the fault does this graph no harm."""
    run: dict[str, Any] = {"name": played.fault.name, "says": played.fault.says}
    if not played.shows:
        return run
    grads = _Grads(shown, played.steps, played.fault)
    if played.first:
        run["first"] = grads.begin({id(node): grad for node, grad in played.first})
    run["seed"] = grads.begin({id(node): grad for node, grad in played.begins})
    root = len(shown.members) - 1
    now = dict.fromkeys(shown.units.get(root, ()), "1")  # what the sound pass reads
    rows = []
    reads: dict[int, list[str]] = {}
    for kinds, done in zip(reversed(atoms), reversed(sound), strict=True):
        now |= dict(done)
        touched = dict.fromkeys(n for n, _ in [*grads.passed_on(kinds), *done])
        row = []
        for number in touched:
            text, sound_text = grads.texts[number], now.get(number, "0")
            is_right = bool(played.first) or text == sound_text
            told = [text] if is_right else [text, sound_text]
            if reads.get(number, ["0"]) != told:
                reads[number] = told
                row.append([number, *told])
        rows.append(row)
    run["rows"] = rows[::-1]
    if played.kept:
        after = grads.now | {id(node): after for node, _, after in played.kept}
        run["kept"] = grads.begin(after)
    should = dict(right) | {id(node): number for node, _, number in played.wrong}
    units = {n for node, *_ in played.wrong for n in shown.units.get(shown.kind_of[id(node)], ())}
    wrong = [[n, grads.texts[n], shown.text(n, should)] for n in sorted(units)]
    run["wrong"] = [row for row in wrong if row[1] != row[2]]
    return run
