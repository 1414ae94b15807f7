"""A learner's folder: its files, how far the learner is, and what their engine measures now.

    path = start("accumulate")      engine.py, probe.py, .lab.json, and LAB.md with the question
    go_on(path)                     the next page: BREAK.md, and ANSWERS.md once it is broken
    check(path).state               "started", then "broken", then "repaired"
    begun()                         which labs lie around here, and how far each of them is
    reset(path)                     the engine as it was; the learner's own is kept

The learner's engine never runs in this process: `examine` has it run in the doctor's sandbox, with
limits on time and memory. The lab moves on by what was measured alone, and never believes the
folder's probe.py, which the learner may edit. No file of the learner's is lost: what would be
overwritten is renamed.

Start at `check`.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..check.doctor.sandbox import run_apart
from ..core.files import write_atomically
from ..core.names import json_number, plural
from ..errors import MinigradError
from .labs import LABS, LANGUAGES, PAGES, Lab, Measured, differences, language, sound
from .phrases import say

TASK = Path(__file__).with_name("measuring.py")
SECONDS = 10  # for an engine to be measured in
BYTES = 2 << 30  # of memory for it
STATES = ("started", "broken", "repaired")
MEMORY = ".lab.json"


class LabError(MinigradError, ValueError):
    """A lab cannot be started, found or read as asked."""


@dataclass(frozen=True)
class Difference:
    """A number that is not what a sound engine gives."""

    experiment: str
    name: str
    yours: float | str | None  # None: it could not be measured
    right: float | str
    as_asked: float | str  # what the broken engine of the lab gives

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {k: json_number(x) if isinstance(x, float) else x for k, x in vars(self).items()}


@dataclass(frozen=True, repr=False)
class Progress:
    """How far a learner is, and what their engine does at this moment."""

    lab: str
    lang: str
    state: str  # the furthest that counts: started, broken, repaired
    engine: str  # now: intact, broken, partial (some of it is repaired), other, failed
    differences: list[Difference]
    problem: str = ""  # why the engine could not be measured, or not all of it
    seen: list[Difference] = field(default_factory=list)  # what it measured when it was broken
    mended: tuple[int, int] = (0, 0)  # numbers that were wrong and are right now; all that were
    pages: tuple[str, ...] = tuple(PAGES)  # those that the learner has

    def __repr__(self) -> str:
        wrong = plural(len(self.differences), "number is", "numbers are")
        now = f"the engine is {self.engine}, {wrong} wrong"
        return f"<Lab {self.lab}: {self.state}; {self.problem or now}>"

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.state == "repaired"

    @property
    def tells_what_is_asked(self) -> bool:
        """Whether to show the broken engine's numbers: not before the learner has a hypothesis."""
        return self.engine in ("partial", "other") and "BREAK.md" in self.pages

    @property
    def lines(self) -> tuple[str, str]:
        """What to tell the learner: where they are, and what is next."""
        key = self.engine if self.engine in ("partial", "other", "failed") else self.state
        mended, of = self.mended
        where = say(self.lang, key, name=self.lab, mended=mended, all=of)
        if self.state == "started" and key != "failed" and "BREAK.md" not in self.pages:
            key = "hypothesis"
        return where, say(self.lang, f"{key} next", name=self.lab)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "lab": self.lab,
            "state": self.state,
            "engine": self.engine,
            "finished": self.finished,
            "problem": self.problem,
            "differences": [difference.as_dict() for difference in self.differences],
            "seen": [difference.as_dict() for difference in self.seen],
            "mended": list(self.mended),
            "message": " ".join(self.lines),
        }


# ---- starting, checking, resetting -----------------------------------------------------------


def get(name: str, lang: str | None = None) -> Lab:
    """Return the lab of a name, or say which ones there are."""
    if name not in LABS:
        raise LabError(say(lang or language(), "no lab", name=name, labs=", ".join(LABS)))
    return LABS[name]


def start(
    name: str, folder: str | Path | None = None, *, lang: str | None = None, force: bool = False
) -> Path:
    """Make the folder of a lab, `lab-<name>` by default, and return where it is.

    A folder with something in it is refused; with `force` the files of the lab are written into it,
    and what the learner has changed of them is kept under another name.
    """
    lang = checked_language(lang)
    lab = get(name, lang)
    target = Path(f"lab-{name}" if folder is None else folder)
    if target.exists() and not target.is_dir():
        raise LabError(say(lang, "not a folder", folder=target))
    if target.is_dir() and any(target.iterdir()) and not force:
        raise LabError(say(lang, "not empty", folder=target))
    target.mkdir(parents=True, exist_ok=True)
    write_and_keep(target / "engine.py", lab.engine_source(lang))
    write_and_keep(target / "probe.py", lab.probe_source(lang))
    for page in ("BREAK.md", "ANSWERS.md"):  # of an earlier start in this folder
        _set_aside(target / page)
    write_and_keep(target / "LAB.md", lab.page("LAB.md", lang))
    _remember(target, lab.name, lang, "started", {})
    return target


