"""What leaves a function and lives on: closures, generators, exceptions, caches, views."""

import functools
import itertools
import weakref

import numpy as np

from minigrad import Value

from . import SAME, catalogue

row = catalogue("what escapes")

COPIES = "lists and arrays from outside that a function returns are copies of them"


@row()
def a_closure_comes_back(compiled):
    def make(x):
        y = x * 2.0
        return lambda z: y * z

    f = compiled(make)
    yield f(1.0)(3.0)
    yield f(5.0)(3.0)


@row()
def a_closure_over_a_number_comes_back(compiled):
    def make(x):
        number = x.data
        return lambda z: z * number

    f = compiled(make)
    yield f(1.0)(3.0)
    yield f(5.0)(3.0)


@row()
def a_partial_comes_back(compiled):
    f = compiled(lambda x: functools.partial(lambda a, b: a * b, x * 2.0))
    yield f(1.0)(3.0)
    yield f(5.0)(3.0)


@row()
def a_bound_method_comes_back(compiled):
    class Model:
        def __init__(self, w):
            self.w = w

        def forward(self, x):
            return x * self.w

    f = compiled(lambda x: Model(x * 2.0).forward)
    yield f(1.0)(3.0)
    yield f(5.0)(3.0)


@row()
def a_function_in_a_tuple_comes_back(compiled):
    def make(x):
        y = x * 2.0
        return y, lambda: y

    f = compiled(make)
    first, later = f(1.0)
    yield first, later()
    first, later = f(5.0)
    yield first, later()


@row()
def a_function_with_a_default_comes_back(compiled):
    f = compiled(lambda x: lambda z, y=x * 2.0: z * y)
    yield f(1.0)(3.0)
    yield f(5.0)(3.0)


@row()
def a_generator_comes_back(compiled):
    def steps(x):
        for k in range(3):
            yield x * k

    f = compiled(steps)
    yield list(f(1.0))
    yield list(f(5.0))


@row()
def a_generator_expression_comes_back(compiled):
    f = compiled(lambda xs: (x * 2.0 for x in xs))
    yield list(f([1.0, 2.0]))
    yield list(f([3.0, 4.0]))


@row()
def a_map_comes_back(compiled):
    f = compiled(lambda xs: map(lambda x: x * 2.0, xs))  # noqa: C417
    yield list(f([1.0, 2.0]))
    yield list(f([3.0, 4.0]))


@row()
def zip_and_count_come_back(compiled):
    f = compiled(lambda xs: zip(itertools.count(), [x * 2.0 for x in xs]))
    yield list(f([1.0, 2.0]))
    yield list(f([3.0, 4.0]))


@row()
def an_exception_carries_a_number(compiled):
    @compiled
    def f(x):
        if x > 1.0:
            raise ValueError((x * 2.0).data)
        return x

    for x in (0.5, 2.0, 3.0, 2.0):
        try:
            yield f(x)
        except ValueError as error:
            yield float(error.args[0])


@row()
def an_exception_carries_a_value_made_outside(compiled):
    class Stop(Exception):  # noqa: N818 - as people call it
        pass

    @compiled
    def f(x):
        raise Stop(x * 2.0)

    for x in (1.0, 5.0):
        try:
            f(x)
        except Stop as stop:
            yield stop.args[0]


@row()
def an_exception_is_caught_inside(compiled):
    @compiled
    def f(x):
        try:
            if x.data > 1.0:
                raise OverflowError(x.data)
        except OverflowError as error:
            return x * error.args[0]
        return x

    yield [f(x) for x in (0.5, 2.0, 3.0)]


@row()
def a_list_of_data_comes_back(compiled):
    f = compiled(lambda xs: [(x * 2.0).data for x in xs])
    yield f([1.0, 2.0])
    yield f([3.0, 4.0])
    yield type(f([3.0, 4.0])[0]).__name__


@row()
def a_dict_of_metrics_comes_back(compiled):
    def metrics(xs):
        total = sum(x * x for x in xs)
        return {"loss": total, "largest": max(x.data for x in xs), "n": len(xs), "name": "mse"}

    f = compiled(metrics)
    yield f([1.0, 2.0])
    yield f([3.0, 4.0])


@row()
def a_text_comes_back(compiled):
    f = compiled(lambda x: f"loss {(x * x).data:.2f}")
    yield f(1.0)
    yield f(2.0)


@row()
def a_set_of_numbers_comes_back(compiled):
    f = compiled(lambda xs: sorted({x.data for x in xs}))
    yield f([1.0, 2.0, 1.0])
    yield f([3.0, 3.0, 3.0])


@row()
def a_frozenset_of_values_comes_back(compiled):
    f = compiled(lambda x: frozenset([x * 2.0]))
    yield sorted(v.data for v in f(1.0))
    yield sorted(v.data for v in f(5.0))


@row()
def an_array_of_numbers_comes_back(compiled):
    f = compiled(lambda xs: np.array([float(x.data) * 2.0 for x in xs]))
    first = f([1.0, 2.0])
    yield first
    second = f([3.0, 4.0])
    yield first, second


