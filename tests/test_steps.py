"""The backward pass as data."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import GRAPHS, diamond, named, neuron, twice
from programs import call_minigrad, random_program, run

import minigrad
from minigrad import Value, draw_dot, grad, record, steps, strict, view
from minigrad.calculus.steps import Kept, Seed, forward_steps, links
from minigrad.core.graph import edges, topological_order


def program_of(seed):
    program = random_program(seed)
    return run(program, [Value(x) for x in program.inputs], call_minigrad)[-1]


def custom(a, b, rule):
    out = Value(a.data * b.data, (a, b), "mine")
    out._backward = lambda: rule(out)
    return out


@pytest.mark.smoke
def test_the_diamond_step_by_step():
    # By hand, at a=2, b=3, c=4: L = (a*b + c)(a - c) = 10 * -2.
    with record() as tape:
        diamond().backward()
    assert tape.text().splitlines() == [
        "L.grad = 1",
        "(+).grad: 0 -> -2",
        "(a-c).grad: 0 -> 10",
        "a.grad: 0 -> 10",
        "c.grad: 0 -> -10",
        "(a*b).grad: 0 -> -2",
        "c.grad: -10 -> -12",
        "a.grad: 10 -> 4",
        "b.grad: 0 -> -4",
    ]
    step = tape.steps[-2]
    assert (step.op, step.grad, step.operand.label, step.local) == ("*", -2.0, "a", 3.0)
    assert (step.before, step.contribution, step.after) == (10.0, -6.0, 4.0)
    assert not step.is_wrong


@pytest.mark.parametrize("make", GRAPHS.values())
def test_one_step_for_each_edge(make):
    root = make()
    played = [(id(step.operand), id(step.node), step.position) for step in steps(root)]
    assert sorted(played) == sorted((id(a), id(b), k) for a, b, k in edges(root))


@given(st.integers(0, 10**6))
def test_steps_add_up_and_are_the_engines_own(seed):
    root = program_of(seed)
    before = [node.grad for node in topological_order(root)]
    played = steps(root)
    assert [node.grad for node in topological_order(root)] == before  # no trace
    grads = {id(root): 1.0}
    for step in played:
        assert step.grad == grads[id(step.node)]
        assert step.before == grads.get(id(step.operand), 0.0)
        assert step.contribution == step.local * step.grad
        assert step.after == step.before + step.contribution
        grads[id(step.operand)] = step.after
    root.backward()
    assert all(node.grad == grads.get(id(node), 0.0) for node in topological_order(root))


@pytest.mark.smoke
def test_the_famous_bug_on_the_diamond():
    # What an engine with `=` gives, and what is right, both by hand.
    last = {step.operand.label: step for step in steps(diamond(), overwrite=True)}
    assert {k: last[k].after for k in "abc"} == {"a": -6.0, "b": -4.0, "c": -2.0}
    assert {k: last[k].right for k in "abc"} == {"a": 4.0, "b": -4.0, "c": -12.0}
    assert {k: last[k].is_wrong for k in "abc"} == {"a": True, "b": False, "c": True}
    assert str(last["a"]) == "a.grad: 10 -> -6   (should be 4)"


@given(st.integers(0, 10**6))
def test_overwriting_agrees_with_an_engine_that_overwrites(seed):
    root = program_of(seed)
    grads = {id(root): 1.0}  # the oracle: the lessons' loop with the bug in it
    for node in reversed(topological_order(root)):
        for operand, local in zip(node._operands, node._local_grads, strict=True):
            grads[id(operand)] = local * grads[id(node)]
    played = steps(root, overwrite=True)
    final = {id(step.operand): step for step in played}
    assert {key: step.after for key, step in final.items()} == {
        key: value for key, value in grads.items() if key != id(root)
    }
    right = {id(step.operand): step.after for step in steps(root)}
    assert {key: step.right for key, step in final.items()} == right


def test_a_chain_survives_the_bug():
    x = Value(0.5, label="x")
    assert not any(step.is_wrong for step in steps(((x * 2).tanh() + 1).exp(), overwrite=True))


def test_twice_the_same_operand_makes_two_steps():
    played = steps(twice())
    assert [(s.position, s.before, s.contribution, s.after) for s in played] == [
        (0, 0.0, 1.0, 1.0),
        (1, 1.0, 1.0, 2.0),
    ]


def test_numbers_take_part_as_leaves():
    x = Value(3.0, label="x")
    y = x * 2
    with record() as tape:
        y.backward()
    assert [(s.operand.data, s.contribution) for s in tape] == [(3.0, 2.0), (2.0, 3.0)]
    assert y._operands[1].grad == 3.0


def test_the_lessons_manual_order_is_recorded():
    o = neuron()
    n = named(o)["n"]
    with record() as tape:
        o.grad = 1.0
        o._backward()
        n._backward()
    assert len(tape) == 3
    assert [event.operand.label for event in tape] == ["n", "x1*w1 + x2*w2", "b"]
    assert n.grad == pytest.approx(0.5)


def test_earlier_passes_are_kept_and_told():
    root = twice()
    root.backward()
    with record() as tape:
        root.backward()
    kinds = [type(event) for event in tape.events]
    assert kinds[0] is Seed
    assert kinds[-1] is Kept
    assert str(tape.events[-2]) == "a.grad: 2 -> 4   (2 from earlier passes)"
    assert named(root)["a"].grad == 4.0


def test_blocks_nest():
    root = diamond()
    with record() as outer:
        with record() as inner:
            root.backward()
        root.backward()
    assert (len(inner), len(outer)) == (8, 16)
    root.backward()
    assert len(outer) == 16


def test_passes_without_a_trace_are_not_recorded():
    root = diamond()
    with record() as tape:
        grad(root, named(root)["a"])
        steps(root, overwrite=True)
        named(root)["a"].explain(root)
        minigrad.play(root)
    assert tape.events == []
    assert not tape
    with record() as tape:
        Value(1.0).backward()
    assert tape  # there was a pass, though nothing to pass on


def test_another_thread_is_not_recorded():
    root = diamond()
    with record() as tape:
        thread = threading.Thread(target=root.backward)
        thread.start()
        thread.join()
    assert len(tape) == 0


def test_strict_mode_and_recording_together():
    with strict(), record() as tape:
        x = Value(0.0, label="x")
        with pytest.raises(minigrad.NonFiniteError):
            (x**0.5).backward()
    assert x.grad == 0.0
    assert len(tape) == 0


def test_a_forward_step_does_not_tell_false_arithmetic():
    a, b = Value(1.0, label="a"), Value(2.0, label="b")
    product = a * b
    a.data = 10.0
    (step,) = forward_steps(product)
    assert step.is_stale
    assert str(step) == "a*b: 10*2 = 2   (from before the data of operands was changed)"
    (again,) = forward_steps(a * b)
    assert str(again) == "a*b: 10*2 = 20"


def test_the_forward_pass():
    assert [str(step) for step in forward_steps(diamond())] == [
        "a*b: 2*3 = 6",
        "+: 6+4 = 10",
        "a-c: 2-4 = -2",
        "L: 10*(-2) = -20",
    ]
    (step,) = forward_steps(Value(2.0) ** 3)
    assert (step.op, step.data, len(step.operands)) == ("**3", 8.0, 1)


# ---- hand-written _backward ---------------------------------------------------------------------


def product_rule(out):
    a, b = out._operands
    a.grad += b.data * out.grad
    b.grad += a.data * out.grad


def test_a_hand_written_step_is_recorded_as_it_happens():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    out = custom(a, b, product_rule) + a
    with record() as tape:
        out.backward()
    mine = [step for step in tape if step.op == "mine"]
    assert [(s.local, s.before, s.contribution, s.after) for s in mine] == [
        (None, 1.0, 3.0, 4.0),
        (None, 0.0, 2.0, 2.0),
    ]


def test_a_hand_written_bug_is_shown_as_it_is():
    def overwriting(out):
        a, b = out._operands
        a.grad = b.data * out.grad
        b.grad = a.data * out.grad

    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    played = steps(custom(a, b, overwriting) + a)
    (step,) = [s for s in played if s.op == "mine" and s.operand is a]
    assert (step.before, step.after) == (1.0, 3.0)  # the 1 is gone


def test_hand_written_steps_in_the_overwriting_pass():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    last = {id(s.operand): s for s in steps(a + custom(a, b, product_rule), overwrite=True)}
    assert (last[id(a)].after, last[id(a)].right) == (3.0, 4.0)
    assert (a.grad, b.grad) == (0.0, 0.0)


def test_local_derivatives_of_a_hand_written_step_leave_no_trace():
    a, b = Value(2.0), Value(3.0)
    a.grad = 7.0
    out = custom(a, b, product_rule)
    assert [(x.data, d) for x, d in links(out)] == [(2.0, 3.0), (3.0, 2.0)]
    assert (a.grad, b.grad, out.grad) == (7.0, 0.0, 0.0)


def test_a_hand_written_step_that_raises_ends_the_tape_and_changes_nothing():
    def failing(out):
        out._operands[0].grad += 5.0
        raise ZeroDivisionError("mine")

    a, b = Value(2.0), Value(3.0)
    root = custom(a, b, failing) * 2
    with record() as tape, pytest.raises(ZeroDivisionError):
        root.backward()
    assert len(tape) == 2  # what the multiplication gave, before the failure
    assert [node.grad for node in topological_order(root)] == [0.0] * 5
    with pytest.raises(ZeroDivisionError):
        steps(root)
    with pytest.raises(ZeroDivisionError):
        links(root._operands[0])
    assert a.grad == 0.0
    Value(1.0).backward()  # the engine is free again


def test_a_node_without_a_rule_passes_nothing_on():
    a = Value(2.0)
    assert steps(Value(4.0, (a,), "odd")) == []
    below = steps(Value(4.0, (a * a,), "odd"), overwrite=True)
    assert [(step.grad, step.after) for step in below] == [(0.0, 0.0)] * 2


def test_a_step_that_runs_other_steps_is_one_step():
    a = Value(3.0, label="a")
    inner = a * a
    out = Value(9.0, (a,), "square")

    def through_another_graph():
        inner.grad = out.grad
        inner._backward()

    out._backward = through_another_graph
    (step,) = steps(out)
    assert (step.op, step.operand, step.contribution) == ("square", a, 6.0)
    minigrad.play(out * 2.0)
    wrapped = a * 2.0
    own = wrapped._backward
    wrapped._backward = lambda: own()
    assert [step.local for step in steps(wrapped)] == [None, None]


def test_the_grad_of_a_step_is_from_before_it_ran():
    a = Value(3.0)
    out = Value(6.0, (a,), "mine")

    def forgetful():
        a.grad += 2.0 * out.grad
        out.grad = 0.0

    out._backward = forgetful
    (step,) = steps(out)
    assert (step.grad, step.contribution) == (1.0, 2.0)


def test_earlier_grads_are_told_exactly():
    a = Value(3.0, label="a")
    a.grad = 1e16
    with record() as tape:
        (a * 1.5).backward()
    kept = [event for event in tape.events if isinstance(event, Kept)]
    assert [(k.before, k.contribution, k.after) for k in kept] == [(1.5, 1e16, 1e16 + 1.5)]


@pytest.mark.parametrize("look", [draw_dot, steps, minigrad.play, view.to_text])
def test_looking_never_makes_a_strict_pass_fail(look):
    # The derivative of 0**x with respect to its number 0 is infinite, and nobody asked for it.
    x = Value(0.5)
    with strict():
        y = 0.0**x
        look(y)
        y.backward()
        with record() as tape:
            y.backward()
    assert x.grad == 0.0
    assert len(tape) == 2


def test_a_number_that_is_looked_at_late_is_not_nan():
    y = 0.0 ** Value(0.5)
    y.backward()
    y.zero_grad()
    assert y._operands[0].grad == 0.0


def test_side_effects_of_hand_written_steps_are_undone():
    a, z = Value(2.0, label="a"), Value(5.0)
    out = Value(12.0, (a,), "mine")

    def careless():
        a.grad += 6.0 * out.grad
        z.grad += 100.0

    out._backward = careless
    root = out * z
    for look in (lambda: steps(root, overwrite=True), lambda: a.explain(root), lambda: links(out)):
        look()
    minigrad.play(root)
    assert (a.grad, out.grad) == (0.0, 0.0)
    # links() alone knows nothing of the graph that z is in.
    assert z.grad == 100.0


@pytest.mark.parametrize("look", [steps, forward_steps])
def test_what_is_no_value_is_refused(look):
    with pytest.raises(TypeError, match="got float; give it the Value"):
        look(3.0)


def test_a_step_as_json():
    (first, *_) = steps(diamond())
    assert json.loads(json.dumps(first.as_dict())) == {
        "node": "L", "op": "*", "grad": 1.0, "operand": "+", "position": 0, "local": -2.0,
        "before": 0.0, "contribution": -2.0, "after": -2.0, "right": -2.0,
    }  # fmt: skip
