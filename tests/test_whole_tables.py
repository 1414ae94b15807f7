"""Rows of several lengths that are kept as whole tables."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from planned import NumpyLibrary, expected, misread, plan_of, program_of, values_of  # noqa: E402

from minigrad import Value  # noqa: E402
from minigrad.compiler.backends import arrays  # noqa: E402
from minigrad.compiler.views.pieces import Pieces, taken_apart  # noqa: E402
from minigrad.compiler.views.planner import plan  # noqa: E402
from minigrad.compiler.views.whole_tables import whole_tables  # noqa: E402


def attention(length, size):
    """Causal attention, written as people write it, without the shift of the softmax."""
    query, key, value = (
        [[Value(0.1 * (i + 2 * j + k)) for j in range(size)] for i in range(length)]
        for k in range(3)
    )

    def loss():
        total = 0.0
        for at in range(length):
            scores = [
                sum(a * b for a, b in zip(query[at], key[k], strict=True)) for k in range(at + 1)
            ]
            powers = [(score * 0.1).exp() for score in scores]
            whole = sum(powers)
            weights = [power / whole for power in powers]
            for j in range(size):
                total = total + sum(w * v[j] for w, v in zip(weights, value, strict=False)).tanh()
        return total

    return loss


@pytest.mark.parametrize("length", [4, 5, 9])
def test_causal_attention_is_kept_whole(length):
    program, inputs = program_of(attention(length, 4))
    made = plan(program)
    whole = [step for step in made.steps if step.whole is not None]
    assert {step.instruction.op or step.instruction.kind for step in whole} >= {"exp"}
    assert {step.whole.shape for step in whole} == {(length, length), (length, 1)}
    assert misread(made) == []
    assert values_of(made, inputs) == pytest.approx(expected(program, inputs), rel=1e-12)


def test_one_row_is_no_triangle():
    assert all(step.whole is None for step in plan_of(attention(1, 4)).steps)


@pytest.mark.parametrize("length", [4, 6])
def test_rows_end_in_copies_of_the_first_or_in_zeros(length):
    """In every array that is kept as a whole table, while a plan is followed."""
    program, inputs = program_of(attention(length, 4))
    made = plan(program)
    numbers = np.array(inputs)
    run = arrays._Run(
        made, NumpyLibrary(), [numbers[leaf.first : leaf.end] for leaf in made.leaves]
    )
    run.done()
    kept = run.arrays[len(run.arrays) - len(made.steps) :]
    seen = set()
    for step, array in zip(made.steps, kept, strict=True):
        if step.whole is not None:
            table = np.reshape(array, step.whole.shape)
            ended = step.whole.ended.reshape(table.shape)
            first = np.broadcast_to(table[:, :1], table.shape)
            wanted = {"first": first, "zero": np.zeros(table.shape), "": table}[step.ends]
            assert np.array_equal(table[ended], wanted[ended])
            seen.update([step.ends] if ended.any() else [])
    assert seen == {"zero", ""}


@settings(max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=6), st.booleans())
def test_rows_of_any_lengths(lengths, shifted):
    """Sums over the rows of one piece; sometimes of the first row less, so that it is not all."""
    count = sum(lengths)
    weights = [Value(0.3 + 0.1 * k) for k in range(count)]

    def loss(xs):
        products = [(w * x).tanh() for w, x in zip(weights, xs, strict=True)]
        rows, at = [], 0
        for length in lengths:
            rows.append(products[at : at + length])
            at += length
        rows = rows[1:] if shifted else rows
        return sum(sum(row).sin() for row in rows)

    program, inputs = program_of(loss, [0.1 * k - 0.4 for k in range(count)])
    wanted = expected(program, inputs)
    for options in ({}, {"exact": True}):
        made = plan(program, **options)
        assert misread(made) == []
        assert values_of(made, inputs) == pytest.approx(wanted, rel=1e-12)


def test_tables_hold_every_element_once():
    program = taken_apart(program_of(attention(7, 4))[0])
    pieces = Pieces(program)
    tables = whole_tables(pieces)
    assert tables
    for at, whole in tables.items():
        count = pieces.length(at)
        assert len(whole.places) == count
        assert whole.rows[whole.places].tolist() == list(range(count))
        assert not whole.ended[whole.places].any()
        rows = whole.rows.reshape(whole.shape)
        ended = whole.ended.reshape(whole.shape)
        assert np.array_equal(rows[ended], np.broadcast_to(rows[:, :1], rows.shape)[ended])
