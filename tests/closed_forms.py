"""First and second derivatives of every operation in closed form, for mpmath.

`precise.py` defines the operations, and mpmath differentiates those by differences: true, slow, and
in need of as many digits as the arguments have zeros. These forms have no terms that cancel, so 60
digits are enough for any floats. A test compares them with those differences.
"""

from __future__ import annotations

import mpmath as mp
from mpmath import mpf
from precise import DEFINITION, erfc


def _logistic(x):
    return 1 / (1 + mp.exp(-x))


def _bell(x):
    return _logistic(x) * _logistic(-x)


def _sech2(x):
    return 1 / mp.cosh(x) ** 2


def _density(x):
    return mp.npdf(x)


def _silu_slope(x):
    return _logistic(x) * (1 + x * _logistic(-x))


def _pow_first(x, n):
    return [n * x ** (n - 1) if n else mpf(0), x**n * mp.log(x) if x > 0 else None]


def _pow_second(x, n):
    xx = n * (n - 1) * x ** (n - 2) if n not in (0, 1) else mpf(0)
    if x <= 0:  # there the exponent is a whole number and nothing to differentiate by
        return [[xx, None], [None, None]]
    xn = x ** (n - 1) * (1 + n * mp.log(x))
    return [[xx, xn], [xn, x**n * mp.log(x) ** 2]]


def _hypot_first(a, b):
    h = mp.sqrt(a * a + b * b)
    return [a / h, b / h]


def _hypot_second(a, b):
    cube = mp.sqrt(a * a + b * b) ** 3
    return [[b * b / cube, -a * b / cube], [-a * b / cube, a * a / cube]]


def _atan2_first(y, x):
    square = x * x + y * y
    return [x / square, -y / square]


def _atan2_second(y, x):
    square = x * x + y * y
    bent, mixed = 2 * x * y / square**2, (y - x) * (y + x) / square**2
    return [[-bent, mixed], [mixed, bent]]


def _shares(xs):
    return [1 / mp.fsum(mp.exp(other - x) for other in xs) for x in xs]


def _share_slopes(*xs):
    """The derivatives of softmax: p (1 - p) and -p q, where 1 - p is what all others have."""
    shares = _shares(xs)
    return [
        [
            p * (mp.fsum(shares[:i]) + mp.fsum(shares[i + 1 :])) if i == j else -p * q
            for j, q in enumerate(shares)
        ]
        for i, p in enumerate(shares)
    ]


def _log_share_slopes(*xs):
    shares = _shares(xs)
    return [
        [
            mp.fsum(shares[:i]) + mp.fsum(shares[i + 1 :]) if i == j else -q
            for j, q in enumerate(shares)
        ]
        for i in range(len(xs))
    ]


def _share_bends(*xs):
    """The second derivatives of each share p: p (l_i l_j + d l_i/dx_j), l the slopes of log p."""
    shares, logs, slopes = _shares(xs), _log_share_slopes(*xs), _share_slopes(*xs)
    every = range(len(xs))
    return [
        [[shares[k] * (logs[k][i] * logs[k][j] - slopes[i][j]) for j in every] for i in every]
        for k in every
    ]


def _log_share_bends(*xs):
    slopes = _share_slopes(*xs)
    return [[[-s for s in row] for row in slopes] for _ in xs]


def _flat(*xs):
    return [[mpf(0)] * len(xs) for _ in xs]


def _crossed(*xs):
    """A sum of products of the first half of the arguments with the second."""
    n, half = len(xs), len(xs) // 2
    return [[mpf(abs(i - j) == half and half > 0) for j in range(n)] for i in range(n)]


def _one(first, second):
    """Bring the derivatives of a function of one argument into the shape of all others."""
    return lambda x: [first(x)], lambda x: [[second(x)]]


