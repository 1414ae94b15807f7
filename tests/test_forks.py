"""A forked process: whatever other threads were doing, passes work in it at once."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import minigrad
from minigrad import Value, grad, no_grad
from minigrad.core import blocks, modes
from minigrad.core.backward import in_turn

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning"),  # says JAX
]

LIMIT = 60  # seconds until a child counts as stuck


def in_child(check):
    """Whether a check comes out true in a forked process."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIMIT)
        status = 1
        try:
            status = 0 if check() else 2
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


class Busy:
    """A thread that stays in the middle of something until it is told to go on."""

    def __init__(self, work):
        self.inside, self.go_on = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=work, args=(self.stay,))

    def stay(self):
        self.inside.set()
        assert self.go_on.wait(LIMIT)

    def __enter__(self):
        self.thread.start()
        assert self.inside.wait(LIMIT)
        return self

    def __exit__(self, *error):
        self.go_on.set()
        self.thread.join()


def tripled(x, step=lambda: None):
    """3 * x, with a hand-written step that does something else half way."""
    out = Value(3.0 * x.data, (x,), "triple")

    def backward():
        x.grad += 1.0 * out.grad
        step()
        x.grad += 2.0 * out.grad

    out._backward = backward
    return out


def a_new_graph_works():
    x = Value(3.0)
    (x * x).backward()
    return x.grad == 6.0 and grad(tripled(x) * 2, x) == 6.0


@pytest.mark.parametrize("call", [Value.backward, lambda root: grad(root, root)])
def test_another_thread_is_in_the_middle_of_a_pass(call):
    x = Value(2.0)
    x.grad = 0.5
    steps = []
    root = tripled(x, lambda: steps.pop()() if steps else None)
    with Busy(lambda stay: (steps.append(stay), call(root))):

        def check():
            before = (x.grad, root.grad)
            root.backward()
            return before == (0.5, 0.0) and (x.grad, root.grad) == (3.5, 1.0)

        for _ in range(3):
            assert in_child(a_new_graph_works)
            assert in_child(check)
    assert x.grad == (3.5 if call is Value.backward else 0.5)


def test_at_random_moments_of_passes():
    x, one = Value(0.5), Value(1.0)
    root = x
    for _ in range(2000):
        root = root * one + 1.0
    over = threading.Event()

    def work():
        while not over.is_set():
            root.backward()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(8):
            time.sleep(0.002)

            def check():
                count = x.grad
                complete = count == int(count) == root.grad and one.grad % 1 == 0
                root.backward()
                return complete and x.grad == count + 1 and a_new_graph_works()

            assert in_child(check)
    finally:
        over.set()
        thread.join()


def test_a_step_that_forks_goes_on_in_both():
    x, children = Value(2.0), []

    def fork():
        children.append(os.fork())
        if not children[-1]:
            signal.alarm(LIMIT)

    root = tripled(x, fork)
    status = 1
    try:
        root.backward()
        status = 0 if (x.grad, root.grad) == (3.0, 1.0) and a_new_graph_works() else 2
    finally:
        if not children[-1]:
            os._exit(status)
    assert status == 0
    assert os.waitpid(children[-1], 0)[1] == 0


def test_modes_of_other_threads_are_not_there():
    def work(stay):
        with no_grad():
            stay()

    def check():
        x = Value(2.0)
        return len((x * x)._operands) == 2 and not blocks.open_blocks

    with Busy(work), no_grad():
        assert in_child(lambda: not modes.is_recording() and len(blocks.open_blocks) == 1)
    with Busy(work):
        assert in_child(check)


def test_whoever_else_has_the_marks_is_gone():
    with Busy(lambda stay: in_turn(stay)):
        assert in_child(a_new_graph_works)


def test_another_thread_is_in_the_middle_of_a_trace(backend):
    parked = []

    def cube(x):
        if parked:
            parked.pop()()
        return x * x * x

    def other(x):
        return max(x * 2.0, x)

    largest = max

    def check():
        compiled = minigrad.compile(other, backend=backend)
        again = minigrad.compile(cube, backend=backend)
        return max is largest and compiled(3.0).data == 6.0 and again(2.0).data == 8.0

    def work(stay):
        parked.append(stay)
        minigrad.compile(cube, backend=backend)(2.0)

    with Busy(work):
        assert in_child(check)


def test_another_thread_takes_training_steps(backend):
    """A child has the parameters of a whole number of steps."""
    w = Value(0.0)
    optimizer = minigrad.optim.SGD([w], lr=1.0)
    step = minigrad.train_step(lambda x: w * x, optimizer, backend=backend)
    step(-1.0)
    over = threading.Event()

    def work():
        while not over.is_set():
            step(-1.0)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(6):
            time.sleep(0.002)

            def check():
                taken = w.data
                if taken != optimizer.steps:
                    return False
                step(-1.0)
                return (w.data, optimizer.steps) == (taken + 1, taken + 1)

            assert in_child(check)
    finally:
        over.set()
        thread.join()
