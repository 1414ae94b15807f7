"""Black and Scholes: the price of a million options, and how it moves with everything.

    python examples/black_scholes.py
    python examples/black_scholes.py --count 1000 --eager      # one option at a time

The price of a call is written once, for one option. The rest is derivatives, which traders call by
Greek names: five from one backward pass, and gamma, a second derivative, by differentiating once
more. `minigrad.vmap` runs the same function on arrays, all options side by side. The first few are
checked against the formulas of the textbook.
"""

from __future__ import annotations

import json
import math
import time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import minigrad
from minigrad import Value, erf, exp, log, sqrt

GREEKS = ("price", "delta", "dual delta", "theta", "rho", "vega", "gamma")
Number = Any  # a float or a Value: the formulas below do not care
Columns = dict[str, "np.ndarray[Any, Any]"]  # an array for every name in GREEKS


# ---- 1. the functions, for one option ---------------------------------------------------------


def normal(x: Number) -> Number:
    """Return the probability that a standard normal number is below x."""
    return 0.5 * (1.0 + erf(x / math.sqrt(2.0)))


def price(spot: Number, strike: Number, years: Number, rate: Number, volatility: Number) -> Number:
    """Return what the right to buy at `strike` in so many years is worth, at `spot` today."""
    spread = volatility * sqrt(years)
    d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    return spot * normal(d1) - strike * exp(-rate * years) * normal(d2)


def delta(spot: Value, strike: Value, years: Value, rate: Value, volatility: Value) -> Value:
    """Return the derivative of the price by the spot, itself ready to be differentiated."""
    return minigrad.grad(price(spot, strike, years, rate, volatility), spot, create_graph=True)


# ---- 2. many options --------------------------------------------------------------------------


def random_options(count: int, seed: int) -> list[np.ndarray[Any, Any]]:
    """Return an array for each argument of `price`."""
    rng = np.random.default_rng(seed)
    ranges = ((80.0, 120.0), (80.0, 120.0), (0.1, 2.0), (0.0, 0.06), (0.1, 0.5))
    return [rng.uniform(low, high, count) for low, high in ranges]


def compiled_greeks(options: list[np.ndarray[Any, Any]]) -> Columns:
    """Price all options at once: two functions, each with its gradient."""
    value, slopes = minigrad.vmap(price).value_and_grad(*options)
    _, bends = minigrad.vmap(delta).value_and_grad(*options)
    return named(value, slopes, bends[0])


def eager_greeks(options: list[np.ndarray[Any, Any]]) -> Columns:
    """Price one option after the other."""
    rows = []
    for numbers in zip(*options, strict=True):
        inputs = [Value(number) for number in numbers]
        value = price(*inputs)
        gamma = minigrad.grad(delta(*inputs), inputs[0])
        rows.append([value.data, *minigrad.grad(value, inputs), gamma])
    value, *slopes, gamma = np.array(rows).T
    return named(value, slopes, gamma)


def named(value: Any, slopes: Any, gamma: Any) -> Columns:
    """Give the derivatives their names. Theta is by the calendar: the years left become fewer."""
    by_spot, by_strike, by_years, by_rate, by_volatility = slopes
    columns = (value, by_spot, by_strike, -by_years, by_rate, by_volatility, gamma)
    return dict(zip(GREEKS, columns, strict=True))


# ---- 3. the textbook, to compare --------------------------------------------------------------


def closed_forms(
    spot: float, strike: float, years: float, rate: float, volatility: float
) -> dict[str, float]:
    """Return the same numbers by the formulas that people derived by hand."""

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2.0)) / 2.0

    spread = volatility * math.sqrt(years)
    d1 = math.log(spot / strike) / spread + (rate / volatility + volatility / 2) * math.sqrt(years)
    d2 = d1 - spread
    density = math.exp(-d1 * d1 / 2.0) / math.sqrt(2.0 * math.pi)
    discount = math.exp(-rate * years)
    return {
        "price": spot * below(d1) - strike * discount * below(d2),
        "delta": below(d1),
        "dual delta": -discount * below(d2),
        "theta": -spot * density * volatility / (2.0 * math.sqrt(years))
        - rate * strike * discount * below(d2),
        "rho": strike * years * discount * below(d2),
        "vega": spot * density * math.sqrt(years),
        "gamma": density / (spot * spread),
    }


def largest_error(options: list[np.ndarray[Any, Any]], greeks: Columns, rows: int) -> float:
    """Return the largest difference from the textbook among the first options."""
    worst = 0.0
    for k in range(rows):
        expected = closed_forms(*(float(column[k]) for column in options))
        worst = max(worst, *(abs(float(greeks[name][k]) - expected[name]) for name in GREEKS))
    return worst


# ---- 4. the command line ----------------------------------------------------------------------


def print_table(options: list[np.ndarray[Any, Any]], greeks: Columns, rows: int) -> None:
    """Print the first options for people."""
    table = Table(title=f"The first {rows} options")
    table.add_column("")
    for k in range(rows):
        table.add_column(f"{k + 1}", justify="right")
    given = ("spot", "strike", "years", "rate", "volatility")
    for name, column in zip(given, options, strict=True):
        table.add_row(name, *(f"{number:.2f}" for number in column[:rows]))
    table.add_section()
    for name in GREEKS:
        table.add_row(name, *(f"{number:.4f}" for number in greeks[name][:rows]))
    Console().print(table)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    count: Annotated[int, typer.Option(min=1, help="How many options.")] = 1_000_000,
    rows: Annotated[int, typer.Option(min=1, help="How many to show and check.")] = 5,
    seed: Annotated[int, typer.Option(help="For the options.")] = 1337,
    eager: Annotated[bool, typer.Option("--eager", help="Do without the compiler.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a program.")] = False,
) -> None:
    """Price options, with all their Greeks."""
    options = random_options(count, seed)
    begun = time.perf_counter()
    greeks = eager_greeks(options) if eager else compiled_greeks(options)
    seconds = time.perf_counter() - begun
    rows = min(rows, count)
    error = largest_error(options, greeks, rows)
    if as_json:
        report = {
            "count": count,
            "seed": seed,
            "mode": "eager" if eager else "compiled",
            "seconds": round(seconds, 3),
            "largest error": error,
            "options": [[float(column[k]) for column in options] for k in range(rows)],
            "greeks": [[float(greeks[name][k]) for name in GREEKS] for k in range(rows)],
        }
        print(json.dumps(report, allow_nan=False))
        return
    print_table(options, greeks, rows)
    each = seconds / count * 1e9
    print(f"{count:,} options in {seconds:.2f} seconds, {each:.0f} nanoseconds each")
    print(f"largest difference from the textbook: {error:.1e}")


if __name__ == "__main__":
    app()
