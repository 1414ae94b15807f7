"""The tables of bench/compiled.py, and a chart."""

from __future__ import annotations

from .compiled_cases import (
    AGAIN,
    AGAIN_NAMES,
    CASES,
    EAGER,
    JAX,
    KERNEL,
    LARGE,
    SAMPLE,
    SAMPLED,
    TRAINED,
    WHOLE,
    C,
)
from .compiled_claims import table_of_claims, table_of_goals

STEP_COLUMNS = ("peer", "min", "median", "ratio", "ready, s", "difference")
TRAINING_COLUMNS = ("peer", "seconds", "× minigrad", "difference")
LARGE_COLUMNS = ("model", "nodes, M", "s", "MB", "ms", "jax s", "jax ms", "diff.")
AGAIN_COLUMNS = ("programs on disk, CPU ms", "first run", "second run")
GROWTH_COLUMNS = ("width", "tokens", "nodes", "seconds", "µs per node", "bytes per node")


def base_of(rows):
    """The row that the others are compared with: ours if it was measured, else the C one."""
    return next((peer for peer in (KERNEL, WHOLE, C, EAGER) if "min" in rows.get(peer, {})), None)


def _time(number):
    return f"{number:,.2f}" if number < 10 else f"{number:,.1f}"


def step_lines(result):
    factor = {"µs": 1e6, "ns": 1e9}[result["unit"]]
    rows = result["rows"]
    base = base_of(rows)
    for peer, row in rows.items():
        if "missing" in row:
            yield peer, f"missing: {row['missing']}", "", "", "", ""
            continue
        deviation = row["difference"]
        yield (
            peer,
            _time(row["min"] * factor),
            _time(row["median"] * factor),
            f"{row['min'] / rows[base]['min']:,.2f}",
            f"{row['ready']:,.2f}",
            "–" if deviation is None else f"{deviation:.1e}",
        )


def training_lines(result):
    rows = result["rows"]
    base = rows.get(WHOLE, {}).get("seconds")
    for peer, row in rows.items():
        if "missing" in row:
            yield peer, f"missing: {row['missing']}", "", ""
            continue
        note = ""
        if peer in SAMPLED:
            note = f" (by tokens, from {SAMPLE} documents in {row['measured']:.1f} s)"
        yield (
            peer + note,
            f"{row['seconds']:,.3f}",
            f"{row['seconds'] / base:,.2f}" if base else "–",
            f"{row['difference']:.1e}" if row.get("difference") is not None else "–",
        )


def growth_lines(result):
    for row in result["rows"]:
        yield (
            str(row["width"]),
            str(row["tokens"]),
            f"{row['nodes']:,}",
            f"{row['seconds']:,.3f}",
            f"{row['microseconds per node']:,.2f}",
            f"{row['bytes per node']:,.0f}",
        )
    if "missing" in result:
        yield f"missing: {result['missing']}", "", "", "", "", ""


def large_lines(result):
    for model, row in result["rows"].items():
        ours, theirs = row[WHOLE], row[JAX]
        if "missing" in ours:
            yield model, f"missing: {ours['missing']}", "", "", "", "", "", ""
            continue
        cells = ["–"] * 3
        if "ready" in theirs:
            pairs = [(ours[key], theirs[key]) for key in ("value", "slope")]
            worst = max(abs(a - b) / max(abs(b), 1e-300) for a, b in pairs)
            cells = [f"{theirs['ready']:,.1f}", f"{theirs['step'] * 1e3:,.1f}", f"{worst:.0e}"]
        yield (
            model,
            f"{ours['nodes'] / 1e6:,.2f}",
            f"{ours['ready']:,.2f}",
            f"{ours['bytes'] / 1e6:,.0f}",
            f"{ours['step'] * 1e3:,.1f}",
            *cells,
        )


def again_lines(result):
    for what, row in result["rows"].items():
        yield AGAIN_NAMES[what], *(f"{1e3 * row[run]:,.1f}" for run in ("first", "second"))
    if "missing" in result:
        yield f"missing: {result['missing']}", "", ""


def table_of(name, result):
    """The title, the columns and the lines of what one case has measured."""
    if name == LARGE:
        title = f"{name}: s and MB until ready, ms of a step; jax.jit on tensors; CPU time"
        return title, LARGE_COLUMNS, large_lines(result)
    if name == AGAIN:
        return f"{name}: what a second run of a script saves", AGAIN_COLUMNS, again_lines(result)
    if name == "E":
        return "E: tracing and compiling a growing GPT", GROWTH_COLUMNS, growth_lines(result)
    if name == TRAINED:
        return f"{name}: {result['what']}", TRAINING_COLUMNS, training_lines(result)
    title = f"{name}: {result['what']}; {result['unit']}, {result['rounds']} rounds"
    if base := base_of(result["rows"]):
        title += f"; ratio to {base}"
    return title, STEP_COLUMNS, step_lines(result)


def tables(results):
    """The title, the columns and the lines of each table."""
    ends = table_of_goals(results), table_of_claims(results)
    return [*(table_of(*item) for item in results.items()), *ends]


def print_markdown(title, columns, lines):
    """Print for a document."""
    rows = (columns, ["---", *["---:"] * (len(columns) - 1)], *lines)
    print(
        "\n".join([f"**{title}**\n", *(f"| {' | '.join(row)} |" for row in rows), ""]), flush=True
    )


def draw_chart(results, path):
    """Bars of the time of each peer as a multiple of ours, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    steps = {name: result for name, result in results.items() if name in CASES}
    if not steps:
        raise SystemExit("--chart: none of the cases A to D and R was measured.")
    heights = [0.5 + 0.26 * sum("min" in row for row in r["rows"].values()) for r in steps.values()]
    figure, axes = pyplot.subplots(
        len(steps),
        1,
        figsize=(8, 0.9 + sum(heights)),
        height_ratios=heights,
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, (name, result) in zip(axes[:, 0], steps.items(), strict=True):
        base = base_of(result["rows"])
        rows = {peer: row for peer, row in result["rows"].items() if "min" in row}
        ratios = [row["min"] / rows[base]["min"] for row in rows.values()]
        colours = ["#1f6feb" if peer.startswith("minigrad") else "#9aa4b0" for peer in rows]
        axis.barh(list(rows), ratios, color=colours, log=True)
        axis.axvline(1.0, color="black", linewidth=0.8)
        for place, ratio in enumerate(ratios):
            text = f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"
            axis.text(ratio * 1.1, place, text, va="center", fontsize=8)
        axis.set_title(f"{name}: {CASES[name].what} (1 = {base})", loc="left", fontsize=9)
        axis.invert_yaxis()
        axis.tick_params(labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel("time of a step, as a multiple (logarithmic)", fontsize=9)
    # One who is faster than the base still has a bar; the longest has room for its number.
    slowest = max(patch.get_width() for axis in axes[:, 0] for patch in axis.patches)
    axes[-1, 0].set_xlim(0.1, slowest * 8)
    figure.savefig(path, format="svg")
