"""Values, first and second derivatives of every operation against mpmath, at all sizes of floats.

`accuracy.py` draws the points and measures. Errors are in ulps over the condition number: what no
formula can avoid, because the arguments themselves are rounded, does not count against one.
"""

from __future__ import annotations

import math

import accuracy
import mpmath as mp
import pytest
from accuracy import ROWS, points, survey
from closed_forms import FIRST, SECOND
from precise import DEFINITION

import minigrad
from minigrad.compiler.backends import native
from minigrad.core.ops import OPS
from minigrad.maths import floats as ieee

POINTS = 250  # for each operation on the eager engine
FEWER = 60  # with `compile`, where every point takes a call for each argument
LIMIT = 4.0
SECOND_LIMIT = 16.0
BACKENDS = ["numpy", "native"] if native.available() else ["numpy"]

every_row = pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)


def judge(found):
    """Hold the worst errors of a row against the limits."""
    assert found.value.weighed <= LIMIT, found
    assert found.first.weighed <= 2 * LIMIT, found
    assert found.second.weighed <= SECOND_LIMIT, found


@every_row
def test_eager_derivatives_at_all_sizes(op):
    judge(survey(op, POINTS))


@pytest.mark.parametrize("backend", BACKENDS)
@every_row
def test_compiled_derivatives_at_all_sizes(op, backend):
    judge(survey(op, FEWER, seed=1, way=backend))


# ---- what is measured with -----------------------------------------------------------------------


@every_row
def test_closed_forms_are_the_derivatives_that_mpmath_finds(op):
    few = [xs for xs in points(op, 40, seed=2) if all(1e-3 < abs(x) < 20.0 for x in xs)][:4]
    for arguments in few:
        exact = [mp.mpf(x) for x in arguments]
        for order, form, below in ((1, FIRST, DEFINITION), (2, SECOND, FIRST)):
            with mp.workdps(60):
                found = accuracy.listed(form[op.name](*exact))
                for i, right in enumerate(differences(below[op.name], exact)):
                    assert found[i] is None or mp.almosteq(found[i], right, 1e-20), (order, i)


def differences(form, exact):
    """Differentiate every result of a form by every argument."""
    flat = accuracy.listed(form(*exact))
    for i, result in enumerate(flat):
        for k, at in enumerate(exact):

            def along(x, i=i, k=k):
                return accuracy.listed(form(*exact[:k], x, *exact[k + 1 :]))[i]

            yield mp.diff(along, at) if result is not None else None


@pytest.mark.parametrize("level", ["value", "first", "second"])
def test_a_small_error_is_noticed(monkeypatch, level):
    # Far below what a test with a tolerance of 1e-12 would see.
    right = accuracy.eager(OPS["sin"])

    def wrong(x):
        (value, (slope,), ((bend,),)) = right(x)[0]
        spoilt = {"value": value, "first": slope, "second": bend}
        spoilt[level] *= 1.0 + 2e-14
        return [(spoilt["value"], [spoilt["first"]], [[spoilt["second"]]])]

    monkeypatch.setitem(accuracy.WAYS, "eager", lambda op: wrong)
    with pytest.raises(AssertionError):
        judge(survey(OPS["sin"], 50))


def test_points_reach_both_ends_of_the_range():
    for op in ROWS:
        sizes = [abs(x) for xs in points(op, 500) for x in xs if x]
        assert min(sizes) < 1e-290
        if op.name not in ("asin", "acos"):
            assert max(sizes) > (1e140 if op.name == "dot" else 1e290)


# ---- second derivatives that used to cancel ------------------------------------------------------


def second(name, arguments, way):
    """The matrix of second derivatives, eagerly or by `hvp`."""
    return accuracy.WAYS[way](OPS[name])(*arguments)[0][2]


E40, LOG = math.exp(-40.0), math.log(5e-9)
# Of an angle beside 45 degrees: 2xy and (y - x)(y + x), over the square of x² + y².
_D = 2.0**-40
BENT, MIXED = (z / (2.0 + 2.0 * _D + _D * _D) ** 2 for z in (2.0 + 2.0 * _D, -_D * (2.0 + _D)))


@pytest.mark.parametrize("way", ["eager", *BACKENDS])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("hypot", (10.0, 1e-7), [[1e-17, -1e-9], [-1e-9, 0.1]]),
        ("tanh", (1e-12,), [[-2e-12]]),
        ("sigmoid", (1e-12,), [[-1.25e-13]]),
        ("logsumexp", (40.0, 0.0), [[E40, -E40], [-E40, E40]]),
        ("pow", (1e-180, 1e-100), [[-1e260, 1e180], [1e180, math.log(1e-180) ** 2]]),
        ("pow", (5e-9, 5e-324), [[-5e-324 * 2**60 / 25e-18 / 2**60, 2e8], [2e8, LOG * LOG]]),
        ("atan2", (1e-120, 1e-120), [[-5e239, 0.0], [0.0, 5e239]]),
        ("atan2", (1.0, 1.0 + 2.0**-40), [[-BENT, MIXED], [MIXED, BENT]]),
    ],
)
def test_second_derivatives_do_not_cancel(name, arguments, expected, way):
    for row, right in zip(second(name, arguments, way), expected, strict=True):
        assert row == pytest.approx(right, rel=1e-13, abs=0.0)


