"""Operations that are not in the doctor's table: their gradients must fit their own values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sound_engines import source

from minigrad.check.doctor.answers import examine_here
from minigrad.check.doctor.differences import STEP, misfit, points
from minigrad.check.doctor.findings import report

METHODS = """
    def sin(self):
        return self._make(math.sin(self.data), (self,), (math.cos(self.data),))

    def elu(self, alpha=0.5):
        x = self.data
        y = x if x > 0 else alpha * (math.exp(x) - 1)
        return self._make(y, (self,), (1.0 if x > 0 else y + alpha,))

    def larger(self, other):
        first = self.data > other.data
        return self._make(max(self.data, other.data), (self, other), (first * 1.0, 1.0 - first))

    def linear(self, weights, bias):
        return sum((self * w for w in weights), bias)

    def detach(self):
        return Value(self.data)

    def frozen(self):
        return Value(self.data)

    def rounded(self):
        return self._make(float(round(self.data)), (self,), (1.0,))

    def halves(self):
        return self.data / 2, self.data / 2

    def _order(self):
"""


def engine(old="", new=""):
    text = source("tuple_prev").replace("    def _order(self):\n", METHODS.lstrip("\n"))
    assert old in text
    return report("engine.py", examine_here(text.replace(old, new) if old else text, seed=3))


def test_sound_ones_pass_and_what_nobody_can_ask_is_listed():
    found = engine()
    assert found.findings == ()
    assert found.unexamined == ("linear",)
    assert "not examined: linear" in found.text(width=200)


@pytest.mark.parametrize(
    ("code", "old", "new"),
    [
        ("slip_sin", "(math.cos(self.data),)", "(-math.cos(self.data),)"),
        ("wrong_elu", "y + alpha,)", "y,)"),
        ("wrong_larger", "1.0 - first))", "1.0))"),
        ("wrong_sin", "(self,), (math.cos(self.data),)", "(), ()"),
    ],
)
def test_wrong_ones_are_found_by_their_own_values(code, old, new):
    (fault,) = engine(old, new).faults
    name = code.partition("_")[2]
    assert fault.code == code
    assert fault.told[0] == name
    assert f".{name}(" in fault.written({})
    line = new if code.startswith("slip_") else f"def {name}("
    assert line in fault.text


@given(st.integers(0, 2**32), st.floats(0.5, 2.0), st.floats(-3.0, 3.0))
def test_a_gradient_fits_exactly_where_it_is_the_derivative(seed, scale, error):
    asked = [[x] for x, _ in points(seed)]
    answers = [
        {
            "around": [[math.sin(scale * (x + j * STEP)) for j in (-2, -1, 1, 2)]],
            "grads": [3.0 * (scale * math.cos(scale * x) + error)],
        }
        for (x,) in asked
    ]
    found = misfit("wave", asked, answers)
    assert (found is None) if abs(error) < 1e-4 else (abs(error) < 0.01 or found is not None)


def test_kinks_and_errors_say_nothing():
    kink = {"around": [[-2.0, -1.0, 5.0, 6.0]], "grads": [17.0]}
    assert misfit("kink", [[0.0]], [kink]) is None
    assert misfit("log", [[0.0]], [{"error": "ValueError"}]) is None
