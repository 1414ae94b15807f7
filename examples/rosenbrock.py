"""Rosenbrock's valley: where the slope alone leads nowhere fast, the curvature leads home.

    python examples/rosenbrock.py                     # ten dimensions
    python examples/rosenbrock.py --size 100

The function has its minimum, 0, where all coordinates are 1, at the end of a long bent valley with
steep sides. Gradient descent bounces between the sides. Newton's method goes to the bottom of the
parabola that fits best here, which needs the matrix of second derivatives; but only its products
with vectors, and such a product is the gradient of a gradient's shadow on that vector. The matrix
is never made.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, Protocol

import typer
from rich.console import Console
from rich.table import Table

import minigrad
from minigrad import Value

Point = list[float]


def rosenbrock(x: Sequence[Any]) -> Any:
    """Return the sum over neighbours of 100 (next - this²)² + (1 - this)²."""
    return sum(
        100.0 * (after - here * here) ** 2 + (1.0 - here) ** 2 for here, after in pairwise(x)
    )


# ---- 1. what a method may ask of the function -------------------------------------------------


class Function(Protocol):
    """A function with first and second derivatives."""

    def slope(self, x: Point) -> tuple[float, Point]:
        """Return the value and the gradient."""

    def bend(self, x: Point, direction: Point) -> Point:
        """Return the Hessian matrix times the direction: how the gradient changes that way."""


class Eager:
    """Derivatives from the engine, one operation at a time."""

    def slope(self, x: Point) -> tuple[float, Point]:
        inputs = [Value(xi) for xi in x]
        value = rosenbrock(inputs)
        return value.data, minigrad.grad(value, inputs)

    def bend(self, x: Point, direction: Point) -> Point:
        inputs = [Value(xi) for xi in x]
        gradient = minigrad.grad(rosenbrock(inputs), inputs, create_graph=True)
        # The gradient of (gradient . direction) is the Hessian times the direction.
        return minigrad.grad(minigrad.dot(gradient, direction), inputs)


class Compiled:
    """The same, from a function that is traced once."""

    def __init__(self) -> None:
        self.function = minigrad.compile(rosenbrock)

    def slope(self, x: Point) -> tuple[float, Point]:
        value, gradients = self.function.value_and_grad(x)
        return float(value), list(gradients.args[0])

    def bend(self, x: Point, direction: Point) -> Point:
        (product,) = self.function.hvp((x,), (direction,))
        return list(product)


# ---- 2. the two methods -----------------------------------------------------------------------


@dataclass
class Descent:
    """A way down, and what it cost."""

    method: str
    x: Point
    values: list[float] = field(default_factory=list)  # at the start, and after each iteration
    gradients: int = 0
    products: int = 0
    seconds: float = 0.0

    @property
    def iterations(self) -> int:
        return len(self.values) - 1

    @property
    def distance(self) -> float:
        return math.dist(self.x, [1.0] * len(self.x))


def descend(f: Function, start: Point, *, newton: bool, tolerance: float, limit: int) -> Descent:
    """Go down until the gradient is as short as `tolerance`, or for `limit` iterations."""
    way = Descent("Newton-CG" if newton else "gradient descent", list(start))
    begun = time.perf_counter()
    value, gradient = f.slope(way.x)
    way.gradients += 1
    way.values.append(value)
    rate = 1.0
    while math.hypot(*gradient) > tolerance and way.iterations < limit:
        if newton:
            direction, rate = newton_direction(f, way, gradient), 1.0
        else:
            direction, rate = [-g for g in gradient], 2.0 * rate  # try a longer stride again
        found = go(f, way, value, gradient, direction, rate)
        if found is None:  # rounding hides any further gain
            break
        way.x, value, gradient, rate = found
        way.values.append(value)
    way.seconds = time.perf_counter() - begun
    return way


def newton_direction(f: Function, way: Descent, gradient: Point) -> Point:
    """Solve Hessian . direction = -gradient by conjugate gradients, as well as is worth while."""
    direction = [0.0] * len(gradient)
    residual = [-g for g in gradient]  # of the equation, at this direction
    search = residual
    length = dot(residual, residual)
    # Far from the goal a rough solution will do; nearer, Newton's speed is worth the work.
    enough = length * min(0.25, math.sqrt(length))
    for _ in range(2 * len(gradient)):
        product = f.bend(way.x, search)
        way.products += 1
        curvature = dot(search, product)
        if curvature <= 0.0:  # the parabola opens downwards: it has no bottom that way
            return direction if any(direction) else search
        step = length / curvature
        direction = along(direction, step, search)
        residual = along(residual, -step, product)
        before, length = length, dot(residual, residual)
        if length <= enough:
            break
        search = along(residual, length / before, search)
    return direction


def go(
    f: Function, way: Descent, value: float, gradient: Point, direction: Point, rate: float
) -> tuple[Point, float, Point, float] | None:
    """Halve the rate until the step gains a fair part of what the slope promises."""
    promise = dot(gradient, direction)
    while rate > 1e-20:
        x = along(way.x, rate, direction)
        new_value, new_gradient = f.slope(x)
        way.gradients += 1
        if new_value <= value + 1e-4 * rate * promise:
            return x, new_value, new_gradient, rate
        rate /= 2.0
    return None


def dot(a: Point, b: Point) -> float:
    """Return the sum of the products."""
    return sum(ai * bi for ai, bi in zip(a, b, strict=True))


def along(x: Point, rate: float, direction: Point) -> Point:
    """Return x + rate * direction."""
    return [xi + rate * di for xi, di in zip(x, direction, strict=True)]


# ---- 3. the command line ----------------------------------------------------------------------


def print_table(ways: list[Descent], size: int) -> None:
    """Print the results for people."""
    table = Table(title=f"Rosenbrock's function in {size} dimensions")
    table.add_column("method")
    columns = ("iterations", "gradients", "Hessian products", "value", "distance", "seconds")
    for heading in columns:
        table.add_column(heading, justify="right")
    for way in ways:
        counts = (str(way.iterations), str(way.gradients), str(way.products))
        numbers = (f"{way.values[-1]:.1e}", f"{way.distance:.1e}", f"{way.seconds:.2f}")
        table.add_row(way.method, *counts, *numbers)
    Console().print(table)


def print_json(ways: list[Descent], size: int, eager: bool) -> None:
    """Print the results for programs."""
    results = {
        way.method: {
            "iterations": way.iterations,
            "gradients": way.gradients,
            "products": way.products,
            "seconds": round(way.seconds, 3),
            "values": way.values,
            "x": way.x,
        }
        for way in ways
    }
    report = {"size": size, "mode": "eager" if eager else "compiled", "methods": results}
    print(json.dumps(report, allow_nan=False))


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    size: Annotated[int, typer.Option(min=2, help="How many dimensions.")] = 10,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Length of the last gradient.")] = 1e-8,
    limit: Annotated[int, typer.Option(min=1, help="Iterations at most.")] = 20_000,
    eager: Annotated[bool, typer.Option("--eager", help="Do without the compiler.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
) -> None:
    """Find the end of Rosenbrock's valley, by slope and by curvature."""
    start = [0.0] * size
    f: Function = Eager() if eager else Compiled()
    ways = [
        descend(f, start, newton=newton, tolerance=tolerance, limit=limit)
        for newton in (True, False)
    ]
    if as_json:
        print_json(ways, size, eager)
    else:
        print_table(ways, size)


if __name__ == "__main__":
    app()
