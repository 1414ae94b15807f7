"""Optimisers, learning-rate schedules and gradient clipping.

An optimiser keeps its state to itself, never on the parameters, works out all new numbers before it
writes the first one, and has PyTorch's update rules, so that results can be compared. Its learning
rate is a number or a schedule: a function from the number of steps taken so far to a rate.

What it does to one parameter stands in one place, its `rule`, written like the rows of the op table
for any kind of number. `step()` and `minigrad.train_step` both follow it, whoever has written it.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Iterable
from math import cos, hypot, isfinite, pi, sqrt
from typing import Any, Protocol, TypeAlias

from .codegen.formula import Formula, Rule, formula_of
from .core.coerce import as_float, as_list
from .core.display import paragraph, table
from .core.elsewhere import OPTIM, OPTIMIZER, absentees, explained, names_of, refuse_name
from .core.names import plural
from .core.parameters import (
    Nodes,
    as_numbers,
    data_of,
    grads_of,
    set_grads,
    zero_grad,
    zeros,
)
from .core.writeback import defer, flush_writebacks
from .scalar import Value

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Optimizer",
    "Schedule",
    "clip_grad_norm",
    "clip_grad_value",
    "cosine",
    "exponential",
    "linear",
    "stepwise",
    "warmup",
]

# What people call the arguments elsewhere.
_RATE, _BETAS = "the learning rate is lr=0.1", "write betas=(0.9, 0.999)"
_INSTEAD = {"learning_rate": _RATE, "alpha": _RATE, "beta1": _BETAS, "beta2": _BETAS}

Schedule = Callable[[int], float]
Numbers: TypeAlias = "array[float]"  # one per parameter
State: TypeAlias = "dict[str, array[float]]"  # numbers of which there is one per parameter


class Turn(Protocol):
    """A step that somebody takes in place of an optimiser; `training` has the one."""

    def complete(self) -> None:
        """If the step is taken, have the optimiser count it, once; in any case, forget it."""


def _after_turn(name: str, doc: str) -> Any:
    """Make a property that is read and written only after a step that is being taken."""

    def read(optimizer: Optimizer) -> Any:
        optimizer._complete()
        return vars(optimizer)[name]

    def write(optimizer: Optimizer, thing: Any) -> None:
        optimizer._complete()
        vars(optimizer)[name] = thing

    return property(read, write, doc=doc)


class Optimizer:
    """What all optimisers share: the parameters, the rate, the count of steps, the state.

    A subclass says what its state is called, `state_names`, and what happens to one parameter:
    `rule(m, x, g, *state, *settings)` returns the new x and the new state. It is a static method,
    run once, on symbols; `m` has the operations of the op table, `m.where` for a choice among them.
    State starts at 0. What may change from step to step are the `settings`.
    """

    state_names: tuple[str, ...] = ()
    _turn: Turn | None = None  # a step that is being taken, or was when an exception came
    _nodes = Nodes(())  # the parameters, as they were when a step was last taken

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not isinstance(vars(cls).get("rule", staticmethod(len)), staticmethod):
            raise TypeError(
                f"{cls.__name__}.rule must be a @staticmethod: it is run once, for all steps, and "
                "would see its optimiser as it is now. Return what may change from settings()."
            )

    def __init__(self, parameters: Iterable[Value], lr: float | Schedule) -> None:
        call = f"{type(self).__name__}(parameters)"
        if hasattr(parameters, "parameters"):
            raise TypeError(f"{call}: pass model.parameters().")
        self.parameters = as_list(parameters, call)
        for parameter in self.parameters:
            if not isinstance(parameter, Value):
                got = type(parameter).__name__
                raise TypeError(
                    f"{call}: got {got} among them; they are Values: pass model.parameters()."
                )
        if not self.parameters:
            raise ValueError(
                f"{call}: there is none; pass model.parameters(), which finds the Values in a "
                "Module's attributes."
            )
        if len(set(map(id, self.parameters))) < len(self.parameters):
            raise ValueError(
                f"{call}: the same Value is there twice and would be moved twice; pass each once."
            )
        self.lr = lr
        self._steps = 0
        self._state: State = {}

    steps: int = _after_turn("_steps", "The number of steps taken so far.")
    state: State = _after_turn("_state", "The running averages, by name.")

    def _complete(self) -> None:
        """Count a step that somebody has taken for this optimiser without coming to count it."""
        if self._turn is not None:
            self._turn.complete()

    def __getstate__(self) -> dict[str, Any]:
        self._complete()
        own = vars(self).items()
        return {name: thing for name, thing in own if name not in ("_turn", "_nodes")}

    @property
    def lr(self) -> float:
        """The learning rate of the next step; assign a number or a schedule to change it."""
        rate = self._lr(self.steps) if callable(self._lr) else self._lr
        _require("lr", rate, rate >= 0.0 and isfinite(rate), "a finite number from 0 on")
        return rate

    @lr.setter
    def lr(self, rate: float | Schedule) -> None:
        if not callable(rate):
            rate = _number("lr", rate)
            _require("lr", rate, rate >= 0.0 and isfinite(rate), "a finite number from 0 on")
        self._lr = rate

    def _told(self) -> dict[str, str]:
        """Say what it was made with, by name; a schedule by how it was made."""
        rate = vars(self).get("_lr")
        made = {name: thing for name, thing in vars(self).items() if not name.startswith("_")}
        made.pop("parameters", None)
        shown = getattr(rate, "__qualname__", None) or repr(rate)
        return {"lr": shown, **{name: repr(thing) for name, thing in made.items()}}

    def __repr__(self) -> str:
        count = plural(len(vars(self).get("parameters", ())), "parameter")
        made = ", ".join(f"{name}={text}" for name, text in self._told().items())
        taken = plural(vars(self).get("_steps", 0), "step")
        return f"<{type(self).__name__} of {count}: {made}; {taken} taken>"

    def _repr_html_(self) -> str:
        count, taken = plural(len(self.parameters), "parameter"), plural(self.steps, "step")
        head = paragraph(f"{type(self).__name__} of {count}, {taken} taken")
        return head + table(("setting", "value"), self._told().items())

    def __dir__(self) -> list[str]:
        return names_of(self)

    def zero_grad(self) -> None:
        """Set `.grad` of all parameters to zero."""
        zero_grad(self._known())

    def _known(self) -> Nodes:
        """Return the parameters; that all of them are Values is asked when others are there."""
        if not self._nodes.are(self.parameters):
            self._nodes = Nodes(tuple(self.parameters))
        return self._nodes

    def step(self) -> None:
        """Move every parameter by one step against its gradient."""
        parameters = self._known()
        data, grads = data_of(parameters), grads_of(parameters)
        moved, state = self._update(data, grads, self.lr)
        if self._steps == 0 and not any(grads):
            self._require_a_pass()
        turn = _Moving(self, parameters, as_numbers(moved, len(parameters), "step"), state)
        defer(turn.complete)  # whatever interrupts it from here on, whoever looks has it completed
        self._turn = turn
        flush_writebacks()

    def _require_a_pass(self) -> None:
        """Warn if no backward pass has come by any parameter: there is nothing to follow."""
        if not any(parameter._is_visited for parameter in self.parameters):
            warnings.warn(
                f"{type(self).__name__}.step(): no backward pass has reached these parameters. "
                "Call loss.backward() before it, on a loss that is made from them.",
                RuntimeWarning,
                stacklevel=3,
            )

    @staticmethod
    def rule(m: Any, x: Any, g: Any, *numbers: Any) -> Any:
        """Return where a parameter x of gradient g goes, and then its new state, if it has any."""
        raise NotImplementedError

    def settings(self, lr: float) -> tuple[float, ...]:
        """Return the numbers that the rule gets last, for a step of this rate after `steps`."""
        return (lr,)

    def _rule(self) -> tuple[Rule, tuple[str, ...]]:
        """Return the rule of the next step, and the names of the state that it moves."""
        return self.rule, self.state_names

    def _formula(self, lr: float) -> tuple[Formula, tuple[str, ...], tuple[float, ...]]:
        """Return the rule of the next step as a formula, the state that it moves, its settings."""
        (rule, names), settings = self._rule(), self.settings(lr)
        return formula_of(rule, 2 + len(names), len(settings)), names, settings

    def _update(self, data: Numbers, grads: Numbers, lr: float) -> tuple[Numbers, State]:
        """Return where the parameters go, and the state after that; `data` may be written over."""
        formula, names, settings = self._formula(lr)
        count, state = len(data), self.state
        kept = {
            name: as_numbers(state[name], count, name)[:] if name in state else zeros(count)
            for name in names
        }
        formula.apply((data, grads, *kept.values()), settings)
        return data, kept

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain lists and numbers, fit for JSON."""
        averages = {name: list(numbers) for name, numbers in self.state.items()}
        return {"optimizer": type(self).__name__, "steps": self.steps, "state": averages}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Take up the state that `state_dict` returned, all of it or, on an error, none."""
        name = saved.get("optimizer")
        if name != type(self).__name__:
            raise ValueError(f"this state belongs to {name}, not to {type(self).__name__}.")
        steps, averages = saved.get("steps"), saved.get("state")
        if not isinstance(steps, int) or steps < 0 or not isinstance(averages, dict):
            raise ValueError("this state is damaged: it has no count of steps, or no averages.")
        unknown = set(averages) - set(self.state_names)
        if unknown:
            raise ValueError(f"this state is damaged: {name} has no {', '.join(sorted(unknown))}.")
        state = {each: array("d", numbers) for each, numbers in averages.items()}
        for each, numbers in state.items():
            if len(numbers) != len(self.parameters):
                raise ValueError(
                    f"state {each!r} is for {len(numbers)} parameters; there are "
                    f"{len(self.parameters)}."
                )
        self._complete()
        vars(self).update(_steps=steps, _state=state)  # at once: never one without the other


for _name, _absent in absentees("an Optimizer", OPTIMIZER):
    setattr(Optimizer, _name, _absent)


class _Moving:
    """A step whose outcome is known: it is taken when the optimiser has it as its turn."""

    def __init__(
        self, optimizer: Optimizer, parameters: Nodes, moved: Numbers, state: State
    ) -> None:
        self._optimizer, self._parameters = optimizer, parameters
        self._moved, self._state, self._steps = moved, state, optimizer.steps + 1

    def complete(self) -> None:
        optimizer = self._optimizer
        if optimizer._turn is self:
            self._parameters.write(self._moved)
            optimizer._state, optimizer._steps = self._state, self._steps
            optimizer._turn = None


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum (plain or Nesterov's) and weight decay."""

    state_names = ("velocity",)

    @explained("SGD(model.parameters(), lr=0.1)", **_INSTEAD)
    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 0.01,
        *,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        momentum = _number("momentum", momentum)
        weight_decay = _number("weight_decay", weight_decay)
        _require("momentum", momentum, 0.0 <= momentum < 1.0, "in [0, 1)")
        _require("weight_decay", weight_decay, weight_decay >= 0.0, "0 or more")
        _require("nesterov", nesterov, not nesterov or momentum > 0.0, "False without momentum")
        self.momentum, self.nesterov, self.weight_decay = momentum, nesterov, weight_decay

    @staticmethod
    def rule(
        m: Any, x: Any, g: Any, velocity: Any, lr: Any, decay: Any, momentum: Any, nesterov: Any
    ) -> Any:
        slope = g + decay * x
        velocity = momentum * velocity + slope
        ahead = m.where(nesterov, slope + momentum * velocity, velocity)
        return x - lr * ahead, velocity

    @staticmethod
    def _rule_without_momentum(m: Any, x: Any, g: Any, lr: Any, decay: Any, *_: Any) -> Any:
        return x - lr * (g + decay * x)

    def _rule(self) -> tuple[Rule, tuple[str, ...]]:
        return super()._rule() if self.momentum else (self._rule_without_momentum, ())

    def settings(self, lr: float) -> tuple[float, ...]:
        return lr, self.weight_decay, self.momentum, self.nesterov


