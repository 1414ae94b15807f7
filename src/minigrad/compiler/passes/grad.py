"""Reverse mode on programs: one rule per kind of instruction.

The adjoint of slot s lies in slot s + `adjoints`: a second buffer of the same layout, in the same
buffer. `grad` walks the instructions backwards and appends, for each, what its operands get. What
it appends is again made of instructions with rules, so `grad(grad(program))` is nothing special:
only the fused `vjp` must first be spelled out (`expand`) in operations that can be differentiated.

**What was not chosen.** Both sides of a `where` are computed, and groups hold elements that the
result does not depend on. Their adjoints are 0, so they contribute 0 times a slope: nothing, unless
the slope is inf or nan. Such a nan cannot hide: it goes down to some input. So a gradient whose
numbers are all finite is right, and of one whose numbers are not the program says so
(`Program.finite`). Then the `exact` gradient decides, which knows of every adjoint whether the
result reaches it at all: it has a third buffer, of flags, and is slower for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ...codegen.elementwise import MAPS
from ..ir.instructions import (
    ADD,
    DOT,
    MAP,
    MULADD,
    OPERANDS,
    VJP,
    Chain,
    Instruction,
    listing,
    parts_of,
)
from ..ir.kinds import KINDS
from ..ir.program import Builder, Derivative, Program
from ..ir.refs import Flags, Ref, ref_of
from .expand import expand

# Operations without a derivative: tests are flat, and `stop_gradient` is made for it.
FLAT = {"less", "less_equal", "equal", "and_", "or_", "not_", "stop_gradient"}
_FLAT_CODES = np.zeros(1 + max(op.code for op in MAPS.values()), dtype=bool)
_FLAT_CODES[[MAPS[name].code for name in FLAT]] = True
_ADD, _SUB, _MUL = (MAPS[name].code for name in ("add", "sub", "mul"))


def grad(
    program: Program, wrt: Iterable[int] | None = None, of: int | None = None, exact: bool = False
) -> Program:
    """Append the derivatives of a result (the first, or slot `of`) by `wrt` (all inputs)."""
    here = (_Exact if exact else _Adjoints)(program, _active(program, wrt))
    result = program.results[0] if of is None else of
    here.seed(result)
    return replace(here.reversed(), derivative=_derivative("gradient", program, [result], exact))


def jacobian(program: Program, wrt: Iterable[int], exact: bool) -> Program:
    """Append the derivatives of a weighted sum of results; the weights are as many new inputs.

    With a 1 among zeros as weights, these are the derivatives of one of them.
    """
    wide = _widened(program, len(program.results))
    here = (_Exact if exact else _Adjoints)(wide, _active(wide, wrt))
    here.seed_with(wide.results, program.inputs)
    derivative = _derivative("jacobian", program, program.results, exact)
    return replace(here.reversed(), derivative=derivative)


def hessian_times_vector(program: Program, exact: bool = False) -> Program:
    """Return a program for H v, all second derivatives by the inputs; v are as many new inputs."""
    count = program.inputs
    first = grad(_widened(program, count), range(count), exact=exact)
    slopes, vector = Ref(first.adjoints, term_stride=1), Ref(count, term_stride=1)
    dot = Instruction("dot", (1, count), Ref(first.size), (slopes, vector))
    steps = (*first.instructions, dot)
    extended = replace(first, size=first.size + 1, instructions=steps, adjoints=0)
    second = grad(expand(extended), range(count), of=first.size, exact=exact)
    return replace(second, derivative=_derivative("hvp", program, program.results[:1], exact))


def _derivative(
    what: Literal["gradient", "jacobian", "hvp"],
    program: Program,
    results: Sequence[int],
    exact: bool,
) -> Derivative | None:
    """Say what is made; exact programs, and those of gradients, are nobody else's business."""
    return None if exact or program.adjoints else Derivative(what, program, tuple(results))


def _widened(program: Program, count: int) -> Program:
    """Insert `count` more inputs behind those that are there."""

    def place(at: int) -> int:
        return at if at < program.inputs else at + count

    def moved(ref: Ref, rows: int, terms: int) -> Ref:
        area = ref.area(rows, terms)
        if area.last < program.inputs or area.first >= program.inputs:
            return ref.shifted(0 if area.last < program.inputs else count)
        slots = ref.slots(rows, terms)
        return ref_of(np.where(slots < program.inputs, slots, slots + count))

    instructions = []
    for i in program.instructions:
        *args, out = [moved(*space) for space in i.spaces()]
        instructions.append(replace(i, args=tuple(args), out=out))
    return replace(
        program,
        size=program.size + count,
        inputs=program.inputs + count,
        instructions=tuple(instructions),
        results=tuple(map(place, program.results)),
        guards=tuple(replace(guard, at=place(guard.at)) for guard in program.guards),
    )


