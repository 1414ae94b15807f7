"""Arguments as a flat list of numbers and a key that says what they were.

Floats, Values, ints and arrays are what a program computes with: they may differ from call to call.
Everything else (texts, booleans, None, models) is part of the key: another one is another program.
Lists, tuples, dicts and NumPy arrays may hold both, nested as deep as one likes.

A key is a structure of `Leaf`, `Uniform`, `Sequence`, `Mapping`, `Table` and `Static`. With the
numbers it says everything: `restore(key, numbers)` is what was flattened.
"""

from __future__ import annotations

from array import array
from collections import abc
from collections.abc import Callable
from functools import partial
from itertools import islice
from math import prod
from types import FunctionType, MethodType, NoneType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...core.coerce import as_float, is_number
from ...scalar import Value
from ..tracing.lifted import Lifted
from ..tracing.places import in_cell, is_same
from ..tracing.proxies import EXACT, TraceContext, TracedNumber
from .refill import refill

_STATIC = (str, bytes, bool, np.bool_, NoneType)
_MADE_AFRESH = (FunctionType, MethodType, partial)  # often, and alike each time
_PLAIN = {float, int, complex, bool, str, bytes, NoneType}
_FUNCTIONS = 100  # functions and tuples inside a function: others count by their identity


Leaf: TypeAlias = type  # one number: float, int or Value


class Uniform(NamedTuple):
    """A list or tuple of numbers of one kind, as most are."""

    kind: type
    length: int
    of: Leaf


class Sequence(NamedTuple):
    """A list, a tuple or a named tuple."""

    kind: type
    parts: tuple[Structure, ...]


class Mapping(NamedTuple):
    """A dict: names, what lies under them, and what tells each name from equal ones."""

    kind: type
    items: tuple[tuple[Any, Structure, Any], ...]


class Table(NamedTuple):
    """A NumPy array: of numbers of one kind, or of objects."""

    kind: type
    shape: tuple[int, ...]
    of: Leaf | tuple[Structure, ...]


class Static(NamedTuple):
    """What may not differ from call to call: by what it is, or by which object it is."""

    how: Literal["value", "array", "fixed", "function", "object"]
    what: Any


Structure: TypeAlias = Leaf | Uniform | Sequence | Mapping | Table | Static


# ---- containers: a new kind is a case here, and one in `refill`, if calls are to be quick -------


class Parts(NamedTuple):
    """A container, taken apart."""

    layout: Any  # what else tells it from others of its kind: a length, names, a shape
    parts: abc.Sequence[Any]
    build: Callable[[list[Any]], Any]  # from other parts


def apart(tree: Any, subclasses: bool = False) -> Parts | None:
    """Take a container apart; None if it is none.

    Of most subclasses nobody knows how they are made, so they are none, unless one asks for them:
    then the plain kind is built in their place.
    """
    kind = type(tree)
    if kind is list or (subclasses and isinstance(tree, list)):
        return Parts(len(tree), tree, list)
    if is_named(tree):
        return Parts(len(tree), tree, lambda parts: kind(*parts))
    if kind is tuple or (subclasses and isinstance(tree, tuple)):
        return Parts(len(tree), tree, tuple)
    if kind is dict or (subclasses and isinstance(tree, dict)):
        names = list(tree)
        return Parts(names, list(tree.values()), lambda parts: dict(zip(names, parts, strict=True)))
    if isinstance(tree, np.ndarray) and tree.dtype.kind == "O":
        shape = tree.shape
        return Parts(shape, list(tree.ravel()), lambda parts: array_of(parts, shape))
    return None


def is_named(tree: Any) -> bool:
    """Tell whether it is a named tuple."""
    return isinstance(tree, tuple) and hasattr(tree, "_make") and hasattr(tree, "_fields")