_UNARY = {
    "neg": _one(lambda x: mpf(-1), lambda x: mpf(0)),
    "abs": _one(lambda x: mp.sign(x), lambda x: mpf(0)),
    "relu": _one(lambda x: mpf(x > 0), lambda x: mpf(0)),
    "exp": _one(mp.exp, mp.exp),
    "expm1": _one(mp.exp, mp.exp),
    "log": _one(lambda x: 1 / x, lambda x: -1 / x**2),
    "log1p": _one(lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2),
    "sqrt": _one(lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * x * mp.sqrt(x))),
    "sin": _one(mp.cos, lambda x: -mp.sin(x)),
    "cos": _one(lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "tan": _one(lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2),
    "asin": _one(lambda x: 1 / mp.sqrt(1 - x * x), lambda x: x / mp.sqrt(1 - x * x) ** 3),
    "acos": _one(lambda x: -1 / mp.sqrt(1 - x * x), lambda x: -x / mp.sqrt(1 - x * x) ** 3),
    "atan": _one(lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    "sinh": _one(mp.cosh, mp.sinh),
    "cosh": _one(mp.sinh, mp.cosh),
    "tanh": _one(_sech2, lambda x: -2 * mp.tanh(x) * _sech2(x)),
    "erf": _one(
        lambda x: 2 * mp.exp(-x * x) / mp.sqrt(mp.pi),
        lambda x: -4 * x * mp.exp(-x * x) / mp.sqrt(mp.pi),
    ),
    "erfc": _one(
        lambda x: -2 * mp.exp(-x * x) / mp.sqrt(mp.pi),
        lambda x: 4 * x * mp.exp(-x * x) / mp.sqrt(mp.pi),
    ),
    "gelu": _one(
        lambda x: erfc(-x / mp.sqrt(2)) / 2 + x * _density(x),
        lambda x: (mp.sqrt(2) - x) * (mp.sqrt(2) + x) * _density(x),
    ),
    "sigmoid": _one(_bell, lambda x: -mp.tanh(x / 2) * _bell(x)),
    "softplus": _one(_logistic, _bell),
    "silu": _one(_silu_slope, lambda x: _bell(x) * (2 - x * mp.tanh(x / 2))),
}

_FORMS = {
    "add": (lambda a, b: [mpf(1), mpf(1)], _flat),
    "sub": (lambda a, b: [mpf(1), mpf(-1)], _flat),
    "mul": (lambda a, b: [b, a], _crossed),
    "div": (
        lambda a, b: [1 / b, -a / b**2],
        lambda a, b: [[mpf(0), -1 / b**2], [-1 / b**2, 2 * a / b**3]],
    ),
    "pow": (_pow_first, _pow_second),
    "hypot": (_hypot_first, _hypot_second),
    "atan2": (_atan2_first, _atan2_second),
    "sum": (lambda *xs: [mpf(1)] * len(xs), _flat),
    "mean": (lambda *xs: [mpf(1) / len(xs)] * len(xs), _flat),
    "dot": (lambda *xs: [*xs[len(xs) // 2 :], *xs[: len(xs) // 2]], _crossed),
    "logsumexp": (lambda *xs: _shares(xs), _share_slopes),
    "softmax": (_share_slopes, _share_bends),
    "log_softmax": (_log_share_slopes, _log_share_bends),
}

FIRST = {name: forms[0] for name, forms in (_UNARY | _FORMS).items()}
SECOND = {name: forms[1] for name, forms in (_UNARY | _FORMS).items()}

_EDGES = {
    "log": lambda x: x > 0,
    "sqrt": lambda x: x > 0,
    "log1p": lambda x: x > -1,
    "asin": lambda x: abs(x) < 1,
    "acos": lambda x: abs(x) < 1,
    "abs": lambda x: x != 0,
    "relu": lambda x: x != 0,
    "div": lambda a, b: b != 0,
    "pow": lambda x, n: x > 0 or (x < 0 and n == int(n) and abs(n) < 2**53),
    "hypot": lambda a, b: a != 0 or b != 0,
    # Across the negative axis the angle jumps.
    "atan2": lambda y, x: y != 0 or x > 0,
}


def is_defined(name, arguments):
    """Tell whether an operation has two derivatives at a point."""
    return name in DEFINITION and bool(_EDGES.get(name, lambda *xs: True)(*arguments))
