"""A GPT of single numbers: read thousands of names, then invent new ones.

    python examples/microgpt.py                       # compiled
    python examples/microgpt.py --eager               # the same numbers, one operation at a time

This is a whole language model, in the manner of Andrej Karpathy's lesson: everything that the large
ones have besides size. Read it from top to bottom: some text, a model, a loss, a loop. The model
adds and multiplies single numbers, each of them a `Value`. `minigrad.compile` watches it do that
once for every length of a name, finds the matrices again, and from then on runs those.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import minigrad
from minigrad import Value, optim, take

NAMES = Path(__file__).parent / "data" / "names.txt"

# What is printed for people, as opposed to results, goes to the error stream: so the output of
# --json can be piped into another program.
messages = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)

Vector = list[Value]
Matrix = list[Vector]


# ---- 1. the text ------------------------------------------------------------------------------


class Alphabet:
    """Characters as numbers: 0, 1, 2, … for those of the text, and one more for its edges."""

    def __init__(self, names: Sequence[str]) -> None:
        self.characters = sorted(set("".join(names)))
        self.edge = len(self.characters)  # stands before the first character and after the last
        self.size = self.edge + 1

    def tokens(self, name: str) -> list[int]:
        return [self.edge, *map(self.characters.index, name), self.edge]

    def text(self, tokens: Sequence[int]) -> str:
        return "".join(self.characters[token] for token in tokens)


def read_names(path: Path) -> list[str]:
    """Return the lines of a file that are not empty."""
    return [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]


# ---- 2. the model -----------------------------------------------------------------------------


def linear(matrix: Matrix, x: Vector) -> Vector:
    """Multiply a matrix by a vector: row after row, product after product."""
    return [sum(w * xi for w, xi in zip(row, x, strict=True)) for row in matrix]


def add(x: Vector, y: Vector) -> Vector:
    """Add two vectors."""
    return [a + b for a, b in zip(x, y, strict=True)]


def normalise(x: Vector) -> Vector:
    """Scale to a mean square of 1, so that numbers neither grow nor fade from layer to layer."""
    scale = (sum(xi * xi for xi in x) / len(x) + 1e-5) ** -0.5
    return [xi * scale for xi in x]


def below_zero(x: Vector) -> Vector:
    """Move all numbers so that the largest is 0: then `exp` cannot overflow."""
    largest = max(xi.data for xi in x)
    return [xi - largest for xi in x]


def softmax(x: Vector) -> Vector:
    """Turn scores into shares: all positive, 1 together."""
    powers = [xi.exp() for xi in below_zero(x)]
    total = sum(powers)
    return [power / total for power in powers]


def surprise(scores: Vector, token: int) -> Value:
    """Return -log(softmax(scores)[token]): 0 if the token was certain, more the less it was."""
    scores = below_zero(scores)
    return sum(score.exp() for score in scores).log() - take(scores, token)


class GPT:
    """A transformer: what token comes next, given those so far?"""

    def __init__(self, vocabulary: int, layers: int, width: int, heads: int, block: int, seed: int):
        rng = random.Random(seed)

        def matrix(rows: int, columns: int) -> Matrix:
            return [[Value(rng.gauss(0.0, 0.08)) for _ in range(columns)] for _ in range(rows)]

        self.heads, self.block = heads, block
        self.tokens = matrix(vocabulary, width)  # what a token means, wherever it stands
        self.positions = matrix(block, width)  # what a place means, whatever stands there
        self.layers = [
            {
                "query": matrix(width, width),
                "key": matrix(width, width),
                "value": matrix(width, width),
                "mix": matrix(width, width),
                "up": matrix(4 * width, width),
                "down": matrix(width, 4 * width),
            }
            for _ in range(layers)
        ]
        self.scores = matrix(vocabulary, width)

    def parameters(self) -> list[Value]:
        inner = [matrix for layer in self.layers for matrix in layer.values()]
        matrices = [self.tokens, self.positions, *inner, self.scores]
        return [w for matrix in matrices for row in matrix for w in row]

    def start(self) -> list[tuple[Matrix, Matrix]]:
        """Return an empty memory: for each layer the keys and the values of the tokens so far."""
        return [([], []) for _ in self.layers]

    def read(self, token: int, memory: list[tuple[Matrix, Matrix]]) -> Vector:
        """Take in one more token; return a score for each that may follow."""
        position = len(memory[0][0])
        # `take` is tokens[token], said so that the compiler knows: the token differs from call to
        # call. The position does not, for names of the same length.
        x = normalise(add(take(self.tokens, token), self.positions[position]))
        for layer, (keys, values) in zip(self.layers, memory, strict=True):
            seen = normalise(x)
            keys.append(linear(layer["key"], seen))
            values.append(linear(layer["value"], seen))
            found = self.attend(linear(layer["query"], seen), keys, values)
            x = add(x, linear(layer["mix"], found))
            hidden = [h.relu() for h in linear(layer["up"], normalise(x))]
            x = add(x, linear(layer["down"], hidden))
        return linear(self.scores, x)

    def attend(self, query: Vector, keys: Matrix, values: Matrix) -> Vector:
        """Collect the values of earlier tokens, most from those whose keys fit the query best.

        Every head looks at its own slice of the numbers, and so at other tokens.
        """
        size = len(query) // self.heads
        found: Vector = []
        for head in range(self.heads):
            part = slice(head * size, (head + 1) * size)
            fits = linear([key[part] for key in keys], query[part])
            shares = softmax([fit / math.sqrt(size) for fit in fits])
            columns = zip(*(value[part] for value in values), strict=True)
            found += linear([list(column) for column in columns], shares)
        return found

    def loss(self, tokens: list[int]) -> Value:
        """Return how surprising each token was after those before it, on average."""
        memory = self.start()
        count = min(len(tokens) - 1, self.block)
        surprises = [surprise(self.read(tokens[k], memory), tokens[k + 1]) for k in range(count)]
        return sum(surprises) / count


# ---- 3. the training --------------------------------------------------------------------------

Step = Callable[[list[int]], float]


def eager_step(loss: Callable[[list[int]], Value], optimizer: optim.Optimizer) -> Step:
    """Return what `minigrad.train_step` returns, written out."""

    def step(tokens: list[int]) -> float:
        total = loss(tokens)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total.data

    return step


def train(model: GPT, documents: list[list[int]], steps: int, eager: bool) -> list[float]:
    """Learn from one document at a time; return the loss before each step."""
    rate = optim.linear(0.01, 0.0, steps)
    optimizer = optim.Adam(model.parameters(), lr=rate, betas=(0.85, 0.99))
    if eager:
        step = eager_step(model.loss, optimizer)
    else:
        step = minigrad.train_step(minigrad.compile(model.loss), optimizer)
    losses: list[float] = []
    with progress_bar() as bar:
        task = bar.add_task("training", total=steps, shown="")
        for k in range(steps):
            losses.append(step(documents[k % len(documents)]))
            # One name is easy and the next one hard: the mean over the last hundred shows more.
            recent = losses[-100:]
            bar.update(task, advance=1, shown=f"loss {sum(recent) / len(recent):.4f}")
    return losses


# ---- 4. inventing -----------------------------------------------------------------------------


def invent(model: GPT, alphabet: Alphabet, temperature: float, rng: random.Random) -> str:
    """Start at the edge, draw what may follow, and go on from there to the next edge."""
    memory, tokens = model.start(), [alphabet.edge]
    with minigrad.no_grad():  # nothing is learnt from this
        while len(tokens) <= model.block:
            scores = model.read(tokens[-1], memory)
            # Below 1 what is likely gets likelier still, at 1 it stays as it was learnt.
            shares = [share.data for share in softmax([score / temperature for score in scores])]
            (token,) = rng.choices(range(alphabet.size), shares)
            if token == alphabet.edge:
                break
            tokens.append(token)
    return alphabet.text(tokens[1:])


# ---- 5. the command line ----------------------------------------------------------------------


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


def stop(message: str) -> NoReturn:
    """End with code 2, as for any mistake on a command line."""
    messages.print(f"{Path(sys.argv[0]).name}: {message}", markup=False)
    raise typer.Exit(2)


def shuffled_names(path: Path, seed: int) -> list[str]:
    """Read the names, or say why that cannot be; then mix them."""
    try:
        names = read_names(path)
    except OSError as error:
        stop(f"--data {path}: {error.strerror}; name a text file with a name on each line.")
    except UnicodeDecodeError:
        stop(f"--data {path}: this is not UTF-8 text; name a file with a name on each line.")
    if not names:
        stop(f"--data {path}: there is no name in it; put one on each line.")
    random.Random(seed).shuffle(names)
    return names


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
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
    alphabet = Alphabet(names)
    model = GPT(alphabet.size, layers, width, heads, block, seed)
    documents = [alphabet.tokens(name) for name in names[:steps]]

    begun = time.perf_counter()
    losses = train(model, documents, steps, eager)
    seconds = time.perf_counter() - begun
    rng = random.Random(seed)
    invented = [invent(model, alphabet, temperature, rng) for _ in range(samples)]

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


if __name__ == "__main__":
    app()
