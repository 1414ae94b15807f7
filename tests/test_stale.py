"""No compiled function returns an old number: the rows of `stale_rows`, judged one by one."""

from __future__ import annotations

from collections import Counter

import pytest
from stale import HAS_AUDIT, judge
from stale_rows import load

ROWS = load()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row(row):
    verdict = judge(row)
    if verdict.word in row.accepts:
        return
    text = f"{verdict.word} ({verdict.why}); accepted: {', '.join(sorted(row.accepts))}"
    if not HAS_AUDIT:
        pytest.xfail(f"now {text}")
    pytest.fail(text)


def test_the_catalogue_is_large_enough():
    counts = Counter(row.group for row in ROWS)
    assert len(counts) >= 21
    assert min(counts.values()) >= 8
    assert counts.total() >= 220
