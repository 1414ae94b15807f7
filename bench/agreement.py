"""Do all ways to run a program agree? `python bench/agreement.py` draws programs and judges.

    python bench/agreement.py                          # 200,000 programs on two cores: hours
    python bench/agreement.py --count 5000 --seed 7    # others, and fewer
    python bench/agreement.py --json figures.json

Each program is a random function over all operations, called with three rows of numbers. The eager
engine is the reference for its values, its gradient and, for every fourth program, a Hessian times
a vector. Compared with it are `compile` on both machines (call and `backward()`, `value_and_grad`,
`hvp`) and `vmap` on all rows at once. Differences are judged by the rule that tests/agreement.py
states, with bounds that are computed for each program by an error analysis.

The table has the programs by what is in them, the comparisons by their outcome (equal bit by bit,
within the bound, explained by which exception) and how sharp the bounds were. Below it stands every
program with an unexplained difference, cut down to what the difference needs; if there is one, the
exit status is 1. The same seed draws the same programs. Ctrl-C ends it with what there is so far.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).parent.parent
os.environ.setdefault("MINIGRAD_CACHE", "0")  # programs are to be made, each time
sys.path.insert(0, str(ROOT / "tests"))

from agreement import Figures, survey, told  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn  # noqa: E402
from rich.table import Table  # noqa: E402

LOT = 50  # programs that a process checks at a time
SHOWN = 20  # reproductions: after so many faults, more do not help


def gathered(count: int, seed: int, processes: int, console: Console) -> Figures:
    """Check `count` programs, lot by lot, on several cores."""
    start = seed << 32
    lots = [range(k, min(k + LOT, start + count)) for k in range(start, start + count, LOT)]
    figures = Figures()
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), "{task.description}")
    with (
        Progress(*columns, console=console, transient=True) as progress,
        ProcessPoolExecutor(  # Ctrl-C is for this process; the others finish their lots
            processes, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
        ) as pool,
    ):
        task = progress.add_task("", total=count)
        try:
            for done in as_completed([pool.submit(survey, lot) for lot in lots]):
                figures.merge(done.result())
                faulty = f"{len(figures.faulty)} with faults" if figures.faulty else "no faults"
                progress.update(task, completed=figures.programs, description=faulty)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    return figures


def printed(figures: Figures, console: Console) -> None:
    table = Table("", "count", "share")
    total = figures.verdicts.total()

    def line(name: str, count: int, of: int) -> None:
        table.add_row(name, f"{count:,}", f"{count / of:.4%}" if of else "")

    line("programs", figures.programs, figures.programs)
    for name, count in figures.features.most_common():
        line(f"  with {name}", count, figures.programs)
    table.add_section()
    line("comparisons", total, total)
    line("  equal bit by bit", figures.verdicts["equal"], total)
    line("  within the bound", figures.verdicts["within"], total)
    for reason in ("edge", "range", "order", "zero"):
        line(f"  explained: {reason}", figures.verdicts[reason], total)
    line("  unexplained", figures.verdicts["unexplained"], total)
    table.add_section()
    for name in ("at most 1e-12", "at most 1e-6", "larger"):
        line(f"bounds, relative: {name}", figures.bounds[name], total)
    console.print(table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    console = Console()
    figures = gathered(options.count, options.seed, options.processes, Console(stderr=True))
    printed(figures, console)
    texts = [told(seed) for seed in sorted(figures.faulty)[:SHOWN]]
    for text in texts:
        console.print(f"\n{text}", markup=False, highlight=False, soft_wrap=True)
    if len(figures.faulty) > SHOWN:
        console.print(
            f"\n… and {len(figures.faulty) - SHOWN} programs more: {figures.faulty[SHOWN:]}"
        )
    if options.json:
        options.json.write_text(json.dumps({**vars(figures), "reproductions": texts}, indent=1))
    return 1 if figures.faulty else 0


if __name__ == "__main__":
    sys.exit(main())
