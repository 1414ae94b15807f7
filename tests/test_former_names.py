"""Pickles that version 0.1 has written are read, though their modules have moved."""

from __future__ import annotations

import base64
import json
import math
import pickle
from pathlib import Path

import pytest

import minigrad
from minigrad import Value
from minigrad.calculus import steps
from minigrad.core.former_names import FORMER_NAMES
from minigrad.core.graph import topological_order

PICKLES = json.loads(Path(__file__).with_name("golden").joinpath("pickles_0.1.json").read_text())


def read(name):
    return pickle.loads(base64.b64decode(PICKLES[name]))


def test_a_graph():
    out = read("graph")
    a = next(node for node in topological_order(out) if node.label == "a")
    assert (out.data, a.grad) == (math.tanh(7.0), pytest.approx(3.0 / math.cosh(7.0) ** 2))
    out.backward()
    assert a.grad == pytest.approx(6.0 / math.cosh(7.0) ** 2)


def test_a_network_and_its_optimiser():
    model, adam = read("mlp"), read("adam")
    assert isinstance(model([1.0, 2.0]), Value)
    assert adam.steps == 1
    adam.step()


def test_what_was_recorded_and_explained():
    assert [step.op for step in read("steps")] == ["tanh", "+", "+", "*", "*"]
    assert "tanh" in str(read("explanation"))


def test_a_class_that_was_renamed():
    tape = pickle.loads(b"cminigrad.record\nTape\n.")  # protocol 0: a class by its name
    assert tape is steps.PassRecord


def test_a_compiled_function():
    pytest.importorskip("numpy")
    assert read("compiled")(3.0, 4.0).data == 5.0


def test_former_names_hide_no_public_one():
    assert callable(minigrad.record)
    assert callable(minigrad.explain)
    for former in FORMER_NAMES:
        module = __import__(f"minigrad.{former}", fromlist=["__all__"])
        assert module.__name__ == f"minigrad.{former}"
    assert callable(minigrad.record)


def test_an_import_that_the_guide_named():
    from minigrad.graph import counts

    assert counts(minigrad.Value(2.0) * 3.0).edges == 2


def test_what_micrograd_calls_its_modules():
    module = __import__("minigrad.engine", fromlist=["Value"])
    assert module.Value is Value
    assert minigrad.engine() in ("native", "pure")  # which is a function all the same
