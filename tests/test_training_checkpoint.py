"""Saved training: goes on bit for bit, is whole after a kill, and is read with suspicion."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import random
import struct
import subprocess
import sys
import time
import zipfile
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from killed_writers import finished, temporaries
from optimisers import Lion, RMSprop

import minigrad
from minigrad import CheckpointError, Value, load_training, save_training
from minigrad.core import files
from minigrad.core.names import readable
from minigrad.core.writeback import writebacks
from minigrad.nn import MLP
from minigrad.optim import SGD, Adam, AdamW, cosine

np = pytest.importorskip("numpy")

SETTINGS = {
    "SGD": (SGD, {"lr": 0.1}),
    "momentum": (SGD, {"lr": 0.05, "momentum": 0.9}),
    "Adam": (Adam, {"lr": cosine(0.1, 0.01, 12)}),
    "AdamW": (AdamW, {"lr": 0.03, "weight_decay": 0.2}),
    "RMSprop": (RMSprop, {"lr": 0.02, "momentum": 0.5}),
}


@pytest.fixture(params=[".npz", ".safetensors"])
def suffix(request):
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return request.param


def bits(numbers):
    return [struct.pack("<d", x) for x in numbers]


def seen(optimizer):
    """All that a checkpoint is about, to the bit."""
    state = {name: bits(numbers) for name, numbers in optimizer.state.items()}
    return bits(p.data for p in optimizer.parameters), state, optimizer.steps


class Training:
    """A small network, an optimiser, and a way to take a step, eagerly or natively."""

    def __init__(self, kind, options, native, seed):
        self.model = MLP(2, [3, 1], activation="tanh", seed=seed)
        self.optimizer = kind(self.model.parameters(), **options)
        self.step = self.eagerly
        if native:
            self.step = minigrad.train_step(self.loss, self.optimizer, audit=False)
        self.saved = self.step if native else self.optimizer

    def loss(self, x, y):
        return (self.model([x, y]) - x * y) ** 2

    def eagerly(self, x, y):
        self.optimizer.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.data


BATCHES = [(0.5, -1.0), (1.5, 0.25), (-0.75, 2.0), (0.1, 0.2), (-1.0, -1.0), (2.0, 0.5)]


@pytest.mark.parametrize("native", [False, True], ids=["eager", "train_step"])
@pytest.mark.parametrize("name", SETTINGS)
def test_training_goes_on_as_if_it_had_not_been_interrupted(tmp_path, name, native, suffix):
    path = tmp_path / f"training{suffix}"
    first = Training(*SETTINGS[name], native, seed=1)
    for batch in BATCHES[:3]:
        first.step(*batch)
    save_training(path, first.saved)
    uninterrupted = [first.step(*batch) for batch in BATCHES[3:]]
    second = Training(*SETTINGS[name], native, seed=2)
    second.step(9.0, 9.0)  # what it had before, and had not yet written back, is gone
    load_training(path, second.saved)
    assert [second.step(*batch) for batch in BATCHES[3:]] == uninterrupted
    assert seen(second.optimizer) == seen(first.optimizer)
    load_training(path, first.saved)  # and back in time
    assert [first.step(*batch) for batch in BATCHES[3:]] == uninterrupted


@pytest.mark.smoke
def test_the_way_of_taking_steps_may_change(tmp_path):
    path = tmp_path / "t.npz"
    native, eager = (Training(Adam, {"lr": 0.1}, way, seed=1) for way in (True, False))
    native.step(*BATCHES[0])
    assert writebacks  # the numbers are in the machine, and nobody has looked
    save_training(path, native.step)
    load_training(path, eager.optimizer)
    assert seen(eager.optimizer) == seen(native.optimizer)
    eager.step(*BATCHES[1])
    save_training(path, eager.optimizer)
    load_training(path, native.step)
    assert seen(native.optimizer) == seen(eager.optimizer)


def test_before_the_first_step_there_is_no_state(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    save_training(path, Adam([Value(1.0), Value(2.0)]))
    other = Adam([Value(0.0), Value(0.0)])
    for parameter in other.parameters:
        parameter.grad = 1.0
    other.step()
    load_training(path, other)
    assert seen(other) == (bits([1.0, 2.0]), {}, 0)


def with_numbers(kind, numbers, labels=()):
    """An optimiser whose parameters and state have these numbers."""
    parameters = [Value(x) for x in numbers]
    for parameter, label in zip(parameters, labels, strict=False):
        parameter.label = label
    optimizer = kind(parameters, lr=0.01)
    state = {name: list(reversed(numbers)) for name in kind.state_names}
    saved = {"optimizer": kind.__name__, "steps": len(numbers), "state": state}
    optimizer.load_state_dict(saved)
    return optimizer


ANY = st.floats() | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324])


@settings(max_examples=50)
@given(st.lists(st.tuples(ANY, st.text()), min_size=1, max_size=6), st.data())
def test_every_float_and_every_label_survives(tmp_path_factory, pairs, data):
    suffix = data.draw(st.sampled_from([".npz", ".safetensors"]))
    if suffix == ".safetensors":
        pytest.importorskip("safetensors")
    path = tmp_path_factory.mktemp("any") / f"p{suffix}"
    numbers, labels = zip(*pairs, strict=True)
    source = with_numbers(Adam, numbers, labels)
    save_training(path, source)
    target = with_numbers(Adam, [7.0] * len(numbers), labels)
    load_training(path, target)
    assert seen(target) == seen(source)


def test_payloads_of_nan_survive(tmp_path, suffix):
    odd = struct.unpack("<d", b"\x01\x02\x03\x04\x05\x06\xf8\xff")[0]
    source, target = with_numbers(SGD, [odd]), with_numbers(SGD, [0.0])
    save_training(tmp_path / f"t{suffix}", source)
    load_training(tmp_path / f"t{suffix}", target)
    assert bits([target.parameters[0].data]) == [b"\x01\x02\x03\x04\x05\x06\xf8\xff"]


def test_numpy_reads_it_without_pickle_and_what_numpy_wrote_is_read(tmp_path):
    path = tmp_path / "t.npz"
    source = with_numbers(Adam, [1.5, -0.0, math.inf], ["w", "w", ""])
    save_training(path, source)
    with np.load(path, allow_pickle=False) as loaded:
        arrays = dict(loaded)
    assert sorted(arrays) == ["parameters", "state.first", "state.second", "training"]
    assert arrays["parameters"].dtype == np.float64
    assert bits(arrays["parameters"]) == bits([1.5, -0.0, math.inf])
    assert bits(arrays["state.first"]) == bits([math.inf, -0.0, 1.5])
    document = json.loads(bytes(arrays["training"]))
    assert (document["format"], document["version"]) == ("minigrad training", 1)
    assert (document["optimizer"], document["steps"]) == ("Adam", 3)
    assert document["names"] == ["w", "w#2", "p2"]
    np.savez(path, **arrays)
    target = with_numbers(Adam, [0.0] * 3, ["w", "w", ""])
    load_training(path, target)
    assert seen(target) == seen(source)


def test_the_package_safetensors_reads_it(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "t.safetensors"
    save_training(path, with_numbers(SGD, [1.5, -0.0]))
    arrays = library.load(path.read_bytes())
    assert {name: bits(numbers) for name, numbers in arrays.items()} == {
        "parameters": bits([1.5, -0.0]),
        "state.velocity": bits([-0.0, 1.5]),
    }


def test_the_same_state_makes_the_same_bytes(tmp_path, suffix, monkeypatch):
    contents = []
    for k, moment in enumerate((1e9, 1.5e9)):
        monkeypatch.setattr(time, "time", lambda moment=moment: moment)
        path = tmp_path / f"{k}{suffix}"
        save_training(path, with_numbers(Adam, [1.0, 2.0], "ab"))
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_a_million_parameters_take_their_bytes_and_little_more(tmp_path):
    path = tmp_path / "t.npz"
    count = 100_000
    save_training(path, with_numbers(SGD, [0.1] * count))
    assert path.stat().st_size < count * (16 + 12) + 4096


def test_files_of_numpy_need_no_numpy(tmp_path):
    program = """
