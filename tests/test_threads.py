"""Passes and their readers in several threads: nobody sees a pass that is half done."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time

import pytest
import readers
from interruptions import Graph

from minigrad import BackwardRunningError, Value, grad, grads_of, no_grad, record, strict, zero_grad


def in_another_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join(readers.LIMIT)
    return found[0]


def passes(graph):
    def recorded():
        with record():
            graph.root.backward()

    def strictly():
        with strict():
            graph.root.backward()

    return {
        "backward": graph.root.backward,
        "backward in record()": recorded,
        "backward in strict()": strictly,
        "grad": lambda: grad(graph.root, [graph.a, graph.b]),
        "zero_grad": graph.root.zero_grad,
    }


@pytest.mark.parametrize("kind", passes(Graph()))
def test_readers_see_what_was_there_before_or_all_of_it(kind):
    """At every line of a pass another thread reads every gradient, in both ways there are."""
    graph, reference = Graph(by_hand=True), Graph(by_hand=True)
    allowed = [graph.look()]
    passes(reference)[kind]()
    allowed.append(reference.look())
    seen = readers.at_every_line(graph, passes(graph)[kind])
    assert seen
    assert all(found in allowed for found in seen)
    assert graph.look() == allowed[1]


def test_readers_at_random_times():
    def undone(root):
        grad(root, x)

    x = Value(1.0)
    assert readers.at_random(2_000, x, lambda leaf: leaf.grad, Value.backward, undone) == []


@pytest.mark.parametrize("differentiate", [Value.backward, lambda root: grad(root, root)])
def test_a_reader_while_a_hand_written_step_runs(differentiate):
    x, found = Value(2.0), []
    x.grad = 0.25
    out = Value(8.0, (x,), "cube")

    def step():
        x.grad += 12.0 * out.grad
        others = in_another_thread(lambda: (x.grad, out.grad, list(grads_of([x, out]))))
        found.append((others, (x.grad, out.grad, list(grads_of([x, out])))))

    out._backward = step
    differentiate(out)
    # The step itself sees its pass, and nothing of earlier ones.
    assert found == [((0.25, 0.0, [0.25, 0.0]), (12.0, 1.0, [12.0, 1.0]))]
    assert (x.grad, out.grad) == ((12.25, 1.0) if differentiate is Value.backward else (0.25, 0.0))


def test_passes_of_many_threads_over_the_same_graph_add_up():
    x, y = Value(2.0), Value(3.0)
    by_hand = Value(6.0, (x,), "triple")

    def step():
        x.grad += 3.0 * by_hand.grad

    by_hand._backward = step
    roots = [x * y + x, by_hand * 1.0, x * 2.0 + y]
    slopes = [(4.0, 2.0), (3.0, 0.0), (2.0, 1.0)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [
            threading.Thread(target=lambda root=root: [root.backward() for _ in range(100)])
            for root in roots
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert x.grad == 100 * sum(slope for slope, _ in slopes)
    assert y.grad == 100 * sum(slope for _, slope in slopes)


def test_a_step_may_look_around_and_change_the_graph_below():
    """Nodes that come to light during a pass are not in its order."""
    x, y = Value(2.0), Value(5.0)
    doubled = x * 2.0
    summed = Value(7.0, (doubled,), "sum")
    out = Value(7.0, (summed,), "out")

    def step():
        assert [v.data for v in doubled._operands] == [2.0, 2.0]  # its number becomes a leaf
        summed._prev.add(y)
        zero_grad([y])
        summed.grad += out.grad

    summed._backward = lambda: None
    out._backward = step
    out.backward()
    assert (summed.grad, out.grad, x.grad) == (1.0, 1.0, 0.0)
    out.backward()
    assert (summed.grad, out.grad) == (2.0, 2.0)


def test_a_number_that_a_step_brings_to_light_gets_its_share():
    x = Value(2.0)
    doubled = x * 3.0
    out = Value(6.0, (doubled,), "same")

    def step():
        doubled._operands  # noqa: B018
        doubled.grad += out.grad

    out._backward = step
    out.backward()
    assert x.grad == 3.0
    assert doubled._operands[1].grad == 2.0


def test_a_task_that_a_step_has_started_sees_the_nodes_afterwards():
    async def main():
        x = Value(2.0)
        x.grad = 1.0
        out = Value(6.0, (x,), "triple")
        tasks = []

        async def later():
            await asyncio.sleep(0)
            with no_grad():
                return x.grad, (x * x)._operands

        def step():
            tasks.append(asyncio.get_running_loop().create_task(later()))
            x.grad += 3.0 * out.grad

        out._backward = step
        out.backward()
        assert await tasks[0] == (4.0, ())
        (x * x).backward()
        assert x.grad == 8.0

    asyncio.run(main())


def test_a_pass_inside_a_pass_is_refused_in_any_context():
    x = Value(2.0)
    inner = x * x
    out = Value(2.0, (x,), "same")
    out._backward = lambda: contextvars.Context().run(inner.backward)
    with pytest.raises(BackwardRunningError):
        out.backward()
    inner.backward()
    assert x.grad == 4.0


def test_a_thread_that_outlives_the_step_it_came_from_waits_for_its_turn():
    x, done = Value(2.0), []
    other = x * 3.0
    out = Value(2.0, (x,), "same")
    go_on = threading.Event()

    def later():
        assert go_on.wait(readers.LIMIT)
        other.backward()
        done.append(x.grad)

    threads = []

    def step():
        context = contextvars.copy_context()
        threads.append(threading.Thread(target=context.run, args=(later,)))
        threads[0].start()
        x.grad += out.grad

    out._backward = step
    out.backward()
    busy = Value(2.0, (x,), "busy")

    def wait():
        go_on.set()
        time.sleep(0.05)  # the other thread finds us in a pass
        x.grad += busy.grad

    busy._backward = wait
    busy.backward()
    threads[0].join(readers.LIMIT)
    assert done == [5.0]
