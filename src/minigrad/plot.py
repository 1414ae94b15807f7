"""Pictures of a training: where a model decides, how its loss fell, what its gradients are.

Three functions, each of which draws on one matplotlib Axes and returns it, so that the caller has
the last word on titles, scales and files. They look at a model and never change it. matplotlib is
the `plot` extra; it is imported when something is drawn, not before.

To read: the three public functions first; below them, what they share.
"""

from __future__ import annotations

import importlib
import operator
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, cycle
from math import isnan, nan
from typing import Any, TypeAlias

from .core.coerce import as_float, as_list, is_number
from .core.modes import no_grad
from .core.names import plural
from .core.parameters import grads_of
from .nn import Module
from .scalar import Value

__all__ = ["decision_boundary", "gradient_histogram", "loss_curve", "require_matplotlib"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


# matplotlib's own types are not named, so that type checking works where it is not installed.
Axes: TypeAlias = Any

# The palette of Okabe and Ito, made to stay apart for every kind of colour vision. Print may lose
# the colours altogether, so nothing is told by colour alone: see the markers and line styles.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#666666"
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE)
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1, 1, 1)))

LEGEND_COLUMNS = 3
NOT_DRAWABLE = "inf, nan or beyond 1e150"
FURTHEST = 1e150  # matplotlib adds and multiplies what it draws, which must not overflow


def decision_boundary(
    model: Callable[[list[float]], Any],
    points: Iterable[Any],
    labels: Iterable[Any],
    *,
    ax: Axes = None,
    resolution: int = 60,
    threshold: float = 0.0,
    classes: Sequence[Any] | None = None,
) -> Axes:
    """Draw the two sides on which a model puts the plane, and the points of both classes.

    The model takes a pair `[x, y]` and returns one score; above `threshold` it means the second
    class (with probabilities, write `threshold=0.5`). Labels are any two values, by default the
    smaller one first; `classes=("cat", "dog")` names them in the order of low and high scores.
    Points on the wrong side get a ring. The model is asked `resolution` times in either direction.
    """
    resolution = _whole_number(resolution, 2, "decision_boundary(resolution)")
    threshold = as_float(threshold, "decision_boundary(threshold)")
    pairs = _pairs(points)
    low, high, is_high = _two_classes(labels, classes, len(pairs))
    xs, ys = (_steps_across([pair[k] for pair in pairs], resolution) for k in (0, 1))
    with no_grad():
        above = [_score(model(list(pair))) - threshold for pair in pairs]
        grid = [[_score(model([x, y])) - threshold for x in xs] for y in ys]

    ax = _axes(ax)
    notes = _shade(ax, xs, ys, grid, (low, high))
    wrong = _mark_points(ax, pairs, is_high, above, (low, high))
    ax.set(xlim=(xs[0], xs[-1]), ylim=(ys[0], ys[-1]), xlabel="x", ylabel="y")
    right = f"{len(pairs) - wrong} of {plural(len(pairs), 'point')} right"
    _finish(ax, f"Decision boundary: {right}", notes)
    ax.legend(loc="upper right", framealpha=0.9)
    return ax


