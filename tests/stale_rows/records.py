"""dataclasses, enums, named tuples, match."""

import dataclasses
import enum
from collections import namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from minigrad import Value

from . import SAME, Notebook, catalogue

row = catalogue("dataclasses, enums, match")


@row(SAME)
def a_config_dataclass(compiled):
    @dataclass
    class Config:
        rate: float = 2.0
        layers: list = field(default_factory=lambda: [1.0])

    config = Config()
    f = compiled(lambda x: x * config.rate + sum(config.layers))
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)
    config.layers.append(5.0)
    yield f(1.0)


@row(SAME)
def a_config_dataclass_as_argument(compiled):
    @dataclass
    class Config:
        rate: float = 2.0

    f = compiled(lambda x, config: x * config.rate)
    config = Config()
    yield f(1.0, config)
    config.rate = 9.0
    yield f(1.0, config)
    yield f(1.0, Config(4.0))
    yield [f(1.0, Config(float(k))) for k in range(4)]


@row(SAME)
def a_frozen_config_is_replaced(compiled):
    @dataclass(frozen=True)
    class Config:
        rate: float = 2.0

    config = Config()
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    config = dataclasses.replace(config, rate=9.0)
    yield f(1.0)


@row(SAME)
def equal_configs_that_compare_by_one_field(compiled):
    @dataclass
    class Config:
        name: str
        rate: float = field(default=2.0, compare=False)

    class Trainer:
        config = Config("a", 2.0)

    f = compiled(lambda x: x * Trainer.config.rate)
    yield f(1.0)
    Trainer.config = Config("a", 9.0)
    yield f(1.0)


@row(SAME)
def a_nested_dataclass(compiled):
    @dataclass
    class Inner:
        k: float = 1.0

    @dataclass
    class Outer:
        inner: Inner = field(default_factory=Inner)

    config = Outer()
    f = compiled(lambda x: x * config.inner.k)
    yield f(1.0)
    config.inner.k = 9.0
    yield f(1.0)
    config.inner = Inner(4.0)
    yield f(1.0)


@row(SAME)
def a_dataclass_with_slots(compiled):
    @dataclass(slots=True)
    class Config:
        rate: float = 2.0

    config = Config()
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def asdict_is_read(compiled):
    @dataclass
    class Config:
        a: float = 1.0
        b: float = 2.0

    config = Config()
    f = compiled(lambda x: sum(x * v for v in dataclasses.asdict(config).values()))
    yield f(1.0)
    config.b = 9.0
    yield f(1.0)


@row(SAME)
def fields_are_walked(compiled):
    @dataclass
    class Config:
        a: float = 1.0
        b: float = 2.0

    config = Config()
    f = compiled(
        lambda x: sum(x * getattr(config, each.name) for each in dataclasses.fields(config))
    )
    yield f(1.0)
    config.b = 9.0
    yield f(1.0)


@row(SAME)
def a_dataclass_of_values_is_made_inside(compiled):
    @dataclass
    class State:
        position: Value
        gain: float = 2.0

    f = compiled(lambda x: State(x * 3.0).position * State(x).gain)
    yield f(1.0)
    State.__init__.__defaults__ = (9.0,)
    yield f(1.0)


@row(SAME)
def a_post_init_reads_a_variable(compiled):
    @dataclass
    class Scaled:
        x: Value

        def __post_init__(self):
            self.y = self.x * scale

    scale = 2.0
    f = compiled(lambda x: Scaled(x).y)
    yield f(1.0)
    scale = 9.0
    yield f(1.0)


@row()
def a_dataclass_comes_back(compiled):
    @dataclass
    class Result:
        loss: Value
        count: int

    f = compiled(lambda x: Result(x * 2.0, 3))
    found = f(1.0)
    yield found.loss, found.count
    found = f(5.0)
    yield found.loss, found.count


@row(SAME)
def an_enum_switches_the_mode(compiled):
    class Mode(enum.Enum):
        TRAIN = 1
        EVAL = 2

    mode = Mode.TRAIN
    f = compiled(lambda x: x * 0.5 if mode is Mode.TRAIN else x)
    yield f(1.0)
    mode = Mode.EVAL
    yield f(1.0)


@row(SAME)
def an_enum_as_argument(compiled):
    class Mode(enum.Enum):
        TRAIN = "train"
        EVAL = "eval"

    f = compiled(lambda x, mode: x * 0.5 if mode is Mode.TRAIN else x)
    yield f(1.0, Mode.TRAIN)
    yield f(1.0, Mode.EVAL)
    yield f(1.0, Mode.TRAIN)


