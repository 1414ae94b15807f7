"""Whole numbers: as index, size, count and factor, beyond 2**53, and things that look like them."""

import math
import operator

import numpy as np

from minigrad import Value, take

from . import NEVER_WRONG, SAME, catalogue

row = catalogue("whole numbers")


def compare(name, function, ns, pin=SAME):
    """Add a row: a function of a number and a whole number, called with several."""

    def scenario(compiled):
        f = compiled(function)
        for n in ns:
            try:
                yield f(1.5, n)
            except (ArithmeticError, LookupError, ValueError) as error:
                yield type(error).__name__

    scenario.__name__ = name
    row(pin)(scenario)


COUNTS = (1, 2, 3, 2, 0, 5)
LARGE = 2**53

compare("a factor", lambda x, n: x * n, COUNTS)
compare("an index", lambda x, n: x * [1.0, 2.0, 4.0, 8.0, 16.0, 32.0][n], COUNTS)
compare("a negative index", lambda x, n: x * [1.0, 2.0, 4.0][n], (0, -1, -2, 1))
compare("an index out of range", lambda x, n: x * [1.0, 2.0][n], (0, 5, 1))
compare("an index by take", lambda x, n: take([x, x * 2.0, x * 3.0], n), (0, 2, 1, -1))
compare("take out of range", lambda x, n: take([x, x * 2.0, x * 3.0], n), (0, 5, 1, -4))
compare("a slice", lambda x, n: x * sum([1.0, 2.0, 4.0, 8.0][:n]), COUNTS)
compare("a stride", lambda x, n: x * sum([1.0, 2.0, 4.0, 8.0][:: n + 1]), COUNTS)
compare("a loop count", lambda x, n: x * sum(range(n)), COUNTS)
compare("a size", lambda x, n: sum([x] * n, Value(0.0)), COUNTS)
compare("a power", lambda x, n: x**n, COUNTS)
compare("a base", lambda x, n: n**x, (1, 2, 3))
compare("parity", lambda x, n: x * 2.0 if n % 2 else x, COUNTS)
compare("parity by a bit", lambda x, n: x * 2.0 if n & 1 else x, COUNTS)
compare("shifts", lambda x, n: x * (1 << n) + (n >> 1), COUNTS)
compare("floor division and rest", lambda x, n: x * (n // 2) + n % 3, COUNTS)
compare("true division", lambda x, n: x * (n / 2), COUNTS)
compare("division by a whole number", lambda x, n: x / n, (1, 2, 4))
compare("a number divided by a whole number", lambda x, n: x * (1 / n), (1, 2, 0, 4))
compare("the greatest common divisor", lambda x, n: x * math.gcd(n, 6), COUNTS)
compare("the factorial", lambda x, n: x * math.factorial(n), COUNTS)
compare("the text of it", lambda x, n: x * len(str(n)), (1, 10, 100, 5))
compare("the length of its bits", lambda x, n: x * n.bit_length(), (1, 2, 255, 3))
compare("zero decides", lambda x, n: x * 2.0 if n else x, COUNTS)
compare("compared with the argument", lambda x, n: x * 2.0 if x > n else x, COUNTS)
compare("the complement", lambda x, n: x * ~n, COUNTS)
compare("a table by key", lambda x, n: x * {1: 2.0, 2: 9.0}.get(n, 1.0), COUNTS)
compare("operator index", lambda x, n: x * operator.index(n), COUNTS)
compare("a float of it", lambda x, n: x * float(n), COUNTS)
compare("is it an int", lambda x, n: x * 2.0 if isinstance(n, int) else x, (1, 1.0, True, 2))
compare("is it a bool", lambda x, n: x * 2.0 if isinstance(n, bool) else x, (1, True, 0, False))
compare("true and one", lambda x, n: x * len(str(n)), (1, True, 0, False, 1))
compare("beyond the floats", lambda x, n: x * (n % 10), (LARGE + 1, LARGE + 2, LARGE + 3))
compare("around the limit", lambda x, n: x * (n % 10), (LARGE - 1, LARGE, LARGE + 1, -LARGE))
compare("a sum beyond the floats", lambda x, n: x * ((2**60 + n) % 10), (1, 2, 3), NEVER_WRONG)
compare(
    "a product beyond the floats",
    lambda x, n: x * ((n * n * n * n) % 1000),
    (300001, 300002),
    NEVER_WRONG,
)
compare(
    "a difference of fourth powers",
    lambda x, n: x * (n * n * n * n - (n * n - 1) * (n * n + 1)),
    (3, 300001, 7),
    NEVER_WRONG,
)
compare(
    "a negated sum beyond the floats", lambda x, n: x * (-(2**60 + n) % 7), (1, 2, 3), NEVER_WRONG
)
compare(
    "a hash by hand",
    lambda x, n: x * ((n * 6364136223846793005 + 1) % 1000),
    (1, 2, 3),
    NEVER_WRONG,
)
compare("a seed mixed by xor", lambda x, n: x * (((n + 2**55) ^ 5) % 1000), (1, 2, 3), NEVER_WRONG)
compare("larger than any float", lambda x, n: x * (n % 7), (10**400, 10**400 + 1))
compare("a label of numpy", lambda x, n: x * [1.0, 2.0, 4.0][n], tuple(np.array([0, 2, 1])))
compare(
    "whole numbers of several widths", lambda x, n: x * n, (np.int8(3), np.uint16(4), np.int64(5))
)
compare("an overflow of a small one", lambda x, n: x * (n + n), (np.int64(100), np.int32(100)))


@row()
def an_int8_overflows(compiled):
    f = compiled(lambda x, n: x * float(n * np.int8(2)))
    with np.errstate(all="ignore"):
        yield f(1.0, np.int8(100))
        yield f(1.0, np.int8(3))


@row(limit="inside, an array of numbers is one of objects, which do not wrap round")
def a_uint8_wraps_in_an_array(compiled):
    f = compiled(lambda x, pixels: x * (pixels[0] - pixels[1]))
    with np.errstate(all="ignore"):
        yield f(1.0, np.array([1, 2], dtype=np.uint8))
        yield f(1.0, np.array([3, 2], dtype=np.uint8))


@row(SAME)
def an_array_of_labels(compiled):
    rows = [[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]]
    f = compiled(
        lambda labels: sum(take(row, label) for row, label in zip(rows, labels, strict=True))
    )
    labels = np.array([0, 1])
    yield f(labels)
    labels[0] = 1
    yield f(labels)
    yield f([1, 0])


@row(SAME)
def labels_as_an_index_list(compiled):
    logits = [Value(1.0), Value(2.0), Value(3.0)]
    f = compiled(lambda labels: sum(logits[k] for k in labels))
    yield f([0, 1]), f([2, 2]), f(np.array([1, 2])), f((0, 0))


@row(SAME)
def more_ways_than_there_is_room_for(compiled):
    f = compiled(lambda x, n: x * [float(k) for k in range(40)][n])
    yield [f(1.0, n) for n in range(40)]
    yield [f(2.0, n) for n in range(40)]


@row(SAME)
def more_ways_and_a_global_that_changes(compiled):
    scale = 1.0
    f = compiled(lambda x, n: x * scale * [float(k) for k in range(20)][n])
    yield [f(1.0, n) for n in range(20)]
    scale = 3.0
    yield [f(1.0, n) for n in range(20)]


@row(SAME)
def a_float_where_there_was_an_int(compiled):
    f = compiled(lambda x, n: x * n)
    yield f(1.0, 2), f(1.0, 2.5), f(1, 2), f(1, 2.5), f(2, 3.0)


@row(SAME)
def an_int_first_and_its_gradient(compiled):
    f = compiled(lambda x, n: x * x * n)
    for n in (2, 3):
        x = Value(1.5)
        f(x, n).backward()
        yield x.grad


@row(SAME)
def the_number_of_heads_is_global(compiled):
    heads = 2
    f = compiled(lambda xs: sum(x * (k % heads) for k, x in enumerate(xs)))
    xs = [1.0, 2.0, 3.0, 4.0]
    yield f(xs)
    heads = 4
    yield f(xs)


@row(SAME)
def a_length_is_used(compiled):
    f = compiled(lambda xs: sum(xs) / len(xs))
    yield f([1.0, 2.0]), f([1.0, 2.0, 6.0]), f([4.0])


@row()
def a_whole_number_comes_back(compiled):
    f = compiled(lambda x, n: (x, n + 1, n, n * 2.0, n > 1))
    for n in (1, 2):
        found = f(1.0, n)
        yield found
        yield [type(part).__name__ for part in found[1:]]


@row()
def a_large_whole_number_comes_back(compiled):
    f = compiled(lambda x, n: (x, n * n * n))
    yield f(1.0, 3)[1]
    yield f(1.0, 3000001)[1]
