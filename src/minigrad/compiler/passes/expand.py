"""Spell fused instructions out, in operations that can be differentiated.

A `vjp` is a slope times an adjoint in one go; it has no derivative of its own. Before a gradient is
differentiated again, the rule of the op table that a `vjp` stands for is run on symbols, and what
it does is written down as maps.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any

from ...codegen.elementwise import MAPS
from ...maths.symbols import Symbol, SymbolMath, postorder, symbol_of
from ..ir.instructions import listing
from ..ir.program import Builder, Program
from ..ir.refs import Ref


def expand(program: Program) -> Program:
    """Spell every `vjp` out in maps, by the rule of the op table, so that it has a derivative."""
    builder = Builder(program.size)
    for i in program.instructions:
        if i.kind != "vjp":
            builder.instructions.append(i)
            continue
        n = i.shape[0]
        g, *operands = i.args
        known = dict(zip(_NAMES, operands, strict=False))
        slope = MAPS[i.op].partials[i.which](_MATH, *map(Symbol, known))
        builder.emit("muladd", (n, 1), i.out, g, _emitted(slope, known, builder, n))
    return replace(program, size=builder.size, instructions=listing(builder.instructions))


def _emitted(root: Any, known: dict[str, Ref], builder: Builder, count: int) -> Ref:
    """Write instructions for what a rule came to; return where its numbers lie."""
    found: dict[Symbol, Ref] = {}
    for symbol in postorder(symbol_of(root), _PARTS):
        word, args = symbol.word, [found[part] for part in symbol.parts]
        if isinstance(word, float):
            found[symbol] = builder.number(word)
        elif not args:
            found[symbol] = known[word]
        else:
            found[symbol] = builder.allocate(count)
            op = "where" if word == "usually" else word
            builder.emit("map", (count,), found[symbol], *args, op=op)
    return found[symbol]


def _stopped(x: Any) -> Any:
    return Symbol("stop_gradient", x) if isinstance(x, Symbol) else x


_NAMES = ("y", "a", "b", "c")
_PARTS = attrgetter("parts")
_MATH = SymbolMath(MAPS, rows=MAPS, number=_stopped)
