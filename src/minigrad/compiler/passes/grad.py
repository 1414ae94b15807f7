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

import numpy as np

from ..ir.builder import Builder
from ..ir.kinds import KINDS
from ..ir.program import Instruction, Program
from ..ir.refs import Flags, Ref, ref_of
from .expand import expand

__all__ = ["grad", "hessian_times_vector", "jacobian"]

# Operands with no slope: tests are flat, and `hold` is there to stop gradients.
_FLAT = {"less", "less_equal", "equal", "and_", "or_", "not_", "stop_gradient"}


def grad(
    program: Program,
    wrt: Iterable[int] | None = None,
    of: int | None = None,
    *,
    exact: bool = False,
) -> Program:
    """Append the derivatives of a result (the first, or slot `of`) by `wrt` (all inputs)."""
    here = (_Exact if exact else _Adjoints)(program, _active(program, wrt))
    here.seed(program.results[0] if of is None else of)
    return here.reversed()


def jacobian(program: Program, wrt: Iterable[int], of: Sequence[int], exact: bool) -> Program:
    """Append the derivatives of a weighted sum of slots `of`; the weights are as many new inputs.

    With a 1 among zeros as weights, these are the derivatives of one of them.
    """
    count = len(of)
    wide = _widened(program, count)
    here = (_Exact if exact else _Adjoints)(wide, _active(wide, wrt))
    slots = [at if at < program.inputs else at + count for at in of]
    here.seed_with(slots, program.inputs)
    return here.reversed()


def hessian_times_vector(program: Program, exact: bool = False) -> Program:
    """Return a program for H v, all second derivatives by the inputs; v are as many new inputs."""
    count = program.inputs
    first = grad(_widened(program, count), range(count), exact=exact)
    vector = count
    product = Ref(first.size)
    args = (Ref(first.adjoints, term_stride=1), Ref(vector, term_stride=1))
    step = Instruction("dot", (1, count), product, args)
    extended = replace(
        first, size=first.size + 1, instructions=(*first.instructions, step), adjoints=0
    )
    return grad(expand(extended), range(count), of=first.size, exact=exact)


def _widened(program: Program, count: int) -> Program:
    """Make room for `count` more inputs behind those that are there."""

    def moved(ref: Ref, rows: int, terms: int) -> Ref:
        area = ref.area(rows, terms)
        if area.last < program.inputs or area.first >= program.inputs:
            return ref.shifted(0 if area.last < program.inputs else count)
        slots = ref.slots(rows, terms)
        return ref_of(np.where(slots < program.inputs, slots, slots + count))

    steps = []
    for step in program.instructions:
        *args, out = [moved(*space) for space in step.spaces()]
        steps.append(replace(step, args=tuple(args), out=out))
    return replace(
        program,
        size=program.size + count,
        inputs=program.inputs + count,
        instructions=tuple(steps),
        results=tuple(at if at < program.inputs else at + count for at in program.results),
        guards=tuple(
            replace(g, at=g.at if g.at < program.inputs else g.at + count) for g in program.guards
        ),
    )


# ---- what matters --------------------------------------------------------------------------------


def _active(program: Program, wrt: Iterable[int] | None) -> Flags:
    """Flag the slots that depend on what is differentiated by."""
    active = Flags(program.size)
    active.array[list(range(program.inputs) if wrt is None else wrt)] = True
    for step in program.instructions:
        if KINDS[step.kind].is_flat or step.op in _FLAT:
            continue
        *operands, out = step.areas
        if any(map(active.any, operands)):
            active.set(out)
    return active


# ---- the rules -----------------------------------------------------------------------------------


