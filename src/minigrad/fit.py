"""`fit`: the training loop that everybody writes, in one line.

    history = minigrad.fit(model, xs, ys, loss="hinge")

It stands for this loop, whose numbers it gives (`test_fit` compares them) for models without state
or randomness of their own:

    for step in range(steps):
        total = loss.hinge([model(x) for x in xs], ys)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        print(step, total.data)

Start at `fit`; below it, what the user gave is checked, once, before anything is trained.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from math import isfinite, isnan
from time import perf_counter
from typing import Any, NamedTuple

from . import loss as losses
from .core.coerce import as_list
from .core.elsewhere import explained
from .core.modes import is_recording, no_grad
from .core.names import plural
from .core.progress import Bar, progress_bar
from .errors import TraceError
from .history import History
from .optim import SGD, Adam, AdamW, Optimizer
from .scalar import Value

__all__ = ["LOSSES", "OPTIMIZERS", "History", "fit"]

LOSSES = {
    "hinge": losses.hinge,
    "mse": losses.mse,
    "binary_cross_entropy": losses.binary_cross_entropy,
    "cross_entropy": losses.cross_entropy,
}
# By name, with rates that suit networks of a few hundred numbers.
OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": partial(Adam, lr=0.05),
    "adamw": partial(AdamW, lr=0.05),
    "sgd": partial(SGD, lr=0.1, momentum=0.9),
}
FEWEST = 20  # steps for which to compile: a trace takes as long as three to twenty steps without
# Looks at the accuracy, evenly spaced: more would show nothing that fewer do not. Others after 1,
# 2, 4, 8, … steps are for who asks for a million steps and ends it by Ctrl-C.
LOOKS = 50
LOOKED_AT = 200  # examples at most, for each look but the last, which costs little that way

Loss = Callable[[list[Any], list[Any]], Any]


_LATER = "give it to the optimiser: optimizer=optim.SGD(model.parameters(), lr=0.1)"


@explained(
    "fit(model, xs, ys, steps=100)",
    epochs="steps=100 says how many steps it takes",
    batch_size="batch=32 is the number of examples in a step",
    lr=_LATER,
    learning_rate=_LATER,
    verbose="progress=False keeps it quiet",
)
def fit(
    model: Callable[[Any], Any],
    xs: Any,
    ys: Any,
    loss: str | Loss = "hinge",
    optimizer: Optimizer | str | Callable[[list[Value]], Optimizer] | None = None,
    steps: int = 100,
    batch: int | None = None,
    *,
    seed: int = 0,
    compiled: bool | None = None,
    progress: bool = True,
) -> History:
    """Train a model on examples `xs` with targets `ys`, and return what came of it.

    `loss` is "hinge" (targets -1, +1), "mse", "binary_cross_entropy" (0 to 1), "cross_entropy"
    (numbers of classes), or a function of outputs and targets. `optimizer` is an Optimizer,
    "adam" (so does None), "adamw", "sgd", or what makes one from parameters. `batch` examples,
    drawn with `seed`, are taken for each step, by default all. `compiled`: None, where it pays;
    True and False decide it. Ctrl-C ends the training, and what was learned stays.
    """
    if not is_recording():
        raise RuntimeError("fit inside no_grad() has no gradient to follow; call it outside.")
    _require_model(model)
    data = _examples(xs, ys, loss)
    _require_count("steps", steps, None)
    if batch is not None:
        _require_count("batch", batch, len(data.xs))
    wanted = _loss_of(loss)
    mover = _optimizer_of(optimizer, model)

    rng = random.Random(seed)
    task = _Task(model, wanted, mover, data, steps, batch, rng, _judge_of(loss, data))
    history = History(model, data.xs, data.ys, batch)
    with progress_bar("training", steps) if progress else _Quiet() as bar:
        way = _chosen_way(task, compiled)
        started = perf_counter()
        try:
            try:
                way = _begin(task, way, history, bar)
            except (TypeError, ValueError, AttributeError) as error:
                _refuse_plain_numbers(task)
                if callable(loss):  # perhaps it is one for a single example
                    error.add_note(_OWN_LOSS)
                raise
            _go_on(task, way, history, bar)
        except KeyboardInterrupt:
            taken = plural(history.steps, "step")
            history.stopped = f"interrupted after {taken}, and what was learned is kept"
        history.seconds = perf_counter() - started
        history.how = way.words(history.steps)
        _conclude(task, way, history)
        if history.stopped and not all(isfinite(p.data) for p in mover.parameters):
            history.stopped += "; the numbers of the model are lost, so make it anew"
        if history.stopped and progress:
            bar.say(f"fit: {history.stopped}")
    return history


_OWN_LOSS = (
    "fit(loss=…): a loss of your own is called once for all examples, with the list of outputs and "
    "the list of targets: sum((o - t)**2 for o, t in zip(outputs, targets)) / len(targets)."
)


class _Examples(NamedTuple):
    xs: list[Any]
    ys: list[Any]


class _Task(NamedTuple):
    """What is to be trained, and how."""

    model: Callable[[Any], Any]
    loss: Loss
    optimizer: Optimizer
    data: _Examples
    steps: int
    batch: int | None
    rng: random.Random
    judge: Callable[[list[float], Any], bool] | None  # whether an output is right

    def total(self, xs: list[Any], ys: list[Any]) -> Any:
        """Return the loss of some examples."""
        return self.loss([self.model(x) for x in xs], ys)

    def drawn(self) -> _Examples:
        """Return the examples of a step."""
        if self.batch is None:
            return self.data
        chosen = self.rng.sample(range(len(self.data.xs)), self.batch)
        return _Examples([self.data.xs[k] for k in chosen], [self.data.ys[k] for k in chosen])


class _Way(NamedTuple):
    """A way to take steps: compiled, or one operation at a time."""

    words: Callable[[int], str]  # how so many steps were taken
    step: Callable[[list[Any], list[Any]], float]  # returns the loss before it
    output: Callable[[Any], Any]


class _Quiet(Bar):
    def __init__(self) -> None:
        super().__init__("", 0)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, done: int, text: Callable[[], str]) -> None:
        pass

    def say(self, line: str) -> None:
        pass


# ---- the training -----------------------------------------------------------------------------


def _begin(task: _Task, way: _Way, history: History, bar: Bar) -> _Way:
    """Take the first step, say how, and return the way that the others are taken."""
    if task.judge is not None:
        history.accuracies[0] = _accuracy(task, task.model)
    some = task.drawn()
    try:
        number = way.step(some.xs, some.ys)
    except TraceError as error:  # nothing has moved
        way = _eager(task, f"not compiled: {_first_sentence(error)}")
        number = way.step(some.xs, some.ys)
    each = plural(len(some.xs), "example")
    bar.say(f"fit: {plural(task.steps, 'step')} of {each}, {way.words(1)}")
    _note(number, history, bar)
    return way


def _first_sentence(reason: object) -> str:
    return str(reason).split(". ")[0].rstrip(".")


def _go_on(task: _Task, way: _Way, history: History, bar: Bar) -> None:
    """Take the other steps, as long as there is a loss."""
    every = max(1, task.steps // LOOKS)
    while history.steps < task.steps and not history.stopped:
        done = history.steps
        if task.judge is not None and (done % every == 0 or done & (done - 1) == 0):
            history.accuracies[done] = _accuracy(task, way.output)
        _note(way.step(*task.drawn()), history, bar)


def _note(number: float, history: History, bar: Bar) -> None:
    history.losses.append(number)
    bar.update(history.steps, partial(_progress, history))
    if not isfinite(number):
        history.stopped = (
            f"stopped because the loss was {number} before step {history.steps}: take a smaller "
            "learning rate, or find the first bad number with minigrad.strict()"
        )


def _progress(history: History) -> str:
    text = f"loss {history.losses[-1]:.4f}"
    if history.accuracies:
        text += f"  accuracy {next(reversed(history.accuracies.values())):.0%}"
    return text


def _conclude(task: _Task, way: _Way, history: History) -> None:
    """Measure what the model is like now, on all examples."""
    with no_grad():
        outputs = [way.output(x) for x in task.data.xs]
        total = task.loss(outputs, task.data.ys)
    history.loss = total.data if isinstance(total, Value) else float(total)
    if task.judge is not None:
        history.accuracy = _share_right(task, outputs)


def _accuracy(task: _Task, output: Callable[[Any], Any]) -> float:
    """Tell how many examples are right, of all or of so many, evenly spaced."""
    stride = -(-len(task.data.xs) // LOOKED_AT)
    with no_grad():
        return _share_right(task, list(map(output, task.data.xs[::stride])), stride)


def _share_right(task: _Task, outputs: list[Any], stride: int = 1) -> float:
    assert task.judge is not None
    pairs = zip(outputs, task.data.ys[::stride], strict=True)
    return sum(task.judge(_numbers(output), y) for output, y in pairs) / len(outputs)


# ---- the ways to take a step --------------------------------------------------------------------


def _eager(task: _Task, words: str) -> _Way:
    """The loop that everybody writes."""

    def step(xs: list[Any], ys: list[Any]) -> float:
        total = task.total(xs, ys)
        if not isinstance(total, Value):
            raise TypeError(
                f"fit(loss=…): the loss is a {type(total).__name__}, which has no gradient; return "
                "a Value that is made from the outputs."
            )
        task.optimizer.zero_grad()
        total.backward()
        number = total.data  # now: the loss may be a parameter
        task.optimizer.step()
        return number

    return _Way(lambda _: words, step, task.model)


def _compiled(task: _Task) -> _Way:
    """Loss, gradients and optimiser in one call of a program."""
    from .compiler import api
    from .compiler.backends import backend_of

    loss, model = task.loss, task.model  # and not the task, whose data each call would look at

    def total(xs: list[Any], ys: list[Any]) -> Any:
        return loss([model(x) for x in xs], ys)

    step = api.train_step(total, task.optimizer)
    compiled = f"compiled, and run by {backend_of('auto').words}"

    def words(steps: int) -> str:
        if not step.uncompiled:
            return compiled
        without = f"not compiled: {_first_sentence(step.why_uncompiled)}"
        if step.uncompiled >= steps:
            return without
        return f"{compiled}; {step.uncompiled:,} of {plural(steps, 'step')} {without}"

    return _Way(words, step, api.compile(model))


def _chosen_way(task: _Task, compiled: bool | None) -> _Way:
    if compiled is False:
        return _eager(task, "not compiled, as asked")
    if compiled is None and task.steps < FEWEST:
        return _eager(task, f"not compiled: that pays from {FEWEST} steps on")
    if find_spec("numpy") is None:
        if compiled:
            raise ImportError(
                "fit(compiled=True): the compiler needs NumPy, which is not installed: "
                "python -m pip install numpy",
                name="numpy",
            )
        return _eager(task, "not compiled: that needs NumPy, which is not installed")
    return _compiled(task)


# ---- what the user gave -------------------------------------------------------------------------


def _plain(data: Any) -> Any:
    """Return arrays, also those in a list, as lists of numbers."""
    if hasattr(data, "to_numpy"):  # a table of pandas, which would iterate over its columns
        data = data.to_numpy()
    if hasattr(data, "tolist"):
        return data.tolist()
    return [_plain(x) for x in data] if isinstance(data, (list, tuple)) else data


def _examples(xs: Any, ys: Any, loss: Any) -> _Examples:
    xs = as_list(_plain(xs), "fit(…, xs, …)")
    ys = as_list(_plain(ys), "fit(…, ys)")
    if len(xs) != len(ys):
        raise ValueError(
            f"fit(model, xs, ys): {plural(len(xs), 'example')} in xs, but "
            f"{plural(len(ys), 'target')} in ys; give one target for each example."
        )
    if not xs:
        raise ValueError("fit(model, xs, ys): there is no example; give at least one.")
    # A column of targets, as other libraries have it, is as good as a row.
    ys = [y[0] if isinstance(y, list) and len(y) == 1 else y for y in ys]
    if loss == "hinge":
        strangers = [y for y in ys if not isinstance(y, Value) and y not in (-1, 1)]
        if strangers:
            raise ValueError(
                f"fit(loss='hinge'): targets are -1 or +1, got {strangers[0]!r}; write "
                "[2*y - 1 for y in ys] for 0 and 1, or loss='binary_cross_entropy'; for numbers "
                "loss='mse'."
            )
    elif loss == "cross_entropy":
        ys = list(map(_class_of, ys))
    elif loss in LOSSES:
        texts = [y for y in ys if isinstance(y, str)]
        if texts:
            raise TypeError(
                f"fit(loss={loss!r}): targets are numbers, got {texts[0]!r}; write "
                "[float(y) for y in ys], or [classes.index(y) for y in ys] for names."
            )
    return _Examples(xs, ys)


def _refuse_plain_numbers(task: _Task) -> None:
    """Say how to write examples that are numbers, if it is lists of them that the model takes."""
    x = task.data.xs[0]
    if not isinstance(x, (int, float, Value)):
        return
    with no_grad():
        try:
            task.model(x)
        except (TypeError, ValueError):
            try:
                task.model([x])
            except Exception:
                return  # it is something else, which the first error tells
        else:
            return
    raise TypeError(
        "fit(model, xs, ys): the examples are plain numbers, and the model takes lists of them; "
        "write [[x] for x in xs]."
    ) from None


def _class_of(y: Any) -> int:
    if isinstance(y, float) and y.is_integer():
        return int(y)
    try:
        return operator.index(y)
    except TypeError:
        raise ValueError(
            f"fit(loss='cross_entropy'): a target is the number of a class, 0, 1, 2, …, got {y!r}; "
            "write classes.index(y) for names, scores.index(1) for lists of zeros and a one."
        ) from None


def _loss_of(loss: str | Loss) -> Loss:
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(
            f"fit(loss={loss!r}): choose one of {', '.join(LOSSES)}, or give a function of outputs "
            "and targets."
        )
    function = LOSSES[loss]
    one = loss != "cross_entropy"

    def checked(outputs: list[Any], targets: list[Any]) -> Any:
        return function([_fitting(output, one, loss) for output in outputs], targets)

    return checked


def _fitting(output: Any, one: bool, loss: str) -> Any:
    """Return an output as the loss takes it: one number, or a list of them."""
    several = isinstance(output, (list, tuple))
    if one and several:
        if len(output) == 1:
            return output[0]
        raise ValueError(
            f"fit(loss={loss!r}): the model returns {len(output)} numbers for an example, and this "
            "loss takes one; end it with a layer of 1, or take loss='cross_entropy'."
        )
    if not one and not several:
        raise ValueError(
            "fit(loss='cross_entropy'): the model returns one number for an example, and this loss "
            "takes a score for each class; end it with a layer of as many, or take loss='hinge'."
        )
    return output


def _require_model(model: Any) -> None:
    if isinstance(model, type):
        raise TypeError(
            f"fit(model, …): got the class {model.__name__}; make a model of it first: "
            f"model = {model.__name__}(…)."
        )
    if not callable(getattr(model, "parameters", None)) or not callable(model):
        raise TypeError(
            f"fit(model, …): got {type(model).__name__}; give something to call with an example "
            "that has parameters(), such as nn.MLP(2, [16, 1]) or a Module of your own."
        )


def _optimizer_of(optimizer: Any, model: Any) -> Optimizer:
    parameters = list(model.parameters())
    if not parameters:
        raise ValueError(
            f"fit(model, …): {type(model).__name__} has no parameters; they are the Values in its "
            "attributes, such as self.w = [Value(0.5), Value(-0.5)]."
        )
    if isinstance(optimizer, Optimizer):
        mine = set(map(id, parameters))
        if not any(id(each) in mine for each in optimizer.parameters):
            raise ValueError(
                "fit(optimizer=…): it moves none of model.parameters(); make it from those of this "
                "model, after the model is made."
            )
        return optimizer
    if optimizer is None:
        optimizer = "adam"
    if isinstance(optimizer, str):
        if optimizer.lower() not in OPTIMIZERS:
            raise ValueError(
                f"fit(optimizer={optimizer!r}): choose one of {', '.join(OPTIMIZERS)}, or give "
                "an optimiser: optim.SGD(model.parameters(), lr=0.1)."
            )
        optimizer = OPTIMIZERS[optimizer.lower()]
    made = optimizer(parameters) if callable(optimizer) else optimizer
    if not isinstance(made, Optimizer):
        raise TypeError(
            f"fit(optimizer=…): got {type(made).__name__}; give an optimiser, such as "
            "optim.SGD(model.parameters(), lr=0.1), or its name."
        )
    return made


def _require_count(name: str, count: Any, most: int | None) -> None:
    is_count = hasattr(count, "__index__") and not isinstance(count, bool)
    if is_count and count >= 1 and (most is None or count <= most):
        return
    if is_count and most is not None and count > most:
        raise ValueError(
            f"fit({name}={count}): there are {plural(most, 'example')}; leave {name} out to take "
            "all of them for each step."
        )
    raise ValueError(f"fit({name}={count!r}): a whole number from 1 on.")


def _judge_of(loss: Any, data: _Examples) -> Callable[[list[float], Any], bool] | None:
    """Return what tells whether an output is right; None where targets are no classes."""
    if not all(isinstance(y, (int, float)) for y in data.ys):
        return None
    targets = set(data.ys)
    if loss == "cross_entropy":
        return lambda output, y: not isnan(best := max(output)) and output.index(best) == y
    if loss == "binary_cross_entropy" and targets <= {0, 1}:
        return lambda output, y: output[0] > 0.0 if y else output[0] <= 0.0  # nan is neither
    if targets <= {-1, 1}:
        return lambda output, y: len(output) == 1 and output[0] * y > 0.0
    return None


def _numbers(output: Any) -> list[float]:
    listed = output if isinstance(output, (list, tuple)) else [output]
    return [x.data if isinstance(x, Value) else float(x) for x in listed]
