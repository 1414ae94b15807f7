"""`label_locals`: labels from variables, for what has none."""

from __future__ import annotations

import pytest

from minigrad import Value, label_locals


@pytest.mark.smoke
def test_variables_of_the_caller_become_labels():
    def lesson():
        a, w = Value(1.0), [[Value(2.0)], (Value(3.0), 4.0)]  # noqa: F841
        table = {"k": Value(5.0)}  # noqa: F841
        _hidden, taken = Value(6.0), Value(7.0, label="mine")
        alias = a
        return label_locals(), _hidden, taken, alias

    found, hidden, taken, alias = lesson()
    assert list(found) == ["a", "w[0][0]", "w[1][0]", "table['k']"]
    assert all(node.label == label for label, node in found.items())
    assert (hidden.label, taken.label, alias.label) == ("", "mine", "a")


def test_a_mapping_is_taken_instead_of_the_variables():
    here = Value(1.0)
    other = Value(2.0)
    assert label_locals({"there": other, "_kept": here}) == {"there": other, "_kept": here}
    assert label_locals({"again": other}) == {}
    with pytest.raises(TypeError, match="give a dict from names to Values"):
        label_locals([other])


def test_the_history_of_a_notebook_is_no_name():
    scope = {"Value": Value, "label_locals": label_locals}
    exec("v = Value(1.0)\nOut = {1: Value(2.0)}\nIn = [Value(3.0)]\nfound = label_locals()", scope)
    assert list(scope["found"]) == ["v"]
