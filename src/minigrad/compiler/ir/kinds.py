"""The kinds of instruction, a row for each: its meaning, its operands, what passes may do with it.

There are two families:

    =   writes slots that nothing has written      map  sum  dot  mm  max  argmax  take  fill
    +=  adds to slots, see `Instruction.stores`    vjp  add  muladd  mmadd  put  get

The second is closed under differentiation: the reverse rule of each of its members is made of
members. That is why a gradient is a program like any other, and can be differentiated again.

A new kind is a row here, a runner in `backends/numpy.py`, a rule in `passes/grad.py`, and an
encoder with its C for the native machine. All else is read from the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """A row of the table below, made by `_row`."""

    name: str
    meaning: str  # i: row, j: column, k: term
    dimensions: int  # of the shape of an instruction
    args: int  # operands, without one that a sum may start from
    counts: tuple[int, ...]  # of operands that there may be
    # Of each operand and of the result, where the numbers of its rows and terms stand in a shape
    # that has a 1 behind it, and behind that the size of the grid of rows and columns.
    places: tuple[tuple[int, int], ...]
    out: tuple[int, int]
    names_op: bool = False  # it does what `op` names, whose operands are the last, up to three
    adds: bool = False  # += instead of =
    may_store: bool = False  # the first to reach its slots may write instead of adding
    is_flat: bool = False  # no derivative passes
    # What `trim` may take from the end of a row: terms that are the constant "zero" where there is
    # a start, copies of the "first" term, results that are "unread".
    padding: str = ""
    layout: int = 2  # captured Values lie in the order in which kinds of the least number use them
    label: str = "{0.kind}"  # of an instruction, in a program's text
    words: str = ""  # for people; the name, if there are no better


def _row(name: str, shape: str, operands: str, meaning: str, **more: Any) -> Kind:
    """Make a row from shapes in letters: m or n rows, n columns beside m rows, k terms of each row.

    So "nk" is n rows of k terms, and "mn" a grid of m × n elements, each a row. What stands in
    brackets is the start.
    """
    one = len(shape)

    def place(letters: str) -> tuple[int, int]:
        rows = letters.strip("[k]")
        at = shape.index(rows) if len(rows) == 1 else one + 1
        return at, shape.index("k") if "k" in letters else one

    read, out = operands.split("-> ")
    args = read.split()
    most, least = len(args), len(args) - read.count("[")
    counts = tuple(range(least, most + 1))
    return Kind(name, meaning, one, least, counts, tuple(map(place, args)), place(out), **more)


_ADDS = {"adds": True, "may_store": True}
# fmt: off
_ROWS = (
    _row("map", "n", "n n n -> n", "out(i) = op(a(i), b(i), c(i))",
         names_op=True, label="{0.op}", words="element by element"),
    _row("sum", "nk", "nk [n] -> n", "out(i) = [start(i) +] a(i,0) + a(i,1) + …",
         padding="zero", words="sums"),
    _row("dot", "nk", "nk nk [n] -> n", "out(i) = [start(i) +] a(i,0)*b(i,0) + …",
         padding="zero", layout=1, words="dots"),
    _row("mm", "mnk", "mk nk [mn] -> mn", "out(i,j) = [start(i,j) +] a(i,0)*b(j,0) + …", layout=0),
    # From left to right, for what is greater: of equal ones the first, a nan only if it is first.
    _row("max", "nk", "nk -> n", "out(i) = the largest a(i,k), as max() finds it",
         is_flat=True, padding="first"),
    _row("argmax", "nk", "nk -> n", "out(i) = which k that is", is_flat=True),
    # An index, here and in `put` and `get`, is a float64: a whole number from -k to k - 1.
    _row("take", "nk", "nk n -> n", "out(i) = a(i, index(i))", layout=0, words="taken by index"),
    _row("fill", "n", "-> n", "out(i) = number", is_flat=True),
    _row("vjp", "n", "n n n n n -> n", "out(i) += g(i) * partial `which` of op (y, a, b, c)",
         names_op=True, label="vjp {0.op}/{0.which}", **_ADDS),
    _row("add", "nk", "nk -> nk", "out(i,k) += a(i,k)", padding="unread", **_ADDS),
    _row("muladd", "nk", "nk nk -> nk", "out(i,k) += a(i,k)*b(i,k)", padding="unread", **_ADDS),
    _row("mmadd", "mnk", "mk nk -> mn", "out(i,j) += a(i,0)*b(j,0) + …", **_ADDS),
    _row("put", "nk", "n n -> nk", "out(i, index(i)) += a(i)", adds=True),
    _row("get", "nk", "nk n -> n", "out(i) += a(i, index(i))", **_ADDS),
)
# fmt: on
KINDS = {row.name: row for row in _ROWS}
