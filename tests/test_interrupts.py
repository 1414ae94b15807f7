"""Whatever is raised, wherever: a step is taken entirely or not at all, and so is a pass.

Eager calls, at every position: `interruptions.py`, of which a sample is tried here.
"""

from __future__ import annotations

import contextlib
import gc
import linecache
import os
import random
import signal
import subprocess
import sys
import threading
import time

import interruptions
import optimisers
import pytest
from interruptions import CASES, Graph

import minigrad
from minigrad import BackwardRunningError, Value, grad, no_grad, strict
from minigrad.core import blocks
from minigrad.optim import SGD, Adam, AdamW, cosine

pytest.importorskip("numpy")

SAMPLE = 16  # positions of each case
ROOMS = [
    "train.py",
    "blocks.py",
    "modes.py",
    "observers.py",
    "writeback.py",
    "optim.py",
    "parameters.py",
    "unchanged.py",
    "refill.py",
    "repeat.py",
    "function.py",
    os.path.join("backends", "numpy.py"),
    os.path.join("backends", "native.py"),
]
SETTINGS = {
    "SGD": (SGD, {"lr": 0.1}),
    "momentum": (SGD, {"lr": cosine(0.1, 0.01, 20), "momentum": 0.9}),
    "AdamW": (AdamW, {"lr": 0.03, "weight_decay": 0.2}),
    "RMSprop": (optimisers.RMSprop, {"lr": 0.03}),
}


@pytest.fixture(autouse=True)
def nobody_watches_the_collector():
    """Hypothesis does, by a callback; an interrupt that comes inside it is lost, with a warning."""
    others = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks.extend(one for one in others if one not in gc.callbacks)


@pytest.mark.parametrize("name", CASES)
def test_eager_calls_are_done_or_not_done(name):
    """And no mode is left on, no lock held; at a sample of all lines in the package."""
    make = CASES[name]
    every = max(1, interruptions.count_positions(make) // SAMPLE)
    counts = interruptions.sweep(make, every, start=len(name) % every)
    assert counts.is_sound, str(counts)
    if minigrad.engine() == "pure":
        assert counts.positions >= SAMPLE


@pytest.mark.parametrize("name", ["backward by hand", "step of Adam"])
def test_eager_calls_between_any_two_instructions(name):
    """Python itself looks for signals at fewer places."""
    make = CASES[name]
    every = max(1, interruptions.count_positions(make, "opcode") // SAMPLE)
    counts = interruptions.sweep(make, every, event="opcode")
    assert counts.is_sound, str(counts)


@pytest.mark.parametrize("name", ["backward", "backward by hand", "grad", "step of SGD"])
def test_eager_calls_without_memory(name):
    """Each allocation fails in turn; in a process of its own, for Python may not survive it."""
    pytest.importorskip("_testcapi")
    done = subprocess.run(
        [sys.executable, interruptions.__file__, "memory", name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong, 0 stuck, 0 left_on" in done.stdout
    assert " 0 positions" not in done.stdout


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer")
def test_signals_at_random_times_of_passes(by_hand):
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    graph, armed = Graph(by_hand), [False]
    graph.root.zero_grad()
    graph.root.backward()
    once = graph.look()
    graph.root.zero_grad()
    rng, passes = random.Random(by_hand), 0

    def interrupt(number, frame):
        if armed[0]:
            raise KeyboardInterrupt

    def has(count):
        return graph.look() == [pytest.approx(count * number) for number in once]

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # what a callback of the collector's raises is lost
    try:
        for _ in range(200):
            with contextlib.suppress(KeyboardInterrupt):
                armed[0] = True
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3e-4))
                for _ in range(5):
                    graph.root.backward()
                    passes += 1
                armed[0] = False
            armed[0] = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            assert has(passes) or has(passes + 1)
            passes += has(passes + 1)
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_in_a_hand_written_step(request):
    graph, x = Graph(by_hand=True), Value(2.0)
    out = Value(8.0, (x, graph.root), "cube")

    def step():
        x.grad += 12.0 * out.grad
        graph.root.grad += 100.0
        signal.raise_signal(signal.SIGINT)

    out._backward = step
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, handler))
    before = graph.look()
    for call in (out.backward, lambda: grad(out * 2, x)):
        with pytest.raises(KeyboardInterrupt) as caught:
            call()
        assert "as it was before the pass" in caught.value.__notes__[0]
        assert (graph.look(), x.grad, out.grad) == (before, 0.0, 0.0)
        graph.root.backward()
        graph.root.zero_grad()
        before = graph.look()


