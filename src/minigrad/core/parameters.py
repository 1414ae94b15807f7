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
from .coerce import as_list
from .flow import is_flowing
from .node import Node
from .observers import refuse_in_trace
from .writeback import flush_writebacks

if False:  # for the compiler, which reads the next line; nobody runs it
    import cython  # type: ignore

if not cython.compiled:
    from .cython_shim import copy_fields, read_fields, set_at_once


def _listed(values: Iterable[Any], what: str) -> list[Any]:
    """Return the Values as a list of our own, and refuse anything else among them.

    Nobody else holds that list, so that the loops below need not look again.
    """
    flush_writebacks()
    refuse_in_trace(f"calls {what}")
    found = as_list(values, what)
    known = None
    for value in found:
        kind = type(value)
        if kind is not known:  # nearly always they are all of one kind
            if not isinstance(value, Node):
                raise TypeError(f"{what}: got {kind.__name__} among them; all must be Values.")
            known = kind
    return found


def as_numbers(numbers: Any, count: int, what: str) -> array[float]:
    """Return the numbers as an array, one for each of `count` Values."""
    fits = isinstance(numbers, array) and numbers.typecode == "d"
    found: array[float] = numbers if fits else array("d", numbers)
    if len(found) != count:
        raise ValueError(f"{what}: {count} Values but {len(found)} numbers; give one for each.")
    return found


def zeros(count: int) -> array[float]:
    """Return so many zeros."""
    return array("d", bytes(8 * count))


def data_of(values: Iterable[Any]) -> array[float]:
    """Return the numbers of many Values as an `array('d')`."""
    nodes = _listed(values, "data_of(values)")
    found = zeros(len(nodes))
    x = found
    for k in range(len(nodes)):
        x[k] = cython.cast(Node, nodes[k])._data
    return found


def grads_of(values: Iterable[Any]) -> array[float]:
    """Return the gradients of many Values as an `array('d')`."""
    nodes = _listed(values, "grads_of(values)")
    if is_flowing():  # to a hand-written step, gradients are those of its pass
        return array("d", [node.grad for node in nodes])
    found = zeros(len(nodes))
    x = found
    for k in range(len(nodes)):
        x[k] = cython.cast(Node, nodes[k])._grad
    return found


def set_data(values: Iterable[Any], numbers: Any) -> None:
    """Write numbers, an array or any sequence, into the `.data` of as many Values."""
    nodes = _listed(values, "set_data(values, …)")
    found = as_numbers(numbers, len(nodes), "set_data")
    if not cython.compiled:
        set_at_once(nodes, "_data", found.tolist())
        return
    x = found
    for k in range(len(nodes)):
        cython.cast(Node, nodes[k])._data = x[k]


def set_grads(values: Iterable[Any], numbers: Any) -> None:
    """Write numbers, an array or any sequence, into the `.grad` of as many Values."""
    nodes = _listed(values, "set_grads(values, …)")
    found = as_numbers(numbers, len(nodes), "set_grads")
    if is_flowing():
        for node, number in zip(nodes, found, strict=True):
            node.grad = number
        return
    if not cython.compiled:
        set_at_once(nodes, "_grad", found.tolist())
        return
    x = found
    for k in range(len(nodes)):
        cython.cast(Node, nodes[k])._grad = x[k]


def zero_grad(values: Iterable[Any]) -> None:
    """Set the `.grad` of many Values to zero."""
    nodes = _listed(values, "zero_grad(values)")
    if is_flowing() or not cython.compiled:
        set_grads(nodes, zeros(len(nodes)))
        return
    for k in range(len(nodes)):
        cython.cast(Node, nodes[k])._grad = 0.0


# ---- numbers of Values, as they are: nothing is flushed -----------------------------------


@cython.final
@cython.cclass
class Nodes:
    """Values whose numbers are read at each call; that they are Values is checked here, once."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        for value in values:
            if not isinstance(value, Node):
                raise TypeError(f"only Values have numbers to read, not {type(value).__name__}.")
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def read(self, numbers: Any) -> None:
        """Write the `.data` of the Values into the first numbers of a buffer."""
        read_fields(self.values, numbers)


def read_data(values: tuple[Any, ...], numbers: Any) -> None:
    """Write the `.data` of Values into the first numbers of a buffer."""
    copy_fields(values, numbers, 0)


def write_data(values: tuple[Any, ...], numbers: Any) -> None:
    """Write the first numbers of a NumPy array into the `.data` of Values."""
    copy_fields(values, numbers, 1)


def write_grads(values: tuple[Any, ...], numbers: Any) -> None:
    """Write the first numbers of a NumPy array into the `.grad` of Values."""
    copy_fields(values, numbers, 2)
