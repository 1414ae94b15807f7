"""`minigrad lab`: the labs and the seven versions on the command line.

`cli.py` mounts `app`. Exit codes: 0, and for `check` that means finished; 1, not yet; 2, a mistake.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..check import diagnose
from ..names import brief
from ..terminal import put
from . import folder as labs_folder
from . import versions as all_versions
from .folder import Difference, LabError, Progress
from .labs import LABS, LANGUAGES, language
from .phrases import say

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Break a small engine on purpose, see what happens, repair it.",
)

Lang = Annotated[
    str | None, typer.Option("--lang", help="en or es; by default the language of your system.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Folder = Annotated[
    Path | None, typer.Argument(help="of the lab; by default the one you are in, or see here")
]


def _reporting(function: Callable[..., None]) -> Callable[..., None]:
    """Turn a mistake into one sentence and exit code 2."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except (LabError, OSError, ValueError) as error:
            console = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)
            text = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                text = f"{error.filename}: {error.strerror}."
            console.print(f"minigrad lab: {text}", markup=False)
            raise typer.Exit(2) from None

    return run


def _language(lang: str | None) -> str:
    if lang is not None and lang not in LANGUAGES:
        raise LabError(say("en", "no language", code=lang, langs=", ".join(LANGUAGES)))
    return lang or language()


def _console() -> Console:
    return Console(highlight=False, emoji=False)


@app.callback(invoke_without_command=True)
@_reporting
def _list(context: typer.Context, lang: Lang = None, as_json: AsJson = False) -> None:
    """List the labs, or run one of the commands below."""
    if context.invoked_subcommand is not None:
        return
    lang = _language(lang)
    if as_json:
        rows = [{"lab": lab.name, "title": lab.title(lang)} for lab in LABS.values()]
        put(json.dumps(rows))
        return
    console = _console()
    console.print(say(lang, "labs"), markup=False, soft_wrap=True)
    table = Table()
    table.add_column(say(lang, "lab"))
    table.add_column(say(lang, "about"))
    for lab in LABS.values():
        table.add_row(lab.name, lab.title(lang))
    console.print(table)
    console.print(say(lang, "how to start", name=next(iter(LABS))), markup=False, soft_wrap=True)


@app.command("break")
@_reporting
def _break(
    name: Annotated[str, typer.Argument(metavar="LAB", help="such as accumulate")],
    folder: Annotated[
        Path | None, typer.Argument(help="to make; by default lab- and the name")
    ] = None,
    lang: Lang = None,
    force: Annotated[
        bool, typer.Option("--force", help="Into a folder that is not empty.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a folder with an engine of your own to break, a probe to run, and LAB.md to read."""
    made = labs_folder.start(name, folder, lang=lang, force=force)
    if as_json:
        put(json.dumps({"lab": name, "folder": str(made), "state": "started"}))
        return
    lang = _language(lang)
    put(say(lang, "made", folder=made))
    put(say(lang, "first", folder=made))


@app.command("check")
@_reporting
def _check(folder: Folder = None, lang: Lang = None, as_json: AsJson = False) -> None:
    """Tell how far you are: exit code 0 when the lab is finished, 1 when not yet."""
    progress = labs_folder.check(folder, lang=lang)
    if as_json:
        put(json.dumps(progress.as_dict(), allow_nan=False))
    else:
        _tell(progress)
    if not progress.finished:
        raise typer.Exit(1)


@app.command("reset")
@_reporting
def _reset(folder: Folder = None, lang: Lang = None, as_json: AsJson = False) -> None:
    """Bring engine.py back as it was; yours is kept as engine.mine.py."""
    done = labs_folder.reset(folder, lang=lang)
    if as_json:
        kept = None if done.kept is None else str(done.kept)
        put(json.dumps({"folder": str(done.folder), "kept": kept, "state": "started"}))
        return
    put(say(done.lang, "reset"))
    if done.kept is not None:
        put(say(done.lang, "kept", name=done.kept.name))


@app.command("versions")
@_reporting
def _versions(
    number: Annotated[int | None, typer.Argument(help="1 to 7; all of them by default")] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="What changed since the version before.")
    ] = False,
    lang: Lang = None,
    as_json: AsJson = False,
) -> None:
    """List the seven versions of Value, print one, or print what changed in it."""
    lang = _language(lang)
    chosen = all_versions.VERSIONS if number is None else (all_versions.get(number),)
    if as_json:
        put(json.dumps([_version_row(v, lang, diff) for v in chosen]))
    elif diff:
        put("\n".join(all_versions.diff(version.number) for version in chosen), end="")
    elif number is not None:
        put(all_versions.source(number), end="")
    else:
        console = _console()
        console.print(say(lang, "versions"), markup=False, soft_wrap=True)
        table = Table()
        table.add_column(say(lang, "version"), justify="right")
        table.add_column(say(lang, "new"))
        table.add_column(say(lang, "doctor"))
        for version in chosen:
            table.add_row(str(version.number), version.new[lang], _verdict(version, lang))
        console.print(table)
        console.print(say(lang, "how to read", number=6), markup=False, soft_wrap=True)


def _version_row(version: all_versions.Version, lang: str, diff: bool) -> dict[str, Any]:
    text = all_versions.diff if diff else all_versions.source
    return {
        "number": version.number,
        "new": version.new[lang],
        "doctor": _verdict(version, lang),
        "diff" if diff else "source": text(version.number),
    }


def _verdict(version: all_versions.Version, lang: str) -> str:
    """What the doctor says of a version, in a few words."""
    report = diagnose(f"{all_versions.__name__}.v{version.number}")
    if report.exit_code == 2:
        return say(lang, "no backward")
    faults = [finding.code for finding in report.faults]
    found = say(lang, "faults", faults=", ".join(faults)) if faults else say(lang, "no fault")
    return f"{found}; {say(lang, 'limits', count=len(report.limits))}"


def _tell(progress: Progress) -> None:
    console = _console()
    where, following = progress.lines
    console.print(where, markup=False, soft_wrap=True)
    if progress.problem:
        console.print(f"  {progress.problem}", markup=False, soft_wrap=True)
    if progress.finished:
        console.print(say(progress.lang, "seen"), markup=False, soft_wrap=True)
    shown = progress.seen if progress.finished else progress.differences
    if shown:
        console.print(_table(shown, progress))
    console.print(following, markup=False, soft_wrap=True)


def _table(shown: list[Difference], progress: Progress) -> Table:
    table = Table()
    table.add_column(say(progress.lang, "experiment"))
    compared = progress.engine == "other"
    for heading in ["", "yours", "whole", *(["as asked"] if compared else [])]:
        table.add_column(heading and say(progress.lang, heading), justify="right")
    for difference in shown:
        numbers = [difference.yours, difference.right, *([difference.as_asked] if compared else [])]
        table.add_row(difference.experiment, difference.name, *map(_spell, numbers))
    return table


def _spell(number: float | str | None) -> str:
    if number is None:
        return "—"
    return number if isinstance(number, str) else brief(number, 9)