def test_a_label_that_cannot_be_shown_does_not_hide_the_error():
    class Shy(str):
        def __repr__(self):
            raise ValueError("no")

        __str__ = __repr__

    x = Value(2.0)
    out = Value(4.0, (x,), "out", label=Shy("shy"))

    def step():
        raise ZeroDivisionError

    out._backward = step
    with pytest.raises(ZeroDivisionError):
        out.backward()
    assert x.grad == 0.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer")
def test_a_signal_handler_may_read_in_the_middle_of_a_training_step():
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    a, b, seen = Value(2.0), Value(2.0), []
    step = minigrad.train_step(lambda x: (x * a - 1.0) ** 2, SGD([a], lr=0.01), audit=False)
    step(1.0)
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append((a.data, a.grad)))
    rng = random.Random(3)
    try:
        for _ in range(300):
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 5e-5))
            for _ in range(3):
                step(1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    for _ in range(901):
        b.data -= 0.01 * (2.0 * (b.data - 1.0))
    assert a.data == pytest.approx(b.data, rel=1e-12)
    assert seen


def test_a_pass_inside_a_pass_is_refused_and_the_next_one_works():
    graph, x = Graph(by_hand=True), Value(2.0)
    out = Value(4.0, (x,), "inner")
    out._backward = lambda: grad(graph.root, graph.a)
    for _ in range(2):
        with pytest.raises(BackwardRunningError, match="running already"):
            out.backward()
    graph.root.backward()


@pytest.mark.parametrize("kind", [no_grad, strict, minigrad.record])
def test_blocks_are_closed_however_they_are_left(kind):
    def with_statement():
        with kind():
            assert blocks.open_blocks

    def stack():
        with contextlib.ExitStack() as entered:
            entered.enter_context(kind())
            assert blocks.open_blocks

    def by_name():
        block = kind()
        block.__enter__()
        block.__exit__(None, None, None)

    def twice():
        block = kind()
        with block, block:
            assert len(blocks.open_blocks) == 2

    for use in (with_statement, stack, by_name, twice):
        use()
        assert not interruptions.something_is_on()


class Training:
    """A training of three parameters, on batches of two sizes in turn: on two machines."""

    def __init__(self, setting, backend):
        kind, options = SETTINGS[setting]
        self.parameters = [Value(0.5), Value(-0.25), Value(0.125)]
        self.optimizer = kind(self.parameters, **options)
        self.fixed = Value(0.75)  # one that is only read
        self._step = minigrad.train_step(
            self.loss,
            self.optimizer,
            backend=backend,
            audit=False,  # which runs the loss itself, with all that may be interrupted there
        )

    def loss(self, xs):
        a, b, c = self.parameters
        return minigrad.sum([((a * x + b).tanh() * c - self.fixed) ** 2 for x in xs])

    def step(self, k):
        return self._step([0.1 * (k % 7 - 3) + 0.01 * n for n in range(1 + k % 2)])

    def values(self):
        return [p.data for p in self.parameters]

    def slopes(self):
        return [p.grad for p in self.parameters]

    def counted(self):
        state = {name: list(numbers) for name, numbers in self.optimizer.state.items()}
        return state, self.optimizer.steps

    def look(self, counts_first=False):
        if counts_first:
            counted = self.counted()
            return self.values(), counted
        return self.values(), self.counted()


def undisturbed(setting, backend, count):
    """What there is to see before each of so many steps, and the gradients."""
    training = Training(setting, backend)
    seen, slopes = [], []
    for k in range(count):
        seen.append(training.look())
        slopes.append(training.slopes())
        training.step(k)
    return seen, slopes


def raising_at(number, rooms):
    """A trace function that raises at a line of these rooms, the first having number 0.

    Where a `with` block ends, Python reports its first line again. There it does not look for
    signals, so nothing is raised there either.
    """
    left = [number]

    def in_frame():
        entered = set()

        def on_line(frame, event, argument):
            if event != "line":
                return on_line
            source = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            if source.lstrip().startswith("with "):
                if frame.f_lineno in entered:
                    return on_line
                entered.add(frame.f_lineno)
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return on_line

        return on_line

    def on_call(frame, event, argument):
        return in_frame() if frame.f_code.co_filename.endswith(tuple(rooms)) else None

    return on_call


def interrupted(call, number, rooms):
    """Whether a call came to that line, and was interrupted there."""
    tracing = sys.gettrace()
    sys.settrace(raising_at(number, rooms))
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(tracing)
    return False


def steps_with_interruptions(training, seen, take, rooms):
    """Interrupt steps at every line, one line after the other; return how many were taken."""
    k, number, outcomes = 2, 0, []
    while True:
        was = interrupted(lambda: take(k), number, rooms)  # noqa: B023 - called at once
        found = training.look(counts_first=number % 2 == 1)
        assert found in (seen[k], seen[k + 1]), f"line {number}"
        outcomes.append(found == seen[k + 1])
        assert was or outcomes[-1]
        k += outcomes[-1]
        training.step(k)  # and it goes on as if nothing had been
        k += 1
        if number % 3:  # else the next one starts from numbers that the machine has
            assert training.look() == seen[k]
        if not was:
            return outcomes
        number += 1


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_interruption_at_any_line(setting, backend):
    seen, _ = undisturbed(setting, backend, 1500)
    training = Training(setting, backend)
    training.step(0)
    training.step(1)
    outcomes = steps_with_interruptions(training, seen, training.step, ROOMS)
    assert len(outcomes) > 20
    assert {True, False} <= set(outcomes)


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_interruption_at_any_line_of_a_step_without_a_machine(setting):
    """Inside strict() all is eager, the optimiser's own step included."""

    def take(k):
        with strict():
            training.step(k)

    reference = Training(setting, "numpy")
    seen = []
    for k in range(400):
        seen.append(reference.look())
        if k < 2:
            reference.step(k)
        else:
            with strict():
                reference.step(k)
    training = Training(setting, "numpy")
    training.step(0)
    training.step(1)
    k, number, taken = 2, 0, set()
    while interrupted(lambda: take(k), number, ["optim.py", "parameters.py"]):  # noqa: B023
        found = training.look(counts_first=number % 2 == 1)
        assert found in (seen[k], seen[k + 1]), f"line {number}"
        taken.add(found == seen[k + 1])
        k += found == seen[k + 1]
        number += 1
    assert taken == {True, False}
    assert training.look() == seen[k + 1]


def test_gradients_after_an_interruption_are_those_of_a_step_or_none(backend):
    """Never those of a run that was left half way: NumPy runs instruction by instruction."""
    seen, slopes = undisturbed("AdamW", backend, 1500)
    training = Training("AdamW", backend)
    training.step(0)
    training.step(1)
    k, number = 2, 0
    while interrupted(lambda: training.step(k), number, ROOMS):  # noqa: B023
        found = training.slopes()
        taken = training.look() == seen[k + 1]
        assert found in ([slopes[k + 1]] if taken else [slopes[k], [0.0] * 3])
        k += taken
        training.step(k)
        k += 1
        assert training.slopes() == slopes[k]
        number += 1


def test_an_interruption_while_the_parameters_are_exchanged(backend):
    """Then a step compiles anew; interrupted, the next one does."""

    def build():
        training = Training("momentum", backend)
        training.step(0)
        training.parameters[1] = Value(0.3125)
        training.optimizer.parameters[1] = training.parameters[1]
        return training

    reference = build()
    before = reference.look()
    reference.step(1)
    after = reference.look()
    number = 0
    while True:
        training = build()
        was = interrupted(lambda: training.step(1), number, ["train.py"])  # noqa: B023
        found = training.look()
        assert found in (before, after), f"line {number}"
        if found == before:
            training.step(1)
        assert training.look() == after
        if not was:
            return
        number += 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer")
@pytest.mark.parametrize("setting", SETTINGS)
def test_an_interruption_at_any_time(setting, backend):
    """Signals, at random moments of three hundred steps."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    seen, _ = undisturbed(setting, backend, 700)
    training = Training(setting, backend)
    training.step(0)
    training.step(1)
    start = time.perf_counter()
    for k in range(2, 22):
        training.step(k)
        training.look()
    duration = (time.perf_counter() - start) / 20
    rng, k, armed = random.Random(setting), 22, [False]

    def interrupt(number, frame):
        # Python swallows what is raised in the callback of a weak reference, and only says so.
        swallowed = frame.f_globals.get("__name__") in ("_weakrefset", "weakref")
        if armed[0] and not swallowed:  # unarmed it comes late: the step is over
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for round_ in range(300):
            try:
                armed[0] = True
                signal.setitimer(signal.ITIMER_REAL, max(1e-6, rng.uniform(0.0, duration)))
                training.step(k)
                armed[0] = False
            except KeyboardInterrupt:
                armed[0] = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            found = training.look(counts_first=round_ % 2 == 1)
            assert found in (seen[k], seen[k + 1])
            k += found == seen[k + 1]
            if round_ % 2:
                training.step(k)
                k += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert training.look() == seen[k]


def test_whatever_asks_for_the_count_has_the_step_counted(backend):
    """Whoever comes first after an interruption: reading, writing, saving, loading."""
    kinds = {
        "steps": lambda optimizer: optimizer.steps,
        "state": lambda optimizer: optimizer.state,
        "lr": lambda optimizer: optimizer.lr,
        "state_dict": lambda optimizer: optimizer.state_dict(),
        "step": lambda optimizer: optimizer.step(),
    }
    for ask in kinds.values():
        w = Value(1.0)
        optimizer = Adam([w], lr=lambda steps: 0.125 / (1 + steps))
        step = minigrad.train_step(lambda x: w * x, optimizer, backend=backend)  # noqa: B023
        step(1.0)
        number = 0
        while optimizer._turn is None or optimizer._turn.commit.steps == 1:
            assert interrupted(lambda: step(1.0), number, ["train.py"])  # noqa: B023
            number += 1
        expected = ask(optimizer)  # moved, and not counted, until now
        assert optimizer._turn is None
        assert optimizer.steps == (3 if ask is kinds["step"] else 2)
        if ask is kinds["lr"]:
            assert expected == 0.125 / 3


def test_a_state_that_is_loaded_after_an_interruption_stays(backend):
    w = Value(1.0)
    optimizer = SGD([w], lr=0.125, momentum=0.5)
    step = minigrad.train_step(lambda x: w * x, optimizer, backend=backend)
    saved = optimizer.state_dict()
    step(1.0)
    number = 0
    while optimizer._turn is None or optimizer._turn.commit.steps == 1:
        assert interrupted(lambda: step(1.0), number, ["train.py"])
        number += 1
    optimizer.load_state_dict(saved)
    assert (optimizer.steps, optimizer.state, w.data) == (0, {}, 1.0 - 0.125 - 0.125 * 1.5)
    step(1.0)
    assert optimizer.steps == 1
    assert w.data == 1.0 - 0.125 - 0.125 * 1.5 - 0.125
