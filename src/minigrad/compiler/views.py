"""Programs as separate arrays: from which array an operand is read, and by what view.

A program has one buffer. Array libraries want a value for each instruction and operands that are
views of such values: a reshape, a slice, a transpose, a broadcast. `plan(program)` finds them, and
knows no library: `backends/arrays` follows a plan in any. Start at `plan`.

- *Pieces* are the arrays: the inputs, cut wherever no operand reaches across; the constants; the
  results of each instruction.
- A *view* is found by looking for loops, counts and strides, that visit the slots of an operand.
- A *whole table* stands for rows of several lengths, as causal attention has them: where a row has
  ended, it holds copies of its first entry. So a triangle is read by strides.
- What has no pattern is *gathered*, by indices that are constants. XLA compiles gathers slowly, so
  a program that is made of them is refused, before anything else is done.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from ..errors import TraceError
from .ir.kinds import KINDS
from .ir.program import Instruction, Program
from .ir.refs import Flags, Ref

Table: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Loop: TypeAlias = tuple[int, int]  # how often, and by what stride
Cuts: TypeAlias = tuple[tuple[int, int, int, int], ...]  # see `View`

FEW = 8  # up to so many elements that are together by chance, each becomes an array of its own
MOST_INSTRUCTIONS = 4_000  # XLA takes some milliseconds for each
MOST_GATHERED = 500  # arrays to gather from: seconds of compiling grow faster than they do
LOOK_UP = 256  # up to so many rows, a look-up is a product with ones and zeros
_WIDE = {"sum": 1, "dot": 2, "mm": 2, "max": 1, "argmax": 1, "take": 1}  # operands with terms
_IN_TABLES = ("map", "dot", "sum")  # what may be computed for a whole table
_PARTS = 8  # arrays to gather from one by one; more are put side by side first


# ---- what a plan is made of ----------------------------------------------------------------------


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


@dataclass(frozen=True, eq=False)
class WholeTable:
    """How a piece of rows of several lengths is kept: row by row, each as long as the longest."""

    shape: tuple[int, int]
    rows: Table  # of each entry, which element of the piece it holds
    ended: Table  # whether its row has ended: it holds a copy of the first
    places: Table  # of each element, its entry

    @classmethod
    def of(cls, table: Table, valid: Table) -> WholeTable:
        """Make one from elements of a piece, and from which of them count."""
        places = np.zeros(int(table[valid].max()) + 1, dtype=np.int64)
        places[table[valid]] = np.flatnonzero(valid)
        rows = np.where(valid, table, table[:, :1]).ravel()
        return cls((table.shape[0], table.shape[1]), rows, ~valid.ravel(), places)


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
    mends: bool = False  # whether copies of the first are to be put where a row has ended
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


def plan(program: Program, *, least: float = 4, exact: bool = False) -> Plan:
    """Plan a program without gradients.

    Dot products that form a grid of at least `least` rows and columns become matrix products.
    `exact`: no number is read that the program does not read; nothing is kept as a whole table.
    """
    if program.adjoints:
        raise ValueError("plan(program): this program has gradients; plan the one without.")
    _refuse_irregular(program)
    program = _taken_apart(program)
    pieces = _Pieces(program)
    sure = _surely_reached(program)
    tables = {} if exact else _whole_tables(pieces)
    steps = []
    for i in program.instructions:
        steps.append(_Planner(pieces, tables, i, least, exact, not sure.all(i.areas[-1])).step())
    gathered = sum(
        len(operand.how.parts)
        for step in steps
        for operand in step.operands
        if isinstance(operand.how, Gathered)
    )
    if gathered > MOST_GATHERED:
        raise TraceError(_irregular(f"its operands are gathered from {gathered:,} arrays"))

    def place(slot: int) -> tuple[int, int]:
        at = pieces.at(slot)
        within = slot - pieces.starts[at]
        return at, int(tables[at].places[within]) if at in tables else within

    return Plan(
        program,
        tuple(pieces.leaves),
        bisect_right(pieces.starts[: len(pieces.leaves)], program.parameters - 1),
        bool(len(program.constants)),
        tuple(steps),
        tuple(place(slot) for slot in program.results),
        tuple(place(guard.at) for guard in program.guards),
        _splits(steps),
    )


def _splits(steps: list[Step]) -> dict[tuple[int, Cuts], tuple[int, ...]]:
    """Find the pieces that are cut into parts which do not overlap."""
    ranges: dict[tuple[int, Cuts], set[tuple[int, int]]] = {}
    lengths: dict[tuple[int, Cuts], int] = {}
    for step in steps:
        for operand in step.product.sides if step.product is not None else step.operands:
            how = operand.how.view if isinstance(operand.how, Masked) else operand.how
            for k, (length, stride, first, count) in enumerate(how.cuts if isinstance(how, View) else ()):
                if (first, count) != (0, length // stride):
                    key = how.source, (*how.cuts[:k], (length, stride, 0, length // stride))
                    ranges.setdefault(key, set()).add((first, first + count))
                    lengths[key] = length // stride
                    break
    found = {}
    for key, parts in ranges.items():
        edges = sorted({0, lengths[key], *(edge for part in parts for edge in part)})
        if len(parts) > 1 and all(pair in parts or not any(a <= pair[0] < b for a, b in parts) for pair in zip(edges, edges[1:])):
            found[key] = tuple(b - a for a, b in zip(edges, edges[1:], strict=False))
    return found


# ---- what is refused -----------------------------------------------------------------------------


def _irregular(why: str) -> str:
    return (
        f"this program is irregular: {why}, and XLA would need minutes to compile it. Run it on "
        "the native machine (backend='native'), over many rows with minigrad.vmap."
    )


def _refuse_irregular(program: Program) -> None:
    """Refuse what would become thousands of gathers, at a glance."""
    count = len(program.instructions)
    if count > MOST_INSTRUCTIONS:
        raise TraceError(_irregular(f"it has {count:,} instructions"))
    starts = np.array([i.areas[-1].first for i in program.instructions], dtype=np.int64)
    gathered = 0
    for i in program.instructions:
        for ref, rows, terms in i.spaces()[:-1]:
            if ref.rows is None and ref.cells is None:
                continue
            found = np.unique(np.searchsorted(starts, ref.slots(rows, terms).ravel(), "right"))
            gathered += len(found) if len(found) > 2 else 0
            if gathered > MOST_GATHERED:
                raise TraceError(
                    _irregular(f"its operands are gathered from more than {MOST_GATHERED} arrays")
                )


# ---- arrays --------------------------------------------------------------------------------------


def _taken_apart(program: Program) -> Program:
    """Make single elements of what is one instruction by chance.

    Grouping joins, say, two products of a formula for one option; arrays of two elements would only
    keep XLA from fusing the formula.
    """
    found: list[Instruction] = []
    alone = Flags(program.size)  # slots that are arrays of their own, or may become such
    alone.array[: program.inputs] = True
    for i in program.instructions:
        n = i.shape[0]
        refs = [ref.listed(n) for ref in (*i.args, i.out)] if i.kind == "map" and 1 < n <= FEW else []
        if not any(_is_loose(slots, alone) for slots in refs[:-1]):
            found.append(i)
            continue
        for row in sorted(range(n), key=refs[-1].__getitem__):
            *args, out = [Ref(slots[row]) for slots in refs]
            found.append(replace(i, shape=(1,), args=tuple(args), out=out))
            alone.array[out.base] = True
    return replace(program, instructions=tuple(found))


def _is_loose(slots: list[int], alone: Flags) -> bool:
    """Whether a few elements come from here and there."""
    strides = {b - a for a, b in zip(slots, slots[1:], strict=False)}
    if strides == {0}:
        return False
    return strides != {1} or (len(slots) <= 2 and all(alone.array[slot] for slot in slots))


def _is_unrolled(i: Instruction) -> bool:
    return i.kind in ("sum", "dot") and i.shape[0] == 1 and i.shape[1] <= FEW


def _read_spaces(i: Instruction) -> list[tuple[Ref, int, int]]:
    """List operands as they are read: those of an unrolled sum element by element."""
    spaces = i.spaces()[:-1]
    if not _is_unrolled(i):
        return spaces
    return [(Ref(slot), 1, 1) for ref, _, terms in spaces for slot in ref.listed(1, terms)]


class _Pieces:
    """Where the arrays begin and end that stand for the slots."""

    def __init__(self, program: Program) -> None:
        self.program = program
        first = program.inputs
        self.constants = (first, first + len(program.constants))
        cuts = _input_cuts(program)
        numbers, indices = _uses(program)
        self.leaves = [
            Leaf(a, b, bool(indices[a:b].any() and not numbers[a:b].any()))
            for a, b in zip(cuts, [*cuts[1:], first], strict=True)
        ]
        self.starts = [*cuts, *([first] if len(program.constants) else [])]
        self.first_result = len(self.starts)
        self.starts += [i.areas[-1].first for i in program.instructions]
        self.ends = [*self.starts[1:], program.size]
        self.index = np.array(self.starts, dtype=np.int64)
        for i, start, end in zip(
            program.instructions,
            self.starts[self.first_result :],
            self.ends[self.first_result :],
            strict=True,
        ):
            area = i.areas[-1]
            if area.slots is not None or (area.first, area.last) != (start, end - 1):
                raise ValueError(f"plan(program): results of {i.kind} are not a range in order.")

    def at(self, slot: int) -> int:
        """The piece that a slot lies in."""
        return bisect_right(self.starts, slot) - 1

    def length(self, at: int) -> int:
        return self.ends[at] - self.starts[at]

    def is_constant(self, slots: Table) -> Table:
        low, high = self.constants
        found: Table = (slots >= low) & (slots < high)
        return found

    def known(self, slots: Table, constant: Table) -> Table:
        """The numbers of slots that are constants, 0 for others."""
        if not len(self.program.constants):
            return np.zeros(slots.shape)
        numbers = self.program.constants[np.where(constant, slots - self.constants[0], 0)]
        return np.where(constant, numbers, 0.0)


def _input_cuts(program: Program) -> list[int]:
    """Cut the inputs where no operand reaches across, and between captured and given ones."""
    count = program.inputs
    joined = np.zeros(count + 1, dtype=bool)  # slot s belongs to the leaf of slot s - 1
    used = np.zeros(count + 1, dtype=bool)
    for i in program.instructions:
        for ref, rows, terms in _read_spaces(i):
            area = ref.area(rows, terms)
            first, last = area.first, area.last
            if first >= count:
                continue
            if last >= count:
                slots = ref.slots(rows, terms)
                last = int(slots[slots < count].max())
            joined[first + 1 : last + 1] = True
            used[first : last + 1] = True
    joined[1:] |= ~used[1:] & ~used[:-1]  # what nobody reads is one leaf
    joined[0] = joined[program.parameters] = False
    return [int(at) for at in np.flatnonzero(~joined[:count])]


def _uses(program: Program) -> tuple[Table, Table]:
    """Flag the inputs that are read as numbers, and those that are read as indices."""
    numbers, indices = Flags(program.size), Flags(program.size)
    for i in program.instructions:
        for which, area in enumerate(i.areas[:-1]):
            (indices if i.kind == "take" and which == 1 else numbers).set(area)
    for slot in (*program.results, *(guard.at for guard in program.guards)):
        numbers.array[slot] = True
    return numbers.array, indices.array


def _surely_reached(program: Program) -> Flags:
    """Flag the slots that the results reach whatever `where` and `take` choose.

    What is not chosen has a gradient of 0, and passes nothing on, even where a slope is inf. What
    every row of a table is made of is reached by whichever row is taken: the sum under a softmax.
    """
    sure = Flags(program.size)
    for slot in program.results:
        sure.array[slot] = True
    makers = {i.areas[-1].first: i for i in program.instructions}
    starts = sorted(makers)
    for i in reversed(program.instructions):
        spaces, out = i.spaces(), i.areas[-1]
        if KINDS[i.kind].is_flat or not sure.any(out):
            continue
        reached = np.ones(1, dtype=bool)
        if not sure.all(out):
            reached = sure.array[i.out.slots(*spaces[-1][1:])].ravel()
        if i.kind == "take":
            slots = i.args[0].slots(*i.shape)
            slots = slots if reached.all() else slots[reached]
            maker = makers[starts[max(bisect_right(starts, int(slots.min())) - 1, 0)]]
            _mark_common(sure, maker, slots)
        elif i.kind == "mm" or reached.all():
            for which, area in enumerate(i.areas[:-1]):
                if i.op != "where" or not which:
                    sure.set(area)
        else:
            for which, (ref, rows, terms) in enumerate(spaces[:-1]):
                if i.op != "where" or not which:
                    sure.array[ref.slots(rows, terms)[reached]] = True
    return sure


def _mark_common(sure: Flags, maker: Instruction, slots: Table) -> None:
    """Flag what all the slots in a row are made of, if one instruction makes them all."""
    first, last = maker.areas[-1].first, maker.areas[-1].last
    if maker.kind != "map" or slots.min() < first or slots.max() > last or maker.op == "where":
        return
    for ref in maker.args:
        operands = ref.slots(maker.shape[0])[slots - first, 0]
        same = (operands == operands[:, :1]).all(axis=1)
        sure.array[operands[same, 0]] = True


# ---- whole tables --------------------------------------------------------------------------------


def _whole_tables(pieces: _Pieces) -> dict[int, WholeTable]:
    """Find the pieces that are read as rows of several lengths, and what goes along with them."""
    program, first = pieces.program, pieces.first_result
    found: dict[int, WholeTable] = {}
    links: list[tuple[int, int]] = []  # pieces that are read element by element, and the reader
    for at, i in enumerate(program.instructions, first):
        for ref, rows, terms in i.spaces()[:-1]:
            if i.kind == "map" and rows > 1 and ref.is_range(rows):
                source = pieces.at(ref.base)
                is_all = (pieces.starts[source], pieces.length(source)) == (ref.base, rows)
                if source >= first and is_all:
                    links.append((source, at))
            elif ref.cells is not None and terms > 1:
                table = _rows_of_several_lengths(pieces, ref.slots(rows, terms))
                if table is not None:
                    found.setdefault(*table)
    kinds = [i.kind for i in program.instructions]
    waiting = list(found)
    while waiting:  # what is read element by element, and who reads so, are kept alike
        one = waiting.pop()
        for pair in links:
            if one in pair:
                other = pair[pair[0] == one]
                if other not in found and kinds[other - first] in _IN_TABLES:
                    found[other] = found[one]
                    waiting.append(other)
    return found


def _rows_of_several_lengths(pieces: _Pieces, slots: Table) -> tuple[int, WholeTable] | None:
    """Tell whether these are all elements of one piece, in rows that end early."""
    ended = pieces.is_constant(slots)
    ended[:, 1:] |= slots[:, 1:] == slots[:, :1]
    if ended[:, 0].any() or not ended.any() or (ended[:, :-1] & ~ended[:, 1:]).any():
        return None
    here = slots[~ended]
    at = pieces.at(int(here[0]))
    start, end = pieces.starts[at], pieces.ends[at]
    if at < pieces.first_result or slots.size > 4 * (end - start):
        return None
    kind = pieces.program.instructions[at - pieces.first_result].kind
    if kind not in _IN_TABLES or not np.array_equal(np.sort(here), np.arange(start, end)):
        return None
    return at, WholeTable.of(slots - start, ~ended)


# ---- operands ------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Planner:
    """Plans the step of one instruction."""

    pieces: _Pieces
    tables: dict[int, WholeTable]
    i: Instruction
    least: float
    exact: bool
    skips: bool
    mends: bool = field(default=False, init=False)
    whole: WholeTable | None = field(default=None, init=False)

    def step(self) -> Step:
        i = self.i
        self.whole = self.tables.get(self.pieces.at(i.areas[-1].first))
        form, product = i.kind, None
        wide = _WIDE.get(i.kind, 0)
        if _is_unrolled(i):
            form = "unrolled"
            operands = [self.operand(ref, 1, None) for ref, _, _ in _read_spaces(i)]
        elif i.kind == "take" and (spaces := _look_up(i)) is not None:
            form = "look_up"
            operands = [self.operand(*space) for space in spaces]
        else:
            operands = [
                self.operand(ref, rows, terms if k < wide else None)
                for k, (ref, rows, terms) in enumerate(i.spaces()[:-1])
            ]
            if i.kind == "dot":
                product = self._product(*operands[:2])
                form = "dot" if product is None else "product"
        n = len(self.whole.rows) if self.whole is not None else i.shape[0]
        shape: tuple[int, ...] = (n,)
        if form in ("map", "sum", "dot", "max", "argmax"):
            shape = self._loops_in_common(operands, n)
            operands = [self._shaped(operand, shape, k < wide) for k, operand in enumerate(operands)]
        elif form == "product" and product is not None:
            shape = tuple(product.shape[k] for k in product.order)
        elif i.kind == "mm":
            shape = i.shape[:2]
        elif form == "look_up":
            shape = (operands[0].shape[0], operands[1].shape[0])
        return Step(
            i, form, tuple(operands), shape, self.whole, self.mends, self.skips, product
        )

    def _loops_in_common(self, operands: list[Operand], n: int) -> tuple[int, ...]:
        """Axes for the n results, so that every operand is stretched along whole axes.

        One flat axis would do, but XLA would compute with indices where it could loop.
        """
        periods = {n}
        if self.whole is not None:
            periods.add(self.whole.shape[1])
        for operand in operands:
            view = operand.how.view if isinstance(operand.how, Masked) else operand.how
            if isinstance(view, View):
                rows = _merged(view.loops[:-1])
                periods.update(int(np.prod([c for c, _ in rows[k:]])) for k in range(len(rows)))
        chain = sorted(periods - {1})
        if any(b % a for a, b in zip(chain, chain[1:], strict=False)) or not chain:
            return (n,)
        sizes = [chain[0], *(b // a for a, b in zip(chain, chain[1:], strict=False))]
        return tuple(reversed(sizes))

    def _shaped(self, operand: Operand, shape: tuple[int, ...], is_wide: bool) -> Operand:
        """Read an operand with an axis for each loop."""
        how, wide = operand.how, operand.shape[1:] if is_wide else ()
        view = how.view if isinstance(how, Masked) else how
        if isinstance(view, View):
            loops = _split_loops(_merged(view.loops[:-1]), shape)
            again = None
            if loops is not None:
                stored = self.tables.get(view.source)
                length = self.pieces.length(view.source) if stored is None else len(stored.rows)
                terms = view.loops[-1:] if is_wide else ()
                again = _view(view.source, view.start, (*loops, *terms), length)
            if again is not None:
                how = replace(how, view=again) if isinstance(how, Masked) else again
        return Operand((*shape, *wide), how)

    def operand(self, ref: Ref, rows: int, terms: int | None) -> Operand:
        """Find the simplest way to read an operand."""
        pieces, whole = self.pieces, self.whole
        shape = (rows,) if terms is None else (rows, terms)
        area = ref.area(rows, terms or 1)
        at = pieces.at(area.first)
        if whole is None and at == pieces.at(area.last) and at not in self.tables:
            loops = _loops_of(ref, rows, terms)
            if loops is not None and not pieces.constants[0] <= area.first < pieces.constants[1]:
                view = _view(at, ref.base - pieces.starts[at], loops, pieces.length(at))
                if view is not None:
                    return Operand(shape, view)
        slots = ref.slots(rows, terms or 1)
        if whole is not None:
            slots, shape = slots[whole.rows], (len(whole.rows), *shape[1:])
        constant = pieces.is_constant(slots)
        if constant.all():
            return Operand(shape, Constant(pieces.known(slots, constant).reshape(shape)))
        return Operand(shape, self._from_slots(slots, constant))

    def _from_slots(self, slots: Table, constant: Table) -> View | Masked | Joined | Gathered:
        pieces = self.pieces
        places = np.searchsorted(pieces.index, slots, side="right") - 1
        sources = [int(at) for at in np.unique(places[~constant])]
        if len(sources) == 1:
            view = self._fitted(sources[0], slots, constant)
            if view is not None and not constant.any():
                return view
            if view is not None:
                return Masked(view, ~constant, pieces.known(slots, constant))
        flat = slots.ravel()
        if not constant.any() and not any(at in self.tables for at in sources):
            if np.array_equal(flat, np.arange(flat[0], flat[0] + len(flat))):
                spans = [(pieces.starts[at], pieces.ends[at]) for at in sources]
                return Joined(
                    tuple(
                        (at, max(a, flat[0]) - a, min(b, flat[-1] + 1) - a)
                        for at, (a, b) in zip(sources, spans, strict=True)
                    )
                )
        parts = []
        for at in sources:
            here = (places == at) & ~constant
            within = np.where(here, slots - pieces.starts[at], 0)
            if at in self.tables:
                within = self.tables[at].places[within]
            parts.append((at, np.where(here, within, -1)))
        return Gathered(tuple(parts), pieces.known(slots, constant), len(parts) > _PARTS)

    def _fitted(self, at: int, slots: Table, constant: Table) -> View | None:
        """Read slots of one piece by a view, wherever they matter."""
        pieces, whole, stored = self.pieces, self.whole, self.tables.get(at)
        length = pieces.length(at) if stored is None else len(stored.rows)
        wanted = np.where(constant, 0, slots - pieces.starts[at])
        table = wanted if stored is None else stored.places[wanted]
        matters = ~constant
        if whole is not None:
            matters &= ~whole.ended[:, None]
        elif stored is not None:  # copies of the first stand behind the end of a row
            matters[:, 1:] &= slots[:, 1:] != slots[:, :1]
        width = 1 if whole is None else whole.shape[1]
        blocks = (-1, width, slots.shape[1])
        fitted = _fit(table.reshape(blocks), matters.reshape(blocks))
        if fitted is None:
            return None
        base, loops, seen = fitted
        if seen.min() < 0 or seen.max() >= length:
            return None
        view = _view(at, base, loops, length)
        if view is None:
            return None
        held = seen.reshape(slots.shape)
        held = held if stored is None else stored.rows[held]
        wrong = ~constant & (held != wanted)
        if whole is not None and wrong.any():
            if (wrong & ~whole.ended[:, None]).any():
                return None
            self.mends = True
        elif wrong.any():
            return None
        return view

    # ---- matrix products ------------------------------------------------------------------------

    def _product(self, a: Operand, b: Operand) -> Product | None:
        """Tell whether dot products are the elements of matrix products."""
        ways = [o.how.view if isinstance(o.how, Masked) else o.how for o in (a, b)]
        if not all(isinstance(way, View) for way in ways):
            return None
        views: list[View] = ways  # type: ignore[assignment]
        loops = _common([list(view.loops[:-1]) for view in views])
        if loops is None or any(not x and not y for _, x, y in loops):
            return None
        batch = [k for k, (_, x, y) in enumerate(loops) if x and y]
        left = [k for k, (_, x, y) in enumerate(loops) if x and not y]
        right = [k for k, (_, x, y) in enumerate(loops) if y and not x]
        counts = [count for count, _, _ in loops]
        grid = [int(np.prod([counts[k] for k in side])) for side in (left, right)]
        if min(grid) < self.least:
            return None
        masks = self._masks(a, b, counts, (right, left))
        if masks is None:
            return None
        sides = []
        for view, mine, strides, mask in zip(
            views, (left, right), zip(*[loop[1:] for loop in loops], strict=True), masks, strict=True
        ):
            order = [*batch, *mine]
            chosen = tuple((counts[k], int(strides[k])) for k in order)
            shape = (*(counts[k] for k in batch), -1, view.loops[-1][0])
            at, terms = view.source, view.loops[-1]
            stored = self.tables.get(at)
            length = self.pieces.length(at) if stored is None else len(stored.rows)
            again = _view(at, view.start, (*chosen, terms), length)
            if again is None:
                return None
            rows = int(np.prod([counts[k] for k in mine]))
            shape = (*(counts[k] for k in batch), rows, terms[0])
            how: View | Masked = again
            if mask is not None:
                how = Masked(again, *[_along(x, counts, order).reshape(shape) for x in mask])
            sides.append(Operand(shape, how))
        order = [*batch, *left, *right]
        return Product(
            (sides[0], sides[1]),
            len(batch),
            tuple(counts[k] for k in order),
            tuple(int(k) for k in np.argsort(order)),
        )

    def _masks(
        self, a: Operand, b: Operand, counts: list[int], others: tuple[list[int], list[int]]
    ) -> list[tuple[Table, Table] | None] | None:
        """The masks of both sides, which may not differ along loops in which their side stays."""
        found: list[tuple[Table, Table] | None] = []
        for operand, other, along in ((a, b, others[0]), (b, a, others[1])):
            if not isinstance(operand.how, Masked):
                found.append(None)
                continue
            kept, numbers = operand.how.kept, operand.how.numbers
            table = kept.reshape(*counts, -1)
            if any((table != table.take([0], axis=k)).any() for k in along):
                # What the other side leaves out as 0 counts nothing here, unless it is inf.
                same = isinstance(other.how, Masked) and np.array_equal(other.how.kept, kept)
                if self.exact or not same or numbers.any():
                    return None
                found.append(None)
            else:
                found.append((kept, numbers))
        return None if a.how.__class__ is Masked and found == [None, None] else found


def _along(table: Table, counts: list[int], order: list[int]) -> Table:
    """Take a table that differs along some loops only, with these in order."""
    wide = table.reshape(*counts, -1)
    kept = [k for k in range(len(counts)) if k in order]
    narrow = wide[tuple(slice(None) if k in order else 0 for k in range(len(counts)))]
    return narrow.transpose(*[kept.index(k) for k in order], len(order))


def _look_up(i: Instruction) -> list[tuple[Ref, int, int | None]] | None:
    """(index, table) where many rows choose from one table by one index each: an embedding."""
    n, k = i.shape
    a, index = i.args
    if k > LOOK_UP or any(x is not None for x in (a.rows, a.cells, index.rows, index.cells)):
        return None
    width = a.inner
    if n % width or width < 2 or n == width or a.outer_stride:
        return None
    if index.inner_stride or index.inner != width:
        return None
    return [
        (Ref(index.base, n // width, 0, index.outer_stride), n // width, None),
        (Ref(a.base, width, 0, a.inner_stride, a.term_stride), width, k),
    ]


# ---- loops ---------------------------------------------------------------------------------------


def _loops_of(ref: Ref, rows: int, terms: int | None) -> tuple[Loop, ...] | None:
    """The loops of an operand in strides, outermost first; the last is that of the terms."""
    inner = min(ref.inner, rows)
    if ref.cells is not None or ref.rows is not None or rows % inner:
        return None
    return (
        (rows // inner, ref.outer_stride),
        (inner, ref.inner_stride),
        (terms or 1, ref.term_stride),
    )


def _fit(table: Table, matters: Table) -> tuple[int, tuple[Loop, ...], Table] | None:
    """Describe a table (blocks, rows, terms) by its first element, loops, and what these visit.

    Only what matters must agree; the first of every block does.
    """
    if not matters[:, 0, 0].all():
        return None
    strides = []
    for axis in (1, 2):
        end = [slice(None)] * 3
        begin = [slice(None)] * 3
        end[axis], begin[axis] = slice(1, None), slice(None, -1)
        both = matters[tuple(end)] & matters[tuple(begin)]
        found = np.unique(np.diff(table, axis=axis)[both])
        if len(found) > 1:
            return None
        strides.append(int(found[0]) if len(found) else 0)
    starts = table[:, 0, 0]
    loops = _nest(starts)
    if loops is None:
        return None
    _, rows, terms = table.shape
    seen = starts[:, None, None] + (np.arange(rows) * strides[0])[:, None]
    seen = seen + np.arange(terms) * strides[1]
    if (seen != table)[matters].any():
        return None
    return int(starts[0]), (*loops, (rows, strides[0]), (terms, strides[1])), seen


def _nest(starts: Table) -> list[Loop] | None:
    """The loops, outermost first, that visit these numbers."""
    count = len(starts)
    if count == 1:
        return []
    stride = int(starts[1] - starts[0])
    breaks = np.flatnonzero(np.diff(starts) != stride)
    inner = int(breaks[0]) + 1 if len(breaks) else count
    blocks = starts.reshape(-1, inner) if count % inner == 0 else None
    if inner == 1 or blocks is None or (blocks - blocks[:, :1] != blocks[0] - blocks[0, 0]).any():
        return None
    outer = _nest(blocks[:, 0])
    return None if outer is None else [*outer, (inner, stride)]


def _common(sides: list[list[Loop]]) -> list[tuple[int, int, int]] | None:
    """Loops (count, stride on the left, stride on the right), outermost first, through both."""
    found: list[tuple[int, int, int]] = []
    while True:
        for side in sides:
            while side and side[-1][0] == 1:
                side.pop()
        a, b = sides
        if not a or not b:
            return None if a or b else found[::-1]
        (m, x), (n, y) = a.pop(), b.pop()
        if m % n and n % m:
            return None
        found.append((min(m, n), x, y))
        if m > n:
            a.append((m // n, x * n))
        elif n > m:
            b.append((n // m, y * m))


def _merged(loops: tuple[Loop, ...]) -> list[Loop]:
    """Join loops that are one: the outer goes on where the inner ends."""
    found: list[Loop] = []
    for count, stride in loops:
        if count == 1:
            continue
        if found and found[-1][1] == count * stride:
            found[-1] = (found[-1][0] * count, stride)
        else:
            found.append((count, stride))
    return found


def _split_loops(loops: list[Loop], counts: tuple[int, ...]) -> tuple[Loop, ...] | None:
    """Cut loops, outermost first, so that there is one for each count."""
    rest, found = list(loops), []
    for count in reversed(counts):
        whole, stride = rest.pop() if rest else (1, 0)
        if whole % count:
            return None
        found.append((count, stride))
        if whole > count:
            rest.append((whole // count, stride * count))
    return tuple(reversed(found)) if not rest else None


def _view(source: int, base: int, loops: tuple[Loop, ...], length: int) -> View | None:
    """Make a view of loops through an array, if reshapes and slices can do it."""
    real = [(count, stride, k) for k, (count, stride) in enumerate(loops) if count > 1 and stride]
    if any(stride < 0 for _, stride, _ in real):
        return None
    real.sort(key=lambda loop: -loop[1])
    cuts, start, whole = [], base, length
    for k, (count, stride, _) in enumerate(real):
        reach = sum((c - 1) * s for c, s, _ in real[k + 1 :]) + 1
        first, base = divmod(base, stride)
        if base + reach > stride:
            return None  # it runs over the end of a row
        if length % stride:
            if (first + count) * stride > length:
                return None
            length = (first + count) * stride  # nobody reads what is behind
        cuts.append((length, stride, first, count))
        length = stride
    return View(
        source,
        tuple(cuts),
        base,
        tuple(int(k) for k in np.argsort([k for _, _, k in real])),
        tuple(count if stride else 1 for count, stride in loops),
        tuple(count for count, _ in loops),
        start,
        loops,
        start == 0 and _merged(loops) == [(whole, 1)],
    )
