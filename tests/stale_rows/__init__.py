"""Scenarios in which a compiled function could go on returning an old number, by class.

A row is a generator: it makes a function with `compiled`, calls it, changes something, calls it
again, and yields whatever a user would look at. It is run twice, with functions that are never
compiled and with `minigrad.compile`, and what it yields has to agree. So no row says what is right.

    row = catalogue("wrappers and decorators")

    @row(SAME)                                   # what is accepted; without: all but what is wrong
    def a_wrapper_reads_a_variable(compiled):    # the name of the row
        scale = 2.0
        ...
        yield f(1.0)
        scale = 9.0
        yield f(1.0)

`compiled(f)` is `minigrad.compile(f)`; `compiled.train_step` and `compiled.vmap` are those. With
`plain=True` the function gets floats as floats in the uncompiled run, where it is Values else. Each
module here is a class of rows. A row may do what it likes to modules whose names begin with
`user_`, to built-in names, the environment and the random generators: `stale.py` puts them back.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import dedent
from types import ModuleType
from typing import Any

import numpy as np

import minigrad
from minigrad import Value

__all__ = [
    "CATALOGUE",
    "NEVER_WRONG",
    "SAME",
    "Notebook",
    "Row",
    "catalogue",
    "load",
    "user_module",
]

SAME = frozenset({"same"})  # where users would insist on the right number
NEVER_WRONG = frozenset({"same", "refused", "caught"})


@dataclass(frozen=True)
class Row:
    """One scenario, and which verdicts on it are accepted."""

    group: str
    name: str
    scenario: Callable[[Any], Iterator[Any]]
    accepts: frozenset[str] = NEVER_WRONG
    limit: str = ""  # why neither watch nor audit can see it
    alone: bool = False  # whether it gets a process of its own: it might never end

    @property
    def id(self) -> str:
        return f"{self.group}: {self.name}"


CATALOGUE: dict[str, Row] = {}


def catalogue(group: str) -> Any:
    """Return the decorator that adds rows to a class."""

    def row(
        accepts: frozenset[str] = NEVER_WRONG, *, limit: str = "", alone: bool = False
    ) -> Callable[[Any], Any]:
        def add(scenario: Callable[[Any], Iterator[Any]]) -> Any:
            name = scenario.__name__.strip("_").replace("_", " ")
            allowed = accepts | {"limit"} if limit else accepts
            made = Row(group, name, scenario, allowed, limit, alone)
            if made.id in CATALOGUE:
                raise ValueError(f"there are two rows {made.id!r}; rename one.")
            CATALOGUE[made.id] = made
            return scenario

        return add

    return row


def load() -> list[Row]:
    """Import all classes, and return their rows."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return list(CATALOGUE.values())


# ---- what rows are made with ---------------------------------------------------------------------


class Notebook:
    """A `__main__` that is written as one goes along, a cell at a time."""

    def __init__(self, compiled: Any) -> None:
        self.space: dict[str, Any] = {
            "__name__": "__main__",
            "compiled": compiled,
            "minigrad": minigrad,
            "Value": Value,
            "np": np,
            "math": math,
            "random": random,
        }

    def run(self, cell: str) -> None:
        exec(compile(dedent(cell), "<cell>", "exec"), self.space)

    def __getattr__(self, name: str) -> Any:
        return self.space[name]


def user_module(name: str, source: str = "", **names: Any) -> ModuleType:
    """Make a module of the user's and have it imported."""
    if not name.startswith("user_"):
        raise ValueError(f"{name!r}: modules of rows begin with user_, so that they are removed.")
    module = ModuleType(name)
    module.__file__ = f"{name}.py"
    vars(module).update(names)
    exec(compile(dedent(source), f"{name}.py", "exec"), vars(module))
    sys.modules[name] = module
    if "." in name:
        above, _, last = name.rpartition(".")
        setattr(sys.modules[above], last, module)
    return module
