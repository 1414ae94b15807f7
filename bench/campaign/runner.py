"""Lots: each runs in a process of its own, and what it came to is kept at once.

A process of its own, because the engine is chosen when minigrad is imported, and because a crash or
a hang in one lot is a finding that must not end the others. The record is a file of JSON lines, one
per lot, after a line that says of what code: a campaign that was stopped goes on where it was, and
lots of other code are refused rather than mixed in.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from .tally import Tally

ROOT = Path(__file__).parent.parent.parent
_LONGEST = 3600.0  # seconds for a lot; they are made to take a minute or so


@dataclass(frozen=True)
class Lot:
    """Some cases of a section, for one engine."""

    section: str
    engine: str
    start: int
    stop: int

    @property
    def key(self) -> str:
        """How the record calls it."""
        return f"{self.section}/{self.engine}/{self.start}-{self.stop}"


class Record:
    """The file with the lots that are done."""

    def __init__(self, path: Path, fresh: bool) -> None:
        self.path, self.done = path, dict[str, Tally]()
        head = {"campaign": 1, "source": fingerprint()}
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise SystemExit(f"{path}: the record is a file, in a folder that is there.")
        if path.exists() and not fresh:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            if lines[:1] != [json.dumps(head)]:
                raise SystemExit(
                    f"{path} has the lots of other code than this; give another file, or --fresh."
                )
            # A line without an end is one that the campaign was stopped at: that lot is not done.
            whole = [line for line in lines if line.endswith("}")]
            path.write_text("\n".join(whole) + "\n", encoding="utf-8")
            for line in whole[1:]:
                entry = json.loads(line)
                name = entry.pop("lot")
                self.done[name] = Tally(**entry)
        else:
            path.write_text(json.dumps(head) + "\n", encoding="utf-8")

    def add(self, lot: Lot, tally: Tally) -> None:
        """Keep what a lot came to, also if the next moment is the last."""
        self.done[lot.key] = tally
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"lot": lot.key, **asdict(tally)}) + "\n")
            file.flush()
            os.fsync(file.fileno())


def fingerprint() -> str:
    """Name the code that is tried: a hash of the package, the tests' helpers and this folder."""
    digest = hashlib.sha256()
    for folder in ("src/minigrad", "tests", "bench/campaign"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".pxd", ".c", ".h"):
                digest.update(path.relative_to(ROOT).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def run_lots(
    lots: Iterable[Lot], record: Record, processes: int, told: Callable[[Lot], None]
) -> None:
    """Run what the record does not have."""
    with ThreadPoolExecutor(processes) as pool:
        waiting = {pool.submit(run_lot, lot): lot for lot in lots if lot.key not in record.done}
        try:
            for future in as_completed(waiting):
                record.add(waiting[future], future.result())
                told(waiting[future])
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)  # waits for the lots that have begun
            for future, lot in waiting.items():
                if not future.cancelled() and lot.key not in record.done:
                    record.add(lot, future.result())
            raise


def run_lot(lot: Lot) -> Tally:
    """Run a lot in a process of its own; a crash or a hang counts as a failure."""
    pure = {"MINIGRAD_PURE": "1" if lot.engine == "pure" else "0"}
    command = [sys.executable, "-m", "bench.campaign", "--lot", json.dumps(asdict(lot))]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={"MINIGRAD_CACHE": "0", **os.environ, **pure},
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST,
            check=False,
            start_new_session=True,  # Ctrl-C is for the campaign; what has begun is finished
        )
    except subprocess.TimeoutExpired:
        tally = Tally()
        tally.count(f"{lot.key}: not done after {_LONGEST:.0f} s")
    else:
        last = done.stdout.splitlines()[-1:]
        if done.returncode == 0 and last:
            tally = Tally(**json.loads(last[0]))
        else:
            tally = Tally()
            tally.count(f"{lot.key}: exit status {done.returncode}; {done.stderr[-2000:]}")
    tally.seconds = time.monotonic() - began
    return tally
