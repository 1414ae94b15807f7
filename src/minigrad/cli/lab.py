"""`minigrad lab`: the labs and the seven versions on the command line.

Exit codes: 0, and for `check` that means finished; 1, not yet; 2, a mistake.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..check import diagnose
from ..core.names import brief
from ..core.terminal import put, put_json, put_table
from ..lab import exercises
from ..lab import versions as all_versions
from ..lab import workspace as labs_folder
from ..lab.labs import LABS
from ..lab.phrases import say
from ..lab.spanish import experiment
from ..lab.workspace import Difference, LabError, Progress, checked_language
from . import course
from .options import AsJson, Language
from .reporting import reported

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Break a small engine on purpose, see what happens, repair it; a course's exercises.",
)

Force = Annotated[bool, typer.Option("--force", help="Into a folder that is not empty.")]
Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="LAB|CHAPTER|FOLDER", help="by default the one you are in, or the only one here"
    ),
]


_reported = reported("lab", LabError, ValueError)


@app.callback(invoke_without_command=True)
@_reported
def _list(context: typer.Context, lang: Language = None, as_json: AsJson = False) -> None:
    """List the labs and how far you are in each, or run one of the commands below."""
    if context.invoked_subcommand is not None:  # options may stand before it or after it
        given = {"lang": lang, "as_json": as_json}
        context.default_map = {context.invoked_subcommand: {k: v for k, v in given.items() if v}}
        return
    lang = checked_language(lang)
    begun = labs_folder.begun()
    if as_json:
        put_json([_row(name, lang, *begun.get(name, (None, "open"))) for name in LABS])
        return
    words = {"started": "begun", "broken": "is broken", "repaired": "done"}
    states = {name: words[begun[name][1]] if name in begun else "open" for name in LABS}
    put(say(lang, "labs"))
    put_table(
        (say(lang, "lab"), say(lang, "about"), say(lang, "how far")),
        [(lab.name, lab.title(lang), say(lang, states[lab.name])) for lab in LABS.values()],
    )
    if begun:
        put(say(lang, "progress", done=list(states.values()).count("done"), all=len(LABS)))
    put(_what_next(states, lang))


def _row(name: str, lang: str, folder: Path | None, state: str) -> dict[str, str | None]:
    where = None if folder is None else str(folder)
    return {"lab": name, "title": LABS[name].title(lang), "state": state, "folder": where}


def _what_next(states: dict[str, str], lang: str) -> str:
    """Propose the lab that is under way, or else the first that is open."""
    for key, wanted in (("how to go on", ("begun", "is broken")), ("how to start", ("open",))):
        for name, state in states.items():
            if state in wanted:
                return say(lang, key, name=name)
    return say(lang, "all done")


@app.command("break")
@_reported
def _break(
    name: Annotated[str, typer.Argument(metavar="LAB", help="such as accumulate")],
    folder: Annotated[
        Path | None, typer.Argument(help="to make; by default lab- and the name")
    ] = None,
    lang: Language = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a folder with an engine of your own to break, a probe to run, and a question."""
    made = labs_folder.start(name, folder, lang=lang, force=force)
    if as_json:
        put_json({"lab": name, "folder": str(made), "state": "started"})
        return
    lang = checked_language(lang)
    put(say(lang, "made", folder=made))
    put(say(lang, "first", folder=made))


@app.command("course")
@_reported
def _course(lang: Language = None, as_json: AsJson = False) -> None:
    """List the chapters of the course and how far you are in each one's exercise."""
    course.listed(checked_language(lang), as_json)


