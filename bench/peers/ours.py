"""minigrad itself: the eager engine, which is the reference of all, and the compiler.

Every call of the compiler's interface stands in `Compiled`.
"""

from __future__ import annotations

import functools
import time

import numpy as np

import minigrad
from minigrad import Value
from minigrad.compiler.specialization import BY_VALUES

from . import digits, hidden, large, problems
from .problems import ADAM, CHECKED, SGD, Job
from .scalars import Classic


class EagerKit(problems.Kit):
    """The words of the models, as minigrad's functions."""

    erf = staticmethod(minigrad.erf)
    sqrt = staticmethod(minigrad.sqrt)
    sin = staticmethod(minigrad.sin)
    cos = staticmethod(minigrad.cos)


def optimizer(name, parameters):
    if name == "SGD":
        return minigrad.optim.SGD(parameters, **SGD)
    return minigrad.optim.Adam(parameters, **ADAM)


class Eager(Classic):
    """The graph built and run backward by `Value`, step after step."""

    kit, make, optimizer = EagerKit, Value, "Adam"

    def __init__(self):
        pass

    def prepare(self, case):
        if case == "C":
            return Job(self.prices, lambda results: (results[0], results[1:]))
        if case.startswith("M"):
            return digits.eager_job(case, Value, self.kit)
        job = super().prepare(case)
        return Job(job.run, job.read)  # nothing is left for the collector

    def problem(self, case):
        if case.startswith("R"):
            loss, data, parameters = hidden.MODELS[case.split()[1]](Value)
            data = hidden.plain(data)
            return lambda: loss(self.kit, *data), parameters
        if not case.startswith("D"):
            return super().problem(case)
        graph = problems.dag(case.split()[1])
        inputs = [Value(x) for x in graph.inputs]
        return lambda: problems.dag_loss(graph, inputs, self.kit), inputs

    def prices(self):
        """Only the points that are compared: a million would take a while."""
        rows = []
        for numbers in zip(*(array[CHECKED].tolist() for array in problems.options()), strict=True):
            inputs = [Value(x) for x in numbers]
            price = problems.call_price(*inputs, self.kit)
            price.backward()
            rows.append([price.data, *(x.grad for x in inputs)])
        return np.array(rows).T

    def trainer(self, length):
        p = problems.gpt_parameters(Value)
        step = loop(
            lambda tokens: problems.gpt_loss(p, tokens, self.kit),
            optimizer(self.optimizer, problems.flat(p)),
        )
        return step, lambda: np.array(minigrad.data_of(problems.flat(p)))


def loop(loss, optimizer):
    """A training step as everybody writes it."""

    def step(tokens):
        optimizer.zero_grad()
        loss(tokens).backward()
        optimizer.step()

    return step


