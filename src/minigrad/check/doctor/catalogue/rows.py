"""What a row of the catalogue is, and the lines of the usual engine that rows change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..judging import Sign
from ..run_probes import Outcome
from ..wording import Said

Patch = tuple[str, str]  # old and new text; an empty old one stands for the end of the file
Outcomes = dict[str, Outcome]
Shows = Callable[[Outcomes, dict[str, Sign]], Said]


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
    mark: str = ""  # and what for in its function, see `lines.py`
    family: str = ""  # a slip that any operation can have
    probe: str = ""  # limits and notes: the probe that shows it
    others: tuple[str, ...] = ()  # probes of other operations that show it where this one does not
    is_local: bool = False  # whether it is in the rule of one operation, `where`
    varies: bool = False  # whether the wrong numbers depend on the order of a set
    shows: Shows | None = None  # limits and notes: a few words from what came out, or none
    crash: tuple[str, str] = ("", "")  # the error that it ends in, and a pattern of its message


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

# ---- what subtraction and negation are where they have rules of their own ------------------------

SUB = "self.grad += out.grad  # sub, left\n            other.grad += -out.grad  # sub, right"
NEG = "self.grad += -out.grad  # neg"
DERIVED = """    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)
"""
DIRECT = f"""    def __neg__(self):
        out = Value(-self.data, (self,), "neg")

        def _backward():
            {NEG}

        out._backward = _backward
        return out

    def __sub__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data - other.data, (self, other), "-")

        def _backward():
            {SUB}

        out._backward = _backward
        return out
"""
