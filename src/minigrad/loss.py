"""Losses: the mean over examples of how wrong each prediction is, in numerically stable form.

Predictions are Values; targets are numbers (or, where that makes sense, Values).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .core.coerce import as_float, as_list, is_nested
from .core.elsewhere import LOSS, refuse_name
from .core.node import clock
from .functions import logsumexp, mean, relu, softplus, take
from .functions import sum as sum_of
from .scalar import Value, end_call

__all__ = ["binary_cross_entropy", "cross_entropy", "hinge", "l2", "mse"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


def __getattr__(name: str) -> Any:
    refuse_name(__name__, name, __all__, LOSS)


def mse(predictions: Iterable[Any], targets: Iterable[Any]) -> Any:
    """Return the mean squared error."""

    def one(prediction: Any, target: Any) -> Any:
        difference = prediction - target
        return difference * difference

    return _average("mse", predictions, targets, one)


def hinge(scores: Iterable[Any], targets: Iterable[Any]) -> Any:
    """Return the max-margin loss `max(0, 1 - target * score)`; targets are -1 or +1."""
    targets = as_list(targets, "hinge(…, targets)")
    _refuse_nested("hinge", "targets", targets)
    for target in targets:
        if not (target == -1) | (target == 1):  # one test, so that a trace has one guard
            raise ValueError(f"hinge(scores, targets): targets are -1 or +1, got {target!r}.")
    return _average("hinge", scores, targets, lambda s, t: relu(1.0 - t * s))


def binary_cross_entropy(logits: Iterable[Any], targets: Iterable[Any]) -> Any:
    """Return the cross entropy of `sigmoid(logit)` with targets between 0 and 1.

    It takes the logits themselves: through `sigmoid` and `log`, a confident mistake would be
    infinitely wrong.
    """
    targets = as_list(targets, "binary_cross_entropy(…, targets)")
    _refuse_nested("binary_cross_entropy", "targets", targets)
    for target in targets:
        if isinstance(target, (str, bytes)) or not 0.0 <= target <= 1.0:
            raise ValueError(
                f"binary_cross_entropy(logits, targets): targets lie in [0, 1], got {target!r}."
            )

    def one(logit: Any, target: Any) -> Any:
        if isinstance(target, Value) or hasattr(target, "_traced_node"):  # not known, or open
            return target * softplus(-logit) + (1.0 - target) * softplus(logit)
        if target in (0, 1):  # the term with weight 0 has no place in the graph
            return softplus(-logit if target else logit)
        return softplus(-logit) * target + softplus(logit) * (1.0 - target)

    return _average("binary_cross_entropy", logits, targets, one)


def cross_entropy(logits: Sequence[Any], targets: Any) -> Any:
    """Return `-log(softmax(logits)[target])`, for one example or as the mean over many.

    `logits` is a list and `targets` the index of the right class, or `logits` is a list of such
    lists and `targets` a list of indices. Measured from the right class's logit, so that a
    confident right answer keeps its digits.
    """

    def one(row: Sequence[Any], target: Any) -> Any:
        row = as_list(row, "cross_entropy(logits, …): one list of logits per example")
        if row and is_nested(row[0]):
            raise TypeError(
                "cross_entropy(logits, targets): one class for a list of lists; give a list of "
                "classes, one for each row: cross_entropy(rows, [0, 2])."
            )
        is_open = hasattr(target, "_taken_from")  # while a function is traced
        if not is_open and not hasattr(target, "__index__"):
            raise TypeError(
                f"cross_entropy(logits, targets): got {type(target).__name__} for a class; classes "
                f"are whole numbers from 0 on: {_class_of(target)}."
            )
        if not row:
            raise ValueError("cross_entropy(logits, targets): no logits; give one for each class.")
        index = target if is_open else operator.index(target)
        if not 0 <= index < len(row):
            raise ValueError(
                f"cross_entropy(logits, targets): class {index} of {len(row)} logits; "
                f"classes are numbered 0 to {len(row) - 1}."
            )
        if is_open:
            right = take(row, index)
            return logsumexp([logit - right for logit in row])
        others = [logit - row[index] for k, logit in enumerate(row) if k != index]
        return logsumexp([0.0, *others])

    if not isinstance(targets, Iterable) or getattr(targets, "ndim", 1) == 0:
        return one(logits, targets)
    return _average("cross_entropy", logits, targets, one)


def l2(parameters: Iterable[Any]) -> Any:
    """Return the sum of the squares: a penalty on large weights."""
    return sum_of([parameter * parameter for parameter in parameters])


def _average(
    name: str, predictions: Iterable[Any], targets: Iterable[Any], one: Callable[[Any, Any], Any]
) -> Any:
    predictions = as_list(predictions, f"{name}(predictions, …)")
    targets = as_list(targets, f"{name}(…, targets)")
    if len(predictions) != len(targets):
        raise ValueError(
            f"{name}: {len(predictions)} predictions but {len(targets)} targets; give one for each."
        )
    if not predictions:
        raise ValueError(f"{name}: no predictions; give at least one.")
    start = clock.tick()
    try:
        result = mean([one(p, t) for p, t in zip(predictions, targets, strict=True)])
    except TypeError:
        _refuse_others(name, "predictions", predictions)
        _refuse_others(name, "targets", targets)
        raise
    end_call(result, name, start)  # a box of its own in pictures
    return result


def _refuse_nested(name: str, what: str, xs: list[Any]) -> None:
    """Raise if there are rows where one number each is wanted."""
    if name != "cross_entropy" and any(map(is_nested, xs)):
        raise TypeError(
            f"{name}: {what} is a list of lists; give one number for each example: "
            f"[x for row in {what} for x in row]."
        )


def _refuse_others(name: str, what: str, xs: list[Any]) -> None:
    """Raise if there is anything that is no number; a row of logits is looked at by itself."""
    _refuse_nested(name, what, xs)
    for x in xs:
        if name != "cross_entropy" and not isinstance(x, Value) and not hasattr(x, "_traced_node"):
            as_float(x, f"{name}({what}, …)" if what == "predictions" else f"{name}(…, {what})")


def _class_of(target: Any) -> str:
    if is_nested(target):
        return "not a row of zeros and a one, but the place of the one, row.index(1)"
    return "target.data is its number" if isinstance(target, Value) else "write int(target)"
