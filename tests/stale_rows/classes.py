"""Classes as arguments and surroundings, metaclasses, descriptors, slots."""

import abc

from minigrad import Value

from . import SAME, catalogue

row = catalogue("classes and descriptors")


@row(SAME)
def a_compiled_classmethod(compiled):
    class Model:
        k = 2.0

        @classmethod
        @compiled
        def f(cls, x):
            return x * cls.k

    yield Model.f(1.0)
    Model.k = 9.0
    yield Model.f(1.0)


@row(SAME)
def a_class_as_argument(compiled):
    class Config:
        k = 2.0

    f = compiled(lambda config, x: x * config.k)
    yield f(Config, 1.0)
    Config.k = 9.0
    yield f(Config, 1.0)


@row(SAME)
def a_base_class_is_changed(compiled):
    class Base:
        k = 2.0

    class Model(Base):
        def f(self, x):
            return x * self.k

    model = Model()
    f = compiled(lambda x: model.f(x))
    yield f(1.0)
    Base.k = 9.0
    yield f(1.0)
    Model.k = 4.0
    yield f(1.0)
    model.k = 3.0
    yield f(1.0)


@row(SAME)
def a_method_is_patched(compiled):
    class Model:
        def act(self, x):
            return x * 2.0

    model = Model()
    f = compiled(lambda x: model.act(x))
    yield f(1.0)
    Model.act = lambda self, x: x * 9.0
    yield f(1.0)
    model.act = lambda x: x * 4.0
    yield f(1.0)


@row(SAME)
def a_property_reads_something_hidden(compiled):
    class Model:
        def __init__(self):
            self._k = 2.0

        @property
        def k(self):
            return self._k * 10.0

    model = Model()
    f = compiled(lambda x: x * model.k)
    yield f(1.0)
    model._k = 9.0
    yield f(1.0)


@row(SAME)
def a_descriptor_of_ones_own(compiled):
    class Setting:
        def __set_name__(self, owner, name):
            self.name = f"_{name}"

        def __get__(self, instance, owner=None):
            return self if instance is None else instance.__dict__[self.name]

        def __set__(self, instance, value):
            instance.__dict__[self.name] = value

    class Config:
        rate = Setting()

    config = Config()
    config.rate = 2.0
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def a_descriptor_with_a_table_of_its_own(compiled):
    class Setting:
        def __init__(self):
            self.table = {}

        def __get__(self, instance, owner=None):
            return self.table[id(instance)]

        def __set__(self, instance, value):
            self.table[id(instance)] = value

    class Config:
        rate = Setting()

    config = Config()
    config.rate = 2.0
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def a_metaclass_has_an_attribute(compiled):
    class Meta(type):
        k = 2.0

    class Config(metaclass=Meta):
        pass

    f = compiled(lambda x: x * Config.k)
    yield f(1.0)
    Meta.k = 9.0
    yield f(1.0)


@row()
def a_metaclass_has_a_property(compiled):
    class Meta(type):
        table = {"k": 2.0}  # noqa: RUF012

        @property
        def k(cls):
            return cls.table["k"]

    class Config(metaclass=Meta):
        pass

    f = compiled(lambda x: x * Config.k)
    yield f(1.0)
    Meta.table["k"] = 9.0
    yield f(1.0)


@row()
def a_metaclass_answers_by_getattr(compiled):
    defaults = {"rate": 2.0}

    class Meta(type):
        def __getattr__(cls, name):
            return defaults[name]

    class Config(metaclass=Meta):
        pass

    f = compiled(lambda x: x * Config.rate)
    yield f(1.0)
    defaults["rate"] = 9.0
    yield f(1.0)


@row(SAME)
def an_object_answers_by_getattr(compiled):
    class Config:
        def __init__(self, **table):
            self._table = table

        def __getattr__(self, name):
            return self._table[name]

    config = Config(rate=2.0)
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    config._table["rate"] = 9.0
    yield f(1.0)


@row()
def an_object_answers_by_getattribute(compiled):
    class Config:
        rate = 2.0

        def __getattribute__(self, name):
            return object.__getattribute__(self, name) * factor

    factor = 1.0
    config = Config()
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    factor = 3.0
    yield f(1.0)