def check(folder: str | Path | None = None, *, lang: str | None = None) -> Progress:
    """Measure the learner's engine, and tell how far they are."""
    target = find_folder(folder, lang)
    name, own_lang, state, seen = _recall(target, lang)
    lang = lang or own_lang
    lab = LABS[name]
    if not (target / "engine.py").is_file():
        raise LabError(say(lang, "missing", folder=target))
    measured, problem = examine(lab, target / "engine.py", lang)
    pages = tuple(page for page in PAGES if (target / page).is_file())
    found, seen = judge(lab, lang, state, seen, measured, problem, pages)
    _remember(target, name, own_lang, found.state, seen)
    return found


def judge(
    lab: Lab,
    lang: str,
    state: str,
    seen: Measured,
    measured: Measured,
    problem: str,
    pages: tuple[str, ...],
) -> tuple[Progress, Measured]:
    """Tell how far a learner is by what was measured now, and what to remember of it."""
    engine = lab.verdict(measured) if measured else "failed"
    mended = lab.mended(measured, seen) if state == "broken" else (0, 0)
    if engine in ("broken", "other") and mended[0]:
        engine = "partial"
    elif engine == "broken":
        state, seen = "broken", measured
    elif engine == "intact" and state == "broken":
        state = "repaired"
    elif engine != "intact" and state == "repaired":
        state = "broken"  # it was whole when we last looked
    if engine == "broken":
        measured = _asked_about(measured)
    shown = _differences(lab, measured), problem, _differences(lab, _asked_about(seen))
    return Progress(lab.name, lang, state, engine, *shown, mended, pages), seen


def _asked_about(measured: Measured) -> Measured:
    """Leave out what every whole engine is tried on: nobody asked the learner about that."""
    return {name: numbers for name, numbers in measured.items() if name not in sound()}


class Page(NamedTuple):
    """What `go_on` brought: a page, or none with the reason."""

    lab: str
    lang: str
    file: Path | None
    why_not: str = ""  # "not broken yet" or "all pages"


def go_on(folder: str | Path | None = None, *, lang: str | None = None) -> Page:
    """Write the next page: what to break, and when that has been seen by `check`, the answers."""
    target = find_folder(folder, lang)
    name, own_lang, state, _ = _recall(target, lang)
    lang = lang or own_lang
    page = target / ("BREAK.md" if state == "started" else "ANSWERS.md")
    if page.exists():
        return Page(name, lang, None, "not broken yet" if state == "started" else "all pages")
    write_and_keep(page, LABS[name].page(page.name, lang))
    return Page(name, lang, page)


class Restored(NamedTuple):
    """What `reset` did."""

    folder: Path
    kept: Path | None  # the learner's own engine, if they had changed it
    lang: str


def reset(folder: str | Path | None = None, *, lang: str | None = None) -> Restored:
    """Bring engine.py back as it was, and keep the learner's own under another name."""
    target = find_folder(folder, lang)
    name, own_lang, _, _ = _recall(target, lang)
    kept = write_and_keep(target / "engine.py", LABS[name].engine_source(own_lang))
    _remember(target, name, own_lang, "started", {})
    return Restored(target, kept, lang or own_lang)


def find_folder(folder: str | Path | None = None, lang: str | None = None) -> Path:
    """Return the folder of a lab: the one named, this one, or the only one that lies in here.

    A lab's own name will do for its folder, as in `check order`, wherever the learner put it.
    """
    lang = checked_language(lang)
    if folder is None and (Path() / MEMORY).is_file():
        return Path()
    if folder is None:
        found, name = _nearby(), Path().resolve().name or "."
    elif (Path(folder) / MEMORY).is_file():
        return Path(folder)
    else:
        name = str(folder)
        found = [path for path in _nearby() if _lab_in(path) == name]
        found = [path for path in found if path.name == f"lab-{name}"] or found
    if not found:
        key = "no lab here" if folder is None or name not in LABS else "not begun"
        raise LabError(say(lang, key, folder=name))
    if len(found) > 1:
        raise LabError(say(lang, "many labs", folders=", ".join(map(str, found))))
    return found[0]


