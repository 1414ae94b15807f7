"""Formulas of the reference: the right expressions, in LaTeX that both readers know."""

from __future__ import annotations

import sys
from pathlib import Path

import mpmath
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from book.formulas import MANY, OPERATORS, latex
from minigrad.core.ops import TABLE


@pytest.mark.parametrize(
    ("expression", "formula"),
    [
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("2*x**2", r"2 \, {x}^{2}"),
        ("x*2", r"x \cdot 2"),
        ("-a/b**2", r"-\frac{a}{{b}^{2}}"),
        ("1 - tanh(x)**2", r"1 - \tanh^{2} x"),
        ("exp(-x)*(1 + x)", r"e^{-x} \, \left(1 + x\right)"),
        ("(1 + x)**2", r"{\left(1 + x\right)}^{2}"),
        ("log(1 + x)", r"\ln\left(1 + x\right)"),
        ("2/sqrt(pi)", r"\frac{2}{\sqrt{\pi}}"),
        ("erf(x)", r"\operatorname{erf}\left(x\right)"),
        ("1 if a > b else 0", r"\begin{cases} 1 & a > b \\ 0 & \mathrm{otherwise} \end{cases}"),
    ],
)
def test_expressions_are_written_as_mathematicians_do(expression, formula):
    assert latex(expression) == formula


def test_what_is_no_formula_is_refused():
    with pytest.raises(ValueError, match="no lambda"):
        latex("lambda: 1")


@pytest.mark.parametrize("name", OPERATORS)
def test_the_derivatives_of_operators_are_right(name):
    value, slopes = OPERATORS[name]
    names = {"neg": "x", "pow": "x n"}.get(name, "a b").split()
    point = [mpmath.mpf("1.7"), mpmath.mpf("2.3")][: len(names)]

    def at(text, numbers):
        return eval(text, {"log": mpmath.log, **dict(zip(names, numbers, strict=True))})

    for k, slope in enumerate(slopes):
        along = mpmath.diff(lambda t, k=k: at(value, [*point[:k], t, *point[k + 1 :]]), point[k])
        assert abs(at(slope, point) - along) < 1e-9


@pytest.mark.site
def test_every_formula_becomes_mathml():
    from books import module

    mathml = module("mathematics").mathml
    told = [text for op in TABLE if op.says for text in (op.says.value, *op.says.slopes)]
    told += [text for value, slopes in OPERATORS.values() for text in (value, *slopes)]
    for formula in [*map(latex, told), *(t for f in MANY.values() for t in (f.value, *f.slopes))]:
        assert mathml(formula).startswith("<math")
