"""Version 3: names, and a picture.

New here: `_op`, the operation that made a Value; `label`, a name for people; and `draw`, which
writes the expression as a tree, the result first.

>>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
>>> c = a * b
>>> c.label = "c"
>>> print(draw(c))
c = *  data -6
    a  data 2
    b  data -3
"""

import math


class Value:
    """One number."""

    def __init__(self, data, _children=(), _op="", label=""):
        self.data = data
        self._prev = tuple(_children)
        self._op = _op
        self.label = label

    def __repr__(self):
        return f"Value(data={self.data})"

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), "+")

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), "*")

    def __pow__(self, number):
        return Value(self.data**number, (self,), f"**{number}")

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), "tanh")

    def exp(self):
        return Value(math.exp(self.data), (self,), "exp")

    def relu(self):
        return Value(max(0.0, self.data), (self,), "relu")

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    def __radd__(self, other):
        return self + other

    def __rsub__(self, other):
        return -self + other

    def __rmul__(self, other):
        return self * other

    def __rtruediv__(self, other):
        return self**-1 * other


def draw(node, indent=""):
    """Write the expression as a tree, the result first."""
    name = " = ".join(part for part in (node.label, node._op) if part)
    line = f"{indent}{name or 'number'}  data {node.data:g}"
    return "\n".join([line, *(draw(child, indent + "    ") for child in node._prev)])