class Adam(Optimizer):
    """Adam; `weight_decay` is added to the gradient, as an L2 penalty would be."""

    state_names = ("first", "second")

    @explained("Adam(model.parameters(), lr=0.1)", **_INSTEAD)
    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        numbers: Any = [_number("betas", beta) for beta in as_list(betas, "Adam(betas)")]
        betas = tuple(numbers)
        eps, weight_decay = _number("eps", eps), _number("weight_decay", weight_decay)
        in_range = len(betas) == 2 and all(0.0 <= beta < 1.0 for beta in betas)
        _require("betas", betas, in_range, "two numbers in [0, 1)")
        _require("eps", eps, eps > 0.0, "above 0")
        _require("weight_decay", weight_decay, weight_decay >= 0.0, "0 or more")
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay

    @staticmethod
    def rule(
        m: Any, x: Any, g: Any, first: Any, second: Any, rate: Any, scale: Any, beta1: Any,
        beta2: Any, eps: Any, penalty: Any, shrink: Any,
    ) -> Any:  # fmt: skip
        slope = g + penalty * x
        first = beta1 * first + (1.0 - beta1) * slope
        second = beta2 * second + (1.0 - beta2) * slope * slope
        return x * shrink - rate * first / (m.sqrt(second) * scale + eps), first, second

    def settings(self, lr: float) -> tuple[float, ...]:
        return self._settings(lr, self.weight_decay, 1.0)

    def _settings(self, lr: float, penalty: float, shrink: float) -> tuple[float, ...]:
        (beta1, beta2), taken = self.betas, self.steps + 1
        # The averages start at zero; early on these factors make up for that.
        rate, scale = lr / (1.0 - beta1**taken), 1.0 / sqrt(1.0 - beta2**taken)
        return rate, scale, beta1, beta2, self.eps, penalty, shrink


