"""Stands in for Cython's `cython` module when a file runs as plain Python.

`scalar.py` and `node.py` say `cython.compiled` and `@cython.trashcan(True)`. In the native
engine these are for Cython. In the pure one they find this module, and load nothing from others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import repeat
from operator import is_
from typing import Any, TypeVar

C = TypeVar("C")

compiled = False


def cclass(kind: C) -> C:
    """Make an extension type of a class; `final`, one that has no subclasses."""
    return kind


final = cclass


def cast(kind: object, thing: Any, typecheck: bool = False) -> Any:
    """Take a thing for one of a kind; as plain Python, what is not will show soon enough."""
    return thing


def nonecheck(on: bool) -> Callable[[C], C]:
    """Refuse to read the fields of None in a function where its file does not."""
    return lambda function: function


trashcan = nonecheck  # of a class: free chains of objects without recursion


# What native/nodes/slab.h does for the native engine; in the pure one Python's collector does it.


def slab_count() -> int:
    """Count the nodes."""
    return 0


def make_node(*arguments: Any) -> Any:
    """Stand in for what the pure engine imports and does not call."""


open_slab = place_nodes = place_operators = track = track_like_any = make_node
add_to_leaves = plain_pass = refuse_elements = make_node


set_in_class = setattr  # in an extension type, which Python does not let anybody change


# The gradients of a pass: in the native engine, C numbers in a bytearray.


def new_buffer(count: int) -> list[float]:
    """Make a buffer of so many numbers, all 0."""
    return [0.0] * count


def numbers_in(buffer: list[float]) -> list[float]:
    """Return what to index."""
    return buffer


def ints_in(array: Any) -> Any:
    """Return what to index: in the native engine, where the C numbers of an array lie."""
    return array


count_in = len


def add_products(operands: Any, partials: Any, grad: float, flow: list[float]) -> None:
    """Add what one node passes on to its operands, thousands perhaps."""
    for operand, partial in zip(operands, partials, strict=True):
        flow[operand._place] += partial * grad


def set_at_once(nodes: Any, field: str, numbers: Any) -> None:
    """Set a field of many nodes: C calls C, so that nothing comes in between, no error either."""
    deque(map(setattr, nodes, repeat(field), numbers), maxlen=0)


# What `parameters.pxd` does in C.


def has_same_items(values: Any, before: tuple[Any, ...]) -> bool:
    """Tell whether a list or tuple holds the very things of another."""
    return len(values) == len(before) and all(map(is_, values, before))


def first_other_than(kind: type, things: list[Any] | tuple[Any, ...]) -> int:
    """Return the place of the first thing that is not of a kind; -1 if all are."""
    return next((at for at, thing in enumerate(things) if not isinstance(thing, kind)), -1)


def copy_fields(values: list[Any] | tuple[Any, ...], numbers: Any, which: int) -> None:
    """Copy the `.data` (0) or `.grad` (3) of Values, or write their `.data` (1) or `.grad` (2)."""
    if len(numbers) < len(values):
        raise IndexError(f"{len(numbers)} numbers for {len(values)} Values.")
    if which in (0, 3):
        name = "_grad" if which else "_data"
        for at, value in enumerate(values):
            numbers[at] = getattr(value, name)
        return
    # Plain floats, not NumPy's; and as many as there are Values.
    set_at_once(values, "_data" if which == 1 else "_grad", numbers.tolist())


def place_of_data(node: Any) -> int:
    """Where a node has its number: nowhere that C could find."""
    return -1


def place_of_writes(clock: Any) -> int:
    """Where the clock has its count of what is written: neither."""
    return -1
