"""The op table: one row per operation, and the only place where a formula stands.

A row says what an operation is worth and what it passes back: its value, its partial derivatives, a
domain to sample and awkward points to probe. The engine, forward mode, higher derivatives, array
back ends, the documentation and the tests all read the row; none of them repeats it.

A rule is written once for every kind of number. It receives a mathematics `m` (`ieee` for floats,
`functions` for Values, `ArrayMath` for arrays) and speaks only to that:

- branches are `m.where`, never `if`, because a condition may be an array of lanes; a branch for the
  ends of the range is `m.usually(holds, usual, otherwise)`, so that only those who need it pay for
  `otherwise()`. A condition that `is True` is one of plain numbers: a short cut for them, and what
  follows it is a function of its own, because closures cost even those who do not get there;
- `m.div` and `m.pow` stand for `/` and `**`, which raise on Python floats where IEEE answers;
- comparisons are `<`, `<=`, `>`, `>=` and `m.equal`, because `==` on Values is identity;
- where there is no derivative it is `y`, the value, which is nan there: a constant nan would have 0
  for its derivative, and so the next one would look like a number;
- no rule uses an operation with a kink (`abs`, `relu`, `maximum`) where it could be differentiated
  again: the convention at the kink would become a wrong second derivative.

Second derivatives come from differentiating the rules of the first ones. Where that would subtract
numbers that are nearly equal, the slope has a row of its own, such as `bell` or `hypot_slope`. In a
mathematics that makes graphs, `m.rows` has every row as a function that makes one node, and the
formula of such a slope becomes that node: its partials are the second derivatives in a form that
loses nothing. Numbers, arrays and kernels have no `m.rows`, and compute the formula itself.

Start reading at `tanh` below: its row is the pattern of all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan, pi, sqrt
from typing import Any, NamedTuple

Rule = Callable[..., Any]
Interval = tuple[float, float]


class Says(NamedTuple):
    """An operation in the words of a textbook, for `help()`: expressions in its arguments."""

    value: str
    slopes: tuple[str, ...]  # the derivative by each argument
    domain: str


@dataclass(frozen=True)
class Op:
    """One row. `m` is a mathematics, `y` the value of the operation, the rest its arguments."""

    name: str
    code: int  # its place in TABLE
    label: str  # what pictures show; for people, never an identity
    arity: int | None  # None: any number of operands
    value: Rule  # value(m, *arguments)
    partials: tuple[Rule, ...]  # one partial(m, y, *arguments) per operand
    gradient: Rule | None  # all partials at once, gradient(m, y, *arguments)
    domain: tuple[Interval, ...]  # where to sample each operand (any arity: one interval for all)
    probes: tuple[tuple[float, ...], ...]  # arguments worth trying besides the samples
    note: str  # conventions at kinks and edges, for the reference
    commutes: bool  # whether operands may change places
    says: Says | None = None  # of those that people call by name

    def told(self) -> str:
        """Say value, derivative and domain, as `help()` shows them."""
        if self.says is None:
            return ""
        value, slopes, domain = self.says
        return f"Return {value}. Derivative: {'; '.join(slopes)}. Domain: {domain}."

    @property
    def is_composite(self) -> bool:
        """A composite has no derivative of its own: its value rule runs on Values instead."""
        return not self.partials and self.gradient is None

    def derivatives(self, m: Any, y: Any, *arguments: Any) -> Sequence[Any]:
        """Return the partial derivatives with respect to all arguments."""
        if self.gradient is not None:
            gradient: Sequence[Any] = self.gradient(m, y, *arguments)
            return gradient
        return [partial(m, y, *arguments) for partial in self.partials]


_WIDE, _LOGITS = (-10.0, 10.0), (-30.0, 30.0)  # where most operations are sampled
TABLE: list[Op] = []
OPS: dict[str, Op] = {}


def row(
    name: str,
    value: Rule,
    partials: Rule | tuple[Rule, ...] = (),
    *,
    gradient: Rule | None = None,
    domain: Any = _WIDE,
    probes: tuple[Any, ...] = (),
    label: str | None = None,
    note: str = "",
    commutes: bool = False,
    says: Says | None = None,
) -> None:
    """Add a row to the table; for one operand, what is a tuple for several stands bare.

    It has as many operands as partials, any number without, and one interval is the domain of all.
    """
    if not isinstance(partials, tuple):
        partials, probes = (partials,), tuple((x,) for x in probes)
    if isinstance(domain[0], float):
        domain = (domain,) * (len(partials) or 1)
    label, arity = name if label is None else label, len(partials) or None
    rules = (value, partials, gradient)
    OPS[name] = Op(name, len(TABLE), label, arity, *rules, domain, probes, note, commutes, says)
    TABLE.append(OPS[name])


def _one(m: Any, y: Any, a: Any, b: Any) -> float:
    return 1.0


SMALL = 2.0**-960  # below, digits are lost, or will be after a division or two


# Code 0 is what has no rule: a leaf, or a node that a user made by hand.
OPS["leaf"] = Op("leaf", 0, "", 0, lambda m: nan, (), None, (), (), "", False)
TABLE.append(OPS["leaf"])

# ---- arithmetic ------------------------------------------------------------------------------

_PAIRS = ((0.0, 0.0), (3.0, 3.0), (1e-300, -1e300), (5e-324, 1.0))

row("add", lambda m, a, b: a + b, (_one, _one), probes=_PAIRS, label="+", commutes=True)
row("sub", lambda m, a, b: a - b, (_one, lambda m, y, a, b: -1.0), probes=_PAIRS, label="-")
row(
    "mul",
    lambda m, a, b: a * b,
    (lambda m, y, a, b: b, lambda m, y, a, b: a),
    probes=_PAIRS,
    label="*",
    commutes=True,
)


def _div_divisor(m: Any, y: Any, a: Any, b: Any) -> Any:
    usual = m.div(-y, b)
    if (y >= SMALL) is True or (y <= -SMALL) is True:
        return usual
    return _div_divisor_at_ends(m, usual, y, a, b)


def _div_divisor_at_ends(m: Any, usual: Any, y: Any, a: Any, b: Any) -> Any:
    def otherwise() -> Any:
        # A small divisor would magnify what a small quotient has lost.
        scaled = m.div(m.div(a * -(2.0**60), b), b) * 2.0**-60
        return m.where(m.equal(y, 0.0), usual, scaled)

    return m.usually(m.abs(y) >= SMALL, usual, otherwise)


row(
    "div",
    lambda m, a, b: m.div(a, b),
    (lambda m, y, a, b: m.div(1.0, b), _div_divisor),
    domain=(_WIDE, (0.1, 10.0)),
    probes=((1.0, 3.0), (-7.0, -1e200), (0.0, 2.0), (1e200, 1e200)),
    label="/",
    note="A true division: a quotient is rounded once, and no square can overflow.",
)
row("neg", lambda m, x: -x, lambda m, y, x: -1.0, probes=(0.0, 1e300))


def _power_times(m: Any, c: Any, x: Any, y: Any, n: Any, k: int) -> Any:
    """Return c * x**(n - k), where y is x**n, for k = 0, 1 or 2; 0 times infinity is 0."""
    lowered, is_exact, power = n, m.equal(n, n), y
    if k:
        # If n - k is not exact, log(x) would magnify its rounding: y, divided by x, is better.
        lowered = n - float(k)
        is_exact = m.equal(lowered + float(k), n) & m.equal(n - lowered, float(k))
        power = m.where(is_exact, m.pow(x, lowered), y)
    size = m.abs(power)
    if is_exact is True and (size >= SMALL) is True and (size < inf) is True:
        return c * power
    return _power_at_ends(m, c, x, y, n, k, lowered, is_exact, power)


def _power_at_ends(
    m: Any, c: Any, x: Any, y: Any, n: Any, k: int, lowered: Any, is_exact: Any, power: Any
) -> Any:
    def divided(z: Any) -> Any:
        quotient = m.div(z, x) if k else z
        return -_div_divisor(m, quotient, z, x) if k == 2 else quotient

    def by_halves() -> Any:
        # A power beyond the floats, or among the smallest, may come back when multiplied by c: so
        # that is done first with one half of it, then with the other.
        half = m.pow(m.abs(x), 0.5 * m.where(is_exact, lowered, n))
        sign = m.where(x < 0.0, m.pow(-1.0, m.number(lowered)), 1.0)
        low = m.where(is_exact, half, m.div(half, x))
        product = (c * (low if k else half)) * (sign * (low if k == 2 else half))
        return m.where(m.equal(half, 0.0), 0.0 * sign, product)

    def otherwise() -> Any:
        edge = m.equal(x, 0.0) | m.equal(x, inf) | m.equal(x, -inf)  # where y/x is 0/0
        at_edge = m.pow(x, lowered)
        is_zero = m.equal(c, 0.0) | (m.equal(at_edge, 0.0) & edge & m.equal(m.abs(c), inf))
        is_calm = (m.abs(y) >= SMALL) & (m.abs(y) < inf)
        calm = m.where(edge, c * at_edge, divided(c * y))
        return m.where(is_zero, 0.0, m.usually(edge | is_calm, calm, by_halves))

    size = m.abs(power)
    usual = m.where(is_exact, c * power, divided(c * power)) if k else c * power
    return m.usually((size >= SMALL) & (size < inf), usual, otherwise)


def _pow_base(m: Any, y: Any, x: Any, n: Any) -> Any:
    if m.rows:
        return m.rows["pow_slope"](x, n)
    return _power_times(m, n, x, y, n, 1)


def _pow_exponent(m: Any, y: Any, x: Any, n: Any) -> Any:
    if m.rows:
        return m.rows["pow_log"](x, n)
    at_zero = m.where(n >= 0.0, 0.0, m.where(n < 0.0, -inf, y))
    elsewhere = _power_times(m, m.log(x), x, y, n, 0)
    return m.where(m.equal(x, 0.0), at_zero, elsewhere)


def _pow_base_twice(m: Any, y: Any, x: Any, n: Any) -> Any:
    return _power_times(m, n * (n - 1.0), x, m.pow(x, n), n, 2)


def _pow_both(m: Any, y: Any, x: Any, n: Any) -> Any:
    beyond = m.where(n > 0.0, -inf, m.where(n <= 0.0, inf, y))  # x**(n-1) * (1 + n*log(x))
    at_zero = m.where(n >= 1.0, m.pow(x, n - 1.0), beyond)
    elsewhere = _power_times(m, 1.0 + n * m.log(x), x, m.pow(x, n), n, 1)
    return m.where(m.equal(x, 0.0), at_zero, elsewhere)


def _pow_exponent_twice(m: Any, y: Any, x: Any, n: Any) -> Any:
    elsewhere = _power_times(m, m.log(x) * m.log(x), x, m.pow(x, n), n, 0)
    at_zero = m.where(n >= 0.0, 0.0, m.where(n < 0.0, inf, y))
    return m.where(m.equal(x, 0.0), at_zero, elsewhere)


_POWERS = ((0.01, 10.0), (-5.0, 5.0))
_POWER_PROBES = ((2.0, 3.0), (2.0, -1.0), (0.1, 2.0), (1e300, 0.1), (1e-200, 2.0), (3.0, 0.0))

row(
    "pow_slope",
    lambda m, x, n: _pow_base(m, m.pow(x, n), x, n),
    (_pow_base_twice, _pow_both),
    domain=_POWERS,
    probes=_POWER_PROBES,
    label="d**",
    note="`n * x**(n-1)`, the slope of `**` along its base.",
)
row(
    "pow_log",
    lambda m, x, n: _pow_exponent(m, m.pow(x, n), x, n),
    (_pow_both, _pow_exponent_twice),
    domain=_POWERS,
    probes=_POWER_PROBES,
    label="**log",
    note="`x**n * log(x)`, the slope of `**` along its exponent.",
)
row(
    "pow",
    lambda m, x, n: m.pow(x, n),
    (_pow_base, _pow_exponent),
    domain=_POWERS,
    probes=_POWER_PROBES,
    label="**",
    note="`x**0` is 1 with derivative 0, at 0 too. A negative base with a fractional exponent is "
    "nan. With respect to the exponent at base 0: 0 for an exponent >= 0, -inf below.",
)


row(
    "abs",
    lambda m, x: m.abs(x),
    lambda m, y, x: m.where(x > 0.0, 1.0, m.where(x < 0.0, -1.0, y)),
    probes=(1e-300, -1e300),
    note="The derivative at 0 is 0.",
    says=Says("x if x > 0 else -x", ("1 if x > 0 else -1 if x < 0 else 0",), "any x"),
)

# ---- exponentials, logarithms, roots ---------------------------------------------------------

row(
    "exp",
    lambda m, x: m.exp(x),
    lambda m, y, x: y,
    probes=(0.0, -700.0, 709.0, 1e-20),
    says=Says("exp(x)", ("exp(x)",), "any x"),
)
row(
    "expm1",
    lambda m, x: m.expm1(x),
    lambda m, y, x: m.exp(x),
    probes=(0.0, 1e-20, -50.0, 700.0),
    says=Says("exp(x) - 1", ("exp(x)",), "any x"),
)
# x + 0.0 turns -0.0 into 0.0: log and sqrt rise steeply at either zero, they do not fall.
row(
    "log",
    lambda m, x: m.log(x),
    lambda m, y, x: m.where(x < 0.0, y, m.div(1.0, x + 0.0)),
    domain=(1e-3, 100.0),
    probes=(1.0, 1.0000000000000002, 1e-300, 1e300),
    note="Below 0 the value and all derivatives are nan.",
    says=Says("log(x)", ("1/x",), "x > 0"),
)
row(
    "log1p",
    lambda m, x: m.log1p(x),
    lambda m, y, x: m.where(x < -1.0, y, m.div(1.0, 1.0 + x)),
    domain=(-0.99, 100.0),
    probes=(0.0, 1e-20, -0.9999999999999999, 1e300),
    note="Below -1 the value and all derivatives are nan.",
    says=Says("log(1 + x)", ("1/(1 + x)",), "x > -1"),
)
row(
    "sqrt",
    lambda m, x: m.sqrt(x),
    lambda m, y, x: m.div(0.5, y + 0.0),
    domain=(1e-3, 100.0),
    probes=(1.0, 2.0, 1e-300, 1e300),
    note="The derivative at 0 is inf.",
    says=Says("sqrt(x)", ("1/(2*sqrt(x))",), "x >= 0"),
)


def _exp_sub(m: Any, a: Any, b: Any) -> Any:
    if m.rows:
        return m.rows["exp_sub"](a, b)
    difference = a - b
    p, q, d = m.number(a), m.number(b), m.number(difference)
    from_q = d - p
    rounding = (p - (d - from_q)) - (q + from_q)  # exact, but nan where an operand is infinite
    # Beyond 750 the exponential is 0 or inf, and a rounding may be larger than 1.
    usual = m.exp(difference) * m.where((d < 750.0) & (d > -750.0), 1.0 + rounding, 1.0)
    # Two infinities of one sign have no difference; that of equal numbers is 0.
    return m.where(m.equal(d, d), usual, m.where(m.equal(p, q), 1.0, d))


row(
    "exp_sub",
    _exp_sub,
    (lambda m, y, a, b: y, lambda m, y, a, b: -y),
    domain=_LOGITS,
    probes=((0.0, 0.0), (0.1, 500.3), (1e-20, 1.0)),
    label="exp(a-b)",
    note="`exp(a - b)`, with the rounding of the difference made good: the piece that `softmax`, "
    "`log_softmax` and `logsumexp` are built of. Equal infinities give 1.",
)

# ---- trigonometric and hyperbolic ------------------------------------------------------------

row(
    "sin",
    lambda m, x: m.sin(x),
    lambda m, y, x: m.cos(x),
    probes=(0.0, pi, 1e-20, 1e6),
    says=Says("sin(x)", ("cos(x)",), "any x"),
)
row(
    "cos",
    lambda m, x: m.cos(x),
    lambda m, y, x: -m.sin(x),
    probes=(0.0, pi / 2, 1e6),
    says=Says("cos(x)", ("-sin(x)",), "any x"),
)
row(
    "tan",
    lambda m, x: m.tan(x),
    lambda m, y, x: 1.0 + y * y,
    domain=(-1.5, 1.5),
    probes=(0.0, pi / 2, 1e-20, 100.0),
    says=Says("tan(x)", ("1/cos(x)**2",), "any x"),
)


def _one_minus_square(m: Any, x: Any) -> Any:
    # Near 1 the factors do not cancel; near 0 the square does not, when differentiated again.
    far = (x > 0.5) | (x < -0.5)
    return m.where(far, (1.0 - x) * (1.0 + x), 1.0 - x * x)


row(
    "asin",
    lambda m, x: m.asin(x),
    lambda m, y, x: m.div(1.0, m.sqrt(_one_minus_square(m, x))),
    domain=(-0.999, 0.999),
    probes=(0.0, 1e-20, 0.9999999999999999),
    says=Says("asin(x)", ("1/sqrt(1 - x**2)",), "-1 <= x <= 1"),
)
row(
    "acos",
    lambda m, x: m.acos(x),
    lambda m, y, x: m.div(-1.0, m.sqrt(_one_minus_square(m, x))),
    domain=(-0.999, 0.999),
    probes=(0.0, 1e-20, 0.9999999999999999),
    says=Says("acos(x)", ("-1/sqrt(1 - x**2)",), "-1 <= x <= 1"),
)


def _scaled_hypot(m: Any, size: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return a power of 2, k, and hypot(k*a, k*b), which is far from both ends of the range."""
    k = m.where(size > 2.0**500, 2.0**-500, m.where(size < 1.0, 2.0**500, 1.0))
    return k, m.hypot(k * a, k * b)


