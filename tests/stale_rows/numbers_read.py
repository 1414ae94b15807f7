"""Numbers that are read out of Values: printed, rounded, sorted, used as keys, put into NumPy."""

import bisect
import cmath
import copy
import decimal
import fractions
import itertools
import json
import math
import operator
import pickle
import statistics
import struct

import numpy as np

from minigrad import Value, no_grad, softmax, take, where

from . import SAME, catalogue

row = catalogue("numbers read")

XS = (0.3, 1.7, -2.5, 0.3, 3.0, 1.2)


def compare(name, function, xs=XS, plain=False, limit=""):
    """Add a row: a function of one number, called with several."""

    def scenario(compiled):
        f = compiled(function, plain=plain)
        for x in xs:
            try:
                yield f(x)
            except (ArithmeticError, LookupError, ValueError) as error:
                yield type(error).__name__

    scenario.__name__ = name
    row(limit=limit)(scenario)


compare("a formatted number", lambda x: x * float(f"{x.data:.1f}"))
compare("the text of a number", lambda x: x * len(str(x.data)))
compare("the text of a value", lambda x: x * len(str(x)))
compare("percent formatting", lambda x: x * float("%.1f" % x.data))  # noqa: UP031 - as in old code
compare("format with a width", lambda x: x * len("{:>{}}".format(1, int(abs(x.data)) + 1)))
compare("round to whole", lambda x: x * round(x.data))
compare("round to digits", lambda x: x * round(x.data, 1))
compare("int of data", lambda x: x * int(x.data))
compare("floor and ceil", lambda x: x * math.floor(x.data) + math.ceil(x.data))
compare("trunc", lambda x: x * math.trunc(x.data))
compare("math exp of data", lambda x: x * math.exp(x.data))
compare("math exp of the argument", lambda x: x * math.exp(x), plain=True)
compare("math functions of two", lambda x: x * math.atan2(x.data, 2.0) + math.hypot(x.data, 1.0))
compare("fsum and prod", lambda x: x * math.fsum([x.data, 1.0]) + math.prod([x.data, 2.0]))
compare("a new value of data", lambda x: Value(x.data) * x)
compare("a new value of the argument", lambda x: Value(x) * 2.0, plain=True)
compare("detach", lambda x: x.detach() * x)
compare("a check for nan", lambda x: x * 2.0 if not math.isnan(x.data) else x * 0.0 + 1.0)
compare(
    "a check for nan that comes later",
    lambda x: Value(-1.0) if math.isnan(x.data) else x * 2.0,
    (1.0, math.nan, 2.0, math.inf, math.nan),
)
compare("nan is not itself", lambda x: Value(-1.0) if x.data != x.data else x, (1.0, math.nan, 2.0))
compare(
    "is finite", lambda x: x if math.isfinite(x.data) else Value(0.0), (1.0, math.inf, -math.inf)
)
compare("the fraction", lambda x: x * (x.data % 1))
compare("the fraction of the argument", lambda x: x * (x % 1), plain=True)
compare("an argument rounded", lambda x: x * round(x, 1), plain=True)
compare("an argument formatted", lambda x: x * len(f"{x:.3f}"), plain=True)
compare("an argument made whole", lambda x: x * int(x), plain=True)
compare("numpy exp of the argument", lambda x: x * np.exp(x), plain=True)
compare(
    "an argument is a float",
    lambda x: x * 2.0 if isinstance(x, float) else x,
    plain=True,
    limit="a float argument is a Value inside",
)
compare("floor division of the argument", lambda x: x * (x // 0.7), plain=True)
compare("divmod", lambda x: x * divmod(x.data, 0.7)[0] + divmod(x.data, 0.7)[1])
compare("floor division", lambda x: x * (x.data // 0.5))
compare("fmod and remainder", lambda x: x * math.fmod(x.data, 0.7) + math.remainder(x.data, 0.7))
compare("modf and frexp", lambda x: x * math.modf(x.data)[0] + math.frexp(x.data)[1])
compare("as integer ratio", lambda x: x * x.data.as_integer_ratio()[1])
compare("is integer", lambda x: x * 2.0 if x.data.is_integer() else x)
compare("hex and back", lambda x: x * float.fromhex(x.data.hex()))
compare("packed into bytes", lambda x: x * struct.unpack("<d", struct.pack("<d", x.data))[0])
compare("json and back", lambda x: x * json.loads(json.dumps({"x": x.data}))["x"])
compare("pickled and back", lambda x: x * pickle.loads(pickle.dumps(float(x.data))))
compare(
    "a decimal",
    lambda x: x * float(decimal.Decimal(float(x.data)).quantize(decimal.Decimal("0.1"))),
)
compare(
    "a fraction limited",
    lambda x: x * float(fractions.Fraction(float(x.data)).limit_denominator(7)),
)
compare("copied", lambda x: copy.copy(x.data) * x + copy.deepcopy(x.data))
compare("the sign", lambda x: x * math.copysign(1.0, x.data), (1.0, -1.0, 0.0, -0.0))
compare("the bool of data", lambda x: x * 2.0 if x.data else Value(7.0), (1.0, 0.0, -0.0, 2.0))
compare("the bool of the argument", lambda x: x * 2.0 if x else Value(7.0), (1.0, 0.0, -0.0, 2.0))
compare("or with a default", lambda x: (x or 5.0) * 2.0, (1.0, 0.0, 2.0))
compare("a chain of comparisons", lambda x: x * 2.0 if 0.0 < x.data < 2.0 else x)
compare("a number as key", lambda x: x * {0.3: 2.0, 3.0: 9.0}.get(x.data, 1.0))
compare("an argument as key", lambda x: x * {0.3: 2.0, 3.0: 9.0}.get(x, 1.0))
compare("a number in a tuple", lambda x: x * 2.0 if x.data in (0.3, 3.0) else x)
compare("an argument in a tuple", lambda x: x * 2.0 if x in (0.3, 3.0) else x)
compare("index of a number", lambda x: x * [0.3, 1.7, -2.5, 3.0, 1.2].index(x.data))
compare("count of a number", lambda x: x * [0.3, 0.3, 3.0].count(x.data))
compare("bisect", lambda x: x * bisect.bisect([-1.0, 0.5, 1.5], x.data))
compare("a bucket", lambda x: x * [10.0, 20.0, 30.0][min(2, max(0, int(x.data)))])
compare("a step of relu by hand", lambda x: x * (x.data > 0))
compare("a clip by hand", lambda x: x * min(max(x.data, -1.0), 1.0))
compare("max with a default", lambda x: x * max([v for v in [x.data] if v > 1.0], default=0.5))
compare("max with a key", lambda x: max([x, x * 2.0, x - 1.0], key=lambda v: v.data))
compare("min with a key of another", lambda x: min([x, x * x], key=lambda v: abs(v.data - 1.0)))
compare("sorted by data", lambda x: sorted([x, x * x, x + 1.0], key=lambda v: v.data)[0] * 2.0)
compare("sorted in reverse", lambda x: sorted([x.data, 1.0, 0.0], reverse=True)[0] * x)
compare("argmax by enumerate", lambda x: x * max(enumerate([x.data, 1.0]), key=lambda t: t[1])[0])
compare("argmax by range", lambda x: x * max(range(2), key=lambda k: [x.data, 1.0][k]))
compare("any and all", lambda x: x * 2.0 if any(v > 1.0 for v in (x.data, -x.data)) else x)
compare("takewhile", lambda x: x * len(list(itertools.takewhile(lambda k: k < x.data, range(5)))))
compare("a while loop of halving", lambda x: halved(x))
compare("accumulate", lambda x: x * list(itertools.accumulate([x.data, 1.0], operator.mul))[-1])
compare("the mean of statistics", lambda x: x * statistics.mean([x.data, 1.0]))
compare(
    "fmean and stdev",
    lambda x: x * statistics.fmean([x.data, 1.0]) + statistics.stdev([x.data, 9.0]),
)
compare("the median", lambda x: x * statistics.median([x.data, 1.0, 0.0]))
compare("numpy exp of data", lambda x: x * float(np.exp(x.data)))
compare("numpy of a list of data", lambda x: x * float(np.mean([x.data, 1.0])))
compare("numpy array of data", lambda x: x * np.array([x.data, 1.0]).sum())
compare("numpy argmax", lambda x: x * float(np.argmax(np.array([1.0, x.data]))))
compare("numpy where", lambda x: x * float(np.where(x.data > 1.0, 2.0, 3.0)))
compare("numpy clip", lambda x: x * float(np.clip(x.data, -1.0, 1.0)))
compare("numpy isnan", lambda x: x if not np.isnan(x.data) else Value(0.0), (1.0, math.nan, 2.0))
compare("numpy digitize", lambda x: x * float(np.digitize(x.data, [0.0, 1.0, 2.0])))
compare("numpy float64 of data", lambda x: np.float64(x.data) * x)
compare("numpy maximum and sign", lambda x: x * np.maximum(x.data, 0.5) + np.sign(x.data))
compare(
    "numpy full and linspace", lambda x: x * np.full(2, x.data).sum() + np.linspace(0, x.data, 3)[1]
)
compare("numpy interpolation", lambda x: x * float(np.interp(x.data, [0.0, 1.0], [5.0, 7.0])))
compare("numpy put into an array made inside", lambda x: x * _put(x.data))
compare("numpy of values", lambda x: np.array([x, x * 2.0]).sum())
compare(
    "a complex number", lambda x: x * abs(complex(x.data, 1.0)) + cmath.phase(complex(x.data, 1.0))
)
compare("a power of data", lambda x: x * x.data**2 + 2.0**x.data, (0.3, 1.7, 2.5))
compare("a power by a whole argument", lambda x: x ** int(abs(x.data)))
compare("a text repeated", lambda x: x * len("ab" * int(abs(x.data))))
compare("range over data", lambda x: sum((x for _ in range(int(abs(x.data)))), Value(0.0)))
compare("the hash of a number", lambda x: x * (hash(x.data) % 7))
compare("the type of a number", lambda x: x * (2.0 if isinstance(x.data, float) else 3.0))
compare("the exact type of a number", lambda x: x * (2.0 if type(x.data) is float else 3.0))
compare("the type of an argument", lambda x: x * (2.0 if isinstance(x, Value) else 3.0))
compare("a set of numbers", lambda x: x * len({x.data, 0.3, 3.0}))
compare("ternary inside where", lambda x: where(x > (1.0 if x.data > 0 else -1.0), x * 2.0, x))
compare("a condition as a number", lambda x: x * ((x > 0) + (x > 1.0)))
compare("a condition as an index", lambda x: x * [10.0, 20.0][x > 1.0])
compare("not and xor", lambda x: x * (2.0 if not x > 1.0 else 3.0) + ((x > 0) ^ (x > 1.0)))
compare("softmax subtracts the largest", lambda x: softmax([x, 1.0, x * x])[0])
compare("read inside no grad", lambda x: quietly(x))
compare(
    "take by a number that was read", lambda x: take([x, x * 2.0, x * 3.0], int(abs(x.data)) % 3)
)
compare("unary plus, minus, abs", lambda x: x * +x.data - -x.data + abs(x.data))
compare("a number divides", lambda x: 1.0 / x.data * x, (1.0, 2.0, 0.0, 4.0))
compare("a value divides by zero", lambda x: 1.0 / x, (1.0, 0.0, -0.0, 4.0))
compare("an overflow that raises", lambda x: x * math.exp(x.data), (1.0, 1000.0, 2.0))
compare("an overflow of a power that raises", lambda x: x * x.data**400, (1.0, 1000.0, 2.0))
compare("a square root that raises", lambda x: x * math.sqrt(x.data), (1.0, -1.0, 4.0))
compare("a log that raises", lambda x: x * math.log(x.data), (1.0, 0.0, 4.0))
compare("an assertion", lambda x: asserted(x), (1.0, -1.0, 4.0))


def halved(x):
    while x.data > 1.0:
        x = x * 0.5
    return x


def asserted(x):
    if not x.data > 0:
        raise ValueError("negative")
    return x * 2.0


def quietly(x):
    with no_grad():
        y = x * 2.0
        number = y.data
    return x * number + y


def _put(number):
    made = np.zeros(2)
    made[0] = number
    return float(made.sum())


@row(SAME)
def the_best_so_far_is_kept_outside(compiled):
    f = compiled(lambda x: x * x)
    best = math.inf
    for x in (3.0, 1.0, 2.0):
        loss = f(x).data
        best = min(best, loss)
        yield best


@row()
def map_of_value_over_a_row(compiled):
    w = Value(2.0)
    f = compiled(lambda xs: sum(w * x for x in map(Value, xs)), plain=True)
    yield f([1.0, 2.0])
    yield f([3.0, 4.0])
    f([3.0, 4.0]).backward()
    yield w.grad


@row()
def map_of_float_over_a_row(compiled):
    w = Value(2.0)
    f = compiled(lambda xs: sum(w * float(x.data) for x in xs))
    yield f([1.0, 2.0])
    yield f([3.0, 4.0])


@row()
def a_comparison_is_stored_and_used_twice(compiled):
    def f(x, y):
        is_more = x > y
        z = where(is_more, x, y)
        if is_more:
            z = z * 10.0
        return z

    g = compiled(f)
    yield g(1.0, 2.0), g(2.0, 1.0), g(1.0, 1.0)


@row()
def a_sort_with_ties(compiled):
    f = compiled(lambda xs: sorted(xs, key=lambda v: v.data)[1] * 2.0)
    yield f([1.0, 1.0, 2.0])
    yield f([2.0, 1.0, 1.0])
    yield f([3.0, 2.0, 1.0])


@row()
def the_median_by_hand_and_its_gradient(compiled):
    xs = [Value(3.0), Value(1.0), Value(2.0)]
    f = compiled(lambda: sorted(xs)[1] * 2.0)
    for first in (3.0, 1.5, 0.0):
        xs[0].data = first
        for x in xs:
            x.grad = 0.0
        y = f()
        y.backward()
        yield y, [x.grad for x in xs]
