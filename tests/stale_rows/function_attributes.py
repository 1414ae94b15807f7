"""Attributes that people hang on functions, and what functions are made of."""

from minigrad import Value

from . import SAME, Notebook, catalogue

row = catalogue("function attributes")


@row(SAME)
def a_helper_has_an_attribute(compiled):
    def helper(x):
        return x * helper.k

    helper.k = 2.0
    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.k = 9.0
    yield f(1.0)


@row(SAME)
def the_function_itself_has_an_attribute(compiled):
    def f(x):
        return x * f.k

    f.k = 2.0
    g = compiled(f)
    yield g(1.0)
    f.k = 9.0
    yield g(1.0)


@row(SAME)
def the_attribute_is_set_on_the_decorated_name(compiled):
    @compiled
    def f(x):
        return x * f.k

    f.k = 2.0
    yield f(1.0)
    f.k = 9.0
    yield f(1.0)


@row(SAME)
def an_attribute_is_a_list(compiled):
    def helper(x):
        return x * sum(helper.weights)

    helper.weights = [1.0, 2.0]
    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.weights.append(4.0)
    yield f(1.0)


@row(SAME)
def a_default_is_replaced(compiled):
    def helper(x, k=2.0):
        return x * k

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__defaults__ = (9.0,)
    yield f(1.0)


@row(SAME)
def a_default_by_name_is_changed(compiled):
    def helper(x, *, k=2.0):
        return x * k

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__kwdefaults__["k"] = 9.0
    yield f(1.0)


@row(SAME)
def a_default_of_the_compiled_function(compiled):
    def f(x, k=2.0, *, bias=1.0):
        return x * k + bias

    g = compiled(f)
    yield g(1.0)
    f.__defaults__ = (9.0,)
    yield g(1.0)
    f.__kwdefaults__ = {"bias": 0.0}
    yield g(1.0)


@row(SAME)
def a_mutable_default(compiled):
    def helper(x, weights=[1.0, 2.0]):  # noqa: B006 - that is the point
        return x * sum(weights)

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__defaults__[0].append(5.0)
    yield f(1.0)


@row(SAME)
def the_code_is_replaced(compiled):
    def helper(x):
        return x * 2.0

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__code__ = (lambda x: x * 9.0).__code__
    yield f(1.0)


@row(SAME)
def a_cell_is_written_from_outside(compiled):
    k = 2.0

    def helper(x):
        return x * k

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__closure__[0].cell_contents = 9.0
    yield f(1.0)


@row()
def an_annotation_is_read(compiled):
    def helper(x) -> 2.0:
        return x * helper.__annotations__["return"]

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__annotations__["return"] = 9.0
    yield f(1.0)


@row()
def the_docstring_is_a_formula(compiled):
    def helper(x):
        """2.0"""
        return x * float(helper.__doc__)

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.__doc__ = "9.0"
    yield f(1.0)


@row()
def the_name_is_a_key(compiled):
    table = {"relu": 2.0, "tanh": 9.0}

    def activation(x):
        return x

    f = compiled(lambda x: x * table[activation.__name__])
    activation.__name__ = "relu"
    yield f(1.0)
    activation.__name__ = "tanh"
    yield f(1.0)


@row(SAME)
def an_attribute_of_a_global_function(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        def activation(x): return x * activation.slope
        activation.slope = 2.0
        @compiled
        def f(x): return activation(x)
        """
    )
    yield cells.f(1.0)
    cells.run("activation.slope = 9.0")
    yield cells.f(1.0)


@row(SAME)
def an_attribute_of_a_method(compiled):
    class Model:
        def act(self, x):
            return x * Model.act.slope

    Model.act.slope = 2.0
    model = Model()
    f = compiled(lambda x: model.act(x))
    yield f(1.0)
    Model.act.slope = 9.0
    yield f(1.0)


@row(SAME)
def an_attribute_is_a_value(compiled):
    def helper(x):
        return x * helper.w

    helper.w = Value(2.0)
    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.w.data = 5.0
    yield f(1.0)
    helper.w = Value(9.0)
    yield f(1.0)


@row(SAME)
def an_attribute_appears_later(compiled):
    def helper(x):
        return x * getattr(helper, "k", 1.0)

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    helper.k = 9.0
    yield f(1.0)
    del helper.k
    yield f(1.0)
