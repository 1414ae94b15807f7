"""Arguments as a flat list of numbers and a key that says what they were.

Floats, Values, ints and arrays are what a program computes with: they may differ from call to call.
Everything else (texts, booleans, None, models) is part of the key: another one is another program.
Lists, tuples, dicts and NumPy arrays may hold both, nested as deep as one likes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from math import prod
from types import CellType, FunctionType, MethodType, NoneType
from typing import Any

import numpy as np

from ...core.coerce import as_float, is_number
from ...scalar import Value
from ..tracing.lifted import Lifted
from ..tracing.proxies import EXACT, TraceContext, TracedNumber
from .containers import apart, array_of, is_named
from .refill import refill

_STATIC = (str, bytes, bool, np.bool_, NoneType)
_MADE_AFRESH = (FunctionType, MethodType, partial)  # often, and alike each time
_PLAIN = {float, int, complex, bool, str, bytes, NoneType}
_FUNCTIONS = 100  # functions and tuples inside a function: others count by their identity


class OpenNumber(Exception):  # noqa: N818 - a message between modules, nobody's mistake
    """An argument is a number that somebody follows: no program can follow it further."""


class Flat:
    """The numbers of some arguments, in order, and what is needed to tell and to rebuild them."""

    __slots__ = ("fixed", "kept", "key", "numbers", "sources", "tree")

    def __init__(self, tree: Any = None, numbers: Any = None, key: Any = None) -> None:
        self.tree = tree  # what was flattened
        self.numbers: Any = [] if numbers is None else numbers
        self.key = key
        self.sources: list[Any] = []  # (position, Value) of those that are Values
        # Ids of Values that are what they are, see `flat_call`.
        self.fixed: frozenset[int] = frozenset()
        self.kept: list[Any] = []  # objects in the key by identity, kept alive


def flat_call(
    args: tuple[Any, ...], kwargs: dict[str, Any], fixed: frozenset[int] = frozenset()
) -> Flat:
    """Flatten the arguments of a call.

    The Values with ids in `fixed` are no numbers that may differ from call to call, but part of the
    key: the function gets them as they are, as if it closed over them.
    """
    flat = Flat((args, kwargs))
    flat.fixed = fixed
    flat.key = (flatten(args, flat), flatten(kwargs, flat) if kwargs else None)
    return flat


def same_call(
    args: tuple[Any, ...], kwargs: dict[str, Any], key: Any, count: int, fixed: frozenset[int]
) -> Flat | None:
    """Flatten the arguments of a call that is to have this key, hence `count` numbers; or None.

    This is what `flat_call` does, at the price of a look at each argument.
    """
    numbers = np.empty(count)
    flat = Flat((args, kwargs), numbers, key)
    of_args, of_kwargs = key
    at = refill(args, of_args, numbers, 0, flat.sources, _refill_other)
    if at < 0 or (of_kwargs is None) is not (not kwargs):
        return None
    if kwargs and refill(kwargs, of_kwargs, numbers, at, flat.sources, _refill_other) < 0:
        return None
    if fixed and flat.sources and not fixed.isdisjoint([id(value) for _, value in flat.sources]):
        return None
    return flat


def _refill_other(tree: Any, key: Any, numbers: Any, at: int, sources: list[Any]) -> int:
    """What `refill` does, for kinds that are less common."""
    if isinstance(tree, np.ndarray) and tree.dtype.kind in "fiu":
        if key != (np.ndarray, tree.shape, _kind_of(tree)):
            return -1
        numbers[at : at + tree.size] = tree.reshape(-1)
        return at + tree.size
    part = Flat()
    if flatten(tree, part) != key:
        return -1
    count = len(part.numbers)
    if count:
        numbers[at : at + count] = part.numbers
        sources += [(at + k, value) for k, value in part.sources]
    return at + count


def flatten(tree: Any, flat: Flat) -> Any:
    """Append the numbers of a tree to `flat`; return its key."""
    kind = type(tree)
    if kind is list or kind is tuple:
        return _flatten_sequence(tree, kind, flat)
    if kind is float:
        flat.numbers.append(tree)
        return float
    if kind is int:
        if -EXACT <= tree <= EXACT:
            flat.numbers.append(float(tree))
            return int
        return ("number", tree)
    if isinstance(tree, Value):
        if id(tree) in flat.fixed:
            return ("fixed", tree)
        flat.sources.append((len(flat.numbers), tree))
        flat.numbers.append(tree._fields()[0])
        return Value
    if isinstance(tree, TracedNumber):  # of a run that is not compiled
        raise OpenNumber
    if kind is dict:
        pairs = tree.items()
        return (dict, tuple((name, flatten(part, flat), _known_by(name)) for name, part in pairs))
    if isinstance(tree, np.ndarray):
        return _flatten_array(tree, flat)
    if is_named(tree):
        return (kind, tuple(flatten(part, flat) for part in tree))
    if kind in _STATIC:
        return ("static", kind, tree)
    if isinstance(tree, type):
        flat.kept.append(tree)  # its attributes are watched
        return ("static", kind, tree)
    if kind in _MADE_AFRESH:
        flat.kept.append(tree)
        return ("function", _content(tree, {}))
    if isinstance(tree, np.integer):
        return flatten(int(tree), flat)
    if _is_number(tree):
        flat.numbers.append(as_float(tree, "a compiled function's argument"))
        return float
    flat.kept.append(tree)
    return ("object", id(tree))


def _is_number(tree: Any) -> bool:
    """Tell whether it is a number and nothing else: not one of a class of the user's, or a bool."""
    if isinstance(tree, (float, int)) and not isinstance(tree, np.generic):
        return type(tree) is float or type(tree) is int
    return is_number(tree)


