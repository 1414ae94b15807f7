"""A sound engine without closures: a node knows its op, and one function knows all the rules."""

import math


class Scalar:
    def __init__(self, value, op="leaf", parents=()):
        self.value = float(value)
        self.derivative = 0.0
        self.op = op
        self.parents = list(parents)

    def __add__(self, other):
        other = wrap(other)
        return Scalar(self.value + other.value, "add", (self, other))

    def __sub__(self, other):
        other = wrap(other)
        return Scalar(self.value - other.value, "sub", (self, other))

    def __mul__(self, other):
        other = wrap(other)
        return Scalar(self.value * other.value, "mul", (self, other))

    def __truediv__(self, other):
        other = wrap(other)
        return Scalar(self.value / other.value, "div", (self, other))

    def __radd__(self, other):
        return wrap(other) + self

    def __rsub__(self, other):
        return wrap(other) - self

    def __rmul__(self, other):
        return wrap(other) * self

    def __rtruediv__(self, other):
        return wrap(other) / self

    def __neg__(self):
        return wrap(0.0) - self

    def tanh(self):
        return Scalar(math.tanh(self.value), "tanh", (self,))

    def sigmoid(self):
        return Scalar(1 / (1 + math.exp(-self.value)), "sigmoid", (self,))

    def local(self):
        if self.op in ("add", "sub"):
            return [1.0, 1.0 if self.op == "add" else -1.0]
        if self.op == "mul":
            return [self.parents[1].value, self.parents[0].value]
        if self.op == "div":
            a, b = (parent.value for parent in self.parents)
            return [1 / b, -a / b**2]
        if self.op == "tanh":
            return [1 - self.value**2]
        if self.op == "sigmoid":
            return [self.value * (1 - self.value)]
        return []

    def backprop(self):
        order = []
        state = {}
        stack = [self]
        while stack:
            node = stack[-1]
            if state.get(id(node)) is None:
                state[id(node)] = "open"
                stack.extend(p for p in node.parents if id(p) not in state)
            else:
                stack.pop()
                if state[id(node)] == "open":
                    state[id(node)] = "done"
                    order.append(node)
        grads = {id(self): 1.0}
        for node in reversed(order):
            for parent, local in zip(node.parents, node.local(), strict=True):
                grads[id(parent)] = grads.get(id(parent), 0.0) + local * grads[id(node)]
        for node in order:
            node.derivative += grads[id(node)]


def wrap(x):
    return x if isinstance(x, Scalar) else Scalar(x)
