"""Looking into wrappers, partials, Values and minigrad's own: every change is noticed."""

from __future__ import annotations

import contextlib
import functools
import logging
import types

import numpy as np
import pytest
from changes import Plain, changes_of, check

import minigrad
from minigrad import Value, nn, optim
from minigrad.compiler.tracing.looks import looks_into

ROWS, row, set_global = changes_of(globals())
K = 2.0
HELD = 2.0


# ---- wrappers ------------------------------------------------------------------------------------


def scaled(function):
    @functools.wraps(function)
    def inner(x):
        return function(x) * K

    return inner


@row
def a_wrapper_reads_a_global():
    return scaled(lambda x: x), set_global("K", 3.0)


@row
def a_wrapper_of_a_helper():
    @scaled
    def helper(x):
        return x

    return lambda x: helper(x), set_global("K", 3.0)


@row
def what_a_wrapped_function_reads():
    return scaled(lambda x: x * HELD / 2.0), set_global("HELD", 3.0)


@row
def two_wrappers():
    return scaled(scaled(lambda x: x / K)), set_global("K", 3.0)


class Decorated:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self.factor = 2.0

    def __call__(self, x):
        return self.function(x) * self.factor


@row
def a_decorator_that_is_a_class():
    made = Decorated(lambda x: x)
    return lambda x: made(x), lambda: setattr(made, "factor", 3.0)


@row
def what_is_inside_a_decorator_that_is_a_class():
    made = Decorated(lambda x: x * HELD / 2.0)
    return lambda x: made(x), set_global("HELD", 3.0)


@row
def a_decorated_function_itself():
    made = Decorated(lambda x: x)
    return made, lambda: setattr(made, "factor", 3.0)


@row
def a_decorator_with_arguments():
    setting = {"k": 2.0}

    def by(table):
        def decorate(function):
            @functools.wraps(function)
            def inner(x):
                return function(x) * table["k"]

            return inner

        return decorate

    return by(setting)(lambda x: x), lambda: setting.update(k=3.0)


@row
def a_context_manager():
    @contextlib.contextmanager
    def factor():
        yield K

    def function(x):
        with factor() as k:
            return x * k

    return function, set_global("K", 3.0)


@row
def a_partial_as_a_helper():
    helper = functools.partial(lambda k, x: x * k[0], [2.0])
    return lambda x: helper(x), lambda: helper.args[0].__setitem__(0, 3.0)


@row
def keywords_of_a_partial():
    helper = functools.partial(lambda x, k: x * k, k=2.0)
    return lambda x: helper(x), lambda: helper.keywords.update(k=3.0)


@row
def what_a_partial_reads():
    helper = functools.partial(lambda k, x: x * K, 1.0)
    return lambda x: helper(x), set_global("K", 3.0)


@row
def a_partial_in_a_dict():
    table = {"f": functools.partial(lambda k, x: x * k[0], [2.0])}
    return lambda x: table["f"](x), lambda: table["f"].args[0].__setitem__(0, 3.0)


@row
def a_partial_of_a_partial():
    helper = functools.partial(functools.partial(lambda a, b, x: x * a[0] * b, [2.0]), 1.0)
    return helper, lambda: helper.args[0].__setitem__(0, 3.0)


@row
def a_partial_as_an_attribute():
    class Model:
        def __init__(self):
            self.act = functools.partial(lambda k, x: x * k[0], [2.0])

        def run(self, x):
            return self.act(x)

    model = Model()
    return model.run, lambda: model.act.args[0].__setitem__(0, 3.0)


@row
def a_partial_method():
    class Model:
        def scale(self, k, x):
            return x * k * K

        double = functools.partialmethod(scale, 1.0)

    model = Model()
    return lambda x: model.double(x), set_global("K", 3.0)


@row
def a_cached_property_that_is_deleted():
    class Model:
        base = 2.0

        @functools.cached_property
        def k(self):
            return self.base

    model = Model()

    def change():
        model.base = 3.0
        del model.k

    return lambda x: x * model.k, change


@row
def a_cached_property_that_is_overwritten():
    class Model:
        @functools.cached_property
        def k(self):
            return 2.0

    model = Model()
    return lambda x: x * model.k, lambda: setattr(model, "k", 3.0)


@row
def an_implementation_registered_later():
    @functools.singledispatch
    def act(x):
        return x * 2

    return lambda x: act(x), lambda: act.register(float, lambda x: x * 3)


@row
def what_an_implementation_reads():
    @functools.singledispatch
    def act(x):
        return x * 1

    act.register(float, lambda x: x * K)
    return lambda x: act(x), set_global("K", 3.0)


@row
def a_dispatched_method():
    class Model:
        @functools.singledispatchmethod
        def act(self, x):
            return x * K

    model = Model()
    return lambda x: model.act(x), set_global("K", 3.0)


@row
def what_a_cached_helper_reads():
    @functools.cache
    def factor(k):
        return K

    def change():
        set_global("K", 3.0)()
        factor.cache_clear()

    return lambda x: x * factor(1), change


