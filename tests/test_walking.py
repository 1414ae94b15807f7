"""Passes that walk astray, and what is kept from call to call: named by the line that mends.

Each engine is a sound one of the doctor's own with one thing wrong in it.
"""

import re

import pytest

from minigrad.check import diagnose_here
from minigrad.check.doctor.catalogue.rows import MUL, SORT
from minigrad.check.doctor.signatures import source

CLOSURE = source("closure").replace("set(_children)", "tuple(dict.fromkeys(_children))")
LOCAL = source("local_grads")
BEGIN = "        topo = []\n        visited = set()\n"
RULE = f"        def _backward():\n            {MUL}\n\n        out._backward = _backward\n"

# What is wrong, the engine, what is replaced, and the code, with a part of the line to look at.
ASTRAY = {
    "operands under another name": (
        CLOSURE,
        (
            ("in v._prev:\n                    build", "in v._kept:\n                    build"),
            ("        self._op = _op\n", "        self._op = _op\n        self._kept = ()\n"),
        ),
        "slip_backward",
        "for child in v._kept:",
    ),
    "default arguments": (
        CLOSURE,
        ((BEGIN, ""), ("def backward(self):", "def backward(self, topo=[], visited=set()):")),
        "shared_default",
        "def backward(",
    ),
    "lists of the class": (
        CLOSURE,
        (
            (BEGIN, ""),
            ("class Value:\n", "class Value:\n    topo = []\n    visited = set()\n\n"),
            ("in visited", "in self.visited"),
            ("visited.add", "self.visited.add"),
            ("topo.append", "self.topo.append"),
            ("reversed(topo)", "reversed(self.topo)"),
        ),
        "shared_list",
        "self.",
    ),
    "gradients in the forward pass": (
        CLOSURE,
        (
            (
                RULE,
                RULE.replace("        def _backward():\n", "")
                .replace("    self", "self")
                .replace("    other", "other")
                .replace("        out._backward = _backward\n", ""),
            ),
        ),
        "forward_gradient",
        "self.grad += other.data * out.grad",
    ),
    "a walk that ends at the operands": (
        CLOSURE,
        (("                    build(child)\n", "                    topo.append(child)\n"),),
        "goes_no_further",
        "topo.append(child)",
    ),
    "a loop that is left": (
        CLOSURE,
        (("            v._backward()\n", "            v._backward()\n            return\n"),),
        "slip_backward",
        "return",
    ),
    "visited by number": (
        CLOSURE,
        (("if v not in visited", "if v.data not in visited"), ("add(v)", "add(v.data)")),
        "slip_backward",
        "if v.data not in visited",
    ),
    "a list that stays empty": (
        CLOSURE,
        (("                topo.append(v)\n", ""),),
        "never_listed",
        "def backward",
    ),
    "a stack instead of a sort": (
        CLOSURE,
        (
            (
                SORT,
                "        self.grad = 1.0\n        waiting, seen = [self], set()\n"
                "        while waiting:\n            v = waiting.pop()\n"
                "            if v in seen:\n                continue\n"
                "            seen.add(v)\n            v._backward()\n"
                "            waiting.extend(v._prev)\n",
            ),
        ),
        "stack_order",
        "def backward",
    ),
    "a sum that goes nowhere": (
        CLOSURE,
        (("self.grad += out.data * out.grad  # exp", "self.grad + out.data * out.grad"),),
        "overwrite_exp",
        "self.grad + out.data * out.grad",
    ),
    "numbers that are rounded": (
        CLOSURE,
        (("self.data = data", "self.data = round(data, 2)"),),
        "slip_init",
        "round(data, 2)",
    ),
    "a pass that overwrites": (
        LOCAL,
        (("child.grad += local_grad * v.grad", "child.grad = local_grad * v.grad"),),
        "overwrite",
        "child.grad = local_grad * v.grad",
    ),
    "a pass that overwrites what begins as None": (
        LOCAL,
        (
            ("child.grad += local_grad * v.grad", "child.grad = local_grad * v.grad"),
            ("self.grad = 0\n", "self.grad = None\n"),
        ),
        "overwrite",
        "child.grad = local_grad * v.grad",
    ),
    "a pass that forgets": (
        LOCAL,
        (("child.grad += local_grad * v.grad", "child.grad += local_grad"),),
        "slip_backward",
        "child.grad += local_grad",
    ),
    "results without a switch": (
        CLOSURE,
        (
            ('_op="", label=""):', '_op="", label="", requires_grad=False):'),
            (
                "        self.label = label\n",
                "        self.label = label\n        self.requires_grad = requires_grad\n",
            ),
            (
                "            self.grad += (1 - t**2) * out.grad  # tanh\n",
                "            if out.requires_grad:\n"
                "                self.grad += (1 - t**2) * out.grad\n",
            ),
        ),
        "not_passed_on",
        "self.requires_grad = requires_grad",
    ),
}


