"""Learn by breaking: the labs, the seven versions of `Value`, faults on demand; and by writing.

    start("accumulate")             a folder with an engine to break, a probe, and what to do
    go_on(folder)                   the next page: what to break, later the answers
    check(folder), reset(folder)    how far you are; the engine as it was
    versions.diff(7)                `Value` as the lessons grow it, step by step
    with broken("overwrite"): …     the real engine, wrong on purpose

Start at `labs.py`: a lab is a row there. `workspace.py` has what happens to a learner's folder.
The exercises of the course are rows of `chapters.py`, `exercises.py` has their folders.
"""

from . import versions
from .broken import broken
from .labs import LABS, Lab
from .workspace import LabError, Progress, begun, check, go_on, reset, start

__all__ = [
    "LABS",
    "Lab",
    "LabError",
    "Progress",
    "begun",
    "broken",
    "check",
    "go_on",
    "reset",
    "start",
    "versions",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show
