"""The checker of gradients: it finds what is wrong, and finds nothing wrong with what is right."""

from __future__ import annotations

import io
import json
import math
import random
import sys
from fractions import Fraction
from math import inf, nan

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from precise import DEFINITION
from programs import call_minigrad, mpmath_gradient, random_program, run

import minigrad
from minigrad import NonFiniteError, NotDifferentiableError, Value, grad, nn, no_grad, strict
from minigrad.check.gradcheck import ORACLES, GradcheckReport, Row, gradcheck
from minigrad.check.gradcheck.differences import extrapolate, slope
from minigrad.check.gradcheck.oracles import complex_gradient, jax_gradient, torch_gradient
from minigrad.core.ops import TABLE
from minigrad.maths.complex import COMPLEX
from minigrad.scalar import apply

EXACT = ["complex", "forward"]  # and, where they are installed, torch and jax
seeds = st.integers(0, 2**32)


def planted(v, local, *, overwrite=False):
    """An op that returns its operand, with a hand-written step."""
    out = Value(v.data, (v,), "planted")

    def _backward():
        v.grad = local * out.grad if overwrite else v.grad + local * out.grad

    out._backward = _backward
    return out


def program(seed, size=25):
    drawn = random_program(seed, size)
    return drawn.inputs, lambda *xs: run(drawn, xs, call_minigrad)[-1]


# ---- it can fail -------------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.parametrize("local", [-1.0, 0.0, 1 + 1e-4, 1 - 1e-4, 2.0, 1e10, nan, inf])
def test_a_wrong_derivative_is_found_and_named(local):
    report = gradcheck(lambda a, b: planted(a, local).tanh() * b, [0.5, 3.0])
    assert [(row.name, row.ok) for row in report.rows] == [("a", False), ("b", True)]
    assert not report.ok
    assert not report
    with pytest.raises(AssertionError, match=r"(?s)1 of 2 gradients not ok.*WRONG"):
        report.assert_ok()


@pytest.mark.parametrize("seed", range(40))
def test_one_part_in_ten_thousand_is_found_in_a_random_program(seed):
    inputs, f = program(seed)
    sound = gradcheck(f, inputs)
    broken = gradcheck(lambda *xs: planted(f(*xs), 1 + 1e-4), inputs)
    assert sound.ok
    for row in broken.rows:
        clear = math.isfinite(row.ours) and row.oracle_error < 1e-5 * abs(row.ours)
        assert not (row.ok and clear)


@pytest.mark.smoke
def test_overwriting_is_found_where_a_value_is_used_again():
    once = gradcheck(lambda a: planted(a, 1.0, overwrite=True) * 3, [2.0])
    twice = gradcheck(lambda a: planted(a, 1.0, overwrite=True) * 3 + a.exp(), [2.0])
    assert once.ok
    assert not twice.ok


def test_a_forgotten_step_is_found():
    assert not gradcheck(lambda a: Value(a.data**2, (a,), "square"), [3.0])


def test_a_number_that_lost_its_history_is_found():
    assert not gradcheck(lambda a: a * a.detach(), [3.0])
    assert not gradcheck(lambda a: a * a.data, [3.0])


def test_an_edge_that_was_cut_is_found_by_every_oracle_that_runs_the_graph_again():
    def cut(a, b):
        product = a * b
        product._prev.discard(b)
        return product + b * 2

    report = gradcheck(cut, [2.0, 3.0], against=["differences", "complex"])
    assert [row.ok for row in report.rows] == [True, False, True, False]
    assert [row.oracle for row in report.rows] == pytest.approx([3, 4, 3, 4], rel=1e-9)


@pytest.mark.oracle
def test_pytorch_and_jax_find_a_cut_edge(torch, jax):
    def cut(a, b):
        product = a * b
        product._prev.discard(b)
        return product + b * 2

    report = gradcheck(cut, [2.0, 3.0], against=["torch", "jax"])
    assert [row.ok for row in report.rows] == [True, False, True, False]


