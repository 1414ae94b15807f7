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
from typing import Any, Protocol

from .core.coerce import as_float, as_list
from .core.files import write_atomically
from .core.names import Name, cut, parameter_names, place_name, plural, readable, short
from .core.parameters import set_data
from .errors import CheckpointError
from .scalar import Value

__all__ = ["load_parameters", "load_params", "save_parameters"]

_FORMAT = "minigrad parameters"
_VERSION = 1
_LOAD_PARAMS = "load_params(target, params)"


class Model(Protocol):
    """What has parameters, a `Module` above all."""

    def parameters(self) -> Iterable[Value]:
        """Return them, always in the same order."""


def save_parameters(path: str | os.PathLike[str], source: Model | Iterable[Value]) -> None:
    """Write the numbers of a module's parameters, or of a list of Values, to `path`."""
    require_path(path, "save_parameters(path, model)")
    values = _listed(source)
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "model": _describe(source),
        "names": _names(source, values),
        # JSON has no inf and nan; as texts they survive every reader.
        "data": [x if math.isfinite(x) else str(x) for x in (p.data for p in values)],
    }
    write_atomically(path, json.dumps(document, allow_nan=False, indent=1) + "\n")


def load_parameters(path: str | os.PathLike[str], target: Model | Iterable[Value]) -> None:
    """Read the numbers at `path` into a module's parameters, or into a list of Values."""
    require_path(path, "load_parameters(path, model)")
    parameters = _listed(target)
    content = Path(path).read_bytes()
    names = _names(target, parameters)
    # A list takes the numbers of any model: what modules call its Values does not count.
    labels = [None if isinstance(p.label, Name) else p.label or None for p in parameters]
    try:
        numbers = _read(content, _describe(target), names, names if _is_model(target) else labels)
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


def _listed(source: Any) -> Sequence[Value]:
    values = list(source.parameters() if _is_model(source) else source)
    for value in values:
        if not isinstance(value, Value):
            raise TypeError(f"parameters are Values, got {type(value).__name__} among them.")
    return values


def _is_model(source: Any) -> bool:
    return callable(getattr(source, "parameters", None))


def _names(source: Any, values: Sequence[Value]) -> list[str]:
    """Return the names of a model's parameters; of a list, labels, or places where are none."""
    if hasattr(source, "named_parameters"):
        return [name for name, _ in source.named_parameters()]
    return parameter_names(values)


def _describe(source: Any) -> str:
    """Return the text that two models must have in common; none for those that have no text.

    One that tells the numbers of the parameters, as that of a dataclass, changes with them.
    """
    kind: Any = type(source)
    if not _is_model(source) or kind.__repr__ in (object.__repr__, counted):
        return ""
    text = repr(source)
    return "" if any(repr(value) in text for value in source.parameters()) else text


def counted(model: Any) -> str:
    """Return the text of a module that has none of its own: its class, and how large it is."""
    try:
        return f"{type(model).__name__}({plural(len(list(model.parameters())), 'parameter')})"
    except Exception:  # not all of it is there yet, as in its __init__; a repr is for looking
        return f"{type(model).__name__}(…)"


def _brief(text: str) -> str:
    return readable(text if len(text) <= 90 else f"{text[:60]} … {text[-25:]}")


def require_path(path: Any, call: str) -> None:
    """Refuse what is no path; `call` shows the order of the arguments."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{call}: got {type(path).__name__} as the path; the path comes first.")


def _read(
    content: bytes, expected: str, names: list[str], wanted: Sequence[str | None]
) -> list[float]:
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
    saved = document.get("names", list(map(place_name, range(len(data)))))
    if not isinstance(saved, list) or not all(isinstance(name, str) for name in saved):
        raise CheckpointError("'names' is not a list of texts; the file is damaged.")
    if len(saved) != len(data):
        raise CheckpointError(
            f"{plural(len(saved), 'name')} for {plural(len(data), 'number')}; the file is damaged."
        )
    if model and expected and model != expected:
        differs = "names" in document and saved != names
        where = f": {_difference(saved, names)}" if differs else ""
        raise CheckpointError(
            f"saved from another model, {_brief(model)}, than {_brief(expected)}{where}. Build "
            "the same one, or pass a list of Values to load the numbers regardless."
        )
    require_names(saved, names, wanted)
    return [float(x) for x in data]


def require_names(
    saved: list[str], names: list[str], wanted: Sequence[str | None] | None = None
) -> None:
    """Refuse the parameters of a file if they have other names, or another order, than a model's.

    Any will do where None is `wanted`; one that was saved without a name, by its place, does.
    """
    checked = names if wanted is None else wanted
    if len(saved) == len(names) and all(
        name in (None, one) or one == place_name(k)
        for k, (one, name) in enumerate(zip(saved, checked, strict=True))
    ):
        return
    same = set(saved) == set(names)
    remedy = (
        "Give the parameters in the order they were saved in."
        if same
        else "Build the model with the sizes and the labels it was saved with."
    )
    raise CheckpointError(f"{_difference(saved, names)}. {remedy}")


def _difference(saved: list[str], names: list[str]) -> str:
    """Say by name how the parameters of a file and those of a model differ."""
    for these, those, where in (
        (saved, set(names), "in the file but not in the model"),
        (names, set(saved), "in the model but not in the file"),
    ):
        only = [name for name in these if name not in those]
        if only:
            more = f", like {len(only) - 1:,} more" if len(only) > 1 else ""
            return (
                f"parameter '{short(only[0])}' is {where}{more}; the file has "
                f"{plural(len(saved), 'parameter')}, the model {len(names):,}"
            )
    k = next(k for k, name in enumerate(names) if saved[k] != name)
    return (
        f"parameter '{short(names[k])}' is number {saved.index(names[k])} in the file but number "
        f"{k} in the model"
    )


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
