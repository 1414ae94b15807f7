"""Causes that people's engines really have, each in an engine of its own style, named with its own
evidence: crashes, refusals, wrong values and wrong gradients do not lend each other examples."""

from __future__ import annotations

import re

import pytest
from sound_engines import source

from minigrad.check.doctor.answers import examine_here
from minigrad.check.doctor.findings import report

# As far as the lecture has come after an hour: no numbers as operands, four operations.
EARLY = """
import math


class Scalar:
    def __init__(self, data, _children=(), _op=""):
        self.data = data
        self.grad = 0.0
        self._prev = set(_children)
        self._backward = lambda: None

    def __add__(self, other):
        out = Scalar(self.data + other.data, (self, other), "+")
        def _backward():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = _backward
        return out

    def __mul__(self, other):
        out = Scalar(self.data * other.data, (self, other), "*")
        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out

    def relu(self):
        out = Scalar(max(0.0, self.data), (self,), "relu")
        def _backward():
            self.grad += (out.data > 0) * out.grad
        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Scalar(t, (self,), "tanh")
        def _backward():
            self.grad += (1 - t * t) * out.grad
        out._backward = _backward
        return out

    def backward(self):
        order, seen = [], set()
        def visit(v):
            if v not in seen:
                seen.add(v)
                for child in v._prev:
                    visit(child)
                order.append(v)
        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            v._backward()
"""


def examined(text, seed=11):
    return report("engine.py", examine_here(text, seed=seed))


def planted(old, new, text=EARLY):
    assert old in text
    return examined(text.replace(old, new))


def codes(findings):
    return [finding.code for finding in findings]


@pytest.mark.smoke
def test_a_class_that_takes_its_own_kind_only_is_sound_with_a_limit():
    found = examined(EARLY)
    assert (found.exit_code, found.problem) == (0, "")
    assert "constants" in codes(found.limits)
    refuses = "        if not isinstance(other, Scalar):\n            return NotImplemented\n"
    for op in ("add", "mul"):
        text = EARLY.replace(
            f"def __{op}__(self, other):\n", f"def __{op}__(self, other):\n{refuses}"
        )
        assert codes(examined(text).faults) == []
        assert "constants" in codes(examined(text).limits)


# One line of it written otherwise, what it is called, and the line that is told.
SLIPS = {
    "a return too early": (
        "        out._backward = _backward\n        return out\n\n    def relu",
        "        return out\n        out._backward = _backward\n\n    def relu",
        "after_return", "out._backward = _backward"),
    "both at once": ("            self.grad += other.data * out.grad\n            other.grad += s",
        "            self.grad, other.grad = self.grad + other.data * out.grad, other.grad + s",
        "same_object", "self.grad, other.grad = "),
    "another seed": ("        self.grad = 1.0\n", "        self.grad = self.data\n", "wrong_seed",
        "self.grad = self.data"),
    "never remembered": ("                seen.add(v)\n", "", "visited_twice", "if v not in seen:"),
    "the same again": ("visit(child)", "visit(v)", "slip_backward", "visit(v)"),
    "brackets": ("(1 - t * t) * out", "1 - t * t * out", "slip_tanh", "1 - t * t * out.grad"),
    "another gradient": ("(out.data > 0)", "(out.grad > 0)", "slip_relu", "(out.grad > 0)"),
    "after the first": ("            v._backward()\n",
        "            v._backward()\n            return\n", "slip_backward", "return"),
    "the result alone": ("        for v in reversed(order):\n            v._backward()\n",
        "        self._backward()\n", "last_only", "def backward(self):"),
    "hidden": ("out._backward = ", "out.backward = ", "hidden_pass", "out.backward = _backward"),
}  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS)
def test_one_line_written_otherwise(slip):
    old, new, code, line = SLIPS[slip]
    (fault,) = planted(old, new).faults
    assert (fault.code, line in fault.text) == (code, True)


