"""The command `minigrad`, from outside the package: a foreign one may stand in its place.

A distribution that is called `minigrad` and installed beside a clone is found before it, and has no
command line. `foreign.py` is then read as a file, for its sentence.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

_FOREIGN = Path(__file__).with_name("minigrad") / "core" / "foreign.py"


def main() -> None:
    """Run the command line, or say what stands in its place."""
    try:
        from minigrad.cli import main as command
    except ImportError:
        sentence = runpy.run_path(str(_FOREIGN))["foreign_package"]()
        if sentence is None:
            raise
        print(f"minigrad: {sentence}", file=sys.stderr)
        raise SystemExit(2) from None
    command()
