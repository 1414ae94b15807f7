"""What runs a program: back ends, by name.

A back end is anything with the members of `Backend`: a module, as `native` and `numpy` are, or an
object. `register(name, backend)` makes `minigrad.compile(backend=name)` find it. `numpy` is the
specification: a new one may take from it whatever it does not do better, `Guards`, say.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from ...core.native_or_pure import pure_is_asked
from ..ir.program import Program
from . import native, numpy
from .numpy import Array, Batch, Commit, Failed, Guards, Inputs

__all__ = ["Backend", "Prepared", "backend_names", "backend_of", "register"]


class Prepared(Protocol):
    """A program, ready to run any number of times."""

    def values(self) -> Array:
        """Make a buffer to run in: inputs go to its first slots, results are in the others."""

    def step(
        self, values: Array, inputs: Inputs, guards: Guards | None, commit: Commit | None = None
    ) -> int:
        """Copy inputs in, run, look at the guards, and commit the program's update.

        Returns -1, or the place of the guard that failed, or NOT_FINITE; nothing has then moved.
        """

    def batch(self, values: Array, rows: Batch) -> tuple[Array, Failed]:
        """Run the program for rows of data; inputs that are no columns are taken from `values`.

        Returns the totals over all rows, and which guard failed in which row.
        """


class Backend(Protocol):
    """What compiled functions need of a back end."""

    words: str  # what people call it: "run by NumPy"
    missing: str  # what to tell somebody who asks for it where it is not available
    # What a step is given besides inputs: the numbers that slots must hold, an optimiser's state.
    Guards: type[numpy.Guards]
    Commit: type[numpy.Commit]

    def available(self) -> bool:
        """Tell whether it can run here."""

    def prepare(self, program: Program, /) -> Prepared:
        """Get a program ready to run."""


class _Later:
    """A back end that needs a package of its own, which is loaded when somebody asks for it."""

    def __init__(self, words: str, package: str, module: str) -> None:
        self.words = words
        self.missing = (
            f"{words} is not installed. Install it with: python -m pip install "
            f"'minigrad-engine[{package}]'"
        )
        self._package, self._module = package, module

    def available(self) -> bool:
        return find_spec(self._package) is not None

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module, __name__), name)


_BACKENDS: dict[str, Backend] = {
    "native": native,
    "numpy": numpy,
    "jax": _Later("JAX", "jax", ".jax.prepared"),
}


def register(name: str, backend: Backend) -> None:
    """Let compiled functions be run by a back end of this name."""
    if name == "auto":
        raise ValueError("register('auto', …): 'auto' is the choice of a back end, not a name.")
    wanted = [*Backend.__annotations__, "available", "prepare"]
    absent = [member for member in wanted if not hasattr(backend, member)]
    if absent:
        raise TypeError(f"register({name!r}, …): the back end has no {', '.join(absent)}.")
    _BACKENDS[name] = backend


def backend_names() -> tuple[str, ...]:
    """The names that `minigrad.compile(backend=...)` accepts."""
    return ("auto", *_BACKENDS)


def backend_of(name: str) -> Backend:
    """Return a back end by its name; "auto" is the native one where it was built."""
    if name not in backend_names():
        raise ValueError(f"backend={name!r}: choose one of {', '.join(backend_names())}.")
    if name == "auto":
        if native.available():
            return native
        if not pure_is_asked():
            _notice()
        return numpy
    found = _BACKENDS[name]
    if not found.available():
        raise RuntimeError(f"backend={name!r}: {found.missing}")
    return found


@cache
def _notice() -> None:
    """Say once that programs run slower than they could."""
    warnings.warn(
        "the native machine was not built with this installation of minigrad, so programs run on "
        "NumPy. With a C compiler, install minigrad-engine again to have it.",
        RuntimeWarning,
        stacklevel=2,
    )
