"""Arguments of a function that was traced, given again as arrays of any library.

Where the example had a list of numbers, or a list of such lists, an array of that shape will do.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...scalar import Value
from .structure import Flat, Mapping, Sequence, Static, Structure, Table, Uniform, apart, flatten


def given_numbers(structure: Structure, given: Any, what: str = "the arguments") -> list[Any]:
    """List the numbers and arrays in `given`, which has the structure of the example."""
    return list(_numbers(structure, given, what))


def as_numpy(tree: Any) -> Any:
    """Make NumPy's arrays of those of other libraries, and numbers of those without axes."""
    if is_foreign(tree):
        found = np.asarray(tree.detach().cpu() if hasattr(tree, "detach") else tree)
        return found if found.ndim else found.item()
    taken = None if isinstance(tree, np.ndarray) else apart(tree)
    return tree if taken is None else taken.build([as_numpy(part) for part in taken.parts])


def is_foreign(thing: Any) -> bool:
    """Tell whether it is an array of another library: JAX, PyTorch."""
    is_array = hasattr(thing, "shape") and hasattr(thing, "dtype") and hasattr(thing, "__array__")
    return is_array and not isinstance(thing, (np.ndarray, np.generic))


def count_of(structure: Structure) -> int:
    """How many numbers there are in a structure."""
    match structure:
        case Uniform(_, length, _):
            return length
        case Sequence(_, parts):
            return sum(map(count_of, parts))
        case Mapping(_, items):
            return sum(count_of(part) for _, part, _ in items)
        case Table(_, shape, of):
            return sum(map(count_of, of)) if isinstance(of, tuple) else prod(shape)
        case Static():
            return 0
    return 1


def _shape(structure: Structure) -> tuple[int, ...] | None:
    """The shape of an array that holds the same numbers, if there is one."""
    match structure:
        case Uniform(_, length, _):
            return (length,)
        case Table(_, shape, of):
            return None if isinstance(of, tuple) else shape
        case Sequence(_, parts):
            shapes = {_shape(part) for part in parts}
            inner = shapes.pop() if len(shapes) == 1 else None
            return None if inner is None else (len(parts), *inner)
        case Mapping() | Static():
            return None
    return ()


def _numbers(structure: Structure, given: Any, what: str) -> Iterator[Any]:
    shape = _shape(structure)
    found = getattr(given, "shape", None)
    if getattr(getattr(given, "dtype", None), "kind", "") == "c":
        raise TypeError(f"{what}: complex numbers have no place here; give real ones.")
    if found is not None and shape is not None:
        if tuple(found) != shape:
            raise _other(what, f"an array of shape {shape}", f"one of shape {tuple(found)}")
        yield given
        return
    match structure:
        case Static(how, known):
            if flatten(given, Flat()) != structure:
                was = repr(known[1]) if how == "value" else f"another {_said(given)}"
                if how == "array" and np.dtype(known[1]).kind == "b":
                    raise TypeError(
                        f"{what}: an array of bool is a part of the program, and "
                        "this is another. Give it as floats or ints, in the example too: those "
                        "may differ."
                    )
                raise _other(what, was, repr(given) if how == "value" else "this one")
        case Mapping(_, items):
            names = [name for name, _, _ in items]
            if not isinstance(given, dict) or set(given) != set(names):
                raise _other(what, f"a dict with {', '.join(map(repr, names))}", _said(given))
            for name, part, _ in items:
                yield from _numbers(part, given[name], f"{what}[{name!r}]")
        case Uniform(_, length, of):
            yield from _in_turn([of] * length, given, what)
        case Sequence(_, parts):
            yield from _in_turn(parts, given, what)
        case Table(_, (), type()) if isinstance(given, (Value, int, float)):
            yield from _numbers(float, given, what)
        case Table(_, shape, of):
            raise _other(what, f"an array of shape {shape}", _said(given))
        case _:
            if isinstance(given, Value):
                given = given.data
            if found is None and not isinstance(given, (int, float, np.number)):
                raise _other(what, "a number", _said(given))
            yield given


def _in_turn(parts: Any, given: Any, what: str) -> Iterator[Any]:
    if not isinstance(given, (list, tuple)) or len(given) != len(parts):
        raise _other(what, f"a list of {len(parts)}", _said(given))
    for at, (part, each) in enumerate(zip(parts, given, strict=True)):
        yield from _numbers(part, each, f"{what}[{at}]")


def _said(given: Any) -> str:
    if isinstance(given, (list, tuple)):
        return f"a {type(given).__name__} of {len(given)}"
    return f"{type(given).__name__}"


def _other(what: str, known: str, given: str) -> TypeError:
    return TypeError(
        f"{what}: traced with {known}, given {given}. Another structure is another program: "
        "make it with an example of that structure."
    )
