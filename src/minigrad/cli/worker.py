"""What each process of `minigrad launch` runs: the script, as Python itself would run it.

    python worker.py PARENT SCRIPT ARGUMENTS…

Two things are added. On Linux the process dies with its parent. And how the script ends is known
while it ends: Python tells nobody the code of a `sys.exit`, and JAX would wait for minutes at the
end for processes that wait for this one (see `minigrad.distributed`).

This file is run by its path, before the script has said what else may be imported: it needs nothing
of minigrad.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType, TracebackType

_DIE_WITH_PARENT, _SIGKILL = 1, 9  # the first is Linux's PR_SET_PDEATHSIG


def die_with(parent: int) -> None:
    """Ask Linux to kill this process with its parent, or end if that has gone already."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, _SIGKILL)
    except (ImportError, OSError, AttributeError):
        pass
    if os.getppid() != parent:
        os._exit(1)


def run(script: str) -> None:
    """Run a script as `__main__`, and note in `sys.last_value` how it leaves."""
    path = os.path.abspath(script)
    sys.excepthook = _show
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)  # not our `annotations`
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = path
    try:
        exec(code, vars(main))
    except SystemExit as error:
        sys.last_value = error  # as Python does with all other exceptions
        raise


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback that begins in the script."""
    while trace is not None and trace.tb_frame.f_code.co_filename == _show.__code__.co_filename:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


if __name__ == "__main__":
    _, _parent, *sys.argv = sys.argv
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
    die_with(int(_parent))
    run(sys.argv[0])
