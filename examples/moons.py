"""Two moons: teach a network of single numbers to tell two half circles apart.

    python examples/moons.py                          # a second
    python examples/moons.py --compiled               # the same numbers, from a program
    python examples/moons.py --pictures pictures      # and see what happened

This is the demonstration that micrograd made famous, on minigrad. Read it from top to bottom: some
data, a model, a loss, a loop. Everything that is learnt here is 337 numbers, each of them a `Value`
that knows what depends on it. Pictures need matplotlib: pip install matplotlib.
"""

from __future__ import annotations

import io
import json
import math
import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import minigrad
from minigrad import loss, nn, optim, plot
from minigrad.core.files import write_atomically

PICTURES = ("boundary.png", "loss.png", "gradients.png")

# What is printed for people, as opposed to results, goes to the error stream: so the output of
# --json can be piped into another program.
messages = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


# ---- 1. the data ----------------------------------------------------------------------------


def two_moons(count: int, noise: float, seed: int) -> tuple[list[list[float]], list[int]]:
    """Return points on two interleaved half circles, blurred by `noise`, and their labels.

    The upper moon is half of the unit circle. The lower one is the same, turned upside down and
    pushed to the right and down until the two grip each other: no straight line can part them.
    """
    rng = random.Random(seed)
    points, labels = [], []
    for k in range(count):
        angle = math.pi * (k // 2) / max(count // 2 - 1, 1)
        x, y = math.cos(angle), math.sin(angle)
        is_lower = k % 2 == 1
        if is_lower:
            x, y = 1.0 - x, 0.5 - y
        points.append([rng.gauss(x, noise), rng.gauss(y, noise)])
        labels.append(1 if is_lower else -1)
    return points, labels


# ---- 2. the training --------------------------------------------------------------------------


@dataclass
class Run:
    """What a training was about, and what came out of it."""

    model: nn.MLP
    points: list[list[float]]
    labels: list[int]
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)  # before each step, and after the last
    accuracies: list[float] = field(default_factory=list)

    def measure(self) -> tuple[Any, Any]:
        """Return the loss of the model as it is now, and how many points it gets right."""
        scores = [self.model(point) for point in self.points]
        # Max-margin: a point costs nothing once its score has the sign of its label and is at
        # least 1 away from zero. The small penalty on the squares keeps the weights from growing
        # merely to be surer of what is right already.
        total = loss.hinge(scores, self.labels) + 1e-4 * loss.l2(self.model.parameters())
        right = [s.data * label > 0 for s, label in zip(scores, self.labels, strict=True)]
        return total, sum(right) / len(right)

    def write_down(self, total: Any, accuracy: float) -> None:
        """Remember how good the model was."""
        self.losses.append(total.data)
        self.accuracies.append(accuracy)


def train(steps: int, seed: int, compiled: bool) -> Run:
    """Train a 2-16-16-1 network on a hundred points, all of them in every step."""
    points, labels = two_moons(100, noise=0.1, seed=seed)
    run = Run(nn.MLP(2, [16, 16, 1], seed=seed), points, labels)
    # Long strides at first, to get somewhere; short ones at last, to settle.
    optimizer = optim.SGD(run.model.parameters(), lr=optim.linear(1.0, 0.1, steps))

    # Compiled, the loop below stays as it is: a loss comes back that knows all its gradients.
    measure = minigrad.compile(run.measure) if compiled else run.measure
    begun = time.perf_counter()
    with progress_bar() as bar:
        task = bar.add_task("training", total=steps, shown="")
        for _ in range(steps):
            total, accuracy = measure()
            run.write_down(total, accuracy)
            optimizer.zero_grad()  # gradients add up, so yesterday's must go
            total.backward()
            optimizer.step()
            shown = f"loss {run.losses[-1]:.4f}  accuracy {run.accuracies[-1]:.0%}"
            bar.update(task, advance=1, shown=shown)
        with minigrad.no_grad():  # only to look: nothing needs to be remembered
            run.write_down(*measure())
    run.seconds = time.perf_counter() - begun
    return run


