"""The source distribution holds what its own tests need: everything that git knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What git knows and a source distribution has no use for.
LEFT_OUT = {".gitignore"}


def tracked():
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone of the repository, or there is no git")
    if not done.stdout:
        pytest.skip("git knows nothing of these files")
    return {name for name in done.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_source_distribution_is_the_repository(tmp_path):
    pytest.importorskip(
        "setuptools", "77", reason="setuptools, which makes the list, is missing or old"
    )
    files = tracked()
    subprocess.run(
        [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "MINIGRAD_PURE": "1"},  # nothing is compiled for a list
        check=True,
        capture_output=True,
    )
    (listing,) = tmp_path.glob("*.egg-info/SOURCES.txt")
    listed = {name for name in listing.read_text(encoding="utf-8").splitlines() if name}
    listed = {name for name in listed if ".egg-info" not in name}
    assert files - listed == LEFT_OUT
    generated = {name for name in listed - files if (ROOT / name).exists()}
    new = subprocess.run(  # not yet added to git, and not ignored by it
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    assert generated - set(new) == set()
