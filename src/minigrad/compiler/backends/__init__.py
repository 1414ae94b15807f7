"""Back ends: what runs programs."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from . import native
from . import numpy as interpreter

__all__ = ["BACKENDS", "backend_name", "backend_of"]

BACKENDS = ("auto", "native", "numpy")


def backend_of(name: str) -> Any:
    """Return a backend by its name; "auto" is the native one where it was built."""
    if name == "auto" and not native.available() and not native.is_unwanted():
        _notice()
    if name == "numpy" or (name == "auto" and not native.available()):
        return interpreter
    if not native.available():
        raise RuntimeError(
            "backend='native': the native machine was not built with this installation (it needs a "
            "C compiler, and MINIGRAD_PURE not to be set). backend='auto' takes NumPy instead."
        )
    return native


@cache
def _notice() -> None:
    """Say once that programs run slower than they could."""
    warnings.warn(
        "the native machine was not built with this installation of minigrad, so programs run on "
        "NumPy. With a C compiler, install minigrad again to have it.",
        RuntimeWarning,
        stacklevel=2,
    )


def backend_name(backend: Any) -> str:
    """Spell a backend for people."""
    return "the native machine" if backend is native else "NumPy"
