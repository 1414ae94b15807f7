"""What a request may say: kinds of fields, each of which reads one or says what is wrong with it.

`fields.py` has the table: which fields each kind of request has. A field that is wrong is a
`RequestError` that begins with its name; one that nobody knows is wrong, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.names import short
from ..errors import ExpressionError
from ..expression_words import worded
from ..expressions import number
from .words import WORDS, say

TEXT = 200_000  # characters of a program
NEEDED: Any = object()  # the default of a field that must be there


class RequestError(Exception):
    """A field of a request is missing, or says what it cannot say."""


class Request:
    """A request whose fields have been read."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    @property
    def lang(self) -> str:
        """The language: English, unless Spanish is asked for."""
        return str(self["lang"])


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field; a default is what it is where a request has none."""

    default: Any = NEEDED

    def read(self, name: str, found: Any, lang: str) -> Any:
        """Return what a field says, or say what is wrong."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """A text."""

    longest: int = TEXT

    def read(self, name: str, found: Any, lang: str) -> str:
        """Return a text."""
        if not isinstance(found, str):
            raise _wrong(lang, name, "no text field", found=shown(found, lang))
        if len(found) > self.longest:
            count = f"{len(found):,}"
            raise _wrong(lang, name, "long text", count=count, most=f"{self.longest:,}")
        if not found.isascii() and any("\ud800" <= c <= "\udfff" for c in found):
            raise _wrong(lang, name, "no characters")
        return found


@dataclass(frozen=True, kw_only=True)
class Choice(Field):
    """One of several words."""

    known: Collection[str]

    def read(self, name: str, found: Any, lang: str) -> str:
        """Return one of them."""
        if not isinstance(found, str) or found not in self.known:
            what, known = shown(found, lang), ", ".join(self.known)
            raise _wrong(lang, name, "no choice", found=what, known=known)
        return found


@dataclass(frozen=True, kw_only=True)
class Whole(Field):
    """A whole number within limits."""

    least: int
    most: int

    def read(self, name: str, found: Any, lang: str) -> int:
        """Return a whole number."""
        is_whole = isinstance(found, int) and not isinstance(found, bool)
        if not is_whole or not self.least <= found <= self.most:
            what = shown(found, lang)
            raise _wrong(lang, name, "no whole", found=what, least=self.least, most=self.most)
        return int(found)


@dataclass(frozen=True, kw_only=True)
class Number(Field):
    """A number: one, or a text for it, such as 1/3 or nan."""

    is_finite: bool = False
    least: float = -math.inf

    def read(self, name: str, found: Any, lang: str) -> float:
        """Return a number."""
        x = self._read(name, found, lang)
        if self.is_finite and not math.isfinite(x):
            raise _wrong(lang, name, "not finite", found=x)
        if x < self.least:
            raise _wrong(lang, name, "too small", found=x, least=f"{self.least:g}")
        return x

    def _read(self, name: str, found: Any, lang: str) -> float:
        if isinstance(found, str) and len(found) <= 200:
            try:
                return number(found)
            except ExpressionError as error:
                raise RequestError(f"{name}: {worded(error, lang)}") from None
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise _wrong(lang, name, "no number field", found=shown(found, lang))
        try:
            return float(found)
        except OverflowError:
            raise _wrong(lang, name, "too large") from None


@dataclass(frozen=True, kw_only=True)
class Several(Field):
    """A list, every element of which is a field."""

    of: Field
    most: int = 10_000

    def read(self, name: str, found: Any, lang: str) -> list[Any]:
        """Return a list."""
        if not isinstance(found, list):
            raise _wrong(lang, name, "no list", found=shown(found, lang))
        if len(found) > self.most:
            raise _wrong(lang, name, "long list", count=f"{len(found):,}", most=f"{self.most:,}")
        return [self.of.read(f"{name}[{k}]", each, lang) for k, each in enumerate(found)]


@dataclass(frozen=True, kw_only=True)
class Named(Field):
    """An object, everything in which is a field."""

    of: Field
    most: int = 10_000

    def read(self, name: str, found: Any, lang: str) -> dict[str, Any]:
        """Return an object."""
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
            raise _wrong(lang, name, "no object", found=shown(found, lang))
        if len(found) > self.most:
            raise _wrong(lang, name, "long list", count=f"{len(found):,}", most=f"{self.most:,}")
        return {key: self.of.read(f"{name}.{short(key)}", x, lang) for key, x in found.items()}


def read_request(asked: Any, fields_of: Mapping[str, Mapping[str, Field]]) -> tuple[str, Request]:
    """Read a request; return its kind, and its fields with those that it left out."""
    lang = "en"
    if not isinstance(asked, dict):
        raise RequestError(say(lang, "no request", found=shown(asked, lang)))
    lang = Choice(known=WORDS, default="en").read("lang", asked.get("lang", "en"), lang)
    kind = Choice(known=fields_of).read("kind", asked.get("kind"), lang)
    fields = fields_of[kind]
    for name in asked:
        if name not in fields and name not in ("kind", "lang"):
            known = ", ".join(sorted({*fields, "kind", "lang"}))
            raise _wrong(lang, short(name), "no such field", kind=kind, known=known)
    read: dict[str, Any] = {"lang": lang}
    for name, field in fields.items():
        if name in asked:
            read[name] = field.read(name, asked[name], lang)
        elif field.default is NEEDED:
            raise _wrong(lang, name, "field missing", kind=kind)
        else:
            read[name] = field.default
    return kind, Request(read)


def shown(found: Any, lang: str) -> str:
    """Show what was found: a short text or number itself, of all else what kind of thing it is."""
    if isinstance(found, str):
        return repr(short(found))
    if isinstance(found, float) or (isinstance(found, int) and abs(found) < 10**18):
        return short(found)
    kinds = {int: "huge number", list: "a list", dict: "an object", type(None): "nothing"}
    return say(lang, kinds[type(found)]) if type(found) in kinds else type(found).__name__


def _wrong(lang: str, name: str, key: str, **fields: object) -> RequestError:
    return RequestError(f"{name}: {say(lang, key, **fields)}")
