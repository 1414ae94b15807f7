"""The program: a flat list of frozen instructions over one buffer of float64 slots.

    slots:  inputs | constants | results of instructions | (after `grad`) adjoints, same layout

An instruction works on an index space of rows and terms, and every operand says by a `Ref` in which
slot element (row, term) lies. There are two families:

    =   writes slots that nothing has written      map  sum  dot  mm  max  argmax  take  fill
    +=  adds to slots, see `Instruction.stores`    vjp  add  muladd  mmadd  put  get

The second family is closed under differentiation: the reverse rule of each of its members is made
of members. That is why a gradient is a program like any other, and can be differentiated again.

Passes mostly ask about sets of slots: were they all written, does one of them matter? An `Area` is
such a set, `Flags` answers the question. `verify` is run after every pass; `text` prints a program
for people. Start at `Instruction`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...codegen.elementwise import MAPS
from ...errors import TraceError
from ..tracing.tape import Guard

__all__ = [
    "ADDING",
    "MOST_SLOTS",
    "NOT_FINITE",
    "Area",
    "Flags",
    "Instruction",
    "Program",
    "Ref",
    "check_size",
    "indices",
    "ref_of",
    "spaces",
    "text",
    "verify",
]

Indices = np.ndarray[Any, np.dtype[np.int32]]
Slots = np.ndarray[Any, np.dtype[np.int64]]
_FEW = 48  # up to so many slots, a Python list is quicker than an array
# What a run says, in the place of a guard that failed, if a number in the ranges `finite` is not:
# another order of sums, or a slope beside the way that was taken, may then have had a part in it.
NOT_FINITE = -2
MOST_SLOTS = 2**31 - 1  # index arrays have 32 bits for a slot: half the memory, and half the time


def check_size(size: int) -> None:
    """Refuse a program whose slots could not be told apart; its buffer would take 16 GiB."""
    if size > MOST_SLOTS:
        raise TraceError(
            f"a program of more than {MOST_SLOTS:,} slots cannot be compiled, and this one has "
            f"{size:,}, adjoints included. Compile a part of the function (one layer, one example) "
            "and call it several times."
        )


def indices(slots: Any) -> Indices:
    """Return slots as an index array."""
    if slots.dtype != np.int32 and slots.size:
        check_size(int(slots.max()) + 1)
    found: Indices = np.ascontiguousarray(slots, dtype=np.int32)
    return found


# ---- where operands lie --------------------------------------------------------------------------


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
    rows: Indices | None = field(default=None)
    cells: Indices | None = field(default=None)
    _area: Area | None = field(default=None, init=False, repr=False)  # the latest asked for

    def slots(self, rows: int, terms: int = 1) -> Slots:
        """Spell the slots out, as an array of shape (rows, terms)."""
        if self.cells is not None:
            return self.base + self.cells.astype(np.int64).reshape(rows, terms)
        steps = np.arange(terms, dtype=np.int64) * self.term_stride
        if self.rows is not None:
            starts = self.base + self.rows.astype(np.int64)
        else:
            row = np.arange(rows, dtype=np.int64)
            starts = (
                self.base
                + (row // self.inner) * self.outer_stride
                + (row % self.inner) * self.inner_stride
            )
        return starts[:, None] + steps

    def shifted(self, offset: int) -> Ref:
        """The same pattern, `offset` slots further on."""
        return Ref(
            self.base + offset,
            self.inner,
            self.outer_stride,
            self.inner_stride,
            self.term_stride,
            self.rows,
            self.cells,
        )

    def stride(self, rows: int) -> int | None:
        """How far each row starts behind the one before, if that is a fixed distance."""
        if self.rows is not None or self.cells is not None:
            return None
        if self.inner >= rows:
            return self.inner_stride
        return self.outer_stride if self.inner == 1 else None

    def is_range(self, rows: int, terms: int = 1) -> bool:
        """Whether the strides make the slots follow each other, element after element."""
        if (
            self.cells is not None
            or self.rows is not None
            or not (terms == 1 or self.term_stride == 1)
        ):
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
            inner, outer_stride, inner_stride = self.inner, self.outer_stride, self.inner_stride
            found = [
                base + row // inner * outer_stride + row % inner * inner_stride
                for row in range(rows)
            ]
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
            loops = [
                (self.outer_stride, rows // inner),
                (self.inner_stride, inner),
                (self.term_stride, terms),
            ]
            # Shortest strides first: one that is not beyond what the loops before it have covered
            # leaves no gap, and one that is leaves gaps for good.
            reach = 1
            for stride, count in sorted((abs(stride), count) for stride, count in loops):
                if count > 1:
                    if stride > reach:
                        break
                    reach += (count - 1) * stride
            else:
                first = self.base + sum(
                    stride * (count - 1) for stride, count in loops if stride < 0
                )
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


def _ends(slots: Slots) -> int:
    """How far the last slot lies behind the first: this alone gives most patterns away."""
    return int(slots[-1]) - int(slots[0])


class Area:
    """The slots of an operand as a set: in whatever order, and however often, they come.

    They are all slots from `first` to `last`, or, between these two, those in `slots`,
    which has them element by element.
    """

    __slots__ = ("first", "last", "rows", "slots", "terms")

    def __init__(
        self,
        first: int,
        last: int,
        rows: int,
        terms: int,
        slots: tuple[int, ...] | Slots | None = None,
    ) -> None:
        self.first, self.last = first, last
        self.rows, self.terms = rows, terms  # of the operand
        self.slots = slots

    @property
    def once(self) -> bool:
        """Whether no slot stands for two elements."""
        if self.slots is None:
            different = self.last - self.first + 1
        elif isinstance(self.slots, tuple):
            different = len(set(self.slots))
        else:
            different = len(np.unique(self.slots))
        return different == self.rows * self.terms


class Flags:
    """A yes or no for every slot.

    Nearly all questions are about ranges or about a few slots, and a `bytearray` answers these ten
    times as fast as an array; `array` is the same memory, for the others.
    """

    def __init__(self, size: int) -> None:
        self._bytes = bytearray(size)
        self.array = np.frombuffer(self._bytes, dtype=bool)

    def __len__(self) -> int:
        return len(self._bytes)

    def all(self, area: Area) -> bool:
        """Whether all slots of an area have the flag."""
        slots = area.slots
        if slots is None:
            return self._bytes.find(0, area.first, area.last + 1) < 0
        if isinstance(slots, tuple):
            return all(map(self._bytes.__getitem__, slots))
        return bool(self.array[slots].all())

    def any(self, area: Area) -> bool:
        """Whether one of the slots of an area has the flag."""
        slots = area.slots
        if slots is None:
            return self._bytes.find(1, area.first, area.last + 1) >= 0
        if isinstance(slots, tuple):
            return any(map(self._bytes.__getitem__, slots))
        return bool(self.array[slots].any())

    def set(self, area: Area, flag: bool = True) -> None:
        """Give the slots of an area the flag, or take it from them."""
        slots = area.slots
        if slots is None:
            count = area.last - area.first + 1
            self._bytes[area.first : area.last + 1] = _YES_OR_NO[flag] * count
        elif isinstance(slots, tuple):
            for slot in slots:
                self._bytes[slot] = flag
        else:
            self.array[slots] = flag


_YES_OR_NO = (b"\0", b"\1")


# ---- instructions --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Instruction:
    """One instruction. i: row, k: term, j: column; `out` and `args` are Refs.

    kind    shape      meaning                                                      args
    map     (n,)       out(i) = op(a(i), b(i), c(i))                                a [b [c]]
    sum     (n, k)     out(i) = [c(i) +] a(i,0) + a(i,1) + …                        a [c]
    dot     (n, k)     out(i) = [c(i) +] a(i,0)*b(i,0) + …                          a b [c]
    mm      (m, n, k)  out(i*n + j) = [c(i*n + j) +] a(i,0)*b(j,0) + …              a b [c]
    max     (n, k)     out(i) = the largest of a(i,·), as Python's max() finds it   a
    argmax  (n, k)     out(i) = which k that is                                     a
    take    (n, k)     out(i) = a(i, index(i))                                      a index
    fill    (n,)       out(i) = number
    vjp     (n,)       out(i) += g(i) * partial number `which` of op (y, a, b, c)   g y a b c
    add     (n, k)     out(i,k) += a(i,k)                                           a
    muladd  (n, k)     out(i,k) += a(i,k)*b(i,k)                                    a b
    mmadd   (m, n, k)  out(i*n + j) += a(i,0)*b(j,0) + …                            a b
    put     (n, k)     out(i, index(i)) += a(i)                                     a index
    get     (n, k)     out(i) += a(i, index(i))                                     a index

    In `take`, `put` and `get` the index is a float64 that holds a whole number from -k to k - 1.
    `max` goes from left to right and changes its mind for what is greater, so of equal ones the
    first is chosen, and a nan only if it comes first.
    `stores`: this += is the first to reach all its slots, each once, and writes instead of adding.
    """

    kind: str
    shape: tuple[int, ...]
    out: Ref
    args: tuple[Ref, ...] = ()
    op: str = ""
    which: int = 0
    number: float = 0.0
    stores: bool = False
    _areas: tuple[Area, ...] | None = field(default=None, init=False, repr=False)

    @property
    def areas(self) -> tuple[Area, ...]:
        """The areas of the operands and at last that of the result, worked out once."""
        found = self._areas
        if found is None:
            found = tuple([ref.area(rows, terms) for ref, rows, terms in spaces(self)])
            object.__setattr__(self, "_areas", found)
        return found


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions, the numbers they start from, and where to find what."""

    size: int  # slots
    inputs: int  # the first slots: what the function closes over, then its arguments
    parameters: int  # how many of them it closes over
    constants: np.ndarray[Any, np.dtype[np.float64]]  # in the slots behind the inputs
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]  # slots
    guards: tuple[Guard, ...] = ()
    adjoints: int = 0  # after `grad`: how far behind a slot its adjoint lies
    finite: tuple[tuple[int, int], ...] = ()  # ranges of slots, see `NOT_FINITE`

    def __str__(self) -> str:
        return text(self)


