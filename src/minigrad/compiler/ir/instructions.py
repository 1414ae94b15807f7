"""Instructions, one by one, and those of single elements as a table.

Most programs are a few hundred instructions on arrays, and an object for each is nothing. A chain
of 100,000 operations, each on the result of the one before, has as many instructions of a single
element. Such a `Chain` is a table with a row for each of them, and passes treat it as a whole. Who
knows nothing of chains goes through the instructions, `Listing`, which spells them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, overload

import numpy as np

from ...codegen.elementwise import MAPS
from .kinds import KINDS
from .refs import Area, Flags, Ref

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Instruction:
    """One instruction: a kind, see `kinds.KINDS`, and where its operands and its result lie.

    `op` and `which` belong to `map` and `vjp`, `number` to `fill`. `stores`: this += is the first
    to reach all its slots, each once, and writes instead of adding.
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
            found = tuple([ref.area(rows, terms) for ref, rows, terms in self.spaces()])
            object.__setattr__(self, "_areas", found)
        return found

    @property
    def adds(self) -> bool:
        """Whether it is a += that adds."""
        return not self.stores and KINDS[self.kind].adds

    def spaces(self) -> list[tuple[Ref, int, int]]:
        """List the operands and at last the result, each with its numbers of rows and terms."""
        kind, shape = KINDS[self.kind], self.shape
        if kind.dimensions == 1:
            rows = shape[0]
            return [(ref, rows, 1) for ref in (*self.args, self.out)]
        size = (*shape, 1, shape[0] * shape[1])
        (row, term), places = kind.out, zip(self.args, kind.places, strict=False)
        found = [(ref, size[r], size[t]) for ref, (r, t) in places]
        found.append((self.out, size[row], size[term]))
        return found


# ---- instructions of single elements -------------------------------------------------------------

# The kinds that a row may have, and how many operands: of a map as many as its operation has.
MAP, DOT, VJP, ADD, MULADD = range(5)
_CHAIN_KINDS = ("map", "dot", "vjp", "add", "muladd")
_COUNTS = np.array([0, 2, 2, 1, 2])
OPERANDS = 4  # that a row has at most: vjp, of g, y, a and b
LEAST = 16  # rows of a chain: it costs as much as a few instructions
NEVER = np.iinfo(np.int64).max
_NAMES = {op.code: op.name for op in MAPS.values()}
_ARITY = np.zeros(1 + max(_NAMES), dtype=np.int64)
for _op in MAPS.values():
    _ARITY[_op.code] = _op.arity or 0


@dataclass(frozen=True, eq=False)
class Chain:
    """Instructions of a single element each, to be run one after the other: a row for each.

    `op` is the code of an operation, where the kind names one. `args` are slots, -1 for none.
    """

    kind: Ints
    op: Ints
    which: Ints
    stores: np.ndarray[Any, np.dtype[np.bool_]]
    out: Ints
    args: Ints  # of shape (rows, OPERANDS)

    def __len__(self) -> int:
        return len(self.out)

    @property
    def adds(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which rows are a += that adds."""
        return (self.kind >= VJP) & ~self.stores

    def spelled_out(self) -> list[Instruction]:
        """Make an instruction of each row."""
        columns = (self.kind, self.op, self.which, self.stores, self.out, self.args)
        found = []
        for kind, op, which, stores, out, args in zip(*(c.tolist() for c in columns), strict=True):
            name = _CHAIN_KINDS[kind]
            found.append(
                Instruction(
                    name,
                    (1,) * KINDS[name].dimensions,
                    Ref(out, inner=1, inner_stride=1) if kind <= DOT else Ref(out),
                    tuple([Ref(at) for at in args if at >= 0]),
                    _NAMES[op] if KINDS[name].names_op else "",
                    which,
                    stores=stores,
                )
            )
        return found

    def problem(self, written: Flags, when: Ints) -> str:
        """Tell what is wrong with a row; mark the slots that are written.

        `when` has NEVER for every slot, before and afterwards.
        """
        if problem := self._misshapen():
            return problem
        size, out, args = len(written), self.out, self.args
        if args.max() >= size:
            return "an operand lies outside the buffer"
        if out.min() < 0 or out.max() >= size:
            return "the result lies outside the buffer"
        rows, adds, before = np.arange(len(out)), self.adds, written.array
        new = out[~adds]
        when[new] = rows[~adds]
        is_fresh = not before[new].any() and (when[new] == rows[~adds]).all()
        read = before[args] | (when[args] < rows[:, None]) | (args < 0)
        changed = before[out] | (when[out] < rows)
        when[new] = NEVER
        if not is_fresh:
            return "it overwrites what was written before"
        if not read.all():
            return "an operand is read before it is written"
        if not changed[adds].all():
            return "it adds to what was never written"
        before[new] = True
        return ""

    def _misshapen(self) -> str:
        names_op = (self.kind == MAP) | (self.kind == VJP)
        op = self.op[names_op]
        if len(op) and (op.min() < 0 or op.max() >= len(_ARITY) or not _ARITY[op].all()):
            return "there is no such operation"
        arity = np.where(names_op, _ARITY[np.where(names_op, self.op, 0)], 1)
        if (self.which < 0).any() or (self.which >= arity).any():
            return "there is no such partial"
        there = self.args >= 0
        counts = _COUNTS[self.kind] + np.where(names_op, arity, 0)
        is_start = (self.kind == DOT) & there[:, 2]  # what a dot starts from
        if (there != (np.arange(OPERANDS) < (counts + is_start)[:, None])).any():
            return "the wrong number of operands"
        return ""


Part: TypeAlias = Instruction | Chain


class Listing(Sequence[Instruction]):
    """The instructions of a program that has chains."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._count = sum(len(part) if isinstance(part, Chain) else 1 for part in parts)
        self._all: tuple[Instruction, ...] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Instruction: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Instruction, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        if self._all is None:
            found: list[Instruction] = []
            for part in self.parts:
                found += part.spelled_out() if isinstance(part, Chain) else [part]
            self._all = tuple(found)
        return self._all[at]


def listing(parts: Iterable[Part]) -> Sequence[Instruction]:
    """Return instructions: a tuple, if there are no chains among them."""
    found = tuple(parts)
    plain = tuple(part for part in found if not isinstance(part, Chain))
    return plain if len(plain) == len(found) else Listing(found)


class Later(Sequence[Instruction]):
    """Instructions that are made when somebody looks at them.

    A program from disk has the machine's words, and nobody runs anything else.
    """

    def __init__(self, count: int, make: Callable[[], Sequence[Instruction]]) -> None:
        self._count, self._make = count, make
        self._made: Sequence[Instruction] | None = None

    def all(self) -> Sequence[Instruction]:
        """Return them."""
        if self._made is None:
            made = self._make()
            if len(made) != self._count:
                raise RuntimeError(
                    f"a program from disk has {self._count} instructions, and {len(made)} are "
                    "made of its trace. Empty the cache, minigrad cache --clear, and report it."
                )
            self._made, self._make = made, tuple  # with what it held on to
        return self._made

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Instruction: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Instruction, ...]: ...
    def __getitem__(self, at: Any) -> Any:
        return self.all()[at]


def parts_of(instructions: Sequence[Instruction]) -> Sequence[Part]:
    """Return instructions and chains, for passes that know both."""
    if isinstance(instructions, Later):
        instructions = instructions.all()
    return instructions.parts if isinstance(instructions, Listing) else instructions
