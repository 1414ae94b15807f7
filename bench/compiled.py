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
step until 20 ms have passed. Times are processor time, compilers' included, so that neighbours on
the machine count little; with two cores it is the time that passes. The collector is off; what the
classic engines leave to it is collected outside the clock. Every result is compared with minigrad's
eager engine: the column `difference` is the largest one, of value and gradient, relative to the
largest number there.

Peers come from bench/requirements.txt; one that is not installed is reported as missing. At the end
stand goals, reached or not, and claims, which every run on such a machine is to meet. The exit
status is 0 when all was measured, whatever they say; 1 after an error or Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import traceback
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from bench.columns import print_table  # noqa: E402
from bench.compiled_cases import (  # noqa: E402
    AGAIN,
    CASES,
    EAGER,
    JAX,
    LARGE,
    LETTERS,
    SAMPLE,
    SAMPLED,
    SGD,
    TRAINED,
    TRAINERS,
    TRAINING,
    TWO_CORES,
    WHOLE,
)
from bench.compiled_claims import table_of_claims, table_of_goals  # noqa: E402
from bench.compiled_tables import draw_chart, print_markdown, table_of  # noqa: E402
from bench.contestant import PATIENCE, Contestant  # noqa: E402

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


# ---- the command -------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="T, A, B, M, C, D, R, E; all if none is named")
    parser.add_argument("--rounds", type=int, help="turns of each peer (7; with --quick 2)")
    parser.add_argument("--quick", action="store_true", help="few rounds, few documents")
    parser.add_argument("--json", metavar="FILE", help="write the results for a program")
    parser.add_argument("--chart", metavar="FILE.svg", help="draw the ratios")
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    options = parser.parse_args()
    show = print_markdown if options.markdown else print_table
    letters = [letter.upper() for letter in options.cases] or list(LETTERS)
    if unknown := set(letters) - set(LETTERS):
        known = ", ".join(LETTERS)
        parser.error(f"there is no case {', '.join(sorted(unknown))}; choose from {known}.")
    results, broken = {}, []
    try:
        for name, measured in jobs(letters, options):
            try:
                results[name] = measured()
            except Exception:  # what the other cases have to say is not lost
                traceback.print_exc()
                broken.append(name)
            else:
                show(*table_of(name, results[name]))
    except KeyboardInterrupt:
        broken.append("the rest")
    for table in (table_of_goals(results), table_of_claims(results)):
        if table[-1]:  # some cases have no goals
            show(*table)
    if options.json:
        from setting import here

        Path(options.json).write_text(json.dumps({**here(), "cases": results}, indent=1))
    if options.chart:
        draw_chart(results, options.chart)
    if broken:
        raise SystemExit(f"Not measured, because of an error or Ctrl-C: {', '.join(broken)}.")


def jobs(letters, options):
    """Yield the name of each case in its order, and what measures it."""
    from peers import large, problems
    from rich.console import Console

    console, quick = Console(stderr=True), options.quick
    rounds = options.rounds or (2 if quick else 7)

    def job(measure, *arguments):
        def measured():  # no longer: what is printed below a status goes where that goes
            with console.status("starting") as status:
                return measure(*arguments, status.update)

        return measured

    for name, case in CASES.items():
        if name[0] in letters:
            yield name, job(measure, name, case, rounds)
        if name == SGD and "B" in letters:
            yield TRAINED, job(measure_training, 100 if quick else 1_000)
    if "E" in letters:
        sizes, repeats = (problems.GROWTH[:5], 1) if quick else (problems.GROWTH, 3)
        yield "E", job(measure_growth, sizes, repeats)
        yield LARGE, job(measure_large, list(large.MODELS)[: 2 if quick else None])
        yield AGAIN, job(measure_again, 2 if quick else 5)


if __name__ == "__main__":
    main()
