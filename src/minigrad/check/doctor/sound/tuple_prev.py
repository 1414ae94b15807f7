"""A sound engine that keeps its operands in a tuple, in order, and sorts without recursion."""

import math


class Value:
    def __init__(self, data, _prev=(), label=""):
        self.data = data
        self.grad = 0.0
        self.label = label
        self._prev = tuple(_prev)
        self._rule = ()

    @classmethod
    def _make(cls, data, operands, rule):
        out = cls(data, operands)
        out._rule = rule
        return out

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self._make(self.data + other.data, (self, other), (1.0, 1.0))

    def __sub__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self._make(self.data - other.data, (self, other), (1.0, -1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self._make(self.data * other.data, (self, other), (other.data, self.data))

    def __truediv__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        slope = -self.data / (other.data * other.data)
        return self._make(self.data / other.data, (self, other), (1.0 / other.data, slope))

    def __pow__(self, n):
        if isinstance(n, Value):
            y = self.data**n.data
            slopes = (n.data * self.data ** (n.data - 1), y * math.log(self.data))
            return self._make(y, (self, n), slopes)
        slope = n * self.data ** (n - 1) if n else 0.0
        return self._make(self.data**n, (self,), (slope,))

    def __rpow__(self, other):
        return Value(other) ** self

    def __neg__(self):
        return self._make(-self.data, (self,), (-1.0,))

    def __radd__(self, other):
        return Value(other) + self

    def __rsub__(self, other):
        return Value(other) - self

    def __rmul__(self, other):
        return Value(other) * self

    def __rtruediv__(self, other):
        return Value(other) / self

    def tanh(self):
        t = math.tanh(self.data)
        return self._make(t, (self,), (1.0 - t * t,))

    def exp(self):
        e = math.exp(self.data)
        return self._make(e, (self,), (e,))

    def relu(self):
        return self._make(max(self.data, 0.0), (self,), (1.0 if self.data > 0 else 0.0,))

    def _order(self):
        order, done, stack = [], set(), [(self, iter(self._prev))]
        done.add(id(self))
        while stack:
            node, rest = stack[-1]
            for operand in rest:
                if id(operand) not in done:
                    done.add(id(operand))
                    stack.append((operand, iter(operand._prev)))
                    break
            else:
                stack.pop()
                order.append(node)
        return order

    def backward(self):
        order = self._order()
        fresh = {id(node): 0.0 for node in order}
        fresh[id(self)] = 1.0
        for node in reversed(order):
            for operand, slope in zip(node._prev, node._rule, strict=False):
                fresh[id(operand)] += slope * fresh[id(node)]
        for node in order:
            node.grad += fresh[id(node)]
