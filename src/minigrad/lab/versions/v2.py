"""Version 2: operations, and where a number came from.

New here: `+ - * / **`, `tanh`, `exp` and `relu` make new Values, and a new Value remembers in
`_prev` what it was made from: its children, in the order in which they were written. Plain numbers
are wrapped, on either side. Subtraction and division need nothing new: `a - b` is `a + (-b)`, and
`a / b` is `a * b**-1`.

>>> a, b = Value(2.0), Value(-3.0)
>>> c = a * b + 10
>>> c
Value(data=4.0)
>>> c._prev
(Value(data=-6.0), Value(data=10))
"""

import math


class Value:
    """One number."""

    def __init__(self, data, _children=()):
        self.data = data
        self._prev = tuple(_children)

    def __repr__(self):
        return f"Value(data={self.data})"

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other))

    def __pow__(self, number):
        return Value(self.data**number, (self,))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,))

    def exp(self):
        return Value(math.exp(self.data), (self,))

    def relu(self):
        return Value(max(0.0, self.data), (self,))

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
