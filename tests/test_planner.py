"""Plans against the specification: what they compute, and from where every operand is read."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

import networks  # noqa: E402
import programs  # noqa: E402
from cases import IRREGULAR, REGULAR, problem  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from planned import expected, misread, program_of, random_ir, values_of  # noqa: E402
from random_code import leaves_of, random_program  # noqa: E402
from scalar_code import function_of  # noqa: E402

import minigrad  # noqa: E402
from minigrad import Value, take  # noqa: E402
from minigrad.compiler.passes.grad import grad  # noqa: E402
from minigrad.compiler.views.loops import view_of  # noqa: E402
from minigrad.compiler.views.plan import Gathered, Masked, View  # noqa: E402
from minigrad.compiler.views.planner import plan  # noqa: E402

WAYS = ({}, {"least": 1}, {"least": float("inf")}, {"exact": True})


def check(program, inputs, ways=WAYS):
    """Every plan of a program computes what the program computes, from the same slots."""
    wanted = expected(program, inputs)
    found = []
    for options in ways:
        made = plan(program, **options)
        assert misread(made) == [], options
        assert values_of(made, inputs) == pytest.approx(wanted, rel=1e-10, abs=1e-12, nan_ok=True)
        found.append(made)
    return found


def forms(made):
    return {step.form for step in made.steps}


# ---- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", REGULAR)
def test_problems(case):
    loss, arguments, _ = problem(case)
    made, *_ = check(*program_of(loss, *arguments))
    gathered = [o for step in made.steps for o in step.operands if isinstance(o.how, Gathered)]
    assert len(gathered) <= 4 or case == "R RNN"
    if case in ("A", "B4", "B8", "B16", "R GPT", "R shuffled"):
        assert "product" in forms(made) or "mm" in forms(made)


def test_the_gpt_is_planned_with_whole_tables_and_look_ups():
    loss, arguments, _ = problem("B8")
    program, _ = program_of(loss, *arguments)
    made, exact = plan(program), plan(program, exact=True)
    assert {"product", "look_up", "take"} <= forms(made)
    assert any(step.whole is not None for step in made.steps)
    assert any(step.mends for step in made.steps)
    assert all(step.whole is None for step in exact.steps)
    index = [leaf for leaf in made.leaves if leaf.is_index]
    assert sum(leaf.end - leaf.first for leaf in index) == len(arguments[0])


def test_what_maps_whole_arrays_has_their_axes():
    """Else XLA computes a relu, and its gradient, once for each reader."""
    loss, arguments, _ = problem("B8")
    made = plan(program_of(loss, *arguments)[0])
    first = len(made.leaves) + made.has_constants
    (relu,) = [step for step in made.steps if step.instruction.op == "relu"]
    view = relu.operands[0].how
    assert view.is_whole
    assert relu.shape == made.steps[view.source - first].shape == (8, 64)


def test_short_sums_of_results_that_stand_together_are_sums():
    together, _ = program_of(lambda xs: sum(x.tanh() for x in xs), [0.1, 0.2, 0.3, 0.4])
    assert forms(plan(together)) == {"map", "sum"}
    apart, _ = program_of(lambda a, b, c: a.tanh() + b.exp() + c.sin() + a * b, 0.1, 0.2, 0.3)
    assert "sum" not in forms(plan(apart))


def test_a_grid_too_small_stays_dot_products():
    rows = [[Value(0.1 * i + j) for j in range(5)] for i in range(3)]
    xs = [[0.5 * i - j for j in range(5)] for i in range(3)]

    def loss(xs):
        return sum(sum(y * y for y in networks.linear(x, rows)) for x in xs)

    program, inputs = program_of(loss, xs)
    kinds = [
        forms(made) & {"product", "dot", "mm"}
        for made in check(program, inputs, ({"least": 3}, {"least": 4}))
    ]
    assert kinds[0] != {"dot"} or kinds[0] == kinds[1]


def test_a_product_has_enough_rows_columns_and_terms():
    """Heads of four numbers each: four terms in a score, four columns in what is attended to."""
    loss, arguments, _ = problem("B8")
    program, _ = program_of(loss, *arguments)
    assert "product" in forms(plan(program, least=4))
    assert "product" not in forms(plan(program, least=5))


@pytest.mark.parametrize("exact", [False, True])
def test_what_a_zero_is_multiplied_with_is_read_without_a_mask(exact):
    loss, arguments, _ = problem("B4")
    program, _ = program_of(loss, *arguments)
    masks = [
        [operand.how.holds for operand in step.operands[:2] if isinstance(operand.how, Masked)]
        for step in plan(program, least=float("inf"), exact=exact).steps
        if step.form == "dot"
    ]
    assert ([True, True] in masks) is not exact


def test_networks_of_the_lessons():
    points, labels = networks.moons(20)
    model = minigrad.nn.MLP(2, [8, 8, 1], seed=1)
    check(*program_of(lambda p, y: networks.demo_loss(model, p, y)[0], points, labels))
    w, b = Value(0.5), Value(0.1)
    check(*program_of(lambda: networks.mixed_chain(w, b, 40)))


@pytest.mark.parametrize("seed", range(20))
def test_programs_over_all_ops(seed):
    drawn = programs.random_program(seed)

    def function(*xs):
        return programs.run(drawn, xs, programs.call_minigrad)[-1]

    check(*program_of(function, *drawn.inputs))


def test_programs_as_people_write_them():
    seen = 0
    for seed in range(80):
        drawn = random_program(random.Random(seed))
        leaves = leaves_of(drawn.kinds, drawn.rows[0])
        captured = [x for kind, x in zip(drawn.kinds, leaves, strict=True) if kind == "captured"]
        given = [x for kind, x in zip(drawn.kinds, leaves, strict=True) if kind != "captured"]
        try:
            program, inputs = program_of(function_of(drawn, captured), *given)
        except minigrad.GuardError:  # it cannot be replayed
            continue
        seen += 1
        wanted, made = expected(program, inputs), plan(program, exact=True)
        assert misread(made) == []
        assert values_of(made, inputs) == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)
    assert seen > 50


# ---- drawn instruction by instruction ------------------------------------------------------------


@pytest.mark.parametrize("lot", range(4))
def test_programs_of_any_instructions(lot):
    for seed in range(40 * lot, 40 * lot + 40):
        check(*random_ir(random.Random(seed)), ways=({"least": 1}, {"exact": True}))


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_drawn_programs(rng):
    check(*random_ir(rng, most=5), ways=({}, {"exact": True}))


def test_a_misread_operand_is_noticed():
    """The check itself, on plans with one number changed."""
    loss, arguments, _ = problem("B4")
    made = plan(program_of(loss, *arguments)[0])
    noticed = tried = 0
    for at, step in enumerate(made.steps):
        for which, operand in enumerate(step.operands):
            how = operand.how.view if isinstance(operand.how, Masked) else operand.how
            if not isinstance(how, View) or not how.cuts:
                continue
            (length, _, _, count), *rest = how.cuts
            if count == 1 or rest:
                continue
            # The first element in the place of all.
            again = view_of(how.source, how.start, tuple((n, 0) for n, _ in how.loops), length)
            operands = list(step.operands)
            operands[which] = replace(operand, how=again)
            steps = list(made.steps)
            steps[at] = replace(step, operands=tuple(operands))
            tried += 1
            noticed += bool(misread(replace(made, steps=tuple(steps), splits={})))
    assert noticed == tried > 5


# ---- what is refused -----------------------------------------------------------------------------


def test_a_program_with_gradients_is_refused():
    program, _ = program_of(lambda x: x * x, 2.0)
    with pytest.raises(ValueError, match="this program has gradients; plan the one without"):
        plan(grad(program))


@pytest.mark.parametrize("case", IRREGULAR)
def test_irregular_programs_are_refused_at_a_glance(case):
    """In a process that is ended if it takes too long: planning them would take minutes."""
    code = f"""
from cases import problem
from planned import plan_of
loss, arguments, _ = problem({case!r})
plan_of(loss, *arguments)
"""
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "TraceError: this program is irregular: " in done.stderr
    assert "Run it on the native machine (backend='native'), over many rows with" in done.stderr


def test_look_ups_up_to_a_size(monkeypatch):
    from minigrad.compiler.views import planner

    table = [[Value(0.1 * i * j) for j in range(4)] for i in range(6)]

    def loss(tokens):
        return sum(sum(take(table, token)) for token in tokens)

    program, inputs = program_of(loss, [1, 5, 2, 2, 0])
    assert "look_up" in forms(check(program, inputs)[0])
    monkeypatch.setattr(planner, "LOOK_UP", 5)
    assert "look_up" not in forms(check(program, inputs)[0])
