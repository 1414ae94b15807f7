"""Plans, followed in NumPy: what `backends/arrays` does in JAX, without JAX and without gradients.

`values_of` runs a plan. `misread` looks at every operand of a plan: it runs on arrays that hold the
numbers of their own slots, so that an operand shows from where it was read. `random_ir` draws
programs, instruction by instruction, with operands of all the forms that a `Ref` can have.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from minigrad.codegen.elementwise import MAPS
from minigrad.compiler.backends import arrays, numpy
from minigrad.compiler.function import Compiled
from minigrad.compiler.ir.program import Builder, Program, verify
from minigrad.compiler.ir.refs import Ref, indices, ref_of
from minigrad.compiler.tracing.tape import Guard
from minigrad.compiler.views.plan import Operand, Plan, Step
from minigrad.compiler.views.planner import plan
from minigrad.maths.arrays import ArrayMath

MATH = ArrayMath(np)


class NumpyLibrary:
    """What a plan needs, in NumPy's words."""

    stretches = True

    def reshape(self, x, shape):
        return np.reshape(x, shape)

    def cut(self, x, axis, first, end):
        assert 0 <= first <= end <= x.shape[axis]
        return x[(slice(None),) * axis + (slice(first, end),)]

    def transpose(self, x, order):
        return np.transpose(x, order)

    def stretch(self, x, shape):
        assert x.ndim == len(shape)
        return np.broadcast_to(x, shape)

    def split(self, x, axis, sizes):
        assert sum(sizes) == x.shape[axis]
        return np.split(x, np.cumsum(sizes)[:-1], axis)

    def join(self, parts):
        return np.concatenate(parts)

    def constant(self, numbers):
        return np.asarray(numbers, float)

    def where(self, condition, a, b):
        return np.where(condition, a, b)

    def gather(self, x, index):
        flat = np.ravel(index)
        assert flat.max() < len(x)
        return np.where(flat >= 0, x[np.maximum(flat, 0)], 0.0)

    def sum(self, x):
        return x.sum(-1)

    def largest(self, x):
        rows = x.reshape(-1, x.shape[-1]).tolist()
        which = [max(range(len(row)), key=row.__getitem__) for row in rows]
        numbers = [row[at] for row, at in zip(rows, which, strict=True)]
        return np.array(numbers).reshape(x.shape[:-1]), np.array(which, float).reshape(x.shape[:-1])

    def product(self, a, b, batch):
        assert a.ndim == b.ndim == batch + 2
        return a @ np.swapaxes(b, -1, -2)

    def one_hot(self, index, count):
        whole = np.where(index < 0, index + count, index)
        valid = (whole >= 0) & (whole < count) & (whole == np.floor(whole))
        here = (whole[:, None] == np.arange(count)) | ~valid[:, None]
        return here, np.where(valid, 1.0, np.nan)

    def elementwise(self, op, skips):
        return lambda *xs: MAPS[op].value(MATH, *xs)


# ---- running -------------------------------------------------------------------------------------


def program_of(function, *example):
    """Trace a function; its program without gradients, and the numbers of the inputs."""
    spec, flat = Compiled(function).dispatch.replay_or_refuse(
        example, {}, lambda spec, flat: (spec, flat)
    )
    return spec.program, [*(value.data for value in spec.captured), *flat.numbers]


def values_of(made: Plan, inputs: Any) -> list[float]:
    """Follow a plan in NumPy: the results, then what the guards look at."""
    numbers = np.array(inputs, float)
    leaves = [numbers[leaf.first : leaf.end] for leaf in made.leaves]
    with np.errstate(all="ignore"):
        results, guards = arrays.run(made, NumpyLibrary(), leaves)
    return [float(x) for x in (*results, *guards)]


def expected(program: Program, inputs: Any) -> list[float]:
    """The same by the specification of programs."""
    prepared = numpy.prepare(program)
    values = prepared.values()
    values[: program.inputs] = inputs
    with np.errstate(all="ignore"):
        prepared.run(values)
    return [float(values[at]) for at in (*program.results, *(g.at for g in program.guards))]


