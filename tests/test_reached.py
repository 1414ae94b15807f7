"""What the results reach, whatever is chosen: against derivatives along ways that are not taken."""

from __future__ import annotations

import random

import pytest

np = pytest.importorskip("numpy")

from cases import problem  # noqa: E402
from planned import program_of, random_ir  # noqa: E402

from minigrad import Value, take, where  # noqa: E402
from minigrad.compiler.ir.kinds import KINDS  # noqa: E402
from minigrad.compiler.views.reached import surely_reached  # noqa: E402


def by_names(function, *example):
    """The operations of a program whose results are reached for sure."""
    program, _ = program_of(function, *example)
    sure = surely_reached(program)
    return {i.op or i.kind: sure.all(i.areas[-1]) for i in program.instructions}


def test_what_is_not_chosen_is_not_reached():
    found = by_names(lambda x: where(x > 0, x.log(), x.sin()) * x.cos(), 2.0)
    assert not found["log"]
    assert not found["sin"]
    assert found["cos"]
    assert found["where"]


def test_what_both_sides_use_is_not_reached_for_sure():
    """It is reached, but through a gradient that may be 0 times inf."""
    found = by_names(lambda x: where(x > 0, x.exp().log(), x.exp().sqrt()), 2.0)
    assert not found["exp"]


def test_the_sum_under_a_softmax_is_reached_whichever_row_is_taken():
    weights = [Value(0.1), Value(0.7), Value(-0.4), Value(0.3)]

    def loss(xs, k):
        parts = [(w * x).exp() for w, x in zip(weights, xs, strict=True)]
        total = sum(parts)
        return -take([part / total for part in parts], k).log()

    program, _ = program_of(loss, [0.1, 0.2, 0.3, 0.4], 2)
    sure = surely_reached(program)
    kinds = {i.op or i.kind: sure.all(i.areas[-1]) for i in program.instructions}
    assert kinds["sum"]
    assert not kinds["div"]
    assert kinds["exp"]  # by way of the sum


def test_a_max_passes_nothing_on():
    found = by_names(lambda x, y: max([x.exp().data, y.data]) * x, Value(1.0), Value(2.0))
    assert not found.get("exp", False)


def test_all_of_the_gpt_but_its_look_ups():
    loss, arguments, _ = problem("B4")
    program, _ = program_of(loss, *arguments)
    sure = surely_reached(program)
    makers = [i for i in program.instructions if not sure.all(i.areas[-1])]
    flat = [i for i in makers if KINDS[i.kind].is_flat]
    assert len(makers) - len(flat) <= 2  # the chances that are taken from


@pytest.mark.parametrize("seed", range(60))
def test_results_that_are_flagged_depend_on_no_choice(seed):
    """Slow and plain: a slot is sure if a result is made of it by sums, products and functions."""
    program, _ = random_ir(random.Random(seed))
    sure = surely_reached(program)
    plain = set(program.results)
    maybe = set(program.results)
    for i in reversed(program.instructions):
        if KINDS[i.kind].is_flat:
            continue
        spaces = i.spaces()
        out = spaces[-1][0].slots(*spaces[-1][1:]).ravel().tolist()
        for which, (ref, rows, terms) in enumerate(spaces[:-1]):
            slots = ref.slots(rows, terms)
            if i.kind == "mm":  # of a matrix product, all or nothing is followed
                hit = [at for at in out if at in plain]
                if hit:
                    plain.update(slots.ravel().tolist())
                maybe.update(slots.ravel().tolist() if any(at in maybe for at in out) else ())
                continue
            for row, at in enumerate(out):
                if at in maybe:
                    maybe.update(slots[row].tolist())
                chooses = (i.op == "where" and which) or (i.kind == "take")
                if at in plain and not chooses:
                    plain.update(slots[row].tolist())
    flagged = set(np.flatnonzero(sure.array).tolist())
    assert plain <= flagged | _indices(program)
    assert flagged <= maybe


def _indices(program):
    """Slots that only choose: whether they are flagged matters to nobody."""
    return {
        slot
        for i in program.instructions
        if i.kind == "take"
        for slot in i.args[1].slots(i.shape[0]).ravel().tolist()
    }