ROWS = [op for op in TABLE[1:] if op.partials and op.name != "where"]


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_a_wrong_sign_in_any_op_is_found(op):
    def wrong(position):
        def f(*leaves):
            numbers = [leaf.data for leaf in leaves]
            made = op.value(minigrad.maths.floats, *numbers)
            partials = list(op.derivatives(minigrad.maths.floats, made, *numbers))
            partials[position] *= -1.0
            return Value(made, leaves, partials)

        return f

    rng = random.Random(op.name)
    for position in range(op.arity):
        rows = []
        for _ in range(12):
            xs = [rng.uniform(*interval) for interval in op.domain]
            rows.append(gradcheck(wrong(position), xs).rows[position])
        assert any(not row.ok for row in rows)
        # Minus nothing is still right, and what is lost in noise nobody can tell.
        assert all(2 * abs(row.ours) <= row.oracle_error for row in rows if row.ok)


def test_a_broken_engine_is_found():
    from minigrad.lab import broken

    def f(a, b):
        return a * b + a

    assert gradcheck(f, [2.0, 3.0], against=list(ORACLES)[:3]).ok
    with broken("overwrite"):
        report = gradcheck(f, [2.0, 3.0], against=list(ORACLES)[:3])
    assert [row.ok for row in report.rows] == [False, True] * 3


# ---- and passes what is sound ------------------------------------------------------------------


@settings(max_examples=150)
@given(seeds, st.sampled_from([1.0, 1e-6, 1e4]))
def test_sound_random_programs_pass(seed, scale):
    inputs, f = program(seed)
    report = gradcheck(f, [x * scale for x in inputs], against=["differences", *EXACT])
    assert math.isfinite(f(*[Value(x * scale) for x in inputs]).data) <= report.ok, report


@settings(max_examples=60)
@given(seeds)
def test_the_differences_know_their_own_error(seed):
    drawn = random_program(seed, size=12)
    inputs, f = program(seed, size=12)
    assume(math.isfinite(f(*map(Value, inputs)).data))
    for row, true in zip(gradcheck(f, inputs).rows, mpmath_gradient(drawn), strict=True):
        if not row.note.startswith("kink"):
            assert abs(row.oracle - true) <= 1.01 * row.oracle_error + 1e-300


def arguments_of(op, rng, count):
    """Samples from the row's domain, and its probes."""
    size = {"dot": 4}.get(op.name, 3) if op.arity is None else op.arity
    domain = op.domain * (size if op.arity is None else 1)
    return [tuple(rng.uniform(*d) for d in domain) for _ in range(count)] + list(op.probes)


PLAIN = [op for op in TABLE[1:] if op.name not in ("where", "take", "softmax", "log_softmax")]


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_every_op_passes_at_its_probes_and_all_over_its_domain(op):
    for xs in arguments_of(op, random.Random(op.name), 20):
        gradcheck(lambda *v: apply(op, *v), xs, against=["differences", *EXACT]).assert_ok()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_composite_ops_pass(name):
    function = getattr(minigrad, name)
    for xs in arguments_of(minigrad.core.ops.OPS[name], random.Random(0), 20):
        gradcheck(lambda v: function(v)[0], [xs], against=["differences", *EXACT]).assert_ok()


@pytest.mark.oracle
@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_every_op_passes_against_pytorch_and_jax(torch, jax, op):
    for xs in arguments_of(op, random.Random(op.name), 3):
        gradcheck(lambda *v: apply(op, *v), xs, against=["torch", "jax"]).assert_ok()


@pytest.mark.oracle
@settings(max_examples=60)
@given(seed=seeds)
def test_sound_random_programs_pass_against_pytorch(torch, seed):
    inputs, f = program(seed)
    assume(math.isfinite(f(*map(Value, inputs)).data))
    assert gradcheck(f, inputs, against="torch")


