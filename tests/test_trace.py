"""What a trace takes down: what stays open, what is tied to a number, and what is refused."""

from __future__ import annotations

import builtins
import copy
import math
import threading
import warnings
from math import inf, nan

import pytest

import minigrad
from minigrad import TraceError, Value, no_grad, take, where

np = pytest.importorskip("numpy")
tracing = pytest.importorskip("minigrad.compiler.tracing.trace")

near = pytest.approx
PLAIN = builtins.max, builtins.min


@pytest.fixture(autouse=True)
def no_trace_is_left_behind():
    yield
    assert (builtins.max, builtins.min) == PLAIN


def replay(function, *calls):
    """Compile, call with each set of arguments; return the numbers and how often it was traced."""
    compiled = minigrad.compile(function, backend="numpy")
    found = []
    for arguments in calls:
        result = compiled(*arguments)
        found.append(result.data if isinstance(result, Value) else result)
    return found, compiled.cache_info().traces


# ---- open: one program for all numbers -----------------------------------------------------------

STAYS_OPEN = {
    "arithmetic": lambda x: (x * 2 - 1) / (x + 3) + 1 / x - -x,
    "arithmetic on what was read": lambda x: x * (1 - x.data / 2 + 3 * abs(x.data) - -x.data),
    "two numbers that were read": lambda x: x + x.data * (x + 1).data,
    "a choice": lambda x: where(x > 1.5, x * 3, x - 1),
    "a choice by what was read": lambda x: where(x.data <= 2, x * 3, x - 1),
    "a choice between numbers": lambda x: x + where(x >= 2, 10.0, 20.0),
    "and, or, not": lambda x: where((x > 1) & ~(x > 2) | (x.data < 0), x * 3, x - 1),
    "counted conditions": lambda x: x * sum([x.data > 1, x.data > 2, x.data == 3.0]),
    "detached": lambda x: x.detach() * x,
    "the largest number": lambda x: x * max(x.data, 2.0, (x * x).data - 2),
    "the smallest number": lambda x: x * min([x.data, 2.0]),
    "the largest Value": lambda x: max(x, 4 - x, Value(2.25)) * x,
    "the smallest Value": lambda x: min([x, 4 - x]) * x,
    "the largest of one": lambda x: max([x]) + max([x.data]),
    "the largest of a generator": lambda x: max(x * k for k in (1, -1, 0.5)),
    "softmax": lambda x: minigrad.softmax([x, 3 - x, x * 0.5])[1],
    "logsumexp": lambda x: minigrad.logsumexp([x, 3 - x, x * 0.5]),
}


# From Python 3.12 on, ~ warns of plain bools, as the eager engine has them.
@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")
@pytest.mark.parametrize("name", STAYS_OPEN)
def test_stays_open(name):
    function = STAYS_OPEN[name]
    inputs = [1.25, 1.75, 2.5, 3.0, 0.5]
    found, traces = replay(function, *[(x,) for x in inputs])
    assert found == near([function(Value(x)).data for x in inputs], rel=1e-14)
    assert traces == 1


# ---- tied to a number: another number is another trace -------------------------------------------

