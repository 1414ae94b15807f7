"""The catalogue: what goes wrong in engines that people write, one row each.

A row names the fault, tells what a learner sees, why it happens and how it is mended, and plants
it: a sound engine (`engines/`) with a few lines changed is the patient. Which probes a fault fails
is not written here: it is found by running the patient (`signatures.py`), and that is also how the
doctor knows a fault again in a stranger's engine.

Three kinds: a *fault* is a wrong number or a crash on a first backward(); a *limit* shows beyond
that; a *note* is a matter of taste.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CATALOGUE", "FAULTS", "GENERAL", "ORDERS", "RULES", "Fault"]

Patch = tuple[str, str]  # old and new text; an empty old one stands for the end of the file


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that can be wrong with an engine."""

    code: str
    kind: str
    name: str
    sees: str
    why: str
    fix: str
    patches: tuple[Patch, ...]
    base: str = "closure"
    where: str = ""  # an operation, or backward: where to look for the line
    probe: str = ""  # limits and notes: the probe that shows it
    is_local: bool = False  # whether it is in the rule of one operation, `where`
    varies: bool = False  # whether the wrong numbers depend on the order of a set


CATALOGUE: list[Fault] = []
ORDERS = ("plain_recursion", "breadth_first", "insertion_order", "visited_twice")


def _row(
    kind: str, code: str, name: str, sees: str, why: str, fix: str, *patches: Patch,
    base: str = "closure", where: str = "", probe: str = "", is_local: bool = False,
    varies: bool = False,
) -> None:  # fmt: skip
    row = Fault(code, kind, name, sees, why, fix, patches, base, where, probe, is_local, varies)
    CATALOGUE.append(row)


_ADD = "self.grad += out.grad  # add, left\n            other.grad += out.grad  # add, right"
_MUL = (
    "self.grad += other.data * out.grad  # mul, left\n"
    "            other.grad += self.data * out.grad  # mul, right"
)
_DIV = (
    "self.grad += out.grad / other.data  # div, left\n"
    "            other.grad += -self.data / other.data**2 * out.grad  # div, right"
)
_WRAP = "        other = other if isinstance(other, Value) else Value(other)\n"
_SORT = """        topo = []
        visited = set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = 1.0  # seed
        for v in reversed(topo):
            v._backward()
"""

# ---- accumulation -------------------------------------------------------------------------------

_row(
    "fault", "overwrite", "every operation overwrites gradients",
    "b = a + a gives 1 instead of 2; every Value that is used twice has a wrong gradient.",
    "self.grad = … keeps the last contribution and throws the others away; the chain rule adds "
    "them up, one for each path.",
    "Write += instead of = wherever a _backward sets a gradient.",
    (".grad += ", ".grad = "), where="assign", varies=True,
)  # fmt: skip
_row(
    "fault", "same_object", "an operation with itself loses a contribution",
    "a + a and a * a are wrong, everything else is right.",
    "Both old gradients are read before either is written: if the operands are the same object, "
    "the second write undoes the first.",
    "Two statements, one after the other: self.grad += …, then other.grad += ….",
    (_ADD, "self.grad, other.grad = self.grad + out.grad, other.grad + out.grad"),
    (_MUL, "self.grad, other.grad = (\n                self.grad + other.data * out.grad,\n"
     "                other.grad + self.data * out.grad,\n            )"),
    (_DIV, "self.grad, other.grad = (\n                self.grad + out.grad / other.data,\n"
     "                other.grad - self.data / other.data**2 * out.grad,\n            )"),
    where="add", varies=True,
)  # fmt: skip
_row(
    "fault", "set_prev", "a set of operands loses an edge",
    "b = a + a gives 1 instead of 2, and a * a gives a.",
    "A set holds each operand once, so that the second use of a is not there any more.",
    "Keep the operands in a tuple, in order, with repeats.",
    ("            for child, local_grad in zip(v._children, v._local_grads, strict=True):\n"
     "                child.grad += local_grad * v.grad",
     "            for child in set(v._children):\n"
     "                child.grad += v._local_grads[v._children.index(child)] * v.grad"),
    base="local_grads", where="backward", varies=True,
)  # fmt: skip

# ---- order --------------------------------------------------------------------------------------

