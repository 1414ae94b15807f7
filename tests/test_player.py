"""The step player: its frames, its page, and both in a real browser."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from pathlib import Path

import pytest
from conftest import absent, find_chromium, oracle
from hostile_labels import HARD, by_chromium
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import GRAPHS, diamond, named, neuron

import minigrad
from minigrad import Value, nn, play, to_html
from minigrad.core.names import brief, readable, width_of
from minigrad.view.from_graph import scene_of
from minigrad.view.player.frames import play_of, widths_of


def frames(root):
    return play_of(root, scene_of(root))


class Page(html.parser.HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.contents, self.texts = [], [], {}, []
        self.open = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open = (tag, dict(attrs).get("type") or dict(attrs).get("data-player") or "")

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts.append((self.open, data))
            self.contents[self.open] = self.contents.get(self.open, "") + data

    @property
    def play(self):
        return json.loads(self.contents["script", "application/json"])


# ---- frames -------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_play_of_the_diamond():
    play = frames(diamond())
    assert [frame["text"] for frame in play["forward"]] == [
        "Step forward to work out the rest.",
        "a*b: 2*3 = 6",
        "+: 6+4 = 10",
        "a-c: 2-4 = -2",
        "L: 10*(-2) = -20",
    ]
    assert [frame["text"] for frame in play["right"]] == [
        "L.grad = 1",
        "(+).grad: 0 + (-2) = -2",
        "(a-c).grad: 0 + 10 = 10",
        "a.grad: 0 + 10 = 10",
        "c.grad: 0 + (-10) = -10",
        "(a*b).grad: 0 + (-2) = -2",
        "c.grad: -10 + (-2) = -12",
        "a.grad: 10 + (-6) = 4",
        "b.grad: 0 + (-4) = -4",
        "Point at a variable to see its paths.",
    ]
    assert play["broken"][7]["text"] == "a.grad = -6 ≠ 4"
    assert play["broken"][7]["note"] == "local derivative 3 × grad -2 = -6; 10 is lost"
    assert play["broken"][-1]["text"] == "a -6 ≠ 4, c -2 ≠ -12"
    assert play["right"][7]["asked"] == "a.grad: 10 + ? = ?"
    assert "-6" not in play["right"][7]["asked"] + play["right"][7]["asked_note"]


@pytest.mark.parametrize("make", GRAPHS.values())
def test_both_runs_go_along_the_same_arrows(make):
    play = frames(make())
    assert len(play["right"]) == len(play["broken"])
    for one, other in zip(play["right"][:-1], play["broken"][:-1], strict=True):
        assert (one["units"], one["target"], one["arrows"]) == (
            other["units"],
            other["target"],
            other["arrows"],
        )


@pytest.mark.parametrize("make", GRAPHS.values())
def test_the_last_frame_has_the_engines_numbers(make):
    root = make()
    play = frames(root)
    shown = {}
    for frame in play["forward"] + play["right"]:
        for change in frame["changes"]:
            shown[change["unit"], change["field"]] = change["text"]
    root.backward()
    for k, unit in enumerate(scene_of(root).units):
        if unit.op:
            assert shown[k, "data"] == f"data {brief(unit.data.low)}"
        else:
            assert play["units"][k]["data"] == f"data {brief(unit.data.low)}"
        assert shown[k, "grad"] == f"grad {brief(unit.grad.low)}"


def test_playing_leaves_the_gradients_alone():
    root = diamond()
    root.backward()
    before = {label: node.grad for label, node in named(root).items()}
    play(root)
    assert {label: node.grad for label, node in named(root).items()} == before


def test_cells_are_wide_enough_for_every_frame():
    play = frames(diamond())
    widths = widths_of(play)
    assert widths == [
        (len(f"data {data}"), len(grad))
        for data, grad in [
            (2, "grad -6 ≠ 4"), (3, "grad -4"), (6, "grad -2"), (4, "grad -2 ≠ -12"),
            (10, "grad -2"), (-2, "grad 10"), (-20, "grad 0"),
        ]
    ]  # fmt: skip


def test_paths_of_each_unit():
    paths = frames(diamond())["units"][0]["paths"]
    assert paths == {
        "name": "a",
        "gradient": "4",
        "count": "2 paths",
        "terms": [["10", "1 · 10", "a → a-c → L"], ["-6", "3 · 1 · -2", "a → a*b → + → L"]],
    }


def test_more_paths_than_are_listed():
    x = Value(1.0, label="x")
    y = x
    for _ in range(10):
        y = y + y
    terms = frames(y)["units"][0]["paths"]["terms"]
    assert terms[-1] == ["1018", "1,018 more paths", ""]


# ---- the page -----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_policy_allows_what_is_in_the_page_and_nothing_else():
    text = play(diamond()).html
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    for tag, source in (("style", "style-src"), ('script type="module"', "script-src")):
        inside = text.split(f"<{tag}>")[1].split(f"</{tag.split()[0]}>")[0]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert allowed[source] == f"'sha256-{digest}'"
    assert set(allowed) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}


def check_harmless(text):
    page = Page(text)
    assert page.tags.count("script") <= 2
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "href", "action", "style", "background")
        assert "javascript:" not in (value or "") or name in ("aria-label",)
    assert not {"a", "img", "iframe", "link", "object", "form", "base"} & set(page.tags)
    return page


def check_labels(labels):
    """Fifty labels on one page are a thousand in twenty pages."""
    root = minigrad.sum([Value(2.0, label=label) for label in labels])
    page = check_harmless(play(root).html)
    units = page.play["units"][:-1]
    assert [unit["label"] for unit in units] == labels  # as they were given
    assert [unit["name"] for unit in units] == [readable(label) or "2" for label in labels]
    cells = [text for (tag, _), text in page.texts if tag == "text"]
    for label in labels:
        assert not label or width_of(readable(label)) > 60 or readable(label) in cells


def test_hard_labels_are_text():
    check_labels(HARD)


@settings(max_examples=20)
@given(st.lists(st.text(max_size=40), min_size=50, max_size=50))
def test_a_thousand_labels_are_text(labels):
    check_labels(labels)


def test_operations_and_results_are_text():
    for text in HARD:
        root = Value(1.0, (Value(2.0),), text)
        root.label = text
        check_harmless(play(root).html)


def test_large_graphs_get_a_still_picture():
    x = Value(0.5, label="x")
    y = x
    for _ in range(400):
        y = (y + 1.0).tanh()
    text = play(y).html
    page = check_harmless(text)
    assert "script" not in page.tags
    assert "1,201 nodes and 1,200 arrows; here are the 500 nodes nearest to the result." in text
    assert "tabindex" not in text  # nothing to press where nothing happens
    assert "<title>x, data 0.5, grad 0</title>" not in text  # far away, and cut
    assert text.count("<title>") == 502  # the page's, the picture's, and one for each unit


def test_the_file_is_written_whole(tmp_path):
    target = tmp_path / "page.html"
    to_html(diamond(), target)
    assert target.read_text(encoding="utf-8") == play(diamond()).html
    to_html(neuron(), target)
    assert target.read_text(encoding="utf-8") == play(neuron()).html
    with pytest.raises(FileNotFoundError):
        to_html(diamond(), tmp_path / "missing" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_in_a_notebook_the_page_is_in_a_frame_of_its_own():
    player = play(diamond())
    frame = Page(player._repr_html_())
    assert frame.tags == ["iframe"]
    attributes = dict(frame.attributes)
    assert attributes["srcdoc"] == player.html
    assert attributes["sandbox"] == "allow-scripts"
    assert "save" in repr(player)


# ---- in a real browser --------------------------------------------------------------------------


class Window:
    """A page in the browser, and everything that it complained of or asked for."""

    def __init__(self, page):
        self.page, self.complaints, self.requests = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path):
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("main[data-ready=yes]")
        return self

    def text(self, name):
        return self.page.text_content(f'[data-player="{name}"]')

    def click(self, name):
        self.page.click(f'[data-player="{name}"]')

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def unit(self, k, field):
        return self.page.text_content(f'[data-unit="{k}"] .mg-{field}')

    def with_class(self, name):
        found = self.page.query_selector_all(f"[data-unit].{name}, [data-arrow].{name}")
        return {e.get_attribute("data-unit") or "→" + e.get_attribute("data-arrow") for e in found}

    def scrub(self, frame):
        self.page.eval_on_selector(
            '[data-player="slider"]',
            "(s, k) => { s.value = k; s.dispatchEvent(new Event('input')) }",
            frame,
        )


@pytest.fixture
def window(chromium, tmp_path):
    """Open a graph's exported page; at the end there must be no complaint and no request."""
    context = chromium.new_context(viewport={"width": 1200, "height": 700})
    window = Window(context.new_page())

    def show(root):
        to_html(root, tmp_path / "play.html")
        return window.open(tmp_path / "play.html")

    yield show
    assert window.complaints == []
    assert all(url.startswith("file://") and url.endswith("play.html") for url in window.requests)
    assert len(window.requests) >= 1
    context.close()


