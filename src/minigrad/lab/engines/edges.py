"""The seventh version in another style: a derivative is a number on an edge, not a function.

An operation stores, for each of its children, how strongly its result depends on that child.
`backward()` then needs no formula: it goes through `_prev` and `_local` and multiplies.
"""

import math


class Value:
    """One number."""

    def __init__(self, data, _children=(), _local=(), label=""):
        self.data = data
        self.grad = 0.0
        self._prev = tuple(_children)
        self._local = tuple(_local)
        self.label = label

    def __repr__(self):
        return f"Value(data={self.data})"

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, number):
        return Value(self.data**number, (self,), (number * self.data ** (number - 1),))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t**2,))

    def backward(self):
        topo = []
        visited = set()

        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)

        build_topo(self)
        self.grad = 1.0
        for node in reversed(topo):
            for child, local in zip(node._prev, node._local):
                child.grad += local * node.grad

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
