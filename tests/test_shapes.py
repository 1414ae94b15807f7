"""Classes and objects that a function reads: every change that matters is noticed."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
from typing import NamedTuple

import pytest
from changes import Plain, changes_of, check

from minigrad import Value, nn
from minigrad.compiler.tracing.shapes import (
    Shape,
    fields_of,
    is_operator,
    is_users_class,
    is_users_module,
    match_args,
)

ROWS, row, set_global = changes_of(globals())
K = 2.0


@row
def attributes_of_a_list():
    class Bag(list):
        pass

    bag = Bag([1.0])
    bag.k = 2.0
    return lambda x: x * bag.k, lambda: setattr(bag, "k", 3.0)


@row
def elements_of_a_list_with_attributes():
    class Bag(list):
        pass

    bag = Bag([2.0])
    bag.k = 1.0
    return lambda x: x * bag[0] * bag.k, lambda: bag.__setitem__(0, 3.0)


@row
def attributes_of_a_dict():
    class Bag(dict):
        pass

    bag = Bag()
    bag.k = 2.0
    return lambda x: x * bag.k, lambda: setattr(bag, "k", 3.0)


@row
def attributes_of_a_tuple():
    class Bag(tuple):
        pass

    bag = Bag((1.0,))
    bag.k = 2.0
    return lambda x: x * bag.k, lambda: setattr(bag, "k", 3.0)


@row
def attributes_of_a_set():
    class Bag(set):
        pass

    bag = Bag()
    bag.k = 2.0
    return lambda x: x * bag.k, lambda: setattr(bag, "k", 3.0)


@row
def attributes_of_a_float():
    class Number(float):
        pass

    number = Number(1.0)
    number.k = 2.0
    return lambda x: x * number.k, lambda: setattr(number, "k", 3.0)


@row
def attributes_of_an_int():
    class Number(int):
        pass

    number = Number(1)
    number.k = 2.0
    return lambda x: x * number.k, lambda: setattr(number, "k", 3.0)


@row
def attributes_of_a_text():
    class Text(str):
        pass

    text = Text("a")
    text.k = 2.0
    return lambda x: x * text.k, lambda: setattr(text, "k", 3.0)


@row
def attributes_of_a_named_tuple():
    class Pair(NamedTuple):
        a: list

    pair = Pair([2.0])
    return lambda x: x * pair.a[0], lambda: pair.a.__setitem__(0, 3.0)


@row
def an_attribute_of_a_metaclass():
    class Meta(type):
        k = 2.0

    class Model(metaclass=Meta):
        pass

    return lambda x: x * Model.k, lambda: setattr(Meta, "k", 3.0)


@row
def a_property_of_a_metaclass():
    class Meta(type):
        @property
        def k(cls):
            return K

    class Model(metaclass=Meta):
        pass

    return lambda x: x * Model.k, set_global("K", 3.0)


@row
def a_base_class():
    class Base:
        k = 2.0

    class Model(Base):
        pass

    return lambda x: x * Model.k, lambda: setattr(Base, "k", 3.0)


@row
def a_base_class_of_an_instance():
    class Base:
        k = 2.0

    class Model(Base):
        pass

    model = Model()
    return lambda x: x * model.k, lambda: setattr(Base, "k", 3.0)


@row
def other_base_classes():
    class One:
        k = 2.0

    class Two:
        k = 3.0

    class Model(One):
        pass

    return lambda x: x * Model.k, lambda: setattr(Model, "__bases__", (Two,))


@row
def a_property_with_a_setter():
    class Model:
        hidden = 2.0

        @property
        def k(self):
            return self.hidden

        @k.setter
        def k(self, k):
            self.hidden = k

    model = Model()
    return lambda x: x * model.k, lambda: setattr(model, "k", 3.0)


@row
def a_property_that_is_replaced():
    class Model:
        k = property(lambda self: 2.0)

    model = Model()
    return lambda x: x * model.k, lambda: setattr(Model, "k", property(lambda self: 3.0))


@row
def a_descriptor():
    class Twice:
        def __init__(self):
            self.factor = 2.0

        def __get__(self, instance, owner):
            return self.factor

    descriptor = Twice()

    class Model:
        k = descriptor

    model = Model()
    return lambda x: x * model.k, lambda: setattr(descriptor, "factor", 3.0)


@row
def a_data_descriptor():
    class Stored:
        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner):
            return getattr(instance, self.name)

        def __set__(self, instance, value):
            setattr(instance, self.name, value)

    class Model:
        k = Stored()

    model = Model()
    model.k = 2.0
    return lambda x: x * model.k, lambda: setattr(model, "k", 3.0)


@row
def attributes_made_up():
    class Model:
        def __init__(self):
            self.store = {"k": 2.0}

        def __getattr__(self, name):
            return self.store[name]

    model = Model()
    return lambda x: x * model.k, lambda: model.store.update(k=3.0)


@row
def items_made_up():
    class Model:
        def __init__(self):
            self.hidden = 2.0

        def __getitem__(self, at):
            return self.hidden

    model = Model()
    return lambda x: x * model[0], lambda: setattr(model, "hidden", 3.0)


@row
def an_object_that_is_called():
    class Model:
        def __init__(self):
            self.hidden = 2.0

        def __call__(self, x):
            return x * self.hidden

    model = Model()
    return lambda x: model(x), lambda: setattr(model, "hidden", 3.0)


@row
def an_object_that_is_iterated():
    class Model:
        def __init__(self):
            self.hidden = [2.0]

        def __iter__(self):
            return iter(self.hidden)

    model = Model()
    return lambda x: x * next(iter(model)), lambda: setattr(model, "hidden", [3.0])


@row
def an_object_with_a_length():
    class Model:
        def __init__(self):
            self.count = 2

        def __len__(self):
            return self.count

    model = Model()
    return lambda x: x * len(model), lambda: setattr(model, "count", 3)


@row
def an_object_that_contains():
    class Model:
        def __init__(self):
            self.hidden = {1}

        def __contains__(self, x):
            return x in self.hidden

    model = Model()
    return lambda x: x * (2 if 1 in model else 3), lambda: model.hidden.clear()


@row
def an_object_with_an_operator():
    class Factor:
        def __init__(self):
            self.k = 2.0

        def __rmul__(self, x):
            return x * self.k

        def __mul__(self, x):
            return x * self.k

    factor = Factor()
    return lambda x: factor * x, lambda: setattr(factor, "k", 3.0)


@row
def another_class_for_an_object():
    class One:
        k = 2.0

    class Two:
        k = 3.0

    thing = One()
    return lambda x: x * thing.k, lambda: setattr(thing, "__class__", Two)


@row
def another_class_for_an_object_with_slots():
    class One:
        __slots__ = ("a",)

        def k(self):
            return 2.0

    class Two:
        __slots__ = ("a",)

        def k(self):
            return 3.0

    thing = One()
    return lambda x: x * thing.k(), lambda: setattr(thing, "__class__", Two)


@row
def another_dict_for_an_object():
    thing = Plain()
    return lambda x: x * thing.k, lambda: setattr(thing, "__dict__", {"k": 3.0})


@row
def slots():
    class Model:
        __slots__ = ("k",)

    model = Model()
    model.k = 2.0
    return lambda x: x * model.k, lambda: setattr(model, "k", 3.0)


@row
def private_slots():
    class Model:
        __slots__ = ("__k",)

        def __init__(self):
            self.__k = 2.0

        def set(self, k):
            self.__k = k

        def run(self, x):
            return x * self.__k

    model = Model()
    return model.run, lambda: model.set(3.0)


@row
def slots_and_a_dict():
    class Base:
        __slots__ = ("k",)

    class Model(Base):
        pass

    model = Model()
    model.k, model.other = 2.0, 1.0
    return lambda x: x * model.k * model.other, lambda: setattr(model, "k", 3.0)


@row
def a_list_in_a_slot():
    class Model:
        __slots__ = ("ks",)

    model = Model()
    model.ks = [2.0]
    return lambda x: x * model.ks[0], lambda: model.ks.__setitem__(0, 3.0)


@row
def a_slot_filled_later():
    class Model:
        __slots__ = ("k",)

    model = Model()
    return lambda x: x * getattr(model, "k", 2.0), lambda: setattr(model, "k", 3.0)


@row
def a_method_replaced_on_the_class():
    class Model:
        def act(self, x):
            return x * 2

    model = Model()
    return lambda x: model.act(x), lambda: setattr(Model, "act", lambda self, x: x * 3)


@row
def a_method_replaced_on_the_instance():
    class Model:
        def act(self, x):
            return x * 2

    model = Model()
    return lambda x: model.act(x), lambda: setattr(model, "act", lambda x: x * 3)


@row
def an_operator_replaced_on_the_class():
    class Model:
        def __call__(self, x):
            return x * 2

    model = Model()
    return lambda x: model(x), lambda: setattr(Model, "__call__", lambda self, x: x * 3)


@row
def a_constant_of_the_class_of_self():
    class Model:
        k = 2.0

        def run(self, x):
            return x * self.__class__.k

    return Model().run, lambda: setattr(Model, "k", 3.0)


@row
def a_constant_of_the_type_of_self():
    class Model:
        k = 2.0

        def run(self, x):
            return x * type(self).k

    return Model().run, lambda: setattr(Model, "k", 3.0)


@row
def a_constant_of_super():
    class Base:
        k = 2.0

    class Model(Base):
        k = 7.0

        def run(self, x):
            return x * super().k

    return Model().run, lambda: setattr(Base, "k", 3.0)


@row
def a_constant_given_to_subclasses():
    class Base:
        def __init_subclass__(cls, k=1.0):
            cls.k = k

    class Model(Base, k=2.0):
        def run(self, x):
            return x * self.k

    return Model().run, lambda: setattr(Model, "k", 3.0)


@row
def a_class_method():
    class Model:
        k = 2.0

        @classmethod
        def run(cls, x):
            return x * cls.k

    return Model.run, lambda: setattr(Model, "k", 3.0)


@row
def what_a_constructor_reads():
    class Model:
        def __init__(self):
            self.k = K

    return lambda x: x * Model().k, set_global("K", 3.0)


@row
def an_inner_class():
    class Outer:
        class Inner:
            k = 2.0

    return lambda x: x * Outer.Inner.k, lambda: setattr(Outer.Inner, "k", 3.0)


@row
def an_attribute_that_is_deleted():
    thing = Plain()

    def function(x):
        try:
            return x * thing.k
        except AttributeError:
            return x * 3

    return function, lambda: delattr(thing, "k")


@row
def a_dataclass_in_a_list():
    @dataclasses.dataclass
    class Mode:
        name: str

    one, modes = Mode("a"), [Mode("a")]
    return lambda x: x * (2 if one in modes else 3), lambda: setattr(one, "name", "b")


@row
def a_frozen_dataclass_replaced():
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float

    table = {"config": Config(2.0)}
    return (
        lambda x: x * table["config"].k,
        lambda: table.update(config=dataclasses.replace(table["config"], k=3.0)),
    )


@row
def an_attribute_of_an_enum_member():
    class Mode(enum.Enum):
        A = 1

    Mode.A.k = 2.0
    return lambda x: x * Mode.A.k, lambda: setattr(Mode.A, "k", 3.0)


@row
def the_members_of_an_enum():
    class Mode(enum.Enum):
        A = 1

    Mode.A.k = 2.0
    return lambda x: sum([x * mode.k for mode in Mode]), lambda: setattr(Mode.A, "k", 3.0)


@row
def an_equal_object_in_a_list():
    class Equal:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            return True

        __hash__ = None

    things = [Equal(2.0)]
    return lambda x: x * things[0].k, lambda: things.__setitem__(0, Equal(3.0))


@row
def an_equal_object_in_an_attribute():
    class Equal:
        def __init__(self, k):
            self.k = k

        def __eq__(self, other):
            return True

        __hash__ = None

    thing = Plain(Equal(2.0))
    return lambda x: x * thing.k.k, lambda: setattr(thing, "k", Equal(3.0))


@row
def minus_zero():
    table = [0.0]
    return lambda x: x * (2 if str(table[0]) == "0.0" else 3), lambda: table.__setitem__(0, -0.0)


@row
def a_bool_for_a_number():
    table = [1]
    return lambda x: x * (2 if table[0] is not True else 3), lambda: table.__setitem__(0, True)


@row
def a_class_made_without_a_module():
    space = {}
    exec("class Model:\n    k = 2.0", space)
    model = space["Model"]()
    return lambda x: x * model.k, lambda: setattr(model, "k", 3.0)


@row
def an_enum_whose_value_is_a_list():
    class Mode(enum.Enum):
        A = [2.0]  # noqa: RUF012

    return lambda x: x * Mode.A.value[0], lambda: Mode.A.value.__setitem__(0, 3.0)


@row
def attributes_behind_getattribute():
    class Model:
        def __init__(self):
            object.__setattr__(self, "hidden", {"k": 2.0})

        def __getattribute__(self, name):
            return object.__getattribute__(self, "hidden")[name]

    model = Model()
    hidden = object.__getattribute__(model, "hidden")
    return lambda x: x * model.k, lambda: hidden.update(k=3.0)


@row
def a_format_of_an_object():
    class Text:
        count = 2

        def __format__(self, form):
            return "a" * self.count

    text = Text()
    return lambda x: x * len(f"{text}"), lambda: setattr(text, "count", 3)


@row
def a_missing_key_made_up():
    class Table(dict):
        def __missing__(self, key):
            return K

    table = Table()
    return lambda x: x * table["any"], set_global("K", 3.0)


@row
def the_order_of_dataclasses():
    @dataclasses.dataclass(order=True)
    class Ranked:
        rank: int
        k: float

    things = [Ranked(1, 2.0), Ranked(2, 3.0)]
    return lambda x: x * sorted(things)[0].k, lambda: setattr(things[0], "rank", 5)


@row
def a_default_that_a_dataclass_makes():
    @dataclasses.dataclass
    class Config:
        k: float = dataclasses.field(default_factory=lambda: K)

    return lambda x: x * Config().k, set_global("K", 3.0)


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_noticed(name):
    check(ROWS[name], globals())


# ---- what is known of classes --------------------------------------------------------------------


@dataclasses.dataclass(order=True)
class Ranked:
    size: int
    note: str = dataclasses.field(default="", compare=False)


def test_fields_that_are_compared():
    assert fields_of(Ranked) == ["size"]
    assert list(match_args(Ranked)) == ["size", "note"]
    assert Shape(Ranked).extra == {"size"}  # which < asks for, without a mention


def test_whose_a_class_is():
    assert is_users_class(Ranked)
    assert is_users_module(__name__)
    for kind in (int, dict, Value, collections.OrderedDict, pytest.Item):
        assert not is_users_class(kind)
    assert not is_users_module("json")
    assert is_users_class(nn.Neuron)  # made to be built upon


def test_what_a_shape_knows():
    class Model:
        __slots__ = ("k",)

    class Cached:
        @functools.cached_property
        def total(self):
            return 1.0

    assert (Shape(Model).slots, Shape(Cached).slots) == (True, False)
    assert Shape(Cached).filled == {"total"}
    assert is_operator(Ranked.__lt__)
    assert not is_operator("text")
