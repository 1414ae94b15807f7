"""What a function reads besides its arguments: globals, closures, defaults, attributes.

Values among them are inputs of the program, read afresh at each call. Everything else is frozen
into the program, so it must still be the same at the next call: an `Environment` knows what was
there. It follows the names in the function's code, and in the code of the functions that it calls,
as far as they are the user's own; containers and attributes are looked into (`search.py`). Of an
object's attributes only those matter whose names the code mentions: a list of losses that grows
beside a compiled method is nobody's business, unless the code can reach it by other means (`vars`,
`getattr`).
"""

from __future__ import annotations

import builtins
import pickle
import random
import sys
import threading
from collections.abc import Callable, Sequence
from types import CellType, ModuleType
from typing import Any

import numpy as np

from ...core.names import is_ours
from ...core.turns import forked
from .builtins import stands_in
from .places import MISSING, RESULTS, Kind, Place, is_same
from .search import Search
from .unchanged import first_changed, first_moved


class Environment:
    """Names and other places, and what was there."""

    def __init__(self) -> None:
        # Lists side by side, for `quick`: where a name is looked up, the name, what it meant.
        self.spaces: list[dict[str, Any]] = []
        self.words: list[str] = []
        self.meant: list[Any] = []
        # The same for places: how to compare, what, and what was there.
        self.ways = b""
        self.things: list[Any] = []
        self.contents: list[Any] = []
        self.places: list[Place] = []
        self.dice: list[Any] = []  # random generators
        self.mentioned: frozenset[str] | None = None  # attributes that matter; None: all
        self.cannot_follow: list[str] = []  # what is in reach, but changes as it likes
        self.search: Search | None = None  # as long as modules are missing that the code imports
        self.may_draw = True  # from the generators that everybody shares

    def changed(self) -> str | None:
        """Name something that is not what it was, or return None."""
        if self.search is not None and not self.search.late.isdisjoint(sys.modules):
            with _arriving:
                self.search.arrivals()
                self.finish(self.search)
        at = first_moved(self.spaces, self.words, self.meant, MISSING, 0)
        while at >= 0:
            now = self.spaces[at].get(self.words[at], MISSING)
            if is_same(now, self.meant[at]):
                self.meant[at] = now
            elif not stands_in(now):  # for a built-in, while another thread traces
                return self.words[at]
            at = first_moved(self.spaces, self.words, self.meant, MISSING, at + 1)
        at = first_changed(self.ways, self.things, self.contents, 0)
        while at >= 0:
            content = self.places[at].holds(self.mentioned)
            if content is None:
                return self.places[at].name
            self.contents[at] = content  # what does not matter need not be told apart again
            at = first_changed(self.ways, self.things, self.contents, at + 1)
        return None

    def filled(self) -> str | None:
        """Name a cache in which there is more than there was, or return None."""
        caches = (place for place in self.places if place.kind is RESULTS or place.filled)
        return next((place.name for place in caches if place.has_filled_up()), None)

    def watched(self) -> list[str]:
        """List the names, sorted."""
        known = {
            word
            for space, word, value in zip(self.spaces, self.words, self.meant, strict=True)
            if not is_ours(space.get("__name__")) and space is not vars(builtins)
            if value is not MISSING and not issubclass(type(value), ModuleType)
        }
        cells = {place.name for place in self.places if type(place.thing) is CellType}
        return sorted(known | cells)

    def thrown(self) -> bytes:
        """Tell the state of everything that random numbers may come from."""
        common = (random, np.random) if self.may_draw else ()  # other threads draw from them too
        return pickle.dumps([_state(die) for die in (*common, *self.dice)])

    # ---- for the search -------------------------------------------------------------------------

    def mean(self, space: dict[str, Any], word: str, value: Any) -> None:
        """Remember what a word means."""
        self.spaces.append(space)
        self.words.append(word)
        self.meant.append(value)

    def contain(self, kind: Kind, thing: Any, name: str, extra: set[str] | None = None) -> Place:
        """Remember what lies in a place."""
        place = Place(kind, thing, name, extra)
        self.places.append(place)
        self.things.append(thing)
        self.contents.append(place.quick())
        return place

    def finish(self, search: Search) -> None:
        """Take over what the search has found out."""
        self.ways = "".join([place.kind.way for place in self.places]).encode()
        self.mentioned = search.matter()
        self.may_draw = search.may_draw()
        self.cannot_follow = sorted(search.outside)
        self.search = search if search.late else None


_arriving = forked(threading.RLock())


def _state(die: Any) -> Any:
    if isinstance(die, np.random.Generator):
        return die.bit_generator.state
    return die.getstate() if hasattr(die, "getstate") else die.get_state()


def environment_of(function: Callable[..., Any], arguments: Sequence[Any] = ()) -> Environment:
    """Look at everything that a function may read; also in objects that it gets as arguments."""
    found = Environment()
    search = Search(found)
    search.start(function, getattr(function, "__name__", "the function"))
    for argument in arguments:
        search.thing(argument, f"an argument, a {type(argument).__name__},")
    search.follow()
    found.finish(search)
    return found
