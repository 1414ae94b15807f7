"""The modules of the site, for tests: they need Sphinx, which not everybody has."""

from __future__ import annotations

import importlib
import io
import sys
from pathlib import Path

from conftest import oracle

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

DIRECTIVES = ["myst_parser", "book.players", "book.cells", "book.questions", "book.mathematics"]
SETTINGS = {
    "extensions": DIRECTIVES,
    "myst_enable_extensions": ["colon_fence", "dollarmath"],
    "html_math_renderer": "mathml",
    "html_theme": "basic",
    "html_use_index": False,
    "html_copy_source": False,
}


def module(name):
    """Import a module of the site, or skip."""
    for needed in ("sphinx", "myst_parser", "furo"):
        oracle(needed)
    return importlib.import_module(f"book.{name}")


def page(text, tmp_path, **settings):
    """Return what a page of Markdown becomes, and what Sphinx had to say about it."""
    module("players")
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    source = tmp_path / "source"
    source.mkdir(exist_ok=True)
    (source / "index.md").write_text(f"# A page\n\n{text}\n", encoding="utf-8")
    warned = io.StringIO()
    with patch_docutils(), docutils_namespace():
        site = Sphinx(
            source, None, tmp_path / "out", tmp_path / "trees", "html",
            confoverrides={**SETTINGS, **settings}, status=None, warning=warned, freshenv=True,
        )  # fmt: skip
        site.build()
    html = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    return html, warned.getvalue()