# ---- 3. the results ---------------------------------------------------------------------------


def progress_bar() -> Progress:
    """Return a bar that also shows how the training goes."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(),
        console=messages,
    )


def print_table(run: Run) -> None:
    """Print the result for people."""
    table = Table(title=f"Two moons after {len(run.losses) - 1} steps")
    for heading in ("loss", "accuracy", "seconds", "engine"):
        table.add_column(heading, justify="right")
    numbers = (f"{run.losses[-1]:.4f}", f"{run.accuracies[-1]:.0%}", f"{run.seconds:.2f}")
    table.add_row(*numbers, minigrad.engine())
    Console().print(table)


def print_json(run: Run, seed: int) -> None:
    """Print the result for programs."""
    report = {
        "steps": len(run.losses) - 1,
        "seed": seed,
        "parameters": len(run.model.parameters()),
        "loss": run.losses[-1],
        "accuracy": run.accuracies[-1],
        "seconds": round(run.seconds, 3),
        "engine": minigrad.engine(),
        "losses": run.losses,
        "accuracies": run.accuracies,
    }
    print(json.dumps(report, allow_nan=False))


# ---- 4. the pictures ----------------------------------------------------------------------------


def draw(run: Run) -> dict[str, bytes]:
    """Return the three pictures as the contents of PNG files, by file name."""
    from matplotlib.figure import Figure

    def picture(draw_on: Any) -> bytes:
        # A Figure of its own, not one of pyplot's: it needs no screen and no closing.
        figure = Figure(figsize=(8.0, 4.8), layout="constrained")
        draw_on(figure.add_subplot())
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=150)
        return stream.getvalue()

    def boundary(ax: Any) -> None:
        plot.decision_boundary(run.model, run.points, run.labels, ax=ax)
        ax.set_aspect("equal")  # half circles should look round

    def curve(ax: Any) -> None:
        plot.loss_curve(run.losses, accuracies=run.accuracies, ax=ax)

    def gradients(ax: Any) -> None:
        # The last look at the loss was without gradients: .grad is still that of the last step.
        plot.gradient_histogram(run.model, ax=ax)

    return dict(zip(PICTURES, map(picture, (boundary, curve, gradients)), strict=True))


def prepare(folder: Path, force: bool) -> None:
    """See to it that pictures can be drawn and written; if not, stop before the training."""
    try:
        plot.require_matplotlib()
    except ImportError as error:
        stop(str(error))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        stop(f"--pictures {folder}: {error.strerror}; name a folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        stop(f"--pictures {folder}: you may not write there; name another folder.")
    there = [name for name in PICTURES if os.path.lexists(folder / name)]
    if there and not force:
        stop(f"{folder} has {', '.join(there)} already; add --force to write over them.")
    for name in there:
        if (folder / name).is_dir():
            stop(f"{folder / name} is a folder; move it, or name another one for the pictures.")


def stop(message: str) -> NoReturn:
    """End with code 2, as for any mistake on a command line."""
    messages.print(f"moons.py: {message}", markup=False)
    raise typer.Exit(2)


# ---- 5. the command line ----------------------------------------------------------------------

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    steps: Annotated[int, typer.Option(min=1, help="How often to improve the weights.")] = 100,
    seed: Annotated[int, typer.Option(help="For the data and the first weights.")] = 1337,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="Run it as a program; the numbers are the same.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
    pictures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help=f"Write {', '.join(PICTURES)} there."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over existing pictures.")] = False,
) -> None:
    """Train a small network to tell two moons apart."""
    if pictures is not None:
        prepare(pictures, force)
    run = train(steps, seed, compiled)
    if as_json:
        print_json(run, seed)
    else:
        print_table(run)
    if pictures is not None:
        for name, content in draw(run).items():
            write_atomically(pictures / name, content)
        messages.print(f"{pictures}: {', '.join(PICTURES)}", markup=False)


if __name__ == "__main__":
    app()
