"""A plan, followed in an array library: JAX, PyTorch, or NumPy in the tests.

`run(plan, library, leaves)` returns the results, and the numbers that the guards ask for. All that
libraries spell differently is in a `Library`. They differentiate what comes out by themselves, with
the slopes of the op table.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from ..views import plan as plans

Array = Any


class Library(Protocol):
    """What a plan needs of an array library. Axes may be batched behind its back (`jax.vmap`)."""

    # Whether operations of the table stretch their operands by themselves. Slopes are then as small
    # as these, and there is less to keep for the gradient.
    stretches: bool

    def reshape(self, x: Array, shape: tuple[int, ...]) -> Array: ...
    def cut(self, x: Array, axis: int, first: int, end: int) -> Array: ...
    def transpose(self, x: Array, order: tuple[int, ...]) -> Array: ...
    def stretch(self, x: Array, shape: tuple[int, ...]) -> Array:
        """Broadcast; `x` has as many axes, some of length 1."""

    def split(self, x: Array, axis: int, sizes: tuple[int, ...]) -> Sequence[Array]:
        """Cut into parts of these sizes; the gradient is put together from theirs."""

    def join(self, parts: Sequence[Array]) -> Array:
        """Put flat arrays side by side."""

    def constant(self, numbers: Any) -> Array:
        """Return an array of the kind of number that is computed with."""

    def where(self, condition: Any, a: Array, b: Array) -> Array: ...
    def gather(self, x: Array, index: Any) -> Array:
        """Return the elements of a flat array at constant places, 0 for -1."""

    def sum(self, x: Array) -> Array:
        """Add up along the last axis."""

    def largest(self, x: Array) -> tuple[Array, Array]:
        """Along axis 1 the largest and which it is, as Python's max() finds them; no gradient."""

    def product(self, a: Array, b: Array, batch: int) -> Array:
        """Multiply matrices (…, m, k) and (…, n, k), the first axes being batches."""

    def one_hot(self, index: Array, count: int) -> tuple[Array, Array]:
        """Return flags (n, count) of where each index is, and 1 for each; nan for what is none.

        What is none is everywhere: a gradient of nan goes to all that it might have chosen.
        """

    def elementwise(self, op: str, skips: bool) -> Callable[..., Array]:
        """Return an operation of the table."""


def run(
    plan: plans.Plan, library: Library, leaves: Sequence[Array]
) -> tuple[list[Array], list[Array]]:
    """Return the results, and the numbers that guards look at."""
    return _Run(plan, library, leaves).done()


