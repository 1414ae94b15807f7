"""The table of requests: which fields each kind has, what they may be, and their defaults.

Every field of every request is read by its row here before anything is done with it.
"""

from __future__ import annotations

from typing import Any

from .. import expressions
from ..calculus.faults import FAULTS
from ..lab.chapters import BY_NUMBER
from ..lab.labs import LABS, PAGES
from ..lab.workspace import STATES
from .exercise import LEVELS
from .expression import FORMATS
from .request import Choice, Field, Named, Number, Several, Text, Whole
from .training import GRID, PROBLEMS, STEPS

SEED = 2**53  # the largest whole number that a page can hold

_WAY: dict[str, Field] = {"rankdir": Choice(known=("LR", "TB"), default="LR")}
_PICTURE = {
    **_WAY,
    "faults": Several(of=Choice(known=FAULTS), most=len(FAULTS), default=None),
    "room": Several(of=Number(), default=()),
}
_EXPRESSION = {
    "text": Text(longest=expressions.MAX_LENGTH),
    "values": Named(of=Number(), default={}),
    "remembered": Named(of=Number(), default={}),
}
_EXERCISE = {
    "level": Whole(least=LEVELS[0], most=LEVELS[-1], default=LEVELS[0]),
    "seed": Whole(least=0, most=SEED),
}
_NETWORK = {
    "data": Choice(known=PROBLEMS, default="xor"),
    "seed": Whole(least=0, most=2**32, default=1),
    "parameters": Several(of=Number(), default=()),
}
_LAB = {
    "lab": Choice(known=LABS),
    "state": Choice(known=STATES, default=STATES[0]),
    "pages": Whole(least=1, most=len(PAGES), default=1),
}


class _Answer(Field):
    """What a learner writes into a box: anything; it is graded, and may be no number."""

    def read(self, name: str, found: Any, lang: str) -> str:
        """Return it as a text."""
        if isinstance(found, str):
            return Text(longest=100).read(name, found, lang).strip()
        return repr(Number().read(name, found, lang))


class _Seen(Field):
    """What a probe measured: a number, or the name of an error."""

    def read(self, name: str, found: Any, lang: str) -> Any:
        """Return either."""
        is_error = isinstance(found, str) and found.isidentifier() and found.endswith("Error")
        return found if is_error else Number().read(name, found, lang)


FIELDS: dict[str, dict[str, Field]] = {
    "expression": {
        **_EXPRESSION, **_PICTURE,
        "along": Text(longest=expressions.MAX_LENGTH, default=""),
        "from": Number(is_finite=True, default=-10.0),
        "to": Number(is_finite=True, default=10.0),
    },
    "check": {**_EXPRESSION, **_WAY},
    "export": {**_EXPRESSION, **_WAY, "format": Choice(known=FORMATS)},
    "faults": {**_WAY, "graph": Whole(least=0, most=SEED)},
    "gallery": _WAY,
    "exercise": {**_EXERCISE, **_WAY},
    "grade": {**_EXERCISE, **_WAY, "answers": Named(of=_Answer(), default={})},
    "train": {
        **_NETWORK, **_WAY,
        "rate": Number(is_finite=True, least=0.0, default=None),
        "steps": Whole(least=0, most=STEPS, default=1),
        "grid": Whole(least=0, most=GRID, default=0),
    },
    "train-open": {
        **_NETWORK, **_PICTURE,
        "point": Whole(least=0, most=SEED, default=0),
    },
    "python": {**_PICTURE, "text": Text()},
    "session": {**_WAY, "text": Text()},
    "doctor": {
        **_WAY, "text": Text(), "class": Text(longest=200, default=""),
        "seed": Whole(least=0, most=SEED, default=0),
    },
    "labs": _WAY,
    "chapter-check": {**_WAY, "chapter": Choice(known=BY_NUMBER), "text": Text()},
    "lab": {**_LAB, **_WAY},
    "lab-check": {**_LAB, **_WAY, "text": Text(), "seen": Named(of=Named(of=_Seen()), default={})},
}  # fmt: skip
