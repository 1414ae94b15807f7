"""Subclasses of list, dict, tuple, set, str, int, float with attributes and rules of their own."""

from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque

import numpy as np

from minigrad import Value

from . import SAME, catalogue

row = catalogue("subclasses of built-in types")


@row(SAME)
def an_attribute_of_a_list(compiled):
    class Batch(list):
        pass

    batch = Batch([1.0])
    batch.weight = 2.0
    f = compiled(lambda x: x * batch.weight)
    yield f(1.0)
    batch.weight = 9.0
    yield f(1.0)


@row()
def a_list_with_an_attribute_as_argument(compiled):
    class Batch(list):
        weight = 1.0

    batch = Batch([1.0, 2.0])
    batch.weight = 2.0
    f = compiled(lambda batch: sum(batch) * batch.weight)
    yield f(batch)
    batch.weight = 9.0
    yield f(batch)


@row()
def a_list_that_counts_from_one(compiled):
    class FromOne(list):
        def __getitem__(self, at):
            return super().__getitem__(at - 1)

    f = compiled(lambda xs: xs[1] * 10.0 + xs[2])
    yield f(FromOne([1.0, 2.0]))
    yield f(FromOne([3.0, 4.0]))


@row()
def a_list_outside_that_counts_from_an_offset(compiled):
    class Shifted(list):
        offset = 0

        def __getitem__(self, at):
            return super().__getitem__(at + self.offset)

    table = Shifted([1.0, 2.0, 3.0])
    f = compiled(lambda x: x * table[0])
    yield f(1.0)
    table.offset = 2
    yield f(1.0)
    Shifted.offset = 1
    del table.offset
    yield f(1.0)


@row(SAME)
def an_attribute_of_a_dict(compiled):
    class Config(dict):
        scale = 1.0

    config = Config(rate=2.0)
    config.scale = 1.5
    f = compiled(lambda x: x * config["rate"] * config.scale)
    yield f(1.0)
    config.scale = 9.0
    yield f(1.0)
    config["rate"] = 3.0
    yield f(1.0)


@row(SAME)
def a_dict_with_attribute_access(compiled):
    class Config(dict):
        __getattr__ = dict.__getitem__
        __setattr__ = dict.__setitem__

    config = Config(rate=2.0, inner=Config(k=1.0))
    f = compiled(lambda x: x * config.rate + config.inner.k)
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)
    config.inner.k = 5.0
    yield f(1.0)


@row(SAME)
def a_dict_with_missing(compiled):
    class Config(dict):
        fallback = 2.0

        def __missing__(self, name):
            return self.fallback

    config = Config()
    f = compiled(lambda x: x * config["rate"])
    yield f(1.0)
    Config.fallback = 5.0
    yield f(1.0)
    config["rate"] = 9.0
    yield f(1.0)


@row()
def a_defaultdict_changes_its_factory(compiled):
    table = defaultdict(lambda: 2.0)
    f = compiled(lambda x: x * table.get("rate", table.default_factory()))
    yield f(1.0)
    table.default_factory = lambda: 5.0
    yield f(1.0)


@row()
def a_defaultdict_grows_inside(compiled):
    table = defaultdict(float)
    f = compiled(lambda x: x * (1.0 + table["hits"]))
    yield f(1.0)
    yield sorted(table)
    table["hits"] = 4.0
    yield f(1.0)


@row(SAME)
def an_ordered_dict_changes_its_order(compiled):
    weights = OrderedDict(a=1.0, b=2.0, c=3.0)
    f = compiled(lambda x: sum(x * w * k for k, w in enumerate(weights.values())))
    yield f(1.0)
    weights.move_to_end("a")
    yield f(1.0)


@row(SAME)
def an_ordered_dict_as_argument(compiled):
    f = compiled(lambda weights: sum(w * k for k, w in enumerate(weights.values())))
    weights = OrderedDict(a=1.0, b=2.0)
    yield f(weights)
    weights["b"] = 5.0
    yield f(weights)
    weights.move_to_end("a")
    yield f(weights)


