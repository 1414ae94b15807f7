"""Saved training: all that it takes to go on as if nothing had happened, bit for bit.

A checkpoint has the numbers of the parameters, their names, the optimiser's state and its count of
steps, in a `.npz` file without pickle, or a `.safetensors` file where that package is installed.
A text of JSON lies beside the arrays, with a digest of everything. As with saved parameters, a file
is written atomically and read with suspicion: it fits, or an error names what does not, and neither
a parameter nor the optimiser has changed. Start at `save_training`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from .checkpoint import keyed_once, require_names, require_path
from .core import npz
from .core.files import write_atomically
from .core.names import cut, parameter_names, plural, readable, short
from .core.npz import Stored
from .core.observers import refuse_in_trace
from .core.parameters import as_numbers, data_of
from .core.writeback import defer, flush_writebacks
from .errors import CheckpointError
from .optim import Numbers, Optimizer, State, _Moving

__all__ = ["load_training", "save_training"]

_FORMAT = "minigrad training"
_VERSION = 1
_TEXT = "training"  # the array of the .npz file, and the metadata of .safetensors, with the JSON
_PARAMETERS, _STATE = "parameters", "state."  # what the arrays of numbers are called
_MOST_STEPS = 2**63 - 1
# Bytes that a file may have beyond what the model here would need: another model's is read, so that
# its parameters can be named, but not an endless one.
_SLACK = 1 << 26


def save_training(path: str | os.PathLike[str], source: Any) -> None:
    """Write parameters, optimiser state and step count of an optimiser or a training step."""
    call = "save_training(path, source)"
    require_path(path, call)
    container, optimizer = _container_of(path, call), _optimizer_of(source, call)
    refuse_in_trace("calls save_training")
    training = _captured(optimizer, _program_hash(source))
    vectors = training.vectors()
    document = training.document()
    document["sha256"] = _digest(document, vectors)
    content = container.pack(json.dumps(document).encode(), vectors)
    write_atomically(path, content)


def load_training(path: str | os.PathLike[str], target: Any) -> None:
    """Read what `save_training` wrote into an optimiser, or a training step, like the one saved."""
    call = "load_training(path, target)"
    require_path(path, call)
    container, optimizer = _container_of(path, call), _optimizer_of(target, call)
    refuse_in_trace("calls load_training")
    flush_writebacks()
    names = parameter_names(optimizer.parameters)
    try:
        text, arrays = container.unpack(_content(path, _most_bytes(names, optimizer)))
        training = _read(text, arrays)
        _require_fit(training, optimizer, names, _program_hash(target))
    except CheckpointError as error:
        raise CheckpointError(f"{readable(path)}: {error}") from None
    _restore(optimizer, training)


@dataclass(frozen=True)
class _Training:
    """What a checkpoint holds."""

    optimizer: str  # the name of its class
    steps: int
    program_hash: str  # of the program that was trained; "" if nobody knows
    names: list[str]
    parameters: Numbers
    state: State

    def document(self) -> dict[str, Any]:
        """Return all but the numbers."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "optimizer": self.optimizer,
            "steps": self.steps,
            "program_hash": self.program_hash,
            "state": list(self.state),
            "names": self.names,
        }

    def vectors(self) -> dict[str, bytes]:
        """Return the numbers as they lie in a file."""
        numbers = {_PARAMETERS: self.parameters}
        numbers.update((_STATE + name, self.state[name]) for name in self.state)
        return {name: _little_endian(each).tobytes() for name, each in numbers.items()}


def _captured(optimizer: Optimizer, program_hash: str) -> _Training:
    flush_writebacks()
    parameters = data_of(optimizer.parameters)
    for name in optimizer.state:
        if not name.isidentifier():
            raise ValueError(
                f"save_training: the state '{short(name)}' of {type(optimizer).__name__} cannot be "
                "saved; call it by a name without spaces and signs in state_names."
            )
    state = {
        name: as_numbers(numbers, len(parameters), f"save_training: the state {name!r}")
        for name, numbers in optimizer.state.items()
    }
    return _Training(
        type(optimizer).__name__,
        optimizer.steps,
        program_hash,
        parameter_names(optimizer.parameters),
        parameters,
        state,
    )


class _Restoring(_Moving):
    """A step of the optimiser, to where it was; like any other it is taken entirely or not."""

    def __init__(self, optimizer: Optimizer, training: _Training) -> None:
        super().__init__(optimizer, optimizer._known(), training.parameters, training.state)
        self._steps = training.steps


