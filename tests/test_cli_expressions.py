"""The commands on an expression beyond the first five: what they print is what mathematics says."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import minigrad
from minigrad.cli import app

info_command = sys.modules["minigrad.cli.info"]  # the package has the command of that name


def run(*arguments, **options):
    return CliRunner().invoke(app, list(arguments), **options)


def as_json(*arguments, **options):
    done = run(*arguments, "--json", **options)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- what is given ----------------------------------------------------------------------------


@pytest.mark.smoke
def test_numbers_of_variables_are_expressions():
    rows = as_json("grad", "a*b + c", "a=1/2", "b=-pi", "c=2**3")["variables"]
    assert [rows[name]["value"] for name in "abc"] == [0.5, -math.pi, 8.0]
    assert [rows[name]["grad"] for name in "abc"] == [-math.pi, 0.5, 1.0]


def test_an_expression_from_the_standard_input_of_several_lines():
    text = "n = x*w + b\no = tanh(n)\n"
    found = as_json("grad", "-", "x=2", "w=-3", "b=6.5", input=text)
    slope = 1 - math.tanh(0.5) ** 2
    assert found["expression"] == text.strip()
    assert found["value"] == pytest.approx(math.tanh(0.5))
    assert found["variables"]["w"]["grad"] == pytest.approx(2 * slope)
    shown = run("grad", "-", "x=2", "w=-3", "b=6.5", input=text)
    assert shown.output.splitlines()[0] == "n = x*w + b o = tanh(n) = 0.4621171573"


@pytest.mark.parametrize("expression", ["-h*o", "-a*h + o*0", "-o*1", "-x"])
def test_an_expression_may_begin_with_a_minus_and_any_letter(expression):
    names = sorted(set(expression) & set("ahox"))
    for command in ("grad", "draw"):
        done = run(command, expression, *(f"{name}=2" for name in names))
        assert done.exit_code == 0, done.output
        assert "Usage" not in done.output


def test_options_may_stand_anywhere_and_a_wrong_one_is_told():
    assert run("grad", "--json", "a*2", "a=1").exit_code == 0
    assert "'-q' is not of the form name=number" in run("grad", "a", "a=1", "-q").stderr
    assert "there is no option --jsno" in run("grad", "a", "a=1", "--jsno").stderr
    assert run("grad", "-e", input="").stdout.startswith("-e = -2.718281828")


# ---- grad ---------------------------------------------------------------------------------------


def test_grad_with_everything():
    found = as_json("grad", "x**3*y", "x=2", "y=5", "--second", "--check", "--explain")
    x, y = found["variables"]["x"], found["variables"]["y"]
    assert (x["grad"], x["second"], y["grad"], y["second"]) == (60.0, 60.0, 8.0, 0.0)
    assert x["check"]["ok"]
    assert x["check"]["differences"] == pytest.approx(60.0, rel=1e-6)
    assert (x["explanation"]["gradient"], x["explanation"]["paths"]) == (60.0, 1)
    lines = run("grad", "x**3*y", "x=2", "y=5", "--second", "--check", "--explain").output
    assert "gradient ┃ second ┃ differences ┃ check" in lines
    assert "│ x        │     2 │       60 │     60 │          60 │ ok    │" in lines
    assert "y: 8 (y → *) = 8" in lines


def test_a_wrong_gradient_is_exit_code_1(monkeypatch):
    wrong = minigrad.check.gradcheck(_halved, [3.0])
    monkeypatch.setattr("minigrad.cli.derivatives.check_gradients", lambda *_, **__: wrong)
    for command in ("grad", "gradcheck"):
        done = run(command, "x*x", "x=3", *(["--check"] if command == "grad" else []))
        assert done.exit_code == 1
        assert "WRONG" in done.output


def _halved(x):
    out = minigrad.Value(x.data * x.data, (x,), "halved")

    def step():
        x.grad += x.data * out.grad

    out._backward = step
    return out


# ---- gradcheck, hessian -------------------------------------------------------------------------


def test_gradcheck():
    done = run("gradcheck", "a*sin(b)", "a=2", "b=1", "--against", "complex")
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "gradcheck: 2 gradients ok"
    found = as_json("gradcheck", "a*sin(b)", "a=2", "b=1")
    assert [row["name"] for row in found["rows"]] == ["a", "b"]
    assert found["rows"][1]["ours"] == pytest.approx(2 * math.cos(1))
    done = run("gradcheck", "a", "a=1", "--against", "somebody")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--against somebody: choose from differences, complex" in done.stderr


def test_hessian_of_rosenbrock():
    found = as_json("hessian", "(1 - x)**2 + 100*(y - x**2)**2", "x=-1", "y=2")
    assert found["variables"] == ["x", "y"]
    # 2 - 400 (y - 3x²) and -400 x, 200, by hand
    assert found["hessian"] == [[pytest.approx(402.0), pytest.approx(400.0)], [400.0, 200.0]]
    assert "│ y │ 400 │ 200 │" in run("hessian", "200*y*y/2 + 400*x*y", "x=1", "y=1").output
    assert "has no variable" in run("hessian", "1 + 2").stderr


# ---- draw, play ---------------------------------------------------------------------------------


def test_a_picture_to_the_standard_output(folder):
    done = run("draw", "a*b", "a=2", "b=3", "-o", "-")
    assert done.stdout.startswith("<svg ")
    assert done.stdout.rstrip().endswith("</svg>")
    text = run("draw", "a*b", "a=2", "b=3", "-o", "-", "--format", "txt").stdout
    assert text == run("draw", "a*b", "a=2", "b=3").stdout
    assert run("play", "a*b", "a=2", "b=3", "-o", "-").stdout.startswith("<!doctype html>")
    assert list(folder.iterdir()) == []


def test_play_opens_the_page(folder, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    assert run("play", "a*b", "a=2", "b=3", "--open").exit_code == 0
    assert opened == [(folder / "play.html").resolve().as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    done = run("play", "a*b", "a=2", "b=3", "--open", "--force")
    assert done.exit_code == 2
    assert "there is no browser to be found; open play.html in one" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["draw", "a", "a=1", "--format", "svg"], "--format svg: name a file as well: -o picture"),
        (["draw", "a", "a=1", "-o", "x", "--format", "gif"], "--format gif: choose one of svg"),
        (["play", "a", "a=1", "-o", "-", "--open"], "--open needs a file to show; leave out -o -"),
        (["program", "model.py"], "model.py: say which function: model.py:loss"),
        (["program", "none.py:f"], "none.py: there is no such file"),
        (["program", "a*2", "a=1", "--backend", "abacus"], "--backend='abacus': choose one of"),
        (["program", "2*3"], "has no variable"),
        (["grad", "softmax(a, 1)", "a=1"], "take one of them, as in softmax(a, b)[0]"),
    ],
)
def test_mistakes_are_one_sentence(folder, arguments, words):
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(folder.iterdir()) == []


# ---- program -----------------------------------------------------------------------------------


def test_the_program_of_an_expression():
    lines = run("program", "tanh(x*w + b)", "x=1", "w=2", "b=3").output.splitlines()
    assert lines[0].startswith("the expression: 3 scalar operations became 2 instructions, run by")
    assert [line.split("=")[1].split()[0] for line in lines if line.startswith("v")] == [
        "dot",
        "tanh",
    ]
    found = as_json("program", "tanh(x*w + b)", "x=1", "w=2", "b=3", "--backend", "numpy")
    assert "NumPy" in found["explanation"]
    assert [step["kind"] for step in found["instructions"]] == ["dot", "map"]
    longer = as_json("program", "tanh(x*w + b)", "x=1", "w=2", "b=3", "--gradient")
    assert len(longer["instructions"]) > 2


def test_the_program_of_a_function_in_a_file(folder):
    (folder / "model.py").write_text(
        "W = [0.5, 2.0]\n"
        "def score(xs, bias=0.0):\n"
        "    return sum(w * x for w, x in zip(W, xs)) + bias\n"
        "def broken(x):\n"
        "    return x + nothing\n"
        "def steps(x):\n"
        "    yield x\n"
        "async def later(x):\n"
        "    return x\n"
        "class Model:\n"
        "    def __init__(self, x): pass\n",
        encoding="utf-8",
    )
    done = run("program", "model.py:score", "xs=[1,2]", "bias=1.5")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("score: ")
    for arguments, words in [
        (
            ["model.py:scroe", "xs=[1,2]"],
            "has no function 'scroe'; there are score, broken, steps, later.",
        ),
        (["model.py:score", "xs=[1,"], "'xs=[1,' is not of the form name=value"),
        (["model.py:score", "ys=[1]"], "model.py:score cannot be called so: TypeError: "),
        (["model.py:broken", "x=1"], "cannot be called so: NameError: name 'nothing'"),
        (["model.py:steps", "x=1"], "steps is a generator function (it has a yield)"),
        (["model.py:later", "x=1"], "later is an async function"),
        (["model.py:Model", "x=1"], "model.py: Model is a class; name a function"),
    ]:
        done = run("program", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert words in done.stderr
    (folder / "bad.py").write_text("def f(:\n", encoding="utf-8")
    assert "bad.py cannot be run: SyntaxError: " in run("program", "bad.py:f").stderr


# ---- info --------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_info(monkeypatch):
    found = as_json("info")
    assert found["minigrad"] == minigrad.__version__
    assert found["engine"] == minigrad.engine()
    assert found["python"].endswith(".".join(map(str, sys.version_info[:3])))
    assert "numpy" in found["back_ends"]
    assert found["packages"]["typer"]
    assert set(found["packages"]) == set(info_command.PACKAGES)
    text = run("info").output
    assert f"engine: {minigrad.engine()}" in text
    monkeypatch.setattr(info_command, "_version", lambda name: None)
    monkeypatch.setattr(info_command, "_foreign", lambda: "there is another one.")
    text = run("info").output
    assert "back ends: none: compile needs NumPy" in text
    assert "not installed" in text
    assert text.endswith("Beware: there is another one.\n")


def test_info_tells_why_the_engine_is_pure(monkeypatch):
    monkeypatch.setattr(info_command, "engine", lambda: "pure")
    monkeypatch.setenv("MINIGRAD_PURE", "1")
    assert "Why pure: MINIGRAD_PURE is set." in run("info").output
    assert as_json("info")["why_pure"] == "MINIGRAD_PURE is set."
    monkeypatch.delenv("MINIGRAD_PURE")
    monkeypatch.setattr(info_command.Path, "glob", lambda *_: iter(()))
    monkeypatch.setattr(info_command.shutil, "which", lambda name: None)
    assert "no C compiler is here (" in run("info").output
    monkeypatch.setattr(info_command.shutil, "which", lambda name: f"/bin/{name}")
    assert "it was not built, though " in run("info").output
    there = [info_command.Path("scalar.cpython-399-x86_64-linux-gnu.so")]
    monkeypatch.setattr(info_command.Path, "glob", lambda *_: iter(there))
    assert (
        "there is scalar.cpython-399-x86_64-linux-gnu.so, for another Python" in run("info").output
    )


def test_info_loads_none_of_what_it_tells_about():
    program = (
        "import sys; from typer.testing import CliRunner; from minigrad.cli import app;"
        "CliRunner().invoke(app, ['info', '--json']);"
        "print([n for n in ('numpy', 'jax', 'torch', 'matplotlib') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_draw_folds_and_opens_boxes():
    neuron = ("draw", "tanh(x*w + y*v + b) * 2", "x=2", "w=-3", "y=1", "v=0.5", "b=6.5")
    folded = run(*neuron, "--fold")
    assert folded.exit_code == 0
    assert "neuron (10 nodes)" in folded.output
    opened = run(*neuron, "--fold", "--open", "neuron")
    assert "tanh" in opened.output
    assert "neuron (10 nodes)" not in opened.output
    assert "nodes" not in run(*neuron).output  # small enough to be drawn whole
    limited = run(*neuron, "--limit", "5")
    assert "neuron (" in limited.output
    assert "drawn as 5 boxes" in limited.output
    cut = run(*neuron, "--limit", "5", "--no-fold")
    assert "here are the 5 nodes nearest to the result" in cut.output
    unknown = run(*neuron, "--open", "layer0")
    assert unknown.exit_code == 2
    assert "open='layer0': there is no such box; there are neuron." in " ".join(
        unknown.output.split()
    )
