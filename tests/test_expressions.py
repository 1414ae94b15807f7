"""The expression language: Python's meaning for what it knows, a clear no for the rest."""

from __future__ import annotations

import copy
import math
import pickle
import re

import pytest
from hostile_text import parsed
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import ExpressionError, Value
from minigrad.expression_words import PHRASES, worded
from minigrad.expressions import FUNCTIONS, evaluate, names, number, parse


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
        text = "where(1 > 0, 2, 3)" if name == "where" else f"{name}({arguments})"
        text += "[1]" if "softmax" in name else ""
        assert isinstance(value(text), float)


@pytest.mark.smoke
def test_names_of_mathematics():
    assert value("pi") == math.pi
    assert value("cos(pi/3)") == pytest.approx(0.5)
    assert value("ln(e)") == 1.0
    assert value("e*2", e=Value(3.0)).data == 6.0  # the lecture has a variable of that name
    assert value("e = 5; e + pi*0") == 5.0
    assert value("max(1, 3, 2) - min(4, 2, 3)") == 1.0
    assert value("sum(1, 2, 3)") == 6.0
    exps = [math.exp(x) for x in (1, 2, 3)]
    assert value("softmax(1, 2, 3)[2]") == pytest.approx(exps[2] / sum(exps))
    assert value("sum(softmax(1, 2, 3))") == pytest.approx(1.0)
    assert value("-ln(softmax(1, 2, 3)[0])**2") == pytest.approx(
        -(math.log(exps[0] / sum(exps)) ** 2)
    )
    assert value("max(softmax(1, 2, 3), 2)") == 2.0


def test_gradients_of_max_and_of_softmax():
    a, b = Value(1.0), Value(3.0)
    assert minigrad.grad(value("max(a, b, 2)", a=a, b=b), [a, b]) == [0.0, 1.0]
    p = math.exp(1.0) / (math.exp(1.0) + math.exp(3.0))
    found = minigrad.grad(value("softmax(a, b)[0]", a=a, b=b), [a, b])
    assert found == pytest.approx([p * (1 - p), -p * (1 - p)])


@pytest.mark.parametrize(
    ("x", "expected", "slope"), [(2.0, math.log(2.0), 0.5), (-1.0, -3.0, 3.0), (0.0, 0.0, 3.0)]
)
def test_where_chooses(x, expected, slope):
    x = Value(x)
    out = value("where(x > 0, log(x), 3*x)", x=x)
    assert (out.data, minigrad.grad(out, x)) == (expected, slope)


@pytest.mark.parametrize(
    ("test", "expected"),
    [("1 < 2", 1), ("2 < 2", 0), ("2 <= 2", 1), ("3 > 2", 1), ("2 > 2", 0), ("1 + 1 >= 2*1", 1)],
)
def test_comparisons(test, expected):
    assert value(f"where({test}, 1, 0)") == expected


@pytest.mark.smoke
@pytest.mark.parametrize(
    "text",
    ["n = x*w + b; o = tanh(n)", "n = x*w + b\no = tanh(n)\n", "n = x*w + b;\n\ntanh(\nn)",
     ";; n = x*w +\n b; tanh(n);", "n = x*w + b\n(tanh(n))"],
)  # fmt: skip
def test_statements(text):
    x, w, b = Value(2.0), Value(-0.5), Value(0.25)
    assert names(parse(text)) == ["x", "w", "b"]
    out = value(text, x=x, w=w, b=b)
    assert out.data == pytest.approx(math.tanh(2.0 * -0.5 + 0.25), rel=1e-15)
    assert minigrad.grad(out, w) == pytest.approx((1 - math.tanh(-0.75) ** 2) * 2.0)


def test_a_statement_labels_its_result_but_no_variable():
    x = Value(2.0)
    out = value("y = x; n = y*y; o = n + 1", x=x)
    assert (x.label, out.label, out._operands[0].label) == ("", "o", "n")
    assert value("a = a*a; a*a", a=Value(2.0)).data == 16.0  # as in Python


@pytest.mark.parametrize(
    ("text", "expected"), [("1/2", 0.5), ("-3", -3.0), ("pi/4", math.pi / 4), ("-1e3", -1e3),
                           ("inf", math.inf), ("-inf", -math.inf), ("2**-1", 0.5)]
)  # fmt: skip
def test_a_number_may_be_written_as_an_expression(text, expected):
    assert number(text) == expected
    assert isinstance(number(text), float)