TIED = {
    "branch": lambda x: x * 2 if x > 1.5 else x * 3,
    "branch on what was read": lambda x: x * 2 if x.data > 1.5 else x * 3,
    "not": lambda x: x * 2 if not x < 1.5 else x * 3,
    "and": lambda x: x * 2 if x > 1 and x < 2 else x * 3,
    "comparison with a Value": lambda x: x * 2 if x > Value(1.5) else x * 3,
    "equality": lambda x: x * 2 if x.data == 1.25 else x * 3,
    "while": lambda x: _halved(x),
    "math.sqrt": lambda x: x * math.sqrt(x.data),
    "float": lambda x: x * float(x.data),
    "int": lambda x: x * int(x.data),
    "round": lambda x: x * round(x.data),
    "round to digits": lambda x: x * round(x.data, 1),
    "floor and ceil": lambda x: x * math.floor(x.data) + math.ceil(x.data) - math.trunc(x.data),
    "//": lambda x: x * (x.data // 0.5) + 7 // x.data,
    "%": lambda x: x * (x.data % 0.5) + 7 % x.data,
    "power": lambda x: x * x.data**2 + 2**x.data,
    "format": lambda x: x * len(f"{x.data:.2f}") * float(f"{x.data:.1f}"),
    "format of the Value": lambda x: x * float(f"{x:.1f}"),
    "repr": lambda x: x * float(repr(x.data)),
    "list index": lambda x: x * [5.0, 6.0, 7.0, 8.0][int(x.data)],
    "dict key": lambda x: x * {1.25: 5.0, 2.5: 6.0}.get(x.data, 7.0),
    "set": lambda x: x * len({x.data, 1.25}),
    "hash": lambda x: x * (hash(x.data) % 7),
    "in": lambda x: x * 2 if x.data in (2.5, 3.0) else x * 3,
    "sorted": lambda x: sorted([x, 4 - x, Value(2.25)], key=lambda v: v.data)[1] * x,
    "max with a key": lambda x: max([x, 4 - x], key=lambda v: v.data) * x,
    "max with a default": lambda x: max([x.data, 2.0], default=0.0) * x,
    "is_integer": lambda x: x * 2 if x.data.is_integer() else x * 3,
    "a new Value": lambda x: Value(x.data) * x,
    "truth": lambda x: x * 2 if x.data - 2.5 else x * 3,
}


def _halved(x):
    while x > 1:
        x = x / 2
    return x


@pytest.mark.filterwarnings("ignore:.* was traced 3 times in a row")
@pytest.mark.parametrize("name", TIED)
def test_what_needs_the_number_is_guarded(name):
    function = TIED[name]
    inputs = [1.25, 1.75, 2.5, 3.0, 0.5, 1.25, 2.5]
    found, traces = replay(function, *[(x,) for x in inputs])
    assert found == near([function(Value(x)).data for x in inputs], rel=1e-14)
    assert 1 <= traces <= 5  # the last two calls find their programs


def test_a_guard_knows_its_line():
    compiled = minigrad.compile(lambda x: x if x > 0 else -x, backend="numpy")
    compiled(1.0)
    (guard,) = compiled.program.guards
    assert "a branch" in guard.what
    assert "test_trace.py:" in guard.what


@pytest.mark.parametrize("x", [nan, inf, -inf, -0.0, 0.0])
def test_numbers_that_are_not_quite_numbers(x):
    for function in [TIED["branch"], STAYS_OPEN["a choice"], STAYS_OPEN["detached"]]:
        for first in (1.0, nan, -0.0):
            found, _ = replay(function, (first,), (x,), (x,))
            assert found[1:] == near([function(Value(x)).data] * 2, nan_ok=True)


def test_a_sign_of_zero_is_a_different_number():
    found, _ = replay(lambda x: x + math.copysign(1, x.data), (0.0,), (-0.0,), (0.0,))
    assert found == [1.0, -1.0, 1.0]


def test_a_nan_that_was_read_is_found_again():
    found, traces = replay(lambda x: f"{x.data:.1f}", (nan,), (1.0,), (nan,))
    assert found == ["nan", "1.0", "nan"]
    assert traces == 2


# ---- gradients that stop -------------------------------------------------------------------------


def slope(function, x):
    v = Value(x)
    minigrad.compile(function, backend="numpy")(v).backward()
    return v.grad


def test_what_was_read_is_not_differentiated():
    def frozen(x):
        with no_grad():
            y = x * x + x.exp()
        return y * x

    assert slope(lambda x: x * x.data, 3.0) == 3.0
    assert slope(lambda x: x * x.detach(), 3.0) == 3.0
    assert slope(lambda x: x * x.detach() * x, 3.0) == 18.0
    assert slope(frozen, 3.0) == near(9 + math.exp(3))
    assert slope(lambda x: x * max(x.data, 1.0), 3.0) == 3.0
    assert slope(lambda x: x * max(x, Value(1.0)), 3.0) == 6.0
    assert slope(lambda x: x * max(x, Value(5.0)), 3.0) == 5.0


def test_ties_go_to_the_first():
    a, b = Value(2.0), Value(2.0)
    minigrad.compile(lambda a, b: max(a, b) + 10 * min(a, b), backend="numpy")(a, b).backward()
    assert (a.grad, b.grad) == (11.0, 0.0)


def test_what_is_left_out_has_no_slope_not_even_an_infinite_one(backend):
    for function in [
        lambda x, i: where(x > 0, x.log(), x * 3),
        lambda x, i: max(x.log(), x * 3),
        lambda x, i: take([x.log(), x * 3], i),
        lambda x, i: where(x > 0, minigrad.dot([x.log(), x], [x, x]), x * 3),
    ]:
        x = Value(0.0)
        minigrad.compile(function, backend=backend)(x, 1).backward()
        assert x.grad == 3.0


# ---- refused -------------------------------------------------------------------------------------

w = Value(2.0)


def assigns_data(x):
    w.data = 3.0
    return x * w


def assigns_grad(x):
    w.grad = 3.0
    return x * w


def reads_grad(x):
    return x * w.grad


def goes_backward(x):
    (x * w).backward()
    return x


def clears(x):
    (x * w).zero_grad()
    return x


def clears_many(x):
    minigrad.zero_grad([w])
    return x * w


def asks_for_gradients(x):
    return x * minigrad.grad(x * x, x)


def pushes_tangents(x):
    return x * minigrad.jvp(x * x, [x], [1.0])


def makes_a_node(x):
    return Value(x.data**2, (x,), "square") * 1.0


def differentiates_a_program(x):
    return minigrad.compile(lambda y: y * y).value_and_grad(x)[1].args[0] * x


def copies(x):
    return copy.copy(x) * 2


REFUSED = [
    assigns_data,
    assigns_grad,
    reads_grad,
    goes_backward,
    clears,
    clears_many,
    asks_for_gradients,
    pushes_tangents,
    makes_a_node,
    differentiates_a_program,
    copies,
]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused_with_the_line(function):
    with pytest.raises(TraceError, match=r"test_trace\.py:\d+"):
        minigrad.compile(function, backend="numpy")(1.0)
    assert (w.data, w.grad) == (2.0, 0.0)


def test_an_exception_leaves_everything_as_it_was():
    def fails(x):
        assert builtins.max is not PLAIN[0]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minigrad.compile(fails)(1.0)
    assert builtins.max is PLAIN[0]
    v = Value(2.0)
    assert type(v.data) is float
    assert (v > 1) is True
    found, _ = replay(lambda x: 1 / (x.data - 1) * x, (3.0,))
    assert found == [1.5]
    with pytest.raises(ZeroDivisionError):
        replay(lambda x: 1 / (x.data - 1) * x, (1.0,))


def test_other_threads_do_not_notice():
    inside, done = threading.Event(), threading.Event()
    seen = []

    def slow(x):
        inside.set()
        assert done.wait(10)
        return max(x, Value(1.0))

    def other():
        assert inside.wait(10)
        v = Value(3.0)
        seen.extend([max(v, Value(4.0)).data, max(1, 2), min([3.0, 2.0]), v.data, v > 2])
        seen.append(max("ab", "c", key=len))
        v.data = 5.0
        (v * v).backward()
        seen.append(v.grad)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    compiled = minigrad.compile(slow, backend="numpy")
    assert compiled(2.0).data == 2.0
    thread.join()
    assert seen == [4.0, 2, 2.0, 3.0, True, "ab", 10.0]
    assert compiled(0.5).data == 1.0


def test_a_function_may_be_traced_in_many_threads_at_once():
    def work(k):
        compiled = minigrad.compile(lambda x: max(x * k, x.exp()) if x > 0 else -x)
        found[k] = [compiled(x).data for x in (1.0, -1.0, 2.0)]

    found = {}
    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        assert found[k] == near([max(k, math.e), 1.0, max(2 * k, math.exp(2))])


def test_strict_inside_is_refused():
    def f(x):
        with minigrad.strict():
            return x.log()

    with pytest.raises(minigrad.TraceError, match="strict"):
        minigrad.compile(f)(1.0)


def test_of_a_long_trace_one_is_told_what_to_do_instead(monkeypatch):
    """While it is traced: later there may be no memory left to say it."""
    told = []
    monkeypatch.setattr(tracing, "LONG", 500)

    def loss(examples):
        total = 0.0
        for x in examples:
            total = total + (x * x).tanh()
            told.append(len(caught))
        return total

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        minigrad.compile(loss).value_and_grad([0.001 * k for k in range(400)])
    (warning,) = caught
    assert warning.category is RuntimeWarning
    words = str(warning.message)
    assert words.startswith("a compiled function has done 500 operations, at ")
    assert "test_trace.py:" in words
    assert "minigrad.vmap(loss) takes a batch as arrays" in words
    assert "minigrad.train_step(loss, optimizer) takes a step for each example" in words
    assert 0 < told.index(1) < 200  # three operations for each example

    # What it says to do is done without a word.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        examples = np.arange(400) * 0.001
        values, grads = minigrad.vmap(lambda x: (x * x).tanh()).value_and_grad(examples)
    np.testing.assert_allclose(values, np.tanh(examples**2), atol=1e-14)
    slopes = 2 * examples * (1 - np.tanh(examples**2) ** 2)
    np.testing.assert_allclose(grads[0], slopes, atol=1e-14)


def test_a_long_trace_may_be_made_an_error(monkeypatch):
    monkeypatch.setattr(tracing, "LONG", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="has done 10 operations"):
            minigrad.compile(lambda x: sum([x * k for k in range(20)]))(1.0)
    assert minigrad.compile(lambda x: x * x)(3.0).data == 9.0  # and the next trace is as ever
