"""The playground in a real browser: every tab, a phone, links, hostile ones too, one file.

At the end of each test there must be no complaint in the console, which is where a violated policy
would be, and no request to anywhere but the server that the test has started.
"""

from __future__ import annotations

import re
import threading
from urllib.parse import urlencode

import pytest
from conftest import oracle
from playgrounds import site
from test_lab import edited, fences

from minigrad.check.doctor.catalogue import FAULTS
from minigrad.check.doctor.signatures import patient
from minigrad.lab import LABS
from minigrad.playground.server import Server

pytestmark = pytest.mark.browser
WIDE = {"viewport": {"width": 1280, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
START = 60_000  # ms, for a loaded machine: nothing is measured here


@pytest.fixture(scope="module")
def server():
    with Server(site()) as running:
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        yield running
        running.shutdown()


class Page:
    """A page, and everything that it complained of or asked for."""

    def __init__(self, context, url):
        self.page = context.new_page()
        self.page.set_default_timeout(START)
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def wait(self, selector, **options):
        return self.page.wait_for_selector(selector, **options)

    def text(self, selector):
        return self.page.inner_text(selector)

    def player(self, name):
        return self.page.text_content(f'minigrad-player [data-player="{name}"]')

    def expect(self, selector, text):
        """Wait until a text is there; playwright's own `expect` needs no script in the page."""
        oracle("playwright.sync_api").expect(self.page.locator(selector).first).to_contain_text(
            text, timeout=START
        )

    def write(self, text):
        """Put a text into the editor for programs, as somebody who pastes it."""
        self.wait(".cm-content")
        self.page.focus(".cm-content")
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)


@pytest.fixture
def window(chromium, server):
    """Open the playground at a fragment; check at the end that all was quiet."""
    opened = []

    def show(context=None, url=None, **fields):
        where = chromium.new_context(accept_downloads=True, **(context or WIDE))
        opened.append(Page(where, url or f"{server.url}#{urlencode(fields)}"))
        return opened[-1]

    yield show
    for page in opened:
        assert page.complaints == []
        outside = [u for u in page.requests if not u.startswith((server.url, "blob:", "data:"))]
        assert [url for url in outside if not url.startswith("file://")] == []
        page.page.context.close()


def diamond(window, **fields):
    values = {"v.a": 2, "v.b": 3, "v.c": 4}
    page = window(mode="expression", text="(a*b + c) * (a - c)", **values, **fields)
    page.expect("tbody tr td.grad", "4")
    page.expect('minigrad-player [data-player="count"]', "/ 14")
    return page


def grads(page):
    return [cell.inner_text() for cell in page.page.query_selector_all("tbody td.grad")]


def test_typing_an_expression(window):
    page = diamond(window)
    assert grads(page) == ["4", "-4", "-12"]
    assert page.player("count") == "14 / 14"
    page.expect("td.good", "✓")  # by differences, when one rests
    page.page.fill("#expression", "a*b")
    page.expect('minigrad-player [data-player="value"]', "= 6")
    assert grads(page) == ["3", "2"]
    assert page.page.query_selector("body.is-old") is None
    page.page.fill("#expression", "a*")
    page.expect(".error", "is expected")
    assert grads(page) == ["3", "2"]  # what was there stays while one types, and looks old
    assert page.page.query_selector("body.is-old")
    page.page.fill("#expression", "log(a - 5)")
    page.expect(".remark", "no such real number")


def test_dragging_an_input(window):
    page = diamond(window)
    slider = page.page.locator('.slider[data-name="b"] input[type="range"]')
    box = slider.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 0.65, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    for k in range(6):
        page.page.mouse.move(box["x"] + box["width"] * (0.65 + 0.03 * k), box["y"] + 5)
    page.page.mouse.up()
    number = float(page.page.input_value('.slider[data-name="b"] input[type="number"]'))
    assert number > 3
    # d/da = (a - c)*b + (a*b + c), at a = 2, c = 4: 4, whatever b is; d/dc = -(a*b + c) + (a - c).
    page.expect("tbody tr:nth-child(3) td.grad", f"{-2 * number - 6:.6g}"[:4])
    assert grads(page)[0] == "4"
    page.expect(".hint", "")
    assert page.page.query_selector(".plot .tangent")
    page.page.focus('.slider[data-name="b"] input[type="range"]')
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowLeft")
    page.page.fill('.slider[data-name="b"] input[type="number"]', "1")
    page.expect("tbody tr:nth-child(3) td.grad", "-8")


def test_stepping_breaking_and_predicting(window):
    page = diamond(window)
    page.page.click('[data-player="first"]')
    page.page.click('[data-player="forward"]')
    assert page.player("text") == "a*b: 2*3 = 6"
    page.page.select_option('[data-player="fault"]', "overwrite")
    page.page.click('[data-player="last"]')
    page.expect('[data-player="title"]', "These gradients are wrong")
    page.page.select_option('[data-player="fault"]', "")
    page.page.check('[data-player="predict"]')
    page.page.click('[data-player="first"]')
    page.page.click('[data-player="forward"]')
    page.page.fill('[data-player="guess"]', "6")
    page.page.click('[data-player="check"]')
    assert page.player("score") == "score 1 of 1"


def test_a_row_lights_its_paths_and_a_unit_its_row(window):
    page = diamond(window)
    page.page.hover("tbody tr:nth-child(1)")
    page.expect('[data-player="paths-head"]', "a: gradient 4, the sum of 2 paths")
    page.page.hover('[data-unit="1"]')
    page.expect("tbody tr.is-lit", "b")
    assert page.page.query_selector('.slider.is-lit[data-name="b"]')


def test_a_line_lights_its_result_and_a_unit_its_line(window):
    page = window(mode="expression", text="d = a*b\ne = a + b\nd*e", **{"v.a": 2, "v.b": 3})
    page.expect('minigrad-player [data-player="value"]', "= 30")
    page.page.hover("#expression", position={"x": 60, "y": 42})  # the second line
    page.expect('[data-player="paths-head"]', "e: gradient 6")  # de/de of d*e is d
    assert page.page.eval_on_selector_all(
        ".copy .is-lit", "all => all.map(x => x.textContent)"
    ) == ["e = a + b"]
    page.page.hover("tbody tr:nth-child(1)")
    page.wait(".copy > :nth-child(2).is-lit")
    lit = page.page.eval_on_selector_all(".copy .is-lit", "all => all.map(x => x.textContent)")
    assert lit == ["d = a*b", "e = a + b"]  # both use a


def test_while_an_input_moves_the_picture_stays(window):
    """Only numbers change, so nothing is drawn anew; the faults come when one rests."""
    page = diamond(window)
    page.wait('[data-player="fault"] option[value="overwrite"]', state="attached")
    page.page.evaluate(
        "kept = document.querySelector('minigrad-player').shadowRoot.querySelector('svg.mg')"
    )
    for number, result in (("3", "-13"), ("5", "19"), ("2", "-20")):
        page.page.fill('.slider[data-name="a"] input[type="number"]', number)
        page.expect('minigrad-player [data-player="value"]', f"= {result}")
    page.page.fill('.slider[data-name="a"] input[type="number"]', "5")
    page.expect('minigrad-player [data-player="value"]', "= 19")
    page.expect('[data-unit="6"] .mg-data', "data 19")
    assert page.page.evaluate("kept.isConnected") is False  # -13 and 19 needed more room at first
    page.page.evaluate(
        "kept = document.querySelector('minigrad-player').shadowRoot.querySelector('svg.mg')"
    )
    for number, result in (("3", "-13"), ("2", "-20"), ("5", "19")):
        page.page.fill('.slider[data-name="a"] input[type="number"]', number)
        page.expect('[data-unit="6"] .mg-data', f"data {result}")
    assert page.page.evaluate("kept.isConnected") is True
    page.page.select_option('[data-player="fault"]', "overwrite")
    page.expect('[data-player="title"]', "These gradients are wrong")
    page.page.fill('.slider[data-name="a"] input[type="number"]', "3")
    page.expect('[data-player="text"]', "a -3 ≠ 10")  # 13 - 3, of which one is lost


def test_numbers_as_large_as_floats_go_and_names_that_javascript_has(window):
    page = window(mode="constructor", text="a*constructor", lang="__proto__")
    page.expect('[aria-selected="true"]', "Expression")
    page.page.fill("#expression", "__proto__*constructor")
    page.expect("tbody tr:nth-child(2)", "constructor")
    for name, number in (("__proto__", "1e300"), ("constructor", "-1e300")):
        page.page.fill(f'.slider[data-name="{name}"] input[type="number"]', number)
    page.expect(".remark", "overflow")
    page.expect("tbody td.hint", "?")  # differences of infinite numbers tell nothing
    top = page.page.get_attribute('.slider[data-name="constructor"] input[type="range"]', "max")
    assert float(top) == 2e300  # the slider follows
    assert "v.__proto__=1e%2B300" in page.page.evaluate("location.hash")


def test_the_gallery_with_its_faults(window):
    page = diamond(window)
    page.page.select_option("#left select", "twice")
    page.expect('[data-player="title"]', "These gradients are wrong")
    assert page.page.input_value("#expression") == "a + a"
    page.page.select_option("#left select", "mlp")
    page.expect('[data-player="name"]', "out")
    assert page.page.get_attribute('[data-mode="python"]', "aria-selected") == "true"


def test_large_graphs_fold_and_open(window):
    text = "from minigrad.nn import MLP\nmodel = MLP(3, [6, 6, 1], seed=1)\nmodel([1, 2, 3])\n"
    page = window(mode="python", text=text)
    page.wait(".cm-content")
    page.page.click('[data-act="run"]')
    page.wait(".still[data-ready=yes]")
    box = page.page.locator('.still [role="button"]').first
    turned = {"true": "false", "false": "true"}[box.get_attribute("aria-expanded")]
    box.focus()
    page.page.keyboard.press("Enter")
    assert box.get_attribute("aria-expanded") == turned


def test_a_program_and_its_lines(window):
    page = window(mode="python")
    page.expect('[data-player="name"]', "L")
    page.page.hover("tbody tr:nth-child(4)")  # d, from line 6
    page.expect(".cm-line.is-lit", "d = a * b + c")
    page.write("from minigrad import Value\nx = Value(3.0)\nprint('hello')\nx*x*y\n")
    page.page.keyboard.press("Control+Enter")
    page.expect(".error", "line 4: NameError")
    page.expect("pre.code", "hello")


def test_an_endless_loop_can_be_stopped(window):
    page = window(mode="python", text="while True:\n    pass\n")
    page.expect(".remark", "came with a link")  # it waits for Run
    page.wait(".cm-content")
    page.page.click('[data-act="run"]')
    page.wait('[data-act="stop"]:not([disabled])')
    page.expect("#status", "Python is")
    page.page.click('[data-act="stop"]')
    page.expect(".error", "Stopped")
    page.write("from minigrad import Value\na = Value(2.0)\na*a\n")
    page.page.click('[data-act="run"]')
    page.expect("tbody td.grad", "4")


def test_a_python_that_dies_is_started_anew(window):
    page = window(mode="python")
    page.expect('[data-player="name"]', "L")
    text = "from minigrad import Value\nfor _ in range(2):\n    b = Value(1.0)\n    "
    page.write(text + "for _ in range(100_000): b = b + 1\n")
    page.page.click('[data-act="run"]')
    page.expect(".error", "too much for Python in a browser")
    page.write("from minigrad import Value\na = Value(2.0)\na*a\n")
    page.page.click('[data-act="run"]')
    page.expect("tbody td.grad", "4")
    assert any("fatal error" in text for text in page.complaints)
    page.complaints.clear()  # that Python says goodbye in its own words


@pytest.mark.parametrize(
    "code", ["overwrite", "set_prev", "missing_seed", "mul_own", "tanh_linear"]
)
def test_the_doctor(window, code):
    page = window(mode="doctor", text=patient(FAULTS[code]))
    page.expect(".remark", "came with a link")
    assert page.text(".report") == ""  # nothing has run
    page.wait(".cm-content")
    page.page.click('[data-act="run"]')
    page.wait('.report[data-exit="1"]')
    assert f"[{code}]" in page.text(".report")
    assert page.page.query_selector(".cm-lint-marker")


@pytest.mark.parametrize("lang", ["en", "es"])
def test_a_lab_broken_and_repaired(window, lang):
    page = window(mode="labs", lang=lang)
    page.page.click('[data-lab="accumulate"]')
    page.wait(".cm-content")
    page.page.fill(".notes", "a will be -6")
    page.page.click('[data-act="lab next"]')
    page.expect("#right > .pad:not([hidden])", "2. ")
    engine = LABS["accumulate"].engine_source(lang)
    page.write(edited(engine, fences(LABS["accumulate"].text(lang), "diff")[0]))
    page.page.click('[data-act="run"]')
    page.wait('[data-state="broken"]')
    page.page.click('[data-act="lab next"]')
    page.write(engine)
    page.page.click('[data-act="run"]')
    page.wait('[data-state="repaired"]')
    page.page.reload()  # how far one is stays in the browser
    page.expect('[data-lab="accumulate"]', {"en": "done", "es": "hecho"}[lang])
    page.page.click('[data-lab="accumulate"]')
    assert page.wait(".notes").input_value() == "a will be -6"


def test_training_xor(window):
    page = window(mode="training")
    page.expect('[data-status="training"]', "0 steps")
    for _ in range(3):
        page.page.click('[data-act="step one"]')
    page.expect('[data-status="training"]', "3 steps")

    def loss():
        return float(re.search(r"loss ([\d.e-]+)", page.text('[data-status="training"]'))[1])

    first = loss()
    page.page.click('[data-act="train"]')
    page.expect('[data-status="training"]', "4 of 4 right")
    page.page.click('[data-act="train"]')
    page.expect('[data-act="train"]', "Train")  # it has come to rest
    assert loss() < first
    page.page.fill('[aria-label="Open step"]', "2")
    page.page.click('[data-act="open step"]')
    page.expect('[data-player="name"]', "loss")


def test_an_exercise(window):
    page = window(mode="exercise")
    page.wait("input[data-unit]")
    text = page.text("h2.mono")
    root = page.page.locator("input[data-unit]").first  # the result
    root.fill("1")
    page.page.click('[data-act="grade"]')
    page.wait('[data-verdict="right"]')
    assert page.page.locator('[data-verdict="empty"]').count() >= 2
    assert re.fullmatch(r"1 of \d right", page.text('[data-status="exercise"]'))
    page.page.click('[data-act="show it"]')
    page.expect('[data-player="count"]', "0 / ")
    assert page.page.input_value("#expression") == text


def test_a_link_leads_to_the_step(window):
    page = diamond(window, step=12, fault="overwrite")
    assert page.player("count").startswith("12 /")
    assert page.page.input_value('[data-player="fault"]') == "overwrite"
    page.page.click('[data-player="back"]')
    page.page.click("#below summary >> nth=1")
    page.page.click('[data-export="link"]')
    link = page.page.input_value(".share")
    other = window(url=link)
    other.expect('[data-player="count"]', "11 /")
    assert other.page.input_value("#expression") == "(a*b + c) * (a - c)"
    assert other.page.input_value('[data-player="fault"]') == "overwrite"


def test_exports(window):
    page = diamond(window)
    page.page.click("#below summary >> nth=1")
    for kind, begins in {"svg": "<svg", "html": "<!doctype html>", "json": "{"}.items():
        with page.page.expect_download() as downloaded:
            page.page.click(f'[data-export="{kind}"]')
        assert downloaded.value.path().read_text(encoding="utf-8").startswith(begins)
    for kind, fragment in {"pytorch": "import torch", "micrograd": "micrograd.engine"}.items():
        page.page.click(f'[data-export="{kind}"]')
        page.wait(".share")
        page.expect("#below .hint", "")
        assert fragment in page.page.input_value(".share")


def test_embedded_twice(window, server):
    page = diamond(window)
    page.page.click("#below summary >> nth=1")
    page.page.click('[data-export="embed"]')
    frame = page.page.input_value(".share")
    text = f'<!doctype html><link rel="icon" href="data:,"><h1>Mine</h1>{frame * 2}'
    both = window(url="about:blank")
    both.page.route(
        "**/mine.html", lambda route: route.fulfill(body=text, content_type="text/html")
    )
    both.page.goto(f"{server.url}mine.html")
    for k in range(2):
        inside = both.page.frame_locator("iframe").nth(k)
        inside.locator('[data-player="count"]').wait_for()
        assert not inside.locator(".left").is_visible()


HOSTILE = [
    {"mode": "expression", "text": "<img src=x onerror=alert(1)>"},
    {"mode": "expression", "text": "a*b", "v.a": "<script>alert(1)</script>"},
    {"mode": "expression", "text": "__import__('os').system('x')"},
    {"mode": "expression", "text": "a", "v.__proto__": "1", "v.constructor": "2"},
    {"mode": "nothing", "text": "a"},
    {"mode": "expression", "text": "a*b", "step": "-1", "fault": "<b>"},
    {"mode": "expression", "text": "x" * 20_000},
]


@pytest.mark.parametrize("fields", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_links(window, fields):
    page = window(**fields)
    page.page.on("dialog", lambda dialog: page.complaints.append("a dialog"))
    page.wait("body[data-ready]")
    page.wait("body[data-answers]")
    assert page.page.query_selector("img") is None


def test_python_reaches_nothing_outside(window):
    """The policy of the page holds in the worker: no other host, no code from a text."""
    page = window(mode="python")
    page.expect('[data-player="name"]', "L")
    page.write(
        "import js\nprint(hasattr(js, 'document'), hasattr(js, 'fetch'))\n"
        "from pyodide.http import pyxhr\n"
        "try:\n    pyxhr.get('https://example.org/')\n    print('out')\n"
        "except BaseException as error:\n    print('kept in')\n"
        "from pyodide.code import run_js\n"
        "try:\n    run_js('1 + 1')\n    print('ran')\n"
        "except BaseException as error:\n    print('not run')\n"
    )
    page.page.click('[data-act="run"]')
    page.expect("pre.code", "False False")
    printed = page.text("pre.code").split("\n")
    assert printed[1:3] == ["kept in", "not run"]
    page.complaints[:] = [text for text in page.complaints if "Content Security Policy" not in text]


def test_spanish_and_dark(window):
    page = diamond(window, lang="es")
    page.expect('[data-mode="expression"]', "Expresión")
    page.expect('[data-player="title"]', "Ya están todos los gradientes")
    page.page.select_option("#lang", "en")
    page.expect('[data-player="title"]', "Every gradient is there")
    assert grads(page) == ["4", "-4", "-12"]
    before = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.page.click("#theme")
    after = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after


def test_the_keyboard_alone(window):
    page = diamond(window)
    page.page.focus('[data-mode="expression"]')
    page.page.keyboard.press("ArrowRight")
    page.wait('[data-mode="python"][aria-selected="true"]')
    page.expect('[data-player="name"]', "L")
    page.page.focus(".cm-content")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Tab")  # the editor keeps nobody
    assert page.page.evaluate("document.activeElement.dataset.act") == "run"


def test_a_phone(window):
    page = diamond(lambda **fields: window(PHONE, **fields))
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    order = [page.page.locator(s).bounding_box()["y"] for s in ("#left", "#right", "#below")]
    assert order == sorted(order)
    for mode in ("python", "doctor", "labs", "training", "exercise"):
        page.page.click(f'[data-mode="{mode}"]')
        page.wait(f'[data-mode="{mode}"][aria-selected="true"]')
        page.page.wait_for_timeout(300)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 390, mode


def test_one_file_from_a_stick(window, tmp_path):
    import minigrad_playground

    path = tmp_path / "playground.html"
    path.write_text(minigrad_playground.single(), encoding="utf-8")
    assert path.stat().st_size < 12_000_000
    page = window(url=path.as_uri() + "#mode=expression&text=a*b&v.a=2&v.b=3")
    page.expect("tbody td.grad", "3")
    assert grads(page) == ["3", "2"]
    page.page.click('[data-mode="python"]')
    page.expect('[data-player="name"]', "L")
