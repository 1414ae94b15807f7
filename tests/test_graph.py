"""Graph algorithms on minigrad's nodes and on a stranger's."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad import CycleError, Value
from minigrad.core.graph import Edge, count_paths, counts, edges, paths, topological_order


class Stranger:
    """Somebody's node, equal to every other: only identity can tell them apart."""

    def __init__(self, *parents):
        self.parents = list(parents)

    def __eq__(self, other):
        return True

    __hash__ = None


def parents(node):
    return node.parents


def diamond():
    a, b, c = Value(2.0, label="a"), Value(3.0, label="b"), Value(4.0, label="c")
    ab = a * b
    s = ab + c
    d = a - c
    return a, b, c, ab, s, d, s * d


def test_topological_order_is_the_lessons_order():
    a, b, c, ab, s, d, out = diamond()
    # depth first, operands as written, each node after its operands
    assert [id(v) for v in topological_order(out)] == [id(v) for v in (a, b, ab, c, s, d, out)]


def test_edges_keep_repeats_and_positions():
    a = Value(3.0)
    out = a * a
    assert edges(out) == [Edge(a, out, 0), Edge(a, out, 1)]


def test_counts():
    *_, out = diamond()
    assert counts(out) == (7, 8, 3, 3)
    assert counts(Value(1.0)) == (1, 0, 1, 0)


def test_paths_of_the_diamond():
    a, b, _, ab, s, d, out = diamond()
    found = [[edge.node for edge in path] for path in paths(out, a)]
    assert found == [[ab, s, out], [d, out]]
    assert count_paths(out, a) == 2
    assert count_paths(out, b) == 1
    assert count_paths(out, Value(1.0)) == 0
    assert list(paths(out, Value(1.0))) == []
    assert list(paths(out, out)) == [[]]
    assert count_paths(out, out) == 1


def test_a_gradient_is_the_sum_over_paths_of_products():
    a, *_, out = diamond()
    out.backward()
    total = 0.0
    for path in paths(out, a):
        product = 1.0
        for edge in path:
            product *= edge.node._local_grads[edge.position]
        total += product
    assert total == a.grad == 4.0


def test_exponentially_many_paths_are_counted_at_once_and_walked_one_by_one():
    x = v = Value(1.0)
    for _ in range(60):
        v = v + v
    assert count_paths(v, x) == 2**60
    walk = paths(v, x)
    assert [len(next(walk)) for _ in range(5)] == [60] * 5


def test_strangers_nodes_told_apart_by_identity_only():
    leaf1, leaf2 = Stranger(), Stranger()
    root = Stranger(leaf1, leaf2, leaf1)
    assert [id(v) for v in topological_order(root, parents)] == [
        id(leaf1),
        id(leaf2),
        id(root),
    ]
    assert count_paths(root, leaf1, parents) == 2
    assert counts(root, parents) == (3, 3, 2, 1)


def test_a_cycle_is_named():
    a, b, c = Stranger(), Stranger(), Stranger()
    a.parents, b.parents, c.parents = [b], [c], [a]
    a.label, b.label, c.label = "a", "b", "c"
    with pytest.raises(CycleError, match="a → b → c → a.*edit of _prev"):
        topological_order(a, parents)
    a.parents = [a]
    with pytest.raises(CycleError, match="a → a"):
        topological_order(a, parents)


def test_a_long_cycle_is_named_briefly():
    first = node = Stranger()
    for _ in range(1000):
        node = Stranger(node)
    first.parents = [node]
    with pytest.raises(CycleError) as caught:
        topological_order(node, parents)
    assert "995 more" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_deep_graphs_do_not_recurse():
    leaf = node = Stranger()
    for _ in range(100_000):
        node = Stranger(node)
    assert counts(node, parents).depth == 100_000
    assert count_paths(node, leaf, parents) == 1
    assert len(next(paths(node, leaf, parents))) == 100_000
    while node.parents:  # Python frees nested lists of instances iteratively, but let us not rely
        node = node.parents.pop()


@st.composite
def dags(draw):
    """Small DAGs as lists of operand indices."""
    size = draw(st.integers(1, 9))
    return [draw(st.lists(st.integers(0, k - 1), max_size=3)) if k else [] for k in range(size)]


@given(dags())
def test_laws_on_random_dags(dag):
    nodes = []
    for operands in dag:
        nodes.append(Stranger(*[nodes[k] for k in operands]))
    root = nodes[-1]
    order = topological_order(root, parents)
    place = {id(v): k for k, v in enumerate(order)}
    assert len(place) == len(order)
    assert order[-1] is root
    for v in order:
        assert all(place[id(p)] < place[id(v)] for p in v.parents)
    for target in order:
        walked = list(paths(root, target, parents))
        assert len(walked) == count_paths(root, target, parents)
        for path in walked:
            if path:
                assert path[0].operand is target
                assert path[-1].node is root
            for below, above in pairwise(path):
                assert below.node is above.operand
        keys = [tuple((id(e.node), e.position) for e in path) for path in walked]
        assert len(set(keys)) == len(keys)
