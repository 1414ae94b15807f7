"""Sphinx's settings; `python -m book` calls Sphinx with the language as a tag."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from book.pages import LANGUAGES
from minigrad.version import __version__

project = "minigrad"
author = "the minigrad authors"
copyright = "the minigrad authors, MIT licence"  # noqa: A001 - Sphinx's name
version = release = __version__
language = os.environ.get("MINIGRAD_BOOK_LANGUAGE", "en")

extensions = [
    "myst_parser",
    "book.players",
    "book.cells",
    "book.questions",
    "book.mathematics",
    "book.plots",
    "book.measured",
    "book.blocks",
    "book.drawings",
    "book.policy",
    "book.phrases",
]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True
smartquotes = False  # in code and mathematics quotes are what they are
highlight_language = "python"
pygments_style, pygments_dark_style = "default", "monokai"

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
# `site:` is an address within the site that is no page of this build.
myst_url_schemes = {"http": None, "https": None, "mailto": None, "site": "{{path}}"}

html_theme = "furo"
html_title = "minigrad"
html_favicon = "static/icon.svg"
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["drawings.css", "book.css"]
html_js_files = [("words.js", {"defer": "defer"}), ("book.js", {"defer": "defer"})]
html_math_renderer = "mathml"
html_copy_source = False
html_show_search_summary = False  # it asks for pages, which no page from file:// may do
html_show_sphinx = False
html_show_copyright = False
html_permalinks_icon = "#"
html_context = {"languages": LANGUAGES}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00558a", "color-brand-content": "#00558a"},
    "dark_css_variables": {"color-brand-primary": "#86c9f4", "color-brand-content": "#86c9f4"},
}
