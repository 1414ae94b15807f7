"""The arrays that stand for the slots of a program."""

from __future__ import annotations

import random

import pytest

np = pytest.importorskip("numpy")

from cases import problem  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from planned import expected, program_of, random_ir  # noqa: E402

from minigrad import TraceError, Value, take  # noqa: E402
from minigrad.compiler.ir.program import Instruction, Program, verify  # noqa: E402
from minigrad.compiler.ir.refs import Ref  # noqa: E402
from minigrad.compiler.views import pieces as module  # noqa: E402
from minigrad.compiler.views.pieces import (  # noqa: E402
    FEW,
    Pieces,
    is_unrolled,
    read_spaces,
    refuse_irregular,
    taken_apart,
)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_what_is_taken_apart_computes_the_same(rng):
    program, inputs = random_ir(rng)
    apart = verify(taken_apart(program))
    assert expected(apart, inputs) == pytest.approx(expected(program, inputs), rel=1e-12)
    assert (apart.size, apart.results) == (program.size, program.results)


def test_a_formula_that_was_grouped_by_chance_is_taken_apart():
    def price(a, b, c, d):
        return (a * b).tanh() + (c * d).tanh() * a

    program, _ = program_of(price, 0.1, 0.2, 0.3, 0.4)
    assert any(i.shape[0] == 2 for i in program.instructions)
    assert all(i.shape[0] == 1 for i in taken_apart(program).instructions)


def test_what_is_many_or_in_a_row_stays_together():
    for count in (3, FEW, FEW + 1):
        program, _ = program_of(
            lambda xs: sum(x.tanh() for x in xs), [0.1 * k for k in range(count)]
        )
        kinds = [(i.op, i.shape) for i in taken_apart(program).instructions]
        assert ("tanh", (count,)) in kinds


def test_the_sums_that_are_unrolled():
    short, long = Ref(0, term_stride=1), Ref(0, term_stride=1)
    assert is_unrolled(Instruction("sum", (1, FEW), Ref(20), (short,)))
    assert is_unrolled(Instruction("dot", (1, 2), Ref(20), (short, short)))
    assert not is_unrolled(Instruction("sum", (1, FEW + 1), Ref(20), (long,)))
    assert not is_unrolled(Instruction("sum", (2, 2), Ref(20), (short,)))
    assert not is_unrolled(Instruction("max", (1, 2), Ref(20), (short,)))
    i = Instruction("dot", (1, 2), Ref(20), (Ref(3, term_stride=2), Ref(7)))
    assert [(ref.base, rows, terms) for ref, rows, terms in read_spaces(i)] == [
        (3, 1, 1),
        (5, 1, 1),
        (7, 1, 1),
        (7, 1, 1),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_pieces_cover_all_slots_and_no_input_operand_reaches_across(seed):
    program, _ = random_ir(random.Random(seed))
    program = taken_apart(program)
    pieces = Pieces(program)
    assert pieces.starts[0] == 0
    assert pieces.starts == sorted(set(pieces.starts))
    assert pieces.ends == [*pieces.starts[1:], program.size]
    for slot in range(program.size):
        at = pieces.at(slot)
        assert pieces.starts[at] <= slot < pieces.ends[at]
        assert pieces.length(at) == pieces.ends[at] - pieces.starts[at]
    assert program.parameters in (*pieces.starts, program.inputs)
    captured = {leaf.end <= program.parameters for leaf in pieces.leaves}
    assert captured <= {True, False}
    for i in program.instructions:
        for ref, rows, terms in read_spaces(i):
            slots = ref.slots(rows, terms)
            for side in (slots < program.parameters, slots >= program.parameters):
                here = slots[side & (slots < program.inputs)]
                if here.size:
                    assert len({pieces.at(int(slot)) for slot in here.ravel()}) == 1


def test_leaves_that_are_only_indices():
    table = [Value(0.1), Value(0.2), Value(0.3)]
    program, _ = program_of(lambda k, x, j: take(table, k) * x * (j + take(table, 0)), 1, 0.5, 2)
    leaves = Pieces(program).leaves
    kinds = {slot: leaf.is_index for leaf in leaves for slot in range(leaf.first, leaf.end)}
    assert [kinds[program.parameters + at] for at in range(3)] == [True, False, False]


def test_constants_are_known():
    program = Program(4, 1, 0, np.array([2.5, -1.0]), (), (0,))
    program = Program(
        4,
        1,
        0,
        program.constants,
        (Instruction("map", (1,), Ref(3), (Ref(0), Ref(1)), "mul"),),
        (3,),
    )
    pieces = Pieces(verify(program))
    slots = np.array([0, 1, 2, 3])
    constant = pieces.is_constant(slots)
    assert constant.tolist() == [False, True, True, False]
    assert pieces.known(slots, constant).tolist() == [0.0, 2.5, -1.0, 0.0]


def test_results_out_of_order_are_refused():
    backwards = Ref(3, inner=2, inner_stride=-1)
    i = Instruction("map", (2,), backwards, (Ref(0, inner=2, inner_stride=1),), "neg")
    program = Program(5, 2, 0, np.zeros(0), (i,), (3,))
    with pytest.raises(ValueError, match="results of map are not a range in order"):
        Pieces(program)


def test_irregular_programs_are_refused(monkeypatch):
    loss, arguments, _ = problem("R RNN")
    program, _ = program_of(loss, *arguments)
    refuse_irregular(program)
    monkeypatch.setattr(module, "MOST_INSTRUCTIONS", 3)
    count = len(program.instructions)
    with pytest.raises(
        TraceError, match=f"it has {count} instructions, and XLA would need minutes"
    ):
        refuse_irregular(program)
    monkeypatch.undo()
    rng = random.Random(1)
    nodes = [Value(rng.random()) for _ in range(40)]
    pairs = [[rng.sample(range(40 + 8 * level), 2) for _ in range(8)] for level in range(20)]

    def tangled():
        found = list(nodes)
        for level in pairs:
            found += [found[a] * found[b] for a, b in level]
        return sum(found)

    program, _ = program_of(tangled)
    refuse_irregular(program)
    monkeypatch.setattr(module, "MOST_GATHERED", 10)
    with pytest.raises(TraceError, match="gathered from more than 10 arrays.*minigrad.vmap"):
        refuse_irregular(program)
