"""The entries of a trace: numbers, operands, and Values that are captured."""

from __future__ import annotations

import threading

import pytest

import minigrad
from minigrad import Value
from minigrad.compiler.tracing.tape import CONSTANT, INPUT, MOST, Entries
from minigrad.compiler.tracing.trace import trace
from minigrad.core.ops import OPS
from minigrad.errors import TraceError

ADD, MUL, TANH = (OPS[name].code for name in ("add", "mul", "tanh"))


def test_numbers_are_one_entry_for_each_bit_pattern():
    entries = Entries()
    a, b, c = entries.constant(0.0), entries.constant(-0.0), entries.constant(0.0)
    assert (a == c, a == b) == (True, False)
    assert [entries.code[at] for at in (a, b)] == [CONSTANT, CONSTANT]
    nan = float("nan")
    assert entries.constant(nan) == entries.constant(nan)


def test_room_is_made_as_entries_come():
    entries = Entries()
    first = entries.add(INPUT)
    last = first
    for _ in range(5000):
        last = entries.add(TANH, last)
    assert (entries.count, entries.first[last], entries.code[last]) == (5001, last - 1, TANH)


def test_traces_one_after_the_other_do_not_take_each_others_nodes_for_their_own():
    w, leaked = Value(2.0), []

    def first(context):
        leaked.append(w * 3.0)
        return leaked

    trace(first, [])
    later = trace(lambda context: [leaked[0] * w], []).entries
    assert set(map(id, later.captured_values)) == {id(leaked[0]), id(w)}
    leaked[0].backward()  # and marks of traces are nothing to a backward pass
    assert w.grad == 3.0


def test_what_another_thread_computed_is_refused():
    def function(x):
        made = []
        thread = threading.Thread(target=lambda: made.append(x * 2.0))
        thread.start()
        thread.join()
        return made[0] * x

    with pytest.raises(TraceError, match="in another thread"):
        minigrad.compile(function)(1.0)


@pytest.mark.parametrize("wrong", [None, 0.5, "a"])
def test_what_is_no_node_is_not_read(wrong):
    for nodes, arguments in ([wrong], []), ([], [wrong]):
        with pytest.raises((TypeError, AttributeError)):
            Entries().read(nodes, arguments, None, frozenset())
    with pytest.raises((TypeError, AttributeError)):
        Entries().capture(wrong)


# ---- traces beyond the borders of 24 and of 32 bits ----------------------------------------------


def test_a_trace_too_long_to_be_counted_is_refused():
    entries = Entries()
    for count in (MOST, 2**31 - 1, 2**31, 2**40):
        with pytest.raises(TraceError, match=r"more than 1,073,741,824 operations.*Compile a part"):
            entries.reserve(count + 1)
    assert entries.add(INPUT) == 0  # and nothing has become of it
