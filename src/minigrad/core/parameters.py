# cython: boundscheck=False, wraparound=False, nonecheck=False
"""What training loops do to all parameters at once: read, write, zero, and take a step.

Numbers travel as `array('d')`, which NumPy and everything else with a buffer understands without a
copy. Compiled, each function is a loop over C numbers: an Adam step over thousands of parameters
takes microseconds.
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
    from math import sqrt

    from .cython_shim import copy_fields, read_fields, set_at_once

__all__ = [
    "Nodes",
    "adam",
    "as_numbers",
    "data_of",
    "grads_of",
    "read_data",
    "set_data",
    "set_grads",
    "sgd",
    "write_data",
    "write_grads",
    "zero_grad",
]


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


def _room_for(count: int) -> array[float]:
    return array("d", bytes(8 * count))


def data_of(values: Iterable[Any]) -> array[float]:
    """Return the numbers of many Values as an `array('d')`."""
    nodes = _listed(values, "data_of(values)")
    found = _room_for(len(nodes))
    x = found
    for k in range(len(nodes)):
        x[k] = cython.cast(Node, nodes[k])._data
    return found


def grads_of(values: Iterable[Any]) -> array[float]:
    """Return the gradients of many Values as an `array('d')`."""
    nodes = _listed(values, "grads_of(values)")
    if is_flowing():  # to a hand-written step, gradients are those of its pass
        return array("d", [node.grad for node in nodes])
    found = _room_for(len(nodes))
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
        set_grads(nodes, _room_for(len(nodes)))
        return
    for k in range(len(nodes)):
        cython.cast(Node, nodes[k])._grad = 0.0


# ---- steps of the optimisers: from numbers to new numbers ---------------------------------------


def _check_lengths(count: int, *others: array[float]) -> None:
    """Refuse arrays of other lengths: compiled, the loops do not look where an array ends."""
    for other in others:
        if len(other) != count:
            raise ValueError(f"{count} numbers to move but {len(other)} beside them; give as many.")


def sgd(
    data: array[float],
    grads: array[float],
    velocity: array[float] | None,
    lr: float,
    momentum: float,
    nesterov: bool,
    weight_decay: float,
) -> tuple[array[float], array[float]]:
    """Return where gradient descent goes from here, and the new velocities."""
    count = len(data)
    moved, kept = _room_for(count), _room_for(count)
    before = velocity if velocity is not None else _room_for(count)
    _check_lengths(count, grads, before)
    x, g, u = data, grads, before
    new_x, new_u = moved, kept
    for k in range(count):
        slope = g[k] + weight_decay * x[k]
        speed = momentum * u[k] + slope
        new_u[k] = speed
        new_x[k] = x[k] - lr * (slope + momentum * speed if nesterov else speed)
    return moved, kept


def adam(
    data: array[float],
    grads: array[float],
    first: array[float] | None,
    second: array[float] | None,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    steps: int,
    penalty: float,
    shrink: float,
) -> tuple[array[float], array[float], array[float]]:
    """Return where Adam goes from here, and the new averages of gradients and squares.

    `penalty` times the number is added to its gradient (Adam's weight decay); the number itself is
    first multiplied by `shrink` (AdamW's).
    """
    count = len(data)
    beta1, beta2 = betas
    moved, kept_first, kept_second = _room_for(count), _room_for(count), _room_for(count)
    before_first = first if first is not None else _room_for(count)
    before_second = second if second is not None else _room_for(count)
    _check_lengths(count, grads, before_first, before_second)
    # The averages start at zero; early on these factors make up for that.
    rate = lr / (1.0 - beta1 ** (steps + 1))
    scale = 1.0 / sqrt(1.0 - beta2 ** (steps + 1))
    x, g, m, v = data, grads, before_first, before_second
    new_x, new_m, new_v = moved, kept_first, kept_second
    for k in range(count):
        slope = g[k] + penalty * x[k]
        average = beta1 * m[k] + (1.0 - beta1) * slope
        square = beta2 * v[k] + (1.0 - beta2) * slope * slope
        new_m[k] = average
        new_v[k] = square
        new_x[k] = x[k] * shrink - rate * average / (sqrt(square) * scale + eps)
    return moved, kept_first, kept_second


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
