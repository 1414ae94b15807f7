"""The player in a real browser: every control, a phone, several players on a page."""

from __future__ import annotations

import json
import re
from itertools import permutations
from pathlib import Path

import fences
import pytest
from conftest import oracle
from hostile_labels import HARD, by_chromium
from pictures import diamond, neuron, twice

from minigrad import Value, nn, play, to_html, trace, view
from minigrad.core.names import brief, readable
from minigrad.view.from_graph import scene_of

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


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

    def focused(self):
        return self.page.evaluate(
            "document.activeElement.shadowRoot?.activeElement?.dataset.player ?? null"
        )

    def hit(self, selector):
        """The middle of something, as mouse and fingers need it."""
        box = self.page.locator(selector).bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def width(self):
        return self.page.locator("svg.mg").bounding_box()["width"]

    def scrub(self, frame):
        self.page.eval_on_selector(
            '[data-player="slider"]',
            "(s, k) => { s.value = k; s.dispatchEvent(new Event('input')) }",
            frame,
        )


def test_the_pages_that_the_lecture_writes_play_from_files(chromium, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = Path(__file__).parent.parent / "docs" / "howto" / "lecture.md"
    fences.run(each for each in fences.fences(document) if each.language in ("pycon", "python"))
    written = sorted(tmp_path.glob("*.html"))
    assert tmp_path / "lesson.html" in written
    for path in written:
        shown = Window(chromium.new_page())
        shown.page.goto(path.as_uri())
        inside = shown.page.frame(url=re.compile("slide.html")) or shown.page
        inside.wait_for_selector('[data-player="forward"]')
        assert shown.complaints == [], path.name
        assert all(url.startswith(tmp_path.as_uri()) for url in shown.requests)
        shown.page.close()


@pytest.fixture
def window(chromium, tmp_path):
    """Open a graph's exported page; at the end there must be no complaint and no request."""
    opened = []

    def show(root, context=None, **options):
        size = {"viewport": {"width": 1200, "height": 700}}
        contexts = chromium.new_context(**(context or size))
        opened.append(Window(contexts.new_page()))
        if isinstance(root, str):
            (tmp_path / "play.html").write_text(root, encoding="utf-8")
        else:
            to_html(root, tmp_path / "play.html", force=True, **options)
        return opened[-1].open(tmp_path / "play.html")

    yield show
    for window in opened:
        assert window.complaints == []
        for url in window.requests:
            assert re.fullmatch(r"file://.*/play\.html(#.*)?", url)
        assert len(window.requests) >= 1
        window.page.context.close()


# Units of the diamond: 0 a, 1 b, 2 a*b, 3 c, 4 +, 5 a-c, 6 L. Frames: 0 start, 1-4 forward,
# 5 seed, 6-13 backward, 14 the end.


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
    assert page.text("title") == "Backward: a*b passes its gradient on to a"
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
    assert page.text("paths-head") == "w1: gradient 1, along 1 path"
    assert page.text("paths-terms") == "112 · 1 · 1 · 0.5w1 → x1*w1 → x1*w1 + x2*w2 → n → o"


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


def test_the_keyboard(window):
    page = window(diamond())
    page.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert page.text("count") == "1 / 14"
    page.press("End")
    assert page.text("count") == "14 / 14"
    page.press("Home")
    assert page.text("count") == "0 / 14"
    page.press("b")
    assert page.page.input_value('[data-player="fault"]') == "overwrite"
    page.press("b", "p")
    assert page.page.input_value('[data-player="fault"]') == ""
    assert page.page.is_checked('[data-player="predict"]')
    page.press("p")
    page.page.focus('[data-player="slider"]')
    page.press("ArrowRight", "ArrowRight")  # the slider's own keys: one step each, not two
    assert page.text("count") == "2 / 14"
    page.page.focus('[data-player="forward"]')
    page.press("Enter", " ")
    assert page.text("count") == "4 / 14"


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


def test_hovering_and_focusing_a_variable(window):
    page = window(diamond())
    page.press("End")
    page.page.hover('[data-unit="0"]')
    assert page.text("paths-head") == "a: gradient 4, the sum of 2 paths"
    rows = page.page.query_selector_all('[data-player="paths-terms"] tr')
    assert [row.inner_text().split("\t") for row in rows] == [
        ["1", "10", "1 · 10", "a → a-c → L"],
        ["2", "-6", "3 · 1 · -2", "a → a*b → + → L"],
    ]
    # a, a*b, +, a-c and L, and the arrows between them; not b, not c.
    on_path = {"0", "2", "4", "5", "6", "→0", "→2", "→4", "→6", "→7"}
    assert page.with_class("on-path") == on_path
    page.page.mouse.move(600, 690)
    assert page.with_class("on-path") == set()
    assert not page.page.is_visible('[data-player="paths"]')
    page.page.focus('[data-unit="3"]')
    assert page.text("paths-head") == "c: gradient -12, the sum of 2 paths"
    assert page.page.get_attribute('[data-unit="3"]', "aria-label") == "c, data 4, grad -12"


def test_a_fault_is_switched_on(window):
    page = window(diamond())
    page.scrub(12)
    page.page.select_option('[data-player="fault"]', "overwrite")
    assert page.text("text") == "a.grad = -6 ≠ 4"
    assert page.text("note") == "local derivative 3 × grad -2 = -6; 10 is lost"
    assert (page.unit(0, "grad"), page.unit(0, "right")) == ("grad -6", "≠ 4")
    assert page.page.get_attribute('[data-unit="0"]', "aria-label") == "a, data 2, grad -6 ≠ 4"
    assert page.with_class("is-wrong") == {"0", "3"}
    page.scrub(11)
    assert page.unit(0, "grad") == "grad 10"
    assert page.with_class("is-wrong") == {"3"}
    page.press("End")
    assert page.text("title") == "These gradients are wrong:"
    assert page.text("text") == "a -6 ≠ 4, c -2 ≠ -12"
    assert [page.unit(k, "grad") for k in (0, 1, 3)] == ["grad -6", "grad -4", "grad -2"]
    page.page.select_option('[data-player="fault"]', "")
    assert page.with_class("is-wrong") == set()
    assert page.unit(0, "grad") == "grad 4"


# What each fault leaves in a, b and c of the diamond, and where it is not twice what is right.
ENDS = {
    "overwrite": "a -6 ≠ 4, c -2 ≠ -12",
    "overwrite_add": "c -2 ≠ -12",
    "overwrite_mul": "a -6 ≠ 4",
    "missing_seed": "a 0 ≠ 4, b 0 ≠ -4, (a*b) 0 ≠ -2, c 0 ≠ -12, (+) 0 ≠ -2, (a-c) 0 ≠ 10, L 0 ≠ 1",
    "zeroing": "a 4 ≠ 8, b -4 ≠ -8, (a*b) -2 ≠ -4, c -12 ≠ -24, (+) -2 ≠ -4, (a-c) 10 ≠ 20, "
    "L 1 ≠ 2",
    "wrong_sub": "c 8 ≠ -12",
}


def test_every_fault_can_be_switched_on(window):
    page = window(diamond())
    page.press("End")
    choices = page.page.eval_on_selector_all(
        '[data-player="fault"] option', "all => all.map(each => each.value)"
    )
    assert len(choices) == 22  # nothing, and twenty-one faults
    for fault in choices[1:]:
        page.page.select_option('[data-player="fault"]', fault)
        page.press("End")
        survived = page.text("title") == "Every gradient is right: this graph survives the fault."
        harmless = page.page.locator(f'optgroup option[value="{fault}"]').count() == 1
        assert survived == harmless
        assert survived or page.text("title") == "These gradients are wrong:"
        if fault in ENDS:
            assert page.text("text") == ENDS[fault]


def test_a_second_pass_begins_with_what_the_first_has_left(window):
    page = window(diamond(), start="end", fault="stale_interior")
    page.scrub(5)
    assert page.text("title").startswith("backward() has run once")
    assert [page.unit(k, "grad") for k in (0, 4, 6)] == ["grad 4", "grad -2", "grad 1"]
    page.press("ArrowRight")  # the seed: leaves begin anew, results inside do not
    assert [page.unit(k, "grad") for k in (0, 4, 6)] == ["grad 0", "grad -2", "grad 1"]
    page.press("ArrowRight")
    assert page.text("text") == "(+).grad: -2 + (-2) = -4 ≠ -2"
    page.press("End", "ArrowLeft")
    assert page.text("text") == "What the first one had left is added."
    assert page.unit(0, "grad") == "grad 6"  # 2 of this pass, 4 of the first


def test_an_operand_that_counts_once(window):
    page = window(twice(), fault="set_prev", start="end")
    assert page.text("text") == "a 1 ≠ 2"
    page.press("ArrowLeft")
    assert page.text("text") == "a.grad: 0 + 1 = 1"


def test_arrows_of_the_backward_pass_point_backward(window):
    page = window(diamond(), start=5)
    box = page.page.locator('[data-unit="6"]').bounding_box()
    assert page.with_class("is-back") == set()
    page.press("ArrowRight")  # L passes its gradient on to +, along arrow 6
    assert page.with_class("is-back") == {"→6"}
    head = page.page.locator('[data-arrow="6"] .mg-back').bounding_box()
    operand = page.page.locator('[data-unit="4"]').bounding_box()
    assert head["x"] == pytest.approx(operand["x"] + operand["width"], abs=4)
    assert head["x"] + head["width"] < box["x"] - 10
    tip, *sides = page.page.eval_on_selector(
        '[data-arrow="6"] .mg-back', "head => [...head.points].map(({ x }) => x)"
    )
    assert tip < min(sides)  # to the left: from the result to what it was made of
    assert not page.page.is_visible('[data-arrow="6"] .mg-head')
    page.press("End")
    assert page.with_class("is-back") == {f"→{k}" for k in range(8)}
    page.press("Home")
    assert page.with_class("is-back") == set()
    assert page.page.is_visible('[data-arrow="6"] .mg-head')


def test_each_path_has_a_colour_of_its_own(window):
    page = window(diamond(), start="end")
    page.page.hover('[data-unit="0"]')
    strokes = page.page.eval_on_selector_all(
        ".mg-ways path",
        "all => all.map(e => [+e.dataset.along, e.dataset.way, getComputedStyle(e).stroke])",
    )
    badges = page.page.eval_on_selector_all(
        ".badge", "all => all.map(e => getComputedStyle(e).backgroundColor)"
    )
    assert len(set(badges)) == 2
    # The first of the list is 10, a → a-c → L, arrows 4 and 7; the second -6, arrows 0, 2 and 6.
    assert {arrow: colour for arrow, _, colour in strokes} == {
        4: badges[0], 7: badges[0], 0: badges[1], 2: badges[1], 6: badges[1],
    }  # fmt: skip
    page.page.hover('[data-unit="5"]')
    assert page.page.locator(".mg-ways path").count() == 1


def test_paths_that_share_an_arrow_take_turns(window):
    page = window(Value(3.0, label="a") * 2 * 2, start="end")
    square = Value(3.0, label="a")
    page = window((square + square) * 2, start="end")  # both paths go on along the last arrow
    page.page.hover('[data-unit="0"]')
    ways = page.page.eval_on_selector_all(
        ".mg-ways path",
        "all => all.map(e => [+e.dataset.along, e.getAttribute('stroke-dasharray'),"
        " e.getAttribute('stroke-dashoffset')])",
    )
    shared = [(dashes, offset) for along, dashes, offset in ways if dashes]
    assert shared == [("9 9", "0"), ("9 9", "-9")]
    assert len(ways) == 4
    page.page.focus('[data-unit="0"]')
    page.press("2")  # one of them alone
    assert page.page.locator('.mg-ways path.is-faint[data-way="0"]').count() == 2
    assert page.page.locator('.mg-ways path.is-faint[data-way="1"]').count() == 0
    assert page.page.locator("tr.is-faint").count() == 1


def test_predicting(window):
    page = window(diamond())
    page.scrub(11)
    page.click("predict")
    assert page.text("text") == "c.grad: -10 + (-2) = -12"  # what is there is not asked for
    page.press("ArrowRight")
    assert page.text("text") == "a.grad: 10 + ? = ?"
    assert page.text("note") == "local derivative 3 × grad -2 = ?"
    assert page.unit(0, "grad") == "grad ?"
    assert page.text("asks") == "a.grad ="
    page.page.hover('[data-unit="0"]')
    assert page.text("paths-head") == "a: gradient ?, the sum of 2 paths"
    page.click("reveal")
    assert page.text("text") == "a.grad: 10 + (-6) = 4"
    assert page.unit(0, "grad") == "grad 4"
    assert not page.page.is_visible('[data-player="guess-form"]')
    assert page.text("score") == "score 0 of 1"
    page.press("ArrowRight")  # the keys are not lost with the box that went away
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
    assert page.page.text_content("h1") == "L = -20"


def test_guesses_are_checked_and_first_ones_counted(window):
    page = window(diamond(), start=4)  # everything forward is there; the seed is not asked for
    page.press("p", "ArrowRight", "ArrowRight")
    assert page.focused() == "guess"  # type at once
    page.press("x", "Enter")
    assert page.text("verdict") == "Write a number, such as -0.5 or 1/2."
    assert page.text("score") == ""
    page.page.fill('[data-player="guess"]', "-2")
    page.press("Enter")
    assert page.text("verdict") == "That is it."
    assert page.text("score") == "score 1 of 1"
    assert page.text("text") == "(+).grad: 0 + (-2) = -2"
    page.press("ArrowRight")  # (a-c).grad: 0 + 10
    assert page.text("verdict") == ""
    page.page.keyboard.type("9")
    page.press("Enter")
    assert page.text("verdict") == "Not 9. Try again, or have it shown."
    assert page.unit(5, "grad") == "grad ?"
    page.page.fill('[data-player="guess"]', "20/2")
    page.press("Enter")
    assert page.unit(5, "grad") == "grad 10"
    assert page.text("score") == "score 1 of 2"  # the first guess counts
    page.press("ArrowLeft", "ArrowLeft", "ArrowRight")
    page.page.fill('[data-player="guess"]', "−2,01")  # a real minus, a comma, half a per cent off
    page.press("Enter")
    assert page.text("score") == "score 1 of 2"  # asked before
    assert page.text("verdict") == "That is it."


@pytest.mark.parametrize(
    ("guess", "verdict"),
    [
        *((guess, "right") for guess in ("0.5", "1/2", "0.502", ".5", "5e-1")),
        *((guess, "wrong") for guess in ("0.51", "-0.5", "1/0", "1/2/3", "inf", "half")),
    ],
)
def test_what_counts_as_right(window, guess, verdict):
    page = window((Value(1.0, label="x") * 0.5), start=2)
    page.press("p", "ArrowRight")  # x.grad = 0.5
    page.page.fill('[data-player="guess"]', guess)
    page.press("Enter")
    assert page.page.get_attribute('[data-player="verdict"]', "data-verdict") == verdict


def test_infinity_and_nan_are_answers_too(window):
    page = window(Value(0.0, label="x").log() * Value(0.0, label="z"))
    page.press("p", "ArrowRight")  # log(0) = -inf
    for guess in ("5", "-1e300", "inf", "nan", "constructor", "-Infinity"):
        assert page.unit(1, "data") == "data ?"
        page.page.fill('[data-player="guess"]', guess)
        page.press("Enter")
    assert page.unit(1, "data") == "data -inf"
    page.press("ArrowRight")  # -inf * 0
    page.page.fill('[data-player="guess"]', "nan")
    page.press("Enter")
    assert page.text("score") == "score 1 of 2"


def test_every_control_has_a_name_and_can_be_reached(window):
    page = window(diamond())
    names = []
    for _ in range(13 + 7):
        page.press("Tab")
        names.append(
            page.page.evaluate(
                """() => {
                    const focused = document.activeElement.shadowRoot.activeElement;
                    const label = focused.closest("label")?.textContent.trim().split("\\n")[0];
                    return focused.getAttribute("aria-label") || label;
                }"""
            ).strip()
        )
    assert names[0].startswith("break it")
    assert names[1:3] == ["predict", "speed 1×"]
    assert names[3:9] == ["First step", "Step back", "Play", "Step forward", "Last step", "Step"]
    assert names[9:13] == ["Reduce", "Enlarge", "Whole picture", "Link to this step"]
    assert names[13] == "a, data 2, grad 0"
    assert all(names)


# ---- the window ---------------------------------------------------------------------------------


def test_a_small_picture_is_enlarged_and_fills_the_window(window):
    page = window(twice())
    natural = page.page.eval_on_selector("svg.mg", "svg => svg.viewBox.baseVal.width")
    assert page.width() > 1.5 * natural
    stage = page.page.locator('[data-player="stage"]').bounding_box()
    assert stage["height"] > 350  # of 700
    main = page.page.locator("main").bounding_box()
    assert (main["width"], main["height"]) == (1200, 700)  # nothing to scroll
    page.page.set_viewport_size({"width": 700, "height": 700})
    page.page.wait_for_function(
        "width => document.querySelector('minigrad-player').shadowRoot"
        ".querySelector('svg.mg').getBoundingClientRect().width < width",
        arg=700,
    )


def test_zoom_by_wheel_buttons_and_keys(window):
    page = window(diamond())
    whole = page.width()
    x, y = page.hit('[data-unit="0"]')
    page.page.mouse.move(x, y)
    page.page.mouse.wheel(0, -400)
    page.page.wait_for_function(
        "width => document.querySelector('minigrad-player').shadowRoot"
        ".querySelector('svg.mg').getBoundingClientRect().width > width",
        arg=1.5 * whole,
    )
    assert page.hit('[data-unit="0"]') == pytest.approx((x, y), abs=60)  # what one points at stays
    enlarged = page.width()
    page.click("zoom-out")
    assert page.width() == pytest.approx(enlarged / 1.25, rel=1e-3)
    page.click("zoom-in")
    assert page.width() == pytest.approx(enlarged, rel=1e-3)
    page.press("-", "-")
    assert page.width() == pytest.approx(enlarged / 1.25**2, rel=1e-3)
    page.press("+")
    assert page.width() == pytest.approx(enlarged / 1.25, rel=1e-3)
    page.press("0")
    assert page.width() == pytest.approx(whole, rel=1e-3)


def scroll(page):
    return page.page.eval_on_selector('[data-player="stage"]', "s => [s.scrollLeft, s.scrollTop]")


def test_pan_by_mouse_and_keys(window):
    page = window(diamond())
    for _ in range(6):
        page.click("zoom-in")
    left, top = scroll(page)
    x, y = page.hit('[data-player="stage"]')
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x - 50, y - 30)
    page.page.mouse.move(x - 90, y - 40)
    page.page.mouse.up()
    assert scroll(page) == pytest.approx([left + 90, top + 40], abs=1)
    page.page.mouse.move(x, y)  # not dragged any more
    assert scroll(page) == pytest.approx([left + 90, top + 40], abs=1)
    page.press("Shift+ArrowLeft", "Shift+ArrowUp")
    assert scroll(page) == pytest.approx([left + 10, top - 40], abs=1)
    assert page.text("count") == "0 / 14"  # and no step was taken


