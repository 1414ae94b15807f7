"""`train_step`: loss, gradients and optimiser in one native call.

    step = minigrad.train_step(loss, optimizer)
    for xs, ys in batches:
        print(step(xs, ys))        # one step, as zero_grad, backward and optimizer.step would do it

Between steps the parameters live in the machine's buffer. Whoever reads or writes a Value gets them
back first (`modes.owe`), so nobody sees an old number, and a loop in which nobody looks pays
nothing. What the optimiser computes is what `bulk` computes, bit for bit.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from .compiled import Compiled
from .compiler.pytree import Flat
from .compiler.variant import Machine, Variant
from .modes import in_strict, is_owed, owe, refuse_in_trace, settle
from .optim import SGD, Adam, AdamW, Optimizer
from .quick import first_changed, read_data, write_data, write_grads

__all__ = ["TrainStep", "train_step"]


class TrainStep:
    """Takes one training step per call, and returns the loss before it."""

    def __init__(
        self,
        loss: Callable[..., Any],
        optimizer: Optimizer,
        backend: str,
        strict: bool,
        audit: Any = None,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"train_step(loss, optimizer): got {type(optimizer).__name__}; give an optimiser "
                "of minigrad.optim."
            )
        function = loss.__wrapped__ if isinstance(loss, Compiled) else loss
        self.function: Callable[..., Any] = function
        self.optimizer = optimizer
        self._options = {"backend": backend, "strict": strict, "audit": audit}
        self._lock = threading.RLock()
        self._owner: Machine | None = None  # who has the newest numbers; None: the Values
        self._prepare()

    def _prepare(self) -> None:
        """Compile for the parameters that the optimiser has now."""
        self._parameters = tuple(self.optimizer.parameters)
        self.compiled = Compiled(self.function, leading=self._parameters, **self._options)
        self._rules: dict[Machine, Any] = {}
        self._unused = np.zeros(len(self._parameters))  # velocities, where there is no momentum

    def __call__(self, *args: Any, **kwargs: Any) -> float:
        """Take a step; of several threads, one after the other."""
        refuse_in_trace("takes a training step")
        with self._lock:
            return self._step(args, kwargs)

    def _step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
        if first_changed([self.optimizer.parameters], [self._parameters], 0) >= 0:
            settle()
            self._prepare()
        if type(self.optimizer) in (SGD, Adam, AdamW) and not in_strict():
            done = self.compiled._replayed(args, kwargs, self._stepped)
            if done is not None:
                return done[0]
        return self._eager(args, kwargs)

    def _eager(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
        """The same without a program: inside strict(), or with an optimiser of somebody else's."""
        self.optimizer.zero_grad()
        loss = self.compiled(*args, **kwargs)
        loss = loss[0] if isinstance(loss, tuple) else loss
        loss.backward()
        self.optimizer.step()
        number: float = loss.data
        return number

    def _stepped(self, variant: Variant, flat: Flat) -> tuple[float] | None:
        machine = variant.machine((self.compiled._only_result(variant), "values"))
        program, values = machine.program, machine.values
        count = len(self._parameters)
        others = variant.captured[count:]  # Values that it reads and leaves alone
        owner = self._owner
        if owner is None or (others and is_owed(but=self._settle)):
            settle()  # before the lock, which settling wants as well
            owner = self._owner
        with machine.lock:
            owner = self._owner  # as it is now: somebody may have settled meanwhile
            if owner is None:
                read_data(self._parameters, values)
            elif owner is not machine:
                values[:count] = owner.values[:count]
            if others:
                read_data(others, values[count:])
            rule, state = self._rule(machine, variant.backend)
            if machine.step(flat.numbers, rule) >= 0:
                return None
            self.optimizer.state = state
            self.optimizer.steps += 1
            is_new = self._owner is None
            self._owner = machine
            if is_new:
                owe(self._settle)
            return (values.item(program.results[0]),)

    def _rule(self, machine: Machine, backend: Any) -> tuple[Any, dict[str, Any]]:
        """What the machine is to do to the parameters, and the state that it will update."""
        optimizer, count = self.optimizer, len(self._parameters)
        state: dict[str, Any] = optimizer.state
        if isinstance(optimizer, SGD) and not optimizer.momentum:
            state = {}
            self._unused.fill(0.0)
            averages = [self._unused]
        else:
            for name in optimizer._averages:
                if name not in state:
                    state = {**state, name: array("d", bytes(8 * count))}
            averages = [state[name] for name in optimizer._averages]
        rule = self._rules.get(machine)
        if rule is None:
            kind = backend.Sgd if isinstance(optimizer, SGD) else backend.Adam
            rule = kind(0, count, machine.program.adjoints, *averages, 0.0)
            self._rules[machine] = rule
        rule.lr = lr = optimizer.lr
        if isinstance(optimizer, SGD):
            (rule.velocity,) = averages
            rule.momentum, rule.nesterov = optimizer.momentum, optimizer.nesterov
            rule.weight_decay = optimizer.weight_decay
            return rule, state
        assert isinstance(optimizer, Adam)
        rule.averages, rule.squares = averages
        rule.betas, rule.eps, rule.steps = optimizer.betas, optimizer.eps, optimizer.steps
        decoupled = isinstance(optimizer, AdamW)
        rule.penalty = 0.0 if decoupled else optimizer.weight_decay
        rule.shrink = 1.0 - lr * optimizer.weight_decay if decoupled else 1.0
        return rule, state

    def _settle(self) -> None:
        """Give the Values their numbers and gradients back."""
        machine = self._owner
        while machine is not None:
            count, start = len(self._parameters), machine.program.adjoints
            with machine.lock:
                if self._owner is machine:  # else another one has taken a step meanwhile
                    write_data(self._parameters, machine.values)
                    write_grads(self._parameters, machine.values[start : start + count])
                    self._owner = None
            machine = self._owner


def train_step(
    loss: Callable[..., Any],
    optimizer: Optimizer,
    *,
    backend: str = "auto",
    strict: bool = False,
    audit: bool | str | None = None,
) -> TrainStep:
    """Return a function that takes one training step with its arguments and returns the loss.

    `loss` is compiled, or will be. `.data` and `.grad` of the parameters are up to date whenever
    they are read. Of a loss that returns a tuple the first element is followed.
    """
    return TrainStep(loss, optimizer, backend, strict, audit)
