"""Mathematics as MathML, by docutils: browsers show it themselves, with no script and no font."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def mathml(text: str, *, is_block: bool = False) -> str:
    """Return a formula of LaTeX's as MathML; docutils raises for what it does not know."""
    tree = latex2mathml.tex2mathml(text, as_block=is_block)
    return str(tree)


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    self.body.append(f'<div class="mg-math">{mathml(node.astext(), is_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