# ---- what matters --------------------------------------------------------------------------------


def _active(program: Program, wrt: Iterable[int] | None) -> Flags:
    """Flag the slots that depend on what is differentiated by."""
    active = Flags(program.size)
    active.array[list(range(program.inputs) if wrt is None else wrt)] = True
    for i in parts_of(program.instructions):
        if isinstance(i, Chain):
            _activate(i, active.bytes)
            continue
        if _is_flat(i):
            continue
        *operands, out = i.areas
        if any(map(active.any, operands)):
            active.set(out)
    return active


def _activate(chain: Chain, active: bytearray) -> None:
    """Do the same for the rows of a chain, each of which may depend on the one before."""
    steep = np.flatnonzero(~_flat_rows(chain))
    rows = zip(chain.out[steep].tolist(), chain.args[steep].tolist(), strict=True)
    for out, args in rows:
        for at in args:
            if at >= 0 and active[at]:
                active[out] = 1
                break


def _flat_rows(chain: Chain) -> Any:
    return (chain.kind == MAP) & _FLAT_CODES[np.maximum(chain.op, 0)]


def _is_flat(i: Instruction) -> bool:
    return KINDS[i.kind].is_flat or i.op in FLAT


# ---- the rules -----------------------------------------------------------------------------------


class _Adjoints(Builder):
    """Writes the backward half of a program."""

    buffers = 2  # values and adjoints, of the same layout

    def __init__(self, program: Program, active: Flags) -> None:
        super().__init__(self.buffers * program.size)
        self.program, self.offset, self.active = program, program.size, active

    def seed(self, result: int) -> None:
        """Clear all adjoints; that of the result is 1, and so is that it is reached."""
        for start in range(self.offset, self.buffers * self.offset, self.offset):
            self._clear([result], start)
            self.emit("fill", (1,), Ref(start + result), number=1.0)

    def seed_with(self, results: Sequence[int], weights: int) -> None:
        """Clear all adjoints; those of the results are what lies from slot `weights` on."""
        self._seed_buffer(self.offset, results, Ref(weights, 1, 1))

    def _seed_buffer(self, start: int, results: Sequence[int], numbers: Ref) -> None:
        self._clear([], start)
        out = ref_of(start + np.array(results, dtype=np.int64)[:, None])
        self.emit("add", (len(results), 1), out, numbers)

    def _clear(self, but: Sequence[int], start: int) -> None:
        """Fill a buffer with zeros, from slot `start` on."""
        ends = [*but, self.offset]
        for first, end in zip([0, *(at + 1 for at in but)], ends, strict=True):
            if end > first:
                count = end - first
                self.emit("fill", (count,), Ref(start + first, inner=count, inner_stride=1))

    def reversed(self) -> Program:
        """Go through the program backwards; return it with what that has written."""
        parts = parts_of(self.program.instructions)
        for i in reversed(parts):
            if isinstance(i, Chain):
                self._chain(i)
            else:
                self._reverse(i)
        return replace(
            self.program,
            size=self.size,
            instructions=listing((*parts, *self.instructions)),
            adjoints=self.program.size,
        )

    def _reverse(self, i: Instruction) -> None:
        if not _is_flat(i) and self.active.any(i.areas[-1]):
            getattr(self, f"_{i.kind}")(i, self.of(i.out))

    def _chain(self, chain: Chain) -> None:
        """What the rules below say, for all rows of a chain at once."""
        active, args = self.active.array, chain.args[:, :3]
        wanted = (args >= 0) & active[args] & (active[chain.out] & ~_flat_rows(chain))[:, None]
        row, which = np.nonzero(wanted[::-1])  # an operand after the other, of the last row first
        row = len(chain) - 1 - row
        kind, op, y, own = chain.kind[row], chain.op[row], chain.out[row], chain.args[row]
        is_product = (op == _MUL) & (kind == MAP) | (kind == DOT) & (which < 2)
        is_sum = (op == _ADD) | (op == _SUB) & (which == 0)
        is_sum = is_sum & (kind == MAP) | (kind == DOT) & (which == 2)
        is_other = ~(is_product | is_sum)
        found = np.full((len(row), OPERANDS), -1, dtype=np.int64)
        found[:, 0] = y + self.offset
        at = np.flatnonzero(is_product)
        found[at, 1] = own[at, 1 - which[at]]
        found[is_other, 1] = y[is_other]
        found[is_other, 2:] = own[is_other, :2]
        made = Chain(
            kind=np.where(is_product, MULADD, np.where(is_sum, ADD, VJP)),
            op=np.where(is_other, op, -1),
            which=np.where(is_other, which, 0),
            stores=np.zeros(len(row), dtype=bool),
            out=chain.args[row, which] + self.offset,
            args=found,
        )
        if len(row):
            self.instructions.append(made)

    def of(self, ref: Ref) -> Ref:
        return ref.shifted(self.offset)

    def matters(self, i: Instruction, which: int) -> bool:
        """Tell whether an operand depends on what is differentiated by."""
        return self.active.any(i.areas[which])

    # Each rule receives the instruction and the adjoint `g` of its result.

    def _map(self, i: Instruction, g: Ref) -> None:
        n = i.shape[0]
        for which, arg in enumerate(i.args):
            if not self.matters(i, which):
                continue
            out = self.of(arg)
            if i.op == "where":
                if which:
                    self._choose(n, out, i.args[0], g, which)
            elif i.op == "add" or (i.op == "sub" and which == 0):
                self.emit("add", (n, 1), out, g)
            elif i.op == "mul":
                self.emit("muladd", (n, 1), out, g, i.args[1 - which])
            else:
                self.emit("vjp", (n,), out, g, i.out, *i.args, op=i.op, which=which)

    def _choose(self, n: int, out: Ref, condition: Ref, g: Ref, which: int) -> None:
        """Pass g on where the operand was chosen: a choice, because 0 * inf is not 0."""
        passed = self.allocate(n)
        pair = (g, self.number(0.0)) if which == 1 else (self.number(0.0), g)
        self.emit("map", (n,), passed, condition, *pair, op="where")
        self.emit("add", (n, 1), out, passed)

    def _add(self, i: Instruction, g: Ref) -> None:
        if self.matters(i, 0):
            self.emit("add", i.shape, self.of(i.args[0]), g)

    def _sum(self, i: Instruction, g: Ref) -> None:
        self._add(i, g)
        self._start(i, 1, i.shape[0], g)

    def _start(self, i: Instruction, which: int, n: int, g: Ref) -> None:
        """What a sum starts from, if it does, gets g."""
        if len(i.args) > which and self.matters(i, which):
            self.emit("add", (n, 1), self.of(i.args[which]), g)

    def _products(self, i: Instruction, g: Ref) -> None:
        """Both factors get g times the other, element by element."""
        for which in (0, 1):
            if self.matters(i, which):
                other = i.args[1 - which]
                self.emit("muladd", i.shape, self.of(i.args[which]), g, other)

    def _dot(self, i: Instruction, g: Ref) -> None:
        self._products(i, g)
        self._start(i, 2, i.shape[0], g)

    def _mm(self, i: Instruction, g: Ref) -> None:
        a, b = i.args[:2]
        m, n, k = i.shape
        table = g.folded(m, n)
        if self.matters(i, 0):
            out = self.of(a).flattened(m, k)
            self.emit("mmadd", (m, k, n), out, table, b.transposed(n, k))
        if self.matters(i, 1):
            out = self.of(b).flattened(n, k)
            self.emit("mmadd", (n, k, m), out, table.transposed(m, n), a.transposed(m, k))
        self._start(i, 2, m * n, g)

    def _take(self, i: Instruction, g: Ref) -> None:
        a, index = i.args
        if self.matters(i, 0):
            self.emit("put", i.shape, self.of(a), g, index)

    def _put(self, i: Instruction, g: Ref) -> None:
        a, index = i.args
        if self.matters(i, 0):
            self.emit("get", i.shape, self.of(a), g, index)

    def _muladd(self, i: Instruction, g: Ref) -> None:
        self._products(i, g)

    def _get(self, i: Instruction, g: Ref) -> None:
        self._take(i, g)

    _mmadd = _mm