_row(
    "fault", "plain_recursion", "no topological sort: plain recursion",
    "A chain is right; where ways meet again, gradients come out too large.",
    "Each way down runs a node's _backward again, with everything that has gathered in it by then.",
    "Sort the nodes first; run each _backward once, after those of all its users.",
    (_SORT, """        self.grad = 1.0  # seed

        def visit(v):
            v._backward()
            for child in v._prev:
                visit(child)

        visit(self)
"""), where="backward", varies=True,
)  # fmt: skip
_row(
    "fault", "breadth_first", "no topological sort: breadth first",
    "Right as long as all ways to a node are equally long.",
    "A node runs when its first user has finished, not when all of them have: it passes on a "
    "gradient that is still growing.",
    "A topological sort: a node after all of its users.",
    (_SORT, """        self.grad = 1.0  # seed
        queue, seen = [self], {self}
        for v in queue:
            v._backward()
            for child in v._prev:
                if child not in seen:
                    seen.add(child)
                    queue.append(child)
"""), where="backward", varies=True,
)  # fmt: skip
_row(
    "fault", "insertion_order", "nodes run in the order in which they are met",
    "Right for trees; wrong where a shared node is met early and used again later.",
    "The list is filled on the way down, before the children, instead of after them.",
    "Append a node after its children, and run the list from its end.",
    (_SORT, _SORT.replace("                topo.append(v)\n", "").replace(
        "                visited.add(v)\n", "                visited.add(v)\n"
        "                topo.append(v)\n").replace("reversed(topo)", "topo")),
    where="backward", varies=True,
)  # fmt: skip
_row(
    "fault", "forward_order", "the sorted list is run from the wrong end",
    "Only the operands of the last operation have a gradient.",
    "Leaves come first in the list: they run while their own gradients are still 0.",
    "Run it backwards: for v in reversed(topo).",
    ("for v in reversed(topo):", "for v in topo:"), where="backward",
)  # fmt: skip
_row(
    "fault", "visited_twice", "shared nodes run more than once",
    "Gradients behind a shared node come out too large.",
    "Without a set of visited nodes the list holds a shared node once for every way to it.",
    "Remember what has been visited.",
    ("            if v not in visited:\n                visited.add(v)\n"
     "                for child in v._prev:\n                    build(child)\n"
     "                topo.append(v)",
     "            for child in v._prev:\n                build(child)\n            topo.append(v)"),
    where="backward", varies=True,
)  # fmt: skip

# ---- seed ---------------------------------------------------------------------------------------

_row(
    "fault", "missing_seed", "the result has no gradient to begin with",
    "All gradients are 0.",
    "Every contribution is a product with the gradient of the result, and that is still 0.",
    "Set self.grad = 1.0 before the first _backward: the derivative of a thing by itself is 1.",
    ("        self.grad = 1.0  # seed\n", ""), where="backward",
)  # fmt: skip
_row(
    "fault", "seed_zero", "the result's gradient is set to 0",
    "All gradients are 0, even if the result's was set by hand.",
    "The pass begins with self.grad = 0: perhaps meant to clear it.",
    "Set it to 1.0: the derivative of a thing by itself.",
    ("self.grad = 1.0  # seed", "self.grad = 0.0"), where="backward",
)  # fmt: skip

# ---- local derivatives --------------------------------------------------------------------------