# ---- looking at operands -------------------------------------------------------------------------


def _slot_arrays(made: Plan, numbers: Any) -> list[Any]:
    """The arrays of a plan, each entry being the number that stands for its slot."""
    program = made.program
    arrays = [numbers[leaf.first : leaf.end] for leaf in made.leaves]
    if made.has_constants:
        arrays.append(numbers[program.inputs :][: len(program.constants)])
    for step in made.steps:
        area = step.instruction.areas[-1]
        held = numbers[area.first : area.last + 1]
        if step.whole is not None:
            held = held[step.whole.rows]
            if step.whole.ended.any() and step.ends != "first":  # else anything: nobody reads it
                held = np.where(step.whole.ended, 0.0 if step.ends == "zero" else -7.25, held)
        arrays.append(held)
    return arrays


def _is_free(step: Step) -> bool:
    """Whether it does not matter what is computed where rows have ended."""
    return step.whole is not None and (step.mends or step.ends != "first")


def misread(made: Plan) -> list[str]:
    """Name the operands that are not read from where the program says."""
    program = made.program
    numbers = np.arange(program.size) + 0.5  # no constant of a program is such a number
    first = program.inputs
    numbers[first : first + len(program.constants)] = program.constants
    reader = arrays._Run(made, NumpyLibrary(), [])
    reader.arrays = _slot_arrays(made, numbers)
    found = []
    for number, step in enumerate(made.steps):
        zeros = numbers[_wanted(step)[0][1]] == 0.0 if step.form == "dot" else None
        for which, (operand, slots) in enumerate(_wanted(step)):
            seen, wanted = reader.read(operand), numbers[slots]
            if (
                which == 1 and zeros is not None
            ):  # where the first factor is 0, this may be anything
                seen = np.where(reader.read(step.operands[0]) == 0.0, 0.0, seen)
                wanted = np.where(zeros, 0.0, wanted)
            if seen.shape != operand.shape:
                found.append(f"step {number}, {step.form}, operand {which} has shape {seen.shape}")
            elif not _same(step, seen, wanted):
                found.append(f"step {number}, {step.form}, operand {which}")
        if step.product is not None:
            a, b, *_ = (numbers[ref.slots(n, k)] for ref, n, k in step.instruction.spaces())
            if not _is_grid(step, reader, a, b):
                found.append(f"step {number}, product")
    return found


def _same(step: Step, seen: Any, wanted: Any) -> bool:
    if step.whole is None:
        return np.array_equal(seen.ravel(), wanted.ravel(), equal_nan=True)
    seen, wanted = seen.reshape(len(step.whole.rows), -1), wanted.reshape(len(wanted), -1)
    counts = ~step.whole.ended if _is_free(step) else np.ones(len(seen), bool)
    return np.array_equal(seen[counts], wanted[step.whole.rows][counts], equal_nan=True)


def _wanted(step: Step) -> list[tuple[Operand, Any]]:
    """Operands and the slots that they are to show."""
    i = step.instruction
    if step.form == "unrolled":
        slots = [slot for ref, n, k in i.spaces()[:-1] for slot in ref.listed(n, k)]
        return [(o, np.array([slot])) for o, slot in zip(step.operands, slots, strict=True)]
    if step.form == "look_up":
        (n, k), (table, index) = i.shape, i.args
        count, width = step.operands[0].shape[0], step.operands[1].shape[0]
        cells, chosen = table.slots(n, k), index.slots(n).reshape(count, width)
        assert (chosen == chosen[:, :1]).all()
        assert (cells.reshape(count, width, k) == cells[:width]).all()
        return [(step.operands[0], chosen[:, 0]), (step.operands[1], cells[:width])]
    return [
        (operand, ref.slots(rows, terms))
        for operand, (ref, rows, terms) in zip(step.operands, i.spaces(), strict=False)
    ]


