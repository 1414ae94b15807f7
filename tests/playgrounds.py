"""The playground as it was built, for tests that run it: in Node, and in a browser."""

from __future__ import annotations

import gzip
import importlib
import json
import shutil
import subprocess
from pathlib import Path

from conftest import absent

import minigrad

ROOT = Path(__file__).parent.parent
BUILD = "run: python playground/build.py && python -m pip install -e ./playground"


def site():
    """Return the folder, or skip; one that is older than the sources is refused."""
    try:
        folder = importlib.import_module("minigrad_playground").folder()
    except (ImportError, FileNotFoundError):
        absent(f"the playground is not built; {BUILD}")
    package = Path(minigrad.__file__).parent
    packed = json.loads(gzip.decompress((folder / "minigrad.json.gz").read_bytes()))
    for name, text in packed.items():
        source = package.parent / name
        assert source.read_text("utf-8") == text, f"{name} is old; {BUILD}"
    page = ROOT / "playground" / "page"
    for source in page.glob("*.*"):
        if source.name != "warm.py":
            assert source.read_bytes() == (folder / source.name).read_bytes(), f"old; {BUILD}"
    return folder


def in_node(requests, folder):
    """Answer requests by Pyodide under Node, one after the other."""
    node = shutil.which("node")
    if node is None:
        absent("node is not installed; it runs Pyodide without a browser")
    done = subprocess.run(
        [node, str(ROOT / "playground" / "engine.mjs"), "answer", str(folder)],
        input="".join(f"{json.dumps(request)}\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
