"""Compiled functions: calls, results, gradients, and that they are never silently wrong."""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import math
import random
import subprocess
import sys
import threading
import types
from array import array
from typing import NamedTuple

import networks
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from programs import call_minigrad, random_program, run

import minigrad
from minigrad import (
    GuardError,
    NonFiniteError,
    NotDifferentiableError,
    Value,
    no_grad,
    strict,
)
from minigrad.nn import MLP, Module
from minigrad.scalar import nodes_alive

np = pytest.importorskip("numpy")

near = pytest.approx
compiled = functools.partial(minigrad.compile, backend="numpy")


# ---- ways to say it ------------------------------------------------------------------------------


class Scaled(Module):
    kind = 1.0

    def __init__(self):
        self.w, self.k, self.limits = Value(3.0), 2.0, [0.0, 10.0]

    def parameters(self):
        return [self.w]

    def plain(self, x):
        return self.w * x * self.k * self.kind + self.limits[0]

    loss = minigrad.compile(plain, backend="numpy")

    def __call__(self, x):
        return self.plain(x)


@pytest.mark.smoke
def test_methods():
    one, two = Scaled(), Scaled()
    two.w.data, two.k = 5.0, 1.0
    assert [m.loss(x).data for m in (one, two, one) for x in (1.0, 2.0)] == [6, 12, 5, 10, 6, 12]
    value, grads = one.loss.value_and_grad(2.0)
    assert (value, grads[one.w], grads.args[-1]) == (12.0, 4.0, 6.0)
    one.loss(2.0).backward()
    assert one.w.grad == 4.0


# ---- arguments and results -----------------------------------------------------------------------


class Pair(NamedTuple):
    a: object
    b: object


SHAPES = [
    (lambda xs: xs[0] * 2 + xs[1] * 3, ([1.5, 2.0],), ([2.0, 3.0],)),
    (lambda t: t[0] * t[1][0], ((1.5, [2.0]),), ((2.0, [1.5]),)),
    (lambda p: p.a * p.b[1], (Pair(1.5, [2.0, 4.0]),), (Pair(4.0, [0.0, 1.5]),)),
    (lambda d: d["x"] * d["y"], ({"x": 1.5, "y": 2.0},), ({"x": 2.0, "y": 1.5},)),
    (lambda s, x: x * len(s), ("abc", 2.0), ("abc", 3.0)),
    (lambda s, x: x * 2 if s is None else x, (None, 2.0), (None, 2.0)),
    (lambda xs, x: minigrad.sum([x, *xs]), ([], 2.0), ([], 1.0)),
    (lambda xs: xs[0] * xs[1][0][0], ([2.0, [[4.0]]],), ([4.0, [[2.0]]],)),
]


@pytest.mark.smoke
@pytest.mark.parametrize(("function", "args", "grads"), SHAPES)
def test_structures(function, args, grads, backend):
    fast = minigrad.compile(function, backend=backend)
    value, found = fast.value_and_grad(*args)
    assert found.args == grads
    assert type(found.args[0]) is type(args[0])
    assert fast(*args).data == value
    assert fast.grad(*args).args == grads


def test_keywords():
    fast = compiled(lambda x, *, scale=2.0, flags=(): x * scale)
    assert fast(3.0).data == 6.0
    assert fast(3.0, scale=5.0).data == 15.0
    assert fast(x=3.0, scale=5.0).data == 15.0
    assert fast.value_and_grad(3.0, scale=5.0)[1].kwargs == {"scale": 3.0}


def test_arrays(backend):
    fast = minigrad.compile(lambda a: minigrad.sum(list((a * a).ravel())), backend=backend)
    for dtype in (np.float64, np.float32):
        a = np.arange(6, dtype=dtype).reshape(2, 3)
        value, grads = fast.value_and_grad(a)
        assert value == 55.0
        assert grads.args[0].tolist() == (2 * a).tolist()
    values = np.array([Value(2.0), Value(3.0)])
    fast(values).backward()
    assert [v.grad for v in values] == [4.0, 6.0]
    table = [Value(10.0), Value(20.0), Value(30.0)]
    pick = minigrad.compile(
        lambda k: minigrad.sum([minigrad.take(table, i) for i in k]), backend=backend
    )
    assert pick(np.array([0, 2])).data == 40.0
    assert pick(np.array([1, 1], dtype=np.int8)).data == 40.0
    assert pick.cache_info().traces == 1
    square = minigrad.compile(lambda a: a * a, backend=backend)
    assert [square(np.array(x)).data for x in (3.0, 4.0)] == [9.0, 16.0]


