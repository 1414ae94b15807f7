"""Speaking to anybody's class: its words are found by trying, whatever they are."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from sound_engines import source

from minigrad.check import diagnose_here
from minigrad.check.doctor.dialect import IN_RESULTS, NoResult
from minigrad.check.doctor.finding import find
from minigrad.check.doctor.passes import Named, NoEngineError
from minigrad.check.doctor.scripts import Script

CLOSURE = source("closure")
TUPLE = source("tuple_prev")
SCRIPT = Script({"a": 1.5, "b": -0.5, "e": 2.0}, ("c = a * b", "d = c + a", "f = d * e"))
RIGHT = {"a": 1.0, "b": 3.0}  # d/da (a * b + a) * e = (b + 1) * e; d/db = a * e


def loaded(text):
    module = ModuleType("stranger")
    exec(compile(text, "stranger.py", "exec"), module.__dict__)
    return module


def spoken_to(text, **named):
    """Find a dialect, and run a script with its words: what comes out is right."""
    dialect = find(loaded(text), Named(**named))
    values = dialect.run(SCRIPT)
    dialect.backward(values["f"])
    assert {n: dialect.number(values[n], dialect.grad) for n in RIGHT} == RIGHT
    assert dialect.number(values["f"], dialect.data) == 1.5
    return dialect


def called(name, text=CLOSURE):
    return text.replace("def backward(self)", f"def {name}(self)")


TAIL = CLOSURE[CLOSURE.index("    def backward(self)") :]
# The pass, taken out of the class and called by another name: with what it is called, and how.
NAMES = [
    "backwards",
    "backprop",
    "runbackpropagation",
    "flow_back",
    "go",
    "differentiate",
    "x1",
    "_backprop",
    "compute",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_of_any_name(name):
    assert spoken_to(called(name)).words["backward"] == f"{name}()"


def moved_out(head, tail=""):
    """Make the pass a function of its own, with another head."""
    lines = TAIL.replace("self", "root").splitlines()[1:]
    body = "\n".join(line[4:] for line in lines)
    return CLOSURE.replace(TAIL, "") + f"\n\n{head}\n{body}\n{tail}"


PASSES = {
    "backprop(v)": moved_out("def backprop(root):"),
    "run_all(v)": moved_out("def run_all(root):"),
    "backward(v)": moved_out("def backward(root, seed=1.0):"),
    "seeded(v)": moved_out("def seeded(root, seed):"),
    "Tape().backward(v)": moved_out(
        "def _pass(root):", "class Tape:\n    def backward(self, root):\n        _pass(root)\n"
    ),
    "Tape.backward(v)": moved_out(
        "def _pass(root):",
        "class Tape:\n    @staticmethod\n    def backward(root):\n        _pass(root)\n",
    ),
    "back_prop(v)": moved_out(
        "def _pass(root):", "Value.back_prop = lambda self, root: _pass(root)\n"
    ),
    "flow(v)": moved_out(
        "def _pass(root):", "Value.flow = staticmethod(lambda root: _pass(root))\n"
    ),
    "backward()": moved_out(
        "def _pass(root):",
        "_old = Value.__init__\n"
        "def _new(self, *a, **k):\n"
        "    _old(self, *a, **k)\n"
        "    self.backward = lambda: _pass(self)\n"
        "Value.__init__ = _new\n",
    ),
}


@pytest.mark.parametrize("word", PASSES)
def test_a_pass_of_any_kind(word):
    assert spoken_to(PASSES[word]).words["backward"] == word


def test_a_rule_of_one_node_is_no_pass():
    # Each node's rule is called backward; the pass has another name.
    text = called("propagate").replace("_backward", "backward")
    assert "out.backward = backward" in text
    assert spoken_to(text).words["backward"] == "propagate()"


GRADIENTS = {
    "1 before": TUPLE.replace("self.grad = 0.0", "self.grad = 1.0").replace(
        "node.grad += ", "node.grad = "
    ),
    "of another name": CLOSURE.replace("grad", "sensitivity"),
    "a method": CLOSURE.replace("self.grad = 0.0", "self._g = 0.0").replace(".grad", "._g")
    + "\nValue.grad = lambda self: self._g\n",
    "a property": CLOSURE.replace(".grad", ".hidden")
    + "\nValue.grad = property(lambda self: self.hidden)\n",
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_of_any_kind(name):
    dialect = spoken_to(GRADIENTS[name])
    assert dialect.grad == ("sensitivity" if name == "of another name" else "grad")


def test_a_gradient_that_is_none_before():
    # The rules make a number of it first; a leaf that nobody reaches keeps None, which counts as 0.
    text = CLOSURE.replace("self.grad = 0.0\n", "self.grad = None\n")
    text = text.replace("        self.grad = 1.0  # seed\n",
                        "        for v in topo:\n            v.grad = 0.0\n"
                        "        self.grad = 1.0  # seed\n")  # fmt: skip
    dialect = spoken_to(text)
    assert dialect.number(dialect.make(1.0), "grad") == 0.0


# Local derivatives, and a function that gives a dict of them, by node.
RETURNS = """
class Var:
    def __init__(self, value, local=()):
        self.value = value
        self.local = local
    def __add__(self, other):
        return Var(self.value + other.value, ((self, 1.0), (other, 1.0)))
    def __mul__(self, other):
        return Var(self.value * other.value, ((self, other.value), (other, self.value)))