def _is_grid(step: Step, reader: Any, a: Any, b: Any) -> bool:
    """Whether the two sides of a product, row by column, show what the dot products are of."""
    product = step.product
    assert product is not None
    left, right = (reader.read(side) for side in product.sides)
    batch, k = left.shape[: product.batch], left.shape[-1]
    grid = (*batch, left.shape[-2], right.shape[-2], k)
    shown = []
    for side, axis in ((left, -2), (right, -3)):
        table = np.broadcast_to(np.expand_dims(side, axis), grid).reshape(*product.shape, k)
        shown.append(table.transpose(*product.order, len(product.order)).reshape(-1, k))
    rows = slice(None) if step.whole is None else step.whole.rows
    a, b = a[rows], b[rows]
    counts = (a != 0) & (b != 0)  # where one side is the constant 0, the other is free
    if _is_free(step):
        counts &= ~step.whole.ended[:, None]
    zeros = ((a == 0) & (shown[0] == 0)) | ((b == 0) & (shown[1] == 0)) | counts
    ended = _is_free(step) and step.whole.ended[:, None]
    same = (shown[0] == a)[counts].all() and (shown[1] == b)[counts].all()
    return bool(same and (zeros | ended).all())


# ---- random programs -----------------------------------------------------------------------------

UNARY = ("tanh", "sin", "relu", "neg", "stop_gradient")
PAIRS = ("add", "mul", "sub", "maximum", "less")
INDICES = 6  # inputs that are whole numbers


