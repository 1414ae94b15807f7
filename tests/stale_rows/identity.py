"""Identity and equality: things that say they are equal, objects that change their class."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from minigrad import Value

from . import SAME, catalogue

row = catalogue("identity and equality")


class Holder:
    """Something with attributes."""

    def __init__(self, **parts):
        vars(self).update(parts)


@row(SAME)
def an_equal_object_takes_its_place(compiled):
    class Named:
        def __init__(self, name, w):
            self.name, self.w = name, w

        def __eq__(self, other):
            return self.name == other.name

        __hash__ = None

    holder = Holder(part=Named("a", 2.0))
    f = compiled(lambda x: x * holder.part.w)
    yield f(1.0)
    holder.part = Named("a", 9.0)
    yield f(1.0)


@row(SAME)
def everything_is_equal_to_it(compiled):
    class Any:
        def __init__(self, w):
            self.w = w

        def __eq__(self, other):
            return True

        __hash__ = object.__hash__

    parts = [Any(2.0)]
    f = compiled(lambda x: x * parts[0].w)
    yield f(1.0)
    parts[0] = Any(9.0)
    yield f(1.0)


@row(SAME)
def equality_raises(compiled):
    class Touchy:
        def __init__(self, w):
            self.w = w

        def __eq__(self, other):
            raise RuntimeError("not comparable")

        __hash__ = object.__hash__

    parts = [Touchy(2.0)]
    f = compiled(lambda x: x * parts[0].w)
    yield f(1.0)
    parts[0] = Touchy(9.0)
    yield f(1.0)


@row(SAME)
def equality_is_an_array(compiled):
    class Tensor:
        def __init__(self, w):
            self.w = w

        def __eq__(self, other):
            return np.array([True, True])

        __hash__ = None

    holder = Holder(part=Tensor(2.0))
    f = compiled(lambda x: x * holder.part.w)
    yield f(1.0)
    holder.part = Tensor(9.0)
    yield f(1.0)


@row(SAME)
def equal_keys_of_another_kind(compiled):
    for first, second in ((1, True), (1, 1.0), (0, False), (1.0, True)):
        table = {first: 2.0}
        f = compiled(lambda x, table=table: x * len(str(next(iter(table)))))
        yield f(1.0)
        del table[first]
        table[second] = 2.0
        yield f(1.0)


@row()
def equal_numbers_of_another_kind(compiled):
    holder = Holder(n=1)
    f = compiled(lambda x: x * len(repr(holder.n)))
    for n in (1, True, 1.0, np.float64(1.0), Fraction(1), Decimal(1), Decimal("1.00"), 1):
        holder.n = n
        yield f(1.0)


@row(SAME)
def zero_changes_its_sign(compiled):
    holder = Holder(zero=0.0)
    f = compiled(lambda x: x * math.copysign(1.0, holder.zero))
    yield f(1.0)
    holder.zero = -0.0
    yield f(1.0)
    parts = [0.0]
    g = compiled(lambda x: x * math.copysign(1.0, parts[0]))
    yield g(1.0)
    parts[0] = -0.0
    yield g(1.0)


@row()
def an_array_of_zeros_changes_its_sign(compiled):
    zeros = np.zeros(2)
    f = compiled(lambda x: x * math.copysign(1.0, zeros[0]))
    yield f(1.0)
    zeros[0] = -0.0
    yield f(1.0)


@row(SAME)
def a_nested_zero_changes_its_sign(compiled):
    pairs = [(0.0, 1.0)]
    f = compiled(lambda x: x * math.copysign(1.0, pairs[0][0]))
    yield f(1.0)
    pairs[0] = (-0.0, 1.0)
    yield f(1.0)


@row(SAME)
def an_array_changes_its_kind(compiled):
    holder = Holder(data=np.array([1, 2]))
    f = compiled(lambda x: x * (holder.data / 2).sum() + holder.data.itemsize)
    yield f(1.0)
    holder.data = np.array([1.0, 2.0], dtype=np.float32)
    yield f(1.0)


@row(SAME)
def an_object_changes_its_class(compiled):
    class Train:
        def factor(self):
            return 0.5

    class Eval:
        def factor(self):
            return 1.0

    mode = Train()
    f = compiled(lambda x: x * mode.factor())
    yield f(1.0)
    mode.__class__ = Eval
    yield f(1.0)


@row(SAME)
def an_argument_changes_its_class(compiled):
    class Train:
        factor = 0.5

    class Eval:
        factor = 1.0

    mode = Train()
    f = compiled(lambda x, mode: x * mode.factor)
    yield f(1.0, mode)
    mode.__class__ = Eval
    yield f(1.0, mode)


@row()
def a_class_changes_its_bases(compiled):
    class First:
        def factor(self):
            return 2.0

    class Second:
        def factor(self):
            return 9.0

    class Model(First):
        pass

    model = Model()
    f = compiled(lambda x: x * model.factor())
    yield f(1.0)
    Model.__bases__ = (Second,)
    yield f(1.0)


@row(SAME)
def an_object_gets_another_dict(compiled):
    holder = Holder(k=2.0)
    f = compiled(lambda x: x * holder.k)
    yield f(1.0)
    holder.__dict__ = {"k": 9.0}
    yield f(1.0)
    holder.k = 4.0
    yield f(1.0)


@row()
def two_names_for_one_list(compiled):
    first = [1.0]
    second = first
    f = compiled(lambda x: x * (10.0 if first is second else 1.0) * second[0])
    yield f(1.0)
    second = [1.0]
    yield f(1.0)
    first[0] = 7.0
    yield f(1.0)


@row(limit="arguments are stand-ins inside: tests of identity among them are false")
def an_argument_twice(compiled):
    f = compiled(lambda a, b: a * 10.0 if a is b else a + b)
    v = Value(2.0)
    yield f(v, v)
    yield f(v, Value(2.0))


@row(limit="arguments are stand-ins inside: tests of identity among them are false")
def an_argument_that_is_also_captured(compiled):
    w = Value(2.0)
    f = compiled(lambda v: v * 10.0 if v is w else v + w)
    yield f(Value(2.0))
    yield f(w)


@row()
def a_list_argument_twice(compiled):
    f = compiled(lambda a, b: a[0] * (10.0 if a is b else 1.0))
    xs = [2.0]
    yield f(xs, xs)
    yield f(xs, [2.0])


@row()
def an_id_is_a_seed(compiled):
    class Key:
        def __init__(self, n):
            self.n = n

    keys = {0: Key(2.0)}
    table = {id(keys[0]): 2.0}
    f = compiled(lambda x: x * table.get(id(keys[0]), 1.0))
    yield f(1.0)
    kept, keys[0] = keys[0], Key(3.0)
    yield f(1.0)
    yield kept.n


@row(SAME)
def objects_come_and_go_at_one_address(compiled):
    class Config:
        def __init__(self, rate):
            self.rate = rate

    f = compiled(lambda x, config: x * config.rate)
    yield [f(1.0, Config(float(k))) for k in range(8)]


@row(SAME)
def equal_texts_made_anew(compiled):
    holder = Holder(name="re" + "lu")
    table = {"relu": 2.0, "tanh": 9.0}
    f = compiled(lambda x: x * table[holder.name])
    yield f(1.0)
    holder.name = "".join(["t", "anh"])
    yield f(1.0)
    holder.name = "".join(["re", "lu"])
    yield f(1.0)


@row(SAME)
def nan_is_the_same_nan(compiled):
    holder = Holder(limit=math.nan)
    f = compiled(lambda x: x if math.isnan(holder.limit) else x * holder.limit)
    yield f(1.0)
    holder.limit = float("nan")
    yield f(1.0)
    holder.limit = 3.0
    yield f(1.0)


@row()
def values_are_compared_with_values(compiled):
    w, v = Value(2.0), Value(2.0)
    f = compiled(lambda x: x * (10.0 if w == v else 1.0) + (5.0 if w in (v, w) else 0.0))
    yield f(1.0)
    v = w
    yield f(1.0)


@row()
def a_value_is_a_key(compiled):
    w, v = Value(2.0), Value(3.0)
    gains = {w: 10.0}
    f = compiled(lambda x: x * gains.get(w, 1.0) + gains.get(v, 0.0))
    yield f(1.0)
    gains[v] = 5.0
    yield f(1.0)
    del gains[w]
    yield f(1.0)