@pytest.mark.oracle
def test_oracles_that_differentiate_agree_with_mpmath(torch, jax):
    for seed in range(8):
        drawn = random_program(seed, size=10)
        leaves = [Value(x) for x in drawn.inputs]
        root = run(drawn, leaves, call_minigrad)[-1]
        true = [float(d) for d in mpmath_gradient(drawn)]
        for gradient in (torch_gradient, jax_gradient):
            assert gradient(root, leaves) == pytest.approx(true, rel=1e-10, abs=1e-14)


@pytest.mark.smoke
def test_a_network_is_checked_with_all_its_parameters_by_name():
    model = nn.MLP(2, [3, 1], activation="tanh", seed=4)
    report = gradcheck(model, [[0.5, -1.0]], against=["differences", *EXACT])
    report.assert_ok()
    assert len(report.rows) == 3 * (2 + 13)
    names = [row.name for row in report.rows[:15]]
    assert names[:4] == ["x[0]", "x[1]", "layer0.neuron0.w0", "layer0.neuron0.w1"]
    assert names[-1] == "layer1.neuron0.b"


def test_a_module_may_name_its_parameters_or_hide_them():
    class Odd(nn.Module):
        def __init__(self):
            self.me = self
            self.table = {"k": (Value(2.0), Value(3.0, label="weight"))}
            self._hidden = lambda hidden=Value(5.0): hidden  # noqa: B008

        def parameters(self):
            return [*self.table["k"], self._hidden()]

        def __call__(self, x):
            return x * self.table["k"][0] + self.table["k"][1] * self._hidden()

    names = [row.name for row in gradcheck(Odd(), [1.0]).rows]
    assert names == ["x", "table.k0", "weight", "parameters()[2]"]


def test_a_function_that_differentiates_inside_passes():
    # f = x³ + (3x²)², whose derivative at 1.5 is 3x² + 36x³
    def penalty(x):
        y = x**3
        return y + grad(y, x, create_graph=True) ** 2

    report = gradcheck(penalty, [1.5], against=["differences", *EXACT])
    report.assert_ok()
    assert report.rows[0].ours == pytest.approx(3 * 1.5**2 + 36 * 1.5**3)


def test_a_chain_deeper_than_the_stack_passes():
    def chain(x):
        y = x
        for _ in range(3000):
            y = y * 0.999 + 0.001
        return y

    report = gradcheck(chain, [2.0], against=["differences", *EXACT])
    report.assert_ok()
    assert report.rows[0].ours == pytest.approx(0.999**3000, rel=1e-11)


def test_a_parameter_that_is_shared_is_checked_once():
    class Tied(nn.Module):
        def __init__(self):
            self.w = Value(2.0)

        def parameters(self):
            return [self.w, self.w]

        def __call__(self, x):
            return self.w * x * self.w

    report = gradcheck(Tied(), [3.0], against=["differences", *EXACT])
    report.assert_ok()
    assert [(row.name, row.ours) for row in report.rows[:2]] == [("x", 4.0), ("w", 12.0)]
    assert len(report.rows) == 6


# ---- noise, and other hard places --------------------------------------------------------------


