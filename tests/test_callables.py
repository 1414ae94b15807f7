"""Functions whose call computes nothing yet are refused; what is made of others is copied."""

from __future__ import annotations

import copy
import functools
import math
import pickle

import pytest

import minigrad
from minigrad import TraceError, Value
from minigrad.compiler.callables import Made, refuse_unfinished
from minigrad.optim import SGD

# ---- functions whose call computes nothing yet ---------------------------------------------------


async def fetch(x):
    return x * 2.0


async def stream(x):
    yield x


def steps(x):
    yield x


class Later:
    async def __call__(self, x):
        return x

    async def method(self, x):
        return x

    def series(self, x):
        yield x


MAKERS = {
    "compile": minigrad.compile,
    "with options": minigrad.compile(strict=True),
    "batch": minigrad.compile(batch=True),
    "vmap": minigrad.vmap,
    "train_step": lambda f: minigrad.train_step(f, SGD([Value(1.0)], lr=0.1)),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    "function",
    [
        fetch,
        stream,
        functools.partial(fetch),
        functools.partial(functools.partial(stream), 1.0),
        Later(),
        Later().method,
        functools.partial(Later()),
    ],
)
def test_async_functions_are_refused_at_once(maker, function):
    with pytest.raises(TypeError, match=r"(fetch|stream|Later\S*) is an async function: .*\(def\)"):
        MAKERS[maker](function)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("function", [steps, functools.partial(steps, 2.0), Later().series])
def test_generators_are_refused_at_once(maker, function):
    with pytest.raises(TypeError, match=r"(steps|Later\.series) is a generator.* Return a list"):
        MAKERS[maker](function)


def test_an_async_function_that_hides_is_refused_when_it_is_traced():
    coroutines = []

    def hidden(x):
        coroutines.append(fetch(x))
        return coroutines[-1]

    with pytest.raises(TraceError, match="returns a coroutine"):
        minigrad.compile(hidden)(1.0)
    coroutines[0].close()


# ---- copies and pickles --------------------------------------------------------------------------


class Wrapped(Made):
    def __init__(self, function, factor):
        self.function, self.factor = function, factor

    def _recipe(self):
        return self.function, self.factor

    def __call__(self, x):
        return self.factor * self.function(x)


class Shifted:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x + self.by[0]


def test_what_is_made_from_a_plain_function_is_its_own_copy():
    made = Wrapped(math.sqrt, 2.0)
    assert copy.copy(made) is copy.deepcopy(made) is made
    twin = pickle.loads(pickle.dumps(made))
    assert (twin(9.0), type(twin)) == (6.0, Wrapped)


def test_what_is_made_from_an_object_is_copied_with_it():
    made = Wrapped(Shifted([1.0]), 2.0)
    twin = copy.deepcopy(made)
    twin.function.by[0] = 4.0
    assert (made(1.0), twin(1.0)) == (4.0, 10.0)


def test_a_function_without_a_name_cannot_be_pickled():
    with pytest.raises(pickle.PicklingError, match="with def at the top level of a module"):
        pickle.dumps(Wrapped(lambda x: x, 2.0))


def test_ordinary_functions_are_not_refused():
    for function in (math.sin, Shifted([1.0]), functools.partial(max, 1.0), Shifted):
        refuse_unfinished(function)
