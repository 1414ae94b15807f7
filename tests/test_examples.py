"""The examples run as a reader would run them, and refuse before they have worked in vain."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import oracle

import minigrad

EXAMPLES = Path(__file__).parent.parent / "examples"
PICTURES = ["boundary.png", "gradients.png", "loss.png"]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def matplotlib():
    return oracle("matplotlib")


def moons(*arguments, before=""):
    """Run the example; `before` is a line of Python that comes first."""
    program = f"""
import runpy, sys
{before}
sys.argv = ["moons.py", *{list(map(str, arguments))!r}]
runpy.run_path({str(EXAMPLES / "moons.py")!r}, run_name="__main__")
"""
    # Wide and without colours, whatever terminal the tests run in.
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    environment.pop("FORCE_COLOR", None)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
    )


def report_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, parse_constant=pytest.fail)


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- two moons ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short_run():
    return report_of(moons("--steps", 12, "--json"))


def test_the_loss_falls_and_the_network_learns(short_run):
    losses = short_run["losses"]
    assert len(losses) == len(short_run["accuracies"]) == 13  # before each step, after the last
    assert losses[-1] < losses[0] / 2
    assert all(math.isfinite(loss) and loss > 0 for loss in losses)
    assert short_run["accuracies"][-1] > 0.8


def test_the_report_for_programs(short_run):
    assert short_run["steps"] == 12
    assert short_run["seed"] == 1337
    assert short_run["parameters"] == 337  # 3 * 16 + 17 * 16 + 17
    assert short_run["engine"] == minigrad.engine()
    assert short_run["seconds"] >= 0
    assert short_run["loss"] == short_run["losses"][-1]
    assert short_run["accuracy"] == short_run["accuracies"][-1]


def test_the_seed_decides_everything(short_run):
    # The rate falls over the steps of a run, but the first two losses do not know how many follow:
    # the first step is at the full rate.
    again = report_of(moons("--steps", 1, "--json"))
    assert again["losses"] == short_run["losses"][:2]
    assert report_of(moons("--steps", 1, "--seed", 5, "--json"))["losses"][0] != again["losses"][0]


def test_the_table_for_people():
    done = moons("--steps", 2)
    assert done.returncode == 0, done.stderr
    assert "Two moons after 2 steps" in done.stdout
    for heading in ("loss", "accuracy", "seconds", "engine", minigrad.engine()):
        assert heading in done.stdout
    assert "training" in done.stderr  # the bar


def test_the_moons_are_where_they_should_be():
    # Without noise the points lie on the unit circle and on its copy around (1, 1/2).
    program = f"""
import json, runpy
two_moons = runpy.run_path({str(EXAMPLES / "moons.py")!r})["two_moons"]
print(json.dumps(two_moons(50, noise=0.0, seed=0)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    points, labels = json.loads(done.stdout)
    assert labels == [-1, 1] * 25
    for (x, y), label in zip(points, labels, strict=True):
        if label == -1:
            assert math.hypot(x, y) == pytest.approx(1.0)
            assert y > -1e-12
        else:
            assert math.hypot(x - 1.0, y - 0.5) == pytest.approx(1.0)
            assert y < 0.5 + 1e-12


@pytest.mark.oracle
def test_pictures_are_written_and_not_written_over(matplotlib, tmp_path):
    folder = tmp_path / "new" / "pictures"
    done = moons("--steps", 1, "--json", "--pictures", folder)
    report_of(done)
    assert files_in(folder) == PICTURES  # and nothing half-written
    assert all((folder / name).read_bytes().startswith(PNG) for name in PICTURES)

    (folder / "loss.png").unlink()
    (folder / "boundary.png").write_text("mine")
    done = moons("--steps", 1, "--pictures", folder)
    assert done.returncode == 2
    assert "has boundary.png, gradients.png already; add --force to write over" in done.stderr
    assert "training" not in done.stderr  # it refused before
    assert done.stdout == ""
    assert (folder / "boundary.png").read_text() == "mine"
    assert files_in(folder) == ["boundary.png", "gradients.png"]

    report_of(moons("--steps", 1, "--json", "--pictures", folder, "--force"))
    assert files_in(folder) == PICTURES
    assert (folder / "boundary.png").read_bytes().startswith(PNG)


def test_without_matplotlib_it_says_so_before_the_training(tmp_path):
    folder = tmp_path / "pictures"
    done = moons("--steps", 1, "--pictures", folder, before="sys.modules['matplotlib'] = None")
    assert done.returncode == 2
    assert "pip install matplotlib" in done.stderr
    assert "training" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not folder.exists()


def test_without_pictures_it_needs_no_matplotlib():
    report_of(moons("--steps", 1, "--json", before="sys.modules['matplotlib'] = None"))


@pytest.mark.oracle
def test_places_where_no_picture_can_be_are_refused_before_the_training(matplotlib, tmp_path):
    (tmp_path / "file").write_text("")
    done = moons("--pictures", tmp_path / "file")
    assert done.returncode == 2
    assert "name a folder" in done.stderr
    (tmp_path / "loss.png").mkdir()
    done = moons("--pictures", tmp_path, "--force")
    assert done.returncode == 2
    assert "loss.png is a folder; move it" in done.stderr
    assert "training" not in done.stderr


def test_a_mistake_on_the_command_line():
    done = moons("--steps", 0)
    assert done.returncode == 2
    assert done.stdout == ""