HARD = {
    "large values": (lambda x: x * x * 1e200, 1e50),
    "tiny values": (lambda x: x * x * 1e-200, 1e-50),
    "zero": (lambda x: x.sin() + x**3, 0.0),
    "flat at zero": (lambda x: x**4, 0.0),
    "beside zero": (lambda x: x.exp() + x.sqrt(), 1e-300),
    "1e-300 beside 1": (lambda x: x * 3 + 1, 1e-300),
    "logarithm of 1e-300": (lambda x: x.log(), 1e-300),
    "1e300": (lambda x: x * 0.5 + x.log(), 1e300),
    "cancellation": (lambda x: (x + 1e10) - 1e10, 1.0),
    "cancellation in a sum": (lambda x: minigrad.sum([x, 1e10, -1e10]), 1.0),
    "cancelling gradient": (lambda x: 1e10 * x - 1e10 * x + x, 1.0),
    "a derivative of exactly zero": (lambda x: x - x, 3.0),
    "softmax adds up to one": (lambda x: minigrad.sum(minigrad.softmax([x, 1.0, 2.0])), 0.5),
    "fast oscillation": (lambda x: (x * 1e6).sin(), 1.0),
    "sine far out": (lambda x: x.sin(), 1e6),
    "a period of the step": (lambda x: (x * (8 * math.pi)).sin(), 1.0),
    "ripples on a slope": (lambda x: x + 1e-6 * (x * 1e6).sin(), 1.0),
    "steep at zero": (lambda x: (x * 1e9).tanh(), 0.0),
    "steep at one": (lambda x: ((x - 1) * 1e9).tanh(), 1.0),
    "overflow on one side": (lambda x: x.exp(), 709.0),
    "beside the edge of the domain": (lambda x: (x - 1).sqrt(), 1 + 1e-9),
    "beside a pole": (lambda x: 1 / x, 1e-7),
    "beside a kink": (lambda x: x.relu(), 1e-12),
    "second derivative jumps": (lambda x: x * abs(x), 1e-6),
    "saturated": (lambda x: x.tanh(), 20.0),
    "dead unit": (lambda x: (x - 5).relu(), 1.0),
    "constant": (lambda x: Value(3.0), 1.0),
    "identity": (lambda x: x, 1.0),
}


@pytest.mark.parametrize("name", HARD)
def test_sound_gradients_in_hard_places_pass(name):
    f, x = HARD[name]
    gradcheck(f, [x], against=["differences", *EXACT]).assert_ok()


@pytest.mark.parametrize("name", ["large values", "tiny values", "fast oscillation", "1e300"])
def test_wrong_gradients_in_hard_places_do_not(name):
    f, x = HARD[name]
    assert not gradcheck(lambda v: planted(f(v), 1 + 1e-4), [x]).ok


@given(st.integers(-250, 250), st.integers(-40, 40))
def test_scale_does_not_matter(size, argument):
    # f = c·exp(x/s)·tanh(x/s) at x = 0.7s: powers of two change no digit of anything
    c, s = 2.0**size, 2.0**argument

    def f(x):
        return ((x / s).exp() * (x / s).tanh()) * c

    report = gradcheck(f, [0.7 * s])
    report.assert_ok()
    assert not gradcheck(lambda x: planted(f(x), 1 + 1e-4), [0.7 * s]).ok


@given(
    st.lists(st.floats(-10, 10), min_size=1, max_size=6),
    st.floats(-10, 10).filter(lambda x: x == 0 or abs(x) > 1e-3),
)
def test_slopes_of_polynomials_are_right_within_their_error(coefficients, x):
    def f(t):
        return sum(c * t**k for k, c in enumerate(coefficients))

    exact = sum(k * Fraction(c) * Fraction(x) ** (k - 1) for k, c in enumerate(coefficients) if k)
    size = sum(abs(c * x**k) for k, c in enumerate(coefficients))
    found = slope(f, x, noise=20 * math.ulp(size))
    assert abs(Fraction(found.value) - exact) <= found.error + 1e-300
    assert not found.has_kink


def test_extrapolation_of_too_little_is_no_number():
    assert extrapolate([1.0, 0.25], [nan, 2.0], [0.0, 0.0], 2)[1] == inf
    value, error = extrapolate([1.0, 0.25], [2.0 + 1.0, 2.0 + 1 / 16], [0.0, 0.0], 2)
    assert value == pytest.approx(2.0)
    assert error >= 1 / 16


