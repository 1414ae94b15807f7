"""The exercises of the course in a page: the same probes and hints as `minigrad lab check`."""

from __future__ import annotations

import sys
from typing import Any

from ..core.names import brief
from ..lab.chapters import BY_NUMBER
from ..lab.grading import Grade, grade
from ..lab.measuring import measure
from ..lab.phrases import say
from .request import Request


def checked(request: Request) -> dict[str, Any]:
    """Grade an answer, and say in `printed` what a learner should hear of it."""
    chapter, text = BY_NUMBER[request["chapter"]], request["text"].encode()
    before = sys.modules.get("engine")
    try:
        found = grade(chapter, measure(lambda: text, [str(chapter.probe)]), request.lang)
    finally:
        sys.modules.pop("engine", None)
        if before is not None:
            sys.modules["engine"] = before
    return {**found.as_dict(), "printed": told(found)}


def told(grade: Grade) -> str:
    """Return what `minigrad lab check` prints, without its commands and without a table."""
    right = say(grade.lang, "right")
    lines = [grade.lines[0], grade.problem]
    lines += [
        f"  {row.what}: {_spell(row.yours)}; {right}: {_spell(row.right)}" for row in grade.wrong
    ]
    if grade.hint:
        lines.append(f"{say(grade.lang, 'hint')} {' '.join(grade.hint.split())}")
    return "\n".join(line for line in lines if line) + "\n"


def _spell(number: float | str | None) -> str:
    if number is None:
        return "—"
    return number if isinstance(number, str) else brief(number, 9)
