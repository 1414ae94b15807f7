"""A model of names: which letter comes next, after the last three?

As in the lessons on makemore: every character is a few numbers, those of the last three go through
a hidden layer, and the last layer has a score for each character. `.` is the edge of a name.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ..core.modes import no_grad
from ..functions import softmax, take
from ..nn import Layer, Module
from ..scalar import Value

EDGE = "."
CONTEXT = 3  # characters that are looked at
WIDTH = 6  # numbers that stand for a character
HIDDEN = 24
LONGEST = 20  # characters of a name that is invented


class Letters(Module):
    """Scores for the next character, given the numbers of the last ones."""

    def __init__(self, words: Sequence[str], seed: int = 0) -> None:
        rng = random.Random(seed)
        self.characters = [EDGE, *sorted(set("".join(words)) - {EDGE})]
        size = len(self.characters)
        self.table = [[Value(rng.gauss(0.0, 0.5)) for _ in range(WIDTH)] for _ in range(size)]
        self.hidden = Layer(CONTEXT * WIDTH, HIDDEN, activation="tanh", rng=_Small(rng, 0.3))
        self.scores = Layer(HIDDEN, size, activation="linear", rng=_Small(rng, 0.1))

    def __call__(self, context: Sequence[int]) -> Any:
        """Return a score for each character; `take` is table[k], said so that it compiles."""
        numbers = [x for k in context for x in take(self.table, k)]
        return self.scores(self.hidden(numbers))

    def parameters(self) -> list[Value]:
        """Return the table, then the layers."""
        table = [x for row in self.table for x in row]
        return [*table, *self.hidden.parameters(), *self.scores.parameters()]

    def examples(self, words: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """Return for each character of each name those before it, and itself, as numbers."""
        number = {character: k for k, character in enumerate(self.characters)}
        xs, ys = [], []
        for word in words:
            context = [0] * CONTEXT
            for character in (*word.replace(EDGE, ""), EDGE):
                xs.append(context)
                ys.append(number[character])
                context = [*context[1:], number[character]]
        return xs, ys

    def invent(self, rng: random.Random) -> str:
        """Start at the edge, draw what may follow, and go on to the next edge."""
        context, name = [0] * CONTEXT, ""
        with no_grad():
            while len(name) < LONGEST:
                shares = [share.data for share in softmax(self(context))]
                (k,) = rng.choices(range(len(shares)), shares)
                if k == 0:
                    break
                name += self.characters[k]
                context = [*context[1:], k]
        return name


class _Small:
    """First weights that are smaller than micrograd's, which has no more than a few inputs."""

    def __init__(self, rng: random.Random, scale: float) -> None:
        self._rng, self._scale = rng, scale

    def uniform(self, low: float, high: float) -> float:
        return self._rng.uniform(low * self._scale, high * self._scale)