def _flatten_sequence(tree: Sequence[Any], kind: type, flat: Flat) -> Any:
    kinds = set(map(type, tree))
    if not kinds:
        return (kind, ())
    # Most lists are of one kind: no call for each element. NumPy's numbers are taken for Python's.
    if kinds == {float} or all(each is float or issubclass(each, np.floating) for each in kinds):
        flat.numbers.extend(tree if kinds == {float} else array("d", tree))
        return (kind, len(tree), float)
    if kinds == {int} or all(each is int or issubclass(each, np.integer) for each in kinds):
        whole = tree if kinds == {int} else list(map(int, tree))
        if max(whole) <= EXACT and min(whole) >= -EXACT:
            flat.numbers.extend(map(float, whole))
            return (kind, len(tree), int)
    return (kind, tuple([flatten(part, flat) for part in tree]))


# ---- what is in the key by more than its identity ------------------------------------------------


def _known_by(name: Any) -> Any:
    """What tells a number or a text from all others, equal ones of another kind among them."""
    kind = type(name)
    if kind is float or kind is complex:
        return (kind, repr(name))  # 0.0 and -0.0 are equal, and nan is not
    return (kind, *map(_known_by, name)) if kind is tuple else kind


def _content(thing: Any, known: dict[int, int]) -> Any:
    """What a function is made of: a lambda that is made afresh at each call is the same function.

    Numbers and texts count by what they are, everything else by its identity: the function is kept
    and watched, and so what it holds lives as long as the key. `known` has the functions that were
    met on the way, which may hold each other.
    """
    kind = type(thing)
    if kind in _PLAIN:
        return (thing, _known_by(thing))
    if kind is not tuple and kind not in _MADE_AFRESH:
        return ("object", id(thing))
    if id(thing) in known or len(known) > _FUNCTIONS:
        return ("again", known.get(id(thing), id(thing)))
    known[id(thing)] = len(known)
    made_by: Any = kind
    if kind is tuple:
        parts = thing
    elif kind is MethodType:
        made_by, parts = (kind, id(thing.__self__)), (thing.__func__,)
    elif kind is partial:
        parts = (thing.func, thing.args, *thing.keywords, *thing.keywords.values())
    else:
        options, own = thing.__kwdefaults__ or {}, vars(thing)
        made_by = (thing.__code__, id(thing.__globals__), len(options))
        cells = tuple([_in_cell(cell) for cell in thing.__closure__ or ()])
        parts = (thing.__defaults__, *cells, *options, *options.values(), *own, *own.values())
    return (made_by, *[_content(part, known) for part in parts])


def _in_cell(cell: CellType) -> Any:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not filled yet
        return ()


def _kind_of(array: Any) -> Any:
    """Tell what an array of numbers is taken for: float, int, or None for too large ones."""
    if array.dtype.kind == "f":
        return float
    if array.size and (array.max() > EXACT or array.min() < -EXACT):
        return None
    return int


def _flatten_array(tree: Any, flat: Flat) -> Any:
    if tree.dtype.kind in "fiu":
        kind = _kind_of(tree)
        if kind is not None:
            flat.numbers.extend(tree.astype(np.float64).ravel().tolist())
            return (np.ndarray, tree.shape, kind)
    if tree.dtype.kind == "O":
        return (np.ndarray, tree.shape, tuple(flatten(part, flat) for part in tree.ravel()))
    return ("static", np.ndarray, tree.shape, tree.dtype.str, tree.tobytes())