class _Run:
    """One run of a plan: the arrays so far, and parts of them that several operands read."""

    def __init__(self, plan: plans.Plan, library: Library, leaves: Sequence[Array]) -> None:
        self.plan, self.library = plan, library
        self.arrays = list(leaves)
        self.parts: dict[tuple[int, plans.Cuts], dict[int, Array]] = {}

    def done(self) -> tuple[list[Array], list[Array]]:
        """Take all steps."""
        plan, arrays = self.plan, self.arrays
        if plan.has_constants:
            arrays.append(self.library.constant(plan.program.constants))
        for step in plan.steps:
            found = self.library.reshape(getattr(self, f"_{step.form}")(step), step.shape)
            if step.whole is not None and step.mends:
                found = self._mended(step.whole, step.ends, found)
            arrays.append(found)
        return (
            [self._element(arrays[at], place) for at, place in plan.results],
            [self._element(arrays[at], place) for at, place in plan.guards],
        )

    def _element(self, array: Array, place: int) -> Array:
        return self.library.reshape(self.library.cut(self._flat(array), 0, place, place + 1), ())

    def _flat(self, array: Array) -> Array:
        return array if array.ndim == 1 else self.library.reshape(array, (-1,))

    def _mended(self, whole: plans.WholeTable, ends: str, found: Array) -> Array:
        """Put copies of the first, or zeros, where a row has ended."""
        library = self.library
        rows = library.reshape(found, whole.shape)
        end = library.constant([[0.0]]) if ends == "zero" else library.cut(rows, 1, 0, 1)
        ended = whole.ended.reshape(whole.shape)
        mended = library.where(ended, library.stretch(end, whole.shape), rows)
        return library.reshape(mended, tuple(found.shape))

    # ---- operands -------------------------------------------------------------------------------

    def read(self, operand: plans.Operand) -> Array:
        """Read an operand."""
        library, how, shape = self.library, operand.how, operand.shape
        if isinstance(how, plans.View):
            found = self._seen(how)
        elif isinstance(how, plans.Constant):
            only = how.only
            if only is not None:
                one = library.reshape(library.constant(only), (1,) * len(shape))
                return library.stretch(one, shape)
            found = library.constant(how.numbers)
        elif isinstance(how, plans.Masked):
            seen = library.reshape(self._seen(how.view), shape)
            if how.holds:
                return seen
            numbers = library.constant(how.numbers.reshape(shape))
            return library.where(how.kept.reshape(shape), seen, numbers)
        elif isinstance(how, plans.Joined):
            parts = [library.cut(self._flat(self.arrays[at]), 0, a, b) for at, a, b in how.parts]
            found = library.join(parts)
        else:
            found = self._gathered(how)
        return library.reshape(found, shape)

    def _seen(self, view: plans.View, stretched: bool = True) -> Array:
        library = self.library
        if view.is_whole:
            return library.reshape(self.arrays[view.source], view.shape)
        array = self._cut(view.source, view.cuts)
        done = tuple(count for _, _, _, count in view.cuts)
        if array.shape[-1] != 1:
            array = library.cut(array, len(done), view.base, view.base + 1)
        array = library.reshape(array, done)
        if view.order != tuple(range(len(view.order))):
            array = library.transpose(array, view.order)
        array = library.reshape(array, view.narrow)
        if view.narrow == view.shape or not stretched:
            return array
        return library.stretch(array, view.shape)

    def _cut(self, source: int, cuts: plans.Cuts) -> Array:
        """Fold and slice a piece: an axis for each cut, and one for the rest."""
        if not cuts:
            return self._flat(self.arrays[source])
        library, axis = self.library, len(cuts) - 1
        length, stride, first, count = cuts[-1]
        rows = length // stride
        if count < rows:
            whole = source, (*cuts[:-1], (length, stride, 0, rows))
            if whole in self.plan.splits:
                return self._split(*whole)[first]
            return library.cut(self._cut(*whole), axis, first, first + count)
        array = self._cut(source, cuts[:-1])
        if array.shape[axis] != length:
            array = library.cut(array, axis, 0, length)
        return library.reshape(array, (*(n for _, _, _, n in cuts[:-1]), rows, stride))

    def _split(self, source: int, cuts: plans.Cuts) -> dict[int, Array]:
        """Cut a piece into parts along its last axis but one, by where they begin."""
        key = source, cuts
        if key not in self.parts:
            sizes = self.plan.splits[key]
            parts = self.library.split(self._cut(source, cuts), len(cuts) - 1, sizes)
            self.parts[key] = dict(zip(accumulate(sizes, initial=0), parts, strict=False))
        return self.parts[key]

    def _gathered(self, how: plans.Gathered) -> Array:
        """Read what has no pattern: from one array after the other, or from all side by side."""
        library = self.library
        flat = [self._flat(self.arrays[at]) for at, _ in how.parts]
        tables = [index for _, index in how.parts]
        if how.beside:
            whole, start = np.full(how.numbers.shape, -1), 0
            for array, index in zip(flat, tables, strict=True):
                whole = np.where(index >= 0, index + start, whole)
                start += array.shape[0]
            flat, tables = [library.join(flat)], [whole]
        found = [library.gather(*pair) for pair in zip(flat, tables, strict=True)]
        if how.numbers.any():
            found.append(library.constant(how.numbers.ravel()))
        return functools.reduce(operator.add, found)

    def _all(self, step: plans.Step) -> list[Array]:
        return [self.read(operand) for operand in step.operands]

    # ---- forms ----------------------------------------------------------------------------------

    def _map(self, step: plans.Step) -> Array:
        op, operands = step.instruction.op, step.operands
        run = self.library.elementwise(op, step.skips)
        known = [o.how.only if isinstance(o.how, plans.Constant) else None for o in operands]
        if op in ("where", "linear") or None not in known:  # may be an operand as it is
            known = [None] * len(operands)
        read = self.read if op in ("where", "linear") else self._narrow
        found = run(
            *[
                read(operand) if number is None else number
                for operand, number in zip(operands, known, strict=True)
            ]
        )
        if tuple(found.shape) == step.shape or len(found.shape) != len(step.shape):
            return found
        return self.library.stretch(found, step.shape)

    def _narrow(self, operand: plans.Operand) -> Array:
        """Read an operand for an operation that stretches it, if the library has such."""
        how = operand.how
        if self.library.stretches and isinstance(how, plans.View) and how.shape == operand.shape:
            return self._seen(how, stretched=False)
        return self.read(operand)

    def _fill(self, step: plans.Step) -> Array:
        number = self.library.constant(step.instruction.number)
        return self.library.stretch(self.library.reshape(number, (1,)), step.instruction.shape)

    def _from_start(self, step: plans.Step, which: int, total: Array) -> Array:
        """Add what a sum starts from, if it does."""
        if len(step.operands) <= which or step.operands[which].is_zero:
            return total
        start = self.read(step.operands[which])
        return self.library.reshape(start, tuple(total.shape)) + total

    def _sum(self, step: plans.Step) -> Array:
        total = self.library.sum(self.read(step.operands[0]))
        return self._from_start(step, 1, total)

    def _times(self, step: plans.Step) -> Callable[..., Array]:
        return self.library.elementwise("mul", step.skips)

    def _dot(self, step: plans.Step) -> Array:
        a, b = (self.read(operand) for operand in step.operands[:2])
        return self._from_start(step, 2, self.library.sum(self._times(step)(a, b)))

    def _mm(self, step: plans.Step) -> Array:
        a, b = (self.read(operand) for operand in step.operands[:2])
        return self._from_start(step, 2, self.library.product(a, b, 0))

    def _product(self, step: plans.Step) -> Array:
        product, library = step.product, self.library
        assert product is not None
        a, b = (self.read(side) for side in product.sides)
        found = library.reshape(library.product(a, b, product.batch), product.shape)
        if product.order != tuple(range(len(product.order))):
            found = library.transpose(found, product.order)
        return self._from_start(step, 2, library.reshape(found, (-1,)))

    def _unrolled(self, step: plans.Step) -> Array:
        """Add a few terms, or products, one after the other."""
        k = step.instruction.shape[1]
        terms, used = self._all(step), k
        found = terms[:k]
        if step.instruction.kind == "dot":
            found, used = [*map(self._times(step), found, terms[k : 2 * k])], 2 * k
        if len(terms) > used and not step.operands[used].is_zero:
            found = [terms[used], *found]
        return functools.reduce(operator.add, found)

    def _max(self, step: plans.Step) -> Array:
        return self.library.largest(self.read(step.operands[0]))[0]

    def _argmax(self, step: plans.Step) -> Array:
        return self.library.largest(self.read(step.operands[0]))[1]

    # An index that is none makes nan of the number and of its gradient: a factor does both.

    def _take(self, step: plans.Step) -> Array:
        library, k = self.library, step.instruction.shape[1]
        a, index = self._all(step)
        here, poison = library.one_hot(index, k)
        chosen = library.where(here, a, library.stretch(library.constant([[0.0]]), tuple(a.shape)))
        return library.sum(chosen) * poison

    def _look_up(self, step: plans.Step) -> Array:
        """Rows of one table: a product with ones and zeros, whose gradient is a product too."""
        library, k = self.library, step.instruction.shape[1]
        index, table = self._all(step)
        here, poison = library.one_hot(index, k)
        one, zero = (
            library.stretch(library.constant([[x]]), tuple(here.shape)) for x in (1.0, 0.0)
        )
        flags = library.where(here, one, zero) * library.reshape(poison, (-1, 1))
        return library.product(flags, table, 0)