# ---- checking ------------------------------------------------------------------------------------

# kind -> numbers of operands that it may have
_OPERANDS = {
    "sum": (1, 2),
    "dot": (2, 3),
    "mm": (2, 3),
    "max": (1,),
    "argmax": (1,),
    "take": (2,),
    "fill": (0,),
    "add": (1,),
    "muladd": (2,),
    "mmadd": (2,),
    "put": (2,),
    "get": (2,),
}
ADDING = ("vjp", "add", "muladd", "mmadd", "put", "get")


_WIDE = {"sum": 1, "dot": 2, "max": 1, "argmax": 1, "take": 1, "get": 1}  # operands with terms


def spaces(step: Instruction) -> list[tuple[Ref, int, int]]:
    """List the operands and at last the result, each with its numbers of rows and terms."""
    kind, shape, args = step.kind, step.shape, step.args
    rows = shape[0]
    if len(shape) == 1:
        return [(ref, rows, 1) for ref in (*args, step.out)]
    if kind in ("add", "muladd"):
        terms = shape[1]
        return [(ref, rows, terms) for ref in (*args, step.out)]
    if kind in ("mm", "mmadd"):
        m, n, k = shape
        sizes = [(m, k), (n, k), (m * n, 1)]
        found = [(ref, *size) for ref, size in zip(args, sizes, strict=False)]
        return [*found, (step.out, m * n, 1)]
    terms = shape[1]
    wide = _WIDE.get(kind, 0)
    found = [(ref, rows, terms if k < wide else 1) for k, ref in enumerate(args)]
    return [*found, (step.out, rows, terms if kind == "put" else 1)]