def rebuild(flat: Flat, leaves: Sequence[Value], context: TraceContext, wholes: set[int]) -> Any:
    """Build the arguments that a traced function gets: Values and Readings in place of numbers.

    The positions of those that are whole numbers are added to `wholes`.
    """
    positions = iter(enumerate(leaves))

    def real(x: Any) -> Any:
        return x if id(x) in flat.fixed else next(positions)[1]

    def whole(number: Any) -> TracedNumber:
        at, leaf = next(positions)
        wholes.add(at)
        return TracedNumber(context, leaf, int(number))

    return mapped(flat.tree, real, whole)


def outline(tree: Any) -> list[tuple[Any, list[Any]]]:
    """List the containers of a tree, each with what lies in it."""
    found = []
    rest = [tree]
    while rest:
        each = rest.pop()
        if isinstance(each, (list, tuple, dict, np.ndarray)):
            parts = _parts(each)
            found.append((each, parts))
            rest += parts
    return found


def _parts(container: Any) -> list[Any]:
    found = apart(container, subclasses=True)
    return container.tolist() if found is None else list(found.parts)


def is_as_outlined(before: list[tuple[Any, list[Any]]]) -> bool:
    """Tell whether the very same things still lie in the containers."""
    for container, parts in before:
        now = _parts(container)
        if len(now) != len(parts) or not all(map(_is_it, now, parts)):
            return False
    return True


def _is_it(now: Any, then: Any) -> bool:
    if now is then:
        return True
    return (
        type(now) is type(then) is not Value
        and is_number(then)
        and (now == then or repr(now) == repr(then))
    )


def lifted(tree: Any) -> Any:
    """Make Values of the floats of a tree, as in a trace: for a function that is run as it is."""
    return mapped(tree, lambda x: x if isinstance(x, Value) else Lifted(x), lambda x: x)


def restore(key: Any, numbers: Sequence[float], kept: Sequence[Any] = ()) -> Any:
    """Build what has this key with other numbers: derivatives."""
    position = iter(numbers)
    objects = {id(thing): thing for thing in kept}
    functions = iter([thing for thing in kept if type(thing) in _MADE_AFRESH])  # in order

    def taken(count: int) -> list[float]:
        return list(islice(position, count))

    def built(key: Any) -> Any:
        if isinstance(key, type):
            return next(position)
        kind, *rest = key
        if kind == "object":
            return objects[rest[0]]
        if kind == "function":
            return next(functions)
        if kind in ("number", "fixed"):
            return rest[0]
        if kind == "static":
            return rest[1] if len(rest) == 2 else _array_of(*rest[1:])
        if kind is dict:
            return {name: built(part) for name, part, _ in rest[0]}
        if kind is np.ndarray:
            shape, inside = rest
            if isinstance(inside, type):
                return np.array(taken(prod(shape))).reshape(shape)
            return _shaped([built(part) for part in inside], shape)
        alike = len(rest) == 2  # a length and a kind: see _flatten_sequence
        parts = taken(rest[0]) if alike else [built(part) for part in rest[0]]
        if kind is list:
            return parts
        return tuple(parts) if kind is tuple else kind(*parts)

    return built(key)


def _array_of(shape: tuple[int, ...], kind: str, content: bytes) -> Any:
    return np.frombuffer(content, dtype=kind).reshape(shape).copy()


def _shaped(parts: list[Any], shape: tuple[int, ...]) -> Any:
    if parts and all(type(part) is float for part in parts):
        return np.array(parts).reshape(shape)
    return array_of(parts, shape)


def mapped(tree: Any, real: Callable[[Any], Any], whole: Callable[[Any], Any]) -> Any:
    """Replace the numbers of a tree, in the order of `flatten`."""
    kind = type(tree)
    if isinstance(tree, Value) or kind is float:
        return real(tree)
    if kind in _STATIC:
        return tree
    if kind is int or isinstance(tree, np.integer):
        return whole(tree) if -EXACT <= tree <= EXACT else tree
    found = apart(tree)
    if found is not None and not isinstance(tree, np.ndarray):
        return found.build([mapped(part, real, whole) for part in found.parts])
    if found is not None or _is_of_numbers(tree):
        parts = [mapped(part, real, whole) for part in tree.ravel().tolist()]
        return _shaped(parts, tree.shape)
    return real(tree) if _is_number(tree) else tree


def _is_of_numbers(tree: Any) -> bool:
    return isinstance(tree, np.ndarray) and tree.dtype.kind in "fiu" and _kind_of(tree) is not None


def shape_only(key: Any) -> Any:
    """The structure of a key, whatever kind of number stands where."""
    if key in (float, int, Value):
        return float
    if isinstance(key, tuple) and len(key) == 3 and key[0] in (list, tuple):
        return (key[0], (float,) * key[1])
    return tuple(map(shape_only, key)) if isinstance(key, tuple) else key
