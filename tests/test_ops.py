"""The rows of the op table against mpmath; its promises about edges and kinds of number."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from math import inf, nan, pi
from typing import ClassVar

import mpmath as mp
import numpy as np
import pytest
from precise import partial_errors, value_errors
from programs import ARITHMETIC, call_minigrad

import minigrad
from minigrad import Value, grad
from minigrad.compiler.backends import native
from minigrad.core.ops import OPS, TABLE
from minigrad.functions import VALUES
from minigrad.maths import floats as ieee
from minigrad.maths.arrays import ArrayMath

ROWS = [op for op in TABLE if op.name != "leaf"]
# Rows that only other rules use: slopes, whose own slopes are second derivatives.
INSIDE = [op for op in ROWS if not hasattr(minigrad, op.name) and op.name not in ARITHMETIC]
LIMIT = 4.0  # ulps
NUMPY = ArrayMath(np)

every_row = pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)


def discrete(op):
    """Positions of arguments that choose and have no derivative."""
    return (0,) if op.name in ("where", "take") else ()


def samples(op, count, seed=0):
    """Draw arguments from the row's domain; for any arity, of several lengths."""
    rng = random.Random(f"{op.name} {seed}")
    for k in range(count):
        if op.name == "take":
            xs = [rng.uniform(*op.domain[0]) for _ in range(1 + k % 5)]
            yield (float(rng.randrange(len(xs))), *xs)
        elif op.arity is None:
            size = 1 + k % 5
            size *= 2 if op.name == "dot" else 1
            yield tuple(rng.uniform(*op.domain[0]) for _ in range(size))
        else:
            drawn = [rng.uniform(*interval) for interval in op.domain]
            if op.name == "where":
                drawn[0] = drawn[0] < 0.5
            yield tuple(drawn)


def worst_error(op, *, count, digits=60, probe_digits=1000):
    """Return the largest error of values and partials over samples and probes, in ulps."""
    errors = [0.0]
    with mp.workdps(digits):
        for arguments in samples(op, count):
            errors += value_errors(op, arguments) + partial_errors(op, arguments, discrete(op))
    with mp.workdps(probe_digits):
        for arguments in op.probes:
            errors += value_errors(op, arguments) + partial_errors(op, arguments, discrete(op))
    return max(errors)


def limit(op):
    return 2 * LIMIT if op in INSIDE else LIMIT


@every_row
def test_value_and_derivative_are_within_four_ulp_of_mpmath(op):
    assert worst_error(op, count=300) <= limit(op)


def planted(op, k, wrong):
    """Copy a row with its k-th partial derivative made wrong."""
    if op.is_composite:  # same value, wrong derivative: a factor that is 1 only in value

        def value(m, *xs):
            return [y * (1.0 + 1e-3 * (xs[0] - m.number(xs[0]))) for y in op.value(m, *xs)]

        return dataclasses.replace(op, value=value)
    if op.gradient is not None:

        def gradient(m, y, *xs):
            partials = list(op.gradient(m, y, *xs))
            partials[min(k, len(partials) - 1)] = wrong(partials[min(k, len(partials) - 1)])
            return partials

        return dataclasses.replace(op, gradient=gradient)
    partials = list(op.partials)
    right = partials[k]
    partials[k] = lambda m, y, *xs: wrong(right(m, y, *xs))
    return dataclasses.replace(op, partials=tuple(partials))


@pytest.mark.parametrize("wrong", [lambda d: -d, lambda d: d * (1 + 1e-12) + 1e-300])
@every_row
def test_the_oracle_catches_a_wrong_derivative_planted_in_any_row(op, wrong):
    positions = [k for k in range(op.arity or 2) if k not in discrete(op)]
    for k in positions:
        assert worst_error(planted(op, k, wrong), count=12, probe_digits=60) > limit(op)


def test_every_row_of_the_issue_is_there():
    names = """add sub mul div neg pow abs tanh exp log relu sigmoid softplus sqrt sin cos tan asin
    acos atan atan2 sinh cosh erf log1p expm1 minimum maximum clip where leaky_relu gelu silu sum
    dot mean logsumexp softmax log_softmax take"""
    assert set(names.split()) <= set(OPS)


