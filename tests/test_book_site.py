"""The site as it was built: its links, and every page of it in a real browser.

At the end of each test in the browser there must be no complaint in the console, which is where a
violated policy would be, and no request to anywhere but the site, from files or from a server.
"""

from __future__ import annotations

import functools
import http.server
import os
import re
import threading
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from books import module
from conftest import absent, oracle

pytestmark = pytest.mark.site
WIDE = {"viewport": {"width": 1280, "height": 860}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
START = 60_000  # ms, for a loaded machine: nothing is measured here


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Both languages, built as `python -m book` does it: a warning ends it."""
    module("players")
    if os.environ.get("MINIGRAD_SITE"):  # one that lies there already, to try a test
        return Path(os.environ["MINIGRAD_SITE"]).resolve()
    target = tmp_path_factory.mktemp("book") / "site"
    module("__main__").build(target, ["en", "es"])
    return target


def pages_of(folder):
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.html"))}


def attributes(text, name):
    return [unescape(found) for found in re.findall(rf'<[^>]*\s{name}="([^"]*)"', text)]


def test_both_languages_have_the_same_addresses(site):
    english, spanish = pages_of(site / "en"), pages_of(site / "es")
    assert english.keys() == spanish.keys()
    assert len(english) > 30
    for name in ("index.html", "howto/nan.html", "ops.html"):
        text = english[name].read_text(encoding="utf-8")
        assert f'href="{"../" * (name.count("/") + 1)}es/{name}"' in text
    front = spanish["index.html"].read_text(encoding="utf-8")
    assert '<html class="no-js" lang="es"' in front
    assert "<span>Siguiente</span>" in front  # the theme's own words, too
    assert "<span>Next</span>" not in front


def test_every_link_leads_somewhere(site):
    ids: dict[Path, set[str]] = {}
    wrong = []
    for lang in ("en", "es"):
        for name, path in pages_of(site / lang).items():
            text = path.read_text(encoding="utf-8")
            ids[path] = {*attributes(text, "id"), "", "top"}
            for link in attributes(text, "href") + attributes(text, "src"):
                if re.match(r"(https?|mailto|data):", link):
                    continue
                address, anchor = urldefrag(link)
                file = (path.parent / unquote(address.partition("?")[0])).resolve()
                file = path if not address else file
                if not file.is_file():
                    wrong.append(f"{lang}/{name}: {link}")
                elif file.suffix == ".html" and file.name != "playground.html":
                    found = ids.get(file) or {*attributes(file.read_text("utf-8"), "id"), "", "top"}
                    ids[file] = found
                    if anchor not in found:
                        wrong.append(f"{lang}/{name}: {link}")
    assert wrong == []


def test_nothing_is_loaded_from_elsewhere(site):
    for lang in ("en", "es"):
        for name, path in pages_of(site / lang).items():
            text = path.read_text(encoding="utf-8")
            loaded = attributes(text, "src") + re.findall(r'<link[^>]*href="([^"]*)"', text)
            assert [one for one in loaded if re.match(r"(https?:)?//", one)] == [], name
            assert "Content-Security-Policy" in text, name


# ---- in a browser --------------------------------------------------------------------------------


class Window:
    """A page, and everything that it complained of or asked for."""

    def __init__(self, context):
        self.page = context.new_page()
        self.page.set_default_timeout(START)
        self.complaints, self.requests = [], []
        self.page.on("console", self.heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def heard(self, message):
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def expect(self, selector):
        api = oracle("playwright.sync_api")
        return api.expect(self.page.locator(selector).first)


@pytest.fixture(scope="module")
def server(site):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(site))
    handler.func.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()


@pytest.fixture
def window(chromium, site, server):
    """Open windows; check at the end that all was quiet, and that nothing came from outside."""
    opened = []

    def show(**context):
        opened.append(Window(chromium.new_context(**{**WIDE, **context})))
        return opened[-1]

    yield show
    for each in opened:
        assert each.complaints == []
        own = (server, site.as_uri(), "blob:", "data:")
        assert [url for url in each.requests if not url.startswith(own)] == []
        each.page.context.close()


@pytest.fixture(params=["file", "http"])
def base(request, site, server):
    return f"{site.as_uri()}/" if request.param == "file" else server


def spanish():
    """Name the pages that are translated."""
    found = module("pages").sources("es")
    return [name for name, path in found.items() if path.name.endswith(".es.md")]


@pytest.mark.browser
@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_page_opens_from_files(window, site, lang):
    shown = window()
    names = [*pages_of(site / lang)]
    if lang == "es":  # the others are the English ones, with a sentence
        translated = {f"{name.removesuffix('.md')}.html" for name in spanish()}
        names = [name for name in names if name in {*translated, "ops.html", "search.html"}]
        assert len(names) > 3
    for name in names:
        shown.page.goto((site / lang / name).as_uri())
        assert shown.page.title()
        assert shown.complaints == [], name


@pytest.mark.browser
def test_the_neuron_plays_and_follows_the_theme(window, base):
    shown = window(color_scheme="light")
    shown.page.goto(f"{base}en/index.html")
    player = shown.page.locator("minigrad-player").first
    count = player.locator('[data-player="count"]')
    api = oracle("playwright.sync_api")
    api.expect(count).to_have_text("9 / 16", timeout=START)
    player.locator('[data-player="forward"]').click()
    api.expect(count).to_have_text("10 / 16", timeout=START)
    assert player.get_attribute("data-theme") == "light"
    paper = "getComputedStyle(document.body).backgroundColor"
    before = shown.page.evaluate(paper)
    for _ in range(2):  # furo goes from the system's theme to light, then to dark
        if shown.page.evaluate("document.body.dataset.theme") != "dark":
            shown.page.locator(".theme-toggle:visible").first.click()
    assert shown.page.evaluate("document.body.dataset.theme") == "dark"
    assert shown.page.evaluate(paper) != before
    assert player.get_attribute("data-theme") == "dark"


@pytest.mark.browser
def test_a_cell_runs_and_can_be_changed(window, site):
    if not (site / "engine.js").is_file():
        absent("the playground is not built; run: python playground/build.py")
    shown = window()
    # From files, which is the harder way; the exercise below is run from a server.
    shown.page.goto((site / "es" / "index.html").as_uri())
    cell = shown.page.locator("minigrad-cell").first
    cell.locator("button.is-main").click()
    shown.expect("minigrad-cell .mg-output").to_have_text("2.0", timeout=START)
    cell.locator("textarea").fill("print('hola')\n1 / 0\n")
    cell.locator("textarea").press("Control+Enter")
    output = shown.expect("minigrad-cell .mg-output")
    output.to_contain_text("línea 2: ZeroDivisionError", timeout=START)
    shown.expect("minigrad-cell .mg-output").to_contain_text("hola")
    cell.locator("textarea").fill("while True: pass")
    cell.locator("button.is-main").click()
    cell.locator("button", has_text="Detener").click()
    shown.expect("minigrad-cell .mg-output").to_have_text("Detenido.", timeout=START)
    cell.locator("button", has_text="Como estaba").click()
    assert cell.locator("textarea").count() == 0


@pytest.mark.browser
def test_an_exercise_is_graded_in_its_page(window, server, site):
    if not (site / "engine.js").is_file():
        absent("the playground is not built; run: python playground/build.py")
    shown = window()
    shown.page.goto(f"{server}es/course/01-derivative.html")
    shown.page.locator("summary", has_text="O hazlo aquí").click()
    cell = shown.page.locator("minigrad-cell[data-chapter='1']")
    output = "minigrad-cell[data-chapter='1'] .mg-output"
    begun = cell.locator("textarea").input_value()
    for line, told in (
        ("return (f(x + h) - f(x - h)) / h", "Pista: De `x - h` a `x + h` el camino no es h"),
        ("return (f(x + h) - f(x - h)) / (2 * h)", "Capítulo 1: resuelto."),
    ):
        written = begun.replace("raise NotImplementedError  # te toca", line)
        cell.locator("textarea").fill(written)
        cell.locator("button.is-main").click()
        shown.expect(output).to_contain_text(told, timeout=START)
    shown.page.goto(f"{server}es/course/12-compiler.html")  # which needs NumPy
    assert shown.page.locator("minigrad-cell[data-chapter]").count() == 0


@pytest.mark.browser
def test_the_search_finds_something(window, base):
    shown = window()
    shown.page.goto(f"{base}en/search.html?q=softplus")
    shown.expect("#search-results li a").to_be_visible(timeout=START)
    shown.page.goto(f"{base}es/search.html?q=hipótesis")
    shown.expect("#search-results li a").to_be_visible(timeout=START)


@pytest.mark.browser
def test_the_contents_show_where_one_is(window, site):
    shown = window()
    shown.page.goto((site / "en" / "design.html").as_uri())
    shown.expect(".sidebar-tree .current-page").to_be_in_viewport(timeout=START)


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_the_screen(window, site, scheme):
    shown = window(**PHONE, color_scheme=scheme)
    for name in ("index", "performance", "howto/nan", "api/values"):
        shown.page.goto((site / "en" / f"{name}.html").as_uri())
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 390, name


@pytest.mark.browser
def test_without_scripts_pictures_and_programs_are_there(window, site):
    shown = window(java_script_enabled=False)
    shown.page.goto((site / "en" / "index.html").as_uri())
    assert shown.page.locator("minigrad-player svg").first.is_visible()
    assert "a.grad" in shown.page.locator(".mg-try").first.text_content()
    assert shown.page.locator(".mg-try button").count() == 0
