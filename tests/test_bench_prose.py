"""Figures in a text come from what the benches wrote down, in the words of its language."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

prose = pytest.importorskip("bench.prose", reason="the benchmarks are not here")

FILES = {
    "compiled": {
        "date": "2026-01-02",
        "machine": "a processor, 2 cores",
        "cases": {
            "A": {
                "rows": {
                    "minigrad, kernel": {"min": 8e-6},
                    "C by hand": {"min": 1e-4},
                    "numba": {"missing": "no module"},
                }
            },
            "E": {"rows": [{"nodes": 7}, {"nodes": 2_500_000}]},
        },
    },
    "eager": {"cases": {"W2": {"operations": 9, "rows": {"a": {"min": 94.12, "bytes": 112.4}}}}},
}


@pytest.mark.parametrize(
    ("place", "english", "spanish"),
    [
        ("compiled date", "2026-01-02", "2026-01-02"),
        ("compiled machine", "a processor, 2 cores", "a processor, 2 núcleos"),
        ("compiled A: C by hand / minigrad, kernel", "12.5", "12,5"),
        ("compiled A: minigrad, kernel; µs", "8.00", "8,00"),
        ("compiled A: C by hand; ns", "100,000", "100.000"),
        ("compiled E: largest [nodes]", "2,500,000", "2.500.000"),
        ("compiled E: smallest [nodes]", "7", "7"),
        ("eager W2: a; ns", "94.1", "94,1"),
        ("eager W2: a [bytes]", "112", "112"),
    ],
)
def test_a_figure_is_what_was_measured(place, english, spanish):
    text = f"so <!-- ={place} -->old<!-- = --> it is"
    assert prose.filled(text, FILES) == f"so <!-- ={place} -->{english}<!-- = --> it is"
    assert prose.filled(text, FILES, "es") == f"so <!-- ={place} -->{spanish}<!-- = --> it is"
    assert prose.without_figures(text) == "so  it is"


def test_a_peer_that_is_not_installed_is_told():
    with pytest.raises(ValueError, match="A: numba was not measured: no module"):
        prose.filled("a <!-- =compiled A: numba; s -->1<!-- = -->", FILES)


def test_a_line_does_not_begin_with_a_figure():
    with pytest.raises(ValueError, match="begin the line with a word: <!-- =compiled date"):
        prose.filled("It is from\n<!-- =compiled date -->2<!-- = -->.", FILES)


@pytest.mark.parametrize(
    "place", ["nosuch date", "compiled B: C", "compiled A: C", "compiled A: C by hand [x]", "eager"]
)
def test_what_nobody_measured_is_refused(place):
    with pytest.raises(ValueError, match="no figure for"):
        prose.filled(f"a <!-- ={place} -->1<!-- = -->", FILES)


@pytest.mark.parametrize("name", ["compiled", "eager"])
def test_the_machines_of_the_site_are_told_in_spanish(name):
    folder = Path(__file__).parent.parent / "docs"
    machine = json.loads((folder / f"{name}.json").read_text("utf-8"))["machine"]
    told = prose.in_language(machine, "es")
    assert "núcleos" in told
    assert not re.search(r"\b(a|with|two|machine|cores)\b", told)
