"""Spell fused instructions out, in operations that can be differentiated.

A `vjp` is a slope times an adjoint in one go; it has no derivative of its own. Before a gradient is
differentiated again, the rule of the op table that a `vjp` stands for is run on symbols, and what
it does is written down as maps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ...codegen.elementwise import MAPS
from ..ir.builder import Builder
from ..ir.program import Program
from ..ir.refs import Ref

__all__ = ["expand"]


def expand(program: Program) -> Program:
    """Spell every `vjp` out in maps, by the rule of the op table, so that it has a derivative."""
    builder = Builder(program.size)
    for step in program.instructions:
        if step.kind != "vjp":
            builder.instructions.append(step)
            continue
        n = step.shape[0]
        g, y, *args = step.args
        m = _Spelling(builder, n)
        slope = MAPS[step.op].partials[step.which](m, _Term(m, y), *[_Term(m, a) for a in args])
        builder.emit("muladd", (n, 1), step.out, g, m.ref(slope))
    return replace(program, size=builder.size, instructions=tuple(builder.instructions))


class _Term:
    """An operand, or the result of an instruction, while a rule is being spelled out."""

    def __init__(self, m: _Spelling, ref: Ref) -> None:
        self.m, self.ref = m, ref

    def __add__(self, other: Any) -> Any:
        return self.m.apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.m.apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.m.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.m.apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.m.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.m.apply("mul", other, self)

    def __neg__(self) -> Any:
        return self.m.apply("neg", self)

    def __lt__(self, other: Any) -> Any:
        return self.m.apply("less", self, other)

    def __le__(self, other: Any) -> Any:
        return self.m.apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.m.apply("less", other, self)

    def __ge__(self, other: Any) -> Any:
        return self.m.apply("less_equal", other, self)

    def __and__(self, other: Any) -> Any:
        return self.m.apply("and_", self, other)

    def __or__(self, other: Any) -> Any:
        return self.m.apply("or_", self, other)


class _Spelling:
    """The mathematics (see `ops`) that writes instructions."""

    def __init__(self, builder: Builder, count: int) -> None:
        self.builder, self.count = builder, count
        self.rows = {name: partial(self.apply, name) for name in MAPS}

    def ref(self, x: Any) -> Ref:
        return x.ref if isinstance(x, _Term) else self.builder.number(float(x))

    def apply(self, name: str, *operands: Any) -> _Term:
        out = self.builder.allocate(self.count)
        args = [self.ref(x) for x in operands]
        self.builder.emit("map", (self.count,), out, *args, op=name)
        return _Term(self, out)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return self.apply("where", condition, a, b)

    def usually(self, holds: Any, usual: Any, otherwise: Callable[[], Any]) -> Any:
        return self.where(holds, usual, otherwise())

    def number(self, x: Any) -> Any:
        return self.apply("stop_gradient", x) if isinstance(x, _Term) else x

    def __getattr__(self, word: str) -> Any:
        if word not in MAPS:
            raise AttributeError(word)
        return self.rows[word]