import sys
sys.modules["numpy"] = None
from minigrad import Value, load_params, load_training, save_training
from minigrad.optim import SGD
optimizer = SGD([Value(1.5)])
save_training(sys.argv[1], optimizer)
load_params(optimizer, [0.0])
load_training(sys.argv[1], optimizer)
print(optimizer.parameters[0].data)
"""
    run = [sys.executable, "-c", program, tmp_path / "t.npz"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "1.5\n"


# ---- what is given ------------------------------------------------------------------------------


@pytest.mark.smoke
def test_what_is_given_is_checked(tmp_path):
    optimizer = with_numbers(SGD, [1.0])
    for call in (save_training, load_training):
        with pytest.raises(
            TypeError, match=f"{call.__name__}.*got SGD as the path; the path comes"
        ):
            call(optimizer, tmp_path / "t.npz")
        with pytest.raises(TypeError, match="got MLP; give the optimiser, or what train_step ret"):
            call(tmp_path / "t.npz", MLP(1, [1]))
        with pytest.raises(ValueError, match=r"t.json' ends in '.json'; let it end in .npz, or in"):
            call(tmp_path / "t.json", optimizer)
        with pytest.raises(ValueError, match="ends in ''"):
            call(tmp_path / "t", optimizer)
    with pytest.raises(FileNotFoundError):
        load_training(tmp_path / "t.npz", optimizer)
    assert os.listdir(tmp_path) == []


def test_without_the_package_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    path = tmp_path / "t.safetensors"
    with pytest.raises(ImportError, match="Install it: pip install safetensors; or let .*npz$"):
        save_training(path, with_numbers(SGD, [1.0]))
    path.write_bytes(b"")
    with pytest.raises(ImportError, match="Install it: pip install safetensors"):
        load_training(path, with_numbers(SGD, [1.0]))


def test_a_state_that_no_file_can_name(tmp_path):
    class Odd(SGD):
        state_names = ("a b",)

    with pytest.raises(ValueError, match="the state 'a b' of Odd cannot be saved; call it by a"):
        save_training(tmp_path / "t.npz", with_numbers(Odd, [1.0]))
    optimizer = with_numbers(SGD, [1.0, 2.0])
    del optimizer.state["velocity"][-1]
    with pytest.raises(ValueError, match="the state 'velocity': 2 Values but 1 numbers"):
        save_training(tmp_path / "t.npz", optimizer)


def test_not_inside_a_compiled_function(tmp_path):
    optimizer = with_numbers(SGD, [1.0])

    def run(x):
        save_training(tmp_path / "t.npz", optimizer)
        return x * x

    with pytest.raises(minigrad.TraceError, match="save_training"):
        minigrad.compile(run, strict=True)(2.0)


# ---- files of another training ------------------------------------------------------------------


def refused(path, target, words):
    """Have a file refused, by these words, and nothing changed; return the message."""
    before = seen(target.optimizer if hasattr(target, "optimizer") else target)
    with pytest.raises(CheckpointError, match=words) as caught:
        load_training(path, target)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()
    assert len(message) < 400 + len(str(path))
    assert message.endswith((".", "?"))
    assert seen(target.optimizer if hasattr(target, "optimizer") else target) == before
    return message


@pytest.mark.parametrize(
    ("saved", "here", "words"),
    [
        ("abc", "ab", "parameter 'c' is in the file but not in the model; the file has 3 para"),
        ("ab", "abc", "parameter 'c' is in the model but not in the file; .* 2 parameters, the mo"),
        ("abcde", "ab", "parameter 'c' is in the file but not in the model, like 2 more;"),
        ("ab", "ac", "parameter 'b' is in the file but not in the model"),
        ("ab", "ba", "parameter 'b' is number 1 in the file but number 0 in the model. Give"),
        (["", "", ""], ["", ""], "parameter 'p2' is in the file but not in the model"),
        ("aa", "a", "parameter 'a#2' is in the file but not in the model"),
    ],
)
def test_another_model_is_refused_by_the_name_of_a_parameter(tmp_path, saved, here, words, suffix):
    path = tmp_path / f"t{suffix}"
    save_training(path, with_numbers(Adam, [1.0] * len(saved), saved))
    refused(path, with_numbers(Adam, [2.0] * len(here), here), words)


def test_another_optimiser_is_refused(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    save_training(path, with_numbers(Adam, [1.0]))
    refused(path, with_numbers(AdamW, [2.0]), "saved from Adam, but the optimiser here is AdamW")

    class Adam2(SGD):
        pass

    Adam2.__name__ = "Adam"
    refused(path, with_numbers(Adam2, [2.0]), "has the state 'first', which Adam here has not")


def test_another_program_is_refused_if_both_are_known(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    source = SimpleNamespace(optimizer=with_numbers(Lion, [1.0]), program_hash="ab" * 32)
    save_training(path, source)
    target = SimpleNamespace(optimizer=with_numbers(Lion, [2.0]), program_hash="cd" * 32)
    words = "saved from the training of another program, ababababab.*than cdcdcdcd"
    refused(path, target, words)
    for known in ("", None, "ab" * 32):
        target.optimizer.parameters[0].data = 2.0
        target.program_hash = known
        load_training(path, target)
        assert seen(target.optimizer) == seen(source.optimizer)
    target.optimizer.parameters[0].data = 2.0
    target.program_hash = "cd" * 32
    load_training(path, target.optimizer)  # as the message says
    assert seen(target.optimizer) == seen(source.optimizer)


def test_names_from_a_file_do_nothing_to_a_terminal(tmp_path):
    path = tmp_path / "t.npz"
    save_training(path, with_numbers(SGD, [1.0], ["\x1b[2J\u202e" + "x" * 999]))
    message = refused(path, with_numbers(SGD, [1.0]), "is in the file but not in the model")
    assert "␛[2J⟨U+202E⟩xxx" in message


# ---- files that nobody saved ----------------------------------------------------------------


def parts(**changes):
    """The document and the arrays of a sound file for two parameters of SGD; None leaves out."""
    document = {
        "format": "minigrad training",
        "version": 1,
        "optimizer": "SGD",
        "steps": 3,
        "program_hash": "",
        "state": ["velocity"],
        "names": ["p0", "p1"],
    }
    arrays = {"parameters": np.array([1.0, 2.0]), "state.velocity": np.array([3.0, 4.0])}
    for name, x in changes.items():
        key = name.replace("__", ".")
        kind = arrays if key in arrays or isinstance(x, np.ndarray) else document
        kind[key] = x
    return [{k: x for k, x in kind.items() if x is not None} for kind in (document, arrays)]


def digested(document, arrays):
    """The text of the document with its digest, by the definition of the format."""
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(arrays[name].tobytes())
    return json.dumps({**document, "sha256": digest.hexdigest()}).encode()


def write(path, document, arrays, text=None):
    text = digested(document, arrays) if text is None else text
    if path.suffix == ".npz":
        np.savez(path, training=np.frombuffer(text, "u1"), **arrays)
    else:
        from safetensors.numpy import save

        path.write_bytes(save(arrays, {"training": text.decode()}))


def small():
    return with_numbers(SGD, [7.0, 8.0])


def test_a_file_made_by_hand_is_read(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write(path, *parts())
    target = small()
    load_training(path, target)
    assert seen(target) == (bits([1.0, 2.0]), {"velocity": bits([3.0, 4.0])}, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "else"}, "not a file of minigrad training"),
        ({"format": None}, "not a file of minigrad training"),
        ({"version": 9}, "version 9; this minigrad reads 1"),
        ({"version": True}, "version True"),
        ({"optimizer": None}, "'optimizer' is missing"),
        ({"optimizer": 5}, "'optimizer' is not a text"),
        ({"program_hash": 5}, "'program_hash' is not a text"),
        ({"steps": None}, "'steps' is missing"),
        ({"steps": -1}, "'steps' is not a count of steps"),
        ({"steps": True}, "'steps' is not a count"),
        ({"steps": 3.0}, "'steps' is not a count"),
        ({"steps": 2**63}, "'steps' is not a count"),
        ({"names": None}, "'names' is missing"),
        ({"names": ["p0", 1]}, "'names' is not a list of names"),
        ({"names": ["p0", "p0"]}, "'names' is not a list of names, each there once"),
        ({"names": "p0"}, "'names' is not a list"),
        ({"state": None}, "'state' is missing"),
        ({"state": [["velocity"]]}, "'state' is not a list of names"),
        ({"state": ["velocity", "more"]}, "the array 'state.more' is missing"),
        ({"state": []}, "'state.velocity' is no part of a checkpoint"),
        ({"parameters": None}, "the array 'parameters' is missing"),
        ({"state__velocity": None}, "the array 'state.velocity' is missing"),
        ({"more": np.array([1.0])}, "'more' is no part of a checkpoint"),
        ({"parameters": np.array([1.0, 2.0], "f4")}, "'parameters' is of the type <f4, not <f8"),
        ({"parameters": np.array([1, 2])}, "'parameters' is of the type <i8, not <f8"),
        ({"parameters": np.array([[1.0, 2.0]])}, r"'parameters' has the shape \(1, 2\)"),
        ({"parameters": np.array(1.0)}, r"'parameters' has the shape \(\)"),
        (
            {"parameters": np.array([1.0])},
            "'parameters' has 1 number for 2 parameters, none for 'p1'",
        ),
        (
            {"state__velocity": np.array([1.0, 2.0, 3.0])},
            "'state.velocity' has 3 numbers for 2 parameters, too many",
        ),
        ({"names": ["p0"]}, "'parameters' has 2 numbers for 1 parameter, too many"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, changes, words, suffix):
    path = tmp_path / f"t{suffix}"
    write(path, *parts(**changes))
    refused(path, small(), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{not json", "'training' is no JSON text"),
        (b"", "'training' is no JSON text"),
        (b"[" * 100_000, "'training' is no JSON text"),
        (b'{"steps": NaN}', "NaN is no number in JSON"),
        (b'{"steps": ' + b"9" * 5000 + b"}", "'training' is no JSON text"),
        (b'{"format": 1, "format": 2}', "a key is there twice"),
        (b"[]", "not a file of minigrad training"),
        (json.dumps(parts()[0]).encode(), "the digest of the content is another one"),
        (digested(parts()[0], {}), "the digest of the content is another one"),
        (digested(*parts()).replace(b'"steps": 3', b'"steps": 4'), "the digest"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(tmp_path, text, words, suffix):
    path = tmp_path / f"t{suffix}"
    write(path, *parts(), text)
    refused(path, small(), words)


def test_files_of_other_kinds_are_refused(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    for content in (b"", b"\0" * 100, b"PK\x05\x06" + b"\0" * 18, b'{"a": 1}', b"\x08" + b"\0" * 7):
        path.write_bytes(content)
        refused(path, small(), "Is it the right file|so it is not a file of minigrad training")
    arrays = parts()[1]
    if suffix == ".npz":
        np.savez(path, **arrays)
    else:
        from safetensors.numpy import save

        path.write_bytes(save(arrays))
    refused(path, small(), "has no text 'training', so it is not a file of minigrad training")


def test_objects_are_not_unpickled(tmp_path):
    class Mine:
        def __reduce__(self):
            return pytest.fail, ("unpickled",)

    path = tmp_path / "t.npz"
    document, arrays = parts()
    objects = np.array([Mine(), Mine()], object)
    np.savez(path, training=np.frombuffer(digested(document, arrays), "u1"), parameters=objects)
    refused(path, small(), "'parameters' is of the type |O; only numbers are read")


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in members:
            archive.writestr(name, content)


def test_bombs_are_refused_before_they_are_unpacked(tmp_path):
    path = tmp_path / "t.npz"
    zipped(path, [("parameters.npy", bytes(20_000_000))], compression=zipfile.ZIP_DEFLATED)
    refused(path, small(), "'parameters.npy' is compressed, which minigrad's files never are")
    zipped(path, [("parameters.npy", bytes(100))])
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<LL", 100, 100), struct.pack("<LL", 100, 2**31)))
    refused(path, small(), "said to have 2,147,483,648 bytes and 100 at once; the file is damaged")
    # Stored, but said to be larger than the file.
    zipped(path, [("parameters.npy", bytes(100))])
    content = path.read_bytes()
    path.write_bytes(
        content.replace(struct.pack("<LL", 100, 100), struct.pack("<LL", *[2**31] * 2))
    )
    refused(path, small(), "declares 2,147,483,648 bytes of arrays, but has 2.. in all")
    # An array that says it has more numbers than there are.
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    zipped(path, [("parameters.npy", header.getvalue() + bytes(16))])
    refused(path, small(), r"'parameters' has 16 bytes, which are no array of the shape \(1000")


def test_a_file_without_end_is_not_read_to_its_end(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # takes no room on the disk
    refused(path, small(), "has more than 67,.* bytes, which no checkpoint of this model has")


def test_the_same_name_twice_in_an_archive(tmp_path):
    path = tmp_path / "t.npz"
    array = io.BytesIO()
    np.save(array, np.array([1.0]))
    with pytest.warns(UserWarning, match="Duplicate name"):
        zipped(path, [("a.npy", array.getvalue())] * 2)
    refused(path, small(), "'a' is there twice")


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1+1,), }",
        b"((((((((((((((((((((",
        b"",
        b"\xff" * 60,
    ],
)
def test_headers_of_arrays_are_not_evaluated(tmp_path, header):
    path = tmp_path / "t.npz"
    header += b"\n"
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(16)
    for broken in (content, content[:9], b"", content.replace(b"\x01\x00", b"\x09\x00", 1)):
        zipped(path, [("parameters.npy", broken)])
        refused(path, small(), "'parameters' is no array as NumPy writes one")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bytes of a checkpoint, by suffix."""
    folder = tmp_path_factory.mktemp("sound")
    contents = {}
    for ending in (".npz", ".safetensors"):
        if ending == ".npz" or "safetensors" in sys.modules or _has_safetensors():
            save_training(folder / f"t{ending}", _model(1.0))
            contents[ending] = (folder / f"t{ending}").read_bytes()
    return contents


