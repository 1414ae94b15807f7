"""Stand-ins for modules that a file imports and the sandbox does without.

`Absent` is for a module that is not installed, and for those that only draw: it takes every
attribute and every call, and refuses to be a number. So a file that imports seaborn can be
loaded, and an engine that computes with what is not there says so. `Deferred` is for large
modules, which few engines need and many files compare themselves with: they are really imported
as soon as something is asked of them.
"""

from __future__ import annotations

import contextlib
import importlib
from types import ModuleType
from typing import Any, NoReturn

DRAWING = frozenset({
    "IPython", "bokeh", "graphviz", "ipywidgets", "manim", "matplotlib", "plotly", "pydot",
    "pygraphviz", "pyvis", "seaborn",
})  # fmt: skip
LARGE = frozenset({
    "datasets", "jax", "keras", "pandas", "scipy", "sklearn", "sympy", "tensorflow", "torch",
    "torchvision", "transformers",
})  # fmt: skip


class Absent(ModuleType):
    """Something of a module that is not there."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")

    def __call__(self, *given: Any, **options: Any) -> Any:
        if len(given) == 1 and not options and callable(given[0]):
            return given[0]  # a decorator: what it decorates stays as it is
        return Absent(self.__name__)

    def __mro_entries__(self, _: Any) -> tuple[type, ...]:
        return (object,)

    def __instancecheck__(self, _: Any) -> bool:
        return False  # nobody can have made one

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        name = self.__name__.split(".")[0]
        raise ModuleNotFoundError(f"{name} is not there while the doctor looks", name=name)

    __float__ = __int__ = __bool__ = __len__ = __iter__ = __getitem__ = __array__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __neg__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


class PutOffError(Exception):
    """A statement that no definition needs wants a large module."""


class Deferred:
    """A large module, or something in it, which is imported when first needed."""

    may_import = True  # not while statements run that no definition needs

    def __init__(self, module: str, name: str = "") -> None:
        self.__dict__["_names"] = (module, name)

    def _real(self) -> Any:
        if not Deferred.may_import:
            raise PutOffError(f"{self._names[0]} is not loaded for this")
        if "_found" not in self.__dict__:
            self.__dict__["_found"] = imported(*self._names)
        return self.__dict__["_found"]

    def __getattr__(self, name: str) -> Any:
        if name in ("__wrapped__", "__isabstractmethod__"):  # asked by those who only look around
            raise AttributeError(name)
        return getattr(self._real(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real(), name, value)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._real()(*args, **options)

    def __mro_entries__(self, _: Any) -> tuple[Any, ...]:
        return (self._real(),)

    def __instancecheck__(self, thing: Any) -> bool:
        return isinstance(thing, self._real())


def imported(module: str, name: str = "") -> Any:
    """Import a module, or a name from it; a stand-in where there is none."""
    try:
        found = importlib.import_module(module)
        if not name:
            return found
        if hasattr(found, name):
            return getattr(found, name)
        with contextlib.suppress(ImportError):
            return importlib.import_module(f"{module}.{name}")
    except Exception:
        pass  # a module that is there and does not work is as good as none
    return Absent(f"{module}.{name}" if name else module)
