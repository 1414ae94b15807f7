"""The picture as data: what every view draws.

A unit is an operation and its value together (or a leaf), an arrow leads from an operand to its
user; `a*a` has two arrows. A scene holds no Values: it stays as it is while the graph goes on.
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
    """An operation and its value, or a leaf; or several that are alike."""

    label: str
    op: str  # empty for a leaf, and for a node made by hand without a name for its operation
    data: Span
    grad: Span
    count: int = 1
    hidden: int = 0  # operands that are not drawn
    is_leaf: bool = False
    is_ordered: bool = False  # whether swapping its operands would change it: - / **


@dataclass(frozen=True, slots=True)
class Arrow:
    """`source` is an operand of `target`, both by their place among the units."""

    source: int
    target: int
    position: int  # of the operand among the target's operands


@dataclass(frozen=True, slots=True)
class Scene:
    """Units in topological order, the result last, and the arrows between them."""

    units: tuple[Unit, ...]
    arrows: tuple[Arrow, ...]
    notice: str = ""  # for who looks at a picture that is not complete
    is_complete: bool = True  # each node is a unit of its own, each edge an arrow

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
                }
                for k, unit in enumerate(self.units)
            ],
            "arrows": [asdict(arrow) for arrow in self.arrows],
            "notice": self.notice,
        }

    @property
    def title(self) -> str:
        """What the result is called."""
        return readable(self.units[-1].label or self.units[-1].op) or "a number"

    def description(self) -> str:
        """Tell in a sentence or two what there is to see, for those who cannot."""
        leaves = sum(unit.is_leaf for unit in self.units)
        operations = len(self.units) - leaves
        counts = f"{plural(leaves, 'leaf', 'leaves')} and {plural(operations, 'operation')}"
        return f"Expression graph of {self.title}: {counts}. {self.notice}".rstrip()
