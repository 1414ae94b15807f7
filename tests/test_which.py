"""Which Value something is, asked while a function is traced: answered as outside."""

from __future__ import annotations

import warnings

import pytest

import minigrad
from minigrad import Value, take

WEIGHTS = [Value(0.3), Value(1.0), Value(0.2)]
ROWS = [[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]]


def scaled(x):
    return [w * x for w in WEIGHTS]


def one_hot(x):
    many = scaled(x)
    best = max(many)
    return sum(v * (2.0 if v is best else 3.0) for v in many)


def of_a_helper(x):
    many = scaled(x)
    return many.index(best_of(many)) + best_of(many)


def best_of(many):
    return max(many, key=lambda v: v.data)


def without_the_best(x):
    many = scaled(x)
    many.remove(min(many))
    return sum(many)


def votes(x):
    counts = {}
    for sign in (1.0, -1.0, 2.0):
        best = max(WEIGHTS, key=lambda w: w.data * x * sign)
        counts[best] = counts.get(best, 0) + 1
    return sum(w * n for w, n in counts.items())


def the_equal_one(x):
    many = scaled(x)
    return sum(v * (2.0 if v == max(many) else 3.0) for v in many)


def those_not_equal(x):
    many = scaled(x)
    return sum(v for v in many if v != max(many))


def chosen_twice(x):
    best = max(WEIGHTS)
    return x * (2.0 if max([best, WEIGHTS[0]]) is best else 3.0)


ASKING = {
    "is": one_hot,
    "is not": lambda x: sum(v for v in scaled(x) if v is not max(WEIGHTS)) + x,
    "==": the_equal_one,
    "!=": those_not_equal,
    "index": of_a_helper,
    "remove": without_the_best,
    "a dict": votes,
    "one of another choice": chosen_twice,
}


@pytest.mark.parametrize("name", ASKING)
def test_what_max_chooses_is_one_of_them(name):
    function = ASKING[name]
    fast = minigrad.compile(function, audit=False)
    for x in (1.0, -1.0, 2.0, -3.0):
        given = [Value(x) for _ in "ab"]
        wanted, got = function(given[0]), fast(given[1])
        assert got.data == pytest.approx(wanted.data, rel=1e-12)
        for y in (wanted, got):
            y.backward()
        assert given[1].grad == pytest.approx(given[0].grad, rel=1e-12)


def test_what_is_taken_is_the_value_in_the_list():
    def taken(i, x):
        v = take(WEIGHTS, i)
        return v * (2.0 if v is WEIGHTS[0] else 3.0) * x

    def row(i, x):
        found = ROWS[i]
        if found is ROWS[1]:
            return found[0] * x
        return found[1] * (5.0 if found == ROWS[0] and found[0] in ROWS[0] else 7.0)

    for function, indices in ((taken, (0, 1, 2, 0, -3)), (row, (0, 1, 0, -1))):
        fast = minigrad.compile(function, audit=False)
        for i in indices:
            assert fast(i, 0.5).data == pytest.approx(function(i, Value(0.5)).data, rel=1e-12)


def test_questions_that_nobody_asks_tie_nothing():
    fast = minigrad.compile(lambda x: max(scaled(x)) * 2.0)
    for x in (1.0, -1.0, 2.0):
        fast(x)
    assert fast.cache_info().traces == 1


def test_an_index_stays_open_where_texts_and_numbers_are_compared():
    def f(i, kind):
        return WEIGHTS[i] * (2.0 if kind == KIND else 3.0)

    fast = minigrad.compile(f)
    assert [fast(i, "a").data for i in (0, 1, 2)] == [2.0 * w.data for w in WEIGHTS]
    assert fast.cache_info().traces == 1


KIND = "a"
W = Value(2.0)
GIVEN = {
    "is another argument": lambda a, b: a * 3.0 if a is b else a + b,
    "is a weight": lambda a, b: a * 3.0 if a is W else a + b,
    "==": lambda a, b: a * 3.0 if a == b else a + b,
    "in": lambda a, b: a * 3.0 if a in [W, b] else a + b,
    "a dict": lambda a, b: a * {W: 5.0, b: 7.0}.get(a, 1.0),
    "a set": lambda a, b: sum(v * v for v in {a, b}),
    "nothing": lambda a, b: a * b,
}


@pytest.mark.parametrize("name", GIVEN)
def test_arguments_are_the_values_that_were_given(name):
    function = GIVEN[name]
    u, v = Value(1.5), Value(4.0)
    fast = minigrad.compile(function, audit=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for pair in ((u, v), (u, u), (W, v), (v, v), (W, W), (u, v)):
            minigrad.zero_grad([u, v, W])
            wanted = function(*pair)
            wanted.backward()
            slopes = [x.grad for x in (u, v, W)]
            minigrad.zero_grad([u, v, W])
            got = fast(*pair)
            got.backward()
            assert got.data == wanted.data
            assert [x.grad for x in (u, v, W)] == slopes
    assert ["which Values it was given" in str(one.message) for one in said] == (
        [] if name == "nothing" else [True]
    )


def test_gradients_by_each_argument_are_refused_where_that_matters():
    fast = minigrad.compile(GIVEN["is another argument"])
    with pytest.warns(RuntimeWarning, match="runs uncompiled"):
        assert fast.value_and_grad(Value(1.0), Value(2.0))[1].args == (1.0, 1.0)
    u = Value(1.5)
    with pytest.raises(minigrad.TraceError, match="asks which Values it was given"):
        fast.value_and_grad(u, u)


def test_what_was_chosen_is_a_plain_node_when_the_trace_is_over():
    kept = []

    def f(x):
        kept.append(max(scaled(x)))
        return kept[-1] * 2.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minigrad.compile(f)(1.0)
    assert kept[0] == kept[0]
    assert len({kept[0], kept[0]}) == 1
    assert kept[0].data == 1.0
