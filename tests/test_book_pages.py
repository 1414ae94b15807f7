"""Which file is which page: translations, links that leave docs/, and an order with all of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from book import pages  # noqa: E402


def test_every_page_is_in_the_contents_once():
    every = pages.sources("en")
    listed = [name for section in pages.SECTIONS for name in pages.listed(section, set(every))]
    assert sorted([*listed, "index"]) == sorted(name.removesuffix(".md") for name in every)


def test_a_translation_has_the_address_of_its_page_and_others_fall_back():
    english, spanish = pages.sources("en"), pages.sources("es")
    assert english.keys() == spanish.keys()
    assert spanish["labs.md"].name == "labs.es.md"
    assert english["labs.md"].name == "labs.md"
    assert spanish["ops.md"] == english["ops.md"]
    assert pages.NOT_TRANSLATED in pages.text_of(spanish["ops.md"], "ops.md", "es")
    assert pages.NOT_TRANSLATED not in pages.text_of(spanish["labs.md"], "labs.md", "es")
    assert pages.NOT_TRANSLATED not in pages.text_of(english["ops.md"], "ops.md", "en")


@pytest.mark.parametrize(
    ("page", "file", "written", "becomes"),
    [
        ("design.md", "design.md", "../CONTRIBUTING.md#x", "contributing.md#x"),
        ("howto/a.md", "howto/a.md", "../../examples/moons.py", "../examples/moons.md"),
        ("howto/a.md", "howto/a.md", "../ops.md", "../ops.md"),
        ("index.md", "index.md", "../README.md", "index.md"),
        ("labs.md", "labs.md", "labs.es.md", "site:../es/labs.html"),
        ("howto/a.md", "howto/a.md", "../labs.es.md", "site:../../es/labs.html"),
        ("labs.md", "labs.es.md", "seeing.md", "seeing.md"),
        ("contributing.md", "../CONTRIBUTING.md", "docs/design.md", "design.md"),
        ("ops.md", "ops.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("ops.md", "ops.md", "pictures/a.svg", "pictures/a.svg"),
    ],
)
def test_where_links_go(page, file, written, becomes):
    text = f"[a]({written}) and ![b]({written})\n\n```sh\n[a]({written})\n```\n"
    found = pages._redirected(text, pages.DOCS / file, page)
    wanted = f"[a]({becomes}) and ![b]({becomes})\n\n```sh\n[a]({written})\n```\n"
    assert found == wanted


def test_what_a_page_needs_is_said_once():
    text = "<!-- needs jax -->\n```python\na\n```\n\n<!-- needs jax optax -->\n```python\nb\n```\n"
    text += "<!-- needs jax -->\n"
    told = pages._told_what_is_needed(text, "es")
    assert told.count("*Si `jax` está instalado:*\n\n```python\na\n") == 1
    assert told.count("*Si `optax` está instalado:*\n\n```python\nb\n") == 1
    assert told.endswith("<!-- needs jax -->\n")


def test_examples_are_pages_that_show_them_whole():
    path = ROOT / "examples" / "moons.py"
    assert path.read_text() in pages.text_of(path, "examples/moons.md", "en")


def test_what_was_staged_follows_the_sources(tmp_path):
    pages.stage("en", tmp_path)
    (tmp_path / "old.md").write_text("# Gone")
    before = (tmp_path / "ops.md").stat().st_mtime_ns
    pages.stage("en", tmp_path)
    assert not (tmp_path / "old.md").exists()
    assert (tmp_path / "ops.md").stat().st_mtime_ns == before  # Sphinx need not read it again
    assert (tmp_path / "pictures" / "neuron.svg").is_file()
    text = (tmp_path / "index.md").read_text()
    assert len(re.findall(r"^```\{toctree\}", text, re.M)) >= 4
