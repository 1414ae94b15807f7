"""What came out of a training: a table, a curve, and where the model decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .core.display import paragraph, table
from .core.names import plural
from .scalar import Value

__all__ = ["History"]

ROWS = 11  # of the table: enough to see how it went, at a glance


@dataclass(repr=False)
class History:
    """The losses of a training, and what the model is like after it.

    `losses[k]` is the loss before step k, of the examples that the step was taken with;
    `accuracies[k]`, where there is such a thing, how many of all examples were right before it.
    `loss` and `accuracy` are those of all examples at the end.
    """

    model: Any
    xs: list[Any] = field(default_factory=list)
    ys: list[Any] = field(default_factory=list)
    batch: int | None = None
    how: str = ""  # compiled or eager, and why
    losses: list[float] = field(default_factory=list)
    accuracies: dict[int, float] = field(default_factory=dict)  # by the number of steps before it
    loss: float = float("nan")
    accuracy: float | None = None
    seconds: float = 0.0
    stopped: str = ""  # why it ended before the last step

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self.losses)

    def rows(self, count: int = ROWS) -> list[tuple[int, float, float | None]]:
        """Return steps, losses and accuracies, evenly spaced, the last one after all steps."""
        taken = self.steps
        places = sorted({round(k * taken / (count - 1)) for k in range(count)} - {taken})
        filled = self._filled()
        found = [(k, self.losses[k], filled[k] if filled else None) for k in places]
        return [*found, (taken, self.loss, self.accuracy)]

    def _filled(self) -> list[float]:
        """Return an accuracy for every step, the latest that was measured; [] if there is none."""
        if not self.accuracies or not self.losses:
            return []
        filled = [self.accuracies[0]]  # there is one before the first step
        for k in range(1, self.steps):
            filled.append(self.accuracies.get(k, filled[-1]))
        return filled

    # ---- in words -------------------------------------------------------------------------------

    def _headline(self) -> str:
        """Return what happened, in one line."""
        text = f"{plural(self.steps, 'step')} in {self.seconds:.2f} s, {self.how}"
        return f"{text}; {self.stopped}" if self.stopped else text

    def _cells(self) -> list[list[str]]:
        rows = [
            [f"{step:,}", f"{loss:.4g}", *([] if right is None else [f"{right:.0%}"])]
            for step, loss, right in self.rows()
        ]
        return [["step", "loss", "accuracy"][: len(rows[-1])], *rows]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        ]
        return "\n".join([self._headline(), *lines])

    def __repr__(self) -> str:
        start = f"{self.losses[0]:.4g}" if self.losses else "?"
        right = "" if self.accuracy is None else f", accuracy {self.accuracy:.0%}"
        return f"<History: loss {start} to {self.loss:.4g}{right}; {self._headline()}>"

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        return paragraph(self._headline()) + table(head, rows, right=range(len(head)))

    # ---- in pictures ----------------------------------------------------------------------------

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss and the accuracy, and beside them, for two inputs, the boundary.

        Returns the Axes. On an `ax` of your own there is room for the curves alone.
        """
        from . import plot

        losses = list(self.losses)
        accuracies = self._filled()
        if self.batch is None:  # else the last one is of all examples, and the others are not
            losses.append(self.loss)
            if self.accuracy is not None and accuracies:
                accuracies.append(self.accuracy)
        plot.require_matplotlib()
        if ax is not None or not self._has_boundary():
            curve = plot.loss_curve(losses, accuracies=accuracies or None, ax=ax)
            return curve if ax is not None else [curve]
        from matplotlib import pyplot

        _, (left, right) = pyplot.subplots(1, 2, figsize=(12.0, 4.8), layout="constrained")
        return [
            plot.loss_curve(losses, accuracies=accuracies or None, ax=left),
            self.boundary(ax=right),
        ]

    def boundary(self, ax: Any = None, **options: Any) -> Any:
        """Draw where the model decides, for two inputs; options are `plot.decision_boundary`'s."""
        from . import plot

        return plot.decision_boundary(self._score, self.xs, self.ys, ax=ax, **options)

    def _score(self, point: list[float]) -> Any:
        output = self.model(point)
        if isinstance(output, (list, tuple)) and len(output) == 2:  # the scores of two classes
            return output[1] - output[0]
        return output

    def _has_boundary(self) -> bool:
        pairs = all(isinstance(x, (list, tuple)) and len(x) == 2 for x in self.xs)
        targets = {y.data if isinstance(y, Value) else y for y in self.ys}
        return pairs and targets in ({-1, 1}, {0, 1}) and self.accuracy is not None
