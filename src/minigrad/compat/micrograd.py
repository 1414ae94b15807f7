"""`import minigrad.compat.micrograd`: after this line, `micrograd` is minigrad.

    import minigrad.compat.micrograd          # once, before the notebook's own imports
    from micrograd.engine import Value        # minigrad's
    from micrograd.nn import Neuron, Layer, MLP

Notebooks and scripts written for micrograd then run unchanged. For a microgpt script no stand-in is
needed: delete its `class Value` and write `from minigrad import Value` in its place.
"""

from __future__ import annotations

import sys
from types import ModuleType

from .. import nn, scalar

__all__: list[str] = []


def _install() -> None:
    present = sys.modules.get("micrograd.engine", sys.modules.get("micrograd"))
    if present is not None and getattr(present, "Value", scalar.Value) is not scalar.Value:
        raise ImportError(
            "micrograd itself is imported already, so some code holds its Value and some would "
            "hold minigrad's. Put `import minigrad.compat.micrograd` first and restart."
        )
    package = ModuleType("micrograd", "minigrad, under the name of micrograd.")
    engine = ModuleType("micrograd.engine", scalar.__doc__)
    networks = ModuleType("micrograd.nn", nn.__doc__)
    engine.Value = scalar.Value  # type: ignore[attr-defined]
    for name in ("Module", "Neuron", "Layer", "MLP"):
        setattr(networks, name, getattr(nn, name))
    networks.Value = scalar.Value  # type: ignore[attr-defined]
    package.__path__ = []  # a package, so that its submodules can be imported
    package.engine, package.nn = engine, networks  # type: ignore[attr-defined]
    for module in (package, engine, networks):
        sys.modules[module.__name__] = module


_install()
