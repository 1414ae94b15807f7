"""`Value`: operators and types, the backward pass and its guarantees (CASES: Types, backward)."""

from __future__ import annotations

import decimal
import fractions
import math
import operator
import random
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import BackwardRunningError, CycleError, Value
from minigrad.core.backward import _postorder
from minigrad.core.graph import topological_order

floats = st.floats(-1e3, 1e3)

# ---- types --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "data"),
    [
        (6, 6.0),
        (True, 1.0),
        (fractions.Fraction(3, 8), 0.375),
        (decimal.Decimal("2.5"), 2.5),
        (np.float64(1.5), 1.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float16(0.5), 0.5),
        (np.int64(-7), -7.0),
        (np.uint8(200), 200.0),
        (np.bool_(True), 1.0),
        (float("inf"), math.inf),
    ],
)
def test_every_real_number_becomes_a_float(number, data):
    v = Value(number)
    assert type(v.data) is float
    assert v.data == data
    w = Value(1.0)
    w.data = number
    assert type(w.data) is float
    assert w.data == data
    product = Value(2.0) * number
    assert isinstance(product, Value)
    assert product.data == 2.0 * data


@pytest.mark.parametrize(
    ("bad", "remedy"),
    [
        ("3", r"float\(text\)"),
        (b"3", r"float\(text\)"),
        (Value(2), r"v\.detach\(\)"),
        (None, r"0\.0 for nothing"),
        ([1.0, 2.0], r"\[Value\(x\) for x in xs\]"),
        (np.zeros(3), r"xs\.ravel\(\)"),
        (np.array(2.0), r"x\.item\(\)"),
        (1 + 2j, r"x\.real"),
        (np.timedelta64(3, "s"), "one number"),
        (np.complex128(1j), r"x\.real"),
        (object(), r"Use float\(x\)"),
        (decimal.Decimal("sNaN"), "nan"),
    ],
)
def test_what_is_no_number_is_refused_with_a_remedy(bad, remedy):
    with pytest.raises(TypeError, match=remedy):
        Value(bad)
    v = Value(1.0)
    with pytest.raises(TypeError, match=remedy):
        v.data = bad
    with pytest.raises(TypeError, match=remedy):
        v.grad = bad
    assert (v.data, v.grad) == (1.0, 0.0)


def test_an_int_too_large_for_a_float_says_so():
    for attempt in (lambda: Value(10**400), lambda: Value(1) * 10**400, lambda: 10**400 + Value(1)):
        with pytest.raises(OverflowError, match=r"this int is too large.*float\('inf'\)"):
            attempt()


def test_other_numbers_too_large_say_so():
    for large in (fractions.Fraction(10**400), decimal.Decimal("1e400")):
        with pytest.raises(OverflowError, match=f"this {type(large).__name__} is too large"):
            Value(large)
    assert Value(decimal.Decimal("-Infinity")).data == -math.inf


@pytest.mark.parametrize(
    "convert", [float, int, math.exp, math.isnan, math.sqrt, np.float64, round, complex]
)
def test_turning_a_value_into_a_float_by_accident_is_refused(convert):
    with pytest.raises(TypeError, match=r"v\.data.*v\.exp\(\)"):
        convert(Value(1.0))


def test_strangers_get_pythons_own_error():
    for bad in ("x", None, [1.0], {}, 1j):
        with pytest.raises(TypeError):
            Value(1.0) * bad
        with pytest.raises(TypeError):
            bad + Value(1.0)


OPERATORS = {
    "+": (lambda a, b: a + b, lambda a, b: (1, 1)),
    "-": (lambda a, b: a - b, lambda a, b: (1, -1)),
    "*": (lambda a, b: a * b, lambda a, b: (b, a)),
    "/": (lambda a, b: a / b, lambda a, b: (1 / b, -a / b**2)),
    "**": (lambda a, b: a**b, lambda a, b: (b * a ** (b - 1), a**b * math.log(a))),
}


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("kind", [float, np.float64, np.int64, int, fractions.Fraction])
def test_operators_with_numbers_on_either_side(symbol, kind):
    operate, derivative = OPERATORS[symbol]
    v, number = Value(3.0), kind(2)
    right = operate(v, number)
    left = operate(number, v)
    assert type(right) is Value
    assert type(left) is Value
    assert right.data == pytest.approx(operate(3.0, 2.0), rel=1e-15)
    assert left.data == pytest.approx(operate(2.0, 3.0), rel=1e-15)
    right.backward()
    assert v.grad == pytest.approx(derivative(3.0, 2.0)[0], rel=1e-15)
    v.grad = 0.0
    left.backward()
    assert v.grad == pytest.approx(derivative(2.0, 3.0)[1], rel=1e-15)


