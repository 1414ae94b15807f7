"""Reverse mode on programs: one rule per kind of instruction.

The adjoint of slot s lies in slot s + `adjoints`: a second buffer of the same layout, in the same
buffer. `grad` walks the instructions backwards and appends, for each, what its operands get. What
it appends is again made of instructions with rules, so `grad(grad(program))` is nothing special:
only the fused `vjp` must first be spelled out (`expand`) in operations that can be differentiated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .maps import MAPS
from .program import Flags, Instruction, Program, Ref, ref_of, spaces

__all__ = ["expand", "grad", "hessian_times_vector"]

# Operands with no slope: tests are flat, and `hold` is there to stop gradients.
_FLAT = {"less", "less_equal", "equal", "both", "either", "invert", "hold"}


def grad(program: Program, wrt: Iterable[int] | None = None, of: int | None = None) -> Program:
    """Append the derivatives of a result (the first, or slot `of`) by `wrt` (all inputs)."""
    result = program.results[0] if of is None else of
    active = _active(program, wrt)
    by_test, by_index = _inside_choice(program, "where"), _inside_choice(program, "take")
    here = _Adjoints(program, active)
    here.seed(result)
    for step in reversed(program.instructions):
        out = step.areas[-1]
        if active.any(out):
            left_out = by_test.any(out)
            here.reverse(step, left_out or (step.kind == "map" and by_index.any(out)))
    return replace(
        program,
        size=here.size,
        instructions=(*program.instructions, *here.steps),
        adjoints=program.size,
    )


def hessian_times_vector(program: Program) -> Program:
    """Return a program for H v, all second derivatives by the inputs; v are as many new inputs."""
    count = program.inputs
    first = grad(_widened(program, count), range(count))
    vector = count
    product = Ref(first.size)
    args = (Ref(first.adjoints, term_stride=1), Ref(vector, term_stride=1))
    step = Instruction("dot", (1, count), product, args)
    extended = replace(
        first, size=first.size + 1, instructions=(*first.instructions, step), adjoints=0
    )
    return grad(expand(extended), range(count), of=first.size)


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
        *args, out = [moved(*space) for space in spaces(step)]
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
        if step.kind in ("max", "argmax", "fill") or step.op in _FLAT:
            continue
        *operands, out = step.areas
        if any(map(active.any, operands)):
            active.set(out)
    return active


def _inside_choice(program: Program, word: str) -> Flags:
    """Flag the slots that a `where`, or a `take`, may leave out: a gradient of 0 is none at all.

    Below a `take` only maps are told: products of a network that ends in one stay products.
    """
    flags = Flags(program.size)
    if not any(word in (step.op, step.kind) for step in program.instructions):
        return flags
    for step in reversed(program.instructions):
        *operands, out = step.areas
        chosen = []
        if word in (step.op, step.kind):
            chosen = operands[1:] if word == "where" else operands[:1]
        for area in operands if flags.any(out) else chosen:
            flags.set(area)
    return flags


# ---- the rules -----------------------------------------------------------------------------------


class _Writer:
    """Collects instructions, and hands out slots for what they need on the way."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.steps: list[Instruction] = []
        self._numbers: dict[str, Ref] = {}

    def room(self, count: int) -> Ref:
        found = Ref(self.size, inner=count, inner_stride=1)
        self.size += count
        return found

    def emit(self, kind: str, shape: tuple[int, ...], out: Ref, *args: Ref, **more: Any) -> None:
        self.steps.append(Instruction(kind, shape, out, args, **more))

    def number(self, x: float) -> Ref:
        """Return a slot that holds a number."""
        if x.hex() not in self._numbers:
            slot = self.room(1)
            self.emit("fill", (1,), slot, number=x)
            self._numbers[x.hex()] = Ref(slot.base)
        return self._numbers[x.hex()]


