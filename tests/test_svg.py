"""Our own drawings."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hostile_labels import HARD, by_ourselves
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import GOLDEN, GRAPHS, diamond, files, twice

import minigrad
from minigrad import Value, view
from minigrad.core.names import readable, width_of

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "desc", "style", "g", "rect", "path", "polygon", "text"}


def drawing(root, *arguments, **options):
    return ET.fromstring(view.to_svg(root, *arguments, **options))


def texts(element):
    return [text.text or "" for text in element.iter(f"{SVG}text")]


def check_harmless(svg):
    """No script, no link, no handler, no reference, and nothing but what we draw with."""
    for element in ET.fromstring(svg).iter():
        assert element.tag.removeprefix(SVG) in ALLOWED
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert "href" not in name
            assert "url(" not in value
            assert name != "id"


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "text"), [pytest.param(*file, id=file[0]) for file in files()])
def test_golden_pictures(name, text):
    assert text == (GOLDEN / name).read_text(encoding="utf-8"), "run: python tests/pictures.py"


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.parametrize("make", GRAPHS.values())
def test_every_number_is_in_the_picture(make, rankdir):
    root = make()
    root.backward()
    shown = texts(drawing(root, rankdir))
    for node in view.trace(root)[0]:
        assert f"data {node.data:.5g}" in shown
        assert f"grad {node.grad or 0.0:.5g}" in shown
        assert not node.label or node.label in shown
        assert not node._op or node._op in shown


@pytest.mark.smoke
def test_an_arrow_for_each_edge_with_a_polygon_for_a_head():
    svg = drawing(twice())
    arrows = [g for g in svg.iter(f"{SVG}g") if g.get("class") == "mg-arrow"]
    assert len(arrows) == 2
    curves = {g.find(f"{SVG}path").get("d") for g in arrows}
    heads = {g.find(f"{SVG}polygon").get("points") for g in arrows}
    assert (len(curves), len(heads)) == (2, 2)  # two arrows to see, not one on the other


def test_the_order_of_operands_is_told_where_it_matters():
    a, b = Value(1.0, label="a"), Value(2.0, label="b")
    small = [t for t in drawing(a - b).iter(f"{SVG}text") if t.get("font-size")]
    assert sorted(t.text for t in small) == ["1", "2"]
    assert not [t for t in drawing(a + b).iter(f"{SVG}text") if t.get("font-size")]


def test_for_readers_of_screens():
    svg = drawing(diamond())
    assert svg.get("role") == "img"
    assert svg.find(f"{SVG}title").text == "L"
    assert svg.find(f"{SVG}desc").text == "Expression graph of L: 3 leaves and 4 operations."
    titles = [t.text for t in svg.iter(f"{SVG}title")]
    assert "a, data 2, grad 0" in titles
    assert "result = -, data -2, grad 0" in titles


def test_nothing_has_an_id_so_that_pictures_can_share_a_page():
    assert "id=" not in view.to_svg(diamond())


def test_dark_and_light():
    svg = view.to_svg(diamond())
    assert "prefers-color-scheme: dark" in svg
    assert "@media screen" in svg  # paper stays white
    dark = svg.split("<style>")[1].split("</style>")[0]
    classes = set(re.findall(r"\.(mg-[a-z]+)", dark))
    drawn = set(re.findall(r'class="([^"]+)"', svg))
    coloured = {name for group in drawn for name in group.split()} - {"mg", "mg-arrow", "mg-unit"}
    assert coloured <= classes  # no element keeps its light colour in the dark


def contrast(one, other):
    """The contrast ratio of WCAG 2."""

    def luminance(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    a, b = sorted((luminance(one), luminance(other)), reverse=True)
    return (a + 0.05) / (b + 0.05)


def test_texts_are_legible():
    from minigrad.view import svg

    for ink in (svg.INK, svg.DATA, svg.GRAD):
        for paper in (svg.PAPER, svg.LEAF, svg.RESULT):
            assert contrast(ink, paper) >= 4.5
    for ink in ("#e6eaef", "#86c9f4", "#ffb27a"):
        assert ink in svg.DARK
        for paper in ("#14181d", "#1c222a", "#1d2c3a"):
            assert paper in svg.DARK
            assert contrast(ink, paper) >= 4.5


@settings(max_examples=1000)
@given(st.sampled_from(HARD) | st.text(max_size=40))
def test_labels_are_text(label):
    a = Value(2.0, label=label)
    svg = view.to_svg(a * 3.0)
    check_harmless(svg)
    shown = readable(label)
    cells = [g for g in ET.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "mg-unit"]
    first = texts(cells[0])
    assert len(first) == (3 if label else 2)
    if label and width_of(shown) <= 60:
        assert first[0] == shown
    if label:
        assert cells[0].find(f"{SVG}title").text == f"{shown}, data 2, grad 0"


@given(st.sampled_from(HARD) | st.text(max_size=20))
def test_operations_are_text(op):
    a = Value(2.0, label="a")
    svg = view.to_svg(Value(1.0, (a,), op))
    check_harmless(svg)
    assert not op or width_of(readable(op)) > 60 or readable(op) in texts(ET.fromstring(svg))


def test_made_up_labels_in_every_picture():
    counts = by_ourselves(300, seed=1)
    assert counts.failures == []
    assert counts.labels == 300


def test_the_text_of_a_tree_is_one_line_a_unit():
    for label in HARD:
        assert len(view.to_text(Value(2.0, label=label) * 3.0).splitlines()) == 3


def test_a_picture_with_a_notice():
    x = Value(1.0)
    y = x
    for _ in range(2000):
        y = (y * 1.5).tanh()
    svg = drawing(y, limit=30, fold=False)
    assert (
        texts(svg)[-1]
        == "6,001 nodes and 6,000 arrows; here are the 30 nodes nearest to the result; "
        "a larger limit draws more."
    )
    assert float(svg.get("width")) > 0


def test_the_same_bytes_under_any_hash_seed():
    program = """
