"""A tape: the entries of a trace (see `entries`), and which of them matter to the outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .entries import ARGMAX, CONSTANT, DOT, INPUT, MAX, SUM, TAKE, Entries

__all__ = ["ARGMAX", "CONSTANT", "DOT", "INPUT", "MAX", "SUM", "TAKE", "Guard", "Tape"]


@dataclass(frozen=True)
class Guard:
    """The program holds only while an entry (later: a slot) has this number."""

    at: int
    number: float
    what: str  # for people: what depends on it, and where


@dataclass
class Tape:
    """What a function did to its inputs."""

    entries: Entries
    arguments: list[int] = field(default_factory=list)  # entries of the arguments, in order
    results: list[int] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    wholes: list[int] = field(default_factory=list)  # arguments used as whole numbers
    operands: Any = None  # first and second of all entries, as they were written
    in_order: bool = False  # whether somebody relies on the order of what was captured

    def __len__(self) -> int:
        return self.entries.count
