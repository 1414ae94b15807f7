"""The structure of arguments: kinds of keys, tuples and lists, arrays, defaults, keywords."""

from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np

from minigrad import Value

from . import SAME, catalogue

row = catalogue("structure of arguments")


@row(SAME)
def keys_one_true_and_one_point_zero(compiled):
    f = compiled(lambda table: sum(v * len(str(k)) for k, v in table.items()))
    yield f({1: 1.0}), f({True: 1.0}), f({1.0: 1.0}), f({1: 1.0})


@row(SAME)
def keys_zero_and_minus_zero(compiled):
    f = compiled(lambda table: sum(v * len(str(k)) for k, v in table.items()))
    yield f({0: 1.0}), f({False: 1.0}), f({0.0: 1.0}), f({-0.0: 1.0})


@row(SAME)
def keys_in_tuples(compiled):
    f = compiled(lambda table: sum(v * len(str(k)) for k, v in table.items()))
    yield f({(1, 2): 1.0}), f({(1, 2.0): 1.0}), f({(True, 2): 1.0})


@row(SAME)
def keys_in_another_order(compiled):
    f = compiled(lambda table: sum(v * k for k, v in enumerate(table.values())))
    yield f({"a": 1.0, "b": 2.0}), f({"b": 2.0, "a": 1.0})


@row(SAME)
def keywords_in_another_order(compiled):
    f = compiled(lambda **table: sum(v * k for k, v in enumerate(table.values())))
    yield f(a=1.0, b=2.0), f(b=2.0, a=1.0)


@row(SAME)
def by_place_and_by_name(compiled):
    f = compiled(lambda a, b=2.0, *, c=3.0: a * 100.0 + b * 10.0 + c)
    yield f(1.0), f(1.0, 5.0), f(1.0, b=6.0), f(a=1.0, c=7.0), f(1.0, c=7.0, b=1.0)


@row(SAME)
def a_star_of_arguments(compiled):
    f = compiled(lambda *xs, scale=1.0: sum(xs) * scale * len(xs))
    yield f(1.0), f(1.0, 2.0), f(1.0, 2.0, 3.0), f(1.0, scale=5.0)


@row(SAME)
def tuples_and_lists(compiled):
    f = compiled(lambda xs: xs[0] * (2.0 if isinstance(xs, tuple) else 3.0))
    yield f((1.0, 2.0)), f([1.0, 2.0]), f((1.0, 2.0))


@row(SAME)
def nested_differently(compiled):
    f = compiled(lambda xs: sum(x * len(row) for row in xs for x in row))
    yield f([[1.0, 2.0], [3.0]]), f([[1.0], [2.0, 3.0]]), f([[1.0, 2.0, 3.0], []])


@row(SAME)
def nothing_and_something(compiled):
    f = compiled(lambda x, mask=None: x if mask is None else x * mask)
    yield f(1.0), f(1.0, None), f(1.0, 0.5), f(1.0, mask=None)


@row(SAME)
def empty_containers(compiled):
    f = compiled(lambda x, xs: x + len(xs) + (10.0 if isinstance(xs, dict) else 0.0))
    yield f(1.0, []), f(1.0, ()), f(1.0, {}), f(1.0, np.array([]))


@row(SAME)
def named_tuples(compiled):
    point_of, size_of = namedtuple("point_of", "a b"), namedtuple("size_of", "b a")
    f = compiled(lambda p: p.a * 10.0 + p.b)
    yield f(point_of(1.0, 2.0)), f(size_of(1.0, 2.0)), f(point_of(3.0, 4.0))


@row()
def arrays_of_several_kinds(compiled):
    f = compiled(lambda a: a[0] * 2.0 + a[1])
    for kind in (np.float64, np.float32, np.float16, np.int64, np.int8, np.bool_, np.uint64):
        yield f(np.array([1, 0], dtype=kind)), f(np.array([0, 1], dtype=kind))


@row(limit="inside, an array of numbers is one of objects")
def the_kind_of_an_array_decides(compiled):
    f = compiled(lambda a: a[0] * (10.0 if a.dtype.kind == "i" else 1.0))
    yield f(np.array([2, 3]))
    yield f(np.array([4, 3]))


@row(SAME)
def arrays_of_other_shapes(compiled):
    f = compiled(lambda a: sum(a.ravel()) * len(a.shape) * a.shape[0])
    yield f(np.ones(4)), f(np.ones((2, 2))), f(np.ones((4, 1))), f(np.ones((1, 4)))


@row(SAME)
def an_array_in_the_order_of_fortran(compiled):
    f = compiled(lambda a: a[0][1] * 10.0 + a[1][0])
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    yield f(a), f(np.asfortranarray(a)), f(a.T), f(a[::-1])


@row(SAME)
def an_array_with_strides(compiled):
    f = compiled(lambda a: a[0] * 10.0 + a[1])
    a = np.arange(6.0)
    yield f(a[:2]), f(a[::3]), f(a[::-1][:2])
    a[0] = 9.0
    yield f(a[::3])


@row(SAME)
def an_array_and_then_a_list(compiled):
    f = compiled(lambda a: a[0] * 2.0 + a[1])
    yield f(np.array([1.0, 2.0])), f([1.0, 2.0]), f((3.0, 4.0)), f(np.array([5.0, 6.0]))


