"""Scripts of many processes: what `initialize` refuses, and real runs over loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from conftest import oracle
from launched import BOUND, Launched, environment, gone

import minigrad
from minigrad import distributed
from minigrad.cli.supervisor import free_port

needs_processes = pytest.mark.skipif(os.name != "posix", reason="`minigrad launch` is for POSIX")

# Sums 0, 1, …, 7 over all devices, again and again.
SUMS = """
import minigrad
minigrad.distributed.initialize()
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
d, count = minigrad.distributed, 8
rows = np.arange(float(count))[d.local_rows(count)]
spread = NamedSharding(d.mesh(), PartitionSpec("data"))
numbers = jax.make_array_from_process_local_data(spread, rows, (count,))
total = jax.jit(lambda x: x.sum())
def again(forever=False):
    while forever:
        step = float(total(numbers))
        print("sum", step, flush=True)
        time.sleep(0.1)
    return float(total(numbers))
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """No test is itself a process of somebody's run."""
    for name in (*distributed.VARIABLES, "JAX_COORDINATOR_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pretended(monkeypatch):
    """A JAX that notes what it is told; the real one can join others only once in a process."""
    calls = []

    def initialize(*, initialization_timeout, shutdown_timeout_seconds=300, **options):
        waits = {"initialization_timeout": initialization_timeout}
        calls.append({**options, **waits, "shutdown_timeout_seconds": shutdown_timeout_seconds})

    config = SimpleNamespace(jax_cpu_collectives_implementation="none")
    config.update = lambda name, value: setattr(config, name, value)
    config.jax_enable_preemption_service = True
    jax = SimpleNamespace(
        config=config,
        distributed=SimpleNamespace(initialize=initialize, is_initialized=lambda: bool(calls)),
        process_index=lambda: 1,
        process_count=lambda: 3,
        device_count=lambda: 6,
        calls=calls,
    )
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setattr(distributed.atexit, "register", lambda function: None)
    return jax


# ---- without JAX ------------------------------------------------------------------------------


@pytest.mark.smoke
def test_it_is_reached_from_the_package():
    assert minigrad.distributed is distributed
    assert "distributed" not in minigrad.__all__


def test_a_run_of_one_process_needs_no_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)  # an import of it fails
    distributed.initialize(processes=1)
    distributed.initialize("127.0.0.1:1", 1, 0)
    assert (distributed.rank(), distributed.processes(), distributed.is_first()) == (0, 1, True)
    with pytest.raises(
        ImportError, match=re.escape("python -m pip install 'minigrad-engine[jax]'")
    ):
        distributed.initialize("127.0.0.1:1", 2, 0)
    with pytest.raises(ImportError, match="minigrad.distributed.mesh needs JAX, which is not"):
        distributed.mesh()


def test_before_they_meet_the_environment_tells_who_is_who(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setenv(distributed.RANK, "2")
    monkeypatch.setenv(distributed.PROCESSES, "4")
    assert (distributed.rank(), distributed.processes(), distributed.is_first()) == (2, 4, False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"heartbeat": 9}, "initialize(heartbeat=9): a process counts as dead after 10 to 30"),
        ({"heartbeat": 31}, "such as 20"),
        ({"processes": 2}, "MINIGRAD_COORDINATOR and MINIGRAD_RANK are missing; give"),
        ({"processes": 2, "rank": 0}, "MINIGRAD_COORDINATOR is missing; give"),
        ({"processes": 2, "rank": 2, "coordinator": "a:1"}, "ranks go from 0 to processes - 1"),
        ({"processes": 0, "rank": 0, "coordinator": "a:1"}, "ranks go from 0 to processes - 1"),
        ({"processes": 2, "rank": 0, "coordinator": "a"}, 'write "host:port", such as'),
    ],
)
def test_what_is_refused_by_value(pretended, given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        distributed.initialize(**given)
    assert pretended.calls == []


def test_what_is_refused_by_type_and_from_the_environment(pretended, monkeypatch):
    with pytest.raises(TypeError, match=re.escape("initialize(rank='1'): write a whole number.")):
        distributed.initialize("a:1", 2, "1")
    with pytest.raises(TypeError, match=re.escape("(heartbeat=True): write a whole number.")):
        distributed.initialize(heartbeat=True)
    monkeypatch.setenv(distributed.RANK, "-1")
    with pytest.raises(ValueError, match="MINIGRAD_RANK='-1' in the environment is not a whole"):
        distributed.initialize()
    assert pretended.calls == []


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (None, 0),
        (KeyError(0), 1),
        (SystemExit(), 0),
        (SystemExit(0), 0),
        (SystemExit(256), 0),
        (SystemExit(3), 3),
        (SystemExit(-1), 255),
        (SystemExit(True), 1),
        (SystemExit("why"), 1),
    ],
)
def test_after_an_exception_the_code_is_that_of_python(raised, code):
    program = f"raise {raised!r}" if raised is not None else ""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert distributed._exit_code(raised) == code == done.returncode


