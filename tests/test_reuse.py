"""Memory of results that nobody holds any more is taken again, and no other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from minigrad.compiler import reuse

LARGE = reuse._LEAST


@pytest.fixture(autouse=True)
def nothing_kept():
    reuse._kept.clear()
    yield
    reuse._kept.clear()


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_taken_again():
    first = reuse.empty(LARGE)
    first[:] = 3.0
    where = address(first)
    del first
    again = reuse.empty(LARGE)
    assert address(again) == where
    again[:] = 4.0  # it may be written to
    assert again.shape == (LARGE,)
    assert again.dtype == np.float64


def test_a_loop_that_holds_the_former_results_needs_two_pieces():
    seen = set()
    for _ in range(6):
        held = reuse.empty(LARGE)
        seen.add(address(held))
    assert len(seen) == 2
    assert len(reuse._kept) == 2


@pytest.mark.parametrize(
    "held",
    [
        lambda a: a,
        lambda a: a[5:9],
        lambda a: a.reshape(2, -1)[1].T,
        lambda a: memoryview(a),
        lambda a: np.frombuffer(memoryview(a)[3:]),
        lambda a: a[:4].view(np.int64),
    ],
    ids=["itself", "slice", "view of a view", "memoryview", "from its buffer", "other type"],
)
def test_not_while_anybody_holds_a_part(held):
    first = reuse.empty(LARGE)
    first[:] = 3.0
    part = held(first)
    del first
    second = reuse.empty(LARGE)
    second[:] = 4.0
    assert set(np.asarray(part).view(np.float64).ravel().tolist()) == {3.0}


def test_other_sizes():
    first = reuse.empty(LARGE)
    del first
    assert len(reuse.empty(LARGE + 1)) == LARGE + 1
    assert len(reuse.empty(0)) == 0
    reuse._kept.clear()
    small = reuse.empty(10)
    assert len(small) == 10
    assert not reuse._kept  # neither small memory is kept, nor very large


def test_very_large_memory_is_not_kept(monkeypatch):
    monkeypatch.setattr(reuse, "_MOST", LARGE)
    reuse.empty(LARGE + 1)
    assert not reuse._kept


def test_threads_never_share():
    failures = []

    def work(number):
        for _ in range(200):
            mine = reuse.empty(LARGE)
            mine[::4096] = number
            if set(mine[::4096].tolist()) != {float(number)}:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
