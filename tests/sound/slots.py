"""A sound engine with __slots__, no labels, and a backward() that clears what it will fill."""

import math


class Value:
    """A number with a gradient. backward() zeroes all gradients first, so it gives its own."""

    __slots__ = ("_backward", "_prev", "grad", "val")

    def __init__(self, val, _children=()):
        self.val = val
        self.grad = 0.0
        self._prev = _children
        self._backward = None

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.val + other.val, (self, other))

        def step(g):
            self.grad += g
            other.grad += g

        out._backward = step
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.val * other.val, (self, other))

        def step(g):
            self.grad += g * other.val
            other.grad += g * self.val

        out._backward = step
        return out

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def relu(self):
        out = Value(max(self.val, 0.0), (self,))

        def step(g):
            self.grad += g if self.val > 0 else 0.0

        out._backward = step
        return out

    def exp(self):
        out = Value(math.exp(self.val), (self,))

        def step(g):
            self.grad += g * out.val

        out._backward = step
        return out

    def backward(self):
        order, seen = [], set()

        def visit(v):
            if v not in seen:
                seen.add(v)
                for child in v._prev:
                    visit(child)
                order.append(v)

        visit(self)
        for v in order:
            v.grad = 0.0
        self.grad = 1.0
        for v in reversed(order):
            if v._backward is not None:
                v._backward(v.grad)