class AdamW(Adam):
    """Adam with decoupled weight decay: the weights shrink by themselves, not by the gradient.

    The options `betas` and `eps` are those of Adam.
    """

    @explained("AdamW(model.parameters(), lr=0.1)", **_INSTEAD)
    def __init__(
        self,
        parameters: Iterable[Value],
        lr: float | Schedule = 1e-3,
        *,
        weight_decay: float = 0.01,
        **options: Any,
    ) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, **options)

    def settings(self, lr: float) -> tuple[float, ...]:
        return self._settings(lr, 0.0, 1.0 - lr * self.weight_decay)


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


def __getattr__(name: str) -> Any:
    refuse_name(__name__, name, __all__, OPTIM)


def built_in() -> list[Formula]:
    """Return the formulas of this module; the native machine is built with a loop for each."""
    one = [Value(0.0)]
    optimizers = (SGD(one), SGD(one, momentum=0.5), Adam(one))
    return [optimizer._formula(0.0)[0] for optimizer in optimizers]


# ---- schedules: a function from the steps taken so far to a learning rate ------------------


def linear(start: float, end: float, steps: int) -> Schedule:
    """Go from `start` to `end` in a straight line over `steps` steps, and stay there."""
    _require_steps(steps)
    made = f"linear({start}, {end}, {steps})"
    return _named(made, lambda t: start + (end - start) * min(t / steps, 1.0))


