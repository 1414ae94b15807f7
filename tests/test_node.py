"""A node's attributes under all their names, and copies of graphs."""

from __future__ import annotations

import copy
import gc
import pickle
import resource
import sys
import threading
import weakref

import pytest

from minigrad import NotDifferentiableError, Value, engine, grad, jvp, no_grad
from minigrad.core.graph import topological_order


def test_the_lessons_attributes():
    a, b = Value(2.0, label="a"), Value(3.0)
    c = a * b
    assert isinstance(c._prev, set)
    assert c._prev == {a, b}
    assert c._operands == (a, b)
    assert c._children == (a, b)
    assert c._local_grads == (3.0, 2.0)
    assert (a._op, c._op) == ("", "*")
    assert (a.label, b.label) == ("a", "")
    assert a._prev == set()
    assert a._operands == ()
    c.label = "c"
    c._op = "times"
    assert (c.label, c._op) == ("c", "times")
    v = Value(1.0, (a, b), "op", "name")
    assert (v._op, v.label, v._operands) == ("op", "name", (a, b))


def test_operands_keep_order_and_repeats():
    a, b = Value(1.0), Value(2.0)
    assert (b - a)._operands == (b, a)
    assert (a * a)._operands == (a, a)
    assert (a * a)._prev == {a}
    assert (a * a)._local_grads == (1.0, 1.0)


@pytest.mark.parametrize(
    ("build", "op", "numbers", "grads"),
    [
        (lambda x: x * 2, "*", [5.0, 2.0], [2.0, 5.0]),
        (lambda x: 2 - x, "-", [2.0, 5.0], [1.0, -1.0]),
        (lambda x: x / 4, "/", [5.0, 4.0], [0.25, -5 / 16]),
        (lambda x: 2**x, "**", [2.0, 5.0], [80.0, pytest.approx(32 * 0.6931471805599453)]),
        (lambda x: x**2, "**2", [5.0], [10.0]),
        (lambda x: x**-0.5, "**-0.5", [5.0], [pytest.approx(-0.5 * 5**-1.5)]),
        (lambda x: x.clip(0, 3), "clip", [5.0, 0.0, 3.0], [0.0, 0.0, 1.0]),
        (lambda x: x.tanh(), "tanh", [5.0], [pytest.approx(0.00018158323094380671)]),
    ],
)
def test_numbers_show_as_leaves_that_are_kept(build, op, numbers, grads):
    x = Value(5.0)
    out = build(x)
    assert out._op == op
    assert [v.data for v in out._operands] == numbers
    assert list(out._local_grads) == grads
    assert out._operands == out._operands
    assert out._prev == set(out._operands)


@pytest.mark.parametrize("look", ["before", "between", "after", "never before"])
def test_looking_at_a_number_changes_no_gradient_and_comes_never_too_late(look):
    # The lessons' pictures show a gradient on the 3 of x * 3: what it would be, were it a variable.
    x = Value(5.0)
    out = x * 3
    top = out + out
    if look == "before":
        assert out._operands[1].grad == 0.0
    top.backward()
    if look == "between":
        assert out._operands[1].grad == 10.0
    top.backward()
    assert x.grad == 12.0
    assert out._operands[1].grad == 20.0


def test_a_number_shows_its_gradient_after_steps_by_hand_too():
    x = Value(3.0)
    out = x * 2
    out.grad = 1.0
    out._backward()
    assert out._operands[1].grad == 3.0
    assert x.grad == 2.0


def test_attributes_of_ones_own():
    v = Value(1.0)
    v.momentum = 0.9
    assert v.momentum == 0.9
    with pytest.raises(AttributeError):
        v.missing  # noqa: B018

    class Parameter(Value):
        def __init__(self, data, name):
            super().__init__(data)
            self.name = name

        def describe(self):
            return f"{self.name}={self.data}"

    p = Parameter(2.0, "w")
    out = p * 3 + v
    out.backward()
    assert (p.grad, p.describe()) == (3.0, "w=2.0")
    assert type(out) is Value


