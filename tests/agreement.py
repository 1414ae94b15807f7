"""Random programs, every way that minigrad can run them, and the rule by which they must agree.

Programs are drawn by `random_code.py` and spelled as Python by `scalar_code.py`. Start at `check`.

**The reference** is the eager engine: the value, the gradient by `backward()`, second derivatives
by `minigrad.grad(…, create_graph=True)`. Where a slope, also one by an int, is nan or infinite
there is no second derivative to speak of, and none is compared.

**The ways** are `compile` on each machine, called on three rows of numbers one after the other (the
first is traced, the others are replays): the call and `backward()`, `value_and_grad`, `hvp`; and
`vmap` on all rows at once, in lanes for one half of the programs and in blocks for the other.

**The rule.** nan matches nan, inf matches inf of the same sign, and finite numbers agree within a
bound that is computed for this program and these numbers, by a running error analysis
(`error_bounds.py`). Every node of the eager graph has a bound of its error, to the first order:

    error(node)  =  own  +  sum of |local derivative| * error(operand)

where `own` is 4 · 2⁻⁵³ of the result (and 2⁻¹⁰⁷⁴, where the floats end), nothing for what is exact,
and for an addition 4 · 2⁻⁵³ of the absolute values of *all terms* under it, because a program may
add them in another order. Gradients and Hessians times vectors are graphs too
(`create_graph=True`), so the same analysis gives their bounds. A zero that comes from sums, as all
gradients do, may have either sign; every other zero of a value keeps its own.

**Exceptions.** Beyond the bound a difference is explained only if the number depends on something
that the analysis has marked. Each kind is counted:

- `edge`   the bound of an operand includes a jump or a kink: of a comparison that decides a
           `where`, a tie of `max`, 0 for `relu` or `log`, 1 for `asin`, a divisor that may be 0.
           Numbers that are exact, as inputs are, have the bound 0 and are on no edge.
- `range`  a number within a millionth of where floats overflow, or a bound that is itself beyond
           (of a quotient, say, whose divisor has lost its digits among the smallest floats).
- `order`  a sum that overflows in one order of its terms and not in another; also a slope whose
           terms overflow one by one, to inf - inf, where equal expressions that are computed once
           add them before.
- `zero`   a division by a zero that may have either sign, or a power or `atan2` of it.

Everything else is unexplained, and a fault.
"""

from __future__ import annotations

import random
import struct
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
from blocks import in_blocks, in_lanes
from error_bounds import EDGE, ORDER, REASONS, UNIT, Entry, Ledger, Test, depends_on_order, evaluate
from random_code import leaves_of, random_program
from scalar_code import Program, function_of, of_kind, smaller, source

import minigrad
from minigrad import Value
from minigrad.compiler.backends import native

# ---- the reference -------------------------------------------------------------------------------


@dataclass
class Analysis:
    """What eager runs give for one row, and how far others may be from it."""

    results: list[tuple[Any, Entry]] = field(default_factory=list)
    gradient: list[tuple[float, Entry]] = field(default_factory=list)  # by inputs that are no ints
    second: list[tuple[float, Entry]] = field(default_factory=list)


def _floats(program: Program, xs: Any) -> list[Any]:
    """Leave out what belongs to ints."""
    return [x for kind, x in zip(program.kinds, xs, strict=True) if kind != "int"]


def _second(output: Value, inputs: list[Value], direction: list[float], create: bool) -> list[Any]:
    """Differentiate the slope along a direction."""
    slopes = minigrad.grad(output, inputs, create_graph=True)
    along = minigrad.dot(slopes, direction)
    found: list[Any] = minigrad.grad(along, inputs, create_graph=create)
    return found


