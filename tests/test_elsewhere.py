"""What people bring along from elsewhere: it is told about, and it is not in the way."""

from __future__ import annotations

import pydoc
import re
from dataclasses import dataclass

import pytest

from minigrad import Value, nn, optim
from minigrad.core.elsewhere import MODULE, OPTIMIZER, VALUE, explained

ROWS = [(Value(2.0), VALUE), (nn.MLP(2, [1]), MODULE), (optim.SGD([Value(1.0)]), OPTIMIZER)]


@pytest.mark.parametrize(("thing", "rows"), ROWS)
def test_absent_names_are_not_there(thing, rows):
    names = " ".join(rows).split()
    assert len(names) == len(set(names))
    assert not set(names) & set(dir(thing))
    for name in names:
        assert not hasattr(thing, name)
        assert not hasattr(type(thing), name)
        assert getattr(thing, name, None) is None
    assert {"data", "grad"} <= set(dir(thing)) or "zero_grad" in dir(thing)


def test_attributes_of_ones_own_are_ones_own():
    a = Value(2.0)
    a.name = "a"
    assert a.name == "a"
    assert "name" in dir(a)

    class Line(nn.Module):
        def __init__(self):
            self.weights = [Value(1.0)]

        def forward(self, x):
            return self.weights[0] * x

        __call__ = forward

    line = Line()
    assert line.weights == line.parameters()
    assert line.forward(3.0).data == 3.0

    @dataclass
    class Curve(nn.Module):
        weights: list

    with pytest.raises(TypeError, match="weights"):  # the class gives it no value
        Curve()


def test_help_says_what_is_not_here():
    assert "Not here: its number is v.data." in pydoc.render_doc(Value)


def test_imports_are_told_too():
    with pytest.raises(ImportError, match=re.escape("did you mean minigrad.nn.MLP?")):
        from minigrad import MLP  # noqa: F401
    with pytest.raises(ImportError, match=re.escape("did you mean SGD?")):
        from minigrad.optim import sgd  # noqa: F401
    with pytest.raises(ImportError, match=re.escape("cannot import name 'zebra'")):
        from minigrad import zebra  # noqa: F401
    from minigrad import plot, version  # modules, loaded or not

    assert plot.__name__, version.__name__


def test_a_failure_inside_is_nobodys_call():
    @explained("half(2)")
    def half(x):
        return len(x)

    assert half([1, 2]) == 2
    with pytest.raises(TypeError, match=re.escape("half(…): there is no 'x'; write half(2).")):
        half()
    with pytest.raises(TypeError, match=re.escape("half(…): too many arguments; write half(2).")):
        half(1, 2)
    with pytest.raises(TypeError, match="has no len"):  # as it came
        half(1)