class _Adjoints(Builder):
    """Writes the backward half of a program."""

    buffers = 2  # values and adjoints, of the same layout

    def __init__(self, program: Program, active: Flags) -> None:
        super().__init__(self.buffers * program.size)
        self.program, self.offset, self.active = program, program.size, active

    def seed(self, result: int) -> None:
        """Clear all adjoints; that of the result is 1."""
        self._clear([result], self.offset)
        self.emit("fill", (1,), Ref(self.offset + result), number=1.0)

    def seed_with(self, results: Sequence[int], weights: int) -> None:
        """Clear all adjoints; those of the results are what lies from slot `weights` on."""
        self._clear([], self.offset)
        out = ref_of(self.offset + np.array(results, dtype=np.int64)[:, None])
        self.emit("add", (len(results), 1), out, Ref(weights, 1, 1))

    def _clear(self, but: Sequence[int], start: int) -> None:
        """Fill a buffer with zeros, from slot `start` on."""
        ends = [*but, self.offset]
        for first, end in zip([0, *(at + 1 for at in but)], ends, strict=True):
            if end > first:
                count = end - first
                self.emit("fill", (count,), Ref(start + first, inner=count, inner_stride=1))

    def reversed(self) -> Program:
        """Go through the program backwards; return it with what that has written."""
        for step in reversed(self.program.instructions):
            if not KINDS[step.kind].is_flat and self.active.any(step.areas[-1]):
                getattr(self, f"_{step.kind}")(step, self.of(step.out))
        return replace(
            self.program,
            size=self.size,
            instructions=(*self.program.instructions, *self.instructions),
            adjoints=self.program.size,
        )

    def of(self, ref: Ref) -> Ref:
        return ref.shifted(self.offset)

    def matters(self, step: Instruction, which: int) -> bool:
        """Tell whether an operand depends on what is differentiated by."""
        return self.active.any(step.areas[which])

    # Each rule receives the instruction and the adjoint `g` of its result.

    def _map(self, step: Instruction, g: Ref) -> None:
        n = step.shape[0]
        if step.op in _FLAT:
            return
        for which, arg in enumerate(step.args):
            if not self.matters(step, which):
                continue
            out = self.of(arg)
            if step.op == "where":
                if which:
                    self._choose(n, out, step.args[0], g, which)
            elif step.op == "add" or (step.op == "sub" and which == 0):
                self.emit("add", (n, 1), out, g)
            elif step.op == "mul":
                self.emit("muladd", (n, 1), out, g, step.args[1 - which])
            else:
                self.emit("vjp", (n,), out, g, step.out, *step.args, op=step.op, which=which)

    def _choose(self, n: int, out: Ref, condition: Ref, g: Ref, which: int) -> None:
        """Pass g on where the operand was chosen: a choice, because 0 * inf is not 0."""
        passed = self.allocate(n)
        pair = (g, self.number(0.0)) if which == 1 else (self.number(0.0), g)
        self.emit("map", (n,), passed, condition, *pair, op="where")
        self.emit("add", (n, 1), out, passed)

    def _sum(self, step: Instruction, g: Ref) -> None:
        if self.matters(step, 0):
            self.emit("add", step.shape, self.of(step.args[0]), g)
        self._start(step, 1, step.shape[0], g)

    def _start(self, step: Instruction, which: int, n: int, g: Ref) -> None:
        """What a sum starts from, if it does, gets g."""
        if len(step.args) > which and self.matters(step, which):
            self.emit("add", (n, 1), self.of(step.args[which]), g)

    def _products(self, step: Instruction, g: Ref) -> None:
        """Both factors get g times the other, element by element."""
        for which in (0, 1):
            if self.matters(step, which):
                other = step.args[1 - which]
                self.emit("muladd", step.shape, self.of(step.args[which]), g, other)

    def _dot(self, step: Instruction, g: Ref) -> None:
        self._products(step, g)
        self._start(step, 2, step.shape[0], g)

    def _mm(self, step: Instruction, g: Ref) -> None:
        a, b = step.args[:2]
        m, n, k = step.shape
        table = g.folded(m, n)
        if self.matters(step, 0):
            out = self.of(a).flattened(m, k)
            self.emit("mmadd", (m, k, n), out, table, b.transposed(n, k))
        if self.matters(step, 1):
            out = self.of(b).flattened(n, k)
            self.emit("mmadd", (n, k, m), out, table.transposed(m, n), a.transposed(m, k))
        self._start(step, 2, m * n, g)

    def _take(self, step: Instruction, g: Ref) -> None:
        a, index = step.args
        if self.matters(step, 0):
            self.emit("put", step.shape, self.of(a), g, index)

    def _put(self, step: Instruction, g: Ref) -> None:
        a, index = step.args
        if self.matters(step, 0):
            self.emit("get", step.shape, self.of(a), g, index)

    _get = _take

    def _add(self, step: Instruction, g: Ref) -> None:
        if self.matters(step, 0):
            self.emit("add", step.shape, self.of(step.args[0]), g)

    _muladd = _products
    _mmadd = _mm


