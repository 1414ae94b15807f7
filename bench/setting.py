"""When, where and of what something is measured: the head of what a bench writes with --json."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON"}


def here() -> dict[str, str]:
    """Return what a figure is worth nothing without; it names no host."""
    found = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "python": platform.python_version(),
        "command": shlex.join(["python", f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
    }
    return found | ({"commit": commit} if (commit := _commit()) else {})


def machine() -> str:
    """Describe the processor, its cores and its instructions, the system and the C compiler."""
    from minigrad.check.selftest import facts

    told = facts()
    parts = [told["CPU"]]
    parts += [words for name, words in SETS.items() if name in told["compiled functions run on"]]
    return ", ".join([*parts, platform.system(), *_compiler()])


def _compiler() -> list[str]:
    path = next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))), None)
    if path is None:
        return []
    said = _output(path, "--version").partition("\n")[0]
    version = re.search(r"\d+\.\d+", said)
    return [f"{'clang' if 'clang' in said else 'gcc'} {version[0]}"] if version else []


def _commit() -> str:
    """Name the commit; with a plus if something has changed since, besides measured figures."""
    named = _output("git", "rev-parse", "--short", "HEAD").strip()
    changed = _output("git", "status", "--porcelain", "-uno", "--", ".", ":!docs").strip()
    return f"{named}+" if named and changed else named


def _output(*command: str) -> str:
    with contextlib.suppress(OSError):
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return ""
