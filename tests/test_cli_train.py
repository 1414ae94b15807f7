"""`minigrad train`: it learns, tells how, and writes what it is asked to."""

from __future__ import annotations

import json

import pytest
from conftest import oracle
from typer.testing import CliRunner

import minigrad
from minigrad import datasets
from minigrad.cli import app
from minigrad.cli.letters import CONTEXT, Letters


def run(*arguments):
    return CliRunner().invoke(app, ["train", *arguments])


def as_json(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


PROBLEMS = [("xor", 50), ("moons", 100), ("circles", 100), ("spiral", 400)]


@pytest.mark.parametrize(
    ("problem", "steps"), PROBLEMS if minigrad.engine() == "native" else PROBLEMS[:1]
)
def test_points_are_learned(problem, steps):
    found = as_json(problem, "--steps", str(steps))
    assert found["problem"] == problem
    assert found["parameters"] == 337  # of MLP(2, [16, 16, 1]), as in the lecture
    assert len(found["losses"]) == found["steps"] == steps
    assert found["accuracy"] >= 0.97
    assert found["loss"] < 0.1 * found["losses"][0]


@pytest.mark.smoke
def test_eager_and_compiled_give_the_same_numbers():
    eager, compiled = (
        as_json("moons", "--steps", "15", "--points", "20", "--seed", "4", way)
        for way in ("--eager", "--compiled")
    )
    assert eager["how"].startswith("not compiled")
    assert compiled["how"].startswith("compiled")
    assert compiled["losses"] == pytest.approx(eager["losses"], rel=1e-9)


def test_for_people_it_prints_a_table_and_says_on_stderr_how():
    done = run("xor", "--steps", "20", "--noise", "0.1", "--points", "12", "--batch", "4")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("20 steps in ")
    assert lines[1].split() == ["step", "loss", "accuracy"]
    assert done.stderr.startswith("fit: 20 steps of 4 examples, compiled")


def test_names_are_invented_from_a_file_or_the_bundled_list(folder):
    found = as_json("names", "--steps", "40", "--samples", "4", "--seed", "3")
    assert len(found["names"]) == 4
    assert found["loss"] < found["losses"][0]
    letters = set("".join(datasets.names()))
    assert set("".join(found["names"])) <= letters
    assert (
        as_json("names", "--steps", "40", "--samples", "4", "--seed", "3")["names"]
        == (found["names"])
    )
    (folder / "n.txt").write_text("abab\n" * 5, encoding="utf-8")
    few = as_json("names", "--data", "n.txt", "--steps", "150", "--samples", "6")
    assert few["names"] == ["abab"] * 6  # there is nothing else to learn


def test_the_examples_of_names():
    model = Letters(["ab"])
    assert model.characters == [".", "a", "b"]
    assert model.examples(["ab"]) == ([[0, 0, 0], [0, 0, 1], [0, 1, 2]], [1, 2, 0])
    assert CONTEXT == 3
    assert len(model([0, 1, 2])) == 3


def test_a_plot(folder):
    oracle("matplotlib")
    done = run("circles", "--steps", "20", "--plot", "c.png")
    assert done.stdout.endswith("wrote c.png\n")
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")
    done = run("circles", "--steps", "20", "--plot", "c.png")
    assert done.exit_code == 2
    assert "c.png exists already; add --force to overwrite it." in done.stderr
    assert as_json("circles", "--steps", "20", "--plot", "c.png", "--force")["plot"] == "c.png"
    assert as_json("names", "--steps", "20", "--plot", "n.svg")["plot"] == "n.svg"
    assert "<svg" in (folder / "n.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["suns"], "'suns': choose from moons, circles, spiral, xor, names."),
        (["moons", "--data", "x"], "--data is not for moons; leave it out."),
        (["names", "--points", "3"], "--points is not for names; leave it out."),
        (["names", "--data", "x"], "x: No such file or directory."),
        (["names", "--data", "empty.txt"], "empty.txt has no name in it; put one on each line."),
        (["xor", "--optimizer", "adma"], "--optimizer adma: choose from adam, adamw, sgd."),
        (["xor", "--plot", "x.gif"], "--plot x.gif: name a file that ends in .png"),
        (["xor", "--plot", "no/x.png"], "--plot no/x.png: there is no such folder."),
        (["xor", "--batch", "1000"], "there are 100 examples; leave batch out"),
    ],
)
def test_mistakes_are_one_sentence(folder, arguments, words):
    (folder / "empty.txt").write_text("", encoding="utf-8")
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.startswith("minigrad train: ")
    assert done.stderr.count("\n") == 1
