"""What a request may say: its fields, each looked at before it is used."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..core.names import short
from ..expressions import number

TEXT = 200_000  # characters of a program


class RequestError(Exception):
    """A field of a request is missing, or says what it cannot say."""


class Request:
    """A request, field by field."""

    def __init__(self, fields: Any) -> None:
        if not isinstance(fields, dict):
            raise RequestError(f"a request is an object, got {type(fields).__name__}.")
        self._fields = fields

    def has(self, name: str) -> bool:
        """Tell whether a field is there."""
        return name in self._fields

    def text(self, name: str, default: str | None = None, longest: int = TEXT) -> str:
        """Return a text."""
        found = self._fields.get(name, default)
        if not isinstance(found, str):
            raise RequestError(f"{name}: a text is missing.")
        if len(found) > longest:
            raise RequestError(f"{name}: it has {len(found):,} characters; {longest:,} are read.")
        return found

    def choice(self, name: str, known: Collection[str], default: str | None = None) -> str:
        """Return one of several words."""
        found = self._fields.get(name, default)
        if not isinstance(found, str) or found not in known:
            raise RequestError(f"{name}: {short(found)!r} is none of {', '.join(known)}.")
        return found

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number within limits."""
        found = self._fields.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            raise RequestError(f"{name}: give a whole number from {least} to {most}.")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """Return a number: one, or a text for it, such as 1/3 or nan."""
        return as_number(name, self._fields.get(name, default))

    def numbers(self, name: str) -> list[float]:
        """Return a list of numbers; an empty one where there is none."""
        found = self._fields.get(name, [])
        if not isinstance(found, list) or len(found) > 10_000:
            raise RequestError(f"{name}: a list of numbers is missing.")
        return [as_number(name, x) for x in found]

    def named(self, name: str) -> dict[str, Any]:
        """Return an object; an empty one where there is none."""
        found = self._fields.get(name, {})
        if not isinstance(found, dict) or len(found) > 10_000:
            raise RequestError(f"{name}: this should be an object.")
        return found

    def names(self, name: str) -> list[str]:
        """Return a list of texts; an empty one where there is none."""
        found = self._fields.get(name, [])
        if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
            raise RequestError(f"{name}: this should be a list of texts.")
        return found

    @property
    def lang(self) -> str:
        """The language: English, unless Spanish is asked for."""
        return self.choice("lang", ("en", "es"), "en")

    @property
    def way(self) -> str:
        """Which way a picture runs."""
        return self.choice("rankdir", ("LR", "TB"), "LR")


def as_number(name: str, found: Any) -> float:
    """Return what stands for a number, as JSON and people write them."""
    if isinstance(found, str):
        return number(found[:200])
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise RequestError(f"{name}: {short(found)!r} is no number.")
    return float(found)
