"""The command line, as a user sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from conftest import oracle
from typer.testing import CliRunner

import minigrad
from minigrad import expressions as expr
from minigrad.calculus.paths import explain_all
from minigrad.cli import app, derivatives, given


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def rows(text):
    """The cells of a printed table."""
    return [
        [cell.strip() for cell in line.strip("│┃ ").replace("┃", "│").split("│")]
        for line in text.splitlines()
        if "│" in line or "┃" in line
    ]


@pytest.mark.smoke
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


@pytest.mark.smoke
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
        (["2*a", "α=1"], "unexpected 'α'; names have the letters a to z"),
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


# ---- seeing -------------------------------------------------------------------------------------

DIAMOND = ["(a*b + c) * (a - c)", "a=2", "b=3", "c=4"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_draw_prints_a_tree():
    lines = run("draw", *DIAMOND).output.splitlines()
    assert lines[0] == "*   data -20   grad 1"
    assert "│   │   ├── a   data 2   grad 4" in lines
    assert run("draw", *DIAMOND, "--before").output.splitlines()[0] == "*   data -20   grad 0"


@pytest.mark.smoke
def test_draw_writes_every_kind_of_file(folder):
    for ending, start in (
        (".svg", "<svg "),
        (".gv", "digraph {"),
        (".json", "{"),
        (".txt", "*"),
        (".dot", "digraph {"),
    ):
        done = run("draw", *DIAMOND, "-o", f"out{ending}", "--rankdir", "TB")
        assert done.output == f"wrote out{ending}\n"
        assert (folder / f"out{ending}").read_text(encoding="utf-8").startswith(start)


def test_draw_writes_png_where_there_is_cairosvg(folder, monkeypatch):
    oracle("cairosvg")
    assert run("draw", *DIAMOND, "-o", "out.png").output == "wrote out.png\n"
    written = (folder / "out.png").read_bytes()
    assert written.startswith(b"\x89PNG")
    done = run("draw", *DIAMOND, "-o", "out.png", "--rankdir", "TB")
    assert (done.exit_code, (folder / "out.png").read_bytes()) == (2, written)
    assert run("draw", *DIAMOND, "-o", "-", "--format", "png").stdout_bytes == written
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    done = run("draw", *DIAMOND, "-o", "none.png")
    assert done.exit_code == 2
    assert "python -m pip install 'minigrad-engine[png]'" in done.stderr
    assert not (folder / "none.png").exists()


def test_a_folder_is_not_a_file(folder):
    (folder / "d.svg").mkdir()
    done = run("draw", *DIAMOND, "-o", "d.svg", "--force")
    assert (done.exit_code, done.stderr) == (2, "minigrad draw: d.svg: is a folder; name a file.\n")
    assert run("draw", *DIAMOND, "-o", "OUT.SVG").output == "wrote OUT.SVG\n"


def test_play_writes_a_page(folder):
    assert run("play", *DIAMOND).output == "wrote play.html\n"
    assert (folder / "play.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_an_existing_file_needs_force(folder):
    (folder / "out.svg").write_text("mine", encoding="utf-8")
    done = run("draw", *DIAMOND, "-o", "out.svg")
    assert (done.exit_code, done.stderr) == (
        2,
        "minigrad draw: out.svg exists already; add --force to overwrite it.\n",
    )
    assert (folder / "out.svg").read_text(encoding="utf-8") == "mine"
    assert run("draw", *DIAMOND, "-o", "out.svg", "--force").exit_code == 0
    assert (folder / "out.svg").read_text(encoding="utf-8").startswith("<svg")


def test_explain_all_or_one_and_as_json():
    output = run("explain", *DIAMOND).output
    assert "a: -6 (a → a*b → + → *) + 10 (a → a-c → *) = 4" in output
    assert "c: -2 (c → + → *) - 10 (c → a-c → *) = -12" in output
    (only,) = json.loads(run("explain", *DIAMOND, "--of", "b", "--json").output)
    assert (only["variable"], only["gradient"], only["paths"]) == ("b", -4.0, 1)
    (cut,) = json.loads(run("explain", "a+a", "a=1", "--top", "1", "--json").output)
    assert cut["rest"] == {"paths": 1, "sum": 1.0}


def test_many_variables_take_one_pass(monkeypatch):
    names = [f"x{k}" for k in range(200)]
    asked, passes = [], []
    monkeypatch.setattr(given, "names", lambda program: asked.append(1) or expr.names(program))
    monkeypatch.setattr(
        derivatives, "explain_all", lambda *given: passes.append(1) or explain_all(*given)
    )
    done = run("explain", "+".join(names), *(f"{name}=1" for name in names))
    assert done.exit_code == 0
    assert "x0: 1 (x0 → x0+x1 → + " in done.output
    assert (len(asked), len(passes)) == (1, 1)


@pytest.mark.smoke
def test_steps_right_and_broken():
    assert run("steps", *DIAMOND).output.splitlines()[-2] == "a.grad: 10 -> 4"
    assert run("steps", "a", "a=1").output == "a.grad = 1\n"
    broken = run("steps", *DIAMOND, "--overwrite").output.splitlines()
    assert broken[-2] == "a.grad: 10 -> -6   (should be 4)"
    as_json = json.loads(run("steps", *DIAMOND, "--overwrite", "--json").output)
    assert (as_json[-2]["after"], as_json[-2]["right"]) == (-6.0, 4.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["draw", "1 + 2"], "has no variable, so there is no graph"),
        (["draw", "a", "a=1", "-o", "x.gif"], "the ending '.gif' is not known; write one of .svg"),
        (["draw", "a", "a=1", "-o", "no/x.svg"], "there is no such folder"),
        (["draw", "a", "a=1", "--rankdir", "up"], "--rankdir up: write LR"),
        (["explain", "a", "a=1", "--of", "b"], "--of b: the variables are a"),
        (["explain", "a", "a=1", "--of", "b", "--lang", "es"], "--of b: las variables son a"),
        (["explain", "a +", "a=1", "--lang", "es"], "la expresión termina donde se espera"),
        (["play", "a b", "a=1"], "minigrad play: "),
        (["draw", "a", "a=1", "--outptu", "x.svg"], "there is no option --outptu; --help lists"),
        (["play", "a", "a=1", "-o", "x.txt"], "name a file that ends in .html"),
        (["draw", "a", "a=1", "-o", ""], "the ending '' is not known"),
        (["steps", "q(a)", "a=1"], "minigrad steps: "),
    ],
)
def test_mistakes_when_looking(folder, arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1 or "^" in done.stderr
    assert list(folder.iterdir()) == []


def in_a_terminal_of(encoding, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "minigrad", *arguments],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        encoding=encoding,  # strictly: what is not of this encoding fails here
        check=False,
    )


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["explain", "a*b + a", "a=1", "b=2"], "a: 2 (a -> a*b -> +) + 1 (a -> +) = 3"),
        (["grad", "a*b", "a=1", "b=2"], "a*b = 2"),
        (["draw", "a*b", "a=1", "b=2"], "`-- b   data 2   grad 1"),
        (["steps", "a*b", "a=1", "b=2"], "a.grad: 0 -> 2"),
        (["lab", "--lang", "es"], "accumulate"),
        (["lab", "versions", "6", "--diff"], "def backward"),
        (["--help"], "Write scalars."),
        (["doctor", "--help"], "Examine somebody's own Value class"),
    ],
    ids=lambda given: " ".join(given[:3]) if isinstance(given, list) else "",
)
def test_a_terminal_that_lacks_characters_gets_others(encoding, arguments, shown):
    done = in_a_terminal_of(encoding, *arguments)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_texts_of_the_user_in_a_terminal_that_lacks_their_characters(encoding, tmp_path):
    mistake = in_a_terminal_of(encoding, "grad", "a→b", "a=1")
    assert (mistake.returncode, mistake.stdout) == (2, "")
    assert mistake.stderr.splitlines()[1].strip() == "a->b"
    engine = tmp_path / "größe_λ.py"
    engine.write_text("class Value:\n    def __init__(self, data):\n        self.data = data\n")
    report = in_a_terminal_of(encoding, "doctor", str(engine))
    assert report.returncode == 2
    assert "Traceback" not in report.stdout + report.stderr
    assert "no backward() yet" in report.stdout
    as_json = in_a_terminal_of(encoding, "lab", "--lang", "es", "--json")
    in_full = run("lab", "--lang", "es", "--json")
    assert json.loads(as_json.stdout) == json.loads(in_full.output)  # nothing is lost in JSON


@pytest.mark.parametrize("before", [True, False])
def test_options_of_a_lab_may_stand_before_its_command(before, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, command = ["--lang", "es"], ["break", "accumulate"]
    given = [*options, *command] if before else [*command, *options]
    assert "Ahora: escribe tu hipótesis" in run("lab", *given).output
    assert "Un solo carácter" in (tmp_path / "lab-accumulate" / "LAB.md").read_text("utf-8")
    found = json.loads(run("lab", "--json", "check", "accumulate").output)
    assert (found["state"], found["engine"]) == ("started", "intact")
    last = run("lab", "--lang", "es", "check", "accumulate", "--lang", "en").output
    assert "is still whole" in last
