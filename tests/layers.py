"""Random models as people write them, of weights and rows of data: what a batch is made of.

`random_model(rng)` draws one. Vectors that differ from row to row and vectors that do not, weights
and what is made of weights alone, meet in all the ways that `passes/widen` tells apart.
"""

from __future__ import annotations

import random
from typing import Any

import minigrad
from minigrad import Value

SIZE = 3  # of all vectors
WORDS = """linear layer points mixed pair attention residual scale squash weights choose largest
chosen penalty""".split()


class Model:
    """A function `loss(x, index, shift)` of a vector, a whole number and a number."""

    def __init__(self, rng: random.Random, most: int = 7) -> None:
        self._rng = rng
        self.parameters: list[Value] = []
        self._steps = [
            (rng.choice(WORDS), rng.random(), rng.random(), self._matrix(), self._matrix(2))
            for _ in range(rng.randint(1, most))
        ]

    def _matrix(self, rows: int = SIZE) -> list[list[Value]]:
        made = [[Value(self._rng.uniform(-1, 1)) for _ in range(SIZE)] for _ in range(rows)]
        self.parameters += [w for row in made for w in row]
        return made

    def __call__(self, x: Any, index: Any, shift: Any) -> Any:
        """Return the loss of a row, and some of what it was made of."""
        vectors = [list(x), self._steps[0][4][0]]
        for word, first, second, weights, more in self._steps:
            a = vectors[int(first * len(vectors))]
            b = vectors[int(second * len(vectors))]
            found = getattr(self, f"_{word}")(a, b, weights, more, index, shift)
            vectors.append([v if isinstance(v, Value) else Value(v) for v in found])
        total = sum((v.tanh() for vector in vectors[2:] for v in vector), vectors[0][0] * shift)
        return total, vectors[-1][0], [vectors[1][1] * 2]

    # Each makes a vector of two, of a matrix, of two rows of weights, of an index and of a number.

    def _linear(self, a, b, weights, more, index, shift):
        return _times(weights, a)

    def _layer(self, a, b, weights, more, index, shift):
        return [(v + w).relu() for v, w in zip(_times(weights, a), more[0], strict=True)]

    def _points(self, a, b, weights, more, index, shift):
        """A layer that is applied to several vectors: a matrix product in the example."""
        found = [_times(weights, point) for point in (a, b, [u - v for u, v in zip(a, b)])]  # noqa: B905
        return [sum(column) for column in zip(*found, strict=True)]

    def _mixed(self, a, b, weights, more, index, shift):
        """Rows that are half data and half weights, and numbers."""
        return [sum(w * v for w, v in zip(row, (a[0], more[0][1], 0.5), strict=True)) for row in
                weights]  # fmt: skip

    def _pair(self, a, b, weights, more, index, shift):
        return [minigrad.dot(a, b), minigrad.dot(b, more[1]), a[0] * b[1]]

    def _attention(self, a, b, weights, more, index, shift):
        """Products of what differs with what differs, several at once."""
        keys = [_times(weights, v) for v in (a, b, more[0])]
        asked = [[u + v for u, v in zip(a, b, strict=True)], b, more[1]]
        fits = [minigrad.softmax(_times(keys, one)) for one in asked]
        columns = list(zip(*keys, strict=True))
        return [sum(_times(columns, share)) for share in fits]

    def _residual(self, a, b, weights, more, index, shift):
        return [u + v for u, v in zip(b, _times(weights, a), strict=True)]

    def _scale(self, a, b, weights, more, index, shift):
        return [w * v * shift for w, v in zip(more[0], a, strict=True)]

    def _squash(self, a, b, weights, more, index, shift):
        """One instruction for what differs and what does not."""
        return [(u.tanh() - v.tanh()) for u, v in zip(a, more[0], strict=True)]

    def _weights(self, a, b, weights, more, index, shift):
        """Weights that are made of weights: the same for all rows."""
        scaled = [[w.tanh() * 0.5 for w in row] for row in weights]
        return _times([_times(scaled, more[0]), *scaled[1:]], a)

    def _choose(self, a, b, weights, more, index, shift):
        return [minigrad.where(u > v, u * 2, v) for u, v in zip(a, more[0], strict=True)]

    def _largest(self, a, b, weights, more, index, shift):
        most = max(v.data for v in a)
        return [(v - most).exp() for v in a]

    def _chosen(self, a, b, weights, more, index, shift):
        return [*minigrad.take(weights, index)[:2], minigrad.take(a, index)]

    def _penalty(self, a, b, weights, more, index, shift):
        return [sum(w * w for row in weights for w in row), a[0], _times(weights, more[0])[0]]


def _times(rows: Any, vector: Any) -> list[Any]:
    return [sum(w * v for w, v in zip(row, vector, strict=True)) for row in rows]
