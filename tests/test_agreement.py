"""Random programs in every way that minigrad can run them; `agreement.py` states the rule."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

pytest.importorskip("numpy")

from agreement import (
    analyse,
    check,
    faults_of,
    judge,
    program_of,
    reproduction,
    shrunk,
    survey,
    told,
)
from error_bounds import EDGE, SLOPES, Entry, Ledger
from hypothesis import given, settings
from hypothesis import strategies as st
from random_code import random_program
from scalar_code import Program, source

import minigrad
from minigrad import Value
from minigrad.compiler.passes import grad as reverse

# On the pure engine half will do: the programs are the same, and NumPy runs them in both.
PROGRAMS, LOTS = (400, 4) if minigrad.engine() == "native" else (200, 2)


@pytest.mark.parametrize("lot", range(LOTS))
def test_programs_agree(lot):
    size = PROGRAMS // LOTS
    figures = survey(range(lot * size, (lot + 1) * size))
    assert not figures.faulty, "\n\n".join(map(told, figures.faulty[:3]))
    assert figures.programs == size
    # Nearly all comparisons are sharp, and exceptions are exceptions.
    total = figures.verdicts.total()
    assert figures.bounds["larger"] < 0.05 * total
    assert total - figures.verdicts["equal"] - figures.verdicts["within"] < 0.02 * total


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_drawn_programs_agree(rng):
    program = random_program(rng, most=6)
    faults = check(program).faults
    assert not faults, reproduction(program, faults[0])


def test_programs_use_everything():
    used = set()
    for seed in range(600):
        used |= {word.rpartition(".")[2] for word in program_of(seed).words}
    # Slopes that are rows come into programs by `hvp`, not by what people write.
    assert {op.name for op in minigrad.core.ops.TABLE} - SLOPES <= used
    assert {"less", "less_equal", "greater", "greater_equal", "both", "either", "but_not"} <= used
    assert {"read", "detach", "no_grad", "if", "float", "round", "max", "min", "index"} <= used


# ---- the rule ------------------------------------------------------------------------------------


def test_what_matches():
    exact = Entry(1.0)
    assert judge(1.0, 1.0, exact) == "equal"
    assert judge(math.nan, -math.nan, exact) == "equal"
    assert judge(math.inf, math.inf, exact) == "equal"
    near = Entry(1.0, error=1e-15)
    assert judge(1.0, 1.0 + 4e-16, near) == "within"
    assert judge(1.0, 1.0 + 4e-15, near) == "unexplained"
    assert judge(1.0, 1.0 + 4e-15, replace(near, doubts=EDGE)) == "edge"
    for pair in ((math.inf, -math.inf), (1.0, math.nan), (math.nan, 1.0), (1.0, math.inf)):
        assert judge(*pair, near) == "unexplained"
    assert judge(0.0, -0.0, Entry(0.0)) == "unexplained"
    assert judge(0.0, -0.0, Entry(0.0, is_loose=True)) == "within"


def test_bounds_hold_and_are_sharp():
    """Sums in another order, against exact sums: within the bound, which is no more than needed."""
    rng = random.Random(1)
    for _ in range(200):
        terms = [rng.uniform(-1, 1) * 10 ** rng.uniform(-3, 3) for _ in range(rng.randint(2, 20))]
        ledger = Ledger()
        total = Value(terms[0])
        for term in terms[1:]:
            total = total + term
        error = ledger.entry(total).error
        shuffled = rng.sample(terms, len(terms))
        assert abs(minigrad.maths.floats.sum(shuffled) - math.fsum(terms)) <= error
        assert error <= 4 * len(terms) * 2.0**-53 * sum(map(abs, terms)) * (1 + 1e-9)


def test_bounds_are_magnified_by_slopes():
    ledger = Ledger()
    x = Value(0.1) * 3  # one rounding
    y = x.exp() / (x - 0.3)  # and a cancellation
    first, second = ledger.entry(x).error, ledger.entry(y).error
    assert 0.0 < first < 1e-15
    assert second >= abs(y.data) * first / abs(x.data - 0.3)


@pytest.mark.parametrize(
    ("step", "row"),
    [
        (("minigrad.where", ("less", ("mul", 0, 3.0), 0.3), 0, 1), (0.1, 2.0)),
        (("relu", ("sub", ("mul", 0, 3.0), 0.3)), (0.1, 2.0)),
        (("div", 1, ("sub", ("mul", 0, 3.0), 0.3)), (0.1, 2.0)),
        (("builtin.max", ("mul", 0, 3.0), ("add", 0, 0.2)), (0.1, 2.0)),
    ],
)
def test_edges_are_marked(step, row):
    """0.1 * 3 is 0.3 but for its rounding: what decides between them is on an edge."""
    program = Program(("value", "value"), (step,), (2,), (row,), (1.0, 0.0))
    assert analyse(program, row).results[0][1].doubts == EDGE
    away = replace(program, rows=((0.7, 2.0),))
    assert analyse(away, (0.7, 2.0)).results[0][1].doubts == 0


def test_exact_numbers_are_on_no_edge():
    step = ("minigrad.where", ("less", 0, 1), ("relu", 0), ("div", 1, 0))
    program = Program(("value", "value"), (step,), (2,), ((0.0, 0.0),), (1.0, 1.0))
    assert analyse(program, (0.0, 0.0)).results[0][1].doubts == 0


# ---- planted faults ------------------------------------------------------------------------------


def noticed():
    """Count the programs in which a number, not an error, is unexplained."""
    count = 0
    for seed in range(25):
        faults = check(program_of(seed), ("numpy",), False).faults
        count += any(not isinstance(one.got, str) for one in faults)
    return count


@pytest.fixture(scope="module")
def before():
    """The same, without a planted fault."""
    return noticed()


def test_a_small_error_in_any_number_is_noticed():
    """A ten-millionth of a number is beyond nearly all bounds, most of which are far smaller."""
    seen = missed = 0
    for seed in range(100):
        program = program_of(seed)
        analysis = analyse(program, program.rows[0])
        for kind in (analysis.results, analysis.gradient, analysis.second):
            for expected, entry in kind:
                if math.isfinite(expected) and expected:
                    seen += 1
                    missed += judge(expected, expected * (1 + 1e-7), entry) != "unexplained"
    assert seen > 500
    assert missed < 0.05 * seen


PLANTED = {
    "a slope": ("_map", lambda rule, self, step, g: (
        self.emit("add", (step.shape[0], 1), self.of(step.args[0]), g)
        if step.op == "tanh" else rule(self, step, g))),
    "a dropped term": ("_start", lambda rule, self, step, which, n, g: None),
    "a dropped factor": ("_products", lambda rule, self, step, g: self.emit(
        "add", step.shape, self.of(step.args[0]), g)),
    "a take from the wrong place": ("_take", lambda rule, self, step, g: None),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_rules_are_noticed(name, before, monkeypatch):
    word, wrong = PLANTED[name]
    rule = getattr(reverse._Adjoints, word)
    planted = lambda self, *args: wrong(rule, self, *args)  # noqa: E731
    monkeypatch.setattr(reverse._Adjoints, word, planted)
    if word == "_products":
        monkeypatch.setattr(reverse._Adjoints, "_muladd", planted)
    assert noticed() > before


def test_a_stale_number_is_noticed(before, monkeypatch):
    """A replay that gives the numbers of the first call again."""
    from minigrad.compiler.machine import Machine

    run = Machine.run

    def stale(self, captured, arguments, read):
        if not hasattr(self, "first"):
            self.first = list(arguments)
        return run(self, captured, self.first, read)

    monkeypatch.setattr(Machine, "run", stale)
    assert noticed() > before + 15


def test_failing_programs_are_made_small(monkeypatch):
    """A wrong tanh, in the middle of a program: what remains is little more than the tanh."""
    word, wrong = PLANTED["a slope"]
    rule = getattr(reverse._Adjoints, word)
    monkeypatch.setattr(reverse._Adjoints, word, lambda self, *args: wrong(rule, self, *args))
    steps = (
        ("mul", 0, 1),
        ("minigrad.exp", 2),
        ("tanh", 3),
        ("builtin.sum", 2, 3, 4),
        ("minigrad.softmax", 0.0, 4, 5),
        ("add", 5, 6),
    )
    row = (0.3, 0.7)
    program = Program(("value", "captured"), steps, (7, 3), (row, row), (1.0, 0.0))
    fault = next(one for one in check(program, ("numpy",)).faults if one.way.endswith("grad"))
    small, left = shrunk(program, fault)
    assert len(small.steps) == 1
    assert "tanh" in source(small)
    assert faults_of(small, left)
    assert "tanh()" in reproduction(small, left)