def _unless_infinite(m: Any, radius: Any, a: Any, b: Any, bend: Any) -> Any:
    """Return a second slope, which is 0 where an operand is infinite, and the other a number."""
    return m.where(m.equal(radius, inf) & m.equal(a, a) & m.equal(b, b), 0.0, bend)


def _hypot_slope(m: Any, y: Any, a: Any, b: Any) -> Any:
    if m.rows:
        return m.rows["hypot_slope"](a, b)
    usual = m.div(a, y)
    if (y > SMALL) is True and (y < inf) is True:
        return usual
    return _hypot_slope_at_ends(m, usual, y, a, b)


def _hypot_slope_at_ends(m: Any, usual: Any, y: Any, a: Any, b: Any) -> Any:
    def otherwise() -> Any:
        k, radius = _scaled_hypot(m, y, a, b)
        return m.div(k * a, radius)

    return m.usually((y > SMALL) & (y < inf), usual, otherwise)


def _hypot_bend(m: Any, y: Any, a: Any, b: Any) -> Any:
    """Return b*b / hypot(a, b)**3."""
    k, radius = _scaled_hypot(m, m.hypot(a, b), a, b)
    share = m.div(k * b, radius)
    return _unless_infinite(m, radius, a, b, (k * share) * m.div(share, radius))