_row(
    "fault", "mul_own", "multiplication uses the wrong operand",
    "For a * b, a gets a and b gets b.",
    "The derivative of a*b with respect to a is b: the *other* operand.",
    "self.grad += other.data * out.grad, and the other way round.",
    (_MUL, _MUL.replace("other.data", "X").replace("self.data", "other.data").replace(
        "X", "self.data")), where="mul", is_local=True,
)  # fmt: skip
_row(
    "fault", "pow_not_lowered", "the exponent is not lowered",
    "a**2 at 3 gives 18 instead of 6.",
    "The derivative of x**n is n * x**(n-1).",
    "self.grad += n * self.data ** (n - 1) * out.grad.",
    ("n * self.data ** (n - 1) * out.grad", "n * self.data**n * out.grad"),
    where="pow", is_local=True,
)  # fmt: skip
_row(
    "fault", "pow_no_factor", "the exponent is missing as a factor",
    "a**2 at 3 gives 3 instead of 6.",
    "The derivative of x**n is n * x**(n-1).",
    "Multiply by n.",
    ("n * self.data ** (n - 1) * out.grad", "self.data ** (n - 1) * out.grad"),
    where="pow", is_local=True,
)  # fmt: skip
_row(
    "fault", "pow_negative_base", "powers of negative numbers fail",
    "(-3)**2 is an error.",
    "x**n by exp(n*log(x)) needs a logarithm, which negative numbers do not have.",
    "Use Python's own self.data**n.",
    ("Value(self.data**n, (self,)", "Value(math.exp(n * math.log(self.data)), (self,)"),
    where="pow", is_local=True,
)  # fmt: skip
_row(
    "fault", "div_sign", "the divisor's gradient has the wrong sign",
    "For a / b, the gradient of b has the wrong sign.",
    "The derivative of a/b with respect to b is -a/b**2.",
    "Write the minus.",
    ("-self.data / other.data**2", "self.data / other.data**2"), where="div", is_local=True,
)  # fmt: skip
_row(
    "fault", "div_unsquared", "the divisor's gradient lacks the square",
    "For a / b, the gradient of b is wrong unless b is 1 or -1.",
    "The derivative of a/b with respect to b is -a/b**2.",
    "Divide by other.data**2.",
    ("-self.data / other.data**2", "-self.data / other.data"), where="div", is_local=True,
)  # fmt: skip
_row(
    "fault", "integer_division", "division throws the fraction away",
    "7 / 2 is 3.",
    "// rounds down; and so does a conversion to int.",
    "Use / and float(data).",
    ("Value(self.data / other.data, ", "Value(self.data // other.data, "),
    where="div", is_local=True,
)  # fmt: skip
_row(
    "fault", "integer_data", "numbers lose their fraction",
    "Value(0.5) holds 0, and everything that is made of it is wrong.",
    "int(data) in the constructor, or an integer array below it.",
    "Keep float(data).",
    ("        self.data = data\n", "        self.data = int(data)\n"), where="init",
)  # fmt: skip
_row(
    "fault", "tanh_linear", "tanh's derivative is 1 - t",
    "Gradients through tanh are too small for t > 0 and too large for t < 0.",
    "The derivative of tanh is 1 - t**2, with the square.",
    "self.grad += (1 - t**2) * out.grad.",
    ("(1 - t**2)", "(1 - t)"), where="tanh", is_local=True,
)  # fmt: skip
_row(
    "fault", "tanh_input", "tanh's derivative uses the input",
    "Gradients through tanh are wrong, the more the larger the input.",
    "In 1 - t**2, t is the *value* of tanh, not what went into it.",
    "Use the output: out.data.",
    ("(1 - t**2)", "(1 - self.data**2)"), where="tanh", is_local=True,
)  # fmt: skip
_row(
    "fault", "exp_input", "exp's derivative uses the input",
    "Gradients through exp are wrong.",
    "exp is its own derivative: exp(x), not x.",
    "self.grad += out.data * out.grad.",
    ("self.grad += out.data * out.grad  # exp", "self.grad += self.data * out.grad"), where="exp",
    is_local=True,
)  # fmt: skip
_row(
    "fault", "relu_always", "relu passes every gradient",
    "Gradients get past a relu whose input was negative.",
    "Its derivative is 1 where the input was positive and 0 elsewhere.",
    "self.grad += (out.data > 0) * out.grad.",
    ("(out.data > 0) * out.grad", "out.grad"), where="relu", is_local=True,
)  # fmt: skip
_row(
    "fault", "relu_value", "relu's derivative is its value",
    "Gradients through relu are multiplied by its output.",
    "The derivative is 0 or 1, not the value.",
    "self.grad += (out.data > 0) * out.grad.",
    ("(out.data > 0) * out.grad", "out.data * out.grad"), where="relu", is_local=True,
)  # fmt: skip
_row(
    "fault", "log_output", "log's derivative uses the output",
    "Gradients through log are wrong.",
    "The derivative of log(x) is 1/x, with x what went in.",
    "self.grad += out.grad / self.data.",
    ("out.grad / self.data  # log", "out.grad / out.data"), where="log", is_local=True,
)  # fmt: skip
_row(
    "fault", "late_binding", "functions made in a loop all use the last rule",
    "Values are right, but tanh, exp and log have relu's derivative.",
    "A closure looks a name up when it runs, and by then the loop variable has its last value.",
    "Bind it when the function is made: def op(self, slope=slope).",
    ("", """

for _name, _value, _slope in (
    ("tanh", math.tanh, lambda x, y: 1 - y**2),
    ("exp", math.exp, lambda x, y: y),
    ("log", math.log, lambda x, y: 1 / x),
    ("relu", lambda x: max(x, 0.0), lambda x, y: float(x > 0)),
):

    def _op(self, value=_value):
        out = Value(value(self.data), (self,), "op")

        def _backward():
            self.grad += _slope(self.data, out.data) * out.grad

        out._backward = _backward
        return out

    setattr(Value, _name, _op)
"""), where="tanh",
)  # fmt: skip