def loss_curve(
    losses: Iterable[Any], *, accuracies: Iterable[Any] | None = None, ax: Axes = None
) -> Axes:
    """Draw the loss after 0, 1, 2, … steps, and the accuracy along with it on an axis of its own.

    Losses are numbers or Values. Where one is `inf` or `nan` the curve has a gap, with a cross at
    the bottom, and the title says how many. Accuracies are fractions from 0 to 1. For a loss that
    falls by orders of magnitude, call `set_yscale("log")` on what is returned.
    """
    numbers = [_number(x, "loss_curve(losses)") for x in as_list(losses, "loss_curve(losses)")]
    if not numbers:
        raise ValueError(
            "loss_curve(losses): there is none; append total.data to a list in every step."
        )
    fractions = None if accuracies is None else _fractions(accuracies, len(numbers))

    ax = _axes(ax)
    gaps = [step for step, loss in enumerate(numbers) if not _is_drawable(loss)]
    # A number between two gaps has no line to show it, and neither has a single one.
    dots = {"marker": "o" if gaps or len(numbers) == 1 else "", "markersize": 3.5}
    drawn = [loss if _is_drawable(loss) else nan for loss in numbers]
    lines = ax.plot(drawn, color=BLUE, linewidth=1.8, label="loss", **dots)
    notes = []
    if gaps:
        of_all = f"{len(gaps)} of {plural(len(numbers), 'loss', 'losses')}"
        notes.append(f"gaps: {of_all}, {NOT_DRAWABLE}")
        low = ax.get_xaxis_transform()  # just above the lower edge, whatever the losses are
        lines += ax.plot(gaps, [0.03] * len(gaps), "kx", transform=low, label="gap")
    ax.set_xlabel("training step")
    ax.set_ylabel("loss", color=BLUE)
    ax.margins(x=0.02)
    ax.xaxis.set_major_locator(_matplotlib("ticker").MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if fractions is not None:
        lines += _draw_accuracies(ax, fractions, dots)
    _finish(ax, "Loss" if fractions is None else "Loss and accuracy", notes)
    if len(lines) > 1:
        ax.legend(handles=lines, loc="center right", framealpha=0.9)
    return ax


def gradient_histogram(model: Module, *, ax: Axes = None, bins: int = 30) -> Axes:
    """Draw how the gradients of each layer's parameters are distributed, as `.grad` has them now.

    A layer is an element of `model.layers`; parameters outside of them, or all of a module
    without layers, are a group of their own. All layers share the bins. The count has a
    logarithmic axis (straight between 0 and 1), because most gradients lie close to zero and the
    interesting ones are few.
    """
    bins = _whole_number(bins, 1, "gradient_histogram(bins)")
    groups = [(name, list(grads_of(parameters))) for name, parameters in _layers(model)]
    every = [grad for _, grads in groups for grad in grads]
    drawn = [grad for grad in every if _is_drawable(grad)]

    ax = _axes(ax)
    edges = _edges(drawn, bins)
    highest = 1
    # Six colours and five styles: thirty layers look different.
    for (name, grads), colour, style in zip(groups, cycle(COLOURS), cycle(STYLES), strict=False):
        counts = _counts_between(edges, [grad for grad in grads if _is_drawable(grad)])
        highest = max(highest, *counts)
        silent = ", all zero" if not any(grads) else ""
        label = f"{name}, n = {len(grads)}{silent}"
        ax.stairs(counts, edges, fill=True, color=colour, alpha=0.15)
        ax.stairs(counts, edges, color=colour, linestyle=style, linewidth=1.6, label=label)
    ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    _scale_counts(ax, highest, len(groups))
    ax.ticklabel_format(axis="x", scilimits=(-2, 4), useMathText=True)
    ax.set(xlabel="gradient", ylabel="number of parameters")
    notes = []
    if not any(every):
        notes.append("all of them are zero: call backward() on the loss first")
    if len(drawn) < len(every):
        notes.append(f"left out: {len(every) - len(drawn)} of {len(every)}, {NOT_DRAWABLE}")
    _finish(ax, "Gradients, layer by layer" if len(groups) > 1 else "Gradients", notes)
    ax.legend(loc="upper center", ncols=LEGEND_COLUMNS, framealpha=0.9, fontsize="small")
    return ax


def require_matplotlib() -> None:
    """Raise an ImportError that says what to install, unless matplotlib is there.

    For programs that draw only at the end: ask at the beginning.
    """
    _matplotlib("figure")


# ---- what is shared: matplotlib, axes, titles ----------------------------------------------


def _matplotlib(name: str) -> Any:
    try:
        return importlib.import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ImportError(
            "minigrad.plot draws with matplotlib, which could not be imported "
            f"({error}). Install it: pip install matplotlib",
            name="matplotlib",
        ) from error


def _axes(ax: Axes) -> Axes:
    """Return the given Axes, or those of a new figure that `pyplot.show()` and notebooks show."""
    if ax is None:
        _, ax = _matplotlib("pyplot").subplots(figsize=(6.4, 4.8), layout="constrained")
    elif not isinstance(ax, _matplotlib("axes").Axes):
        raise TypeError(
            f"ax: got {type(ax).__name__}; pass one Axes, such as figure.add_subplot() or one "
            "element of what pyplot.subplots returned."
        )
    return ax


def _finish(ax: Axes, title: str, notes: Iterable[str]) -> None:
    ax.set_title("\n".join([title, *notes]), fontsize="medium")
    ax.grid(True, color=GREY, alpha=0.2, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _whole_number(x: Any, smallest: int, what: str) -> int:
    if not hasattr(x, "__index__") or operator.index(x) < smallest:
        raise ValueError(f"{what}: a whole number from {smallest} on, got {x!r}.")
    return operator.index(x)


def _number(x: Any, what: str) -> float:
    return x.data if isinstance(x, Value) else as_float(x, what)


def _is_drawable(x: float) -> bool:
    return abs(x) <= FURTHEST  # nan is not


# ---- for the decision boundary --------------------------------------------------------------


def _pairs(points: Iterable[Any]) -> list[tuple[float, float]]:
    pairs = []
    for k, point in enumerate(as_list(points, "decision_boundary(points)")):
        coordinates = list(point) if isinstance(point, Iterable) else [point]
        if len(coordinates) != 2 or isinstance(point, (str, bytes)):
            raise ValueError(
                f"decision_boundary(points): point {k} has {plural(len(coordinates), 'number')}; "
                "a picture has two directions, so give pairs: [[0.5, 1.0], [2.0, -1.0], …]."
            )
        x, y = (_number(c, f"decision_boundary(points): point {k}") for c in coordinates)
        if not (_is_drawable(x) and _is_drawable(y)):
            raise ValueError(
                f"decision_boundary(points): point {k} is [{x:g}, {y:g}], {NOT_DRAWABLE}; "
                "leave it out."
            )
        pairs.append((x, y))
    if not pairs:
        raise ValueError("decision_boundary(points): there is none; give at least one pair.")
    return pairs


def _two_classes(
    labels: Iterable[Any], classes: Sequence[Any] | None, count: int
) -> tuple[str, str, list[bool]]:
    """Return both classes' names, low scores first, and for each point whether it has the high."""
    values = [
        label.data if isinstance(label, Value) else label
        for label in as_list(labels, "decision_boundary(labels)")
    ]
    if len(values) != count:
        raise ValueError(
            f"decision_boundary: {plural(count, 'point')} but {plural(len(values), 'label')}; "
            "give one for each."
        )
    if any(isinstance(value, float) and isnan(value) for value in values):
        raise ValueError("decision_boundary(labels): nan is not a class; leave those points out.")
    try:
        found = list(dict.fromkeys(values))  # each once, in the order of their appearance
    except TypeError:
        raise TypeError(
            "decision_boundary(labels): a label is one value, such as -1 or +1; got a list or the "
            "like among them."
        ) from None
    low, high = _order(found) if classes is None else _given(classes, found)
    both_signs = is_number(low) and is_number(high) and low < 0 < high
    return _shown(low, both_signs), _shown(high, both_signs), [value == high for value in values]


def _given(classes: Sequence[Any], found: list[Any]) -> tuple[Any, Any]:
    given = as_list(classes, "decision_boundary(classes)")
    if len(given) != 2 or given[0] == given[1]:
        raise ValueError(
            f"decision_boundary(classes): give two, the label of low scores first; got {given!r}."
        )
    strangers = [label for label in found if label not in given]
    if strangers:
        raise ValueError(
            f"decision_boundary(labels): {strangers[0]!r} is not one of classes={given!r}."
        )
    return given[0], given[1]


def _order(found: list[Any]) -> tuple[Any, Any]:
    if len(found) > 2:
        some = ", ".join(repr(label) for label in found[:4]) + (", …" if len(found) > 4 else "")
        raise ValueError(
            f"decision_boundary(labels): {len(found)} classes ({some}), but one score tells two "
            "apart. Draw one class against the rest: [label == wanted for label in labels]."
        )
    if len(found) == 2:
        try:
            return min(found), max(found)
        except TypeError:  # such as None and "cat"
            return found[0], found[1]
    (only,) = found
    if only in (0, 1, -1):  # the other class can only be the usual one
        return {0: (0, 1), 1: (0, 1), -1: (-1, 1)}[only]
    raise ValueError(
        f"decision_boundary(labels): all of them are {only!r}; name both classes, the one of low "
        f"scores first: classes=({only!r}, …)."
    )


def _shown(label: Any, with_sign: bool) -> str:
    if is_number(label) and not isinstance(label, bool):
        text = f"{label:+g}" if with_sign else f"{label:g}"
        return text.replace("-", "−")  # the sign that the axes have
    return str(label).replace("$", r"\$")  # or matplotlib takes it for a formula


def _steps_across(coordinates: list[float], resolution: int) -> list[float]:
    """Return evenly spaced coordinates, from a little below the smallest to a little above."""
    first, last = min(coordinates), max(coordinates)
    around = 0.2 * (last - first) or max(1.0, 1e-3 * abs(first))  # one point, or all in a row
    step = (last - first + 2 * around) / (resolution - 1)
    return [first - around + step * k for k in range(resolution)]


def _score(output: Any) -> float:
    """Return the number that a model gave; a list of one is as good as the one."""
    if isinstance(output, (list, tuple)):
        if len(output) != 1:
            raise ValueError(
                f"decision_boundary(model): the model returns {len(output)} numbers for a point, "
                "not one score. Draw one against another: "
                "decision_boundary(lambda p: model(p)[1] - model(p)[0], …)."
            )
        (output,) = output
    return _number(output, "decision_boundary(model): the score")


def _shade(
    ax: Axes, xs: list[float], ys: list[float], grid: list[list[float]], names: tuple[str, str]
) -> list[str]:
    """Tint both sides and draw the line between them; return what the title should add."""
    cut = [[nan if isnan(z) else min(max(z, -FURTHEST), FURTHEST) for z in row] for row in grid]
    known = [z for row in cut for z in row if not isnan(z)]
    places = len(xs) * len(ys)
    if not known:
        return ["the model's score is nan everywhere"]
    unknown = places - len(known)
    notes = [f"white: the score is nan in {unknown} of {places} places"] if unknown else []
    smallest, largest = min(known), max(known)
    # Levels must rise and hold all scores, including those that are all the same.
    levels = [min(2 * smallest, -1.0), 0.0, max(2 * largest, 1.0)]
    tints = [(SKY, 0.4), (ORANGE, 0.2)]  # not equally strong, so that their greys differ too
    ax.contourf(xs, ys, cut, levels=levels, colors=tints, zorder=0)
    if smallest <= 0.0 < largest:
        ax.contour(xs, ys, cut, levels=[0.0], colors="black", linewidths=1.5, zorder=2)
    else:
        everywhere = names[smallest > 0.0]
        notes.insert(0, f"no boundary here: the model says class {everywhere} everywhere")
    return notes


def _mark_points(
    ax: Axes,
    pairs: list[tuple[float, float]],
    is_high: list[bool],
    above: list[float],
    names: tuple[str, str],
) -> int:
    """Draw the points, with a ring around those on the wrong side; return how many these are."""

    def mark(chosen: Iterable[bool], label: str, **style: Any) -> None:
        places = list(compress(pairs, chosen))
        x, y = ([place[k] for place in places] for k in (0, 1))
        ax.scatter(x, y, label=label, edgecolors="black", **style)

    for name, wanted, colour, shape in zip(names, (False, True), (BLUE, ORANGE), "o^", strict=True):
        style = {"s": 34, "c": colour, "marker": shape, "linewidths": 0.7, "zorder": 3}
        mark([k == wanted for k in is_high], f"class {name}", **style)
    # A score of nan is on no side, and so on the wrong one.
    wrong = [isnan(z) or (z > 0.0) != k for z, k in zip(above, is_high, strict=True)]
    if any(wrong):
        mark(wrong, "on the wrong side", s=120, facecolors="none", linewidths=1.3, zorder=4)
    return sum(wrong)


# ---- for the loss curve -----------------------------------------------------------------------


def _fractions(accuracies: Iterable[Any], count: int) -> list[float]:
    what = "loss_curve(accuracies)"
    fractions = [_number(x, what) for x in as_list(accuracies, what)]
    if len(fractions) != count:
        raise ValueError(
            f"loss_curve: {plural(count, 'loss', 'losses')} but {len(fractions)} accuracies; "
            "give one for each step."
        )
    for fraction in fractions:
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(
                f"{what}: fractions from 0 to 1, got {fraction:g}; for 98 percent, write 0.98."
            )
    return fractions


def _draw_accuracies(ax: Axes, fractions: list[float], dots: dict[str, Any]) -> list[Any]:
    """Draw them on an axis at the right, and return the lines for the legend."""
    right = ax.twinx()
    style = {"color": VERMILLION, "linestyle": "--", "linewidth": 1.5}
    lines: list[Any] = right.plot(fractions, label="accuracy", **style, **dots)
    right.set_ylim(0.0, 1.03)
    right.set_ylabel("accuracy", color=VERMILLION)
    right.yaxis.set_major_formatter(_matplotlib("ticker").PercentFormatter(1.0))
    right.spines["top"].set_visible(False)
    ax.set_zorder(right.get_zorder() + 1)  # or the dashes run over the legend
    ax.patch.set_visible(False)
    return lines


# ---- for the gradients ----------------------------------------------------------------------


def _layers(model: Module) -> list[tuple[str, list[Value]]]:
    """Return names and parameters of the model's layers, and of what belongs to none of them."""
    if not callable(getattr(model, "parameters", None)):
        raise TypeError(
            f"gradient_histogram(model): got {type(model).__name__}; pass the model itself, "
            "something with parameters()."
        )
    every = model.parameters()
    if not every:
        raise ValueError(
            f"gradient_histogram(model): {type(model).__name__}.parameters() is empty, so there "
            "are no gradients to draw."
        )
    layers = getattr(model, "layers", None)
    groups = []
    if isinstance(layers, (list, tuple)):
        for k, layer in enumerate(layers, start=1):
            if callable(getattr(layer, "parameters", None)) and layer.parameters():
                groups.append((f"layer {k}", layer.parameters()))
    inside = {id(parameter) for _, parameters in groups for parameter in parameters}
    outside = [parameter for parameter in every if id(parameter) not in inside]
    if outside:
        groups.append(("outside of layers" if groups else type(model).__name__, outside))
    return groups


def _scale_counts(ax: Axes, highest: int, groups: int) -> None:
    """Make the axis of counts logarithmic above 1, with space for the legend above the highest."""
    ax.set_yscale("symlog", linthresh=1.0, linscale=0.4)
    ticker = _matplotlib("ticker")
    locator = ticker.SymmetricalLogLocator(base=10.0, linthresh=1.0, subs=[1.0, 2.0, 5.0])
    ax.yaxis.set_major_locator(locator)
    ax.yaxis.set_major_formatter(ticker.FormatStrFormatter("%d"))
    rows = -(-groups // LEGEND_COLUMNS)
    legend = min(0.06 + 0.05 * rows, 0.6)  # about this part of the height
    to_screen = ax.yaxis.get_transform()
    top = to_screen.transform([float(highest)])[0] / (1.0 - legend)
    ax.set_ylim(0.0, to_screen.inverted().transform([top])[0])


def _edges(numbers: list[float], bins: int) -> list[float]:
    """Return the edges of equally wide bins that hold all the numbers."""
    first, last = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    # Bins need a width that floats of this size can tell apart, also if all numbers are the same.
    largest = max(abs(first), abs(last))
    half = max(last / 2 - first / 2, 1e-6 * largest) or 0.5
    middle = first / 2 + last / 2
    edges = [middle + half * (2 * k / bins - 1) for k in range(bins + 1)]
    edges[0], edges[-1] = min(edges[0], first), max(edges[-1], last)  # despite rounding
    return edges


def _counts_between(edges: list[float], numbers: list[float]) -> list[int]:
    """Count the numbers in each bin: the lower edge belongs to it, and to the last one both."""
    counts = [0] * (len(edges) - 1)
    for number in numbers:
        counts[min(bisect_right(edges, number) - 1, len(counts) - 1)] += 1
    return counts
