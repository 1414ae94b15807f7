"""Plots and measured figures: the numbers are minigrad's, and the benches'."""

from __future__ import annotations

import json
import math

import pytest
from books import module, page

from minigrad.errors import ExpressionError

pytestmark = pytest.mark.site


def test_curves_are_values_and_derivatives():
    values, slopes = module("plots").curves("x**3", -2.0, 2.0)
    assert values[0] == (-2.0, -8.0)
    assert slopes[-1] == (2.0, 12.0)
    assert all(y == pytest.approx(3 * x * x) for x, y in slopes)


def test_a_pole_is_a_gap_and_does_not_hide_the_rest():
    plots = module("plots")
    drawn = plots.curves("1/x", -4.0, 4.0)
    bottom, top = plots.frame(drawn)
    assert -30 < bottom < 0 < top < 30
    assert plots.path(drawn[0], -4.0, 4.0, bottom, top).count("M") == 2
    assert "nan" not in plots.svg("log(x)", -1.0, 2.0)


@pytest.mark.parametrize(
    ("text", "low", "high", "why"),
    [("2 + 3", 0, 1, "no x"), ("x", 1, 0, "smaller"), ("log(x)", -2, -1, "no finite")],
)
def test_what_cannot_be_plotted_is_refused(text, low, high, why):
    with pytest.raises(ExpressionError, match=why):
        module("plots").svg(text, float(low), float(high))


@pytest.fixture
def bench(tmp_path):
    rows = {"minigrad, kernel": {"min": 2e-6}, "C": {"min": 8e-6}, "gone": {"missing": "why"}}
    case = {"what": "a <case>", "unit": "µs", "rows": rows}
    figures = {"date": "2026-01-02", "machine": "a machine", "python": "3.14", "cases": {"A": case}}
    (tmp_path / "bench.json").write_text(json.dumps(figures))
    return tmp_path


def test_bars_have_numbers_date_and_machine(bench):
    html = module("measured").figure("bench.json A\nminigrad, kernel\nC\n", bench)
    assert "2.00 µs" in html
    assert "8.00 µs" in html
    assert "a &lt;case&gt;. Logarithmic; measured 2026-01-02, a machine, Python 3.14." in html
    assert html.index("minigrad, kernel") < html.index(">C<")
    spanish = module("measured").figure("bench.json A\nminigrad, kernel\nC\n", bench, "es")
    assert "minigrad, el programa" in spanish
    assert module("measured").told(9.25e-6, "es") == "9,25 µs"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nosuch.json A\nC", "no nosuch.json"),
        ("bench.json B\nC", "no case 'B'"),
        ("bench.json A\nnosuch", "no row"),
        ("bench.json A\ngone", "no row"),
        ("bench.json A", "no row"),
    ],
)
def test_a_figure_that_is_not_there_is_refused(text, why, bench):
    with pytest.raises(ValueError, match=why):
        module("measured").figure(text, bench)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(9.25e-6, "9.25 µs"), (0.1159, "116 ms"), (94.1e-9, "94.1 ns"), (2.0, "2.00 s")],
)
def test_times_are_told_in_a_unit_that_fits(seconds, text):
    assert module("measured").told(seconds) == text


def test_longer_is_longer():
    import re

    html = module("measured").bars({"a": 1e-6, "b": 1e-3, "c": 1e-2})
    widths = [float(w) for w in re.findall(r'style="width:([\d.]+)%"', html)]
    # Logarithmic: from a to b three decades, from b to c one.
    assert (widths[1] - widths[0]) / (widths[2] - widths[1]) == pytest.approx(3.0, rel=0.01)
    assert all(math.isfinite(w) and w > 0 for w in widths)


def test_in_a_page(tmp_path):
    text = "```{plot}\ntanh(x) from -2 to 2\n```\n\n```{measured}\ncompiled.json A\nC by hand\n```"
    extra = ["book.plots", "book.measured", "book.drawings", "book.blocks", "book.policy"]
    settings = {"extensions": ["myst_parser", "book.mathematics", *extra]}
    text += "\n\n```pycon\n>>> 1\n1\n\n```\n"
    html, warned = page(text, tmp_path, **settings)
    assert warned == ""
    assert 'class="mg-plot"' in html
    assert 'class="mg-bars"' in html
    assert html.index("Content-Security-Policy") < html.index("<script")
    assert "1\n\n</pre>" not in html  # a code block ends where its text does
    _, warned = page("```{plot}\nx\n```", tmp_path, **settings)
    assert "from 0 to 1" in warned
    _, warned = page("```{measured}\nnosuch.json A\nC\n```", tmp_path, **settings)
    assert "docs/ has no nosuch.json" in warned


def test_a_drawing_is_in_the_page_and_follows_its_theme():
    svg = '<?xml version="1.0"?>\n<svg a="b"><style>x</style><g/></svg>'
    html = module("drawings").inlined(svg, 'A "diamond"')
    assert html == (
        '<figure class="mg-drawing" role="img" aria-label="A &quot;diamond&quot;">'
        '<svg a="b"><g/></svg></figure>'
    )
    colours = module("assets").colours()
    assert 'body[data-theme="dark"]' in colours
    assert ".mg-fold" in colours