@row(limit=COPIES)
def an_array_comes_back_and_is_changed_by_the_caller(compiled):
    table = np.array([1.0, 2.0])
    f = compiled(lambda x: (x * 2.0, table))
    found = f(1.0)[1]
    found[0] = 99.0
    yield f(1.0)[1]
    yield table


@row()
def a_list_comes_back_and_is_changed_by_the_caller(compiled):
    f = compiled(lambda x: [x, x * 2.0])
    found = f(1.0)
    found.append("mine")
    found[0] = None
    yield f(2.0)


@row(limit=COPIES)
def a_list_outside_comes_back(compiled):
    kept = [1.0, 2.0]
    f = compiled(lambda x: (x, kept))
    f(1.0)[1].append(3.0)
    yield kept
    f(1.0)[1].append(4.0)
    yield kept


@row()
def the_argument_itself_comes_back(compiled):
    f = compiled(lambda v: v)
    v = Value(2.0)
    yield f(v)
    v.data = 3.0
    yield f(v)
    y = f(v)
    y.backward()
    yield v.grad


@row()
def a_captured_weight_comes_back(compiled):
    w = Value(2.0)
    f = compiled(lambda x: (x * w, w))
    yield f(1.0)[1]
    w.data = 5.0
    yield f(1.0)[1]


@row()
def the_model_comes_back(compiled):
    class Model:
        def __init__(self):
            self.w = Value(2.0)

        @compiled
        def forward(self, x):
            return x * self.w, self

    model = Model()
    y, same = model.forward(1.0)
    yield y, same is model
    model.w = Value(7.0)
    y, same = model.forward(1.0)
    yield y, same.w


@row()
def a_cache_of_values_lives_on(compiled):
    memory = {}

    def squared(name, v):
        if name not in memory:
            memory[name] = v * v
        return memory[name]

    w = Value(2.0)
    f = compiled(lambda x: squared("w", w) * x)
    g = compiled(lambda x: squared("w", w) + x)
    yield f(1.0)
    yield g(1.0)
    w.data = 3.0
    yield f(1.0), g(1.0)
    memory.clear()
    yield f(1.0), g(1.0)


@row()
def keys_and_values_of_attention_are_cached_outside(compiled):
    past = []

    @compiled
    def attend(x):
        past.append(x * 2.0)
        return sum(past)

    yield [attend(x) for x in (1.0, 2.0, 3.0)]


@row()
def a_value_of_the_trace_is_used_in_the_next_call(compiled):
    last = {}

    @compiled
    def f(x):
        y = x * 2.0 + last.get("y", 0.0)
        last["y"] = y
        return y

    found = [f(x) for x in (1.0, 2.0, 3.0)]
    yield found


@row()
def a_hidden_state_is_carried_along_outside(compiled):
    f = compiled(lambda h, x: (h * 0.5 + x).tanh())
    w = Value(0.0)
    h = w
    for x in (1.0, 2.0, 3.0):
        h = f(h, x)
        yield h
    h.backward()
    yield w.grad


@row()
def a_weak_reference_leaves(compiled):
    class Box:
        def __init__(self, y):
            self.y = y

    kept = []

    @compiled
    def f(x):
        kept[:] = [Box(x * 2.0)]
        return weakref.ref(kept[0])

    yield f(1.0)().y
    yield f(5.0)().y


@row()
def a_class_made_inside_comes_back(compiled):
    def make(x):
        class Made:
            y = x * 2.0

        return Made

    f = compiled(make)
    yield f(1.0).y
    yield f(5.0).y


@row()
def an_object_with_numbers_comes_back(compiled):
    class Stats:
        def __init__(self, mean):
            self.mean = mean

    f = compiled(lambda x: Stats(float(x.data)))
    yield f(1.0).mean
    yield f(5.0).mean


@row()
def an_object_with_a_rounded_number_comes_back(compiled):
    class Stats:
        def __init__(self, text):
            self.text = text

    f = compiled(lambda x: Stats(str(round(x.data, 2))))
    yield f(1.234).text
    yield f(5.678).text


@row()
def a_slice_comes_back(compiled):
    f = compiled(lambda x: slice(0, x * 2.0))
    yield f(1.0).stop
    yield f(5.0).stop


@row(limit=COPIES)
def views_of_one_array_come_back(compiled):
    base = np.arange(4.0)
    f = compiled(lambda x: (x, base[1:3]))
    part = f(1.0)[1]
    yield part
    base[1] = 50.0
    yield f(1.0)[1]
    part = f(1.0)[1]
    part[0] = -1.0
    yield base


@row(SAME)
def the_graph_of_two_results_is_walked_back(compiled):
    w = Value(2.0)
    f = compiled(lambda x: (x * w, x * w * w))
    for data in (2.0, 3.0):
        w.data, w.grad = data, 0.0
        a, b = f(1.0)
        (a + b).backward()
        yield w.grad


@row(SAME)
def a_result_outlives_a_later_call(compiled):
    w = Value(2.0)
    f = compiled(lambda x: x * w * w)
    first = f(1.0)
    w.data = 10.0
    second = f(1.0)
    first.backward()
    yield first, w.grad
    second.backward()
    yield second, w.grad