# Units of the diamond: 0 a, 1 b, 2 a*b, 3 c, 4 +, 5 a-c, 6 L. Frames: 0 start, 1-4 forward,
# 5 seed, 6-13 backward, 14 the end.


@pytest.mark.browser
def test_stepping_through_the_diamond(window):
    page = window(diamond())
    assert page.text("count") == "0 / 14"
    assert page.unit(2, "data") == "data"
    page.click("forward")
    assert page.text("text") == "a*b: 2*3 = 6"
    assert page.unit(2, "data") == "data 6"
    assert page.with_class("is-active") == {"2", "→0", "→1"}
    for _ in range(11):
        page.click("forward")
    assert page.text("text") == "a.grad: 10 + (-6) = 4"
    assert page.text("note") == "local derivative 3 × grad -2 = -6"
    assert page.unit(0, "grad") == "grad 4"
    assert page.with_class("is-active") == {"2", "→0"}
    assert page.with_class("is-target") == {"0"}
    page.click("back")
    assert page.unit(0, "grad") == "grad 10"
    page.click("last")
    assert page.text("count") == "14 / 14"
    assert [page.unit(k, "grad") for k in (0, 1, 3)] == ["grad 4", "grad -4", "grad -12"]
    page.click("first")
    assert [page.unit(k, "grad") for k in (0, 1, 3)] == ["grad 0"] * 3
    assert page.unit(6, "data") == "data"