@pytest.mark.parametrize("what", ASTRAY)
def test_the_first_cause_and_its_line(what):
    text, changes, code, part = ASTRAY[what]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    first = diagnose_here(text).faults[0]
    assert first.code == code
    assert part in first.text


def test_a_row_needs_what_the_file_shows():
    # The same numbers: a result without operands and rule, and one whose rule nobody keeps.
    bare = CLOSURE.replace("return self * -1", "return Value(-self.data)")
    assert [f.code for f in diagnose_here(bare).faults] == ["detached_neg"]
    rule = "self.grad += (out.data > 0) * out.grad  # relu\n\n        out._backward = _backward\n"
    assert rule in CLOSURE
    unkept = CLOSURE.replace(rule, rule.partition("\n")[0] + "\n\n")
    assert [f.code for f in diagnose_here(unkept).faults] == ["not_set_relu"]


SELF = ("out._backward = _backward", "self._backward = _backward")


def test_rules_that_operands_get():
    # In some operations, and others are sound: alone they are right.
    head, rest = CLOSURE.split("    def __truediv__")
    found = diagnose_here(f"{head.replace(*SELF)}    def __truediv__{rest}").faults
    assert found[0].code.startswith("self_backward")
    assert all(one.text.strip() == SELF[1] for one in found)


def test_a_method_that_is_another_one_has_its_line():
    text = CLOSURE.replace("    def __rsub__(self, other):\n        return (-self) + other\n",
                           "    __rsub__ = __sub__\n")  # fmt: skip
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.text.strip()) == ("rsub_swapped", "__rsub__ = __sub__")


def test_of_two_classes_of_a_name_the_last_one_is_read():
    text = f"{CLOSURE}\n\n{CLOSURE.replace('out.grad / self.data  # log', 'out.grad * self.data')}"
    (finding,) = diagnose_here(text).faults
    assert (finding.code, finding.text.strip()) == (
        "log_input",
        "self.grad += out.grad * self.data",
    )


def test_a_sort_that_nobody_begins_is_no_empty_pass():
    text = CLOSURE.replace("        build(self)\n        self.grad = 1.0  # seed\n", "")
    assert [f.code for f in diagnose_here(text).faults] == ["sort_not_begun"]


def test_visits_may_be_forgotten_at_every_call():
    sets = "        visited = set()\n\n        def build(v):\n"
    assert sets in CLOSURE
    anew = "\n        def build(v):\n            visited = set()\n"
    assert [f.code for f in diagnose_here(CLOSURE.replace(sets, anew)).faults] == ["visited_anew"]


def test_a_node_may_be_listed_in_the_loop_over_operands():
    walk = """        def build(v):
            for child in v._prev:
                if child not in visited:
                    visited.add(child)
                    build(child)
                topo.append(child)

        build(self)
        topo.append(self)
"""
    head, _, rest = CLOSURE.partition("        def build(v):\n")
    text = head + walk + rest.partition("        build(self)\n")[2]
    assert [f.code for f in diagnose_here(text).faults] == ["listed_twice"]