TAPE = """
TAPE = []

class Var:
    def __init__(self, value):
        self.value = value
        self.grad = 0.0

    def __add__(self, other):
        out = Var(self.value + other.value)
        def pull():
            self.grad += out.grad
            other.grad += out.grad
        TAPE.append(pull)
        return out

    def __mul__(self, other):
        out = Var(self.value * other.value)
        def pull():
            self.grad += out.grad * other.value
            other.grad += out.grad * self.value
        TAPE.append(pull)
        return out

    def __pow__(self, k):
        out = Var(self.value**k)
        def pull():
            self.grad += out.grad * k * self.value ** (k - 1)
        TAPE.append(pull)
        return out

    def backward(self):
        self.grad = 1.0
        while TAPE:
            TAPE[-1]()
            TAPE.pop()
"""


def test_what_a_failing_pass_leaves_on_a_tape_is_not_the_next_one_s():
    # 0.0 ** -1 ends the pass of a ** 0 at 0, and its rule would end all others.
    assert codes(examined(TAPE).faults) == []
    (fault,) = planted("k * self.value ** (k - 1)", "self.value ** (k - 1)", TAPE).faults
    assert fault.code == "pow_no_factor"


def test_a_number_on_the_left_that_calls_itself_for_ever_is_no_refusal():
    radd = "\n    def __radd__(self, other):\n        return other + self\n"
    (fault,) = examined(EARLY + radd).faults
    assert (fault.code, fault.text.strip()) == ("endless", "return other + self")


def test_the_flagship_is_shown_where_it_is_and_not_where_a_number_is_refused():
    (fault,) = planted(".grad += ", ".grad = ").faults
    assert fault.code == "overwrite"
    assert fault.program.lines == ("b = a + a",)
    assert (fault.expected, fault.got) == ("a.grad = 2", "a.grad = 1")
    assert "self.grad = out.grad" in fault.text


SUB = """
    def __sub__(self, other):
        return self + (-other)
"""
NEG = """
    def __neg__(self):
        return self * -1
"""
SIGMOID = """
    def sigmoid(self):
        s = 1 / (1 + math.exp(-self.data))
        out = Scalar(s, (self,), "sigmoid")
        def _backward():
            self.grad += (1 - out.data) * out.grad
        out._backward = _backward
        return out
"""
POW = """
    def __pow__(self, other):
        n = other.data if isinstance(other, Scalar) else other
        out = Scalar(self.data**n, (self,), "**")
        def _backward():
            self.grad += n * self.data ** (n - 1) * out.grad
        out._backward = _backward
        return out
"""
RSUB = """
    def __sub__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return self + other * Scalar(-1.0)

    def __rpow__(self, other):
        return Scalar(other**self.data)
"""
AT = "    def relu(self):"


def with_method(method):
    return EARLY.replace(AT, method.lstrip("\n") + "\n" + AT)


