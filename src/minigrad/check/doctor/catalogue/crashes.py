"""Crashes on a first backward(), each with the error that it ends in and the advice for it.

A crash is known by its exception and a pattern of the message; {0} and {1} in the texts are what
the pattern finds. The first row that fits is the one.
"""

from __future__ import annotations

import functools

from ..dialect import CHILDREN, NAMES, SYMBOLS
from .rows import Fault, add

ROWS: list[Fault] = []
_row = functools.partial(add, ROWS, "fault")
_WRAP = "        other = other if isinstance(other, Value) else Value(other)\n"
_FUNCTIONS = [name for op, names in NAMES.items() if op not in SYMBOLS for name in names]
_OPERATORS = r"(?:unary )?(\S+?)(?: or pow\(\)|\(\))?: "

# fmt: off
_row("missing_return", "an operation returns nothing",
     "{0} is None.",
     "A function without return gives None.",
     "End it with return out.",
     ("# relu\n\n        out._backward = _backward\n        return out\n",
      "# relu\n\n        out._backward = _backward\n"),
     where="relu", crash=("NoResult", r"(.*) is None"))
_row("not_a_value", "an operation returns a plain number",
     "{0} is of type {1}, which has no gradient.",
     "What comes out of an operation has to be a Value that knows its operands.",
     "Return the node: out = Value(…, (self,)), with a _backward.",
     ("# exp\n\n        out._backward = _backward\n        return out\n",
      "# exp\n\n        out._backward = _backward\n        return out.data\n"),
     where="exp", crash=("NoResult", r"(.*) is of type (.*)"))
_row("missing_import", "{0} is not imported",
     "An operation ends in NameError.",
     "The file uses {0} and does not import it.",
     "Write import {0} at the top of the file.",
     ("import math\n", ""),
     where="tanh", crash=("NameError", r"name '(math|np|numpy|random|torch)' is not defined.*"))
_row("unbound", "{0} is used before it is set",
     "An operation ends in UnboundLocalError.",
     "A function that assigns to {0} has a {0} of its own, and the line reads it first; += reads "
     "it too.",
     "Set {0} before this line; with = if += is the first that it has.",
     ("out = Value(1 / (1 + math.exp(-self.data))", "out += Value(1 / (1 + math.exp(-self.data))"),
     where="sigmoid", crash=("UnboundLocalError", r".*?'(\w+)'.*"))
_row("missing_name", "there is no {0}",
     "An operation ends in NameError.",
     "The name {0} is not known where it is used: misspelt, or defined elsewhere.",
     "Look at the line, and define {0} or spell it as it is defined.",
     ("(out.data > 0) * out.grad  # relu", "(output.data > 0) * out.grad  # relu"),
     where="relu", crash=("NameError", r".*?'(\w+)'.*"))
_row("called_at_once", "a rule is None",
     "backward() ends in TypeError: 'NoneType' object is not callable.",
     "out._backward = _backward() calls the rule at once and keeps what it returns, None; or "
     "leaves have None for a rule.",
     "Without the brackets: out._backward = _backward; and lambda: None for leaves.",
     ("out._backward = _backward\n", "out._backward = _backward()\n"),
     where="add", mark="hooks", crash=("TypeError", r"'NoneType' object is not callable"))
_row("rule_returns_nothing", "a rule gives None, and the pass wants gradients",
     "backward() ends in TypeError: None cannot be taken apart.",
     "The pass takes what a rule returns apart, a gradient for each operand, and one rule has no "
     "return.",
     "Return the gradients, also if there is only one: return (g,).",
     ("            self.grad += (out.data > 0) * out.grad  # relu\n",
      "            return None\n\n        def _spread():\n            for part in _rule():\n"
      "                self.grad += part\n"),
     ("        out = Value(self.data if self.data > 0 else 0.0, (self,), \"ReLU\")\n\n"
      "        def _backward():\n",
      "        out = Value(self.data if self.data > 0 else 0.0, (self,), \"ReLU\")\n\n"
      "        def _rule():\n"),
     ("                self.grad += part\n\n        out._backward = _backward",
      "                self.grad += part\n\n        out._backward = _spread"),
     where="relu", mark="def",
     crash=("TypeError", r"'NoneType' object is not (?:iterable|subscriptable)|"
            r"cannot unpack non-iterable NoneType object|.*must support iteration.*NoneType.*"))
