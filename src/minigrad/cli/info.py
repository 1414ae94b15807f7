"""`minigrad info`: which minigrad this is, and what it finds around it."""

from __future__ import annotations

import contextlib
import platform
from importlib import import_module, metadata
from pathlib import Path

from ..core.names import PACKAGE
from ..core.native_or_pure import native_machine, pure_is_asked
from ..core.terminal import put, put_json, put_table
from ..scalar import engine
from ..version import __version__
from .options import AsJson

# What minigrad uses if it is there, and what for.
PACKAGES = {
    "numpy": "compile, vmap, train_step",
    "rich": "tables and progress bars",
    "typer": "the command line",
    "graphviz": "draw_dot",
    "matplotlib": "plots of training",
    "jax": "to_jax, backend='jax'",
    "torch": "to_torch, gradcheck",
    "IPython": "notebooks",
}


def info(as_json: AsJson = False) -> None:
    """Say which minigrad this is, which engine runs, and which optional packages it finds."""
    packages = {name: _version(name) for name in PACKAGES}
    facts = {
        "minigrad": __version__,
        "engine": engine(),
        "back ends": ", ".join(_back_ends(packages)) or "none: compile needs NumPy",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "folder": str(Path(__file__).parent.parent),
    }
    stranger = _foreign()
    if as_json:
        facts = {name.replace(" ", "_").lower(): fact for name, fact in facts.items()}
        known = {**facts, "back_ends": _back_ends(packages)}
        put_json({**known, "packages": packages, "foreign_package": stranger})
        return
    put("\n".join(f"{name}: {fact}" for name, fact in facts.items()))
    if engine() == "pure" and not pure_is_asked():
        put("The native engine was not built; with a C compiler, install again to have it.")
    rows = [(name, packages[name] or "not installed", use) for name, use in PACKAGES.items()]
    put_table(("package", "version", "for"), rows)
    if stranger is not None:
        put(f"Beware: {stranger}")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _back_ends(packages: dict[str, str | None]) -> list[str]:
    """Name what can run compiled functions here; nothing is loaded to find out."""
    if packages["numpy"] is None:
        return []
    native = ["native"] if native_machine() is not None else []
    return [*native, "numpy", *(["jax"] if packages["jax"] else [])]


def _foreign() -> str | None:
    """Say whether the other distribution of this name is installed too."""
    with contextlib.suppress(ImportError):
        found: str | None = import_module(f"{PACKAGE}.core.foreign").foreign_package()
        return found
    return None
