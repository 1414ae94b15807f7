"""What an answer to a chapter's exercise is worth: by what was measured, and with a hint.

    grade(chapter, answer, "en").state      "open", "failed", "wrong" or "solved"

`answer` is what `measuring.py` says, in the sandbox or in this process. A typical mistake is known
by its numbers: the first row of the probe's MISTAKES whose numbers are all there gives the hint. An
experiment that raised counts as one whose `error` is the kind of the exception; some kinds tell in
any chapter what went wrong, and give the hint where no row does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..core.names import json_number
from .chapters import CHAPTERS, Chapter
from .labs import Measured, Number, differences
from .phrases import say
from .spanish import number_in

STATES = ("open", "failed", "wrong", "solved")
_KINDS = (
    (r"'NoneType' object is not callable", "NoneCalled"),
    (r"NoneType", "None"),
    (r"not '?Value\b|a Value is not a float", "Value"),
)
OF_EVERY_CHAPTER = ("None", "NoneCalled", "Value", "NameError", "RecursionError")  # "hint None"


@dataclass(frozen=True)
class Wrong:
    """A number that is not as it should be."""

    what: str
    yours: Number | None  # None: it could not be measured
    right: Number

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {k: json_number(x) if isinstance(x, float) else x for k, x in vars(self).items()}


@dataclass(frozen=True)
class Grade:
    """How far an answer is, and what helps."""

    chapter: Chapter
    lang: str
    state: str
    problem: str = ""  # what was raised, and in which line
    hint: str = ""
    mistake: str = ""  # the name of the one that was recognised
    wrong: tuple[Wrong, ...] = ()
    count: int = 0  # of numbers, right and wrong

    @property
    def solved(self) -> bool:
        """Whether there is nothing left to do."""
        return self.state == "solved"

    @property
    def lines(self) -> tuple[str, str]:
        """What to tell the learner: where they are, and what is next."""
        number, folder = self.chapter.number, self.chapter.folder
        fields = {"number": number, "wrong": len(self.wrong), "count": self.count}
        where = say(self.lang, f"answer {self.state}", **fields)
        after = f"answer {self.state}{' last' * (self.solved and number == len(CHAPTERS))}"
        return where, say(
            self.lang, f"{after} next", number=number, folder=folder, after=number + 1
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "chapter": self.chapter.name,
            "state": self.state,
            "solved": self.solved,
            "problem": self.problem,
            "hint": self.hint,
            "mistake": self.mistake,
            "wrong": [row.as_dict() for row in self.wrong],
            "count": self.count,
            "message": " ".join(self.lines),
        }


def grade(chapter: Chapter, answer: dict[str, Any], lang: str = "en") -> Grade:
    """Grade what was measured of an answer."""
    failed: dict[str, str] = answer["failed"]
    if "engine.py" in failed:
        return Grade(chapter, lang, "failed", _located(failed["engine.py"], lang))
    waiting = [text for text in failed.values() if text.startswith("NotImplementedError")]
    if waiting:
        return Grade(chapter, lang, "open", _lines(waiting, lang))
    errors = {name: {"error": kind(text)} for name, text in failed.items()}
    measured: Measured = answer["measured"] | errors
    wrong = tuple(
        Wrong(number_in(key, lang), measured.get(name, {}).get(key), chapter.right[name][key])
        for name, key in differences(measured, chapter.right)
    )
    count = sum(map(len, chapter.right.values()))
    if not wrong:
        return Grade(chapter, lang, "solved", count=count)
    error = next(iter(failed.values()), "")
    mistake = recognised(chapter, measured)
    hint = chapter.hints(lang)[mistake or "otherwise"]
    if not mistake and kind(error) in OF_EVERY_CHAPTER:
        hint = say(lang, f"hint {kind(error)}")
    problem = _located(error, lang)
    return Grade(chapter, lang, "wrong", problem, hint, mistake, wrong, count)


def recognised(chapter: Chapter, measured: Measured) -> str:
    """Name the first mistake whose numbers are those measured; "" if there is none."""
    for name, shows in chapter.mistakes.items():
        if not differences(measured, shows):
            return name
    return ""


def kind(error: str) -> str:
    """Say what kind of mistake an exception is: its name, or what tells more than that."""
    for pattern, name in _KINDS:
        if re.search(pattern, error):
            return name
    return error.partition(":")[0]


def _located(text: str, lang: str) -> str:
    missing = re.match(r"ImportError: cannot import name '(\w+)' from 'engine'", text)
    if missing:
        return say(lang, "name missing", name=missing[1])
    return text.replace("(engine.py, line ", say(lang, "in line"))


def _lines(waiting: list[str], lang: str) -> str:
    """Say which lines are still to be written."""
    numbers = sorted({int(n) for text in waiting for n in re.findall(r"line (\d+)\)", text)})
    if not numbers:
        return ""
    return say(lang, "still open", lines=", ".join(map(str, numbers)))
