"""`train_step`: loss, gradients and optimiser in one native call.

    step = minigrad.train_step(loss, optimizer)
    for xs, ys in batches:
        print(step(xs, ys))        # one step, as zero_grad, backward and optimizer.step would do it

    step = minigrad.train_step(minigrad.vmap(loss), optimizer)
    step(inputs, labels)           # arrays with a row for each example: the mean of their losses

Between steps the parameters live in the machine's buffer. Whoever reads or writes a Value gets them
back first (`writeback.defer`), so nobody sees an old number, and a loop in which nobody looks pays
nothing. The optimiser's step is a part of the program (`passes/update`), by the formula that its
own `step` follows: what it computes is the same, bit for bit.

A step is taken entirely or not at all, whenever Ctrl-C comes. Taken means: the back end's `Commit`
has counted it, which it does together with moving the parameters. All the rest, a `_Turn`, is done
after that, and by whoever comes first: this step, the next one, somebody who reads a Value, or the
optimiser when it is asked for its steps.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ..core.elsewhere import explained
from ..core.modes import in_strict
from ..core.observers import refuse_in_trace
from ..core.parameters import (
    data_of,
    grads_of,
    read_data,
    set_grads,
    write_data,
    write_grads,
    zeros,
)
from ..core.turns import Turns
from ..core.writeback import defer, flush_writebacks, is_pending, writebacks
from ..optim import Optimizer
from .arguments.structure import Flat
from .backends import backend_of
from .batches import Feed, Given, Lanes, blocks_of
from .callables import Made, check_optimizer
from .dispatch import Args, Kwargs, Uncompiled
from .function import Compiled, told_step
from .machine import GuardFailed, Machine, NotFinite
from .passes.widen import Rows
from .specialization import Purpose, Specialization
from .tracing.unchanged import first_changed
from .vmap import Batched


class TrainStep(Made):
    """Takes one training step per call, and returns the loss before it."""

    def __init__(
        self,
        loss: Callable[..., Any],
        optimizer: Optimizer,
        backend: str,
        strict: bool,
        audit: Any = None,
    ) -> None:
        check_optimizer(optimizer)
        self.function: Callable[..., Any] = loss
        if isinstance(loss, Batched) and loss.single:
            raise TypeError(
                "train_step(vmap(loss, dtype='float32'), …): parameters are trained in float64. "
                "Give vmap(loss)."
            )
        self._has_rows = isinstance(loss, Batched)  # what it is given are arrays, rows of examples
        one = loss.compiled if isinstance(loss, Batched) else loss
        if isinstance(one, Compiled):
            self.function = one.__wrapped__
            audit = one.dispatch.audit.mode if audit is None else audit
        self._loss = loss
        self.optimizer = optimizer
        self._options = {"backend": backend, "strict": strict, "audit": audit}
        self.uncompiled = 0  # steps that were taken without a program
        self.why_uncompiled = ""  # the latest of them
        self._steps = Turns()  # one at a time
        self._hand = Turns()  # numbers go from hand to hand, one at a time
        self._owner: Machine | None = None  # who has the newest numbers; None: the Values
        self._running: Machine | None = None  # who has begun to compute gradients, and not moved
        self._prepare()

    @property
    def program_hash(self) -> str:
        """A hash of the program of the latest step; "" before the first."""
        return self.compiled.dispatch.digest()

    def _told(self) -> tuple[str, str]:
        return told_step(self.compiled, self.optimizer)

    def _recipe(self) -> tuple[Any, ...]:
        flush_writebacks()  # the numbers are to be in the Values, which travel with the optimiser
        return self._loss, self.optimizer, *self._options.values()

    def _prepare(self) -> None:
        """Compile for the parameters that the optimiser has now."""
        parameters = tuple(self.optimizer.parameters)
        self.compiled = Compiled(self.function, leading=parameters, **self._options)
        self._turns: dict[Machine, _Turn] = {}
        # The gradients of the step before, while they are computed anew.
        self._before = memoryview(array("d", bytes(8 * len(parameters))))
        self._parameters = parameters  # at last: if it is not reached, the next step comes here

    def __call__(self, *args: Any, **kwargs: Any) -> float:
        """Take a step; of several threads, one after the other."""
        refuse_in_trace("takes a training step")
        run: Callable[..., float] = copy_context().run
        return self._steps.run(_refuse, run, self._step, args, kwargs)

    def _step(self, args: Args, kwargs: Kwargs) -> float:
        if first_changed(b"l", [self.optimizer.parameters], [self._parameters], 0) >= 0:
            flush_writebacks()
            self._prepare()
        given = self._rows_of(args, kwargs) if self._has_rows else None
        if not _follows_its_rule(self.optimizer):
            why = "the optimiser has a step() of its own"
        elif in_strict():
            why = "strict() looks at each operation"
        else:
            try:
                if given is not None:
                    run = partial(self._stepped_rows, given)
                    return self.compiled.dispatch.replay(given.first, {}, run)
                return self.compiled.dispatch.replay(args, kwargs, self._stepped)
            except Uncompiled as error:
                why = str(error) or "another thread was tracing"
        number = self._eager(args, kwargs, given)
        self.uncompiled, self.why_uncompiled = self.uncompiled + 1, why
        return number

    def _rows_of(self, args: Args, kwargs: Kwargs) -> Given:
        if kwargs:
            raise TypeError("a training step of a vmap takes no arguments by name.")
        return Given(args, self.compiled.__name__)

    def _eager(self, args: Args, kwargs: Kwargs, given: Given | None) -> float:
        """The same without a program: inside strict(), or if the optimiser has its own `step`."""
        with self._undone():
            self.optimizer.zero_grad()
            number = 0.0
            for row in range(given.count if given else 1):
                loss = self.compiled(*(given.row(row) if given else args), **kwargs)
                loss = loss[0] if isinstance(loss, tuple) else loss
                if given:
                    loss = loss / given.count  # gradients of examples add up
                loss.backward()
                number += float(loss.data)  # now: the loss may be a parameter
            self.optimizer.step()
        return number

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Have gradients as they were, if a step is not taken."""
        data, grads = data_of(self._parameters), grads_of(self._parameters)
        try:
            yield
        except BaseException:
            if data_of(self._parameters) == data:
                set_grads(self._parameters, grads)
            raise

    def _stepped(self, spec: Specialization, flat: Flat) -> float:
        self._check(spec)
        turn = self._ready(spec)
        machine = turn.machine
        at = machine.program.results[0]
        # If the loss is a parameter it is there already, and will move.
        moves = at < len(self._parameters)

        def step() -> float:
            before = machine.values.item(at)
            machine.step(flat.numbers, turn.commit)
            return before if moves else machine.values.item(at)

        return self._taken(spec, turn, step)

    def _stepped_rows(self, given: Given, spec: Specialization, flat: Flat) -> float:
        """Take a step by the mean of the losses of all rows."""
        self._check(spec)
        if not spec.is_exact:
            size, blocks = blocks_of(spec.weight(given.arguments).own, given.count)
            rows = Rows(size, given.arguments, carries=blocks > 1)
            turn = self._ready(spec, rows)
            feed = Feed(given, rows, spec.program.parameters, 1.0 / given.count)
            # A row that takes another way is found by lanes, which know what to say about it. They
            # also look at the guards of all rows before an exact program, without guards, runs.
            with suppress(GuardFailed, NotFinite):
                return self._taken(spec, turn, lambda: _through(turn, feed, flat, blocks))
        lanes = Lanes(spec, given, with_grad=True)
        lanes.run(self.compiled.__name__, flat, None, None)
        with self._undone():
            slopes = lanes.totals[: len(self._parameters)] / given.count
            set_grads(self._parameters, slopes.tolist())
            self.optimizer.step()
        return float(sum(lanes.outputs[0].tolist()) / given.count)

    def _check(self, spec: Specialization) -> None:
        self.compiled.check_differentiable(spec)
        if not spec.leading_read and self._parameters:
            raise ValueError(
                f"train_step: {self.compiled.__name__} reads none of the parameters, so "
                "that nothing would be trained. Was one of the two copied without the other?"
            )

    def _taken(self, spec: Specialization, turn: _Turn, step: Callable[[], float]) -> float:
        others = spec.captured[len(self._parameters) :]  # Values that it reads and leaves alone
        if self._owner is None or (others and is_pending(but=self._write_back)):
            flush_writebacks()  # before the lock, which flushing wants as well
        number: float = self._hand.run(_refuse, self._move, turn, others, step)
        return number

    def _move(self, turn: _Turn, others: tuple[Any, ...], step: Callable[[], float]) -> float:
        """Have a machine take a step, unless a guard fails; return the loss before it."""
        machine, count = turn.machine, len(self._parameters)
        values = machine.values
        owner = self._owner  # as it is now: somebody may have flushed it meanwhile
        if owner is machine and self._running is not machine:
            self._before[:] = turn.grads
        self._running = machine
        if owner is None:
            defer(self._write_back)  # in advance: once the parameters move, it has to be known
            read_data(self._parameters, values)
        elif owner is not machine:
            values[:count] = owner.values[:count]
        if others:
            read_data(others, values[count:])
        self.optimizer._turn = turn
        try:
            number = step()
        except GuardFailed:
            turn.count()
            raise
        turn.count()
        if not writebacks:  # a signal handler has asked for the numbers meanwhile
            defer(self._write_back)
        return number

    def _ready(self, spec: Specialization, rows: Rows | None = None) -> _Turn:
        """The machine, what it is to do to the parameters, and the state that it will update."""
        optimizer, count = self.optimizer, len(self._parameters)
        optimizer._complete()
        formula, names, settings = optimizer._formula(optimizer.lr)
        machine = spec.machine(Purpose("step", "values", formula, count, rows))
        turn = self._turns.get(machine)
        if turn is None:
            turn = self._turns[machine] = _Turn(self, machine, spec.backend.Commit)
        state = optimizer._state
        turn.state = {name: state[name] if name in state else zeros(count) for name in names}
        turn.commit.state, turn.commit.settings = tuple(turn.state.values()), settings
        turn.commit.steps = turn.steps = optimizer._steps
        return turn

    def _write_back(self) -> None:
        """Give the Values their numbers and gradients back."""
        self._hand.run(self._give_back, self._give_back)

    def _give_back(self) -> None:
        turn = self.optimizer._turn
        if isinstance(turn, _Turn) and turn.step is self:  # it was interrupted
            turn.count()
        machine = self._owner
        if machine is None:
            return
        # If it has begun anew and did not come to the end, gradients are those of the step before.
        is_begun = self._running is machine
        start = machine.program.adjoints
        grads = self._before if is_begun else machine.values[start : start + len(self._parameters)]
        write_data(self._parameters, machine.values)
        write_grads(self._parameters, np.asarray(grads))
        self._owner = None


