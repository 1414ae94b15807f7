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

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import TraceError
from ..ir.program import Instruction, Program
from ..ir.refs import Ref, distinct
from .loops import common, fit, loops_of, merged, split_loops, view_of
from .pieces import (
    MOST_GATHERED,
    Pieces,
    irregular,
    is_unrolled,
    read_spaces,
    refuse_irregular,
    taken_apart,
)
from .plan import (
    Constant,
    Cuts,
    Gathered,
    Joined,
    Masked,
    Operand,
    Plan,
    Product,
    Step,
    Table,
    View,
    WholeTable,
    seen_by,
)
from .reached import surely_reached
from .whole_tables import wanted_ends, whole_tables

LOOK_UP = 256  # up to so many rows, a look-up is a product with ones and zeros
_WIDE = {"sum": 1, "dot": 2, "mm": 2, "max": 1, "argmax": 1, "take": 1}  # operands with terms
_KEEP_ZERO = ("mul", "div", "neg", "relu", "tanh", "sin", "abs")  # op(0, …) is 0
_PARAMETERS = 4  # rows or columns of parameters that make dot products a matrix product
_PARTS = 8  # arrays to gather from one by one; more are put side by side first


def plan(program: Program, *, least: float = 4, exact: bool = False) -> Plan:
    """Plan a program without gradients.

    Dot products of at least `least` terms that form a grid of at least as many rows and columns
    become matrix products.
    `exact`: no number is read that the program does not read; nothing is kept as a whole table.
    """
    if program.adjoints:
        raise ValueError("plan(program): this program has gradients; plan the one without.")
    refuse_irregular(program)
    program = taken_apart(program)
    pieces = Pieces(program)
    sure = surely_reached(program)
    tables = {} if exact else whole_tables(pieces)
    planner = _Planner(pieces, tables, least, exact)
    planner.wanted = wanted_ends(pieces, tables)
    planner.tables = _in_order_of_products(planner)
    planner.ends, planner.shapes = {}, {}
    steps = [planner.step(i, not sure.all(i.areas[-1])) for i in program.instructions]
    gathered = sum(
        len(operand.how.parts)
        for step in steps
        for operand in step.operands
        if isinstance(operand.how, Gathered)
    )
    if gathered > MOST_GATHERED:
        raise TraceError(irregular(f"its operands are gathered from {gathered:,} arrays"))

    def place(slot: int) -> tuple[int, int]:
        at = pieces.at(slot)
        within = slot - pieces.starts[at]
        return at, int(tables[at].places[within]) if at in tables else within

    return Plan(
        program,
        tuple(pieces.leaves),
        pieces.parameters,
        bool(len(program.constants)),
        tuple(steps),
        tuple(place(slot) for slot in program.results),
        tuple(place(guard.at) for guard in program.guards),
        _splits(steps),
    )