@pytest.mark.smoke
@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators_between_values(symbol):
    operate, derivative = OPERATORS[symbol]
    a, b = Value(3.0), Value(2.0)
    out = operate(a, b)
    out.backward()
    assert out.data == operate(3.0, 2.0)
    assert out._op == symbol
    assert (a.grad, b.grad) == pytest.approx(derivative(3.0, 2.0), rel=1e-15)


def test_division_is_a_true_division():
    # a * b**-1 is one ulp off for a quarter of all pairs; 49/49 is the classic.
    assert (Value(49.0) / Value(49.0)).data == 1.0
    for a in range(1, 40):
        for b in range(1, 40):
            assert (Value(a) / Value(b)).data == a / b


def test_in_place_forms_make_new_nodes():
    a = Value(2.0)
    before = a
    a += 1
    a *= 3
    a -= 2
    a /= 7
    a **= 2
    assert a.data == 1.0
    a.backward()
    assert before.data == 2.0
    assert before.grad == pytest.approx(2 * 3 / 7)


def test_negation_plus_and_abs():
    a = Value(-3.0)
    assert (-a).data == 3.0
    assert +a is a
    out = abs(a) + a.abs()
    out.backward()
    assert (out.data, a.grad) == (6.0, -2.0)


def test_sum_starts_from_the_integer_zero():
    xs = [Value(k) for k in range(5)]
    total = sum(xs)
    total.backward()
    assert total.data == 10.0
    assert all(x.grad == 1.0 for x in xs)


def test_numpy_arrays_of_values():
    a, b = Value(0.5), Value(-1.0)
    array = np.array([a, b])
    assert array.dtype == object
    scaled = np.array([1.0, 2.0]) * a
    assert scaled.dtype == object
    assert [v.data for v in scaled] == [0.5, 1.0]
    also = a * np.array([1.0, 2.0])
    assert [v.data for v in also] == [0.5, 1.0]
    for name in ("tanh", "exp", "sin", "cos", "sinh", "cosh", "expm1", "arctan"):
        outs = getattr(np, name)(array)
        expected = getattr(np, name)(np.array([0.5, -1.0]))
        assert [v.data for v in outs] == pytest.approx(list(expected), rel=1e-15)
    assert np.array([Value(1.0), Value(3.0)]).var().data == 1.0
    assert np.array([Value(1.0), Value(3.0)]).std().data == 1.0
    assert np.hypot(np.array([Value(3.0)]), np.array([Value(4.0)]))[0].data == 5.0
    total = np.dot(array, array) + np.abs(array).sum() + array.mean()
    total.backward()
    assert a.grad == pytest.approx(2 * 0.5 + 1 + 0.5)
    assert b.grad == pytest.approx(2 * -1.0 - 1 + 0.5)


def test_comparison_is_by_data_equality_and_hash_by_identity():
    a, b, c = Value(1.0), Value(2.0), Value(1.0)
    assert a < b
    assert a <= c
    assert b > 1
    assert 1.5 < b
    assert np.float64(1.5) < b
    assert a >= fractions.Fraction(1, 2)
    assert not Value(math.nan) < 1
    assert not Value(math.nan) >= 1
    assert max(a, b) is b
    assert a != c
    assert len({a, b, c}) == 3
    with pytest.raises(TypeError):
        a < "x"  # noqa: B015


def test_text():
    assert repr(Value(6)) == "Value(data=6.0)"
    assert str(Value(-1.5, label="w")) == "Value(data=-1.5)"
    assert f"{Value(3.14159):.2f}" == "3.14"
    assert f"{Value(2)}" == "Value(data=2.0)"


# ---- backward ------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_grad_is_the_sum_over_calls_for_every_node():
    x = Value(2.0)
    a = x + 1
    b = a * 3
    c = b + 2
    for calls in (1, 2, 3, 4):
        c.backward()
        assert (c.grad, b.grad, a.grad, x.grad) == (calls, calls, 3 * calls, 3 * calls)


