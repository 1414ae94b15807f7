"""The play of a folded picture: a step is a box, or nodes that are alike; an open box has its own.

There is one order of all steps, with every box opened; a box is a stretch of it, `from` … `to`.
Whatever is open, the forward pass goes through the stretches of what is drawn, and the backward
pass back through them: so the rows here are of the smallest steps, and `boxes.js` joins those of a
box that is closed. All numbers are texts by now, from the smallest to the largest of those alike.

A pass that goes box by box adds the same contributions as the engine's in another order. What a
grad is in the end is the engine's number, whatever the last digit of the sum in this order.

Start at `folded_play_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...calculus.steps import Forward, steps
from ...core.names import readable, short, short_name
from ...core.strict import is_stale
from ..boxes import Box, Part
from ..collapse import span_of
from ..folding import Folding, Level
from ..scene import Unit
from ..svg import COLUMN
from .frames import Play

CHECKED = 500  # nodes; of more than that nobody recomputes the numbers by eye


def folded_play_of(root: Any, folding: Folding, levels: Mapping[str, Level]) -> Play:
    """Return the whole play as JSON can hold it; `levels` are the insides that can be opened."""
    numbered = _Numbered(folding, levels)
    grads = _Grads(root, folding, numbered)
    units = numbered.units
    seed = grads.changed([len(folding.kinds.members) - 1])
    backward = [grads.passed_on(kinds) for kinds in reversed(numbered.atoms)][::-1]
    for number, unit in enumerate(units):
        unit["columns"] = [len(f"data {unit['data']}"), len(f"grad {grads.widest[number]}")]
        unit["grad"] = grads.texts[number]
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
        "runs": [{"name": ""}],
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
            "name": short_name(nodes[0]) if is_one else short(name),
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
                self.atoms.append(part.all_kinds())
            elif not self.folding.tree.is_leaf(part):
                self.atoms.append([part])
            unit["to"] = len(self.atoms)


class _Grads:
    """The grads of all nodes during a backward pass that goes from step to step."""

    def __init__(self, root: Any, folding: Folding, numbered: _Numbered) -> None:
        self.kinds = folding.kinds
        self.now: dict[int, float] = {id(root): 1.0}  # by id(node)
        self.given: dict[int, list[tuple[Any, float]]] = {}  # what each node adds to its operands
        self.final: dict[int, float] = {}
        for step in steps(root):
            self.given.setdefault(id(step.node), []).append((step.operand, step.contribution))
            self.final[id(step.operand)] = step.after
        self.missing = Counter(id(x) for found in self.given.values() for x, _ in found)
        self.kind_of = {id(node): k for k, nodes in enumerate(self.kinds.members) for node in nodes}
        shown: dict[int, list[int]] = {}  # by kind: the units that show its numbers
        self.nodes: list[list[Any]] = [[] for _ in numbered.units]
        for part, number in numbered.at.items():
            for k in folding.results(part) if isinstance(part, Box) else [part]:
                shown.setdefault(k, []).append(number)
                self.nodes[number] += self.kinds.results[k]
        self.shown = shown
        self.texts = ["0"] * len(numbered.units)
        self.widest = self.texts[:]

    def passed_on(self, kinds: list[int]) -> list[tuple[int, str]]:
        """Let kinds give what they have to their operands; return which units read what now."""
        touched: dict[int, None] = {}
        for k in reversed(kinds):
            for node in self.kinds.members[k]:  # of a run, the last one first
                for operand, contribution in self.given.get(id(node), ()):
                    self.missing[id(operand)] -= 1
                    is_last = not self.missing[id(operand)]
                    total = self.now.get(id(operand), 0.0) + contribution
                    self.now[id(operand)] = self.final[id(operand)] if is_last else total
                    touched[self.kind_of[id(operand)]] = None
        return self.changed(touched)

    def changed(self, kinds: Any) -> list[tuple[int, str]]:
        """Return what the units that show these kinds read now, where that is something else."""
        found = []
        for number in dict.fromkeys(n for k in kinds for n in self.shown.get(k, ())):
            text = str(span_of([self.now.get(id(node), 0.0) for node in self.nodes[number]]))
            if text != self.texts[number]:
                self.texts[number] = text
                self.widest[number] = max(self.widest[number], text, key=len)
                found.append((number, text))
        return found
