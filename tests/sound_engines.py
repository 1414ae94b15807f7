"""Sound engines as people write them: the doctor's own, of which it makes its patients, and others.

The doctor must pass all of them; `sound/` has those in styles that no patient needs.
"""

from __future__ import annotations

from pathlib import Path

from minigrad.check.doctor.signatures import FOLDER

FILES = {
    path.stem: path
    for place in (FOLDER, Path(__file__).parent / "sound")
    for path in place.glob("*.py")
}
HEALTHY = tuple(sorted(FILES))


def source(name):
    """Return the text of a sound engine."""
    return FILES[name].read_text(encoding="utf-8")