@pytest.mark.smoke
def test_two_roots_that_share_nodes_add_up():
    x = Value(3.0)
    shared = x * x
    first = shared + 1
    second = shared * 2
    first.backward()
    second.backward()
    # d first/d shared = 1, d second/d shared = 2; d shared/dx = 6
    assert (shared.grad, x.grad, first.grad, second.grad) == (3.0, 18.0, 1.0, 1.0)


@pytest.mark.oracle
def test_roots_that_share_nodes_agree_with_pytorch_retaining_all_grads(torch):
    def build(x, y):
        a = x * y
        b = a + x
        c = b * a
        d = c - y * a
        return [a, b, c, d, c * d]

    ours = [Value(1.5), Value(-0.5)]
    theirs = [torch.tensor(v.data, dtype=torch.float64, requires_grad=True) for v in ours]
    our_nodes, their_nodes = build(*ours), build(*theirs)
    for node in their_nodes:
        node.retain_grad()
    for root in (4, 3, 3, 2):
        our_nodes[root].backward()
        their_nodes[root].backward(retain_graph=True)
    for mine, other in zip(ours + our_nodes, theirs + their_nodes, strict=True):
        expected = 0.0 if other.grad is None else other.grad.item()
        assert mine.grad == pytest.approx(expected, rel=1e-15)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a: a + a, 2.0),
        (lambda a: a * a, 14.0),
        (lambda a: a / a, 0.0),
        (lambda a: a - a, 0.0),
        (lambda a: a**a, 7.0**7 * (1 + math.log(7.0))),
        (lambda a: minigrad.dot([a, a], [a, 2.0]), 16.0),
        (lambda a: minigrad.maximum(a, a), 1.0),
    ],
)
def test_both_operands_the_same(build, expected):
    a = Value(7.0)
    out = build(a)
    out.backward()
    assert a.grad == pytest.approx(expected, rel=1e-14)


@pytest.mark.smoke
def test_zero_grad_clears_the_whole_graph():
    a, b = Value(2.0), Value(3.0)
    e = a * b
    out = e + a
    out.backward()
    out.zero_grad()
    assert [v.grad for v in (a, b, e, out)] == [0.0] * 4
    out.backward()
    assert (a.grad, b.grad) == (4.0, 2.0)


def test_backward_on_a_leaf_and_on_a_constant():
    a = Value(5.0)
    a.backward()
    a.backward()
    assert a.grad == 2.0


def test_the_numbers_of_the_forward_pass_are_used_even_if_data_changes():
    a, b = Value(2.0), Value(3.0)
    out = a * b
    a.data = 100.0
    out.backward()
    assert (a.grad, b.grad) == (3.0, 2.0)


def custom(a, b, step):
    out = Value(a.data * b.data, (a, b), "mine")
    out._backward = lambda: step(out)
    return out


@pytest.mark.smoke
def test_a_custom_op_in_the_middle_of_a_graph():
    a, b = Value(2.0), Value(3.0)
    s = a + b

    def step(out):
        s.grad += b.data * out.grad
        b.grad += s.data * out.grad

    out = custom(s, b, step) * 10
    for calls in (1, 2):
        out.backward()
        # (a + b) * b * 10
        assert (a.grad, b.grad) == (30.0 * calls, 80.0 * calls)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_custom_step_that_raises_leaves_every_grad_as_it_was(error):
    a, b = Value(2.0), Value(3.0)
    e = a * b
    e.backward()

    def step(out):
        e.grad += 99.0
        raise error

    bad = custom(e, a, step)
    bad.label = "culprit"
    out = bad + a * 5
    out.grad = 7.0
    before = [v.grad for v in (a, b, e, bad, out)]
    with pytest.raises(type(error)) as caught:
        out.backward()
    assert [v.grad for v in (a, b, e, bad, out)] == before
    assert any("'mine'" in note and "culprit" in note for note in caught.value.__notes__)
    e.backward()  # the engine is free again
    assert a.grad == 6.0


def test_a_pass_inside_a_pass_is_refused():
    a = Value(2.0)
    other = a * 3

    for inner in (other.backward, other.zero_grad, lambda: minigrad.grad(other, a)):
        out = custom(a, a, lambda out, inner=inner: inner())
        with pytest.raises(BackwardRunningError, match="after the pass"):
            out.backward()
        assert (a.grad, other.grad, out.grad) == (0.0, 0.0, 0.0)


