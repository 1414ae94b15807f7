"""How long the playground takes: python bench/playground.py [--moves 40]

In the environment of the tests, with Chromium and the playground built. Printed are medians: from
an edit to the picture (in the worker, and in all), and pictures a second while a slider moves; the
first answer is the CPU time of the browser's processes from the start of the page to the picture.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

EXPRESSIONS = {
    "neuron": "n = x1*w1 + x2*w2 + b\no = tanh(n)",
    "diamond": "(a*b + c) * (a - c)",
}
MLP = "from minigrad.nn import MLP\nMLP(2, [4, 1], seed=1)([1.0, -0.5])\n"
ASK = """async ([text, moves]) => {
  const app = globalThis.playground, times = [];
  const tab = app.tabs.expression;
  for (let k = 0; k < moves; k += 1) {
    const values = {}; values[Object.keys(tab.values)[0] ?? "a"] = 1 + k / 100;
    const from = performance.now();
    const request = { kind: "expression", text, remembered: values, along: "a" };
    const answer = await app.ask({ ...request, faults: app.picture.faults() });
    app.picture.show(answer);
    document.body.getBoundingClientRect();  // laid out
    times.push([answer.ms, performance.now() - from]);
  }
  return times;
}"""
RUN = """async ([text, moves]) => {
  const app = globalThis.playground, times = [];
  for (let k = 0; k < moves; k += 1) {
    const from = performance.now();
    const answer = await app.ask({ kind: "python", text, faults: app.picture.faults() });
    app.picture.show(answer);
    document.body.getBoundingClientRect();
    times.push([answer.ms, performance.now() - from]);
  }
  return times;
}"""
SLIDE = """async () => {
  const slider = document.querySelector('.slider input[type="range"]');
  const before = Number(document.body.dataset.answers), from = performance.now();
  for (let k = 0; performance.now() - from < 2000; k += 1) {
    slider.value = (k % 100) / 20;
    slider.dispatchEvent(new Event("input"));
    await new Promise(requestAnimationFrame);
  }
  return (Number(document.body.dataset.answers) - before) / 2;
}"""
DOCTOR = """async (text) => (await globalThis.playground.ask({ kind: "doctor", text }, 60)).ms"""


def cpu_of(pids: set[int]) -> float:
    """Add up the CPU seconds of processes."""
    ticks = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def below(pid: int) -> set[int]:
    """Name a process and all that it has started."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--moves", type=int, default=40)
    moves = options.parse_args().moves
    import minigrad_playground
    from conftest import FLAGS, find_chromium
    from playwright.sync_api import sync_playwright

    from minigrad.check.doctor.catalogue import FAULTS
    from minigrad.check.doctor.signatures import patient, source
    from minigrad.playground.server import Server

    with Server(minigrad_playground.folder()) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_context(viewport={"width": 1280, "height": 860}).new_page()
        time.sleep(1)
        used = below(os.getpid())
        before = cpu_of(used)
        page.goto(server.url)
        page.wait_for_selector('minigrad-player [data-player="count"]', timeout=120_000)
        after = cpu_of(below(os.getpid()))
        print(f"first answer: {after - before:.2f} s of CPU, browser and server together")
        for name, text in EXPRESSIONS.items():
            tell(name, page.evaluate(ASK, [text, moves]))
        tell("MLP(2, [4, 1])", page.evaluate(RUN, [MLP, moves]))
        print(f"slider: {page.evaluate(SLIDE):.1f} pictures a second")
        for name, text in {
            "sound": source("closure"),
            "sick": patient(FAULTS["overwrite"]),
        }.items():
            times = [page.evaluate(DOCTOR, text) for _ in range(3)]
            print(f"doctor, {name}: {statistics.median(times) / 1000:.2f} s")
        browser.close()
        server.shutdown()


def tell(name: str, times: list[list[float]]) -> None:
    """Print the medians of an edit."""
    worker, total = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{name}: edit to picture {total:.1f} ms (Python {worker:.1f} ms)")


if __name__ == "__main__":
    main()
