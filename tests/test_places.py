"""Containers and arrays that a function reads: every change is noticed."""

from __future__ import annotations

import argparse
import collections
import configparser
import contextvars
import ctypes
import operator
import queue
import threading
import types
import weakref
from array import array

import numpy as np
import pytest
from changes import Plain, changes_of, check

from minigrad.compiler.tracing.places import ATTRIBUTES, DICT, LIST, Place, is_same, slots_of

ROWS, row, set_global = changes_of(globals())
K = 2.0
HELD = 2.0


# ---- containers of the standard library ----------------------------------------------------------


@row
def a_user_dict():
    table = collections.UserDict(k=2.0)
    return lambda x: x * table["k"], lambda: table.update(k=3.0)


@row
def a_user_list():
    table = collections.UserList([2.0])
    return lambda x: x * table[0], lambda: table.__setitem__(0, 3.0)


@row
def a_subclass_of_user_dict():
    class Config(collections.UserDict):
        pass

    table = Config(k=2.0)
    return lambda x: x * table["k"], lambda: table.update(k=3.0)


@row
def a_chain_map():
    first, second = {}, {"k": 2.0}
    table = collections.ChainMap(first, second)
    return lambda x: x * table["k"], lambda: first.update(k=3.0)


@row
def an_ordered_dict():
    table = collections.OrderedDict(k=2.0)
    return lambda x: x * table["k"], lambda: table.update(k=3.0)


@row
def the_order_of_an_ordered_dict():
    table = collections.OrderedDict(a=2.0, b=3.0)
    return lambda x: x * next(iter(table.values())), lambda: table.move_to_end("a")


@row
def a_default_dict():
    table = collections.defaultdict(list, k=[2.0])
    return lambda x: x * table["k"][0], lambda: table["k"].__setitem__(0, 3.0)


@row
def the_factory_of_a_default_dict():
    table = collections.defaultdict(lambda: K)
    return lambda x: x * table.default_factory(), set_global("K", 3.0)


@row
def a_counter():
    table = collections.Counter(k=2)
    return lambda x: x * table["k"], lambda: table.update(k=1)


@row
def a_mapping_proxy():
    table = {"k": 2.0}
    view = types.MappingProxyType(table)
    return lambda x: x * view["k"], lambda: table.update(k=3.0)


@row
def a_view_of_a_dict():
    table = {"k": 2.0}
    view = table.values()
    return lambda x: x * sum(view), lambda: table.update(k=3.0)


@row
def a_bound_built_in():
    table = {"k": 2.0}
    get = table.get
    return lambda x: x * get("k"), lambda: table.update(k=3.0)


@row
def a_bound_operator():
    table = [2.0]
    get = table.__getitem__
    return lambda x: x * get(0), lambda: table.__setitem__(0, 3.0)


@row
def a_bound_built_in_of_an_array():
    numbers = np.array([2.0])
    get = numbers.sum
    return lambda x: x * float(get()), lambda: numbers.__setitem__(0, 3.0)


@row
def an_itemgetter():
    table, get = {"k": 2.0}, operator.itemgetter("k")
    return lambda x: x * get(table), lambda: table.update(k=3.0)


@row
def a_weak_reference():
    thing = Plain()
    ref = weakref.ref(thing)
    return lambda x: x * ref().k, lambda: setattr(thing, "k", 3.0)


@row
def a_weak_reference_to_what_is_gone():
    things = [Plain()]
    ref = weakref.ref(things[0])
    return lambda x: x * (3 if ref() is None else 2), things.clear


@row
def a_weak_value_dictionary():
    thing = Plain()
    table = weakref.WeakValueDictionary(a=thing)
    return lambda x: x * table["a"].k, lambda: setattr(thing, "k", 3.0)


@row
def a_context_variable():
    variable = contextvars.ContextVar("variable", default=2.0)
    return lambda x: x * variable.get(), lambda: variable.set(3.0)


@row
def a_list_in_a_context_variable():
    variable = contextvars.ContextVar("variable")
    variable.set([2.0])
    return lambda x: x * variable.get()[0], lambda: variable.get().__setitem__(0, 3.0)


@row
def an_attribute_of_a_thread():
    local = threading.local()
    local.k = 2.0
    return lambda x: x * local.k, lambda: setattr(local, "k", 3.0)


@row
def a_simple_namespace():
    space = types.SimpleNamespace(k=2.0)
    return lambda x: x * space.k, lambda: setattr(space, "k", 3.0)


@row
def options():
    space = argparse.Namespace(k=2.0)
    return lambda x: x * space.k, lambda: setattr(space, "k", 3.0)


@row
def a_queue():
    waiting = queue.Queue()
    waiting.put(2.0)
    return lambda x: x * (1 + waiting.qsize()), lambda: waiting.put(3.0)


@row
def a_simple_queue():
    waiting = queue.SimpleQueue()
    waiting.put(2.0)
    return lambda x: x * (1 + waiting.qsize()), lambda: waiting.put(3.0)


@row
def a_set():
    things = {1, 2}
    return lambda x: x * len(things), lambda: things.add(3)


@row
def a_deque():
    things = collections.deque([2.0])
    return lambda x: x * things[0], lambda: things.__setitem__(0, 3.0)


@row
def a_list_in_a_set_of_tuples():
    k = [2.0]

    class Key:
        def __init__(self, k):
            self.k = k

    things = {Key(k)}
    return lambda x: x * next(iter(things)).k[0], lambda: k.__setitem__(0, 3.0)


@row
def a_key_of_a_dict():
    key = Plain()
    table = {key: 1}
    return lambda x: x * next(iter(table)).k, lambda: setattr(key, "k", 3.0)


