"""Looking for what a function reads: modules, globals and functions whose changes are noticed."""

from __future__ import annotations

import builtins
import math
import sys
import types

import pytest
from changes import changes_of, check, user_module

import minigrad

ROWS, row, set_global = changes_of(globals())
K = 2.0
LATER = None
del LATER


# ---- modules -------------------------------------------------------------------------------------


@row
def a_module_imported_inside():
    made = user_module("imported_inside", k=2.0)

    def function(x):
        import imported_inside

        return x * imported_inside.k

    return function, lambda: setattr(made, "k", 3.0)


@row
def a_name_imported_inside():
    made = user_module("imported_from", k=2.0)

    def function(x):
        from imported_from import k

        return x * k

    return function, lambda: setattr(made, "k", 3.0)


@row
def a_submodule_imported_inside():
    package = user_module("imported_package", __path__=[])
    package.sub = user_module("imported_package.sub", k=2.0)

    def function(x):
        import imported_package.sub

        return x * imported_package.sub.k

    return function, lambda: setattr(package.sub, "k", 3.0)


@row
def a_module_replaced_among_the_loaded():
    user_module("replaced_module", k=2.0)

    def function(x):
        import replaced_module

        return x * replaced_module.k

    return function, lambda: user_module("replaced_module", k=3.0)


@row
def a_module_in_a_closure():
    made = user_module("in_a_closure", k=2.0)
    return lambda x: x * made.k, lambda: setattr(made, "k", 3.0)


@row
def a_module_as_an_attribute():
    made = types.SimpleNamespace(config=user_module("as_an_attribute", k=2.0))
    return lambda x: x * made.config.k, lambda: setattr(made.config, "k", 3.0)


@row
def a_module_in_a_list():
    made = [user_module("in_a_list", k=2.0)]
    return lambda x: x * made[0].k, lambda: setattr(made[0], "k", 3.0)


@row
def a_module_that_two_functions_read():
    made = user_module("of_two", a=1.0, b=2.0)

    def first(x):
        return x * made.a

    def second(x):
        return x * made.b

    return lambda x: first(x) * second(x) / x, lambda: setattr(made, "b", 3.0)


@row
def a_submodule():
    package = user_module("a_package", __path__=[])
    package.sub = user_module("a_package.sub", k=2.0)
    return lambda x: x * package.sub.k, lambda: setattr(package.sub, "k", 3.0)


@row
def a_list_in_a_module():
    made = user_module("with_a_list", ks=[2.0])
    return lambda x: x * made.ks[0], lambda: made.ks.__setitem__(0, 3.0)


@row
def a_function_of_a_module():
    made = user_module("with_a_function")
    exec("k = 2.0\ndef act(x):\n    return x * k", vars(made))
    return lambda x: made.act(x), lambda: setattr(made, "k", 3.0)


@row
def a_name_that_a_module_gets_later():
    made = user_module("gets_later")

    def function(x):
        return x * 3 if hasattr(made, "k") else x * 2

    return function, lambda: setattr(made, "k", 3.0)


@row
def a_name_that_a_module_loses():
    made = user_module("loses", k=1)

    def function(x):
        try:
            return x * made.k * 2
        except AttributeError:
            return x * 3

    return function, lambda: delattr(made, "k")


@row
def a_module_that_makes_up_names():
    made = user_module("makes_up", hidden=2.0)
    exec("def __getattr__(name):\n    return hidden", vars(made))
    return lambda x: x * made.k, lambda: setattr(made, "hidden", 3.0)


# ---- globals and built-ins -----------------------------------------------------------------------


@row
def a_global_that_is_defined_later():
    def function(x):
        try:
            return x * LATER
        except NameError:
            return x * 2

    return function, set_global("LATER", 3.0)


@row
def a_built_in_shadowed_later():
    return lambda x: x * len([1, 2]), set_global("len", lambda _: 3)


@row
def a_built_in_replaced():
    plain = builtins.ascii

    def change():
        builtins.ascii = lambda _: "abc"

    try:
        yield lambda x: x * len(ascii("")), change
    finally:
        builtins.ascii = plain


@row
def a_global_of_an_inner_function():
    def function(x):
        inner = lambda y: y * K  # noqa: E731
        return inner(x)

    return function, set_global("K", 3.0)


@row
def a_global_in_a_comprehension():
    return lambda x: sum([x * K for _ in range(1)]), set_global("K", 3.0)


@row
def a_function_with_a_namespace_of_its_own():
    space = {"k": 2.0}
    return eval("lambda x: x * k", space), lambda: space.update(k=3.0)


# ---- functions -----------------------------------------------------------------------------------


