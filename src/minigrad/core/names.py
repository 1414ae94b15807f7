"""How nodes and numbers are called in texts, tables and pictures.

A label is the user's text and may hold anything: `readable` makes it safe to print, one line, no
character that moves the cursor or turns the text around, and is the identity on ordinary text.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

PACKAGE = __name__.removesuffix(".core.names")  # `minigrad`, or `src.minigrad` in a checkout
LONGEST = 60  # columns of a name in a picture or among others in a line

_MARKED = 4  # characters to a column at most: accents, vowel signs
_JOINERS = "\u200c\u200d"  # invisible, harmless, and part of words and emoji
_INFIX = frozenset(["+", "-", "*", "/", "**"])


def brief(x: float, digits: int = 5) -> str:
    """Print a number with a few digits: 2, 0.70711, 1e+300, nan. Zero has no sign."""
    return f"{x:.{digits}g}" if x else "0"


def is_ours(module: Any) -> bool:
    """Tell whether a module, by its name, belongs to this package."""
    return str(module) == PACKAGE or str(module).startswith(PACKAGE + ".")


def readable(text: Any) -> str:
    """Show the characters that cannot be seen, or would do harm, by their names.

    Control characters become their pictures (newline ␊, NUL ␀), and what turns text around, is
    invisible or is no character at all its number, as in ⟨U+202E⟩.
    """
    text = str(text)
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    # Cc, Cf, Cs: controls, format characters, surrogates; Zl, Zp: separators; Cn: no characters.
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn") and character not in _JOINERS:
        return f"⟨U+{code:04X}⟩"
    return character


def width_of(text: str) -> int:
    """Count the columns that a text takes in a font of fixed width: wide characters take two."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, longest: int = LONGEST) -> str:
    """Shorten a text to so many columns, with … at its end.

    What comes after them is not looked at, and neither are marks without end on one letter.
    """
    if len(text) <= longest and text.isascii():
        return text
    used = kept = 0
    for k, character in enumerate(text):
        used += _columns(character)
        if used > longest or k >= _MARKED * longest:
            return text[:kept] + "…"
        if used < longest:  # there is room for the … after this character
            kept = k + 1
    return text


def short(text: Any, longest: int = LONGEST) -> str:
    """Show a text as `readable` does, and cut it."""
    return cut(readable(str(text)[: _MARKED * longest + 1]), longest)


class Name(str):
    """A label that a module gave to one of its parameters; one that a user gave is a plain text."""

    __slots__ = ()


def last_part(label: str) -> str:
    """Shorten the label that a module gave, `layer0.neuron2.w1`, to `w1`; others stay whole."""
    return label.rpartition(".")[2] if isinstance(label, Name) else label


def name_of(node: Any, show: Callable[[Any], str] = readable) -> str:
    """Call a node by its label or the call of a module that returned it, else by what it is.

    That is its number, its operation on labels or numbers, `a*b`, or the operation alone.
    """
    if node.label:
        return show(node.label)
    extras = node._extras
    if extras is not None and extras.calls:  # what modules returned: layer0.neuron2
        return show(".".join(call.name for call in reversed(extras.calls)))
    if extras is not None and len(extras.operands) > 3:
        return _operation(node)  # reading all the operands of a long sum would take long
    operands = node._operands
    if not operands:
        return brief(node.data)
    if all(operand.label or not operand._operands for operand in operands):
        return spell(node, [show(x.label) if x.label else brief(x.data) for x in operands])
    return _operation(node)


def parameter_names(values: Iterable[Any]) -> list[str]:
    """Call parameters by their labels, else by their places, `p0`; no name is there twice: `w#2`.

    As they are, for files and dictionaries: whoever prints one shows it by `short`.
    """
    return told_apart(str(value.label) or place_name(k) for k, value in enumerate(values))


def place_name(k: int) -> str:
    """Call a parameter that has no name by its place."""
    return f"p{k}"


def told_apart(names: Iterable[str]) -> list[str]:
    """Number the names that are there more than once: `w`, `w#2`."""
    taken: dict[str, int] = {}  # and how often it was asked for
    for wanted in names:
        name = wanted
        while name in taken:
            taken[wanted] += 1
            name = f"{wanted}#{taken[wanted]}"
        taken[name] = 1
    return list(taken)


def short_name(node: Any) -> str:
    """Call a node in few columns, where many are named or one of them often."""
    return cut(name_of(node, short))


def owner(node: Any) -> str:
    """Call a node as one who has a `.grad`: `a`, `(a*b)`, `(+)`."""
    name = short_name(node)
    return name if node.label else f"({name})"


def spell(node: Any, operands: list[str]) -> str:
    """Write a node's operation on what its operands are called: `a*b`, `tanh(n)`, `2*(-3)`."""
    op = _operation(node)
    if len(operands) == 2 and op in _INFIX:
        return op.join(map(_bracketed, operands))
    if len(operands) == 1 and op.startswith("**"):  # the exponent is part of the op
        return _bracketed(operands[0]) + op
    if len(operands) > 4:
        operands = [*operands[:2], "…", operands[-1]]
    return f"{op}({', '.join(operands)})"


def _operation(node: Any) -> str:
    return short(node._op) or "result"


def _bracketed(name: str) -> str:
    """Put brackets around what an operator could tear apart: `-3`, `a + b`."""
    return name if re.fullmatch(r"[\w.]+(\[[\w']+\])*", name) else f"({name})"


def plural(count: int, one: str, many: str = "", about: str = "about {number} {things}") -> str:
    """Say how many: `1 node`, `2,500 nodes`; beyond sixty digits about how many."""
    if count < 10**60:
        return f"{count:,} {one if count == 1 else many or one + 's'}"
    exponent = math.floor(math.log10(count))
    number = f"{count // 10 ** (exponent - 2) / 100:g}e{exponent}"
    return about.format(number=number, things=many or one + "s")


def json_number(x: float) -> float | str:
    """Return a number as JSON can hold it, which has no inf and nan."""
    return x if math.isfinite(x) else str(x)