def get_gradients(root):
    found = {}
    def walk(node, path):
        for child, slope in node.local:
            found[child] = found.get(child, 0.0) + path * slope
            walk(child, path * slope)
    walk(root, 1.0)
    return found
"""
BY_ID = RETURNS.replace("found[child]", "found[id(child)]").replace("get(child", "get(id(child)")


def test_a_pass_that_returns_the_gradients():
    dialect = spoken_to(RETURNS)
    assert (dialect.data, dialect.grad) == ("value", IN_RESULTS)
    assert spoken_to(BY_ID).grad == IN_RESULTS


NUMBERS = {
    "number": CLOSURE.replace(".data", ".n_"),
    "a method": CLOSURE.replace("self.data = data", "self._d = data").replace(".data", "._d")
    + "\nValue.data = lambda self: self._d\n",
}


def test_a_number_of_any_name():
    assert spoken_to(NUMBERS["number"]).data == "n_"
    assert spoken_to(NUMBERS["a method"]).data in ("_d", "data")


SMALL = """
class Node:
    def __init__({head}):
        self.value, self.children, self.slope = {value}, (), 0.0
        self.label, self.is_tracked = label, {tracked}
    def _made(self, value, *children):
        out = Node.__new__(Node)
        out.value, out.children, out.slope = value, children, 0.0
        out.is_tracked = any(child.is_tracked for child, _ in children)
        return out
    def __add__(self, o):
        return self._made(self.value + o.value, (self, 1.0), (o, 1.0))
    def __mul__(self, o):
        return self._made(self.value * o.value, (self, o.value), (o, self.value))
    def push(self, slope=1.0):
        if self.is_tracked:
            self.slope += slope
        for child, local in self.children:
            child.push(slope * local)