def test_pinch(window):
    page = window(diamond(), PHONE)
    whole = page.width()
    x, y = page.hit('[data-player="stage"]')
    session = page.page.context.new_cdp_session(page.page)
    for kind, apart in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80), ("touchEnd", 0)):
        points = [{"x": x + side * apart, "y": y, "id": k} for k, side in enumerate((-1, 1))]
        event = {"type": kind, "touchPoints": points if apart else []}
        session.send("Input.dispatchTouchEvent", event)
    assert page.width() == pytest.approx(2 * whole, rel=0.02)


def test_what_happens_is_in_sight(window):
    page = window(nn.MLP(2, [4, 4, 1], seed=1)([1.0, -2.0]), limit=500)
    last = int(page.text("count").split("/")[1])
    inside = """async ([stage, units]) => {
        await new Promise(requestAnimationFrame);  // it scrolls before the next picture
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
    page.click("fit")
    assert page.page.evaluate("(s) => s.scrollWidth <= s.clientWidth", stage)


def test_hard_labels_in_the_browser(window):
    total = Value(0.0, label="start")
    for label in HARD:
        total = total + Value(1.0, label=label)
    page = window(total, limit=500)
    page.press("End")
    shown = page.page.eval_on_selector_all(
        ".mg-leaf ~ .mg-text:first-of-type", "all => all.map(e => e.textContent)"
    )
    wanted = [readable(label) for label in HARD if label]
    assert [text for text in wanted if len(text) <= 60 and text not in shown] == []
    assert page.page.evaluate("document.scripts.length") == 2


def test_made_up_labels_in_the_browser(chromium, tmp_path):
    counts = by_chromium(100, seed=1, folder=tmp_path, browser=chromium)
    assert counts.failures == []
    assert (counts.labels, counts.pictures) == (100, 2)


# ---- phones, compact, several on a page --------------------------------------------------------


def corners(page):
    return [page.page.locator(f'[data-unit="{k}"]').first.bounding_box() for k in range(7)]


def test_on_a_phone_the_picture_runs_top_to_bottom(window):
    page = window(diamond(), PHONE)
    boxes = corners(page)
    for source, target in ((0, 2), (1, 2), (2, 4), (3, 4), (0, 5), (4, 6), (5, 6)):
        assert boxes[source]["y"] + boxes[source]["height"] < boxes[target]["y"]
    assert all(0 <= box["x"] and box["x"] + box["width"] <= 390 for box in boxes)
    assert not page.page.is_visible(".hint")
    assert page.page.evaluate("document.documentElement.scrollWidth") == 390
    page.page.tap('[data-player="forward"]')
    assert page.unit(2, "data") == "data 6"
    page.page.tap('[data-unit="0"]')
    assert page.text("paths-head") == "a: gradient 4, the sum of 2 paths"
    assert not page.page.is_visible('[data-player="fault"]')
    page.page.tap('[data-player="options"]')
    page.page.select_option('[data-player="fault"]', "overwrite")
    page.page.tap('[data-player="last"]')
    assert page.text("text") == "a -6 ≠ 4, c -2 ≠ -12"
    small = page.page.eval_on_selector_all(
        "button", "all => all.filter(b => b.offsetParent && b.offsetHeight < 40).length"
    )
    assert small == 0  # of what is there to press, for fingers


def test_a_phone_that_is_turned(window):
    page = window(diamond(), PHONE)
    page.page.tap('[data-player="last"]')
    page.page.set_viewport_size({"width": 844, "height": 390})
    page.page.wait_for_selector("main[data-size=wide]")
    page.page.wait_for_function(
        "() => { const one = (k) => document.querySelector('minigrad-player').shadowRoot"
        ".querySelector(`[data-unit='${k}']`).getBoundingClientRect();"
        " return one(0).right < one(2).left; }"
    )
    assert page.unit(0, "grad") == "grad 4"  # where it was


@pytest.mark.parametrize(
    "make", [diamond, neuron, lambda: nn.MLP(2, [4, 4, 1], seed=1)([1.0, -2.0])]
)
def test_a_phone_opens_on_something_visible(window, make):
    page = window(make(), PHONE, limit=500)
    stage = page.page.locator('[data-player="stage"]').bounding_box()
    assert stage["height"] > 300
    seen = 0
    for box in page.page.locator("[data-unit]").all():
        found = box.bounding_box()
        seen += (
            stage["x"] <= found["x"]
            and found["x"] + found["width"] <= stage["x"] + stage["width"]
            and stage["y"] <= found["y"]
            and found["y"] + found["height"] <= stage["y"] + stage["height"]
        )
    assert seen >= 3  # an operation and its operands


def test_a_direction_that_is_asked_for_is_kept(window):
    page = window(diamond(), PHONE, rankdir="LR")
    boxes = corners(page)
    assert boxes[0]["x"] + boxes[0]["width"] < boxes[2]["x"]


def test_compact(window):
    page = window(diamond(), {"viewport": {"width": 700, "height": 360}}, compact=True, start=12)
    assert page.text("text") == "a.grad: 10 + (-6) = 4"
    for hidden in ("header", ".hint", '[data-player="note"]', '[data-player="zoom-in"]'):
        assert not page.page.is_visible(hidden)
    stage = page.page.locator('[data-player="stage"]').bounding_box()
    assert stage["height"] > 0.6 * 360
    page.click("options")
    page.page.select_option('[data-player="fault"]', "overwrite")
    assert page.text("text") == "a.grad = -6 ≠ 4"


def test_links_to_a_step(window):
    page = window(diamond(), start=3)
    assert page.text("count") == "3 / 14"
    link = page.page.get_attribute('[data-player="link"]', "href")
    assert link == "#step=3"
    page.press("End", "b")
    page.click("link")
    assert page.page.url.endswith("#step=14&fault=overwrite")
    page.press("Home", "b")
    page.page.reload()
    page.page.wait_for_selector("main[data-ready=yes]")
    assert page.text("text") == "a -6 ≠ 4, c -2 ≠ -12"
    page.page.evaluate("location.hash = '#step=12'")  # somebody follows another link
    page.page.wait_for_function(
        "() => document.querySelector('minigrad-player').player.place().frame === 12"
    )
    assert page.text("text") == "a.grad: 10 + (-6) = 4"
    page.page.evaluate("location.hash = '#step=99999&fault=nonsense'")
    page.page.wait_for_function(
        "() => document.querySelector('minigrad-player').player.place().frame === 14"
    )
    assert page.page.input_value('[data-player="fault"]') == ""


def test_several_players_on_a_page(window):
    page = window([diamond(), neuron()])
    assert page.page.locator("main[data-ready=yes]").count() == 2
    page.press("ArrowRight")  # neither has the focus
    counts = page.page.locator('[data-player="count"]')
    assert counts.all_text_contents() == ["0 / 14", "0 / 16"]
    page.page.locator('[data-player="forward"]').nth(1).click()
    assert counts.all_text_contents() == ["0 / 14", "1 / 16"]
    page.press("ArrowRight", "ArrowRight")
    assert counts.all_text_contents() == ["0 / 14", "3 / 16"]
    page.page.locator('[data-player="stage"]').first.click(position={"x": 5, "y": 5})
    page.press("End")
    assert counts.all_text_contents() == ["14 / 14", "3 / 16"]
    links = [each.get_attribute("href") for each in page.page.locator('[data-player="link"]').all()]
    assert links == ["#player-1.step=14", "#player-2.step=3"]
    page.page.evaluate("location.hash = '#player-2.step=16'")
    page.page.wait_for_function(
        "() => document.querySelector('#player-2').player.place().frame === 16"
    )
    assert counts.all_text_contents() == ["14 / 14", "16 / 16"]


def test_in_a_page_that_scrolls_the_wheel_is_the_pages(window):
    page = window([diamond(), neuron(), twice()])
    before = page.page.locator("svg.mg").first.bounding_box()["width"]
    page.page.mouse.move(*page.hit("minigrad-player >> nth=0"))
    page.page.mouse.wheel(0, 200)
    page.page.wait_for_function("() => scrollY > 100")
    assert page.page.locator("svg.mg").first.bounding_box()["width"] == before


def foreign_page(*elements, rest=""):
    """Somebody's page, with styles that would ruin any picture."""
    return (
        '<!doctype html><html data-theme="dark"><head><meta charset="utf-8"><style>'
        "* { fill: lime !important; color: red !important; } svg { width: 10px !important }"
        " button { display: none !important } :root { --paper: magenta }"
        f"</style></head><body>{''.join(elements)}"
        f'<script type="module">{view.player_script()}\n{rest}</script></body></html>'
    )