def _restore(optimizer: Optimizer, training: _Training) -> None:
    flush_writebacks()
    turn = _Restoring(optimizer, training)
    defer(turn.complete)  # whatever interrupts it from here on, whoever looks has it completed
    optimizer._turn = turn
    flush_writebacks()


def _optimizer_of(thing: Any, call: str) -> Optimizer:
    optimizer = getattr(thing, "optimizer", thing)
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"{call}: got {type(thing).__name__}; give the optimiser, or what train_step returned. "
            "(The numbers of a model alone: save_parameters, load_parameters.)"
        )
    return optimizer


def _program_hash(thing: Any) -> str:
    return str(getattr(thing, "program_hash", "") or "")


def _most_bytes(names: list[str], optimizer: Optimizer) -> int:
    """Return how large a file for this model can be; in JSON a character takes up to 12 bytes."""
    numbers = 8 * len(names) * (1 + len(optimizer.state_names))
    return _SLACK + numbers + 12 * sum(map(len, names)) + 16 * len(names)


def _content(path: str | os.PathLike[str], most: int) -> bytes:
    with open(path, "rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise CheckpointError(
            f"has more than {most:,} bytes, which no checkpoint of this model has. "
            "Is it the right file?"
        )
    return content


# ---- what the file says, if all of it is as it should be -----------------------------------


def _read(text: bytes, arrays: dict[str, Stored]) -> _Training:
    document = _parsed(text)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise CheckpointError(f"not a file of {_FORMAT}. Is it the right file?")
    version = document.get("version")
    if isinstance(version, bool) or version != _VERSION:
        raise CheckpointError(f"version {cut(repr(version))}; this minigrad reads {_VERSION}.")
    digest = document.pop("sha256", None)
    for key in ("optimizer", "program_hash"):
        _require(document, key, lambda x: isinstance(x, str), "a text")
    _require(document, "steps", _is_count, "a count of steps")
    for key in ("names", "state"):
        _require(document, key, _are_names, "a list of names, each there once")
    names = document["names"]
    parameters = _numbers(arrays, _PARAMETERS, names)
    state = {name: _numbers(arrays, _STATE + name, names) for name in document["state"]}
    known = {_PARAMETERS, *(_STATE + name for name in state)}
    for name in arrays:
        if name not in known:
            raise CheckpointError(
                f"'{short(name)}' is no part of a checkpoint; damaged, or not ours."
            )
    if digest != _digest(document, {name: arrays[name].data for name in arrays}):
        raise CheckpointError("the digest of the content is another one; the file is damaged.")
    of = document["optimizer"], document["steps"], document["program_hash"]
    return _Training(*of, names, parameters, state)


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=keyed_once)
    except CheckpointError:
        raise
    except (ValueError, RecursionError) as error:
        raise CheckpointError(
            f"'{_TEXT}' is no JSON text ({short(error)}); the file is damaged."
        ) from None


def _no_constant(text: str) -> NoReturn:
    raise CheckpointError(f"{text} is no number in JSON; the file is damaged.")


def _require(document: dict[str, Any], key: str, holds: Callable[[Any], bool], what: str) -> None:
    if key not in document:
        raise CheckpointError(f"'{key}' is missing; the file is damaged.")
    if not holds(document[key]):
        raise CheckpointError(f"'{key}' is not {what}; the file is damaged.")


def _is_count(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool) and 0 <= x <= _MOST_STEPS


def _are_names(x: Any) -> bool:
    is_list = isinstance(x, list) and all(isinstance(name, str) for name in x)
    return is_list and len(set(x)) == len(x)


def _numbers(arrays: dict[str, Stored], name: str, names: list[str]) -> Numbers:
    """Return the numbers of one array, one for each parameter."""
    stored = arrays.get(name)
    if stored is None:
        raise CheckpointError(f"the array '{short(name)}' is missing; the file is damaged.")
    if stored.kind != "<f8":
        raise CheckpointError(
            f"'{short(name)}' is of the type {short(stored.kind)}, not <f8 (float64)."
        )
    if len(stored.shape) != 1:
        raise CheckpointError(f"'{short(name)}' has the shape {stored.shape}; it must be a vector.")
    (count,) = stored.shape
    if count != len(names):
        which = f"none for '{short(names[count])}'" if count < len(names) else "too many"
        raise CheckpointError(
            f"'{short(name)}' has {plural(count, 'number')} for "
            f"{plural(len(names), 'parameter')}, {which}; the file is damaged."
        )
    return _little_endian(array("d", stored.data))


