"""What bench/compiled.py holds against what it has measured: claims, and goals.

A claim is a bound that every run on a machine like ours is to meet, so it leaves room for noise. A
goal is what somebody has set out to reach, and stands here whether it is reached or not. Both were
chosen before the runs that are written down, and no run fails because of them.
"""

from __future__ import annotations

from .compiled_cases import (
    AGAIN,
    AGAIN_NAMES,
    ARRAYS,
    CASADI,
    CASES,
    CLASSIC,
    FLOAT32,
    KERNEL,
    LARGE,
    LOOP,
    MICROGPT,
    SGD,
    TENSORS,
    TRAINED,
    TWO_CORES,
    WHOLE,
    C,
)


def row(results, case, peer):
    return results.get(case, {}).get("rows", {}).get(peer, {})


def ratio(results, case, dividend, divisor, key="min"):
    a, b = row(results, case, dividend).get(key), row(results, case, divisor).get(key)
    return None if a is None or b is None else a / b


def at_least(text, figure, bound):
    return f"{text} >= {bound}", figure and f"{figure:,.2f}", figure and figure >= bound


def at_most(text, figure, bound):
    return f"{text} <= {bound:g}", figure and f"{figure:,.3g}", figure and figure <= bound


def with_goals(results):
    """Yield (what is measured, the figure, the goal, what is claimed), all to be at most."""

    def least(case, peer, unit):
        seconds = row(results, case, peer).get("min")
        return seconds and seconds * unit

    yield "T: a whole call, µs", least("T", WHOLE, 1e6), 0.6, 0.6
    for case, goal, bound in (("A", 1.25, 1.5), ("B8", 1.5, 1.8)):
        yield f"{case}: whole call / kernel", ratio(results, case, WHOLE, KERNEL), goal, bound
    yield f"{SGD}: a loop by hand, µs", least(SGD, LOOP, 1e6), 80, 100
    for case in ("M32", "M128"):
        others = [row(results, case, peer).get("min") for peer in TENSORS]
        best, ours = min(filter(None, others), default=None), row(results, case, WHOLE)
        figure = ours["min"] / best if best and "min" in ours else None
        yield f"{case}: minigrad / best of {', '.join(TENSORS)}", figure, 1.2, 1.5
        yield f"{case}: traced and compiled, s", ours.get("ready"), 0.3, 0.3
        memory = ours.get("memory")
        yield f"{case}: memory for that, MB", memory and memory / 1e6, 100, 100
    yield "C: ns per option, one core", least("C", WHOLE, 1e9), 22, 26
    yield "C: ns per option, two cores", least("C", TWO_CORES, 1e9), 12, 16
    rows = results.get(LARGE, {}).get("rows", {})
    seconds = next((r[WHOLE].get("ready") for m, r in rows.items() if "chain" in m), None)
    yield f"{LARGE}: a chain of 100,000 is ready, s", seconds, 1, 1
    for what, run, goal, bound in (
        ("small", "first", 7, 10),
        ("small", "second", 3, 5),
        ("lengths", "first", 400, 600),
        ("lengths", "second", 250, 400),
    ):
        seconds = results.get(AGAIN, {}).get("rows", {}).get(what, {}).get(run)
        yield f"{AGAIN}: {AGAIN_NAMES[what]}, {run} run, ms", seconds and 1e3 * seconds, goal, bound


def goals(results):
    """Yield (a goal, what was measured, whether it is reached); None: it was not measured."""
    for text, figure, goal, _ in with_goals(results):
        yield at_most(text, figure, goal)


def claims(results):
    """Yield (what must hold, what was measured, whether it holds); None: it was not measured."""

    def ratio_of(case, dividend, divisor, key="min"):
        return ratio(results, case, dividend, divisor, key)

    for case, peer, bound in (
        ("A", CLASSIC, 5000),
        ("A", "micrograd", 5000),
        ("B8", CLASSIC, 3000),
        ("B8", MICROGPT, 3000),
    ):
        yield at_least(f"{case}: {peer} / kernel", ratio_of(case, peer, KERNEL), bound)
    for case in ("A", "B8"):
        yield at_most(f"{case}: kernel / {C}", ratio_of(case, KERNEL, C), 1.2)
    for case in ("A", "B4", "B8", "B16"):
        for peer in TENSORS:
            yield at_least(f"{case}: {peer} / whole call", ratio_of(case, peer, WHOLE), 1)
    figure = ratio_of(TRAINED, CLASSIC, WHOLE, "seconds")
    yield at_least(f"{TRAINED}: {CLASSIC} (extrapolated) / minigrad", figure, 300)
    for text, figure, _, bound in with_goals(results):
        yield at_most(text, figure, bound)
    yield at_most("C: float32 / float64, one core", ratio_of("C", FLOAT32, WHOLE), 0.6)
    worst = row(results, "C", FLOAT32).get("difference")
    yield at_most("C: difference of float32, parts in a million", worst and worst * 1e6, 4)
    for peer in (*TENSORS, ARRAYS):
        yield at_least(f"C: {peer} / minigrad, one core", ratio_of("C", peer, WHOLE), 1)
    for case in ("D wide", "D deep"):
        yield at_most(f"{case}: kernel / {CASADI}", ratio_of(case, KERNEL, CASADI), 0.5)
    for case in CASES:
        if case.startswith("R"):
            yield at_most(f"{case}: kernel / flat tape", ratio_of(case, KERNEL, C), 1)
    growth = [entry["microseconds per node"] for entry in results.get("E", {}).get("rows", [])]
    yield at_most("E: µs per node, largest model", growth[-1] if growth else None, 3)
    # Small models are dearer, because every program costs a few ms; large ones must not be.
    spread = growth[-1] / min(growth) if growth else None
    yield at_most("E: linear: a node of the largest model / the cheapest", spread, 1.5)
    for case in CASES:
        worst = [row(results, case, peer).get("difference") for peer in (KERNEL, WHOLE, TWO_CORES)]
        worst = [figure for figure in worst if figure is not None]
        # A difference of exactly nothing is a figure too.
        figure = f"{max(worst):.1e}" if worst else None
        yield f"{case}: difference from eager <= 1e-12", figure, worst and max(worst) <= 1e-12


def table_of_claims(results):
    """The title, the columns and the lines for what must hold in the cases that were measured."""
    lines = _lines(claims(results), results)
    return "what must hold, in this run", ("claim", "measured", "holds"), lines


def table_of_goals(results):
    """The same for what was to be reached."""
    lines = _lines(goals(results), results)
    return "what was to be reached, in this run", ("goal", "measured", "reached"), lines


def _lines(said, results):
    return [
        (text, figure or "–", "not measured" if figure is None else "yes" if holds else "NO")
        for text, figure, holds in said
        if text.split(":")[0] in results
    ]