@row(SAME)
def an_int_enum_and_a_bare_int(compiled):
    class Level(enum.IntEnum):
        LOW = 1
        HIGH = 2

    f = compiled(lambda x, n: x * n if isinstance(n, Level) else x * n * 100.0)
    yield f(1.0, Level.HIGH), f(1.0, 2), f(1.0, Level.LOW), f(1.0, 1)


@row(SAME)
def two_string_enums_with_equal_members(compiled):
    class Red(enum.StrEnum):
        ONE = "one"

        @property
        def weight(self):
            return 2.0

    class Blue(enum.StrEnum):
        ONE = "one"

        @property
        def weight(self):
            return 9.0

    f = compiled(lambda x, mode: x * mode.weight)
    yield f(1.0, Red.ONE), f(1.0, Blue.ONE)


@row(SAME)
def flags_are_combined(compiled):
    class Use(enum.Flag):
        BIAS = enum.auto()
        NORM = enum.auto()

    use = Use.BIAS
    f = compiled(
        lambda x: x * (2.0 if Use.NORM in use else 1.0) + (1.0 if Use.BIAS in use else 0.0)
    )
    yield f(1.0)
    use |= Use.NORM
    yield f(1.0)


@row()
def a_member_of_an_enum_carries_a_weight(compiled):
    class Kind(enum.Enum):
        A = "a"

    Kind.A.weight = 2.0
    f = compiled(lambda x: x * Kind.A.weight)
    yield f(1.0)
    Kind.A.weight = 9.0
    yield f(1.0)


@row(SAME)
def match_on_a_text(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        kind = "relu"
        @compiled
        def f(x):
            match kind:
                case "relu": return x.relu()
                case "tanh": return x.tanh()
                case _: return x
        """
    )
    yield cells.f(-1.0)
    cells.run('kind = "tanh"')
    yield cells.f(-1.0)
    cells.run("kind = None")
    yield cells.f(-1.0)


@row()
def match_on_a_number_of_the_arguments(compiled):
    @compiled
    def f(x, n):
        match n:
            case 0:
                return x
            case 1 | 2:
                return x * 10.0
            case int():
                return x * 100.0
            case _:
                return x * 1000.0

    yield f(1.0, 0), f(1.0, 1), f(1.0, 2), f(1.0, 3), f(1.0, None)


@row()
def match_on_a_float_of_the_arguments(compiled):
    @compiled
    def f(x):
        match x:
            case 0.0:
                return x + 5.0
            case 1.0:
                return x * 10.0
            case _:
                return x * 100.0

    yield [f(x) for x in (0.0, 1.0, 2.0, 0.0, -0.0)]


@row(SAME)
def match_on_the_shape_of_a_dict(compiled):
    @compiled
    def f(message):
        match message:
            case {"kind": "add", "x": x, "y": y}:
                return x + y
            case {"kind": "mul", "x": x, "y": y}:
                return x * y
            case [x, *rest]:
                return x * len(rest)
            case _:
                return Value(-1.0)

    yield f({"kind": "add", "x": 2.0, "y": 3.0})
    yield f({"kind": "mul", "x": 2.0, "y": 3.0})
    yield f([2.0, 1.0, 1.0])
    yield f({"kind": "other"})


@row(SAME)
def match_on_a_class_with_match_args(compiled):
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    point = Point(1.0, 2.0)

    @compiled
    def f(t):
        match point:
            case Point(0.0, y):
                return t * y
            case Point(x, y):
                return t * x - y
        return t

    yield f(1.0)
    point.x = 0.0
    yield f(1.0)
    Point.__match_args__ = ("y", "x")
    yield f(1.0)


@row(SAME)
def a_named_tuple_as_config(compiled):
    config_of = namedtuple("config_of", "rate bias", defaults=(1.0,))
    config = config_of(2.0)
    f = compiled(lambda x: x * config.rate + config.bias)
    yield f(1.0)
    config = config._replace(bias=5.0)
    yield f(1.0)


@row(SAME)
def named_tuples_of_two_kinds(compiled):
    class Polar(NamedTuple):
        a: float
        b: float

        def x(self):
            return self.a * minicos(self.b)

    class Plain(NamedTuple):
        a: float
        b: float

        def x(self):
            return self.a

    def minicos(angle):
        return 1.0 - angle * angle / 2.0

    f = compiled(lambda point: point.x())
    yield f(Polar(2.0, 0.5)), f(Plain(2.0, 0.5)), f(Polar(3.0, 0.1))


@row(SAME)
def a_typed_dict(compiled):
    class Config(TypedDict):
        rate: float

    config: Config = {"rate": 2.0}
    f = compiled(lambda x: x * config["rate"])
    yield f(1.0)
    config["rate"] = 9.0
    yield f(1.0)
