"""Which program serves a call: other arguments, other ways, and when a function runs as it is."""

from __future__ import annotations

import collections
import enum
import functools
import math
import random
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import GuardError, TraceError, Value, no_grad
from minigrad.compiler.dispatch import Dispatcher, Uncompiled

near = pytest.approx
compiled = functools.partial(minigrad.compile, backend="numpy")
TABLE_OF_NUMBERS = [2.0, 7.0]


# ---- other arguments -----------------------------------------------------------------------------


class Pair(NamedTuple):
    a: object
    b: object


class Mode(enum.IntEnum):
    DOUBLE = 1
    TRIPLE = 2


ARGUMENTS = {
    "lengths": (lambda xs: xs[0] * len(xs), [([2.0],), ([2.0, 3.0],), ([2.0],)]),
    "booleans": (lambda b, x: x * 2 if b else x, [(True, 1.0), (False, 1.0), (True, 1.0)]),
    "NumPy booleans": (
        lambda b, x: x * 2 if b else x,
        [(np.bool_(True), 1.0), (np.bool_(False), 1.0)],
    ),
    "words": (lambda s, x: x * len(s), [("a", 1.0), ("bb", 1.0)]),
    "None or a number": (lambda k, x: x if k is None else x * k, [(None, 1.0), (3.0, 1.0)]),
    "indices": (lambda i, x: x * TABLE_OF_NUMBERS[i], [(0, 1.0), (1, 1.0), (0, 1.0), (-1, 1.0)]),
    "enums": (
        lambda m, x: x * 2 if m is Mode.DOUBLE else x * 3,
        [(Mode.DOUBLE, 1.0), (Mode.TRIPLE, 1.0), (Mode.DOUBLE, 1.0)],
    ),
    "keys of a dict": (
        lambda d: sum(d.values()) * len(d),
        [({"a": 1.0},), ({"b": 1.0, "c": 2.0},)],
    ),
    "large whole numbers": (lambda n, x: x * (n % 7), [(2**60 + 1, 1.0), (2**60 + 2, 1.0)]),
    "shapes": (lambda a: a.ravel()[0] * a.shape[0], [(np.ones((2, 3)),), (np.ones((3, 2)),)]),
    "masks": (
        lambda m, x: x * int(m.sum()),
        [(np.array([True, True]), 1.0), (np.array([True, False]), 1.0)],
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_other_arguments_are_other_programs(name, backend):
    function, calls = ARGUMENTS[name]
    fast = minigrad.compile(function, backend=backend)
    for args in calls:
        assert fast(*args).data == float(function(*args))


def some_tree(rng, depth=2):
    """Arguments of any structure, a little of everything."""
    kind = rng.randrange(9) if depth else 0
    count = rng.randrange(4)
    if kind < 3:
        number = rng.uniform(-2, 2)
        plain = [number, -0.0, math.nan, rng.randrange(-3, 4), 2**60, True, False, None, "a", "b"]
        return rng.choice([*plain, Value(number), np.float64(number), np.int64(2), np.float32(0.5)])
    if kind == 3:
        return [rng.uniform(-1, 1) for _ in range(count)]
    if kind < 6:
        return (list, tuple)[kind - 4](some_tree(rng, depth - 1) for _ in range(count))
    if kind == 6:
        return {rng.choice("xyz"): some_tree(rng, depth - 1) for _ in range(count)}
    if kind == 7:
        return Pair(some_tree(rng, depth - 1), some_tree(rng, 0))
    flat = np.array([rng.uniform(-1, 1) for _ in range(count)])
    return rng.choice([flat, flat.astype(int), np.zeros((count, 2)), flat > 0, np.array(2.0)])


def described(tree, numbers):
    """Spell a structure out, and collect what a program computes with."""
    if isinstance(tree, Value) or hasattr(tree, "_traced_node"):
        numbers.append(tree * 1.0)
        return "number" if isinstance(tree, Value) else "whole number"
    if isinstance(tree, np.ndarray):
        return f"{tree.shape}{tree.dtype.kind}{[described(x, numbers) for x in tree.ravel()]}"
    if isinstance(tree, dict):
        return f"{[(name, described(part, numbers)) for name, part in tree.items()]}"
    if isinstance(tree, (list, tuple)):
        return f"{type(tree)}{[described(part, numbers) for part in tree]}"
    return f"{type(tree)}{tree!r}"


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_earlier_calls_leave_no_mark(seed):
    rng = random.Random(seed)

    def function(*args, **kwargs):
        numbers = []
        words = described([args, kwargs], numbers)
        return words, sum((x * (k + 1.5) for k, x in enumerate(numbers)), Value(0.0))

    shared = compiled(function)
    args = [some_tree(rng) for _ in range(rng.randrange(1, 4))]
    for _ in range(5):
        args[rng.randrange(len(args))] = some_tree(rng)
        kwargs = {name: some_tree(rng, 1) for name in rng.sample("pq", rng.randrange(2))}
        words, number = shared(*args, **kwargs)
        expected, right = compiled(function)(*args, **kwargs)
        assert words == expected
        assert number.data == near(right.data, rel=1e-15, nan_ok=True)


def test_whole_and_other_numbers():
    fast = compiled(lambda x: (x * 1, isinstance(x, int)))
    assert fast(3)[1] is True
    assert fast(3.0)[1] is False
    assert [int, float] == [type(fast(3)[0]), type(fast(3.0)[0].data)]


# ---- other ways ----------------------------------------------------------------------------------


def test_a_function_that_returns_no_number_is_guarded_too(backend):
    fast = minigrad.compile(lambda x: "large" if x > 3 else "small", backend=backend)
    assert [fast(x) for x in (5.0, 1.0, 5.0)] == ["large", "small", "large"]
    with no_grad():
        assert [fast(x) for x in (5.0, 1.0)] == ["large", "small"]


def test_a_function_that_returns_no_traced_number_is_guarded_too(backend):
    w = Value(1.0)

    @minigrad.compile(backend=backend)
    def sign(x):
        return "+" if w * x > 0 else "-"

    @minigrad.compile(backend=backend)
    def best(xs):
        return int(np.argmax([(w * x).data for x in xs]))

    assert [sign(2.0), sign(-2.0), sign(3.0)] == ["+", "-", "+"]
    assert [best([1.0, 5.0]), best([7.0, 5.0]), best([Value(1.0), Value(2.0)])] == [1, 0, 1]


def test_strict_compilation_refuses():
    fast = compiled(lambda x: x * 2 if x > 0 else x * 3, strict=True)
    assert fast(1.0).data == 2.0
    with pytest.raises(GuardError, match=r"a branch, at .*test_dispatch\.py:\d+.*where\("):
        fast(-1.0)
    assert fast(2.0).data == 4.0


def test_too_many_ways():
    fast = compiled(lambda x: x * math.floor(x.data) + x)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k in range(40):
            x = Value(float(k))
            result = fast(x)
            assert result.data == k * k + k
            result.backward()
            assert x.grad == k + 1
            assert fast(float(k)).data == k * k + k
    assert len([w for w in told if issubclass(w.category, RuntimeWarning)]) <= 2
    assert "test_dispatch.py" in str(told[0].message)
    assert fast.cache_info().eager_calls > 10
    assert fast(0.5).data == 0.5  # the ways that are known still are


def test_a_failed_trace_is_forgotten():
    switch = [True]

    def moody(x):
        if switch[0]:
            raise KeyError("no")
        return x * 2

    fast = compiled(moody)
    with pytest.raises(KeyError) as caught:
        fast(1.0)
    assert caught.value.__context__ is None  # nor of the programs that were tried before
    switch[0] = False
    assert fast(1.0).data == 2.0


# ---- as it is ------------------------------------------------------------------------------------


def test_functions_that_change_their_surroundings_run_each_time():
    log, counts = [], collections.Counter()

    def function(x, seen=[]):  # noqa: B006 - that it is kept is what is tested
        log.append(float(x.data))
        counts["calls"] += 1
        seen.append(1)
        return x * counts["calls"] * len(seen)

    fast = compiled(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [fast(float(k)).data for k in range(20)]
    assert found == [k * (k + 1) ** 2 for k in range(20)]
    assert log == list(range(20))


def test_what_differs_each_time_is_refused():
    generator, steps = random.Random(1), iter(range(10))
    for function in [
        lambda x: x * random.random(),
        lambda x: x * float(np.random.rand()),
        lambda x: x * generator.random(),
        lambda x: x * next(steps),
    ]:
        fast = compiled(function)
        try:
            found = {fast(1.0).data, fast(1.0).data, fast(1.0).data}
        except TraceError:
            continue
        assert len(found) == 3  # or it is not frozen


# ---- the dispatcher itself -----------------------------------------------------------------------


def dispatcher(function, strict=False):
    return Dispatcher(function, "f", "numpy", strict, (), False)


def forward(spec, flat):
    return spec.forward(flat.numbers)


@pytest.mark.smoke
def test_a_program_is_traced_once_and_found_again():
    dispatch = dispatcher(lambda x: x * x)
    assert [dispatch.replay((x,), {}, forward) for x in (2.0, 3.0)] == [[4.0], [9.0]]
    assert (dispatch.info().traces, dispatch.info().programs) == (1, 1)
    assert dispatch.latest().nodes == 1
    dispatch.clear()
    assert dispatch.info() == (0, 0, 0, 0, 0)
    with pytest.raises(RuntimeError, match="f has no program yet: call it first"):
        dispatch.latest()


@pytest.mark.smoke
def test_another_way_is_traced_and_both_are_kept():
    dispatch = dispatcher(lambda x: x * 2 if x > 0 else x * 3)
    found = [dispatch.replay((x,), {}, forward) for x in (1.0, -1.0, 4.0, -4.0)]
    assert found == [[2.0], [-3.0], [8.0], [-12.0]]
    assert (dispatch.info().traces, dispatch.info().programs) == (2, 2)


def test_a_function_that_changes_what_it_reads_is_to_be_run_as_it_is():
    log = []

    def function(x):
        log.append(1)
        return x * len(log)

    dispatch = dispatcher(function)
    replay = functools.partial(dispatch.replay, (1.0,), {}, forward)
    assert [replay(), replay()] == [[1.0], [2.0]]  # a cache may fill up once
    with pytest.warns(RuntimeWarning, match="f changes log, which it reads"):
        replay()
    with pytest.raises(Uncompiled, match="runs uncompiled"):
        replay()
    with pytest.raises(GuardError, match="runs uncompiled"):  # where there is no other way
        dispatch.replay_or_refuse((1.0,), {}, forward)


def test_the_programs_that_were_not_used_for_longest_are_dropped(monkeypatch):
    monkeypatch.setattr("minigrad.compiler.dispatch._STRUCTURES", 2)
    dispatch = dispatcher(lambda xs: minigrad.sum(xs))
    for count in (1, 2, 1, 3, 1):  # when there are three, that of two is the oldest
        assert dispatch.replay(([1.0] * count,), {}, forward) == [count]
    assert (dispatch.info().traces, dispatch.info().programs) == (3, 2)
    dispatch.replay(([1.0] * 2,), {}, forward)
    assert dispatch.info().traces == 4


def test_calls_that_are_never_repeated_are_traced_no_more():
    """As with words that are all different: each is a structure of its own."""
    weights = {letter: Value(float(k)) for k, letter in enumerate("abcdefgh")}

    def scored(word, x):
        return sum(weights[letter] * x for letter in word)

    words = [f"{a}{b}{c}" for a in weights for b in weights for c in weights]
    fast = minigrad.compile(scored)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for word in words:
            assert fast(word, 0.5).data == scored(word, 0.5).data
    assert fast.cache_info().traces < 40
    assert [str(one.message).split(":")[0] for one in said] == [
        "scored was traced 32 times in a row without a replay"
    ]
    for _ in range(3):  # what is repeated is replayed, and what is new is traced again
        for word in words[:30]:
            assert fast(word, 0.5).data == scored(word, 0.5).data
    before = fast.cache_info().traces
    assert fast("hhhh", 0.5).data == 14.0
    assert fast.cache_info().traces == before + 1
