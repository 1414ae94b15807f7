"""Faults in the rule of one operation: its derivative, and slips that any rule can have."""

from __future__ import annotations

import functools

from .rows import ADD, DIV, MUL, NEG, SUB, Fault, add

ROWS: list[Fault] = []
_row = functools.partial(add, ROWS, "fault")

# fmt: off
# ---- local derivatives --------------------------------------------------------------------------

_row("mul_own", "multiplication uses the wrong operand",
     "For a * b, a gets a and b gets b.",
     "The derivative of a*b with respect to a is b: the *other* operand.",
     "self.grad += other.data * out.grad, and the other way round.",
     (MUL, MUL.replace("other.data", "X").replace("self.data", "other.data").replace(
         "X", "self.data")), where="mul", is_local=True)
_row("mul_grad", "multiplication uses the other operand's gradient",
     "For a * b, both gradients are 0.",
     "The derivative of a*b with respect to a is b's *number*; its gradient is still 0 by then.",
     "self.grad += other.data * out.grad, and the other way round.",
     (MUL, MUL.replace(".data", ".grad")), where="mul", is_local=True)
_row("pow_not_lowered", "the exponent is not lowered",
     "a**2 at 3 gives 18 instead of 6.",
     "The derivative of x**n is n * x**(n-1).",
     "self.grad += n * self.data ** (n - 1) * out.grad.",
     ("n * self.data ** (n - 1) * out.grad", "n * self.data**n * out.grad"),
     where="pow", is_local=True)
_row("pow_no_factor", "the exponent is missing as a factor",
     "a**2 at 3 gives 3 instead of 6.",
     "The derivative of x**n is n * x**(n-1).",
     "Multiply by n.",
     ("n * self.data ** (n - 1) * out.grad", "self.data ** (n - 1) * out.grad"),
     where="pow", is_local=True)
_row("pow_negative_base", "powers of negative numbers fail",
     "(-3)**2 is an error.",
     "x**n by exp(n*log(x)) needs a logarithm, which negative numbers do not have.",
     "Use Python's own self.data**n.",
     ("Value(self.data**n, (self,)", "Value(math.exp(n * math.log(self.data)), (self,)"),
     where="pow", is_local=True)
_row("div_sign", "the divisor's gradient has the wrong sign",
     "For a / b, the gradient of b has the wrong sign.",
     "The derivative of a/b with respect to b is -a/b**2.",
     "Write the minus.",
     ("-self.data / other.data**2", "self.data / other.data**2"), where="div", is_local=True)
_row("div_unsquared", "the divisor's gradient lacks the square",
     "For a / b, the gradient of b is wrong unless b is 1 or -1.",
     "The derivative of a/b with respect to b is -a/b**2.",
     "Divide by other.data**2.",
     ("-self.data / other.data**2", "-self.data / other.data"), where="div", is_local=True)
_row("integer_division", "division throws the fraction away",
     "7 / 2 is 3.",
     "// rounds down; and so does a conversion to int.",
     "Use / and float(data).",
     ("Value(self.data / other.data, ", "Value(self.data // other.data, "),
     where="div", is_local=True)
_row("integer_data", "numbers lose their fraction",
     "Value(0.5) holds 0, and everything that is made of it is wrong.",
     "int(data) in the constructor, or an integer array below it.",
     "Keep float(data).",
     ("        self.data = data\n", "        self.data = int(data)\n"), where="init")
_row("tanh_linear", "tanh's derivative is 1 - t",
     "Gradients through tanh are too small for t > 0 and too large for t < 0.",
     "The derivative of tanh is 1 - t**2, with the square.",
     "self.grad += (1 - t**2) * out.grad.",
     ("(1 - t**2)", "(1 - t)"), where="tanh", is_local=True)
_row("tanh_input", "tanh's derivative uses the input",
     "Gradients through tanh are wrong, the more the larger the input.",
     "In 1 - t**2, t is the *value* of tanh, not what went into it.",
     "Use the output: out.data.",
     ("(1 - t**2)", "(1 - self.data**2)"), where="tanh", is_local=True)
_row("exp_input", "exp's derivative uses the input",
     "Gradients through exp are wrong.",
     "exp is its own derivative: exp(x), not x.",
     "self.grad += out.data * out.grad.",
     ("self.grad += out.data * out.grad  # exp", "self.grad += self.data * out.grad"), where="exp",
     is_local=True)
_row("exp_twice", "exp's derivative takes exp twice",
     "Gradients through exp are far too large.",
     "out.data is exp(x) already, and exp is its own derivative.",
     "self.grad += out.data * out.grad.",
     ("self.grad += out.data * out.grad  # exp", "self.grad += math.exp(out.data) * out.grad"),
     where="exp", is_local=True)
