"""The cases of bench/compiled.py, what is claimed of them, tables and the chart."""

from __future__ import annotations

from dataclasses import dataclass

KERNEL, WHOLE, EAGER = "minigrad, kernel", "minigrad, whole call", "minigrad eager"
TWO_CORES, FLOAT32 = "minigrad, two cores", "minigrad, float32"
LOOP = "minigrad, backward()"
ARRAYS = "NumPy, whole arrays"
C, FAST_C = "C by hand", "C by hand, -ffast-math"
CLASSIC, MICROGPT = "classic Value", "microgpt-style Value"
NUMPY, TORCH, JAX, CASADI, NUMBA = (
    "NumPy by hand",
    "PyTorch",
    "jax.jit",
    "CasADi SX",
    "numba by hand",
)
PEERS = {
    KERNEL: "ours.Kernel",
    WHOLE: "ours.Compiled",
    TWO_CORES: "ours.TwoCores",
    FLOAT32: "ours.Float32",
    LOOP: "ours.Loop",
    C: "by_hand.C",
    FAST_C: "by_hand.FastC",
    NUMBA: "by_hand.Numba",
    NUMPY: "by_hand.NumPy",
    ARRAYS: "by_hand.WholeArrays",
    TORCH: "tensors.Torch",
    JAX: "tensors.Jax",
    CASADI: "scalars.Casadi",
    EAGER: "ours.Eager",
    MICROGPT: "scalars.Microgpt",
    "micrograd": "scalars.MicrogradPackage",
    CLASSIC: "scalars.Classic",
}
SCALARS = [EAGER, MICROGPT, CLASSIC]
TENSORS = [NUMPY, TORCH, JAX]


@dataclass(frozen=True)
class Case:
    """What is measured and who takes part; `scale` counts the parts that a time is divided by."""

    what: str
    peers: tuple[str, ...]
    scale: int = 1
    unit: str = "µs"


BOTH = (KERNEL, WHOLE)
ADAM, SGD = "B8 + Adam", "B8 + SGD"
TAPED = (*BOTH, C, EAGER)  # in D and R the C is a flat tape
BATCH = (WHOLE, *TENSORS, EAGER)
GPT = (*BOTH, C, FAST_C, *TENSORS, CASADI, *SCALARS)
CASES = {
    "T": Case("Rosenbrock's function of two numbers, 2 gradients", (WHOLE, NUMBA, JAX, EAGER)),
    "A": Case(
        "micrograd's demo: 100 points, 2-16-16-1, 337 gradients",
        (*BOTH, C, FAST_C, NUMBA, *TENSORS, CASADI, EAGER, MICROGPT, "micrograd", CLASSIC),
    ),
    "B4": Case("a GPT, 4 tokens, 4,192 gradients", GPT),
    "B8": Case("a GPT, 8 tokens, 4,192 gradients", GPT),
    "B16": Case("a GPT, 16 tokens, 4,192 gradients", GPT),
    ADAM: Case("the same, 8 tokens, with a step of Adam", (WHOLE, LOOP, C, *TENSORS, *SCALARS)),
    SGD: Case("the same with a step of SGD, by train_step and by hand", (WHOLE, LOOP, EAGER)),
    "M32": Case("a network 784-128-10, a batch of 32, with a step of SGD", BATCH),
    "M128": Case("the same, a batch of 128", BATCH),
    "C": Case(
        "Black-Scholes and five derivatives, a million options, per option",
        (WHOLE, TWO_CORES, FLOAT32, C, FAST_C, NUMBA, NUMPY, ARRAYS, TORCH, JAX, EAGER),
        1_000_000,
        "ns",
    ),
    "D wide": Case("a random graph, 200 levels of 500", (*BOTH, C, CASADI, EAGER)),
    "D deep": Case(
        "a random graph, operands mostly among the last 12 nodes", (*BOTH, C, CASADI, EAGER)
    ),
    "R trees": Case("50 points, 2-16-16-1, every sum a balanced tree", TAPED),
    "R RNN": Case("a recurrent network, 16 units, tanh, 20 steps", TAPED),
    "R convolution": Case("an image of 12×12, 4 filters of 3×3, a linear head", TAPED),
    "R GPT": Case("a GPT, 2 layers, width 32, 8 tokens", TAPED),
    "R shuffled": Case("50 points, 2-16-16-1, factors and terms in random order", TAPED),
}
TRAINING = "a GPT trained on {count:,} names with Adam, tracing and compiling included"
TRAINERS = (WHOLE, C, *TENSORS, *SCALARS)
SAMPLED = {MICROGPT, CLASSIC}  # too slow for all documents: measured on some, then extrapolated
SAMPLE = 20
TRAINED, LARGE, AGAIN = "B end to end", "E large", "E again"
LETTERS = "TABMCDRE"


# ---- what must hold ----------------------------------------------------------------------------


