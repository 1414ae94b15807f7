"""The truth about a compiled function: the same function, run as it is at every call.

`Eager` stands in for what `minigrad.compile` returns, `train_step` and `vmap` for their namesakes.
A float argument is a Value inside, as the documents promise, and nothing else is different: there
is no cache, no trace and no code of the compiler here. What a function does to the lists, dicts and
arrays that it was given is done to the caller's.
"""

from __future__ import annotations

import functools
from decimal import Decimal
from fractions import Fraction
from types import MethodType

import numpy as np

import minigrad
from minigrad import Value

REAL = (float, np.float64, np.float32, Fraction, Decimal)


class Number(Value):
    """A float as a function meets it: a Value to compute with, a number when it is tested."""

    def __eq__(self, other):
        if isinstance(other, Value) and not isinstance(other, Number):
            return NotImplemented
        return self.data == (other.data if isinstance(other, Number) else other)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __bool__(self):
        return self.data != 0.0

    def __hash__(self):
        return hash(self.data)


class Lift:
    """Arguments with Values for floats, and the way back for what the function has changed."""

    def __init__(self):
        self.copies = []  # (the caller's container, ours, what lay in ours)

    def __call__(self, tree):
        kind = type(tree)
        if kind in REAL:
            return Number(tree)
        if isinstance(tree, tuple):
            parts = [self(part) for part in tree]
            return kind(*parts) if hasattr(tree, "_fields") else kind(parts)
        if isinstance(tree, list):
            ours = tree.copy() if kind is list else kind(tree)
            if hasattr(tree, "__dict__"):
                vars(ours).update(vars(tree))
            ours[:] = [self(part) for part in tree]
        elif kind is dict:
            ours = {name: self(part) for name, part in tree.items()}
        elif isinstance(tree, np.ndarray) and tree.dtype.kind == "f":
            ours = np.empty(tree.shape, dtype=object)
            ours.ravel()[:] = [Number(part) for part in tree.ravel()]
        else:
            return tree
        self.copies.append((tree, ours, _parts(ours)))
        return ours

    def write_back(self):
        for theirs, ours, before in self.copies:
            now = _parts(ours)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            if isinstance(theirs, dict):
                theirs.clear()
                theirs.update({name: lowered(part) for name, part in ours.items()})
            elif isinstance(theirs, list):
                theirs[:] = map(lowered, ours)
            else:
                theirs.ravel()[:] = [lowered(part) for part in ours.ravel()]


def lowered(thing):
    return thing.data if isinstance(thing, Value) else thing


def _parts(container):
    if isinstance(container, dict):
        return [*container, *container.values()]
    return list(container.ravel() if isinstance(container, np.ndarray) else container)


class Eager:
    """A function that is never compiled; a `plain` one gets floats as floats."""

    def __init__(self, function, plain=False):
        functools.update_wrapper(self, function)
        self.function, self.plain = function, plain

    def __get__(self, instance, owner=None):
        return self if instance is None else Eager(MethodType(self.function, instance))

    def __call__(self, *args, **kwargs):
        if self.plain:
            return self.function(*args, **kwargs)
        lift = Lift()
        try:
            return self.function(*lift(args), **lift(kwargs))
        finally:
            lift.write_back()

    def value_and_grad(self, *args, **kwargs):
        lift = Lift()
        inside = lift(args), lift(kwargs)
        first = _first(self.function(*inside[0], **inside[1]))
        return first.data, Slopes(first, *inside)

    def grad(self, *args, **kwargs):
        return self.value_and_grad(*args, **kwargs)[1]

    def hvp(self, args, vectors):
        inside = Lift()(tuple(args))
        first = _first(self.function(*inside))
        leaves, along = _leaves(inside), _leaves(tuple(vectors))
        slopes = minigrad.grad(first, leaves, create_graph=True)
        moved = sum((s * v for s, v in zip(slopes, along, strict=True)), Value(0.0))
        found = iter(minigrad.grad(moved, leaves))
        return _filled(inside, lambda _: next(found))


class Slopes:
    """What `value_and_grad` returns second: by argument, and by Value."""

    def __init__(self, result, args, kwargs):
        def slope(leaf):
            return minigrad.grad(result, leaf) if isinstance(leaf, Value) else 0.0

        self.result = result
        self.args, self.kwargs = _filled(args, slope), _filled(kwargs, slope)

    def __getitem__(self, value):
        return minigrad.grad(self.result, value)


def _first(output):
    return output[0] if isinstance(output, (list, tuple)) else output


def _leaves(tree):
    found = []
    _filled(tree, found.append)
    return found


def _filled(tree, make):
    """Replace the numbers of a tree."""
    if isinstance(tree, tuple):
        parts = [_filled(part, make) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [_filled(part, make) for part in tree]
    if isinstance(tree, dict):
        return {name: _filled(part, make) for name, part in tree.items()}
    if isinstance(tree, np.ndarray):
        return np.array([_filled(part, make) for part in tree.ravel()]).reshape(tree.shape)
    is_plain = isinstance(tree, (Value, float, int)) and not isinstance(tree, bool)
    return make(tree) if is_plain else tree


def train_step(loss, optimizer, **options):
    """The lessons' loop: zero, forward, backward, step."""
    loss = loss if isinstance(loss, Eager) else Eager(loss)

    def step(*args, **kwargs):
        optimizer.zero_grad()
        total = _first(loss(*args, **kwargs))
        total.backward()
        optimizer.step()
        return total.data

    return step


class Rows:
    """A function for each row of its arrays."""

    def __init__(self, function):
        self.function = function if isinstance(function, Eager) else Eager(function)

    def __call__(self, *args):
        return np.array([self.function(*row).data for row in _rows(args)])

    def value_and_grad(self, *args):
        found = [self.function.value_and_grad(*row) for row in _rows(args)]
        slopes = [np.array(column) for column in zip(*(s.args for _, s in found), strict=True)]
        by_argument = tuple(
            column if isinstance(arg, np.ndarray) else column.sum()
            for arg, column in zip(args, slopes, strict=True)
        )
        return np.array([value for value, _ in found]), by_argument


def _rows(args):
    count = next(len(arg) for arg in args if isinstance(arg, np.ndarray))
    return [
        tuple(arg[at] if isinstance(arg, np.ndarray) else arg for arg in args)
        for at in range(count)
    ]