# ---- slips that any operation can have ----------------------------------------------------------

_POW = "self.grad += n * self.data ** (n - 1) * out.grad  # pow"
_TANH = "self.grad += (1 - t**2) * out.grad  # tanh"
_EXP = "self.grad += out.data * out.grad  # exp"
_LOG = "self.grad += out.grad / self.data  # log"
_RELU = "self.grad += (out.data > 0) * out.grad  # relu"
_SIGMOID = "self.grad += out.data * (1 - out.data) * out.grad  # sigmoid"
RULES = {  # the lines of each rule, and the same without the gradient that comes in
    "add": (_ADD, _ADD.replace("out.grad  #", "1.0  #")),
    "mul": (_MUL, _MUL.replace(" * out.grad", "")),
    "div": (_DIV, _DIV.replace(" * out.grad", "").replace("out.grad /", "1 /")),
    "pow": (_POW, _POW.replace(" * out.grad", "")),
    "tanh": (_TANH, _TANH.replace(" * out.grad", "")),
    "exp": (_EXP, _EXP.replace(" * out.grad", "")),
    "log": (_LOG, _LOG.replace("out.grad /", "1 /")),
    "relu": (_RELU, _RELU.replace(" * out.grad", "")),
    "sigmoid": (_SIGMOID, _SIGMOID.replace(" * out.grad", "")),
}
for _op, (_rule, _without) in RULES.items():
    _word = {"add": "addition", "mul": "multiplication", "div": "division", "pow": "**"}.get(
        _op, _op
    )
    _row(
        "fault", f"overwrite_{_op}", f"{_word} overwrites gradients",
        f"Right until a Value goes into {_word} and is used once more.",
        f"The rule of {_word} sets gradients with =, which forgets what came before.",
        f"Write += in the rule of {_word}.",
        (_rule, _rule.replace("+=", "=")), where=_op, varies=True,
    )  # fmt: skip
    _row(
        "fault", f"not_set_{_op}", f"{_word} has no _backward",
        f"No gradient gets past {_word}.",
        "The function may be written, but out._backward = _backward is missing.",
        "Assign it to the node that the operation returns.",
        (f"{_rule}\n\n        out._backward = _backward\n", f"{_rule}\n\n"), where=_op,
        is_local=True,
    )  # fmt: skip
    _row(
        "fault", f"chain_forgotten_{_op}", f"{_word} forgets the gradient that comes in",
        f"{_word} alone is right; inside something else it is wrong.",
        "A local derivative has to be multiplied by out.grad: that is the chain rule.",
        "Multiply by out.grad.",
        (_rule, _without), where=_op, is_local=True,
    )  # fmt: skip

# ---- identity and state -------------------------------------------------------------------------

_row(
    "fault", "value_hash", "equal numbers are taken for the same node",
    "Gradients are lost where two Values happen to have the same number.",
    "__eq__ and __hash__ compare data, so that a set of visited nodes merges distinct ones.",
    "Leave equality and hash as they are (identity), or keep id(node) in the set.",
    ("", """

Value.__eq__ = lambda self, other: self.data == getattr(other, "data", other)
Value.__hash__ = lambda self: hash(self.data)
"""), where="class", varies=True,
)  # fmt: skip
_row(
    "fault", "constants", "numbers are not wrapped",
    "a * 2 is an error: 'int' object has no attribute 'data'.",
    "The other operand may be a plain number.",
    "other = other if isinstance(other, Value) else Value(other).",
    (_WRAP, ""),
    ("        return self * -1\n", "        return self * Value(-1.0)\n"), where="add",
)  # fmt: skip
_row(
    "fault", "in_place", "a += b changes a itself",
    "After c = a; c += b, a has changed too, and its history is lost.",
    "__iadd__ changes the node in place; the graph needs a new one.",
    "Leave __iadd__ out: Python then writes a = a + b.",
    ("", """

def _iadd(self, other):
    self.data += other.data if isinstance(other, Value) else other
    return self


Value.__iadd__ = _iadd
"""), where="class",
)  # fmt: skip
_row(
    "fault", "reused_output", "a result that is used elsewhere gets no backward pass",
    "backward() does nothing on a Value that is also part of a larger expression.",
    "Users are counted when the graph is built, and the pass waits for users that it never visits.",
    "Count the users below the result only, when backward() is called.",
    ("        self._op = _op\n", "        self._op = _op\n        self._all = tuple(_children)\n"
     "        self.users = 0\n        for child in self._all:\n            child.users += 1\n"),
    (_SORT, """        self.grad = 1.0  # seed
        ready = [] if self.users else [self]
        while ready:
            v = ready.pop()
            v._backward()
            for child in v._all:
                child.users -= 1
                if child.users == 0:
                    ready.append(child)
"""), where="backward",
)  # fmt: skip