@pytest.mark.browser
def test_stepping_through_the_neuron(window):
    o = neuron()
    page = window(o)
    page.press("End")
    o.backward()
    for k, unit in enumerate(scene_of(o).units):
        assert page.unit(k, "data") == f"data {brief(unit.data.low)}"
        assert page.unit(k, "grad") == f"grad {brief(unit.grad.low)}"
    labels = [unit.label for unit in scene_of(o).units]
    page.page.hover(f'[data-unit="{labels.index("w1")}"]')
    assert page.text("paths-head") == "w1: gradient 1, the sum of 1 path"
    assert page.text("paths-terms") == "12 · 1 · 1 · 0.5w1 → x1*w1 → x1*w1 + x2*w2 → n → o"


@pytest.mark.browser
def test_scrubbing_shows_the_same_as_stepping(window):
    page = window(diamond())
    stepped = []
    for _ in range(15):
        stepped.append([(page.unit(k, "data"), page.unit(k, "grad")) for k in range(7)])
        page.press("ArrowRight")
    for frame in (14, 3, 12, 0, 7, 13, 6, 1):
        page.scrub(frame)
        shown = [(page.unit(k, "data"), page.unit(k, "grad")) for k in range(7)]
        assert shown == stepped[frame]
        assert page.text("count") == f"{frame} / 14"


@pytest.mark.browser
def test_the_keyboard(window):
    page = window(diamond())
    page.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert page.text("count") == "1 / 14"
    page.press("End")
    assert page.text("count") == "14 / 14"
    page.press("Home")
    assert page.text("count") == "0 / 14"
    page.press("b")
    assert page.page.is_checked('[data-player="broken"]')
    page.press("b", "p")
    assert page.page.is_checked('[data-player="predict"]')
    page.page.focus('[data-player="slider"]')
    page.press("ArrowRight", "ArrowRight")  # the slider's own keys: one step each, not two
    assert page.text("count") == "2 / 14"
    page.page.focus('[data-player="forward"]')
    page.press("Enter", " ")
    assert page.text("count") == "4 / 14"


@pytest.mark.browser
def test_playing_and_pausing(window):
    page = window(diamond())
    page.page.clock.install()
    page.click("play")
    assert page.page.get_attribute('[data-player="play"]', "aria-label") == "Pause"
    assert page.page.get_attribute('[data-player="caption"]', "aria-live") == "off"
    page.page.clock.run_for(3000)
    assert page.text("count") == "3 / 14"
    page.press(" ")  # the button has the focus: it is clicked
    page.page.clock.run_for(3000)
    assert page.text("count") == "3 / 14"
    assert page.page.get_attribute('[data-player="caption"]', "aria-live") == "polite"
    page.click("play")
    page.page.clock.run_for(60_000)
    assert page.text("count") == "14 / 14"
    assert page.page.get_attribute('[data-player="play"]', "aria-label") == "Play"
    page.click("play")  # from the start again
    assert page.text("count") == "0 / 14"
    page.page.select_option('[data-player="speed"]', "10")
    page.page.clock.run_for(900)
    assert page.text("count") == "10 / 14"


