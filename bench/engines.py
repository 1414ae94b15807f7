"""The engines that bench/eager.py compares, each behind the same three calls.

An engine makes a step of a workload: `build` the graph, run it `backward`, `free` it. It runs in a
process of its own (see `eager.py`), so that none disturbs another's memory.
"""

from __future__ import annotations

import gc
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from networks import Kit, gpt_loss, gpt_parameters, mixed_chain, mlp_loss, mlp_parameters, moons

POINTS, LABELS = moons()
TOKENS = [26, 8, 18, 0, 1, 4, 11, 11, 26]  # eight predictions
CHAIN = 100_000
WORKLOADS = {
    "W1": "a mixed chain of 100k operations",
    "W2": "micrograd's MLP, 100 points",
    "W3": "a GPT, 8 tokens",
}


class Engine:
    """Operations on objects that remember; subclasses say which."""

    kit = Kit

    def make(self, number):
        raise NotImplementedError

    def parameters(self, workload):
        if workload == "W1":
            return [self.make(0.7), self.make(0.1)]
        return (mlp_parameters if workload == "W2" else gpt_parameters)(self.make)

    def build(self, workload, parameters):
        if workload == "W1":
            return mixed_chain(*parameters, CHAIN, self.kit)
        if workload == "W2":
            return mlp_loss(parameters, POINTS, LABELS, self.kit)
        return gpt_loss(parameters, TOKENS, self.kit)

    def backward(self, root):
        root.backward()

    def free(self, root):
        """Called after the last reference is gone."""

    def gradient(self, parameter):
        return float(parameter.grad)


class Floats(Engine):
    """Plain Python floats: the forward pass alone, the floor for anything written in Python."""

    class kit:  # noqa: N801
        exp, log, tanh = math.exp, math.log, math.tanh

        @staticmethod
        def relu(x):
            return x if x > 0.0 else 0.0

        @staticmethod
        def number(x):
            return x

    def make(self, number):
        return number

    def backward(self, root):
        pass

    def gradient(self, parameter):
        return math.nan


class Minigrad(Engine):
    """minigrad, native or pure, as the environment says."""

    def __init__(self):
        from minigrad import Value

        self.make = Value


class Micrograd(Engine):
    """The micrograd package; exp, log and tanh, which it lacks, in its own style."""

    class kit(Kit):  # noqa: N801
        @staticmethod
        def exp(x):
            return Micrograd.unary(x, math.exp(x.data), lambda y: y, "exp")

        @staticmethod
        def log(x):
            return Micrograd.unary(x, math.log(x.data), lambda y: 1 / x.data, "log")

        @staticmethod
        def tanh(x):
            return Micrograd.unary(x, math.tanh(x.data), lambda y: 1 - y * y, "tanh")

    @staticmethod
    def unary(x, y, slope, name):
        out = Micrograd.value(y, (x,), name)

        def _backward():
            x.grad += slope(y) * out.grad

        out._backward = _backward
        return out

    def __init__(self):
        from micrograd.engine import Value

        sys.setrecursionlimit(10**7)  # its topological sort recurses
        Micrograd.value = self.make = Value

    def free(self, root):
        if (
            not gc.isenabled()
        ):  # nodes and their closures form cycles: only the collector frees them
            gc.collect()


class LocalGrads(Engine):
    """A node as children and local derivatives, in the manner of microgpt; own code."""

    class Value:
        __slots__ = ("children", "data", "grad", "slopes")

        def __init__(self, data, children=(), slopes=()):
            self.data, self.grad, self.children, self.slopes = data, 0.0, children, slopes

        @classmethod
        def lift(cls, x):
            return x if isinstance(x, cls) else cls(x)

        def __add__(self, other):
            other = self.lift(other)
            return type(self)(self.data + other.data, (self, other), (1.0, 1.0))

        def __mul__(self, other):
            other = self.lift(other)
            return type(self)(self.data * other.data, (self, other), (other.data, self.data))

        def __pow__(self, n):
            return type(self)(self.data**n, (self,), (n * self.data ** (n - 1),))

        def exp(self):
            y = math.exp(self.data)
            return type(self)(y, (self,), (y,))

        def log(self):
            return type(self)(math.log(self.data), (self,), (1.0 / self.data,))

        def tanh(self):
            y = math.tanh(self.data)
            return type(self)(y, (self,), (1.0 - y * y,))

        def relu(self):
            return type(self)(max(0.0, self.data), (self,), (float(self.data > 0.0),))

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
                    for child in node.children:
                        visit(child)
                    order.append(node)

            visit(self)
            self.grad = 1.0
            for node in reversed(order):
                for child, slope in zip(node.children, node.slopes, strict=True):
                    child.grad += slope * node.grad

    def __init__(self):
        sys.setrecursionlimit(10**7)
        self.make = self.Value


class Torch(Engine):
    """PyTorch, a 0-d tensor for every number."""

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        self.make = lambda x: torch.tensor(x, dtype=torch.float64, requires_grad=True)

    def gradient(self, parameter):
        return 0.0 if parameter.grad is None else parameter.grad.item()


class Xad(Engine):
    """xad, a tape in C++ with Python bindings."""

    def __init__(self):
        import xad.math
        from xad.adj_1st import Real, Tape

        self.real, self.tape = Real, Tape()
        self.tape.activate()

        class kit:  # noqa: N801
            exp, log, tanh = xad.math.exp, xad.math.log, xad.math.tanh

            @staticmethod
            def relu(x):
                return xad.math.max(x, 0.0)

            @staticmethod
            def number(x):
                return x.value

        self.kit = kit

    def make(self, number):
        real = self.real(number)
        self.tape.registerInput(real)
        return real

    def build(self, workload, parameters):
        self.tape.newRecording()
        return super().build(workload, parameters)

    def backward(self, root):
        self.tape.registerOutput(root)
        root.derivative = 1.0
        self.tape.computeAdjoints()

    def gradient(self, parameter):
        return parameter.derivative


class Casadi(Engine):
    """CasADi SX: the graph and its gradient as symbols, without evaluating them."""

    def __init__(self):
        import casadi

        self.casadi, self.symbols = casadi, []

        class kit:  # noqa: N801
            exp, log, tanh = casadi.exp, casadi.log, casadi.tanh

            @staticmethod
            def relu(x):
                return casadi.fmax(x, 0.0)

            @staticmethod
            def number(x):
                return 0.0

        self.kit = kit

    def make(self, number):
        symbol = self.casadi.SX.sym(f"p{len(self.symbols)}")
        self.symbols.append((symbol, number))
        return symbol

    def backward(self, root):
        inputs = self.casadi.vertcat(*[symbol for symbol, _ in self.symbols])
        self.slopes = self.casadi.gradient(root, inputs)
        self.inputs = inputs

    def gradient(self, parameter):
        place = next(k for k, (symbol, _) in enumerate(self.symbols) if symbol is parameter)
        slope = self.casadi.Function("slope", [self.inputs], [self.slopes[place]])
        return float(slope([number for _, number in self.symbols]))

    def free(self, root):
        self.slopes = self.inputs = None


ENGINES = {
    "floats": Floats,
    "native": Minigrad,
    "pure": Minigrad,
    "micrograd": Micrograd,
    "microgpt-style": LocalGrads,
    "PyTorch": Torch,
    "xad": Xad,
    "CasADi SX": Casadi,
}