_row("relu_always", "relu passes every gradient",
     "Gradients get past a relu whose input was negative.",
     "Its derivative is 1 where the input was positive and 0 elsewhere.",
     "self.grad += (out.data > 0) * out.grad.",
     ("(out.data > 0) * out.grad", "out.grad"), where="relu", is_local=True)
_row("relu_value", "relu's derivative is its value",
     "Gradients through relu are multiplied by its output.",
     "The derivative is 0 or 1, not the value.",
     "self.grad += (out.data > 0) * out.grad.",
     ("(out.data > 0) * out.grad", "out.data * out.grad"), where="relu", is_local=True)
_row("log_output", "log's derivative uses the output",
     "Gradients through log are wrong.",
     "The derivative of log(x) is 1/x, with x what went in.",
     "self.grad += out.grad / self.data.",
     ("out.grad / self.data  # log", "out.grad / out.data"), where="log", is_local=True)
_row("late_binding", "functions made in a loop all use the last rule",
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
"""), where="tanh")

_row("div_no_numerator", "the divisor's gradient lacks the numerator",
     "For a / b, the gradient of b is the same whatever a is.",
     "The derivative of a/b with respect to b is -a/b**2.",
     "other.grad += -self.data / other.data**2 * out.grad.",
     ("-self.data / other.data**2", "-1 / other.data**2"), where="div", is_local=True)
_row("sigmoid_no_factor", "sigmoid's derivative is 1 - s",
     "Gradients through sigmoid are too large.",
     "The derivative of sigmoid is s * (1 - s): the factor s is missing.",
     "self.grad += out.data * (1 - out.data) * out.grad.",
     ("out.data * (1 - out.data) * out.grad", "(1 - out.data) * out.grad"), where="sigmoid",
     is_local=True)
_row("sigmoid_input", "sigmoid's derivative uses the input",
     "Gradients through sigmoid are wrong, and even negative.",
     "In s * (1 - s), s is the *value* of sigmoid, not what went into it.",
     "Use the output: out.data.",
     ("out.data * (1 - out.data) * out.grad", "self.data * (1 - self.data) * out.grad"),
     where="sigmoid", is_local=True)
_row("log_input", "log's derivative is the input",
     "Gradients through log grow with the input.",
     "The derivative of log(x) is 1/x, not x.",
     "self.grad += out.grad / self.data.",
     ("out.grad / self.data  # log", "out.grad * self.data"), where="log", is_local=True)
_row("sub_swapped", "subtraction has its operands the wrong way round",
     "a - b gives b - a.",
     "The value of a - b is self.data - other.data, self with a plus and other with a minus.",
     "return self + (-other).",
     ("self.data - other.data", "other.data - self.data"),
     (SUB, SUB.replace("self", "X").replace("other", "self").replace("X", "other")), base="direct",
     where="sub", mark="def")
_row("sub_sign", "subtraction gives both operands the same sign",
     "For a - b, the gradient of b is 1 instead of -1.",
     "The derivative of a - b with respect to b is -1.",
     "other.grad -= out.grad.",
     (SUB, SUB.replace("-out", "out")), base="direct", where="sub", is_local=True)
_row("neg_sign", "negation forgets its sign on the way back",
     "The gradient of -a is 1 instead of -1.",
     "The derivative of -a is -1.",
     "self.grad -= out.grad.",
     (NEG, NEG.replace("-out", "out")), base="direct", where="neg", is_local=True)
_row("exponent_no_gradient", "a Value in the exponent gets no gradient",
     "c = a ** b leaves b.grad at 0.",
     "The rule of ** knows one operand; an exponent that is a Value is another one.",
     "other.grad += out.data * math.log(self.data) * out.grad; or refuse a Value as exponent.",
     ("    def __pow__(self, n):\n",
      "    def __pow__(self, n):\n        n = n.data if isinstance(n, Value) else n\n"),
     where="pow")
_row("exponent_wrong", "the exponent's gradient is wrong",
     "c = a ** b gives a the right gradient, and b a wrong one.",
     "The derivative of a**b by b is a**b * log(a); that of a power by its base is another one.",
     "other.grad += out.data * math.log(self.data) * out.grad; or refuse a Value as exponent.",
     ("    def __pow__(self, n):\n",
      "    def __pow__(self, n):\n"
      "        if isinstance(n, Value):\n"
      "            return self._to_value(n)\n"),
     ("    def __neg__(self):\n", """    def _to_value(self, n):
        out = Value(self.data**n.data, (self, n), "**")

        def _backward():
            self.grad += n.data * self.data ** (n.data - 1) * out.grad
            n.grad += out.data * self.data * out.grad

        out._backward = _backward
        return out

    def __neg__(self):
"""), where="pow")

# ---- slips that any operation can have ----------------------------------------------------------

_RULES = {
    "add": ADD, "mul": MUL, "div": DIV,
    "pow": "self.grad += n * self.data ** (n - 1) * out.grad  # pow",
    "tanh": "self.grad += (1 - t**2) * out.grad  # tanh",
    "exp": "self.grad += out.data * out.grad  # exp",
    "log": "self.grad += out.grad / self.data  # log",
    "relu": "self.grad += (out.data > 0) * out.grad  # relu",
    "sigmoid": "self.grad += out.data * (1 - out.data) * out.grad  # sigmoid",
    "sub": SUB, "neg": NEG,
}
_WORDS = {
    "add": "addition", "mul": "multiplication", "div": "division", "pow": "**",
    "sub": "subtraction", "neg": "negation",
}
# How the nodes are made: with their operands.
_MADE = {
    "add": '(self, other), "+"', "mul": '(self, other), "*"', "div": '(self, other), "/"',
    "pow": '(self,), f"**{n}"', "tanh": '(self,), "tanh"', "exp": '(self,), "exp"',
    "log": '(self,), "log"', "relu": '(self,), "ReLU"', "sigmoid": '(self,), "sigmoid"',
    "sub": '(self, other), "-"', "neg": '(self,), "neg"',
}
for _op, _rule in _RULES.items():
    _word = _WORDS.get(_op, _op)
    _base = "direct" if _op in ("sub", "neg") else "closure"
    _hook = f"{_rule}\n\n        out._backward = _backward\n"
    _without = _rule.replace(" * out.grad", "")  # the gradient that comes in
    _without = _without.replace("out.grad /", "1 /").replace("out.grad  #", "1.0  #")
    _slip = functools.partial(_row, base=_base, where=_op)
    _slip(f"overwrite_{_op}", f"{_word} overwrites gradients",
          f"Right until a Value goes into {_word} and is used once more.",
          f"The rule of {_word} sets gradients with =, which forgets what came before.",
          f"Write += in the rule of {_word}.",
          (_rule, _rule.replace("+=", "=")), varies=True, family="overwrite", mark="sets")
    _slip(f"not_set_{_op}", f"{_word} has no _backward",
          f"No gradient gets past {_word}.",
          "The function may be written, but out._backward = _backward is missing; or it only says "
          "pass.",
          "Write it, and assign it to the node that the operation returns.",
          (_hook, f"{_rule}\n\n"), is_local=True, family="not_set", mark="def")
    _slip(f"chain_forgotten_{_op}", f"{_word} forgets the gradient that comes in",
          f"{_word} alone is right; inside something else it is wrong.",
          "A local derivative has to be multiplied by out.grad: that is the chain rule.",
          "Multiply by out.grad.",
          (_rule, _without), is_local=True, family="chain_forgotten", mark="alone")
    _slip(f"self_backward_{_op}", f"{_word} gives its rule to the operand",
          f"{_word} of a leaf is right; what lies below its operand gets no gradient.",
          "self._backward = … replaces the operand's own rule, and the result has none.",
          "out._backward = _backward: the rule belongs to the result.",
          (_hook, _hook.replace("out._backward", "self._backward")), is_local=True,
          family="self_backward", mark="keeps")
    _slip(f"no_operands_{_op}", f"{_word} does not record its operands",
          f"{_word} of a leaf is right; what lies below its operand gets no gradient.",
          "The result is made without its operands, so that the pass ends there.",
          "Give the operands to the constructor of the result: (self,), or (self, other).",
          (_MADE[_op], "()" + _MADE[_op].partition(")")[2]), is_local=True,
          family="no_operands", mark="def")
    _bare = f"{_hook}        return out\n"
    _slip(f"detached_{_op}", f"{_word} returns a node without operands and rule",
          f"No gradient gets past {_word}.",
          "The result is made from a number alone: it knows neither what it was made of, nor how a "
          "gradient goes back.",
          "Give the operands to the constructor, and write the rule: out._backward = _backward.",
          (_MADE[_op], "()" + _MADE[_op].partition(")")[2]),
          (_bare, f"{_rule}\n\n        return Value(out.data)\n"), is_local=True,
          family="detached", mark="def")
    if _op in ("add", "mul", "div", "sub"):
        _slip(f"one_operand_{_op}", f"{_word} records one operand only",
              f"What lies below the right operand of {_word} gets no gradient.",
              "The result knows its left operand alone, so that the pass never comes to the other.",
              "Give both operands to the constructor of the result: (self, other).",
              (_MADE[_op], _MADE[_op].replace("(self, other)", "(self,)")), is_local=True,
              family="no_operands", mark="def")
        _left, _, _right = _rule.partition("\n")
        _slip(f"one_sided_{_op}", f"{_word} gives its right operand no gradient",
              f"The gradient of the right operand of {_word} stays 0.",
              "The rule has a line for self, and none for other.",
              "Add the line for other.grad.",
              (_rule, _left), is_local=True, family="one_sided")