def test_a_custom_step_may_replace_the_rule_of_an_ordinary_node():
    a, b = Value(2.0), Value(3.0)
    out = a * b

    def straight_through():
        a.grad += out.grad

    out._backward = straight_through
    assert out._backward is straight_through
    assert (out._op, out._prev, out._operands) == ("*", {a, b}, (a, b))
    out.backward()
    assert (a.grad, b.grad) == (1.0, 0.0)
    with pytest.raises(TypeError, match="function without arguments"):
        out._backward = 3


def test_a_step_may_be_wrapped_as_notebooks_do():
    a = Value(3.0)
    out = a * a
    calls = []
    table_step = out._backward

    def traced():
        calls.append(out.grad)
        table_step()

    out._backward = traced
    (out * 2).backward()
    assert calls == [2.0]
    assert a.grad == 12.0


def test_local_derivatives_in_microgpts_style():
    a, b = Value(2.0), Value(5.0)
    out = Value(a.data * b.data, (a, b), (b.data, a.data))
    (out + a).backward()
    assert (a.grad, b.grad) == (6.0, 2.0)
    with pytest.raises(ValueError, match="2 children but 1 local"):
        Value(1.0, (a, b), (1.0,))
    for attempt, words in [
        (lambda: Value(1.0, (a, 2.0), "op"), "float among the operands"),
        (lambda: Value(1.0, (a), "op"), r"\(v,\), with a comma"),
        (lambda: Value(1.0, 5, "op"), "got a second number; a Value holds one"),
        (lambda: Value(1.0, (a,), 12.0), r"got float; give a list: \[12\.0"),
        (lambda: setattr(a, "_prev", [1]), "int among the operands"),
    ]:
        with pytest.raises(TypeError, match=words):
            attempt()
    assert a._operands == ()


def test_a_cycle_made_by_hand_is_named():
    a = Value(1.0, label="a")
    b = a + 1
    b.label = "b"
    c = b * 2
    c.label = "c"
    a._prev = {c}
    with pytest.raises(CycleError, match="c → b → a → c"):
        c.backward()
    with pytest.raises(CycleError, match="→"):
        b.zero_grad()
    assert [v.grad for v in (a, b, c)] == [0.0] * 3
    a._prev = set()
    c.backward()
    assert a.grad == 2.0


def test_a_cycle_through_the_live_set():
    a = Value(1.0)
    b = a * a
    a._prev.add(b)
    with pytest.raises(CycleError):
        b.backward()
    a._prev.discard(b)
    b.backward()
    assert a.grad == 2.0


@pytest.mark.parametrize("count", [50_000, pytest.param(1_000_000, marks=pytest.mark.heavy)])
def test_fan_out_of_many_from_one_leaf(count):
    a = Value(1.5)
    total = minigrad.sum([a * k for k in range(count)])
    total.backward()
    assert a.grad == sum(range(count))


@pytest.mark.smoke
def test_a_ladder_of_diamonds_takes_linear_time():
    x = v = Value(1.0)
    for _ in range(60):
        v = v + v
    v.backward()
    assert x.grad == 2.0**60


@given(st.integers(0, 2**32))
def test_the_engines_order_is_the_order_of_the_graph_room(seed):
    from programs import call_minigrad, random_program, run

    program = random_program(seed)
    root = run(program, [Value(x) for x in program.inputs], call_minigrad)[-1]
    assert [id(v) for v in _postorder(root)] == [
        id(v) for v in topological_order(root, Value._links)
    ]


# ---- threads -------------------------------------------------------------------------------------


def run_in_threads(work, count=4):
    errors = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_graphs_in_several_threads_do_not_disturb_each_other():
    def work(k):
        for _ in range(20):
            x = Value(k + 1.0)
            v = x
            for _ in range(200):
                v = v * 1.01 + x
            v.backward()
            rate, expected = 1.0, 1.0
            for _ in range(200):
                rate = rate * 1.01 + 1
            expected = rate
            assert x.grad == pytest.approx(expected, rel=1e-12)

    run_in_threads(work)


def test_one_graph_run_backward_from_many_threads_is_serialised():
    x = Value(1.0)
    v = x
    for _ in range(500):
        v = v + 1.0
    run_in_threads(lambda k: [v.backward() for _ in range(25)])
    assert x.grad == 100.0
    assert v.grad == 100.0


# ---- the short ways of the native engine, against the long ones ----------------------------------

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


class OwnValue(Value):
    """A subclass, which no short way is for."""


