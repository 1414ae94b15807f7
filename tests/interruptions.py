"""Calls that are interrupted at every line in turn, and what they leave behind.

A case has a call, and what there is to see of it: gradients, numbers, counts. `sweep` makes the
call on a case made anew, raises at one position after another, and looks: all is as before, or
complete; no mode is on; and the same call, made again in another thread, works, so no lock is held.
`starve` does the same with memory that cannot be had. `python tests/interruptions.py` tries all
positions of all cases and prints the counts.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import minigrad
from minigrad import Value, checkpoint, explain, grad, hessian, jvp, no_grad, strict
from minigrad.calculus.steps import record, steps
from minigrad.core import blocks, modes
from minigrad.core.flow import is_flowing
from minigrad.core.graph import topological_order
from minigrad.core.observers import current_watchers, tracer
from minigrad.core.parameters import set_data, set_grads
from minigrad.core.writeback import writebacks
from minigrad.lab.broken import broken
from minigrad.optim import SGD, Adam, clip_grad_norm, clip_grad_value

PACKAGE = str(Path(minigrad.__file__).parent) + os.sep
PATIENCE = 60.0  # seconds until a call that waits for a lock counts as stuck; machines are busy


@dataclass
class Case:
    """Something to call, and what there is to see of it."""

    call: Callable[[], Any]
    look: Callable[[], Any]
    leaves_no_trace: bool = False  # the call changes nothing that there is to see


@dataclass
class Counts:
    """What became of a call at so many positions."""

    positions: int = 0
    as_before: int = 0
    complete: int = 0
    wrong: int = 0  # gradients or numbers neither as before nor complete
    stuck: int = 0  # the next call hangs or raises
    left_on: int = 0  # a mode is on, or a debt is open

    @property
    def is_sound(self) -> bool:
        return not (self.wrong or self.stuck or self.left_on)

    def __str__(self) -> str:
        return ", ".join(f"{getattr(self, f.name)} {f.name}" for f in fields(self))


# ---- cases -----------------------------------------------------------------------------------


class Graph:
    """Operations of one, two and many operands, with numbers, a label, an operand used twice."""

    def __init__(self, by_hand=False):
        self.a, self.b, self.c = Value(0.5), Value(-1.5), Value(0.25, label="c")
        product = self.a * self.b
        out = (product * 2 + self.c).tanh() + minigrad.sum([self.a, self.b, self.c]) * product
        if by_hand:
            out = self.cubed(out)
        self.root = out * out + 1
        self.root.backward()  # gradients of an earlier pass, to be kept
        self.nodes = topological_order(self.root)

    def cubed(self, x):
        out = Value(x.data**3, (x,), "cube")

        def step():
            half = 1.5 * x.data**2 * out.grad
            x.grad += half
            x.grad += half

        out._backward = step
        return out

    def look(self):
        return [node.grad for node in self.nodes]


def case_of(run, by_hand=False, leaves_no_trace=False):
    def make():
        graph = Graph(by_hand)
        return Case(lambda: run(graph), graph.look, leaves_no_trace)

    return make


def backward(graph):
    graph.root.backward()


def recorded(graph):
    with record():
        graph.root.backward()


def strictly(graph):
    with strict():
        graph.root.backward()


def faulty(graph):
    with broken("overwrite"):
        graph.root.backward()


def without_gradients(graph):
    with no_grad():
        assert (graph.a * graph.b)._operands == ()


def leaves(graph):
    return [graph.a, graph.b, graph.c]


class Training:
    """Three parameters with gradients, and an optimiser that has a state."""

    def __init__(self, kind, **options):
        self.parameters = [Value(0.5), Value(-0.25), Value(0.125)]
        self.optimizer = kind(self.parameters, **options)
        set_grads(self.parameters, [0.5, -2.0, 0.25])
        self.optimizer.step()

    def look(self):
        state = {name: list(numbers) for name, numbers in self.optimizer.state.items()}
        numbers = [(p.data, p.grad) for p in self.parameters]
        return numbers, state, self.optimizer.steps


def training_case(run, kind=Adam, leaves_no_trace=False, **options):
    def make():
        training = Training(kind, **options)
        return Case(lambda: run(training), training.look, leaves_no_trace)

    return make


def training_step(kind=SGD, reads=True, **options):
    """A compiled step after another one, of which somebody has read the gradients, or nobody."""

    def make():
        used, unused = Value(2.0), Value(3.0)
        optimizer = kind([used, unused], **options)
        step = minigrad.train_step(lambda x: (x * used - 1.0) ** 2, optimizer, audit=False)

        def look():
            state = {name: list(numbers) for name, numbers in optimizer.state.items()}
            return used.data, used.grad, unused.data, unused.grad, state, optimizer.steps

        step(1.0)
        if reads:
            look()
        return Case(lambda: step(2.0), look)

    return make


def load_state(training):
    averages = {"first": [1.0, 2.0, 3.0], "second": [4.0, 5.0, 6.0]}
    training.optimizer.load_state_dict({"optimizer": "Adam", "steps": 7, "state": averages})


def load_numbers(training):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.json"
        path.write_text('{"format": "minigrad parameters", "version": 1, "data": [1, 2, 3]}')
        checkpoint.load_parameters(path, training.parameters)


@functools.cache
def further_training():
    """The file of a training that has gone one step further."""
    training = Training(Adam, lr=0.1)
    training.optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.npz"
        minigrad.save_training(path, training.optimizer)
        return path.read_bytes()


def load_further_training(training):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.npz"
        path.write_bytes(further_training())
        minigrad.load_training(path, training.optimizer)


CASES: dict[str, Callable[[], Case]] = {
    "backward": case_of(backward),
    "backward by hand": case_of(backward, by_hand=True),
    "backward in record()": case_of(recorded),
    "backward by hand in record()": case_of(recorded, by_hand=True),
    "backward in strict()": case_of(strictly),
    "backward in broken()": case_of(faulty),
    "one node's own step": case_of(lambda g: g.nodes[-1]._backward()),
    "zero_grad": case_of(lambda g: g.root.zero_grad()),
    "zero_grad of a list": case_of(lambda g: minigrad.core.parameters.zero_grad(leaves(g))),
    "set_grads": case_of(lambda g: set_grads(leaves(g), [1.0, 2.0, 3.0])),
    "set_data": training_case(lambda t: set_data(t.parameters, [1.0, 2.0, 3.0])),
    "grad": case_of(lambda g: grad(g.root, leaves(g)), leaves_no_trace=True),
    "grad by hand": case_of(lambda g: grad(g.root, leaves(g)), True, True),
    "grad with create_graph": case_of(
        lambda g: grad(g.root, leaves(g), create_graph=True), leaves_no_trace=True
    ),
    "hessian in strict()": case_of(
        lambda g: strict()(hessian)(g.root, leaves(g)), leaves_no_trace=True
    ),
    "jvp": case_of(lambda g: jvp(g.root, leaves(g), [1.0, 2.0, 3.0]), leaves_no_trace=True),
    "steps": case_of(lambda g: steps(g.root), True, True),
    "steps overwritten": case_of(lambda g: steps(g.root, overwrite=True), True, True),
    "explain": case_of(lambda g: explain(g.root, g.a), True, True),
    "no_grad()": case_of(without_gradients, leaves_no_trace=True),
    "step of SGD": training_case(lambda t: t.optimizer.step(), SGD, lr=0.1, momentum=0.9),
    "step of Adam": training_case(lambda t: t.optimizer.step(), lr=0.1),
    "zero_grad of an optimiser": training_case(lambda t: t.optimizer.zero_grad()),
    "clip_grad_norm": training_case(lambda t: clip_grad_norm(t.parameters, 0.5)),
    "clip_grad_value": training_case(lambda t: clip_grad_value(t.parameters, 0.3)),
    "training step": training_step(lr=0.1, momentum=0.9),
    "training step, unread": training_step(reads=False, lr=0.1, momentum=0.9),
    "training step with Adam": training_step(Adam, False, lr=0.1),
    "load_state_dict": training_case(load_state),
    "load_parameters": training_case(load_numbers),
    "load_training": training_case(load_further_training, lr=0.1),
}


# ---- raising at a position -------------------------------------------------------------------


def interrupted(call, number, error=KeyboardInterrupt, event="line", package=PACKAGE):
    """Raise at a line of a package, or of a hand-written step; tell whether it was come to.

    With the event "opcode" it is every instruction, also where Python itself looks for no signal.
    """
    left = [number]

    def on_event(frame, kind, argument):
        if kind == event:
            left[0] -= 1
            if left[0] == -1:
                raise error
        return on_event

    def on_call(frame, kind, argument):
        frame.f_trace_opcodes = event == "opcode"
        return on_event if _is_counted(frame.f_code, package) else None

    with contextlib.suppress(error):
        _traced(call, on_call)
    return left[0] < 0


def count_positions(make, event="line", package=PACKAGE):
    """How many positions a call has."""
    passed = [0]
    make().call()  # what a first call makes and keeps is not counted
    call = make().call

    def on_event(frame, kind, argument):
        passed[0] += kind == event
        return on_event

    def on_call(frame, kind, argument):
        frame.f_trace_opcodes = event == "opcode"
        return on_event if _is_counted(frame.f_code, package) else None

    _traced(call, on_call)
    return passed[0]


def _is_counted(code, package):
    return code.co_filename.startswith(package) or code.co_name == "step"


def _traced(call, function):
    before = sys.gettrace()
    sys.settrace(function)
    try:
        call()
    finally:
        sys.settrace(before)


def works(call):
    """Whether a call comes to its end in another thread."""
    done = []
    thread = threading.Thread(target=lambda: (call(), done.append(True)), daemon=True)
    hook, threading.excepthook = threading.excepthook, lambda problem: None
    try:
        thread.start()
        thread.join(PATIENCE)
    finally:
        threading.excepthook = hook
    return bool(done)


def something_is_on():
    blocks.tidy_up()
    on = bool(blocks.open_blocks or writebacks or current_watchers() or is_flowing())
    return on or modes.in_strict() or not modes.is_recording() or tracer() is not None


def undisturbed(make):
    """What there is to see before a call, after it, and after another one."""
    case = make()
    seen = [case.look()]
    for _ in range(2):
        case.call()
        seen.append(case.look())
    assert case.leaves_no_trace == (seen[0] == seen[1])
    return seen


def judge(case, seen, counts):
    """See what an interrupted call has left, and count it; tell whether more can be tried."""
    found = case.look()
    if case.leaves_no_trace or found == seen[0]:
        counts.as_before += 1
        expected = seen[1]
    else:
        counts.complete += 1
        expected = seen[2]
    counts.left_on += something_is_on()
    if found not in seen[:2]:
        counts.wrong += 1
        return True
    if not works(case.call) or case.look() != expected:
        counts.stuck += 1
        return False  # whatever is held may be held for all
    return True


def sweep(make, every=1, start=0, error=KeyboardInterrupt, event="line", package=PACKAGE):
    """Interrupt a call at every k-th position; return the counts."""
    seen, counts, number = undisturbed(make), Counts(), start
    while True:
        case = make()
        was = interrupted(case.call, number, error, event, package)
        if not was:
            return counts
        counts.positions += 1
        if not judge(case, seen, counts):
            return counts
        number += every


# ---- memory that cannot be had ---------------------------------------------------------------


def starve(make, limit=10_000):
    """Make every allocation of a call fail in turn; return the counts. For a process of its own.

    Python itself gives up where it cannot even raise, so somebody should look from outside.
    """
    import _testcapi

    seen, counts, quiet = undisturbed(make), Counts(), 0
    for number in range(limit):
        case = make()
        call = case.call
        try:
            _testcapi.set_nomemory(number, number + 1)
            try:
                call()
            finally:
                _testcapi.remove_mem_hooks()
            quiet += 1
        except Exception:  # a MemoryError, or what Python takes a lack of memory for
            quiet = 0
            counts.positions += 1
        if not judge(case, seen, counts) or quiet > 100:  # it asks for no more
            return counts
    return counts


def main(arguments):
    """`interruptions.py [line|opcode|memory] [case …]`: all positions, and what became of them."""
    kind, *names = arguments or ["line"]
    bad = 0
    for name in names or CASES:
        make = CASES[name]
        counts = starve(make) if kind == "memory" else sweep(make, event=kind)
        print(f"{minigrad.engine()}, {name}: {counts}", flush=True)
        bad += not counts.is_sound
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