def test_rules_may_run_on_the_way_down():
    walk = """        self.grad = 1.0
        visited = set()

        def visit(v):
            if v not in visited:
                visited.add(v)
                v._backward()
                for child in v._prev:
                    visit(child)

        visit(self)
"""
    assert [f.code for f in diagnose_here(CLOSURE.replace(SORT, walk)).faults] == [
        "insertion_order"
    ]


def test_a_rule_that_says_pass_is_none():
    rule = "            self.grad += out.data * out.grad  # exp\n"
    assert rule in CLOSURE
    text = CLOSURE.replace(rule, "            pass\n")
    assert [f.code for f in diagnose_here(text).faults] == ["not_set_exp"]


def test_an_operation_may_change_what_it_is_given():
    made = 'out = Value(self.data if self.data > 0 else 0.0, (self,), "ReLU")'
    assert made in CLOSURE
    text = CLOSURE.replace(
        made, 'self.data = max(self.data, 0.0)\n        out = Value(self.data, (self,), "ReLU")'
    )
    first, *_ = diagnose_here(text).faults
    assert (first.code, first.text.strip()) == ("changes_operand", "def relu(self):")


def test_only_a_pass_that_ends_in_leaves_gives_them_the_seed():
    # Everywhere 1, as in `leaf_seed`: here no node knows its user, because of a misspelt name.
    text = """
class Value:
    def __init__(self, data, children=()):
        self.data, self.grad, self.user, self.children = data, 0.0, None, children

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))
        self.users = other.users = out
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))
        self.users = other.users = out
        return out

    def backward(self):
        self.grad = 1.0 if self.user is None else self.user.grad
        for child in self.children:
            child.backward()
"""
    assert "leaf_seed" not in [f.code for f in diagnose_here(text).faults]


def test_a_dict_has_one_entry_for_a_value_with_itself():
    text = """
class Value:
    def __init__(self, data, children=()):
        self.data, self.grad, self.children, self.slopes_grad = data, 0.0, children, {}

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))
        out.slopes_grad[self] = 1.0
        out.slopes_grad[other] = 1.0
        return out

    def __sub__(self, other):
        out = Value(self.data - other.data, (self, other))
        out.slopes_grad[self] = 1.0
        out.slopes_grad[other] = -1.0
        return out

    def backward(self):
        order, seen = [], set()

        def visit(v):
            if v not in seen:
                seen.add(v)
                for child in v.children:
                    visit(child)
                order.append(v)

        visit(self)
        self.grad = 1.0
        for v in reversed(order):
            for child in v.children:
                child.grad += v.slopes_grad[child] * v.grad
"""
    (fault,) = diagnose_here(text).faults
    assert (fault.code, fault.program.text().split("; ")[1]) == ("keyed_by_operand", "b = a - a")
    assert fault.text.strip() == "def __sub__(self, other):"


def test_a_pass_that_only_sorts_runs_no_rule():
    text = CLOSURE.replace("        self.grad = 1.0\n", "").replace("        self.grad = 1\n", "")
    run = text[text.index("        for v in reversed(topo)") :].split("\n\n")[0]
    text = text.replace(run, "        for v in topo:\n            print(end='')\n")
    assert [f.code for f in diagnose_here(text).faults] == ["nothing_runs"]


def test_a_pass_may_end_the_program():
    text = CLOSURE.replace("            v._backward()\n", "            v._backward()\n"
                           "        if len(topo) > 2:\n            exit(0)\n")  # fmt: skip
    report = diagnose_here(CLOSURE + text[text.index("class Value") :].replace("Value", "Other"))
    assert (report.words["class"], list(report.faults)) == ("Value", [])


