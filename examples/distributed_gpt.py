"""The GPT of microgpt.py in many processes: each learns from its share of a batch of names.

    python examples/distributed_gpt.py                                # one process, all its devices
    minigrad launch -n 2 examples/distributed_gpt.py --checkpoint gpt.npz
    minigrad launch -n 1 --hosts 2 --host 0 --coordinator 10.0.0.1:12345 examples/distributed_gpt.py

The model is the same, written for one name and single numbers. `minigrad.train_step` makes a JAX
program of it, for a whole batch whose rows lie on all devices of all processes; after each step all
have the same parameters. Names are padded to one length, so that there is one program, and weights
of 0 let the padding count for nothing. A run that was killed goes on from its checkpoint with the
numbers that it would have had: which names a step reads depends on the number of the step alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from enum import StrEnum, auto
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from helper import NAMES, messages, progress_bar, shuffled_names, stop
from microgpt import GPT, Alphabet, invent

import minigrad
from minigrad import Value, logsumexp, optim, take
from minigrad.errors import CheckpointError

SHAPE = {"layers": 1, "width": 16, "heads": 4, "block": 16}


# ---- 1. one name, padded ----------------------------------------------------------------------


def padded_loss(model: GPT) -> Callable[[Sequence[int], Sequence[float]], Value]:
    """Return the loss of one padded name: that of `model.loss` for the name itself."""

    def loss(tokens: Sequence[int], weights: Sequence[float]) -> Value:
        memory: list[Any] = [([], []) for _ in model.layers]
        total = Value(0.0)
        for weight, (token, following) in zip(weights, pairwise(tokens), strict=True):
            scores = model.read(token, memory)
            total += weight * (logsumexp(scores) - take(scores, following))
        return total

    return loss


# ---- 2. the batches ---------------------------------------------------------------------------


class Batches:
    """The names as two tables; `at(step)` is what this process reads in a step."""

    def __init__(self, documents: Sequence[Sequence[int]], block: int, size: int) -> None:
        rows = [document[: block + 1] for document in documents]
        # A row of n tokens predicts all but its first; what is behind them has no weight.
        self._tokens, self._weights = minigrad.padded(rows, block + 1, less=1)
        self._size = size
        self._mine = minigrad.distributed.local_rows(size)

    def at(self, step: int) -> tuple[Any, Any]:
        """Return the rows of this process, tokens and weights: they depend on the step alone."""
        rows = (step * self._size + np.arange(self._size)) % len(self._tokens)
        return self._tokens[rows[self._mine]], self._weights[rows[self._mine]]


# ---- 3. the training --------------------------------------------------------------------------


def train(
    model: GPT, batches: Batches, steps: int, dtype: str, checkpoint: Path | None, every: int
) -> tuple[int, list[float]]:
    """Go on from the checkpoint, if there is one; return its step and the losses since."""
    rate = optim.linear(0.01, 0.0, steps)
    optimizer = optim.Adam(model.parameters(), lr=rate, betas=(0.85, 0.99))
    mesh = minigrad.distributed.mesh()
    step = minigrad.train_step(
        padded_loss(model), optimizer, backend="jax", mesh=mesh, batch="data", dtype=dtype
    )
    if checkpoint is not None and checkpoint.exists():
        minigrad.load_training(checkpoint, step)
    begun = optimizer.steps
    check_that_all_begin_at(begun, checkpoint)
    losses: list[float] = []
    with Progress(begun, steps, every) as progress:
        for k in range(begun, steps):
            losses.append(step(*batches.at(k)))
            progress.show(k + 1, losses[-1])
            is_due = (k + 1) % every == 0 or k + 1 == steps
            if checkpoint is not None and is_due and minigrad.distributed.is_first():
                minigrad.save_training(checkpoint, step)
    return begun, losses


def check_that_all_begin_at(step: int, checkpoint: Path | None) -> None:
    """Stop if some processes have found another checkpoint than others, or none."""
    if minigrad.distributed.processes() == 1:
        return
    from jax.experimental import multihost_utils

    steps = multihost_utils.process_allgather(np.array(step))
    if len(set(steps.tolist())) > 1:
        stop(
            f"--checkpoint {checkpoint}: the processes have read it at the steps "
            f"{', '.join(map(str, steps))}; put it into a folder that all hosts share."
        )


class Progress:
    """How far we are: a bar in a terminal, a line now and then elsewhere; of one process only."""

    def __init__(self, begun: int, steps: int, every: int) -> None:
        self._begun, self._steps, self._every = begun, steps, every
        self._is_shown = minigrad.distributed.is_first()
        self._bar = progress_bar() if self._is_shown and messages.is_terminal else None

    def __enter__(self) -> Progress:
        if self._is_shown and self._begun:
            messages.print(f"going on after step {self._begun}")
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("training", total=self._steps, shown="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, loss: float) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=done, shown=f"loss {loss:.4f}")
        elif self._is_shown and (done % self._every == 0 or done == self._steps):
            messages.print(f"step {done} of {self._steps}: loss {loss:.4f}")


# ---- 4. the command line ----------------------------------------------------------------------


class Dtype(StrEnum):
    """What `train_step` computes in."""

    float64 = auto()
    float32 = auto()


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    steps: Annotated[int, typer.Option(min=1, help="How many batches to learn from.")] = 500,
    batch: Annotated[int, typer.Option(min=1, help="Names in a batch, of all processes.")] = 64,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Kept here, and read if it exists.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Steps from checkpoint to checkpoint.")] = 50,
    dtype: Annotated[Dtype, typer.Option(help="In which numbers to compute.")] = Dtype.float64,
    seed: Annotated[int, typer.Option(help="For weights, order and inventions.")] = 1337,
    data: Annotated[Path, typer.Option(metavar="FILE", help="One name on each line.")] = NAMES,
    samples: Annotated[int, typer.Option(min=0, help="How many names to invent.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
) -> None:
    """Train a small GPT on names in all processes of a run."""
    if checkpoint is not None and not checkpoint.parent.is_dir():
        stop(f"--checkpoint {checkpoint}: there is no folder {checkpoint.parent}; make it first.")
    if checkpoint is not None and checkpoint.suffix not in (".npz", ".safetensors"):
        stop(f"--checkpoint {checkpoint}: let it end in .npz, or in .safetensors.")
    minigrad.distributed.initialize()
    names = shuffled_names(data, seed)
    alphabet = Alphabet(names)
    model = GPT(alphabet.edge + 1, **SHAPE, seed=seed)
    documents = [alphabet.tokens(name) for name in names[: steps * batch]]
    try:
        batches = Batches(documents, model.block, batch)
    except ValueError as error:
        stop(f"--batch {batch}: {error}")
    try:
        begun, losses = train(model, batches, steps, dtype, checkpoint, every)
    except CheckpointError as error:
        stop(f"--checkpoint {error}")
    if not minigrad.distributed.is_first():
        return
    rng = random.Random(seed)
    invented = [invent(model, alphabet, 0.5, rng) for _ in range(samples)]
    if as_json:
        report = {
            "begun": begun,
            "steps": steps,
            "processes": minigrad.distributed.processes(),
            "losses": losses,
            "names": invented,
        }
        print(json.dumps(report, allow_nan=False))
        return
    print("\n".join(invented))


if __name__ == "__main__":
    app()