"""
HEADS = {
    "label first": ("self, label, data", "data", "True"),
    "by keyword": ("self, *, label, value", "value", "True"),
    "something else": ("self, value, label, store", "value", "True"),
    "requires_grad": ("self, value, label=None, requires_grad=False", "value", "requires_grad"),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_constructor_of_any_kind(name):
    head, value, tracked = HEADS[name]
    dialect = spoken_to(SMALL.format(head=head, value=value, tracked=tracked))
    assert dialect.words["class"] == "Node"
    assert (dialect.data, dialect.grad) == ("value", "slope")
    assert dialect.words["backward"] == "push()"


@pytest.mark.parametrize("shape", ["data", "[data]", "[[data]]"])
def test_arrays_of_one_are_numbers(shape):
    pytest.importorskip("numpy")
    text = "import numpy as np\n" + TUPLE.replace(
        "self.data = data", f"self.data = np.array({shape}, float).reshape(-1) + 0"
    ).replace("self.grad = 0.0", "self.grad = np.zeros(1)")
    dialect = find(loaded(text))
    a = dialect.make(2.5)
    assert dialect.number(a, dialect.data) == 2.5
    assert dialect.number(a, dialect.grad) == 0.0
    dialect.seed(a)
    assert dialect.number(a, dialect.grad) == 1.0


def test_an_engine_that_needs_arrays():
    pytest.importorskip("numpy")
    text = (
        "import numpy as np\n"
        + SMALL.format(head="self, value, label=None", value="value", tracked="True")
    ).replace(
        "return self._made(self.value", "return self._made(self.value.reshape(1) * 0 + self.value"
    )
    assert spoken_to(text).spelling["make"] == "Node(np.array({}))"


def test_an_engine_whose_pass_needs_arrays():
    # Operations take anything; the pass looks into the first element.
    pytest.importorskip("numpy")
    text = (
        "import numpy as np\n"
        + SMALL.format(head="self, value, label=None", value="value", tracked="True")
    ).replace(
        "            self.slope += slope\n", "            self.slope += slope + 0 * self.value[0]\n"
    )
    assert spoken_to(text).spelling["make"] == "Node(np.array([{}]))"


LAZY = """
class Lazy:
    def __init__(self, value, how=None, operands=()):
        self.value, self.how, self.operands, self.grad = value, how, operands, 0.0
    def __add__(self, other):
        return Lazy(None, "+", (self, other))
    def __mul__(self, other):
        return Lazy(None, "*", (self, other))
    def eval(self):
        if self.operands:
            x, y = (operand.eval() for operand in self.operands)
            self.value = x + y if self.how == "+" else x * y
        return self.value
    def backward(self, grad=1.0):
        assert self.value is not None, "call eval() first"
        self.grad += grad
        if self.operands:
            x, y = self.operands
            x.backward(grad * (1 if self.how == "+" else y.value))
            y.backward(grad * (1 if self.how == "+" else x.value))
"""


def test_an_engine_that_is_evaluated_before_its_pass():
    assert spoken_to(LAZY).evaluate == "eval"


# ---- which class, and what is said --------------------------------------------------------------

OTHERS = """
class Adder:
    def __init__(self, a):
        self.a = a
    def __call__(self, x):
        return x

class MLP:
    def __init__(self, sizes):
        self.layers = [None for _ in range(sizes)]

class Money(int):
    pass
