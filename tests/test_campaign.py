"""The long campaign: it counts right, goes on where it was stopped, and can fail."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench.campaign import runner  # noqa: E402
from bench.campaign.__main__ import gathered, lots_of  # noqa: E402
from bench.campaign.runner import Lot, Record, run_lot, run_lots  # noqa: E402
from bench.campaign.sections import ENGINES, OURS, SECTIONS  # noqa: E402
from bench.campaign.tally import Tally  # noqa: E402


def campaign(*arguments):
    command = [sys.executable, "-m", "bench.campaign", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SECTIONS)
def test_every_section_asks_both_engines_and_knows_the_others(name):
    assert set(OURS) <= set(SECTIONS[name].cases) <= set(ENGINES)
    assert SECTIONS[name].promise.endswith(".")


def test_lots_cover_the_cases_once():
    section = SECTIONS["exact graphs"]
    lots = lots_of(section, "native", 0.07)
    seeds = [seed for lot in lots for seed in range(lot.start, lot.stop)]
    assert seeds == list(range(round(section.cases["native"] * 0.07)))


def test_a_tally_adds_counts_and_keeps_the_worst():
    one, other = Tally(), Tally()
    one.count(None)
    one.figure("error", 1.0)
    other.count("wrong")
    other.figure("error", 0.5)
    one.merge(other)
    assert (one.cases, one.failed, one.failures, one.figures) == (2, 1, ["wrong"], {"error": 1.0})
    one.figure("error", math.nan)
    assert math.isnan(one.figures["error"])


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    path = tmp_path / "record.jsonl"
    lots = [Lot("threads", "pure", k, k + 1) for k in range(3)]
    ran = []

    def counted(lot):
        ran.append(lot)
        tally = Tally()
        tally.count("no" if lot.start == 1 else None)
        return tally

    monkeypatch.setattr(runner, "run_lot", counted)
    run_lots(lots[:2], Record(path, fresh=False), 1, lambda lot: None)
    with path.open("a") as file:
        file.write('{"lot": "threads/pure/2-3", "cases"')  # as a kill would leave it
    record = Record(path, fresh=False)
    run_lots(lots, record, 1, lambda lot: None)
    assert sorted(lot.start for lot in ran) == [0, 1, 2]
    found = gathered(record, lots)[("threads", "pure")]
    assert (found.cases, found.failed) == (3, 1)


def test_lots_of_other_code_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "record.jsonl"
    Record(path, fresh=False)
    monkeypatch.setattr(runner, "fingerprint", lambda: "other code")
    with pytest.raises(SystemExit, match="other code than this"):
        Record(path, fresh=False)
    assert Record(path, fresh=True).done == {}


def test_a_crash_is_a_failure():
    tally = run_lot(Lot("no such section", "native", 0, 1))
    assert (tally.cases, tally.failed) == (1, 1)
    assert "KeyError" in tally.failures[0]


def test_the_command_from_end_to_end(tmp_path):
    record, figures = tmp_path / "record.jsonl", tmp_path / "figures.json"
    here = [engine for engine in OURS if ENGINES[engine]()]
    asked = ["--share", 0.0002, "--only", "exact graphs", "--engines", *here]
    done = campaign(*asked, "--record", record, "--json", figures)
    assert done.returncode == 0, done.stderr
    rows = json.loads(figures.read_text())["rows"]
    found = [(row["engine"], row["cases"], row["failed"]) for row in rows]
    assert found == [(engine, 20, 0) for engine in here]
    assert "exact graphs" in done.stdout
    before = record.read_text()
    assert campaign(*asked, "--record", record).returncode == 0
    assert record.read_text() == before


def test_a_wrong_question_is_answered_with_a_sentence():
    done = campaign("--only", "everything")
    assert done.returncode == 2
    assert "there is no section 'everything'; there are exact graphs" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--share", "nan"), ("--share", "2"), ("--processes", "0"), ("--json", "nowhere/x.json")],
)
def test_wrong_options_are_refused_before_anything_runs(arguments):
    done = campaign(*arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("python -m bench.campaign: error: ")


def test_a_record_that_is_none_is_refused(tmp_path):
    path = tmp_path / "record"
    path.write_bytes(b"\xffrubbish")
    for where in (tmp_path, path):
        done = campaign("--record", str(where), "--share", "0.001", "--only", "forks")
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
    assert path.read_bytes() == b"\xffrubbish"