_row("rule_returns_number", "a rule gives a number, and the pass wants one for each operand",
     "backward() ends in TypeError: a number cannot be taken apart.",
     "The pass takes what a rule returns apart, a gradient for each operand, and this one returns "
     "the number itself.",
     "With a comma: return (g,).",
     ("            self.grad += (out.data > 0) * out.grad  # relu\n",
      "            return (out.data > 0) * out.grad\n\n        def _spread():\n"
      "            for part in _rule():\n                self.grad += part\n"),
     ("        out = Value(self.data if self.data > 0 else 0.0, (self,), \"ReLU\")\n\n"
      "        def _backward():\n",
      "        out = Value(self.data if self.data > 0 else 0.0, (self,), \"ReLU\")\n\n"
      "        def _rule():\n"),
     ("                self.grad += part\n\n        out._backward = _backward",
      "                self.grad += part\n\n        out._backward = _spread"),
     where="relu", mark="def",
     crash=("TypeError", r"'(?:float|int)(?:32|64)?' object is not (?:iterable|subscriptable)|"
            r"cannot unpack non-iterable (?:float|int).*|.*argument .* must support iteration|"
            r"iteration over a 0-d array"))
_row("node_iterated", "a loop runs over a node instead of its operands",
     "backward() ends in TypeError: '{0}' object is not iterable.",
     "A node is no list; what the loop is meant to run over is an attribute of it.",
     "for child in v._prev, with the attribute that has the operands.",
     ("in v._prev:\n                    build", "in v:\n                    build"),
     where="backward",
     crash=("TypeError", r"'(?!int|float|NoneType|str|bool|function|method)(\w+)' object is not "
            r"iterable"))
_row("something_else", "a {0} stands where a Value is meant",
     "An operation or backward() ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "The line asks a {0} for its {1}, which only a Value has: a name stands for something else "
     "than it is meant to.",
     "Follow the name back to where it is set, or put into a list.",
     ("                topo.append(v)\n", "                topo.append(visited)\n"),
     where="backward",
     crash=("AttributeError", r"'(set|list|tuple|dict|str|function|method)' object has no "
            r"attribute '(\w+)'"))
_row("unhashable", "Values cannot be put into a set",
     "backward() ends in TypeError: unhashable type.",
     "A class with an __eq__ of its own, such as a dataclass, has no __hash__ any more.",
     "Leave __eq__ out (in a dataclass: eq=False), or keep id(node) in the set.",
     ("", """

Value.__eq__ = lambda self, other: self is other
Value.__hash__ = None
"""), where="class", crash=("TypeError", r"(?:.*)unhashable type: '(\w+)'.*"))
_row("rule_on_number", "a rule is given to a plain number",
     "An operation ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "The result is still a number where its rule is set; the node is made later.",
     "Make the node first: out = Value(…, (self, other)); then out._backward = _backward.",
     ("        out = Value(math.exp(self.data), (self,), \"exp\")\n",
      "        out = math.exp(self.data)\n"),
     where="exp", mark="hooks",
     crash=("AttributeError", r"'(int|float|complex)' object has no attribute '(\w*backward\w*)'"))
_row("number_recorded", "a number is recorded as an operand",
     "backward() ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "The result has a plain number among its operands, and the pass looks for operands of that.",
     "Record Values only: (self,) where the other operand is a number.",
     ('(self,), f"**{n}"', '(self, n), f"**{n}"'),
     where="pow", mark="def",
     crash=("AttributeError", rf"'(int|float)' object has no attribute '({'|'.join(CHILDREN)})'"))
