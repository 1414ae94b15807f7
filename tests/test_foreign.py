"""The distribution called `minigrad` that is not this one: it is noticed, and ours is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minigrad_engine
from minigrad.core.foreign import DISTRIBUTION, foreign_package

ROOT = Path(__file__).parents[1]
OURS = "[console_scripts]\nminigrad = minigrad.cli:main\n"


def install(folder: Path, name: str, version: str, entry_points: str = "") -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(text, encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A path without any installed distribution but those of the test."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def test_the_distribution_has_the_name_that_is_free():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION == "minigrad-engine"
    assert project["scripts"] == {"minigrad": "minigrad_engine:main"}


def test_ours_is_no_stranger(alone):
    assert foreign_package() is None
    install(alone, "minigrad-engine", "0.2.0", OURS)
    assert foreign_package() is None
    install(alone, "minigrad", "0.1.0", OURS)  # as this one was called before
    assert foreign_package() is None


def test_the_stranger_is_named_with_the_remedy(alone):
    install(alone, "minigrad-engine", "0.2.0", OURS)
    install(alone, "minigrad", "0.0.6")
    said = foreign_package()
    assert said is not None
    assert "minigrad 0.0.6" in said
    assert "python -m pip uninstall minigrad, then install minigrad-engine again." in said


def test_the_command_says_so_and_goes_on(tmp_path):
    install(tmp_path, "minigrad", "0.0.6")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "minigrad", "grad", "a*a", "a=3", "--json"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr.startswith("minigrad: the distribution minigrad 0.0.6, which is installed")
    assert done.stderr.count("\n") == 1
    assert json.loads(done.stdout)["value"] == 9.0


def test_the_command_of_a_clone_says_what_is_found_in_its_place(tmp_path):
    install(tmp_path, "minigrad", "0.0.6")
    (tmp_path / "minigrad").mkdir()
    (tmp_path / "minigrad" / "__init__.py").write_text("from . import engine\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src"), *sys.path])
    command = [sys.executable, "-c", "from minigrad_engine import main; main()", "info"]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("minigrad: the distribution minigrad 0.0.6, which is installed")
    assert done.stderr.count("\n") == 1


def test_without_it_the_command_is_the_command_line(monkeypatch):
    called = []
    monkeypatch.setattr("minigrad.cli.main", lambda: called.append("main"))
    minigrad_engine.main()
    assert called == ["main"]


def test_another_error_of_an_import_is_not_explained_away(alone, monkeypatch):
    install(alone, "minigrad-engine", "0.2.0", OURS)
    monkeypatch.setitem(sys.modules, "minigrad.cli", None)
    with pytest.raises(ImportError):
        minigrad_engine.main()


def test_nobody_is_told_to_install_the_other_one():
    """After an install command, `minigrad` alone would be somebody else's."""
    told = re.compile(r"(?<!un)(?:install|uvx|uv add)\s+(?:-\S+\s+)*['\"]?minigrad(?![\w-])")
    assert told.search("pip install -U 'minigrad[jax]'")
    assert not told.search("pip uninstall minigrad; pip install minigrad-engine")
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".ci" / "run"]
    for folder in ("src", "docs", "examples", "bench"):
        texts += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md", ".txt")]
    assert [p.name for p in texts if told.search(p.read_text(encoding="utf-8"))] == []