for _word, _symbol, _right in (
    ("rsub", "-", "(-self) + other"), ("rtruediv", "/", "Value(other) / self"),
):  # fmt: skip
    _row(
        "fault", f"{_word}_swapped", f"a number on the left of {_symbol} is put on the right",
        f"2 {_symbol} a gives a {_symbol} 2.",
        f"__{_word}__(self, other) is called for other {_symbol} self, in this order.",
        f"return Value(other) {_symbol} self.",
        (f"        return {_right}\n", f"        return self {_symbol} other\n"), where=_word,
    )  # fmt: skip

# What the doctor says where it knows what kind of thing is wrong, but not which: no patients.
GENERAL = {
    "wrong_order": Fault(
        "wrong_order", "fault", "nodes do not run in topological order",
        "A chain is right; where ways meet again, gradients are wrong.",
        "A node's _backward runs before all of its users have run theirs, or more than once.",
        "Sort the nodes first, and run each _backward once, after those of all its users.",
        (), where="backward",
    ),
}  # fmt: skip

# ---- limits: beyond a first backward() ----------------------------------------------------------

_FRESH = """        order = self._order()
        fresh = {id(node): 0.0 for node in order}
        fresh[id(self)] = 1.0
        for node in reversed(order):
            for operand, slope in zip(node._prev, node._rule, strict=False):
                fresh[id(operand)] += slope * fresh[id(node)]
        for node in order:
            node.grad += fresh[id(node)]
"""
_row(
    "limit", "stale_interior", "a second backward() counts old gradients again",
    "Two calls of backward() give more than twice the gradient.",
    "Interior nodes still hold the gradients of the first pass, and pass them on once more.",
    "Clear interior gradients before each pass, or call backward() once per graph.",
    (_FRESH, """        self.grad = 1.0
        for node in reversed(self._order()):
            for operand, slope in zip(node._prev, node._rule, strict=False):
                operand.grad += slope * node.grad
"""), base="tuple_prev", where="backward", probe="second backward",
)  # fmt: skip
_row(
    "limit", "second_seed", "a second backward() resets the result's gradient",
    "A Value that is first inside a larger expression and then a result has gradient 1.",
    "self.grad = 1.0 replaces what an earlier pass had left there.",
    "Add 1 to what is there, or keep the gradients of a pass apart.",
    ("            node.grad += fresh[id(node)]\n",
     "            node.grad += fresh[id(node)]\n        self.grad = 1.0\n"),
    base="tuple_prev", where="backward", probe="two results",
)  # fmt: skip
_row(
    "limit", "zeroing", "a second backward() adds nothing",
    "Gradients of two calls do not add up.",
    "Gradients are cleared before a pass, or the graph is gone after the first.",
    "If that is meant, say so in the docstring of backward(); if not, accumulate.",
    ("node.grad += fresh[id(node)]", "node.grad = fresh[id(node)]"),
    base="tuple_prev", where="backward", probe="second backward",
)  # fmt: skip
_row(
    "limit", "zero_grad", "zero_grad() does not clear gradients",
    "Gradients of one training step are still there in the next.",
    "The method exists, but gradients are as they were after it.",
    "Set grad to 0 for the node and everything below it.",
    ("", """

Value.zero_grad = lambda self: None
"""), base="tuple_prev", where="class", probe="zero_grad",
)  # fmt: skip
_row(
    "limit", "recursion", "deep graphs end in RecursionError",
    "A chain of a few thousand operations cannot be run backward.",
    "The sort calls itself once per level, and Python allows about a thousand calls.",
    "Sort with a list as a stack.",
    ("        order, done, stack = [], set(), [(self, iter(self._prev))]\n"
     "        done.add(id(self))\n"
     "        while stack:\n"
     "            node, rest = stack[-1]\n"
     "            for operand in rest:\n"
     "                if id(operand) not in done:\n"
     "                    done.add(id(operand))\n"
     "                    stack.append((operand, iter(operand._prev)))\n"
     "                    break\n"
     "            else:\n"
     "                stack.pop()\n"
     "                order.append(node)\n"
     "        return order\n",
     "        return _visit(self, [], set())\n"),
    ("", """

def _visit(node, order, done):
    if id(node) not in done:
        done.add(id(node))
        for operand in node._prev:
            _visit(operand, order, done)
        order.append(node)
    return order
"""), base="tuple_prev", where="backward", probe="depth",
)  # fmt: skip
_row(
    "limit", "tanh_overflow", "tanh overflows for large arguments",
    "tanh(1000) is an error or nan.",
    "(e^2x - 1)/(e^2x + 1) computes e^2000 on the way.",
    "Use math.tanh.",
    ("        t = math.tanh(self.data)\n",
     "        e = math.exp(2 * self.data)\n        t = (e - 1) / (e + 1)\n"),
    base="tuple_prev", where="tanh", probe="tanh far out",
)  # fmt: skip
_row(
    "limit", "exponents", "not every exponent works",
    "a**b with a Value as exponent, or 0**0, is an error.",
    "The rule of ** is for constant exponents, and at 0 it divides by 0.",
    "d(a**b)/db is a**b * log(a); treat the exponent 0 by itself.",
    ("        if isinstance(n, Value):\n"
     "            y = self.data**n.data\n"
     "            slopes = (n.data * self.data ** (n.data - 1), y * math.log(self.data))\n"
     "            return self._make(y, (self, n), slopes)\n", ""),
    base="tuple_prev", where="pow", probe="power of a Value",
)  # fmt: skip
for _op, _symbol, _word in (
    ("add", "+", "radd"), ("mul", "*", "rmul"), ("sub", "-", "rsub"), ("truediv", "/", "rtruediv"),
):  # fmt: skip
    _row(
        "limit", f"missing_{_word}", f"a number on the left of {_symbol} does not work",
        f"2 {_symbol} a is an error, though a {_symbol} 2 works.",
        f"Python asks the number first, and then the Value for __{_word}__, which is not there.",
        f"Write __{_word}__.",
        (f"def __{_word}__", f"def _{_word}"),
        base="tuple_prev", where="class", probe=f"number {_symbol} a",
    )  # fmt: skip