_row("method_of_number", "{1} is called on a plain number",
     "An operation ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "self.data is a number, and numbers have no method {1}.",
     "Use math.{1}(…) for numbers, or call {1}() on the Value.",
     ("math.exp(self.data), (self,)", "self.data.exp(), (self,)"),
     where="exp", mark="def",
     crash=("AttributeError", rf"'(int|float)' object has no attribute '({'|'.join(_FUNCTIONS)})'"))
_row("number_inside", "a number meets an operation that takes Values only",
     "An operation ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "One operation is made of another, with a number (such as -a of a * -1), and that one does "
     "not wrap numbers.",
     "In that one: other = other if isinstance(other, Value) else Value(other).",
     (_WRAP, ""),
     where="mul", mark="def",
     crash=("AttributeError", r"'(int|float)' object has no attribute '(\w+)'"))
_row("not_implemented", "a number's own method is called by its name",
     "An operation ends in an error that speaks of NotImplementedType.",
     "self.data.__add__(other) gives NotImplemented where the number does not know what to do with "
     "a Value; only the operator + then asks the other side.",
     "Use the operator, and numbers on both sides: self.data + other.data.",
     ("out = Value(self.data + other.data, (self, other), \"+\")",
      "out = Value(self.data.__add__(other), (self, other), \"+\")"),
     where="add", mark="def",
     crash=("AttributeError|TypeError", r"(?s).*NotImplementedType.*"))
_row("operand_not_recorded", "a rule looks for an operand that is not recorded",
     "An operation with a number ends in ValueError or IndexError.",
     "The rule takes two operands, and a number is not recorded as one; or a set holds the operand "
     "of a * a once.",
     "Wrap numbers, other = Value(other), before they are recorded; keep operands in a tuple, in "
     "order, with repeats.",
     ("            self.grad += other.data * out.grad  # mul, left\n",
      "            left, right = out._prev\n"
      "            self.grad += other.data * out.grad  # mul, left\n"),
     where="mul", mark="def",
     crash=("ValueError|IndexError",
            r"not enough values to unpack \(expected 2, got \d\)|"
            r"(?:list|tuple) index out of range"))
_row("swapped_isinstance", "isinstance has its arguments the wrong way round",
     "An operation ends in TypeError: isinstance() arg 2 must be a type.",
     "isinstance asks whether the first argument is of the kind that the second one names.",
     "isinstance(other, Value): the thing first, then the class.",
     ("other = other if isinstance(other, Value) else Value(other)",
      "other = other if isinstance(self, other) else Value(other)"),
     where="add", mark="def", crash=("TypeError", r"isinstance\(\) arg 2 must be .*"))
_row("isinstance_brackets", "isinstance does not get a thing and a class",
     "An operation ends in TypeError: isinstance expected 2 arguments, got {0}.",
     "The text of an assert, or another class, stands inside of its brackets; or the thing before "
     "them.",
     'isinstance(n, Value); assert isinstance(n, (int, float)), "text"; several classes as one '
     "tuple.",
     ("    def __pow__(self, n):\n",
      '    def __pow__(self, n):\n        assert isinstance(n, (int, float), "a number")\n'),
     where="pow", mark="def", crash=("TypeError", r"isinstance expected 2 arguments, got (\d+)"))
_row("value_for_number", "a Value stands where its number is meant",
     "An operation ends in TypeError: must be real number, not {0}.",
     "math.exp and the like take numbers.",
     "Give them the number: math.exp(self.data).",
     ("math.exp(self.data), (self,)", "math.exp(self), (self,)"),
     where="exp", mark="def",
     crash=("TypeError", r"must be real number, not (\w+)"))
_row("method_for_number", "a method stands where a number is meant",
     "An operation or backward() ends in TypeError: no {0} for 'method'.",
     "What is changed here is a method of the class: misspelt, or meant to be called.",
     "Write self.grad += … for a gradient; with brackets if the method is to be called.",
     ("self.grad += out.data * out.grad  # exp", "self.backward += out.data * out.grad  # exp"),
     where="exp", mark="def",
     crash=("TypeError", r"unsupported operand type\(s\) for (\S+): (?:'method' .*|.* 'method')"))
