"""Functions that stand around functions, with `functools.wraps` and without."""

import contextlib
import functools

from . import SAME, Notebook, catalogue

row = catalogue("wrappers and decorators")


@row(SAME)
def a_wrapper_reads_a_variable(compiled):
    scale = 2.0

    def scaled(fn):
        @functools.wraps(fn)
        def wrapper(x):
            return fn(x) * scale

        return wrapper

    @compiled
    @scaled
    def f(x):
        return x + 1.0

    yield f(1.0)
    scale = 9.0
    yield f(1.0)


@row(SAME)
def a_decorated_helper_reads_a_global(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        import functools
        bias = 1.0
        def biased(fn):
            @functools.wraps(fn)
            def wrapper(*args, **kwargs):
                return fn(*args, **kwargs) + bias
            return wrapper
        @biased
        def layer(x): return x * 3.0
        @compiled
        def f(x): return layer(x) * 2.0
        """
    )
    yield cells.f(1.0)
    cells.run("bias = -4.0")
    yield cells.f(1.0)


@row(SAME)
def three_wrappers_deep(compiled):
    factors = {"a": 1.0, "b": 2.0, "c": 3.0}

    def times(name):
        def decorate(fn):
            @functools.wraps(fn)
            def wrapper(x):
                return fn(x) * factors[name]

            return wrapper

        return decorate

    @compiled
    @times("a")
    @times("b")
    @times("c")
    def f(x):
        return x

    yield f(1.0)
    for name in factors:
        factors[name] += 10.0
        yield f(1.0)


@row(SAME)
def a_class_as_decorator(compiled):
    class Scaled:
        def __init__(self, fn):
            functools.update_wrapper(self, fn)
            self.fn, self.factor = fn, 2.0

        def __call__(self, x):
            return self.fn(x) * self.factor

    @Scaled
    def helper(x):
        return x + 1.0

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.factor = 5.0
    yield f(1.0)


@row(SAME)
def a_class_as_decorator_is_compiled_itself(compiled):
    class Scaled:
        def __init__(self, fn):
            functools.update_wrapper(self, fn)
            self.fn, self.factor = fn, 2.0

        def __call__(self, x):
            return self.fn(x) * self.factor

    scaled = Scaled(lambda x: x + 1.0)
    f = compiled(scaled)
    yield f(1.0)
    scaled.factor = 5.0
    yield f(1.0)


@row()
def a_counting_wrapper_is_compiled(compiled):
    def warm(fn):
        @functools.wraps(fn)
        def wrapper(x):
            wrapper.calls += 1
            return fn(x) * min(wrapper.calls / 3.0, 1.0)

        wrapper.calls = 0
        return wrapper

    f = compiled(warm(lambda x: x * 2.0))
    yield [f(1.0) for _ in range(5)]


@row(SAME)
def the_wrapped_function_is_replaced(compiled):
    class Slot:
        def __init__(self, fn):
            self.fn = fn

        def __call__(self, x):
            return self.fn(x)

    slot = Slot(lambda x: x * 2.0)
    f = compiled(lambda x: slot(x))
    yield f(3.0)
    slot.fn = lambda x: x * 7.0
    yield f(3.0)


@row()
def wrapped_points_somewhere_else(compiled):
    def honest(x):
        return x * 1.0

    factor = 2.0

    def liar(x):
        return x * factor

    liar.__wrapped__ = honest
    f = compiled(liar)
    yield f(1.0)
    factor = 3.0
    yield f(1.0)


@row(SAME)
def a_wrapper_around_a_compiled_function(compiled):
    scale = 2.0
    inner = compiled(lambda x: x * scale)

    @functools.wraps(inner)
    def outer(x):
        return inner(x) + scale

    yield outer(1.0)
    scale = 5.0
    yield outer(1.0)


@row(SAME)
def compiled_twice(compiled):
    scale = 2.0
    f = compiled(compiled(lambda x: x * scale))
    yield f(1.0)
    scale = 5.0
    yield f(1.0)


@row(SAME)
def a_context_manager_as_decorator(compiled):
    class Temperature(contextlib.ContextDecorator):
        now = 1.0

        def __enter__(self):
            Temperature.now = self.wanted
            return self

        def __exit__(self, *exception):
            Temperature.now = 1.0

    hot = Temperature()
    hot.wanted = 2.0

    def score(x):
        return x / Temperature.now

    f = compiled(lambda x: score(x))
    yield f(1.0)
    with hot:
        yield f(1.0)
    hot.wanted = 4.0
    with hot:
        yield f(1.0)
    yield f(1.0)


@row(SAME)
def a_decorator_with_arguments_in_a_dict(compiled):
    def configured(**options):
        def decorate(fn):
            @functools.wraps(fn)
            def wrapper(x):
                return fn(x, **options)

            wrapper.options = options
            return wrapper

        return decorate

    @configured(slope=0.1)
    def leaky(x, slope=0.0):
        return x if x > 0 else x * slope

    f = compiled(lambda x: leaky(x))
    yield f(-1.0)
    leaky.options["slope"] = 0.5
    yield f(-1.0)


@row(SAME)
def a_method_with_a_wrapper(compiled):
    def halved(method):
        @functools.wraps(method)
        def wrapper(self, x):
            return method(self, x) * self.part

        return wrapper

    class Model:
        part = 0.5

        @compiled
        @halved
        def forward(self, x):
            return x * 2.0

    model = Model()
    yield model.forward(1.0)
    model.part = 0.25
    yield model.forward(1.0)
    Model.part = 4.0
    yield Model().forward(1.0)


@row(SAME)
def the_decorator_memoises_by_identity(compiled):
    memory = {}

    def remembered(fn):
        @functools.wraps(fn)
        def wrapper(x):
            if "y" not in memory:
                memory["y"] = fn(2.0)
            return memory["y"] * x

        return wrapper

    weight = 3.0

    @remembered
    def expensive(x):
        return x * weight

    f = compiled(lambda x: expensive(x))
    yield f(1.0)
    memory.clear()
    weight = 10.0
    yield f(1.0)
