"""Saved parameters: JSON that a person can read and any language can load. Never pickle.

A file is written atomically and read with suspicion: if anything about it does not fit, an error
says what, and not one parameter has changed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .errors import CheckpointError
from .files import write_atomically
from .nn import Module
from .scalar import Value

__all__ = ["load_parameters", "save_parameters"]

_FORMAT = "minigrad parameters"
_VERSION = 1


def save_parameters(path: str | os.PathLike[str], source: Module | Iterable[Value]) -> None:
    """Write the numbers of a module's parameters, or of a list of Values, to `path`."""
    _require_path(path, "save_parameters")
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "model": _describe(source),
        # JSON has no inf and nan; as texts they survive every reader.
        "data": [x if math.isfinite(x) else str(x) for x in (p.data for p in _listed(source))],
    }
    write_atomically(path, json.dumps(document, allow_nan=False, indent=1) + "\n")


def load_parameters(path: str | os.PathLike[str], target: Module | Iterable[Value]) -> None:
    """Read the numbers at `path` into a module's parameters, or into a list of Values."""
    _require_path(path, "load_parameters")
    parameters = _listed(target)
    model, numbers = _read(Path(path))
    expected = _describe(target)
    if model and expected and model != expected:
        raise CheckpointError(
            f"{path}: saved from another model, {_brief(model)}, than {_brief(expected)}. Build "
            "the same one, or pass a list of Values to load the numbers regardless."
        )
    if len(numbers) != len(parameters):
        raise CheckpointError(
            f"{path}: holds {len(numbers)} parameters, but the model has {len(parameters)}. "
            "Build the model with the sizes it was saved with."
        )
    for parameter, number in zip(parameters, numbers, strict=True):
        parameter.data = number


def _listed(source: Module | Iterable[Value]) -> Sequence[Value]:
    values = list(source.parameters() if isinstance(source, Module) else source)
    for value in values:
        if not isinstance(value, Value):
            raise TypeError(f"parameters are Values, got {type(value).__name__} among them.")
    return values


def _describe(source: Module | Iterable[Value]) -> str:
    """Return the text that two models must have in common; none for those that have no text."""
    if isinstance(source, Module) and type(source).__repr__ is not object.__repr__:
        return repr(source)
    return ""


def _brief(text: str) -> str:
    return text if len(text) <= 90 else f"{text[:60]} … {text[-25:]}"


def _require_path(path: Any, name: str) -> None:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            f"{name}(path, model): got {type(path).__name__} as the path; the path comes first."
        )


def _read(path: Path) -> tuple[str, list[float]]:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not a JSON text ({error}). Is it the right file?") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise CheckpointError(f"{path}: not a file of {_FORMAT}. Is it the right file?")
    if document.get("version") != _VERSION:
        raise CheckpointError(
            f"{path}: version {document.get('version')!r}; this minigrad reads {_VERSION}."
        )
    data = document.get("data")
    if not isinstance(data, list) or not all(map(_is_saved_number, data)):
        raise CheckpointError(f"{path}: 'data' is not a list of numbers; the file is damaged.")
    try:
        return str(document.get("model", "")), [float(x) for x in data]
    except OverflowError:
        raise CheckpointError(f"{path}: a number in 'data' is too large for a float64.") from None


def _is_saved_number(x: object) -> bool:
    if isinstance(x, bool):
        return False
    return isinstance(x, (int, float)) or x in ("inf", "-inf", "nan")