@pytest.mark.smoke
def test_captured_values_are_read_afresh(backend):
    w, table = Value(2.0), {"b": [Value(1.0)]}
    fast = minigrad.compile(lambda x: w * x + table["b"][0], backend=backend)
    assert fast(3.0).data == 7.0
    w.data, table["b"][0].data = 5.0, -1.0
    assert fast(3.0).data == 14.0
    assert fast.cache_info().traces == 1
    y = w * 2  # an interior node may be captured too
    inner = minigrad.compile(lambda x: y * x, backend=backend)
    inner(3.0).backward()
    assert w.grad == 6.0


def test_a_trace_leaves_no_nodes_behind():
    fast = compiled(lambda x: minigrad.sum([x * k for k in range(100)]).tanh())
    gc.collect()
    gc.disable()  # nothing waits for the collector: no node is in a circle of references
    try:
        before = nodes_alive()
        for x in (0.5, 0.25):
            fast(x)
            fast.value_and_grad(x)
        assert nodes_alive() <= before + 10
    finally:
        gc.enable()


def test_a_first_trace_imports_nothing_large():
    code = """
import sys, minigrad
f = minigrad.compile(lambda x, y: (x * y + x).tanh())
before = set(sys.modules)
f.value_and_grad(0.5, 2.0)
print(sorted(name for name in set(sys.modules) - before if not name.startswith("minigrad")))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.smoke
def test_the_accuracy_of_the_demo(backend):
    points, labels = networks.moons(40)
    model = MLP(2, [6, 1], seed=3)
    fast = minigrad.compile(lambda p, q: networks.demo_loss(model, p, q), backend=backend)
    for p in range(3):
        loss, accuracy = fast(points, labels)
        expected, right = networks.demo_loss(model, points, labels)
        assert loss.data == near(expected.data, rel=1e-13)
        assert accuracy == right
        for parameter in model.parameters():
            parameter.data += 0.3 * math.sin(1 + p + parameter.data)
    assert fast.cache_info().traces == 1


# ---- one node in the eager world -----------------------------------------------------------------


@pytest.mark.smoke
def test_a_fused_node_in_an_eager_graph(backend):
    w = Value(2.0)
    fast = minigrad.compile(lambda x: (w * x).tanh(), backend=backend)

    def build(function):
        minigrad.zero_grad([w])
        x = Value(0.3)
        y = function(x * 2) * x + function(w * x) / w
        y.backward()
        return y.data, x.grad, w.grad

    assert build(fast) == near(build(fast.__wrapped__), rel=1e-13)
    minigrad.zero_grad([w])
    y = fast(0.5)
    y.backward()
    once = w.grad
    fast(0.5).backward()
    assert w.grad == near(2 * once)  # it accumulates, as ever
    y.zero_grad()
    assert w.grad == 0.0
    assert y._op == "compiled"


def test_no_gradients_where_none_are_wanted():
    w = Value(2.0)
    fast = compiled(lambda x: w * x)
    with no_grad():
        y = fast(3.0)
    assert y.data == 6.0
    assert not y._prev
    fast(3.0).backward()
    assert w.grad == 3.0


def test_no_second_derivative_through_a_fused_node():
    x = Value(2.0)
    y = compiled(lambda x: x * x * x)(x)
    assert minigrad.grad(y, x) == 12.0
    with pytest.raises(NotDifferentiableError):
        minigrad.grad(y, x, create_graph=True)


def test_one_compiled_function_inside_another():
    inner = compiled(lambda x: x * x)
    outer = compiled(lambda x: inner(x) + inner(x + 1))
    value, grads = outer.value_and_grad(2.0)
    assert (value, grads.args) == (13.0, (10.0,))
    assert outer(3.0).data == 25.0
    assert inner.cache_info().calls == 0

    @compiled
    def power(n, x):
        return x if n == 0 else x * power(n - 1, x)

    assert [power(n, 2.0).data for n in (3, 1, 3)] == [16.0, 4.0, 16.0]


# ---- never silently wrong: surroundings ----------------------------------------------------------

GLOBAL, TABLE_OF_NUMBERS, ARRAY = 2.0, [2.0, 7.0], np.array([2.0, 7.0])
settings_module = types.ModuleType("settings_of_the_test")
settings_module.__file__ = __file__
sys.modules[settings_module.__name__] = settings_module


def helper(x):
    return x * GLOBAL


def with_default(x, k=2.0):
    return x * k


def with_keyword_default(x, *, k=2.0):
    return x * k


def reset():
    global GLOBAL
    GLOBAL = 2.0
    TABLE_OF_NUMBERS[0] = 2.0
    ARRAY[0] = 2.0
    with_default.__defaults__ = (2.0,)
    with_keyword_default.__kwdefaults__ = {"k": 2.0}
    settings_module.k = 2.0


def set_global():
    global GLOBAL
    GLOBAL = 3.0


class Attributes:
    def __init__(self):
        self.k = 2.0


class Slotted:
    __slots__ = ("k",)

    def __init__(self):
        self.k = 2.0


@dataclasses.dataclass(slots=True)
class Record:
    k: float = 2.0


class WithProperty:
    def __init__(self):
        self.hidden = [2.0]

    @property
    def k(self):
        return self.hidden[0]


def changing():
    """Name, function of one number, and a change after which it is 3x instead of 2x."""
    yield "a global", lambda x: x * GLOBAL, set_global
    yield "a global of a helper", lambda x: helper(x), set_global
    yield "a list", lambda x: x * TABLE_OF_NUMBERS[0], lambda: TABLE_OF_NUMBERS.__setitem__(0, 3.0)
    yield "an array in place", lambda x: x * ARRAY[0], lambda: ARRAY.__setitem__(0, 3.0)
    yield "a default", with_default, lambda: setattr(with_default, "__defaults__", (3.0,))
    yield (
        "a keyword's default",
        with_keyword_default,
        lambda: setattr(with_keyword_default, "__kwdefaults__", {"k": 3.0}),
    )
    yield (
        "a module",
        lambda x: x * settings_module.k,
        lambda: setattr(settings_module, "k", 3.0),
    )
    cell = 2.0

    def turn():
        nonlocal cell
        cell = 3.0

    yield "a closure", lambda x: x * cell, turn
    for thing in (Attributes(), Slotted(), Record(), types.SimpleNamespace(k=2.0)):
        yield (
            f"an attribute of a {type(thing).__name__}",
            functools.partial(lambda thing, x: x * thing.k, thing),
            functools.partial(setattr, thing, "k", 3.0),
        )
    hidden = WithProperty()
    yield "a property", lambda x: x * hidden.k, lambda: hidden.hidden.__setitem__(0, 3.0)

    class Constants:
        k = 2.0

        @staticmethod
        def apply(x):
            return x * numbers[0]

    numbers = [2.0]
    instance = Constants()
    yield "a class", lambda x: x * Constants.k, lambda: setattr(Constants, "k", 3.0)

    class Others:
        k = 2.0

    instance = Others()
    yield "a class, by instance", lambda x: x * instance.k, lambda: setattr(Others, "k", 3.0)
    yield (
        "what a static method reads",
        lambda x: Constants.apply(x),
        lambda: numbers.__setitem__(0, 3.0),
    )
    yield from changing_things()


def changing_things():
    """The same for what is in containers, objects and classes."""
    queue, packed = collections.deque([2.0]), array("d", [2.0])
    yield "a deque", lambda x: x * queue[0], lambda: queue.__setitem__(0, 3.0)
    yield "an array.array", lambda x: x * packed[0], lambda: packed.__setitem__(0, 3.0)
    arrays = [np.array([2.0, 1.0])]
    yield (
        "an array in a list",
        lambda x: x * arrays[0][0],
        lambda: arrays.__setitem__(0, np.array([3.0, 1.0])),
    )
    holder = Attributes()
    holder.k = np.array([2.0, 1.0])
    yield (
        "an array in an object",
        lambda x: x * holder.k[0],
        lambda: setattr(holder, "k", np.array([3.0, 1.0])),
    )
    nested = {"a": [{"b": (1, [2.0])}]}
    yield (
        "deep inside",
        lambda x: x * nested["a"][0]["b"][1][0],
        lambda: nested["a"][0]["b"][1].__setitem__(0, 3.0),
    )
    words = {"mode": "double"}
    yield (
        "a word",
        lambda x: x * 2 if words["mode"] == "double" else x * 3,
        lambda: words.update(mode="triple"),
    )
    functions = {"f": lambda x: x * 2}
    yield "a function", lambda x: functions["f"](x), lambda: functions.update(f=lambda x: x * 3)

    class Base:
        k = 2.0

        def act(self, x):
            return x * 2

    class Derived(Base):
        __slots__ = ("other",)

    derived, bare, empty = Derived(), Attributes(), {}
    del bare.k
    yield "a base class", lambda x: x * derived.k, lambda: setattr(Base, "k", 3.0)
    yield (
        "a method",
        lambda x: derived.act(x),
        lambda: setattr(Base, "act", lambda self, x: x * 3),
    )
    yield (
        "an attribute that was not there",
        lambda x: x * getattr(bare, "k", 2.0),
        lambda: setattr(bare, "k", 3.0),
    )
    yield "a key that was not there", lambda x: x * empty.get("k", 2.0), lambda: empty.update(k=3.0)
    whole = np.array([2.0, 1.0])
    part = whole[:1]
    yield "an array seen through another", lambda x: x * part[0], lambda: whole.__setitem__(0, 3.0)
    counter = collections.Counter(k=2)
    yield "a Counter", lambda x: x * counter["k"], lambda: counter.update(k=1)
    frozen = ([2.0],)
    yield "a list in a tuple", lambda x: x * frozen[0][0], lambda: frozen[0].__setitem__(0, 3.0)
    values = [Value(2.0)]
    yield "a Value", lambda x: x * values[0], lambda: values.__setitem__(0, Value(3.0))


@pytest.mark.parametrize("name", [name for name, _, _ in changing()])
def test_changes_around_a_function_are_noticed(name):
    reset()
    function, change = next((f, c) for n, f, c in changing() if n == name)
    fast = compiled(function)
    strictly = compiled(function, strict=True)
    assert fast(1.0).data == fast(1.0).data == strictly(1.0).data == 2.0
    assert fast.cache_info().traces == 1
    change()
    assert fast(1.0).data == 3.0
    assert fast.value_and_grad(1.0)[0] == fast.grad(1.0).args[0] == 3.0
    assert fast.cache_info().traces == 2
    with pytest.raises(GuardError, match="is not what it was"):
        strictly(1.0)
    reset()


def test_changes_of_objects_that_are_arguments():
    one = Scaled()
    functional = compiled(lambda model, x: model.plain(x))
    calls = [one.loss, functools.partial(functional, one), compiled(one), compiled(one.plain)]
    for change, expected in [
        (lambda: None, 6.0),
        (lambda: setattr(one, "k", 3.0), 9.0),
        (lambda: setattr(one, "w", Value(5.0)), 15.0),
        (lambda: one.limits.__setitem__(0, 1.0), 16.0),
        (lambda: setattr(one.w, "data", 7.0), 22.0),
    ]:
        change()
        assert [call(1.0).data for call in calls] == [expected] * 4
    scale = [2.0]
    passed = compiled(lambda f, x: f(x))
    double = lambda x: x * scale[0]  # noqa: E731
    assert passed(double, 1.0).data == 2.0
    scale[0] = 3.0
    assert passed(double, 1.0).data == 3.0
    ordered = collections.OrderedDict(k=2.0)
    keyed = compiled(lambda d, x: x * d["k"])
    assert keyed(ordered, 1.0).data == 2.0
    ordered["k"] = 3.0
    assert keyed(ordered, 1.0).data == 3.0


def test_a_replaced_parameter_of_a_model():
    model = MLP(2, [3, 1], seed=1)
    fast = [compiled(lambda x: model(x)), compiled(model)]
    for f in fast:
        f([1.0, 2.0])
    model.layers[0].neurons[0].w[0] = Value(9.0)
    for f in fast:
        assert f([1.0, 2.0]).data == near(model([1.0, 2.0]).data)


# ---- never silently wrong: arguments -------------------------------------------------------------


def test_inside_strict_the_line_is_named():
    fast = compiled(lambda x: x.log() + 1)
    assert fast(1.0).data == 1.0
    assert fast(0.0).data == -math.inf
    with strict(), pytest.raises(NonFiniteError, match=r"log.*test_function\.py"):
        fast(0.0)
    with strict(), pytest.raises(NonFiniteError, match=r"log.*test_function\.py"):
        fast(Value(0.0))


# ---- threads -------------------------------------------------------------------------------------


def test_many_threads_call_one_function(backend):
    w = Value(2.0)
    fast = minigrad.compile(
        lambda xs: (w * minigrad.dot(xs, xs)).tanh() if xs[0] > 0 else w * xs[1], backend=backend
    )
    wrong = []

    def work(k):
        for j in range(60):
            xs = [(-1.0) ** j * 0.1, 0.01 * k, *[0.02] * (j % 3)]
            dot = sum(x * x for x in xs)
            expected = math.tanh(2 * dot) if xs[0] > 0 else 2 * xs[1]
            if abs(fast.value_and_grad(xs)[0] - expected) > 1e-12:
                wrong.append(xs)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- random programs -----------------------------------------------------------------------------


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
@pytest.mark.parametrize("way", ["numpy", "auto"])
def test_random_programs(way, seed):
    program = random_program(seed)
    fast = minigrad.compile(lambda *xs: run(program, xs, call_minigrad)[-1], backend=way)
    for shift in (0.0, 0.25):
        inputs = [x + shift for x in program.inputs]
        leaves = [Value(x) for x in inputs]
        results = run(program, leaves, call_minigrad)
        assume(all(math.isfinite(v.data) and abs(v.data) < 1e6 for v in results))
        slopes = minigrad.grad(results[-1], leaves)
        value, grads = fast.value_and_grad(*inputs)
        largest = max(1.0, *(abs(v.data) for v in results))
        assert value == near(results[-1].data, rel=1e-12, abs=1e-13 * largest)
        size = max(map(abs, slopes))
        assume(math.isfinite(size))
        assert list(grads.args) == near(slopes, rel=1e-11, abs=1e-11 * max(size, 1.0))


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("hinge", int),
        ("hinge", float),
        ("binary_cross_entropy", int),
        ("binary_cross_entropy", float),
        ("cross_entropy", int),
    ],
)
def test_labels_stay_open_in_the_losses(kind, number, backend):
    rng = random.Random(1)
    model = minigrad.nn.MLP(2, [4, 3 if kind == "cross_entropy" else 1], seed=1)
    labels = {"hinge": [-1, 1], "binary_cross_entropy": [0, 1], "cross_entropy": [0, 1, 2]}[kind]

    def total(points, targets):
        return getattr(minigrad.loss, kind)([model(p) for p in points], targets)

    fast = minigrad.compile(total, backend=backend)
    for _ in range(20):
        points = [[rng.random(), rng.random()] for _ in range(4)]
        targets = [number(rng.choice(labels)) for _ in range(4)]
        value, grads = fast.value_and_grad(points, targets)
        expected = total(points, targets)
        assert value == pytest.approx(expected.data, rel=1e-12)
        slopes = minigrad.grad(expected, model.parameters())
        assert [grads[p] for p in model.parameters()] == pytest.approx(slopes, rel=1e-9, abs=1e-14)
    assert fast.cache_info().traces == 1
    with pytest.raises((ValueError, IndexError)):
        fast.value_and_grad(points, [number(7)] * 4)


def test_a_loop_as_everybody_writes_it(backend):
    """zero_grad, call, backward, step: the numbers are those of descent on a parabola, by hand."""
    ws = [Value(float(k), label=f"w{k}") for k in range(300)]
    fast = minigrad.compile(lambda y: sum((w - y) ** 2 for w in ws), backend=backend)
    optimizer = minigrad.optim.SGD(ws, lr=0.25)
    for y in (1.0, 3.0, -2.0):
        before = [w.data for w in ws]
        optimizer.zero_grad()
        total = fast(y)
        total.backward()
        assert total.grad == 1.0
        assert [w.grad for w in ws] == [2 * (x - y) for x in before]
        total.backward()  # adds the same once more
        assert total.grad == 2.0
        assert [w.grad for w in ws] == [4 * (x - y) for x in before]
        optimizer.step()
        assert [w.data for w in ws] == [y] * 300  # x - 0.25 * 4 (x - y)
        ws[0].data, ws[1].data = 5.0, 7.0


def test_a_pass_from_a_result_reaches_everything_it_depends_on(backend):
    """Leaves, one that is there twice, nodes with a history, hand-written ones, further nodes."""
    a, b = Value(2.0), Value(3.0)
    fast = minigrad.compile(lambda x, y: a * x * y + b, backend=backend)
    fast(a, Value(5.0)).backward()  # a² y + b
    assert (a.grad, b.grad) == (20.0, 1.0)
    a.grad = b.grad = 0.0
    c = b * b
    out = fast(c, Value(1.0))  # a b² + b
    out.backward()
    assert (a.grad, b.grad, c.grad, out.grad) == (9.0, 13.0, 2.0, 1.0)
    a.grad = b.grad = 0.0
    (fast(1.0, 1.0) * b).backward()  # (a + b) b
    assert (a.grad, b.grad) == (3.0, 8.0)
    a.grad = b.grad = 0.0
    doubled = Value(2 * b.data, (b,), "twice")

    def back():
        b.grad += 2 * doubled.grad

    doubled._backward = back
    fast(doubled, Value(1.0)).backward()  # 2 a b + b
    assert (a.grad, b.grad) == (6.0, 5.0)
    a.grad = b.grad = 0.0
    out = fast(1.0, 1.0)
    out._prev.discard(a)  # edited: a has no part in it any more
    out.backward()
    assert (a.grad, b.grad) == (0.0, 1.0)