def array_of(things: abc.Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Make an array of objects."""
    found = np.empty(len(things), dtype=object)
    for k, thing in enumerate(things):  # one by one, else NumPy asks them whether they are arrays
        found[k] = thing
    return found.reshape(shape)


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
        self.fixed: frozenset[int] = frozenset()  # ids of Values, see `flat_call`
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


class Expected:
    """The structure of the latest call; the next one may well have the same."""

    __slots__ = ("count", "key", "tuples")

    def __init__(self, flat: Flat) -> None:
        self.key = flat.key
        self.count = len(flat.numbers)
        self.tuples = tuple(map(_as_tuples, flat.key))  # of args and kwargs


def _as_tuples(key: Structure | None) -> Any:
    """A key in plain tuples: C finds its way in these faster than in subclasses."""
    match key:
        case Sequence(kind, parts):
            return (kind, tuple(map(_as_tuples, parts)))
        case Mapping(kind, items):
            return (kind, tuple([(name, _as_tuples(part), by) for name, part, by in items]))
        case Uniform() | Table() | Static():
            return tuple(key)
        case _:
            return key


def same_call(
    args: tuple[Any, ...], kwargs: dict[str, Any], expected: Expected, fixed: frozenset[int]
) -> Flat | None:
    """Flatten the arguments of a call if they have the structure that is expected.

    This is what `flat_call` does, at the price of a look at each argument.
    """
    numbers = np.empty(expected.count)
    flat = Flat((args, kwargs), numbers, expected.key)
    of_args, of_kwargs = expected.tuples
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
        if key != Table(np.ndarray, tree.shape, _kind_of(tree)):
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


def flatten(tree: Any, flat: Flat) -> Structure:
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
        return Static("value", (int, tree))
    if isinstance(tree, Value):
        if id(tree) in flat.fixed:
            return Static("fixed", tree)
        flat.sources.append((len(flat.numbers), tree))
        flat.numbers.append(tree._fields()[0])
        return Value
    if isinstance(tree, TracedNumber):  # of a run that is not compiled
        raise OpenNumber
    if kind is dict:
        pairs = tree.items()
        items = [(name, flatten(part, flat), _known_by(name)) for name, part in pairs]
        return Mapping(dict, tuple(items))
    if isinstance(tree, np.ndarray):
        return _flatten_array(tree, flat)
    if is_named(tree):
        return Sequence(kind, tuple([flatten(part, flat) for part in tree]))
    if kind in _STATIC:
        return Static("value", (kind, tree))
    if isinstance(tree, type):
        flat.kept.append(tree)  # its attributes are watched
        return Static("value", (kind, tree))
    if kind in _MADE_AFRESH:
        flat.kept.append(tree)
        return Static("function", _content(tree, {}))
    if isinstance(tree, np.integer):
        return flatten(int(tree), flat)
    if _is_number(tree):
        flat.numbers.append(as_float(tree, "a compiled function's argument"))
        return float
    flat.kept.append(tree)
    return Static("object", id(tree))


def _is_number(tree: Any) -> bool:
    """Tell whether it is a number and nothing else: not one of a class of the user's, or a bool."""
    if isinstance(tree, (float, int)) and not isinstance(tree, np.generic):
        return type(tree) is float or type(tree) is int
    return is_number(tree)


def _flatten_sequence(tree: abc.Sequence[Any], kind: type, flat: Flat) -> Structure:
    kinds = set(map(type, tree))
    if not kinds:
        return Sequence(kind, ())
    # Most lists are of one kind: no call for each element. NumPy's numbers are taken for Python's.
    if kinds == {float} or all(each is float or issubclass(each, np.floating) for each in kinds):
        flat.numbers.extend(tree if kinds == {float} else array("d", tree))
        return Uniform(kind, len(tree), float)
    if kinds == {int} or all(each is int or issubclass(each, np.integer) for each in kinds):
        whole = tree if kinds == {int} else list(map(int, tree))
        if max(whole) <= EXACT and min(whole) >= -EXACT:
            flat.numbers.extend(map(float, whole))
            return Uniform(kind, len(tree), int)
    return Sequence(kind, tuple([flatten(part, flat) for part in tree]))


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
        cells = tuple([in_cell(cell) for cell in thing.__closure__ or ()])
        parts = (thing.__defaults__, *cells, *options, *options.values(), *own, *own.values())
    return (made_by, *[_content(part, known) for part in parts])


def _kind_of(array: Any) -> Any:
    """Tell what an array of numbers is taken for: float, int, or None for too large ones."""
    if array.dtype.kind == "f":
        return float
    if array.size and (array.max() > EXACT or array.min() < -EXACT):
        return None
    return int


def _flatten_array(tree: Any, flat: Flat) -> Structure:
    if tree.dtype.kind in "fiu":
        kind = _kind_of(tree)
        if kind is not None:
            flat.numbers.extend(tree.astype(np.float64).ravel().tolist())
            return Table(np.ndarray, tree.shape, kind)
    if tree.dtype.kind == "O":
        return Table(np.ndarray, tree.shape, tuple(flatten(part, flat) for part in tree.ravel()))
    return Static("array", (tree.shape, tree.dtype.str, tree.tobytes()))


def rebuild(
    flat: Flat, leaves: abc.Sequence[Value], context: TraceContext, wholes: set[int]
) -> Any:
    """Build the arguments that a traced function gets: proxies in place of numbers.

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
    return all(
        len(now) == len(parts) and all(map(is_same, now, parts))
        for now, parts in ((_parts(container), parts) for container, parts in before)
    )


def lifted(tree: Any) -> Any:
    """Make Values of the floats of a tree, as in a trace: for a function that is run as it is."""
    return mapped(tree, lambda x: x if isinstance(x, Value) else Lifted(x), lambda x: x)


def restore(key: Structure, numbers: abc.Iterable[float], kept: abc.Sequence[Any] = ()) -> Any:
    """Build what has this key with other numbers: derivatives."""
    position = iter(numbers)
    objects = {id(thing): thing for thing in kept}
    functions = iter([thing for thing in kept if type(thing) in _MADE_AFRESH])  # in order

    def built(key: Structure) -> Any:
        match key:
            case type():
                return next(position)
            case Uniform(kind, length, _):
                return kind(islice(position, length))
            case Sequence(kind, parts):
                made = [built(part) for part in parts]
                return kind(made) if kind in (list, tuple) else kind(*made)
            case Mapping(_, items):
                return {name: built(part) for name, part, _ in items}
            case Table(_, shape, tuple(parts)):
                return _shaped([built(part) for part in parts], shape)
            case Table(_, shape, _):
                return np.array(list(islice(position, prod(shape)))).reshape(shape)
            case Static("object", what):
                return objects[what]
            case Static("function", _):
                return next(functions)
            case Static("array", (shape, dtype, content)):
                return np.frombuffer(content, dtype).reshape(shape).copy()
            case Static("value", (_, what)) | Static(_, what):
                return what

    return built(key)


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
    is_array = isinstance(tree, np.ndarray) and tree.dtype.kind in "fiu"
    if found is not None or (is_array and _kind_of(tree) is not None):
        parts = [mapped(part, real, whole) for part in tree.ravel().tolist()]
        return _shaped(parts, tree.shape)
    return real(tree) if _is_number(tree) else tree


def shape_only(key: Structure) -> Any:
    """The structure of a key, whatever kind of number stands where."""
    match key:
        case type():
            return float
        case Uniform(kind, length, _):
            return Sequence(kind, (float,) * length)
        case Sequence(kind, parts):
            return Sequence(kind, tuple(map(shape_only, parts)))
        case Mapping(kind, items):
            return Mapping(kind, tuple([(name, shape_only(part), by) for name, part, by in items]))
        case Table(kind, shape, tuple(parts)):
            return Table(kind, shape, tuple(map(shape_only, parts)))
        case Table(kind, shape, _):
            return Table(kind, shape, float)
        case _:
            return key
