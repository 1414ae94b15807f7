"""The functions that people give to `compile`, `vmap` and `train_step`.

Which of them are refused at once (`refuse_unfinished`), and how whatever is made of one is copied
and pickled: by the function, as Python pickles functions, that is, by name. Programs do not travel;
the function is traced again where it arrives.
"""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Self

from ..core.display import paragraph, preformatted
from ..optim import Optimizer


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def refuse_unfinished(function: Callable[..., Any]) -> None:
    """Refuse a function whose call computes nothing yet: async ones, and those with `yield`."""
    inner = _innermost(function)
    name = getattr(inner, "__qualname__", type(inner).__qualname__)
    if not inspect.isroutine(inner) and not inspect.isclass(inner):
        inner = getattr(type(inner), "__call__", inner)  # noqa: B004 - an object with a __call__
    if inspect.iscoroutinefunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError(
            f"{name} is an async function: a call of it computes nothing before somebody awaits "
            "it. Compile an ordinary one (def) that computes, and call that from the async one."
        )
    if inspect.isgeneratorfunction(inner):
        raise TypeError(
            f"{name} is a generator function (it has a yield): a call of it computes nothing "
            "before somebody asks for its first result. Return a list of the results instead."
        )


def _name(thing: Any) -> str | None:
    """Return the name under which a thing is found in its module; None if it is not found there."""
    name: str | None = getattr(thing, "__qualname__", None)
    found: Any = sys.modules.get(getattr(thing, "__module__", None) or "")
    for part in (name or "<none>").split("."):
        found = getattr(found, part, None)
    return name if found is thing else None


class Made:
    """What is made from a function: copied and pickled by that function."""

    def _recipe(self) -> tuple[Any, ...]:
        """The arguments of `__init__`, the function first."""
        raise NotImplementedError

    def _told(self) -> tuple[str, str]:
        """What this is in a line, and what became of the function; "" before the first call."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self._told()[0]}>"

    def _repr_html_(self) -> str:
        line, more = self._told()
        return paragraph(line) + (preformatted(more) if more else "")

    def __copy__(self) -> Self:
        return self  # as functions are

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        recipe = self._recipe()
        twin = memo[id(self)] = _blank(type(self))  # first: what is copied may lead back here
        copied = copy.deepcopy(recipe, memo)
        if copied is recipe:  # a plain function is its own copy
            memo[id(self)] = self
            return self
        twin.__init__(*copied)
        return twin  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        name = _name(self)
        if name is not None:
            return name
        recipe = self._recipe()
        inner = _innermost(recipe[0])
        if isinstance(inner, FunctionType) and _name(inner) is None:
            raise pickle.PicklingError(
                f"{inner.__qualname__} cannot be pickled: a pickle has a function by its name, and "
                f"in {inner.__module__} there is no such name, or something else has it. Define "
                "the function with def at the top level of a module."
            )
        return _blank, (type(self),), recipe

    def __setstate__(self, recipe: tuple[Any, ...]) -> None:
        self.__init__(*recipe)  # type: ignore[misc]


def _blank(kind: type[Any]) -> Any:
    make: Any = kind.__new__
    return make(kind)


def check_optimizer(optimizer: object) -> None:
    """Refuse what is no optimiser, for any training step."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"train_step(loss, optimizer): got {type(optimizer).__name__}; give an optimiser "
            "of minigrad.optim."
        )