@row(SAME)
def slots_without_a_dict(compiled):
    class Point:
        __slots__ = ("x", "y")

    point = Point()
    point.x, point.y = 1.0, 2.0
    f = compiled(lambda t: t * point.x + point.y)
    yield f(1.0)
    point.y = 9.0
    yield f(1.0)
    del point.x
    try:
        yield f(1.0)
    except AttributeError as error:
        yield type(error).__name__


@row(SAME)
def a_slot_in_a_base_class_with_a_mangled_name(compiled):
    class Base:
        __slots__ = ("__hidden",)

        def __init__(self):
            self.__hidden = 2.0

        def put(self, number):
            self.__hidden = number

        def gain(self):
            return self.__hidden

    class Model(Base):
        __slots__ = ()

    model = Model()
    f = compiled(lambda x: x * model.gain())
    yield f(1.0)
    model.put(9.0)
    yield f(1.0)


@row(SAME)
def a_static_method_is_replaced(compiled):
    class Tools:
        @staticmethod
        def act(x):
            return x * 2.0

    f = compiled(lambda x: Tools.act(x))
    yield f(1.0)
    Tools.act = staticmethod(lambda x: x * 9.0)
    yield f(1.0)


@row(SAME)
def an_abstract_method_gets_another_class(compiled):
    class Act(abc.ABC):
        @abc.abstractmethod
        def __call__(self, x): ...

    class Double(Act):
        def __call__(self, x):
            return x * 2.0

    class Square(Act):
        def __call__(self, x):
            return x * x

    holder = {"act": Double()}
    f = compiled(lambda x: holder["act"](x))
    yield f(3.0)
    holder["act"] = Square()
    yield f(3.0)


@row(SAME)
def a_class_counts_its_instances(compiled):
    class Layer:
        made = 0

        def __init__(self):
            Layer.made += 1

    f = compiled(lambda x: x * Layer.made)
    yield f(1.0)
    Layer()
    Layer()
    yield f(1.0)


@row()
def instances_are_made_inside(compiled):
    class Node:
        count = 0

        def __init__(self, v):
            type(self).count += 1
            self.v = v * self.count

    f = compiled(lambda x: Node(x).v)
    yield [f(1.0) for _ in range(3)]
    yield Node.count


@row(SAME)
def super_is_patched_below(compiled):
    class Base:
        def forward(self, x):
            return x * 2.0

    class Model(Base):
        def forward(self, x):
            return super().forward(x) + 1.0

    model = Model()
    f = compiled(lambda x: model.forward(x))
    yield f(1.0)
    Base.forward = lambda self, x: x * 9.0
    yield f(1.0)


@row(SAME)
def a_registry_of_subclasses(compiled):
    class Plugin:
        weight = 1.0

        def __init_subclass__(cls):
            registry.append(cls)

    registry = []

    class First(Plugin):
        weight = 2.0

    f = compiled(lambda x: x * sum(each.weight for each in registry))
    yield f(1.0)

    class Second(Plugin):
        weight = 5.0

    yield f(1.0)
    First.weight = 7.0
    yield f(1.0)
    yield Second.weight


@row()
def subclasses_are_asked_for(compiled):
    class Plugin:
        weight = 1.0

    class First(Plugin):
        weight = 2.0

    f = compiled(lambda x: x * sum(each.weight for each in Plugin.__subclasses__()))
    yield f(1.0)

    class Second(Plugin):
        weight = 5.0

    yield f(1.0)
    yield First.weight + Second.weight


@row(SAME)
def another_instance_of_the_same_class(compiled):
    class Model:
        def __init__(self, w):
            self.w = w

        @compiled
        def f(self, x):
            return x * self.w

    yield Model(2.0).f(1.0)
    yield Model(9.0).f(1.0)
    yield [Model(float(k)).f(1.0) for k in range(5)]


@row(SAME)
def a_value_on_the_class_is_replaced(compiled):
    class Model:
        w = Value(2.0)

    f = compiled(lambda x: x * Model.w)
    yield f(1.0)
    Model.w = Value(9.0)
    yield f(1.0)