def _little_endian(numbers: Numbers) -> Numbers:
    """Return numbers in the order of a file, or those of a file in our own."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers


def _digest(document: dict[str, Any], vectors: dict[str, bytes]) -> str:
    """Return a text that changes with anything that was saved."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name in sorted(vectors):
        digest.update(vectors[name])
    return digest.hexdigest()


# ---- whether it is for this training --------------------------------------------------------


def _require_fit(
    training: _Training, optimizer: Optimizer, names: list[str], program_hash: str
) -> None:
    kind = type(optimizer).__name__
    if training.optimizer != kind:
        raise CheckpointError(
            f"saved from {short(training.optimizer)}, but the optimiser here is {kind}. Build the "
            "same one."
        )
    require_names(training.names, names)
    for name in training.state:
        if name not in optimizer.state_names:
            raise CheckpointError(f"has the state '{short(name)}', which {kind} here has not.")
    if training.program_hash and program_hash and training.program_hash != program_hash:
        raise CheckpointError(
            f"saved from the training of another program, {short(training.program_hash, 12)}, than "
            f"{short(program_hash, 12)}: the loss is another one. To take the numbers regardless, "
            "load into the optimiser instead of the training step."
        )


# ---- the two kinds of files: a text and vectors of float64 ------------------------------------


class _Container(NamedTuple):
    pack: Callable[[bytes, dict[str, bytes]], bytes]
    unpack: Callable[[bytes], tuple[bytes, dict[str, Stored]]]


def _container_of(path: str | os.PathLike[str], call: str) -> _Container:
    suffix = Path(path).suffix
    if suffix not in _CONTAINERS:
        raise ValueError(
            f"{call}: {readable(path)!r} ends in {readable(suffix)!r}; let it end in .npz, or in "
            ".safetensors where that package is installed."
        )
    return _CONTAINERS[suffix]


def _stored(data: bytes) -> Stored:
    return Stored("<f8", (len(data) // 8,), data)


def _to_npz(text: bytes, vectors: dict[str, bytes]) -> bytes:
    arrays = {_TEXT: Stored("|u1", (len(text),), text)}
    return npz.pack(arrays | {name: _stored(data) for name, data in vectors.items()})


def _from_npz(content: bytes) -> tuple[bytes, dict[str, Stored]]:
    arrays = npz.unpack(content)
    text = arrays.pop(_TEXT, None)
    if text is None or text.kind != "|u1":
        raise CheckpointError(f"has no text '{_TEXT}', so it is not a file of {_FORMAT}.")
    return text.data, arrays


def _to_safetensors(text: bytes, vectors: dict[str, bytes]) -> bytes:
    library = _safetensors()
    import numpy as np

    tensors = {name: np.frombuffer(data, "<f8") for name, data in vectors.items()}
    content: bytes = library.save(tensors, {_TEXT: text.decode()})
    return content


def _from_safetensors(content: bytes) -> tuple[bytes, dict[str, Stored]]:
    library = _safetensors()
    try:
        tensors = library.load(content)
    except Exception as error:  # whatever the package raises for bytes that nobody wrote
        raise CheckpointError(
            f"not a whole .safetensors file ({short(error)}). Is it the right file?"
        ) from None
    header = _parsed(content[8 : 8 + int.from_bytes(content[:8], "little")])
    metadata = header.get("__metadata__") or {}  # the package has read the same header before
    if _TEXT not in metadata:
        raise CheckpointError(f"has no text '{_TEXT}', so it is not a file of {_FORMAT}.")
    arrays = {
        name: Stored(tensor.dtype.str, tensor.shape, tensor.tobytes())
        for name, tensor in tensors.items()
    }
    return metadata[_TEXT].encode(errors="replace"), arrays


def _safetensors() -> Any:
    try:
        return importlib.import_module("safetensors.numpy")
    except ImportError as error:
        raise ImportError(
            "files that end in .safetensors need the package safetensors, which could not be "
            f"imported ({error}). Install it: pip install safetensors; or let the file end in .npz",
            name="safetensors",
        ) from error


_CONTAINERS = {
    ".npz": _Container(_to_npz, _from_npz),
    ".safetensors": _Container(_to_safetensors, _from_safetensors),
}
