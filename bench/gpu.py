"""Scalar code on an accelerator: `python bench/gpu.py SECTION… --json results.json`.

    python bench/gpu.py black-scholes --json results.json  # on a machine with a card
    python bench/gpu.py gpt mlp --json results.json        # the same file: sections are merged
    python bench/gpu.py cpu --json results.json            # on any machine, one thread
    python bench/gpu.py gpt --small --only "T = 8"         # few and small, to try it anywhere
    python bench/gpu.py --tables results.json              # the tables of docs/scaling.md

Sections: black-scholes, prices and five derivatives of 1e8 options; gpt, the GPT of names, one step
of a batch; mlp, 784-128-10 from the loss of one example; cpu, what is claimed of a machine without
a card. Ours is always `minigrad.to_jax` of a function of plain scalars, differentiated by JAX and
batched by `jax.vmap`. The peers are written by hand, in matrices (peers/jax_by_hand.py,
peers/torch_by_hand.py); float32 is at the highest precision of products unless it says tf32.

Candidates of a row are built, checked against a hand-written reference in float64 (a wrong result
is not timed, and the exit status is 1), then timed in turns, round after round. The statistic was
chosen beforehand: on a card the median over 7 rounds of wall time, where a round makes calls for
50 ms and waits for the last with block_until_ready; in `cpu` the minimum over 25 rounds of wall
time, as other work on the machine only ever adds to it. (The process's CPU time would not do: XLA's
threads are charged late, and a round may seem to take nothing.) Ratios are to the fastest of the
hand-written ways. A row is written as soon as it is there.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from contestant import ONE_THREAD, pin
from gpu_page import JAX, OURS, TORCH, ratio, tables

if {"cpu", "--probe"} & set(sys.argv):  # JAX and NumPy read it when they are imported
    os.environ.update(ONE_THREAD)
    pin(1)
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # PyTorch needs memory too

import jax
import jax.numpy as jnp
import numpy as np
from peers import jax_by_hand, ours, problems

from minigrad import Value, to_jax
from minigrad.check import selftest

# Of the largest number, against float64.
BOUND = {"float64": 1e-12, "float32": 5e-5, "tf32": 0.03}
KINK = 1e-5  # a relu is not tried nearer to 0 than that: its arguments are of the order of 1
RANGES = [(50.0, 150.0), (50.0, 150.0), (0.1, 2.0), (0.0, 0.08), (0.1, 0.6)]
# What computes nothing by itself in a compiled module; all else is a kernel or a library's call.
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "call", "after-all"}
KIT = ours.Compiled.kit


@dataclass(frozen=True)
class Timing:
    clock: Callable[[], float]
    statistic: Callable[[list[float]], float]
    rounds: int
    least: float  # seconds that a round lasts


ON_CARD = Timing(time.perf_counter, median, 7, 0.05)
ON_CPU = Timing(time.perf_counter, min, 25, 0.02)


@dataclass(frozen=True)
class Candidate:
    """Somebody's way to compute a row's numbers; `read` makes NumPy arrays of an answer."""

    run: Callable[[], Any]
    wait: Callable[[Any], Any]
    read: Callable[[Any], list[Any]]
    facts: dict[str, float] = field(default_factory=dict)

    def round(self, clock, loops):
        began = clock()
        for _ in range(loops):
            answer = self.run()
        self.wait(answer)
        return (clock() - began) / loops


class Contest:
    """One row: candidates enter, each is built and checked; then they are timed in turns."""

    def __init__(self, row, reference, timing=ON_CARD):
        self.row, self.reference, self.timing = row, reference, timing
        self.candidates, self.results = {}, {}
        row.update(seconds={}, error={}, facts={}, failed={})

    def enter(self, name, build, *arguments, **options):
        try:
            candidate = build(*arguments, **options)
            self.results[name] = result = candidate.read(candidate.run())
            error = difference(result, self.reference)
        except Exception as trouble:  # whatever goes wrong with one, the others go on
            first = str(trouble).strip().partition("\n")[0]
            self.row["failed"][name] = f"{type(trouble).__name__}: {first[:200]}"
            return
        self.row["error"][name], self.row["facts"][name] = error, candidate.facts
        if error <= BOUND[self.row["type"]]:
            self.candidates[name] = candidate
        else:
            self.row["failed"][name] = f"wrong by {error:.1e}"

    def run(self):
        clock, loops, times = self.timing.clock, {}, {}
        for name, candidate in self.candidates.items():
            candidate.round(clock, 2)
            once = candidate.round(clock, 3)
            loops[name], times[name] = max(1, min(10_000, round(self.timing.least / once))), []
        for _ in range(self.timing.rounds):
            for name, candidate in self.candidates.items():
                times[name].append(candidate.round(clock, loops[name]))
        self.row["seconds"] = {name: self.timing.statistic(found) for name, found in times.items()}
        return self.row


def difference(found, wanted):
    """The largest difference relative to the largest number, array by array."""
    pairs = [(np.asarray(a), np.asarray(b, float)) for a, b in zip(found, wanted, strict=True)]
    return float(max(np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs))


def xla(function, *arguments, read, tf32=False):
    """Compile for these arguments; what the compiled module has is among the facts."""
    began = time.perf_counter()
    with contextlib.nullcontext() if tf32 else jax.default_matmul_precision("highest"):
        compiled = jax.jit(function).lower(*arguments).compile()
    facts, text = {"compile": time.perf_counter() - began}, compiled.as_text()
    facts |= {"kernels": kernels(text), "scatters": text.count(" scatter(")}
    return Candidate(lambda: compiled(*arguments), jax.block_until_ready, read, facts)


def kernels(text):
    """How many instructions of an optimised module run on the device."""
    bodies, entry, name = {}, "", ""
    for line in text.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line):
            name = head[2]
            entry = name if head[1] else entry
        elif found := re.match(r"\s+(?:ROOT )?%?[\w.\-]+ = .*?\b([a-z][\w\-]*)\(", line):
            called = re.search(r"to_apply=%?([\w.\-]+)", line)
            bodies.setdefault(name, []).append((found[1], called and called[1]))

    def count(name):
        body = bodies.get(name, [])
        inside = sum(count(called) for op, called in body if op == "call")
        return inside + sum(op not in FREE for op, _ in body)

    return count(entry)


# ---- Black-Scholes -----------------------------------------------------------------------------


def black_scholes(options):
    count = 100_000 if options.small else 100_000_000
    stride = max(1, count // 100_000)  # the points whose numbers are compared
    keys = jax.random.split(jax.random.key(0), 5)
    uniform = partial(jax.random.uniform, shape=(count,), dtype=jnp.float32)
    single = [uniform(key, minval=a, maxval=b) for key, (a, b) in zip(keys, RANGES, strict=True)]

    def sampled(answer):
        return [np.asarray(x[::stride]) for x in (answer[0], *answer[1])]

    peers = {
        f"{JAX}, {name}": jax_by_hand.greeks(partial(jax_by_hand.call_price, normal=normal))
        for name, normal in jax_by_hand.NORMALS.items()
    }
    exact = jax.jit(peers[f"{JAX}, ndtr"])(*(x[::stride].astype(float) for x in single))
    for kind in ("float32", "float64"):
        row = {"label": f"{count:,} options, {kind}", "type": kind, "points": count}
        if not re.search(options.only, row["label"]):
            continue
        data = [x.astype(kind) for x in single]
        row["bytes"] = 11 * data[0].nbytes  # five numbers in, six out
        contest = Contest(row, [exact[0], *exact[1]])
        fn, none = to_jax(partial(problems.call_price, kit=KIT), *(100.0,) * 5, dtype=kind)
        mine = jax_by_hand.greeks(partial(fn, none))
        for name, function in {OURS: mine, **peers}.items():
            contest.enter(name, xla, function, *data, read=sampled)
        for name, mode in ((TORCH, None), (f"{TORCH}, compiled", "default")):
            contest.enter(name, torch_prices, data, stride, mode)
        yield contest.run()
    if re.search(options.only, "copy"):
        yield copies(10**6 if options.small else 10**9)


def torch_prices(data, stride, mode):
    from peers import torch_by_hand as peer

    leaves = [peer.leaf(x) for x in data]
    step = peer.step(peer.call_price, leaves, leaves, mode)
    read = lambda found: peer.read((found[0][::stride], [g[::stride] for g in found[1]]))  # noqa: E731
    return Candidate(step, peer.wait, read)


def copies(count):
    """What the memory gives: kernels that read and write as many numbers as there are."""
    row = {"label": "copy", "type": "float32", "points": count, "bytes": 8 * count}
    contest = Contest(row, [2.0])
    ones = jnp.ones(count, jnp.float32)
    contest.enter("JAX, x * 2", xla, lambda x: x * 2, ones, read=lambda y: [y[-1]])

    def cloned():
        from peers import torch_by_hand as peer

        twos = peer.torch.full((count,), 2.0, device=peer.DEVICE)
        return Candidate(twos.clone, peer.wait, lambda y: [y[-1].cpu().numpy()])

    contest.enter(f"{TORCH}, clone", cloned)
    return contest.run()


# ---- models ------------------------------------------------------------------------------------


class Model:
    """The loss of one example in scalars, and the same by hand for a batch, with the same numbers.

    `arrays` are rounded to float32, so that all types compute with the same; `values` are the
    parameters of the scalar loss, in their order.
    """

    def __init__(self, loss, example, values, arrays, by_hand):
        self.loss, self.example, self.values, self.by_hand = loss, example, values, by_hand
        self.arrays = [np.asarray(array, np.float32) for array in arrays]
        self.traced, self.exact = cache(self._traced), cache(self._exact)

    def _traced(self, kind):
        """`to_jax`, the places of its parameters among ours, and the seconds that it took."""
        began = time.perf_counter()
        fn, _ = to_jax(self.loss, *self.example, dtype=kind)
        seconds, index = time.perf_counter() - began, {id(v): k for k, v in enumerate(self.values)}
        return fn, np.array([index[id(value)] for value in fn.parameters]), seconds

    def ours(self, kind, batch, row):
        fn, where, row["trace"] = self.traced(kind)
        params = np.concatenate([array.ravel() for array in self.arrays])[where]
        axes = (None, *(0 for _ in batch))
        mean = lambda p, *x: jax.vmap(fn, axes)(p, *x).mean()  # noqa: E731

        def read(answer):
            gradient = np.empty(len(where))
            gradient[where] = answer[1]
            return [answer[0], gradient]

        function = jax.value_and_grad(fn if row["B"] == 1 else mean)
        params = jnp.asarray(params, fn.lowered.dtype)
        return xla(function, params, *batch, read=read, tf32=kind == "tf32")

    def hand(self, name, kind, batch):
        arrays = [
            jnp.asarray(x, "float64" if kind == "float64" else "float32") for x in self.arrays
        ]
        function = jax.value_and_grad(self.by_hand[name])
        read = lambda answer: joined([answer[0], *answer[1]])  # noqa: E731
        return xla(function, arrays, *batch, read=read, tf32=kind == "tf32")

    def _exact(self, data, count):
        candidate = self.hand(next(iter(self.by_hand)), "float64", data(count))
        return candidate.read(candidate.run())

    def contest(self, row, data, timing=ON_CARD):
        """All ways in JAX; `data(count)` makes a batch, the same each time."""
        kind, batch = row["type"], data(row["B"])
        contest = Contest(row, self.exact(data, row["B"]), timing)
        contest.enter(OURS, self.ours, kind, batch, row)
        for name in self.by_hand:
            contest.enter(name, self.hand, name, kind, batch)
        results, first = contest.results, next(iter(self.by_hand))
        if {OURS, first} <= set(results):  # f32 is claimed against hand-written f32
            row["apart"] = difference(results[OURS], results[first])
        return contest


def joined(found):
    return [found[0], np.concatenate([np.ravel(x) for x in found[1:]])]


@cache
def gpt_model(width, length):
    p = problems.gpt_parameters(Value, width=width, block=length)
    loss = lambda tokens: problems.gpt_loss(p, tokens, KIT)  # noqa: E731

    def by_hand(arrays, tokens, one_hot):
        return jax_by_hand.gpt_loss(dict(zip(p, arrays, strict=True)), tokens, one_hot)

    arrays = problems.gpt_parameters(np.float32, width=width, block=length).values()
    ways = {"indices": False, "one-hot": True}
    peers = {f"{JAX}, {name}": partial(by_hand, one_hot=way) for name, way in ways.items()}
    model = Model(loss, [[k % 27 for k in range(length + 1)]], problems.flat(p), arrays, peers)
    exact = {name: jnp.asarray(x, "float64") for name, x in zip(p, model.arrays, strict=True)}
    model.nearest_kink = jax.jit(partial(jax_by_hand.nearest_kink, exact))
    return model


def gpt_rows(width, length, kinds, batches, options, timing=ON_CARD):
    @cache
    def documents(count):
        """As many documents of random letters; one alone has no axis for it.

        Those in which a relu is within rounding of its kink are drawn anew: there both slopes are
        right, every way to compute in float32 takes one by chance, and the whole gradient of one
        hidden unit hangs on it. Among 16 million relus there is nearly always such a one.
        """
        draw = partial(np.random.default_rng(count).integers, 0, problems.VOCABULARY)
        letters = draw((count, length + 1))
        nearest_kink = gpt_model(width, length).nearest_kink
        while (near := np.asarray(nearest_kink(letters.astype(np.int32))) < KINK).any():
            letters[near] = draw((int(near.sum()), length + 1))
        return [jnp.asarray(letters if count > 1 else letters[0], jnp.int32)]

    for kind in kinds:
        for count in batches:
            label = f"width {width}, T = {length}, B = {count}, {kind}"
            row = {"label": label, "type": kind, "width": width, "T": length, "B": count}
            if re.search(options.only, label):
                yield gpt_model(width, length).contest(row, documents, timing).run()


def gpt(options):
    batches = {16: (256, 4096, 16384, 65536), 64: (256, 4096)}
    if options.small:
        batches = {16: (8, 32), 64: (4,)}
    for width, length in ((16, 8), (16, 16), (64, 16)):
        kinds = ("float32", "float64", "tf32")
        yield from gpt_rows(width, length, kinds, batches[width], options)


def mlp(options):
    sizes, rng = (784, 128, 10), np.random.default_rng(0)
    layers = [(rng.normal(0, n**-0.5, (m, n)), rng.normal(0, 0.1, m)) for n, m in pairwise(sizes)]
    arrays = [x.astype(np.float32) for layer in layers for x in layer]
    (w1, b1, w2, b2) = ([Value(float(x)) for x in array.ravel()] for array in arrays)

    def linear(x, w, b):
        rows = [w[at : at + len(x)] for at in range(0, len(w), len(x))]
        return [total + bias for total, bias in zip(problems.linear(x, rows), b, strict=True)]

    def loss(pixels, label):
        hidden = [KIT.relu(x) for x in linear(pixels, w1, b1)]
        return -KIT.log(KIT.take(problems.softmax(linear(hidden, w2, b2), KIT), label))

    @cache
    def digits(count):
        rng = np.random.default_rng(count)
        pixels, labels = rng.random((count, sizes[0])), rng.integers(0, sizes[-1], count)
        return [jnp.asarray(pixels, jnp.float32), jnp.asarray(labels, jnp.int32)]

    example, values = [np.full(sizes[0], 0.5), 3], [*w1, *b1, *w2, *b2]
    model = Model(loss, example, values, arrays, {JAX: jax_by_hand.mlp_loss})
    modes = {TORCH: None, f"{TORCH}, compiled": "default"}
    modes[f"{TORCH}, CUDA graphs"] = "reduce-overhead"
    for count in (32, 128) if options.small else (128, 512, 2048, 8192, 65536):
        row = {"label": f"B = {count}, float32", "type": "float32", "B": count}
        if re.search(options.only, row["label"]):
            contest = model.contest(row, digits)
            for name, mode in modes.items():
                contest.enter(name, torch_mlp, arrays, digits(count), mode)
            yield contest.run()


def torch_mlp(arrays, batch, mode):
    from peers import torch_by_hand as peer

    leaves, (pixels, labels) = [peer.leaf(x) for x in arrays], map(peer.tensor, batch)
    step = peer.step(peer.mlp_loss, leaves, (leaves, pixels, labels.long()), mode)
    return Candidate(step, peer.wait, lambda answer: joined(peer.read(answer)))


# ---- without a card ----------------------------------------------------------------------------


def cpu(options):
    batches = (1, 8) if options.small else (1, 64, 256, 1024)
    for length in (8, 16):
        yield from gpt_rows(16, length, ["float64"], batches, options, ON_CPU)
    rounds = 1 if options.small else 3
    with tempfile.TemporaryDirectory() as folder:
        cached = {"JAX_COMPILATION_CACHE_DIR": folder}
        cached |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        if re.search(options.only, "B16"):
            yield fresh("B16", "B16", rounds)
            fresh("B16", "fill the cache", 1, cached)
            yield fresh("B16", "B16, compiled code from the cache", rounds, cached)
    for case in ("D wide", "D deep"):
        if re.search(options.only, case):
            yield fresh(case, f"{case} (irregular)", rounds)


def fresh(case, label, rounds, environment=None):
    """The fastest of so many fresh processes; what they import is not counted."""
    command = [sys.executable, __file__, "--probe", case]
    ask = partial(subprocess.run, command, env=os.environ | (environment or {}), timeout=300)
    found = [json.loads(ask(check=True, capture_output=True).stdout) for _ in range(rounds)]
    return {"label": label, "probe": min(found, key=lambda row: row["both"]), "failed": {}}


def probe(case):
    """Trace and compile in this process, or be refused; prints CPU seconds."""
    importlib.import_module("minigrad.compiler.backends.jax.to_jax")  # not counted, as JAX is not
    loss, arguments, _ = ours.Compiled().problem(case)
    began, said = time.process_time(), ""
    try:
        fn, params = to_jax(loss, *arguments)
        traced = time.process_time()
        arrays = [jnp.asarray(x) for x in arguments]
        jax.jit(jax.value_and_grad(fn)).lower(params, *arrays).compile()
    except Exception as refusal:
        traced, said = time.process_time(), f"{type(refusal).__name__}: {refusal}"
    end = time.process_time()
    times = {"trace": traced - began, "compile": end - traced, "both": end - began}
    print(json.dumps(times | {"said": said}))


# ---- the command -------------------------------------------------------------------------------

SECTIONS = {"black-scholes": black_scholes, "gpt": gpt, "mlp": mlp, "cpu": cpu}


def facts():
    """The machine, and what runs on it."""
    known, device = selftest.facts(), jax.devices()[0]
    card = known["CPU"] if device.platform == "cpu" else device.device_kind
    kept = {name: known[name] for name in ("Python", "numpy", "jax", "torch") if name in known}
    return {"card": card, "date": f"{datetime.now(UTC):%Y-%m-%d}", "versions": kept}


def line(row):
    """A row as it comes."""
    if "probe" in row:
        return f"{row['label']}: {row['probe']}"
    parts = [row["label"]]
    if ratio(row):
        parts[0] += f": ours / by hand {ratio(row):.2f}"
    if "apart" in row:
        parts[0] += f", apart {row['apart']:.1e}, traced in {row['trace']:.1f} s"
    for name, seconds in row["seconds"].items():
        made = ", ".join(f"{what} {x:.3g}" for what, x in row["facts"][name].items())
        error = row["error"][name]
        parts.append(f"    {name:22} {seconds * 1e6:12,.1f} µs   error {error:.1e}   {made}")
    return "\n".join(parts + [f"    {name:22} {said}" for name, said in row["failed"].items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--small", action="store_true", help="few and small, to try it anywhere")
    parser.add_argument("--only", default="", help="rows whose label has this regular expression")
    parser.add_argument("--json", type=Path, help="where figures go; other rows there stay")
    parser.add_argument("--tables", type=Path, help="print the tables of such a file")
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if options.probe:
        return probe(options.probe)
    if options.tables:
        return print("\n\n".join(tables(json.loads(options.tables.read_text("utf-8"))).values()))
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"no section {min(unknown)!r}: choose of {', '.join(SECTIONS)}.")
    if "cpu" in options.sections and len(options.sections) > 1:
        parser.error("cpu goes alone: it keeps the whole process on one thread.")
    figures, wrong = {}, False
    if options.json and options.json.exists():
        figures = json.loads(options.json.read_text("utf-8"))
    for name in options.sections:
        began, section = time.perf_counter(), {**facts(), "small": options.small, "rows": {}}
        old = figures.get(name, section)
        if (old["card"], old["small"]) == (section["card"], section["small"]):
            section["rows"] = old["rows"]
        figures[name] = section
        print(f"{name}: {section['card']}, {section['versions']}", flush=True)
        for row in SECTIONS[name](options):
            section["rows"][row["label"]] = row
            wrong |= OURS in row["failed"]
            print(line(row), flush=True)
            if options.json:
                options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False), "utf-8")
        print(f"[{name}: {time.perf_counter() - began:.0f} s]\n", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
