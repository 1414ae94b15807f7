"""Modules under names that they had in earlier versions, or have in micrograd.

Pickles and programs refer to them.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

FORMER_NAMES = {
    "batches": "compiler.vmap",
    "callables": "compiler.callables",
    "compiled": "compiler.function",
    "engine": "scalar",  # micrograd's: `from micrograd.engine import Value`, with another name
    "explain": "calculus.paths",
    "graph": "core.graph",  # which the guide named
    "node": "core.copying",
    "record": "calculus.steps",
    "training": "compiler.train",
}
RENAMED = {"calculus.steps": {"Tape": "PassRecord"}}  # classes


class _FormerModule(ModuleType):
    """Stands in for a module until somebody wants something of it."""

    def __init__(self, name: str, now: str, renamed: dict[str, str]) -> None:
        super().__init__(name, f"Now called {now}.")
        self._now, self._renamed = now, renamed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self._now), self._renamed.get(name, name))


def answer_to_former_names(package: str) -> None:
    """Have `minigrad.node` found, of which pickles want what is in `minigrad.core.copying` today.

    In `sys.modules` alone: an import would also set `minigrad.record`, which is a function.
    """
    for former, now in FORMER_NAMES.items():
        name = f"{package}.{former}"
        sys.modules[name] = _FormerModule(name, f"{package}.{now}", RENAMED.get(now, {}))