def test_an_operation_that_is_made_of_others_may_forget_its_operand():
    made = "return self + (-other)"
    assert made in CLOSURE
    (fault,) = diagnose_here(CLOSURE.replace(made, "return self * -1")).faults
    assert (fault.code, fault.text.strip()) == ("formula_sub", "return self * -1")
    assert "return self + -other" in fault.fix


def test_a_pass_that_calls_itself_may_begin_anew_at_every_node():
    text = """
class Value:
    def __init__(self, data, children=()):
        self.data, self.grad, self.rule, self.children = data, 0, lambda: None, children

    def __add__(self, other):
        def rule():
            self.grad += out.grad
            other.grad += out.grad

        out = Value(self.data + other.data, (self, other))
        out.rule = rule
        return out

    def __mul__(self, other):
        def rule():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out = Value(self.data * other.data, (self, other))
        out.rule = rule
        return out

    def backward(self):
        self.grad = 1
        self.rule()
        for child in self.children:
            child.backward()
"""
    (fault,) = diagnose_here(text).faults
    assert (fault.code, fault.text.strip()) == ("seed_everywhere", "def backward(self):")


def test_a_wrong_value_is_told_by_its_line_where_the_rule_is_wrong_too():
    text = CLOSURE.replace(
        "math.tanh(self.data)",
        "(math.exp(2**self.data) - 1) / (math.exp(2**self.data) + 1)",
    )
    hook = "# tanh\n\n        out._backward = _backward\n"
    assert hook in text
    text = text.replace(hook, "# tanh\n\n")
    first, *_ = diagnose_here(text).faults
    assert (first.code, "2**self.data" in first.text) == ("slip_tanh", True)


def test_a_pass_that_fails_everywhere_may_be_meant_for_arrays():
    text = CLOSURE.replace(
        "def backward(self):\n", "def backward(self, width):\n        range(width)\n"
    )
    text = text.replace(
        "    def __neg__(self):\n        return self * -1\n", ""
    )  # a - b does not come so far
    report = diagnose_here(text)
    assert (report.faults, "every question ends alike" in report.problem) == ([], True)


def test_results_may_have_no_gradient_at_all():
    text = """
class Leaf:
    def __init__(self, data):
        self.data = data
        self.grad = 0.0

    def __add__(self, other):
        return Sum(self, other, self.data + other.data)

    def __mul__(self, other):
        return Sum(self, other, self.data * other.data)


class Sum(Leaf):
    def __init__(self, left, right, data):
        self.left, self.right, self.data = left, right, data

    def backward(self, grad):
        self.left.grad += self.grad
        self.right.grad += self.grad
"""
    report = diagnose_here(text)
    assert (report.faults, report.problem[:20]) == ([], "results have no grad")


def test_rules_may_go_on_to_operands_by_themselves():
    text = CLOSURE
    for rule in ("other.grad += out.grad  # add, right", "other.grad += self.data * out.grad"):
        assert rule in text
        calls = "            self._backward()\n            other._backward()\n"
        text = re.sub(f"( +{re.escape(rule)}.*\n)", rf"\g<1>{calls}", text)
    first, *_ = diagnose_here(text).faults
    assert (first.code, first.text.strip()) == ("rules_go_on", "self._backward()")


def test_gradients_may_stay_at_the_one_that_they_begin_with():
    text = CLOSURE.replace(
        "        self.grad = 0.0\n        self._prev", "        self.grad = 1.0\n        self._prev"
    )
    text = text.replace("        build(self)\n", "")
    codes = [f.code for f in diagnose_here(text).faults]
    assert codes in (["sort_not_begun"], ["nothing_runs"])


def test_gradients_may_have_to_be_switched_on_by_any_word():
    text = CLOSURE.replace('label=""):', 'label="", watched=False):')
    text = text.replace("self.label = label", "self.label, self.watched = label, watched")
    text = text.replace(
        "for v in reversed(topo):\n", "for v in reversed(topo) if self.watched else ():\n"
    )
    text = re.sub(
        r"Value\((.*), (\(self.*\)), (f?\".*\")\)", r"Value(\1, \2, \3, watched=True)", text
    )
    report = diagnose_here(text)
    assert (report.problem, [f.code for f in report.faults]) == ("", [])