def test_what_is_known_only_to_a_function_is_not_made_up():
    a = Value(1.0)
    out = Value(2.0, (a,), "mine")
    assert out._local_grads == (0.0,)
    out._backward = lambda: None
    with pytest.raises(NotDifferentiableError, match=r"'mine'.*backward\(\)"):
        out._local_grads  # noqa: B018


def test_editing_prev_edits_the_graph():
    a, b = Value(2.0), Value(3.0)
    inner = a * 2
    out = inner * b
    out._prev = {b}
    assert out._operands == (b,)
    out.backward()
    assert (b.grad, inner.grad, a.grad) == (4.0, 0.0, 0.0)
    assert grad(out, [b, inner]) == [4.0, 0.0]
    assert [v.data for v in grad(out, [b, inner], create_graph=True)] == [4.0, 0.0]
    assert jvp(out, [b, inner], [1.0, 1.0]) == 4.0
    assert inner.grad == 0.0
    given = [Value(k) for k in range(6)]
    out._prev = given
    assert out._operands == tuple(given)  # in the order given, whatever the layout of memory


def test_detach():
    a = Value(2.0, label="a")
    b = a * 3
    b.label = "b"
    free = b.detach()
    assert (free.data, free.label, free._operands, free.grad) == (6.0, "b", (), 0.0)
    (free * a).backward()
    assert (a.grad, b.grad) == (6.0, 0.0)


def test_made_by_hand_under_no_grad_has_no_history():
    a = Value(2.0)
    with no_grad():
        assert Value(1.0, (a,), "op")._operands == ()


# ---- copies --------------------------------------------------------------------------------------


def example():
    a, b = Value(2.0, label="a"), Value(-1.5)
    b.mine = ["attached", a]
    e = a * b + 3
    out = (e.tanh() + a**2).clip(-5, 5) * a
    out._prev  # noqa: B018 - a node whose set somebody holds
    out.backward()
    return a, b, e, out


def numbers(root):
    return [(v.data, v.grad, v.label, v._op, v._local_grads) for v in topological_order(root)]


@pytest.mark.parametrize("way", ["deepcopy", 0, 2, 5])
def test_deep_copies_are_equal_separate_and_share_what_was_shared(way):
    a, b, e, out = example()
    given = {"parameters": [a, b], "out": out, "e": e}
    if way == "deepcopy":
        made = copy.deepcopy(given)
    else:
        made = pickle.loads(pickle.dumps(given, protocol=way))
    assert numbers(made["out"]) == numbers(out)
    new_a, new_b = made["parameters"]
    assert new_b.mine == ["attached", new_a]
    assert new_a is not a
    assert {id(v) for v in topological_order(made["out"])}.isdisjoint(
        id(v) for v in topological_order(out)
    )
    assert any(v is new_a for v in topological_order(made["out"]))
    assert any(v is made["e"] for v in topological_order(made["out"]))
    before = numbers(out)
    made["out"].backward()
    assert new_a.grad == pytest.approx(2 * a.grad)
    assert numbers(out) == before


def test_a_shallow_copy_shares_its_operands():
    *_, out = example()
    twin = copy.copy(out)
    assert twin is not out
    assert twin._operands == out._operands
    assert (twin.data, twin.grad) == (out.data, out.grad)


def test_subclasses_survive_copying():
    made = pickle.loads(pickle.dumps(Slotted(4.0, "s") * 1 + 0))
    leaf = topological_order(made)[0]
    assert type(leaf) is Slotted
    assert leaf.extra == "s"
    assert copy.deepcopy(leaf).extra == "s"


class Slotted(Value):
    __slots__ = ("extra",)

    def __init__(self, data, extra=None):
        super().__init__(data)
        self.extra = extra