def test_styles_of_a_page_stay_outside_and_its_theme_and_language_come_in(window):
    one = f'<div lang="es-MX">{view.player_element(diamond(), id="one")}</div>'
    page = window(foreign_page(one, view.player_element(neuron(), id="two", theme="light")))
    fills = [
        "e => getComputedStyle(e).fill",
        "e => getComputedStyle(e).backgroundColor",
    ]
    paper = page.page.locator(".mg-paper")
    assert paper.nth(0).evaluate(fills[0]) == "rgb(20, 24, 29)"  # the theme around it
    assert paper.nth(1).evaluate(fills[0]) == "rgb(255, 255, 255)"  # its own
    assert page.page.locator("main").nth(0).evaluate(fills[1]) == "rgb(20, 24, 29)"
    assert page.page.locator('[data-player="forward"]').nth(0).is_visible()
    page.page.evaluate("document.documentElement.dataset.theme = 'light'")
    page.page.wait_for_selector("#one >> main[data-theme=light]")
    assert paper.nth(0).evaluate(fills[0]) == "rgb(255, 255, 255)"
    spoken = page.page.locator('[data-player="title"]').all_text_contents()
    assert spoken == ["Las hojas ya tienen sus números.", "The leaves have their numbers."]


def test_mount_update_and_destroy(window):
    first, second = (json.dumps(view.player_payload(root)) for root in (diamond(), neuron()))
    rest = (
        f"window.plays = [{first}, {second}];"
        "const place = document.querySelector('#place');"
        "const Player = customElements.get('minigrad-player');"
        "window.player = Player.mount(place, { ...plays[0], start: 3, lang: 'es' });"
    ).replace("</", "<\\/")
    page = window(foreign_page('<div id="place"></div>', rest=rest))
    assert page.text("count") == "3 / 14"
    assert page.text("title") == "Hacia delante: a-c"
    page.page.evaluate("player.update(plays[1])")
    page.page.wait_for_selector("main[data-ready=yes]")
    assert page.text("count") == "3 / 16"  # the same step of the other graph
    assert page.page.text_content("h1") == "o = 0.70711"
    page.page.locator('[data-player="forward"]').click()
    assert page.text("count") == "4 / 16"  # one step, by one listener
    page.page.evaluate("player.destroy()")
    assert page.page.locator("main").count() == 0
    page.page.keyboard.press("ArrowRight")


