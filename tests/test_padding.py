"""`padded`: rows of several lengths as one table."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from minigrad import padded  # noqa: E402

ROWS = st.lists(st.lists(st.floats(-9, 9), min_size=1, max_size=6), max_size=5)


@given(ROWS)
def test_weights_make_means_of_the_rows(rows):
    table, weights = padded(rows)
    assert table.shape == weights.shape
    for row, numbers, weight in zip(rows, table, weights, strict=True):
        assert numbers[: len(row)].tolist() == row
        assert (numbers * weight).sum() == pytest.approx(sum(row) / len(row), abs=1e-12)
        assert not weight[len(row) :].any()
        assert not numbers[len(row) :].any()


def test_tokens_stay_whole_and_predict_one_less():
    table, weights = padded([[3, 1, 4], [1, 5]], 5, fill=9, less=1)
    assert table.dtype == np.int64
    assert table.tolist() == [[3, 1, 4, 9, 9], [1, 5, 9, 9, 9]]
    assert weights.tolist() == [[0.5, 0.5, 0, 0], [1, 0, 0, 0]]


def test_fractions_make_it_floats():
    assert padded([[1, 2], [0.5]])[0].dtype == np.float64
    assert padded([[1, 2], [1]], fill=0.5)[0].tolist() == [[1, 2], [1, 0.5]]
    assert np.isnan(padded([[1], [1, 2]], fill=float("nan"))[0][0, 1])


def test_no_rows():
    table, weights = padded([])
    assert table.shape == weights.shape == (0, 0)


def test_rows_too_long_or_too_short_are_refused():
    with pytest.raises(ValueError, match=r"row 1 has 3 numbers; give from 1 to 2, or cut it"):
        padded([[1], [1, 2, 3]], 2)
    with pytest.raises(ValueError, match=r"row 0 has 1 numbers; give from 2 to 4"):
        padded([[7]], 4, less=1)
    with pytest.raises(ValueError, match="row 0 has 0 numbers"):
        padded([[]])
