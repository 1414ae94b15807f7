"""Mappings that are no dicts, and views of things that are."""

import configparser
import os
from array import array
from collections import ChainMap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from weakref import WeakKeyDictionary, WeakValueDictionary, proxy, ref

import numpy as np

from minigrad import Value

from . import SAME, catalogue

row = catalogue("mappings and views")


class Table(Mapping):
    """A mapping with its numbers somewhere inside."""

    def __init__(self, **numbers):
        self.numbers = numbers

    def __getitem__(self, name):
        return self.numbers[name]

    def __iter__(self):
        return iter(self.numbers)

    def __len__(self):
        return len(self.numbers)


@row(SAME)
def a_chain_of_maps(compiled):
    user, defaults = {}, {"rate": 2.0}
    config = ChainMap(user, defaults)
    f = compiled(lambda x: x * config["rate"])
    yield f(1.0)
    defaults["rate"] = 4.0
    yield f(1.0)
    user["rate"] = 9.0
    yield f(1.0)


@row(SAME)
def a_proxy_of_a_dict(compiled):
    inside = {"rate": 2.0}
    config = MappingProxyType(inside)
    f = compiled(lambda x: x * config["rate"])
    yield f(1.0)
    inside["rate"] = 9.0
    yield f(1.0)


@row(SAME)
def the_values_of_a_dict_kept(compiled):
    inside = {"a": 1.0, "b": 2.0}
    values = inside.values()
    f = compiled(lambda x: x * sum(values))
    yield f(1.0)
    inside["b"] = 9.0
    yield f(1.0)


@row()
def the_items_of_a_dict_kept(compiled):
    inside = {"a": 1.0, "b": 2.0}
    items, keys = inside.items(), inside.keys()
    f = compiled(lambda x: x * sum(v for _, v in items) + len(keys))
    yield f(1.0)
    inside["c"] = 9.0
    yield f(1.0)


@row(SAME)
def a_mapping_of_ones_own(compiled):
    config = Table(rate=2.0)
    f = compiled(lambda x: x * config["rate"])
    yield f(1.0)
    config.numbers["rate"] = 9.0
    yield f(1.0)


@row(SAME)
def a_mapping_of_ones_own_as_argument(compiled):
    config = Table(rate=2.0)
    f = compiled(lambda x, config: x * config["rate"])
    yield f(1.0, config)
    config.numbers["rate"] = 9.0
    yield f(1.0, config)
    yield f(1.0, Table(rate=4.0))


@row(SAME)
def a_mapping_of_ones_own_spread_into_keywords(compiled):
    config = Table(rate=2.0, bias=1.0)

    def helper(x, rate, bias):
        return x * rate + bias

    f = compiled(lambda x: helper(x, **config))
    yield f(1.0)
    config.numbers["bias"] = 9.0
    yield f(1.0)


@row(SAME)
def a_sequence_of_ones_own(compiled):
    class Window(Sequence):
        def __init__(self, base, start):
            self.base, self.start = base, start

        def __getitem__(self, at):
            return self.base[self.start + at]

        def __len__(self):
            return 2

    window = Window([1.0, 2.0, 3.0], 0)
    f = compiled(lambda x: x * window[0] + window[1])
    yield f(1.0)
    window.start = 1
    yield f(1.0)
    window.base[1] = 9.0
    yield f(1.0)


@row()
def a_memoryview_of_an_array(compiled):
    inside = array("d", [1.0, 2.0])
    view = memoryview(inside)
    f = compiled(lambda x: x * view[0])
    yield f(1.0)
    inside[0] = 9.0
    yield f(1.0)


@row(SAME)
def a_view_of_a_numpy_array(compiled):
    base = np.array([1.0, 2.0, 3.0])
    view = base[1:]
    f = compiled(lambda x: x * view[0])
    yield f(1.0)
    base[1] = 9.0
    yield f(1.0)


