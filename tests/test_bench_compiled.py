"""The tables of bench/compiled.py can be read wherever they are printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def bench():
    if not (ROOT / "bench").is_dir():
        pytest.skip("the benchmarks are not here")
    sys.path.insert(0, str(ROOT))
    try:
        from bench import columns, compiled_cases, compiled_claims, compiled_tables, eager
    finally:
        sys.path.remove(str(ROOT))
    names = {}
    for module in (compiled_cases, compiled_claims, compiled_tables):
        names |= vars(module)
    return SimpleNamespace(**names, print_table=columns.print_table, eager=eager)


def row(least, **more):
    return {
        "ready": 1.0,
        "memory": 0,
        "min": least,
        "median": 2 * least,
        "difference": 1e-16,
        **more,
    }


@pytest.mark.smoke
def test_tables_fit_80_columns(bench, capsys):
    missing = "No module named 'casadi', which is a package that somebody has to install first."
    rows = {
        bench.WHOLE: row(1e-3),
        bench.FAST_C: row(0.9),
        bench.CASADI: {"missing": missing},
    }
    step = {"what": bench.CASES["A"].what, "unit": "µs", "rounds": 7, "rows": rows}
    trained = {
        "what": bench.TRAINING.format(count=1000),
        "rows": {
            bench.WHOLE: {"seconds": 1.0, "measured": 1.0, "difference": None},
            bench.MICROGPT: {"seconds": 1e5, "measured": 20.0},
            bench.JAX: {"missing": missing},
        },
    }
    growth = {"rows": [], "missing": missing}
    for table in bench.tables({"A": step, "M32": step, "B end to end": trained, "E": growth}):
        bench.print_table(*table)
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for whole in (
        bench.WHOLE,
        bench.FAST_C,
        "900,000.0",
        "1,800,000.0",
        "100,000.000",
        "1.0e-16",
    ):
        assert whole in text
    assert " ".join(missing.split()) in " ".join(text.split())
    assert "…" not in text


def test_a_goal_stands_beside_the_claim_that_leaves_room_for_noise(bench):
    """A goal that was missed is shown as missed, and a claim about the same figure may hold."""
    case = {"rows": {bench.KERNEL: row(1e-5), bench.WHOLE: row(1.4e-5)}}
    text = "A: whole call / kernel"
    goals, claims = (dict(_said(table({"A": case}))) for table in _ends(bench))
    assert goals[f"{text} <= 1.25"] == ("1.4", "NO")
    assert claims[f"{text} <= 1.5"] == ("1.4", "yes")
    case["rows"][bench.WHOLE] = {"missing": "died"}
    goals, claims = (dict(_said(table({"A": case}))) for table in _ends(bench))
    assert goals[f"{text} <= 1.25"] == claims[f"{text} <= 1.5"] == ("–", "not measured")


def _ends(bench):
    return bench.table_of_goals, bench.table_of_claims


def _said(table):
    return [(text, (figure, verdict)) for text, figure, verdict in table[2]]


def test_no_claim_is_sharper_than_its_goal(bench):
    pairs = list(bench.with_goals({}))
    assert len(pairs) == 17
    assert all(figure is None and goal <= bound for _, figure, goal, bound in pairs)


def test_eager_goals_and_claims_are_told_where_they_were_measured(bench):
    ours, floats = {"min": 62.0, "bytes": 112.0}, {"min": 31.0, "bytes": 0.0}
    results = {"W2": {"rows": {bench.eager.BASE: ours, bench.eager.FLOATS: floats}}}
    ratio = "W2: minigrad native / plain floats, forward only"
    assert list(bench.eager.judged(results, claimed=False)) == [
        (f"{ratio} <= 1.7", "2", False),
        ("W2: nanoseconds of an operation, minigrad native <= 65", "62", True),
        ("W2: bytes per node, minigrad native <= 130", "112", True),
    ]
    assert (f"{ratio} <= 2", "2", True) in bench.eager.judged(results, claimed=True)
    missing = {bench.eager.BASE: {"missing": "died"}, bench.eager.FLOATS: {"missing": "no"}}
    assert list(bench.eager.judged({"W3": {"rows": missing}}, claimed=True)) == []


def test_no_eager_claim_is_sharper_than_its_goal(bench):
    for *_, sign, goal, bound in bench.eager.RATIOS:
        assert goal >= bound if sign == ">=" else goal <= bound
    assert all(goal <= bound for *_, goal, bound in bench.eager.NUMBERS)


@pytest.mark.usefixtures("bench")
def test_a_case_that_fails_takes_no_other_along():
    code = """
import subprocess
import sys
from bench import compiled

def fails():
    raise ValueError("no luck")

def nothing(why):
    return lambda: {"rows": {}, "missing": why}

compiled.jobs = lambda *_: [("E", nothing("before")), ("A", fails), ("E again", nothing("after"))]
sys.argv = ["compiled.py"]
compiled.main()
"""
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "before" in done.stdout
    assert "after" in done.stdout
    assert "no luck" in done.stderr
    assert "Not measured, because of an error or Ctrl-C: A." in done.stderr
    assert done.returncode == 1


@pytest.mark.usefixtures("bench")
def test_no_module_of_the_benches_hides_one_of_the_tests():
    """Both folders are on the path where a bench asks the tests for models."""
    scripts = {"agreement"}  # which is run, and which nobody imports
    here, there = ({path.stem for path in (ROOT / x).glob("*.py")} for x in ("bench", "tests"))
    assert here & there <= scripts
