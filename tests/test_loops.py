"""Loops and views, against plain indexing."""

from __future__ import annotations

from itertools import product as every
from math import prod

import pytest

np = pytest.importorskip("numpy")

from hypothesis import assume, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from planned import NumpyLibrary  # noqa: E402

from minigrad.compiler.backends import arrays  # noqa: E402
from minigrad.compiler.ir.refs import Ref, indices  # noqa: E402
from minigrad.compiler.views.loops import (  # noqa: E402
    common,
    fit,
    loops_of,
    merged,
    split_loops,
    view_of,
)

LOOPS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 13)), max_size=4).map(tuple)


class _NoPlan:
    splits = {}  # noqa: RUF012


def visited(base, loops):
    """The numbers that loops visit, outermost first."""
    counts = [count for count, _ in loops]
    return [
        base + sum(k * stride for k, (_, stride) in zip(at, loops, strict=True))
        for at in every(*map(range, counts))
    ]


def read(view, length):
    """What a view shows of an array that holds its own places."""
    reader = arrays._Run(_NoPlan(), NumpyLibrary(), [np.arange(length)])
    return reader._seen(view)


@settings(max_examples=200)
@given(st.integers(0, 9), LOOPS, st.integers(0, 30))
def test_a_view_shows_what_its_loops_visit(base, loops, behind):
    places = visited(base, loops)
    length = max(places) + 1 + behind
    view = view_of(0, base, loops, length)
    assume(view is not None)
    seen = read(view, length)
    assert seen.shape == tuple(count for count, _ in loops)
    assert seen.ravel().tolist() == places
    if view.is_whole:
        assert places == list(range(length))
    elif length > 1:
        assert places != list(range(length))


def test_what_is_no_view():
    assert view_of(0, 0, ((3, -1),), 9) is None  # backwards
    assert view_of(0, 2, ((2, 3), (2, 1)), 9) is None  # over the end of a row
    assert view_of(0, 0, ((4, 2), (3, 1)), 12) is None  # rows that overlap
    assert view_of(0, 1, ((3, 4),), 11) is None  # the last row is not all there


def test_a_column_of_a_table():
    view = view_of(0, 1, ((3, 4),), 12)
    assert read(view, 12).tolist() == [1, 5, 9]


@settings(max_examples=200)
@given(st.integers(0, 5), LOOPS)
def test_merged_loops_visit_the_same(base, loops):
    fewer = merged(loops)
    assert visited(base, fewer) == visited(base, loops)
    assert len(fewer) <= len(loops)
    assert merged(tuple(fewer)) == fewer


@settings(max_examples=200)
@given(LOOPS, st.lists(st.integers(1, 6), max_size=4).map(tuple))
def test_split_loops_visit_the_same(loops, counts):
    whole = merged(loops)
    for wanted in (tuple(count for count, _ in loops), counts):
        cut = split_loops(whole, wanted)
        if cut is None:
            assert wanted is counts  # what was merged can be cut as it was
        else:
            assert tuple(count for count, _ in cut) == wanted
            assert visited(0, cut) == visited(0, loops)


@settings(max_examples=200)
@given(LOOPS, LOOPS)
def test_common_loops_go_through_both(one, other):
    assume(prod(n for n, _ in one) == prod(n for n, _ in other))
    found = common([list(one), list(other)])
    assume(found is not None)
    assert visited(0, [(n, x) for n, x, _ in found]) == visited(0, one)
    assert visited(0, [(n, y) for n, _, y in found]) == visited(0, other)


def test_loops_that_have_nothing_in_common():
    assert common([[(6, 1)], [(2, 3), (3, 1)]]) == [(2, 3, 3), (3, 1, 1)]
    assert common([[(3, 1), (2, 5)], [(2, 1), (3, 5)]]) is None
    assert common([[(4, 1)], [(6, 1)]]) is None


@settings(max_examples=200)
@given(
    st.integers(0, 50),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 3),
    st.tuples(*[st.integers(0, 12)] * 3),
)
def test_the_loops_of_a_ref_visit_its_slots(base, outer, inner, terms, strides):
    ref = Ref(base, inner, *strides)
    rows = outer * inner
    loops = loops_of(ref, rows, terms)
    assert visited(base, loops) == ref.slots(rows, terms).ravel().tolist()


def test_listed_slots_have_no_loops():
    assert loops_of(Ref(0, rows=indices(np.array([3, 1, 2]))), 3, None) is None
    assert loops_of(Ref(0, cells=indices(np.array([3, 1, 2, 0]))), 2, 2) is None
    assert loops_of(Ref(0, inner=2, outer_stride=1), 3, None) is None  # the last loop breaks off


@settings(max_examples=200)
@given(
    st.integers(0, 9),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9)), max_size=2),
    st.tuples(st.integers(1, 4), st.integers(0, 9)),
    st.tuples(st.integers(1, 4), st.integers(0, 9)),
    st.randoms(use_true_random=False),
)
def test_a_fit_agrees_wherever_it_matters(base, blocks, rows, terms, rng):
    loops = (*blocks, rows, terms)
    table = np.array(visited(base, loops)).reshape(-1, rows[0], terms[0])
    matters = np.array([rng.random() < 0.8 for _ in range(table.size)]).reshape(table.shape)
    matters[:, 0, 0] = True
    spoilt = np.where(matters, table, -1)
    found = fit(spoilt, matters)
    if found is None:
        return
    start, fitted, seen = found
    assert visited(start, fitted) == seen.ravel().tolist()
    assert (seen == table)[matters].all()


def test_a_fit_refuses_what_does_not_fit():
    yes = np.ones((1, 2, 2), bool)
    assert fit(np.array([[[0, 1], [2, 4]]]), yes) is None
    assert fit(np.array([[[0, 1], [2, 3]]]), ~yes) is None  # the first of a block must matter
    uneven = np.array([0, 1, 5, 6, 7, 8])[:, None, None]
    assert fit(uneven, np.ones(uneven.shape, bool)) is None
