"""The playground: the real engine behind a web page, one question at a time.

    answer({"kind": "expression", "text": "a*b", "values": {"a": 2, "b": 3}})

A request is a dict as JSON holds it, and so is the answer; nothing is remembered in between, so a
page can be left, shared and opened again. `answer` never raises for what is in a request: a mistake
is a dict with `error`. There is no DOM here and no network: the same module answers in a browser's
worker (Pyodide), in the local server of `minigrad play` and in the tests.

Start at `KINDS`: a row for each kind of request, each in a module of its own; `fields.py` has the
fields of each.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from ..errors import MinigradError
from ..expression_words import worded
from . import chapters, doctor, exercise, expression, gallery, labs, picture, python, training
from .fields import FIELDS
from .freeing import release
from .request import Request, RequestError, read_request
from .words import say

__all__ = ["KINDS", "SAFE", "answer", "answer_json"]

Answer = dict[str, Any]

KINDS: dict[str, Callable[[Request], Answer]] = {
    "expression": expression.shown,
    "check": expression.checked,
    "export": expression.exported,
    "faults": picture.broken,
    "gallery": gallery.listed,
    "exercise": exercise.posed,
    "grade": exercise.graded,
    "train": training.trained,
    "train-open": training.opened,
    "python": python.run,
    "session": python.session,
    "doctor": doctor.diagnosed,
    "labs": labs.listed,
    "lab": labs.opened,
    "lab-check": labs.checked,
    "chapter-check": chapters.checked,
}
# What is about an expression, and runs nothing but that language: all that a server answers.
SAFE = frozenset({"expression", "check", "export"})


def answer(request: Any) -> Answer:
    """Answer a request; a mistake in it becomes `{"error": …}`, with its line if it has one."""
    lang, limit = "en", sys.getrecursionlimit()  # which a program may have changed
    try:
        kind, asked = read_request(request, FIELDS)
        lang = asked.lang
        return KINDS[kind](asked)
    except (RequestError, MinigradError) as error:
        return {"error": worded(error, lang)}
    except (RecursionError, MemoryError):
        return {"error": say(lang, "too much")}
    except (ValueError, ArithmeticError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        sys.setrecursionlimit(limit)
        release()


def _whole(digits: str) -> int:
    """Read a whole number; one that is too long for any field is only known to be so."""
    return int(digits) if len(digits) < 1_000 else 10**1_000


def answer_json(text: str) -> str:
    """Answer a request that is JSON, as JSON: what a worker calls."""
    try:
        request = json.loads(text, parse_int=_whole)
    except RecursionError:
        return json.dumps({"error": say("en", "nested")})
    except ValueError as error:
        return json.dumps({"error": f"this is not JSON: {error}"})
    return json.dumps(answer(request), allow_nan=False)