def _through(turn: _Turn, feed: Feed, flat: Flat, blocks: int) -> float:
    """Run all blocks of rows, the last with the optimiser's step; return the loss before it."""
    machine, carried = turn.machine, 0
    program, values = machine.program, machine.values
    feed.share(values, flat)
    if blocks > 1:
        carried = feed.rows.starts(program.parameters)[-1]
        values[carried : carried + program.parameters] = 0.0
    total = 0.0
    for number in range(blocks):
        is_last = number == blocks - 1
        _, inputs = feed.block(number)
        machine.step_on(values, inputs, turn.commit if is_last else None)
        total += values.item(program.results[0])
        if not is_last:
            found = values[program.adjoints : program.adjoints + program.parameters]
            values[carried : carried + program.parameters] = found
    return total


def _refuse() -> NoReturn:
    raise RuntimeError(
        "a training step was asked for in the middle of the same one, by the loss or by a signal "
        "handler. A handler may set a flag, to be looked at between steps."
    )


_STEP, _UPDATE = Optimizer.step, Optimizer._update


def _follows_its_rule(optimizer: Optimizer) -> bool:
    """Tell whether the optimiser's rule says all that its step does."""
    cls = type(optimizer)
    return "step" not in vars(optimizer) and cls.step is _STEP and cls._update is _UPDATE