@row(SAME)
def a_record_of_a_structured_array(compiled):
    table = np.array([(1.0, 2), (3.0, 4)], dtype=[("w", "f8"), ("n", "i8")])
    f = compiled(lambda x: x * table[0]["w"] + table[1]["n"])
    yield f(1.0)
    table["w"][0] = 9.0
    yield f(1.0)
    table["n"][1] = 50
    yield f(1.0)


@row()
def one_record_kept(compiled):
    table = np.array([(1.0, 2)], dtype=[("w", "f8"), ("n", "i8")])
    first = table[0]
    f = compiled(lambda x: x * first["w"])
    yield f(1.0)
    table["w"][0] = 9.0
    yield f(1.0)


@row(SAME)
def an_array_of_no_dimension(compiled):
    rate = np.array(2.0)
    f = compiled(lambda x: x * rate.item())
    yield f(1.0)
    rate[...] = 9.0
    yield f(1.0)


@row(SAME)
def an_array_of_texts(compiled):
    names = np.array(["relu", "tanh"])
    f = compiled(lambda x: x.relu() if names[0] == "relu" else x.tanh())
    yield f(-1.0)
    names[0] = "tanh"
    yield f(-1.0)


@row(SAME)
def an_array_of_objects_holds_values_and_floats(compiled):
    weights = np.array([Value(2.0), 3.0, None], dtype=object)
    f = compiled(lambda x: x * weights[0] * weights[1])
    yield f(1.0)
    weights[1] = 9.0
    yield f(1.0)
    weights[0].data = 5.0
    yield f(1.0)
    weights[0] = 1.0
    yield f(1.0)


@row()
def a_weak_dict_of_weights(compiled):
    class Key:
        pass

    key = Key()
    gains = WeakKeyDictionary({key: 2.0})
    f = compiled(lambda x: x * gains[key])
    yield f(1.0)
    gains[key] = 9.0
    yield f(1.0)


@row()
def a_weak_dict_of_values(compiled):
    class Layer:
        k = 2.0

    layers = {"a": Layer()}
    weak = WeakValueDictionary(layers)
    f = compiled(lambda x: x * sum(layer.k for layer in weak.values()))
    yield f(1.0)
    layers["a"].k = 9.0
    yield f(1.0)


@row(SAME)
def a_weak_reference(compiled):
    class Layer:
        k = 2.0

    layer = Layer()
    weak = ref(layer)
    f = compiled(lambda x: x * weak().k)
    yield f(1.0)
    layer.k = 9.0
    yield f(1.0)


@row()
def a_weak_proxy(compiled):
    class Layer:
        def __init__(self):
            self.k = 2.0

    layer = Layer()
    weak = proxy(layer)
    f = compiled(lambda x: x * weak.k)
    yield f(1.0)
    layer.k = 9.0
    yield f(1.0)


@row()
def a_config_parser(compiled):
    config = configparser.ConfigParser()
    config.read_string("[train]\nrate = 2.0")
    f = compiled(lambda x: x * config.getfloat("train", "rate"))
    yield f(1.0)
    config["train"]["rate"] = "9.0"
    yield f(1.0)


@row()
def a_slice_kept_outside(compiled):
    rows = [1.0, 2.0, 3.0]
    part = slice(0, 1)
    f = compiled(lambda x: x * sum(rows[part]))
    yield f(1.0)
    part = slice(0, 3)
    yield f(1.0)


@row(SAME)
def a_range_kept_outside(compiled):
    steps = range(2)
    f = compiled(lambda x: sum(x for _ in steps))
    yield f(1.0)
    steps = range(5)
    yield f(1.0)


@row()
def an_attribute_holds_a_range(compiled):
    class Loop:
        steps = range(2)

    f = compiled(lambda x: sum(x for _ in Loop.steps))
    yield f(1.0)
    Loop.steps = range(5)
    yield f(1.0)


@row()
def a_mapping_that_reads_the_environment(compiled):
    os.environ["USER_RATE"] = "2.0"
    f = compiled(lambda x: x * float(os.environ["USER_RATE"]))
    yield f(1.0)
    os.environ["USER_RATE"] = "9.0"
    yield f(1.0)