# ---- what JAX is told -------------------------------------------------------------------------


def test_the_environment_of_the_launcher_and_arguments_that_come_first(pretended, monkeypatch):
    values = ("10.0.0.1:12345", "3", "1", "15")
    for name, value in zip(distributed.VARIABLES, values, strict=True):
        monkeypatch.setenv(name, value)
    handler = signal.getsignal(signal.SIGTERM)
    distributed.initialize(rank=2, timeout=60)
    assert pretended.calls == [
        {
            "coordinator_address": "10.0.0.1:12345",
            "num_processes": 3,
            "process_id": 2,
            "cluster_detection_method": "deactivate",
            "initialization_timeout": 60,
            "shutdown_timeout_seconds": 60,
            "heartbeat_timeout_seconds": 15,
        }
    ]
    assert pretended.config.jax_cpu_collectives_implementation == "gloo"
    assert pretended.config.jax_enable_preemption_service is False
    assert signal.getsignal(signal.SIGTERM) == handler
    distributed.initialize()  # once is enough
    assert len(pretended.calls) == 1
    assert (distributed.rank(), distributed.processes()) == (1, 3)  # JAX knows better now


def test_a_coordinator_on_this_machine_is_not_open_to_others(pretended):
    distributed.initialize("127.0.0.1:12345", 2, 0)
    assert pretended.calls[0]["coordinator_bind_address"] == "127.0.0.1:12345"


def test_a_jax_that_cannot_be_told_how_long_to_wait_at_the_end(pretended):
    told = []
    pretended.distributed.initialize = lambda initialization_timeout, **rest: told.append(rest)
    distributed.initialize("10.0.0.1:12345", 2, 0, timeout=60)
    assert "shutdown_timeout_seconds" not in told[0]


def test_collectives_that_somebody_chose_stay(pretended):
    pretended.config.jax_cpu_collectives_implementation = "mpi"
    distributed.initialize("10.0.0.1:12345", 2, 0)
    assert pretended.config.jax_cpu_collectives_implementation == "mpi"


def test_a_cluster_is_detected_by_jax_and_its_absence_is_no_mistake(pretended):
    distributed.initialize()
    assert pretended.calls[0] == {
        "initialization_timeout": 300,
        "shutdown_timeout_seconds": 300,
        "heartbeat_timeout_seconds": 20,
    }
    pretended.calls.clear()

    def nowhere(**options):
        raise ValueError("coordinator_address should be defined.")

    pretended.distributed.initialize = nowhere
    distributed.initialize()
    assert (distributed.rank(), distributed.processes()) == (0, 1)
    with pytest.raises(ValueError, match="should be defined"):
        distributed.initialize("a:1", 2, 0)  # that cannot be what is wrong here