HOSTS = {
    "<body>": "light",
    '<body data-jp-theme-light="true">': "light",
    '<body data-jp-theme-light="false">': "dark",
    '<body class="vscode-dark">': "dark",
}


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_notebook_shows_pictures_and_players_in_its_own_colours(chromium, system):
    context = chromium.new_context(color_scheme=system)
    page = context.new_page()
    shown = diamond()._repr_mimebundle_()["text/html"] + play(diamond())._repr_html_()
    for body, theme in HOSTS.items():
        page.set_content(f"<!doctype html><html>{body}{shown}</body></html>")
        scheme = "image => getComputedStyle(image).colorScheme"
        assert page.eval_on_selector("img", scheme) == theme
        player = page.frame_locator("iframe").locator("main[data-theme]")
        assert player.get_attribute("data-theme") == theme
    context.close()


def test_the_page_of_the_documentation_from_a_server(chromium):
    files = {
        "/player.js": ("text/javascript", view.player_script()),
        "/payload.json": ("application/json", json.dumps(view.player_payload(diamond()))),
        "/": (
            "text/html",
            f"""<!doctype html><meta charset="utf-8">{view.player_element(diamond(), id="one")}
            <div id="here"></div><script type="module">
            import {{ mount }} from "./player.js";
            const payload = await (await fetch("payload.json")).json();
            window.player = mount(document.querySelector("#here"), payload);
            </script>""",
        ),
    }
    page = chromium.new_page()

    def answer(route):
        kind, text = files[route.request.url.removeprefix("http://lesson.test")]
        route.fulfill(content_type=kind, body=text)

    page.route("http://lesson.test/**", answer)
    page.goto("http://lesson.test/")
    for place in ("#one", "#here"):
        page.wait_for_selector(f"{place} >> main[data-ready=yes]")
    page.locator("#here >> [data-player=last]").click()
    counts = page.locator('[data-player="count"]').all_text_contents()
    assert counts == ["0 / 14", "14 / 14"]
    page.close()


