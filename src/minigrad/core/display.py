"""What notebooks show: small HTML of texts that are escaped, and in no colour of its own.

Text and lines have the colours of the notebook around them, so they are seen in light and in dark
themes. Pictures have their own paper. Labels are somebody's text and may hold anything: everything
goes by `readable` and `escape` here.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Sequence
from html import escape

from .names import plural, readable

ROWS = 100  # of a table or a text in a notebook: enough to see what it is

# As wide as the cell at most, and never higher than a screen. Some notebooks put an output into a
# frame that grows with what is in it: there a part of the frame's height means nothing, so there
# is a smallest one.
_FITS = "max-width:100%;max-height:clamp(320px,90vh,540px);width:auto;height:auto"

# How pages say that they are dark: JupyterLab and what nbconvert writes, VS Code, Colab, Sphinx.
_DARK_HOSTS = (
    '[data-jp-theme-light="false"],.vscode-dark,.vscode-high-contrast:not(.vscode-high-contrast-light),'
    'html[theme="dark"],[data-theme="dark"]'
)


class Text(str):
    """A text of several lines, which also shows as such where its repr is printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def cut_lines(lines: Sequence[str], most: int, all_of_it: str) -> list[str]:
    """Keep the first lines, and say how many more there are, and where all of them are."""
    if len(lines) <= most:
        return [*lines]
    return [*lines[:most], f"… {plural(len(lines) - most, 'more line')}: {all_of_it}"]


def paragraph(text: str) -> str:
    """Make a line of text."""
    return f"<p>{_safe(text)}</p>"


def preformatted(text: str) -> str:
    """Show lines as they are; long ones are scrolled."""
    lines = cut_lines(text.splitlines(), ROWS, "print it")
    shown = "\n".join(map(_safe, lines))
    return f'<pre style="font-family:monospace;overflow-x:auto">{shown}</pre>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    footer: Sequence[str] = (),
) -> str:
    """Make a table of plain texts; numbers stand on the `right` of their columns."""
    rows = [*rows]
    more = len(rows) - ROWS
    lines = [_row("th", head, right), *(_row("td", row, right) for row in rows[:ROWS])]
    if more > 0:
        lines.append(f'<tr><td colspan="{len(head)}">… {plural(more, "more row")}</td></tr>')
    if footer:
        lines.append(_row("th", footer, right))
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[str], right: Collection[int]) -> str:
    sides = ["right" if k in right else "left" for k in range(len(cells))]
    made = (
        f'<{tag} style="text-align:{side}">{_safe(cell)}</{tag}>'
        for side, cell in zip(sides, cells, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def picture(svg: str, description: str) -> str:
    """Show a drawing, as large as it is or as there is room for, whole and in proportion.

    As an image: it is shown as well where notebooks of strangers are, whose HTML is cleaned of
    drawings, and neither its style nor that of the page reaches the other.
    """
    data = b64encode(svg.encode()).decode()
    return in_hosts_colours(
        f'<img class="minigrad-host" style="{_FITS};color-scheme:light" '
        f'alt="{_safe(description)}" src="data:image/svg+xml;base64,{data}">'
    )


def in_hosts_colours(html: str) -> str:
    """Have elements of the class `minigrad-host` dark where the page around them says it is.

    What is in an image follows the reader's system, unless `color-scheme` tells it otherwise: a
    white notebook would have black pictures. A page that says nothing is taken for white; on a
    dark one a white picture can be read as well.
    """
    is_dark = f":is({_DARK_HOSTS})"
    # A frame can be told by its size alone; see `followTheme` in player.js.
    return (
        f"<style>{is_dark} img.minigrad-host{{color-scheme:dark!important}}"
        f"{is_dark} iframe.minigrad-host{{height:calc(var(--height) + 1px)}}</style>{html}"
    )


def code(text: str) -> str:
    """Show a line as it is written in a program."""
    return f'<div style="font-family:monospace;white-space:pre-wrap">{_safe(text)}</div>'


def _safe(text: str) -> str:
    return escape(readable(text), quote=True)
