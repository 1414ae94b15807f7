"""Many processes, on one machine or many: how a script joins the others, and who it is there.

    minigrad.distributed.initialize()           # first, before JAX has done anything
    mesh = minigrad.distributed.mesh()          # all devices of all processes, along "data"
    rows = documents[minigrad.distributed.local_rows(len(documents))]

`minigrad launch` starts the processes and tells each by its environment who it is (`VARIABLES`);
SLURM and clouds are detected by JAX itself. A run is fail-stop: when a process dies the others end,
because a collective operation without one of its members never ends, and the run starts again from
its last checkpoint. JAX is imported by the functions alone.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import inspect
import os
import re
import signal
import sys
import threading
from typing import Any

__all__ = ["initialize", "is_first", "local_rows", "mesh", "processes", "rank"]


def __dir__() -> list[str]:
    return sorted(__all__)  # what completion is to show


COORDINATOR = "MINIGRAD_COORDINATOR"
PROCESSES = "MINIGRAD_PROCESSES"
RANK = "MINIGRAD_RANK"
HEARTBEAT = "MINIGRAD_HEARTBEAT"
VARIABLES = (COORDINATOR, PROCESSES, RANK, HEARTBEAT)

# Seconds of silence after which a process counts as dead. With fewer than 10 a busy machine kills
# runs that are well; with more than 30 a dead one holds its machines for nothing.
SHORTEST, USUAL, LONGEST = 10, 20, 30

_WHERE = "minigrad.distributed.initialize"


def initialize(
    coordinator: str | None = None,
    processes: int | None = None,
    rank: int | None = None,
    heartbeat: int | None = None,
    timeout: int = 300,
) -> None:
    """Join the other processes of this run; in a run of one process, do nothing.

    What is not given comes from `minigrad launch`, or else from SLURM or the cloud, as far as JAX
    detects them. The coordinator is "host:port" on the machine of rank 0. A process waits `timeout`
    seconds for the others to come, and at its end for the others to end.
    """
    coordinator = os.environ.get(COORDINATOR) if coordinator is None else coordinator
    processes = _whole("processes", processes, PROCESSES)
    rank = _whole("rank", rank, RANK)
    heartbeat = _whole("heartbeat", heartbeat, HEARTBEAT)
    heartbeat = USUAL if heartbeat is None else heartbeat
    if not SHORTEST <= heartbeat <= LONGEST:
        raise ValueError(
            f"{_WHERE}(heartbeat={heartbeat}): a process counts as dead after {SHORTEST} to "
            f"{LONGEST} seconds of silence; write a number in between, such as {USUAL}."
        )
    if processes == 1 and rank in (None, 0):
        return
    options: dict[str, Any] = {}
    if (coordinator, processes, rank) != (None, None, None):
        options = _checked(coordinator, processes, rank)
    jax = _jax(_WHERE)
    if jax.distributed.is_initialized():
        return
    _prepare(jax)
    terminated = signal.getsignal(signal.SIGTERM)
    try:
        jax.distributed.initialize(
            **options,
            **_timeouts(jax, timeout),
            heartbeat_timeout_seconds=heartbeat,
        )
    except ValueError as error:
        if not options and "defined" in str(error):  # neither SLURM nor a cloud: we are alone
            return
        raise
    except RuntimeError as error:
        if "before any JAX calls" in str(error):
            raise RuntimeError(
                f"{_WHERE}(): JAX has computed something in this process already, and cannot join "
                "others any more. Call it first, right after the imports."
            ) from None
        raise
    # Where JAX has no option for its notifier (see `_prepare`), that has taken SIGTERM by now.
    if threading.current_thread() is threading.main_thread() and terminated is not None:
        signal.signal(signal.SIGTERM, terminated)
    atexit.register(_leave_if_failed)


def rank() -> int:
    """Return the number of this process among those of the run, from 0."""
    return int(sys.modules["jax"].process_index()) if _joined() else _whole("", None, RANK) or 0


def processes() -> int:
    """Return how many processes the run has."""
    if _joined():
        return int(sys.modules["jax"].process_count())
    return _whole("", None, PROCESSES) or 1


def is_first() -> bool:
    """Tell whether this process is the one that prints and writes the checkpoints."""
    return rank() == 0


def mesh(name: str = "data") -> Any:
    """Return a JAX mesh of all devices of all processes along one axis, in the order of ranks."""
    jax = _jax("minigrad.distributed.mesh")
    import numpy as np

    # Not jax.make_mesh: it may order devices by their wires, and then the rows of a process would
    # not be those that `local_rows` names.
    devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
    kinds = (jax.sharding.AxisType.Auto,)
    return jax.sharding.Mesh(np.array(devices), (name,), axis_types=kinds)


def local_rows(count: int) -> slice:
    """Return which rows of a batch of this many are those of this process."""
    jax = _jax("minigrad.distributed.local_rows")
    devices = jax.device_count()
    if count < 1 or count % devices:
        nearest = max(devices, round(count / devices) * devices)
        raise ValueError(
            f"minigrad.distributed.local_rows({count}): the rows of a batch are shared equally "
            f"among {devices} devices; take a multiple of {devices}, such as {nearest}, or pad the "
            "batch with rows of weight 0."
        )
    each = count // processes()
    return slice(rank() * each, (rank() + 1) * each)


# ---- what is given ----------------------------------------------------------------------------


def _whole(name: str, given: int | None, variable: str) -> int | None:
    """Return a whole number that was given, or that the environment has, or None."""
    if given is None:
        text = os.environ.get(variable)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise ValueError(
                f"{variable}={text!r} in the environment is not a whole number; `minigrad launch` "
                "sets it, or you do, for each process."
            )
        return int(text)
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{_WHERE}({name}={given!r}): write a whole number.")
    return given


def _checked(coordinator: str | None, processes: int | None, rank: int | None) -> dict[str, Any]:
    """Return the arguments for JAX of a run that somebody described."""
    if coordinator is None or processes is None or rank is None:
        given = {COORDINATOR: coordinator, PROCESSES: processes, RANK: rank}
        missing = [name for name, value in given.items() if value is None]
        raise ValueError(
            f"{_WHERE}(): {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            'give coordinator="host:port", processes and rank together (or set the three '
            "variables), or none of them."
        )
    if processes < 1 or not 0 <= rank < processes:
        raise ValueError(
            f"{_WHERE}(processes={processes}, rank={rank}): ranks go from 0 to processes - 1."
        )
    host = check_coordinator(coordinator, f"{_WHERE}(coordinator={coordinator!r})")
    options: dict[str, Any] = {
        "coordinator_address": coordinator,
        "num_processes": processes,
        "process_id": rank,
        "cluster_detection_method": "deactivate",  # nothing is left to detect
    }
    if host in ("127.0.0.1", "localhost", "[::1]"):  # nobody else needs to reach it
        options["coordinator_bind_address"] = coordinator
    return options


def check_coordinator(coordinator: str, where: str) -> str:
    """Return the host of "host:port", or raise a ValueError that begins with `where`."""
    found = re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:]+\]):([0-9]{1,5})", coordinator, re.ASCII)
    if not found or not 0 < int(found[2]) < 65536:
        raise ValueError(f'{where}: write "host:port", such as "10.0.0.1:12345".')
    return found[1]


# ---- JAX --------------------------------------------------------------------------------------


def _jax(where: str) -> Any:
    try:
        return importlib.import_module("jax")
    except ImportError as error:
        raise ImportError(
            f"{where} needs JAX, which is not installed here ({error}): "
            "python -m pip install 'minigrad-engine[jax]'",
            name="jax",
        ) from None


def _prepare(jax: Any) -> None:
    """Set the options of JAX that a run needs, before it starts."""
    if jax.config.jax_cpu_collectives_implementation in (None, "", "none"):
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # JAX would note SIGTERM, for a sync point that nobody asks for, and the process would go on.
    if hasattr(jax.config, "jax_enable_preemption_service"):
        jax.config.update("jax_enable_preemption_service", False)


def _timeouts(jax: Any, seconds: int) -> dict[str, int]:
    """How long to wait for the others; before 0.8.1, JAX waits 300 seconds at the end."""
    known = inspect.signature(jax.distributed.initialize).parameters
    names = ("initialization_timeout", "shutdown_timeout_seconds")
    return {name: seconds for name in names if name in known}


def _joined() -> bool:
    """Tell whether this process has joined others; asking JAX more than that would start it."""
    jax = sys.modules.get("jax")
    return jax is not None and jax.distributed.is_initialized()


def _leave_if_failed() -> None:
    """End at once after a failure: JAX would wait minutes for processes that wait for us.

    What has been raised is in `sys.last_value`, and has been printed; a SystemExit is there only
    under `minigrad launch`.
    """
    code = _exit_code(getattr(sys, "last_value", None))
    if code:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
                stream.flush()
        os._exit(code)


def _exit_code(raised: BaseException | None) -> int:
    """The code with which a process ends after an exception that nobody caught."""
    code = raised.code if isinstance(raised, SystemExit) else raised
    return code & 0xFF if isinstance(code, int) else int(code is not None)
