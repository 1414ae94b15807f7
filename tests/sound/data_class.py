"""A sound engine as a dataclass whose equality and hash are identity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Variable:
    data: float
    requires_grad: bool = False
    children: tuple[Variable, ...] = ()
    grad: float = 0.0
    push: Callable[[], None] = field(default=lambda: None, repr=False)

    def __add__(self, other):
        other = lift(other)
        out = Variable(self.data + other.data, True, (self, other))

        def push():
            self.grad += out.grad
            other.grad += out.grad

        out.push = push
        return out

    def __mul__(self, other):
        other = lift(other)
        out = Variable(self.data * other.data, True, (self, other))

        def push():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.push = push
        return out

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -lift(other)

    def __rsub__(self, other):
        return lift(other) - self

    def tanh(self):
        out = Variable(math.tanh(self.data), True, (self,))

        def push():
            self.grad += (1 - out.data**2) * out.grad

        out.push = push
        return out

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if id(node) in seen:
                return
            seen.add(id(node))
            for child in node.children:
                visit(child)
            order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node.push()


def lift(x):
    return x if isinstance(x, Variable) else Variable(x)