_row("none_for_number", "None stands where a number is meant",
     "An operation or backward() ends in TypeError: no {0} for None.",
     "What is changed or computed with here was never given a number, such as a gradient that "
     "begins as None.",
     "Begin with a number, 0.0 for a gradient; or ask first whether it is None.",
     ("        self.grad = 0.0\n", "        self.grad = 0.0\n        self.sum = None\n"),
     ("self.grad += out.data * out.grad  # exp",
      "self.sum += out.data * out.grad\n            self.grad = self.sum"),
     where="exp", mark="def",
     crash=("TypeError",
            r"unsupported operand type\(s\) for (\S+): (?:'NoneType' .*|.* 'NoneType')"))
_row("whole_gradient", "a gradient that begins as a whole number cannot become a fraction",
     "An operation ends in a type error: cannot cast from float64 to {0}.",
     "An array of whole numbers, as np.zeros_like makes it of whole numbers, takes no fraction by "
     "+=.",
     "Begin with fractions: np.zeros_like(data, dtype=float), or 0.0.",
     ("import math\n", "import math\n\nimport numpy as np\n"),
     ("        self.grad = 0.0\n", "        self.grad = np.zeros_like(np.asarray(data))\n"),
     where="init", mark="def",
     crash=("UFuncTypeError|_UFuncOutputCastingError|TypeError",
            r"Cannot cast ufunc '\w+' output from dtype\('float64'\) to dtype\('(\w+)'\).*"))
_row("none_inside", "something is None where a Value is meant",
     "An operation or backward() ends in AttributeError: None has no {0}.",
     "The line asks None for its {0}: an operand, a parent or an argument that was never set, or "
     "that not every node has.",
     "Look where it is set, and leave the line out where there is none: if x is not None.",
     ("        self.grad = 0.0\n", "        self.grad = 0.0\n        self.left = None\n"),
     ("self.grad += out.data * out.grad  # exp", "self.left.grad += out.data * out.grad"),
     where="exp", mark="def",
     crash=("AttributeError", r"'NoneType' object has no attribute '(\w+)'.*"))
_row("method_replaced", "a method of the class is replaced by a rule",
     "An operation ends in AttributeError: attribute {0} is read-only.",
     "With __slots__, out.{0} = … would hide the method {0}, and Python refuses that.",
     "Keep the rule under a name of its own, out._backward, which is in __slots__ too.",
     ("class Value:\n", "class Value:\n    __slots__ = (\"_backward\", \"_op\", \"_prev\", "
      "\"data\", \"grad\", \"label\")\n\n"),
     ("out._backward = _backward\n", "out.backward = _backward\n"),
     where="add", mark="def", crash=("AttributeError", r".*attribute '(\w+)' is read-only"))
_row("missing_attribute", "a node has no {1}",
     "An operation ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "Something is used that not every node has: misspelt, or not set in the constructor.",
     "Set self.{1} in __init__, or spell it as it is there.",
     ("        self._backward = lambda: None\n", ""),
     where="init", crash=("AttributeError", r"'(\w+)' object has no attribute '(\w+)'.*"))
_row("function_for_number", "a function stands where a number is meant",
     "An operation or backward() ends in TypeError: no {0} for 'function'.",
     "What is computed with here was set to a function: a rule that is kept under the gradient's "
     "name, or a method that nobody called.",
     "Keep the rule as out._backward = _backward, and leave the gradient a number.",
     ("self.grad += out.data * out.grad  # exp", "self.grad += out.data * _backward  # exp"),
     where="exp", mark="def",
     crash=("TypeError",
            r"unsupported operand type\(s\) for (\S+): (?:'function' .*|.* 'function')"))