def cosine(start: float, end: float, steps: int) -> Schedule:
    """Go from `start` to `end` along half a cosine over `steps` steps, and stay there."""
    _require_steps(steps)

    def follow(t: int) -> float:
        return end + (start - end) * 0.5 * (1.0 + cos(pi * min(t / steps, 1.0)))

    return _named(f"cosine({start}, {end}, {steps})", follow)


def exponential(start: float, factor: float) -> Schedule:
    """Multiply by `factor` after every step."""
    return _named(f"exponential({start}, {factor})", lambda t: start * factor**t)


def stepwise(start: float, factor: float, every: int) -> Schedule:
    """Multiply by `factor` after every `every` steps."""
    _require_steps(every)
    made = f"stepwise({start}, {factor}, {every})"
    return _named(made, lambda t: start * factor ** (t // every))


def warmup(schedule: float | Schedule, steps: int) -> Schedule:
    """Rise in a straight line to the schedule's first rate over `steps` steps, then follow it."""
    _require_steps(steps)

    def follow(t: int) -> float:
        begun = max(t - steps, 0)
        rate = schedule(begun) if callable(schedule) else schedule
        return rate * (t + 1) / steps if t < steps else rate

    first = getattr(schedule, "__qualname__", schedule)
    return _named(f"warmup({first}, {steps})", follow)


def _named(made: str, schedule: Schedule) -> Schedule:
    """Have a schedule say how it was made: where it is printed, and so is its optimiser."""
    schedule.__qualname__ = schedule.__name__ = made
    return schedule


# ---- clipping ------------------------------------------------------------------------------


def clip_grad_norm(parameters: Iterable[Value], largest: float) -> float:
    """Scale all gradients down together so that their norm is at most `largest`.

    Returns the norm before. A norm that is not finite has no direction to keep: an error says so
    and the gradients stay.
    """
    largest = _number("largest", largest)
    _require("largest", largest, largest > 0.0, "above 0")
    parameters = as_list(parameters, "clip_grad_norm(parameters)")
    norm = hypot(*[parameter.grad for parameter in parameters])
    if not isfinite(norm):
        raise ValueError(
            f"clip_grad_norm: the norm of the gradients is {norm}; find the first bad number with "
            "minigrad.strict() around the forward and backward pass."
        )
    if norm > largest:
        set_grads(parameters, [parameter.grad * (largest / norm) for parameter in parameters])
    return norm


def clip_grad_value(parameters: Iterable[Value], largest: float) -> None:
    """Cut every gradient off at `largest` in either direction."""
    largest = _number("largest", largest)
    _require("largest", largest, largest > 0.0, "above 0")
    parameters = as_list(parameters, "clip_grad_value(parameters)")
    set_grads(parameters, [min(max(each.grad, -largest), largest) for each in parameters])


def _number(name: str, value: Any) -> float:
    return as_float(value, f"{name}=…")


def _require(name: str, value: Any, holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{name}={value!r}: must be {what}.")


def _require_steps(steps: int) -> None:
    _require("steps", steps, steps >= 1, "1 or more")
