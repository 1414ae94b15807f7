"""How sentences are told: in a language, and with the class's own names.

A sentence is written once, in English, with {0} for what is found out; `spanish.py` has each of
them in Spanish. Rows speak of Value, data, grad and backward(), and a reader of their class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LANGUAGES = ("en", "es")
_NAMES = re.compile(r"\bValue(s?)\b|\.(data|grad)\b|(?<![\w.])backward\(\)")


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence and what is told in it; an empty one says nothing."""

    text: str = ""
    told: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)

    def worded(self, lang: str = "en", words: Mapping[str, str] | None = None) -> str:
        """Return it in a language, with the words of a class."""
        text = named(translated(self.text, lang), words or {})
        told = [x.worded(lang, words) if isinstance(x, Said) else x for x in self.told]
        return text.format(*told) if told else text


def said(text: str, *told: Any) -> Said:
    """Say something: braces stand for what is told."""
    return Said(text, told)


def translated(text: str, lang: str) -> str:
    """Return an English sentence in a language."""
    if lang == "en" or not text:
        return text
    from .spanish import SPANISH  # most readers need it not

    return SPANISH[text]


def of_loading(sentence: str, lang: str) -> str:
    """Return what is said of how a file was loaded in a language."""
    if lang == "en":
        return sentence
    from .spanish.loading import in_spanish

    return in_spanish(sentence)


def named(text: str, words: Mapping[str, str]) -> str:
    """Call the class and its parts as its author does."""

    def name(found: re.Match[str]) -> str:
        if found[0].startswith("Value"):
            return _braced(words.get("class", "Value")) + found[1]
        if found[0] == "backward()":
            return _braced(words.get("backward", "backward()"))
        word = words.get(found[2], found[2])
        return f".{word if word.isidentifier() else found[2]}"  # or it is no attribute

    return _NAMES.sub(name, text)


def _braced(word: str) -> str:
    return word.replace("{", "{{").replace("}", "}}")