def _hypot_mixed(m: Any, y: Any, a: Any, b: Any) -> Any:
    """Return -a*b / hypot(a, b)**3."""
    k, radius = _scaled_hypot(m, m.hypot(a, b), a, b)
    is_less = m.abs(a) < m.abs(b)
    small, large = m.where(is_less, a, b), m.where(is_less, b, a)
    bend = -m.div(k * (k * small), radius) * m.div(m.div(k * large, radius), radius)
    return _unless_infinite(m, radius, a, b, bend)


row(
    "hypot_slope",
    lambda m, a, b: _hypot_slope(m, m.hypot(a, b), a, b),
    (_hypot_bend, _hypot_mixed),
    probes=((3.0, 4.0), (10.0, 1e-7), (1e200, 1e200), (1e-310, -2e-310), (1.5e308, 1.5e308)),
    label="a/hypot",
    note="`a / hypot(a, b)`, the slope of `hypot`.",
)
row(
    "hypot",
    lambda m, a, b: m.hypot(a, b),
    (_hypot_slope, lambda m, y, a, b: _hypot_slope(m, y, b, a)),
    probes=((3.0, 4.0), (0.0, -2.0), (1e200, 1e200)),
    commutes=True,
    says=Says(
        "sqrt(a**2 + b**2)",
        (
            "a/sqrt(a**2 + b**2)",
            "b/sqrt(a**2 + b**2)",
        ),
        "any a, b",
    ),
)