def verify(program: Program, after: str = "") -> Program:
    """Return the program if it is one; else say what is wrong with which instruction."""
    check_size(program.size)
    written = Flags(program.size)
    written.array[: program.inputs + len(program.constants)] = True
    for number, step in enumerate(program.instructions):
        problem = _problem(step, written)
        if problem:
            raise ValueError(
                f"instruction {number} ({step.kind} {step.op}) after {after or 'making'}: {problem}"
            )
    ends = [*program.results, *(guard.at for guard in program.guards)]
    if not all(0 <= slot < program.size and written.array[slot] for slot in ends):
        raise ValueError(f"after {after or 'making'}: a result is never written")
    return program


def _problem(step: Instruction, written: Flags) -> str:
    """Tell what is wrong with an instruction; mark the slots that it writes."""
    problem = _misshapen(step)
    if problem:
        return problem
    try:
        *operands, out = step.areas
    except ValueError as error:
        return str(error)
    size = len(written)
    for area in operands:
        if area.first < 0 or area.last >= size:
            return "an operand lies outside the buffer"
        if not written.all(area):
            return "an operand is read before it is written"
    if out.first < 0 or out.last >= size:
        return "the result lies outside the buffer"
    if step.kind in ADDING and not step.stores:
        return "" if written.all(out) else "it adds to what was never written"
    if written.any(out):
        return "it overwrites what was written before"
    if not out.once:
        return "it writes the same slot twice"
    written.set(out)
    return ""


