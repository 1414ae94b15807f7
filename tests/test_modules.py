"""`Module`: parameters found and named by attributes, saved and loaded by name."""

from __future__ import annotations

import copy
import json
import pickle
from abc import ABC, abstractmethod
from collections import UserDict, deque
from dataclasses import InitVar, dataclass, field

import pytest

from minigrad import CheckpointError, Value, load_parameters, optim
from minigrad.core.names import Name, last_part
from minigrad.nn import MLP, Layer, Module, Neuron


class Model(Module):
    def __init__(self):
        self.size = 3
        self.embeddings = [[Value(1.0), Value(2.0)], [Value(3.0), 0.5]]
        self.layers = [Layer(2, 1), Neuron(1)]
        self.table = {"a": Value(4.0), "rows": (Value(5.0),)}
        self.bias = Value(6.0)
        self.tied = self.bias


NAMES = [
    *("embedding0_0", "embedding0_1", "embedding1_0"),
    *("layer0.neuron0.w0", "layer0.neuron0.w1", "layer0.neuron0.b", "layer1.w0", "layer1.b"),
    *("table.a", "table.row0", "bias"),
]


@pytest.mark.smoke
def test_parameters_are_found_in_attributes_in_order_and_once():
    model = Model()
    model.state = model.bias * 2.0  # computed, as by a call: no parameter
    assert [name for name, _ in model.named_parameters()] == NAMES
    assert [p for _, p in model.named_parameters()] == model.parameters()
    assert [p.label for p in model.parameters()] == NAMES
    model.parameters()[0].grad = 3.0
    model.zero_grad()
    assert model.parameters()[0].grad == 0.0


def test_micrograds_modules_work_as_they_are():
    """The classes of micrograd's nn.py, in short; names come all the same."""
    import random

    class Unit(Module):
        def __init__(self, nin):
            self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
            self.b = Value(0)

        def __call__(self, x):
            return sum((wi * xi for wi, xi in zip(self.w, x, strict=True)), self.b).relu()

        def parameters(self):
            return [*self.w, self.b]

    class Row(Module):
        def __init__(self, nin, nout):
            self.neurons = [Unit(nin) for _ in range(nout)]

        def __call__(self, x):
            return [n(x) for n in self.neurons]

        def parameters(self):
            return [p for n in self.neurons for p in n.parameters()]

    row = Row(2, 2)
    assert len(row([1.0, 2.0])) == 2
    assert [name for name, _ in row.named_parameters()] == [
        *("neuron0.w0", "neuron0.w1", "neuron0.b", "neuron1.w0", "neuron1.w1", "neuron1.b")
    ]
    assert row.neurons[1].b.label == "neuron1.b"


def test_an_own_parameters_decides_also_for_those_around_it():
    class Frozen(Module):
        def __init__(self):
            self.kept, self.fixed = Value(1.0), Value(2.0)
            hidden = Value(3.0)
            self.found = lambda: hidden  # where nobody looks for parameters

        def parameters(self):
            return [self.kept, self.found()]

    class Whole(Module):
        def __init__(self):
            self.part = Frozen()
            self.own = Value(4.0)

    whole = Whole()
    assert [p.data for p in whole.parameters()] == [1.0, 3.0, 4.0]
    assert [name for name, _ in whole.named_parameters()] == ["part.kept", "p1", "own"]


def test_names_are_told_apart():
    class Odd(Module):
        def __init__(self):
            self.w0, self.w = Value(1.0), [Value(2.0)]

    assert [name for name, _ in Odd().named_parameters()] == ["w0", "w0#2"]


def test_labels_of_users_stay_before_and_after():
    class Pair(Module):
        def __init__(self):
            self.first, self.second = Value(1.0, label="w0"), Value(2.0)

    class Outer(Module):
        def __init__(self, pair):
            self.pair = pair

    pair = Pair()
    pair.second.label = "mine"
    outer = Outer(pair)
    assert [p.label for p in outer.parameters()] == ["w0", "mine"]
    assert [name for name, _ in outer.named_parameters()] == ["pair.first", "pair.second"]


def test_a_part_that_is_borrowed_keeps_its_names():
    model = MLP(1, [1])

    class Probe(Module):
        def __init__(self, part):
            self.part = part

    Probe(model.layers[0])
    assert [p.label for p in model.parameters()] == ["layer0.neuron0.w0", "layer0.neuron0.b"]


