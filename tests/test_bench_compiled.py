"""The tables of bench/compiled.py can be read wherever they are printed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def bench():
    path = ROOT / "bench"
    if not path.is_dir():
        pytest.skip("the benchmarks are not here")
    sys.path.insert(0, str(path))
    try:
        import compiled
    finally:
        sys.path.remove(str(path))
    return compiled


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
    bench.print_tables({"A": step, "M32": step, "B end to end": trained, "E": growth})
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
