"""A fault beside the pass done right: every number here is worked out by hand."""

from __future__ import annotations

import pytest
from pictures import GRAPHS, diamond, named, twice

from minigrad import Value, broken, nn, steps
from minigrad.calculus.faults import BY_NAME, ROWS, BrokenPass
from minigrad.calculus.replay import is_off, replay
from minigrad.core.names import brief


def ladder():
    """d is used by the sum and by d*c: whoever runs it too early passes on too little."""
    a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="c")
    d = a * b
    return d + d * c


def wrong(root, fault):
    found = replay(root, BY_NAME[fault], steps(root))
    return {node.label or node._op: (is_, right) for node, is_, right in found.wrong}


@pytest.mark.smoke
def test_the_famous_bug_in_the_diamond():
    root = diamond()
    found = replay(root, BY_NAME["overwrite"], steps(root))
    assert [
        (step.operand.label, step.after, step.right) for step in found.steps if is_off(step)
    ] == [
        ("c", -2.0, -12.0),
        ("a", -6.0, 4.0),
    ]
    assert wrong(root, "overwrite") == {"a": (-6.0, 4.0), "c": (-2.0, -12.0)}
    assert (found.first, found.kept) == ([], [])
    assert found.begins == [(root, 1.0)]


def test_nodes_that_run_too_early():
    # Breadth first, d = a*b runs when it has the 1 of the sum, and not yet the 4 of d*c.
    found = wrong(ladder(), "breadth_first")
    assert (found["a"], found["b"]) == ((3.0, 15.0), (2.0, 10.0))
    assert "c" not in found
    # Plain recursion runs it again when it has 5: 3*1 + 3*5.
    assert wrong(ladder(), "plain_recursion")["a"] == (18.0, 15.0)


def test_an_operand_that_counts_once():
    assert wrong(twice(), "set_prev") == {"a": (1.0, 2.0)}


def test_without_a_seed_everything_stays_zero():
    root = diamond()
    for fault in ("missing_seed", "seed_zero"):
        assert wrong(root, fault)["L"] == (0.0, 1.0)
        assert wrong(root, fault)["a"] == (0.0, 4.0)
        assert replay(root, BY_NAME[fault], steps(root)).begins == []


def test_two_passes_where_one_alone_goes_well():
    root = diamond()
    assert wrong(root, "zeroing")["a"] == (4.0, 8.0)  # nothing is kept of the first
    # The second pass begins with -2 in (+) and 10 in (-): they have -4 and 20 to pass on, and
    # a*b has -2 - 4. So a gets 20 and 3 * -6, and its 4 of the first pass are added.
    assert wrong(root, "stale_interior")["a"] == (4.0 + 20.0 - 18.0, 8.0)
    found = replay(root, BY_NAME["stale_interior"], steps(root))
    leaves = named(root)
    assert {node.label: (grad, after) for node, grad, after in found.kept} == {
        "a": (4.0, 6.0),
        "b": (-4.0, -16.0),
        "c": (-12.0, -36.0),
    }
    assert dict(found.first)[leaves["a"]] == 4.0
    assert [brief(grad) for node, grad in found.begins if not node.label] == ["-2", "-2", "10"]


def test_a_chain_survives_what_it_does_not_have():
    y = (Value(0.5, label="x") * 2.0).tanh()
    for fault in ("overwrite", "set_prev", "breadth_first", "div_sign", "relu_always"):
        assert not replay(y, BY_NAME[fault], steps(y)).shows
    assert replay(y, BY_NAME["tanh_linear"], steps(y)).shows


@pytest.mark.parametrize("make", [*GRAPHS.values(), lambda: nn.MLP(2, [3, 1], seed=1)([1.0, -2.0])])
def test_a_row_that_mentions_nothing_is_the_engine(make):
    root = make()
    sound = steps(root)
    found = replay(root, BrokenPass("sound", "nothing"), sound)
    assert not found.shows
    assert [(s.node, s.operand, s.after, s.right) for s in found.steps] == [
        (s.node, s.operand, s.after, s.after) for s in sound
    ]


@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.name)
def test_the_end_is_what_the_broken_engine_leaves(fault):
    """An oracle of its own: `broken` runs inside backward(), on real grads."""
    for make in (diamond, ladder, twice):
        root = make()
        found = replay(root, fault, steps(root))
        ends = {node.label: is_ for node, is_, _ in found.wrong if node.label}
        for _ in range(2 if fault.needs_two else 1):
            with broken(fault.name):
                root.backward()
        right = make()
        for _ in range(2 if fault.needs_two else 1):
            right.backward()
        for label, node in named(root).items():
            assert node.grad == ends.get(label, named(right)[label].grad)


def test_hand_written_rules_are_replayed_as_well():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    product = Value(a.data * a.data * b.data, (a, a, b), "a²b")

    def rule():
        a.grad += 2 * a.data * b.data * product.grad
        b.grad += a.data**2 * product.grad

    product._backward = rule
    root = product + a
    root.label = "L"
    assert wrong(root, "overwrite") == {"a": (12.0, 13.0)}  # the 1 of the sum is lost
    assert (a.grad, b.grad) == (0.0, 0.0)


def test_recursion_without_end_is_not_played():
    y = Value(1.0, label="x")
    for _ in range(60):
        y = y + y
    assert replay(y, BY_NAME["plain_recursion"], steps(y)) is None
    assert replay(y, BY_NAME["overwrite"], steps(y)).shows


def test_no_grad_changes():
    root = diamond()
    root.backward()
    before = {label: node.grad for label, node in named(root).items()}
    for fault in ROWS:
        replay(root, fault, steps(root))
    assert {label: node.grad for label, node in named(root).items()} == before