@row
def an_attribute_of_a_function():
    def helper(x):
        return x * helper.k

    helper.k = 2.0
    return lambda x: helper(x), lambda: setattr(helper, "k", 3.0)


@row
def an_attribute_that_a_function_gets_later():
    def helper(x):
        return x * getattr(helper, "k", 2.0)

    return lambda x: helper(x), lambda: setattr(helper, "k", 3.0)


@row
def the_code_of_a_function():
    def helper(x):
        return x * 2

    def other(x):
        return x * 3

    return lambda x: helper(x), lambda: setattr(helper, "__code__", other.__code__)


@row
def the_defaults_of_a_helper():
    def helper(x, k=2.0):
        return x * k

    return lambda x: helper(x), lambda: setattr(helper, "__defaults__", (3.0,))


@row
def the_keyword_defaults_of_a_helper():
    def helper(x, *, k=2.0):
        return x * k

    return lambda x: helper(x), lambda: helper.__kwdefaults__.update(k=3.0)


@row
def a_list_that_is_a_default():
    ks = [2.0]

    def helper(x, k=ks):
        return x * k[0]

    return lambda x: helper(x), lambda: ks.__setitem__(0, 3.0)


@row
def a_cell_that_is_bound_again():
    k = 2.0

    def change():
        nonlocal k
        k = 3.0

    def helper(x):
        return x * k

    return lambda x: helper(x), change


@row
def a_closure_in_a_closure():
    def outer(k):
        def middle():
            return lambda x: x * k[0]

        return middle

    ks = [2.0]
    made = outer(ks)
    return lambda x: made()(x), lambda: ks.__setitem__(0, 3.0)


@row
def a_recursive_function():
    def power(x, n):
        return x * K if n == 0 else power(x, n - 1)

    return lambda x: power(x, 3), set_global("K", 3.0)


@row
def a_function_in_a_nested_list():
    ks = [2.0]
    table = [[(lambda x: x * ks[0],)]]
    return lambda x: table[0][0][0](x), lambda: ks.__setitem__(0, 3.0)


@row
def a_bound_method_in_a_list():
    class Model:
        k = 2.0

        def run(self, x):
            return x * self.k

    model = Model()
    table = [model.run]
    return lambda x: table[0](x), lambda: setattr(model, "k", 3.0)


@row
def a_generator_function():
    def factors():
        yield K

    return lambda x: x * next(factors()), set_global("K", 3.0)


@row
def a_setting_in_a_module_of_others():
    math.setting = 2.0
    try:
        yield lambda x: x * math.setting, lambda: setattr(math, "setting", 3.0)
    finally:
        del math.setting


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_noticed(name):
    check(ROWS[name], globals())


def test_one_of_our_functions_for_another_is_a_change():
    space = {"act": minigrad.tanh}
    exec("def f(x): return act(x)", space)
    f = minigrad.compile(space["f"])
    assert f(0.5).data == minigrad.tanh(0.5)
    space["act"] = minigrad.relu
    assert f(0.5).data == 0.5


def test_a_module_that_the_function_imports_first(tmp_path, monkeypatch):
    (tmp_path / "imported_first.py").write_text("k = 2.0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    def function(x):
        import imported_first

        return x * imported_first.k

    fast = minigrad.compile(function)
    assert [fast(1.0).data for _ in range(2)] == [2.0] * 2
    assert fast.cache_info().traces == 1
    sys.modules["imported_first"].k = 3.0
    assert fast(1.0).data == 3.0


def test_looking_calls_nothing():
    touched = []

    class Shy:
        k = 2.0

        @property
        def loud(self):
            touched.append("property")

        @property
        def __class__(self):
            touched.append("__class__")
            return Shy

        def __getattr__(self, name):
            touched.append(name)
            raise AttributeError(name)

        def __eq__(self, other):
            touched.append("==")
            return True

        def __hash__(self):
            touched.append("hash")
            return 1

        def __len__(self):
            touched.append("len")
            return 1

        def __iter__(self):
            touched.append("iter")
            return iter(())

        def __bool__(self):
            touched.append("bool")
            return True

        def __call__(self):
            touched.append("call")

    one, two = Shy(), Shy()
    things, table, several = [one], {"a": one, one: 1}, {one, 2}
    touched.clear()

    def function(x):
        return x * 2.0 + 0.0 * len([things, table, several, Shy]) + 0 * bool(touched is None)

    from minigrad.compiler.tracing.environment import environment_of

    found = environment_of(function, [one])
    assert found.changed() is None
    things[0] = two
    assert found.changed() is not None
    assert touched == []
