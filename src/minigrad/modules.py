"""`Module`: anything with parameters, with names for them, and a scope for each of its calls.

Names come from attributes: `self.layers[0].neurons[2].w[1]` is `layer0.neuron2.w1`. A module has
them from the end of its `__init__` on, and calls its members by them; one that another module holds
passes them on, with the other's attribute in front.
"""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections import UserDict, UserList, deque
from collections.abc import Callable, Iterator, ValuesView
from contextvars import ContextVar
from typing import Any

from .checkpoint import counted, load_parameters, require_path, save_parameters
from .core.display import paragraph, table
from .core.elsewhere import MODULE, absentees, names_of
from .core.files import would_overwrite
from .core.names import Name, place_name, readable, short, told_apart
from .core.node import clock
from .core.parameters import zero_grad
from .errors import CheckpointError
from .scalar import Value, end_call

__all__ = ["Module"]


class Module:
    """Anything with parameters. To make one of your own, set attributes and write `__call__`.

    >>> class Line(Module):
    ...     def __init__(self):
    ...         self.slope, self.shifts = Value(2.0), [Value(1.0), Value(0.5)]
    ...     def __call__(self, x):
    ...         return self.slope * x + self.shifts[0]
    >>> line = Line()
    >>> line.named_parameters()
    [('slope', Value(data=2.0)), ('shift0', Value(data=1.0)), ('shift1', Value(data=0.5))]

    Parameters are the Values in attributes, also in lists, tuples, dicts and object arrays there,
    in modules and in whatever else has a `parameters()`, except results of operations; to have
    others, write `parameters()`, as in micrograd. What a call makes is its scope in pictures,
    called by the attribute under which another module holds this one, else by its class.
    """

    _scope_name = ""  # what another module calls it

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        for name in ("__init__", "__post_init__"):
            if name in own:
                setattr(cls, name, _naming(own[name], name))
        if "forward" in own and not any("__call__" in vars(kind) for kind in cls.__mro__):
            cls.__call__ = _not_forward  # type: ignore[method-assign]
        elif "__call__" in own and not hasattr(own["__call__"], "notes_its_scope"):
            cls.__call__ = _scoped(own["__call__"])  # type: ignore[method-assign]

    def __post_init__(self, *_: Any) -> None:
        """Name the members of a dataclass: its `__init__`, made after the class, calls this."""
        _name_members(self)

    def parameters(self) -> list[Value]:
        """Return the Values that training may change, always in the same order, each once."""
        under_way = _under_way.get()
        if id(self) in under_way:  # asked by one that it asks: the first call finds all the rest
            return []
        token = _under_way.set(under_way | {id(self)})
        try:
            return list(_parameters(self, {id(self)}))
        finally:
            _under_way.reset(token)

    def named_parameters(self) -> list[tuple[str, Value]]:
        """Return the parameters with their names: `layer0.neuron2.w1`.

        One that no attribute leads to, because `parameters()` finds it elsewhere, is called by its
        place: `p7`.
        """
        names = {id(value): name for name, value in _found(self)}
        values = list(self.parameters())
        wanted = [names.get(id(value), place_name(k)) for k, value in enumerate(values)]
        return list(zip(told_apart(wanted), values, strict=True))

    def zero_grad(self) -> None:
        """Set `.grad` of all parameters to zero."""
        zero_grad(self.parameters())

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the parameters to a file, with their names; over an existing one only by force."""
        require_path(path, "save(path)")
        if not force and would_overwrite(path):
            raise CheckpointError(
                f"{readable(path)}: there is such a file, and nothing was written. Give another "
                "name, or write save(path, force=True)."
            )
        save_parameters(path, self)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read the parameters from a file; if a name or the number of them differs, change none."""
        load_parameters(path, self)

    __repr__ = counted

    def __dir__(self) -> list[str]:
        return names_of(self)

    def _told(self) -> str:
        """Say in a few words what it is, as a part of another."""
        return short(repr(self))

    def _repr_html_(self) -> str:
        """A row for each part that has parameters."""
        rows = [(name, _told(part), f"{_count(part):,}") for name, part in _members(self)]
        total = ("all", "", f"{len(list(self.parameters())):,}")
        head = paragraph(type(self).__name__)
        return head + table(("part", "what it is", "parameters"), rows, right=(2,), footer=total)


for _name, _absent in absentees("a Module", MODULE):
    setattr(Module, _name, _absent)