@row
def a_weak_set():
    thing = Plain()
    things = weakref.WeakSet([thing])
    return lambda x: x * next(iter(things)).k, lambda: setattr(thing, "k", 3.0)


@row
def a_class_of_thread_attributes():
    class Local(threading.local):
        k = 2.0

    local = Local()
    return lambda x: x * local.k, lambda: setattr(Local, "k", 3.0)


@row
def a_config_parser():
    config = configparser.ConfigParser()
    config.read_dict({"a": {"k": "2.0"}})
    return lambda x: x * config.getfloat("a", "k"), lambda: config.set("a", "k", "3.0")


# ---- arrays --------------------------------------------------------------------------------------


@row
def an_array():
    numbers = np.array([2.0])
    return lambda x: x * float(numbers[0]), lambda: numbers.__setitem__(0, 3.0)


@row
def a_view_with_strides():
    numbers = np.array([2.0, 0.0, 1.0, 0.0])
    part = numbers[::2]
    return lambda x: x * float(part[0]), lambda: numbers.__setitem__(0, 3.0)


@row
def an_array_of_objects():
    numbers = np.array([2.0, None], dtype=object)
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3.0)


@row
def a_list_in_an_array_of_objects():
    numbers = np.empty(1, dtype=object)
    numbers[0] = [2.0]
    return lambda x: x * numbers[0][0], lambda: numbers[0].__setitem__(0, 3.0)


@row
def an_array_without_dimensions():
    number = np.array(2.0)
    return lambda x: x * float(number), lambda: number.__setitem__((), 3.0)


@row
def the_shape_of_an_array():
    numbers = np.zeros((2, 3))
    return lambda x: x * numbers.shape[0], lambda: numbers.resize((3, 2), refcheck=False)


@row
def a_matrix():
    with pytest.warns(PendingDeprecationWarning):
        numbers = np.matrix([[2.0]])
    return lambda x: x * float(numbers.A1[0]), lambda: numbers.__setitem__((0, 0), 3.0)


@row
def a_masked_array():
    numbers = np.ma.array([2.0, 3.0], mask=[False, True])
    return lambda x: x * float(numbers.sum()), lambda: setattr(numbers, "mask", [True, False])


@row
def a_structured_array():
    numbers = np.array([(2.0, 1)], dtype=[("k", float), ("n", int)])
    return lambda x: x * float(numbers["k"][0]), lambda: numbers["k"].__setitem__(0, 3.0)


@row
def an_array_with_attributes():
    class Numbers(np.ndarray):
        pass

    numbers = np.array([1.0]).view(Numbers)
    numbers.k = 2.0
    return lambda x: x * numbers.k, lambda: setattr(numbers, "k", 3.0)


@row
def a_record():
    numbers = np.array([(2.0, 1)], dtype=[("k", float), ("n", int)])
    record = numbers[0]
    return lambda x: x * float(record["k"]), lambda: numbers["k"].__setitem__(0, 3.0)


@row
def the_sign_of_zero_in_an_array():
    numbers = np.array([0.0])
    return (
        lambda x: x * (3 if np.signbit(numbers[0]) else 2),
        lambda: numbers.__setitem__(0, -0.0),
    )


@row
def packed_numbers():
    numbers = array("d", [2.0])
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3.0)


@row
def bytes_in_place():
    numbers = bytearray([2])
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3)


@row
def a_memory_view():
    numbers = bytearray([2])
    view = memoryview(numbers)
    return lambda x: x * view[0], lambda: numbers.__setitem__(0, 3)


@row
def numbers_of_c():
    numbers = (ctypes.c_double * 1)(2.0)
    return lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3.0)


def vectorised_helper(x):
    return x * HELD


@row
def what_a_vectorised_function_reads():
    helper = np.vectorize(vectorised_helper, otypes=[object])
    return lambda x: helper(x).item(), set_global("HELD", 3.0)


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_noticed(name):
    check(ROWS[name], globals())


# ---- the same? -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "then", "same"),
    [
        (2.5, float("2.5"), True),
        (2, 2.0, False),
        (True, 1, False),
        (0.0, -0.0, False),
        (float("nan"), float("nan"), True),
        (complex(0.0, -0.0), complex(0.0, 0.0), False),
        ("a" * 50, "".join(["a"] * 50), True),
        ([2.0], [2.0], False),
        (np.float32(0.5), np.float64(0.5), False),
        (np.float64(0.5), np.float64(0.5), True),
    ],
)
def test_numbers_are_the_same_by_kind_and_sign(now, then, same):
    assert is_same(now, then) is same


def test_a_place_holds_what_it_held():
    inner = [1.0]
    place = Place(LIST, [2.0, inner], "numbers", None)
    assert place.holds(None) is not None
    place.thing[1] = [1.0]  # equal
    assert place.holds(None) is not None
    place.thing[1] = [1]
    assert place.holds(None) is None
    assert Place(DICT, {"k": 1}, "table", None).then == ("k", 1)


def test_attributes_that_nobody_mentions_do_not_matter():
    thing = Plain()
    place, other = (Place(ATTRIBUTES, thing, "thing", set()) for _ in range(2))
    thing.log = 1
    assert place.holds(frozenset({"k"})) is not None
    assert other.holds(None) is None  # where all are in reach
    thing.k = 3.0
    assert place.holds(frozenset({"k"})) is None


def test_slots_that_are_filled():
    class Slotted:
        __slots__ = ("a", "b")

    thing = Slotted()
    thing.b = 2.0
    assert list(slots_of(thing)) == [("b", 2.0)]
