"""hasattr, getattr, globals, vars, dir, eval, operator.attrgetter, inspect."""

import builtins
import inspect
import operator
import sys
import types

from . import SAME, Notebook, catalogue

row = catalogue("reflection")


class Config:
    """Settings, as objects."""

    def __init__(self, **settings):
        vars(self).update(settings)


@row(SAME)
def hasattr_of_something_not_there_yet(compiled):
    config = Config()
    f = compiled(lambda x: x * (config.gain if hasattr(config, "gain") else 1.0))
    yield f(1.0)
    config.gain = 9.0
    yield f(1.0)
    del config.gain
    yield f(1.0)


@row(SAME)
def getattr_with_a_name_made_at_run_time(compiled):
    config = Config(a_rate=2.0, b_rate=9.0)
    which = "a"
    f = compiled(lambda x: x * getattr(config, f"{which}_rate"))
    yield f(1.0)
    config.a_rate = 4.0
    yield f(1.0)
    which = "b"
    yield f(1.0)


@row(SAME)
def getattr_with_a_default(compiled):
    config = Config()
    f = compiled(lambda x: x * getattr(config, "gain", 1.0))
    yield f(1.0)
    config.gain = 9.0
    yield f(1.0)


@row()
def getattr_under_another_name(compiled):
    config = Config(rate=2.0)
    look, word = getattr, "rate"
    f = compiled(lambda x: x * look(config, word))
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row()
def getattr_out_of_a_module_of_helpers(compiled):
    config = Config(rate=2.0)
    words = ["rate"]
    helper = types.SimpleNamespace(get=builtins.getattr)
    f = compiled(lambda x: x * sum(helper.get(config, word) for word in words))
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def vars_of_an_object(compiled):
    config = Config(a=1.0, b=2.0)
    f = compiled(lambda x: x * sum(vars(config).values()))
    yield f(1.0)
    config.b = 9.0
    yield f(1.0)
    config.c = 5.0
    yield f(1.0)


@row(SAME)
def the_dict_of_an_object(compiled):
    config = Config(rate=2.0)
    f = compiled(lambda x: x * config.__dict__["rate"])
    yield f(1.0)
    config.rate = 9.0
    yield f(1.0)


@row(SAME)
def globals_by_name(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        rate = 2.0
        @compiled
        def f(x): return x * globals()["rate"]
        """
    )
    yield cells.f(1.0)
    cells.run("rate = 9.0")
    yield cells.f(1.0)


@row()
def globals_with_a_name_made_at_run_time(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        ra, te = "ra", "te"
        rate = 2.0
        @compiled
        def f(x): return x * globals()[ra + te]
        """
    )
    yield cells.f(1.0)
    cells.run("rate = 9.0")
    yield cells.f(1.0)