@pytest.mark.browser
def test_hovering_and_focusing_a_variable(window):
    page = window(diamond())
    page.press("End")
    page.page.hover('[data-unit="0"]')
    assert page.text("paths-head") == "a: gradient 4, the sum of 2 paths"
    rows = page.page.query_selector_all('[data-player="paths-terms"] tr')
    assert [row.inner_text().split("\t") for row in rows] == [
        ["10", "1 · 10", "a → a-c → L"],
        ["-6", "3 · 1 · -2", "a → a*b → + → L"],
    ]
    # a, a*b, +, a-c and L, and the arrows between them; not b, not c.
    on_path = {"0", "2", "4", "5", "6", "→0", "→2", "→4", "→6", "→7"}
    assert page.with_class("on-path") == on_path
    page.page.mouse.move(5, 690)
    assert page.with_class("on-path") == set()
    assert not page.page.is_visible('[data-player="paths"]')
    page.page.focus('[data-unit="3"]')
    assert page.text("paths-head") == "c: gradient -12, the sum of 2 paths"
    assert page.page.get_attribute('[data-unit="3"]', "aria-label") == "c, data 4, grad -12"


@pytest.mark.browser
def test_the_switch_replays_the_pass_broken(window):
    page = window(diamond())
    page.scrub(12)
    page.click("broken")
    assert page.text("text") == "a.grad = -6 ≠ 4"
    assert page.unit(0, "grad") == "grad -6 ≠ 4"
    assert page.with_class("is-wrong") == {"0", "3"}
    page.scrub(11)
    assert page.unit(0, "grad") == "grad 10"
    assert page.with_class("is-wrong") == {"3"}
    page.press("End")
    assert page.text("text") == "a -6 ≠ 4, c -2 ≠ -12"
    assert [page.unit(k, "grad") for k in (0, 1, 3)] == [
        "grad -6 ≠ 4",
        "grad -4",
        "grad -2 ≠ -12",
    ]
    page.click("broken")
    assert page.with_class("is-wrong") == set()
    assert page.unit(0, "grad") == "grad 4"


@pytest.mark.browser
def test_predicting(window):
    page = window(diamond())
    page.scrub(11)
    page.click("predict")
    assert page.text("text") == "c.grad: -10 + (-2) = -12"  # what is there is not asked for
    page.press("ArrowRight")
    assert page.text("text") == "a.grad: 10 + ? = ?"
    assert page.text("note") == "local derivative 3 × grad -2 = ?"
    assert page.unit(0, "grad") == "grad ?"
    page.page.hover('[data-unit="0"]')
    assert page.text("paths-head") == "a: gradient ?, the sum of 2 paths"
    page.click("reveal")
    assert page.text("text") == "a.grad: 10 + (-6) = 4"
    assert page.unit(0, "grad") == "grad 4"
    assert not page.page.is_visible('[data-player="reveal"]')
    focused = page.page.evaluate("document.activeElement.dataset.player")
    assert focused == "forward"  # not lost with the button that went away
    page.page.evaluate("document.activeElement.blur()")
    page.press("ArrowRight")
    assert page.unit(1, "grad") == "grad ?"
    assert page.unit(0, "grad") == "grad 4"
    page.press("Enter")
    assert page.unit(1, "grad") == "grad -4"
    assert not page.page.is_visible('[data-player="value"]')  # the heading does not tell either
    page.press("Home", "ArrowRight")
    assert page.text("text") == "a*b: 2*3 = ?"
    assert page.unit(2, "data") == "data ?"
    page.page.focus('[data-unit="0"]')
    page.press("p")
    assert page.unit(2, "data") == "data 6"
    assert page.text("paths-head") == "a: gradient 4, the sum of 2 paths"
    page.press("p")  # while the panel is open
    assert page.text("paths-head") == "a: gradient ?, the sum of 2 paths"
    assert page.page.text_content("h1 > span") == " = -20"