@row(SAME)
def an_array_of_no_dimension(compiled):
    f = compiled(lambda a: a * 2.0)
    yield f(np.float64(1.5)), f(np.float32(2.5))


@row()
def an_array_of_values(compiled):
    f = compiled(lambda a: a[0] * a[1])
    a = np.array([Value(2.0), Value(3.0)], dtype=object)
    yield f(a)
    a[0].data = 5.0
    yield f(a)
    f(a).backward()
    yield a[0].grad, a[1].grad


@row()
def texts_in_an_array(compiled):
    f = compiled(lambda x, names: x * 2.0 if names[0] == "a" else x)
    yield f(1.0, np.array(["a", "b"])), f(1.0, np.array(["b", "a"]))


@row()
def a_mask_of_bools(compiled):
    f = compiled(lambda xs, mask: sum(x for x, m in zip(xs, mask, strict=True) if m) * 1.0)
    xs = [1.0, 2.0, 4.0]
    yield f(xs, [True, False, True]), f(xs, [False, True, True])
    yield f(xs, np.array([True, False, False])), f(xs, np.array([False, False, True]))


@row()
def dates_and_durations(compiled):
    f = compiled(lambda x, when: x * float(when.astype("int64")[0]))
    yield f(1.0, np.array(["1970-01-03"], dtype="M8[D]"))
    yield f(1.0, np.array(["1970-01-09"], dtype="M8[D]"))


@row(SAME)
def fractions_and_decimals(compiled):
    f = compiled(lambda x: x * 2.0)
    yield f(Fraction(1, 4)), f(Decimal("0.25")), f(Fraction(1, 2)), f(Decimal("7"))


@row(SAME)
def a_text_and_bytes(compiled):
    f = compiled(lambda x, name: x * len(name) + (1.0 if isinstance(name, bytes) else 0.0))
    yield f(1.0, "abc"), f(1.0, b"abc"), f(1.0, "ab"), f(1.0, "abd")


@row(SAME)
def a_set_as_argument(compiled):
    f = compiled(lambda x, names: x * len(names) + ("a" in names))
    names = {"a"}
    yield f(1.0, names)
    names.add("b")
    yield f(1.0, names)
    names.discard("a")
    yield f(1.0, names), f(1.0, frozenset("abc"))


@row()
def a_range_as_argument(compiled):
    f = compiled(lambda x, steps: sum(x * k for k in steps))
    yield f(1.0, range(3)), f(1.0, range(5)), f(1.0, range(0, 6, 2))


@row()
def a_generator_as_argument(compiled):
    f = compiled(lambda xs: sum(x * 2.0 for x in xs))
    yield f(float(k) for k in range(3))
    yield f(float(k) for k in range(5))


@row()
def a_complex_number_as_argument(compiled):
    f = compiled(lambda x, z: x * z.real + z.imag)
    yield f(1.0, 2 + 3j), f(1.0, 4 + 5j)


@row()
def a_slice_as_argument(compiled):
    f = compiled(lambda xs, part: sum(xs[part]))
    yield f([1.0, 2.0, 4.0], slice(0, 2)), f([1.0, 2.0, 4.0], slice(1, 3))


@row()
def a_function_as_argument(compiled):
    k = 2.0

    def twice(x):
        return x * k

    f = compiled(lambda x, act: act(x))
    yield f(1.0, twice), f(1.0, lambda x: x + 7.0)
    k = 9.0
    yield f(1.0, twice)


@row()
def a_lambda_made_anew_at_each_call(compiled):
    f = compiled(lambda x, act: act(x))
    yield [f(1.0, lambda x, k=k: x * k) for k in range(5)]


@row()
def a_dict_inside_itself(compiled):
    table = {"x": 1.0}
    table["self"] = table
    f = compiled(lambda table: table["x"] * 2.0)
    try:
        yield f(table)
    except RecursionError as error:
        yield type(error).__name__


@row(SAME)
def ragged_rows_of_values_and_numbers(compiled):
    f = compiled(lambda row: sum(x * (k + 1) for k, x in enumerate(row)))
    w = Value(2.0)
    yield f([1.0, w, 3]), f([w, 1.0, 3]), f([3, 1.0, w]), f([True, 1.0, w])


@row(SAME)
def the_same_value_in_two_places(compiled):
    f = compiled(lambda a, b: a * b)
    v = Value(3.0)
    y = f(v, v)
    y.backward()
    yield y, v.grad


@row(SAME)
def defaults_that_are_values(compiled):
    w = Value(2.0)

    def f(x, w=w):
        return x * w

    g = compiled(f)
    yield g(1.0)
    w.data = 5.0
    yield g(1.0)
    yield g(1.0, Value(7.0)), g(1.0, 8.0)


@row(SAME)
def a_default_evaluated_by_a_sentinel(compiled):
    missing = object()
    f = compiled(lambda x, k=missing: x if k is missing else x * k)
    yield f(1.0), f(1.0, 5.0), f(1.0, missing)


@row(SAME)
def infinities_and_nan(compiled):
    f = compiled(lambda x: x * 2.0 if x > 0 else x - 1.0)
    inf = float("inf")
    yield [f(x) for x in (1.0, inf, -inf, float("nan"), 0.0, -0.0)]