class Compiled:
    """The compiler, a whole call at a time: arguments in, value and gradients out."""

    cores, optimizer, dtype = 1, "Adam", np.float64

    class kit(EagerKit):  # noqa: N801
        take = staticmethod(minigrad.take)

    def __init__(self):
        self.compile = minigrad.compile

    # ---- the interface of the compiler, and nothing of it elsewhere

    def call(self, function, *arguments):
        return function.value_and_grad(*arguments)

    def many(self, function, *arrays):
        return function.value_and_grad(*arrays, threads=self.cores, progress=False)

    def step(self, function, arguments):
        """A callable that computes value and gradients, to be timed; subclasses choose another."""
        return functools.partial(function.value_and_grad, *arguments)  # no frame of our own

    def read(self, function, arguments, parameters):
        """From what a step returned to the value and the gradient in the order of `parameters`."""

        def read(answer):
            value, grads = answer
            if parameters is None:
                return value, np.array(grads.args)
            # A parameter that the function did not use is not among the gradients.
            return value, np.array([grads.get(p, 0.0) for p in parameters])

        return read

    def train_step(self, function, parameters):
        return minigrad.train_step(function, optimizer(self.optimizer, parameters))

    # ---- the cases

    def prepare(self, case):
        if case == "C":
            price = functools.partial(problems.call_price, kit=self.kit)
            function = minigrad.vmap(price, dtype=self.dtype)
            arrays = [array.astype(self.dtype, copy=False) for array in problems.options()]
            return Job(
                lambda: self.many(function, *arrays),
                lambda answer: (np.asarray(answer[0]), np.stack(answer[1])),
            )
        if case.startswith("M"):
            return self.batch(digits.images(digits.batch_of(case)))
        loss, arguments, parameters = self.problem(case)
        function = self.compile(loss)
        step = self.step(function, arguments)
        step()  # tracing and compiling are not part of the step; the table shows them apart
        return Job(step, self.read(function, arguments, parameters))

    def made(self, case):
        """Make the parameters of M and their optimiser, which is no part of compiling."""
        self.layers = digits.layers_of(Value)
        self.sgd = optimizer("SGD", problems.demo_flat(self.layers))

    def batch(self, arrays):
        parameters = problems.demo_flat(self.layers)
        loss = minigrad.vmap(digits.loss_of(self.layers, self.kit))
        step = minigrad.train_step(loss, self.sgd)
        return Job(
            functools.partial(step, *arrays),
            lambda value: (value, np.array(minigrad.grads_of(parameters))),
        )

    def problem(self, case):
        """The loss as a user writes it, its arguments, and the parameters that it closes over.

        None, if derivatives are wanted by the arguments.
        """
        if case == "T":
            return problems.rosenbrock, problems.PLACE, None
        if case == "A":
            layers = problems.demo_parameters(Value)
            arguments = np.array(problems.POINTS), np.array(problems.LABELS, float)
            return (
                lambda points, labels: problems.demo_loss(layers, points, labels, self.kit),
                arguments,
                problems.demo_flat(layers),
            )
        if case.startswith("D"):
            graph = problems.dag(case.split()[1])
            inputs = [Value(x) for x in graph.inputs]
            return lambda: problems.dag_loss(graph, inputs, self.kit), (), inputs
        if case.startswith("R"):
            loss, data, parameters = hidden.MODELS[case.split()[1]](Value)
            return functools.partial(loss, self.kit), data, parameters
        p = problems.gpt_parameters(Value)
        tokens = problems.encode(problems.DOCUMENTS[int(case[1:])])
        return lambda tokens: problems.gpt_loss(p, tokens, self.kit), (tokens,), problems.flat(p)

    def trainer(self, length):
        p = problems.gpt_parameters(Value)
        parameters = problems.flat(p)
        function = self.compile(lambda tokens: problems.gpt_loss(p, tokens, self.kit))
        step = self.train_step(function, parameters)
        return step, lambda: np.array(minigrad.data_of(parameters))

    def large(self, model):
        """Seconds to be ready, bytes that takes, seconds of a step, operations; and the answer."""
        loss, data, parameters = large.MODELS[model](Value)
        function = self.compile(functools.partial(loss, self.kit))
        step, before = self.step(function, data), peak()
        (value, grads), seconds = large.timed(step)
        size = peak() - before
        slopes = [grads.get(p, 0.0) for p in parameters] or [float(grads.args[0])]
        nodes = function.dispatch.latest().nodes
        return {"ready": seconds, "bytes": size, "step": large.best(step), "nodes": nodes,
                "value": value, "slope": float(np.linalg.norm(slopes))}  # fmt: skip

    def again(self, what, folder):
        """Seconds for a small program, or for those of twelve lengths, kept in a folder."""
        large.keep_programs_in(folder)
        return large.small(minigrad) if what == "small" else large.lengths(self)[0]

    def grow(self, width, length):
        """Seconds and bytes that it takes to trace and compile a model of this size."""
        p, tokens = problems.growing(width, length, Value)
        function = self.compile(lambda tokens: problems.gpt_loss(p, tokens, self.kit))
        before, start = peak(), time.process_time()
        self.call(function, tokens)  # the first call traces, compiles and runs once
        return time.process_time() - start, peak() - before


class Kernel(Compiled):
    """The compiled step alone: one native call on the buffer that a whole call left behind."""

    @staticmethod
    def machine(function):
        # Differentiates by the parameters and not by the data, as all the other peers do.
        return function.dispatch.latest().machine(BY_VALUES)

    def step(self, function, arguments):
        function(*arguments)  # leaves all inputs in the buffer
        machine = self.machine(function)
        return functools.partial(machine.prepared.run, machine.values)

    def read(self, function, arguments, parameters):
        spec, machine = function.dispatch.latest(), self.machine(function)
        program = machine.program

        def read(_):
            slopes = machine.values[program.adjoints :][: program.parameters].tolist()
            found = dict(zip(map(id, spec.captured), slopes, strict=True))
            value = float(machine.values[program.results[0]])
            return value, np.array([found.get(id(p), 0.0) for p in parameters])

        return read


class Loop(Compiled):
    """A compiled loss in a loop as everybody writes it, with `backward()` and `step()`."""

    def train_step(self, function, parameters):
        return loop(function, optimizer(self.optimizer, parameters))


class TwoCores(Compiled):
    """A batch on two cores."""

    cores = 2


class Float32(Compiled):
    """A batch in float32, from arrays of it."""

    dtype = np.float32


def peak():
    """The largest size that this process has had, in bytes."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024
