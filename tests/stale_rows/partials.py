"""functools: partial, lru_cache, cached_property, singledispatch, reduce."""

import functools
import operator

from minigrad import Value

from . import SAME, catalogue

row = catalogue("functools")


@row(SAME)
def a_partial_over_a_dict(compiled):
    config = {"k": 2.0}
    helper = functools.partial(lambda config, x: x * config["k"], config)
    f = compiled(lambda x: helper(x))
    yield f(1.0)
    config["k"] = 9.0
    yield f(1.0)


@row(SAME)
def a_partial_over_a_list_by_name(compiled):
    weights = [1.0, 2.0]

    def dot(x, *, weights):
        return sum(w * x for w in weights)

    f = compiled(functools.partial(dot, weights=weights))
    yield f(1.0)
    weights[0] = 5.0
    yield f(1.0)
    weights.append(1.0)
    yield f(1.0)


@row(SAME)
def keywords_of_a_partial_are_changed(compiled):
    helper = functools.partial(lambda x, k: x * k, k=2.0)
    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.keywords["k"] = 9.0
    yield f(1.0)


@row(SAME)
def a_partial_of_a_partial(compiled):
    state = {"a": 1.0}
    inner = functools.partial(lambda s, b, x: x * s["a"] + b, state)
    outer = functools.partial(inner, 2.0)
    f = compiled(lambda x: outer(x))
    yield f(1.0)
    state["a"] = 4.0
    yield f(1.0)


@row(SAME)
def a_partial_of_an_operator(compiled):
    twice = functools.partial(operator.mul, 2.0)
    f = compiled(lambda x: twice(x))
    yield f(3.0)
    twice = functools.partial(operator.mul, 5.0)
    yield f(3.0)


@row(SAME)
def a_partial_of_a_bound_method(compiled):
    class Model:
        def __init__(self):
            self.w = 2.0

        def forward(self, bias, x):
            return x * self.w + bias

    model = Model()
    forward = functools.partial(model.forward, 1.0)
    f = compiled(lambda x: forward(x))
    yield f(1.0)
    model.w = 7.0
    yield f(1.0)


@row(SAME)
def a_partialmethod(compiled):
    class Layer:
        gain = 2.0

        def scaled(self, factor, x):
            return x * factor * self.gain

        doubled = functools.partialmethod(scaled, 2.0)

    layer = Layer()
    f = compiled(lambda x: layer.doubled(x))
    yield f(1.0)
    layer.gain = 5.0
    yield f(1.0)


@row(SAME)
def a_cached_property_is_deleted(compiled):
    class Model:
        base = 2.0

        @functools.cached_property
        def gain(self):
            return self.base * 10.0

    model = Model()
    f = compiled(lambda x: x * model.gain)
    yield [f(1.0), f(1.0)]
    model.base = 9.0
    yield f(1.0)
    del model.gain
    yield f(1.0)


@row()
def an_lru_cache_is_cleared(compiled):
    base = 2.0

    @functools.lru_cache
    def table(n):
        return base * n

    f = compiled(lambda x: x * table(3))
    yield f(1.0)
    base = 5.0
    yield f(1.0)
    table.cache_clear()
    yield f(1.0)


@row()
def a_cache_without_arguments(compiled):
    settings = {"gain": 2.0}

    @functools.cache
    def gain():
        return settings["gain"]

    f = compiled(lambda x: x * gain())
    yield f(1.0)
    settings["gain"] = 5.0
    yield f(1.0)
    gain.cache_clear()
    yield f(1.0)


@row()
def an_lru_cache_keeps_values_of_a_call(compiled):
    @functools.lru_cache
    def squared(x):
        return x * x

    f = compiled(lambda x: squared(x) + 1.0)
    yield f(2.0)
    yield f(3.0)
    yield f(2.0)
    yield f(5.0)


@row()
def an_lru_cache_of_captured_weights(compiled):
    w = Value(2.0)

    @functools.lru_cache
    def squared(v):
        return v * v

    f = compiled(lambda x: squared(w) * x)
    yield f(1.0)
    w.data = 3.0
    yield f(1.0)
    squared.cache_clear()
    yield f(1.0)


@row(SAME)
def a_cache_keeps_values_that_were_made_in_it(compiled):
    w = Value(2.0)

    @functools.cache
    def squared(k):
        return w * w * k

    f = compiled(lambda x: squared(1) * x + squared(2))
    yield f(1.0)
    w.data = 3.0
    yield [f(1.0), f(2.0)]
    squared.cache_clear()
    yield [f(2.0), f(3.0)]
    w.data = 5.0
    yield f(3.0)


@row(SAME)
def a_bounded_cache_keeps_numbers_that_were_read(compiled):
    w = Value(2.0)

    @functools.lru_cache(maxsize=4)
    def squared(k):
        return [w.data**2 * k]

    f = compiled(lambda x: squared(1)[0] * x + squared(2)[0])
    yield f(1.0)
    w.data = 3.0
    yield [f(1.0), f(2.0)]
    squared.cache_clear()
    yield [f(2.0), f(3.0)]


@row(SAME)
def a_cached_property_keeps_a_value(compiled):
    class Model:
        def __init__(self):
            self.w = Value(2.0)

        @functools.cached_property
        def squared(self):
            return self.w * self.w

    model = Model()
    f = compiled(lambda x: x * model.squared)
    yield f(1.0)
    model.w.data = 3.0
    yield [f(1.0), f(2.0)]
    del model.squared
    yield f(1.0)


@row()
def singledispatch_gets_another_rule(compiled):
    @functools.singledispatch
    def scale(thing, x):
        return x * 1.0

    f = compiled(lambda x: scale("text", x))
    yield f(1.0)
    scale.register(str, lambda thing, x: x * 7.0)
    yield f(1.0)


@row(SAME)
def singledispatch_reads_a_variable(compiled):
    gain = 2.0

    @functools.singledispatch
    def scale(thing, x):
        return x

    @scale.register
    def _(thing: str, x):
        return x * gain

    f = compiled(lambda x: scale("text", x))
    yield f(1.0)
    gain = 5.0
    yield f(1.0)


@row(SAME)
def reduce_over_a_list_that_grows(compiled):
    factors = [2.0, 3.0]
    f = compiled(lambda x: functools.reduce(operator.mul, factors, x))
    yield f(1.0)
    factors.append(5.0)
    yield f(1.0)


@row(SAME)
def total_ordering_of_configs(compiled):
    @functools.total_ordering
    class Version:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __lt__(self, other):
            return self.n < other.n

        __hash__ = None

    now, wanted = Version(1), Version(2)
    f = compiled(lambda x: x * 10.0 if now >= wanted else x)
    yield f(1.0)
    now.n = 2
    yield f(1.0)


@row(SAME)
def cmp_to_key_reads_a_variable(compiled):
    sign = 1.0
    weights = [3.0, 1.0, 2.0]
    f = compiled(
        lambda x: x * sorted(weights, key=functools.cmp_to_key(lambda a, b: sign * (a - b)))[0]
    )
    yield f(1.0)
    sign = -1.0
    yield f(1.0)
