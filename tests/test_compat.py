"""Standing in for micrograd, in a fresh interpreter each time."""

from __future__ import annotations

import subprocess
import sys

import pytest


def python(program):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


NOTEBOOK = """
import random
import micrograd
from micrograd.engine import Value
from micrograd.nn import Neuron, Layer, MLP
import micrograd.engine, micrograd.nn as nn

random.seed(1337)
model = MLP(2, [16, 16, 1])
print(model)
print("number of parameters", len(model.parameters()))
score = model([Value(1.0), Value(-2.0)])
score.backward()
print(score.data, model.parameters()[0].grad, isinstance(model, nn.Module))
"""


def test_one_line_makes_micrograd_resolve_to_minigrad():
    done = python("import minigrad.compat.micrograd\n" + NOTEBOOK)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)")
    assert lines[1] == "number of parameters 337"
    check = python(
        "import minigrad.compat.micrograd, micrograd.engine, minigrad;"
        "print(micrograd.engine.Value is minigrad.Value)"
    )
    assert check.stdout.strip() == "True"


@pytest.mark.oracle
def test_the_notebook_gives_what_micrograd_gives(micrograd):
    ours = python("import minigrad.compat.micrograd\n" + NOTEBOOK)
    theirs = python(NOTEBOOK)
    assert theirs.returncode == 0, theirs.stderr
    *our_text, our_numbers = ours.stdout.splitlines()
    *their_text, their_numbers = theirs.stdout.splitlines()
    assert our_text == their_text
    for a, b in zip(our_numbers.split()[:2], their_numbers.split()[:2], strict=True):
        assert float(a) == pytest.approx(float(b), rel=1e-12)


@pytest.mark.oracle
def test_too_late_is_refused(micrograd):
    done = python("import micrograd.engine\nimport minigrad.compat.micrograd")
    assert done.returncode != 0
    assert "Put `import minigrad.compat.micrograd` first" in done.stderr


def test_twice_is_harmless_and_star_imports_work():
    done = python(
        "import minigrad.compat.micrograd, importlib\n"
        "importlib.reload(minigrad.compat.micrograd)\n"
        "from micrograd.nn import *\nfrom micrograd.engine import *\n"
        "print(MLP(1, [1])([Value(1)]).data != 0)"
    )
    assert done.stdout.strip() == "True", done.stderr
