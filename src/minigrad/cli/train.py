"""`minigrad train`: a network learns something small while one watches."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import datasets, plot
from ..core.files import write_atomically
from ..core.names import json_number, readable
from ..core.terminal import put, put_json
from ..errors import ExpressionError
from ..fit import OPTIMIZERS, fit
from ..history import History
from ..nn import MLP
from .letters import Letters
from .options import AsJson, Force, check_new

PROBLEMS = [*datasets.POINTS, "names"]
HIDDEN = [16, 16]  # as in micrograd's demonstration
STEPS = {"names": 500}  # where the usual number is not enough
USUAL = 200


def train(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="|".join(PROBLEMS), help="What to learn.", autocompletion=lambda: PROBLEMS
        ),
    ],
    steps: Annotated[
        int | None, typer.Option(min=1, help=f"{USUAL} by default, for names {STEPS['names']}.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the data and of the first weights.")] = 0,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Examples for each step; all, for names 32.")
    ] = None,
    points: Annotated[int | None, typer.Option(min=2, help="How many points.")] = None,
    noise: Annotated[float | None, typer.Option(min=0.0, help="How blurred they are.")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Names, one on each line.")
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="How many names to invent.")] = 10,
    optimizer: Annotated[str, typer.Option(help=f"{', '.join(OPTIMIZERS)}.")] = "adam",
    compiled: Annotated[
        bool | None,
        typer.Option("--compiled/--eager", help="By default compiled, where that pays."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Train a network on points of two classes, or on names, and show how it went.

    What is shown on the way goes to the standard error, results to the standard output.
    """
    name = problem
    if name not in PROBLEMS:
        raise ExpressionError(f"{name!r}: choose from {', '.join(PROBLEMS)}.")
    options = {"points": points, "noise": noise, "data": data}
    strange = ("points", "noise") if name == "names" else ("data",)
    for option in strange:
        if options[option] is not None:
            raise ExpressionError(f"--{option} is not for {name}; leave it out.")
    if optimizer not in OPTIMIZERS:
        raise ExpressionError(f"--optimizer {optimizer}: choose from {', '.join(OPTIMIZERS)}.")
    if picture is not None:
        _check_picture(picture, force)
    settings = {"optimizer": optimizer, "steps": steps or STEPS.get(name, USUAL), "seed": seed,
                "compiled": compiled}  # fmt: skip
    try:
        if name == "names":
            history, invented = _learn_names(data, samples, batch, settings)
        else:
            history, invented = _learn_points(name, points, noise, batch, settings), []
    except (ValueError, ImportError) as error:
        raise ExpressionError(str(error)) from None
    if picture is not None:
        _draw(history, picture)
    if as_json:
        put_json(_as_dict(name, seed, history, invented, picture))
        return
    put(str(history))
    put("\n".join(invented), end="\n" if invented else "")
    if picture is not None:
        put(f"wrote {readable(picture)}")


def _learn_points(
    name: str, count: int | None, noise: float | None, batch: int | None, settings: dict[str, Any]
) -> History:
    given = {"count": count, "noise": noise}
    wanted = {key: number for key, number in given.items() if number is not None}
    xs, ys = datasets.POINTS[name](seed=settings["seed"], **wanted)
    model = MLP(2, [*HIDDEN, 1], seed=settings["seed"])
    return fit(model, xs, ys, loss="hinge", batch=batch, **settings)


def _learn_names(
    path: Path | None, samples: int, batch: int | None, settings: dict[str, Any]
) -> tuple[History, list[str]]:
    words = datasets.names(path)
    model = Letters(words, seed=settings["seed"])
    xs, ys = model.examples(words)
    history = fit(model, xs, ys, loss="cross_entropy", batch=batch or min(32, len(xs)), **settings)
    rng = random.Random(settings["seed"])
    return history, [model.invent(rng) for _ in range(samples)]


def _check_picture(path: Path, force: bool) -> None:
    """See to it, before the training, that it can be drawn."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ExpressionError(
            f"--plot {readable(path)}: name a file that ends in .png, .svg, .pdf."
        )
    check_new(path, force)
    if not path.parent.is_dir():
        raise ExpressionError(f"--plot {readable(path)}: there is no such folder.")
    try:
        plot.require_matplotlib()
    except ImportError as error:
        raise ExpressionError(str(error)) from None


def _draw(history: History, path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")  # no window is wanted
    figure = history.plot()[0].figure
    stream = io.BytesIO()
    figure.savefig(stream, format=path.suffix[1:].lower(), dpi=150)
    write_atomically(path, stream.getvalue())


def _as_dict(
    name: str, seed: int, history: History, invented: list[str], picture: Path | None
) -> dict[str, Any]:
    return {
        "problem": name,
        "steps": history.steps,
        "seed": seed,
        "parameters": len(history.model.parameters()),
        "how": history.how,
        "seconds": round(history.seconds, 3),
        "stopped": history.stopped or None,
        "loss": json_number(history.loss),
        "accuracy": history.accuracy,
        "losses": [json_number(number) for number in history.losses],
        **({"names": invented} if name == "names" else {}),
        **({"plot": str(picture)} if picture is not None else {}),
    }
