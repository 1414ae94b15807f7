"""`no_grad()` and `strict()`: what they do, for whom, and how strict mode words its findings."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import math
import re
import sys
import threading
import time

import pytest

import minigrad
from minigrad import (
    NonFiniteError,
    NotDifferentiableError,
    StaleDataError,
    Value,
    grad,
    hessian,
    no_grad,
    record,
    strict,
)
from minigrad.core import blocks, modes
from minigrad.scalar import nodes_alive


def here():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.smoke
def test_no_grad_records_nothing():
    a = Value(3.0)
    with no_grad():
        b = a * 2 + a.tanh()
        c = minigrad.sum([a, b])
        d = minigrad.where(True, a, b)
    for v in (b, c, d):
        assert (v._operands, v._op) == ((), "")
    assert b.data == 6 + math.tanh(3)
    (b * a).backward()
    assert a.grad == b.data
    assert (a * 2)._operands[0] is a


def test_no_grad_nests_decorates_and_ends_with_an_error():
    a = Value(1.0)

    @no_grad()
    def evaluate():
        with no_grad():
            assert (a + 1)._operands == ()
        return a + 1

    assert evaluate()._operands == ()
    with pytest.raises(ZeroDivisionError), no_grad():
        1 / 0  # noqa: B018
    assert len((a + a)._operands) == 2


def test_decorated_functions_run_in_many_threads_at_once():
    a, seen = Value(2.0), []

    @no_grad()
    def work(delay):
        time.sleep(delay)
        seen.append((a * 2)._operands)

    threads = [threading.Thread(target=work, args=(delay,)) for delay in (0.03, 0.06, 0.01)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(), (), ()]
    blocks.tidy_up()
    assert not blocks.open_blocks
    assert len((a * a)._operands) == 2


def test_coroutines_and_tasks():
    a = Value(2.0)

    @no_grad()
    async def inside():
        await asyncio.sleep(0)
        return (a * a)._operands

    async def outside():
        await asyncio.sleep(0)
        return (a * a)._operands

    async def late(closed):
        before = (a * a)._operands
        await closed.wait()
        return before, (a * a)._operands

    async def main():
        assert await asyncio.gather(inside(), outside(), inside()) == [(), (a, a), ()]
        closed = asyncio.Event()
        with no_grad():
            inherited = asyncio.create_task(late(closed))
            await asyncio.sleep(0)
        closed.set()
        # a task started inside the block is inside it, until the block closes
        assert await inherited == ((), (a, a))

    asyncio.run(main())


def test_a_block_closed_elsewhere_leaves_nothing_behind():
    a = Value(2.0)

    def suspended():
        with no_grad():
            yield

    generator = suspended()
    next(generator)
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join()
    assert len((a * a)._operands) == 2
    blocks.tidy_up()
    assert not blocks.open_blocks


def _looked_up(mode, order):
    """What a `with` statement gets before it calls either: up to Python 3.13 enter first."""
    found = {}
    for name in order:
        found[name] = getattr(mode, name)
    return found["__enter__"], found["__exit__"]


ORDERS = [("__enter__", "__exit__"), ("__exit__", "__enter__")]


@pytest.mark.parametrize("order", ORDERS)
def test_a_block_is_entered_and_left_whichever_is_looked_up_first(order):
    mode = no_grad()
    outer = _looked_up(mode, order)
    assert outer[0]() is mode
    inner = _looked_up(mode, order)
    inner[0]()
    inner[1](None, None, None)
    assert not modes.is_recording()
    outer[1](None, None, None)
    assert modes.is_recording()


@pytest.mark.parametrize("order", ORDERS)
def test_a_block_that_nobody_will_leave_is_over(order):
    """An interrupt may come when a `with` has entered, and is not yet ready to leave."""
    enter, leave = _looked_up(no_grad(), order)
    enter()
    assert not modes.is_recording()
    del leave
    assert modes.is_recording()
    blocks.tidy_up()
    assert not blocks.open_blocks


def test_looking_at_a_mode_changes_nothing():
    mode = no_grad()
    assert hasattr(mode, "__exit__")
    assert hasattr(mode, "__enter__")
    with mode:
        assert not modes.is_recording()
    assert modes.is_recording()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mode)
        stack.enter_context(mode)
        assert not modes.is_recording()
    assert modes.is_recording()


def test_one_mode_in_many_threads():
    mode, wrong = no_grad(), []

    def work():
        for _ in range(200):
            with mode:
                wrong.append(modes.is_recording())
            wrong.append(not modes.is_recording())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(wrong)
    blocks.tidy_up()
    assert not blocks.open_blocks


def test_reads_while_others_open_and_close_blocks():
    """What is open in other threads is looked at in one go."""
    x, over, failures = Value(2.0), threading.Event(), []

    def work():
        try:
            while not over.is_set():
                with no_grad():
                    x.data  # noqa: B018
        except RuntimeError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for _ in range(20_000):
            x.data  # noqa: B018
    finally:
        over.set()
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_record_decorates():
    tape = record()

    @tape
    def run():
        (a * a).backward()

    a = Value(3.0)
    run()
    assert a.grad == 6.0


def test_what_a_closed_block_has_seen_is_freed():
    def run():
        x = Value(1.0)
        for _ in range(100):
            x = x * 1.5
        with record():
            x.backward()

    gc.collect()  # what other tests have left
    before = nodes_alive()
    run()
    tidying = threading.Thread(target=lambda: Value(1.0) * 2.0)  # in another thread
    tidying.start()
    tidying.join()
    gc.collect()
    assert nodes_alive() == before


def test_misuse_is_explained():
    with pytest.raises(TypeError, match=r"@no_grad\(\)"):
        no_grad(lambda: None)
    with pytest.raises(TypeError, match=r"with strict\(\):"):

        @strict()
        def numbers():
            yield 1

    with pytest.raises(TypeError, match="Model is a class; decorate its methods"):

        @no_grad()
        class Model:
            pass


def test_no_grad_stops_operations_of_ones_own():
    a = Value(2.0)

    def step():
        a.grad += 3.0

    with no_grad():
        out = Value(6.0, (a,), "x3")
        out._backward = step
    (out * 2).backward()
    assert a.grad == 0.0


def test_no_grad_holds_for_its_own_thread_only():
    a = Value(1.0)
    inside, done = threading.Event(), threading.Event()

    def other():
        with no_grad():
            inside.set()
            done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    try:
        assert (a + a)._operands == (a, a)
    finally:
        done.set()
        thread.join()


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda x: x.log(), [r"log\(x=0\.0\)", "-inf"]),
        (lambda x: 1 / x, [r"div\(1\.0, x=0\.0\)", "inf"]),
        (lambda x: (x - 1).sqrt(), [r"sqrt\(-1\.0\)", "nan"]),
        (lambda x: (x + 800).exp(), [r"exp\(800\.0\)", "inf"]),
        (lambda x: (x + 1e300) * 1e300, [r"mul\(1e\+300, 1e\+300\)", "inf"]),
        (lambda x: minigrad.sum([x + 1e308, Value(1e308)]), [r"sum\(1e\+308, 1e\+308\)", "inf"]),
    ],
)
def test_strict_raises_at_the_first_bad_number_and_names_its_line(build, words):
    x = Value(0.0, label="x")
    build(x)  # IEEE arithmetic goes on outside
    with pytest.raises(NonFiniteError) as caught, strict():
        build(x)
    message = str(caught.value)
    for word in words:
        assert re.search(word, message), message
    line = build.__code__.co_firstlineno
    assert f"{__file__}:{line}" in message
    assert isinstance(caught.value, ArithmeticError)


def test_strict_lets_infinities_pass_that_were_there_before():
    with strict():
        x = Value(math.inf)
        assert (x + 1).data == math.inf
        assert math.isnan((x - x).data)


def test_strict_backward_names_where_the_gradient_went_bad():
    x = Value(0.0, label="x")
    with strict():
        y = x.sqrt()
        line = here() - 1
        with pytest.raises(NonFiniteError, match=r"'sqrt'.*gradient of x to inf") as caught:
            (y * 2).backward()
    assert f"{__file__}:{line}" in str(caught.value)
    assert (x.grad, y.grad) == (0.0, 0.0)
    (y * 2).backward()
    assert x.grad == math.inf


def test_strict_backward_looks_at_custom_steps_too():
    a = Value(1.0, label="a")
    out = Value(1.0, (a,), "mine")

    def step():
        a.grad += math.nan

    out._backward = step
    with strict(), pytest.raises(NonFiniteError, match="'mine'.*gradient of a to nan"):
        out.backward()
    assert a.grad == 0.0


def test_strict_backward_notices_a_forgotten_backward():
    a = Value(1.0)
    out = Value(2.0, (a,), "mine")
    out.backward()
    with strict(), pytest.raises(NotDifferentiableError, match="'mine'.*forgotten"):
        out.backward()


@pytest.mark.parametrize("inside", [True, False])
def test_strict_refuses_data_changed_after_the_forward_pass(inside):
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    with strict():
        out = a * b + 1
    if not inside:
        out = a * b + 1
    a.data = 5.0
    with (
        strict(),
        pytest.raises(StaleDataError, match=r"mul holds 6\.0.*mul\(a=5\.0, b=3\.0\).*15"),
    ):
        out.backward()
    assert (a.grad, b.grad, out.grad) == (0.0, 0.0, 0.0)
    with strict(), pytest.raises(StaleDataError):
        grad(out, a)
    out.backward()
    assert (a.grad, b.grad) == (3.0, 2.0)


def test_strict_is_silent_about_sound_work():
    with strict():
        x = Value(0.5, label="x")
        out = minigrad.logsumexp([x, x * 2, (x**2).tanh()]) + minigrad.where(x > 0, x, -x)
        out = out + x.clip(0, 1) + 3 / x + minigrad.softmax([x, 1.0])[0]
        out.backward()
    first = x.grad
    x = Value(0.5)
    out = minigrad.logsumexp([x, x * 2, (x**2).tanh()]) + minigrad.where(x > 0, x, -x)
    out = out + x.clip(0, 1) + 3 / x + minigrad.softmax([x, 1.0])[0]
    out.backward()
    assert x.grad == first


def test_strict_notices_a_slope_that_changed_though_the_value_did_not():
    a = Value(2.0)
    out = abs(a)
    a.data = -2.0
    with strict(), pytest.raises(StaleDataError, match="abs holds 2"):
        out.backward()


def test_strict_looks_at_nodes_made_by_hand():
    a = Value(1.0, label="a")
    with strict(), pytest.raises(NonFiniteError, match=r"mine\(a=1\.0\) gave inf"):
        Value(math.inf, (a,), "mine")


def test_strict_is_silent_about_sound_second_derivatives():
    with strict():
        x = Value(0.0)
        assert hessian(x**2, [x]) == [[2.0]]
        assert grad(grad(x.tanh(), x, create_graph=True), x) == 0.0
        far = Value(800.0)
        assert grad(grad(far.tanh(), far, create_graph=True), far) == 0.0
        with pytest.raises(NonFiniteError, match=r"derivative of sqrt\(0\.0\).* is inf"):
            grad(x.sqrt(), x, create_graph=True)


def test_strict_and_no_grad_together():
    x = Value(0.0)
    with strict(), no_grad():
        assert (x + 1)._operands == ()
        with pytest.raises(NonFiniteError):
            x.log()
        with pytest.raises(NonFiniteError):
            minigrad.sum([x + 1e308, 1e308])


def test_labels_in_messages_are_readable_and_short():
    x = Value(0.0, label="\x1b[2J" + "x" * 5000)
    with strict(), pytest.raises(NonFiniteError) as caught:
        x.log()
    assert "log(␛[2Jxxx" in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    y = Value(0.0, label="\u202e")
    root = y.sqrt()
    with strict(), pytest.raises(NonFiniteError, match="⟨U\\+202E⟩"):
        root.backward()
