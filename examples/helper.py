"""What the examples of the GPT need besides a model: options, progress, files, messages."""

from __future__ import annotations

import contextlib
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from minigrad import datasets, optim

NAMES = Path(__file__).parent / "data" / "names.txt"

# What is printed for people, as opposed to results, goes to the error stream: so the output of
# --json can be piped into another program.
messages = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)


def stop(message: str) -> NoReturn:
    """End with code 2, as for any mistake on a command line."""
    messages.print(f"{Path(sys.argv[0]).name}: {message}", markup=False)
    raise typer.Exit(2)


def shuffled_names(path: Path, seed: int) -> list[str]:
    """Read the names, or say why that cannot be; then mix them."""
    try:
        names = datasets.names(path)
    except OSError as error:
        stop(f"--data {path}: {error.strerror}; name a text file with a name on each line.")
    except ValueError as error:
        stop(f"--data {error}")
    random.Random(seed).shuffle(names)
    return names


def eager_step(loss: Callable[..., Any], optimizer: optim.Optimizer) -> Callable[..., float]:
    """Return what `minigrad.train_step` returns, written out and without the compiler."""

    def step(*example: Any) -> float:
        total = loss(*example)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total.data

    return step


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


@contextlib.contextmanager
def training_bar(steps: int) -> Iterator[Callable[[float], float]]:
    """Show a bar; yields a function to call with each loss, which it returns."""
    with progress_bar() as bar:
        task = bar.add_task("training", total=steps, shown="")
        recent: list[float] = []

        def show(loss: float) -> float:
            # One name is easy and the next one hard: the mean over the last hundred shows more.
            recent[:] = [*recent[-99:], loss]
            bar.update(task, advance=1, shown=f"loss {sum(recent) / len(recent):.4f}")
            return loss

        yield show


def command_line(run: Callable[..., tuple[Any, list[float], list[str]]]) -> None:
    """Read the options of microgpt.py, run it, and print what came out."""

    def main(
        steps: Annotated[int, typer.Option(min=1, help="How many names to learn from.")] = 1000,
        eager: Annotated[bool, typer.Option("--eager", help="Train without the compiler.")] = False,
        seed: Annotated[int, typer.Option(help="For weights, order and inventions.")] = 1337,
        data: Annotated[Path, typer.Option(metavar="FILE", help="One name on each line.")] = NAMES,
        samples: Annotated[int, typer.Option(min=0, help="How many names to invent.")] = 20,
        temperature: Annotated[float, typer.Option(min=0.01, help="Low: safe. High: wild.")] = 0.5,
        layers: Annotated[int, typer.Option(min=1)] = 1,
        width: Annotated[int, typer.Option(min=1, help="Numbers that stand for a token.")] = 16,
        heads: Annotated[int, typer.Option(min=1, help="They divide the width.")] = 4,
        block: Annotated[int, typer.Option(min=1, help="The most tokens to look back on.")] = 16,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
    ) -> None:
        """Train a small GPT on names, and let it invent some."""
        if width % heads:
            stop(f"--width {width} does not divide into --heads {heads}; take a multiple.")
        names = shuffled_names(data, seed)
        shape = {"layers": layers, "width": width, "heads": heads, "block": block}
        begun = time.perf_counter()
        model, losses, invented = run(names, steps, eager, seed, samples, temperature, **shape)
        seconds = time.perf_counter() - begun
        if as_json:
            report = {
                "steps": steps,
                "seed": seed,
                "parameters": len(model.parameters()),
                "mode": "eager" if eager else "compiled",
                "seconds": round(seconds, 3),
                "losses": losses,
                "names": invented,
            }
            print(json.dumps(report, allow_nan=False))
            return
        messages.print(f"{steps} steps in {seconds:.2f} seconds")
        for name in invented:
            print(name)

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app()