def _has_safetensors():
    import importlib.util

    return importlib.util.find_spec("safetensors") is not None


def _model(start):
    return with_numbers(Adam, [start, start + 0.25, -0.0], ["w", "b", "c"])


def loads_or_is_refused(path, content):
    """Load damaged bytes: as they were saved, or not at all; tell whether they were loaded."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    target = _model(5.0)
    before, message = seen(target), ""
    try:
        load_training(path, target)
    except CheckpointError as error:
        message = str(error)
    assert readable(message) == message  # does nothing to a terminal
    assert seen(target) == (before if message else seen(_model(1.0)))
    return not message


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused_or_are_as_they_were(tmp_path, sound, data):
    ending = data.draw(st.sampled_from(sorted(sound)))
    content = bytearray(sound[ending])
    places = st.integers(0, len(content) - 1)
    kind = data.draw(st.sampled_from(["bits", "bytes", "cut", "removed", "inserted", "moved"]))
    at = data.draw(places)
    if kind == "bits":
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "bytes":
        for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1)):
            content[place] = byte
    elif kind == "cut":
        del content[at:]
    elif kind == "removed":
        del content[at : at + data.draw(st.integers(1, 64))]
    elif kind == "inserted":
        content[at:at] = data.draw(st.binary(min_size=1, max_size=64))
    else:
        source = data.draw(places)
        content[at : at + 8] = content[source : source + 8]
    loads_or_is_refused(tmp_path / f"d{ending}", bytes(content))


def test_every_cut_and_a_flip_of_every_byte(tmp_path, sound):
    dice, loaded = random.Random(0), 0
    for ending, content in sound.items():
        path = tmp_path / f"d{ending}"
        for k in range(len(content)):
            assert not loads_or_is_refused(path, content[:k])
            flipped = bytearray(content)
            flipped[k] ^= 1 << dice.randrange(8)
            loaded += loads_or_is_refused(path, bytes(flipped))
    assert 0 < loaded < 250  # dates, permissions and the like; never a number


# ---- writers that are killed ----------------------------------------------------------------

WRITER = """
import os, sys
from minigrad import Value, save_training
from minigrad.optim import SGD
path, count, start = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
optimizer = SGD([Value(0.0) for _ in range(count)], momentum=0.9)
for k in range(start, 10**9):
    state = {"velocity": [float(-k)] * count}
    optimizer.load_state_dict({"optimizer": "SGD", "steps": k, "state": state})
    for parameter in optimizer.parameters:
        parameter.data = float(k)
    save_training(path, optimizer)
    if k == start:
        os.write(1, b"ready")
"""


def test_a_kill_leaves_the_old_or_the_new_one_whole(tmp_path, suffix):
    dice, count, later = random.Random(suffix), 2000, 0
    path = tmp_path / f"t{suffix}"
    target = SGD([Value(0.0) for _ in range(count)], momentum=0.9)
    for start in range(1, 6_000_000, 1_000_000):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(count), str(start)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.read(child.stdout.fileno(), 5)
        time.sleep(dice.uniform(0.0, 0.2))
        child.kill()
        assert finished(child) == ""
        load_training(path, target)
        assert target.steps >= start
        assert {p.data for p in target.parameters} == {float(target.steps)}
        assert set(target.state["velocity"]) == {-float(target.steps)}
        later += target.steps > start
    assert later > 0
    save_training(path, target)
    assert temporaries(tmp_path) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"t{suffix}"
    save_training(path, small())
    old = path.read_bytes()

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_training(path, with_numbers(SGD, [1.0]))
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == [path.name]