def test_modules_that_know_each_other_and_lists_that_contain_themselves():
    class Child(Module):
        def __init__(self, parent):
            self.parent = parent
            self.w = Value(1.0)

    class Parent(Module):
        def __init__(self):
            self.b = Value(2.0)
            self.child = Child(self)
            self.loop = []
            self.loop.append(self.loop)

    assert [name for name, _ in Parent().named_parameters()] == ["b", "child.w"]


def test_other_base_classes_slots_and_inherited_inits():
    class Base(Module, ABC):
        __slots__ = ("scale",)

        def __init__(self, scale):
            self.scale = Value(scale)

        @abstractmethod
        def __call__(self, x): ...

    class Scaled(Base):
        def __call__(self, x):
            """Scale it."""
            return self.scale * x

    scaled = Scaled(3.0)
    assert scaled.parameters()[0].label == "scale"
    assert scaled(2.0).data == 6.0
    assert Scaled.__call__.__doc__ == "Scale it."


def test_copies_and_pickles_of_models_keep_names():
    model = MLP(2, [2, 1], seed=1)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert [p.label for p in twin.parameters()] == [p.label for p in model.parameters()]
        assert [n for n, _ in twin.named_parameters()] == [n for n, _ in model.named_parameters()]
        assert isinstance(twin.parameters()[0].label, Name)


def test_the_last_part_of_a_name_is_for_those_that_modules_gave():
    assert last_part(MLP(1, [1]).parameters()[0].label) == "w0"
    assert last_part("v1.2") == "v1.2"


# ---- what others hold ----------------------------------------------------------------------------


class Hand:
    """A neuron as the lecture writes it, without a base class."""

    def __init__(self, nin):
        self.w = [Value(float(k)) for k in range(nin)]
        self.b = Value(9.0)

    def parameters(self):
        return [*self.w, self.b]


class Rows:
    __slots__ = ("neurons",)

    def __init__(self):
        self.neurons = [Hand(1), Hand(1)]

    def parameters(self):  # as in the lecture, but one at a time
        return (p for n in self.neurons for p in n.parameters())


def names(module):
    return [name for name, _ in module.named_parameters()]


@pytest.mark.smoke
def test_what_has_parameters_and_is_no_module_is_trained_named_and_saved(tmp_path):
    class Whole(Module):
        def __init__(self):
            self.head = Hand(2)
            self.layers = [Rows()]
            self.kind, self.list = Hand, list  # classes have no parameters of their own
            self.b = Value(4.0)

    whole = Whole()
    expected = [
        *("head.w0", "head.w1", "head.b", "layer0.neuron0.w0", "layer0.neuron0.b"),
        *("layer0.neuron1.w0", "layer0.neuron1.b", "b"),
    ]
    assert names(whole) == expected == [p.label for p in whole.parameters()]
    whole.save(tmp_path / "m.json")
    other = Whole()
    other.head.w[0].data = 77.0
    other.load(tmp_path / "m.json")
    assert other.head.w[0].data == 0.0
    assert ">4<" in whole._repr_html_()  # of the layer


def test_those_that_no_attribute_leads_to_are_called_by_their_place():
    class Shy:
        def __init__(self):
            hidden = Value(1.0)
            self.parameters = lambda: iter([hidden])  # set on the object itself

    class Whole(Module):
        def __init__(self):
            self.b, self.shy = Value(0.0), Shy()

    assert names(Whole()) == ["b", "p1"]


def test_parameters_of_other_libraries_and_strange_objects_are_left_alone():
    class Foreign:
        def parameters(self):
            return iter(["a tensor"])

    class Answers:
        def __getattr__(self, name):
            raise RuntimeError(f"asked for {name}") if name == "parameters" else AttributeError

    class Whole(Module):
        def __init__(self):
            self.extractor, self.answers, self.b = Foreign(), Answers(), Value(0.0)

    assert names(Whole()) == ["b"]


def test_who_asks_the_module_that_asks_it_ends():
    class Trainer:
        def __init__(self, model):
            self.model, self.rate = model, Value(0.5)

        def parameters(self):
            return [*self.model.parameters(), self.rate]

    class Whole(Module):
        def __init__(self):
            self.trainer = Trainer(self)
            self.inner = MLP(1, [1])

    whole = Whole()
    assert names(whole) == ["trainer.rate", "inner.layer0.neuron0.w0", "inner.layer0.neuron0.b"]
    assert len(set(map(id, whole.trainer.parameters()))) == 3
    assert len(whole.parameters()) == 3  # and the next call is as the first


