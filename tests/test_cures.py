"""What no row of the catalogue explains is explained by the change of the file that mends it."""

import json

import pytest

from minigrad.check import diagnose, diagnose_here
from minigrad.check.doctor.answers import read_changes
from minigrad.check.doctor.probes import BY_NAME
from minigrad.check.doctor.signatures import source

CLOSURE = source("closure")


def found(text):
    return [(finding.code, finding.line) for finding in diagnose_here(text).faults]


def line_of(text, part):
    return next(k for k, line in enumerate(text.split("\n"), 1) if part in line)


# An old line of a sound engine, the slip, and what the doctor must call it.
SLIPS = {
    "formula_relu": ("(out.data > 0) * out.grad", "(1 - out.data**2) * out.grad"),
    "slip_exp": ("self.grad += out.data * out.grad  # exp", "self.grad += out.data * out.data"),
    "slip_tanh": ("(1 - t**2) * out.grad", "(1 + t**2) * out.grad"),
    "slip_sigmoid": ("out.data * (1 - out.data)", "out.data * (2 - out.data)"),
    "slip_pow": ("n * self.data ** (n - 1)", "n * self.grad ** (n - 1)"),
    "slip_relu": ("self.data if self.data > 0 else 0.0", "self.data if self.data < 0 else 0.0"),
    "slip_log": ("out.grad / self.data  # log", "-out.grad / self.data"),
}


@pytest.mark.parametrize("code", SLIPS)
def test_a_slip_is_found_with_its_line(code):
    old, new = SLIPS[code]
    assert CLOSURE.count(old) == 1
    text = CLOSURE.replace(old, new)
    assert found(text) == [(code, line_of(text, new))]


def test_a_rule_under_a_name_that_the_pass_does_not_look_for():
    rule = "other.grad += self.data * out.grad  # mul, right\n\n        out._backward = _backward"
    assert CLOSURE.count(rule) == 1
    text = CLOSURE.replace(rule, rule.replace("out._backward", "out.backwards"))
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.line) == ("slip_mul", line_of(text, "out.backwards"))
    assert "out._backward = _backward" in finding.fix


def test_two_slips_have_two_lines():
    text = CLOSURE.replace(*SLIPS["slip_exp"]).replace(*SLIPS["formula_relu"])
    assert dict(found(text)) == {
        "slip_exp": line_of(text, SLIPS["slip_exp"][1]),
        "formula_relu": line_of(text, SLIPS["formula_relu"][1]),
    }


def test_a_broken_product_is_not_blamed_on_what_is_multiplied():
    # Products are in most expressions: exp alone is wrong by itself, the rest because of *.
    text = CLOSURE.replace(*SLIPS["slip_exp"])
    text = text.replace("other.data * out.grad  # mul, left", "other.data  # mul, left")
    text = text.replace("self.data * out.grad  # mul, right", "self.data  # mul, right")
    codes = [code for code, _ in found(text)]
    assert sorted(codes) == ["chain_forgotten_mul", "slip_exp"]


def test_a_value_where_its_number_was_meant():
    old, new = "(out.data > 0) * out.grad", "(out > 0) * out.grad"
    text = CLOSURE.replace(old, new)  # which is an error: a Value has no >
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.line) == ("slip_relu", line_of(text, new))
    assert old in finding.fix


def test_an_order_that_varies_is_not_mended_by_luck():
    text = CLOSURE.replace("tuple(_children)", "set(_children)").replace(
        "                topo.append(v)", "            topo.append(v)"
    )
    assert text != CLOSURE
    for _ in range(3):
        assert not any(code.startswith(("slip", "formula")) for code, _ in found(text))


BESIDE = """

def sine(x):
    out = Value(math.sin(x.data), (x,), "sin")

    def _backward():
        x.grad += math.cos(x.data) * out.grad

    out._backward = _backward
    return out


def report(x):
    return Value(1.0)
"""


def test_functions_beside_the_class_are_examined():
    assert diagnose_here(CLOSURE + BESIDE).faults == []
    text = CLOSURE + BESIDE.replace("math.cos(x.data)", "math.cos(out.data)")
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.line) == ("slip_sine", line_of(text, "math.cos(out.data)"))
    assert "sine(c)" in finding.written({"sine": "sine({})"})


def test_what_is_beyond_a_small_change_keeps_no_name():
    text = CLOSURE + BESIDE.replace("math.cos(x.data) * out.grad", "0.3 * out.data**2")
    (finding,) = diagnose_here(text).faults
    assert finding.code == "wrong_sine"


def test_the_file_goes_through_the_sandbox_as_well(tmp_path):
    old, new = SLIPS["slip_pow"]
    text = f"data = open('nothing.txt').read()\n{CLOSURE.replace(old, new)}"
    path = tmp_path / "engine.py"
    path.write_text(text, encoding="utf-8")
    (finding,) = diagnose(path).faults
    assert (finding.code, finding.line) == ("slip_pow", line_of(text, new))


def test_nonsense_about_changes_ends_the_reading():
    probe = BY_NAME["neg"]
    good = {"data": {"a": 3.0, "b": -3.0}, "grad": {"a": -1.0, "b": 1.0}}
    change = {
        "kind": "adds", "line": 3, "old": "x", "new": "y", "function": "f", "outcomes": [good],
    }  # fmt: skip
    lies = [
        {"kind": "magic"}, {"line": 0}, {"line": "3"}, {"old": 3}, {"function": "f()"},
        {"outcomes": []}, {"outcomes": [good, good]}, {"outcomes": [{"data": {}, "grad": {}}]},
        {"outcomes": [{"missing": True}]},
    ]  # fmt: skip
    said = [json.dumps({"mended": change}).encode()]
    assert len(read_changes(b"\n".join([*said, b""]), [probe])) == 1
    for lie in lies:
        lines = [*said, json.dumps({"mended": change | lie}).encode(), *said, b""]
        assert len(read_changes(b"\n".join(lines), [probe])) == 1
    assert read_changes(b"not JSON\n", [probe]) == []
