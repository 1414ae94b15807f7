"""A hobbyist's script (`hobby_gpt.py`), with one line of ours over its loss: the same numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "hobby_gpt.py"
DOCUMENTS = 60  # the original learns from a thousand


def run(*options):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT), *options, str(DOCUMENTS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    first, last = map(float, re.search(r"loss (\S+) -> (\S+)", done.stdout).groups())
    return first, last, done.stdout


def test_one_line_compiles_it_and_changes_nothing_else():
    first, last, _ = run("--eager")
    assert last < first
    *losses, said = run()  # without a warning
    assert losses == [first, last]
    # Seven lengths of names, and a program for each, whatever the tokens are.
    assert "traces=7, programs=7, guards_failed=0, eager_calls=0" in said