def call(program: Program, function: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """Call the function of a program; the results, always as a tuple."""
    found = function(*_arguments(program, leaves))
    return found if isinstance(found, tuple) else (found,)


def analyse(program: Program, row: tuple[Any, ...], second: bool = True) -> Analysis:
    """Run a row on the eager engine as it is written, and once more to work out the bounds."""
    analysis = Analysis()
    real = leaves_of(program.kinds, row)
    captured = [x for kind, x in zip(program.kinds, real, strict=True) if kind == "captured"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # `~` of a bool, from Python 3.12 on
        outputs = call(program, function_of(program, captured), real)
    ledger = Ledger()
    values: list[Any] = leaves_of(program.kinds, row)
    leaves = _floats(program, values)
    for tree in program.steps:
        values.append(evaluate(tree, values, ledger))
    for tree, output in zip(program.results, outputs, strict=True):
        found = evaluate(tree, values, ledger)
        number = output.data if isinstance(output, Value) else output
        if isinstance(found, Test):
            entry = Entry(float(found.holds), 0.0, found.doubts)
        else:
            entry = ledger.entry(found)
        if judge(number, entry.number, entry) not in ("equal", "within"):
            raise AssertionError(
                f"the analysis has {entry}, the engine {number}\n{source(program)}"
            )
        analysis.results.append((number, entry))
    root = values[program.results[0]]
    doubts = ledger.entry(root).doubts

    def with_doubts(x: Value) -> Entry:
        known = ledger.entry(x)
        return replace(known, doubts=known.doubts | doubts, is_loose=True)

    outputs[0].backward()
    slopes = minigrad.grad(root, leaves, create_graph=True)
    analysis.gradient = [
        (leaf.grad, with_doubts(x)) for leaf, x in zip(_floats(program, real), slopes, strict=True)
    ]
    if second and all(isfinite(slope) for slope, _ in analysis.gradient):
        direction = _floats(program, program.direction)
        expected = _second(outputs[0], _floats(program, real), direction, create=False)
        found = _second(root, leaves, direction, create=True)
        analysis.second = [(x, with_doubts(node)) for x, node in zip(expected, found, strict=True)]
    return analysis


# ---- the rule ------------------------------------------------------------------------------------


def judge(expected: Any, got: Any, entry: Entry) -> str:
    """Return "equal" (bit by bit), "within", the name of an exception, or "unexplained"."""
    expected, got = float(expected), float(got)
    if struct.pack("d", expected) == struct.pack("d", got) or (isnan(expected) and isnan(got)):
        return "equal"
    if expected == got == 0.0:
        if entry.is_loose or entry.error:
            return "within"
    elif isfinite(expected) and isfinite(got) and abs(expected - got) <= entry.error:
        return "within"
    for bit, reason in REASONS.items():
        if entry.doubts & bit:
            return reason
    return "unexplained"


@dataclass(frozen=True)
class Comparison:
    """One number of one way, against the reference."""

    way: str
    expected: float
    got: Any
    error: float
    verdict: str


class Judgement(list[Comparison]):
    """All comparisons of a program."""

    def compare(self, way: str, pairs: list[tuple[Any, Entry]], found: Any) -> None:
        for (expected, entry), got in zip(pairs, found, strict=True):
            verdict = judge(expected, got, entry)
            self.append(Comparison(way, float(expected), got, entry.error, verdict))

    @contextmanager
    def attempt(self, way: str, analyses: list[Analysis]) -> Iterator[None]:
        """Have an error, or a warning, be a fault: the eager engine had no such trouble.

        Where a decision is on an edge indeed, the warning that says so is right.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                yield
        except Exception as error:
            doubts = [entry.doubts for analysis in analyses for _, entry in analysis.results]
            is_edge = "is on the edge" in str(error) and any(found & EDGE for found in doubts)
            text = f"{type(error).__name__}: {error}"
            verdict = "edge" if is_edge else "unexplained"
            self.append(Comparison(f"{way} raised", nan, text, 0.0, verdict))

    @property
    def faults(self) -> list[Comparison]:
        return [one for one in self if one.verdict == "unexplained"]


# ---- the ways ------------------------------------------------------------------------------------

BACKENDS = ("numpy", "native") if native.available() else ("numpy",)


def check(program: Program, backends: tuple[str, ...] = BACKENDS, second: bool = True) -> Judgement:
    """Run a program in every way, and compare each with the eager engine."""
    analyses = [analyse(program, row, second) for row in program.rows]
    judgement = Judgement()
    for backend in backends:
        _calls(program, analyses, backend, judgement)
        with judgement.attempt(f"{backend}, vmap", analyses):
            _batches(program, analyses, backend, judgement)
    return judgement


def _calls(program: Program, analyses: list[Analysis], backend: str, judgement: Judgement) -> None:
    captured = [Value(x) for x in of_kind(program, program.rows[0], "captured")]
    fast = minigrad.compile(function_of(program, captured), backend=backend)
    for k, (row, analysis) in enumerate(zip(program.rows, analyses, strict=True)):
        for value, x in zip(captured, of_kind(program, row, "captured"), strict=True):
            value.data, value.grad = x, 0.0
        own = iter(captured)
        leaves: list[Any] = []
        for kind, x in zip(program.kinds, row, strict=True):
            leaves.append(next(own) if kind == "captured" else Value(x) if kind == "value" else x)
        name = f"{backend}, row {k}"
        with judgement.attempt(f"{name}, call", [analysis]):
            outputs = call(program, fast, leaves)
            found = [x.data if isinstance(x, Value) else x for x in outputs]
            judgement.compare(f"{name}, call", analysis.results, found)
        with judgement.attempt(f"{name}, backward", [analysis]):
            outputs[0].backward()
            at = [i for i, x in enumerate(_floats(program, leaves)) if isinstance(x, Value)]
            slopes = [x.grad for x in leaves if isinstance(x, Value)]
            judgement.compare(f"{name}, backward", [analysis.gradient[i] for i in at], slopes)
        arguments = _arguments(program, leaves)
        is_smooth = False
        with judgement.attempt(f"{name}, grad", [analysis]):
            value, grads = fast.value_and_grad(*arguments)
            slopes = _put_back(program, grads, captured)
            judgement.compare(f"{name}, value_and_grad", analysis.results[:1], [value])
            judgement.compare(f"{name}, grad", analysis.gradient, slopes)
            # Ints are inputs too, and to the eager engine none: 0 ** x is as steep as can be at 0.
            is_smooth = all(map(isfinite, grads.args))
        if analysis.second and is_smooth:
            direction = of_kind(program, program.direction, "captured")
            with judgement.attempt(f"{name}, hvp", [analysis]):
                _, grads = fast.hvp(
                    arguments,
                    _arguments(program, program.direction),
                    dict(zip(captured, direction, strict=True)),
                )
                slopes = _put_back(program, grads, captured)
                judgement.compare(f"{name}, hvp", analysis.second, slopes)


def _arguments(program: Program, xs: Any) -> list[Any]:
    """Leave out what belongs to captured Values."""
    return [x for kind, x in zip(program.kinds, xs, strict=True) if kind != "captured"]


def _put_back(program: Program, grads: Any, captured: list[Value]) -> list[float]:
    """Gradients by arguments and captured Values, in the order of the inputs without ints."""
    of_args = iter(grads.args)
    of_captured = iter(captured)
    found = []
    for kind in program.kinds:
        if kind == "captured":
            value = next(of_captured)
            found.append(grads[value] if value in grads.parameters else 0.0)
        else:
            slope = next(of_args)
            if kind != "int":
                found.append(slope)
    return found


def _batches(
    program: Program, analyses: list[Analysis], backend: str, judgement: Judgement
) -> None:
    """All rows at once: an array for each argument, or a number if it is the same in all rows."""
    columns = list(zip(*program.rows, strict=True))
    captured = [c for c, kind in zip(columns, program.kinds, strict=True) if kind == "captured"]
    if program.is_guarded or any(not _same(column) for column in captured):
        return
    values = [Value(column[0]) for column in captured]
    many = minigrad.vmap(function_of(program, values), backend=backend)
    arguments: list[Any] = []
    for kind, column in zip(program.kinds, columns, strict=True):
        if kind != "captured":
            is_number = kind == "float" and _same(column)
            arguments.append(column[0] if is_number else np.array(column))
    if not any(isinstance(x, np.ndarray) for x in arguments):
        return
    way = in_blocks(2) if len(program.steps) % 2 else in_lanes()
    with way:
        outputs = many(*arguments, threads=1)
        _, grads = many.value_and_grad(*arguments, threads=1)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for k, analysis in enumerate(analyses):
        found = [out[k] for out in outputs]
        judgement.compare(f"{backend}, vmap row {k}", analysis.results, found)
    totals = dict(zip(map(id, grads.parameters), grads.totals.tolist(), strict=True))
    of_args, of_captured = iter(zip(arguments, grads, strict=True)), iter(values)
    at = 0
    for kind in program.kinds:
        if kind == "captured":
            found = [totals.get(id(next(of_captured)), 0.0)]
            pairs = [_total([a.gradient[at] for a in analyses])]
        else:
            argument, slopes = next(of_args)
            if kind == "int":
                continue
            if isinstance(argument, np.ndarray):
                found, pairs = list(slopes), [a.gradient[at] for a in analyses]
            else:
                found, pairs = [slopes], [_total([a.gradient[at] for a in analyses])]
        judgement.compare(f"{backend}, vmap gradient", pairs, found)
        at += 1


def _same(column: tuple[Any, ...]) -> bool:
    return len({struct.pack("d", x) for x in column}) == 1


def _total(pairs: list[tuple[float, Entry]]) -> tuple[float, Entry]:
    """The sum over rows, with its bound."""
    terms = tuple(x for x, _ in pairs)
    total = minigrad.maths.floats.sum(terms)
    error, doubts = 0.0, ORDER if depends_on_order(terms) else 0
    for x, entry in pairs:
        error += entry.error + (UNIT * abs(x) if isfinite(x) else 0.0)
        doubts |= entry.doubts
    return total, Entry(total, error if isfinite(total) else 0.0, doubts, True)


# ---- many programs -------------------------------------------------------------------------------

FEATURES = {
    "functions of many": ("sum", "mean", "dot", "logsumexp", "softmax", "log_softmax"),
    "take": ("take",),
    "max, min": ("max", "min"),
    "where": ("where",),
    "branches": ("if",),
    "numbers read": ("read",),
    "numbers settled": ("float", "round"),
    "no_grad, detach": ("no_grad", "detach"),
}


@dataclass
class Figures:
    """What came of many programs; figures of several lots can be added."""

    programs: int = 0
    features: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    bounds: Counter[str] = field(default_factory=Counter)
    faulty: list[int] = field(default_factory=list)  # seeds

    def add(self, seed: int, program: Program, judgement: Judgement) -> None:
        self.programs += 1
        words = {word.rpartition(".")[2] for word in program.words}
        self.words.update(words)
        self.features.update(
            name for name, any_of in FEATURES.items() if not words.isdisjoint(any_of)
        )
        self.features.update(
            {f"{kind} arguments" for kind in program.kinds} - {"captured arguments"}
        )
        self.features.update({"captured Values": "captured" in program.kinds})
        self.features.update({"several results": len(program.results) > 1})
        numbers = [x for row in program.rows for x in row]
        wild = any(not isfinite(x) or (x and not 1e-100 < abs(x) < 1e100) for x in numbers)
        self.features.update({"inf, nan, ends of the range": wild})
        for one in judgement:
            self.verdicts[one.verdict] += 1
            if one.error <= 1e-12 * abs(one.expected) or not isfinite(one.expected):
                self.bounds["at most 1e-12"] += 1
            elif one.error <= 1e-6 * abs(one.expected):
                self.bounds["at most 1e-6"] += 1
            else:
                self.bounds["larger"] += 1
        if judgement.faults:
            self.faulty.append(seed)

    def merge(self, other: Figures) -> None:
        self.programs += other.programs
        for name in ("features", "words", "verdicts", "bounds"):
            getattr(self, name).update(getattr(other, name))
        self.faulty += other.faulty


def program_of(seed: int) -> Program:
    return random_program(random.Random(seed))


def survey(seeds: range) -> Figures:
    """Check the programs of these seeds; second derivatives, which are dear, of every fourth."""
    figures = Figures()
    for seed in seeds:
        program = program_of(seed)
        figures.add(seed, program, check(program, second=seed % 4 == 0))
    return figures


def told(seed: int) -> str:
    """The first fault of a seed's program, as small as it can be made."""
    program = program_of(seed)
    fault = check(program).faults[0]
    return f"# seed {seed}\n{reproduction(*shrunk(program, fault))}"


# ---- making a failing program small --------------------------------------------------------------


def faults_of(program: Program, wanted: Comparison) -> list[Comparison]:
    """The faults of the same kind as one that is known; none if the program makes no sense."""
    backend, *_, kind = wanted.way.split(", ")
    try:
        judgement = check(program, (backend,), second=kind.startswith("hvp"))
    except Exception:  # it was cut too far, and does not even run eagerly
        return []
    return [
        one
        for one in judgement.faults
        if one.way.split(", ")[-1] == kind and type(one.got) is type(wanted.got)
    ]


def shrunk(program: Program, wanted: Comparison, tries: int = 600) -> tuple[Program, Comparison]:
    """Delete whatever the fault does not need; return the program, and the fault in it."""
    changed = True
    while changed and tries > 0:
        changed = False
        for cut in smaller(program):
            tries -= 1
            faults = faults_of(cut, wanted)
            if faults:
                program, wanted, changed = cut, faults[0], True
                break
            if tries <= 0:
                break
    return program, wanted


def reproduction(program: Program, fault: Comparison) -> str:
    """A program and its fault as text that can be run."""
    names = [f"{kind[0]}{k}" for k, kind in enumerate(program.kinds)]
    captured = [f"minigrad.Value({x!r})" for x in of_kind(program, program.rows[0], "captured")]
    lines = ["import minigrad", "from math import inf, nan", source(program).rstrip()]
    lines.append(f"f = make({', '.join(captured)})")
    for row in program.rows:
        numbers = ", ".join(f"{n}={x!r}" for n, x in zip(names, row, strict=True))
        lines.append(f"# numbers: {numbers}")
    lines.append(f"# direction of hvp: {', '.join(map(str, program.direction))}")
    lines.append(f"# {fault.way}: eager {fault.expected!r}, here {fault.got!r}")
    lines.append(f"# bound of the difference: {fault.error!r}")
    return "\n".join(lines)
