"""The self test: that it passes here, and that it can fail."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import minigrad
from minigrad import lab
from minigrad.check import selftest
from minigrad.cli import app


@pytest.mark.parametrize("name", selftest.CHECKS)
def test_nothing_fails_here(name):
    outcome = selftest.examined(name, seconds=60.0, seed=5, most=40)
    assert outcome.cases > 0
    assert outcome.failures == []


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("overwrite", "exact graphs"),
        ("breadth_first", "exact graphs"),
        ("stale_interior", "exact graphs"),
        ("relu_always", "exact graphs"),
        ("overwrite", "forks"),
        ("overwrite", "interrupts"),
        ("exp_input", "first and second derivatives"),
        ("div_sign", "first and second derivatives"),
    ],
)
def test_a_broken_engine_is_noticed(fault, name):
    with lab.broken(fault):
        outcome = selftest.examined(name, seconds=60.0, most=300)
    assert outcome.failures


def test_a_crash_is_a_failure_and_ends_nothing_else(monkeypatch):
    def crashing(seed):
        yield None
        raise ZeroDivisionError("by hand")

    monkeypatch.setitem(selftest.CHECKS, "threads", crashing)
    outcome = selftest.examined("threads", seconds=1.0)
    assert (outcome.cases, outcome.failures) == (2, ["ZeroDivisionError: by hand"])


def test_time_ends_an_endless_check():
    outcome = selftest.examined("exact graphs", seconds=0.0)
    assert outcome.cases == 1


def test_the_command_prints_what_a_report_needs():
    result = CliRunner().invoke(app, ["selftest", "--seconds", "0.1"])
    assert result.exit_code == 0, result.output
    for said in (minigrad.__version__, f"engine: {minigrad.engine()}", "CPU", "Python: CPython"):
        assert said in result.stdout
    for name in selftest.CHECKS:
        assert name in result.stdout


def test_the_command_speaks_json_and_fails_with_1(monkeypatch):
    monkeypatch.setitem(selftest.CHECKS, "threads", lambda seed: iter(["it is \x1b[31mred"]))
    result = CliRunner().invoke(app, ["selftest", "--json", "--seconds", "0.1"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["machine"]["engine"] == minigrad.engine()
    failures = {check["name"]: check["failures"] for check in found["checks"]}
    assert failures.pop("threads") == ["it is \x1b[31mred"]
    assert not any(failures.values())
