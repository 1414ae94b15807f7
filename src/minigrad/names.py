"""How nodes and numbers are called in texts, tables and pictures.

A label is the user's text and may hold anything: `readable` makes it safe to print, one line, no
character that moves the cursor or turns the text around, and is the identity on ordinary text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

__all__ = ["brief", "json_number", "name_of", "owner", "plural", "readable", "spell", "width_of"]

_JOINERS = "\u200c\u200d"  # invisible, harmless, and part of words and emoji
_INFIX = frozenset(["+", "-", "*", "/", "**"])


def brief(x: float, digits: int = 5) -> str:
    """Print a number with a few digits: 2, 0.70711, 1e+300, nan. Zero has no sign."""
    return f"{x:.{digits}g}" if x else "0"


def readable(text: Any) -> str:
    """Show the characters that cannot be seen, or would do harm, by their names.

    Control characters become their pictures (newline ␊, NUL ␀), and what turns text around, is
    invisible or is no character at all its number, as in ⟨U+202E⟩.
    """
    return "".join(map(_visible, str(text)))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    # Cc, Cf, Cs: controls, format characters, surrogates; Zl, Zp: separators; Cn: no characters.
    kind = unicodedata.category(character)
    if kind in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn") and character not in _JOINERS:
        return f"⟨U+{code:04X}⟩"
    return character


def width_of(text: str) -> int:
    """Count the columns that a text takes in a font of fixed width: wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def name_of(node: Any) -> str:
    """Call a node by its label, else by its number, by `a*b`, or by its operation."""
    if node.label:
        return readable(node.label)
    op = readable(node._op) or "result"
    rare = node._rare
    if rare is not None and len(rare.operands) > 3:
        return op  # a long sum; reading all its operands for every mention of it would take long
    operands = node._operands
    if not operands:
        return brief(node.data)
    if all(operand.label or not operand._operands for operand in operands):
        return spell(node, [readable(x.label) if x.label else brief(x.data) for x in operands])
    return op


def owner(node: Any) -> str:
    """Call a node as one who has a `.grad`: `a`, `(a*b)`, `(+)`."""
    name = name_of(node)
    return name if node.label else f"({name})"


def spell(node: Any, operands: list[str]) -> str:
    """Write a node's operation on what its operands are called: `a*b`, `tanh(n)`, `2*(-3)`."""
    op = readable(node._op) or "result"
    if len(operands) == 2 and op in _INFIX:
        return op.join(map(_bracketed, operands))
    if len(operands) == 1 and op.startswith("**"):  # the exponent is part of the op
        return _bracketed(operands[0]) + op
    if len(operands) > 4:
        operands = [*operands[:2], "…", operands[-1]]
    return f"{op}({', '.join(operands)})"


def _bracketed(name: str) -> str:
    """Put brackets around what an operator could tear apart: `-3`, `a + b`."""
    return name if re.fullmatch(r"[\w.]+", name) else f"({name})"


def plural(count: int, one: str, many: str = "") -> str:
    """Say how many: `1 node`, `2,500 nodes`; beyond sixty digits about how many."""
    if count < 10**60:
        return f"{count:,} {one if count == 1 else many or one + 's'}"
    exponent = math.floor(math.log10(count))
    return f"about {count // 10 ** (exponent - 2) / 100:g}e{exponent} {many or one + 's'}"


def json_number(x: float) -> float | str:
    """Return a number as JSON can hold it, which has no inf and nan."""
    return x if math.isfinite(x) else str(x)
