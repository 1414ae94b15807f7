"""The doctor: takes anybody's Value class and names the bug.

    report = diagnose("my_engine.py")  # or a notebook, a folder, a class, an installed module
    print(report)

The probes are run in the sandbox (`sandbox.py`), once with the numbers that a learner reads in
a finding, and once with numbers drawn for this very run: an engine that is right about the former
alone is not right. What comes out is compared with what is right. Crashes are peeled off first
(`crashes.py`); the rest is compared with the patients of the catalogue: the fault whose patient
fails the same probes in the same way is the one (`recognise.py`), unless the file speaks against it
(`evidence.py`). What no row of the catalogue explains is reported as it is, with the smallest
expression that shows it.

Start at `diagnose`, then `findings.report`.
"""

from __future__ import annotations

from pathlib import Path

from .answers import examine_here
from .findings import report
from .report import Report
from .subjects import examine_class, examine_named

__all__ = ["diagnose", "diagnose_here"]


def diagnose(
    subject: type | str | Path,
    class_name: str = "",
    *,
    data: str = "",
    grad: str = "",
    backward: str = "",
) -> Report:
    """Examine a class, a file, a notebook or a folder (by its path), or an installed module.

    How the class is spoken to is found by trying. Where that fails, name what it calls its number,
    its gradient and its backward pass.
    """
    named = {"cls": class_name, "data": data, "grad": grad, "backward": backward}
    if isinstance(subject, type):
        name = f"{subject.__module__}.{subject.__qualname__}"
        return report(name, examine_class(subject, named))
    if not isinstance(subject, str | Path):
        raise TypeError(
            f"diagnose: got {type(subject).__name__}; give it a class, the path of a .py file, a "
            "notebook or a folder, or the name of an installed module."
        )
    return report(str(subject), examine_named(str(subject), named))


def diagnose_here(text: str, class_name: str = "", *, seed: int = 0) -> Report:
    """Examine the text of an engine in this very process, without processes, threads and limits.

    For where there is nothing else, such as a browser: run no text like this that is not yours.
    """
    return report("engine", examine_here(text, class_name, seed))
