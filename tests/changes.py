"""Rows about what a compiled function reads: a function that is 2x, and a change that makes it 3x.

A file has `ROWS, row, set_global = changes_of(globals())`, `@row` above each, and a test that calls
`check(ROWS[name], globals())`.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types

import minigrad


class Plain:
    def __init__(self, k=2.0):
        self.k = k


def changes_of(space):
    """Make an empty table, a decorator that fills it, and what sets a global of the file."""
    rows = {}

    def row(make):
        rows[make.__name__.replace("_", " ")] = make
        return make

    def set_global(name, value):
        return lambda: space.__setitem__(name, value)

    return rows, row, set_global


def user_module(name, **parts):
    made = types.ModuleType(name)
    made.__file__ = __file__
    vars(made).update(parts)
    sys.modules[name] = made
    return made


@contextlib.contextmanager
def restored(space):
    """Have the globals of a file, and the loaded modules, as they were afterwards."""
    importlib.import_module("numpy")  # which the compiler loads, and which cannot be loaded twice
    before = dict(space)
    modules = set(sys.modules)
    yield
    space.update(before)
    for name in set(space) - set(before):
        del space[name]
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def check(make, space):
    """See that the change of a row is noticed, and nothing else taken for one."""
    with restored(space):
        made = make()
        if isinstance(made, types.GeneratorType):
            with contextlib.closing(made):
                _check(*next(made))
        else:
            _check(*made)


def _check(function, change):
    fast = minigrad.compile(function)
    assert [fast(1.0).data for _ in range(3)] == [2.0] * 3
    assert fast.cache_info().traces == 1
    change()
    assert [fast(1.0).data for _ in range(2)] == [3.0] * 2
    assert fast.cache_info().traces == 2
