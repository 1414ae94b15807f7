"""The seventh version, grown up a little, for the labs about what comes after it.

Three things are new here:

- `backward()` sorts with a stack of its own instead of recursion: depth is no problem.
- `backward()` clears the gradients of interior nodes first, so that a second call adds the same
  gradient to the leaves again, and nothing else.
- `descend` is a training loop. It sets the gradients of the parameters to zero before every pass.
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
        self._backward = lambda: None

    def __repr__(self):
        return f"Value(data={self.data})"

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, number):
        out = Value(self.data**number, (self,), f"**{number}")

        def _backward():
            self.grad += number * self.data ** (number - 1) * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,), "exp")

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(max(0.0, self.data), (self,), "relu")

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo = self._sorted()
        for node in topo:
            if node._prev:
                node.grad = 0.0
        self.grad = 1.0
        for node in reversed(topo):
            node._backward()

    def _sorted(self):
        topo = []
        visited = set()
        stack = [(self, False)]
        while stack:
            node, children_are_in = stack.pop()
            if children_are_in:
                topo.append(node)
            elif node not in visited:
                visited.add(node)
                stack.append((node, True))
                stack += [(child, False) for child in reversed(node._prev)]
        return topo

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


def descend(loss_of, parameters, rate, steps):
    """Take some steps of gradient descent."""
    for _ in range(steps):
        loss = loss_of()
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= rate * p.grad