WRONG = [
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
    ("maxi(1, 2)", "no function 'maxi'; did you mean maximum?"),
    ("sigmod(1)", "no function 'sigmod'; did you mean sigmoid?"),
    ("tanh", r"tanh is a function: write tanh\(…\)"),
    ("a[b]", r"unexpected '\['"),
    ("softmax([a, b])[0]", r"several numbers are written softmax\(a, b\)"),
    ("|a|", r"unexpected '\|'; an absolute value is written abs\(x\)"),
    ("a²", r"unexpected '²'; a power is written x\*\*2"),
    ("√a", r"unexpected '√'; a root is written sqrt\(x\)"),
    ("a×b", r"unexpected '×'; a product is written a\*b"),
    ("a−b", r"unexpected '−'; a minus is written -, the hyphen"),
    ("2*π", r"unexpected 'π'; it is written pi"),
    ("α*x", r"unexpected 'α'; names have the letters a to z"),
    ("a if b else c", r"no 'if' here; a choice is written where\(x > 0, a, b\)"),
    ("a and b", r"no 'and' here; of two comparisons write where\(a > 0, where"),
    ("log10(a)", r"there is no function 'log10'; write log\(x\)/log\(10\)"),
    ("pow(a, 2)", r"there is no function 'pow'; write x\*\*y"),
    ("pi[0]", r"\[0\] takes one of several numbers, .* this is one already"),
    ("softmax(1, 2)[2]", r"\[2\]: there are 2, counted from \[0\] to \[1\]"),
    ("[0]", "missing before '0'"),
    ("softmax(1)", r"the result: here is room for one number, and softmax gives 1; take one"),
    ("1 + softmax(1, 2)", r"\+: here is room for one number, and softmax gives 2"),
    ("-softmax(1, 2)", "-: here is room for one number"),
    ("tanh(softmax(1, 2))", "tanh: here is room for one number"),
    ("1 > 2", r"a comparison stands first in where\(x > 0, a, b\), once"),
    ("where(1, 2, 3)", r"where chooses by a comparison: where\(x > 0, a, b\)"),
    ("where(1)", "where chooses by a comparison"),
    ("where(1 > 2)", "where takes 3 arguments, got 1"),
    ("where(0 < 1 < 2, 3, 4)", "a comparison stands first"),
    ("where(0 < 1, 2 < 3, 4)", "a comparison stands first"),
    ("where(1 == 2, 3, 4)", "unexpected '='; numbers are compared with <, <=, > or >="),
    ("where(n = 2, 3, 4)", "'n =' begins a statement, so a ; is missing before it"),
    ("n = m = 2", "'m =' begins a statement"),
    ("2 n = 3", "'n =' begins a statement"),
    ("tanh = 2", "tanh is a function; give the result another name"),
    ("1; 2", "only the last statement may do without a name"),
    ("1\n+ 2", "only the last statement may do without a name"),
    ("n = ; 2", "missing before this ';'"),
    ("n = (1; 2", "never closed"),
    ("n =", "ends where a number"),
    (";", "ends where a number"),
    ("n = 1; 2 +", "ends where a number"),
    ("m; m = 2", "only the last statement"),
    ("n = m; m = 2", "no value for m"),
    ("(a := 2)", "unexpected ':'"),
    ("f'x'", 'unexpected "\'"'),
    ("lambda x: x", "operator is missing before 'x'"),
    ("__import__(1)", "no function '__import__'"),
    ("é + 1", "unexpected 'é'"),
    ("1 // 2", "missing before '/'"),
    ("5 % 2", "unexpected '%'"),
    ("1e", "operator is missing before 'e'"),
    ("1_000", "operator is missing before '_000'"),
    ("0x10", "operator is missing before 'x10'"),
    ("a + 1", "no value for a; add a=…"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_everything_else_is_one_kind_of_error(text, words):
    with pytest.raises(ExpressionError, match=words):
        value(text)


@pytest.mark.parametrize("text", [text for text, _ in WRONG])
def test_every_mistake_is_told_in_spanish(text):
    with pytest.raises(ExpressionError) as caught:
        value(text)
    english, spanish = (worded(caught.value, lang).splitlines() for lang in ("en", "es"))
    assert english[1:] == spanish[1:]  # the place
    assert not re.search(r"\b(the|is|are|missing|takes|before|numbers|with)\b", spanish[0])


@pytest.mark.smoke
def test_the_words_are_the_same_in_every_language():
    fields = {
        lang: {key: sorted(set(re.findall(r"{(\w+)}", text))) for key, text in phrases.items()}
        for lang, phrases in PHRASES.items()
    }
    assert fields["en"] == fields["es"]


def test_a_mistake_can_be_copied_and_pickled():
    with pytest.raises(ExpressionError) as caught:
        parse("1 +")
    for twin in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert isinstance(twin, ExpressionError)
        assert str(twin) == str(caught.value)


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
