"""Help: every command has examples, and every example does what it should: it runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from conftest import oracle
from typer.testing import CliRunner

from minigrad.cli import app
from minigrad.cli.examples import EXAMPLES

LIBRARY = Path(__file__).parent.parent / "src" / "minigrad"


def commands(command=None, path=()):
    """Walk through all commands, by the words that call them."""
    command = command or typer.main.get_command(app)
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


COMMANDS = list(commands())


def shown_by(path, flag):
    done = CliRunner().invoke(app, [*path, flag])
    assert (done.exit_code, done.stderr) == (0, "")
    return done.output


def examples_in(text):
    return [line.strip() for line in text.splitlines() if re.match(r"  (\S.* \| )?minigrad ", line)]


@pytest.mark.smoke
@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_has_examples_and_is_called_h_too(path):
    text = shown_by(path, "--help")
    assert shown_by(path, "-h") == text
    examples = examples_in(text)
    assert examples
    words = " ".join(["minigrad", *path])
    assert all(words in example for example in examples)


def test_the_table_of_examples_has_no_other_commands():
    assert {" ".join(path) for path in COMMANDS} == set(EXAMPLES)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with what the examples name."""
    monkeypatch.chdir(tmp_path)
    sound = LIBRARY / "check" / "doctor" / "sound" / "closure.py"
    (tmp_path / "engine.py").write_text(sound.read_text(encoding="utf-8"), encoding="utf-8")
    cells = [{"cell_type": "code", "source": sound.read_text(encoding="utf-8")}]
    (tmp_path / "lesson.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    (tmp_path / "submissions").mkdir()
    (tmp_path / "submissions" / "ada.py").write_text(sound.read_text(encoding="utf-8"))
    own = sound.read_text(encoding="utf-8") + "\nprint((Value(2.0) * Value(3.0)).data)\n"
    (tmp_path / "script.py").write_text(own, encoding="utf-8")
    (tmp_path / "parallel.py").write_text("print('one of them')\n", encoding="utf-8")
    (tmp_path / "model.py").write_text(
        "def loss(xs, y):\n    return (sum(x * x for x in xs) - y) ** 2\n", encoding="utf-8"
    )
    names = "".join(f"{name}\n" for name in ("anna", "ben", "carla", "dora", "emil"))
    (tmp_path / "names.txt").write_text(names, encoding="utf-8")
    assert CliRunner().invoke(app, ["lab", "break", "order"]).exit_code == 0
    return tmp_path


# Exit codes other than 0 that are the right answer: a lab that has just begun is not finished.
ANSWERS = {"minigrad lab check order": 1, "minigrad lab check lab-order --json": 1}
ALL = [example for path in COMMANDS for example in examples_in(shown_by(path, "-h"))]
WITH_PLOTS = [pytest.param(x, marks=pytest.mark.oracle) if "--plot" in x else x for x in ALL]


@pytest.mark.parametrize("example", WITH_PLOTS)
def test_examples_run(folder, example, monkeypatch):
    if "--plot" in example:
        oracle("matplotlib")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    text, _, command = example.rpartition(" | ")
    given = None if not text else "\n".join(shlex.split(text)[1:]) + "\n"
    program, *arguments = shlex.split(command)
    assert program == "minigrad"
    if arguments[0] in ("run", "launch"):  # these want a process of their own
        done = subprocess.run(
            [sys.executable, "-m", "minigrad", *arguments],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout
        return
    done = CliRunner().invoke(app, arguments, input=given)
    assert done.exit_code == ANSWERS.get(example, 0), done.output
    assert done.output
    assert "Traceback" not in done.output
    assert bool(opened) == ("--open" in arguments)
    if "--json" in arguments:
        json.loads(done.stdout, parse_constant=pytest.fail)


def completing(how, **words):
    return (
        CliRunner()
        .invoke(app, [], prog_name="minigrad", env={"_MINIGRAD_COMPLETE": how, **words})
        .output
    )


def test_completion_for_shells():
    assert "complete -o default -F _minigrad_completion minigrad" in completing("source_bash")
    assert "#compdef minigrad" in completing("source_zsh")
    found = completing("complete_bash", COMP_WORDS="minigrad gra", COMP_CWORD="1")
    assert found.split() == ["grad", "gradcheck"]
