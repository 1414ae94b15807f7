"""Errors that end alike, and what the line in question tells of them."""

import pytest

from minigrad.check import diagnose_here
from minigrad.check.doctor.crashes import Lines
from minigrad.check.doctor.evidence import Evidence
from minigrad.check.doctor.lines import marks_of
from minigrad.check.doctor.signatures import source

CLOSURE = source("closure")
WRAP = "        other = other if isinstance(other, Value) else Value(other)\n"


def refined(text, line, code, told=(), error="TypeError", data="data"):
    evidence = Evidence(marks_of(text), "Value")
    outcome = {"error": error, "line": line, "message": ""}
    return Lines(text, data, evidence).refined(code, told, outcome)


@pytest.mark.parametrize(
    ("line", "data", "name"),
    [
        ("out = Value(self.data ** other)", "data", "other"),
        ("out = Value(other * self.data**2)", "data", "other"),
        ("return Value(self.value-that, (self,))", "value", "that"),
        ("out = Value(self.data ** other.data)", "data", ""),
        ("return self.data + f(other)", "data", ""),
        ("return 1 / (1 + (-self).exp())", "data", ""),
    ],
)
def test_a_value_among_numbers_is_told_by_its_name(line, data, name):
    wanted = ("value_among_numbers", (name,)) if name else ("missing_reflected", ("**", "Value"))
    assert refined(line, 1, "missing_reflected", ("**", "Value"), data=data) == wanted


def test_an_argument_is_no_attribute():
    text = "class Value:\n    def __add__(self, other):\n        return Value(self.other)\n"
    told = ("Value", "other")
    found = refined(text, 3, "missing_attribute", told, "AttributeError")
    assert found == ("argument_as_attribute", ("other",))
    misspelt = text.replace("self.other", "self.dta")
    told = ("Value", "dta")
    found = refined(misspelt, 3, "missing_attribute", told, "AttributeError")
    assert found == ("missing_attribute", told)


def test_a_line_that_is_not_there_tells_nothing():
    assert refined("", None, "number_inside", ("int", "data")) == ("number_inside", ("int", "data"))
    assert refined("x", 7, "missing_reflected", ()) == ("missing_reflected", ())


def test_a_wrapped_number_is_kept_or_thrown_away():
    lost = CLOSURE.replace(WRAP, WRAP.replace("other = other if", "other if"))
    assert [f.code for f in diagnose_here(lost).faults] == ["wrap_lost"]
    assert "discards __mul__" in marks_of(lost)["Value"]
    assert not any(mark.startswith("discards") for mark in marks_of(CLOSURE)["Value"])


def test_a_logarithm_for_the_exponent_is_not_a_power_by_logarithms():
    rule = "self.grad += n * self.data ** (n - 1) * out.grad  # pow"
    assert CLOSURE.count(rule) == 1
    text = CLOSURE.replace(rule, f"{rule}\n            _ = math.log(self.data)")
    assert [f.code for f in diagnose_here(text).faults] == ["exponent_log"]
    by_logarithms = CLOSURE.replace("self.data**n,", "math.exp(n * math.log(self.data)),")
    assert [f.code for f in diagnose_here(by_logarithms).faults] == ["pow_negative_base"]


def test_a_right_operand_whose_gradient_is_wrong_is_not_forgotten():
    # b.grad stays 0 either way; here the rule has a line for it.
    old = "other.grad += self.data * out.grad  # mul, right"
    assert CLOSURE.count(old) == 1
    slip = CLOSURE.replace(old, "other.grad += self.data * other.grad")
    (finding,) = diagnose_here(slip).faults
    assert finding.code == "slip_mul"
    assert "self.data * out.grad  instead" in finding.fix
    forgotten = CLOSURE.replace(old, "pass")
    assert [f.code for f in diagnose_here(forgotten).faults] == ["one_sided_mul"]


def test_a_class_without_any_pass_hides_none():
    text = """
class Value:
    def __init__(self, data, _children=()):
        self.data = data
        self.grad = 0.0
        self.backward = lambda: None
        self._prev = set(_children)

    def __add__(self, other):
        return Value(self.data + other.data, (self, other))

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other))
"""
    assert [f.code for f in diagnose_here(text).faults] == ["no_pass"]


def test_what_has_a_name_comes_before_what_has_none():
    # tanh fails in one point, and relu overwrites: the latter can be told.
    text = CLOSURE.replace("t = math.tanh(self.data)", "t = math.tanh(1 / (1 / self.data))")
    text = text.replace("self.grad += (out.data > 0)", "self.grad = (out.data > 0)")
    codes = [finding.code for finding in diagnose_here(text).faults]
    assert codes == ["overwrite_relu", "crash"]
