"""The loops that ask whether anything has changed: "no" may be wrong, "yes, the same" never is."""

from __future__ import annotations

from minigrad import Value
from minigrad.compiler.tracing.places import DICT, LIST, MISSING
from minigrad.compiler.tracing.unchanged import attributes_of, first_changed, first_moved


def test_the_first_word_that_means_another_thing():
    one, two = object(), object()
    spaces, words = [{"a": one}, {"b": two}, {}], ["a", "b", "c"]
    then = [one, two, MISSING]
    assert first_moved(spaces, words, then, MISSING, 0) == -1
    spaces[1]["b"] = one
    spaces[2]["c"] = None
    assert [first_moved(spaces, words, then, MISSING, at) for at in (0, 1, 2)] == [1, 1, 2]
    del spaces[0]["a"]
    assert first_moved(spaces, words, then, MISSING, 0) == 0


def test_the_first_place_that_holds_another_thing():
    numbers, table = [1.0, 2.0], {"k": 3.0}
    ways = (LIST.way + DICT.way).encode()
    then = [LIST.look(numbers), DICT.look(table)]
    assert first_changed(ways, [numbers, table], then, 0) == -1
    table["k"] = 4.0
    assert first_changed(ways, [numbers, table], then, 0) == 1
    numbers.append(3.0)
    assert first_changed(ways, [numbers, table], then, 0) == 0


def test_the_attributes_of_an_object():
    class Loud:
        def __getattribute__(self, name):
            raise AssertionError("it was asked")

    thing = Loud()
    object.__setattr__(thing, "k", 2.0)
    assert attributes_of(thing) == {"k": 2.0}
    assert attributes_of(3.0) is None
    value = Value(1.0)
    assert not attributes_of(value)
    value.name = "w"
    assert attributes_of(value) == {"name": "w"}
