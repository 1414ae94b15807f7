"""Methods, properties and functions of the engine, handed what they do not expect.

Compiled, a typed argument that nobody checks is read as a node whatever it is: a wrong number, or
the end of the process. `unbound.py` makes the calls, in processes of their own; the rules are here.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import minigrad
from minigrad import Value

ENGINES = ["pure"] + ["native"] * (minigrad.engine() == "native")
PARTS = ["methods", "functions", "operators", "graphs"]
REFUSALS = ("! TypeError", "! AttributeError")
# In the pure engine these ask nothing of a Value that another object could not answer.
NEED_NO_NODE = ("__pos__", "conjugate", "__hash__", "__format__", "clip", "_attributes")


@cache
def calls(engine, part):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(Path(__file__).with_name("unbound.py")), part],
        env={**os.environ, "MINIGRAD_PURE": "1" if engine == "pure" else "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"after {lines[-1]}:\n{done.stderr}"
    assert (lines[0], lines[-1]) == (["engine", engine], ["end"])
    return lines[1:-1]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("engine", ENGINES)
def test_no_call_ends_the_process(engine, part):
    assert len(calls(engine, part)) > 100


def test_the_native_engine_refuses_whatever_is_not_of_the_class():
    if "native" not in ENGINES:
        pytest.skip("the native engine is not here")
    wrong = [call for call in calls("native", "methods") if not call[4]]
    assert len(wrong) > 5000
    assert [call for call in wrong if not call[5].startswith(REFUSALS)] == []


def test_the_pure_engine_makes_no_number_of_what_is_not_a_node():
    wrong = [call for call in calls("pure", "methods") if not call[4]]
    assert len(wrong) > 5000
    for call in wrong:
        owner, name, _, _, _, came = call
        if owner in ("Node", "Value") and name not in NEED_NO_NODE:
            is_number = came.startswith("Value(") or came.lstrip("-")[0].isdigit()
            assert not is_number, call


def test_graphs_that_hold_something_else_are_refused():
    values = {"Value", "product", "zero", "bare Value", "bare subclass"}
    values |= {"bare node"}  # it has all that a pass needs
    for engine in ENGINES:
        for call in calls(engine, "graphs"):
            _, what, held, _, _, came = call
            if held not in values and what != "attached":
                assert came.startswith(REFUSALS), (engine, call)


def test_a_node_that_nobody_has_filled_is_zero_or_nothing():
    """Value.__new__(Value) has no number in the pure engine; native memory starts at 0."""
    for engine in ENGINES:
        for part in ("methods", "operators"):
            found = calls(engine, part)
            zero = {
                json.dumps([*call[:2], *call[3:5]]): call[5] for call in found if call[2] == "zero"
            }
            # A stamp tells when a node was made, and a bare one was not.
            bare = [c for c in found if c[2] == "bare Value" and c[1] != "_stamp"]
            assert bare
            for call in bare:
                same = call[5] == zero[json.dumps([*call[:2], *call[3:5]])]
                assert same or (engine == "pure" and call[5].startswith(REFUSALS)), call


def test_the_engines_agree_wherever_the_native_one_answers():
    if "native" not in ENGINES:
        pytest.skip("the native engine is not here")
    for part in ("methods", "operators"):
        pure = {json.dumps(call[:4]): call[5] for call in calls("pure", part)}
        compared = 0
        for call in calls("native", part):
            key = json.dumps(call[:4])
            if call[1] == "__dir__":  # fields of C have no names
                continue
            if "bare" not in key and key in pure and not call[5].startswith("!"):
                assert call[5] == pure[key], call
                compared += 1
        assert compared > 50


def test_what_a_learner_may_write():
    for wrong in (lambda: list(map(Value.tanh, [0.5, 1.0])), lambda: Value.relu(-1.0)):
        with pytest.raises((TypeError, AttributeError)):
            wrong()
    with pytest.raises((TypeError, AttributeError)):
        Value.backward(3)
    assert [v.data for v in map(Value.relu, [Value(-1.0), Value(2.0)])] == [0.0, 2.0]


def test_methods_tell_their_arguments():
    assert list(inspect.signature(Value.leaky_relu).parameters) == ["self", "slope"]
    assert inspect.signature(Value.leaky_relu).parameters["slope"].default == 0.01
    assert "derivative of this node" in Value.backward.__doc__