def begun() -> dict[str, tuple[Path, str]]:
    """Return the labs that lie around here, by name: the folder of each, and its state."""
    found: dict[str, tuple[Path, str]] = {}
    for path in _nearby():
        try:
            name, _, state, _ = _recall(path, None)
        except LabError:  # its own `check` will say what is wrong with it
            continue
        if name not in found or STATES.index(state) > STATES.index(found[name][1]):
            found[name] = path, state
    return found


def _nearby() -> list[Path]:
    """Find the folders of labs here; from inside of one, also those beside it."""
    inside = (Path() / MEMORY).is_file()
    beside = Path("..") if inside else Path()
    here = Path().resolve()
    found = sorted(memory.parent for memory in beside.glob(f"*/{MEMORY}") if memory.is_file())
    return [Path()] * inside + [path for path in found if path.resolve() != here]


def _lab_in(folder: Path) -> str | None:
    try:
        return _recall(folder, None)[0]
    except LabError:
        return folder.name.removeprefix("lab-")


def checked_language(lang: str | None) -> str:
    """Return the language that is asked for, or else the system's."""
    if lang is not None and lang not in LANGUAGES:
        raise LabError(say("en", "no language", code=lang, langs=", ".join(LANGUAGES)))
    return lang or language()


def write_and_keep(file: Path, whole: str) -> Path | None:
    """Write a file; one that the learner changed is kept: engine.mine.py, engine.mine-2.py, …"""
    kept = None if file.exists() and file.read_bytes() == whole.encode() else _set_aside(file)
    write_atomically(file, whole)
    return kept


def _set_aside(file: Path) -> Path | None:
    if not file.exists():
        return None
    kept = file.with_name(f"{file.stem}.mine{file.suffix}")
    numbers = itertools.count(2)
    while kept.exists():
        kept = file.with_name(f"{file.stem}.mine-{next(numbers)}{file.suffix}")
    return file.rename(kept)


def _differences(lab: Lab, measured: Measured) -> list[Difference]:
    if not measured:
        return []
    right = lab.right | {name: numbers for name, numbers in sound().items() if name in measured}
    found = []
    for experiment, name in differences(measured, right):
        yours, whole = measured.get(experiment, {}).get(name), right[experiment]
        as_asked = (whole | lab.broken.get(experiment, {}))[name]
        found.append(Difference(experiment, name, yours, whole[name], as_asked))
    return found


# ---- what is remembered ----------------------------------------------------------------------


def _remember(folder: Path, name: str, lang: str, state: str, seen: Measured) -> None:
    memory = {"lab": name, "lang": lang, "state": state, "seen": seen}
    write_atomically(folder / MEMORY, json.dumps(memory, indent=1) + "\n")


def _recall(folder: Path, lang: str | None) -> tuple[str, str, str, Measured]:
    try:
        memory = json.loads((folder / MEMORY).read_bytes())
        name, own_lang, state = memory["lab"], memory["lang"], memory["state"]
        seen = {
            str(experiment): {k: x if isinstance(x, str) else float(x) for k, x in numbers.items()}
            for experiment, numbers in memory["seen"].items()
        }
        is_known = name in LABS and own_lang in LANGUAGES and state in STATES
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
        is_known = False
    if not is_known:
        raise LabError(say(checked_language(lang), "damaged", folder=folder))
    return name, own_lang, state, seen


# ---- measuring -------------------------------------------------------------------------------


def examine(lab: Lab, engine: Path, lang: str = "en") -> tuple[Measured, str]:
    """Return what the lab's experiments measure on an engine, and what went wrong, if anything."""
    job = {"engine": str(engine.resolve()), "probes": list(map(str, lab.probe_paths()))}
    heard = run_apart(TASK, job, SECONDS, BYTES, "the lab")
    if not heard.in_time:
        return {}, say(lang, "too long", seconds=SECONDS)
    try:
        answer = json.loads(heard.said)["answer"]
    except (ValueError, LookupError, TypeError):
        return {}, say(lang, "died", code=heard.code)
    return answer["measured"], told(answer["failed"], lang)


def told(failed: dict[str, str], lang: str) -> str:
    """Say in a line what went wrong while an engine was measured; nothing if all went well."""
    problems: dict[str, str] = {}  # each once, with where it was first met
    for where, what in failed.items():
        problems.setdefault(what, where)
    problem = "; ".join(f"{where}: {what}" for what, where in problems.items())
    problem = problem.removeprefix("engine.py: ")
    return problem.replace("(engine.py, line ", say(lang, "in line"))