def _atan2_slope(m: Any, a: Any, b: Any) -> Any:
    if m.rows:
        return m.rows["atan2_slope"](a, b)
    radius = m.hypot(a, b)  # a*a + b*b would overflow
    usual = m.div(m.div(a, radius), radius)
    if (radius >= 1.0) is True and (radius < inf) is True:
        return usual
    return _atan2_slope_at_ends(m, usual, radius, a, b)


def _atan2_slope_at_ends(m: Any, usual: Any, radius: Any, a: Any, b: Any) -> Any:
    def otherwise() -> Any:
        k, scaled = _scaled_hypot(m, radius, a, b)
        return m.div(m.div(k * (k * a), scaled), scaled)

    holds = ((radius >= 1.0) | (m.abs(a) >= SMALL)) & (radius < inf)
    return m.usually(holds, usual, otherwise)


def _square_bend(m: Any, y: Any, a: Any, b: Any) -> Any:
    """Return (b*b - a*a) / (a*a + b*b)**2."""
    k, radius = _scaled_hypot(m, m.hypot(a, b), a, b)
    p, q = k * (k * a), k * (k * b)
    bend = m.div(m.div(m.div(q - p, radius) * m.div(q + p, radius), radius), radius)
    return _unless_infinite(m, radius, a, b, bend)