def test_a_custom_step_cannot_be_copied_and_says_why():
    a = Value(1.0)
    out = Value(2.0, (a,), "mine")
    out._backward = lambda: None
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps, lambda v: copy.deepcopy([v * 2])):
        with pytest.raises(TypeError, match=r"'mine'.*detach"):
            attempt(out)
    assert copy.deepcopy(a).data == 1.0
    assert pickle.loads(pickle.dumps(a * 2)).data == 2.0


def test_attributes_may_refer_to_the_graph_in_circles():
    a = Value(2.0)
    b = a * a
    a.parent, a.me, b.child = b, a, a
    for made in (copy.deepcopy(b), pickle.loads(pickle.dumps(b))):
        assert made._operands[0].parent is made
        assert made._operands[0].me is made.child is made._operands[0]
        assert made is not b


def test_graphs_within_graphs_and_after_a_failed_dump():
    x, v = chain(20_000)
    x.other = Value(2.0) * Value(3.0)
    middle = v._operands[0]._operands[0]
    x.bad = lambda: None
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(v)
    del x.bad
    assert pickle.loads(pickle.dumps(middle)).data == middle.data
    made = pickle.loads(pickle.dumps([v, middle]))
    assert made[0]._operands[0]._operands[0] is made[1]
    assert topological_order(made[0])[0].other.data == 6.0


def chain(length):
    x = v = Value(1.0)
    for _ in range(length):
        v = v + 1.0
    return x, v


def test_a_deep_graph_is_built_run_copied_pickled_and_freed_without_recursion():
    limit = sys.getrecursionlimit()
    x, v = chain(200_000)
    v.backward()
    assert x.grad == 1.0
    assert copy.deepcopy(v).data == 200_001.0
    made = pickle.loads(pickle.dumps(v))
    made.zero_grad()
    made.backward()
    assert topological_order(made)[0].grad == 1.0
    made = v = None
    assert sys.getrecursionlimit() == limit


def test_a_deep_graph_in_a_thread_with_a_small_stack():
    # The C stack counts too: freeing and copying must not use it up, node by node. (CPython 3.13
    # itself needs more than half a megabyte to free any linked list of Python objects.)
    by_python = engine() == "pure" and sys.version_info[:2] == (3, 13)
    outcome = []

    def work():
        x, v = chain(100_000)
        v.backward()
        pickled = pickle.dumps(v)
        made = copy.deepcopy(v)
        del v
        outcome.append((x.grad, made.data, pickle.loads(pickled).data))

    old = threading.stack_size((1024 if by_python else 512) * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert outcome == [(1.0, 100_001.0, 100_001.0)]


@pytest.mark.heavy
def test_ten_million_deep():
    gc.disable()  # a million-node generation is scanned over and over otherwise
    try:
        x, v = chain(10_000_000)
        v.backward()
        assert (x.grad, v.data) == (1.0, 10_000_001.0)
        made = copy.deepcopy(v)
        assert made.data == v.data
        del made, v
    finally:
        gc.enable()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB; graph and copy at once
    assert peak < 16 * 1024**2


def test_ordinary_nodes_form_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        x = Value(1.0)
        out = ((x * 2 + 1).tanh() ** 2).clip(-1, 1)
        out._prev, out._operands, out._backward, out.label  # noqa: B018
        out.backward()
        del out
        # Everything but x died by reference counting: the collector finds nothing.
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_weak_references_are_for_classes_of_ones_own():
    class Parameter(Value):
        pass

    class Slotted(Value):
        __slots__ = ()

    for bare in (Value(1.0), Value(1.0) * 2, Slotted(1.0)):
        with pytest.raises(TypeError, match="weak reference"):
            weakref.ref(bare)
    gone = []
    parameter = Parameter(0.5)
    reference = weakref.ref(parameter, gone.append)
    product = parameter * 2.0
    del parameter
    assert reference() is product._operands[0]
    product.backward()
    assert (reference().grad, gone) == (2.0, [])
    del product
    assert (reference(), gone) == (None, [reference])
