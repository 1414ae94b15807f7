"""Compiled functions and threads: a trace that waits for one, and what others do meanwhile."""

from __future__ import annotations

import builtins
import contextvars
import functools
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import minigrad
from minigrad import TraceError, Value, no_grad

np = pytest.importorskip("numpy")

# ruff: noqa: E402
from minigrad.compiler import dispatch


def finished(call, seconds=30.0):
    """What a call returns or raises, in a thread that is given up when it takes too long."""
    outcome = []

    def run():
        try:
            outcome.append((call(), None))
        except Exception as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, "it waits for ever"
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def in_thread(call):
    """Run a call in a thread of its own and wait for it."""
    done = queue.Queue()

    def run():
        try:
            done.put((call(), None))
        except Exception as error:
            done.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    result, error = done.get()
    if error is not None:
        raise error
    return result


# ---- a traced function waits for a thread --------------------------------------------------------


def test_the_thread_calls_another_function_for_the_first_time(backend):
    found = []

    @minigrad.compile(backend=backend)
    def inner(x):
        return x * x + 1.0

    @minigrad.compile(backend=backend)
    def outer(x):
        found.append(in_thread(lambda: inner(3.0).data))
        return x * 2.0

    assert finished(lambda: outer(1.5).data) == 3.0
    assert found == [10.0]
    assert inner.cache_info().eager_calls == 1
    assert inner(2.0).data == 5.0  # now it is compiled
    assert inner.cache_info().traces == 1


def test_the_thread_calls_the_same_function(backend):
    found = []

    @minigrad.compile(backend=backend)
    def function(x):
        if not found:
            found.append(None)
            found.append(in_thread(lambda: function(3.0).data))
        return x * x

    def call():
        return function(2.0).data

    assert finished(call) == 4.0
    assert found == [None, 9.0]


def test_the_thread_replays_what_is_compiled_already(backend):
    inner = minigrad.compile(lambda x: x * x, backend=backend)
    inner(1.0)
    found = []

    def outer(x):
        found.append(in_thread(lambda: inner(3.0).data))
        return x + 1.0

    assert finished(lambda: minigrad.compile(outer, backend=backend)(1.0).data) == 2.0
    assert found == [9.0]
    assert inner.cache_info().eager_calls == 0


def test_the_thread_asks_for_gradients_and_takes_steps(backend):
    w = Value(2.0)
    inner = minigrad.compile(lambda x: w * x * x, backend=backend)
    step = minigrad.train_step(lambda x: w * x, minigrad.optim.SGD([w], lr=0.25), backend=backend)
    found = []

    def ask():
        value, grads = inner.value_and_grad(3.0)
        return value, grads.args, grads[w], step(2.0), inner(1.0).data

    def outer(x):
        found.append(in_thread(ask))
        return x + 1.0

    assert finished(lambda: minigrad.compile(outer, backend=backend)(1.0).data) == 2.0
    assert found == [(18.0, (12.0,), 9.0, 4.0, 1.5)]
    assert w.data == 1.5


@pytest.mark.parametrize("kind", ["hvp", "vmap"])
def test_what_cannot_run_uncompiled_waits_a_while_and_says_so(kind, backend, monkeypatch):
    monkeypatch.setattr(dispatch, "PATIENCE", 0.05)

    def square(x):
        return x * x

    def ask():
        if kind == "hvp":
            return minigrad.compile(square, backend=backend).hvp((3.0,), (1.0,))
        return minigrad.vmap(square, backend=backend)(np.ones(3))

    def outer(x):
        in_thread(ask)
        return x + 1.0

    with pytest.raises(TraceError, match=r"square has to be traced, and has waited 0\.05 seconds"):
        finished(lambda: minigrad.compile(outer, backend=backend)(1.0))


@pytest.mark.parametrize("kind", ["hvp", "vmap"])
def test_what_cannot_run_uncompiled_waits_for_a_trace_that_ends(kind, backend):
    inside, found = threading.Event(), []

    def square(x):
        return x * x

    def ask():
        inside.wait(10.0)
        if kind == "hvp":
            return minigrad.compile(square, backend=backend).hvp((3.0,), (1.0,))
        return minigrad.vmap(square, backend=backend)(np.full(2, 3.0)).tolist()

    other = threading.Thread(target=lambda: found.append(ask()))
    other.start()

    def slow(x):
        inside.set()
        other.join(0.2)
        return x

    minigrad.compile(slow, backend=backend)(1.0)
    other.join(30.0)
    assert found == [(2.0,) if kind == "hvp" else [9.0, 9.0]]


def test_the_same_thread_in_another_context(backend):
    """There nobody traces, as far as `tracer()` can tell."""
    inner = minigrad.compile(lambda x: x * x, backend=backend)

    def outer(x):
        return x + contextvars.Context().run(inner, x).data

    function = minigrad.compile(outer, backend=backend)
    assert [function(x).data for x in (1.0, 3.0)] == [2.0, 12.0]
    assert inner.cache_info().eager_calls == 1


def test_a_strict_function_refuses_another_way_while_somebody_traces(backend):
    strictly = minigrad.compile(lambda x: x * x if x > 0 else x, backend=backend, strict=True)
    strictly(1.0)
    refusals = []

    def ask():
        with pytest.raises(minigrad.GuardError, match="another way"):
            strictly(-1.0)
        refusals.append(True)

    def outer(x):
        in_thread(ask)
        return x

    finished(lambda: minigrad.compile(outer, backend=backend)(1.0))
    assert refusals == [True]


