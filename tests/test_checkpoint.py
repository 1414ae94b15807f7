"""Saved parameters: round trips to the bit, suspicion on reading, nothing lost on failure."""

from __future__ import annotations

import json
import math
import os
import stat
from array import array
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hostile_checkpoints import hostile, sound
from hypothesis import given
from hypothesis import strategies as st

from minigrad import CheckpointError, Value, load_parameters, load_params, save_parameters
from minigrad.core import files
from minigrad.nn import MLP
from minigrad.optim import SGD


@pytest.mark.smoke
def test_a_network_comes_back_to_the_bit(tmp_path):
    path = tmp_path / "model.json"
    model = MLP(2, [4, 1], seed=1)
    save_parameters(path, model)
    other = MLP(2, [4, 1], seed=2)
    load_parameters(path, other)
    assert [p.data for p in other.parameters()] == [p.data for p in model.parameters()]
    document = json.loads(path.read_text())
    assert document["format"] == "minigrad parameters"
    assert document["model"] == repr(model)


@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_every_float_survives(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("any") / "p.json"
    save_parameters(path, [Value(x) for x in numbers])
    json.loads(path.read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN, no Infinity
    loaded = [Value(0.0) for _ in numbers]
    load_parameters(path, loaded)
    for x, v in zip(numbers, loaded, strict=True):
        assert (math.isnan(x) and math.isnan(v.data)) or (
            x == v.data and math.copysign(1, x) == math.copysign(1, v.data)
        )


@pytest.mark.smoke
def test_another_model_is_refused_even_if_the_numbers_would_fit(tmp_path):
    path = tmp_path / "model.json"
    save_parameters(path, MLP(2, [4, 1], seed=1))
    other = MLP(2, [4, 1], activation="tanh", seed=2)
    before = [p.data for p in other.parameters()]
    with pytest.raises(CheckpointError, match="ReLUNeuron.*than.*TanhNeuron"):
        load_parameters(path, other)
    assert [p.data for p in other.parameters()] == before
    load_parameters(path, other.parameters())  # a list of Values takes any numbers
    assert [p.data for p in other.parameters()] != before


def test_a_link_is_followed(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    save_parameters(real, [Value(1.0)])
    link.symlink_to(real)
    save_parameters(link, [Value(2.0)])
    assert link.is_symlink()
    target = Value(0.0)
    load_parameters(real, [target])
    assert target.data == 2.0


def test_only_values_are_saved(tmp_path):
    with pytest.raises(TypeError, match="parameters are Values, got float"):
        save_parameters(tmp_path / "p.json", [1.0])


def test_swapped_arguments(tmp_path):
    with pytest.raises(TypeError, match="the path comes first"):
        save_parameters(MLP(1, [1]), tmp_path / "m.json")
    with pytest.raises(TypeError, match="the path comes first"):
        load_parameters(MLP(1, [1]), tmp_path / "m.json")


def good(**changes):
    return {"format": "minigrad parameters", "version": 1, "data": [1.0, 2.0], **changes}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{not json", "not a JSON text"),
        ("[1, 2]", "not a file of minigrad parameters"),
        (json.dumps(good(format="else")), "not a file of minigrad parameters"),
        (json.dumps(good(version=9)), "version 9"),
        (
            json.dumps(good(data=[1.0])),
            "'p1' is in the model but not in the file; the file has 1 p",
        ),
        (json.dumps(good(data=[1.0, "x"])), "damaged"),
        (json.dumps(good(data=[1.0, True])), "damaged"),
        (json.dumps(good(data=None)), "damaged"),
        (json.dumps(good(data=[1.0, 10**400])), "too large"),
        (json.dumps(good(data=[1.0, True], version=True)), "version True"),
        ("[" * 100_000, "not a JSON text"),
        (sound(["1e999", "1.0"]), "the number 1e999 is too large"),
        (sound(["1.0", "-1e400"]), "the number -1e400 is too large"),
        (sound(["1.0", "9" * 5000]), "the number 9{29}… is too large"),
        (sound(["NaN", "1.0"]), "NaN is no number in JSON"),
        (sound(["1.0", "-Infinity"]), "-Infinity is no number in JSON"),
        (sound(["1.0", "2.0"], more="1e999"), "too large"),
        (sound(["1.0", "2.0"], model="5"), "'model' is not a text"),
        (sound(["1.0", "2.0"])[:-1] + ', "data": [3.0, 4.0]}', "a key is there twice"),
        (sound(["1.0", "2.0"], version='"' + "x" * 999 + '"'), "version 'x{58}…; this minigrad"),
        ("", "not a JSON text"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path, text, words):
    path = tmp_path / "p.json"
    path.write_text(text)
    target = [Value(7.0), Value(8.0)]
    with pytest.raises(CheckpointError, match=words) as caught:
        load_parameters(path, target)
    assert str(path) in str(caught.value)
    assert [v.data for v in target] == [7.0, 8.0]


def test_files_in_the_other_encodings_of_json_and_a_minus_before_zero(tmp_path):
    path = tmp_path / "p.json"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32-be"):
        path.write_bytes(sound(["-0", "2"]).encode(encoding))
        target = [Value(7.0), Value(8.0)]
        load_parameters(path, target)
        assert [repr(v.data) for v in target] == ["-0.0", "2.0"]


def test_texts_from_a_file_do_nothing_to_a_terminal(tmp_path):
    path = tmp_path / "p\x1b[2J.json"
    path.write_text(sound(["1.0"] * 9, model='"\\u001b[2J\\u202e\\ud800"'), encoding="utf-8")
    with pytest.raises(CheckpointError, match="saved from another model") as caught:
        load_parameters(path, MLP(2, [2, 1]))
    assert str(caught.value).isprintable()
    assert "␛[2J⟨U+202E⟩⟨U+D800⟩" in str(caught.value)


def test_hostile_files_are_refused_by_a_sentence_or_are_right(tmp_path):
    counts = hostile(400, seed=1, folder=tmp_path)
    assert counts.failures == []
    assert counts.refused > 150
    assert counts.loaded > 10


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "p.json"
    save_parameters(path, [Value(1.0)])
    old = path.read_text()

    def fail(descriptor):
        raise OSError("disk full")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_parameters(path, [Value(2.0)])
    assert path.read_text() == old
    assert os.listdir(tmp_path) == ["p.json"]


def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    path = tmp_path / "p.txt"
    files.write_atomically(path, "a")
    plain = tmp_path / "plain.txt"
    plain.write_text("a")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o600)
    files.write_atomically(path, "ß")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8") == "ß"


def test_a_missing_folder_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder.*nowhere'$"):
        save_parameters(tmp_path / "nowhere" / "p.json", [Value(1.0)])


# ---- load_params: numbers from anywhere -----------------------------------------------------


def labelled(*labels):
    values = [Value(7.0) for _ in labels]
    for value, label in zip(values, labels, strict=True):
        value.label = label
    return values


def numbers_of(values):
    return [repr(v.data) for v in values]


@pytest.mark.smoke
@pytest.mark.parametrize(
    "params",
    [
        [1.5, -0.0, math.inf],
        (1.5, Decimal("-0.0"), math.inf),
        array("d", [1.5, -0.0, math.inf]),
        iter([Fraction(3, 2), -0.0, math.inf]),
        {"b": -0.0, "w#2": math.inf, "w": 1.5},
    ],
    ids=["list", "tuple", "array", "iterator", "dict"],
)
def test_numbers_go_into_the_parameters(params):
    values = labelled("w", "b", "w")
    load_params(values, params)
    assert numbers_of(values) == ["1.5", "-0.0", "inf"]


def test_vectors_of_numpy():
    np = pytest.importorskip("numpy")
    values = labelled("w", "", "w")
    for kind in ("f8", "f4", "f2", "g", ">f8"):
        load_params(values, np.array([1.5, -0.0, math.inf], kind))
        assert numbers_of(values) == ["1.5", "-0.0", "inf"]
    load_params(values, np.array([1, 2, 3], "u1"))
    assert numbers_of(values) == ["1.0", "2.0", "3.0"]
    load_params(values, np.arange(6.0)[::2])
    assert numbers_of(values) == ["0.0", "2.0", "4.0"]
    load_params(values, {"w": np.float32(0.5), "p1": np.array(3), "w#2": np.float64(1.0)})
    assert numbers_of(values) == ["0.5", "3.0", "1.0"]
    with pytest.raises(ValueError, match=r"params has the shape \(1, 3\); give a flat vector"):
        load_params(values, np.zeros((1, 3)))
    with pytest.raises(TypeError, match="parameter 'w': got complex"):
        load_params(values, np.array([1j, 2.0, 3.0]))
    with pytest.raises(TypeError, match="parameter 'p1': got str"):
        load_params(values, np.array([1.0, "x", 3.0], object))
    with pytest.raises(TypeError, match="parameter 'p1': got ndarray; it holds one number"):
        load_params(values, {"w": 1.0, "p1": np.zeros(2), "w#2": 1.0})
    assert numbers_of(values) == ["0.5", "3.0", "1.0"]


@pytest.mark.oracle
def test_vectors_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    values = labelled("w", "")
    for kind in ("float32", "bfloat16", "int32"):
        load_params(values, jnp.array([2.0, -4.0], kind))
        assert numbers_of(values) == ["2.0", "-4.0"]
    load_params(values, {"w": jnp.array(0.5), "p1": jnp.array(3)})
    assert numbers_of(values) == ["0.5", "3.0"]


def test_whatever_has_parameters_is_a_target():
    model = MLP(1, [1], seed=1)
    optimizer = SGD(model.parameters())
    targets = [
        model,
        optimizer,
        SimpleNamespace(optimizer=optimizer),
        SimpleNamespace(parameters=model.parameters()),
        tuple(model.parameters()),
    ]
    for k, target in enumerate(targets):
        load_params(target, [float(k), -1.0])
        assert [p.data for p in model.parameters()] == [float(k), -1.0]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ([1.0, 2.0], ValueError, "2 numbers for 3 parameters, none for 'c'; give one for each"),
        ([1.0] * 4, ValueError, "4 numbers for 3 parameters, too many for 'a', 'b', 'c'"),
        ({"a": 1.0, "c": 2.0}, ValueError, "parameter 'b' is in the model but not in params"),
        (
            {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0},
            ValueError,
            "parameter 'd' is in params but not in the model, which has 'a', 'b', 'c'",
        ),
        ({"a": 1.0, "b": 1.0, 2: 1.0}, ValueError, "parameter '2' is in params but not in the m"),
        ([1.0, "2", 3.0], TypeError, "parameter 'b': got str; it holds one number"),
        ([1.0, 2.0, None], TypeError, "parameter 'c': got NoneType"),
        ({"a": 1.0, "b": [2.0], "c": 3.0}, TypeError, "parameter 'b': got list"),
        ([1.0, 2.0, 10**400], OverflowError, "parameter 'c': this int is too large"),
        ([Value(1.0), 2.0, 3.0], TypeError, "parameter 'a': got Value.*Take its number, v.data"),
        ("123", TypeError, "params: got str; give a list"),
        (3.0, TypeError, "params: got float; give a list"),
    ],
)
def test_numbers_that_do_not_fit_are_refused_by_name_and_change_nothing(params, error, words):
    values = labelled("a", "b", "c")
    with pytest.raises(error, match=words):
        load_params(values, params)
    assert numbers_of(values) == ["7.0"] * 3


def test_targets_without_parameters_are_refused():
    with pytest.raises(TypeError, match="target: got int; give a list"):
        load_params(3, [1.0])
    with pytest.raises(TypeError, match="parameters are Values, got float among them"):
        load_params([1.0], labelled("a"))
