"""Faults of identity and state: what is taken for the same, changed, or left behind."""

from __future__ import annotations

import functools

from .rows import MUL, SORT, Fault, add

ROWS: list[Fault] = []
_row = functools.partial(add, ROWS, "fault")

# fmt: off
_row("value_hash", "equal numbers are taken for the same node",
     "Gradients are lost where two Values happen to have the same number.",
     "__eq__ and __hash__ compare data, so that a set of visited nodes merges distinct ones.",
     "Leave equality and hash as they are (identity), or keep id(node) in the set.",
     ("    def __repr__(self):", """    def __eq__(self, other):
        return self.data == getattr(other, "data", other)

    def __hash__(self):
        return hash(self.data)

    def __repr__(self):"""), where="class", varies=True)
_row("in_place", "a += b changes a itself",
     "After c = a; c += b, a has changed too, and its history is lost.",
     "__iadd__ changes the node in place; the graph needs a new one.",
     "Leave __iadd__ out: Python then writes a = a + b.",
     ("", """

def _iadd(self, other):
    self.data += other.data if isinstance(other, Value) else other
    return self


Value.__iadd__ = _iadd
"""), where="class")
_row("reused_output", "a result that is used elsewhere gets no backward pass",
     "backward() does nothing on a Value that is also part of a larger expression.",
     "Users are counted when the graph is built, and the pass waits for users that it never "
     "visits.",
     "Count the users below the result only, when backward() is called.",
     ("        self._op = _op\n", "        self._op = _op\n        self._all = tuple(_children)\n"
      "        self.users = 0\n        for child in self._all:\n            child.users += 1\n"),
     (SORT, """        self.grad = 1.0  # seed
        ready = [] if self.users else [self]
        while ready:
            v = ready.pop()
            v._backward()
            for child in v._all:
                child.users -= 1
                if child.users == 0:
                    ready.append(child)
"""), where="backward")

_row("kept_in_operand", "an operation keeps what its rule needs in its operands",
     "Right as long as every Value is used once; the second use of one changes the first.",
     "A slope, an operation or a user that is written into an operand is replaced when that one is "
     "used again.",
     "Write it into the result, or into its rule: out, not self and other.",
     ("        out = Value(self.data * other.data, (self, other), \"*\")\n",
      "        out = Value(self.data * other.data, (self, other), \"*\")\n"
      "        self.slope, other.slope = other.data, self.data\n"),
     (MUL, "self.grad += self.slope * out.grad\n            other.grad += other.slope * out.grad"),
     where="mul", mark="writes", varies=True)

for _word, _symbol, _right in (
    ("rsub", "-", "(-self) + other"), ("rtruediv", "/", "Value(other) / self"),
):
    _row(f"{_word}_swapped", f"a number on the left of {_symbol} is put on the right",
         f"2 {_symbol} a gives a {_symbol} 2.",
         f"__{_word}__(self, other) is called for other {_symbol} self, in this order.",
         f"return Value(other) {_symbol} self.",
         (f"        return {_right}\n", f"        return self {_symbol} other\n"),
         where=_word, mark="def")

_row("rpow_swapped", "a number on the left of ** is put on the right",
     "2 ** a gives a ** 2.",
     "__rpow__(self, other) is called for other ** self, in this order.",
     "return Value(other) ** self, where ** takes a Value as exponent.",
     ("        return Value(other) ** self\n", "        return self**other\n"),
     base="tuple_prev", where="rpow", mark="def")
for _word, _symbol in (
    ("radd", "+"), ("rmul", "*"), ("rsub", "-"), ("rtruediv", "/"), ("rpow", "**"),
):
    _row(f"{_word}_detached", f"a number on the left of {_symbol} loses the gradient",
         f"2 {_symbol} a has the right value, and a.grad stays 0.",
         f"__{_word}__ computes with numbers and returns a Value without operands.",
         f"Compute with Values: return Value(other) {_symbol} self.",
         (f"        return Value(other) {_symbol} self\n",
          f"        return Value(other {_symbol} self.data)\n"),
         base="tuple_prev", where=_word, mark="def")
