"""The exercises of the course, for `minigrad lab`: its commands where a chapter is meant."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import typer

from ..core.names import brief
from ..core.terminal import put, put_json, put_table
from ..lab import exercises
from ..lab.chapters import CHAPTERS, find
from ..lab.grading import Grade
from ..lab.phrases import say
from ..lab.workspace import LabError

WIDTH = 79  # of a hint's lines


def listed(lang: str, as_json: bool) -> None:
    """List the chapters, and how far the learner is in each."""
    begun = exercises.begun()
    states = {name: begun[name][1] if name in begun else "open" for name in CHAPTERS}
    if as_json:
        rows = [(c.name, c.title(lang), states[c.name]) for c in CHAPTERS.values()]
        keys = ("chapter", "title", "state")
        put_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    words = {
        name: "open"
        if name not in begun
        else "answer done"
        if state == "solved"
        else "answer begun"
        for name, state in states.items()
    }
    put(say(lang, "course"))
    put_table(
        (say(lang, "chapter"), say(lang, "chapter about"), say(lang, "how far")),
        [
            (str(c.number), c.title(lang).partition(": ")[2], say(lang, words[c.name]))
            for c in CHAPTERS.values()
        ],
        right=(0,),
    )
    for key, wanted in (("go on with a chapter", "answer begun"), ("start a chapter", "open")):
        for name, word in words.items():
            if word == wanted:
                put(say(lang, key, number=CHAPTERS[name].number))
                return
    put(say(lang, "course done"))


def started(name: str, folder: Path | None, lang: str, force: bool, as_json: bool) -> None:
    """Make the folder of an exercise."""
    chapter = find(name)
    if chapter is None:
        raise LabError(say(lang, "no chapter", name=name, last=len(CHAPTERS)))
    made = exercises.start(chapter, folder, lang=lang, force=force)
    if as_json:
        put_json({"chapter": chapter.name, "folder": str(made), "state": "open"})
        return
    put(say(lang, "chapter made", folder=made))
    put(say(lang, "chapter first", folder=made, number=chapter.number))


def checked(folder: Path | None, lang: str | None, as_json: bool) -> None:
    """Grade an answer: exit code 0 when it is right, 1 when not yet."""
    grade = exercises.check(folder, lang=lang)
    if as_json:
        put_json(grade.as_dict())
    else:
        _tell(grade)
    if not grade.solved:
        raise typer.Exit(1)


def solved(folder: Path | None, lang: str | None, as_json: bool) -> None:
    """Bring a solution, once an answer of the learner's was looked at."""
    found = exercises.solution(folder, lang=lang)
    if as_json:
        file = None if found.file is None else str(found.file)
        put_json({"chapter": found.chapter.name, "solution": file})
    elif found.file is not None:
        put(say(found.lang, "solution", file=found.file))
    else:
        put(say(found.lang, "no solution yet", number=found.chapter.number))
    if found.file is None:
        raise typer.Exit(1)


def _tell(grade: Grade) -> None:
    where, following = grade.lines
    put(where)
    if grade.problem:
        put(f"  {grade.problem}")
    if grade.wrong:
        headings = [say(grade.lang, text) for text in ("number", "yours", "right")]
        rows = [(row.what, _spell(row.yours), _spell(row.right)) for row in grade.wrong]
        put_table(headings, rows, right=(1, 2))
    if grade.hint:
        put(_wrapped(f"{say(grade.lang, 'hint')} {grade.hint}"))
    put(following)


def _wrapped(text: str) -> str:
    """Cut a hint into lines, but not within `code`."""
    whole = re.sub(r"`[^`]+`", lambda code: re.sub(r"\s+", "\0", code[0]), text)
    return textwrap.fill(whole, WIDTH, break_on_hyphens=False).replace("\0", " ")


def _spell(number: float | str | None) -> str:
    if number is None:
        return "—"
    return number if isinstance(number, str) else brief(number, 9)
