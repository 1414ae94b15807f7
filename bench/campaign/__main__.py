"""The command. `python -m bench.campaign --help` tells the options.

    python -m bench.campaign                     # everything, hours; stop and start it at will
    python -m bench.campaign --share 0.01        # a hundredth of the cases, minutes
    python -m bench.campaign --only threads      # one section
    python -m bench.campaign --json figures.json

Each section is a promise (bench/campaign/sections.py) with so many cases for each engine that can
be asked: minigrad's two, and PyTorch, JAX and micrograd where they are installed and where the
question makes sense. The table has the cases, those that failed, and the worst figure. The exit
status is 1 if minigrad has failed anywhere; what other engines do is reported and decides nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

import minigrad
from minigrad.check import selftest
from minigrad.core.names import json_number

from .runner import Lot, Record, run_lots
from .sections import ENGINES, OURS, SECTIONS, Section
from .tally import Tally


def lots_of(section: Section, engine: str, share: float) -> list[Lot]:
    """Cut a section into lots; what cannot be cut (all positions, say) is one lot."""
    total = max(1, round(section.cases[engine] * share))
    return [
        Lot(section.name, engine, start, min(start + section.lot, total))
        for start in range(0, total, section.lot)
    ]


def gathered(record: Record, lots: list[Lot]) -> dict[tuple[str, str], Tally]:
    """Add up the lots by section and engine."""
    found: dict[tuple[str, str], Tally] = {}
    for lot in lots:
        if lot.key in record.done:
            found.setdefault((lot.section, lot.engine), Tally()).merge(record.done[lot.key])
    return found


def figures(found: dict[tuple[str, str], Tally], share: float) -> dict[str, Any]:
    """What a program, and the page, want to know."""
    rows = []
    for (section, engine), tally in found.items():
        row = {"section": section, "engine": engine, **asdict(tally)}
        row["figures"] = {name: json_number(x) for name, x in tally.figures.items()}
        rows.append(row)
    facts = selftest.facts()
    for of_the_machine in ("system", "encoding"):  # says nothing about the figures
        del facts[of_the_machine]
    with contextlib.suppress(metadata.PackageNotFoundError):
        facts["micrograd"] = metadata.version("micrograd")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "share": share,
        "facts": facts,
        "promises": {name: SECTIONS[name].promise for name, _ in found},
        "rows": rows,
    }


def printed(found: dict[tuple[str, str], Tally], console: Console) -> None:
    table = Table("promise", "engine", "cases", "failed", "worst figure", "seconds")
    for (section, engine), tally in found.items():
        worst = max(tally.figures.items(), key=lambda item: item[1], default=None)
        told = f"{worst[1]:.3g} ({worst[0]})" if worst else ""
        numbers = (f"{tally.cases:,}", f"{tally.failed:,}", told, f"{tally.seconds:.0f}")
        table.add_row(section, engine, *numbers)
    console.print(table)
    for (section, engine), tally in found.items():
        if engine in OURS:
            for failure in tally.failures[:3]:
                console.print(f"{section}, {engine}: {failure}", markup=False)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.campaign", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--share", type=float, default=1.0, help="of the cases, such as 0.01")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="SECTION", help=", ".join(SECTIONS)
    )
    parser.add_argument("--engines", nargs="*", default=[], help=", ".join(ENGINES))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", type=Path, default=Path("campaign.jsonl"))
    parser.add_argument("--fresh", action="store_true", help="forget the lots that are done")
    parser.add_argument("--json", type=Path, help="write the figures")
    parser.add_argument("--lot", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lot:  # a process of its own, started by `runner.run_lot`
        lot = Lot(**json.loads(options.lot))
        running = minigrad.engine()
        if lot.engine in OURS and lot.engine != running:
            raise SystemExit(f"{lot.engine} was asked for, and {running} is here")
        tally = SECTIONS[lot.section].run(lot.engine, range(lot.start, lot.stop))
        print(json.dumps(asdict(tally)))
        return 0
    for name in options.only:
        if name not in SECTIONS:
            parser.error(f"there is no section {name!r}; there are {', '.join(SECTIONS)}")
    here = [name for name, found in ENGINES.items() if found()]
    for name in options.engines:
        if name not in here:
            parser.error(f"there is no engine {name!r} here; there are {', '.join(here)}")
    if not 0.0 < options.share <= 1.0 or options.processes < 1:
        parser.error("--share is a number above 0 and up to 1, --processes 1 or more")
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"there is no folder for {options.json}")
    console = Console(stderr=True)
    record = Record(options.record, options.fresh)
    missing = {name: SECTIONS[name].needs() for name in options.only or SECTIONS}
    for name, what in missing.items():
        if what:
            console.print(f"{name}: left out, it needs {what}; CONTRIBUTING.md tells how to add it")
    lots = [
        lot
        for name in missing
        if not missing[name]
        for engine in options.engines or here
        if engine in SECTIONS[name].cases
        for lot in lots_of(SECTIONS[name], engine, options.share)
    ]
    try:
        with Progress(
            BarColumn(),
            "{task.completed}/{task.total} lots",
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            "{task.description}",
            console=console,
            transient=True,
        ) as progress:
            done = [lot for lot in lots if lot.key in record.done]
            task = progress.add_task("", total=len(lots), completed=len(done))
            run_lots(
                lots,
                record,
                options.processes,
                lambda lot: progress.update(task, advance=1, description=lot.section),
            )
    except KeyboardInterrupt:
        console.print(f"Stopped; the same command goes on where it was ({options.record}).")
    found = gathered(record, lots)
    printed(found, Console())
    if options.json:
        text = json.dumps(figures(found, options.share), indent=1, allow_nan=False)
        options.json.write_text(text + "\n", encoding="utf-8")
    undone = sum(lot.key not in record.done for lot in lots)
    failed = sum(tally.failed for (_, engine), tally in found.items() if engine in OURS)
    return 1 if failed or undone else 0


if __name__ == "__main__":
    sys.exit(main())
