"""No compiled function returns an old number: the rows of `stale_rows`, judged one by one."""

from __future__ import annotations

import builtins
import os
import random
import sys
from collections import Counter

import pytest
from stale import HAS_AUDIT, Outcome, compared, eager, judge, outcome
from stale_rows import NEVER_WRONG, Row, load, user_module

import minigrad

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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_shows_something_when_it_is_not_compiled(row):
    """A scenario that breaks by itself would prove nothing."""
    truth = outcome(row, eager())
    assert truth.error is None
    assert truth.seen


def test_the_catalogue_is_large_enough():
    counts = Counter(row.group for row in ROWS)
    assert len(counts) >= 21
    assert min(counts.values()) >= 8
    assert counts.total() >= 220


# ---- the judge itself, on planted outcomes -------------------------------------------------------


class AuditError(Exception):
    """Has the name of minigrad's own."""


REFUSAL = minigrad.TraceError("a compiled function does something that cannot be replayed.")
PLANTED = {
    "the same numbers": ([1.0, 2.0], None, "same"),
    "the same but for rounding": ([1.0, 2.0 + 1e-13], None, "same"),
    "an old number": ([1.0, 1.0], None, "wrong"),
    "a number too few": ([1.0], None, "wrong"),
    "a refusal at once": ([], REFUSAL, "refused"),
    "a refusal in time": ([1.0], REFUSAL, "refused"),
    "a refusal too late": ([9.0], REFUSAL, "wrong"),
    "a refusal without a reason": ([1.0], minigrad.TraceError("no"), "crash"),
    "python's own words": ([1.0], TypeError("unsupported operand type(s) for %"), "crash"),
    "an error from inside": ([1.0], KeyError("__wrapped__"), "crash"),
    "an audit": ([1.0, 1.0], AuditError("2.0 is not 1.0"), "caught"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_judge_recognises(name):
    seen, error, word = PLANTED[name]
    assert compared(Outcome([1.0, 2.0]), Outcome(seen, error)).word == word


def test_nan_is_nan_and_another_error_is_another():
    nan = float("nan")
    assert compared(Outcome([nan]), Outcome([nan])).word == "same"
    assert compared(Outcome([], ValueError("a")), Outcome([], ValueError("b"))).word == "same"
    assert compared(Outcome([], ValueError("a")), Outcome([])).word == "wrong"


def test_a_limit_is_only_for_what_is_wrong():
    def wrong(compiled):
        yield type(compiled(lambda x: x)).__name__

    def right(compiled):
        yield compiled(lambda x: x)(1.0)

    accepts = NEVER_WRONG | {"limit"}
    assert judge(Row("a", "b", wrong, accepts, "documented")).word == "limit"
    assert judge(Row("a", "b", right, accepts, "documented")).word == "same"


def test_what_a_row_leaves_behind_is_removed():
    def untidy(compiled):
        builtins.user_name, builtins.len = 1.0, None
        os.environ["USER_NAME"] = "1"
        user_module("user_left", rate=1.0)
        random.seed(5)
        yield 1.0

    plain, dice = len, random.getstate()
    outcome(Row("a", "b", untidy), eager())
    assert builtins.len is plain
    assert not hasattr(builtins, "user_name")
    assert "USER_NAME" not in os.environ
    assert "user_left" not in sys.modules
    assert random.getstate() == dice
