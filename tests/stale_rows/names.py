"""Names that are defined later, deleted, redefined, or shadow a built-in one."""

import builtins

from . import SAME, Notebook, catalogue

row = catalogue("names")


@row(SAME)
def a_global_function_is_defined_again(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        def activation(x): return x.relu()
        @compiled
        def f(x): return activation(x) + 1.0
        """
    )
    yield cells.f(-2.0)
    cells.run("def activation(x): return x.tanh()")
    yield cells.f(-2.0)


@row(SAME)
def a_helper_of_a_helper_is_defined_again(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        def inner(x): return x * 2.0
        def outer(x): return inner(x) + 1.0
        @compiled
        def f(x): return outer(x)
        """
    )
    yield cells.f(1.0)
    cells.run("def inner(x): return x * 9.0")
    yield cells.f(1.0)


@row(SAME)
def a_class_is_defined_again(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        class Net:
            def __call__(self, x): return x * 2.0
        net = Net()
        @compiled
        def f(x): return net(x)
        @compiled
        def g(x): return Net()(x)
        """
    )
    yield cells.f(1.0), cells.g(1.0)
    cells.run(
        """
        class Net:
            def __call__(self, x): return x * 9.0
        """
    )
    yield cells.f(1.0), cells.g(1.0)
    cells.run("net = Net()")
    yield cells.f(1.0), cells.g(1.0)


@row(SAME)
def a_global_is_rebound_and_goes_back(compiled):
    cells = Notebook(compiled)
    cells.run("rate = 2.0\n@compiled\ndef f(x): return x * rate")
    for rate in (2.0, 9.0, 2.0, 4.0, 9.0):
        cells.run(f"rate = {rate}")
        yield cells.f(1.0)


@row(SAME)
def a_global_is_deleted(compiled):
    cells = Notebook(compiled)
    cells.run("rate = 2.0\n@compiled\ndef f(x): return x * rate")
    yield cells.f(1.0)
    cells.run("del rate")
    try:
        yield cells.f(1.0)
    except NameError as error:
        yield type(error).__name__


@row(SAME)
def a_global_is_defined_later(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        @compiled
        def f(x):
            try:
                return x * rate
            except NameError:
                return x
        """
    )
    yield cells.f(1.0)
    cells.run("rate = 9.0")
    yield cells.f(1.0)
    cells.run("del rate")
    yield cells.f(1.0)


@row(SAME)
def a_local_class_is_rebound(compiled):
    class Act:
        k = 2.0

    f = compiled(lambda x: x * Act.k)
    yield f(1.0)

    class Act:  # noqa: F811 - as a notebook does
        k = 9.0

    yield f(1.0)


@row(SAME)
def a_closure_variable_is_deleted(compiled):
    rate = 2.0

    def f(x):
        return x * rate

    g = compiled(f)
    yield g(1.0)
    del rate
    try:
        yield g(1.0)
    except NameError as error:
        yield type(error).__name__
    rate = 9.0
    yield g(1.0)


@row(SAME)
def a_builtin_is_shadowed_by_a_global(compiled):
    cells = Notebook(compiled)
    cells.run("@compiled\ndef f(x): return x * len([1.0, 2.0])")
    yield cells.f(1.0)
    cells.run("def len(xs): return 9.0")
    yield cells.f(1.0)
    cells.run("del len")
    yield cells.f(1.0)


@row(SAME)
def sum_is_shadowed(compiled):
    cells = Notebook(compiled)
    cells.run("@compiled\ndef f(xs): return sum(x * x for x in xs)")
    yield cells.f([1.0, 2.0])
    cells.run("def sum(xs): return list(xs)[0] * 100.0")
    yield cells.f([1.0, 2.0])


@row(SAME)
def max_is_shadowed(compiled):
    cells = Notebook(compiled)
    cells.run("@compiled\ndef f(xs): return max(xs)")
    yield cells.f([1.0, 2.0])
    cells.run("def max(xs): return xs[0] * 100.0")
    yield cells.f([1.0, 2.0])


@row()
def a_builtin_itself_is_replaced(compiled):
    f = compiled(lambda x: x * round(2.25))
    yield f(1.0)
    plain = builtins.round
    builtins.round = lambda x: plain(x) + 7
    try:
        yield f(1.0)
    finally:
        builtins.round = plain


@row()
def a_name_is_added_to_the_builtins(compiled):
    builtins.user_rate = 2.0
    f = compiled(lambda x: x * user_rate)  # noqa: F821 - a built-in name of the user's
    yield f(1.0)
    builtins.user_rate = 9.0
    yield f(1.0)


@row(SAME)
def the_loop_variable_of_a_notebook(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        found = []
        @compiled
        def f(x): return x * k
        for k in range(4):
            found.append(f(1.0).data)
        """
    )
    yield cells.found


@row(SAME)
def late_binding_of_lambdas(compiled):
    fs = []
    for k in range(3):
        fs.append(compiled(lambda x: x * k))  # noqa: B023, PERF401 - the trap that it is
    yield [f(1.0) for f in fs]
    k = 9
    yield [f(1.0) for f in fs]


@row(SAME)
def an_exception_variable_vanishes(compiled):
    scale = 2.0

    def helper(x):
        try:
            raise ValueError(scale)
        except ValueError as error:
            return x * error.args[0]

    f = compiled(lambda x: helper(x))
    yield f(1.0)
    scale = 9.0
    yield f(1.0)


@row(SAME)
def a_global_statement_in_a_cell(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        epoch = 0
        def advance():
            global epoch
            epoch += 1
        @compiled
        def f(x): return x * 0.5 ** epoch
        """
    )
    for _ in range(3):
        yield cells.f(1.0)
        cells.run("advance()")


@row(SAME)
def a_recursive_function_changes_its_base_case(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        depth = 2
        def power(x, n):
            return x if n >= depth else x * power(x, n + 1)
        @compiled
        def f(x): return power(x, 0)
        """
    )
    yield cells.f(2.0)
    cells.run("depth = 4")
    yield cells.f(2.0)


@row(SAME)
def a_tuple_is_unpacked_into_globals(compiled):
    cells = Notebook(compiled)
    cells.run("a, b = 2.0, 3.0\n@compiled\ndef f(x): return x * a - b")
    yield cells.f(1.0)
    cells.run("a, b = b, a")
    yield cells.f(1.0)


@row(SAME)
def names_inside_inner_functions_and_classes(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        k, j = 2.0, 3.0
        @compiled
        def f(x):
            class Inner:
                def go(self): return [x * k for _ in range(2)]
            def deeper():
                return (lambda: sum(Inner().go()) * j)()
            return deeper()
        """
    )
    yield cells.f(1.0)
    cells.run("k = 5.0")
    yield cells.f(1.0)
    cells.run("j = 7.0")
    yield cells.f(1.0)