def test_arrays_of_objects_and_other_rows_are_looked_into():
    numpy = pytest.importorskip("numpy")
    lists = [[Value(1.0), Value(2.0)], [Value(3.0), Value(4.0)]]

    class Whole(Module):
        def __init__(self):
            self.weights = numpy.array(lists, dtype=object)
            self.table = numpy.zeros((2, 2))
            self.one = numpy.array(Value(5.0), dtype=object)
            self.queue = deque([Value(6.0)])
            self.by_name = UserDict(a=Value(7.0))

    whole = Whole()
    assert names(whole) == [
        *("weight0_0", "weight0_1", "weight1_0", "weight1_1", "one", "queue0", "by_name.a")
    ]
    assert [p.data for p in whole.parameters()] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            lambda: Value(0.3) * 0.5,
            r"Own: self\.w is the result of an operation.*Value\(\(…\)\.data",
        ),
        (lambda: [[Value(0.3), -Value(0.3)]], r"Own: self\.w is the result of an operation"),
        (lambda: {Value(1.0)}, r"Own: self\.w is a set, which has no order.*Write a list"),
        (lambda: {Hand(1)}, r"Own: self\.w is a set"),
    ],
)
def test_what_looks_like_a_parameter_and_is_none_is_said(content, words):
    class Own(Module):
        def __init__(self):
            self.b, self.w = Value(0.0), content()

    with pytest.warns(RuntimeWarning, match=words) as seen:
        own = Own()
    assert [each.filename for each in seen] == [__file__]
    assert own.b in own.parameters()

    class Decided(Own):  # who writes parameters() has said what they are
        def parameters(self):
            return [self.b]

    Decided()  # warnings are errors here


def test_states_and_sets_of_anything_else_are_not_warned_of():
    class Counter(Module):
        def __init__(self):
            self.h, self.seen, self.w = 0.0, {1, "a"}, Value(2.0)

        def __call__(self, x):
            self.h = self.h + self.w * x
            return self.h

    counter = Counter()
    assert counter(3.0).data == 6.0
    assert names(counter) == ["w"]


def test_parameters_one_at_a_time(tmp_path):
    class Lazy(Module):
        def __init__(self):
            self.first, self.second = Value(1.0), Value(2.0)

        def parameters(self):
            yield self.first
            yield self.second

    class Outer(Module):
        def __init__(self):
            self.lazy = Lazy()

    for model, expected in (
        (Lazy(), ["first", "second"]),
        (Outer(), ["lazy.first", "lazy.second"]),
    ):
        path = tmp_path / f"{type(model).__name__}.json"
        model.save(path)
        assert json.loads(path.read_text())["names"] == expected == names(model)
        model.load(path)
        assert repr(model) == f"{type(model).__name__}(2 parameters)"
        assert ">2<" in model._repr_html_()
        for p in model.parameters():
            p.grad = 1.0
        model.zero_grad()
        assert [p.grad for p in model.parameters()] == [0.0, 0.0]


# ---- other ways to write a class -----------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"slots": True}, {"eq": False}], ids=str)
def test_dataclasses_have_names_and_are_saved(options, tmp_path):
    @dataclass(**options)
    class Line(Module):
        slope: Value
        shifts: list[Value]
        power: int = 2

    @dataclass(**options)
    class Prepared(Module):
        size: InitVar[int]
        part: Line
        w: list[Value] = field(init=False)

        def __post_init__(self, size):
            object.__setattr__(self, "w", [Value(0.0) for _ in range(size)])

    def make(number):
        return Prepared(2, Line(Value(number), [Value(1.0)]))

    line = Line(Value(2.0), [Value(1.0)])
    assert [p.label for p in line.parameters()] == ["slope", "shift0"]
    model = make(5.0)
    assert [p.label for p in model.parameters()] == ["part.slope", "part.shift0", "w0", "w1"]
    assert model.part._scope_name == "part"
    model.save(tmp_path / "m.json")  # its repr has the numbers in it, which others may have
    other = make(0.0)
    other.load(tmp_path / "m.json")
    assert other.part.slope.data == 5.0


def test_forward_is_told_to_be_call():
    class Torchlike(Module):
        def __init__(self):
            self.w = Value(2.0)

        def forward(self, x):
            return self.w * x

    with pytest.raises(TypeError, match=r"Torchlike has forward\(\).*write def __call__"):
        Torchlike()(1.0)
    assert Torchlike().forward(3.0).data == 6.0

    class Both(Torchlike):
        def __call__(self, x):
            return self.forward(x)

        def forward(self, x):
            return self.w + x

    assert Both()(3.0).data == 5.0

    class Later(Both):
        def forward(self, x):
            return self.w - x

    assert Later()(3.0).data == -1.0


