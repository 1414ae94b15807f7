"""The scans over a trace: what is drawn into a sum, what is shared, and on which level it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.compiler.tracing.canonical import canonical, sharing_key
from minigrad.compiler.tracing.tape import INPUT, MAX, MOST, SUM, Entries
from minigrad.core.ops import OPS
from minigrad.errors import TraceError

ADD, MUL, TANH = (OPS[name].code for name in ("add", "mul", "tanh"))


def chain(entries, terms):
    total = terms[0]
    for term in terms[1:]:
        total = entries.add(ADD, total, term)
    return total


def rows(ends, *columns):
    """Split columns where the rows end."""
    starts = [0, *list(ends)[:-1]]
    return [[list(column[a:b]) for column in columns] for a, b in zip(starts, ends, strict=True)]


def test_a_chain_of_additions_is_one_sum():
    entries = Entries()
    xs = [entries.add(INPUT) for _ in range(5)]
    root = chain(entries, xs)
    found = canonical(entries, [root])
    assert rows(found.sum_ends, found.sum_terms) == [[xs]]
    assert (list(found.sum_roots), list(found.sum_starts)) == ([root], [-1])
    assert found.level[root] == 1


def test_products_are_drawn_into_a_sum_and_the_rest_is_where_it_starts():
    entries = Entries()
    w, x, b = ([entries.add(INPUT) for _ in range(3)] for _ in range(3))
    products = [entries.add(MUL, p, q) for p, q in zip(w, x, strict=True)]
    root = chain(entries, [b[0], *products])
    found = canonical(entries, [root])
    assert rows(found.dot_ends, found.lefts, found.rights) == [[w, x]]
    assert (list(found.dot_roots), list(found.dot_starts)) == ([root], [b[0]])
    assert len(found.sum_roots) == len(found.maps) == 0


def test_several_terms_that_are_no_products_become_a_sum_of_their_own():
    entries = Entries()
    a, b, c, d = (entries.add(INPUT) for _ in range(4))
    root = chain(entries, [a, entries.add(MUL, c, d), b])
    found = canonical(entries, [root])
    (start,) = found.dot_starts
    assert list(found.sum_roots) == [start]
    assert rows(found.sum_ends, found.sum_terms) == [[[a, b]]]
    assert (found.level[start], found.level[root]) == (1, 2)


def test_a_product_that_is_used_twice_stays_a_product():
    entries = Entries()
    a, b, c = (entries.add(INPUT) for _ in range(3))
    product = entries.add(MUL, a, b)
    first, second = entries.add(ADD, product, c), entries.add(ADD, product, a)
    found = canonical(entries, [first, second])
    assert list(found.maps) == [product]
    assert rows(found.sum_ends, found.sum_terms) == [[[product, c]], [[product, a]]]


def test_a_sum_that_is_a_result_is_not_drawn_into_another():
    entries = Entries()
    a, b, c = (entries.add(INPUT) for _ in range(3))
    inner = entries.add(ADD, a, b)
    outer = entries.add(ADD, inner, c)
    assert rows(canonical(entries, [outer]).sum_ends, canonical(entries, [outer]).sum_terms) == [
        [[a, b, c]]
    ]
    found = canonical(entries, [outer, inner])
    assert rows(found.sum_ends, found.sum_terms) == [[[a, b]], [[inner, c]]]


def test_functions_of_one_operand_are_shared_and_products_are_not():
    entries = Entries()
    a, b = entries.add(INPUT), entries.add(INPUT)
    one, two = entries.add(TANH, a), entries.add(TANH, a)
    first, second = entries.add(MUL, one, b), entries.add(MUL, two, b)
    found = canonical(entries, [first, second])
    assert found.same[two] == one
    assert list(found.maps) == [one, first, second]
    assert entries.first[second] == one


def test_what_nobody_needs_is_left_out():
    entries = Entries()
    a = entries.add(INPUT)
    entries.add(TANH, a)
    wanted = entries.add(MUL, a, a)
    assert list(canonical(entries, [wanted]).maps) == [wanted]


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.randoms(use_true_random=False))
def test_a_level_is_above_all_operands(kinds, rng):
    entries = Entries()
    known = [entries.add(INPUT) for _ in range(3)]
    for unary in kinds:
        a, b = rng.choice(known), rng.choice(known)
        known.append(entries.add(TANH, a) if unary else entries.add(MUL, a, b))
    found = canonical(entries, known)
    for at in found.maps:
        below = [found.level[k] for k in (entries.first[at], entries.second[at]) if k >= 0]
        assert found.level[at] == 1 + max(below)


@pytest.mark.parametrize(
    ("entry", "ends"),
    [
        ((INPUT,), [10**6]),
        ((INPUT,), [-1]),
        ((TANH, 5), [1]),  # an operand that comes later, or never
        ((ADD, 0, 10**6), [1]),
        ((MUL, 0), [1]),  # a product of one
        ((MUL,), [1]),
        ((ADD, 1, 1), [1]),  # of itself
    ],
)
def test_entries_that_are_not_in_order_are_refused(entry, ends):
    entries = Entries()
    entries.add(INPUT)
    entries.add(*entry)
    with pytest.raises(ValueError, match="come before"):
        canonical(entries, ends)


def test_operands_of_wide_entries_are_looked_at_too():
    entries = Entries()
    entries.add_many(MAX, (0, 7))
    with pytest.raises(ValueError, match="entry 0 "):
        canonical(entries, [0])


# ---- traces beyond the borders of 24 and of 32 bits ----------------------------------------------


@given(st.integers(0, MOST - 1), st.integers(0, 105), st.integers(0, MOST - 1), st.integers(0, 105))
def test_two_unary_operations_have_two_keys(a, code, b, other):
    assert (sharing_key(a, code) == sharing_key(b, other)) == ((a, code) == (b, other))


@pytest.mark.parametrize("distance", [2**23, 2**24, 2**29])
def test_unary_operations_are_not_taken_for_those_on_an_entry_far_away(distance):
    keys = {sharing_key(at + n * distance, TANH) for at in range(3) for n in range(2)}
    assert len(keys) == 6


@pytest.mark.heavy
def test_unary_operations_are_not_merged_in_a_trace_of_2_to_the_24():
    entries = Entries()
    far = 2**24
    entries.reserve(far + 10)
    near = entries.add(INPUT)
    for _ in range(far - 1):  # nobody uses what is in between
        entries.add(INPUT)
    last = entries.add(INPUT)
    assert last == near + far
    ends = [entries.add(TANH, near), entries.add(TANH, last)]
    found = canonical(entries, ends)
    assert list(found.maps) == ends
    assert [found.same[at] for at in ends] == ends


@pytest.mark.parametrize("count", [MOST, 2**31, 2**33])
def test_operands_too_many_to_be_counted_are_refused(count):
    entries = Entries()
    entries.add(INPUT)
    root = entries.add_many(SUM, range(count))  # as many operands, which take no memory
    with pytest.raises(TraceError, match="cannot be compiled"):
        canonical(entries, [root])