# ---- kinks, and numbers that are not finite ----------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "left", "right"),
    [
        (lambda x: x.relu(), 0.0, 0, 1),
        (lambda x: abs(x), 0.0, -1, 1),
        (lambda x: minigrad.maximum(x, 2.0), 2.0, 0, 1),
        (lambda x: minigrad.minimum(x * x, 3 * x), 3.0, 6, 3),
        (lambda x: minigrad.clip(x, -1.0, 1.0), 1.0, 1, 0),
        (lambda x: minigrad.where(x > 0, x * 5, x * 2), 0.0, 2, 5),
    ],
)
def test_at_a_kink_what_lies_between_the_two_slopes_is_accepted(f, x, left, right):
    report = gradcheck(f, [x], against=["differences", *EXACT])
    report.assert_ok()
    assert report.rows[0].note == f"kink: slopes {left} and {right}"
    low, high = sorted((left, right))
    assert low <= report.rows[0].ours <= high
    for outside in (low - 0.01, high + 0.01):
        row = gradcheck(lambda v, d=outside: f(v.detach()) + planted_slope(v, d), [x]).rows[0]
        assert (row.ok, row.ours) == (False, outside)


def planted_slope(v, local):
    """Nothing, with a derivative."""
    return Value(0.0, (v,), (local,))


def test_ties_are_judged_by_differences_if_an_oracle_breaks_them_otherwise():
    # Half and half here; the complex step follows one of the two.
    report = gradcheck(lambda a, b: minigrad.maximum(a, b), [1.0, 1.0], against="complex")
    report.assert_ok()
    assert [row.ours for row in report.rows] == [0.5, 0.5]
    assert [row.note for row in report.rows] == ["kink: slopes 0 and 1"] * 2


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x.sqrt(), 0.0),
        (lambda x: x.log(), 0.0),
        (lambda x: (x * -1).sqrt() * -1, 0.0),
        (lambda x: x.log(), -1.0),
    ],
)
def test_equal_infinities_and_nan_agree_and_are_mentioned(f, x):
    row = gradcheck(f, [x]).rows[0]
    assert row.ok
    assert row.note == "not finite"
    assert (row.absolute, row.relative, row.ulp) == (0.0, 0.0, 0.0)


def test_a_finite_derivative_where_the_slope_is_infinite_is_wrong():
    def careful(x):  # people write this to keep nan out
        return Value(math.sqrt(x.data), (x,), (0.0,)) if x.data == 0 else x.sqrt()

    row = gradcheck(careful, [0.0]).rows[0]
    assert (row.ok, row.oracle, row.note) == (False, inf, "not finite")


def test_where_the_function_is_not_finite_the_verdict_is_unknown():
    row = gradcheck(lambda x: x * x, [1e200]).rows[0]
    assert not row.ok
    assert math.isnan(row.oracle)
    assert row.verdict == "unknown (not finite)"
    assert gradcheck(lambda x: x * 2, [inf]).rows[0].verdict == "unknown (not finite)"
    assert gradcheck(lambda x: x * 2, [nan], against="complex").rows[0].verdict.startswith("unk")


# ---- the oracles -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", "exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh".split()
)
@given(st.floats(0.01, 0.99))
def test_the_complex_step_is_as_good_as_mpmath(name, x):
    leaf = Value(x)
    root = getattr(minigrad, name)(leaf)
    with mp.workdps(40):
        true = float(mp.diff(DEFINITION[name], mp.mpf(x)))
    assert complex_gradient(root, [leaf]) == pytest.approx([true], rel=1e-13)


away_from_zero = st.floats(-9, 9).filter(lambda x: abs(x) > 1e-3)


@given(away_from_zero, away_from_zero)
def test_the_complex_step_of_two_arguments_is_as_good_as_mpmath(y, x):
    leaves = [Value(y), Value(x)]
    radius = mp.mpf(y) ** 2 + mp.mpf(x) ** 2
    turned = complex_gradient(minigrad.atan2(*leaves), leaves)
    assert turned == pytest.approx([float(x / radius), float(-y / radius)], rel=1e-12)
    long = complex_gradient(minigrad.hypot(*leaves), leaves)
    assert long == pytest.approx([float(v / mp.sqrt(radius)) for v in (y, x)], rel=1e-12)


