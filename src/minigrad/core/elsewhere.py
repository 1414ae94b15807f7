"""What people bring along from elsewhere, or misspell, and what to write here instead.

Names are rows of a table for each class and module; of what is not in the table, the nearest name
that there is gets told. An error must not slow down who makes none: a class with `__getattr__` is
asked more slowly for everything that it has. So the rows of a class are descriptors in it, which
nobody meets who does not ask for them: to `hasattr` and `dir` they are not there, and an attribute
that somebody sets under such a name is theirs.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Rows = dict[str, str]  # names with a space between them -> what to write instead

VALUE: Rows = {
    "item numpy tolist value val": "its number is v.data",
    "gradient gradients derivative": "the derivative is v.grad, once backward() has run",
    "backwards backprop": "write v.backward()",
    "zerograd zero_grads": "write v.zero_grad()",
    "clone copy": "a leaf with its number is v.detach(), a copy of the graph copy.deepcopy(v)",
    "requires_grad requires_grad_ retain_grad": "every node has a gradient, so leave it out; "
    "for results without history there is minigrad.no_grad()",
    "shape dtype size T": "a Value is one float; for many of them, use lists",
    "to cpu cuda device": "a Value is one float of Python, on no device: leave it out",
    "pow square": "write v**2",
    "reciprocal": "write 1 / v",
    "sign floor": "it has no derivative; take the number, v.data, or minigrad.where(v > 0, a, b)",
    "ReLU Tanh Sigmoid": "write it in small letters: v.relu()",
    "add mul sub div": "write v + x, v * x, v - x, v / x",
    "softmax logsumexp": "it takes all of them: minigrad.softmax([a, b])",
    "sum mean": "a Value is one number; of several, minigrad.sum([a, b])",
    "max min": "the larger of two is v.maximum(x), of a list max(xs)",
    "clamp": "write v.clip(low, high)",
    "ln": "write v.log()",
    "log10 log2": "write v.log() / math.log(10)",
    "name": "its name is v.label",
    "op grad_fn": "the operation that made it is v._op",
    "prev children parents": "what it was made from is v._prev",
    "draw plot show": "write minigrad.draw_dot(v)",
}
MODULE: Rows = {
    "forward predict": "call the model itself: model(x)",
    "backward": "call it on the loss: loss.backward()",
    "train eval": "there are no modes, so leave it out; for results without history there is "
    "minigrad.no_grad()",
    "to cpu cuda": "Values are floats of Python, on no device: leave it out",
    "state_dict load_state_dict": "write model.save(path) and model.load(path)",
    "params weights": "write model.parameters()",
    "fit": "write minigrad.fit(model, xs, ys)",
    "zerograd zero_grads": "write model.zero_grad()",
    "summary": "write print(model), or model.named_parameters()",
}
OPTIMIZER: Rows = {
    "zerograd zero_grads": "write optimizer.zero_grad()",
    "backward": "call it on the loss, loss.backward(), and then optimizer.step()",
    "update minimize": "write loss.backward(), then optimizer.step()",
    "learning_rate": "write optimizer.lr",
    "param_groups": "write optimizer.parameters, and optimizer.lr",
}
PACKAGE: Rows = {
    "Tensor tensor Variable Scalar array asarray": "a number is a Value(2.0), and lists "
    "of them are its tensors",
    "jit": "write minigrad.compile",
    "backward": "write v.backward()",
    "train": "write minigrad.fit(model, xs, ys)",
    "draw": "write minigrad.draw_dot(v)",
    "to_svg to_png to_dot to_text": 'write minigrad.save(v, "picture.svg")',
    "Linear Sequential": "there are minigrad.nn.Layer and minigrad.nn.MLP",
    "ln": "write minigrad.log(x)",
    "log10 log2": "write minigrad.log(x) / math.log(10)",
    "pow": "write v**2",
    "max min": "the larger of two is minigrad.maximum(a, b), of a list max(xs)",
    "randn rand zeros ones": "a Value is one float; several are a list, "
    "[Value(random.gauss(0, 1)) for _ in range(n)]",
    "seed manual_seed random": "numbers are drawn by Python's random.seed(1), or MLP(…, seed=1)",
    "load": "write model.load(path)",
    "Trainer": "write minigrad.fit(model, xs, ys)",
    "autograd": "write minigrad.grad(output, [a, b])",
    "vjp": "write grad(output, [a, b]), or (v * gradient).backward()",
    "jacfwd jacrev": "write jacobian([y, z], [a, b])",
    "hvp": "a compiled function has it: minigrad.compile(f).hvp((x, y), (1.0, 0.0))",
    "value_and_grad": "a compiled function has it: minigrad.compile(f).value_and_grad(x)",
}
NN: Rows = {
    "Linear": 'write Layer(nin, nout, activation="linear")',
    "Sequential": "write MLP(nin, [16, 16, 1]), or a Module of your own",
    "Parameter": "a parameter is a Value in an attribute of a Module",
    "ReLU Tanh Sigmoid GELU Softmax functional": "activations are functions: minigrad.relu(x)",
    "MSELoss CrossEntropyLoss BCELoss": "losses are functions: minigrad.loss.mse(outputs, targets)",
}
OPTIM: Rows = {
    "Momentum": "write SGD(parameters, momentum=0.9)",
    "RMSprop Adagrad": "there are SGD, Adam and AdamW; docs/training.md has one of one's own",
    "lr_scheduler": "a schedule is given as the rate: lr=cosine(0.1, 0.0, 100)",
}
LOSS: Rows = {
    "bce BCELoss BCE": "write binary_cross_entropy",
    "nll NLLLoss CrossEntropyLoss": "write cross_entropy",
    "mean_squared_error": "write mse",
    "mae l1": "write minigrad.mean([abs(p - t) for p, t in zip(predictions, targets)])",
}
COMPILED: Rows = {
    "backward": "call it on what it returns: f(x).backward()",
    "gradient gradients": "write f.grad(x)",
    "hessian": "write minigrad.hessian(output, [a, b]), or f.hvp((x, y), (1.0, 0.0))",
}
PICTURE: Rows = {
    "show display plot": "a notebook shows it as the last line of a cell; "
    "minigrad.save(v, path) writes it",
}


# ---- names of classes ---------------------------------------------------------------------------


class Absent:
    """A name that a class does not have, and what to write instead."""

    def __init__(self, owner: str, name: str, remedy: str) -> None:
        self._said = f"{owner} has no {name}: {_ended(remedy)}"
        self.__doc__ = f"Not here: {remedy}."  # what help() shows

    def __get__(self, thing: Any, kind: type[Any]) -> NoReturn:
        raise AttributeError(self._said)


def absentees(owner: str, rows: Rows) -> Iterator[tuple[str, Absent]]:
    """Make what a class is to have under each of these names."""
    for name, remedy in _by_name(rows).items():
        yield name, Absent(owner, name, remedy)


def names_of(thing: Any) -> list[str]:
    """What `dir` shows of an object whose class has absentees."""
    found = object.__dir__(thing)
    return [n for n in found if not isinstance(inspect.getattr_static(thing, n, None), Absent)]


def _by_name(rows: Rows) -> dict[str, str]:
    return {name: remedy for names, remedy in rows.items() for name in names.split()}


# ---- names of modules ---------------------------------------------------------------------------


def refuse_name(module: str, name: str, known: Iterable[str], rows: Rows) -> NoReturn:
    """Raise for a name that a module does not have; to be called by its `__getattr__` alone."""
    remedy = _by_name(rows).get(name) or _nearest(name, known) or _nearest(name, _all_names())
    said = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__") or not remedy:
        raise AttributeError(said)
    caller = sys._getframe(2)
    # `from minigrad import MLP` drops the words of an AttributeError and makes its own error.
    if dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
        raise ImportError(f"cannot import {name!r} from {module!r}: {_ended(remedy)}", name=module)
    # With another object than the module: Python would guess a name as well, and say it once more.
    raise AttributeError(f"{said}: {_ended(remedy)}", name=name, obj=None)


def _all_names() -> Iterator[str]:
    """What minigrad has in all its rooms: people look for a loss among the networks."""
    package: Any = sys.modules[__name__.partition(".")[0]]
    yield from (f"{package.__name__}.{name}" for name in dir(package))
    for room in (package.nn, package.optim, package.loss):
        yield from (f"{room.__name__}.{name}" for name in dir(room))


def _nearest(name: str, known: Iterable[str]) -> str:
    """Ask for the nearest of the known names, "nn.MLP" say, by its last part, whatever its case."""
    by_last = {each.rpartition(".")[2].lower(): each for each in known}
    letters = sorted(name.lower())
    swapped = [each for each in by_last if sorted(each) == letters]  # MPL is far from MLP otherwise
    found = swapped or get_close_matches(name.lower(), by_last, 1, 0.75)
    return f"did you mean {by_last[found[0]]}?" if found else ""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else sentence + "."


# ---- arguments ----------------------------------------------------------------------------------


def explained(example: str, **instead: str) -> Callable[[F], F]:
    """Have a function tell by an example how it is called, if it is called with other arguments.

    `instead` says what to write for an argument of a name that people try. For what is called once
    in a while: a call through it takes a tenth of a microsecond more.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                trace = error.__traceback__
                if trace is None or trace.tb_next is not None:  # it was called, and failed inside
                    raise
                raise TypeError(_how(function, example, instead, kwargs, error)) from None

        return call  # type: ignore[return-value]

    return decorate


def require_arguments(function: Any, args: Iterable[Any], call: str) -> None:
    """Raise if a function that somebody gave cannot be called with what they gave beside it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C do not tell
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        raise TypeError(
            f"{call}: f cannot be called with these ({error}); give one for each of its arguments."
        ) from None


def _how(
    function: Any, example: str, instead: Rows, given: dict[str, Any], error: TypeError
) -> str:
    known = inspect.signature(function).parameters
    call = example.partition("(")[0]
    for name in given:
        if name not in known:
            remedy = instead.get(name) or _nearest(name, known) or f"write {example}"
            return f"{call}({name}=…): there is no such argument; {_ended(remedy)}"
    # Python's own words count `self` too, which nobody has written.
    missing = str(error).partition(" missing ")[2].partition(": ")[2]
    said = f"there is no {missing}" if missing else "too many arguments"
    return f"{call}(…): {said}; write {example}."
