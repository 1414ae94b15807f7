"""What a plan is made of."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from planned import program_of  # noqa: E402

from minigrad import Value  # noqa: E402
from minigrad.compiler.views.plan import Constant, Operand, View, WholeTable  # noqa: E402
from minigrad.compiler.views.planner import plan  # noqa: E402


def test_a_constant_knows_its_only_number():
    assert Constant(np.full((2, 3), 1.5)).only == 1.5
    assert Constant(np.array([1.5, 2.5])).only is None
    assert Constant(np.array([0.0, -0.0])).only is None  # 1 / 0 tells them apart
    assert np.isnan(Constant(np.array([np.nan, np.nan])).only)


def test_an_operand_that_is_zero():
    assert Operand((2,), Constant(np.zeros(2))).is_zero
    assert not Operand((2,), Constant(np.array([0.0, 1.0]))).is_zero
    assert not Operand((2,), View(0, (), 0, (), (1,), (2,))).is_zero


def test_a_whole_table_repeats_the_first_where_rows_end():
    table = np.array([[0, 0, 0], [1, 2, 1], [3, 4, 5]])
    valid = np.array([[True, False, False], [True, True, False], [True, True, True]])
    whole = WholeTable.of(table, valid)
    assert whole.shape == (3, 3)
    assert whole.rows.reshape(3, 3).tolist() == [[0, 0, 0], [1, 2, 1], [3, 4, 5]]
    assert whole.places.tolist() == [0, 3, 4, 6, 7, 8]
    assert whole.rows[whole.places].tolist() == list(range(6))
    assert whole.ended.reshape(3, 3).tolist() == (~valid).tolist()


def test_the_leaves_of_a_plan_are_the_inputs_in_order():
    weights = [Value(0.5, label="w") for _ in range(3)]

    def loss(xs, k):
        return sum(w * x for w, x in zip(weights, xs, strict=True)) * k

    program, _ = program_of(loss, [1.0, 2.0, 3.0], 4.0)
    made = plan(program)
    edges = [leaf.first for leaf in made.leaves] + [made.leaves[-1].end]
    assert edges[0] == 0
    assert edges[-1] == program.inputs
    assert edges == sorted(edges)
    assert made.leaves[made.parameters - 1].end == program.parameters == 3
    assert not any(leaf.is_index for leaf in made.leaves)
