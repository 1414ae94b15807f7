"""`minigrad doctor` and `minigrad selftest`: is somebody's engine sound, and is this one?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..check import diagnose
from ..core.terminal import put, put_json, put_table
from .options import AsJson, Force, check_new, write


def doctor(
    subject: Annotated[
        str, typer.Argument(help="engine.py, engine.py:ClassName, or an installed module.")
    ],
    as_json: AsJson = False,
    page: Annotated[
        Path | None, typer.Option("--html", help="Also write a page, with the player.")
    ] = None,
    force: Force = False,
) -> None:
    """Examine somebody's own Value class and name the bug.

    Exit code 0: no fault; 1: faults; 2: it could not be examined.
    """
    path, colon, class_name = subject.rpartition(":")
    if not colon or not class_name.isidentifier():  # also C:\\engine.py
        path, class_name = subject, ""
    if page is not None:
        check_new(page, force)  # before the work is done
    report = diagnose(path, class_name)
    if as_json:
        put_json(report.as_dict())
    else:
        put(report.text())
    if page is not None:
        write(page, report.to_html, force, quietly=as_json)
    raise typer.Exit(report.exit_code)


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