_row("missing_reflected", "an operation has a number on the left of {0}, which does not work",
     "An operation ends in TypeError: no {0} for a number and a {1}.",
     "Python asks the number first, and then the Value for its reflected method, which is not "
     "there.",
     "Write __radd__, __rmul__, __rsub__ or __rtruediv__; or put the Value on the left.",
     ("def __radd__", "def _radd"),
     ("        out = Value(1 / (1 + math.exp(-self.data)), (self,), \"sigmoid\")\n",
      "        return (1 + (-self).exp()) ** -1\n"),
     where="sigmoid", mark="def",
     crash=("TypeError",
            rf"unsupported operand type\(s\) for {_OPERATORS}'(?:int|float)' and '(\w+)'"))
_row("missing_operator", "an operation uses {0}, which is not there",
     "An operation ends in TypeError: no {0} for {1}.",
     "One operation is made of another, as a - b of a + (-b), and the class does not have "
     "that one.",
     "Write the method of {0} too, or compute without it.",
     ("def __neg__", "def _neg"), where="sub", mark="def",
     crash=("TypeError", rf"(?:bad|unsupported) operand type(?:\(s\))? for {_OPERATORS}(.*)"))
# The next four end like rows above, or like one of `rules.py`; a line of the file tells them apart
# (`crashes.py` beside this folder).
_row("value_among_numbers", "{0} is a Value where its number is meant",
     "An operation ends in TypeError: numbers and Values are mixed.",
     "The line computes with self.data, a number, and with {0}, which is a Value here and has no "
     "operator that could help.",
     "Use the number on both sides: {0}.data.",
     ("Value(self.data + other.data, (self, other), \"+\")",
      "Value(self.data ** other, (self, other), \"+\")"),
     where="add", mark="def",
     crash=("TypeError", r"unsupported operand type\(s\) for .*"))
_row("argument_as_attribute", "self.{0} is not the argument {0}",
     "An operation ends in AttributeError: there is no attribute {0}.",
     "{0} is an argument of the function, a variable of its own, and nothing that self has.",
     "Write {0}.data instead of self.{0}.",
     ("Value(self.data + other.data, (self, other), \"+\")",
      "Value(self.data + self.other, (self, other), \"+\")"),
     where="add", mark="def", crash=("AttributeError", r".* object has no attribute .*"))
_row("wrap_lost", "a number is wrapped, and the wrapped one thrown away",
     "An operation ends in AttributeError: '{0}' object has no attribute '{1}'.",
     "other if isinstance(other, Value) else Value(other) makes a Value, and the line does not "
     "keep it.",
     "Keep it: other = other if isinstance(other, Value) else Value(other).",
     (_WRAP, _WRAP.replace("other = other if", "other if")),
     where="mul", mark="discards", crash=("AttributeError", r"'(int|float)' object has no .*"))
_row("exponent_log", "the logarithm for the exponent's gradient fails",
     "(-3)**2 ends in an error.",
     "The derivative of a**n by n has log(a) in it, which negative numbers do not have; it is "
     "worked out even if n is a plain number.",
     "Work it out only if the exponent is a Value, and the base is above 0.",
     ("            self.grad += n * self.data ** (n - 1) * out.grad  # pow\n",
      "            self.grad += n * self.data ** (n - 1) * out.grad  # pow\n"
      "            _slope = out.data * math.log(self.data)\n"),
     where="pow", mark="def",
     crash=("ValueError", r"math domain error|expected a (?:positive|nonnegative) input.*"))
_row("wrong_arguments", "{0}() is called with other arguments than it takes",
     "An operation or backward() ends in TypeError: {0}() {1}.",
     "A function takes other arguments than those that it is given.",
     "Compare the line of the call with the def.",
     ("        def _backward():\n            self.grad += (out.data > 0)",
      "        def _backward(grad):\n            self.grad += (out.data > 0)"),
     where="relu", crash=("TypeError", r"(?:[\w.<>]*\.)?(\w+)\(\) ((?:missing|takes|got).*)"))
_row("endless", "an operation calls itself for ever",
     "RecursionError on a small expression.",
     "The method is made of an operation that is made of the method, such as -a of -a.",
     "Make one of them of something else: def __neg__(self): return self * -1.",
     ("        return self * -1\n", "        return -self\n"),
     where="neg", mark="def", crash=("RecursionError", r"(?s).*"))
