"""`minigrad info`: which minigrad this is, and what it finds around it."""

from __future__ import annotations

import contextlib
import platform
import shutil
import sysconfig
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
        why = _why_pure() if engine() == "pure" else None
        put_json({**known, "why_pure": why, "packages": packages, "foreign_package": stranger})
        return
    put("\n".join(f"{name}: {fact}" for name, fact in facts.items()))
    if engine() == "pure":
        put(f"Why pure: {_why_pure()}")
    rows = [(name, packages[name] or "not installed", use) for name, use in PACKAGES.items()]
    put_table(("package", "version", "for"), rows)
    if stranger is not None:
        put(f"Beware: {stranger}")


def _why_pure() -> str:
    """Say what keeps the native engine away, as far as one can see now."""
    if pure_is_asked():
        return "MINIGRAD_PURE is set."
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "this Python has no global lock, which the native engine needs."
    others = sorted(path.name for path in Path(__file__).parent.parent.glob("scalar.*.[sp][oy]*"))
    if others:
        return f"there is {', '.join(others)}, for another Python; install again with this one."
    command = sysconfig.get_config_var("CC") or "cl"
    compiler = command.split()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler is here ({compiler}); with one, install again to have the other."
    return f"it was not built, though {compiler} is here; pip install -v, once more, tells why."


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