@row()
def eval_of_a_text(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        rate = 2.0
        @compiled
        def f(x): return x * eval("rate")
        """
    )
    yield cells.f(1.0)
    cells.run("rate = 9.0")
    yield cells.f(1.0)


@row()
def exec_of_a_text(compiled):
    source = "y = x * 2.0"

    @compiled
    def f(x):
        space = {"x": x}
        exec(source, space)
        return space["y"]

    yield f(1.0)
    source = "y = x * 9.0"
    yield f(1.0)


@row(SAME)
def an_attrgetter_over_two_levels(compiled):
    config = Config(inner=Config(rate=2.0))
    get = operator.attrgetter("inner.rate")
    f = compiled(lambda x: x * get(config))
    yield f(1.0)
    config.inner.rate = 9.0
    yield f(1.0)


@row(SAME)
def a_methodcaller(compiled):
    class Model:
        def __init__(self):
            self.w = 2.0

        def forward(self, x):
            return x * self.w

    model = Model()
    f = compiled(lambda x: operator.methodcaller("forward", x)(model))
    yield f(1.0)
    model.w = 9.0
    yield f(1.0)


@row(SAME)
def an_itemgetter(compiled):
    config = {"rate": 2.0}
    get = operator.itemgetter("rate")
    f = compiled(lambda x: x * get(config))
    yield f(1.0)
    config["rate"] = 9.0
    yield f(1.0)


@row(SAME)
def dir_finds_the_hooks(compiled):
    class Hooks:
        def on_a(self, x):
            return x * 2.0

    hooks = Hooks()
    f = compiled(
        lambda x: sum(getattr(hooks, name)(x) for name in dir(hooks) if name.startswith("on_"))
    )
    yield f(1.0)
    Hooks.on_b = lambda self, x: x * 10.0
    yield f(1.0)


@row()
def inspect_getmembers(compiled):
    config = Config(a=1.0, b=2.0)
    f = compiled(
        lambda x: x * sum(v for _, v in inspect.getmembers(config) if isinstance(v, float))
    )
    yield f(1.0)
    config.b = 9.0
    yield f(1.0)


@row()
def the_signature_of_a_function(compiled):
    def helper(x, k=2.0):
        return x * k

    f = compiled(lambda x: x * inspect.signature(helper).parameters["k"].default)
    yield f(1.0)
    helper.__defaults__ = (9.0,)
    yield f(1.0)


@row()
def a_frame_is_looked_into(compiled):
    def spy():
        return sys._getframe(1).f_locals["k"]

    k = 2.0

    @compiled
    def f(x):
        return x * spy() + 0.0 * k

    yield f(1.0)
    k = 9.0
    yield f(1.0)


@row()
def the_caller_of_the_compiled_function_is_looked_into(compiled):
    def caller_of(name):
        depth, frame = 0, sys._getframe(1)
        while frame is not None and depth < 40:
            if name in frame.f_locals:
                return frame.f_locals[name]
            depth, frame = depth + 1, frame.f_back
        return 0.0

    f = compiled(lambda x: x * caller_of("user_temperature"))

    def cold():
        user_temperature = 2.0
        return f(1.0), user_temperature

    def hot():
        user_temperature = 9.0
        return f(1.0), user_temperature

    yield cold()
    yield hot()


@row()
def the_type_of_an_object_has_a_name(compiled):
    class Relu:
        pass

    table = {"Relu": 2.0, "Tanh": 9.0}
    act = Relu()
    f = compiled(lambda x: x * table[type(act).__name__])
    yield f(1.0)
    Relu.__name__ = "Tanh"
    yield f(1.0)


@row(SAME)
def callable_and_isinstance(compiled):
    class Act:
        def __init__(self):
            self.k = 2.0

        def __call__(self, x):
            return x * self.k

    holder = Config(act=Act())
    f = compiled(lambda x: holder.act(x) if callable(holder.act) else x * holder.act)
    yield f(1.0)
    holder.act.k = 4.0
    yield f(1.0)
    holder.act = 9.0
    yield f(1.0)


@row(SAME)
def setattr_in_a_loop_outside(compiled):
    config = Config(a=1.0, b=2.0, c=3.0)
    f = compiled(lambda x: x * config.a + config.b - config.c)
    for name, value in {"a": 4.0, "b": 5.0, "c": 6.0}.items():
        setattr(config, name, value)
        yield f(1.0)


@row()
def the_garbage_collector_is_asked(compiled):
    import gc

    class Marked:
        weight = 2.0

    kept = [Marked()]
    f = compiled(
        lambda x: x * sum(each.weight for each in gc.get_objects() if type(each) is Marked)
    )
    yield f(1.0)
    kept.append(Marked())
    yield f(1.0)


@row()
def locals_of_a_class_body(compiled):
    settings = {"k": 2.0}

    @compiled
    def f(x):
        class Local:
            k = settings["k"]

        return x * Local.k

    yield f(1.0)
    settings["k"] = 9.0
    yield f(1.0)