def test_an_attribute_that_hides_the_method_is_refused():
    class Hidden(Module):
        def __init__(self):
            self.parameters = [Value(1.0)]

    with pytest.raises(TypeError, match=r"Hidden: self\.parameters = … hides.*self\.weights"):
        Hidden()

    class Chosen(Module):
        def __init__(self):
            self.w = Value(1.0)
            self.parameters = lambda: [self.w]

    assert names(Chosen()) == ["w"]


# ---- files ---------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_save_and_load(tmp_path):
    path = tmp_path / "model.json"
    model = Model()
    model.save(path)
    other = Model()
    for p in other.parameters():
        p.data = 0.0
    other.load(path)
    assert [p.data for p in other.parameters()] == [p.data for p in model.parameters()]
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=r"nothing was written.*force=True"):
        other.save(path)
    assert path.read_bytes() == before
    other.bias.data = 9.0
    other.save(path, force=True)
    assert json.loads(path.read_text())["names"] == NAMES
    assert json.loads(path.read_text())["data"][-1] == 9.0


def test_another_name_is_refused_by_name_and_nothing_changes(tmp_path):
    class Slim(Module):
        def __init__(self, names):
            for name in names:
                setattr(self, name, Value(7.0))

    path = tmp_path / "p.json"
    Slim("ab").save(path)
    for names, words in (
        ("ac", "parameter 'b' is in the file but not in the model"),
        ("ba", "parameter 'b' is number 1 in the file but number 0 in the model"),
        ("abc", "parameter 'c' is in the model but not in the file; the file has 2 parameters"),
    ):
        target = Slim(names)
        for p in target.parameters():
            p.data = 1.0
        with pytest.raises(CheckpointError, match=words):
            target.load(path)
        assert {p.data for p in target.parameters()} == {1.0}
    numbers = [Value(0.0), Value(0.0)]
    load_parameters(path, numbers)  # a list without labels takes them
    assert [v.data for v in numbers] == [7.0, 7.0]


def test_files_without_names_are_read_as_before(tmp_path):
    path = tmp_path / "p.json"
    model = MLP(1, [1])
    model.save(path)
    document = json.loads(path.read_text())
    del document["names"]
    path.write_text(json.dumps({**document, "data": [1.0, 2.0]}))
    model.load(path)
    assert [p.data for p in model.parameters()] == [1.0, 2.0]
    for damaged in ({"names": 3}, {"names": ["a"]}, {"names": [1, 2]}):
        path.write_text(json.dumps({**document, **damaged}))
        with pytest.raises(CheckpointError, match="damaged"):
            model.load(path)


def test_an_optimiser_trains_a_model_of_ones_own():
    class Line(Module):
        def __init__(self):
            self.slope, self.offset = Value(0.0), Value(0.0)

        def __call__(self, x):
            return self.slope * x + self.offset

    line = Line()
    optimizer = optim.SGD(line.parameters(), lr=0.1)
    for _ in range(400):
        total = sum(((line(x) - (2.0 * x + 1.0)) ** 2 for x in (-1.0, 0.0, 1.0)), Value(0.0))
        line.zero_grad()
        total.backward()
        optimizer.step()
    assert (line.slope.data, line.offset.data) == pytest.approx((2.0, 1.0))


def test_a_model_of_another_size_is_told_by_the_first_parameter_that_differs(tmp_path):
    path = tmp_path / "p.json"
    MLP(2, [3, 1]).save(path)
    words = (
        r"another model.*: parameter 'layer0\.neuron2\.w0' is in the file but not in the model, "
        r"like 3 more; the file has 13 parameters, the model 9\. Build the same one"
    )
    with pytest.raises(CheckpointError, match=words):
        MLP(2, [2, 1]).load(path)
    with pytest.raises(CheckpointError, match=r"'layer0\.neuron3\.w0' is in the model but not in"):
        MLP(2, [4, 1]).load(path)
    with pytest.raises(CheckpointError, match=r"another model.*\]. Build the same one"):
        MLP(2, [3, 1], activation="tanh").load(path)


def test_no_name_and_folders_are_called_that(tmp_path):
    model = MLP(1, [1])
    for force in (False, True):
        with pytest.raises(FileNotFoundError, match="the path is empty; name a file"):
            model.save("", force=force)
        with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
            model.save(tmp_path, force=force)
        with pytest.raises(TypeError, match="the path comes first"):
            model.save(None, force=force)
    assert not list(tmp_path.iterdir())
