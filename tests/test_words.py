"""Names that code mentions: as a name, as a text, in a match, by getattr."""

from __future__ import annotations

import dataclasses
import math
import operator
import sys

import pytest
from changes import Plain, changes_of, check, user_module

import minigrad
from minigrad.compiler.tracing.words import Mentions, words_of

ROWS, row, set_global = changes_of(globals())
K = 2.0


@row
def a_name_of_a_module_by_text():
    made = user_module("by_text", k=2.0)
    return lambda x: x * getattr(made, "k"), lambda: setattr(made, "k", 3.0)  # noqa: B009


@row
def a_name_of_a_module_by_a_text_outside():
    made, name = user_module("by_text_outside", k=2.0), "k"
    return lambda x: x * getattr(made, name), lambda: setattr(made, "k", 3.0)


@row
def a_module_by_its_name():
    import importlib

    made = user_module("by_its_name", k=2.0)
    return (
        lambda x: x * importlib.import_module("by_its_name").k,
        lambda: setattr(made, "k", 3.0),
    )


@row
def a_module_among_the_loaded():
    made = user_module("among_the_loaded", k=2.0)
    return lambda x: x * sys.modules["among_the_loaded"].k, lambda: setattr(made, "k", 3.0)


@row
def the_dict_of_a_module():
    made = user_module("as_a_dict", k=2.0)
    return lambda x: x * vars(made)["k"], lambda: setattr(made, "k", 3.0)


@row
def a_global_by_text():
    return lambda x: x * globals()["K"], set_global("K", 3.0)


@row
def an_object_asked_whether_it_has():
    thing = Plain()
    return lambda x: x * (3 if hasattr(thing, "extra") else 2), lambda: setattr(thing, "extra", 1)


@row
def an_attribute_that_is_tried():
    thing = Plain()

    def function(x):
        try:
            return x * thing.extra
        except AttributeError:
            return x * 2

    return function, lambda: setattr(thing, "extra", 3.0)


@row
def vars_of_an_object():
    thing = Plain()
    return lambda x: x * vars(thing)["k"], lambda: setattr(thing, "k", 3.0)


@row
def the_dict_of_an_object():
    thing = Plain()
    return lambda x: x * thing.__dict__["k"], lambda: setattr(thing, "k", 3.0)


@row
def an_attribute_by_text():
    thing, name = Plain(), "k"
    return lambda x: x * getattr(thing, name), lambda: setattr(thing, "k", 3.0)


@row
def an_attrgetter():
    thing, get = Plain(), operator.attrgetter("k")
    return lambda x: x * get(thing), lambda: setattr(thing, "k", 3.0)


@row
def a_dotted_attrgetter():
    thing, get = Plain(Plain()), operator.attrgetter("k.k")
    return lambda x: x * get(thing), lambda: setattr(thing.k, "k", 3.0)


@row
def a_methodcaller():
    class Model:
        def act(self):
            return K

    model, call = Model(), operator.methodcaller("act")
    return lambda x: x * call(model), set_global("K", 3.0)


@row
def a_match_by_position():
    class Point:
        __match_args__ = ("a",)

        def __init__(self):
            self.a = 1

    point = Point()

    def function(x):
        match point:
            case Point(1):
                return x * 2
            case _:
                return x * 3

    return function, lambda: setattr(point, "a", 2)


@row
def a_match_by_keyword():
    point = Plain(1)

    def function(x):
        match point:
            case Plain(k=1):
                return x * 2
            case _:
                return x * 3

    return function, lambda: setattr(point, "k", 2)


@row
def a_dataclass_compared():
    @dataclasses.dataclass
    class Mode:
        name: str

    one, two = Mode("a"), Mode("a")
    return lambda x: x * (2 if one == two else 3), lambda: setattr(one, "name", "b")


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_noticed(name):
    check(ROWS[name], globals())


@pytest.mark.parametrize(
    "body",
    [
        "getattr(cfg, name, 'default')",
        "getattr(table['m'], name)",
        "getattr(getattr(outer, 'inner'), name)",
        "getattr(cfg, 'k' if flag else 'j')",
        "getattr(cfg, 'k')",
        "getattr(outer.inner, 'k', 1.0)",
        "getattr(outer.inner, 'k', lambda: 1.0)",
        "getattr(cfg, f'{name}')",
        "getattr(cfg, '' + name)",
        "getattr(cfg, '%s' % name)",
    ],
)
def test_getattr_with_a_name_from_somewhere(body):
    class Config:
        pass

    cfg, outer = Config(), Config()
    cfg.k, outer.inner = 2.0, cfg
    space = {"cfg": cfg, "table": {"m": cfg}, "outer": outer, "name": "k", "flag": True}
    exec(f"def f(x): return x * {body}", space)
    f = minigrad.compile(space["f"])
    assert f(1.0).data == 2.0
    cfg.k = 9.0
    assert f(1.0).data == 9.0


# ---- the words of a piece of code ----------------------------------------------------------------


def words(function):
    return words_of(function.__code__)


def test_globals_and_attributes_are_told_apart():
    found = words(lambda x: x.data * math.pi + K)
    assert list(found.globals) == ["math", "K"]
    assert found.attributes == {"data", "pi"}
    assert not found.compares


def test_inner_functions_are_read_too():
    found = words(lambda x: [y.weight for y in x if getattr(y, "bias", None) == K])
    assert found.attributes >= {"weight", "bias"}
    assert found.by_name == {"getattr"}
    assert found.compares


def test_imports_and_labels():
    def function(x):
        import json

        return json, x.label

    found = words(function)
    assert found.modules == {"json"}
    assert found.reads_labels


def test_what_follows_from_the_words():
    mentions = Mentions()
    mentions.add(words(lambda x: x.k))
    assert mentions.words() == {"k"}
    assert [mentions.everything(), mentions.ask(), mentions.survive()] == [False] * 3
    mentions.add(words(lambda x, name: getattr(x, name) + x["other"]))
    assert mentions.everything()
    assert mentions.words() >= {"k", "other"}
