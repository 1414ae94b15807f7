"""Memory stays flat over many training steps with the garbage collector off; chains are freed."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import tracemalloc
import weakref

import pytest

from minigrad import Value, engine, minimum
from minigrad.loss import mse
from minigrad.nn import Neuron
from minigrad.optim import SGD
from minigrad.scalar import nodes_alive

# A single node left behind in each step would be more than a hundred times this.
SLACK = 3_000


def memory_after(steps, train):
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        train(2_000)  # until Python's own free lists (tuples, floats) are full
        before, nodes = tracemalloc.get_traced_memory()[0], nodes_alive()
        train(steps)
        # The native engine's nodes have memory of their own, which tracemalloc does not see.
        assert nodes_alive() == nodes
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        gc.enable()


def neuron_training():
    neuron = Neuron(2, activation="tanh")
    optimizer = SGD(neuron.parameters(), lr=0.05)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = mse([neuron([0.5, -1.0]), neuron([1.0, 2.0])], [1.0, -1.0])
            loss.backward()
            optimizer.step()

    return train


def test_training_leaves_nothing_behind():
    assert memory_after(3_000, neuron_training()) < SLACK


@pytest.mark.skipif(engine() == "native", reason="its nodes have no objects of their own in them")
def test_nodes_are_as_small_after_many_calls_of_modules_as_at_the_beginning():
    def bytes_of_a_graph():
        tracemalloc.start()
        try:
            x = Value(1.0)
            for _ in range(1_000):
                x = x.tanh()
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    first = bytes_of_a_graph()
    neuron = Neuron(1)
    for _ in range(10):
        neuron([1.0])
    assert bytes_of_a_graph() <= first + 2_000  # a number in each node were 32,000


def test_looking_at_graphs_leaves_nothing_behind():
    x = Value(0.5)

    def look(steps):
        for _ in range(steps):
            out = minimum((2 * x).exp() - 1, x**2)
            out._prev, out._operands, out._local_grads, out._backward  # noqa: B018
            out.backward()
            out.zero_grad()

    assert memory_after(3_000, look) < SLACK


@pytest.mark.heavy
def test_a_hundred_thousand_training_steps():
    assert memory_after(100_000, neuron_training()) < SLACK


# ---- chains ------------------------------------------------------------------------------------

LENGTH = 200_000
CHAINS = {
    "products": "y = y * x",
    "products with labels": "y = y * x; y.label = 'y'",
    "sums": "y = minigrad.sum([y, x])",
    "attributes": "below, y = y, Value(1.0); y.below = below",
    "lists as attributes": "below, y = y, Value(1.0); y.below = [below]",
    "a class of one's own": "y = Own(1.0, (y,), 'own')",
    "slots of one's own": "below, y = y, Slotted(1.0); y.below = below",
    "sets that were read": "y = y * x; y._prev",
    "sets that were assigned": "below, y = y, Value(1.0); y._prev = {below}",
    "local derivatives": "y = Value(1.0, (y, x), (0.5, 2.0))",
}
CLOSURES = "below, y = y, Value(1.0, (y,), 'h'); y._backward = lambda below=below: None"
DEEP = """
import gc, sys, threading
import minigrad
from minigrad import Value
from minigrad.scalar import nodes_alive

class Own(Value):
    pass

class Slotted(Value):
    __slots__ = ("below",)

def work():
    x = y = Value(1.0)
    for _ in range({length}):
        {line}
    below = None
    del x, y, below
    gc.collect()

threading.stack_size(1 << 20)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("freed", nodes_alive())
"""


def freed(line):
    """Build a chain in a thread with a small stack, let go of it, and count what is left."""
    code = DEEP.format(length=LENGTH, line=line)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


@pytest.mark.parametrize("kind", CHAINS)
def test_chains_of_any_kind_are_freed_with_little_of_the_stack(kind):
    assert freed(CHAINS[kind]) == (0, "freed 0", "")


@pytest.mark.skipif(engine() == "pure", reason="the interpreter frees functions by recursion")
def test_chains_of_closures_are_freed_with_little_of_the_stack():
    assert freed(CLOSURES) == (0, "freed 0", "")


def test_a_slow_finalizer_keeps_no_nodes_waiting():
    """Nodes that are freed while it runs, in its own thread or another, are freed at once."""
    x, counts = Value(2.0), []

    class Slow:
        def __del__(self):
            def work():
                for _ in range(1000):
                    (x * x).tanh()
                counts.append(nodes_alive())

            work()
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

    before = nodes_alive()
    holder = x * 3
    holder.slow = Slow()
    del holder
    assert len(counts) == 2
    assert max(counts) <= before + 2
    assert nodes_alive() == before


def test_slow_finalizers_in_many_threads_keep_no_nodes_waiting():
    go_on, inside = threading.Event(), threading.Semaphore(0)

    class Slow:
        def __del__(self):
            inside.release()
            go_on.wait(60)

    def work():
        holder = Value(2.0) * 3.0
        holder.slow = Slow()
        del holder

    threads = [threading.Thread(target=work) for _ in range(20)]
    try:
        for thread in threads:
            thread.start()
        assert all(inside.acquire(timeout=60) for _ in threads)
        before, x = nodes_alive(), Value(2.0)
        for _ in range(1000):
            (x * x).tanh()
        assert nodes_alive() <= before + 3
    finally:
        go_on.set()
        for thread in threads:
            thread.join()


def test_a_class_may_be_gone_before_its_instances():
    def chain():
        class Gone(Value):
            pass

        y = Gone(1.0)
        for _ in range(100):
            y = Gone(2.0, (y,), "own")
        return y, weakref.ref(Gone)

    y, gone = chain()
    del y
    gc.collect()
    assert gone() is None
