"""The folder of a chapter's exercise: engine.py with a part to write, and EXERCISE.md, the task.

    path = start(find("5"))         chapter-05, in the folder where you are
    check(path).state               "open", "wrong" with a hint, "solved"
    solution(path)                  solution.py, once an answer has been looked at
    reset(path)                     engine.py as it was; the learner's own is kept

As in the labs, the learner's file runs in the sandbox only, and no file of theirs is lost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from ..check.doctor.sandbox import run_apart
from ..core.files import write_atomically
from .chapters import CHAPTERS, Chapter, find
from .grading import STATES, Grade, grade
from .labs import LANGUAGES
from .phrases import say
from .workspace import BYTES, SECONDS, TASK, LabError, Restored, checked_language, write_and_keep
from .workspace import MEMORY as MEMORY_OF_A_LAB

MEMORY = ".chapter.json"


class Memory(NamedTuple):
    """What a folder remembers."""

    chapter: Chapter
    lang: str
    state: str
    tries: int  # how many answers were looked at


def is_meant(folder: str | Path | None) -> bool:
    """Whether somebody who names this, or nothing, means an exercise and not a lab."""
    if folder is not None:
        return find(str(folder)) is not None or (Path(folder) / MEMORY).is_file()
    if (Path() / MEMORY_OF_A_LAB).is_file():
        return False
    return (Path() / MEMORY).is_file() or (bool(_nearby()) and not any(_labs_nearby()))


def start(
    chapter: Chapter,
    folder: str | Path | None = None,
    *,
    lang: str | None = None,
    force: bool = False,
) -> Path:
    """Make the folder of an exercise, `chapter-05` by default, and return where it is."""
    lang = checked_language(lang)
    target = Path(chapter.folder if folder is None else folder)
    if target.exists() and not target.is_dir():
        raise LabError(say(lang, "not a folder", folder=target))
    if target.is_dir() and any(target.iterdir()) and not force:
        raise LabError(say(lang, "not empty", folder=target))
    target.mkdir(parents=True, exist_ok=True)
    write_and_keep(target / "engine.py", chapter.starter(lang))
    write_and_keep(target / "EXERCISE.md", chapter.task(lang))
    _remember(target, Memory(chapter, lang, "open", 0))
    return target


def check(folder: str | Path | None = None, *, lang: str | None = None) -> Grade:
    """Run the learner's file in the sandbox, and grade what was measured."""
    target = find_folder(folder, lang)
    memory = _recall(target, lang)
    lang = lang or memory.lang
    file = target / "engine.py"
    if not file.is_file():
        raise LabError(say(lang, "missing", folder=target))
    found = _examined(memory.chapter, file, lang)
    tries = memory.tries + (found.state != "open")
    _remember(target, memory._replace(state=found.state, tries=tries))
    return found


def _examined(chapter: Chapter, file: Path, lang: str) -> Grade:
    job = {"engine": str(file.resolve()), "probes": [str(chapter.probe)]}
    heard = run_apart(TASK, job, SECONDS, BYTES, "the lab")
    if not heard.in_time:
        return Grade(chapter, lang, "failed", say(lang, "too long", seconds=SECONDS))
    try:
        answer = json.loads(heard.said)["answer"]
    except (ValueError, LookupError, TypeError):
        return Grade(chapter, lang, "failed", say(lang, "died", code=heard.code))
    return grade(chapter, answer, lang)


class Solution(NamedTuple):
    """What `solution` brought: a file, or none because nothing was tried yet."""

    chapter: Chapter
    lang: str
    file: Path | None


def solution(folder: str | Path | None = None, *, lang: str | None = None) -> Solution:
    """Write an answer beside the learner's own, once one of theirs was looked at."""
    target = find_folder(folder, lang)
    memory = _recall(target, lang)
    lang = lang or memory.lang
    if not memory.tries:
        return Solution(memory.chapter, lang, None)
    write_and_keep(target / "solution.py", memory.chapter.solution(lang))
    return Solution(memory.chapter, lang, target / "solution.py")


def reset(folder: str | Path | None = None, *, lang: str | None = None) -> Restored:
    """Bring engine.py back as it was, and keep the learner's own under another name."""
    target = find_folder(folder, lang)
    memory = _recall(target, lang)
    kept = write_and_keep(target / "engine.py", memory.chapter.starter(memory.lang))
    _remember(target, memory._replace(state="open"))
    return Restored(target, kept, lang or memory.lang)


def begun() -> dict[str, tuple[Path, str]]:
    """Return the exercises that lie around here, by name: the folder of each, and its state."""
    found: dict[str, tuple[Path, str]] = {}
    for path in _nearby():
        try:
            memory = _recall(path, None)
        except LabError:  # its own `check` will say what is wrong with it
            continue
        name = memory.chapter.name
        if name not in found or STATES.index(memory.state) > STATES.index(found[name][1]):
            found[name] = path, memory.state
    return found


def find_folder(folder: str | Path | None = None, lang: str | None = None) -> Path:
    """Return the folder of an exercise: the one named, this one, or the only one in here."""
    lang = checked_language(lang)
    if folder is None and (Path() / MEMORY).is_file():
        return Path()
    if folder is not None and (Path(folder) / MEMORY).is_file():
        return Path(folder)
    found = _nearby()
    if folder is not None:
        chapter = find(str(folder))
        if chapter is None:
            raise LabError(say(lang, "no chapter", name=folder, last=len(CHAPTERS)))
        found = [path for path in found if _recall(path, lang).chapter is chapter]
        found = [path for path in found if path.name == chapter.folder] or found
        if not found:
            raise LabError(say(lang, "chapter not begun", number=chapter.number))
    if len(found) > 1:
        raise LabError(say(lang, "many labs", folders=", ".join(map(str, found))))
    return found[0]


def _nearby() -> list[Path]:
    """Find the folders of exercises here; from inside of one, also those beside it."""
    inside = (Path() / MEMORY).is_file()
    beside = Path("..") if inside else Path()
    here = Path().resolve()
    found = sorted(memory.parent for memory in beside.glob(f"*/{MEMORY}") if memory.is_file())
    return [Path()] * inside + [path for path in found if path.resolve() != here]


def _labs_nearby() -> list[Path]:
    return [path.parent for path in Path().glob(f"*/{MEMORY_OF_A_LAB}")]


def _remember(folder: Path, memory: Memory) -> None:
    known = memory._asdict() | {"chapter": memory.chapter.name}
    write_atomically(folder / MEMORY, json.dumps(known, indent=1) + "\n")


def _recall(folder: Path, lang: str | None) -> Memory:
    try:
        known = json.loads((folder / MEMORY).read_bytes())
        memory = Memory(
            CHAPTERS[known["chapter"]], known["lang"], known["state"], int(known["tries"])
        )
        is_known = memory.lang in LANGUAGES and memory.state in STATES
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        is_known = False
    if not is_known:
        raise LabError(say(checked_language(lang), "chapter damaged", folder=folder))
    return memory