def test_an_element_that_is_moved_or_made_by_a_script(window):
    payload = json.dumps(view.player_payload(neuron())).replace("</", "<\\/")
    page = window(foreign_page(view.player_element(diamond()), rest=f"window.next = {payload};"))
    page.click("last")
    page.page.evaluate("document.body.append(document.querySelector('minigrad-player'))")
    page.page.wait_for_selector("main[data-ready=yes]")
    assert page.page.locator("svg.mg").count() == 1
    page.page.evaluate(
        "() => { const made = document.createElement('minigrad-player');"
        " document.body.append(made); made.update(next); }"
    )
    page.page.wait_for_selector("minigrad-player >> nth=1 >> main[data-ready=yes]")
    assert page.page.locator("h1").all_text_contents() == ["L = -20", "o = 0.70711"]


def test_in_spanish(window):
    page = window(diamond(), lang="es", start=12)
    assert page.page.get_attribute("html", "lang") == "es"
    assert page.text("title") == "Hacia atrás: a*b pasa su gradiente a a"
    assert page.text("note") == "derivada local 3 × grad -2 = -6"
    assert page.page.get_attribute('[data-player="play"]', "aria-label") == "Reproducir"
    page.page.hover('[data-unit="0"]')
    assert page.text("paths-head") == "a: gradiente 4, la suma de 2 caminos"
    page.press("b")
    assert page.text("note") == "derivada local 3 × grad -2 = -6; se pierde 10"
    chosen = page.page.eval_on_selector(
        '[data-player="fault"]', "select => select.selectedOptions[0].textContent"
    )
    assert chosen == "= en lugar de += en todas las operaciones"
    shown = page.page.inner_text("main")
    assert not re.findall(r"\b(the|of|step|break|gradient of|paths)\b", shown)


