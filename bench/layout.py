"""How good and how fast is the layout? `python bench/layout.py` prints; `--json` too.

The same boxes and edges go to our layout and to Graphviz, one after the other, and both drawings
are judged by the same code (tests/drawings.py): pairs of edges that cross, and edges that run
through a box. Our time is the median of several runs in this process. Graphviz's includes starting
the program and writing JSON, without reading it. For the large graphs only our time is taken.

"held out" are graphs that were added after the constants of the layout were chosen.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import drawings  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from minigrad.view.layout import layout  # noqa: E402

LARGE = {
    "moons, 12 points": lambda: drawings.units(drawings.moons_loss()),
    "ladder 800": lambda: drawings.units(drawings.ladder(800)),
    "chain with skips": drawings.skipping_chain,
}


def timed(run, times):
    """The result of a function, and the median of its times in milliseconds."""
    measured = []
    for _ in range(times):
        start = time.perf_counter()
        result = run()
        measured.append(1e3 * (time.perf_counter() - start))
    return result, median(measured)


def measure(name, sizes, edges, times):
    ours, our_ms = timed(lambda: layout(sizes, edges), times)
    source = drawings.graphviz_source(sizes, edges)
    _, their_ms = timed(lambda: drawings.run_graphviz(source), 1)
    theirs = drawings.graphviz_drawing(sizes, edges)
    return {
        "graph": name,
        "units": len(sizes),
        "edges": len(edges),
        "ours_ms": round(our_ms, 1),
        "graphviz_ms": round(their_ms, 1),
        "ours_crossings": len(drawings.crossing_pairs(ours, edges)),
        "graphviz_crossings": len(drawings.crossing_pairs(theirs, edges)),
        "ours_through": len(drawings.through_boxes(ours, sizes, edges)),
        "graphviz_through": len(drawings.through_boxes(theirs, sizes, edges)),
    }


def measure_time(name, sizes, edges):
    _, our_ms = timed(lambda: layout(sizes, edges), 3)
    return {"graph": name, "units": len(sizes), "edges": len(edges), "ours_ms": round(our_ms, 1)}


def total(name, rows):
    keys = [key for key in rows[0] if key != "graph"]
    return {"graph": name, **{key: round(sum(row[key] for row in rows), 1) for key in keys}}


def ratio(row):
    ours, theirs = row.get("ours_crossings"), row.get("graphviz_crossings")
    if ours is None:
        return ""
    return f"{ours / theirs:.2f}" if theirs else ("1.00" if not ours else "∞")


def show(groups, console):
    table = Table(title="Layout: ours and Graphviz on the same boxes")
    table.add_column("graph")
    for heading in ("units", "edges", "ms", "ms, Graphviz", "crossings", "Graphviz", "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("through boxes", justify="right")
    table.add_column("Graphviz", justify="right")
    keys = ["units", "edges", "ours_ms", "graphviz_ms", "ours_crossings", "graphviz_crossings"]
    for rows in groups.values():
        for row in rows:
            cells = [str(row.get(key, "–")) for key in keys]
            through = [str(row.get(key, "–")) for key in ("ours_through", "graphviz_through")]
            style = "bold" if row["graph"].startswith("total") else None
            table.add_row(row["graph"], *cells, ratio(row), *through, style=style)
        table.add_section()
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--times", type=int, default=5, help="runs of our layout for each graph")
    options = parser.parse_args()
    groups = {}
    for title, families in (("tuned on", drawings.FAMILIES), ("held out", drawings.HELD_OUT)):
        graphs = {name: drawings.units(make()) for name, make in families.items()}
        rows = [measure(name, *graph, options.times) for name, graph in graphs.items()]
        groups[title] = [*rows, total(f"total, {title}", rows)]
    groups["large"] = [measure_time(name, *make()) for name, make in LARGE.items()]
    if options.json:
        print(json.dumps(groups, indent=2, ensure_ascii=False))
    else:
        show(groups, Console(width=None if sys.stdout.isatty() else 130))


if __name__ == "__main__":
    main()
