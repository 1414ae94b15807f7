"""Texts of numbers: those that are only shown tie nothing, all others do."""

from __future__ import annotations

import io
import logging
import sys
import warnings

import pytest

import minigrad

logger = logging.Logger("by itself")  # pytest keeps the records of others, with numbers in them
logger.addHandler(logging.StreamHandler(io.StringIO()))


def _print(v):
    print(f"loss {v.data:.4f}", v.data, file=io.StringIO())


def _log(v):
    logger.warning("loss %.3f %s", v.data, v.data)


def _format(v):
    print("{:.3f}".format(v.data), str(v.data), "%s %.2f" % (v.data, v.data), file=io.StringIO())  # noqa: UP031, UP032


def _write(v):
    sys.stdout.write(f"{v.data}\n")


@pytest.mark.parametrize("show", [_print, _log, _format, _write])
def test_what_is_shown_ties_nothing(show):
    def f(v):
        show(v * v)
        return v * 2

    compiled = minigrad.compile(f)
    with pytest.warns(RuntimeWarning, match=r"makes texts of numbers, at .*test_texts\.py:"):
        compiled(1.5)
    assert [compiled(float(k)).data for k in range(40)] == [2.0 * k for k in range(40)]
    assert compiled.cache_info().traces == 1


def _stored(v):
    text = f"{v.data:.1f}"
    return v * float(text)


def _compared(v):
    return v * 2 if f"{v.data:.0f}" == "1" else v * 3


def _key(v):
    return v * {"1.0": 5.0}.get(str(v.data), 7.0)


def _percent(v):
    return v * float("%.1f" % v.data)  # noqa: UP031


def _measured(v):
    return v * len(f"{v.data:.2f}")


def _in_a_condition(v):
    if f"{v.data:.0f}".startswith("1"):
        return v * 2
    return v


@pytest.mark.parametrize("use", [_stored, _compared, _key, _measured, _percent, _in_a_condition])
def test_what_is_used_ties_the_program_to_the_number(use):
    compiled = minigrad.compile(use)
    for x in (1.0, 2.5, 10.25, 1.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert compiled(x).data == use(minigrad.Value(x)).data


def test_a_text_that_is_returned_is_that_of_the_call():
    compiled = minigrad.compile(lambda v: (v * 2, f"{v.data:.1f}"))
    assert [compiled(x)[1] for x in (1.0, 2.0, 1.0)] == ["1.0", "2.0", "1.0"]


def test_names_made_of_whole_numbers_are_names():
    table = {"w1": 5.0, "w2": 7.0}
    compiled = minigrad.compile(lambda x, n: x * table[f"w{n}"])
    assert [compiled(1.0, n).data for n in (1, 2, 1)] == [5.0, 7.0, 5.0]


@pytest.mark.parametrize(
    "keep",
    [
        lambda kept, v: kept.append(v.log() * float(f"{v.data:.0f}")),
        lambda error, v: error.append(f"{v.data:.0f}"),
        lambda kept, v: kept.extend([f"{v.data:.0f}"]),
    ],
)
def test_it_is_who_is_called_that_shows(keep):
    def f(v):
        kept = []
        keep(kept, v)
        return v * float(kept[0] if isinstance(kept[0], str) else kept[0].data)

    compiled = minigrad.compile(f)
    for x in (1.0, 2.0, 3.0):
        assert compiled(x).data == pytest.approx(f(minigrad.Value(x)).data)


def test_a_text_that_is_kept_is_used():
    def f(v):
        parts = []
        parts.append(f"{v.data:.0f}")
        table = {"1": 1, "2": 2}
        del table[f"{v.data:.0f}"]
        return v * 2 if parts[0] == "1" else v * (3 + len(table))

    compiled = minigrad.compile(f)
    assert [compiled(x).data for x in (1.0, 2.0, 1.0)] == [2.0, 8.0, 2.0]
