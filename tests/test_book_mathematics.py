"""Formulas are MathML: no script, no font, no request."""

from __future__ import annotations

import re

import pytest
from books import module, page

pytestmark = pytest.mark.site


def test_formulas_in_a_line_and_by_themselves(tmp_path):
    html, warned = page("A $x^2$ and\n\n$$\\frac{1}{x}$$\n", tmp_path)
    assert warned == ""
    assert re.search(r"<msup>\s*<mi>x</mi>\s*<mn>2</mn>\s*</msup>", html)
    assert "<mfrac>" in html
    assert 'display="block"' in html
    assert not re.search(r'src="[^"]*mathjax', html, re.I)


def test_what_is_no_formula_is_an_error():
    with pytest.raises(Exception, match="nosuchthing"):
        module("mathematics").mathml(r"\nosuchthing x")
