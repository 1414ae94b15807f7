"""What no row of the catalogue explains is explained by the change of the file that mends it."""

import ast
import json

import pytest

from minigrad.check import diagnose, diagnose_here
from minigrad.check.doctor.answers import read_changes
from minigrad.check.doctor.mended import Tried
from minigrad.check.doctor.probes import BY_NAME
from minigrad.check.doctor.rewriting import copy_of
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


def test_a_slip_whose_numbers_depend_on_the_order_of_a_set():
    # `other.grad += self.grad`: right for fresh operands, and else as the set has it.
    old, slip = "other.grad += out.grad  # add, right", "other.grad += 1.0 * self.grad"
    assert CLOSURE.count(old) == 1
    text = CLOSURE.replace(old, slip)
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.line) == ("slip_add", line_of(text, slip))
    assert finding.fix.startswith("Write  other.grad += 1.0 * out.grad  instead")


def test_the_same_slip_in_two_places_of_a_line():
    old = "t = math.tanh(self.data)"
    assert CLOSURE.count(old) == 1
    slip = "t = (math.exp(self.data**2) - 1) / (math.exp(self.data**2) + 1)"
    text = CLOSURE.replace(old, slip)
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.line) == ("slip_tanh", line_of(text, slip))
    assert "math.exp(self.data * 2)" in finding.fix


def test_nodes_that_are_equal_by_their_numbers_are_no_slip_of_eq():
    # Besides, the pass visits shared nodes again: together no patient has these numbers.
    equal = """    def __eq__(self, other):
        return self.data == getattr(other, "data", other)

    def __hash__(self):
        return hash(self.data)

    def __repr__(self):"""
    begin, end = CLOSURE.index("        topo = []"), CLOSURE.index("    def zero_grad")
    walk = """        self.grad = 1.0
        waiting = [self]
        while waiting:
            v = waiting.pop(0)
            v._backward()
            waiting.extend(v._prev)

"""
    text = (CLOSURE[:begin] + walk + CLOSURE[end:]).replace("    def __repr__(self):", equal)
    codes = [code for code, _ in found(text)]
    assert not any(code.startswith("slip") for code in codes)
    assert codes[0] in ("value_hash", "visited_twice", "breadth_first", "wrong_order")


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
        "op": "neg", "everywhere": False,
    }  # fmt: skip
    lies = [
        {"kind": "magic"}, {"line": 0}, {"line": "3"}, {"old": 3}, {"function": "f()"},
        {"outcomes": []}, {"outcomes": [good, good]}, {"outcomes": [{"data": {}, "grad": {}}]},
        {"outcomes": [{"missing": True}]}, {"op": "magic"}, {"op": []},
    ]  # fmt: skip
    said = [json.dumps({"mended": change}).encode()]
    assert len(read_changes(b"\n".join([*said, b""]), [probe]).changes) == 1
    for lie in lies:
        lines = [*said, json.dumps({"mended": change | lie}).encode(), *said, b""]
        assert len(read_changes(b"\n".join(lines), [probe]).changes) == 1
    assert read_changes(b"not JSON\n", [probe]) == Tried()
    before = read_changes(json.dumps({"before": [good]}).encode() + b"\n", [probe]).before
    assert [outcome["grad"] for outcome in before] == [good["grad"]]
    assert read_changes(json.dumps({"before": [good] * 2}).encode() + b"\n", [probe]) == Tried()


# ---- several mistakes, and other designs --------------------------------------------------------

_DIV = CLOSURE[CLOSURE.index("    def __truediv__") : CLOSURE.index("    def __pow__")]


def test_a_mistake_that_another_one_hides():
    # a / b is made of a ** b, whose rule is wrong too: no single change makes a / b right.
    text = CLOSURE.replace(
        _DIV, "    def __truediv__(self, other):\n        return self.data * other**-1\n\n"
    ).replace("(n - 1) * out.grad  # pow", "(n - 1)  # pow")
    assert dict(found(text)) == {
        "slip_div": line_of(text, "self.data * other**-1"),
        "chain_forgotten_pow": line_of(text, "# pow"),
    }
    fixes = [finding.fix for finding in diagnose_here(text).faults]
    assert any("Write  return self * other ** (-1)" in fix for fix in fixes)


def test_rules_that_overwrite_and_run_those_of_their_operands():
    # Each hides the other: what is set twice is right, and what is added twice is not.
    text = CLOSURE.replace(".grad += ", ".grad = ")
    for name in ("add", "mul"):
        for side, operand in (("left", "self"), ("right", "other")):
            mark = f"  # {name}, {side}\n"
            text = text.replace(mark, f"{mark}            {operand}._backward()\n")
    assert [code for code, _ in found(text)] == ["overwrite"]


def test_a_rule_that_gives_itself():
    text = CLOSURE.replace(
        "# exp\n\n        out._backward = _backward\n",
        "# exp\n            out._backward = _backward\n\n",
    )
    assert [code for code, _ in found(text)] == ["not_set_exp"]


# The right derivative is known wherever an engine keeps its own.
KEPT = {
    "formula_exp": ("(math.exp(self.data),)", "(1.25 + self.data,)"),
    "formula_mul": ("(other.data, self.data)", "(3 * self.data, 2.0 - other.data)"),
}


@pytest.mark.parametrize("code", KEPT)
def test_slopes_that_are_kept_beside_the_operands(code):
    text = source("local_grads")
    assert text.count(KEPT[code][0]) == 1
    text = text.replace(*KEPT[code])
    assert found(text) == [(code, line_of(text, KEPT[code][1]))]


BRANCHES = """
class Value:
    def __init__(self, data, prev=(), op=""):
        self.data, self.grad, self.prev, self.op = data, 0.0, prev, op
    def __add__(self, other):
        return Value(self.data + other.data, (self, other), "+")
    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), "*")
    def backward(self):
        order, seen = [], set()
        def visit(v):
            if v not in seen:
                seen.add(v)
                for w in v.prev:
                    visit(w)
                order.append(v)
        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            if v.op == "+":
                v.prev[0].grad += v.grad
                v.prev[1].grad += v.grad
            elif v.op == "*":
                v.prev[0].grad += v.prev[1].data * v.grad
                v.prev[1].grad += v.prev[0].data * v.grad
"""


def test_a_pass_that_knows_all_rules():
    assert found(BRANCHES) == []
    right = "v.prev[1].grad += v.prev[0].data * v.grad"
    text = BRANCHES.replace(right, "v.prev[1].grad += v.prev[0].data ** 2 * v.grad / 2")
    ((code, line),) = found(text)
    assert code.startswith(("formula", "slip"))
    assert line == line_of(text, "** 2")


def test_a_right_zero_proves_nothing():
    # a / a has gradient 0, which any cut of the graph gives: such a change is not told.
    text = CLOSURE.replace("other.grad += -self.data", "other.grad = -self.data")
    assert [code for code, _ in found(text)] == ["overwrite_div"]


def test_what_others_hang_on_the_parts_of_a_tree_is_not_copied():
    tree = ast.parse("a < b").body[0].value
    tree.ops[0].parent = tree  # as IPython does, on parts that all trees share
    try:
        copied = copy_of(tree)
    finally:
        del tree.ops[0].parent
    assert ast.unparse(copied) == "a < b"
    assert not hasattr(copied.ops[0], "parent")