def test_without_a_complex_version_the_differences_are_asked_and_that_is_said():
    row = gradcheck(lambda x: x.erf() * 2, [0.5], against="complex").rows[0]
    assert (row.ok, row.against) == (True, "differences")
    assert row.verdict == "ok (Python has no erf of complex numbers)"
    with pytest.raises(NotImplementedError, match="no erfc of complex numbers"):
        COMPLEX.erfc(1.0)


def test_the_complex_step_notices_that_it_left_the_real_function():
    leaf = Value(-8.0)
    assert math.isnan(complex_gradient(leaf**0.5, [leaf])[0])
    leaf = Value(800.0)
    assert math.isnan(complex_gradient(leaf.exp(), [leaf])[0])


@pytest.mark.oracle
def test_an_oracle_that_is_wrong_itself_is_overruled(torch):
    # PyTorch squares both arguments; the derivative is x/(x² + y²) = 0.5e-200.
    row = gradcheck(minigrad.atan2, [1e200, 1e200], against="torch").rows[0]
    assert row.ok
    assert row.oracle == pytest.approx(0.5e-200, rel=1e-6)
    assert (row.against, row.note) == ("differences", "torch says 0")


def test_several_oracles_answer_in_the_order_in_which_they_are_asked():
    report = gradcheck(lambda a, b: a * b, [2.0, 3.0], against=("forward", "differences"))
    assert [(row.against, row.name) for row in report.rows] == [
        ("forward", "a"),
        ("forward", "b"),
        ("differences", "a"),
        ("differences", "b"),
    ]


def hand_made(x):
    return planted(x, 1.0).exp()


@pytest.mark.parametrize("against", EXACT)
def test_a_hand_written_step_can_be_checked_by_differences_only(against):
    assert gradcheck(hand_made, [0.5]).ok
    with pytest.raises(NotDifferentiableError, match=r"the node 'planted' was made by hand"):
        gradcheck(hand_made, [0.5], against=against)


@pytest.mark.oracle
@pytest.mark.parametrize("against", ["torch", "jax"])
def test_pytorch_and_jax_cannot_run_a_hand_written_step_either(torch, jax, against):
    with pytest.raises(NotDifferentiableError, match="against='differences', which only calls f"):
        gradcheck(hand_made, [0.5], against=against)


def test_local_derivatives_given_by_hand_have_no_rule_to_run_again():
    def given_by_hand(x):
        return Value(x.data**2, (x,), (2 * x.data,))

    assert gradcheck(given_by_hand, [3.0], against=["differences", "forward"]).ok
    with pytest.raises(NotDifferentiableError):
        gradcheck(given_by_hand, [3.0], against="complex")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (
            "torch",
            "needs PyTorch, which is not installed here: python -m pip install torch==2.13.0",
        ),
        ("jax", "needs JAX, which is not installed here: python -m pip install jax"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch, name, hint):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=hint):
        gradcheck(lambda x: x * 2, [1.0], against=name)


@pytest.mark.oracle
def test_jax_computes_in_float64_whatever_it_is_set_to(jax):
    jax.config.update("jax_enable_x64", False)
    try:
        assert gradcheck(lambda x: x.sin(), [1.0], against="jax").rows[0].relative < 1e-15
        assert jax.numpy.asarray(1.0).dtype == "float32"
    finally:
        jax.config.update("jax_enable_x64", True)


# ---- inputs ------------------------------------------------------------------------------------


def test_inputs_are_called_by_label_then_by_parameter_then_by_number():
    def f(first, rest, *more):
        return first * rest[0] * rest[1][0] + more[0]

    x = Value(1.0, label="weight\n")
    report = gradcheck(f, [x, [2.0, (3.0,)], 4.0])
    assert [row.name for row in report.rows] == ["weight␊", "rest[0]", "rest[1][0]", "x2"]
    assert [row.ours for row in report.rows] == [6.0, 3.0, 2.0, 1.0]
    assert gradcheck(max, [1.0, 2.0]).rows[0].name == "x0"  # max does not tell its parameters


