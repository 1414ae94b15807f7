"""How right is the doctor on engines that nobody here wrote? `python bench/doctor.py FOLDER`.

Takes the engines that it finds in a folder (modules and notebooks with a class that adds or
multiplies and speaks of gradients), asks `minigrad doctor` about each, and asks `doctor_oracle.py`,
which knows nothing of the doctor, whether the engine's gradients are its own differences. It
fetches nothing. Where the two disagree somebody has to read the engine; what was found out by hand
goes into a CSV file for `--truth` (columns engine and codes: `sound`, `no engine` or the right
codes; both where it is a matter of taste), which is believed more than the oracle.

`--json FILE` keeps what was found, and a later run with the same file begins where it stopped.
"""

from __future__ import annotations

import argparse
import ast
import csv
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
ORACLE = HERE / "doctor_oracle.py"
sys.path.insert(0, str(HERE))

from doctor_loading import code_of, statements_of  # noqa: E402
from doctor_oracle import SPECIAL  # noqa: E402

SECONDS = 120.0  # of waiting for the doctor or the oracle
UNNAMED = ("wrong_", "unknown", "crash")  # how codes begin that tell that it is wrong, not what
NAMED = ("wrong_arguments", "wrong_seed")  # which begin like this all the same
WORDS = ("grad", "backward", "backprop", "deriv")
NO_ENGINE = "no engine"  # what the truth may be; else `sound`, or codes, or `sound` and codes
# Faults for the doctor; the oracle sees that numbers are refused, or that people seed by hand.
REFUSES_NUMBERS, UNSEEDED = {"constants", "number_inside"}, {"missing_seed"}


# ---- which files -------------------------------------------------------------------------------


def is_engine(path: Path) -> bool:
    """Whether a file defines a class that looks like an engine's."""
    try:
        cells = code_of(path)
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False
    return any(_has_engine(cell) for cell in cells if any(w in cell.lower() for w in WORDS))


def _has_engine(source: str) -> bool:
    try:
        body = statements_of(source)
    except (SyntaxError, ValueError):
        return False
    nodes = [node for statement in body for node in ast.walk(statement)]
    return any(
        isinstance(part, ast.FunctionDef) and part.name in (SPECIAL["+"], SPECIAL["*"])
        for cls in nodes
        if isinstance(cls, ast.ClassDef)
        for part in cls.body
    )


def engines_in(folder: Path, names: Path | None) -> list[Path]:
    if names:
        lines = [line.strip() for line in names.read_text().splitlines()]
        return [folder / line for line in lines if line and not line.startswith("#")]
    found = [p for p in folder.rglob("*") if p.suffix in (".py", ".ipynb") and p.is_file()]
    return sorted(path for path in found if is_engine(path))


# ---- asking ------------------------------------------------------------------------------------


