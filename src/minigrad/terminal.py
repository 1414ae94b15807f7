"""Text for terminals and files that cannot show every character: Windows code pages, ASCII.

A character that the encoding lacks is written as something that reads the same, → as ->, rather
than ending the command in a UnicodeEncodeError.
"""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

__all__ = ["put", "show_what_can_be_shown"]

_SPELLINGS = {
    **{"→": "->", "←": "<-", "…": "...", "·": "*", "×": "x", "−": "-", "–": "-", "—": "-"},
    **{"²": "^2", "³": "^3", "√": "sqrt", "Φ": "Phi", "∂": "d", "Σ": "sum", "∞": "inf"},
    **{"≠": "!=", "≤": "<=", "≥": ">=", "≈": "~", "±": "+-"},
    **{"⟨": "<", "⟩": ">", "‘": "'", "’": "'", "“": "'", "”": "'", "«": "'", "»": "'", "¿": ""},
    **{"─": "-", "│": "|", "├": "|", "└": "`"},
}


def show_what_can_be_shown() -> None:
    """Have stdout and stderr spell out what their encoding lacks."""
    codecs.register_error("minigrad.spell", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="minigrad.spell")


def put(text: str, end: str = "\n") -> None:
    """Print now, so that a closed pipe is noticed here; in ASCII where the terminal says so.

    (typer.echo takes a terminal of ASCII for a mistake and writes UTF-8.)
    """
    print(text, end=end, flush=True)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_spell, error.object[error.start : error.end])), error.end


def _spell(character: str) -> str:
    """Write a character in ASCII: by its own spelling, without its accents, or as `?`."""
    if character in _SPELLINGS:
        return _SPELLINGS[character]
    parts = unicodedata.normalize("NFKD", character)
    return "".join(part for part in parts if part.isascii()) or "?"