@pytest.mark.parametrize("apply", BINARY, ids=lambda apply: apply.__name__)
@pytest.mark.parametrize(
    "other",
    [2.5, -0.0, math.nan, math.inf, 3, 0, -7, 999_999, 1_000_000, 10**30, True, np.float64(1.5)],
    ids=repr,
)
def test_operators_do_the_same_inside_a_block(apply, other):
    """While a block is open every operation goes the long way: the same node must come of it."""
    for x in (1.75, 0.0, -2.0, math.inf):
        a, b, own = Value(x), Value(float(other)), OwnValue(x)
        cases = [(a, b), (b, a), (a, other), (other, a), (a, a), (own, b), (a, own), (own, other)]
        for left, right in cases:
            short = apply(left, right)
            with minigrad.scope("long"):
                long = apply(left, right)
            assert repr(short._fields()[:-1]) == repr(long._fields()[:-1])
            assert type(short) is type(long)


@pytest.mark.parametrize("apply", [operator.neg, abs], ids=lambda apply: apply.__name__)
def test_operators_of_one_operand_do_the_same_inside_a_block(apply):
    for x in (1.75, 0.0, -0.0, -2.0, math.inf, math.nan):
        for a in (Value(x), OwnValue(x)):
            short = apply(a)
            with minigrad.scope("long"):
                long = apply(a)
            assert repr(short._fields()[:-1]) == repr(long._fields()[:-1])


@pytest.mark.parametrize("apply", BINARY, ids=lambda apply: apply.__name__)
@pytest.mark.parametrize(
    "stranger", [None, "a", [1.0], 1j, object()], ids=lambda x: type(x).__name__
)
def test_operators_refuse_strangers_on_both_sides(apply, stranger):
    with pytest.raises(TypeError):
        apply(Value(2.0), stranger)
    with pytest.raises(TypeError):
        apply(stranger, Value(2.0))


def test_a_third_operand_of_pow_is_refused():
    with pytest.raises(TypeError):
        pow(Value(2.0), 3, 5)


def random_graph(seed, count=60):
    """Make nodes on nodes, with repeats; return the leaves and the root."""
    chance = random.Random(seed)
    nodes = [Value(chance.uniform(-2.0, 2.0)) for _ in range(4)]
    leaves = nodes[:]
    for _ in range(count):
        a, b = chance.choice(nodes[-8:]), chance.choice(nodes)
        apply = chance.choice([operator.add, operator.sub, operator.mul])
        make = chance.choice([partial(apply, a, b), partial(apply, a, 0.5), a.tanh, b.__neg__])
        nodes.append(make())
    return leaves, nodes[-1]


@pytest.mark.parametrize("seed", range(30))
def test_a_pass_adds_the_derivatives_to_what_was_there(seed):
    """`grad` goes the long way: the very same numbers, in the same order of summation."""
    leaves, root = random_graph(seed)
    before = [0.0, -0.0, 3.5, math.nan]
    for leaf, number in zip(leaves, before, strict=True):
        leaf.grad = number
    slopes = minigrad.grad(root, leaves)
    nodes = topological_order(root, Value._links)
    inner = [node for node in nodes if node not in leaves]
    expected = minigrad.grad(root, inner)
    root.backward()
    for leaf, number, slope in zip(leaves, before, slopes, strict=True):
        assert repr(leaf.grad) == repr(number + slope if leaf in nodes else number)
    assert [node.grad for node in inner] == expected


def test_passes_over_all_kinds_of_graphs_in_turn():
    """Plain ones and others, one after the other: which way is tried depends on the latest."""
    for _ in range(3):
        x = Value(3.0)
        (x * x).backward()
        assert x.grad == 6.0
        minigrad.sum([x, x * x, Value(1.0)]).backward()
        assert x.grad == 13.0
        inner = minigrad.sum([x, x])
        (inner * x + x).backward()
        assert x.grad == 26.0
        own = x * 2.0
        own._backward = lambda x=x: setattr(x, "grad", x.grad + 100.0)
        (own + x).backward()
        assert x.grad == 127.0


def test_a_long_chain_and_a_cycle_on_the_short_way():
    x = Value(1.0)
    y = x
    for _ in range(200_000):
        y = y + x
    y.backward()
    assert x.grad == 200_001.0
    a = Value(1.0)
    b = a * 2.0
    c = b + 1.0
    (c * c).backward()  # a plain pass before
    b._prev = {c}
    with pytest.raises(CycleError):
        c.backward()
