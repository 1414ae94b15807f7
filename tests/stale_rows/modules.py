"""Modules: configs, packages, imports inside functions, reloading, monkey patches."""

import importlib
import math
import sys
import types

import numpy as np

from . import SAME, Notebook, catalogue, user_module

row = catalogue("modules and imports")


@row(SAME)
def a_module_is_imported_inside(compiled):
    config = user_module("user_inside", rate=2.0)

    @compiled
    def f(x):
        import user_inside

        return x * user_inside.rate

    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def a_name_is_imported_inside(compiled):
    config = user_module("user_from", rate=2.0)

    @compiled
    def f(x):
        from user_from import rate

        return x * rate

    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def two_functions_read_one_module(compiled):
    config = user_module("user_shared", a=2.0, b=3.0)
    cells = Notebook(compiled)
    cells.run(
        """
        import user_shared
        def helper(x): return x * user_shared.b
        @compiled
        def f(x): return helper(x) + user_shared.a
        """
    )
    yield cells.f(1.0)
    config.a = 50.0
    yield cells.f(1.0)
    config.b = 70.0
    yield cells.f(1.0)


@row(SAME)
def a_submodule_of_a_package(compiled):
    user_module("user_package")
    defaults = user_module("user_package.defaults", rate=2.0)
    cells = Notebook(compiled)
    cells.run(
        """
        import user_package.defaults
        @compiled
        def f(x): return x * user_package.defaults.rate
        """
    )
    yield cells.f(1.0)
    defaults.rate = 9.0
    yield cells.f(1.0)


@row(SAME)
def a_module_in_a_closure(compiled):
    config = user_module("user_closed", rate=2.0)
    f = compiled(lambda x: x * config.rate)
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def a_module_in_a_dict(compiled):
    plugins = {"first": user_module("user_plugin", rate=2.0)}
    f = compiled(lambda x: x * plugins["first"].rate)
    yield f(1.0)
    plugins["first"].rate = 9.0
    yield f(1.0)


@row(SAME)
def a_module_as_attribute_of_an_object(compiled):
    class Trainer:
        config = user_module("user_attribute", rate=2.0)

    trainer = Trainer()
    f = compiled(lambda x: x * trainer.config.rate)
    yield f(1.0)
    trainer.config.rate = 9.0
    yield f(1.0)


@row(SAME)
def a_module_as_argument(compiled):
    config = user_module("user_argument", rate=2.0)
    f = compiled(lambda x, config: x * config.rate)
    yield f(1.0, config)
    config.rate = 9.0
    yield f(1.0, config)


@row(SAME)
def a_function_of_a_module_is_patched(compiled):
    tools = user_module("user_tools", "def act(x): return x * 2.0")
    f = compiled(lambda x: tools.act(x))
    yield f(1.0)
    tools.act = lambda x: x * 9.0
    yield f(1.0)


@row(SAME)
def a_function_of_a_module_reads_its_globals(compiled):
    tools = user_module("user_globals", "gain = 2.0\ndef act(x): return x * gain")
    f = compiled(lambda x: tools.act(x))
    yield f(1.0)
    tools.gain = 9.0
    yield f(1.0)


@row(SAME)
def a_module_is_run_again_as_reload_does(compiled):
    tools = user_module("user_reloaded", "def act(x): return x * 2.0")
    f = compiled(lambda x: tools.act(x))
    yield f(1.0)
    exec("def act(x): return x * 9.0", vars(tools))
    yield f(1.0)


@row(SAME)
def another_module_takes_its_place(compiled):
    user_module("user_swapped", rate=2.0)

    @compiled
    def f(x):
        import user_swapped

        return x * user_swapped.rate

    yield f(1.0)
    user_module("user_swapped", rate=9.0)
    yield f(1.0)


@row()
def import_module_by_name(compiled):
    config = user_module("user_named", rate=2.0)
    f = compiled(lambda x: x * importlib.import_module("user_named").rate)
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row()
def a_module_with_getattr(compiled):
    user_module(
        "user_lazy",
        """
        table = {"rate": 2.0}
        def __getattr__(name):
            return table[name]
        """,
    )
    cells = Notebook(compiled)
    cells.run(
        """
        import user_lazy
        @compiled
        def f(x): return x * user_lazy.rate
        """
    )
    yield cells.f(1.0)
    sys.modules["user_lazy"].table["rate"] = 9.0
    yield cells.f(1.0)


@row()
def a_name_of_the_standard_library_is_patched(compiled):
    f = compiled(lambda x: x * math.pi)
    pi = math.pi
    yield f(1.0)
    try:
        math.pi = 3.0
        yield f(1.0)
    finally:
        math.pi = pi


@row()
def a_function_of_numpy_is_patched(compiled):
    f = compiled(lambda x: x * np.user_scale())
    try:
        np.user_scale = lambda: 2.0
        yield f(1.0)
        np.user_scale = lambda: 9.0
        yield f(1.0)
    finally:
        del np.user_scale


@row(SAME)
def a_plain_namespace_as_module(compiled):
    config = types.SimpleNamespace(rate=2.0, inner=types.SimpleNamespace(k=1.0))
    f = compiled(lambda x: x * config.rate + config.inner.k)
    yield f(1.0)
    config.inner.k = 5.0
    yield f(1.0)
    config.rate = 0.0
    yield f(1.0)


@row()
def a_try_import_that_succeeds_later(compiled):
    @compiled
    def f(x):
        try:
            import user_optional
        except ImportError:
            return x
        return x * user_optional.rate

    yield f(1.0)
    user_module("user_optional", rate=9.0)
    yield f(1.0)