def test_rows_are_shared_equally(pretended):
    pretended.calls.append({})
    assert distributed.local_rows(12) == slice(4, 8)
    for count, nearest in [(10, 12), (1, 6), (0, 6), (-6, 6)]:
        words = f"local_rows({count}): the rows of a batch are shared equally among 6 devices; "
        words += f"take a multiple of 6, such as {nearest}, or pad the batch with rows of weight 0."
        with pytest.raises(ValueError, match=re.escape(words)):
            distributed.local_rows(count)


# ---- real processes ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _jax():
    oracle("jax")


@pytest.mark.oracle
@pytest.mark.usefixtures("_jax")
def test_one_process_with_jax_and_one_that_comes_too_late():
    program = """
import minigrad
minigrad.distributed.initialize()
import jax
mesh = minigrad.distributed.mesh("rows")
print(list(mesh.shape), mesh.size, mesh.axis_types, minigrad.distributed.local_rows(8))
try:
    minigrad.distributed.initialize("127.0.0.1:1", 2, 0)
except RuntimeError as error:
    print(error)
"""
    flags = "--xla_force_host_platform_device_count=4"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        text=True,
        env=environment(XLA_FLAGS=flags),
    )
    shape, late = done.stdout.splitlines()
    assert shape == "['rows'] 4 (Auto,) slice(0, 8, None)"
    assert late.startswith("minigrad.distributed.initialize(): JAX has computed something")
    assert late.endswith("Call it first, right after the imports.")


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_two_processes_of_two_devices_agree(tmp_path):
    script = SUMS + "print(d.rank(), d.processes(), d.is_first(), len(d.mesh().devices), again())"
    with Launched(tmp_path, script, "-n", "2", "--devices", "2") as run:
        assert run.end() == 0, run.complaints
    found = [line for line in run.lines if line.endswith(" 28.0")]
    assert sorted(found) == ["[0] 0 2 True 4 28.0", "[1] 1 2 False 4 28.0"]


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_the_run(tmp_path, victim):
    with Launched(tmp_path, SUMS + "again(True)", "-n", "2") as run:
        run.wait_for(f"[{victim}] sum 28.0", 3)
        run.hit(victim, signal.SIGKILL)
        assert run.end(BOUND) == 137
    assert f"rank {victim} was killed by SIGKILL after" in run.told()
    assert "the others were ended. Start again with" in run.told()
    assert run.survivors() == []


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_a_stopped_process_ends_the_run_after_the_heartbeat(tmp_path):
    with Launched(tmp_path, SUMS + "again(True)", "-n", "2", "--heartbeat", "10") as run:
        run.wait_for("[1] sum 28.0", 3)
        run.hit(1, signal.SIGSTOP)
        assert run.end(BOUND) == 134
    assert "rank 0 was killed by SIGABRT after" in run.told()
    assert "the others were ended (rank 1 was stopped, as by SIGSTOP)." in run.told()
    assert run.survivors() == []


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_sigterm_ends_a_process_that_has_joined_and_one_that_waits_for_others(tmp_path):
    script = "print('joining', flush=True)\n" + SUMS + "again(True)"
    with Launched(tmp_path, script, "-n", "2") as run:
        run.wait_for("[1] sum 28.0", 3)
        run.hit(1, signal.SIGTERM)
        assert run.end(BOUND) == 143
    assert "rank 1 was killed by SIGTERM after" in run.told()
    assert run.survivors() == []
    alone = f"--hosts 2 --host 0 --coordinator 127.0.0.1:{free_port()}".split()
    with Launched(tmp_path, script, *alone) as run:
        run.wait_for("joining")
        run.process.send_signal(signal.SIGTERM)
        assert run.end(BOUND) == 143
    assert run.survivors() == []


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_handlers_of_the_script_hear_sigterm(tmp_path):
    script = "signal.signal(signal.SIGTERM, lambda *_: os._exit(5))\n" + SUMS
    script += "print('joined', flush=True)\nwhile True: time.sleep(0.1)"
    with Launched(tmp_path, script, "-n", "2") as run:
        run.wait_for("joined", 2)
        run.hit(0, signal.SIGTERM)
        assert run.end(BOUND) == 5
    assert run.survivors() == []


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_an_exception_in_one_process_waits_for_nobody(tmp_path):
    script = SUMS + "again()\nif rank == 1: raise ArithmeticError('mine')\nagain(True)"
    with Launched(tmp_path, script, "-n", "2") as run:
        assert run.end() == 1
    assert "[1] ArithmeticError: mine" in run.complaints
    # Rank 0 loses its partner and ends with code 1 as well; either may be heard first.
    assert re.search(r"rank [01] ended with code 1", run.told())
    assert run.survivors() == []


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
@pytest.mark.parametrize(
    ("leaves", "code", "said"),
    [("sys.exit(7)", 7, []), ("raise SystemExit('enough')", 1, ["[1] enough"])],
)
def test_sys_exit_with_a_code_waits_for_nobody(tmp_path, leaves, code, said):
    script = SUMS + "again()\nprint('leaving', flush=True)\ntime.sleep(1)\n"
    script += f"if rank == 1: {leaves}\nagain(True)"
    with Launched(tmp_path, script, "-n", "2") as run:
        run.wait_for("[1] leaving")
        assert run.end(BOUND) == code
    assert [line for line in run.complaints if "Gloo" not in line and line[:3] == "[1]"] == said
    assert f"rank 1 ended with code {code} after" in run.told()
    assert run.survivors() == []


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_one_that_leaves_well_waits_for_the_others(tmp_path):
    script = SUMS + "again()\nif rank == 1: sys.exit()\ntime.sleep(3)\nprint('last')"
    with Launched(tmp_path, script, "-n", "2") as run:
        assert run.end() == 0, run.complaints
    assert "[0] last" in run.lines
    assert run.told() == ""


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_two_hosts_one_of_which_loses_its_process_and_both_start_again(tmp_path):
    kept = tmp_path / "kept"
    script = f"""
first = not os.path.exists({str(kept)!r})
{SUMS}
print("result", again(first), flush=True)
"""
    common = f"--hosts 2 --coordinator 127.0.0.1:{free_port()} --restarts 2 --heartbeat 10".split()
    for host in "01":
        (tmp_path / host).mkdir()
    with (
        Launched(tmp_path / "0", script, *common, "--host", "0") as first,
        Launched(tmp_path / "1", script, *common, "--host", "1") as second,
    ):
        second.wait_for("[1] sum 28.0", 3)
        kept.touch()
        dying = first.pids()
        second.hit(1, signal.SIGKILL)
        assert gone(dying, BOUND)  # the launcher of the other host knows nothing of it; JAX does
        assert (first.end(), second.end()) == (0, 0), (first.complaints, second.complaints)
    assert "[0] result 28.0" in first.lines
    assert "[1] result 28.0" in second.lines
    assert "Starting again (1 of 2)." in first.told()
    assert "rank 1 was killed by SIGKILL" in second.told()


@pytest.mark.oracle
@needs_processes
@pytest.mark.usefixtures("_jax")
def test_under_slurm_no_launcher_is_needed_and_a_death_ends_the_others(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import time\n" + SUMS + "again(True)")
    job = free_port()  # JAX derives the port of the coordinator from it
    slurm = {"JOB_ID": job, "STEP_NODELIST": "localhost", "NTASKS": 2, "STEP_NUM_NODES": 1}
    workers = [
        subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(
                MINIGRAD_HEARTBEAT="10",
                **{f"SLURM_{name}": str(value) for name, value in slurm.items()},
                SLURM_PROCID=str(rank),
                SLURM_LOCALID=str(rank),
            ),
        )
        for rank in range(2)
    ]
    try:
        for worker in workers:
            assert "sum 28.0\n" in iter(worker.stdout.readline, "")
        workers[1].kill()
        workers[0].stdout.read()  # to its end
        assert workers[0].wait(BOUND) != 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            worker.stdout.close()