"""


def test_the_class_is_the_one_with_the_operators():
    assert spoken_to(OTHERS + CLOSURE.replace("Value", "Zahl")).words["class"] == "Zahl"
    both = CLOSURE.replace("Value", "Aaa") + CLOSURE
    assert find(loaded(both)).words["class"] == "Value"
    assert (
        find(loaded(CLOSURE + CLOSURE.replace("Value", "Aaa")), last=True).words["class"] == "Aaa"
    )
    assert find(loaded(both)).choices == ["Aaa", "Value"]


def test_what_the_class_has_is_said_where_something_is_missing():
    text = OTHERS + TUPLE[: TUPLE.index("    def backward(self)")]
    with pytest.raises(NoEngineError) as caught:
        find(loaded(text))
    said = str(caught.value)
    assert said.startswith("Value has no backward() yet; it has operations +, ")
    assert "attributes data" in said
    with pytest.raises(NoEngineError, match="Value has no flow; it has"):
        find(loaded(CLOSURE), Named(backward="flow"))
    with pytest.raises(NoEngineError, match="no gradient in an attribute called g"):
        find(loaded(CLOSURE), Named(grad="g"))
    with pytest.raises(NoEngineError, match="keeps its number in no attribute called n"):
        find(loaded(CLOSURE), Named(data="n"))
    with pytest.raises(NoEngineError, match="no class Nobody"):
        find(loaded(CLOSURE), "Nobody")


def test_names_that_are_given_are_used():
    # Two passes, two gradients, two numbers: which is meant can only be said.
    text = CLOSURE.replace("self.grad = 0.0", "self.grad = 0.0\n        self.copy = data")
    text += "\nValue.fast = Value.backward\n"
    dialect = spoken_to(text, cls="Value", data="data", grad="grad", backward="fast")
    assert dialect.words["backward"] == "fast()"
    assert spoken_to(text, backward="backward()").words["backward"] == "backward()"


def test_a_broken_pass_of_a_familiar_name_is_not_replaced_by_another():
    # The doctor must see the fault, and not the right pass that stands beside it.
    text = CLOSURE.replace("reversed(topo)", "topo") + (
        "\n\ndef numerical_gradient(v):\n    return {}\n"
    )
    assert find(loaded(text)).words["backward"] == "backward()"
    text = CLOSURE.replace("        self.grad = 1.0  # seed\n", "")
    assert find(loaded(text)).words["backward"] == "backward()"
    text = CLOSURE.replace("topo = []", "topo = [][0]")
    assert find(loaded(text)).words["backward"] == "backward()"


def test_a_pass_that_insists_on_a_gradient_to_begin_with():
    asks = "        assert self.grad, 'set the gradient of the result first'\n"
    text = CLOSURE.replace("        self.grad = 1.0  # seed\n", asks)
    dialect = spoken_to(text)
    assert dialect.words["backward"] == "backward()"
    assert dialect.spelling["backward"] == "{0}.grad = 1.0; {0}.backward()"


def test_of_a_rule_and_a_pass_of_familiar_names_the_pass_is_taken():
    text = called("backwards").replace("_backward", "backward")
    assert spoken_to(text).words["backward"] == "backwards()"


def test_a_pass_that_goes_back_to_its_inputs_and_is_begun_by_hand():
    text = called("back_propagate_to_inputs").replace("        self.grad = 1.0  # seed\n", "")
    assert "self.grad = 1.0; " not in text
    dialect = find(loaded(text))
    assert dialect.spelling["backward"] == "{0}.grad = 1.0; {0}.back_propagate_to_inputs()"


def test_operations_that_return_nothing_do_not_hide_the_pass():
    text = CLOSURE.replace("        return out\n", "")
    assert find(loaded(text)).words["backward"] == "backward()"


def test_complex_numbers_are_called_so():
    text = CLOSURE.replace("self.data = data", "self.data = complex(data)")
    with pytest.raises(NoEngineError, match="keeps a complex number in data; numbers are real"):
        find(loaded(text))


def test_a_constructor_that_exits_is_not_a_file_that_does_not_load():
    text = CLOSURE.replace("        self.data = data\n", "        raise SystemExit\n")
    with pytest.raises(NoEngineError, match=r"made from one number \(SystemExit by sys.exit\(\)"):
        find(loaded(text))


def test_a_number_of_numpys_is_no_value():
    np = pytest.importorskip("numpy")
    text = CLOSURE.replace("return self * -1", "return np.float32(self.data) * -1")
    dialect = find(loaded(f"import numpy as np\n{text}"))
    assert np.float32(1).data is not None  # which is no number
    with pytest.raises(NoResult, match="-a is of type float"):
        dialect.run(Script({"a": 1.5}, ("b = -a",)))


def test_a_helper_is_no_operation():
    text = TUPLE.replace("    def tanh(self):", "    def log(self, x, base):\n        return x\n\n"
                         "    def tanh(self):")  # fmt: skip
    assert "log" not in find(loaded(text)).operations
    assert "tanh" in find(loaded(text)).operations


def test_numpy_is_not_loaded_to_find_words():
    assert find(loaded(TUPLE)).spelling["make"] == "Value({})"
    assert "stranger" not in sys.modules


# ---- gradients that are not kept in an attribute ------------------------------------------------

_NODE = """
class Var:
    def __init__(self, value, parents=()):
        self.value, self.parents = value, parents
    def __add__(self, o):
        return Var(self.value + o.value, ((self, 1.0), (o, 1.0)))
    def __mul__(self, o):
        return Var(self.value * o.value, ((self, o.value), (o, self.value)))