@pytest.mark.browser
def test_every_control_has_a_name_and_can_be_reached(window):
    page = window(diamond())
    names = []
    for _ in range(10 + 7):
        page.press("Tab")
        names.append(
            page.page.evaluate(
                "(document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.closest('label').textContent)"
                ".trim().replace(/\\s+/g, ' ')"
            )
        )
    assert names[:6] == ["First step", "Step back", "Play", "Step forward", "Last step", "Step"]
    assert names[6:9] == ["break it: = for +=", "predict", "fit"]
    assert names[9].startswith("speed")
    assert names[10] == "a, data 2, grad 0"
    assert all(names)


@pytest.mark.browser
def test_what_happens_is_in_sight(window):
    page = window(nn.MLP(2, [4, 4, 1], seed=1)([1.0, -2.0]))
    last = int(page.text("count").split("/")[1])
    inside = """([stage, units]) => {
        const frame = stage.getBoundingClientRect();
        return units.every((unit) => {
            const box = unit.getBoundingClientRect();
            return box.left >= frame.left && box.right <= frame.right;
        });
    }"""
    stage = page.page.query_selector('[data-player="stage"]')
    for frame in range(1, last, 7):
        page.scrub(frame)
        units = page.page.query_selector_all("[data-unit].is-active, [data-unit].is-target")
        assert page.page.evaluate(inside, [stage, units])
    page.press("Home")
    page.page.check('[data-player="fit"]')
    assert page.page.evaluate("(s) => s.scrollWidth <= s.clientWidth", stage)


@pytest.mark.browser
def test_hard_labels_in_the_browser(window):
    total = Value(0.0, label="start")
    for label in HARD:
        total = total + Value(1.0, label=label)
    page = window(total)
    page.press("End")
    shown = page.page.eval_on_selector_all(
        ".mg-leaf ~ .mg-text:first-of-type", "all => all.map(e => e.textContent)"
    )
    wanted = [readable(label) for label in HARD if label]
    assert [text for text in wanted if len(text) <= 60 and text not in shown] == []
    assert page.page.evaluate("document.scripts.length") == 2


@pytest.mark.browser
def test_made_up_labels_in_the_browser(tmp_path):
    if find_chromium() is None:
        absent("no Chromium on the PATH; install it, or set MINIGRAD_BROWSER to its path")
    counts = by_chromium(100, seed=1, folder=tmp_path)
    assert counts.failures == []
    assert (counts.labels, counts.pictures) == (100, 2)


@pytest.mark.browser
def test_reduced_motion_and_dark_scheme(chromium, tmp_path):
    to_html(diamond(), tmp_path / "play.html")
    styles = {}
    for motion, scheme in (("reduce", "dark"), ("no-preference", "light")):
        context = chromium.new_context(reduced_motion=motion, color_scheme=scheme)
        page = Window(context.new_page()).open(tmp_path / "play.html").page
        styles[scheme] = (
            page.eval_on_selector(".mg-unit", "e => getComputedStyle(e).transitionDuration"),
            page.eval_on_selector(".mg-paper", "e => getComputedStyle(e).fill"),
        )
        context.close()
    assert styles == {"dark": ("0s", "rgb(20, 24, 29)"), "light": ("0.12s", "rgb(255, 255, 255)")}


@pytest.mark.browser
def test_a_notebook_exported_and_opened_without_a_network(chromium, tmp_path):
    """nbconvert runs a notebook that shows a Value, draw_dot and the player, and writes a page."""
    nbconvert, nbformat = oracle("nbconvert"), oracle("nbformat")
    execute = oracle("nbconvert.preprocessors").ExecutePreprocessor
    source = (
        Path(__file__).with_name("pictures.py").read_text(encoding="utf-8").split("GRAPHS =")[0]
    )
    cells = [
        source.replace("Path(__file__)", "Path('.')") + "\nroot = diamond()\nroot.backward()",
        "root",
        "draw_dot(root)",
        "from minigrad import play\nplay(root)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    execute(timeout=120).preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    bundle = notebook.cells[1].outputs[0].data
    assert bundle["text/plain"] == "Value(data=-20.0)"
    assert bundle["image/svg+xml"].startswith("<svg")
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    (tmp_path / "notebook.html").write_text(page, encoding="utf-8")
    context = chromium.new_context(offline=True)
    window = context.new_page()
    complaints = []
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.goto((tmp_path / "notebook.html").as_uri())
    frame = window.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("main[data-ready=yes]")
    frame.click('[data-player="last"]')
    assert frame.text_content('[data-unit="0"] .mg-grad') == "grad 4"
    assert window.locator("svg.mg").count() + window.locator("img[src^='data:image/svg']").count()
    assert complaints == []
    context.close()