def _in_order_of_products(planner: _Planner) -> dict[int, WholeTable]:
    """Put the rows of whole tables into the order in which matrix products have them.

    What has a number for each row of such a table, a sum or the largest, is put in order with it.
    """
    pieces, orders = planner.pieces, dict[WholeTable, Table]()
    first, instructions = pieces.first_result, pieces.program.instructions
    for at, table in planner.tables.items():
        i = instructions[at - first]
        product = planner.step(i, False).product if i.kind == "dot" else None
        if product is not None and table not in orders:
            order = np.argsort(product.order)
            counts = [product.shape[k] for k in product.order]
            if order[-1] == len(order) - 1 and counts[-1] == table.shape[1]:
                rows = np.arange(table.shape[0]).reshape(counts[:-1]).transpose(order[:-1])
                orders[table] = rows.ravel()
    turned = {table: table.with_rows(order) for table, order in orders.items()}
    found = {at: turned.get(table, table) for at, table in planner.tables.items()}
    for at, i in enumerate(instructions, first):
        if i.kind not in ("sum", "max") or at in found:
            continue
        starts = i.args[0].slots(*i.shape)[:, 0]
        source = pieces.at(int(starts[0]))
        before = planner.tables.get(source)
        if before is None or before not in orders or len(starts) != before.shape[0]:
            continue
        starts = starts - pieces.starts[source]
        inside = starts.min() >= 0 and starts.max() < len(before.places)
        if inside and (before.places[starts] // before.shape[1] == np.arange(len(starts))).all():
            column = orders[before][:, None]
            found[at] = WholeTable.of(column, np.ones(column.shape, dtype=bool))
    return found


def _splits(steps: list[Step]) -> dict[tuple[int, Cuts], tuple[int, ...]]:
    """Find the pieces that are cut into parts which do not overlap."""
    ranges: dict[tuple[int, Cuts], set[tuple[int, int]]] = {}
    lengths: dict[tuple[int, Cuts], int] = {}
    for step in steps:
        sides = step.operands[:2] if step.product is None else step.product.sides
        for operand in (*sides, *step.operands[2:]):
            view = seen_by(operand)
            for k, (length, stride, first, count) in enumerate(() if view is None else view.cuts):
                if view is not None and count < length // stride:
                    key = view.source, (*view.cuts[:k], (length, stride, 0, length // stride))
                    ranges.setdefault(key, set()).add((first, first + count))
                    lengths[key] = length // stride
                    break
    found = {}
    for key, parts in ranges.items():
        edges = sorted({0, lengths[key], *(edge for part in parts for edge in part)})
        if len(parts) > 1 and all(
            pair in parts or not any(a <= pair[0] < b for a, b in parts) for pair in pairwise(edges)
        ):
            found[key] = tuple(b - a for a, b in pairwise(edges))
    return found


# ---- operands ------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Planner:
    """Plans steps, one after the other."""

    pieces: Pieces
    tables: dict[int, WholeTable]
    least: float
    exact: bool
    # Of pieces that are whole tables: what readers want where a row has ended, and what is there.
    wanted: dict[int, str] = field(default_factory=dict)
    ends: dict[int, str] = field(default_factory=dict)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)  # that pieces are kept in
    # Of the step that is being planned: its table, and whether it reads anything there.
    whole: WholeTable | None = field(default=None, init=False)
    strays: bool = field(default=False, init=False)

    def step(self, i: Instruction, skips: bool) -> Step:
        """Plan the step of an instruction."""
        self.strays = False
        at = self.pieces.at(i.areas[-1].first)
        self.whole = self.tables.get(at)
        form, product = i.kind, None
        wide = _WIDE.get(i.kind, 0)
        if is_unrolled(i) and not self._adds_results(i):
            form = "unrolled"
            operands = [self.operand(ref, 1, None) for ref, _, _ in read_spaces(i)]
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
                if product is None:
                    operands[:2] = self._unmasked(*operands[:2])
        n = len(self.whole.rows) if self.whole is not None else i.shape[0]
        shape: tuple[int, ...] = (n,)
        if form in ("map", "sum", "dot", "max", "argmax"):
            shape = self._loops_in_common(operands, n, form == "map")
            operands = [
                self._shaped(operand, shape, k < wide) for k, operand in enumerate(operands)
            ]
        elif form == "product" and product is not None:
            shape = tuple(product.shape[k] for k in product.order)
        elif i.kind == "mm":
            shape = i.shape[:2]
        elif form == "look_up":
            shape = (operands[0].shape[0], operands[1].shape[0])
        self.shapes[at] = shape
        ends, mends = self._mended(at, i, operands)
        return Step(i, form, tuple(operands), shape, self.whole, ends, mends, skips, product)

    def _adds_results(self, i: Instruction) -> bool:
        """Whether the terms of a short sum are an array already: results that stand together."""
        pieces, terms = self.pieces, i.shape[1]
        for ref in i.args[: _WIDE[i.kind]]:
            slots = ref.listed(1, terms)
            at = pieces.at(slots[0])
            together = slots == list(range(slots[0], slots[0] + terms))
            if not together or at < pieces.first_result or at != pieces.at(slots[-1]):
                return False
        return True

    def _mended(self, at: int, i: Instruction, operands: list[Operand]) -> tuple[Any, bool]:
        """Tell what is to stand where rows have ended, and whether it has to be put there."""
        if self.whole is None or not self.whole.ended.any():
            return "", False
        views = [seen_by(operand) for operand in operands]
        found = ["first" if view is None else self.ends.get(view.source, "first") for view in views]
        natural = ""
        if not self.strays and set(found) == {"first"}:
            natural = "first"
        elif found[0] == "zero" and i.op in _KEEP_ZERO:
            natural = "zero"
        self.ends[at] = self.wanted.get(at, natural)
        return self.ends[at], self.ends[at] != natural

    def _loops_in_common(self, operands: list[Operand], n: int, is_map: bool) -> tuple[int, ...]:
        """Axes for the n results, so that every operand is stretched along whole axes.

        One flat axis would do, but XLA would compute with indices where it could loop. What maps
        whole arrays has all of their axes: each time these came and went, XLA would take what was
        computed in between for two things, and compute it twice.
        """
        periods = {n}
        if self.whole is not None:
            periods.add(self.whole.shape[1])
        for operand in operands:
            view = seen_by(operand)
            if view is not None:
                rows = merged(view.loops[:-1])
                periods.update(int(np.prod([c for c, _ in rows[k:]])) for k in range(len(rows)))
        kept = set[int]()
        for view in filter(None, map(seen_by, operands)) if is_map else ():
            shape = self.shapes.get(view.source, ()) if view.is_whole else ()
            kept.update(int(np.prod(shape[k:])) for k in range(len(shape)))
        for chain in (sorted((periods | kept) - {1}), sorted(periods - {1})):
            if chain and not any(b % a for a, b in pairwise(chain)):
                sizes = [chain[0], *(b // a for a, b in pairwise(chain))]
                return tuple(reversed(sizes))
        return (n,)

    def _shaped(self, operand: Operand, shape: tuple[int, ...], is_wide: bool) -> Operand:
        """Read an operand with an axis for each loop."""
        how, wide = operand.how, operand.shape[1:] if is_wide else ()
        view = seen_by(operand)
        if view is not None:
            loops = split_loops(merged(view.loops[:-1]), shape)
            again = None
            if loops is not None:
                stored = self.tables.get(view.source)
                length = self.pieces.length(view.source) if stored is None else len(stored.rows)
                terms = view.loops[-1:] if is_wide else ()
                again = view_of(view.source, view.start, (*loops, *terms), length)
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
            loops = loops_of(ref, rows, terms)
            if loops is not None and not pieces.constants[0] <= area.first < pieces.constants[1]:
                view = view_of(at, ref.base - pieces.starts[at], loops, pieces.length(at))
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
        sources = [int(at) for at in distinct(places[~constant])]
        if len(sources) == 1:
            view = self._fitted(sources[0], slots, constant)
            if view is not None and not constant.any():
                return view
            if view is not None:
                numbers = pieces.known(slots, constant)
                holds = self._holds_zeros(sources[0], view, constant) and not numbers.any()
                return Masked(view, ~constant, numbers, holds)
        flat = slots.ravel()
        is_plain = not constant.any() and not any(at in self.tables for at in sources)
        if is_plain and np.array_equal(flat, np.arange(flat[0], flat[0] + len(flat))):
            spans = [(at, pieces.starts[at], pieces.ends[at]) for at in sources]
            low, high = int(flat[0]), int(flat[-1]) + 1
            return Joined(tuple((at, max(a, low) - a, min(b, high) - a) for at, a, b in spans))
        parts = []
        for at in sources:
            here = (places == at) & ~constant
            within = np.where(here, slots - pieces.starts[at], 0)
            if at in self.tables:
                within = self.tables[at].places[within]
            parts.append((at, np.where(here, within, -1)))
        return Gathered(tuple(parts), pieces.known(slots, constant), len(parts) > _PARTS)

    def _holds_zeros(self, at: int, view: View, constant: Table) -> bool:
        """Whether a whole table has zeros wherever a constant is to be read."""
        if self.ends.get(at) != "zero":
            return False
        places = np.full(view.shape, view.start)
        for axis, (count, stride) in enumerate(view.loops):
            places += (np.arange(count) * stride).reshape(-1, *[1] * (len(view.loops) - axis - 1))
        return bool(self.tables[at].ended[places.reshape(constant.shape)][constant].all())

    def _fitted(self, at: int, slots: Table, constant: Table) -> View | None:
        """Read slots of one piece by a view, wherever they matter."""
        pieces, whole, stored = self.pieces, self.whole, self.tables.get(at)
        length = pieces.length(at) if stored is None else len(stored.rows)
        wanted = np.where(constant, 0, slots - pieces.starts[at])
        table = wanted if stored is None else stored.places[wanted]
        matters = ~constant
        if whole is not None:
            matters &= ~whole.ended[:, None]
        if stored is not None:  # copies of the first stand behind the end of a row
            matters[:, 1:] &= slots[:, 1:] != slots[:, :1]
        width = 1 if whole is None else whole.shape[1]
        blocks = (-1, width, slots.shape[1])
        fitted = fit(table.reshape(blocks), matters.reshape(blocks))
        if fitted is None:
            return None
        base, loops, seen = fitted
        if seen.min() < 0 or seen.max() >= length:
            return None
        view = view_of(at, base, loops, length)
        if view is None:
            return None
        held = seen.reshape(slots.shape)
        held = held if stored is None else stored.rows[held]
        wrong = ~constant & (held != wanted)
        if whole is not None and wrong.any():
            if (wrong & ~whole.ended[:, None]).any():
                return None
            self.strays = True
        elif wrong.any():
            return None
        return view

    # ---- matrix products ------------------------------------------------------------------------

    def _product(self, a: Operand, b: Operand) -> Product | None:
        """Tell whether dot products are the elements of matrix products."""
        views = [view for operand in (a, b) if (view := seen_by(operand)) is not None]
        if len(views) < 2:
            return None
        loops = common([list(view.loops[:-1]) for view in views])
        if not loops or any(not x and not y for _, x, y in loops):
            return None
        batch = [k for k, (_, x, y) in enumerate(loops) if x and y]
        left = [k for k, (_, x, y) in enumerate(loops) if x and not y]
        right = [k for k, (_, x, y) in enumerate(loops) if y and not x]
        counts = [count for count, _, _ in loops]
        grid = [int(np.prod([counts[k] for k in side])) for side in (left, right)]
        # A side of parameters alone is the same for all rows of a batch: a product, however small.
        is_shared = any(view.source < self.pieces.parameters for view in views)
        smallest = min(*grid, views[0].loops[-1][0])
        if smallest < self.least and not (is_shared and max(grid) >= _PARAMETERS):
            return None
        masks = self._masks(a, b, counts, (right, left))
        if masks is None:
            return None
        sides = []
        for view, mine, strides, mask in zip(
            views,
            (left, right),
            zip(*[loop[1:] for loop in loops], strict=True),
            masks,
            strict=True,
        ):
            order = [*batch, *mine]
            chosen = tuple((counts[k], int(strides[k])) for k in order)
            shape = (*(counts[k] for k in batch), -1, view.loops[-1][0])
            at, terms = view.source, view.loops[-1]
            stored = self.tables.get(at)
            length = self.pieces.length(at) if stored is None else len(stored.rows)
            again = view_of(at, view.start, (*chosen, terms), length)
            if again is None:
                return None
            rows = int(np.prod([counts[k] for k in mine]))
            shape = (*(counts[k] for k in batch), rows, terms[0])
            how: View | Masked = again
            if mask is not None:
                kept, numbers, holds = mask
                kept, numbers = (_along(x, counts, order).reshape(shape) for x in (kept, numbers))
                how = Masked(again, kept, numbers, holds)
            sides.append(Operand(shape, how))
        order = [*batch, *left, *right]
        return Product(
            (sides[0], sides[1]),
            len(batch),
            tuple(counts[k] for k in order),
            tuple(int(k) for k in np.argsort(order)),
        )

    def _unmasked(self, a: Operand, b: Operand) -> tuple[Operand, Operand]:
        """Read one factor without its mask where the other is 0, which only inf would notice."""
        if self.exact or not (isinstance(a.how, Masked) and isinstance(b.how, Masked)):
            return a, b
        if not np.array_equal(a.how.kept, b.how.kept) or a.how.numbers.any():
            return a, b
        return a, replace(b, how=replace(b.how, holds=True))

    def _masks(
        self, a: Operand, b: Operand, counts: list[int], others: tuple[list[int], list[int]]
    ) -> list[tuple[Table, Table, bool] | None] | None:
        """The masks of both sides, which may not differ along loops in which their side stays."""
        found: list[tuple[Table, Table, bool] | None] = []
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
                found.append((kept, numbers, operand.how.holds))
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
