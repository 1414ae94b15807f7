"""How fast is compiled scalar code? `python bench/compiled.py` measures, checks and prints.

    python bench/compiled.py                     # all cases: several minutes
    python bench/compiled.py A B --quick         # two of them, few rounds
    python bench/compiled.py --json results.json --chart results.svg

Cases: T, a function of two numbers, which is what a call costs; A, micrograd's demo; B, a small
GPT, one step and a training from end to end; M, a network 784-128-10 trained on batches, from
scalar code for one example; C, Black-Scholes with five derivatives on a million options; D,
irregular graphs of 100,000 nodes; R, models whose structure is hidden, against a flat tape; E, how
tracing and compiling grow with the model, large models, and second runs. A step is the value and
all gradients, in float64.

Each peer (see `peers/`) runs in a process of its own, on the same single core, and all take turns,
round after round, so that a slow moment of the machine hits every one of them. A round repeats the
step until 20 ms have passed. The collector is off; what the classic engines leave to it is
collected outside the clock. Every result is compared with minigrad's eager engine: the column
`difference` is the largest one, of value and gradient, relative to the largest number there.

Peers come from bench/requirements.txt; one that is not installed is reported as missing.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import select
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}

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
ROUND = 0.02  # seconds that a round lasts at least
LETTERS = "TABMCDRE"
PATIENCE = 180.0  # seconds that a peer may take for one answer


# ---- the process of one peer -------------------------------------------------------------------


def serve(peer, folder, cores):
    """Answer requests, one line of JSON each, until the input ends."""
    pin(int(cores))  # before anything counts the cores and makes a thread for each
    room, name = PEERS[peer].split(".")
    try:
        contestant = getattr(importlib.import_module(f"peers.{room}"), name)()
    except ImportError as error:
        say(missing=str(error))
        return
    say(ready=True)
    gc.disable()
    job, loops = None, 0
    for line in sys.stdin:
        task, argument = json.loads(line)
        if task == "prepare":
            job = None
            gc.collect()
            job, answer = prepare(contestant, argument, Path(folder) / "result.npz")
            loops = 0
        elif task == "round":
            loops, answer = time_round(job, loops)
        elif task == "train":
            answer = train(contestant, argument, Path(folder) / "result.npz")
        else:
            answer = getattr(contestant, task)(*argument)
        say(answer=answer)


def say(**message):
    print(json.dumps(message), flush=True)


def prepare(contestant, case, path):
    """Make the job of a case, save its result, and say how long it took to have the first one."""
    import numpy as np
    from peers import digits, problems

    if case == "C":
        problems.options()  # the data are not part of the preparation
    elif case.startswith("D"):
        problems.dag(case.split()[1])
    elif case.startswith("M"):
        digits.images(digits.batch_of(case))
        if hasattr(contestant, "made"):
            contestant.made(case)
    before = peak()
    start = time.perf_counter()
    if case in (ADAM, SGD):
        tokens = problems.encode(problems.DOCUMENTS[8])
        contestant.optimizer = case.split()[-1]
        job = problems.training_job(contestant, tokens)
    else:
        job = contestant.prepare(case)
    outcome = job.run()
    seconds, memory = time.perf_counter() - start, peak() - before
    value, gradient = job.read(outcome)
    if case == "C" and gradient.shape[1] == problems.OPTIONS:
        value, gradient = value[problems.CHECKED], gradient[:, problems.CHECKED]
    np.savez(path, value=value, gradient=gradient)
    return job, (seconds, memory)


def peak():
    """The largest size that this process has had, in bytes; 0 where nobody tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def time_round(job, loops):
    """Return the number of loops that fill a round, and seconds per step, a few times."""
    run, clock = job.run, time.perf_counter
    if not loops:
        loops = 1
        while (seconds := time_loops(run, loops, clock)) < ROUND:
            loops = int(loops * min(10.0, 1.2 * ROUND / max(seconds, 1e-9))) + 1
            tidy(job)
        tidy(job)
    times = []
    for _ in range(3 if loops > 1 else 1):
        times.append(time_loops(run, loops, clock) / loops)
        tidy(job)
    return loops, times


def time_loops(run, loops, clock):
    start = clock()
    for _ in range(loops):
        run()
    return clock() - start