_row(
    "limit", "sum_fails", "sum([…]) does not work",
    "sum([a, b]) is an error, though 2 + a works.",
    "sum begins with the int 0, which __radd__ refuses.",
    "Accept any number in __radd__.",
    ("        return Value(other) + self\n",
     "        return Value(other) + self if isinstance(other, float) else NotImplemented\n"),
    base="tuple_prev", where="class", probe="sum of a list",
)  # fmt: skip
_row(
    "limit", "missing_neg", "-a does not work",
    "-a is an error, though a * -1 works.",
    "There is no __neg__.",
    "def __neg__(self): return self * -1.",
    ("def __neg__", "def _neg"), base="tuple_prev", where="class", probe="minus a",
)  # fmt: skip
_row(
    "limit", "cycles", "graphs wait for the garbage collector",
    "Memory grows until the collector runs, and the collector takes most of the time.",
    "A _backward closure refers to its own node, or a recursive helper to itself: a cycle, which "
    "reference counting cannot free.",
    "Keep local derivatives instead of closures, and sort without a nested function.",
    ("        out._rule = rule\n", "        out._rule = rule\n        out._me = out\n"),
    base="tuple_prev", where="class", probe="memory",
)  # fmt: skip
_row(
    "limit", "growth", "graphs are never freed",
    "Memory grows with every step, for ever.",
    "Something outside of the graph, such as a list of all nodes, keeps every node alive.",
    "Let a node be held by its users alone.",
    ("class Value:\n", "class Value:\n    everyone = []\n\n"),
    ("        self._rule = ()\n", "        self._rule = ()\n        Value.everyone.append(self)\n"),
    base="tuple_prev", where="class", probe="memory",
)  # fmt: skip

# ---- matters of taste ---------------------------------------------------------------------------

_row(
    "note", "relu_at_zero", "relu has slope 1 at 0",
    "relu'(0) is 1 here; most libraries have 0.",
    "At the kink any slope between 0 and 1 is right.",
    "Nothing to mend; > instead of >= gives the usual 0.",
    ("(1.0 if self.data > 0 else 0.0,)", "(1.0 if self.data >= 0 else 0.0,)"),
    base="tuple_prev", where="relu", probe="relu at zero",
)  # fmt: skip

FAULTS = {fault.code: fault for fault in CATALOGUE}