@app.command("start")
@_reported
def _start(
    chapter: Annotated[str, typer.Argument(metavar="CHAPTER", help="such as 5")],
    folder: Annotated[
        Path | None, typer.Argument(help="to make; by default chapter- and the number")
    ] = None,
    lang: Language = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a folder with the exercise of a chapter: an engine with a part for you to write."""
    course.started(chapter, folder, checked_language(lang), force, as_json)


@app.command("next")
@_reported
def _next(folder: Folder = None, lang: Language = None, as_json: AsJson = False) -> None:
    """Bring the next page of a lab, BREAK.md, then ANSWERS.md; or an exercise's solution.py."""
    if exercises.is_meant(folder):
        course.solved(folder, lang, as_json)
        return
    page = labs_folder.go_on(folder, lang=lang)
    if as_json:
        file = None if page.file is None else str(page.file)
        put_json({"lab": page.lab, "page": file, "why_not": page.why_not})
    elif page.file is not None:
        put(say(page.lang, "page", file=page.file))
    else:
        put(say(page.lang, page.why_not, name=page.lab))
    if page.why_not == "not broken yet":
        raise typer.Exit(1)


@app.command("check")
@_reported
def _check(folder: Folder = None, lang: Language = None, as_json: AsJson = False) -> None:
    """Tell how far you are: exit code 0 when the lab or exercise is finished, 1 when not yet."""
    if exercises.is_meant(folder):
        course.checked(folder, lang, as_json)
        return
    progress = labs_folder.check(folder, lang=lang)
    if as_json:
        put_json(progress.as_dict())
    else:
        _tell(progress)
    if not progress.finished:
        raise typer.Exit(1)


@app.command("reset")
@_reported
def _reset(folder: Folder = None, lang: Language = None, as_json: AsJson = False) -> None:
    """Bring engine.py back as it was; yours is kept as engine.mine.py."""
    is_exercise = exercises.is_meant(folder)
    done = (exercises if is_exercise else labs_folder).reset(folder, lang=lang)
    if as_json:
        kept = None if done.kept is None else str(done.kept)
        put_json({"folder": str(done.folder), "kept": kept, "state": "started"})
        return
    put(say(done.lang, "answer reset" if is_exercise else "reset"))
    if done.kept is not None:
        put(say(done.lang, "kept", name=done.kept.name))


@app.command("versions")
@_reported
def _versions(
    number: Annotated[int | None, typer.Argument(help="1 to 7; all of them by default")] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="What changed since the version before.")
    ] = False,
    lang: Language = None,
    as_json: AsJson = False,
) -> None:
    """List the seven versions of Value, print one, or print what changed in it."""
    lang = checked_language(lang)
    chosen = all_versions.VERSIONS if number is None else (all_versions.get(number),)
    if as_json:
        key, text = ("diff", all_versions.diff) if diff else ("source", all_versions.source)
        rows = [(v.number, v.new[lang], _verdict(v, lang), text(v.number)) for v in chosen]
        put_json([dict(zip(("number", "new", "doctor", key), row, strict=True)) for row in rows])
    elif diff:
        put("\n".join(all_versions.diff(version.number) for version in chosen), end="")
    elif number is not None:
        put(all_versions.source(number), end="")
    else:
        put(say(lang, "versions"))
        put_table(
            (say(lang, "version"), say(lang, "new"), say(lang, "doctor")),
            [(str(v.number), v.new[lang], _verdict(v, lang)) for v in chosen],
            right=(0,),
        )
        put(say(lang, "how to read", number=6))


def _verdict(version: all_versions.Version, lang: str) -> str:
    """What the doctor says of a version, in a few words."""
    report = diagnose(f"{all_versions.__name__}.v{version.number}")
    if report.exit_code == 2:
        return say(lang, "no backward")
    faults = [finding.code for finding in report.faults]
    found = say(lang, "faults", faults=", ".join(faults)) if faults else say(lang, "no fault")
    return f"{found}; {say(lang, 'limits', count=len(report.limits))}"


def _tell(progress: Progress) -> None:
    where, following = progress.lines
    put(where)
    if progress.problem:
        put(f"  {progress.problem}")
    if progress.finished:
        put(say(progress.lang, "seen"))
    shown = progress.seen if progress.finished else progress.differences
    if shown:
        _put_differences(shown, progress)
    put(following)


def _put_differences(shown: list[Difference], progress: Progress) -> None:
    columns = 3 if progress.tells_what_is_asked else 2  # with what the lab asks for, or without
    headings = [say(progress.lang, text) for text in ("yours", "whole", "as asked")[:columns]]
    rows = []
    for found in shown:
        numbers = (found.yours, found.right, found.as_asked)[:columns]
        rows.append(
            [
                *(experiment(name, progress.lang) for name in (found.experiment, found.name)),
                *map(_spell, numbers),
            ]
        )
    put_table([say(progress.lang, "experiment"), "", *headings], rows, right=(1, 2, 3, 4))


def _spell(number: float | str | None) -> str:
    if number is None:
        return "—"
    return number if isinstance(number, str) else brief(number, 9)