def test_the_scheme_of_the_system_and_a_theme_that_is_asked_for(window):
    for scheme, theme, paper in (
        ("dark", "auto", "rgb(20, 24, 29)"),
        ("light", "auto", "rgb(255, 255, 255)"),
        ("light", "dark", "rgb(20, 24, 29)"),
        ("dark", "light", "rgb(255, 255, 255)"),
    ):
        page = window(diamond(), {"color_scheme": scheme}, theme=theme).page
        assert page.eval_on_selector(".mg-paper", "e => getComputedStyle(e).fill") == paper
        page.emulate_media(media="print")  # paper is white
        white = page.eval_on_selector(".mg-paper", "e => getComputedStyle(e).fill")
        assert white == "rgb(255, 255, 255)"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_wrong_grad_has_a_colour_of_its_own(window, theme):
    page = window(diamond(), theme=theme, start="end", fault="overwrite").page
    wrong, right = (
        page.eval_on_selector(f'[data-unit="{k}"] .mg-grad', "e => getComputedStyle(e).fill")
        for k in (0, 1)
    )
    assert wrong != right


def test_nothing_moves_by_itself(window):
    page = window(diamond()).page
    moving = page.evaluate(
        """() => [...document.querySelector("minigrad-player").shadowRoot.querySelectorAll("*")]
            .map((element) => getComputedStyle(element))
            .filter((style) => style.transitionDuration !== "0s" || style.animationName !== "none")
            .length"""
    )
    assert moving == 0


