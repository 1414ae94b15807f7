"""Tables that can be read at 80 columns, on every terminal and when somebody pipes them."""

from __future__ import annotations

import textwrap

WIDTH = 80


def print_table(title, columns, lines):
    """Print for people: at once, also when somebody pipes it."""
    said = [*textwrap.wrap(title, WIDTH), *laid_out(columns, list(lines))]
    print("\n".join(["", *said]), flush=True)


def laid_out(columns, lines):
    """Yield the lines of a table: figures are whole, and long texts go on in the next line.

    That is so on every terminal, and when somebody pipes it. A row of two cells has a text for all
    of its figures.
    """
    full = [cells for cells in (columns, *lines) if any(cells[2:])]
    sizes = [max(map(len, column)) for column in list(zip(*full, strict=True))[1:]]
    longest = max(len(cells[0]) for cells in (columns, *lines))
    first = min(longest, WIDTH - sum(sizes) - 2 * len(sizes))
    rule = "-" * (first + sum(sizes) + 2 * len(sizes))
    for cells in (columns, *lines):
        *before, name = textwrap.wrap(cells[0], first) or [""]
        yield from before
        if any(cells[2:]):
            figures = [cell.rjust(size) for cell, size in zip(cells[1:], sizes, strict=True)]
            yield "  ".join([name.ljust(first), *figures]).rstrip()
        else:
            indent = " " * (first + 2)
            yield textwrap.fill(name.ljust(first + 2) + cells[1], WIDTH, subsequent_indent=indent)
        if cells is columns:
            yield rule