class _Exact(_Adjoints):
    """The same, for what the result depends on and nothing else, as a walk over a graph does it.

    A third buffer counts, for each slot, the users that the result reaches. What an operand gets is
    chosen by that, never multiplied by 0. Programs for this are of maps, sums, dots and takes: see
    `group`.
    """

    buffers = 3

    def _chain(self, chain: Chain) -> None:
        for i in reversed(chain.spelled_out()):
            self._reverse(i)

    def reached(self, ref: Ref) -> Ref:
        return ref.shifted(2 * self.offset)

    def seed_with(self, results: Sequence[int], weights: int) -> None:
        """Nothing is reached but the results that have a weight."""
        super().seed_with(results, weights)
        squares, weight = self.allocate(len(results)), Ref(weights, 1, 1)
        self.emit("map", (len(results),), squares, weight, weight, op="mul")
        self._seed_buffer(2 * self.offset, results, squares)

    def is_reached(self, ref: Ref, n: int) -> Ref:
        """Return flags, 1 or 0, for n slots."""
        flags = self.allocate(n)
        self.emit("map", (n,), flags, self.number(0.0), self.reached(ref), op="less")
        return flags

    def give(self, n: int, arg: Ref, flags: Ref, contribution: Ref) -> None:
        """Add contributions to the adjoints of n operands, where the flags are 1."""
        chosen = self.allocate(n)
        self.emit("map", (n,), chosen, flags, contribution, self.number(0.0), op="where")
        self.emit("add", (n, 1), self.of(arg), chosen)
        self.emit("add", (n, 1), self.reached(arg), flags)

    def _map(self, i: Instruction, g: Ref) -> None:
        n = i.shape[0]
        flags = self.is_reached(i.out, n)
        for which, arg in enumerate(i.args):
            if not self.matters(i, which) or (i.op == "where" and not which):
                continue
            if i.op == "where":
                chosen, test = self.allocate(n), i.args[0]
                if which == 2:
                    test = self.allocate(n)
                    self.emit("map", (n,), test, i.args[0], op="not_")
                self.emit("map", (n,), chosen, flags, test, op="and_")
                self.give(n, arg, chosen, g)
                continue
            contribution = self.allocate(n)
            self.emit("fill", (n,), contribution)
            self.emit("vjp", (n,), contribution, g, i.out, *i.args, op=i.op, which=which)
            self.give(n, arg, flags, contribution)

    def _start(self, i: Instruction, which: int, n: int, g: Ref) -> None:
        if len(i.args) > which and self.matters(i, which):
            self.give(n, i.args[which], self.is_reached(i.out, n), g)

    def _each(self, i: Instruction, g: Ref) -> tuple[Ref, Ref]:
        """Return flags and adjoints of the result for every (row, term)."""
        n, k = i.shape
        # A sum and a dot have one result for each row, += one for each element.
        _, rows, terms = i.spaces()[-1]
        flags = self.is_reached(i.out.flattened(rows, terms), rows * terms)
        return flags if terms == k else flags.flattened(n, k), g.flattened(n, k)

    def _add(self, i: Instruction, g: Ref) -> None:
        if self.matters(i, 0):
            n, k = i.shape
            self.give(n * k, i.args[0].flattened(n, k), *self._each(i, g))

    def _products(self, i: Instruction, g: Ref) -> None:
        n, k = i.shape
        a, b = (ref.flattened(n, k) for ref in i.args[:2])
        flags, g = self._each(i, g)
        for which, (arg, other) in enumerate(((a, b), (b, a))):
            if self.matters(i, which):
                contribution = self.allocate(n * k)
                self.emit("map", (n * k,), contribution, g, other, op="mul")
                self.give(n * k, arg, flags, contribution)

    def _take(self, i: Instruction, g: Ref) -> None:
        a, index = i.args
        if self.matters(i, 0):
            n = i.shape[0]
            flags, chosen = self.is_reached(i.out, n), self.allocate(n)
            self.emit("map", (n,), chosen, flags, g, self.number(0.0), op="where")
            self.emit("put", i.shape, self.of(a), chosen, index)
            self.emit("put", i.shape, self.reached(a), flags, index)

    def _put(self, i: Instruction, g: Ref) -> None:
        a, index = i.args
        if self.matters(i, 0):
            n = i.shape[0]
            counts, contribution = self.allocate(n), self.allocate(n)
            for found, source in ((counts, self.reached(i.out)), (contribution, g)):
                self.emit("fill", (n,), found)
                self.emit("get", i.shape, found, source, index)
            flags = self.allocate(n)
            self.emit("map", (n,), flags, self.number(0.0), counts, op="less")
            self.give(n, a, flags, contribution)