def test_a_small_number_against_zero_is_no_fault():
    text = CLOSURE.replace("math.log(self.data)", "math.log(self.data + 1e-6)")
    assert diagnose_here(text).faults == []


def test_a_switch_that_turns_gradients_off_stays_off():
    text = CLOSURE.replace('label=""):', 'label="", no_grad=False):')
    text = text.replace("self.label = label", "self.label, self.no_grad = label, no_grad")
    text = text.replace("            self.grad += out.data * out.grad  # exp",
                        "            if not self.no_grad:\n"
                        "                self.grad += out.data * out.grad")  # fmt: skip
    assert diagnose_here(text).faults == []


def test_exponents_are_values_where_all_operands_are():
    text = CLOSURE
    for name in ("add", "mul", "truediv"):
        head, _, rest = text.partition(f"def __{name}__")
        wrap = "        other = other if isinstance(other, Value) else Value(other)\n"
        text = f"{head}def __{name}__{rest.replace(wrap, '', 1)}"
    text = text.replace("return self * -1", "return self * Value(-1)")
    text = text.replace("self.data**n, (self,)", "self.data**n.data, (self,)")
    text = text.replace("n * self.data ** (n - 1)", "n.data * self.data ** (n.data - 1)")
    report = diagnose_here(text)
    assert "number_inside" not in [f.code for f in report.faults]
    assert "constants" in [f.code for f in report.limits]


def test_an_annotation_may_ask_for_arrays():
    text = "import numpy as np\n" + CLOSURE.replace("(self, data, ", "(self, data: np.ndarray, ")
    text = text.replace("self.data = data\n", "self.data = data\n        self.shape = data.shape\n")
    assert diagnose_here(text).words["data"] == "data"


def test_a_dict_of_gradients_is_mended_too():
    # Gradients that are in no attribute: changes name them none, and their own pass is changed.
    functional = """
class Value:
    def __init__(self, data, _prev=(), vjp=None):
        self.data, self._prev, self.vjp = data, _prev, vjp

    def __add__(self, other):
        return Value(self.data + other.data, (self, other), lambda g: (g, g))

    def __mul__(self, other):
        slopes = (other.data, self.data)
        return Value(self.data * other.data, (self, other), lambda g: [g * s for s in slopes])


def backward(root):
    order, seen = [], set()

    def visit(v):
        if v not in seen:
            seen.add(v)
            for w in v._prev:
                visit(w)
            order.append(v)

    visit(root)
    grads = {root: 1.0}
    for v in reversed(order):
        if v.vjp is not None:
            for w, g in zip(v._prev, v.vjp(grads[v])):
                grads[w] = grads.get(w, 0.0) - g
    return grads
"""
    (finding,) = diagnose_here(functional).faults
    assert finding.code == "slip_backward"
    assert "- g" in finding.text


def test_an_operation_that_needs_a_missing_module_is_not_examined():
    text = CLOSURE.replace("import math\n", "import math\nfrom nowhere.at_all import curve\n")
    text = text.replace("math.tanh(self.data)", "curve(self.data, copy=True)")
    report = diagnose_here(text)
    assert report.faults == []
    assert "tanh" in report.unexamined


def test_a_float32_that_cancels_is_no_fault():
    text = "import numpy as np\n" + CLOSURE.replace(
        "self.data = data", "self.data = np.float32(data)"
    )
    text = text.replace(
        "self.grad = 0.0\n        self._prev", "self.grad = np.float32(0)\n        self._prev"
    )
    text = text.replace(
        "self.grad += out.grad / other.data", "self.grad += out.grad * np.float32(1) / other.data"
    )
    assert diagnose_here(text).faults == []
