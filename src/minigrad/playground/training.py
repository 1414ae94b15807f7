"""Training, a few steps at a time: XOR and moons, with the loss and the boundary.

The page has the parameters and sends them along, so that any moment of a training can be shared,
gone back to, or opened in the player: `opened` shows the loss of one point with these parameters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import loss, nn, optim
from ..core.modes import no_grad
from ..core.names import json_number
from ..datasets import Points, moons
from ..scalar import Value
from .picture import shown
from .request import Request, RequestError, Whole
from .words import say

STEPS = 50  # of one request at most
GRID = 40


class Problem(NamedTuple):
    """What is to be learned, and by which network."""

    points: Points
    layers: tuple[int, ...]
    rate: float
    frame: tuple[float, float, float, float]  # of the picture: x from, x to, y from, y to

    def model(self, seed: int) -> nn.MLP:
        """Make the network, with weights drawn by the seed."""
        return nn.MLP(2, self.layers, activation="tanh", seed=seed)


_CORNERS: Points = ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [-1, 1, 1, -1])
PROBLEMS = {
    "xor": Problem(_CORNERS, (4, 1), 0.2, (-0.5, 1.5, -0.5, 1.5)),
    "moons": Problem(moons(50, seed=1), (8, 8, 1), 0.2, (-1.6, 2.6, -1.2, 1.7)),
}


def _begun(request: Request) -> tuple[Problem, nn.MLP]:
    problem = PROBLEMS[request["data"]]
    model = problem.model(request["seed"])
    given = request["parameters"]
    parameters = model.parameters()
    if given:
        if len(given) != len(parameters):
            counts = {"count": len(given), "needed": len(parameters)}
            raise RequestError(say(request.lang, "parameters", **counts))
        for parameter, x in zip(parameters, given, strict=True):
            parameter.data = x
    return problem, model


def trained(request: Request) -> dict[str, Any]:
    """Take some steps of gradient descent; with `grid`, draw the boundary as well."""
    problem, model = _begun(request)
    points, labels = problem.points
    rate = problem.rate if request["rate"] is None else request["rate"]
    optimizer = optim.SGD(model.parameters(), lr=rate)
    losses = []
    for _ in range(request["steps"]):
        total = loss.mse([model(point) for point in points], labels)
        losses.append(json_number(total.data))
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    with no_grad():
        scores = [_number(model(point)) for point in points]
    right = sum(score * label > 0 for score, label in zip(scores, labels, strict=True))
    found = {
        "losses": losses,
        "parameters": [json_number(p.data) for p in model.parameters()],
        "right": right,
        "points": [[*point, label] for point, label in zip(points, labels, strict=True)],
        "frame": list(problem.frame),
        "rate": rate,
    }
    size = request["grid"]
    return found | ({"grid": _grid(model, problem, size)} if size else {})


def _number(output: Any) -> float:
    return float(getattr(output, "data", output))


def _grid(model: nn.MLP, problem: Problem, size: int) -> list[list[float | str]]:
    """Return the score at the middle of each cell, from the top row down."""
    left, right, bottom, top = problem.frame
    width, height = (right - left) / size, (top - bottom) / size
    with no_grad():
        return [
            [
                json_number(_number(model([left + (k + 0.5) * width, top - (row + 0.5) * height])))
                for k in range(size)
            ]
            for row in range(size)
        ]


def opened(request: Request) -> dict[str, Any]:
    """Show the loss of one point with these parameters."""
    problem, model = _begun(request)
    points, labels = problem.points
    k = Whole(least=0, most=len(points) - 1).read("point", request["point"], request.lang)
    inputs = [Value(x, label=f"x{n}") for n, x in enumerate(points[k])]
    root = (model(inputs) - labels[k]) ** 2
    root.label = "loss"
    root.backward()
    named = {str(p.label) or f"p{n}": p for n, p in enumerate(model.parameters())}
    return shown(root, {"x0": inputs[0], "x1": inputs[1], **named}, request)
