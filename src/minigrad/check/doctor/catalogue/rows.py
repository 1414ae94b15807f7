"""What a row of the catalogue is, and the lines of the usual engine that rows change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..judging import Sign
from ..run_probes import Outcome

Patch = tuple[str, str]  # old and new text; an empty old one stands for the end of the file
Outcomes = dict[str, Outcome]
Shows = Callable[[Outcomes, dict[str, Sign]], str]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that can be wrong with an engine."""

    code: str
    kind: str
    name: str
    sees: str
    why: str
    fix: str
    patches: tuple[Patch, ...]
    base: str = "closure"
    where: str = ""  # an operation, or backward: where to look for the line
    probe: str = ""  # limits and notes: the probe that shows it
    is_local: bool = False  # whether it is in the rule of one operation, `where`
    varies: bool = False  # whether the wrong numbers depend on the order of a set
    shows: Shows | None = None  # limits and notes: a few words from what came out, or none


def add(
    rows: list[Fault], kind: str, code: str, name: str, sees: str, why: str, fix: str,
    *patches: Patch, **options: Any,
) -> None:  # fmt: skip
    """Add a row."""
    rows.append(Fault(code, kind, name, sees, why, fix, patches, **options))


# ---- lines of sound/closure.py ------------------------------------------------------------------

ADD = "self.grad += out.grad  # add, left\n            other.grad += out.grad  # add, right"
MUL = (
    "self.grad += other.data * out.grad  # mul, left\n"
    "            other.grad += self.data * out.grad  # mul, right"
)
DIV = (
    "self.grad += out.grad / other.data  # div, left\n"
    "            other.grad += -self.data / other.data**2 * out.grad  # div, right"
)
SORT = """        topo = []
        visited = set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = 1.0  # seed
        for v in reversed(topo):
            v._backward()
"""