def tidy(job):
    if job.after:
        job.after()


QUICK = 3.0  # seconds


def train(contestant, count_and_sample, path):
    """Train on `count` documents, or on a sample of them; return seconds and the tokens' share.

    Whoever is quick trains five times, tracing and compiling each time; the quickest counts.
    """
    import numpy as np
    from peers import problems

    count, sample = count_and_sample
    everything = problems.documents(count)
    some = everything
    if sample:  # evenly from the shortest to the longest
        by_length = sorted(everything, key=len)
        some = [by_length[k * (count - 1) // (sample - 1)] for k in range(sample)]
    rounds = []
    while not rounds or (max(rounds) < QUICK and len(rounds) < 5):  # from the start each time
        start = time.perf_counter()
        parameters = problems.train(contestant, some)
        rounds.append(time.perf_counter() - start)
    seconds = min(rounds)
    np.savez(path, value=0.0, gradient=parameters)
    predictions = [sum(len(tokens) - 1 for tokens in group) for group in (everything, some)]
    return seconds, predictions[0] / predictions[1]


class Contestant:
    """A running process; `missing` says why there is none."""

    def __init__(self, peer, cores=1):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", peer, self.folder.name, str(cores)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(ONE_THREAD if cores == 1 else {}), "MINIGRAD_CACHE": "0"},
        )
        self.missing = self.failed = None
        message = self.hear() or {"missing": self.failed}
        self.missing = message.get("missing")

    def ask(self, task, argument=None, patience=PATIENCE):
        """Return the answer, or None after a failure, which `failed` names."""
        if self.failed:
            return None
        self.process.stdin.write(json.dumps([task, argument]) + "\n")
        self.process.stdin.flush()
        message = self.hear(patience)
        return message and message["answer"]

    def hear(self, patience=PATIENCE):
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.failed = "failed (see above)" if ready else f"not ready after {patience:.0f} s"
        self.process.kill()
        return None

    def result(self):
        import numpy as np

        with np.load(Path(self.folder.name) / "result.npz") as saved:
            return saved["value"], saved["gradient"]

    def stop(self):
        with contextlib.suppress(BrokenPipeError):  # it may have died
            self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def pin(cores):
    """Keep this process on the last so many of the cores that it may use; where that exists."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


# ---- the contest -------------------------------------------------------------------------------


def difference(result, reference):
    """The largest difference of value and gradient, relative to the largest number of each."""
    import numpy as np

    def relative(a, b):
        return float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300))

    if result[1].shape != reference[1].shape:
        return float("nan")
    if result[1].ndim == 2:  # price and derivatives: each by its own size
        return max(relative(a, b) for a, b in zip(result[1], reference[1], strict=True))
    return max(map(relative, result, reference))


def measure(name, case, rounds, report):
    """Run all peers of a case in turns; returns a dictionary fit for JSON."""
    rows, contestants, results = {}, {}, {}
    for peer in case.peers:
        report(f"{name}: {peer} prepares")
        contestant = Contestant(peer, cores=2 if peer == TWO_CORES else 1)
        answer = None if contestant.missing else contestant.ask("prepare", name)
        if answer is None:
            rows[peer] = {"missing": contestant.missing or contestant.failed}
            contestant.stop()
            continue
        contestants[peer] = contestant
        results[peer] = contestant.result()
        rows[peer] = dict(zip(("ready", "memory"), answer, strict=True))
    times = {peer: [] for peer in contestants}
    for k in range(1, rounds + 1):
        for peer, contestant in contestants.items():
            report(f"{name}, round {k} of {rounds}: {peer}")
            times[peer] += contestant.ask("round") or []
    for peer, contestant in contestants.items():
        contestant.stop()
        if contestant.failed:
            rows[peer] = {"missing": contestant.failed}
            continue
        # The eager engine computes only the options that are compared.
        scale = len(results[peer][0]) if name == "C" and peer == EAGER else case.scale
        rows[peer] |= {
            "min": min(times[peer]) / scale,
            "median": median(times[peer]) / scale,
            "difference": difference(results[peer], results[EAGER]) if EAGER in results else None,
        }
    return {"what": case.what, "unit": case.unit, "rounds": rounds, "rows": rows}


def measure_training(count, report):
    """Train from the first call to the last parameter, once for each peer."""
    rows, results = {}, {}
    for peer in TRAINERS:
        report(f"B, end to end: {peer}")
        contestant = Contestant(peer)
        sample = SAMPLE if peer in SAMPLED else 0
        answer = None if contestant.missing else contestant.ask("train", [count, sample])
        if answer is None:
            rows[peer] = {"missing": contestant.missing or contestant.failed}
        else:
            seconds, share = answer
            rows[peer] = {"seconds": seconds * share, "measured": seconds}
            if not sample:
                results[peer] = contestant.result()
        contestant.stop()
    for peer, result in results.items():
        rows[peer]["difference"] = difference(result, results[EAGER]) if EAGER in results else None
    return {"what": TRAINING.format(count=count), "documents": count, "rows": rows}


def measure_growth(sizes, repeats, report):
    """Trace and compile ever larger models, each in a process that held nothing yet."""
    rows = []
    for width, length in sizes:
        nodes = count_operations(width, length)
        report(f"E: {nodes:,} nodes")
        answers = []
        for _ in range(repeats):
            contestant = Contestant(WHOLE)
            answer = None if contestant.missing else contestant.ask("grow", [width, length])
            contestant.stop()
            if answer is None:
                return {"missing": contestant.missing or contestant.failed, "rows": rows}
            answers.append(answer)
        seconds, size = map(min, zip(*answers, strict=True))
        rows.append(
            {
                "width": width,
                "tokens": length,
                "nodes": nodes,
                "seconds": seconds,
                "microseconds per node": seconds * 1e6 / nodes,
                "bytes per node": size / nodes,
            }
        )
    return {"rows": rows}


LARGE, AGAIN = "E large", "E again"


def measure_large(models, report):
    """Models that are large for scalar code; the tensor form, where there is one, by jax.jit."""
    rows = {}
    for model in models:
        rows[model] = {}
        for peer in (WHOLE, JAX):
            report(f"E: {model}, {peer}")
            contestant = Contestant(peer)
            patience = 5 * PATIENCE  # tens of millions of operations
            answer = None if contestant.missing else contestant.ask("large", [model], patience)
            contestant.stop()
            rows[model][peer] = answer or {"missing": contestant.missing or contestant.failed}
    return {"rows": rows}


def measure_again(repeats, report):
    """The first run of a script, and the second, which finds its programs on disk."""
    rows = {}
    for what in ("small", "lengths"):
        times = {"first": [], "second": []}
        for number in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                for run, found in times.items():
                    report(f"E, programs on disk: {what}, {run} run, {number + 1} of {repeats}")
                    contestant = Contestant(WHOLE)
                    answer = contestant.missing is None and contestant.ask("again", [what, folder])
                    contestant.stop()
                    if not answer:
                        return {"missing": contestant.missing or contestant.failed, "rows": rows}
                    found.append(answer)
        rows[what] = {run: min(found) for run, found in times.items()}
    return {"rows": rows}


def count_operations(width, length):
    """Count the operations of a model by running it on numbers that count."""
    import math

    from eager import Counted
    from peers import problems

    def counting(function):
        def counted(x):
            Counted.operations += 1
            return Counted(function(x))

        return staticmethod(counted)

    class kit:  # noqa: N801
        exp, log = counting(math.exp), counting(math.log)
        relu = counting(lambda x: max(x, 0.0))
        number = staticmethod(float)

    parameters, tokens = problems.growing(width, length, Counted)
    Counted.operations = 0
    problems.gpt_loss(parameters, tokens, kit)
    return Counted.operations


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
    figure = ratio("B end to end", CLASSIC, WHOLE, "seconds")
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

WIDTH = 80  # of what is printed
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


def tables(results):
    """Yield the title, the columns and the lines of each table."""
    for name, result in results.items():
        if name == LARGE:
            title = f"{name}: s and MB until ready, ms of a step; jax.jit on tensors; CPU time"
            yield title, LARGE_COLUMNS, large_lines(result)
        elif name == AGAIN:
            yield f"{name}: what a second run of a script saves", AGAIN_COLUMNS, again_lines(result)
        elif name == "E":
            yield "E: tracing and compiling a growing GPT", GROWTH_COLUMNS, growth_lines(result)
        elif name == "B end to end":
            yield f"{name}: {result['what']}", TRAINING_COLUMNS, training_lines(result)
        else:
            title = f"{name}: {result['what']}; {result['unit']}, {result['rounds']} rounds"
            if base := base_of(result["rows"]):
                title += f"; ratio to {base}"
            yield title, STEP_COLUMNS, step_lines(result)
    lines = (
        (text, figure or "–", "not measured" if figure is None else "yes" if holds else "NO")
        for text, figure, holds in claims(results)
        if text.split(":")[0] in results
    )
    yield "what must hold, in this run", ("claim", "measured", "holds"), lines


def print_tables(results):
    for title, columns, lines in tables(results):
        print("\n".join(["", *textwrap.wrap(title, WIDTH), *laid_out(columns, list(lines))]))


def laid_out(columns, lines):
    """Yield the lines of a table: figures are whole, and long texts go on in the next line.

    That is so on every terminal, and when somebody pipes it. A row of two cells has a text for all
    of its figures.
    """
    full = [cells for cells in (columns, *lines) if any(cells[2:])]
    sizes = [max(map(len, column)) for column in list(zip(*full, strict=True))[1:]]
    longest = max(len(cells[0]) for cells in (columns, *lines))
    first = min(longest, WIDTH - sum(sizes) - 2 * len(sizes))
    rule = "-" * (first + sum(sizes) + 2 * len(sizes))
    for cells in (columns, *lines):
        *before, name = textwrap.wrap(cells[0], first) or [""]
        yield from before
        if any(cells[2:]):
            figures = [cell.rjust(size) for cell, size in zip(cells[1:], sizes, strict=True)]
            yield "  ".join([name.ljust(first), *figures]).rstrip()
        else:
            indent = " " * (first + 2)
            yield textwrap.fill(name.ljust(first + 2) + cells[1], WIDTH, subsequent_indent=indent)
        if cells is columns:
            yield rule


def print_markdown(results):
    for title, columns, lines in tables(results):
        print(f"**{title}**\n")
        print(f"| {' | '.join(columns)} |")
        print("|---|" + "---:|" * (len(columns) - 1))
        for cells in lines:
            print(f"| {' | '.join(cells)} |")
        print()


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


# ---- the command -------------------------------------------------------------------------------


def main():
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="T, A, B, M, C, D, R, E; all if none is named")
    parser.add_argument("--rounds", type=int, help="turns of each peer (7; with --quick 2)")
    parser.add_argument("--quick", action="store_true", help="few rounds, few documents")
    parser.add_argument("--json", metavar="FILE", help="write the results for a program")
    parser.add_argument("--chart", metavar="FILE.svg", help="draw the ratios")
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    options = parser.parse_args()
    letters = [letter.upper() for letter in options.cases] or list(LETTERS)
    if unknown := set(letters) - set(LETTERS):
        known = ", ".join(LETTERS)
        parser.error(f"there is no case {', '.join(sorted(unknown))}; choose from {known}.")
    rounds = options.rounds or (2 if options.quick else 7)

    from peers import large, problems
    from rich.console import Console

    results = {}
    with Console(stderr=True).status("starting") as status:
        for name, case in CASES.items():
            if name[0] in letters:
                results[name] = measure(name, case, rounds, status.update)
            if name == SGD and "B" in letters:
                count = 100 if options.quick else 1_000
                results["B end to end"] = measure_training(count, status.update)
        if "E" in letters:
            sizes = problems.GROWTH[:5] if options.quick else problems.GROWTH
            results["E"] = measure_growth(sizes, 1 if options.quick else 3, status.update)
            models = list(large.MODELS)[: 2 if options.quick else None]
            results[LARGE] = measure_large(models, status.update)
            results[AGAIN] = measure_again(2 if options.quick else 5, status.update)
    (print_markdown if options.markdown else print_tables)(results)
    if options.json:
        from eager import here

        Path(options.json).write_text(json.dumps({**here(), "cases": results}, indent=1))
    if options.chart:
        draw_chart(results, options.chart)


if __name__ == "__main__":
    main()
