"""Where operands lie: a `Ref` names the slot of each element, an `Area` is the set of them.

Passes mostly ask about sets of slots: were they all written, does one of them matter? `Flags`
answers that. `ref_of` finds the shortest `Ref` for a table of slots.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import TraceError
from ..tracing.tape import SMALLER

Indices = np.ndarray[Any, np.dtype[np.int32]]
Slots = np.ndarray[Any, np.dtype[np.int64]]
_FEW = 48  # up to so many slots, a Python list is quicker than an array
MOST_SLOTS = 2**31 - 1  # index arrays have 32 bits for a slot: half the memory, and half the time


def check_size(size: int) -> None:
    """Refuse a program whose slots could not be told apart; its buffer would take 16 GiB."""
    if size > MOST_SLOTS:
        raise TraceError(
            f"a program of more than {MOST_SLOTS:,} slots cannot be compiled, and this one has "
            f"{size:,}, adjoints included. {SMALLER}"
        )


def indices(slots: Any) -> Indices:
    """Return slots as an index array."""
    if slots.dtype != np.int32 and slots.size:
        check_size(int(slots.max()) + 1)
    found: Indices = np.ascontiguousarray(slots, dtype=np.int32)
    return found


@dataclass(frozen=True, eq=False)
class Ref:
    """The slot of each element (row, term) of an operand.

    Affine: `base + (row // inner) * outer_stride + (row % inner) * inner_stride + term *
    term_stride`. Else `rows` has the slot where each row starts (terms follow by `term_stride`), or
    `cells` the slot of every (row, term), row by row. `base` is added in all cases.
    """

    base: int
    inner: int = 1
    outer_stride: int = 0
    inner_stride: int = 0
    term_stride: int = 0
    rows: Indices | None = None
    cells: Indices | None = None
    _area: Area | None = field(default=None, init=False, repr=False)  # the latest asked for

    def slots(self, rows: int, terms: int = 1) -> Slots:
        """Spell the slots out, as an array of shape (rows, terms)."""
        if self.cells is not None:
            return self.base + self.cells.astype(np.int64).reshape(rows, terms)
        steps = np.arange(terms, dtype=np.int64) * self.term_stride
        if self.rows is not None:
            starts = self.base + self.rows.astype(np.int64)
        else:
            outer, inner = np.divmod(np.arange(rows, dtype=np.int64), self.inner)
            starts = self.base + outer * self.outer_stride + inner * self.inner_stride
        return starts[:, None] + steps

    def shifted(self, offset: int) -> Ref:
        """The same pattern, `offset` slots further on."""
        strides = self.outer_stride, self.inner_stride, self.term_stride
        return Ref(self.base + offset, self.inner, *strides, self.rows, self.cells)

    def flattened(self, rows: int, terms: int) -> Ref:
        """Make every element a row."""
        stride = self.stride(rows)
        if stride is not None:
            return Ref(self.base, terms, stride, self.term_stride)
        return ref_of(self.slots(rows, terms).reshape(-1, 1))

    def folded(self, rows: int, terms: int) -> Ref:
        """Make every `terms` rows of one element a row."""
        stride = self.stride(rows * terms)
        if stride is not None:
            return Ref(self.base, inner=rows, inner_stride=stride * terms, term_stride=stride)
        return ref_of(self.slots(rows * terms).reshape(rows, terms))

    def transposed(self, rows: int, terms: int) -> Ref:
        """Make rows terms and terms rows."""
        stride = self.stride(rows)
        if stride is not None:
            return Ref(self.base, inner=terms, inner_stride=self.term_stride, term_stride=stride)
        return ref_of(self.slots(rows, terms).T)

    def stride(self, rows: int) -> int | None:
        """How far each row starts behind the one before, if that is a fixed distance."""
        if self.rows is not None or self.cells is not None:
            return None
        if self.inner >= rows:
            return self.inner_stride
        return self.outer_stride if self.inner == 1 else None

    def is_range(self, rows: int, terms: int = 1) -> bool:
        """Whether the strides make the slots follow each other, element after element."""
        if self.cells is not None or self.rows is not None:
            return False
        if terms != 1 and self.term_stride != 1:
            return False
        inner = self.inner
        if rows == 1 or inner == 1:
            return rows == 1 or self.outer_stride == terms
        return self.inner_stride == terms and (inner >= rows or self.outer_stride == inner * terms)

    def area(self, rows: int, terms: int = 1) -> Area:
        """The set of the slots."""
        known = self._area
        if known is not None and known.rows == rows and known.terms == terms:
            return known
        index = self.rows if self.cells is None else self.cells
        if index is not None and len(index) != (rows if self.cells is None else rows * terms):
            raise ValueError(f"an operand of {rows} rows, {terms} terms has {len(index)} indices")
        if index is None and self.is_range(rows, terms):
            found = Area(self.base, self.base + rows * terms - 1, rows, terms)
        elif rows * terms <= _FEW:
            found = self._small(rows, terms)
        else:
            found = self._large(rows, terms)
        object.__setattr__(self, "_area", found)
        return found

    def listed(self, rows: int, terms: int = 1) -> list[int]:
        """Spell the slots out in plain Python: quicker than `slots` if they are few."""
        base, index = self.base, self.rows if self.cells is None else self.cells
        if index is not None:
            found = [base + at for at in index.tolist()]
        else:
            inner, far, near = self.inner, self.outer_stride, self.inner_stride
            found = [base + row // inner * far + row % inner * near for row in range(rows)]
        if terms > 1 and self.cells is None:
            steps = [term * self.term_stride for term in range(terms)]
            found = [start + step for start in found for step in steps]
        return found

    def _small(self, rows: int, terms: int) -> Area:
        slots = self.listed(rows, terms)
        first, last = min(slots), max(slots)
        solid = last - first < len(slots) and len(set(slots)) == last - first + 1
        return Area(first, last, rows, terms, None if solid else tuple(slots))

    def _large(self, rows: int, terms: int) -> Area:
        """Make an area without a look at the slots one by one, if the strides allow."""
        whole = self.inner >= rows or rows % self.inner == 0
        if self.cells is None and self.rows is None and whole:
            inner = min(self.inner, rows)
            strides = self.outer_stride, self.inner_stride, self.term_stride
            loops = list(zip(strides, (rows // inner, inner, terms), strict=True))
            # Shortest strides first: one that is not beyond what the loops before it have covered
            # leaves no gap, and one that is leaves gaps for good.
            reach = 1
            for stride, count in sorted((abs(stride), count) for stride, count in loops):
                if count > 1:
                    if stride > reach:
                        break
                    reach += (count - 1) * stride
            else:
                back = sum(stride * (count - 1) for stride, count in loops if stride < 0)
                first = self.base + back
                return Area(first, first + reach - 1, rows, terms)
        slots = self.slots(rows, terms).ravel()
        first, last = int(np.minimum.reduce(slots)), int(np.maximum.reduce(slots))
        solid = last - first < slots.size and bool(np.bincount(slots - first).all())
        return Area(first, last, rows, terms, None if solid else slots)


def ref_of(cells: Slots) -> Ref:
    """Describe a table of slots, (rows, terms), as shortly as possible."""
    rows, terms = cells.shape
    if terms == 1 and rows <= _FEW:
        return _ref_of_few(cells.ravel().tolist())
    step = 0
    if terms > 1:
        step = int(cells[0, 1]) - int(cells[0, 0])
        if _ends(cells[-1]) != step * (terms - 1) or (cells[:, 1:] - cells[:, :-1] != step).any():
            return Ref(0, cells=indices(cells.ravel()))
    starts = cells[:, 0]
    base = int(starts[0])
    if rows == 1:
        return Ref(base, term_stride=step)
    fine = int(starts[1]) - base
    breaks = starts[1:] - starts[:-1] != fine
    inner = int(breaks.argmax()) + 1
    if not breaks[inner - 1]:
        return Ref(base, inner=rows, inner_stride=fine, term_stride=step)
    if rows % inner == 0:
        outer, coarse = rows // inner, int(starts[inner]) - base
        if _ends(starts) == (outer - 1) * coarse + (inner - 1) * fine:
            even = np.arange(outer)[:, None] * coarse + (np.arange(inner) * fine + base)
            if (starts.reshape(outer, inner) == even).all():
                return Ref(base, inner, coarse, fine, step)
    return Ref(0, term_stride=step, rows=indices(starts))


def _ref_of_few(starts: list[int]) -> Ref:
    """Do the same for a few rows of one term: irregular graphs have thousands of such operands."""
    rows, base = len(starts), starts[0]
    if rows == 1:
        return Ref(base)
    fine = starts[1] - base
    inner = 2
    while inner < rows and starts[inner] - starts[inner - 1] == fine:
        inner += 1
    if inner == rows:
        return Ref(base, inner=rows, inner_stride=fine)
    if rows % inner == 0:
        coarse = starts[inner] - base
        even = Ref(base, inner, coarse, fine)
        if starts == even.listed(rows):
            return even
    check_size(max(starts) + 1)
    return Ref(0, rows=np.array(starts, dtype=np.int32))


def distinct(numbers: Any) -> Any:
    """Return the different numbers of an array, sorted.

    `np.unique` does that too, and imports masked arrays for it: more than the time that it takes to
    compile a small function.
    """
    found = np.sort(numbers, axis=None)
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def runs(slots: Slots) -> list[tuple[int, int]]:
    """List the ranges, each (first, end), that sorted slots consist of."""
    pieces = np.split(slots, np.flatnonzero(np.diff(slots) > 1) + 1) if len(slots) else []
    return [(int(piece[0]), int(piece[-1]) + 1) for piece in pieces]


def _ends(slots: Slots) -> int:
    """How far the last slot lies behind the first: this alone gives most patterns away."""
    return int(slots[-1]) - int(slots[0])


@dataclass(slots=True, eq=False)
class Area:
    """The slots of an operand as a set: in whatever order, and however often, they come.

    They are all slots from `first` to `last`, or, between these two, those in `slots`,
    which has them element by element.
    """

    first: int
    last: int
    rows: int  # of the operand
    terms: int
    slots: tuple[int, ...] | Slots | None = None

    @property
    def once(self) -> bool:
        """Whether no slot stands for two elements."""
        if self.slots is None:
            different = self.last - self.first + 1
        elif isinstance(self.slots, tuple):
            different = len(set(self.slots))
        else:
            different = len(distinct(self.slots))
        return different == self.rows * self.terms


class Flags:
    """A yes or no for every slot.

    Nearly all questions are about ranges or about a few slots, and a `bytearray` answers these ten
    times as fast as an array; `array` is the same memory, for the others.
    """

    def __init__(self, size: int) -> None:
        self.bytes = bytearray(size)
        self.array = np.frombuffer(self.bytes, dtype=bool)

    def __len__(self) -> int:
        return len(self.bytes)

    def all(self, area: Area) -> bool:
        """Whether all slots of an area have the flag."""
        slots = area.slots
        if slots is None:
            return self.bytes.find(0, area.first, area.last + 1) < 0
        if isinstance(slots, tuple):
            return all(map(self.bytes.__getitem__, slots))
        return bool(self.array[slots].all())

    def any(self, area: Area) -> bool:
        """Whether one of the slots of an area has the flag."""
        slots = area.slots
        if slots is None:
            return self.bytes.find(1, area.first, area.last + 1) >= 0
        if isinstance(slots, tuple):
            return any(map(self.bytes.__getitem__, slots))
        return bool(self.array[slots].any())

    def set(self, area: Area, flag: bool = True) -> None:
        """Give the slots of an area the flag, or take it from them."""
        slots = area.slots
        if slots is None:
            count = area.last - area.first + 1
            self.bytes[area.first : area.last + 1] = _YES_OR_NO[flag] * count
        elif isinstance(slots, tuple):
            for slot in slots:
                self.bytes[slot] = flag
        else:
            self.array[slots] = flag


_YES_OR_NO = (b"\0", b"\1")
