"""Take screenshots of six graphs, to look at after a change of drawings or of the player.

`python docs/screenshots.py FOLDER` writes each graph as a page, on a phone and in a notebook that
nbconvert has run and exported, light and dark. Needs the `browser` extra, nbconvert and a Chromium.
The pictures that the documents show are made by docs/generate.py.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the lessons' graphs, which the tests draw too

import pictures  # noqa: E402

from minigrad import to_html  # noqa: E402

SIZES = {"page": (1200, 700), "phone": (390, 844), "notebook": (1000, 900)}
SCHEMES = ("light", "dark")
NOTEBOOK = """import sys
sys.path.insert(0, {tests!r})
import pictures
root = pictures.{name}()
root.backward()
root"""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the browser that screenshots are taken with."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("MINIGRAD_BROWSER") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def window_of(browser: Any, kind: str, scheme: str) -> Any:
    """Open a window as large as what is to be looked at."""
    width, height = SIZES[kind]
    touch = {"has_touch": True, "is_mobile": True} if kind == "phone" else {}
    size = {"width": width, "height": height}
    return browser.new_context(viewport=size, color_scheme=scheme, **touch).new_page()


def exported(name: str, temporary: Path) -> Path:
    """Run a notebook that shows the graph, and export it as a page."""
    import nbformat
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import ExecutePreprocessor

    source = NOTEBOOK.format(tests=str(ROOT / "tests"), name=name)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    ExecutePreprocessor(timeout=120).preprocess(notebook, {"metadata": {"path": str(temporary)}})
    text, _ = HTMLExporter().from_notebook_node(notebook)
    (temporary / "notebook.html").write_text(text, encoding="utf-8")
    return temporary / "notebook.html"


def photograph(folder: Path) -> None:
    """Take all of them."""
    with chromium() as browser, tempfile.TemporaryDirectory() as name_of_folder:
        temporary = Path(name_of_folder)
        for name in pictures.LOOKED_AT:
            root = getattr(pictures, name)()
            to_html(root, temporary / "play.html", force=True)
            pages = {"page": temporary / "play.html", "phone": temporary / "play.html"}
            pages["notebook"] = exported(name, temporary)
            for kind, path in pages.items():
                for scheme in SCHEMES:
                    window = window_of(browser, kind, scheme)
                    window.goto(path.as_uri())
                    if kind != "notebook":
                        window.wait_for_selector("main[data-ready=yes]")
                    window.screenshot(path=folder / f"{name}-{kind}-{scheme}.png")
                    window.context.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    wanted = parser.parse_args().folder
    wanted.mkdir(parents=True, exist_ok=True)
    photograph(wanted)
