"""The expression language: Python's meaning for what it knows, a clear no for the rest."""

from __future__ import annotations

import math

import pytest
from hostile_text import parsed
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import ExpressionError, Value
from minigrad.expressions import FUNCTIONS, evaluate, names, parse


def value(text, **variables):
    return evaluate(parse(text), variables)


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2*3 - 4/5",
        "2**3**2",
        "-2**2",
        "(-2)**2",
        "2**-1",
        "2**-3**2",
        "--1",
        "+-+1",
        "1 - -1",
        "1 - 2 - 3",
        "8/4/2",
        "2*-3",
        "((((1))))",
        "1e3 + .5 + 2. + 1.5E-2",
        "-(1 + 2)*3",
    ],
)
def test_arithmetic_means_what_it_means_in_python(text):
    assert value(text) == pytest.approx(eval(text), rel=1e-15)


texts = st.recursive(
    st.sampled_from(["a", "b", "1.5", "2"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"-{text}"),
    ),
    max_leaves=12,
)


@given(texts)
def test_random_expressions_mean_what_they_mean_in_python(text):
    variables = {"a": 0.75, "b": -1.25}
    assert value(text, **variables) == eval(text, dict(variables))


@pytest.mark.smoke
def test_functions_and_gradients():
    x, w = Value(0.5), Value(-2.0)
    out = value("tanh(x*w + 1) + maximum(x, 0.25) + logsumexp(x, w, 0)", x=x, w=w)
    expected = math.tanh(0.0) + 0.5 + math.log(math.exp(0.5) + math.exp(-2) + 1)
    assert out.data == pytest.approx(expected)
    assert minigrad.grad(out, w) == pytest.approx(
        0.5 + math.exp(-2) / (math.exp(0.5) + math.exp(-2) + 1)
    )
    assert value("relu (-3)") == 0.0
    assert value("1/0") == math.inf
    assert value("mean(1, 2, 6)") == 3.0
    assert value("leaky_relu(-1)") == -0.01
    assert names(parse("b + a*b + exp(c)")) == ["b", "a", "c"]


def test_every_function_of_the_language_exists():
    for name, arity in FUNCTIONS.items():
        arguments = ", ".join(["0.5"] * (arity or 2))
        assert isinstance(value(f"{name}({arguments})"), float)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends where a number"),
        ("   ", "ends where a number"),
        ("1 +", "ends where a number"),
        ("* 2", r"missing before '\*'"),
        ("(1", "never closed"),
        ("tanh(1", "never closed"),
        ("1)", "no open parenthesis"),
        ("1, 2", "no open parenthesis"),
        ("(1, 2)", "no open parenthesis"),
        ("a b", "operator is missing before 'b'"),
        ("2(3)", "operator is missing before '\\('"),
        ("2 tanh(1)", "operator is missing before 'tanh'"),
        ("()", r"missing before '\)'"),
        ("tanh()", r"missing before '\)'"),
        ("tanh(1, 2)", "takes 1 argument, got 2"),
        ("maximum(1)", "takes 2 arguments, got 1"),
        ("sin(1,)", r"missing before '\)'"),
        ("a.b", r"unexpected '\.'; a function is written tanh\(x\)"),
        ("a^2", r"unexpected '\^'; a power is written with \*\*"),
        ("max(1, 2)", "no function 'max'; did you mean maximum?"),
        ("sigmod(1)", "no function 'sigmod'; did you mean sigmoid?"),
        ("tanh", r"tanh is a function: write tanh\(…\)"),
        ("a[0]", r"unexpected '\['"),
        ("a = 2", "unexpected '='"),
        ("(a := 2)", "unexpected ':'"),
        ("f'x'", 'unexpected "\'"'),
        ("lambda x: x", "operator is missing before 'x'"),
        ("__import__(1)", "no function '__import__'"),
        ("softmax(1)", "no function 'softmax'"),
        ("é + 1", "unexpected 'é'"),
        ("1 // 2", "missing before '/'"),
        ("5 % 2", "unexpected '%'"),
        ("1e", "operator is missing before 'e'"),
        ("1_000", "operator is missing before '_000'"),
        ("0x10", "operator is missing before 'x10'"),
        ("a + 1", "no value for a; add a=…"),
    ],
)
def test_everything_else_is_one_kind_of_error(text, words):
    with pytest.raises(ExpressionError, match=words):
        value(text)


@pytest.mark.smoke
def test_an_error_points_at_its_place():
    with pytest.raises(ExpressionError) as caught:
        parse("1 + 2 ) * 3")
    assert str(caught.value).splitlines()[1:] == ["  1 + 2 ) * 3", "        ^"]


@pytest.mark.parametrize(
    "text",
    ["(" * 4000 + "1" + ")" * 4000, "-" * 9000 + "1", "+".join(["1"] * 4000), "2**" * 3000 + "1"],
)
def test_depth_and_length_exhaust_nothing(text):
    assert isinstance(value(text), float)


def test_too_long_a_text_is_refused():
    with pytest.raises(ExpressionError, match="limit is 10000"):
        parse("1+" * 6000 + "1")


@given(st.text(max_size=40))
def test_any_text_gives_an_answer_or_an_expression_error(text):
    try:
        result = value(text)
    except ExpressionError:
        return
    assert isinstance(result, float)


def test_made_up_texts_are_what_they_are_in_python_or_are_refused():
    counts = parsed(3000, seed=1)
    assert counts.failures == []
    assert counts.evaluated > 500
    assert counts.refused > 500
    assert counts.accepted > 10