@row(SAME)
def a_counter_counts(compiled):
    seen = Counter("aab")
    f = compiled(lambda x: x * seen["a"] / seen.total())
    yield f(1.0)
    seen.update("aaab")
    yield f(1.0)


@row(SAME)
def a_user_dict_and_a_user_list(compiled):
    config, weights = UserDict(rate=2.0), UserList([1.0])
    f = compiled(lambda x: x * config["rate"] + weights[0])
    yield f(1.0)
    config["rate"] = 9.0
    yield f(1.0)
    weights[0] = 5.0
    yield f(1.0)


@row(SAME)
def a_deque_rotates(compiled):
    window = deque([1.0, 2.0, 3.0], maxlen=3)
    f = compiled(lambda x: x * window[0] + len(window))
    yield f(1.0)
    window.rotate(1)
    yield f(1.0)
    window.append(9.0)
    yield f(1.0)


@row()
def a_text_with_an_attribute(compiled):
    class Name(str):
        weight = 1.0

    name = Name("rate")
    name.weight = 2.0
    f = compiled(lambda x: x * name.weight)
    yield f(1.0)
    name.weight = 9.0
    yield f(1.0)


@row()
def a_text_with_an_attribute_as_argument(compiled):
    class Name(str):
        weight = 1.0

    f = compiled(lambda x, name: x * name.weight)
    first, second = Name("rate"), Name("rate")
    first.weight, second.weight = 2.0, 9.0
    yield f(1.0, first)
    yield f(1.0, second)
    second.weight = 4.0
    yield f(1.0, second)


@row()
def an_int_with_an_attribute(compiled):
    class Count(int):
        weight = 1.0

    count = Count(3)
    count.weight = 2.0
    f = compiled(lambda x: x * count * count.weight)
    yield f(1.0)
    count.weight = 9.0
    yield f(1.0)


@row()
def an_int_with_an_attribute_as_argument(compiled):
    class Count(int):
        weight = 1.0

    f = compiled(lambda x, n: x * n * n.weight)
    n = Count(3)
    n.weight = 2.0
    yield f(1.0, n)
    n.weight = 9.0
    yield f(1.0, n)


@row()
def a_float_with_a_unit(compiled):
    class Length(float):
        unit = 1.0

    f = compiled(lambda x: x * x.unit)
    one = Length(2.0)
    one.unit = 1000.0
    yield f(one)
    one.unit = 0.01
    yield f(one)


@row()
def a_float_with_a_unit_outside(compiled):
    class Length(float):
        unit = 1.0

    length = Length(2.0)
    f = compiled(lambda x: x * length * length.unit)
    yield f(1.0)
    length.unit = 1000.0
    yield f(1.0)
    Length.unit = 3.0
    length = Length(2.0)
    yield f(1.0)


@row()
def a_tuple_with_methods(compiled):
    class Pair(tuple):
        __slots__ = ()
        sign = 1.0

        def difference(self):
            return (self[0] - self[1]) * self.sign

    f = compiled(lambda pair: pair.difference())
    yield f(Pair((3.0, 1.0)))
    Pair.sign = -1.0
    yield f(Pair((3.0, 1.0)))


@row(SAME)
def a_set_grows(compiled):
    active = {"a"}
    f = compiled(lambda x: x * 2.0 if "b" in active else x)
    yield f(1.0)
    active.add("b")
    yield f(1.0)
    active.discard("b")
    yield f(1.0)


@row()
def an_array_with_an_attribute(compiled):
    class Data(np.ndarray):
        scale = 1.0

    data = np.array([1.0, 2.0]).view(Data)
    data.scale = 2.0
    f = compiled(lambda x: x * data[0] * data.scale)
    yield f(1.0)
    data.scale = 9.0
    yield f(1.0)
    data[0] = 5.0
    yield f(1.0)


@row()
def a_list_of_values_with_a_norm(compiled):
    class Vector(list):
        power = 2.0

        def norm(self):
            return sum(abs(v) ** self.power for v in self)

    weights = Vector([Value(3.0), Value(-2.0)])
    f = compiled(lambda x: x * weights.norm())
    yield f(1.0)
    weights.power = 1.0
    yield f(1.0)
