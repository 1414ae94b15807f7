"""Plans followed in an array library, here NumPy: each form, and reading by parts."""

from __future__ import annotations

import random

import pytest

np = pytest.importorskip("numpy")

from planned import NumpyLibrary, expected, plan_of, program_of, random_ir, values_of  # noqa: E402

from minigrad import Value, take  # noqa: E402
from minigrad.compiler.backends import arrays  # noqa: E402
from minigrad.compiler.views.plan import Constant, Gathered, Joined, Operand  # noqa: E402
from minigrad.compiler.views.planner import plan  # noqa: E402


def reader(*given):
    """Something to read operands with, of these arrays."""
    made = plan_of(lambda x: x * 2.0, 1.0)
    run = arrays._Run(made, NumpyLibrary(), [])
    run.arrays = [np.asarray(x, float) for x in given]
    return run


def test_joined_parts_follow_each_other():
    run = reader([0, 1, 2, 3], [[4, 5], [6, 7]])
    assert run.read(Operand((2, 2), Joined(((0, 2, 4), (1, 0, 2))))).tolist() == [[2, 3], [4, 5]]


@pytest.mark.parametrize("beside", [False, True])
def test_what_is_gathered_comes_from_all_parts(beside):
    run = reader([10, 11, 12], [[20, 21], [22, 23]])
    parts = ((0, np.array([[2, -1], [-1, 0]])), (1, np.array([[-1, 3], [-1, -1]])))
    known = np.array([[0.0, 0.0], [0.5, 0.0]])
    found = run.read(Operand((2, 2), Gathered(parts, known, beside)))
    assert found.tolist() == [[12, 23], [0.5, 10]]


def test_constants_are_stretched_or_spelled_out():
    run = reader()
    assert run.read(Operand((2, 3), Constant(np.full((2, 3), -0.0)))).tolist() == [[-0.0] * 3] * 2
    assert run.read(Operand((2,), Constant(np.array([1.0, 2.0])))).tolist() == [1.0, 2.0]


def test_every_form_is_run():
    seen = set()
    for seed in range(120):
        program, inputs = random_ir(random.Random(seed))
        made = plan(program, least=1)
        seen |= {step.form for step in made.steps}
        wanted = expected(program, inputs)
        assert values_of(made, inputs) == pytest.approx(wanted, rel=1e-10, abs=1e-12)
    forms = {name[1:] for name in vars(arrays._Run) if name[1:] in FORMS}
    assert forms == FORMS <= seen


FORMS = {"map", "sum", "dot", "mm", "max", "argmax", "take", "fill", "product", "unrolled",
         "look_up"}  # fmt: skip


@pytest.mark.parametrize("index", [5.0, -5.0, 1.5, float("nan"), float("inf")])
def test_an_index_that_is_none_makes_nan(index):
    table = [Value(1.0), Value(2.0), Value(3.0)]
    rows = [[Value(0.1 * i + j) for j in range(3)] for i in range(4)]
    for function in (lambda k: take(table, k), lambda k: sum(take(rows, k)) * 2.0):
        program, inputs = program_of(function, 1)
        inputs[-1] = index
        assert np.isnan(values_of(plan(program), inputs)).all()


def test_what_the_guards_look_at_comes_after_the_results():
    program, inputs = program_of(lambda x: x * 2.0 if x > 1.0 else x, 3.0)
    results, guards = arrays.run(plan(program), NumpyLibrary(), [np.array([x]) for x in inputs])
    assert [float(x) for x in results] == [6.0]
    assert [float(x) for x in guards] == [guard.number for guard in program.guards]


def test_parts_that_do_not_overlap_are_cut_once():
    """The gradient of such parts is put together, so a library is asked for them all at once."""
    asked = []

    class Noted(NumpyLibrary):
        def split(self, x, axis, sizes):
            asked.append(sizes)
            return super().split(x, axis, sizes)

    weights = [Value(0.1 * k) for k in range(24)]

    def loss(xs):
        first = [w * x for w, x in zip(weights[:12], xs, strict=True)]
        second = [w.tanh() for w in weights[12:]]
        whole = sum(w.sin() for w in weights)
        return sum(a * b for a, b in zip(first, second, strict=True)) * whole

    program, inputs = program_of(loss, [0.2 * k for k in range(12)])
    made = plan(program)
    numbers = np.array(inputs)
    leaves = [numbers[leaf.first : leaf.end] for leaf in made.leaves]
    results, _ = arrays.run(made, Noted(), leaves)
    assert float(results[0]) == pytest.approx(expected(program, inputs)[0])
    assert asked == [(12, 12)]