def _square_mixed(m: Any, y: Any, a: Any, b: Any) -> Any:
    """Return -2*a*b / (a*a + b*b)**2."""
    k, radius = _scaled_hypot(m, m.hypot(a, b), a, b)
    p, q = k * (k * a), k * (k * b)
    bend = -2.0 * m.div(m.div(m.div(p, radius) * m.div(q, radius), radius), radius)
    return _unless_infinite(m, radius, a, b, bend)


row(
    "atan2_slope",
    _atan2_slope,
    (_square_bend, _square_mixed),
    probes=((1.0, 0.0), (1.0, -2.0), (1e-150, 1e-150), (1e-320, 1e-7), (1e200, 1e200)),
    label="a/(a²+b²)",
    note="`a / (a*a + b*b)`, the slope of `atan2` and `atan`.",
)
row(
    "atan",
    lambda m, x: m.atan(x),
    lambda m, y, x: _atan2_slope(m, 1.0, x),
    probes=(0.0, 1e-20, 1e155, -1e100),
    says=Says("atan(x)", ("1/(1 + x**2)",), "any x"),
)
row(
    "atan2",
    lambda m, y, x: m.atan2(y, x),
    (lambda m, out, y, x: _atan2_slope(m, x, y), lambda m, out, y, x: -_atan2_slope(m, y, x)),
    probes=((0.0, 1.0), (1.0, -2.0), (-1e-200, -1e-200), (1e200, 1e200)),
    says=Says(
        "atan2(y, x)",
        (
            "x/(x**2 + y**2)",
            "-y/(x**2 + y**2)",
        ),
        "any y, x",
    ),
)
row(
    "sinh",
    lambda m, x: m.sinh(x),
    lambda m, y, x: m.cosh(x),
    probes=(0.0, 1e-20, -700.0),
    says=Says("sinh(x)", ("cosh(x)",), "any x"),
)
row(
    "cosh",
    lambda m, x: m.cosh(x),
    lambda m, y, x: m.sinh(x),
    probes=(0.0, 1e-20, -700.0),
    says=Says("cosh(x)", ("sinh(x)",), "any x"),
)


def _bell(m: Any, x: Any) -> Any:
    if m.rows:
        return m.rows["bell"](x)
    decay = m.exp(-m.abs(x))
    return m.div(decay, (1.0 + decay) * (1.0 + decay))


row(
    "bell",
    _bell,
    lambda m, y, x: -m.tanh(0.5 * x) * y,
    probes=(0.0, 1e-20, 40.0, -700.0, 700.0),
    note="`e / (1 + e)**2` where `e` is `exp(-abs(x))`: the slope of `sigmoid` and `tanh`.",
)
row(
    "tanh",
    lambda m, x: m.tanh(x),
    lambda m, y, x: 4.0 * _bell(m, 2.0 * x),
    domain=(-5.0, 5.0),
    probes=(0.0, 1e-20, 15.0, -20.0, 355.0, 365.0),
    note="The derivative is accurate far out, where `1 - t*t` cancels.",
    says=Says("tanh(x)", ("1 - tanh(x)**2",), "any x"),
)

# ---- the normal distribution -----------------------------------------------------------------


def _head(m: Any, x: Any) -> Any:
    """Return the leading 26 bits of a number (Veltkamp): their square is exact."""
    x = m.number(x)
    spread = 134217729.0 * x
    return spread - (spread - x)


def _exp_square(m: Any, c: float, x: Any) -> Any:
    """Return exp(c * x * x) for c = -1 or -1/2, without the rounding of the square.

    A mathematics that can carry a rounding along has a word for it, which takes one exponential.
    """
    word = getattr(m, "exp_square", None)
    if word is not None:
        return word(c, x)
    head = _head(m, x)
    near = m.exp(c * head * head) * m.exp(c * (x - head) * (x + head))
    return m.where((x > 40.0) | (x < -40.0), 0.0, near)


_ERF_SLOPE = 2.0 / sqrt(pi)
_DENSITY = 1.0 / sqrt(2.0 * pi)
_ROOT2, _ROOT2_TAIL = 1.4142135623730951, -9.667293313452913e-17  # their sum has 32 digits
_ROOT2_HEAD = 1.4142135679721832
_ROOT2_REST = _ROOT2 - _ROOT2_HEAD


def _normal_density(m: Any, x: Any) -> Any:
    return _DENSITY * _exp_square(m, -0.5, x)