"""
ELSEWHERE = {
    "a dict of the module": _NODE
    + """
GRADS = {}
def backward(out, g=1.0):
    GRADS[out] = GRADS.get(out, 0.0) + g
    for parent, slope in out.parents:
        backward(parent, g * slope)
""",
    "a dict of the result": _NODE.replace(
        "value, parents\n", "value, parents\n        self.d = {}\n"
    )
    + """
    def backward(self):
        def go(v, g):
            self.d[id(v)] = self.d.get(id(v), 0.0) + g
            for parent, slope in v.parents:
                go(parent, g * slope)
        go(self, 1.0)
""",
    "asked of the result": _NODE
    + """
    def grad(self, leaf):
        if self is leaf:
            return 1.0
        return sum(slope * parent.grad(leaf) for parent, slope in self.parents)
""",
    "asked of the leaf": """
class Var:
    def __init__(self, value):
        self.value, self.users, self.grad_value = value, [], None
    def grad(self):
        if self.grad_value is None:
            self.grad_value = sum(slope * user.grad() for slope, user in self.users)
        return self.grad_value
    def __add__(self, o):
        z = Var(self.value + o.value)
        self.users.append((1.0, z))
        o.users.append((1.0, z))
        return z
    def __mul__(self, o):
        z = Var(self.value * o.value)
        self.users.append((o.value, z))
        o.users.append((self.value, z))
        return z
""",
}


@pytest.mark.parametrize("where", ELSEWHERE)
def test_gradients_are_found_wherever_they_are(where):
    assert spoken_to(ELSEWHERE[where]).grad == IN_RESULTS


PASTED = {**ELSEWHERE, "returned": RETURNS, "returned by id": BY_ID, "evaluated": LAZY}

SWAPPED = {
    "o.value)": "self.value)",
    "other.value)": "self.value)",
    "else y.value)": "else x.value)",
    "(o.value, z)": "(self.value, z)",
}


@pytest.mark.parametrize("where", PASTED)
def test_what_is_shown_can_be_pasted_wherever_gradients_are(where):
    text = PASTED[where]
    for old, new in SWAPPED.items():
        text = text.replace(old, new)
    report = diagnose_here(text)
    finding = report.faults[0]
    space = loaded(text).__dict__
    exec(finding.written(report.spelling), space)
    for told in finding.got.split(", "):
        gradient, _, number = told.partition(" = ")
        assert float(eval(gradient, space)) == pytest.approx(float(number), rel=1e-4)


def test_a_gradient_that_is_asked_for_and_wrong_of_products():
    text = ELSEWHERE["asked of the leaf"]
    swapped = text.replace("(o.value, z)", "(self.value, z)").replace(
        "o.users.append((self", "o.users.append((o"
    )
    assert [f.code for f in diagnose_here(text).faults] == []
    assert [f.code for f in diagnose_here(swapped).faults] == ["mul_own"]


def test_a_number_that_is_a_value_itself():
    text = """
class Value(float):
    def __new__(cls, x, parents=()):
        made = super().__new__(cls, x)
        made.parents, made.grad = parents, 0.0
        return made
    def __add__(self, o):
        return Value(float(self) + float(o), ((self, 1.0), (o, 1.0)))
    def __mul__(self, o):
        return Value(float(self) * float(o), ((self, float(o)), (o, float(self))))
    def backward(self, g=1.0):
        self.grad += g
        for parent, slope in self.parents:
            parent.backward(g * slope)
"""
    assert spoken_to(text).data == "real"
