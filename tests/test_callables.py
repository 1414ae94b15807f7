"""Functions whose call computes nothing yet are refused; what is made of others is copied."""

from __future__ import annotations

import functools

import pytest

import minigrad
from minigrad import TraceError, Value
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
