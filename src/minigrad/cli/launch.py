"""`minigrad launch`: several processes of one script, on this machine or on this one of many."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from .. import distributed
from ..core.names import readable
from ..core.terminal import put
from ..errors import MinigradError
from .supervisor import Ended, Outcome, OutputClosed, Signalled, Supervisor, free_port, signal_name

_ALONE = "127.0.0.1"


class LaunchError(MinigradError, ValueError):
    """Options of `minigrad launch` that do not fit together."""


def launch(
    script: Annotated[Path, typer.Argument(help="A Python file; its own arguments follow.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGUMENTS")] = None,
    processes: Annotated[
        int, typer.Option("-n", min=1, max=4096, help="Processes on this machine.")
    ] = 1,
    heartbeat: Annotated[
        int,
        typer.Option(
            min=distributed.SHORTEST,
            max=distributed.LONGEST,
            help="Seconds of silence after which a process counts as dead.",
        ),
    ] = distributed.USUAL,
    restarts: Annotated[
        int, typer.Option(min=0, help="How often to start all again after one ended badly.")
    ] = 0,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Virtual CPU devices in each process, for tests.")
    ] = None,
    hosts: Annotated[int, typer.Option(min=1, help="Machines; each runs this command.")] = 1,
    host: Annotated[int, typer.Option(min=0, help="Which of them this is, from 0.")] = 0,
    coordinator: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A free port of machine 0.")
    ] = None,
) -> None:
    """Run a script in several processes that find each other and end together.

    The script calls minigrad.distributed.initialize(). When a process ends badly the others are
    ended; the exit code is its own, or 128 and the signal that killed it.
    """
    _check(script, hosts, host, coordinator)
    command = [str(script), *(arguments or [])]
    again = _spelled(
        processes,
        ("--heartbeat", heartbeat, distributed.USUAL),
        ("--restarts", restarts, 0),
        ("--devices", devices, None),
        ("--hosts", hosts, 1),
        ("--host", host, 0),
        ("--coordinator", coordinator, None),
    )
    supervisor = Supervisor(command)
    with supervisor.catching_signals():
        for attempt in range(restarts + 1):
            run = {
                distributed.COORDINATOR: coordinator or f"{_ALONE}:{free_port()}",
                distributed.PROCESSES: str(hosts * processes),
                distributed.HEARTBEAT: str(heartbeat),
            }
            outcome = supervisor.run(_workers(host * processes, processes, devices, run))
            if outcome.cause is None:
                return
            ended_itself = isinstance(outcome.cause, Ended) and supervisor.signalled is None
            if not ended_itself or attempt == restarts:
                break
            _say(outcome, heartbeat, f"Starting again ({attempt + 1} of {restarts}).")
    _say(outcome, heartbeat, _advice(outcome, shlex.join([*again, *command])))
    _leave(outcome)


def _say(outcome: Outcome, heartbeat: int, what_next: str) -> None:
    put(f"minigrad launch: {_told(outcome, heartbeat)} {what_next}".rstrip(), file=sys.stderr)


def _leave(outcome: Outcome) -> None:
    """End as the run did."""
    match outcome.cause:
        case OutputClosed(error):
            raise error
        case Signalled(number):
            raise typer.Exit(128 + number)
        case Ended() as ended:
            raise typer.Exit(ended.exit_code)


def _spelled(processes: int, *options: tuple[str, object, object]) -> list[str]:
    """Spell the command again, without options (name, value, usual) that are as usual."""
    words = ["minigrad", "launch", "-n", str(processes)]
    for name, value, usual in options:
        words += [name, str(value)] if value != usual else []
    return words


def _workers(
    first: int, count: int, devices: int | None, run: dict[str, str]
) -> dict[int, dict[str, str]]:
    """Return the environments of the workers on this machine, by rank."""
    return {
        first + k: {
            **_environment(k if count > 1 else None, devices),
            **run,
            distributed.RANK: str(first + k),
        }
        for k in range(count)
    }


def _check(script: Path, hosts: int, host: int, coordinator: str | None) -> None:
    if os.name != "posix":
        raise LaunchError("this needs process groups, which Windows has not; use it inside WSL.")
    if not script.is_file():
        raise LaunchError(
            f"{readable(script)}: there is no such file; name a Python script, after the options."
        )
    if host >= hosts:
        raise LaunchError(f"--host {host}: of {hosts} hosts the last one is --host {hosts - 1}.")
    if hosts > 1 and coordinator is None:
        raise LaunchError(
            f"--hosts {hosts}: say where the hosts meet, the same on all of them: "
            "--coordinator HOST:PORT, a free port of host 0."
        )
    if coordinator is not None:
        try:
            distributed.check_coordinator(coordinator, f"--coordinator {readable(coordinator)}")
        except ValueError as error:
            raise LaunchError(str(error)) from None


def _environment(local_rank: int | None, devices: int | None) -> dict[str, str]:
    """Return the environment of a worker, but for what tells it who it is."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # a killed process keeps no lines back
    if local_rank is not None:  # each process has a GPU of its own, as under SLURM
        environment.setdefault("JAX_LOCAL_DEVICE_IDS", str(local_rank))
    if devices is not None:
        flags = f"--xla_force_host_platform_device_count={devices}"  # the last one counts
        environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {flags}".strip()
        environment["JAX_PLATFORMS"] = "cpu"
    return environment


def _told(outcome: Outcome, heartbeat: int) -> str:
    """Say what ended the run, and who was ended with it."""
    match outcome.cause:
        case Signalled(number):
            return f"{signal_name(number)} came; all processes were ended."
        case OutputClosed():
            return "the output was closed; all processes were ended."
    text = f"{outcome.cause}"
    if outcome.ended:
        text += "; the others were ended"
    if outcome.stopped:
        ranks = ", ".join(map(str, outcome.stopped))
        text += f" (rank {ranks} was stopped, as by SIGSTOP)"
    text += "."
    if isinstance(outcome.cause, Ended) and signal_name(-outcome.cause.code) == "SIGABRT":
        text += f" JAX does that if another process is silent for {heartbeat} s."
    return text


def _advice(outcome: Outcome, again: str) -> str:
    """Say how to go on, unless the script itself has said what is wrong."""
    if isinstance(outcome.cause, Ended) and outcome.cause.code > 0:
        return ""
    return f"Start again with {again} to go on from the last checkpoint."