# ---- the ends of the range -----------------------------------------------------------------------


@pytest.mark.parametrize("way", ["eager", *BACKENDS])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("hypot", (1.5e308, 1.5e308), (math.inf, [math.sqrt(0.5)] * 2)),
        ("hypot", (5e-324, -5e-324), (5e-324, [math.sqrt(0.5), -math.sqrt(0.5)])),
        ("pow", (1.3e-309, 2e-9), (1.3e-309**2e-9, [2e-9 * (1.3e-309**2e-9 / 1.3e-300) * 1e9])),
        (
            "div",
            (1.43e-321, -1.5e-7),
            (1.43e-321 / -1.5e-7, [-1 / 1.5e-7, -1.43e-321 * 2**60 / 2.25e-14 / 2**60]),
        ),
        (
            "atan2",
            (1.7e-7, 6.8e-322),
            (math.pi / 2, [6.8e-322 * 2**60 / 2.89e-14 / 2**60, -1 / 1.7e-7]),
        ),
    ],
)
def test_slopes_at_the_ends_of_the_range(name, arguments, expected, way):
    value, slopes, _ = accuracy.WAYS[way](OPS[name])(*arguments)[0]
    assert value == pytest.approx(expected[0], rel=1e-15)
    count = len(expected[1])
    assert slopes[:count] == pytest.approx(expected[1], rel=1e-13, abs=0.0)


@pytest.mark.parametrize("way", ["eager", *BACKENDS])
@pytest.mark.parametrize(
    ("name", "low", "high"), [("silu", -746.0, -700.0), ("gelu", -38.5, -37.0)]
)
def test_digits_are_kept_until_the_floats_end(name, low, high, way):
    steps = [low + (high - low) * k / 97 for k in range(98)]
    found = survey(OPS[name], 0, way=way, among=[(x,) for x in steps])
    assert found.value.ulps <= LIMIT, found
    assert found.first.ulps <= 2 * LIMIT, found


@pytest.mark.parametrize("way", ["eager", *BACKENDS])
def test_exponents_that_minus_one_does_not_change(way):
    # 2**53 + 2 - 1 is 2**53 in floats; there are hundreds of ulps between the powers.
    near_one = 1.0 + 2.0**-45
    among = [(x, n) for n in (2.0**53 + 2, 1.3e16, -2.5e16) for x in (near_one, 2.0 - near_one)]
    found = survey(OPS["pow"], 0, way=way, among=among)
    assert found.first.ulps <= 2 * LIMIT, found


@pytest.mark.parametrize("way", ["numbers", "eager", *BACKENDS])
def test_a_share_of_nothing_is_not_minus_nothing(way):
    xs = [1e20, -3.3]
    if way == "numbers":
        shares = minigrad.softmax(xs)
    else:
        shares = [value for value, _, _ in accuracy.WAYS[way](OPS["softmax"])(*xs)]
    assert shares == [1.0, 0.0]
    assert math.copysign(1.0, shares[1]) == 1.0


def test_a_difference_larger_than_all_exponents_has_an_exponential():
    assert OPS["exp_sub"].value(ieee, 3.3, -1e20) == math.inf


@pytest.mark.parametrize("way", ["eager", *BACKENDS])
def test_a_mean_overflows_where_its_sum_does(way):
    # As docs/engine.md says: it is the sum over the count in every way to run it.
    value, slopes, _ = accuracy.WAYS[way](OPS["mean"])(1e308, 1e308)[0]
    assert (value, slopes) == (math.inf, [0.5, 0.5])


@pytest.mark.parametrize("way", ["eager", *BACKENDS])
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [  # limits of the formulas, with the arguments coming from above
        ("hypot", (3.0, math.inf), [[0.0, 0.0], [0.0, 0.0]]),
        ("hypot", (-math.inf, 2.0), [[0.0, 0.0], [0.0, 0.0]]),
        ("atan2", (3.0, -math.inf), [[0.0, 0.0], [0.0, 0.0]]),
        ("pow", (0.0, 0.5), [[-math.inf, -math.inf], [-math.inf, 0.0]]),
        ("pow", (0.0, 0.0), [[0.0, math.inf], [math.inf, 0.0]]),
        ("pow", (0.0, 2.5), [[0.0, 0.0], [0.0, 0.0]]),
    ],
)
def test_second_derivatives_at_zero_and_infinity(name, arguments, expected, way):
    if way != "eager" and any(math.isinf(x) for row in expected for x in row):
        pytest.skip("the matrix times a column of the identity has 0 times infinity in it")
    (_, _, matrix), *_ = accuracy.WAYS[way](OPS[name])(*arguments)
    assert matrix == expected
