"""How long a frame of the player takes in a real browser: `python bench/player.py`.

Opens the exported page of graphs of growing size in headless Chromium and moves the slider, to the
next frame and to random ones, and the pointer from variable to variable. "script" is the player's
own work with the layout that follows; "to screen" is from the event until the frame has been
painted, which includes the wait for the screen's own rhythm of 16.7 ms. Needs the `browser` extra
and a Chromium on the PATH (or its path in MINIGRAD_BROWSER).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from minigrad import nn, to_html
from minigrad.core.graph import topological_order

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
LIMIT_MS = 50.0

MEASURE = """async ([kind, moves]) => {
  const root = document.querySelector("minigrad-player").shadowRoot;
  const slider = root.querySelector('[data-player="slider"]');
  const units = [...root.querySelectorAll("[data-unit]")];
  const last = Number(slider.max);
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const acts = {
    next: (k) => { slider.value = k % (last + 1); slider.dispatchEvent(new Event("input")); },
    jump: () => { slider.value = random(last + 1); slider.dispatchEvent(new Event("input")); },
    hover: (k) => {
      units[k % units.length].dispatchEvent(new Event("pointerleave"));
      units[random(units.length)].dispatchEvent(new Event("pointerenter"));
    },
  };
  const script = [], screen = [];
  for (let k = 0; k < moves; k += 1) {
    await new Promise(requestAnimationFrame);
    const begun = performance.now();
    acts[kind](k);
    root.querySelector("svg.mg").getBoundingClientRect();
    script.push(performance.now() - begun);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    screen.push(performance.now() - begun);
  }
  return { script, screen };
}"""


def graph(values: int):
    """A network's output that is made of about so many values, and not more."""
    best = None
    for width in range(1, 40):
        out = nn.MLP(3, [width, width, 1], seed=1)([0.5, -1.0, 2.0])
        if len(topological_order(out)) <= values:
            best = out
    return best


def measure(browser, values: int, moves: int) -> dict:
    root = graph(values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "play.html"
        begun = time.perf_counter()
        to_html(root, path, limit=None)
        made = time.perf_counter() - begun
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        begun = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("main[data-ready=yes]")
        loaded = time.perf_counter() - begun
        size = path.stat().st_size
        times = {kind: page.evaluate(MEASURE, [kind, moves]) for kind in ("next", "jump", "hover")}
        page.close()
    return {
        "values": len(topological_order(root)),
        "made_ms": 1e3 * made,
        "loaded_ms": 1e3 * loaded,
        "kilobytes": size / 1024,
        **{
            kind: {
                name: {"median_ms": statistics.median(series), "worst_ms": max(series)}
                for name, series in found.items()
            }
            for kind, found in times.items()
        },
    }


def print_table(rows: list[dict]) -> None:
    table = Table(title=f"a frame of the player, ms: median / worst (wanted: < {LIMIT_MS:g})")
    for heading in ("values", "page made", "loaded", "KiB"):
        table.add_column(heading, justify="right")
    for kind in ("next", "jump", "hover"):
        table.add_column(f"{kind}: script", justify="right")
        table.add_column("to screen", justify="right")
    for row in rows:
        cells = [str(row["values"])]
        cells += [f"{row[name]:.0f}" for name in ("made_ms", "loaded_ms", "kilobytes")]
        for kind in ("next", "jump", "hover"):
            for part in ("script", "screen"):
                found = row[kind][part]
                cells.append(f"{found['median_ms']:.1f} / {found['worst_ms']:.1f}")
        table.add_row(*cells)
    console = Console(width=max(Console().width, 130))
    console.print(table)
    worst = max(rows[-1][kind]["screen"]["median_ms"] for kind in ("next", "jump"))
    verdict = "holds" if worst < LIMIT_MS else "DOES NOT HOLD"
    console.print(f"scrubbing {rows[-1]['values']} values: {worst:.1f} ms a frame: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--values", type=int, nargs="+", default=[50, 150, 500])
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("bench/player.py needs Playwright: pip install -e '.[browser]'")
    path = os.environ.get("MINIGRAD_BROWSER") or shutil.which("chromium")
    if path is None:
        sys.exit("bench/player.py needs Chromium on the PATH, or its path in MINIGRAD_BROWSER.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        sizes = track(options.values, "measuring", console=Console(stderr=True), transient=True)
        rows = [measure(browser, values, options.moves) for values in sizes]
        browser.close()
    if options.json:
        print(json.dumps(rows))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
