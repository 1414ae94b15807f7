"""Where operands lie: slots, sets of slots, and what 32 bits cannot hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.compiler.ir.refs import MOST_SLOTS, Area, Flags, Ref, distinct, ref_of
from minigrad.errors import TraceError

SIZES = st.integers(1, 9)
STRIDES = st.integers(-20, 20)
SLOT = st.integers(0, 300)


def indices(count):
    return st.lists(SLOT, min_size=count, max_size=count).map(lambda x: np.array(x, dtype=np.int32))


@st.composite
def operands(draw):
    """A Ref of any form, its numbers of rows and terms, and its slots in plain arithmetic."""
    rows, terms = draw(SIZES), draw(SIZES)
    base, step = draw(SLOT), draw(STRIDES)
    form = draw(st.sampled_from(["affine", "rows", "cells"]))
    every = [(row, term) for row in range(rows) for term in range(terms)]
    if form == "affine":
        inner, outer_stride, inner_stride = draw(SIZES), draw(STRIDES), draw(STRIDES)
        ref = Ref(base, inner, outer_stride, inner_stride, step)
        slots = []
        for row, term in every:
            outer, rest = divmod(row, inner)
            slots.append(base + outer * outer_stride + rest * inner_stride + term * step)
    elif form == "rows":
        starts = draw(indices(rows))
        ref = Ref(base, term_stride=step, rows=starts)
        slots = [base + int(starts[row]) + term * step for row, term in every]
    else:
        cells = draw(indices(rows * terms))
        ref = Ref(base, cells=cells)
        slots = [base + int(cells[row * terms + term]) for row, term in every]
    return ref, rows, terms, slots


@given(operands())
def test_slots_are_what_the_fields_say(operand):
    ref, rows, terms, slots = operand
    found = ref.slots(rows, terms)
    assert found.shape == (rows, terms)
    assert found.ravel().tolist() == slots
    assert ref.listed(rows, terms) == slots


@given(operands(), st.integers(0, 1000))
def test_shifted_keeps_the_pattern(operand, offset):
    ref, rows, terms, slots = operand
    moved = ref.shifted(offset)
    assert moved.slots(rows, terms).ravel().tolist() == [slot + offset for slot in slots]
    assert ref.slots(rows, terms).ravel().tolist() == slots


def listed(area: Area) -> list[int]:
    if area.slots is None:
        return list(range(area.first, area.last + 1))
    return [int(slot) for slot in area.slots]


@given(operands())
def test_an_area_is_the_set_of_the_slots(operand):
    ref, rows, terms, slots = operand
    area = ref.area(rows, terms)
    assert set(listed(area)) == set(slots)
    assert (area.first, area.last) == (min(slots), max(slots))
    assert area.once == (len(set(slots)) == len(slots))
    if area.slots is not None:
        assert listed(area) == slots
    follow = slots == list(range(slots[0], slots[0] + len(slots)))
    is_affine = ref.rows is None and ref.cells is None
    assert ref.is_range(rows, terms) == (is_affine and follow)


def test_the_latest_area_is_kept_but_asked_for_others_it_is_another():
    ref = Ref(5, inner=4, inner_stride=1)
    assert ref.area(4) is ref.area(4)
    assert listed(ref.area(4)) == [5, 6, 7, 8]
    assert listed(ref.area(3)) == [5, 6, 7]
    assert listed(ref.area(3, 2)) == [5, 6, 7]


def test_the_area_of_a_long_range_in_another_order_is_that_range():
    matrix = Ref(10, inner=50, inner_stride=1, term_stride=50)  # 30 columns of 50
    area = matrix.area(50, 30)
    assert (area.first, area.last, area.slots, area.once) == (10, 1509, None, True)
    assert not matrix.is_range(50, 30)
    shuffled = Ref(0, rows=np.random.default_rng(1).permutation(1000).astype(np.int32))
    assert shuffled.area(1000).slots is None
    gaps = Ref(0, inner=100, inner_stride=2)
    assert listed(gaps.area(100)) == list(range(0, 200, 2))


@pytest.mark.parametrize("ref", [Ref(0, rows=np.arange(3)), Ref(0, cells=np.arange(3))])
def test_an_index_array_must_have_the_right_length(ref):
    with pytest.raises(ValueError, match="has 3 indices"):
        ref.area(2, 2)


@given(operands())
def test_a_stride_is_the_distance_of_rows(operand):
    ref, rows, terms, _ = operand
    stride = ref.stride(rows)
    if stride is not None:
        starts = ref.slots(rows, terms)[:, 0]
        assert (np.diff(starts) == stride).all()


@given(operands())
def test_ref_of_finds_a_ref_with_these_slots(operand):
    _, rows, terms, slots = operand
    table = np.array(slots, dtype=np.int64).reshape(rows, terms)
    assert (ref_of(table).slots(rows, terms) == table).all()


@given(SLOT, SIZES, STRIDES, STRIDES, STRIDES, SIZES, SIZES)
def test_ref_of_finds_strides_where_there_are_some(base, inner, outer, fine, step, times, terms):
    rows = inner * times
    found = ref_of(Ref(base, inner, outer, fine, step).slots(rows, terms))
    assert found.cells is None
    # A row of the outer loop that happens to go on in the inner stride hides where it starts.
    assert found.rows is None or outer == inner * fine or inner == 1 or outer == fine


@given(st.lists(st.tuples(operands(), st.booleans()), max_size=4), operands())
def test_flags_are_a_set_of_slots(changes, asked):
    flags, those = Flags(2000), set()
    for (ref, rows, terms, slots), flag in changes:
        moved = ref.shifted(600)
        flags.set(moved.area(rows, terms), flag)
        those = those | {s + 600 for s in slots} if flag else those - {s + 600 for s in slots}
    assert set(np.flatnonzero(flags.array)) == those
    ref, rows, terms, slots = asked
    area = ref.shifted(600).area(rows, terms)
    assert flags.all(area) == all(slot + 600 in those for slot in slots)
    assert flags.any(area) == any(slot + 600 in those for slot in slots)


# ---- beyond 32 bits ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [3, 100])  # by a list, by an array
@pytest.mark.parametrize("terms", [1, 3])
def test_slots_up_to_the_border_of_32_bits_are_kept(count, terms):
    rng = np.random.default_rng(count)
    slots = MOST_SLOTS - 1 - rng.permutation(10 * count * terms)[: count * terms]
    slots[0] = MOST_SLOTS - 1
    table = slots.reshape(count, terms)
    assert (ref_of(table).slots(count, terms) == table).all()


@pytest.mark.parametrize("count", [3, 100])
@pytest.mark.parametrize("terms", [1, 3])
@pytest.mark.parametrize("beyond", [1, 2**31, 2**32])
def test_slots_behind_the_border_are_refused_and_not_wrapped(count, terms, beyond):
    rng = np.random.default_rng(count)
    slots = MOST_SLOTS - rng.permutation(10 * count * terms)[: count * terms]
    slots[-1] = MOST_SLOTS - 1 + beyond
    with pytest.raises(TraceError, match=r"more than 2,147,483,647 slots.*Compile a part"):
        ref_of(slots.reshape(count, terms))


@given(st.lists(SLOT))
def test_distinct_numbers_are_a_sorted_set(numbers):
    assert distinct(np.array(numbers, dtype=np.int64)).tolist() == sorted(set(numbers))
    doubled = np.array([numbers, numbers], dtype=np.int64)
    assert distinct(doubled).tolist() == sorted(set(numbers))
