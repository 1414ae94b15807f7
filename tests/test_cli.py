"""The command line, as a user sees it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import minigrad
from minigrad.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def rows(text):
    """The cells of a printed table."""
    return [
        [cell.strip() for cell in line.strip("│┃ ").replace("┃", "│").split("│")]
        for line in text.splitlines()
        if "│" in line or "┃" in line
    ]


def test_grad_prints_value_and_gradients_in_a_table():
    done = run("grad", "(a*b + c) * (a - c)", "a=2", "b=3", "c=4")
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "(a*b + c) * (a - c) = -20"
    assert rows(done.output) == [
        ["variable", "value", "gradient"],
        ["a", "2", "4"],
        ["b", "3", "-4"],
        ["c", "4", "-12"],
    ]


def test_grad_for_programs():
    done = run("grad", "log(x)*0 + y", "x=0", "y=1", "--json")
    assert json.loads(done.output, parse_constant=pytest.fail) == {
        "expression": "log(x)*0 + y",
        "value": "nan",
        "variables": {"x": {"value": 0.0, "grad": "nan"}, "y": {"value": 1.0, "grad": 1.0}},
    }


def test_grad_of_a_bare_variable_a_constant_and_a_leading_minus():
    assert rows(run("grad", "a", "a=5").output)[1] == ["a", "5", "1"]
    assert run("grad", "1 + 1").output.strip() == "1 + 1 = 2"
    assert rows(run("grad", "-a**2", "a=3").output)[1] == ["a", "3", "-6"]
    assert rows(run("grad", "a*b", "a=-2", "b=1e3").output)[1:] == [
        ["a", "-2", "1000"],
        ["b", "1000", "-2"],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a +", "a=1"], "ends where a number"),
        (["a + b", "a=1"], "no value for b; add b=…"),
        (["a", "a=1", "z=2"], "the expression has no z; leave out z=…"),
        (["a", "a=x"], "a=x: 'x' is not a number; write a=0.5"),
        (["a", "a=1_000"], "'1_000' is not a number"),
        (["a :smile: b", "a=1"], "a :smile: b"),
        (["a*exp", "a=1", "exp=2"], "exp is a function; give the variable another name"),
        (["a", "a"], "'a' is not of the form name=number"),
        (["a", "a=1", "a=2"], "a is given twice"),
        (["foo(a)", "a=1"], "no function 'foo'"),
        (["[bold]a[/bold]", "a=1"], "unexpected '['"),
    ],
)
def test_mistakes_exit_with_2_and_say_what_to_do(arguments, words):
    done = run("grad", *arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_it_runs_as_a_module_too():
    done = subprocess.run(
        [sys.executable, "-m", "minigrad", "grad", "a*a", "a=3"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("a*a = 9")


def test_version():
    assert run("--version").output == f"minigrad {minigrad.__version__}\n"


def test_help():
    assert "grad" in run("--help").output
    assert "NAME=NUMBER" in run("grad", "--help").output
