"""The playground: the real engine behind a web page, one question at a time.

    answer({"kind": "expression", "text": "a*b", "values": {"a": 2, "b": 3}})

A request is a dict as JSON holds it, and so is the answer; nothing is remembered in between, so a
page can be left, shared and opened again. `answer` never raises for what is in a request: a mistake
is a dict with `error`. There is no DOM here and no network: the same module answers in a browser's
worker (Pyodide), in the local server of `minigrad play` and in the tests.

Start at `KINDS`: a row for each kind of request, each in a module of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..errors import MinigradError
from . import chapters, doctor, exercise, expression, gallery, labs, picture, python, training
from .freeing import release
from .request import Request, RequestError

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
    try:
        asked = Request(request)
        return KINDS[asked.choice("kind", KINDS)](asked)
    except (RequestError, MinigradError) as error:
        return {"error": str(error)}
    except (ValueError, OverflowError, ArithmeticError, RecursionError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        release()


def answer_json(text: str) -> str:
    """Answer a request that is JSON, as JSON: what a worker calls."""
    try:
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        return json.dumps({"error": f"this is not JSON: {error}"})
    return json.dumps(answer(request), allow_nan=False)