CAUSES = {
    "missing_return": EARLY.replace(
        'out = Scalar(t, (self,), "tanh")\n        def _backward():\n'
        "            self.grad += (1 - t * t) * out.grad\n        out._backward = _backward\n"
        "        return out\n",
        'out = Scalar(t, (self,), "tanh")\n        def _backward():\n'
        "            self.grad += (1 - t * t) * out.grad\n        out._backward = _backward\n",
    ),
    "missing_import": EARLY.replace("import math\n", ""),
    "missing_operator": with_method(SUB),
    "number_inside": with_method(NEG),
    "sigmoid_no_factor": with_method(SIGMOID),
    "exponent_no_gradient": with_method(POW),
    "rpow_detached": with_method(
        POW.replace("(self,)", "(self, other) if n is not other else (self,)").replace(
            "* out.grad\n",
            "* out.grad\n            if n is not other:\n"
            "                other.grad += out.data * math.log(self.data) * out.grad\n",
        ) + RSUB
    ),
    "no_operands_relu": EARLY.replace('(self,), "relu"', '(), "relu"'),
    "self_backward_relu": EARLY.replace(
        "(out.data > 0) * out.grad\n        out._backward",
        "(out.data > 0) * out.grad\n        self._backward",
    ),
    "last_only": EARLY.replace(
        "        for v in reversed(order):\n            v._backward()\n",
        "        self._backward()\n",
    ).replace("                for child in v._prev:\n                    visit(child)\n", ""),
    "empty_pass": EARLY[: EARLY.index("        order, seen")] + "        pass\n",
    "missing_seed": EARLY.replace("        self.grad = 1.0\n", ""),
    "seed_zero": EARLY.replace(
        "        for v in reversed",
        "        for v in order:\n            v.grad = 0.0\n        for v in reversed",
    ),
    "nothing_runs": EARLY.replace("            v._backward()\n", "            v._backward\n"),
    "forward_order": EARLY.replace("reversed(order)", "order"),
    "visited_by_name": EARLY.replace("if v not in seen", "if v.name not in seen")
    .replace("seen.add(v)", "seen.add(v.name)")
    .replace("self.grad = 0.0\n", "self.grad = 0.0\n        self.name = None\n"),
    "tanh_linear": EARLY.replace("1 - t * t", "1 - t"),
    "called_at_once": EARLY.replace("out._backward = _backward\n", "out._backward = _backward()\n"),
    "unhashable": with_method("    def __eq__(self, other):\n        return self is other\n"),
    "slip_tanh": EARLY.replace("math.tanh(self.data)", "math.tanh(2**self.data)"),
}  # fmt: skip


@pytest.mark.parametrize("code", CAUSES)
def test_a_cause_is_named_and_shown_by_its_own_example(code):
    assert CAUSES[code] != EARLY
    found = examined(CAUSES[code])
    assert codes(found.faults) == [code]
    (fault,) = found.faults
    text = found.text()
    assert "Value(" not in text  # the class is a Scalar
    if fault.line is not None:
        assert CAUSES[code].split("\n")[fault.line - 1] == fault.text
    # Pasting the line does what the report says.
    names: dict[str, object] = {}
    exec(CAUSES[code], names)
    pairs = re.findall(r"(\w+)\.(\w+) = (\S+?)(?:,|$)", fault.got)
    if not pairs:
        error = {"NameError": NameError, "TypeError": TypeError}.get(fault.got.partition(":")[0])
        with pytest.raises(error or AttributeError):
            exec(fault.written(found.spelling), names)
        return
    exec(fault.written(found.spelling), names)
    for name, part, number in pairs:
        assert getattr(names[name], part) == pytest.approx(float(number), rel=1e-4)


def test_a_seed_is_never_said_to_be_zero_unless_the_result_says_so():
    for code in ("empty_pass", "missing_seed", "nothing_runs", "last_only"):
        assert "seed_zero" not in codes(examined(CAUSES[code]).faults)


def test_what_follows_from_another_fault_is_none():
    # neg gives a number, and what is made of it is wrong for that reason alone.
    neg = "    def __neg__(self):\n        return -self.data\n\n"
    sub = "    def __sub__(self, other):\n        return self + Scalar(0.0) + Scalar(-other)\n\n"
    assert codes(examined(EARLY.replace(AT, neg + AT)).faults) == ["not_a_value"]
    assert codes(examined(EARLY.replace(AT, neg + sub + AT)).faults) == ["not_a_value"]


def test_two_causes_are_two_findings_each_with_its_own_example():
    text = CAUSES["missing_import"].replace("(out.data > 0) * out.grad", "out.grad")
    crash, rule = examined(text).faults
    assert (crash.code, rule.code) == ("missing_import", "relu_always")
    assert crash.got.startswith("NameError")
    assert rule.program.ops == {"relu"}