class _Exact(_Adjoints):
    """The same, for what the result depends on and nothing else, as a walk over a graph does it.

    A third buffer counts, for each slot, the users that the result reaches. What an operand gets is
    chosen by that, never multiplied by 0. Programs for this are of maps, sums, dots and takes: see
    `group`.
    """

    buffers = 3

    def reached(self, ref: Ref) -> Ref:
        return ref.shifted(2 * self.offset)

    def seed(self, result: int) -> None:
        """Nothing is reached but the result."""
        super().seed(result)
        self._clear([result], 2 * self.offset)
        self.emit("fill", (1,), Ref(2 * self.offset + result), number=1.0)

    def seed_with(self, results: Sequence[int], weights: int) -> None:
        """Nothing is reached but the results that have a weight."""
        super().seed_with(results, weights)
        self._clear([], 2 * self.offset)
        count = len(results)
        squares = self.allocate(count)
        weight = Ref(weights, 1, 1)
        self.emit("map", (count,), squares, weight, weight, op="mul")
        out = ref_of(2 * self.offset + np.array(results, dtype=np.int64)[:, None])
        self.emit("add", (count, 1), out, squares)

    def is_reached(self, ref: Ref, n: int) -> Ref:
        """Return flags, 1 or 0, for n slots."""
        flags = self.allocate(n)
        self.emit("map", (n,), flags, self.number(0.0), self.reached(ref), op="less")
        return flags

    def give(self, n: int, arg: Ref, flags: Ref, share: Ref) -> None:
        """Add shares to the adjoints of n operands, where the flags are 1."""
        chosen = self.allocate(n)
        self.emit("map", (n,), chosen, flags, share, self.number(0.0), op="where")
        self.emit("add", (n, 1), self.of(arg), chosen)
        self.emit("add", (n, 1), self.reached(arg), flags)

    def _map(self, step: Instruction, g: Ref) -> None:
        n = step.shape[0]
        if step.op in _FLAT:
            return
        flags = self.is_reached(step.out, n)
        for which, arg in enumerate(step.args):
            if not self.matters(step, which) or (step.op == "where" and not which):
                continue
            if step.op == "where":
                chosen, test = self.allocate(n), step.args[0]
                if which == 2:
                    test = self.allocate(n)
                    self.emit("map", (n,), test, step.args[0], op="not_")
                self.emit("map", (n,), chosen, flags, test, op="and_")
                self.give(n, arg, chosen, g)
                continue
            share = self.allocate(n)
            self.emit("fill", (n,), share)
            self.emit("vjp", (n,), share, g, step.out, *step.args, op=step.op, which=which)
            self.give(n, arg, flags, share)

    def _sum(self, step: Instruction, g: Ref) -> None:
        n, k = step.shape
        flags = self.is_reached(step.out, n)
        if self.matters(step, 0):
            wide = [ref.flattened(n, k) for ref in (step.args[0], flags, g)]
            self.give(n * k, *wide)
        if len(step.args) > 1 and self.matters(step, 1):
            self.give(n, step.args[1], flags, g)

    def _products(self, step: Instruction, g: Ref) -> None:
        n, k = step.shape
        a, b = (ref.flattened(n, k) for ref in step.args[:2])
        # A dot has one result for each row, muladd one for each element.
        _, rows, terms = step.spaces()[-1]
        flags = self.is_reached(step.out.flattened(rows, terms), rows * terms)
        g = g.flattened(n, k)
        if terms < k:
            flags = flags.flattened(n, k)
        for which, (arg, other) in enumerate(((a, b), (b, a))):
            if self.matters(step, which):
                share = self.allocate(n * k)
                self.emit("map", (n * k,), share, g, other, op="mul")
                self.give(n * k, arg, flags, share)

    _muladd = _products

    def _dot(self, step: Instruction, g: Ref) -> None:
        self._products(step, g)
        if len(step.args) > 2 and self.matters(step, 2):
            n = step.shape[0]
            self.give(n, step.args[2], self.is_reached(step.out, n), g)

    def _take(self, step: Instruction, g: Ref) -> None:
        a, index = step.args
        if self.matters(step, 0):
            n = step.shape[0]
            flags, chosen = self.is_reached(step.out, n), self.allocate(n)
            self.emit("map", (n,), chosen, flags, g, self.number(0.0), op="where")
            self.emit("put", step.shape, self.of(a), chosen, index)
            self.emit("put", step.shape, self.reached(a), flags, index)

    _get = _take

    def _put(self, step: Instruction, g: Ref) -> None:
        a, index = step.args
        if self.matters(step, 0):
            n = step.shape[0]
            counts, share = self.allocate(n), self.allocate(n)
            for found, source in ((counts, self.reached(step.out)), (share, g)):
                self.emit("fill", (n,), found)
                self.emit("get", step.shape, found, source, index)
            flags = self.allocate(n)
            self.emit("map", (n,), flags, self.number(0.0), counts, op="less")
            self.give(n, a, flags, share)

    def _add(self, step: Instruction, g: Ref) -> None:
        if self.matters(step, 0):
            n, k = step.shape
            flags = self.is_reached(step.out.flattened(n, k), n * k)
            self.give(n * k, step.args[0].flattened(n, k), flags, g.flattened(n, k))
