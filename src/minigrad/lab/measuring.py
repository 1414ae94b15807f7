"""The labs' task in the sandbox: a learner's engine.py, and the probes that measure it.

`workspace.py` has it run there. It needs the standard library only, and says one thing:

    {"measured": {"chain": {"a": 6.0}}, "failed": {"diamond": "TypeError: …"}}

`failed` has one entry for each experiment that raised, or one for "engine.py" if that did.
"""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any


def work(job: dict[str, Any], say: Callable[[str, Any], None]) -> None:
    """Run the probes on the engine, and say what they measured."""
    say("answer", measure(lambda: Path(job["engine"]).read_bytes(), job["probes"]))


def measure(engine: Callable[[], bytes], probes: list[str]) -> dict[str, Any]:
    """Run the probes on an engine in this process."""
    measured: dict[str, Any] = {}
    failed: dict[str, str] = {}
    sys.modules["engine"] = types.ModuleType("engine")
    try:
        _run(engine(), "engine.py", sys.modules["engine"])
        for probe in probes:
            _measure(probe, measured, failed)
    except BaseException as error:  # also a sys.exit(), and a name that a probe needs and misses
        failed["engine.py"] = _tell(error)
    return {"measured": measured, "failed": failed}


def _measure(probe: str, measured: dict[str, Any], failed: dict[str, str]) -> None:
    module = types.ModuleType("probe")
    _run(Path(probe).read_bytes(), "probe.py", module)
    for experiment in module.__dict__["EXPERIMENTS"]:
        try:
            measured[experiment.__name__] = {
                key: number if isinstance(number, str) else float(number)
                for key, number in experiment().items()
            }
        except BaseException as error:
            failed[experiment.__name__] = _tell(error)


def _run(source: bytes, name: str, module: types.ModuleType) -> None:
    # Bytes: in whatever encoding they say, as Python itself reads them.
    exec(compile(source, name, "exec"), module.__dict__)


def _tell(error: BaseException) -> str:
    """Say what went wrong, and in which line of engine.py."""
    text = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return text if error.filename != "engine.py" else f"{text} (engine.py, line {error.lineno})"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == "engine.py":
            return f"{text[:500]} (engine.py, line {frame.lineno})"
    return text[:500]