def test_no_name_against_the_file():
    # The numbers of an overwriting tanh, from a rule that has += in it.
    text = EARLY.replace(
        "            self.grad += (1 - t * t) * out.grad\n",
        "            self.grad += (1 - t * t) * out.grad - self.grad\n",
    )
    assert "overwrite_tanh" not in codes(examined(text).faults)
    assert examined(text).exit_code == 1
    # Nodes run twice, in a class without an __eq__.
    text = EARLY.replace("if v not in seen", "if True")
    assert "value_hash" not in codes(examined(text).faults)


def test_an_engine_that_says_no_is_not_wrong():
    text = source("tuple_prev").replace(
        "    def __pow__(self, n):\n",
        "    def __pow__(self, n):\n        if self.data < 0:\n"
        '            raise ValueError("no negative bases")\n',
    )
    found = examined(text)
    assert found.faults == []
    (limit,) = found.limits
    assert (limit.code, limit.got) == ("refusal", "ValueError: no negative bases")


def test_a_result_without_a_gradient_of_its_own_is_no_fault():
    text = source("tuple_prev").replace(
        "        for node in order:\n", "        for node in order[:-1]:\n"
    )
    assert examined(text).faults == []
    # And a fault beside it is still known.
    assert codes(examined(text.replace("1.0 - t * t", "1.0 - t")).faults) == ["tanh_linear"]


def test_a_wrong_value_points_at_where_values_are_made():
    (fault,) = examined(CAUSES["slip_tanh"]).faults
    assert fault.text.strip() == "t = math.tanh(2**self.data)"
    assert fault.expected.startswith("b.data")


# ---- what is kept in operands -------------------------------------------------------------------

ON_OPERANDS = """
class Value:
    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad, self.slope = data, parents, 0.0, 1.0
    def __add__(self, o):
        self.slope = o.slope = 1.0
        return Value(self.data + o.data, (self, o))
    def __mul__(self, o):
        self.slope, o.slope = o.data, self.data
        return Value(self.data * o.data, (self, o))
    def backward(self, g=1.0):
        self.grad += g
        for p in self.parents:
            p.backward(g * p.slope)
"""
ONE_USER = """
class Value:
    def __init__(self, data, children=(), op=""):
        self.data, self.children, self.op, self.user, self.grad = data, children, op, None, 0.0
    def __add__(self, o):
        out = Value(self.data + o.data, (self, o), "+")
        self.user = o.user = out
        return out
    def __mul__(self, o):
        out = Value(self.data * o.data, (self, o), "*")
        self.user = o.user = out
        return out
    def backward(self):
        if self.user is None:
            self.grad = 1.0
        elif self.user.op == "+":
            self.grad = self.user.grad
        else:
            a, b = self.user.children
            self.grad = self.user.grad * (b.data if a is self else a.data)
        for c in self.children:
            c.backward()
"""


@pytest.mark.parametrize("text", [ON_OPERANDS, ONE_USER], ids=["slopes", "one user"])
def test_what_is_kept_in_operands_is_replaced_when_they_are_used_again(text):
    faults = report("engine", examine_here(text)).faults
    assert faults[0].code == "kept_in_operand"
    assert "self.slope" in faults[0].text or "self.user" in faults[0].text


def test_an_exponent_that_is_taken_and_ends_the_pass_is_no_refusal():
    text = source("closure").replace("(n - 1) * out.grad  # pow", "(n - 1) * out.grad * int(n)")
    taken = text.replace("Value(self.data**n,", "Value(self.data ** getattr(n, 'data', n),")
    (fault,) = [
        f for f in report("engine", examine_here(taken)).faults if "** b" in f.program.text()
    ]
    assert fault.program.text().startswith("a, b = Value(2.0), Value(3.0); c = a ** b")


def test_a_module_that_is_not_there_is_no_fault():
    text = source("tuple_prev").replace("import math\n", "import math\nimport nowhere_at_all\n")
    text = text.replace("(1.0, 1.0))", "(float(nowhere_at_all.one()), 1.0))")
    found = report("engine", examine_here(text))
    assert (found.faults, found.exit_code) == ([], 2)
    assert "nowhere_at_all" in found.problem