def test_one_input_needs_no_list():
    assert gradcheck(lambda x: x * x, 3.0).rows[0].ours == 6.0
    assert gradcheck(lambda x: x * x, Value(3.0)).rows[0].ours == 6.0


def test_lists_may_be_emptied_by_the_function():
    def greedy(xs):
        return xs.pop() * xs.pop()

    assert gradcheck(greedy, [[2.0, 3.0]]).ok


def test_the_same_value_twice_is_two_inputs():
    x = Value(3.0)
    assert [row.ours for row in gradcheck(lambda a, b: a * a * b, [x, x]).rows] == [18.0, 9.0]


def test_what_was_made_of_an_input_before_is_a_constant():
    x = Value(3.0)
    y = x * x
    report = gradcheck(lambda v: v * y, [x])
    report.assert_ok()
    assert report.rows[0].ours == 9.0


# ---- nothing is disturbed ----------------------------------------------------------------------


def state(values):
    return [(v.data, v.grad, v.label) for v in values]


def network():
    model = nn.MLP(2, [2, 1], seed=1)
    inputs = [Value(0.5, label="p"), Value(-0.25)]
    model(inputs).backward()
    for k, v in enumerate([*model.parameters(), *inputs]):
        v.grad += k
    return model, inputs


def test_data_and_grads_are_as_before():
    model, inputs = network()
    before = state([*model.parameters(), *inputs])
    gradcheck(model, [inputs], against=["differences", *EXACT]).assert_ok()
    assert state([*model.parameters(), *inputs]) == before


@pytest.mark.parametrize("calls", [1, 2, 3, 40])
def test_data_and_grads_are_as_before_if_the_function_raises(calls):
    model, inputs = network()
    original, count = nn.MLP.__call__, [0]

    class Fragile(nn.MLP):
        def __call__(self, x):
            count[0] += 1
            if count[0] == calls:
                raise KeyError("as planned")
            return original(self, x)

    model.__class__ = Fragile
    before = state([*model.parameters(), *inputs])
    with pytest.raises(KeyError, match="as planned"):
        gradcheck(model, [inputs])
    assert state([*model.parameters(), *inputs]) == before


def test_data_and_grads_are_as_before_if_a_step_raises():
    x, w = Value(2.0), Value(3.0)
    w.grad = 7.0

    def f(v):
        out = v * w
        out = Value(out.data, (out,), "fragile")
        out._backward = lambda: 1 / 0
        return out + w

    with pytest.raises(ZeroDivisionError):
        gradcheck(f, [x])
    assert state([x, w]) == [(2.0, 0.0, ""), (3.0, 7.0, "")]


def test_a_value_that_is_no_input_keeps_its_grad():
    w = Value(3.0)
    w.grad = 7.0
    gradcheck(lambda x: x * w, [2.0], against=["differences", *EXACT]).assert_ok()
    assert (w.data, w.grad) == (3.0, 7.0)


def test_strict_mode_holds_for_the_point_itself_and_not_for_the_steps_beside_it():
    with strict():
        assert gradcheck(lambda x: x.sqrt(), [1e-3]).ok  # many a step leads below 0
        with pytest.raises(NonFiniteError):
            gradcheck(lambda x: x.log(), [0.0])


# ---- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (2.0, "f returned float; a number has no gradient. Compute with Values: v.exp(), not math"),
        (None, "f returned None; is a return missing?"),
        (
            [Value(1.0)],
            r"f returned list; check one output at a time: gradcheck(lambda *xs: f(*xs)",
        ),
        ("text", "f returned str; return a Value."),
    ],
)
def test_a_function_must_return_a_value(result, words):
    with pytest.raises(TypeError) as error:
        gradcheck(lambda x: result, [1.0])
    assert words in str(error.value)


