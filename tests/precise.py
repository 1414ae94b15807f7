"""Expected values from mathematics: every op again, in mpmath, with its derivative by mpmath.

Written from the definitions, without a look at minigrad's formulas: `sigmoid` is 1/(1+exp(-x))
here, whatever it takes in float64 to get that right.
"""

from __future__ import annotations

import math

import mpmath as mp
from mpmath import mpf

from minigrad import Value, grad
from minigrad.functions import VALUES
from minigrad.maths import floats as ieee


def _excess(xs, k):
    """log(sum of exp(x)) - xs[k], in a form in which small numbers are not lost beside 1."""
    return mp.log1p(mp.fsum(mp.exp(x - xs[k]) for i, x in enumerate(xs) if i != k))


def _logsumexp(*xs):
    k = xs.index(max(xs))
    return xs[k] + _excess(xs, k)


def _logistic(x):
    return 1 / (1 + mp.exp(-x))


def erfc(x):
    """What mpmath refuses to compute is below all floats by far."""
    return mp.erfc(x) if x < 1e4 else mpf(0)


def _dot(*xs):
    half = len(xs) // 2
    return mp.fsum(a * b for a, b in zip(xs[:half], xs[half:], strict=True))


DEFINITION = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda x: -x,
    "pow": lambda x, n: x**n,
    "pow_slope": lambda x, n: n * x ** (n - 1),
    "pow_log": lambda x, n: x**n * mp.log(x),
    "abs": abs,
    "exp": mp.exp,
    "expm1": mp.expm1,
    "log": mp.log,
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "exp_sub": lambda a, b: mp.exp(a - b),
    "log_add": lambda a, b, c: mp.log(mp.exp(a - b) + c),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "atan2_slope": lambda a, b: a / (a * a + b * b),
    "hypot": lambda a, b: mp.sqrt(a * a + b * b),
    "hypot_slope": lambda a, b: a / mp.sqrt(a * a + b * b),
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "erf": mp.erf,
    "erfc": erfc,
    "gelu": lambda x: x * erfc(-x / mp.sqrt(2)) / 2,
    "sigmoid": _logistic,
    "bell": lambda x: _logistic(x) * _logistic(-x),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "relu": lambda x: max(x, mpf(0)),
    "leaky_relu": lambda x, slope: x if x > 0 else slope * x,
    "maximum": max,
    "minimum": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "where": lambda condition, a, b: a if condition else b,
    "sum": lambda *xs: mp.fsum(xs),
    "mean": lambda *xs: mp.fsum(xs) / len(xs),
    "dot": _dot,
    "logsumexp": _logsumexp,
    "softmax": lambda *xs: [1 / mp.fsum(mp.exp(other - x) for other in xs) for x in xs],
    "log_softmax": lambda *xs: [-_excess(xs, k) for k in range(len(xs))],
    "take": lambda index, *xs: xs[int(index)],
}

# Where an op adds terms of opposite sign, no formula in float64 keeps the relative accuracy of the
# sum: there the error is measured against the largest term. All other ops answer for every digit.
VALUE_SCALE = {
    "sum": lambda *xs: mp.fsum(map(abs, xs)),
    "mean": lambda *xs: mp.fsum(map(abs, xs)) / len(xs),
    "dot": lambda *xs: _dot(*map(abs, xs)),
    "logsumexp": lambda *xs: abs(max(xs)),
}
PARTIAL_SCALE = {
    "pow_slope": lambda x, n: x ** (n - 1) * max(1, abs(n * mp.log(x))),  # 1 + n log(x) has a zero
    "pow_log": lambda x, n: x ** (n - 1) * max(1, abs(n * mp.log(x))),
    "gelu": lambda x: max(mp.ncdf(x), abs(x * mp.npdf(x))),  # their sum has a zero at -0.75
    "silu": lambda x: max(_logistic(x), abs(x * _logistic(x) * _logistic(-x))),  # at -1.28
    "softmax": lambda *xs: mpf(1) / 4,  # sums over paths
    "log_softmax": lambda *xs: mpf(1),
}


def ulps(got, true, scale=0):
    """Return the distance in units of the last place of the true value (or of the scale)."""
    size = max(abs(true), mpf(scale))
    if not math.isfinite(float(size)):
        return 0.0 if got == float(true) else math.inf
    if not math.isfinite(got):
        return math.inf
    return float(abs(mpf(got) - true) / mpf(math.ulp(float(size))))


def value_errors(op, arguments):
    """Return the error of the op's value, in ulps, for each of its outputs."""
    exact = [mpf(x) for x in arguments]
    true = DEFINITION[op.name](*exact)
    got = op.value(ieee, *arguments)
    scale = VALUE_SCALE.get(op.name, lambda *_: 0)(*exact)
    trues, gots = (true, got) if isinstance(got, list) else ([true], [got])
    return [ulps(g, t, scale) for g, t in zip(gots, trues, strict=True)]


def partial_errors(op, arguments, skip=()):
    """Return the error of each of the op's partial derivatives, in ulps."""
    exact = [mpf(x) for x in arguments]
    scale = PARTIAL_SCALE.get(op.name, lambda *_: 0)(*exact)
    errors = []
    for output, row in enumerate(_partials(op, arguments)):
        for k, got in enumerate(row):
            if k in skip:
                continue

            def along(x, k=k, output=output):
                moved = DEFINITION[op.name](*exact[:k], x, *exact[k + 1 :])
                return moved[output] if isinstance(moved, list) else moved

            true = mp.diff(along, exact[k], relative=exact[k] != 0)
            errors.append(ulps(got, true, scale))
    return errors


def _partials(op, arguments):
    if op.is_composite:
        leaves = [Value(x) for x in arguments]
        outputs = [y if isinstance(y, Value) else Value(y) for y in op.value(VALUES, *leaves)]
        return [grad(y, leaves) for y in outputs]
    return [op.derivatives(ieee, op.value(ieee, *arguments), *arguments)]
