"""Drawings in the page itself: an SVG of ours in `![](…)` is put into the page as it is.

So it follows the theme that a reader has chosen, and its text can be searched and copied. An SVG of
minigrad's has no ids, so that several do not get into each other's way; its own style, which is for
those who show it as a file, is left out, because book.css has the same colours for both themes.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_STYLE = re.compile(r"<style>.*?</style>\s*", re.DOTALL)


def inlined(svg: str, alt: str) -> str:
    """Return a drawing for a page."""
    picture = _STYLE.sub("", svg[svg.index("<svg") :])
    label = escape(alt, quote=True)
    return f'<figure class="mg-drawing" role="img" aria-label="{label}">{picture}</figure>'


class Drawings(SphinxPostTransform):
    """Replace the images whose file is an SVG."""

    default_priority = 100
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Look at all images of a page."""
        for image in [*self.document.findall(nodes.image)]:
            path = Path(self.env.srcdir) / image["uri"]
            if path.suffix == ".svg" and path.is_file():
                text = inlined(path.read_text(encoding="utf-8"), image.get("alt", ""))
                image.parent.replace(image, nodes.raw("", text, format="html"))


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_post_transform(Drawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
