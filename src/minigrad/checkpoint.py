"""Saved parameters: JSON that a person can read and any language can load. Never pickle.

`load_params` takes numbers from anywhere else. What it takes to go on training, the optimiser's
state and all, is in `training_checkpoint`.

A file is written atomically and read with suspicion: if anything about it does not fit, an error
says what, and not one parameter has changed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .core.coerce import as_float, as_list
from .core.files import write_atomically
from .core.names import cut, parameter_names, plural, readable, short
from .core.parameters import set_data
from .errors import CheckpointError
from .nn import Module
from .scalar import Value

__all__ = ["load_parameters", "load_params", "save_parameters"]

_FORMAT = "minigrad parameters"
_VERSION = 1
_LOAD_PARAMS = "load_params(target, params)"


def save_parameters(path: str | os.PathLike[str], source: Module | Iterable[Value]) -> None:
    """Write the numbers of a module's parameters, or of a list of Values, to `path`."""
    require_path(path, "save_parameters(path, model)")
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
    require_path(path, "load_parameters(path, model)")
    parameters = _listed(target)
    content = Path(path).read_bytes()
    try:
        numbers = _read(content, _describe(target), len(parameters))
    except CheckpointError as error:
        raise CheckpointError(f"{readable(path)}: {error}") from None
    set_data(parameters, numbers)


def load_params(target: Any, params: Any) -> None:
    """Write numbers, a flat vector or a mapping by name, into the parameters of `target`.

    `target`: an optimiser, a training step, a module, a list of Values, or a function that has
    `.parameters`. Names are those of `parameter_names`: labels, else `p0`, `p1`, … by place.
    """
    holder = getattr(target, "optimizer", target)
    found = getattr(holder, "parameters", holder)
    values = _listed(as_list(found() if callable(found) else found, f"{_LOAD_PARAMS}: target"))
    names = parameter_names(values)
    numbers = _by_name(params, names) if isinstance(params, Mapping) else _in_order(params, names)
    set_data(values, list(map(_number, numbers, names)))


def _number(x: Any, name: str) -> float:
    if type(x) is float:
        return x
    if getattr(x, "ndim", None) == 0 and hasattr(x, "item"):  # a number of JAX is an array
        x = x.item()
    return as_float(x, f"{_LOAD_PARAMS}: parameter '{short(name)}'")


def _by_name(params: Mapping[Any, Any], names: list[str]) -> list[Any]:
    known = set(names)
    for name in params:
        if name not in known:
            raise ValueError(
                f"{_LOAD_PARAMS}: parameter '{short(name)}' is in params but not in the model, "
                f"which has {_few(names)}."
            )
    for name in names:
        if name not in params:
            raise ValueError(
                f"{_LOAD_PARAMS}: parameter '{short(name)}' is in the model but not in params; "
                "give a number for each."
            )
    return [params[name] for name in names]


def _in_order(params: Any, names: list[str]) -> list[Any]:
    if hasattr(params, "__array__"):  # NumPy's, JAX's, PyTorch's: all at once, not one by one
        import numpy as np

        if hasattr(params, "detach"):  # PyTorch's give their numbers only so
            params = params.detach().cpu()
        vector = np.asarray(params)
        if vector.ndim != 1:
            raise ValueError(
                f"{_LOAD_PARAMS}: params has the shape {vector.shape}; give a flat vector, one "
                "number for each parameter."
            )
        numbers: list[Any] = vector.tolist()
    else:
        numbers = as_list(params, f"{_LOAD_PARAMS}: params")
    count = len(numbers)
    if count != len(names):
        few = count < len(names)
        where = f"none for '{short(names[count])}'" if few else f"too many for {_few(names)}"
        raise ValueError(
            f"{_LOAD_PARAMS}: {plural(count, 'number')} for {plural(len(names), 'parameter')}, "
            f"{where}; give one for each."
        )
    return numbers


def _few(names: list[str]) -> str:
    shown = ", ".join(f"'{short(name)}'" for name in names[:3])
    return f"{shown}, …" if len(names) > 3 else shown or "none"


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
    return readable(text if len(text) <= 90 else f"{text[:60]} … {text[-25:]}")


def require_path(path: Any, call: str) -> None:
    """Refuse what is no path; `call` shows the order of the arguments."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{call}: got {type(path).__name__} as the path; the path comes first.")


def _read(content: bytes, expected: str, count: int) -> list[float]:
    """Return the numbers of a file if all of it is as it should be."""
    try:
        document: Any = json.loads(
            content,  # in any of the encodings that JSON has
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_constant,
            object_pairs_hook=keyed_once,
        )
    except CheckpointError:
        raise
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"not a JSON text ({short(error)}). Is it the right file?") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise CheckpointError(f"not a file of {_FORMAT}. Is it the right file?")
    version = document.get("version")
    if isinstance(version, bool) or version != _VERSION:
        raise CheckpointError(f"version {cut(repr(version))}; this minigrad reads {_VERSION}.")
    model, data = document.get("model", ""), document.get("data")
    if not isinstance(model, str):
        raise CheckpointError("'model' is not a text; the file is damaged.")
    if not isinstance(data, list) or not all(map(_is_saved_number, data)):
        raise CheckpointError("'data' is not a list of numbers; the file is damaged.")
    if model and expected and model != expected:
        raise CheckpointError(
            f"saved from another model, {_brief(model)}, than {_brief(expected)}. Build "
            "the same one, or pass a list of Values to load the numbers regardless."
        )
    if len(data) != count:
        raise CheckpointError(
            f"holds {len(data)} parameters, but the model has {count}. "
            "Build the model with the sizes it was saved with."
        )
    return [float(x) for x in data]


def _is_saved_number(x: object) -> bool:
    return type(x) in (int, float) or x in ("inf", "-inf", "nan")  # not bool


# ---- what Python reads as JSON and `save_parameters` does not write --------------------------


def _finite(text: str) -> float:
    """Read a number; what is beyond the floats would silently become inf."""
    number = float(text)
    if math.isinf(number):
        raise CheckpointError(
            f"the number {cut(text, 30)} is too large for a float64; the file is damaged."
        )
    return number


def _whole(text: str) -> float:
    number = _finite(text)  # before Python counts the digits
    return int(text) if number else number  # and -0 is -0.0


def _no_constant(text: str) -> float:
    raise CheckpointError(
        f"{text} is no number in JSON; the file is damaged. (Saved parameters have it as a text.)"
    )


def keyed_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON a dict, if each key is there once."""
    document = dict(pairs)
    if len(document) < len(pairs):
        raise CheckpointError("a key is there twice; the file is damaged.")
    return document