def _normal_cdf(m: Any, x: Any) -> Any:
    # erfc(-x/√2)/2, but far to the left erfc magnifies the rounding of x/√2 by x*x: so find out
    # for which x the rounded z stands, and correct by the density times the difference.
    z = x * -0.7071067811865476
    n = m.number(z)
    head = _head(m, n)
    tail = n - head
    product = _ROOT2 * n
    error = ((_ROOT2_HEAD * head - product) + _ROOT2_HEAD * tail + _ROOT2_REST * head) + (
        _ROOT2_REST * tail
    )
    missed = (m.number(x) + product) + (error + _ROOT2_TAIL * n)
    cdf = 0.5 * m.erfc(z) + _normal_density(m, x) * missed
    return m.where(x > 40.0, 1.0, m.where(x < -40.0, 0.0, cdf))


row(
    "erf",
    lambda m, x: m.erf(x),
    lambda m, y, x: _ERF_SLOPE * _exp_square(m, -1.0, x),
    domain=(-6.0, 6.0),
    probes=(0.0, 1e-20, -20.0),
    says=Says("erf(x)", ("2/sqrt(pi)*exp(-(x**2))",), "any x"),
)
row(
    "erfc",
    lambda m, x: m.erfc(x),
    lambda m, y, x: -_ERF_SLOPE * _exp_square(m, -1.0, x),
    domain=(-6.0, 6.0),
    probes=(0.0, 1e-20, 20.0),
    says=Says("1 - erf(x)", ("-2/sqrt(pi)*exp(-(x**2))",), "any x"),
)


