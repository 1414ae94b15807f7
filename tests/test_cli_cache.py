"""`minigrad cache`: what is kept on disk is shown, and can be removed."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

from minigrad.cli import app
from minigrad.core import store

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="nothing is kept on Windows")
KEY = "a1" * 20


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIGRAD_CACHE", str(tmp_path))
    return tmp_path / "programs"


def run(*arguments):
    return CliRunner().invoke(app, ["cache", *arguments])


@pytest.mark.smoke
def test_it_shows_and_clears(folder):
    assert run().output == f"folder: {folder}\nkept: 0 files, 0.0 MB of at most 250 MB\n"
    store.keep(KEY, bytes(3_000_000))
    assert "kept: 1 file, 3.0 MB of at most 250 MB" in run().output
    found = json.loads(run("--json").stdout)
    assert found == {
        "folder": str(folder),
        "files": 1,
        "bytes": (folder / f"{KEY}.kept").stat().st_size,
        "limit": 250_000_000,
        "problem": None,
        "cleared": False,
    }
    assert "removed: 1 file, 3.0 MB" in run("--clear").output
    assert store.recall(KEY) is None
    cleared = json.loads(run("--clear", "--json").stdout)
    assert (cleared["files"], cleared["cleared"]) == (0, True)


def test_it_says_that_nothing_is_kept(folder, monkeypatch):
    store.keep(KEY, b"")
    folder.chmod(0o755)
    assert run().output.endswith(
        "Nothing is kept: others may enter it; make it private with chmod 700.\n"
    )
    done = run("--clear")
    assert done.exit_code == 2
    assert f"minigrad cache: {folder}: others may enter it" in done.stderr
    monkeypatch.setenv("MINIGRAD_CACHE", "0")
    words = (
        "Nothing is kept: MINIGRAD_CACHE is 0 or no absolute path, or there is no home folder.\n"
    )
    assert run().output == words
    assert json.loads(run("--json").stdout)["folder"] is None
