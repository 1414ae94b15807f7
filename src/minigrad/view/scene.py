"""The picture as data: what every view draws.

A unit is an operation and its value together (or a leaf), an arrow leads from an operand to its
user; `a*a` has two arrows. A unit can also be a box that stands for a part of the graph: closed, or
open, and then the scene inside it has a port for each thing that comes from outside. A scene holds
no Values: it stays as it is while the graph goes on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..core.names import brief, json_number, plural, readable


class Span(NamedTuple):
    """The smallest and the largest of the numbers that a unit stands for; nan if one is nan."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = self
        return brief(low) if brief(low) == brief(high) else f"{brief(low, 3)} … {brief(high, 3)}"


@dataclass(frozen=True, slots=True)
class Unit:
    """An operation and its value, or a leaf; or several that are alike; or a box of many."""

    label: str
    op: str  # empty for a leaf, and for a node made by hand without a name for its operation
    data: Span
    grad: Span
    count: int = 1  # of distinct nodes
    hidden: int = 0  # operands that are not drawn
    is_leaf: bool = False
    is_ordered: bool = False  # whether swapping its operands would change it: - / **
    box: str = ""  # the id of a box; empty for everything else
    times: int = 1  # of a box: how many alike it stands for
    note: str = ""  # something to know besides
    inside: Scene | None = None  # of a box that is open
    is_port: bool = False  # stands for something outside the box that this is in
    is_run: bool = False  # several operations with one result: a + b + c

    @property
    def many(self) -> str:
        """Say how many alike it stands for: ×4."""
        number = self.times if self.box else self.count
        return f"×{number:,}" if number > 1 else ""

    @property
    def many_values(self) -> str:
        """The same, to stand beside the label, where there are many values."""
        return "" if self.is_run else self.many

    @property
    def many_operations(self) -> str:
        """The same, to stand beside the operation, where that is done many times for one value."""
        return self.many if self.is_run else ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """`source` is an operand of `target`, both by their place among the units."""

    source: int
    target: int
    position: int  # of the operand among the target's operands


@dataclass(frozen=True, slots=True, repr=False)
class Scene:
    """Units in topological order, the result last, and the arrows between them."""

    units: tuple[Unit, ...]
    arrows: tuple[Arrow, ...]
    notice: str = ""  # what one has to know: that not all is drawn, that numbers are from before
    name: str = ""  # of the result, where it is inside a box
    is_complete: bool = True  # each node is a unit of its own, each edge an arrow

    def __repr__(self) -> str:
        units, arrows = plural(len(self.units), "unit"), plural(len(self.arrows), "arrow")
        return f"<Scene of {self.title}: {units}, {arrows}>"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it. A unit's id is its place in the list."""
        return {
            "units": [
                {
                    "id": k,
                    "label": unit.label,
                    "op": unit.op,
                    "data": [json_number(x) for x in unit.data],
                    "grad": [json_number(x) for x in unit.grad],
                    "count": unit.count,
                    "hidden": unit.hidden,
                    "leaf": unit.is_leaf,
                    "ordered": unit.is_ordered,
                    **({"box": unit.box, "times": unit.times} if unit.box else {}),
                }
                for k, unit in enumerate(self.units)
            ],
            "arrows": [asdict(arrow) for arrow in self.arrows],
            "notice": self.notice,
        }

    def everything(self) -> list[Unit]:
        """Return all units that are drawn, also inside open boxes, without ports and frames."""
        found: list[Unit] = []
        scenes = [self]
        for scene in scenes:  # grows while it is read
            for unit in scene.units:
                if unit.inside is not None:
                    scenes.append(unit.inside)
                elif not unit.is_port:
                    found.append(unit)
        return found

    @property
    def title(self) -> str:
        """What the result is called."""
        last = self.units[-1]
        return readable(self.name or ("" if last.box else last.label or last.op)) or "a number"

    def description(self) -> str:
        """Tell in a sentence or two what there is to see, for those who cannot."""
        units = self.everything()
        leaves, boxes = sum(u.is_leaf for u in units), sum(bool(u.box) for u in units)
        operations = len(units) - leaves - boxes
        counts = f"{plural(leaves, 'leaf', 'leaves')} and {plural(operations, 'operation')}"
        if boxes:
            counts = f"{plural(boxes, 'box', 'boxes')}, {counts}"
        return f"Expression graph of {self.title}: {counts}. {self.notice}".rstrip()
