"""What goes to a terminal: no character that does something, and none that it cannot show.

Everything that a command prints goes by here, because file names, error messages and source lines
are somebody else's text. `readable` shows the characters that would move the cursor or turn text
around, and what the encoding lacks (Windows code pages, ASCII) is written as something that reads
the same, → as ->, rather than ending the command in a UnicodeEncodeError. Both happen before a
table is laid out, so that its columns stay columns.

Start at `shown`.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, TextIO

from .names import readable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.measure import Measurement
    from rich.table import Table

_SPELLINGS = {
    **{"→": "->", "←": "<-", "↔": "<->", "↦": "|->", "⇒": "=>", "↑": "^", "↓": "v"},
    **{"▸": ">", "▾": "v"},
    **{"…": "...", "·": "*", "⋅": "*", "∙": "*", "•": "*", "×": "x", "÷": "/", "⁄": "/"},
    **{"−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "°": " deg", "′": "'", "″": "''"},
    **{"√": "sqrt", "∂": "d", "∇": "grad", "Σ": "sum", "∑": "sum", "∏": "prod", "∞": "inf"},
    **{"≠": "!=", "≤": "<=", "≥": ">=", "≈": "~", "≡": "==", "±": "+-", "∈": "in"},
    **{"⟨": "<", "⟩": ">", "‘": "'", "’": "'", "“": "'", "”": "'", "«": "'", "»": "'", "„": "'"},
    **{"¿": "", "¡": "", "✓": "ok", "✗": "x", "├": "|", "└": "`", "╱": "/", "╲": "\\", "╳": "x"},
    **{"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l"},
}


def show_what_can_be_shown() -> None:
    """Have stdout and stderr spell out what their encoding lacks, whoever writes to them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="minigrad.spell")


def spell_instead_of_raising() -> None:
    """Have `print(a.explain(L))` work where the output's encoding has no arrow.

    Called when the package is imported. It changes what would raise and nothing else: an output
    that can show our texts, or that somebody has told what to do, stays as it is.
    """
    stream = sys.stdout
    if not isinstance(stream, io.TextIOWrapper) or stream.errors not in _RAISING:
        return
    try:
        "→∂…".encode(stream.encoding)
    except (UnicodeEncodeError, LookupError):
        stream.reconfigure(errors=_RAISING[stream.errors])


def shown(text: str, encoding: str = "utf-8") -> str:
    """Return a text of one or more lines as a terminal of this encoding can show it."""
    visible = "\n".join(map(readable, text.split("\n")))
    return visible.encode(encoding, "minigrad.spell").decode(encoding)


def put(text: str, end: str = "\n", file: TextIO | None = None) -> None:
    """Print now, so that a closed pipe is noticed here; in ASCII where the terminal says so.

    (typer.echo takes a terminal of ASCII for a mistake and writes UTF-8.)
    """
    stream = file or sys.stdout
    print(shown(text, _encoding(stream)), end=end, file=stream, flush=True)


def put_json(document: Any) -> None:
    """Print JSON for a program: in ASCII, and nothing in it does anything to a terminal."""
    put(json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f"))


def put_table(headings: Sequence[str], rows: Iterable[Sequence[str]], **options: Any) -> None:
    """Print a table; the options are those of `table_of`."""
    put_rich(table_of(headings, rows, encoding=_encoding(sys.stdout), **options))


def put_rich(thing: Any) -> None:
    """Print a table, or something else that rich can lay out, as wide as the terminal."""
    from rich.console import Console

    Console(highlight=False, emoji=False).print(thing)


def table_of(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    footers: Sequence[str] = (),
    title: str = "",
    encoding: str = "utf-8",
    styles: Sequence[str] = (),
) -> Table:
    """Make a table for rich of plain texts; numbers stand on the `right` of their columns.

    Nothing is cut where there is little room: texts are folded, numbers have fewer digits.
    """
    from rich.table import Table  # only who asks for a table needs rich
    from rich.text import Text

    def cell(text: str) -> Text:  # not a str, which could hold markup
        return Text(shown(text, encoding))

    table = Table(title=cell(title) if title else None, show_footer=bool(footers))
    for k, heading in enumerate(headings):
        footer = cell(footers[k]) if footers else ""
        justify: Literal["left", "right"] = "right" if k in right else "left"
        table.add_column(cell(heading), footer, justify=justify, overflow="fold")
    for row, style in zip_longest(rows, styles):
        cells = [_Number(x) if k in right and _is_number(x) else cell(x) for k, x in enumerate(row)]
        table.add_row(*cells, style=style)
    return table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class _Number:
    """A number in a table, with as many digits as there is room for: 1.5e-07 must not end at e."""

    NARROW = 9  # columns, for three digits: -1.23e-05

    def __init__(self, text: str) -> None:
        self._text = text

    def fitting(self, width: int) -> str:
        """Return it with the most digits that fit, or with one."""
        texts = (f"{float(self._text):.{digits}g}" for digits in range(16, 0, -1))
        all_of_it = [self._text, *texts]
        return next((text for text in all_of_it if len(text) <= width), all_of_it[-1])

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        from rich.measure import Measurement

        return Measurement(len(self.fitting(self.NARROW)), len(self._text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text(self.fitting(options.max_width))


# ---- spelling ---------------------------------------------------------------------------------


def _encoding(stream: TextIO) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = "".join(map(_spell, error.object[error.start : error.end]))
    return re.sub(r"(?<=\d)\^(?=\d)", "", text), error.end  # ⁵³ is one exponent


def _spelled_but_bytes(error: UnicodeError) -> Any:
    """The same, but for the bytes of file names, which go back to where they came from."""
    assert isinstance(error, UnicodeEncodeError)
    if "\udc80" <= error.object[error.start] <= "\udcff":
        one = UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, "")
        return codecs.lookup_error("surrogateescape")(one)
    return _spell(error.object[error.start]), error.start + 1


codecs.register_error("minigrad.spell", _spelled)
codecs.register_error("minigrad.spell_but_bytes", _spelled_but_bytes)
# What an output does that raises (the second in the C locale), and what it does then.
_RAISING = {"strict": "minigrad.spell", "surrogateescape": "minigrad.spell_but_bytes"}


def _spell(character: str) -> str:
    """Write a character in ASCII: by its own spelling, without its accents, or by its number."""
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    code = ord(character)
    if 0x2400 <= code <= 0x2421:  # pictures of control characters, as `readable` draws them
        return f"\\x{0x7F if code == 0x2421 else code - 0x2400:02x}"
    if 0x2500 <= code <= 0x257F:
        return _spell_line(unicodedata.name(character))
    name = unicodedata.name(character, "")
    greek = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", name)
    if greek:
        letter = greek[2].lower().replace("lamda", "lambda")
        return letter if greek[1] == "SMALL" else letter.capitalize()
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # accents, joiners
        return ""
    parts = unicodedata.normalize("NFKD", character)
    if parts == character:
        return f"<U+{code:04X}>"
    raised = "^" if unicodedata.decomposition(character).startswith("<super>") else ""
    return raised + "".join(part if part.isascii() else _spell(part) for part in parts)


def _spell_line(name: str) -> str:
    """Write a piece of a box or of a tree as -, | or +."""
    directions = {"HORIZONTAL": "-", "LEFT": "-", "RIGHT": "-"}
    directions |= {"VERTICAL": "|", "UP": "|", "DOWN": "|"}
    found = {directions[word] for word in re.findall(r"\w+", name) if word in directions}
    return found.pop() if len(found) == 1 else "+"