@row
def a_cached_helper_that_forgets_later():
    @functools.lru_cache
    def factor():
        return numbers[0]

    numbers = [2.0]
    factor()

    def change():
        numbers[0] = 3.0
        factor.cache_clear()

    return lambda x: x * factor(), change


@row
def a_compiled_helper():
    helper = minigrad.compile(lambda x: x * K)
    return lambda x: helper(x), set_global("K", 3.0)


@row
def a_compiled_method_of_an_object():
    class Model:
        def __init__(self):
            self.k = 2.0

        @minigrad.compile
        def run(self, x):
            return x * self.k

    model = Model()
    run = model.run
    return lambda x: run(x), lambda: setattr(model, "k", 3.0)


# ---- Values and minigrad's own -------------------------------------------------------------------


@row
def an_attribute_of_a_value():
    w = Value(1.0)
    w.frozen = True
    return lambda x: x * w * (2 if w.frozen else 3), lambda: setattr(w, "frozen", False)


@row
def an_attribute_that_a_value_gets_later():
    ws = [Value(1.0), Value(1.0)]

    def function(x):
        return x * ws[1] * (3 if hasattr(ws[1], "frozen") else 2)

    return function, lambda: setattr(ws[1], "frozen", True)


@row
def a_list_on_a_value():
    w = Value(1.0)
    w.scales = [2.0]
    return lambda x: x * w * w.scales[0], lambda: w.scales.__setitem__(0, 3.0)


@row
def a_label():
    w = Value(1.0, label="two")
    return lambda x: x * w * (2 if w.label == "two" else 3), lambda: setattr(w, "label", "three")


@row
def a_subclass_of_value():
    class Weight(Value):
        pass

    w = Weight(1.0)
    w.scale = 2.0
    return lambda x: x * w * w.scale, lambda: setattr(w, "scale", 3.0)


@row
def the_steps_of_an_optimiser():
    weight = Value(1.0)
    weight.grad = 1.0
    optimiser = optim.SGD([weight], lr=0.1)

    def change():
        optimiser.step()

    return lambda x: x * (2 + optimiser.steps), change


@row
def the_rate_of_an_optimiser():
    optimiser = optim.SGD([Value(1.0)], lr=2.0)
    return lambda x: x * optimiser.lr, lambda: setattr(optimiser, "lr", 3.0)


@row
def the_parameters_of_an_optimiser():
    optimiser = optim.SGD([Value(2.0)], lr=2.0)
    return (
        lambda x: x * optimiser.parameters[0],
        lambda: optimiser.parameters.__setitem__(0, Value(3.0)),
    )


@row
def a_schedule():
    table = {"rate": optim.linear(2.0, 2.0, 1)}
    return lambda x: x * table["rate"](0), lambda: table.update(rate=optim.linear(3.0, 3.0, 1))


@row
def a_neuron():
    model = nn.Neuron(1, nonlin=False)
    model.w[0].data = 2.0
    return lambda x: model([x]), lambda: setattr(model, "w", [Value(3.0)])


@row
def a_subclass_of_an_mlp():
    class Net(nn.MLP):
        pass

    model = Net(1, [1], seed=1)
    model.layers[0].neurons[0].w[0].data = 2.0

    def change():
        model.layers[0].neurons[0].w = [Value(3.0)]

    return lambda x: model([x]), change


@row
def the_activation_of_a_neuron():
    model = nn.Neuron(1, activation="relu")
    model.w[0].data, model.b.data = -2.0, 0.0

    def change():
        model.activation = "linear"
        model.w[0].data = -3.0

    return lambda x: -1 * model([x]) + (2 * x if model([x]).data == 0 else 0), change


@row
def a_network_with_another_rule():
    neuron, plain = nn.Neuron(1, nonlin=False), nn.Neuron.__call__
    neuron.w[0].data = 2.0

    def change():
        nn.Neuron.__call__ = lambda self, x: 3 * x[0]

    try:
        yield lambda x: neuron([x]), change
    finally:
        nn.Neuron.__call__ = plain


@row
def a_level_of_a_logger():
    logger = logging.getLogger("a level of a logger")
    logger.setLevel(logging.INFO)
    return (
        lambda x: x * (2 if logger.level == logging.INFO else 3),
        lambda: logger.setLevel(logging.DEBUG),
    )


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_noticed(name):
    check(ROWS[name], globals())


# ---- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "looks"),
    [
        (list, ["_list"]),
        (dict, ["_dict"]),
        (tuple, ["_tuple"]),
        (np.ndarray, ["_array", "_attributes"]),
        (Value, ["_value"]),
        (types.FunctionType, ["_look_at_function"]),
        (property, ["_property"]),
        (functools.partial, ["_attributes"]),
        (Plain, ["_attributes"]),
        (type("Listed", (list,), {}), ["_list", "_attributes"]),
        (type(iter([])), ["_iterator"]),
    ],
)
def test_how_a_kind_of_thing_is_looked_into(kind, looks):
    assert list(looks_into(kind)) == looks
