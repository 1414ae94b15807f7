"""Scopes: nodes know the blocks and the calls of modules they were made in, and nobody else's."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import Value, no_grad, scope, strict
from minigrad.core.graph import topological_order
from minigrad.core.node import STAMPS, clock
from minigrad.core.scopes import call_names, scope_paths
from minigrad.nn import MLP, Layer, Module, Neuron


def paths(root):
    """The names of the scopes of each node under a root, by node."""
    order = topological_order(root)
    found = scope_paths(order)
    return {node: "/".join(scope.name for scope in found.get(id(node), ())) for node in order}


def names(root):
    """What the nodes under a root are called."""
    order = topological_order(root)
    found = call_names(order)
    return [node.label or found.get(id(node), node._op) for node in order]


@pytest.mark.smoke
def test_blocks_nest_and_leaves_and_numbers_are_in_them():
    a = Value(2.0)
    with scope("outer"):
        b = a * 3.0
        with scope("inner"):
            c = b + Value(1.0)
        d = c.tanh()
    e = d + 5.0
    found = paths(e)
    number, one, five = b._operands[1], c._operands[1], e._operands[1]
    assert found[a] == found[e] == found[five] == ""
    assert found[b] == found[d] == found[number] == "outer"
    assert found[c] == found[one] == "outer/inner"


def test_each_opening_is_a_scope_of_its_own():
    block = scope("twice")
    a = Value(1.0)
    for _ in range(2):
        with block:
            a = a + 1.0
    first, second = (scope_paths([node])[id(node)] for node in (a._operands[0], a))
    assert first[0].name == second[0].name == "twice"
    assert first[0] is not second[0]


def test_a_scope_is_a_decorator_and_closes_when_something_is_raised():
    @scope("square")
    def square(x):
        if x.data < 0:
            raise ValueError("negative")
        return x * x

    y = square(square(Value(2.0)))
    assert list(paths(y).values()) == ["", "square", "square"]
    with pytest.raises(ValueError, match="negative"):
        square(Value(-1.0))
    assert set(paths(Value(1.0) * 2.0).values()) == {""}


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_scope_has_a_name(name):
    with pytest.raises(TypeError, match=r'with scope\("attention"\):'):
        scope(name)


def test_other_blocks_inside_and_around():
    a = Value(2.0)
    with scope("s"), strict():
        b = a * a
        with no_grad():
            c = a * a
    with no_grad(), scope("t"):
        d = a * a
    assert paths(b)[b] == "s"
    assert c._operands == d._operands == ()


def test_a_thread_has_its_own_blocks():
    made = []
    with scope("here"):
        thread = threading.Thread(target=lambda: made.append(Value(1.0) * 2.0))
        thread.start()
        thread.join()
    assert set(paths(made[0]).values()) == {""}


class Residual(Module):
    def __init__(self):
        self.net = MLP(1, [1], output="tanh", seed=1)
        self.gains = [Value(1.0), Value(2.0)]

    def __call__(self, x):
        return x + self.net([x]) * self.gains[0]


class Tower(Module):
    def __init__(self):
        self.blocks = [Residual(), Residual()]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return [x * self.outside]


@pytest.mark.smoke
def test_the_calls_of_ones_own_modules_are_scopes():
    model, x = Tower(), Value(0.5) * Value(1.0)
    model.outside = Value(3.0) * Value(4.0)  # computed, and not in a call
    (y,) = model(x)
    out = y * 2.0
    out.backward()  # which writes to the nodes too
    found = paths(out)
    inside = [path for node, path in found.items() if node._links()]
    neuron = "net/layer0/neuron0"
    assert inside == [
        "",  # x
        *[f"Tower/block0/{neuron}"] * 3,
        *["Tower/block0"] * 2,
        *[f"Tower/block1/{neuron}"] * 3,
        *["Tower/block1"] * 2,
        "",  # made before the call, though nobody gave it to the call
        "Tower",
        "",  # out
    ]
    assert {found[node] for node in found if not node._links()} == {""}


def test_a_hundred_calls_are_a_hundred_scopes_of_one_name():
    neuron = Neuron(1)
    total = sum((neuron([Value(float(k))]) for k in range(100)), Value(0.0))
    order = topological_order(total)
    scopes = set(scope_paths(order).values())
    assert len(scopes) == 100
    assert {path[-1].name for path in scopes} == {"Neuron"}


def test_blocks_in_calls_and_calls_in_blocks():
    class Attention(Module):
        def __init__(self):
            self.w = Value(2.0)

        def __call__(self, x):
            with scope("scores"):
                return self.w * x

    attention = Attention()
    with scope("block"):
        y = attention(Value(1.0))
    assert paths(y)[y] == "block/Attention/scores"


def test_a_call_through_super_is_one_scope_and_what_comes_in_is_not_claimed():
    class Twice(Residual):
        def __call__(self, x):
            return super().__call__(x) * 2.0

    class Same(Module):
        def __call__(self, x):
            return x

    x = Value(1.0) * Value(2.0)
    y = Same()(Twice()(x))
    assert paths(y)[y] == "Twice"
    assert "Same" not in str(paths(y).values())


def test_recursion_and_containers_of_results():
    class Tree(Module):
        def __call__(self, x, depth):
            if not depth:
                return {"leaf": (x * 2.0,)}
            below = self(x, depth - 1)
            return {"leaf": below["leaf"], "more": [x * 3.0, None, "text"]}

    found = Tree()(Value(1.0), 2)
    assert paths(found["leaf"][0])[found["leaf"][0]] == "Tree/Tree/Tree"
    assert paths(found["more"][0])[found["more"][0]] == "Tree"


def test_a_result_that_contains_itself_is_no_trouble():
    class Loop(Module):
        def __call__(self, x):
            found = [x * 2.0]
            found.append(found)
            return found

    found = Loop()(Value(1.0))
    assert paths(found[0])[found[0]] == "Loop"


def test_the_count_may_begin_again():
    clock.count = STAMPS - 3  # in the middle of the calls below
    model = MLP(2, [2, 1], seed=1)
    y = model([Value(1.0), Value(2.0)]) + model([3.0, 4.0])
    assert clock.count > STAMPS
    paths_of_calls = [path for path in paths(y).values() if path]
    assert {path.partition("/")[0] for path in paths_of_calls} == {"MLP"}
    assert sum(path == "MLP/layer0/neuron1" for path in paths_of_calls) == 12


@given(st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=3), max_leaves=12))
def test_any_nesting_of_calls_is_found_again(tree):
    """A module that does what a tree says; each node tells which calls it should be in."""

    class Call(Module):
        def __call__(self, x, branches, path, made):
            for k, branch in enumerate(branches):
                x = x * 1.5
                made.append((x, path))
                inner = Call()
                inner._scope_name = f"c{k}"
                x = inner(x, branch, f"{path}/c{k}", made)
            x = x + 1.0
            made.append((x, path))
            return x

    made = []
    root = Call()(Value(1.0), tree, "Call", made) * 2.0
    found = paths(root)
    assert [found[node] for node, _ in made] == [path for _, path in made]
    assert found[root] == ""


# ---- names of inputs and outputs -----------------------------------------------------------------


@pytest.mark.smoke
def test_inputs_and_outputs_of_networks_have_names():
    model = MLP(2, [2, 1], seed=1)
    found = names(model([0.5, Value(2.0)]))
    assert [name for name in found if name[0] in "xon"] == [
        "x0",
        "x1",
        "neuron0",
        "x0",
        "neuron1",
        "out",
    ]
    assert found.count("layer0.neuron1.w1") == 1


def test_labels_win_over_names():
    out = Neuron(2)([Value(1.0, label="age"), Value(2.0)])
    out.label = "guess"
    assert names(out) == ["b", "w0", "age", "*", "+", "w1", "x1", "*", "+", "guess"]


def test_several_outputs_are_called_by_their_neurons():
    first, second = Layer(1, 2)([1.0])
    assert [name for name in names(first + second) if name.startswith("neuron")] == [
        *("neuron0.b", "neuron0.w0", "neuron0", "neuron1.b", "neuron1.w0", "neuron1")
    ]


# ---- copies, traces, memory ----------------------------------------------------------------------


def test_copies_have_labels_and_no_scopes():
    model = MLP(1, [1], seed=1)
    with scope("s"):
        y = model([Value(2.0)])
    y.label = "y"
    for twin in (copy.deepcopy(y), pickle.loads(pickle.dumps(y)), y.detach()):
        assert set(paths(twin).values()) == {""}
        assert twin.label == "y"
        assert twin.data == y.data
    assert "layer0.neuron0.w0" in names(copy.deepcopy(y))


def test_a_compiled_function_may_have_scopes_and_modules():
    model = Residual()

    def f(x):
        with scope("twice"):
            return model(x) * 2.0

    compiled = minigrad.compile(f)
    for x in (0.5, -1.0, 2.0):
        given, other = Value(x), Value(x)
        y, expected = compiled(given), f(other)
        y.backward()
        expected.backward()
        assert y.data == pytest.approx(expected.data, rel=1e-15)
        assert given.grad == pytest.approx(other.grad, rel=1e-14)
    assert paths(expected)[expected] == "twice"
    assert set(paths(y).values()) == {""}


def test_what_a_call_returned_is_freed_with_the_graph():
    """Also if the module holds it, as a state: then there must be no cycle for nobody to find."""

    class Cell(Module):
        def __init__(self):
            self.w = Value(0.5)
            self.state = Value(0.0)

        def __call__(self, x):
            self.state = (self.w * self.state + x).tanh()
            return self.state

    class Mark:
        pass

    cell, mark = Cell(), Mark()
    gc.disable()
    try:
        for _ in range(3):
            y = cell(Value(1.0))
        y.mark = mark
        watched = weakref.ref(mark)
        del mark, y, cell
        assert watched() is None
    finally:
        gc.enable()


def test_a_long_chain_of_calls_is_freed_without_recursion():
    neuron = Neuron(1, activation="tanh")
    x = Value(0.1)
    for _ in range(5_000):
        x = neuron([x])
    assert len(set(scope_paths(topological_order(x)).values())) == 5_000
    del x