class _Adjoints(_Writer):
    """Writes the backward half of a program."""

    def __init__(self, program: Program, active: Flags) -> None:
        super().__init__(2 * program.size)
        self.offset, self.active = program.size, active

    def seed(self, result: int) -> None:
        """Clear all adjoints; that of the result is 1."""
        for start, end in ((0, result), (result + 1, self.offset)):
            if end > start:
                count = end - start
                out = Ref(self.offset + start, inner=count, inner_stride=1)
                self.emit("fill", (count,), out)
        self.emit("fill", (1,), Ref(self.offset + result), number=1.0)

    def of(self, ref: Ref) -> Ref:
        return ref.shifted(self.offset)

    def matters(self, step: Instruction, which: int) -> bool:
        """Tell whether an operand depends on what is differentiated by."""
        return self.active.any(step.areas[which])

    def reverse(self, step: Instruction, inside_choice: bool) -> None:
        rule = getattr(self, f"_{step.kind}")
        rule(step, self.of(step.out), inside_choice)

    # Each rule receives the instruction and the adjoint `g` of its result.

    def _map(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
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
            elif step.op == "mul" and not inside_choice:
                self.emit("muladd", (n, 1), out, g, step.args[1 - which])
            else:
                args = (g, step.out, *step.args)
                self.emit("vjp", (n,), out, *args, op=step.op, which=which, skips=inside_choice)

    def _choose(self, n: int, out: Ref, condition: Ref, g: Ref, which: int) -> None:
        """Pass g on where the operand was chosen: a choice, because 0 * inf is not 0."""
        passed = self.room(n)
        pair = (g, self.number(0.0)) if which == 1 else (self.number(0.0), g)
        self.emit("map", (n,), passed, condition, *pair, op="where")
        self.emit("add", (n, 1), out, passed)

    def _sum(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        if self.matters(step, 0):
            self.emit("add", step.shape, self.of(step.args[0]), g)
        self._start(step, 1, step.shape[0], g)

    def _start(self, step: Instruction, which: int, n: int, g: Ref) -> None:
        """What a sum starts from, if it does, gets g."""
        if len(step.args) > which and self.matters(step, which):
            self.emit("add", (n, 1), self.of(step.args[which]), g)

    def _products(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        """Both factors get g times the other, element by element."""
        n, k = step.shape
        for which in (0, 1):
            arg, other = step.args[which], step.args[1 - which]
            if not self.matters(step, which):
                continue
            out = self.of(arg)
            if not inside_choice:
                self.emit("muladd", (n, k), out, g, other)
                continue
            args = [_flat(ref, n, k) for ref in (out, g, arg, arg, other)]
            self.emit("vjp", (n * k,), *args, op="mul", which=0, skips=True)

    def _dot(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        self._products(step, g, inside_choice)
        self._start(step, 2, step.shape[0], g)

    def _mm(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        a, b = step.args[:2]
        m, n, k = step.shape
        table = _folded(g, m, n)
        if self.matters(step, 0):
            out = _flat(self.of(a), m, k)
            self.emit("mmadd", (m, k, n), out, table, _turned(b, n, k))
        if self.matters(step, 1):
            out = _flat(self.of(b), n, k)
            self.emit("mmadd", (n, k, m), out, _turned(table, m, n), _turned(a, m, k))
        self._start(step, 2, m * n, g)

    def _take(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        a, index = step.args
        if self.matters(step, 0):
            self.emit("put", step.shape, self.of(a), g, index)

    def _put(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        a, index = step.args
        if self.matters(step, 0):
            self.emit("get", step.shape, self.of(a), g, index)

    _get = _take

    def _add(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        if self.matters(step, 0):
            self.emit("add", step.shape, self.of(step.args[0]), g)

    _muladd = _products
    _mmadd = _mm

    def _fill(self, step: Instruction, g: Ref, inside_choice: bool) -> None:
        pass

    _max = _argmax = _fill


# ---- operands seen in another way ----------------------------------------------------------------


def _flat(ref: Ref, rows: int, terms: int) -> Ref:
    """Make every element a row."""
    stride = ref.stride(rows)
    if stride is not None:
        return Ref(ref.base, terms, stride, ref.term_stride)
    return ref_of(ref.slots(rows, terms).reshape(-1, 1))


def _folded(ref: Ref, rows: int, terms: int) -> Ref:
    """Make every `terms` rows of one element a row."""
    stride = ref.stride(rows * terms)
    if stride is not None:
        return Ref(ref.base, inner=rows, inner_stride=stride * terms, term_stride=stride)
    return ref_of(ref.slots(rows * terms).reshape(rows, terms))


def _turned(ref: Ref, rows: int, terms: int) -> Ref:
    """Make rows terms and terms rows."""
    stride = ref.stride(rows)
    if stride is not None:
        return Ref(ref.base, inner=terms, inner_stride=ref.term_stride, term_stride=stride)
    return ref_of(ref.slots(rows, terms).T)


# ---- vjp, spelled out ----------------------------------------------------------------------------


def expand(program: Program) -> Program:
    """Spell every `vjp` out in maps, by the rule of the op table, so that it has a derivative."""
    writer = _Writer(program.size)
    for step in program.instructions:
        if step.kind != "vjp":
            writer.steps.append(step)
            continue
        n = step.shape[0]
        g, y, *args = step.args
        m = _Spelling(writer, n)
        slope = MAPS[step.op].partials[step.which](m, _Term(m, y), *[_Term(m, a) for a in args])
        if step.skips:
            slope = m.where(m.equal(_Term(m, g), 0.0), 0.0, slope)
        writer.emit("muladd", (n, 1), step.out, g, m.ref(slope))
    return replace(program, size=writer.size, instructions=tuple(writer.steps))


class _Term:
    """An operand, or the result of an instruction, while a rule is being spelled out."""

    def __init__(self, m: _Spelling, ref: Ref) -> None:
        self.m, self.ref = m, ref

    def __add__(self, other: Any) -> Any:
        return self.m.apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.m.apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.m.apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.m.apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.m.apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.m.apply("mul", other, self)

    def __neg__(self) -> Any:
        return self.m.apply("neg", self)

    def __lt__(self, other: Any) -> Any:
        return self.m.apply("less", self, other)

    def __le__(self, other: Any) -> Any:
        return self.m.apply("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.m.apply("less", other, self)

    def __ge__(self, other: Any) -> Any:
        return self.m.apply("less_equal", other, self)

    def __and__(self, other: Any) -> Any:
        return self.m.apply("both", self, other)

    def __or__(self, other: Any) -> Any:
        return self.m.apply("either", self, other)


class _Spelling:
    """The mathematics (see `ops`) that writes instructions."""

    def __init__(self, writer: _Writer, count: int) -> None:
        self.writer, self.count = writer, count

    def ref(self, x: Any) -> Ref:
        return x.ref if isinstance(x, _Term) else self.writer.number(float(x))

    def apply(self, name: str, *operands: Any) -> _Term:
        out = self.writer.room(self.count)
        args = [self.ref(x) for x in operands]
        self.writer.emit("map", (self.count,), out, *args, op=name)
        return _Term(self, out)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return self.apply("where", condition, a, b)

    def number(self, x: Any) -> Any:
        return self.apply("hold", x) if isinstance(x, _Term) else x

    def __getattr__(self, word: str) -> Any:
        if word not in MAPS:
            raise AttributeError(word)
        return lambda *xs: self.apply(word, *xs)
