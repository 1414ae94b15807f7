"""`minigrad doctor` and `minigrad selftest`: is somebody's engine sound, and is this one?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..check import diagnose
from ..check.doctor.report import Report
from ..check.doctor.wording import said
from ..core.files import write_atomically
from ..core.names import readable
from ..core.terminal import put, put_json, put_table, shown
from ..errors import ExpressionError
from .options import AsJson, Force, Language, asked_language, check_new, write


def doctor(
    subject: Annotated[
        str,
        typer.Argument(
            help="engine.py, a notebook, a folder, an installed module; with :ClassName, if wanted."
        ),
    ],
    class_name: Annotated[str, typer.Option("--class", help="The class to examine.")] = "",
    data: Annotated[str, typer.Option(help="What the class calls its number.")] = "",
    grad: Annotated[str, typer.Option(help="What it calls its gradient.")] = "",
    backward: Annotated[
        str, typer.Option(help="What starts its backward pass: a method, or a function.")
    ] = "",
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell all that is known of limits, too.")
    ] = False,
    lang: Language = None,
    as_json: AsJson = False,
    page: Annotated[
        Path | None,
        typer.Option("--html", help="Also write a page, with the player; for a table, a folder."),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Examine all that is in a folder, one row each.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", min=1, help="For a table: how many at a time.")
    ] = 2,
    force: Force = False,
) -> None:
    """Examine somebody's own Value class and name the bug.

    Exit code 0: no fault; 1: faults; 2: it could not be examined.
    """
    language = asked_language(lang)
    path, colon, last = subject.rpartition(":")
    if not colon or not last.isidentifier():  # also C:\\engine.py
        path, last = subject, ""
    named = {"class_name": class_name or last, "data": data, "grad": grad, "backward": backward}
    if table or as_csv:
        raise typer.Exit(_table(Path(path), named, jobs, as_json, as_csv, page, force, language))
    if page is not None:
        check_new(page, force)  # before the work is done
    report = diagnose(path, **named)
    if len(report.choices) > 1 and not named["class_name"] and not as_json and _is_asked():
        chosen = report.words["class"]
        question = said("Which class, {0}?", ", ".join(report.choices)).worded(language)
        named["class_name"] = typer.prompt(question, default=chosen, err=True)
        report = report if named["class_name"] == chosen else diagnose(path, **named)
    if as_json:
        put_json(report.as_dict())
    else:
        _put_report(report, language, verbose)
    if page is not None:
        write(page, lambda: report.to_html(language), force, quietly=as_json)
    raise typer.Exit(report.exit_code)


_STYLES = {
    "title": "bold", "fault": "bold red", "limit": "yellow", "note": "dim", "right": "green",
    "here": "red",
}  # fmt: skip


def _put_report(report: Report, lang: str, verbose: bool) -> None:
    """Print a report: on a terminal in its width, with colours."""
    if not sys.stdout.isatty():
        put(report.text(lang, verbose))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, emoji=False)
    for line in report.lines(lang, verbose, console.width):
        console.print(Text(shown(line.text, sys.stdout.encoding), style=_STYLES.get(line.kind, "")))


def _is_asked() -> bool:
    """Whether somebody sits at a terminal, who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _table(
    folder: Path,
    named: dict[str, str],
    jobs: int,
    as_json: bool,
    as_csv: bool,
    pages: Path | None,
    force: bool,
    lang: str,
) -> int:
    """Examine a folder of submissions, and show them side by side."""
    from rich.console import Console
    from rich.progress import Progress

    from ..check.doctor import table

    if not folder.is_dir():
        raise ExpressionError(f"{readable(folder)} is no folder; --table wants one of submissions.")
    if pages is not None and pages.exists() and not pages.is_dir():
        raise ExpressionError(f"{readable(pages)} is a file; --html wants a folder for a table.")
    if pages is not None:
        check_new(pages / "index.html", force)
    paths = table.submissions(folder)
    if not paths:
        raise ExpressionError(
            f"{readable(folder)} has no submissions: no .py, no .ipynb, no folder."
        )
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("examining", total=len(paths))
        rows = table.examine_all(paths, named, jobs, lambda: progress.advance(task))
    if as_json:
        put_json(table.as_list(rows))
    elif as_csv:
        put(table.as_csv(rows), end="")
    else:
        put_table(table.headings(lang), [row.brief(lang) for row in rows], right=(3,))
        put(table.summary(rows, lang))
    if pages is not None:
        pages.mkdir(parents=True, exist_ok=True)
        for name, text in table.as_pages(rows, folder.resolve().name, lang).items():
            write_atomically(pages / name, text)
        if not (as_json or as_csv):
            put(f"wrote {readable(pages / 'index.html')}")
    return table.exit_code(rows)


def selftest(
    as_json: AsJson = False,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="How long, about; more finds more.")
    ] = 10.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Other numbers draw other cases.")] = 0,
) -> None:
    """Check that minigrad works on this machine, and print what a bug report needs.

    Exit code 0: nothing failed; 1: something did.
    """
    from rich.console import Console
    from rich.progress import track

    from ..check import selftest as checks  # it brings NumPy along, which no other command needs

    each = seconds / len(checks.CHECKS)
    outcomes = [
        checks.examined(name, each, seed)
        for name in track(checks.CHECKS, "", console=Console(stderr=True), transient=True)
    ]
    facts = checks.facts()
    if as_json:
        put_json({"machine": facts, "checks": [asdict(found) for found in outcomes]})
    else:
        put("\n".join(f"{name}: {fact}" for name, fact in facts.items()))
        rows = [(found.name, f"{found.cases:,}", f"{len(found.failures):,}") for found in outcomes]
        put_table(("check", "cases", "failed"), rows, right=(1, 2))
        for found in outcomes:
            for failure in found.failures[:3]:
                put(f"{found.name}: {failure}")
    raise typer.Exit(int(any(found.failures for found in outcomes)))
