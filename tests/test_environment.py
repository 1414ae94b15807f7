"""What a compiled function reads besides its arguments: nothing that does not matter is a change.

That every change is noticed is in `test_search`, `test_looks`, `test_shapes`, `test_places` and
`test_words`. Each row here makes a function that is 2x, and a change that leaves it so. Nothing in
reach is called by looking at it.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import time

import numpy as np
import pytest
from changes import Plain, changes_of, restored, user_module

import minigrad
from minigrad import Value, optim


@pytest.fixture(autouse=True)
def as_it_was():
    with restored(globals()):
        yield


QUIET, quiet, set_global = changes_of(globals())


@quiet
def a_list_of_losses_beside_a_method():
    class Run:
        def __init__(self):
            self.k, self.losses = 2.0, []

        def loss(self, x):
            return x * self.k

    run = Run()
    return run.loss, lambda: run.losses.append(1.0)


@quiet
def a_counter_of_an_optimiser():
    class Run:
        def __init__(self):
            self.w = Value(2.0)
            self.w.grad = 1.0
            self.optimiser = optim.SGD([self.w], lr=0.0)

        def loss(self, x):
            return x * self.w + 0 * self.optimiser.lr

    run = Run()
    return run.loss, lambda: run.optimiser.step()


@quiet
def a_field_of_a_dataclass_beside():
    @dataclasses.dataclass
    class Run:
        k: float
        log: list = dataclasses.field(default_factory=list)

        def loss(self, x, mode="plain"):
            return x * self.k if mode == "plain" else x

    run = Run(2.0)
    return run.loss, lambda: run.log.append(1.0)


@quiet
def a_global_with_the_name_of_an_attribute():
    thing = Plain()
    return lambda x: x * thing.k, set_global("k", 5.0)


@quiet
def other_names_of_a_module():
    made = user_module("with_others", k=2.0, count=0)
    return lambda x: x * made.k, lambda: setattr(made, "count", made.count + 1)


@quiet
def a_number_set_again():
    table = {"k": 2.5}

    def change():
        table["k"] = float("2.5")

    return lambda x: x * table["k"] - 0.5 * x, change


@quiet
def an_equal_list_in_a_dict():
    table = {"ks": [2.0]}
    return lambda x: x * table["ks"][0], lambda: table.update(ks=[2.0])


@quiet
def a_set_in_another_order():
    things = {1, 2, "a", None}

    def change():
        held = list(things)
        things.clear()
        things.update(reversed(held))

    return lambda x: x * (len(things) - 2), change


@quiet
def a_class_attribute_beside():
    class Model:
        k, count = 2.0, 0

        def run(self, x):
            return x * self.k

    return Model().run, lambda: setattr(Model, "count", Model.count + 1)


@quiet
def an_attribute_of_a_value_beside():
    w = Value(2.0)
    w.history = 0
    return lambda x: x * w, lambda: setattr(w, "history", w.history + 1)


@quiet
def the_cache_of_a_dispatcher():
    @functools.singledispatch
    def act(x):
        return x * 2

    return lambda x: act(x), lambda: act(float(len(str(act))))


@pytest.mark.parametrize("name", QUIET)
def test_what_does_not_matter_is_not_traced_again(name):
    function, change = QUIET[name]()
    fast = minigrad.compile(function)
    for _ in range(4):
        assert fast(1.0).data == 2.0
        change()
    assert fast.cache_info().traces == 1


def test_an_equal_list_is_watched_from_then_on():
    table = {"ks": [2.0]}
    fast = minigrad.compile(lambda x: x * table["ks"][0])
    assert fast(1.0).data == 2.0
    other = [2.0]
    table["ks"] = other
    assert fast(1.0).data == 2.0
    other[0] = 3.0
    assert fast(1.0).data == 3.0


def test_a_change_by_the_function_itself_is_named():
    from minigrad.compiler.tracing.environment import environment_of

    log = []

    def function(x):
        log.append(x)
        return x

    found = environment_of(function)
    assert found.changed() is None
    function(1.0)
    assert found.changed() == "log"


def test_large_containers_are_compared_quickly():
    from minigrad.compiler.tracing.environment import environment_of

    count = 100_000
    several, line = set(range(count)), collections.deque(range(count))
    table = collections.OrderedDict.fromkeys(range(count))
    numbers = np.zeros(count)
    found = environment_of(lambda x: x * len(several) * len(line) * len(table) * len(numbers))
    start = time.process_time()
    for _ in range(10):
        assert found.changed() is None
    spent = (time.process_time() - start) / 10
    assert spent < (3.0 if minigrad.engine() == "pure" else 0.03)


def test_what_a_method_does_not_mention_may_change():
    @dataclasses.dataclass
    class Run:
        scale: float
        log: list = dataclasses.field(default_factory=list)

        def measure(self, x):
            return x * self.scale

        def write_down(self, y):
            self.log.append(y.data)

    run = Run(2.0)
    fast = minigrad.compile(run.measure)
    for x in (1.0, 2.0, 3.0):
        run.write_down(fast(x))
    assert (run.log, fast.cache_info().traces) == ([2.0, 4.0, 6.0], 1)
    run.scale = 3.0
    assert (fast(1.0).data, fast.cache_info().traces) == (3.0, 2)
    run.measure = None  # unmentioned, too
    assert (fast(2.0).data, fast.cache_info().traces) == (6.0, 2)


def test_what_a_method_may_reach_by_other_means_is_watched():
    class Config:
        def __init__(self):
            self.scale = 2.0

        def measure(self, x, name="scale"):
            return x * getattr(self, name)

    config = Config()
    fast = minigrad.compile(config.measure)
    assert fast(1.0).data == 2.0
    config.scale = 3.0
    assert fast(1.0).data == 3.0


def test_what_stands_in_for_a_built_in_while_another_thread_traces_is_no_change():
    from minigrad.compiler.tracing.builtins import patched
    from minigrad.compiler.tracing.environment import environment_of
    from minigrad.compiler.tracing.trace import Trace

    found = environment_of(lambda x: max(x, 1.0))
    with patched(Trace()):
        assert found.changed() is None
    assert found.changed() is None
