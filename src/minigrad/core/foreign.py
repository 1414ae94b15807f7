"""The other `minigrad`: on the public package index that name belongs to somebody else.

This project is installed as `minigrad-engine` and imported as `minigrad`. A distribution that is
called `minigrad` has files in the very same folder, so that what is imported depends on which of
the two was installed last; beside an editable install, it is the other one. So this file imports
nothing of ours: `minigrad_engine.py` runs it where the rest cannot be found.
"""

from __future__ import annotations

from importlib import metadata

DISTRIBUTION = "minigrad-engine"
_COMMAND = "minigrad.cli:main"  # ours had it when it was still called `minigrad`


def foreign_package() -> str | None:
    """Say in a sentence that the foreign distribution is installed as well; None if it is not."""
    try:
        found = metadata.distribution("minigrad")
    except metadata.PackageNotFoundError:
        return None
    if any(each.value == _COMMAND for each in found.entry_points):
        return None
    return (
        f"the distribution minigrad {found.version}, which is installed here as well, is somebody "
        "else's and stands in the way of this one: python -m pip uninstall minigrad, then "
        f"install {DISTRIBUTION} again."
    )
