"""Code blocks end where their text does; a session in Markdown has an empty line after it."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def trim(app: Any, tree: nodes.document) -> None:
    """Take the empty lines from the ends of code blocks."""
    for block in tree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block.rawsource = text
        block.children = [nodes.Text(text)]


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.connect("doctree-read", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