def ask(command: list[str]) -> tuple[str, float, str]:
    """Run a command in an empty folder; return what it printed, its CPU seconds and its trouble."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=subprocess.PIPE, start_new_session=True
        )
        deadline = time.monotonic() + SECONDS
        while (done := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.killpg(process.pid, 9)
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(done[1])
        assert process.stderr is not None
        trouble = process.stderr.read().decode("utf-8", "replace")[-400:]
        process.stderr.close()
        out.seek(0)
        usage = done[2]
        return out.read().decode("utf-8", "replace"), usage.ru_utime + usage.ru_stime, trouble


def _parsed(text: str, trouble: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except ValueError:
        return {"died": trouble.strip()[-300:] or "nothing was said"}


def ask_doctor(path: Path) -> dict[str, Any]:
    text, cpu, trouble = ask([sys.executable, "-m", "minigrad", "doctor", str(path), "--json"])
    said = _parsed(text, trouble)
    problem = said.get("problem") or (f"the doctor died: {said['died']}" if "died" in said else "")
    faults = said.get("faults", [])
    return {
        "problem": problem,
        "class": said.get("words", {}).get("class", ""),
        "codes": [fault["code"] for fault in faults],
        "found": [[f["code"], f["program"], f["expected"], f["got"], f["line"]] for f in faults],
        "limits": [limit["code"] for limit in said.get("limits", [])],
        "cpu": round(cpu, 3),
    }


def ask_oracle(path: Path) -> dict[str, Any]:
    text, _, trouble = ask([sys.executable, "-B", str(ORACLE), str(path)])
    return _parsed(text, trouble)


# ---- comparing ---------------------------------------------------------------------------------


def judged_engine(oracle: dict[str, Any], cls: str) -> dict[str, Any] | None:
    """Return the engine that the doctor looked at, or else the last in the file."""
    engines = oracle.get("engines", [])
    same = [engine for engine in engines if engine["class"] == cls]
    return (same or engines or [None])[-1]


def compare(doctor: dict[str, Any], oracle: dict[str, Any], truth: str | None = None) -> str:
    """Say how the two agree, in one of the words that `OUTCOMES` explains."""
    engine = judged_engine(oracle, doctor["class"])
    if truth == NO_ENGINE or (truth is None and engine is None):
        return "no engine, not examined" if doctor["problem"] else "examined, oracle cannot"
    if doctor["problem"]:
        return "not examined"
    says, right = set(doctor["codes"]), set((truth or "").split())
    if truth is not None:
        is_faulty = "sound" not in right
        says -= right if not is_faulty else set()  # sound, or else that: a matter of taste
    else:
        assert engine is not None
        is_faulty = bool(engine["faults"])
        says -= REFUSES_NUMBERS if engine["refused"] and not is_faulty else set()
        says -= UNSEEDED if engine["seeded"] and not is_faulty else set()
    if is_faulty:
        return "found" if says else "missed"
    return "false alarm" if says else "sound"


def is_named(doctor: dict[str, Any], truth: str | None) -> bool | None:
    """Whether the cause is right that is named first; None where nobody has told what it is."""
    if truth is None or truth == NO_ENGINE or "sound" in truth.split() or not doctor["codes"]:
        return None
    return doctor["codes"][0] in truth.split()


def measure(path: Path, folder: Path, earlier: dict[str, Any], stamp: str) -> dict[str, Any]:
    name = str(path.relative_to(folder))
    content = hashlib.sha256(path.read_bytes() + _oracle()).hexdigest()[:16]
    row = earlier.get(name, {})
    if row.get("content") != content:
        row = {"engine": name, "content": content, "oracle": ask_oracle(path)}
    if row.get("stamp") != stamp:
        row = row | {"stamp": stamp, "doctor": ask_doctor(path)}
    return row


@functools.cache
def _oracle() -> bytes:
    return b"".join(path.read_bytes() for path in sorted(HERE.glob("doctor_*.py")))


def stamp_of_doctor() -> str:
    """Tell one version of the doctor from another."""
    import minigrad

    root = Path(minigrad.__file__).parent
    parts = [*(root / "check").rglob("*.py"), *(root / "cli").rglob("*.py")]
    digest = hashlib.sha256(str(root).encode())
    for part in sorted(parts):
        digest.update(part.read_bytes())
    return digest.hexdigest()[:16]


# ---- telling -----------------------------------------------------------------------------------

OUTCOMES = {
    "found": "faulty, and the doctor says so",
    "sound": "sound, and the doctor says so",
    "missed": "faulty, and the doctor does not say so",
    "false alarm": "sound, and the doctor says that it is faulty",
    "not examined": "an engine that the doctor could not examine",
    "no engine, not examined": "neither could: no class, or no backward pass yet",
    "examined, oracle cannot": "the doctor examined it; the oracle could not",
}


def summary(rows: list[dict[str, Any]], truth: dict[str, str]) -> dict[str, Any]:
    counts = Counter(row["outcome"] for row in rows)
    engines = sum(n for outcome, n in counts.items() if outcome in list(OUTCOMES)[:5])
    alarms = counts["found"] + counts["false alarm"]
    faulty = counts["found"] + counts["missed"]
    times = [row["doctor"]["cpu"] for row in rows]
    named = [is_named(row["doctor"], truth.get(row["engine"])) for row in rows]
    told = [n for n in named if n is not None]
    findings = [code for row in rows for code in row["doctor"]["codes"]]
    return {
        "files": len(rows),
        "scalar engines": engines,
        **{outcome: counts[outcome] for outcome in OUTCOMES},
        "not examined, of engines": _share(counts["not examined"], engines),
        "precision": _share(counts["found"], alarms),
        "recall, of those examined": _share(counts["found"], faulty),
        "first cause right, of those told": _share(sum(told), len(told)),
        "findings without a cause": sum(
            code.startswith(UNNAMED) and code not in NAMED for code in findings
        ),
        "findings": len(findings),
        "CPU seconds, median": round(median(times), 2) if times else None,
        "CPU seconds, most": max(times, default=None),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def show(rows: list[dict[str, Any]], truth: dict[str, str], all_rows: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("engine", "outcome", "doctor", "oracle", "CPU")
    for row in rows:
        if not all_rows and row["outcome"] in ("found", "sound"):
            continue
        engine = judged_engine(row["oracle"], row["doctor"]["class"])
        wrong = ", ".join(engine["wrong"][:4]) if engine else row["oracle"].get("died", "no engine")
        says = row["doctor"]["problem"] or " ".join(row["doctor"]["codes"]) or "no fault"
        cpu = f"{row['doctor']['cpu']:.2f}"
        table.add_row(row["engine"], row["outcome"], says[:120], wrong[:80] or "sound", cpu)
    if table.row_count:
        console.print(table)
    totals = Table("what", "number", show_header=False)
    for what, number in summary(rows, truth).items():
        totals.add_row(
            what,
            f"{number:.1%}"
            if isinstance(number, float) and number <= 1 and "CPU" not in what
            else str(number),
        )
    console.print(totals)


def read_truth(path: Path | None) -> dict[str, str]:
    """Read what was found out by hand: `sound`, `no engine`, or the codes that are right."""
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as lines:
        return {r["engine"]: r["codes"].strip() for r in csv.DictReader(lines) if r.get("codes")}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", type=Path, help="paths in the folder to take, one a line")
    parser.add_argument("--json", type=Path, help="write what is found; begin with what is in it")
    parser.add_argument("--truth", type=Path, help="CSV with the columns engine and codes")
    parser.add_argument("--all", action="store_true", help="also show those that agree")
    parser.add_argument("-j", type=int, default=1, help="how many at a time")
    chosen = parser.parse_args(arguments)
    folder = chosen.folder.resolve()
    earlier = {}
    if chosen.json and chosen.json.exists():
        earlier = {row["engine"]: row for row in json.loads(chosen.json.read_text())["rows"]}
    rows = _measure_all(engines_in(folder, chosen.list), folder, earlier, chosen)
    truth = read_truth(chosen.truth)
    for row in rows:
        row["outcome"] = compare(row["doctor"], row["oracle"], truth.get(row["engine"]))
    _write(chosen.json, rows, truth)
    show(rows, truth, chosen.all)
    return 0


def _measure_all(
    paths: list[Path], folder: Path, earlier: dict[str, Any], chosen: argparse.Namespace
) -> list[dict[str, Any]]:
    from rich.progress import track

    stamp = stamp_of_doctor()
    rows: dict[str, Any] = {}
    with ThreadPoolExecutor(chosen.j) as pool:
        waiting = [pool.submit(measure, path, folder, earlier, stamp) for path in paths]
        for done in track(as_completed(waiting), "asking", total=len(waiting)):
            row = done.result()
            rows[row["engine"]] = row
            if len(rows) % 20 == 0:
                _write(chosen.json, [*(earlier | rows).values()], {})
    return [rows[name] for name in sorted(rows)]


def _write(path: Path | None, rows: list[dict[str, Any]], truth: dict[str, str]) -> None:
    if path is None:
        return
    complete = all("outcome" in row for row in rows)
    found = {"summary": summary(rows, truth) if complete else {}, "rows": rows}
    path.with_suffix(".part").write_text(json.dumps(found, indent=1))
    path.with_suffix(".part").replace(path)


if __name__ == "__main__":
    sys.exit(main())
