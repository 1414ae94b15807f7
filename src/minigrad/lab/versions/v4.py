"""Version 4: gradients, by hand.

New here: `grad`, how much the result moves when this Value moves a little. Nobody fills it in but
you: start with 1 at the result, and go backwards with the chain rule.

>>> a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(10.0, label="c")
>>> d = a * b
>>> L = d + c
>>> L.grad = 1.0
>>> d.grad = c.grad = 1.0 * L.grad  # a sum passes its gradient on as it is
>>> a.grad = b.data * d.grad  # a product passes it on times the other factor
>>> b.grad = a.data * d.grad
>>> print(draw(L))
+  data 4  grad 1
    *  data -6  grad 1
        a  data 2  grad -3
        b  data -3  grad 2
    c  data 10  grad 1
"""

import math


class Value:
    """One number."""

    def __init__(self, data, _children=(), _op="", label=""):
        self.data = data
        self.grad = 0.0
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
    line = f"{indent}{name or 'number'}  data {node.data:g}  grad {node.grad:g}"
    return "\n".join([line, *(draw(child, indent + "    ") for child in node._prev)])
