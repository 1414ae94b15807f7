"""How fast is eager scalar autodiff? `python bench/eager.py` measures; `--json FILE` keeps it.

Each engine runs in a process of its own and all take turns, round after round, so that a slow
moment of the machine hits every one of them. A step is timed in three parts: building the graph,
the backward pass, and freeing it. With the collector off, engines whose nodes form cycles are freed
by `gc.collect()`, because nothing else frees them; with it on, they are left to it. Times are
processor time.

A claim is a bound that every run on a machine like ours is to meet; a goal stands there whether it
is reached or not. No run fails because of them: the exit status is 0 when all was measured.

Peers come from bench/requirements.txt; one that is not installed is reported as missing.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean, median

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from engines import ENGINES, WORKLOADS, Floats  # noqa: E402

from bench.columns import print_table  # noqa: E402

# name -> (engine, collector on?)
CONTESTANTS = {
    "plain floats, forward only": ("floats", False),
    "minigrad native": ("native", False),
    "minigrad native, collector on": ("native", True),
    "minigrad pure": ("pure", False),
    "micrograd": ("micrograd", False),
    "micrograd, collector on": ("micrograd", True),
    "microgpt-style Value": ("microgpt-style", False),
    "PyTorch scalars": ("PyTorch", False),
    "xad": ("xad", False),
    "CasADi SX, symbols only": ("CasADi SX", False),
}
BASE, FLOATS = "minigrad native", "plain floats, forward only"


# ---- the process of one engine -----------------------------------------------------------------


def serve(name, collector):
    """Answer requests for steps, one line of JSON each, until the input ends."""
    try:
        engine = ENGINES[name]()
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), flush=True)
        return
    print(json.dumps({"ready": True}), flush=True)
    parameters = {}
    if not collector:
        gc.disable()
    for line in sys.stdin:
        task, workload = json.loads(line)
        if workload not in parameters:
            parameters = {workload: engine.parameters(workload)}
        if task == "memory":
            answer = measure_memory(engine, workload, parameters[workload])
        else:
            # A training loop does not stop after each step; nor does a turn. The first step of a
            # turn finds the caches full of the others' data and is not counted.
            steps = [measure_step(engine, workload, parameters[workload]) for _ in range(4)]
            answer = steps[1:]
        print(json.dumps(answer), flush=True)


def measure_step(engine, workload, parameters):
    clock = time.process_time  # what neighbours take of the machine is not counted
    start = clock()
    root = engine.build(workload, parameters)
    built = clock()
    engine.backward(root)
    passed = clock()
    del root
    engine.free(None)
    freed = clock()
    return [built - start, passed - built, freed - passed]


def measure_memory(engine, workload, parameters):
    """Bytes that a graph holds, built and after backward; several, to see past the noise."""
    copies = 4
    gc.collect()
    before = resident()
    kept = [engine.build(workload, parameters) for _ in range(copies)]
    built = resident()
    for root in kept:
        engine.backward(root)
    return [(built - before) / copies, (resident() - before) / copies]


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Contestant:
    """A running process, and the times it has given so far."""

    def __init__(self, engine, collector):
        self.environment = {**os.environ, "MINIGRAD_PURE": "1" if engine == "pure" else "0"}
        command = [sys.executable, __file__, "--serve", engine]
        self.process = subprocess.Popen(
            [*command, "--collector"] if collector else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        self.missing = json.loads(self.process.stdout.readline()).get("missing")

    def ask(self, task, workload):
        self.process.stdin.write(json.dumps([task, workload]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[3]} died in {workload}")
        return json.loads(answer)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


# ---- counting operations -----------------------------------------------------------------------


class Counted(float):
    """A float that counts what is done to it."""

    operations = 0

    def _count(name):  # noqa: N805
        plain = getattr(float, name)

        def method(self, *others):
            Counted.operations += 1
            return Counted(plain(self, *others))

        return method

    for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "pow", "neg"):
        locals()[f"__{_name}__"] = _count(f"__{_name}__")


def count_operations(workload):
    """Count the operations of a step by running it on numbers that count."""

    def counting(function):
        def counted(x):
            Counted.operations += 1
            return Counted(function(x))

        return staticmethod(counted)

    class kit(Floats.kit):  # noqa: N801
        exp, log, tanh, relu = map(
            counting, (Floats.kit.exp, Floats.kit.log, Floats.kit.tanh, Floats.kit.relu)
        )

    engine = Floats()
    engine.kit, engine.make = kit, Counted
    parameters = engine.parameters(workload)
    Counted.operations = 0
    engine.build(workload, parameters)
    return Counted.operations


# ---- the contest -------------------------------------------------------------------------------


def measure(workloads, rounds, say):
    """Run all contestants in turns; returns a dictionary fit for JSON."""
    results = {}
    for workload in workloads:
        operations = count_operations(workload)
        rows = {}
        contestants = {}
        for name, (engine, collector) in CONTESTANTS.items():
            contestant = Contestant(engine, collector)
            if contestant.missing:
                rows[name] = {"missing": contestant.missing}
                contestant.stop()
            else:
                contestants[name] = contestant
        times = {name: [] for name in contestants}
        memory = {}
        for name, contestant in contestants.items():  # first, in a process that held nothing yet
            say(f"{workload}, memory: {name}")
            memory[name] = contestant.ask("memory", workload)
        for k in range(1, rounds + 1):
            for name, contestant in contestants.items():
                say(f"{workload}, round {k} of {rounds}: {name}")
                times[name] += contestant.ask("steps", workload)
        for name, contestant in contestants.items():
            steps = [[part * 1e9 / operations for part in step] for step in times[name]]
            totals = [sum(step) for step in steps]
            best = min(steps, key=sum)
            rows[name] = {
                "build": best[0],
                "backward": best[1],
                "free": best[2],
                "min": min(totals),
                "median": median(totals),
                "mean": mean(totals),
                "bytes": memory[name][0] / operations,
                "bytes_after": memory[name][1] / operations,
            }
            contestant.stop()
        results[workload] = {
            "what": WORKLOADS[workload],
            "operations": operations,
            "rounds": rounds,
            "rows": {name: rows[name] for name in CONTESTANTS},
        }
    return results


COLUMNS = {
    "build": "build",
    "backward": "backward",
    "free": "free",
    "min": "total, min",
    "median": "total, median",
    "ratio": "× minigrad native",
    "bytes": "bytes/op, built",
    "bytes_after": "after backward",
}


def title(workload, result):
    return (
        f"{workload}: {result['what']}, {result['operations']:,} operations; nanoseconds per "
        f"operation, {result['rounds']} rounds"
    )


def lines(result):
    """Yield the cells of each row as texts."""
    rows = result["rows"]
    for name, row in rows.items():
        if "missing" in row:
            yield [name, f"missing: {row['missing']}", *[""] * (len(COLUMNS) - 1)]
            continue
        peer = f"{BASE}, collector on" if name.endswith("collector on") else BASE
        row["ratio"] = row["min"] / rows[peer]["min"]
        digits = {"ratio": 2, "bytes": 0, "bytes_after": 0}
        yield [name, *[f"{row[key]:,.{digits.get(key, 1)}f}" for key in COLUMNS]]


# Of each of W2 and W3: two rows, or one and a column of it; the goal, and what is claimed.
RATIOS = [
    ("micrograd", "minigrad native", ">=", 35, 35),
    ("micrograd, collector on", "minigrad native, collector on", ">=", 150, 150),
    ("PyTorch scalars", "minigrad native", ">=", 60, 60),
    ("xad", "minigrad native", ">=", 5, 5),
    ("minigrad native", FLOATS, "<=", 1.7, 2),
    ("micrograd", "minigrad pure", ">=", 4, 2.5),
]
NUMBERS = [
    ("nanoseconds of an operation", "min", "minigrad native", 65, 80),
    ("bytes per node", "bytes", "minigrad native", 130, 130),
    ("bytes per node", "bytes", "minigrad pure", 170, 190),
]


def with_goals(results):
    """Yield (what is measured, at least or at most, the figure, the goal, what is claimed)."""
    for workload in ("W2", "W3"):
        rows = results.get(workload, {}).get("rows", {})
        for dividend, divisor, sign, goal, bound in RATIOS:
            a, b = (rows.get(name, {}).get("min") for name in (dividend, divisor))
            if a and b:
                yield f"{workload}: {dividend} / {divisor}", sign, a / b, goal, bound
        for words, key, name, goal, bound in NUMBERS:
            if key in rows.get(name, {}):
                yield f"{workload}: {words}, {name}", "<=", rows[name][key], goal, bound


def judged(results, claimed):
    """Yield (a claim or else a goal, what was measured, whether it holds) for this run."""
    for text, sign, figure, goal, bound in with_goals(results):
        least = bound if claimed else goal
        holds = figure >= least if sign == ">=" else figure <= least
        yield f"{text} {sign} {least}", f"{figure:.3g}" if figure < 100 else f"{figure:.0f}", holds


# The same for a table of 80 columns.
HEADS = ("engine", "build", "back", "free", "min", "median", "×", "B/op", "after")
NOTE = "× is to minigrad native; bytes of an operation, built and after the backward pass"


def print_tables(results):
    for workload, result in results.items():
        print_table(f"{title(workload, result)}; {NOTE}", HEADS, shortened(result))
    for told, columns, said in ends(results):
        print_table(f"{told}, in this run", columns, said)


def ends(results):
    """Yield the title, the columns and the lines of goals and claims."""
    for told, columns, said in (
        ("what was to be reached", ("goal", "measured", "reached"), judged(results, False)),
        ("what is claimed", ("claim", "measured", "holds"), judged(results, True)),
    ):
        yield (
            told,
            columns,
            [(text, figure, "yes" if holds else "NO") for text, figure, holds in said],
        )


def shortened(result):
    """Yield the cells of each row, thousands of nanoseconds without a decimal."""
    for name, *figures in lines(result):
        yield [name, *(x.partition(".")[0] if "," in x and x[0].isdigit() else x for x in figures)]


def print_markdown(results):
    for workload, result in results.items():
        print(f"**{title(workload, result)}**\n")
        print(f"| engine | {' | '.join(COLUMNS.values())} |")
        print("|---|" + "---:|" * len(COLUMNS))
        for cells in lines(result):
            print(f"| {' | '.join(cells)} |")
        print()
    for _, columns, said in ends(results):
        print(f"| {' | '.join(columns)} |\n|---|---:|---|")
        for cells in said:
            print(f"| {' | '.join(cells)} |")
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--json", metavar="FILE", help="write the results for a program")
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--collector", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.collector)
        return
    from rich.console import Console

    progress = Console(stderr=True)
    with progress.status("starting") as status:
        results = measure(options.workloads, options.rounds, status.update)
    (print_markdown if options.markdown else print_tables)(results)
    if options.json:
        from setting import here

        Path(options.json).write_text(json.dumps({**here(), "cases": results}, indent=1))


if __name__ == "__main__":
    main()
