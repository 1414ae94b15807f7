"""Other engines that take the model one scalar at a time: classic Values in Python, and CasADi."""

from __future__ import annotations

import gc
import math
import sys
from itertools import count

import numpy as np
from engines import LocalGrads, Micrograd

from . import problems
from .problems import ADAM, Job, Kit


class Value:
    """The classic: a number that remembers its children, and a closure for the chain rule."""

    def __init__(self, data, children=()):
        self.data = data
        self.grad = 0.0
        self._prev = set(children)
        self._backward = lambda: None

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other))

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other))

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, n):
        out = Value(self.data**n, (self,))

        def _backward():
            self.grad += n * self.data ** (n - 1) * out.grad

        out._backward = _backward
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def log(self):
        out = Value(math.log(self.data), (self,))

        def _backward():
            self.grad += out.grad / self.data

        out._backward = _backward
        return out

    def relu(self):
        out = Value(max(self.data, 0.0), (self,))

        def _backward():
            self.grad += (out.data > 0.0) * out.grad

        out._backward = _backward
        return out

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * other**-1

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def backward(self):
        order, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for child in node._prev:
                    visit(child)
                order.append(node)

        visit(self)
        self.grad = 1.0
        for node in reversed(order):
            node._backward()


class Classic:
    """Build the graph and run it backward. Freeing it is left out of a step, in its favour.

    Not so in a training from end to end: that cannot do without.
    """

    kit = Kit
    make = Value
    makes_cycles = True  # its closures refer to the nodes that keep them

    def __init__(self):
        sys.setrecursionlimit(10**7)  # the sort recurses

    def prepare(self, case):
        loss, parameters = self.problem(case)

        def step():
            for p in parameters:
                p.grad = 0.0
            out = loss()
            out.backward()
            return out

        def read(out):
            return out.data, np.array([p.grad for p in parameters])

        return Job(step, read, gc.collect)

    def problem(self, case):
        if case == "T":
            place = [self.make(x) for x in problems.PLACE]
            return lambda: problems.rosenbrock(*place), place
        if case == "A":
            layers = problems.demo_parameters(self.make)
            points, labels = problems.POINTS, problems.LABELS
            return (
                lambda: problems.demo_loss(layers, points, labels, self.kit),
                problems.demo_flat(layers),
            )
        p = problems.gpt_parameters(self.make)
        tokens = problems.encode(problems.DOCUMENTS[int(case[1:])])
        return lambda: problems.gpt_loss(p, tokens, self.kit), problems.flat(p)

    def trainer(self, length):
        p = problems.gpt_parameters(self.make)
        parameters = problems.flat(p)
        (beta1, beta2), lr, eps = ADAM["betas"], ADAM["lr"], ADAM["eps"]
        m, v = [0.0] * len(parameters), [0.0] * len(parameters)
        numbers = count(1)

        def step(tokens):
            for parameter in parameters:
                parameter.grad = 0.0
            problems.gpt_loss(p, tokens, self.kit).backward()
            steps = next(numbers)
            rate, scale = lr / (1 - beta1**steps), 1 / math.sqrt(1 - beta2**steps)
            for k, parameter in enumerate(parameters):
                g = parameter.grad
                m[k] = beta1 * m[k] + (1 - beta1) * g
                v[k] = beta2 * v[k] + (1 - beta2) * g * g
                parameter.data -= rate * m[k] / (math.sqrt(v[k]) * scale + eps)
            if self.makes_cycles:  # without this a thousand documents would not fit the memory
                gc.collect()

        return step, lambda: np.array([parameter.data for parameter in parameters])


class MicrogradPackage(Classic):
    """The micrograd package, with exp and log added in its own style."""

    def __init__(self):
        engine = Micrograd()
        self.kit, self.make = engine.kit, engine.make


class Microgpt(Classic):
    """Children and local derivatives instead of closures, in the manner of microgpt."""

    makes_cycles = False

    def __init__(self):
        engine = LocalGrads()
        self.kit, self.make = engine.kit, engine.make


class Casadi:
    """CasADi SX: the value and the gradient as one function, called through its buffers."""

    def __init__(self):
        import casadi

        self.casadi = casadi

        class kit:  # noqa: N801
            exp, log, tanh, sin, cos = (
                casadi.exp,
                casadi.log,
                casadi.tanh,
                casadi.sin,
                casadi.cos,
            )

            @staticmethod
            def relu(x):
                return casadi.fmax(x, 0.0)

            @staticmethod
            def number(x):
                return 0.0  # a symbol has none: the softmax goes without its shift

        self.kit = kit

    def prepare(self, case):
        casadi, numbers, symbols = self.casadi, [], []

        def make(number):
            numbers.append(number)
            symbols.append(casadi.SX.sym(f"p{len(numbers)}"))
            return symbols[-1]

        if case == "A":
            layers = problems.demo_parameters(make)
            loss = problems.demo_loss(layers, problems.POINTS, problems.LABELS, self.kit)
            symbols = problems.demo_flat(layers)
            numbers = problems.demo_flat(problems.demo_parameters(float))
        elif case.startswith("D"):
            graph = problems.dag(case.split()[1])
            loss = problems.dag_loss(graph, [make(x) for x in graph.inputs], self.kit)
        else:
            p = problems.gpt_parameters(make)
            tokens = problems.encode(problems.DOCUMENTS[int(case[1:])])
            loss = problems.gpt_loss(p, tokens, self.kit)
            symbols = problems.flat(p)
            numbers = problems.flat(problems.gpt_parameters(float))
        inputs = casadi.vertcat(*symbols)
        # Densified: an input that the loss does not use has a place in the gradient all the same.
        gradient = casadi.densify(casadi.gradient(loss, inputs))
        function = casadi.Function("step", [inputs], [loss, gradient])
        x, value, slopes = np.array(numbers), np.zeros(1), np.zeros(len(numbers))
        buffer, call = function.buffer()
        buffer.set_arg(0, memoryview(x))
        buffer.set_res(0, memoryview(value))
        buffer.set_res(1, memoryview(slopes))
        kept = function, buffer, x
        return Job(call, lambda _: (value[0], slopes.copy(), kept)[:2])
