"""Which engine runs: native, its modules (`NATIVE`) made by Cython, or pure, the files as they are.

Where the native modules were built, Python prefers them. With MINIGRAD_PURE=1 in the environment
the files themselves are loaded in their place: for debugging, and to compare the two.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

# In the order in which they import each other.
NATIVE = (
    "core.node",
    "core.backward",
    "scalar",
    "core.parameters",
    "compiler.tracing.tape",
    "compiler.tracing.canonical",
)


def pure_is_asked() -> bool:
    """Tell whether MINIGRAD_PURE asks for Python alone; empty and 0 do not."""
    return os.environ.get("MINIGRAD_PURE", "0") not in ("", "0")


@cache
def native_machine() -> Any:
    """Return `minigrad._vm`, which runs programs and formulas, or None where it was not built."""
    if pure_is_asked():
        return None
    try:
        from .. import _vm  # type: ignore[attr-defined, unused-ignore]
    except ImportError:
        return None
    return _vm


def load_pure_if_asked(package: str) -> None:
    """Load the pure engine in place of the native one, if MINIGRAD_PURE asks."""
    # Native modules find each other by full name: as `src.minigrad` only the files will do.
    if not pure_is_asked() and package == "minigrad":
        return
    top = Path(__file__).parent.parent
    for name in NATIVE:
        full_name = f"{package}.{name}"
        folder, _, last = full_name.rpartition(".")
        importlib.import_module(folder)
        path = top.joinpath(*name.split(".")).with_suffix(".py")
        spec = importlib.util.spec_from_file_location(full_name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"MINIGRAD_PURE: cannot load {path}.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[full_name] = module
        spec.loader.exec_module(module)
        setattr(sys.modules[folder], last, module)