import math, hashlib
from minigrad import Value, nn, loss, view, draw_dot
model = nn.MLP(2, [4, 4, 1], seed=1)
total = loss.hinge([model([0.5, k]) for k in range(3)], [1, -1, 1])
total.backward()
pictures = [view.to_svg(total), view.to_svg(total, "TB"), view.to_svg(total, limit=60)]
pictures += [draw_dot(total).source, view.play(model([1.0, 2.0])).html, view.to_text(total)]
print([hashlib.sha256(p.encode()).hexdigest() for p in pictures])
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(minigrad.__file__).parent.parent,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("call", "error", "fragment"),
    [
        (lambda: view.to_svg(3.0), TypeError, "to_svg: got float; give it the Value to look at"),
        (lambda: view.to_svg(Value(1.0), "RL"), ValueError, "rankdir='RL'; write 'LR'"),
        (lambda: view.trace([Value(1.0)]), TypeError, "trace: got list"),
        (lambda: view.play(None), TypeError, "play: got NoneType"),
        (lambda: view.to_html(2.0, "x.html"), TypeError, "to_html: got float"),
        (lambda: view.draw_dot("o"), TypeError, "draw_dot: got str"),
    ],
)
def test_mistakes(call, error, fragment):
    with pytest.raises(error, match=re.escape(fragment)):
        call()


# ---- notebooks ----------------------------------------------------------------------------------


def test_a_value_shows_its_graph():
    root = diamond()
    bundle = root._repr_mimebundle_(include=None, exclude=None)
    assert bundle["image/svg+xml"] == view.to_svg(root)  # for a notebook as PDF, and for consoles
    assert bundle["text/plain"] == "Value(data=-20.0)"
    text, picture = bundle["text/html"].split("<img ")
    assert "Value(data=-20.0)" in text  # the repr comes first
    assert pictured(picture) == view.to_svg(root)
    assert "max-width:100%" in picture
    assert 'alt="Expression graph of L: 3 leaves and 4 operations."' in picture


def pictured(html):
    """The drawing that a piece of HTML holds."""
    return base64.b64decode(html.split("base64,")[1].split('"')[0]).decode()


def test_a_label_is_text_in_a_notebook_too():
    root = Value(1.0, label='"><script>alert(1)</script>') * 2.0
    root.label = "</div><b>&"
    html = root._repr_mimebundle_()["text/html"]
    assert html.count("<") == 5  # <div>, </div>, <style>, </style>, <img>
    assert "&lt;/div&gt;&lt;b&gt;&amp;" in html


@pytest.mark.parametrize("name", [name for name in HARD if name])
def test_a_scope_may_have_any_name(name):
    x = Value(0.5, label="x")
    with minigrad.scope(name):
        y = (x * 2.0 + 1.0).tanh()
    picture = view.to_svg(y, fold=True)
    check_harmless(picture.encode())
    (box,) = view.scene_of(y, fold=True).units
    assert box.label == readable(name)
    assert f"▸ {readable(name)}".strip()[:10] in "".join(texts(ET.fromstring(picture)))
    assert view.scene_of(y, open=[name]).units[0].inside is not None  # as it was written
    assert view.scene_of(y, open=[box.box]).units[0].inside is not None  # as it is shown
