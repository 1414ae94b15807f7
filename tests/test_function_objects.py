"""Compiled functions as objects: copied, pickled, and made from functions that do not fit."""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
import subprocess
import sys

import pytest

import minigrad
from minigrad import Value
from minigrad.optim import SGD, Adam

np = pytest.importorskip("numpy")

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


@minigrad.compile
def square(x):
    return x * x


@minigrad.compile(strict=True, backend="numpy")
def strict_cube(x):
    return x * x * x


@minigrad.vmap
def rows(x, y):
    return x * y


def plain(x):
    return x * 3.0


faster = minigrad.compile(plain, backend="numpy")
many = minigrad.vmap(plain, backend="numpy")


class Model:
    """Has a compiled method, a compiled attribute, and keeps a bound method."""

    def __init__(self, weight=2.0):
        self.weight = Value(weight)
        self.fast = minigrad.compile(self.scaled, backend="numpy", strict=True)
        self.kept = self.loss

    def scaled(self, x):
        return self.weight * x

    @minigrad.compile
    def loss(self, x):
        return self.weight * x * x

    @minigrad.vmap
    def table(x):  # noqa: N805 - one of numbers
        return x + 1.0


class Training:
    """A model, its optimiser, and a step that is made of a method."""

    def __init__(self, backend="auto"):
        self.weight = Value(1.0)
        self.optimizer = Adam([self.weight], lr=0.125)
        self.step = minigrad.train_step(self.loss, self.optimizer, backend=backend)

    def loss(self, x):
        return (self.weight - x) ** 2


def loss_of_globals(x):
    return WEIGHT * x


WEIGHT = Value(1.0)
COPIES = [copy.deepcopy, *(lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in PROTOCOLS)]
IDS = ["deepcopy", *(f"pickle {p}" for p in PROTOCOLS)]
every_way = pytest.mark.parametrize("twin_of", COPIES, ids=IDS)


# ---- copies --------------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("thing", [square, strict_cube, rows, Model.loss, Model.table])
def test_decorated_functions_are_their_own_copies(thing, twin_of):
    assert twin_of(thing) is thing
    assert copy.copy(thing) is thing


@every_way
@pytest.mark.parametrize("way", [0, 1])
def test_in_a_structure_too(way, twin_of):
    assert twin_of([{"f": square}, (rows, strict_cube)][way])


def test_a_pickle_has_the_name_alone():
    square(2.0)
    assert len(pickle.dumps(square)) < 100
    strictly = pickle.loads(pickle.dumps(strict_branch))
    strictly(1.0)
    with pytest.raises(minigrad.GuardError):  # the options are those of the decorator
        strictly(-1.0)


@minigrad.compile(strict=True)
def strict_branch(x):
    return x if x > 0 else -x


@every_way
def test_what_is_compiled_under_another_name(twin_of):
    faster(1.0)
    twin = twin_of(faster)
    assert twin(2.0).data == 6.0
    assert twin._options == faster._options
    assert twin.__name__ == "plain"
    assert twin_of(many)(np.array([1.0, 2.0])).tolist() == [3.0, 6.0]


@every_way
def test_partials_and_objects_that_can_be_called(twin_of):
    for function in (functools.partial(plain), Callable(3.0)):
        made = minigrad.compile(function, backend="numpy")
        assert made(2.0).data == 6.0
        twin = twin_of(made)
        assert twin is not made
        assert twin(2.0).data == 6.0
        assert twin.cache_info().traces == 1  # programs stay where they are


class Callable:
    def __init__(self, factor):
        self.factor = Value(factor)

    def __call__(self, x):
        return self.factor * x


@every_way
def test_a_model_with_compiled_methods(twin_of):
    model = Model()
    assert (model.loss(3.0).data, model.fast(3.0).data, model.kept(3.0).data) == (18.0, 6.0, 18.0)
    twin = twin_of(model)
    twin.weight.data = 5.0
    assert (twin.loss(3.0).data, twin.fast(3.0).data, twin.kept(3.0).data) == (45.0, 15.0, 45.0)
    assert (model.loss(3.0).data, model.fast(3.0).data, model.kept(3.0).data) == (18.0, 6.0, 18.0)
    assert twin.fast.__wrapped__.__self__ is twin
    assert twin.kept.__self__ is twin
    assert twin.fast._options == model.fast._options


@every_way
def test_starting_from_what_belongs_to_the_model(twin_of):
    """The model has it, and it has the model: whoever is copied first."""
    model = Model()
    fast = twin_of(model.fast)
    twin = fast.__wrapped__.__self__
    assert twin is not model
    assert twin.fast is fast
    kept = twin_of(model.kept)
    assert kept.__self__.kept is kept
    kept.__self__.weight.data = 7.0
    assert kept(1.0).data == 7.0
    value, grads = kept.value_and_grad(2.0)
    assert (value, grads.args) == (28.0, (28.0,))


def test_a_shallow_copy_of_a_model_shares_what_it_has():
    model = Model()
    twin = copy.copy(model)
    assert twin.fast is model.fast
    twin.weight = Value(9.0)
    assert (twin.loss(1.0).data, model.loss(1.0).data) == (9.0, 2.0)


def test_a_local_function_is_copied_and_not_pickled():
    weight = Value(2.0)

    def local(x):
        return weight * x

    for made in (
        minigrad.compile(local),
        minigrad.compile(lambda x: weight * x),
        minigrad.compile(functools.partial(local)),
        minigrad.vmap(local),
        minigrad.train_step(local, SGD([weight], lr=0.1)),
    ):
        assert copy.deepcopy([made])
        assert copy.copy(made) is made
        with pytest.raises(
            pickle.PicklingError,
            match=r"test_a_local_function.*(local|<lambda>) cannot be pickled: .*top level",
        ):
            pickle.dumps({"made": made})
    assert copy.deepcopy(minigrad.compile(local))(3.0).data == 6.0