@pytest.mark.smoke
def test_codes_are_places_in_the_table():
    assert [op.code for op in TABLE] == list(range(len(TABLE)))


# ---- other kinds of number -------------------------------------------------------------------


def close(a, b, limit=4):
    """Compare within a few ulps; nan equals nan and inf equals inf."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return (math.isnan(a) and math.isnan(b)) or a == b
    return abs(a - b) <= limit * math.ulp(max(abs(a), abs(b)))


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 40.5, -745.5, 1e-310, 1e308, inf, -inf, nan]


def edge_arguments(op):
    if op.name == "take":
        return [(k % 3, *EDGES[k : k + 3]) for k in range(len(EDGES) - 2)]
    size = op.arity or (4 if op.name == "dot" else 3)
    rows = [tuple(EDGES[(k * (j + 1) + j) % len(EDGES)] for j in range(size)) for k in range(40)]
    if op.name == "where":
        return [(k % 2 == 0, *arguments[1:]) for k, arguments in enumerate(rows)]
    return rows


@every_row
def test_arrays_follow_the_same_rule_as_floats_at_the_edges_too(op):
    # NumPy's own exp, tanh and the rest may differ from libm by a few ulps, never in kind.
    cases = [*edge_arguments(op)]
    if op.arity is not None:
        cases += list(samples(op, 40)) + list(op.probes)
    columns = [np.array(column) for column in zip(*cases, strict=True)]
    with np.errstate(all="ignore"):
        got = op.value(NUMPY, *columns)
        got_partials = [] if op.is_composite else op.derivatives(NUMPY, got, *columns)
    outputs = got if isinstance(got, list) else [got]
    for lane, arguments in enumerate(cases):
        value = op.value(ieee, *arguments)
        values = value if isinstance(value, list) else [value]
        for ours, theirs in zip(values, outputs, strict=True):
            assert close(ours, float(theirs[lane])), arguments
        if not op.is_composite:
            for k, partial in enumerate(op.derivatives(ieee, value, *arguments)):
                lanes = np.broadcast_to(got_partials[k], len(cases))
                assert close(float(partial), float(lanes[lane]), limit=8), (arguments, k)


@pytest.mark.oracle
@every_row
def test_rules_run_on_jax_arrays_and_jax_agrees_with_the_partials(jax, op):
    if op.arity is None:
        return  # as above: the lanes of these are lists of arrays, tested with NumPy
    m = ArrayMath(
        jax.numpy,
        erf=jax.scipy.special.erf,
        erfc=jax.scipy.special.erfc,
        number=jax.lax.stop_gradient,
        traced=True,
    )
    cases = list(samples(op, 30))
    columns = [jax.numpy.array(column) for column in zip(*cases, strict=True)]
    value = op.value(m, *columns)
    partials = op.derivatives(m, value, *columns)
    for k in range(op.arity):
        if k in discrete(op):
            continue
        # JAX differentiates our value rule; our partial rule must say the same.
        slope = jax.vmap(jax.grad(lambda *xs: op.value(m, *xs), argnums=k))(*columns)
        ours = np.broadcast_to(np.asarray(partials[k], dtype=float), len(cases))
        assert np.allclose(ours, np.asarray(slope), rtol=1e-12, atol=1e-14)
    floats = [op.value(ieee, *arguments) for arguments in cases]
    assert np.allclose(np.asarray(value), floats, rtol=1e-13, atol=1e-300)


class Symbol:
    """A number that only writes down what is done to it: the smallest builder of programs."""

    def __init__(self, run):
        self.run = run

    def _binary(op):  # noqa: N805
        def method(self, other):
            return Symbol(lambda env: op(self.run(env), lift(other).run(env)))

        def reflected(self, other):
            return Symbol(lambda env: op(lift(other).run(env), self.run(env)))

        return method, reflected

    __add__, __radd__ = _binary(lambda a, b: a + b)
    __sub__, __rsub__ = _binary(lambda a, b: a - b)
    __mul__, __rmul__ = _binary(lambda a, b: a * b)
    __and__, __rand__ = _binary(lambda a, b: a and b)
    __or__, __ror__ = _binary(lambda a, b: a or b)
    __lt__, _ = _binary(lambda a, b: a < b)
    __le__, _ = _binary(lambda a, b: a <= b)
    __gt__, _ = _binary(lambda a, b: a > b)
    __ge__, _ = _binary(lambda a, b: a >= b)

    def __neg__(self):
        return Symbol(lambda env: -self.run(env))

    def __bool__(self):
        raise AssertionError("a rule asked a symbol for its truth: it must use m.where")


def lift(x):
    return x if isinstance(x, Symbol) else Symbol(lambda env: x)


class SymbolMath:
    """Any word of `ieee`, recorded instead of done."""

    rows: ClassVar[dict[str, object]] = {}

    def usually(self, holds, usual, otherwise):
        return self.where(holds, usual, otherwise())

    def __getattr__(self, name):
        if not hasattr(ieee, name) or name == "largest":  # which would have to read a symbol
            raise AttributeError(name)
        word = getattr(ieee, name)
        if name == "sum":
            return self.sum_of
        return lambda *xs: Symbol(lambda env: word(*[lift(x).run(env) for x in xs]))

    def sum_of(self, terms):
        kept = [lift(term) for term in terms]
        return Symbol(lambda env: ieee.sum([term.run(env) for term in kept]))


@every_row
def test_a_rule_can_be_recorded_and_replayed_to_the_same_bits(op):
    # What a compiler will do: run the rule once on symbols, then the record on any numbers.
    cases = list(samples(op, 10)) + edge_arguments(op)[:20]
    for arguments in cases:
        symbols = [Symbol(lambda env, k=k: env[k]) for k in range(len(arguments))]
        recorded = op.value(SymbolMath(), *symbols)
        value = op.value(ieee, *arguments)
        for symbol, expected in zip(
            recorded if isinstance(recorded, list) else [recorded],
            value if isinstance(value, list) else [value],
            strict=True,
        ):
            assert close(symbol.run(arguments), expected, limit=0)
        if op.is_composite:
            continue
        partials = op.derivatives(SymbolMath(), recorded, *symbols)
        for symbol, expected in zip(partials, op.derivatives(ieee, value, *arguments), strict=True):
            assert close(lift(symbol).run(arguments), float(expected), limit=0)


@every_row
def test_a_rule_on_values_gives_the_value_of_the_rule_on_floats(op):
    if op.is_composite:
        return  # test_functions.py compares these
    for arguments in samples(op, 20):
        value = op.value(ieee, *arguments)
        chooses = discrete(op)
        leaves = [x if k in chooses else Value(x) for k, x in enumerate(arguments)]
        partials = op.derivatives(VALUES, Value(value), *leaves)
        expected = op.derivatives(ieee, value, *arguments)
        # Python's hypot, which floats get, is more careful than the C library's.
        limit = 8 if "hypot" in op.name or "atan" in op.name else 0
        for got, right in zip(partials, expected, strict=True):
            assert close(getattr(got, "data", got), right, limit=limit)


# ---- conventions at kinks, poles and infinities (CASES: Numbers) --------------------------------


def both(name, *arguments):
    op = OPS[name]
    y = op.value(ieee, *arguments)
    return (y, *op.derivatives(ieee, y, *arguments))


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        # kinks
        ("relu", (0.0,), (0, 0)),
        ("relu", (-0.0,), (0, 0)),
        ("abs", (0.0,), (0, 0)),
        ("abs", (-0.0,), (0, 0)),
        ("leaky_relu", (0.0, 0.25), (0, 0.25, 0)),
        ("maximum", (7.0, 7.0), (7, 0.5, 0.5)),
        ("minimum", (-3.0, -3.0), (-3, 0.5, 0.5)),
        ("clip", (2.0, 2.0, 5.0), (2, 1, 0, 0)),
        ("clip", (5.0, 2.0, 5.0), (5, 1, 0, 0)),
        ("clip", (1.0, 2.0, 5.0), (2, 0, 1, 0)),
        ("clip", (9.0, 2.0, 5.0), (5, 0, 0, 1)),
        # powers
        ("pow", (0.0, 0.0), (1, 0, 0)),
        ("pow", (0.0, 1.0), (0, 1, 0)),
        ("pow", (0.0, 2.0), (0, 0, 0)),
        ("pow", (0.0, 0.5), (0, inf, 0)),
        ("pow", (0.0, 0.3), (0, inf, 0)),
        ("pow", (0.0, -1.0), (inf, -inf, -inf)),
        ("pow", (-0.0, -3.0), (-inf, -inf, -inf)),
        ("pow", (-8.0, 1 / 3), (nan, nan, nan)),
        ("pow", (-2.0, 3.0), (-8, 12, nan)),
        ("pow", (-2.0, 2.0), (4, -4, nan)),
        ("pow", (1e200, 2.0), (inf, 2e200, inf)),
        ("pow", (-1e200, 3.0), (-inf, inf, nan)),
        ("pow", (inf, -1.0), (0, 0, 0)),
        ("pow", (inf, 0.5), (inf, 0, inf)),
        ("pow", (nan, 0.0), (1, 0, nan)),
        ("pow", (2.0, -2000.0), (0, 0, 0)),
        # poles and the far side of them
        ("div", (1.0, 0.0), (inf, inf, -inf)),
        ("div", (-1.0, 0.0), (-inf, inf, inf)),
        ("div", (1.0, -0.0), (-inf, -inf, -inf)),
        ("div", (0.0, 0.0), (nan, inf, nan)),
        ("log", (0.0,), (-inf, inf)),
        ("log", (-0.0,), (-inf, inf)),
        ("log", (-1.0,), (nan, nan)),
        ("log1p", (-1.0,), (-inf, inf)),
        ("log1p", (-2.0,), (nan, nan)),
        ("sqrt", (0.0,), (0, inf)),
        ("sqrt", (-0.0,), (0, inf)),
        ("sqrt", (-1.0,), (nan, nan)),
        ("asin", (1.0,), (pi / 2, inf)),
        ("acos", (2.0,), (nan, nan)),
        ("atan2", (0.0, 0.0), (0, nan, nan)),
        # overflow
        ("exp", (710.0,), (inf, inf)),
        ("exp", (-inf,), (0, 0)),
        ("expm1", (800.0,), (inf, inf)),
        ("sinh", (-800.0,), (-inf, inf)),
        ("cosh", (-800.0,), (inf, -inf)),
        ("mul", (1e200, 1e200), (inf, 1e200, 1e200)),
        # infinities have limits
        ("tanh", (inf,), (1, 0)),
        ("tanh", (-400.0,), (-1, 0)),
        ("sigmoid", (-inf,), (0, 0)),
        ("sigmoid", (inf,), (1, 0)),
        ("softplus", (-inf,), (0, 0)),
        ("softplus", (inf,), (inf, 1)),
        ("gelu", (-inf,), (0, 0)),
        ("gelu", (inf,), (inf, 1)),
        ("silu", (-inf,), (0, 0)),
        ("silu", (inf,), (inf, 1)),
        ("erf", (inf,), (1, 0)),
        ("atan", (inf,), (pi / 2, 0)),
        ("sin", (inf,), (nan, nan)),
        # many operands
        ("logsumexp", (-inf, -inf), (-inf, 0.5, 0.5)),
        ("logsumexp", (inf, 0.0, inf), (inf, 0.5, 0, 0.5)),
        ("logsumexp", (inf, 0.0), (inf, 1, 0)),
        ("logsumexp", (-inf, 3.0), (3, 0, 1)),
        ("logsumexp", (-800.0, -800.0), (-800 + math.log(2), 0.5, 0.5)),
    ],
)
def test_edges(name, arguments, expected):
    got = both(name, *arguments)
    assert len(got) == len(expected)
    for ours, right in zip(got, expected, strict=True):
        assert close(ours, right, limit=1), got


@every_row
def test_nan_in_gives_nan_out(op):
    size = op.arity or 2
    if op.name == "take":
        return  # takes what it is told to
    for k in range(size):
        arguments = [1.0] * size
        arguments[k] = nan
        if op.name == "where":
            arguments[0] = k == 1
            if k == 0:
                continue
        value = op.value(ieee, *arguments)
        if (op.name, k) == ("pow", 1) or (op.name, k) == ("leaky_relu", 1):
            continue  # 1**nan is 1 in IEEE; the slope does not matter above 0
        if op.name in ("pow_slope", "pow_log"):
            continue  # so is nan**0, which is the slope of nan**1
        if op.name == "clip" and k > 0:
            continue  # a bound that is not a number bounds nothing
        values = value if isinstance(value, list) else [value]
        assert any(math.isnan(v) for v in values), (op.name, arguments)


def test_second_derivatives_at_the_joints_of_piecewise_rules():
    # sigmoid, softplus and silu branch at 0 and logsumexp at ties; nothing may show there.
    def second(f, x=0.0):
        v = Value(x)
        return grad(grad(f(v), v, create_graph=True), v)

    assert second(lambda v: v.sigmoid()) == pytest.approx(0.0, abs=1e-16)
    assert second(lambda v: v.softplus()) == pytest.approx(0.25, rel=1e-15)
    assert second(lambda v: v.silu()) == pytest.approx(0.5, rel=1e-15)
    assert second(lambda v: v.gelu()) == pytest.approx(2 / math.sqrt(2 * pi), rel=1e-14)
    assert second(lambda v: v**3) == 0.0


# Operands in which a row is a polynomial of the first degree: its slopes end, whatever they are.
LINEAR = {
    key: {0, 1} for key in ("add", "sub", "mul", "neg", "sum", "mean", "dot", "where", "take")
}
LINEAR |= {"div": {0}, "leaky_relu": {0, 1}}
ODD = (nan, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0)  # at infinities there are limits
OUTPUTS = {"softmax": 2, "log_softmax": 2}


@pytest.mark.parametrize(
    "op",
    [op for op in ROWS if op not in INSIDE and LINEAR.get(op.name) != {0, 1}],
    ids=lambda op: op.name,
)
def test_where_the_value_is_nan_so_are_the_derivatives_of_all_orders(op):
    # A constant nan has the derivative 0, and would look like a number one order later.
    met = 0
    for xs in itertools.product(ODD, repeat=op.arity or 2):
        for which in range(OUTPUTS.get(op.name, 1)):
            operands = [Value(x) for x in xs]
            value = call_minigrad(op.name, operands, which if op.name in OUTPUTS else None)
            if not math.isnan(value.data) or (op.name == "pow" and math.isnan(xs[0])):
                continue  # nan**0 is 1 in IEEE, and the slope of nan**1
            for k in {*range(len(xs))} - LINEAR.get(op.name, set()):
                if which != k and op.name in OUTPUTS:
                    continue
                slope = value
                for _ in range(3):
                    slope = grad(slope, operands[k], create_graph=True)
                    assert math.isnan(slope.data), (xs, which, k)
                    met += 1
    assert met > 0


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(
    ("name", "x"), [("log", -2.0), ("log1p", -2.0), ("abs", nan), ("relu", nan)]
)
def test_compiled_functions_have_no_number_either_where_the_value_is_nan(name, x, backend):
    if backend == "native" and not native.available():
        pytest.skip("the machine in C is not built")
    function = minigrad.compile(getattr(minigrad, name), backend=backend)
    assert math.isfinite(function(0.5).data)
    value, slopes = function.value_and_grad(x)
    assert math.isnan(value)
    assert math.isnan(slopes.args[0])
    assert math.isnan(function.hvp((x,), (1.0,))[0])
