# cython: boundscheck=False, wraparound=False, nonecheck=False
"""What training loops do to the numbers of all parameters at once: read, write, and zero them.

Numbers travel as `array('d')`, which NumPy and everything else with a buffer understands without a
copy. In the native engine each function is a loop over C numbers: thousands of parameters take
microseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from . import cython_shim as cython
from .coerce import as_float, as_list
from .flow import is_flowing
from .node import Node, clock
from .observers import refuse_in_trace
from .writeback import flush_writebacks

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from .cython_shim import (
        copy_fields,
        first_other_than,
        has_same_items,
        place_of_data,
        place_of_writes,
    )

    def first_stranger(values: list[Any] | tuple[Any, ...]) -> int:
        """Return the place of the first thing that is no Value; -1 if all are."""
        return first_other_than(Node, values)


READ_DATA, WRITE_DATA, WRITE_GRADS, READ_GRADS = range(4)  # what `copy_fields` does


def _checked(values: Any, what: str, ordered: bool = True) -> Any:
    """Return the Values as a list or tuple, and refuse anything else among them."""
    flush_writebacks()
    refuse_in_trace(f"calls {what}")
    if type(values) is Nodes:
        return values.values
    found: Any = values if type(values) in (list, tuple) else as_list(values, what, ordered)
    at = first_stranger(found)
    if at >= 0:
        kind = type(found[at]).__name__
        raise TypeError(f"{what}: got {kind} among them; all must be Values.")
    return found


def as_numbers(numbers: Any, count: int, what: str) -> array[float]:
    """Return the numbers as an array, one for each of `count` Values."""
    fits = isinstance(numbers, array) and numbers.typecode == "d"
    if fits:
        found: array[float] = numbers
    else:
        numbers = as_list(numbers, f"{what}(…, numbers)")
        try:
            found = array("d", numbers)
        except TypeError:  # which does not say what to write instead
            found = array("d", [as_float(x, f"{what}(…, numbers)") for x in numbers])
    if len(found) != count:
        raise ValueError(f"{what}: {count} Values but {len(found)} numbers; give one for each.")
    return found


def zeros(count: int) -> array[float]:
    """Return so many zeros."""
    return array("d", bytes(8 * count))


def data_of(values: Iterable[Any] | Nodes) -> array[float]:
    """Return the numbers of many Values as an `array('d')`."""
    nodes = _checked(values, "data_of(values)")
    found = zeros(len(nodes))
    copy_fields(nodes, found, READ_DATA)
    return found


def grads_of(values: Iterable[Any] | Nodes) -> array[float]:
    """Return the gradients of many Values as an `array('d')`."""
    nodes = _checked(values, "grads_of(values)")
    if is_flowing():  # to a hand-written step, gradients are those of its pass
        return array("d", [node.grad for node in nodes])
    found = zeros(len(nodes))
    copy_fields(nodes, found, READ_GRADS)
    return found


def set_data(values: Iterable[Any], numbers: Any) -> None:
    """Write numbers, an array or any sequence, into the `.data` of as many Values."""
    nodes = _checked(values, "set_data(values, …)")
    _write(nodes, as_numbers(numbers, len(nodes), "set_data"))


def set_grads(values: Iterable[Any], numbers: Any) -> None:
    """Write numbers, an array or any sequence, into the `.grad` of as many Values."""
    nodes = _checked(values, "set_grads(values, …)")
    found = as_numbers(numbers, len(nodes), "set_grads")
    if not is_flowing():
        copy_fields(nodes, found, WRITE_GRADS)
        return
    for node, number in zip(nodes, found, strict=True):
        node.grad = number


def zero_grad(values: Iterable[Any] | Nodes) -> None:
    """Set the `.grad` of many Values to zero."""
    nodes = _checked(values, "zero_grad(values)", ordered=False)
    set_grads(nodes, zeros(len(nodes)))


# ---- numbers of Values, as they are: nothing is flushed -----------------------------------


def _write(values: Any, numbers: Any) -> None:
    copy_fields(values, numbers, WRITE_DATA)
    clock.writes += 1


@cython.final
@cython.cclass
class Nodes:
    """Values whose numbers are read or written again and again; what they are is checked once."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        at = first_stranger(values)
        if at >= 0:
            kind = type(values[at]).__name__
            raise TypeError(f"only Values have numbers to read or write, not {kind}.")
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def are(self, values: Any) -> bool:
        """Tell whether a list or tuple holds these very Values, in this order."""
        return type(values) in (list, tuple) and has_same_items(values, self.values)

    def read(self, numbers: Any) -> None:
        """Write the `.data` of the Values into the first numbers of a buffer."""
        copy_fields(self.values, numbers, READ_DATA)

    def write(self, numbers: Any) -> None:
        """Write the first numbers of an array into the `.data` of the Values."""
        _write(self.values, numbers)


def read_data(values: tuple[Any, ...], numbers: Any) -> None:
    """Write the `.data` of Values into the first numbers of a buffer."""
    copy_fields(Nodes(values).values, numbers, READ_DATA)


def write_data(values: tuple[Any, ...], numbers: Any) -> None:
    """Write the first numbers of a NumPy array into the `.data` of Values."""
    _write(Nodes(values).values, numbers)


def write_grads(values: tuple[Any, ...], numbers: Any) -> None:
    """Write the first numbers of a NumPy array into the `.grad` of Values."""
    copy_fields(Nodes(values).values, numbers, WRITE_GRADS)


def data_offset() -> int:
    """Where in its memory a node has its number, for others in C; -1 in the pure engine."""
    return place_of_data(Node())


def writes_offset() -> int:
    """Where in its memory `clock` counts what is written into nodes."""
    return place_of_writes(clock)
