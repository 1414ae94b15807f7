"""`minigrad.save`: by the ending of the path, over nothing that is there."""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from conftest import oracle
from pictures import diamond, neuron

import minigrad
from minigrad import MinigradError, Value, draw_dot, errors, gradcheck, play, record, save, view
from minigrad.view import saving
from minigrad.view.svg import OPERATION, PAPER


def test_each_ending_is_written_as_its_own_function_draws_it(tmp_path):
    root = diamond()
    expected = {
        "svg": view.to_svg(root),
        "html": play(root).html,
        "htm": play(root).html,
        "dot": draw_dot(root).source,
        "gv": draw_dot(root).source,
        "json": view.to_json(root) + "\n",
        "txt": view.to_text(root) + "\n",
    }
    for ending, text in expected.items():
        path = tmp_path / f"picture.{ending.upper()}"
        save(root, path)
        assert path.read_text(encoding="utf-8") == text
    assert set(expected) | {"png"} == {*saving.KINDS, *saving._ALSO}


def test_nothing_is_overwritten_without_force(tmp_path):
    path = tmp_path / "picture.svg"
    path.write_text("mine")
    with pytest.raises(errors.OverwriteError, match=r"picture.svg exists already; pass force=True"):
        save(diamond(), path)
    assert path.read_text() == "mine"
    assert issubclass(errors.OverwriteError, FileExistsError)
    assert issubclass(errors.OverwriteError, MinigradError)
    save(diamond(), path, force=True)
    assert path.read_text(encoding="utf-8") == view.to_svg(diamond())
    (tmp_path / "link.svg").symlink_to(path)
    with pytest.raises(errors.OverwriteError):
        save(neuron(), tmp_path / "link.svg")