@pytest.mark.parametrize("strictly", [False, True])
def test_first_calls_at_once(strictly, backend):
    """Two threads call a new function: one traces, the other waits for nobody and is right too."""
    for _ in range(20):
        function = minigrad.compile(lambda x: x * x + 1.0, backend=backend, strict=strictly)
        start = threading.Barrier(4)

        def work(k, function=function, start=start):
            start.wait(10.0)
            return [function(float(k)).data for _ in range(5)]

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(work, range(4)))
        assert found == [[k * k + 1.0] * 5 for k in range(4)]
        info = function.cache_info()
        assert (info.traces, info.programs) == (1, 1)


# ---- Values of other threads ---------------------------------------------------------------------


STRANGERS = {
    "computed from arguments": lambda x, w: in_thread(lambda: x * x),
    "computed from others": lambda x, w: in_thread(lambda: w * w),
    "a leaf": lambda x, w: in_thread(lambda: Value(3.0)),
    "a leaf from a number": lambda x, w: in_thread(lambda: Value(w.data**2)),
    "without history": lambda x, w: in_thread(lambda: no_grad()(lambda: w * w)()),
    "by hand": lambda x, w: in_thread(lambda: Value(1.0, (w,), "mine")),
    "of many operands": lambda x, w: in_thread(lambda: minigrad.sum([w, w, w])),
    "by a compiled function": lambda x, w: in_thread(lambda: minigrad.compile(abs)(w)),
    "in a copy of the context": lambda x, w: in_thread(
        functools.partial(contextvars.copy_context().run, lambda: w * 2.0)
    ),
    "by an executor": lambda x, w: next(ThreadPoolExecutor(1).map(lambda v: v * v, [w])),
}


@pytest.mark.parametrize("kind", STRANGERS)
def test_what_another_thread_made_is_refused(kind, backend):
    w = Value(2.0)
    made = STRANGERS[kind]
    for function in (lambda x: x * made(x, w), lambda x: made(x, w)):
        with pytest.raises(TraceError, match="made in another thread meanwhile"):
            finished(lambda: minigrad.compile(function, backend=backend)(1.0))  # noqa: B023


def test_what_another_thread_made_before_or_after_is_a_value_like_any_other(backend):
    known = [in_thread(lambda: Value(2.0) * 3.0)]
    function = minigrad.compile(lambda x: x * known[0], backend=backend)
    assert function(2.0).data == 12.0
    kept = []

    def keeping(x):
        kept.append(in_thread(lambda: Value(5.0)))
        return x

    minigrad.compile(keeping, backend=backend)(1.0)
    known[0] = kept[0]  # made while another function was traced
    assert function(2.0).data == 10.0
    assert minigrad.compile(lambda x: x + known[0], backend=backend)(kept[0]).data == 10.0


def test_what_was_made_during_a_trace_that_failed(backend):
    kept = []

    def failing(x):
        kept.append(in_thread(lambda: Value(5.0)))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        minigrad.compile(failing, backend=backend)(1.0)
    assert minigrad.compile(lambda x: x * kept[0], backend=backend)(2.0).data == 10.0


def test_a_thread_that_makes_values_for_itself_does_not_disturb(backend):
    """A loader of data, say: what it makes, computes and differentiates is nobody's business."""
    over, ready, found = threading.Event(), threading.Event(), []

    def load():
        while not over.is_set():
            a, b = Value(2.0), Value(3.0)
            c = a * b + a
            c.backward()
            with no_grad():
                d = c * 2.0
            found.append((c.data, a.grad, b.grad, d.data, max([3, 1]), max(a, b).data, min(a, b)))
            ready.set()

    loader = threading.Thread(target=load)
    loader.start()
    try:
        ready.wait(10.0)
        weights = [Value(0.5), Value(-0.25)]
        for k in range(20):

            def function(x, k=k):
                total = x * 0.0
                for n in range(200):
                    total = total + weights[n % 2] * max(x, n * 0.25 - k)
                return total

            eager = function(Value(1.5)).data
            assert minigrad.compile(function, backend=backend)(1.5).data == pytest.approx(eager)
    finally:
        over.set()
        loader.join()
    assert {seen[:6] for seen in found} == {(8.0, 4.0, 2.0, 16.0, 3, 3.0)}
    assert {seen[6].data for seen in found} == {2.0}


def test_max_and_min_of_other_threads_are_pythons_own():
    asked, plain = [], (builtins.max, builtins.min)

    class Counted:
        """Counts what is taken from it: max of a generator must not keep all of it."""

        def __init__(self, number):
            self.number = number

        def __gt__(self, other):
            asked.append(self.number)
            return self.number > other.number

    def other():
        largest = max(Counted(k) for k in (3, 1, 2))
        with pytest.raises(TypeError, match="not iterable"):
            max(3)
        return largest.number, max(1, 2), min([4, 3]), max([], default=7)

    def function(x):
        assert builtins.max is not plain[0]
        assert in_thread(other) == (3, 2, 3, 7)
        return max(x, 2.0)

    traced = minigrad.compile(function)
    assert finished(lambda: traced(1.0).data) == 2.0
    assert (builtins.max, builtins.min) == plain
    assert asked