class RandomIr:
    """A program in the making."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        count = rng.choice((4, 8, 24, 64))
        self.parameters = rng.choice((0, count // 2, count))
        self.inputs = count + INDICES
        few = [0.0, 0.0, *(round(rng.uniform(-1, 1), 2) for _ in range(rng.choice((0, 6))))]
        self.constants = np.array(few if rng.random() < 0.8 else [])
        self.builder = Builder(self.inputs + len(self.constants))
        self.indices = Ref(count, inner=INDICES, inner_stride=1)
        self.ranges = [(0, count), (0, count)]
        if len(self.constants):
            self.ranges.append((self.inputs, self.inputs + len(self.constants)))

    def numbers(self) -> list[float]:
        rng = self.rng
        plain = [rng.uniform(-1, 1) for _ in range(self.inputs - INDICES)]
        return plain + [float(rng.choice((-2, -1, 0, 1))) for _ in range(INDICES)]

    def operand(self, rows: int, terms: int = 1) -> Ref:
        """Draw an operand: by strides, or from here and there, or from rows of several lengths."""
        rng = self.rng
        if terms > 1 and rng.random() < 0.3:
            found = self._ragged(rows, terms)
            if found is not None:
                return found
        if rng.random() < 0.75:
            found = self._strided(rows, terms)
            if found is not None:
                return found
        low, high = self._range()
        if rng.random() < 0.3:
            low, high = 0, self.builder.size
        slots = np.array([rng.randrange(low, high) for _ in range(rows * terms)])
        table = slots.reshape(rows, terms)
        if rng.random() < 0.5:
            return ref_of(table)
        if terms == 1 and rng.random() < 0.5:
            return Ref(0, rows=indices(slots))
        return Ref(0, cells=indices(slots))

    def _range(self) -> tuple[int, int]:
        rng = self.rng
        return self.ranges[-1] if rng.random() < 0.4 else rng.choice(self.ranges)

    def _strided(self, rows: int, terms: int) -> Ref | None:
        rng = self.rng
        for _ in range(12):
            low, high = self._range()
            inner = rng.choice([n for n in range(1, rows + 1) if rows % n == 0])
            strides = [rng.choice((0, 1, 1, terms, inner, rows, inner * terms)) for _ in range(3)]
            if rng.random() < 0.1:
                strides[rng.randrange(3)] *= -1
            outer, near, step = strides
            free = Ref(0, inner, outer, near, step)
            slots = free.slots(rows, terms)
            room = high - low - 1 - int(slots.max() - slots.min())
            if room >= 0:
                base = low - int(slots.min()) + rng.choice((0, rng.randint(0, room)))
                return Ref(base, inner, outer, near, step)
        return None

    def _ragged(self, rows: int, terms: int) -> Ref | None:
        """Rows that end early, one after the other in one range: behind them 0 or copies."""
        rng = self.rng
        low, high = self._range()
        most = min(rows, terms)
        lengths = [min(k % most + 1, terms) for k in range(rows)]
        if rng.random() < 0.3:
            lengths = [rng.randint(1, terms) for _ in range(rows)]
        total = sum(lengths)
        fitting = [(a, b) for a, b in self.ranges if b - a == total]
        if fitting:
            low, high = rng.choice(fitting)
        if high - low < total:
            return None
        zero = self.inputs if len(self.constants) and rng.random() < 0.5 else None
        table, at = np.zeros((rows, terms), np.int64), low
        for row, length in enumerate(lengths):
            table[row, :length] = np.arange(at, at + length)
            table[row, length:] = at if zero is None else zero
            at += length
        return Ref(0, cells=indices(table.ravel()))

    def instruction(self) -> None:
        rng, builder = self.rng, self.builder
        kind = rng.choice("map map map sum dot dot dot mm max argmax take take fill".split())
        n, k = rng.choice((1, 2, 3, 4, 6, 8, 10, 12, 16)), rng.choice((1, 2, 3, 4, 6))
        start = rng.random() < 0.3
        if kind == "fill":
            out = builder.allocate(n)
            builder.emit("fill", (n,), out, number=rng.choice((0.0, 0.5)))
        elif kind == "map":
            op, count = rng.choice(UNARY), 1
            if rng.random() < 0.6:
                op, count = rng.choice(PAIRS), 2
            if rng.random() < 0.1:
                op, count = "where", 3
            args = [self.operand(n) for _ in range(count)]
            out = builder.allocate(n)
            builder.emit("map", (n,), out, *args, op=op)
        elif kind == "mm":
            m, n = rng.choice((1, 2, 4, 5)), rng.choice((1, 2, 4))
            args = [self.operand(m, k), self.operand(n, k)]
            args += [self.operand(m * n)] if start else []
            out = builder.allocate(m * n)
            builder.emit("mm", (m, n, k), out, *args)
            n = m * n
        elif kind == "take":
            k, width = max(k, 2), rng.choice((1, 2, 3))
            if rng.random() < 0.5:  # rows of one table
                n = width * rng.randint(1, INDICES)
                index = Ref(self.indices.base, width, rng.choice((0, 1)), 0)
                table = self._strided(width, k)
                if table is None:
                    return
                cells = table.slots(width, k)
                args = [ref_of(np.tile(cells, (n // width, 1))), index]
            else:
                chosen = [self.indices.base + rng.randrange(INDICES) for _ in range(n)]
                args = [self.operand(n, k), ref_of(np.array(chosen)[:, None])]
            out = builder.allocate(n)
            builder.emit("take", (n, k), out, *args)
        else:
            args = [self.operand(n, k) for _ in range(2 if kind == "dot" else 1)]
            if kind in ("sum", "dot") and start:
                args.append(self.operand(n))
            out = builder.allocate(n)
            builder.emit(kind, (n, k), out, *args)
        self.ranges.append((out.base, out.base + n))

    def finished(self) -> Program:
        rng, builder = self.rng, self.builder
        first = self.inputs + len(self.constants)
        slots = [rng.randrange(first, builder.size) for _ in range(3)]
        slots.append(rng.randrange(builder.size))
        guards = tuple(
            Guard(rng.randrange(builder.size), 0.0, "") for _ in range(rng.choice((0, 1)))
        )
        made = Program(
            builder.size,
            self.inputs,
            self.parameters,
            self.constants,
            tuple(builder.instructions),
            tuple(slots),
            guards,
        )
        return verify(made)


def random_ir(rng: random.Random, most: int = 10) -> tuple[Program, list[float]]:
    """Draw a program, and numbers for its inputs."""
    drawing = RandomIr(rng)
    while len(drawing.builder.instructions) < rng.randint(2, most):
        drawing.instruction()
    return drawing.finished(), drawing.numbers()


def plan_of(function, *example, **options):
    """Trace a function, and plan it."""
    return plan(program_of(function, *example)[0], **options)