HEIGHT = 500  # of a low window


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
        # Not alike, so that they are not folded into one.
        "from minigrad import Value, sum\nsum([Value(1.0, label=f'x{k}').exp() if k % 2 else "
        "Value(2.0, label=f'x{k}') for k in range(60)])",
        "from minigrad import play\nplay(root)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    execute(timeout=120).preprocess(notebook, {"metadata": {"path": str(tmp_path)}})
    bundle = notebook.cells[1].outputs[0].data
    assert bundle["text/plain"] == "Value(data=-20.0)"
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/html"].index("Value(data=-20.0)") < bundle["text/html"].index("<img")
    page, _ = nbconvert.HTMLExporter().from_notebook_node(notebook)
    (tmp_path / "notebook.html").write_text(page, encoding="utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 700, "height": HEIGHT})
    window = context.new_page()
    complaints = []
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.goto((tmp_path / "notebook.html").as_uri())
    frame = window.wait_for_selector("iframe").content_frame()
    frame.wait_for_selector("main[data-ready=yes]")
    frame.click('[data-player="last"]')
    assert frame.text_content('[data-unit="0"] .mg-grad') == "grad 4"
    assert complaints == []
    drawn = window.locator("img[src^='data:image/svg']")
    assert drawn.count() == 3  # a Value, what draw_dot returned, and a tall graph
    for k in range(drawn.count()):
        seen = drawn.nth(k).evaluate(
            "i => [i.naturalWidth / i.naturalHeight, i.width / i.height, i.height, i.complete]"
        )
        assert seen[3]
        assert seen[1] == pytest.approx(seen[0], rel=0.05)  # whole, and in proportion
        assert seen[2] <= 0.9 * HEIGHT
        box, cell = drawn.nth(k).bounding_box(), window.locator(".jp-OutputArea-output").nth(k)
        assert box["width"] <= cell.bounding_box()["width"] + 1
    context.close()


# ---- folded pictures -----------------------------------------------------------------------------


def two_layers():
    """A loss over four points on a network of seven neurons: more than one looks at whole."""
    model = nn.MLP(3, [4, 3], activation="tanh", output="tanh", seed=1)
    points = [[0.1 * k, 1.0, -0.5] for k in range(4)]
    total = sum((y - 0.5) ** 2 for point in points for y in model(point))
    total.backward()
    return total


def places(page):
    """Where the boxes are that are drawn, by their ids."""
    found = page.query_selector_all("[data-box]")
    return {each.get_attribute("data-box"): each.bounding_box() for each in found}


def test_a_click_opens_a_box_in_place_and_the_others_keep_their_order(window):
    opened = window(two_layers())
    page = opened.page
    before = places(page)
    name = "MLP.layer0.neuron1"
    selector = f'[data-box="{name}"]'
    assert page.get_attribute(selector, "aria-expanded") == "false"
    page.click(selector)
    assert page.get_attribute(selector, "aria-expanded") == "true"
    assert page.locator(f"{selector} .mg-op").count() == 7  # three products, three sums, tanh
    after = places(page)
    assert set(after) == set(before)
    assert after[name]["width"] > before[name]["width"]
    for axis, size in (("x", "width"), ("y", "height")):
        for one, other in permutations(before, 2):
            are_siblings = one.rpartition(".")[0] == other.rpartition(".")[0]
            is_first = before[one][axis] + before[one][size] <= before[other][axis]
            if are_siblings and is_first:
                assert after[one][axis] + after[one][size] <= after[other][axis] + 0.5
    page.keyboard.press("Enter")  # it has the focus; this closes it
    for box, place in places(page).items():
        assert place == pytest.approx(before[box], abs=4)  # a rim around what has the focus


class Recurrent(nn.Module):
    """Forty steps in one call: two boxes, much enlarged, and one of them is wide inside."""

    def __init__(self):
        self.w, self.u = Value(0.8), Value(0.3)

    def __call__(self, steps):
        h = 0.0
        for k in range(steps):
            h = (self.w * h + self.u * (0.1 * k - 1.0)).tanh().sin()
        return h


def test_a_box_that_is_opened_is_seen_from_its_beginning(window):
    root = (Recurrent()(30) - 1.0) ** 2
    root.backward()
    page = window(root).page
    box = page.locator('[data-box="Recurrent"]')
    closed = box.bounding_box()
    box.click()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    stage = page.locator('[data-player="stage"]').bounding_box()
    frame = box.bounding_box()
    assert frame["width"] > stage["width"]  # it does not fit, although the scale is smaller now
    first = page.locator('[data-box="Recurrent.step1"]').bounding_box()
    for axis, size in (("x", "width"), ("y", "height")):
        for thing in (frame, first):
            assert stage[axis] <= thing[axis] < stage[axis] + stage[size] / 2
        assert first[axis] + first[size] <= stage[axis] + stage[size]
    page.keyboard.press("Enter")
    assert box.bounding_box() == pytest.approx(closed, abs=4)  # large again


def test_no_arrow_of_an_open_box_ends_beside_it(window):
    page = window(two_layers()).page
    for k in range(4):
        page.click(f'[data-box="MLP.layer0.neuron{k}"]', position={"x": 15, "y": 8})
    count, off = page.evaluate(
        """() => {
          const root = document.querySelector("minigrad-player").shadowRoot;
          const all = [...root.querySelectorAll("[data-ends]")];
          return [all.length, all.filter((arrow) => {
          const units = [...arrow.closest("g:not([data-ends])").parentNode.children]
            .flatMap((g) => [...g.children]).filter((e) => e.dataset.size);
          const target = units[arrow.dataset.ends.split(" ")[1]].getBoundingClientRect();
          const head = arrow.querySelector(".mg-head").getBoundingClientRect();
          return Math.abs(head.right - target.left) > 2 || head.top < target.top - 2 ||
            head.bottom > target.bottom + 2;
          }).length];
        }"""
    )
    assert count > 20
    assert off == 0


def test_stepping_over_boxes_and_into_one(window):
    opened = window(two_layers())
    page = opened.page
    last = int(opened.text("count").split(" / ")[1])
    assert last == 2 * 14 + 2  # seven neurons, three differences and squares, the sum
    opened.press("ArrowRight")
    assert opened.text("title") == "Forward: layer0.neuron0"
    assert "nodes in one step" in opened.text("note")
    box = page.locator('[data-box="MLP.layer0.neuron0"]')
    assert "is-active" in box.get_attribute("class")
    number = box.locator("> .mg-data").text_content()
    assert re.fullmatch(r"data -?[\d.]+ … -?[\d.]+", number)
    assert page.locator('[data-box="MLP.layer0.neuron1"] > .mg-data').text_content() == "data"
    box.click()  # the step that one is at becomes those inside, and one is at the first of them
    assert opened.text("count") == f"1 / {last + 2 * 6}"  # seven operations instead of one box
    assert opened.text("title") == "Forward: *"
    assert box.locator("[data-unit] > .mg-data", has_text=number).count() == 0
    opened.press(*["ArrowRight"] * 6)
    assert opened.text("title") == "Forward: neuron0"  # what it returns has its name
    assert box.locator("[data-unit] > .mg-data", has_text=number).count() == 1
    opened.press("ArrowRight", "Enter")  # another box is lit, this one has the focus and is closed
    assert opened.text("count") == f"2 / {last}"
    assert opened.text("title") == "Forward: layer0.neuron1"


def test_the_backward_pass_over_boxes(window):
    root = two_layers()
    opened = window(root, start="backward")
    page = opened.page
    assert opened.text("title") == "Backward begins at the result."
    assert page.locator(".is-back").count() == 0
    opened.press("ArrowRight")
    assert opened.text("title").startswith("Backward: + passes its gradient on to")
    assert page.locator(".is-back").count() > 0
    assert page.locator(".is-target").count() > 0
    opened.press("End")
    assert page.locator(".mg-arrow:not(.is-back)").count() == 0
    page.click('[data-box="MLP.layer1.neuron0"]')
    weight = next(n for n in trace(root)[0] if n.label == "layer1.neuron0.w2")
    leaf = page.locator('[data-box="MLP.layer1.neuron0"] [data-unit]', has_text="w2")
    assert leaf.locator("> .mg-grad").text_content() == f"grad {brief(weight.grad)}"
    assert page.locator(".mg-arrow:not(.is-back)").count() == 0  # also those in the box


def test_scrubbing_over_boxes_shows_the_same_as_stepping(window):
    opened = window(two_layers())
    page = opened.page
    page.click('[data-box="MLP.layer1.neuron1"]')
    last = int(opened.text("count").split(" / ")[1])

    def shown():
        fields = page.locator("[data-unit] > :is(.mg-data, .mg-grad)").all_text_contents()
        back = page.eval_on_selector_all(".is-back", "all => all.map((e) => e.dataset.arrow)")
        return fields, back, opened.text("text")

    stepped = [shown()]
    for _ in range(last):
        opened.press("ArrowRight")
        stepped.append(shown())
    for frame in (last, 3, last - 5, 0, last // 2, 1):
        opened.scrub(frame)
        assert shown() == stepped[frame]


def test_links_name_the_boxes_that_are_open(window):
    opened = window(two_layers())
    page = opened.page
    page.click('[data-box="MLP.layer0.neuron2"]')
    opened.scrub(9)
    title, address = opened.text("title"), page.get_attribute('[data-player="link"]', "href")
    other = window(two_layers())
    other.page.evaluate("address => { location.hash = address }", address)
    other.page.wait_for_selector('[data-box="MLP.layer0.neuron2"][aria-expanded=true]')
    assert (other.text("title"), other.text("count")) == (title, opened.text("count"))


def test_faults_over_boxes(window):
    opened = window(two_layers())
    page = opened.page
    page.select_option('[data-player="fault"]', "overwrite")
    opened.press("End")
    assert opened.text("title") == "These gradients are wrong:"
    assert " ≠ " in opened.text("text")
    assert page.locator(".is-wrong .mg-right").count() > 0
    page.select_option('[data-player="fault"]', "overwrite_add")  # which shows in closed boxes only
    assert opened.text("title") == "Gradients inside these boxes are wrong; a click opens one:"
    assert "layer0.neuron0" in opened.text("text")
    page.locator('[data-box="MLP.layer0.neuron0"]').click()
    assert opened.text("title") == "These gradients are wrong:"
    opened.press("b")  # mended
    assert opened.text("title") == "Every gradient is there."
    assert page.locator(".is-wrong").count() == 0


def test_paths_of_a_variable_over_boxes(window):
    page = window(two_layers()).page
    page.locator('[data-box="MLP.layer0.neuron0"]').click()
    weight = page.locator('[aria-label^="layer0.neuron0.w0,"]')
    weight.hover()
    ways = page.eval_on_selector_all(".mg-ways path", "all => all.map((each) => each.dataset.way)")
    assert set(ways) == set("012345")
    badges = page.locator('[data-player="paths-terms"] .badge')
    assert badges.count() == 6
    # A stroke lies on its arrow, in whichever box that is.
    off = page.evaluate(
        """() => {
          const root = document.querySelector("minigrad-player").shadowRoot;
          return [...root.querySelectorAll(".mg-ways path")].filter((path) => {
            const arrow = root.querySelector(`[data-arrow="${path.dataset.along}"] .mg-edge`);
            const [one, other] = [path, arrow].map((each) => each.getBoundingClientRect());
            return Math.abs(one.left - other.left) > 9 || Math.abs(one.top - other.top) > 9;
          }).length;
        }"""
    )
    assert off == 0


def test_what_is_in_an_open_box_can_be_read_while_the_pointer_is_in_it(window):
    page = window(two_layers()).page
    page.click('[data-box="MLP.layer0.neuron1"]', position={"x": 15, "y": 8})
    inside = '[data-box="MLP.layer0.neuron1"] .mg-unit'
    faint = "all => all.filter((each) => getComputedStyle(each).fillOpacity < 1).length"
    page.mouse.move(0, 0)
    page.hover('[data-box="MLP.layer0.neuron1"]', position={"x": 15, "y": 8})
    page.wait_for_selector("svg.has-path")
    assert page.locator(inside).count() > 7
    assert page.eval_on_selector_all(inside, faint) == 0
    assert page.eval_on_selector_all('[data-box="MLP.layer0.neuron0"]', faint) == 1


def test_boxes_can_be_predicted(window):
    opened = window(two_layers())
    opened.press("p", "End", *["ArrowLeft"] * 2)
    opened.scrub(14)  # the sum, which is one number
    assert opened.page.is_visible('[data-player="guess"]')
    opened.page.fill('[data-player="guess"]', brief(two_layers().data))
    opened.press("Enter")
    assert opened.text("score") == "score 1 of 1"


def test_a_folded_page_in_the_dark_on_a_phone(window):
    page = window(two_layers(), {**PHONE, "color_scheme": "dark"}).page
    paper = page.eval_on_selector(".mg-paper", "e => getComputedStyle(e).fill")
    assert paper == "rgb(20, 24, 29)"
    box = page.eval_on_selector(".mg-fold", "e => getComputedStyle(e).fill")
    assert box == "rgb(35, 40, 58)"
    boxes = places(page)
    first, second = boxes["MLP.layer0"], boxes["MLP.layer1"]
    assert first["y"] + first["height"] <= second["y"]  # from top to bottom
    # What does not fit beside each other stays closed, and nothing is cut at the side.
    assert "MLP.layer0.neuron0" not in boxes
    assert "Enter" not in page.locator("main").inner_text()  # nor any other key
    assert page.locator("svg.mg").bounding_box()["width"] <= 390


def test_a_player_is_given_a_graph_without_boxes_and_with_them(window):
    boxed, whole = (json.dumps(view.player_payload(root)) for root in (two_layers(), diamond()))
    rest = f"""document.body.append(Object.assign(document.createElement("div"), {{ id: "here" }}));
    window.player = mount(document.querySelector("#here"), {boxed});
    window.graphs = [{boxed}, {whole}];"""
    page = window(foreign_page(rest=rest.replace("</", "<\\/"))).page
    assert page.locator("[data-box]").count() > 0
    page.evaluate("player.update(graphs[1])")
    page.wait_for_selector('[data-unit="6"]')
    assert page.locator("[data-box]").count() == 0
    page.evaluate("player.update(graphs[0])")
    page.wait_for_selector("[data-box]")


def test_boxes_that_had_no_room_are_open_again_when_there_is(window):
    opened = window(two_layers(), {"viewport": {"width": 1300, "height": 700}})
    page = opened.page
    count = opened.text("count")
    page.set_viewport_size({"width": 390, "height": 700})
    page.wait_for_selector('[data-box="MLP.layer0.neuron0"]', state="detached")
    page.set_viewport_size({"width": 1300, "height": 700})
    page.wait_for_selector('[data-box="MLP.layer0.neuron0"]')
    assert opened.text("count") == count


def softmax_by_hand(count):
    """The loss of a softmax whose logits do not stand beside each other on a phone."""
    logits = [Value(0.25 * k, label=f"x{k}") for k in range(count)]
    powers = [(x - logits[-1].data).exp() for x in logits]
    total = sum(powers)
    return -(powers[1] / total).log()


def test_what_is_too_wide_for_a_phone_is_played_in_boxes_there(window):
    opened = window(softmax_by_hand(9), PHONE)
    page = opened.page
    assert list(places(page)) == ["softmax"]
    assert page.locator("svg.mg").bounding_box()["width"] <= 390
    opened.click("forward")
    assert opened.text("title") == "Forward: softmax"
    page.set_viewport_size({"width": 1000, "height": 600})  # it is turned
    page.wait_for_selector("main[data-size=wide][data-ready=yes]")
    assert opened.text("title").startswith("Forward: ")  # the same pass
    assert places(page) == {}
    page.set_viewport_size(PHONE["viewport"])
    page.wait_for_selector("main[data-size=narrow][data-ready=yes]")
    assert list(places(page)) == ["softmax"]


def test_boxes_that_are_asked_for_are_open_on_a_phone(window):
    page = window(two_layers(), PHONE, open=["layer0"]).page
    assert "MLP.layer0.neuron0" in places(page)


def test_a_folded_page_is_made_smaller_so_that_it_fits_and_no_smaller_than_can_be_read(window):
    def sizes(width):
        page = window(two_layers(), {"viewport": {"width": width, "height": 700}}).page
        drawn = page.eval_on_selector(
            "svg.mg", "e => [e.getBoundingClientRect().width, e.viewBox.baseVal.width]"
        )
        return *drawn, page.eval_on_selector('[data-player="stage"]', "e => e.clientWidth")

    shown, natural, room = sizes(1_300)
    assert natural > room  # or there would be nothing to do
    assert shown == pytest.approx(room, abs=1)
    shown, natural, _ = sizes(700)
    assert shown >= 0.6 * natural - 1
