"""The program: a flat list of frozen instructions over one buffer of float64 slots.

    slots:  inputs | constants | results of instructions | (after `grad`) adjoints, same layout

An instruction works on an index space of rows and terms, and every operand says by a `Ref` in which
slot element (row, term) lies. `kinds` has what an instruction can be. `verify` is run after every
pass; `printing` prints a program for people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...codegen.elementwise import MAPS
from ...codegen.formula import Formula
from ...core.display import cut_lines, preformatted
from ..tracing.tape import Guard
from .instructions import NEVER, Chain, Instruction, Part, parts_of
from .kinds import KINDS, Kind
from .printing import text
from .refs import Area, Flags, Ref, check_size

__all__ = [
    "LINES",
    "NOT_FINITE",
    "Builder",
    "Derivative",
    "Instruction",
    "Program",
    "Update",
    "verify",
    "verify_last",
]

# What a run says, in the place of a guard that failed, if a number in the ranges `finite` is not:
# another order of sums, or a slope beside the way that was taken, may then have had a part in it.
NOT_FINITE = -2
LINES = 60  # of a program's repr


@dataclass(frozen=True)
class Update:
    """What moves the first `count` inputs, and state beside the buffer, once all guards hold."""

    formula: Formula  # of x, its gradient, and its state
    count: int
    grads: int  # the slot of the first gradient


@dataclass(frozen=True, eq=False)
class Derivative:
    """What a program with gradients computes, for back ends that differentiate by themselves."""

    what: Literal["gradient", "jacobian", "hvp"]
    of: Program  # the program without gradients
    results: tuple[int, ...]  # of that program: the slots that are differentiated


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """Instructions, the numbers they start from, and where to find what."""

    size: int  # slots
    inputs: int  # the first slots: what the function closes over, then its arguments
    parameters: int  # how many of them it closes over
    constants: np.ndarray[Any, np.dtype[np.float64]]  # in the slots behind the inputs
    instructions: Sequence[Instruction]  # a tuple, or what `parts_of` knows more about
    results: tuple[int, ...]  # slots
    guards: tuple[Guard, ...] = ()
    adjoints: int = 0  # after `grad`: how far behind a slot its adjoint lies
    finite: tuple[tuple[int, int], ...] = ()  # ranges of slots, see `NOT_FINITE`
    update: Update | None = None  # an optimiser's step, after the guards
    derivative: Derivative | None = None  # what `grad` and its like have made of which program

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return "\n".join(cut_lines(text(self).splitlines(), LINES, "print(program)"))

    def _repr_html_(self) -> str:
        return preformatted(text(self))

    def digest(self) -> str:
        """A hash of what it computes, the same in every process."""
        found = hashlib.sha256(repr((self.size, self.inputs, self.parameters)).encode())
        found.update(self.constants.tobytes())
        for i in self.instructions:
            found.update(repr((i.kind, i.shape, i.op, i.which, i.number, i.stores)).encode())
            for ref in (*i.args, i.out):
                strides = ref.inner, ref.outer_stride, ref.inner_stride, ref.term_stride
                found.update(repr((ref.base, strides)).encode())
                for index in (ref.rows, ref.cells):
                    found.update(b"" if index is None else index.tobytes())
        found.update(repr((self.results, [guard.at for guard in self.guards])).encode())
        return found.hexdigest()


class Builder:
    """How passes write instructions: collects them, and allocates slots for their results."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.instructions: list[Part] = []
        self._numbers: dict[str, Ref] = {}

    def allocate(self, count: int) -> Ref:
        """Return `count` new slots, one after the other."""
        found = Ref(self.size, inner=count, inner_stride=1)
        self.size += count
        return found

    def emit(self, kind: str, shape: tuple[int, ...], out: Ref, *args: Ref, **more: Any) -> None:
        """Append an instruction."""
        self.instructions.append(Instruction(kind, shape, out, args, **more))

    def number(self, x: float) -> Ref:
        """Return a slot that holds a number."""
        if x.hex() not in self._numbers:
            slot = self.allocate(1)
            self.emit("fill", (1,), slot, number=x)
            self._numbers[x.hex()] = Ref(slot.base)
        return self._numbers[x.hex()]


# ---- checking ------------------------------------------------------------------------------------


def verify(program: Program, after: str = "") -> Program:
    """Return the program if it is one; else say what is wrong with which instruction."""
    check_size(program.size)
    place = f"after {after or 'making'}"
    written = Flags(program.size)
    written.array[: program.inputs + len(program.constants)] = True
    when: Any = None
    number = 0
    for part in parts_of(program.instructions):
        if isinstance(part, Chain):
            when = np.full(program.size, NEVER) if when is None else when
            if problem := part.problem(written, when):
                raise ValueError(f"instructions from {number} on (a chain) {place}: {problem}")
            number += len(part)
            continue
        if problem := _problem(part, written):
            raise ValueError(f"instruction {number} ({part.kind} {part.op}) {place}: {problem}")
        number += 1
    ends = [*program.results, *(guard.at for guard in program.guards)]
    if not all(0 <= slot < program.size and written.array[slot] for slot in ends):
        raise ValueError(f"{place}: a result is never written")
    update = program.update
    if update is not None and update.count:
        grads = Area(update.grads, update.grads + update.count - 1, update.count, 1)
        if not update.count <= min(program.inputs, grads.first) or grads.last >= program.size:
            raise ValueError(f"{place}: parameters or gradients are not there")
        if not written.all(grads):
            raise ValueError(f"{place}: a gradient is never written")
    return program


def verify_last(made: list[tuple[str, Program]]) -> Program:
    """Return the last of the programs that passes made, each of the one before, if it is one.

    That is the one that runs. If anything is wrong with it, the pass that did it is named.
    """
    try:
        return verify(made[-1][1], made[-1][0])
    except ValueError:
        for name, program in made:
            verify(program, name)
        raise


def _problem(i: Instruction, written: Flags) -> str:
    """Tell what is wrong with an instruction; mark the slots that it writes."""
    kind = KINDS.get(i.kind)
    if kind is None:
        return "there is no such kind"
    if problem := _misshapen(i, kind):
        return problem
    try:
        *operands, out = i.areas
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
    if kind.adds and not i.stores:
        return "" if written.all(out) else "it adds to what was never written"
    if written.any(out):
        return "it overwrites what was written before"
    if not out.once:
        return "it writes the same slot twice"
    written.set(out)
    return ""


def _misshapen(i: Instruction, kind: Kind) -> str:
    """Tell what in operation, operands and shape does not go together with the kind."""
    counts = kind.counts
    if kind.names_op:
        if i.op not in MAPS:
            return "there is no such operation"
        arity = MAPS[i.op].arity or 0
        if not 0 <= i.which < arity:
            return "there is no such partial"
        counts = (kind.args - 3 + arity,)
    if len(i.args) not in counts:
        return f"{len(i.args)} operands"
    if len(i.shape) != kind.dimensions or min(i.shape) < 1:
        return f"the shape is {i.shape}"
    return ""