class _Turn:
    """A step that a machine takes, and what is to be done, once, when it is taken."""

    __slots__ = ("commit", "grads", "machine", "state", "step", "steps")

    def __init__(self, step: TrainStep, machine: Machine, commit: Any) -> None:
        self.step, self.machine = step, machine
        self.commit = commit(machine.program.update)
        start = machine.program.adjoints
        self.grads = machine.values.data[start : start + len(step._parameters)]
        self.steps = 0  # that were taken before
        self.state: dict[str, Any] = {}  # of the optimiser, afterwards

    def complete(self) -> None:
        """Count the step when it is over."""
        self.step._hand.run(self._complete, self._complete)

    def _complete(self) -> None:
        if self.step.optimizer._turn is self:  # else somebody has counted it meanwhile
            self.count()

    def count(self) -> None:
        """Count the step if it is taken. Interrupted, all of this can be done again."""
        step, optimizer = self.step, self.step.optimizer
        self.commit.finish(self.machine.values)
        if self.commit.steps > self.steps:
            optimizer._state = self.state
            optimizer._steps = self.steps + 1
            step._running = None
            step._owner = self.machine
        optimizer._turn = None


@explained("train_step(loss, optimizer)")
def train_step(
    loss: Callable[..., Any],
    optimizer: Optimizer,
    *,
    backend: str = "auto",
    strict: bool = False,
    audit: bool | str | None = None,
    mesh: Any = None,
    batch: str | None = None,
    dtype: Any = None,
) -> Any:
    """Return a function that takes one training step with its arguments and returns the loss.

    `loss` is compiled, or will be. `.data` and `.grad` of the parameters are up to date whenever
    they are read. Of a loss that returns a tuple the first element is followed. `vmap(loss)` is for
    arrays with a row for each example: then it is the mean over the rows.

    With `backend="jax"`, `batch` is the name of an axis of examples that arrays have in front (the
    loss is then the mean over them), `mesh` the devices that they are cut among, and `dtype`
    "float64", "float32" or "tf32".
    """
    if backend != "jax":
        if (mesh, batch, dtype) != (None, None, None):
            raise ValueError("train_step: mesh, batch and dtype are for backend='jax'.")
        return TrainStep(loss, optimizer, backend, strict, audit)
    if isinstance(loss, Batched):
        raise TypeError(
            "train_step(vmap(loss), backend='jax'): give the loss of one example, and a name to "
            "the axis of examples: train_step(loss, optimizer, backend='jax', batch='rows')."
        )
    backend_of(backend)  # which says what to install
    from .backends.jax.training import JaxTrainStep

    return JaxTrainStep(loss, optimizer, mesh, batch, dtype, strict, audit)