def test_what_has_nothing_to_lose_may_be_written_to(tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(IsADirectoryError):
        save(diamond(), tmp_path / "folder.svg")
    (tmp_path / "null.svg").symlink_to("/dev/null")
    save(diamond(), tmp_path / "null.svg")
    (tmp_path / "dangling.svg").symlink_to(tmp_path / "made.svg")
    save(diamond(), tmp_path / "dangling.svg")
    assert (tmp_path / "made.svg").exists()


@pytest.mark.parametrize(
    ("thing", "path", "options", "error", "fragment"),
    [
        (diamond(), "a.gif", {}, ValueError, "a.gif: the ending '.gif' is not known; write one of"),
        (diamond(), "a", {}, ValueError, ".svg, .png, .html, .dot, .json, .txt"),
        (diamond(), "a", {}, ValueError, "it has no ending"),
        ("a.svg", diamond(), {}, TypeError, 'got Value as the path; write save(o, "picture.svg")'),
        (2.0, "a.svg", {}, TypeError, "save: got float; give it a Value"),
        ([], "a.html", {}, TypeError, "save: got list"),
        ([diamond(), 2.0], "a.html", {}, TypeError, "save: got list"),
        ([diamond()], "a.svg", {}, ValueError, "a list cannot be written as .svg; write .html."),
        (play(diamond()), "a.svg", {}, ValueError, "a Player cannot be written as .svg"),
        (draw_dot(diamond()), "a.html", {}, ValueError, "a Picture cannot be written as .html"),
        (diamond(), "a.svg", {"rankdir": "RL"}, ValueError, "rankdir='RL'"),
        (diamond(), "a.svg", {"start": 1}, TypeError, ".svg has no option 'start'; its options"),
        (diamond(), "a.html", {"scale": 1}, TypeError, "there is no option 'scale'"),
        (diamond(), "no/a.svg", {}, FileNotFoundError, "there is no such folder"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence(
    tmp_path, monkeypatch, thing, path, options, error, fragment
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        save(thing, path, **options)
    assert fragment in str(caught.value)
    assert not any(tmp_path.iterdir())


def test_options_are_those_of_the_kind(tmp_path):
    root = diamond()
    save(root, tmp_path / "a.svg", rankdir="TB")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == view.to_svg(root, "TB")
    save(root, tmp_path / "a.html", lang="es", start="end")
    page = play(root, lang="es", start="end").html
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page
    save([root, neuron()], tmp_path / "two.html")
    assert (tmp_path / "two.html").read_text(encoding="utf-8").count("</minigrad-player>") == 2


def test_what_draw_dot_and_play_returned(tmp_path):
    root = diamond()
    picture = draw_dot(root, rankdir="TB")
    before = view.to_svg(root, "TB")
    root.backward()
    save(picture, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == before  # of its moment
    save(picture, tmp_path / "a.dot")
    assert (tmp_path / "a.dot").read_text(encoding="utf-8") == picture.source
    save(picture, tmp_path / "a.json")
    assert len(json.loads((tmp_path / "a.json").read_text())["units"]) == 7
    save(play(root), tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == play(root).html
    picture.node("mine")
    save(picture, tmp_path / "b.dot")
    assert "mine" in (tmp_path / "b.dot").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"cannot be written as .json; write .dot, .svg, .png"):
        save(picture, tmp_path / "b.json")


def test_reports_tapes_and_explanations(tmp_path):
    report = gradcheck(lambda a, b: a * b, [2.0, 3.0])
    save(report, tmp_path / "check.json")
    assert json.loads((tmp_path / "check.json").read_text()) == report.as_dict()
    save(report, tmp_path / "check.txt")
    assert (tmp_path / "check.txt").read_text(encoding="utf-8") == report.text() + "\n"
    root = diamond()
    with record() as tape:
        root.backward()
    save(tape, tmp_path / "tape.txt")
    assert (tmp_path / "tape.txt").read_text(encoding="utf-8") == tape.text() + "\n"


def test_the_curves_of_a_training(tmp_path):
    pyplot = oracle("matplotlib.pyplot")
    model = minigrad.nn.MLP(2, [3, 1], seed=1)
    points, labels = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [-1, 1, 1, -1]
    history = minigrad.fit(model, points, labels, steps=3, progress=False)
    open_before = pyplot.get_fignums()
    save(history, tmp_path / "training.png")
    assert (tmp_path / "training.png").read_bytes().startswith(b"\x89PNG")
    save(history, tmp_path / "training.txt")
    assert (tmp_path / "training.txt").read_text(encoding="utf-8") == f"{history}\n"
    assert pyplot.get_fignums() == open_before
    axes = minigrad.plot.loss_curve(history.losses)
    save(axes, tmp_path / "loss.svg")
    ET.parse(tmp_path / "loss.svg")
    with pytest.raises(errors.OverwriteError):
        save(axes, tmp_path / "loss.svg")
    pyplot.close("all")


# ---- PNG ----------------------------------------------------------------------------------------


def size_of(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def svg_size(root):
    element = ET.fromstring(view.to_svg(root))
    return float(element.get("width")), float(element.get("height"))


def test_a_png_has_the_size_of_the_drawing(tmp_path):
    oracle("cairosvg")
    root = diamond()
    width, height = svg_size(root)
    save(root, tmp_path / "a.png")
    save(root, tmp_path / "b.png", scale=1)
    save(draw_dot(root), tmp_path / "c.png")
    for name, scale in (("a.png", 2), ("b.png", 1), ("c.png", 2)):
        assert size_of((tmp_path / name).read_bytes()) == pytest.approx(
            (scale * width, scale * height), abs=1
        )
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "c.png").read_bytes()
    for scale in (0, -1, True, "2", float("nan")):
        with pytest.raises(ValueError, match="give a number above 0"):
            view.to_png(root, scale=scale)


def test_a_png_is_light_and_has_what_the_drawing_has():
    """Paper and operations have their colours; the dark ones are for screens alone."""
    oracle("cairosvg")
    pixels = oracle("PIL.Image").open(io.BytesIO(view.to_png(diamond()))).convert("RGB")
    counts = Counter(
        pixels.get_flattened_data() if hasattr(pixels, "get_flattened_data") else pixels.getdata()
    )
    colours = ["#{:02x}{:02x}{:02x}".format(*colour) for colour, _ in counts.most_common(8)]
    assert colours[0] == PAPER
    assert OPERATION in colours
    assert "#14181d" not in colours


def test_letters_of_a_png_have_one_width():
    """Text is laid out for a font of fixed width: an i must be as wide as a W."""
    oracle("cairosvg")
    image = oracle("PIL.Image")

    def inked(text):
        svg = view.to_svg(Value(1.0, label=text))
        pixels = image.open(io.BytesIO(saving.png_of(svg, 4))).convert("L")
        # The label's cell: from the left of the drawing to the line before "data".
        width = (len(text) * 7.3 + 16) * 4
        dark = pixels.crop((12, 20, int(width) - 8, pixels.size[1] - 20)).point(
            lambda x: 255 * (x < 128)
        )
        left, _, right, _ = dark.getbbox()
        return right - left

    assert inked("i" * 20) == pytest.approx(inked("W" * 20), rel=0.04)


def test_a_picture_too_large_for_png_is_refused(monkeypatch):
    oracle("cairosvg")
    monkeypatch.setattr(saving, "_SIDE", 100)
    with pytest.raises(ValueError, match="too large for PNG; write .svg"):
        view.to_png(diamond())


def test_without_cairosvg_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    with pytest.raises(ImportError, match=r"python -m pip install 'minigrad-engine\[png\]'"):
        save(diamond(), tmp_path / "a.png")
    assert not any(tmp_path.iterdir())


def test_without_cairo_itself_a_sentence_says_so(tmp_path, monkeypatch):
    (tmp_path / "cairosvg.py").write_text("raise OSError('no library called cairo-2 was found')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cairosvg", raising=False)
    with pytest.raises(ImportError, match="does not find the library Cairo"):
        view.to_png(diamond())


@pytest.mark.smoke
def test_import_minigrad_loads_nothing_of_it():
    loaded = "{'cairosvg', 'matplotlib', 'numpy'} & {*sys.modules}"
    program = f"import sys, minigrad; minigrad.save; print({loaded})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
