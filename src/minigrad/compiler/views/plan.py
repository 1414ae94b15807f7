"""What a plan is made of: steps over arrays, and how each reads its operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..ir.program import Instruction, Program

Table: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Loop: TypeAlias = tuple[int, int]  # how often, and by what stride
Cuts: TypeAlias = tuple[tuple[int, int, int, int], ...]  # see `View`


@dataclass(frozen=True, eq=False)
class View:
    """Elements of one array, by reshaping, slicing, transposing and broadcasting.

    The array is flat. Each of the `cuts` (length, stride, first, count) takes `length` elements of
    the last axis, folds them into rows of `stride`, and keeps `count` rows from `first` on. Of what
    is left, element `base`; then the axes come into `order`, and are stretched to `shape`.
    """

    source: int  # which piece
    cuts: Cuts
    base: int
    order: tuple[int, ...]
    narrow: tuple[int, ...]  # the shape before it is stretched
    shape: tuple[int, ...]
    start: int = 0  # what the view was made of: the first element, and loops
    loops: tuple[Loop, ...] = ()
    is_whole: bool = False  # all of the array, in order


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers that are known."""

    numbers: Table

    @property
    def only(self) -> float | None:
        """The number, if all are the same, the sign of 0 included."""
        bits = np.ascontiguousarray(self.numbers).view(np.int64)
        return float(self.numbers.flat[0]) if (bits == bits.flat[0]).all() else None


@dataclass(frozen=True, eq=False)
class Masked:
    """A view, with known numbers in place of some elements."""

    view: View
    kept: Table
    numbers: Table
    holds: bool = False  # whether the view has these numbers there already, or what it has will do


@dataclass(frozen=True, eq=False)
class Joined:
    """Elements that follow each other across pieces: (piece, first, end) of each part."""

    parts: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, eq=False)
class Gathered:
    """Elements without a pattern: of each piece, where it is read, -1 for elsewhere."""

    parts: tuple[tuple[int, Table], ...]
    numbers: Table  # known ones, 0 elsewhere
    beside: bool  # whether to put the pieces side by side and gather once


@dataclass(frozen=True, eq=False)
class Operand:
    """How to read an operand, as an array of this shape."""

    shape: tuple[int, ...]
    how: View | Constant | Masked | Joined | Gathered

    @property
    def is_zero(self) -> bool:
        """Whether it is the constant 0."""
        return isinstance(self.how, Constant) and not self.how.numbers.any()


def seen_by(operand: Operand) -> View | None:
    """Return the view that an operand is read by, with or without a mask."""
    how = operand.how.view if isinstance(operand.how, Masked) else operand.how
    return how if isinstance(how, View) else None


@dataclass(frozen=True, eq=False)
class WholeTable:
    """How a piece of rows of several lengths is kept: row by row, each as long as the longest.

    Where a row has ended it holds copies of its first entry, or zeros, as its readers like it.
    """

    shape: tuple[int, int]
    rows: Table  # of each entry, which element of the piece it holds
    ended: Table  # whether its row has ended
    places: Table  # of each element, its entry

    @classmethod
    def of(cls, table: Table, valid: Table) -> WholeTable:
        """Make one from elements of a piece, and from which of them count."""
        places = np.zeros(int(table[valid].max()) + 1, dtype=np.int64)
        places[table[valid]] = np.flatnonzero(valid)
        rows = np.where(valid, table, table[:, :1]).ravel()
        return cls((table.shape[0], table.shape[1]), rows, ~valid.ravel(), places)

    @property
    def key(self) -> bytes:
        """The same for tables of the same rows."""
        return repr(self.shape).encode() + self.rows.tobytes() + self.ended.tobytes()

    def with_rows(self, order: Table) -> WholeTable:
        """The same with its rows in another order."""
        table = self.rows.reshape(self.shape)[order]
        return WholeTable.of(table, ~self.ended.reshape(self.shape)[order])


@dataclass(frozen=True, eq=False)
class Product:
    """Dot products that are the elements of matrix products.

    `sides` are views of shape (*batch, rows, terms) and (*batch, columns, terms), each perhaps with
    a mask; the products, of shape `shape`, have their axes in the order of the results after a
    transpose.
    """

    sides: tuple[Operand, Operand]
    batch: int  # how many axes
    shape: tuple[int, ...]
    order: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Step:
    """An instruction and how to read its operands. `form` says how to compute it."""

    instruction: Instruction
    form: str  # its kind, or "unrolled", "product", "look_up"
    operands: tuple[Operand, ...]
    shape: tuple[int, ...]  # of the results, which are as many axes as operands have loops
    whole: WholeTable | None = None
    # Of a whole table: what stands where a row has ended, "" for anything; and whether it has to be
    # put there.
    ends: Literal["first", "zero", ""] = ""
    mends: bool = False
    skips: bool = False  # where the gradient is 0 nothing is passed on, whatever the slope
    product: Product | None = None


@dataclass(frozen=True)
class Leaf:
    """A piece of the inputs."""

    first: int
    end: int
    is_index: bool  # whether it is read as an index and in no other way


@dataclass(frozen=True, eq=False)
class Plan:
    """A program as steps over arrays."""

    program: Program
    leaves: tuple[Leaf, ...]
    parameters: int  # how many leaves are of what the function closes over
    has_constants: bool
    steps: tuple[Step, ...]
    results: tuple[tuple[int, int], ...]  # of each: the piece, the place in it
    guards: tuple[tuple[int, int], ...]
    # Where views cut a piece along one axis into parts that do not overlap: their sizes, by the
    # piece and the cuts before. The gradient of such parts is put together, not added up.
    splits: dict[tuple[int, Cuts], tuple[int, ...]]