def test_a_name_that_something_else_has_is_refused():
    def square(x):
        return x

    square.__qualname__ = "square"  # in this module the name belongs to another one
    with pytest.raises(pickle.PicklingError, match="something else has it"):
        pickle.dumps(minigrad.compile(square))


def test_another_process_finds_it(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import minigrad\n"
        "@minigrad.compile\n"
        "def double(x):\n"
        "    return x * 2.0\n"
        "class Model:\n"
        "    def __init__(self):\n"
        "        self.w = minigrad.Value(3.0)\n"
        "        self.f = minigrad.compile(self.g)\n"
        "    def g(self, x):\n"
        "        return self.w * double(x)\n",
        encoding="utf-8",
    )
    write = (
        "import mine, pickle, sys;"
        "sys.stdout.buffer.write(pickle.dumps([mine.double, mine.Model()]))"
    )
    read = (
        "import pickle, sys; f, m = pickle.loads(sys.stdin.buffer.read());"
        "print(f(2.0).data, m.f(2.0).data)"
    )
    run = functools.partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True)
    pickled = run([sys.executable, "-c", write]).stdout
    assert run([sys.executable, "-c", read], input=pickled).stdout.split() == [b"4.0", b"12.0"]


# ---- training ------------------------------------------------------------------------------------


@every_way
def test_a_training_goes_on_from_a_copy(twin_of, backend):
    training = Training(backend)
    for x in (1.5, 2.5):
        training.step(x)  # the newest numbers are with the machine
    twin = twin_of(training)
    assert twin.optimizer.parameters[0] is twin.weight
    assert twin.weight.data == training.weight.data
    losses = [training.step(x) for x in (0.5, 3.5, 2.0)]
    assert [twin.step(x) for x in (0.5, 3.5, 2.0)] == losses
    assert (twin.weight.data, twin.optimizer.steps) == (training.weight.data, 5)
    assert twin.optimizer.state == training.optimizer.state
    assert twin.step._options == training.step._options


@every_way
def test_a_step_alone_brings_model_and_optimiser_along(twin_of, backend):
    training = Training(backend)
    training.step(1.5)
    before = training.weight.data
    step = twin_of(training.step)
    model = step.function.__self__
    assert model.step is step
    assert (model.weight.data, model.optimizer) == (before, step.optimizer)
    step(1.5)
    assert training.weight.data == before != model.weight.data


def test_the_optimiser_alone(backend):
    training = Training(backend)
    training.step(1.5)
    for twin_of in COPIES:
        optimizer = twin_of(training.optimizer)
        assert optimizer.parameters[0].data == training.weight.data
        assert optimizer.state_dict() == training.optimizer.state_dict()


def test_a_step_of_a_function_in_a_module():
    step = minigrad.train_step(loss_of_globals, SGD([WEIGHT], lr=0.5))
    step(1.0)
    twin = pickle.loads(pickle.dumps(step))
    assert twin.function is loss_of_globals
    assert twin.optimizer.parameters[0].data == WEIGHT.data
    decorated = minigrad.train_step(square, SGD([WEIGHT], lr=0.5))
    assert pickle.loads(pickle.dumps(decorated)).function is square.__wrapped__


# ---- results -------------------------------------------------------------------------------------


@every_way
def test_gradients(twin_of, backend):
    w, unused = Value(2.0), Value(1.0)
    function = minigrad.compile(lambda a, b, k: w * a[0] * a[1] + b["c"] * k, backend=backend)
    argument = Value(3.0)
    _, grads = function.value_and_grad([argument, 5.0], b={"c": 7.0}, k=2)
    for asked_before in (False, True):
        assert not asked_before or grads[w] == 15.0
        copied_w, copied_argument, twin = twin_of((w, argument, grads))
        assert twin.args == grads.args == ([10.0, 6.0],)
        assert twin.kwargs == grads.kwargs
        assert (twin[copied_w], twin[copied_argument]) == (15.0, 10.0)
        assert len(twin) == 2
        assert list(twin) == [copied_w, copied_argument]
        assert twin.numbers.tolist() == [15.0]
        with pytest.raises(KeyError):
            twin[unused]
    shallow = copy.copy(grads)
    assert (shallow[w], shallow[argument], shallow.args) == (15.0, 10.0, grads.args)


@every_way
def test_gradients_of_a_method(twin_of):
    model = Model()
    _, grads = model.loss.value_and_grad(3.0)
    weight, twin = twin_of((model.weight, grads))
    assert (twin.args, twin[weight]) == ((12.0,), 9.0)


@every_way
def test_gradients_of_rows(twin_of, backend):
    w = Value(2.0)
    table = minigrad.vmap(lambda x, y: w * x * y, backend=backend)
    _, grads = table.value_and_grad(np.array([1.0, 2.0]), 3.0)
    weight, twin = twin_of((w, grads))
    assert type(twin) is type(grads)
    assert twin[0].tolist() == [6.0, 6.0]
    assert twin[1] == 6.0
    assert twin.parameters[0] is weight
    assert twin.totals.tolist() == [9.0]


def test_rows_of_a_compiled_method():
    model = Model()
    assert minigrad.vmap(model.loss)(np.array([1.0, 2.0])).tolist() == [2.0, 8.0]


# ---- functions whose call computes nothing yet ---------------------------------------------------


def test_a_compiled_function_is_called_from_an_async_one():
    async def work():
        return [square(float(k)).data for k in range(4)]

    async def all_of_it():
        return await asyncio.gather(work(), work())

    assert asyncio.run(all_of_it()) == [[0.0, 1.0, 4.0, 9.0]] * 2