def test_mistakes_are_answered_with_what_to_write():
    def square(x):
        return x * x

    with pytest.raises(ValueError, match="no such oracle; choose from 'differences', 'complex'"):
        gradcheck(square, [1.0], against="tensorflow")
    with pytest.raises(ValueError, match="nothing to check; give at least one input"):
        gradcheck(square, [])
    with pytest.raises(ValueError, match=r"gradcheck\(tolerance=-1\): give a number above 0"):
        gradcheck(square, [1.0], tolerance=-1)
    with pytest.raises(
        ValueError, match=r"h=1e-20: too small a step for 1.0; give at least 1.7764e-15"
    ):
        gradcheck(square, [1.0], h=1e-20)
    with pytest.raises(TypeError, match=r"gradcheck\(…, inputs\): got str"):
        gradcheck(square, ["1"])
    with no_grad(), pytest.raises(RuntimeError, match=r"gradcheck inside no_grad\(\)"):
        gradcheck(square, [1.0])


def test_a_function_with_chance_in_it_is_refused():
    with pytest.raises(ValueError, match="two different results for the same inputs"):
        gradcheck(lambda x: x * random.random(), [1.0])


def test_tolerance_and_step_are_the_users():
    def f(x):
        return planted(x.exp(), 1 + 1e-3)

    assert not gradcheck(f, [1.0])
    assert gradcheck(f, [1.0], tolerance=1e-2)
    assert gradcheck(lambda x: x.exp(), [1.0], h=1e-3).rows[0].relative < 1e-10


# ---- the report --------------------------------------------------------------------------------


def report_of(*verdicts):
    rows = [
        Row(f"[b]x{k}", 1.0, "differences", 2.0, 2.5, 0.5, 0.2, inf, 1e-9, ok, note)
        for k, (ok, note) in enumerate(verdicts)
    ]
    return GradcheckReport(tuple(rows))


def test_distances_are_absolute_relative_and_in_units_in_the_last_place():
    row = gradcheck(lambda x: planted(x * 3, 1 + 2**-10), [1.0], against="differences").rows[0]
    assert row.ours == 3 * (1 + 2**-10)
    assert row.absolute == pytest.approx(3 * 2**-10, rel=1e-6)
    assert row.relative == pytest.approx(2**-10 / (1 + 2**-10), rel=1e-6)
    assert row.ulp == pytest.approx(3 * 2**-10 / 2**-51, rel=1e-6)


def test_the_report_is_a_text_a_table_and_json():
    report = report_of((True, ""), (False, "kink: slopes 0 and 1"))
    lines = report.text().splitlines()
    assert lines[0] == "gradcheck: 1 of 2 gradients not ok"
    heads = "input value ours oracle asked absolute relative ulp oracle ± verdict"
    assert lines[1].split() == heads.split()
    assert lines[3].endswith("WRONG (kink: slopes 0 and 1)")
    assert str(report) == repr(report) == report.text()
    parsed = json.loads(report.to_json())
    assert parsed["ok"] is False
    assert parsed["rows"][0]["ulp"] == "inf"
    assert parsed == report.as_dict()
    assert report_of((True, "")).assert_ok() is None


def test_rich_prints_the_table_and_takes_no_markup_from_names():
    from rich.console import Console

    console = Console(width=140, record=True, file=io.StringIO())
    console.print(report_of((True, ""), (False, "")))
    text = console.export_text()
    assert "[b]x0" in text
    assert "WRONG" in text


def test_rows_are_frozen():
    report = report_of((True, ""))
    with pytest.raises(AttributeError):
        report.rows[0].ok = False
    with pytest.raises(AttributeError):
        report.rows = ()


def test_the_oracles_are_those_of_the_documentation():
    assert list(ORACLES) == ["differences", "complex", "forward", "torch", "jax"]
    for name in ORACLES:
        assert f'"{name}"' in gradcheck.__doc__