def claims(results):
    """Yield (what must hold, what was measured, whether it holds); None: it was not measured."""

    def row(case, peer):
        return results.get(case, {}).get("rows", {}).get(peer, {})

    def ratio(case, dividend, divisor, key="min"):
        a, b = row(case, dividend).get(key), row(case, divisor).get(key)
        return None if a is None or b is None else a / b

    def at_least(text, figure, bound):
        return text, figure and f"{figure:,.2f}", figure and figure >= bound

    def at_most(text, figure, bound):
        return text, figure and f"{figure:,.3g}", figure and figure <= bound

    for case, peer, bound in (
        ("A", CLASSIC, 5000),
        ("A", "micrograd", 5000),
        ("B8", CLASSIC, 3000),
        ("B8", MICROGPT, 3000),
    ):
        yield at_least(f"{case}: {peer} / kernel >= {bound}", ratio(case, peer, KERNEL), bound)
    microseconds = row("T", WHOLE).get("min")
    yield at_most("T: a whole call, µs <= 0.6", microseconds and microseconds * 1e6, 0.6)
    for case, bound in (("A", 1.25), ("B8", 1.5)):
        figure = ratio(case, WHOLE, KERNEL)
        yield at_most(f"{case}: whole call / kernel <= {bound}", figure, bound)
    for case in ("A", "B8"):
        yield at_most(f"{case}: kernel / {C} <= 1.2", ratio(case, KERNEL, C), 1.2)
    for case in ("A", "B4", "B8", "B16"):
        for peer in TENSORS:
            yield at_least(f"{case}: {peer} / whole call > 1", ratio(case, peer, WHOLE), 1.0)
    microseconds = row(SGD, LOOP).get("min")
    yield at_most(f"{SGD}: a loop by hand, µs <= 80", microseconds and microseconds * 1e6, 80)
    figure = ratio(TRAINED, CLASSIC, WHOLE, "seconds")
    yield at_least(f"B end to end: {CLASSIC} (extrapolated) / minigrad >= 300", figure, 300)
    for case in ("M32", "M128"):
        best = min(filter(None, (row(case, peer).get("min") for peer in TENSORS)), default=None)
        ours = row(case, WHOLE)
        figure = ours["min"] / best if best and "min" in ours else None
        yield at_most(f"{case}: minigrad / best of the others <= 1.2", figure, 1.2)
        yield at_most(f"{case}: traced and compiled, s <= 0.3", ours.get("ready"), 0.3)
        memory = ours.get("memory")
        yield at_most(f"{case}: memory for that, MB <= 100", memory and memory / 1e6, 100)
    for words, peer, bound in (("one core", WHOLE, 22), ("two cores", TWO_CORES, 12)):
        seconds = row("C", peer).get("min")
        yield at_most(f"C: ns per option, {words} <= {bound}", seconds and seconds * 1e9, bound)
    yield at_most("C: float32 / float64, one core <= 0.6", ratio("C", FLOAT32, WHOLE), 0.6)
    worst = row("C", FLOAT32).get("difference")
    yield at_most("C: difference of float32, parts in a million <= 4", worst and worst * 1e6, 4)
    for peer in (*TENSORS, ARRAYS):
        yield at_least(f"C: {peer} / minigrad, one core > 1", ratio("C", peer, WHOLE), 1.0)
    for case in ("D wide", "D deep"):
        yield at_most(f"{case}: kernel / {CASADI} <= 0.5", ratio(case, KERNEL, CASADI), 0.5)
    for case in CASES:
        if case.startswith("R"):
            yield at_most(f"{case}: kernel / flat tape <= 1", ratio(case, KERNEL, C), 1.0)
    growth = [entry["microseconds per node"] for entry in results.get("E", {}).get("rows", [])]
    yield at_most("E: µs per node, largest model <= 3", growth[-1] if growth else None, 3.0)
    # Small models are dearer, because every program costs a few ms; large ones must not be.
    spread = growth[-1] / min(growth) if growth else None
    yield at_most("E: linear: a node of the largest model / the cheapest <= 1.5", spread, 1.5)
    rows = results.get(LARGE, {}).get("rows", {})
    seconds = next((r[WHOLE].get("ready") for m, r in rows.items() if "chain" in m), None)
    yield at_most(f"{LARGE}: a chain of 100,000 is ready, s <= 1", seconds, 1.0)
    again = results.get(AGAIN, {}).get("rows", {})
    for what, run, bound in (
        ("small", "first", 0.007),
        ("small", "second", 0.003),
        ("lengths", "first", 0.40),
        ("lengths", "second", 0.25),
    ):
        seconds = again.get(what, {}).get(run)
        text = f"{AGAIN}: {AGAIN_NAMES[what]}, {run} run, ms <= {1e3 * bound:.0f}"
        yield at_most(text, seconds and 1e3 * seconds, 1e3 * bound)
    for case in CASES:
        worst = [row(case, peer).get("difference") for peer in (KERNEL, WHOLE, TWO_CORES)]
        worst = [figure for figure in worst if figure is not None]
        # A difference of exactly nothing is a figure too.
        figure = f"{max(worst):.1e}" if worst else None
        yield f"{case}: difference from eager <= 1e-12", figure, worst and max(worst) <= 1e-12


# ---- tables and chart --------------------------------------------------------------------------

STEP_COLUMNS = ("peer", "min", "median", "ratio", "ready, s", "difference")
TRAINING_COLUMNS = ("peer", "seconds", "× minigrad", "difference")
LARGE_COLUMNS = ("model", "nodes, M", "s", "MB", "ms", "jax s", "jax ms", "diff.")
AGAIN_COLUMNS = ("programs on disk, CPU ms", "first run", "second run")
AGAIN_NAMES = {"small": "a small program", "lengths": "twelve lengths of names"}
GROWTH_COLUMNS = ("width", "tokens", "nodes", "seconds", "µs per node", "bytes per node")


def base_of(rows):
    """The row that the others are compared with: ours if it was measured, else the C one."""
    return next((peer for peer in (KERNEL, WHOLE, C, EAGER) if "min" in rows.get(peer, {})), None)


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
            f"{row['min'] * factor:,.1f}",
            f"{row['median'] * factor:,.1f}",
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


def table_of_claims(results):
    """The same for what must hold in the cases that were measured."""
    lines = (
        (text, figure or "–", "not measured" if figure is None else "yes" if holds else "NO")
        for text, figure, holds in claims(results)
        if text.split(":")[0] in results
    )
    return "what must hold, in this run", ("claim", "measured", "holds"), lines


def tables(results):
    """The title, the columns and the lines of each table."""
    return [*(table_of(*item) for item in results.items()), table_of_claims(results)]


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
