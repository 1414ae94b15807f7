"""Arguments given again as arrays of any library."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from minigrad import Value  # noqa: E402
from minigrad.compiler.arguments.given import count_of, given_numbers  # noqa: E402
from minigrad.compiler.function import Compiled  # noqa: E402


def structure_of(*example):
    """The structure of arguments, and their numbers, as the compiler sees them."""
    flat = Compiled(lambda *args: 0.0).dispatch.flat(example, {})
    return flat.key[0], list(flat.numbers)


def flattened(numbers):
    return [float(x) for each in numbers for x in np.ravel(each)]


EXAMPLES = [
    (1.0, 2.0),
    ([1.0, 2.0, 3.0], 4.0),
    ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],),
    ({"x": 1.0, "rows": [[2.0, 3.0]], "deep": {"y": (4.0, 5.0)}},),
    (np.arange(6.0).reshape(2, 3), np.arange(3)),
    ([1, 2, 3], (True, "relu", None, 2.5)),
    ([[1.0], [2.0, 3.0]], []),
    (Value(1.5), [Value(2.5), 3.5]),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_example_itself_is_given(example):
    structure, numbers = structure_of(*example)
    assert flattened(given_numbers(structure, example)) == [float(x) for x in numbers]
    assert count_of(structure) == len(numbers)


TREES = st.recursive(
    st.floats(-9, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=8,
)


@settings(max_examples=100)
@given(TREES)
def test_any_structure_is_given_again(tree):
    structure, numbers = structure_of(tree)
    assert flattened(given_numbers(structure, (tree,))) == [float(x) for x in numbers]
    assert count_of(structure) == len(numbers)


def test_arrays_stand_for_lists():
    structure, _ = structure_of([[1.0, 2.0], [3.0, 4.0]], [5, 6, 7], 8.0)
    given = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5, 6, 7], np.int8), np.float32(8.0)
    found = given_numbers(structure, given)
    assert flattened(found) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found[0] is given[0]
    rows = [np.array([1.0, 2.0]), [3.0, np.array(4.0)]]
    assert flattened(given_numbers(structure, (rows, given[1], 8))) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("example", "given", "words"),
    [
        ([1.0, 2.0], [1.0], r"f\[0\]: traced with a list of 2, given a list of 1"),
        (
            [1.0, 2.0],
            np.zeros(3),
            r"traced with an array of shape \(2,\), given one of shape \(3,\)",
        ),
        ([[1.0], [2.0]], np.zeros((1, 2)), r"shape \(2, 1\), given one of shape \(1, 2\)"),
        (1.0, "one", r"f\[0\]: traced with a number, given str"),
        (1.0, [1.0], "traced with a number, given a list of 1"),
        (1.0, np.zeros(2), r"an array of shape \(\), given one of shape \(2,\)"),
        ({"x": 1.0}, {"y": 1.0}, "traced with a dict with 'x', given dict"),
        ({"x": [1.0]}, {"x": [1.0, 2.0]}, r"f\[0\]\['x'\]: traced with a list of 1"),
        ([1.0, "relu"], [1.0, "tanh"], r"f\[0\]\[1\]: traced with 'relu', given 'tanh'"),
        (np.zeros((2, 2)), 1.0, r"an array of shape \(2, 2\), given float"),
        ([[1.0], [2.0, 3.0]], np.zeros((2, 2)), "traced with a list of 2, given ndarray"),
    ],
    ids=range(11),
)
def test_another_structure_is_refused(example, given, words):
    structure, _ = structure_of(example)
    with pytest.raises(TypeError, match=words) as caught:
        given_numbers(structure, (given,), "f")
    assert str(caught.value).endswith(
        "Another structure is another program: make it with an example of that structure."
    )


def test_another_number_of_arguments_is_refused():
    structure, _ = structure_of(1.0, 2.0)
    with pytest.raises(TypeError, match="f: traced with a list of 2, given a tuple of 1"):
        given_numbers(structure, (1.0,), "f")


def test_objects_are_known_by_who_they_are():
    class Settings:
        rate = 0.5

    one, other = Settings(), Settings()
    structure, _ = structure_of(one, 2.0)
    assert given_numbers(structure, (one, 2.0)) == [2.0]
    with pytest.raises(TypeError, match=r"f\[0\]: traced with another Settings, given this one"):
        given_numbers(structure, (other, 2.0), "f")
    names = np.array(["a", "b"])
    structure, _ = structure_of(names)
    assert given_numbers(structure, (names.copy(),)) == []
    with pytest.raises(TypeError, match="traced with another ndarray"):
        given_numbers(structure, (np.array(["a", "c"]),), "f")


def test_true_is_not_one():
    structure, _ = structure_of(True)
    with pytest.raises(TypeError, match="traced with True, given 1"):
        given_numbers(structure, (1,), "f")


def test_a_comparison_that_raises_is_no_match():
    class Odd:
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

    structure, _ = structure_of("relu")
    with pytest.raises(TypeError, match="traced with 'relu'"):
        given_numbers(structure, (Odd(),), "f")