def _mills(m: Any, x: Any) -> Any:
    """Return -x * Φ(x) / φ(x) for x < -37, by its expansion: the next term is below 2**-53."""
    square = m.div(m.div(1.0, x), x)
    total = 1.0
    for odd in (13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        total = 1.0 - odd * square * total
    return total


def _gelu(m: Any, x: Any) -> Any:
    usual = x * _normal_cdf(m, x)
    if (x > -37.0) is True:
        return usual
    # Far to the left Φ(x) is so small that it has lost digits, which x would magnify.
    return m.usually(x > -37.0, usual, lambda: -_mills(m, x) * _normal_density(m, x))


def _gelu_slope(m: Any, y: Any, x: Any) -> Any:
    usual = m.where(x > 40.0, 1.0, _normal_cdf(m, x) + x * _normal_density(m, x))
    if (x > -37.0) is True:
        return usual

    def otherwise() -> Any:
        head = _head(m, x)
        half = m.exp(-0.25 * head * head)  # φ(x) would have lost digits as well
        product = (_DENSITY * (x - m.div(_mills(m, x), x)) * half) * half
        near = product * m.exp(-0.5 * (x - head) * (x + head))
        return m.where(x < -40.0, 0.0, near)

    return m.usually(x > -37.0, usual, otherwise)


row(
    "gelu",
    _gelu,
    _gelu_slope,
    domain=(-8.0, 8.0),
    probes=(0.0, 1e-20, -30.0, -38.2, 1e3),
    note="The exact form, `x * Φ(x)`.",
    says=Says(
        "x*(1 + erf(x/sqrt(2)))/2",
        ("(1 + erf(x/sqrt(2)))/2 + x*exp(-(x**2)/2)/sqrt(2*pi)",),
        "any x",
    ),
)

# ---- activations -----------------------------------------------------------------------------


def _decay(m: Any, x: Any) -> Any:
    """Return exp(-|x|), differentiable at 0 from either side."""
    return m.exp(m.where(x < 0.0, x, -x))


def _logistic(m: Any, x: Any) -> Any:
    if m.rows:
        return m.rows["sigmoid"](x)
    decay = _decay(m, x)
    return m.div(m.where(x < 0.0, decay, 1.0), 1.0 + decay)


row(
    "sigmoid",
    _logistic,
    lambda m, y, x: _bell(m, x),
    probes=(0.0, 1e-20, 40.0, -700.0, 700.0),
    says=Says("1/(1 + exp(-x))", ("exp(-x)/(1 + exp(-x))**2",), "any x"),
)
row(
    "softplus",
    lambda m, x: m.where(x < 0.0, 0.0, x) + m.log1p(_decay(m, x)),
    lambda m, y, x: _logistic(m, x),
    probes=(0.0, 1e-20, 40.0, -700.0, 700.0),
    says=Says("log(1 + exp(x))", ("1/(1 + exp(-x))",), "any x"),
)

_E64 = 1.603810890548638e-28  # exp(-64)


def _times_exp(m: Any, c: Any, x: Any) -> Any:
    """Return c * exp(x) for -800 < x < -700, where exp(x) has lost digits that the product has."""
    return (c * _E64) * m.exp(x + 64.0)


def _silu(m: Any, x: Any) -> Any:
    usual = x * _logistic(m, x)
    if (x > -700.0) is True:
        return usual
    return m.usually(x > -700.0, usual, lambda: m.where(x < -800.0, -0.0, _times_exp(m, x, x)))


def _silu_slope(m: Any, y: Any, x: Any) -> Any:
    usual = _logistic(m, x) * (1.0 + x * _logistic(m, -x))
    holds = (x > -700.0) & (x < 700.0)
    if holds is True:
        return usual

    def otherwise() -> Any:
        left = m.where(x < 0.0, x, -x)
        rest = m.where(left < -800.0, 0.0, _times_exp(m, 1.0 + left, left))
        return m.where(x < 0.0, rest, 1.0 - rest)

    return m.usually(holds, usual, otherwise)


row(
    "silu",
    _silu,
    _silu_slope,
    probes=(0.0, 1e-20, -40.0, -700.0, 700.0, -738.1),
    says=Says("x/(1 + exp(-x))", ("(1 + exp(-x)*(1 + x))/(1 + exp(-x))**2",), "any x"),
)
row(
    "relu",
    lambda m, x: m.where(x <= 0.0, 0.0, x),
    lambda m, y, x: m.where(x > 0.0, 1.0, m.where(x <= 0.0, 0.0, y)),
    probes=(1e-300, -1e-300, 1e300),
    label="ReLU",
    note="The derivative at 0 is 0; nan stays nan.",
    says=Says("x if x > 0 else 0", ("1 if x > 0 else 0",), "any x"),
)
row(
    "leaky_relu",
    lambda m, x, slope: m.where(x > 0.0, x, slope * x),
    (
        lambda m, y, x, slope: m.where(x > 0.0, 1.0, m.where(x <= 0.0, slope, y)),
        lambda m, y, x, slope: m.where(x > 0.0, 0.0, m.where(x <= 0.0, x, y)),
    ),
    domain=(_WIDE, (0.0, 0.5)),
    probes=((1e-300, 0.01), (-1e300, 0.01)),
    note="The slope defaults to 0.01 and counts at 0.",
    says=Says(
        "x if x > 0 else slope*x",
        (
            "1 if x > 0 else slope",
            "0 if x > 0 else x",
        ),
        "any x",
    ),
)

# ---- choices ---------------------------------------------------------------------------------


def _share(m: Any, y: Any, ahead: Any, behind: Any, tie: Any) -> Any:
    return m.where(ahead, 1.0, m.where(behind, 0.0, m.where(tie, 0.5, y)))


row(
    "maximum",
    lambda m, a, b: m.where(a > b, a, m.where(a <= b, b, a + b)),
    (
        lambda m, y, a, b: _share(m, y, a > b, a < b, m.equal(a, b)),
        lambda m, y, a, b: _share(m, y, b > a, b < a, m.equal(a, b)),
    ),
    probes=((1.0, 1.0000000000000002), (-1e300, 1e300)),
    note="A tie shares the derivative, half and half; nan wins.",
    commutes=True,
    says=Says(
        "a if a > b else b",
        (
            "1 if a > b else 0",
            "0 if a > b else 1",
        ),
        "any a, b",
    ),
)
row(
    "minimum",
    lambda m, a, b: m.where(a < b, a, m.where(a >= b, b, a + b)),
    (
        lambda m, y, a, b: _share(m, y, a < b, a > b, m.equal(a, b)),
        lambda m, y, a, b: _share(m, y, b < a, b > a, m.equal(a, b)),
    ),
    probes=((1.0, 1.0000000000000002), (-1e300, 1e300)),
    note="A tie shares the derivative, half and half; nan wins.",
    commutes=True,
    says=Says(
        "a if a < b else b",
        (
            "1 if a < b else 0",
            "0 if a < b else 1",
        ),
        "any a, b",
    ),
)


def _clip_slope(m: Any, y: Any, x: Any, ends: tuple[Any, Any], slopes: tuple[float, ...]) -> Any:
    """Choose a slope by where x lies: below both bounds, above them or between."""
    below, above, between = slopes
    inside = m.where(m.equal(x, x), between, y)
    return m.where(x < ends[0], below, m.where(x > ends[1], above, inside))


row(
    "clip",
    lambda m, x, low, high: m.where(x < low, low, m.where(x > high, high, x)),
    (
        lambda m, y, x, *ends: _clip_slope(m, y, x, ends, (0.0, 0.0, 1.0)),
        lambda m, y, x, *ends: _clip_slope(m, y, x, ends, (1.0, 0.0, 0.0)),
        lambda m, y, x, *ends: _clip_slope(m, y, x, ends, (0.0, 1.0, 0.0)),
    ),
    domain=(_WIDE, (-4.0, -1.0), (1.0, 4.0)),
    probes=((0.5, -1.0, 1.0), (1e300, -1.0, 1.0), (-1e300, -1.0, 1.0)),
    note="At an edge the derivative is 1: the argument is still itself there. A bound that is nan "
    "bounds nothing.",
    says=Says(
        "low if x < low else high if x > high else x",
        (
            "1 if low <= x <= high else 0",
            "1 if x < low else 0",
            "1 if x > high else 0",
        ),
        "low <= high",
    ),
)
row(
    "where",
    lambda m, condition, a, b: m.where(condition, a, b),
    (
        lambda m, y, condition, a, b: 0.0,
        lambda m, y, condition, a, b: m.where(condition, 1.0, 0.0),
        lambda m, y, condition, a, b: m.where(condition, 0.0, 1.0),
    ),
    domain=((0.0, 1.0), _WIDE, _WIDE),
    note="An operand that was not selected is not in the graph: it contributes nothing, not even "
    "`0 * inf`.",
)

# ---- any number of operands ------------------------------------------------------------------

_LOGIT_PROBES = ((0.0,), (2.0, 2.0, 2.0), (1000.0, 0.0), (-1000.0, -1001.0, -1000.0), (50.0, 1e-3))


def _first_largest(m: Any, xs: Sequence[Any]) -> tuple[Any, Any]:
    """Return the largest argument and its position; a mathematics may know a quicker way."""
    largest, position = xs[0], 0
    for k, x in enumerate(xs[1:], start=1):
        position = m.where(x > largest, k, position)
        largest = m.where(x > largest, x, largest)
    return largest, position


def _placed(m: Any, xs: list[Any], position: Any, x: Any) -> list[Any]:
    """Return the list with `x` at a position, which may differ from lane to lane."""
    if type(position) is int:
        return [*xs[:position], x, *xs[position + 1 :]]
    return [m.where(m.equal(position, k), x, other) for k, other in enumerate(xs)]


def _weights(m: Any, xs: Sequence[Any]) -> tuple[Any, Any, Any, list[Any], Any]:
    """Return the largest argument, its number and position, exp(x - largest) for each, and a sum.

    Measured from the largest, nothing overflows. What is measured from is a number and nothing
    else: it does not matter, so no derivative goes that way. The sum is that of all weights but the
    largest's own, so that `log1p` can see how little they add to it: and how little the largest
    changes its own share.
    """
    find = getattr(m, "largest", None)
    largest, position = _first_largest(m, xs) if find is None else find(xs)
    origin = m.number(largest)
    weights = [_exp_sub(m, x, origin) for x in xs]
    return largest, origin, position, weights, m.sum(_placed(m, weights, position, 0.0))


def _log_add(m: Any, a: Any, origin: Any, rest: Any) -> Any:
    if m.rows:
        return m.rows["log_add"](a, origin, rest)
    return m.log1p((_exp_sub(m, a, origin) - 1.0) + rest)


def _logsumexp(m: Any, *xs: Any) -> Any:
    largest, origin, _, _, rest = _weights(m, xs)
    return origin + _log_add(m, largest, origin, rest)


def _softmax(m: Any, *xs: Any) -> list[Any]:
    largest, origin, position, weights, rest = _weights(m, xs)
    top = _exp_sub(m, largest, origin)
    total = top + rest
    shares = [m.div(weight, total) for weight in weights]
    return _placed(m, shares, position, m.div(1.0, 1.0 + m.div(rest, top)))


def _log_softmax(m: Any, *xs: Any) -> list[Any]:
    largest, origin, position, _, rest = _weights(m, xs)
    total = _log_add(m, largest, origin, rest)
    top = 0.0 - m.log1p(m.div(rest, _exp_sub(m, largest, origin)))
    return _placed(m, [(x - origin) - total for x in xs], position, top)


def _log_add_gradient(m: Any, y: Any, a: Any, origin: Any, rest: Any) -> list[Any]:
    weight = _exp_sub(m, a, origin)
    share = m.div(1.0, 1.0 + m.div(rest, weight))
    return [share, -share, m.div(1.0, weight + rest)]


row(
    "log_add",
    _log_add,
    tuple(lambda *xs, k=k: _log_add_gradient(*xs)[k] for k in range(3)),
    gradient=_log_add_gradient,
    domain=((0.0, 2.0), (-1.0, 0.0), (0.0, 30.0)),
    probes=((0.5, 0.5, 1e-20), (1000.0, 1000.0, 0.0), (-3.0, -3.0, 4.0)),
    label="log(exp(a-b)+c)",
    note="`log(exp(a - b) + c)` for an `a` that is `b`, or larger: what `logsumexp` is made of.",
)
row(
    "sum",
    lambda m, *xs: m.sum(xs),
    gradient=lambda m, y, *xs: [1.0] * len(xs),
    probes=((1.5,), (1.0, 1e100, 1.0), (0.1,) * 10),
    note="From left to right, as a chain of `+` would.",
    commutes=True,
)
row(
    "mean",
    lambda m, *xs: m.div(m.sum(xs), float(len(xs))),
    gradient=lambda m, y, *xs: [1.0 / len(xs)] * len(xs),
    probes=((1.5,), (0.1,) * 10),
    note="The sum over the count: infinite where the sum overflows.",
    commutes=True,
)
row(
    "dot",
    lambda m, *xs: m.sum(
        a * b for a, b in zip(xs[: len(xs) // 2], xs[len(xs) // 2 :], strict=True)
    ),
    gradient=lambda m, y, *xs: [*xs[len(xs) // 2 :], *xs[: len(xs) // 2]],
    probes=((2.0, 3.0), (1.0, 2.0, 3.0, 4.0)),
    note="The operands are those of the first list, then those of the second.",
)
row(
    "logsumexp",
    _logsumexp,
    gradient=lambda m, y, *xs: _softmax(m, *xs),
    domain=_LOGITS,
    probes=_LOGIT_PROBES,
    note="Stable: no overflow, and `-inf` weighs nothing beside larger ones. Infinities that are "
    "the largest share the derivative like equal numbers.",
    commutes=True,
)
row("softmax", _softmax, domain=_LOGITS, probes=_LOGIT_PROBES, note="One output each.")
row("log_softmax", _log_softmax, domain=_LOGITS, probes=_LOGIT_PROBES)


def _take(m: Any, index: Any, *xs: Any) -> Any:
    taken = xs[0]
    for k, x in enumerate(xs[1:], start=1):
        taken = m.where(m.equal(index, k), x, taken)
    return taken


row(
    "take",
    _take,
    gradient=lambda m, y, index, *xs: [
        0.0,
        *(m.where(m.equal(index, k), 1.0, 0.0) for k in range(len(xs))),
    ],
    note="The index comes first among the arguments and has no derivative.",
)