def notes_its_scope(call: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `__call__` that notes its scope itself."""
    call.notes_its_scope = True  # type: ignore[attr-defined]
    return call


# ---- what every class gets -----------------------------------------------------------------------


_under_way: ContextVar[frozenset[int]] = ContextVar("under_way", default=frozenset())


def _naming(init: Callable[..., None], name: str) -> Callable[..., None]:
    """Have members named when `__init__` is over, that of the last class."""

    @functools.wraps(init)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if getattr(type(self), name) is run:
            _name_members(self)

    return run


def _scoped(call: Callable[..., Any]) -> Callable[..., Any]:
    """Have a call noted on what it returns."""

    @functools.wraps(call)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self).__call__ is not run:  # by way of super(), from a call that is noted
            return call(self, *args, **kwargs)
        start = clock.tick()
        result = call(self, *args, **kwargs)
        end_call(result, self._scope_name or type(self).__name__, start)
        return result

    return run


def _not_forward(self: Any, *_: Any, **__: Any) -> Any:
    kind = type(self).__name__
    raise TypeError(
        f"{kind} has forward(), and a Module is called by __call__: write def __call__ instead of "
        "def forward."
    )


def _name_members(module: Module) -> None:
    """Label parameters by the attributes that lead to them, and call modules by theirs.

    A label that a user gave stays. One that a module gave becomes longer or stays.
    """
    kind = type(module).__name__
    if not callable(getattr(module, "parameters", None)):
        raise TypeError(
            f"{kind}: self.parameters = … hides the method parameters(). Call the attribute "
            "otherwise, self.weights say: Values in attributes are found there."
        )
    if type(module).parameters is Module.parameters:
        for name, why in _left_out(module):
            warnings.warn(f"{kind}: self.{name} {why}", RuntimeWarning, stacklevel=3)
    for name, value in _found(module):
        label = value.label
        if not label or (isinstance(label, Name) and name.endswith("." + label)):
            value.label = Name(name)
    for name, member in _members(module):
        if isinstance(member, Module) and not member._scope_name:
            object.__setattr__(member, "_scope_name", name)


# ---- what attributes lead to ---------------------------------------------------------------------


_DEEPEST = 8  # containers in containers that are looked into: one may contain itself
_NO_MEMBERS = frozenset([bool, int, float, complex, str, bytes, type(None)])
_ROWS = (list, tuple, deque, UserList, ValuesView)


def _parameters(module: Any, seen: set[int]) -> Iterator[Value]:
    """Find the parameters of the members; what has its own `parameters()` decides about its own."""
    for _, member in _members(module):
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, Value):
            yield member
        elif getattr(type(member), "parameters", None) is Module.parameters:
            yield from _parameters(member, seen)
        else:
            for value in _given(member):
                if id(value) not in seen:
                    seen.add(id(value))
                    yield value


def _given(member: Any) -> list[Any]:
    """Return what a member gives as its parameters; of another library's, those that are Values."""
    given = list(member.parameters())
    return given if isinstance(member, Module) else [p for p in given if isinstance(p, Value)]


def _found(module: Module) -> list[tuple[str, Value]]:
    """Find the Values that attributes lead to, through all members below, with their names."""
    found: list[tuple[str, Value]] = []
    _find(module, "", {id(module)}, found)
    return found


def _find(module: Any, prefix: str, seen: set[int], found: list[tuple[str, Value]]) -> None:
    for name, member in _members(module):
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, Value):
            found.append((prefix + name, member))
        else:
            _find(member, f"{prefix}{name}.", seen, found)


def _members(module: Any) -> Iterator[tuple[str, Any]]:
    """Find the parameters, and what has parameters, in an object's own attributes, with names."""
    for attribute, content in _attributes(module):
        for name, member in _inside(attribute, content):
            if not _why_not(member):
                yield name, member


def _left_out(module: Any) -> Iterator[tuple[str, str]]:
    """Name the attributes that hold Values which are no parameters, with the reason."""
    for attribute, content in _attributes(module):
        reasons = (_why_not(member) for _, member in _inside(attribute, content))
        why = next(filter(None, reasons), "")
        if why:
            yield attribute, why


def _why_not(member: Any) -> str:
    """Say why what an attribute holds is not trained; nothing if it is."""
    if isinstance(member, (set, frozenset)):
        return (
            "is a set, which has no order, so what is in it is no parameter: neither trained nor "
            "saved. Write a list."
        )
    if isinstance(member, Value) and member._links():  # a state, say
        return (
            "is the result of an operation, so it is no parameter: neither trained nor saved. "
            "Write Value((…).data) for a parameter; a state starts as a plain number."
        )
    return ""


def _attributes(module: Any) -> Iterator[tuple[str, Any]]:
    for kind in reversed(type(module).__mro__):
        slots = vars(kind).get("__slots__", ())
        for name in [slots] if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(module, name):
                yield name, getattr(module, name)
    yield from list(getattr(module, "__dict__", {}).items())


def _inside(
    name: str, content: Any, depth: int = 0, is_element: bool = False
) -> Iterator[tuple[str, Any]]:
    """Find Values, what has parameters, and sets of them, at any depth, with their names."""
    if isinstance(content, Value) or _has_parameters(content):
        yield name, content
    elif depth == _DEEPEST:
        return
    elif isinstance(content, _ROWS):
        stem = f"{name}_" if is_element else _singular(name)
        for k, element in enumerate(content):
            if type(element) not in _NO_MEMBERS:
                yield from _inside(f"{stem}{k}", element, depth + 1, True)
    elif isinstance(content, (dict, UserDict)):
        for key, element in list(content.items()):
            if type(element) not in _NO_MEMBERS:
                yield from _inside(f"{name}.{key}", element, depth + 1)
    elif isinstance(content, (set, frozenset)):
        if any(isinstance(x, Value) or _has_parameters(x) for x in content):
            yield name, content
    elif _is_object_array(content):
        yield from _inside(name, content.tolist(), depth + 1, is_element)


def _has_parameters(content: Any) -> bool:
    """Tell whether an object, no class, has a method `parameters`; nothing of its own is run."""
    if isinstance(content, Module):
        return True
    if type(content) in (list, tuple, dict) or isinstance(content, type):
        return False
    return callable(inspect.getattr_static(content, "parameters", None))


def _is_object_array(content: Any) -> bool:
    return getattr(getattr(content, "dtype", None), "kind", "") == "O" and hasattr(
        content, "tolist"
    )


def _told(part: Any) -> str:
    return str(part._told()) if isinstance(part, Module) else short(repr(part))


def _count(part: Any) -> int:
    return 1 if isinstance(part, Value) else len(_given(part))


def _singular(name: str) -> str:
    """Call one of `layers` `layer`, of `biases` `bias`; `bias` and `axis` are as they are."""
    if name.endswith(("iases", "sses", "xes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and len(name) > 2 and name[-2] not in "aisu" else name