def _misshapen(step: Instruction) -> str:
    """Tell what in kind, operation, operands and shape does not go together."""
    kind = step.kind
    if kind in ("map", "vjp"):
        if step.op not in MAPS:
            return "there is no such operation"
        arity = MAPS[step.op].arity or 0
        counts: tuple[int, ...] = (arity + (2 if kind == "vjp" else 0),)
        if kind == "vjp" and not 0 <= step.which < arity:
            return "there is no such partial"
    elif kind in _OPERANDS:
        counts = _OPERANDS[kind]
    else:
        return "there is no such kind"
    if len(step.args) not in counts:
        return f"{len(step.args)} operands"
    if len(step.shape) != _DIMENSIONS.get(kind, 2) or min(step.shape) < 1:
        return f"the shape is {step.shape}"
    return ""


_DIMENSIONS = {"map": 1, "vjp": 1, "fill": 1, "mm": 3, "mmadd": 3}


# ---- for people ----------------------------------------------------------------------------------


def text(program: Program) -> str:
    """Print a program, an instruction a line."""
    lines = [
        f"inputs     {_range(0, program.inputs)}"
        + (f"   of these {program.parameters} captured" if program.parameters else "")
    ]
    if len(program.constants):
        shown = ", ".join(f"{x:g}" for x in program.constants[:6])
        more = ", …" if len(program.constants) > 6 else ""
        first = program.inputs
        lines.append(f"constants  {_range(first, len(program.constants))}   {shown}{more}")
    lines += map(_spelled_out, program.instructions)
    lines.append(f"results    {', '.join(f'v{slot}' for slot in program.results)}")
    lines += [f"guard      v{g.at} is {g.number:g}: {g.what}" for g in program.guards]
    return "\n".join(lines)


def _spelled_out(step: Instruction) -> str:
    *operands, (out, rows, terms) = spaces(step)
    sign = "+=" if step.kind in ADDING and not step.stores else "="
    name = step.op if step.kind == "map" else step.kind
    if step.kind == "vjp":
        name = f"vjp {step.op}/{step.which}"
    shape = "×".join(map(str, step.shape))
    shown = [_shown(*operand) for operand in operands]
    if step.kind == "fill":
        shown = [f"{step.number:g}"]
    return f"{_shown(out, rows, terms):<28} {sign:<2} {name:<12} {shape:<10} {'  '.join(shown)}"


def _range(start: int, count: int) -> str:
    return f"v{start}" if count == 1 else f"v{start}…{start + count - 1}"


def _shown(ref: Ref, rows: int, terms: int) -> str:
    """Write where an operand lies: a range, a pattern of strides, or that it is gathered."""
    if rows * terms == 1:
        return f"v{ref.slots(1, 1)[0, 0]}"
    if ref.cells is not None:
        return f"v[{rows}×{terms} gathered]" if terms > 1 else f"v[{rows} gathered]"
    if ref.rows is not None:
        steps = f" + {terms}·{ref.term_stride}" if terms > 1 else ""
        return f"v[{rows} gathered{steps}]"
    slots = ref.slots(rows, terms).ravel()
    if slots.size > 1 and (np.diff(slots) == 1).all():
        return _range(int(slots[0]), slots.size)
    parts = []
    outer = -(-rows // ref.inner)
    if outer > 1:
        parts.append(f"{outer}·{ref.outer_stride}")
    if ref.inner > 1:
        parts.append(f"{ref.inner}·{ref.inner_stride}")
    if terms > 1:
        parts.append(f"{terms}·{ref.term_stride}")
    return f"v{ref.base}[{', '.join(parts)}]"
